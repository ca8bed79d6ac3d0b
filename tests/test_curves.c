/* test_curves.c - how well predictions hold, as curves: against numbers worked out by hand.
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define EPS 1e-12

static void near(double a, double b, double eps)
{
    if (fabs(a - b) <= eps) return;
    print_message("%.17g and %.17g\n", a, b);
    fail();
}

static void a_value_stands_in_its_prediction_half_way_through_a_step(void **state)
{
    (void)state;
    const fab_glm real = {.likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = 1, .classes = 1, .beta = 4};
    const fab_glm count = {.likelihood = FAB_LIKELIHOOD_POISSON, .D = 1, .classes = 1};
    const fab_glm two = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = 1, .classes = 1};
    /* sd^2 = 0.75 + 1/4 */
    near(fab_predict_cdf(&real, 2.385, 0.75, 2.385), 0.5, EPS);
    near(fab_predict_cdf(&real, 2.385, 0.75, 2.385 + 1.6448536269514722), 0.95, EPS);
    /* Poisson of mean 1: P(0) = P(1) = 1/e */
    near(fab_predict_cdf(&count, 0, 0, 0), exp(-1) / 2, 1e-9);
    near(fab_predict_cdf(&count, 0, 0, 1), 1.5 * exp(-1), 1e-9);
    assert_true(isnan(fab_predict_cdf(&two, 0, 0, 1)));
}

static void coverage_and_calibration_count_rows(void **state)
{
    (void)state;
    double cdf[] = {0.01, 0.2, 0.45, 0.5, 0.74, 0.76, 0.97, 0.999};
    const double level[] = {0, 0.5, 0.9, 1};
    double share[4], chance[4];
    const fab_predictions p = {.n = 8, .cdf = cdf};
    assert_int_equal(fab_predictions_coverage(&p, 4, level, share, chance), FAB_OK);
    /* |2 cdf - 1|: 0.98 0.6 0.1 0 0.48 0.52 0.94 0.998 */
    const double inside[] = {1 / 8.0, 3 / 8.0, 5 / 8.0, 1};
    for (int i = 0; i < 4; i++) near(share[i], inside[i], EPS);
    near(chance[1], 1.6448536269514722 * sqrt(0.25 / 8), EPS);
    near(chance[3], 0, EPS);
    assert_int_equal(fab_predictions_below(&p, 4, level, share, NULL), FAB_OK);
    const double below[] = {0, 4 / 8.0, 6 / 8.0, 1};
    for (int i = 0; i < 4; i++) near(share[i], below[i], EPS);
    const double far = 1.5;
    assert_int_equal(fab_predictions_coverage(&p, 1, &far, share, NULL), FAB_BAD_ARGUMENT);
    assert_non_null(strstr(fab_detail(), "1.5"));
    const fab_predictions none = {.n = 8};
    assert_int_equal(fab_predictions_below(&none, 4, level, share, NULL), FAB_BAD_ARGUMENT);
}

/* Probabilities of the second of two classes. */
static fab_prediction two_p[] = {{.mean = 0.1}, {.mean = 0.4}, {.mean = 0.4},
                                 {.mean = 0.5}, {.mean = 0.9}, {.mean = 0.95}};
static double two_y[] = {0, 1, 0, 0, 1, 1};
static const fab_predictions two = {.n = 6, .classes = 2, .p = two_p, .y = two_y};

static void a_confusion_counts_each_class_by_its_likeliest(void **state)
{
    (void)state;
    int64_t count[9];
    assert_int_equal(fab_predictions_confusion(&two, count), FAB_OK);
    const int64_t expected[] = {2, 1, 1, 2}; /* 0.5 is the second */
    for (int i = 0; i < 4; i++) assert_int_equal(count[i], expected[i]);
    double logp[] = {log(0.2), log(0.5), log(0.3), log(0.4), log(0.4),
                     log(0.2), log(0.1), log(0.1), log(0.8)},
           y[] = {1, 1, 2};
    const fab_predictions three = {.n = 3, .classes = 3, .logp = logp, .y = y};
    assert_int_equal(fab_predictions_confusion(&three, count), FAB_OK);
    const int64_t of_three[] = {0, 0, 0, 1, 1, 0, 0, 0, 1}; /* of two alike the first */
    for (int i = 0; i < 9; i++) assert_int_equal(count[i], of_three[i]);
    const fab_predictions numbers = {.n = 6, .p = two_p, .y = two_y};
    assert_int_equal(fab_predictions_confusion(&numbers, count), FAB_BAD_ARGUMENT);
}

static void reliability_sums_to_the_calibration_error(void **state)
{
    (void)state;
    fab_reliability bin[FAB_RELIABILITY_BINS];
    assert_int_equal(fab_predictions_reliability(&two, bin), FAB_OK);
    /* the likelier class: 0.9 0.6 0.6 0.5 0.9 0.95; bins of 1/15: 13 9 9 7 13 14 */
    assert_int_equal(bin[9].n, 2);
    near(bin[9].probability, 0.6, EPS);
    near(bin[9].right, 0.5, EPS);
    assert_int_equal(bin[7].n, 1);
    near(bin[7].right, 0, EPS);
    assert_int_equal(bin[13].n, 2);
    near(bin[13].right, 1, EPS);
    assert_true(bin[0].n == 0 && isnan(bin[0].right));
    double ece = 0, logp[12];
    for (int b = 0; b < FAB_RELIABILITY_BINS; b++)
        if (bin[b].n) ece += (double)bin[b].n * fabs(bin[b].right - bin[b].probability) / 6;
    near(ece, (2 * 0.1 + 0.5 + 2 * 0.1 + 0.05) / 6, EPS);
    for (int i = 0; i < 6; i++) {
        logp[2 * i] = log(1 - two_p[i].mean);
        logp[2 * i + 1] = log(two_p[i].mean);
    }
    fab_scores s;
    double y[6];
    for (int i = 0; i < 6; i++) y[i] = i == 3 ? 1 - two_y[i] : two_y[i]; /* ties differ */
    const fab_predictions same = {.n = 6, .classes = 2, .logp = logp, .y = y};
    assert_int_equal(fab_predictions_reliability(&same, bin), FAB_OK);
    ece = 0;
    for (int b = 0; b < FAB_RELIABILITY_BINS; b++)
        if (bin[b].n) ece += (double)bin[b].n * fabs(bin[b].right - bin[b].probability) / 6;
    assert_int_equal(fab_score_classes(2, 6, logp, y, NULL, &s), FAB_OK);
    near(ece, s.ece, EPS);
}

static void a_roc_curve_steps_over_rows_of_one_probability(void **state)
{
    (void)state;
    fab_roc *r;
    assert_int_equal(fab_predictions_roc(&two, 1, &r), FAB_OK);
    const double x[] = {0, 0, 0, 1 / 3.0, 2 / 3.0, 1}, y[] = {0, 1 / 3.0, 2 / 3.0, 2 / 3.0, 1, 1};
    assert_int_equal(r->n, 6);
    for (int i = 0; i < 6; i++) {
        near(r->x[i], x[i], EPS);
        near(r->y[i], y[i], EPS);
    }
    /* pairs of a 1 and a 0: 9; right: 3 + 3 + (0.4 above 0.1, half of 0.4) */
    near(r->area, 7.5 / 9, EPS);
    fab_roc_free(r);
    double ones[] = {1, 1, 1, 1, 1, 1};
    const fab_predictions one = {.n = 6, .classes = 2, .p = two_p, .y = ones};
    assert_int_equal(fab_predictions_roc(&one, 1, &r), FAB_BAD_DATA);
    assert_null(r);
    assert_int_equal(fab_predictions_roc(&two, 2, &r), FAB_BAD_ARGUMENT);
    fab_roc_free(NULL);
}

/* ---- of a fit ----------------------------------------------------------------------------------------- */

enum { N = 60 };
static double weak[N], strong[N], y[N];
static const char *word[N];

static fab_regression *fitted(const char *model)
{
    static const char *const words[] = {"oak", "elm", "elm"};
    for (int i = 0; i < N; i++) {
        weak[i] = 100 + (i * 7) % 10;       /* of sd 2.9, slope 2: 5.8 */
        strong[i] = 0.01 * ((i * 11) % 60); /* of sd 0.17, slope -90: 15.6 */
        word[i] = words[i % 3];
        y[i] = 2 * weak[i] - 90 * strong[i] + 0.1 * ((i * 13) % 7);
    }
    const fab_array column[] = {{.name = "weak", .p = weak},
                                {.name = "strong", .p = strong},
                                {.name = "tree", .text = word}};
    const fab_arrays a = {.n = N, .column = column, .columns = 3, .y = {.name = "y", .p = y}};
    const char *const settings[] = {"epochs=20", NULL};
    const fab_plan plan = {
        .model = model, .method = model ? "sgd" : NULL, .settings = model ? settings : NULL};
    fab_regression *r;
    assert_int_equal(fab_regression_fit(&r, &(fab_data){.arrays = &a}, &plan, NULL), FAB_OK);
    return r;
}

static void effects_have_an_order_and_the_steps_of_their_columns(void **state)
{
    (void)state;
    fab_regression *r = fitted(NULL);
    fab_effect e[5];
    int64_t order[5];
    double mean[5], sd[5];
    assert_int_equal(fab_regression_size(r), 5);
    assert_int_equal(fab_regression_effects(r, NULL, 0.9, e, order), FAB_OK);
    assert_int_equal(fab_regression_coefficients(r, mean, sd), FAB_OK);
    assert_string_equal(fab_regression_coefficient_name(r, order[0]), "strong");
    assert_string_equal(fab_regression_coefficient_name(r, order[4]), "intercept");
    near(e[order[4]].step, 0, 0);
    near(e[order[0]].step, fab_regression_scaling(r)->scale[1], 0);
    for (int i = 0; i < 5; i++) {
        near(e[i].mean, mean[i], 0);
        near(e[i].upper - e[i].lower, 2 * 1.6448536269514722 * sd[i], 1e-9 * sd[i]);
    }
    for (int i = 0; i < 3; i++)
        assert_true(fabs(mean[order[i]]) / sd[order[i]] >=
                    fabs(mean[order[i + 1]]) / sd[order[i + 1]]);
    assert_int_equal(fab_regression_effects(r, "tree=elm", 0.9, e, NULL), FAB_OK);
    for (int i = 0; i < 4; i++)
        if (strcmp(fab_regression_coefficient_name(r, i), "tree=elm") == 0)
            assert_true(e[i].mean == 0 && e[i].sd == 0);
    fab_regression_free(r);
}

static void a_profile_moves_the_column_that_matters_most(void **state)
{
    (void)state;
    const char *const models[] = {NULL, "mlp:5"};
    for (int m = 0; m < 2; m++) {
        fab_regression *r = fitted(models[m]);
        const fab_scaling *k = fab_regression_scaling(r);
        fab_profile *f;
        assert_int_equal(fab_regression_profile(r, 5, &f), FAB_OK);
        assert_string_equal(f->column, "strong");
        assert_int_equal(f->n, 5);
        near(f->x[0], k->mean[1] - 2 * k->scale[1], EPS);
        near(f->x[4], k->mean[1] + 2 * k->scale[1], EPS);
        /* the same rows, written out */
        double w[] = {k->mean[0], k->mean[0]}, s[] = {f->x[0], f->x[4]};
        const char *const most[] = {"elm", "elm"};
        const fab_array column[] = {
            {.name = "weak", .p = w}, {.name = "strong", .p = s}, {.name = "tree", .text = most}};
        const fab_arrays a = {.n = 2, .column = column, .columns = 3};
        fab_predictions *p;
        assert_int_equal(fab_regression_predict(r, &(fab_data){.arrays = &a}, NULL, &p), FAB_OK);
        near(p->p[0].mean, f->p->p[0].mean, 1e-9);
        near(p->p[1].mean, f->p->p[4].mean, 1e-9);
        fab_predictions_free(p);
        fab_profile_free(f);
        assert_int_equal(fab_regression_profile(r, 1, &f), FAB_BAD_ARGUMENT);
        fab_regression_free(r);
    }
}

static void the_scores_of_a_table_and_its_coverage_curve_agree(void **state)
{
    (void)state;
    fab_regression *r = fitted(NULL);
    const fab_array column[] = {{.name = "weak", .p = weak},
                                {.name = "strong", .p = strong},
                                {.name = "tree", .text = word}};
    const fab_arrays a = {.n = N, .column = column, .columns = 3, .y = {.name = "y", .p = y}};
    const fab_predict_plan how = {.with_target = 1, .with_cdf = 1};
    const double level[] = {0.5, 0.9, 0.95};
    double share[3];
    fab_predictions *p;
    assert_int_equal(fab_regression_predict(r, &(fab_data){.arrays = &a}, &how, &p), FAB_OK);
    assert_int_equal(fab_predictions_coverage(p, 3, level, share, NULL), FAB_OK);
    near(share[0], p->scores.coverage50, EPS);
    near(share[1], p->scores.coverage90, EPS);
    near(share[2], p->scores.coverage95, EPS);
    fab_predictions_free(p);
    fab_regression_free(r);
}

/* Of a linear model, a network, and classes. */
static void log_densities_of_rows_have_the_score_as_their_mean(void **state)
{
    (void)state;
    const char *const models[] = {NULL, "mlp:5"};
    for (int m = 0; m < 4; m++) {
        double level[N];
        for (int i = 0; i < N; i++) level[i] = (y[i] > 170) + (y[i] > 190);
        const fab_array column[] = {{.name = "weak", .p = weak}, {.name = "strong", .p = strong}};
        const fab_arrays a = {
            .n = N, .column = column, .columns = 2, .y = {.name = "y", .p = m < 2 ? y : level}};
        const char *const few[] = {"epochs=5", NULL};
        const fab_data d = {.arrays = &a};
        const fab_plan plan = {.model = models[m % 2],
                               .settings = m % 2 ? few : NULL,
                               .likelihood = m < 2 ? "gaussian" : "categorical"};
        const fab_predict_plan how = {.with_target = 1, .with_density = 1};
        fab_regression *r;
        fab_predictions *p;
        double sum = 0;
        assert_int_equal(fab_regression_fit(&r, &d, &plan, NULL), FAB_OK);
        assert_int_equal(fab_regression_predict(r, &d, &how, &p), FAB_OK);
        for (int i = 0; i < N; i++) sum += p->density[i];
        near(sum / N, -p->scores.nll, 1e-10);
        fab_predictions_free(p);
        assert_int_equal(fab_regression_predict(r, &d, NULL, &p), FAB_OK);
        assert_null(p->density);
        fab_predictions_free(p);
        fab_regression_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_stands_in_its_prediction_half_way_through_a_step),
        cmocka_unit_test(coverage_and_calibration_count_rows),
        cmocka_unit_test(a_confusion_counts_each_class_by_its_likeliest),
        cmocka_unit_test(reliability_sums_to_the_calibration_error),
        cmocka_unit_test(a_roc_curve_steps_over_rows_of_one_probability),
        cmocka_unit_test(effects_have_an_order_and_the_steps_of_their_columns),
        cmocka_unit_test(a_profile_moves_the_column_that_matters_most),
        cmocka_unit_test(the_scores_of_a_table_and_its_coverage_curve_agree),
        cmocka_unit_test(log_densities_of_rows_have_the_score_as_their_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
