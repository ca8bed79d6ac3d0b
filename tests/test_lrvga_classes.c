/* test_lrvga_classes.c - lrvga and rvga with categorical targets: against each other, a bernoulli target, and Laplace.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "train/sequence/classes.h"
#include "stream_glm.h"

enum { D = 7, C = 3, T = C * (D + 1) };

/* Rows of N(0, 1), classes of a softmax with coefficients N(0, 1)/2. */
static data class_data(int64_t n, uint64_t seed)
{
    data d = {D, n, doubles(n * D), doubles(n), NULL, NULL};
    double theta[C * D], *u = doubles(n * C);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 0, 0, C * D, FAB_F64, theta);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 1, 0, n * D, FAB_F64, d.x);
    fab_random_uniform(seed, FAB_PURPOSE_DATA, 2, 0, n * C, u);
    for (int64_t j = 0; j < n; j++) {
        double best = -INFINITY;
        for (int c = 0; c < C; c++) { /* the largest of eta + Gumbel noise is a draw of softmax */
            double eta = -log(-log(u[j * C + c])) + 0.4 * c;
            for (int i = 0; i < D; i++) eta += 0.5 * d.x[j * D + i] * theta[c * D + i];
            if (eta > best) best = eta, d.y[j] = c;
        }
    }
    return d;
}

#define TEXT "likelihood=categorical classes=3 alpha=0.7 intercept_alpha=0.7 "

/* Only eta_1 - eta_0 matters, and its draws are many: their means err by about a percent. */
static void two_classes_are_a_bernoulli_target(void **state)
{
    (void)state;
    const double V0[4] = {1.3, 0.2, 0.2, 2.1}, u0s[] = {-2, 0, 1.5};
    const fab_rule many = {.likelihood = FAB_LIKELIHOOD_CATEGORICAL, .draws = 1024, .seed = 3},
                   one = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .expectation = FAB_QUADRATURE};
    double error[2], root[4], u[2], *work = doubles(fab_classes_work(2, 1024));
    fab_site s = {error, root, u, 0};
    for (int i = 0; i < 6; i++) {
        const double y = i % 2, w = i < 3 ? 1 : 2.5, at[2] = {0.3, 0.3 + u0s[i / 2]};
        fab_classes_update(&many, 9, 2, y, w, at, V0, 2, &s, work);
        const fab_scalar b = fab_scalar_update(&one, 0, y, w, u0s[i / 2], 1.3 + 2.1 - 0.4);
        const double weight = root[0] * root[0] + root[2] * root[2];
        assert_true(fabs(error[1] - b.error) < 0.02 * w && fabs(error[0] + error[1]) < 1e-6);
        assert_true(fabs(weight - b.weight) < 0.05 * w && fabs(u[1] - u[0] - b.u) < 0.05);
    }
}

/* Both equations hold exactly where there is no variance. */
static void without_variance_it_is_the_likelihood_itself(void **state)
{
    (void)state;
    const double V0[9] = {0}, u0[3] = {0.3, -1, 2};
    const fab_rule r = {.likelihood = FAB_LIKELIHOOD_CATEGORICAL, .draws = 4, .seed = 3};
    double error[3], root[9], u[3], *work = doubles(fab_classes_work(3, 4)), sum = 0;
    fab_site s = {error, root, u, 0};
    fab_classes_update(&r, 1, 3, 1, 2, u0, V0, 3, &s, work);
    for (int k = 0; k < 3; k++) sum += exp(u0[k]);
    for (int k = 0; k < 3; k++) {
        const double p = exp(u0[k]) / sum;
        double weight = 0;
        for (int l = 0; l < 3; l++) weight += root[k + 3 * l] * root[k + 3 * l];
        assert_true(fabs(error[k] - 2 * ((k == 1) - p)) < 1e-14);
        assert_true(fabs(weight - 2 * p * (1 - p)) < 1e-14 && u[k] == u0[k]);
    }
    assert_true(fabs(s.score - 2 * log(exp(-1.0) / sum)) < 1e-13);
}

/* The same draws for a row in both, solved to 1e-7 each. */
static void a_block_of_rows_is_the_rows_one_at_a_time(void **state)
{
    (void)state;
    data d = class_data(120, 5);
    add_weights(&d);
    fab_gauss *full = fitted("rvga", &d, TEXT "draws=8 warmup=1", NULL, NULL);
    for (int block = 1; block <= 121; block += 40) {
        double mean, covariance;
        char text[200];
        snprintf(text, sizeof text, TEXT "draws=8 K=24 block=%d warmup=1 sweeps=0", block);
        fab_gauss *q = fitted("lrvga", &d, text, NULL, NULL);
        assert_int_equal(q->D, T);
        assert_int_equal(fab_distance_mean(q, full, &mean), FAB_OK);
        assert_int_equal(fab_distance_covariance(q, full, NULL, &covariance), FAB_OK);
        if (!(mean < 1e-5 && covariance < 1e-5)) fail_msg("%s: %.3g %.3g", text, mean, covariance);
        fab_gauss_free(q);
    }
    fab_gauss_free(full);
}

/* With many rows the posterior is nearly Gaussian, and its mean near its mode: less than half a standard deviation
 * apart, which is a tenth of a coefficient. */
static void many_rows_end_where_laplace_does(void **state)
{
    (void)state;
    const data d = class_data(1200, 5);
    const char *const methods[] = {"rvga", "lrvga"};
    fab_gauss *mode = fitted("laplace", &d, TEXT, NULL, NULL);
    for (int m = 0; m < 2; m++) {
        double mean, covariance;
        fab_gauss *q =
            fitted(methods[m], &d, m == 0 ? TEXT "draws=16" : TEXT "draws=16 K=24", NULL, NULL);
        assert_int_equal(fab_distance_mean(q, mode, &mean), FAB_OK);
        assert_int_equal(fab_distance_covariance(q, mode, NULL, &covariance), FAB_OK);
        if (!(mean < 0.05 && covariance < 0.15))
            fail_msg("%s: %.3g %.3g", methods[m], mean, covariance);
        fab_gauss_free(q);
    }
    fab_gauss_free(mode);
}

/* Distance between the fits of the same rows forwards and backwards. */
static double order_matters(const char *text)
{
    const data d = class_data(60, 5);
    data turned = class_data(60, 5);
    double mean;
    for (int64_t j = 0; j < d.n; j++) {
        turned.y[j] = d.y[d.n - 1 - j];
        memcpy(turned.x + j * D, d.x + (d.n - 1 - j) * D, D * 8);
    }
    fab_gauss *a = fitted("lrvga", &d, text, NULL, NULL),
              *b = fitted("lrvga", &turned, text, NULL, NULL);
    assert_int_equal(fab_distance_mean(a, b, &mean), FAB_OK);
    fab_gauss_free(a);
    fab_gauss_free(b);
    return mean;
}

static void a_block_that_settled_forgets_the_order_of_its_rows(void **state)
{
    (void)state;
    const double once = order_matters(TEXT "K=24 warmup=60 draws=128 sweeps=0"),
                 again = order_matters(TEXT "K=24 warmup=60 draws=128");
    if (!(again < 0.3 * once)) fail_msg("%g and %g", again, once);
}

/* A valid Gaussian from data that leave much open. */
static void hard_data_fit(void **state)
{
    (void)state;
    const char *const priors[] = {"", "alpha=1", "alpha=1e-6"};
    for (int hard = 0; hard < 6; hard++)
        for (int p = 0; p < 3; p++) {
            data d = class_data(80, 5);
            char text[200];
            for (int64_t j = 0; j < d.n; j++) {
                double *x = d.x + j * D;
                if (hard == 1) d.y[j] = 2;                                /* one class only */
                if (hard == 2) d.y[j] = x[0] > 0.5 ? 2 : x[0] > -0.5;     /* separable */
                if (hard == 3) d.y[j] = (double)(j * C / d.n);            /* sorted */
                if (hard == 4) x[1] = x[2], x[3] = 0, x[4] = 1;           /* collinear */
                if (hard == 5) x[1] *= 1e-12, x[2] *= p == 2 ? 1e3 : 1e6; /* scales */
            }
            snprintf(text, sizeof text, "likelihood=categorical classes=3 draws=6 K=5 %s",
                     priors[p]);
            fab_fit *f = open_fit("lrvga", D, text, NULL, NULL);
            const fab_gauss *q;
            const fab_examples e = rows_from(&d, 0, d.n);
            if (fab_fit_update(f, &e) != FAB_OK || fab_fit_gauss(f, &q) != FAB_OK)
                fail_msg("%d %s: %s", hard, text, fab_detail());
            assert_int_equal(fab_gauss_check(q), FAB_OK);
            fab_fit_free(f);
        }
}

/* 160 features in 133 first rows, each class against the rest: planes part them, and their scores rise to the widest
 * prior there is, 1 / 10 000 of a predictor's.  Where no end is in sight alpha gives a predictor the variance 10. */
static void classes_that_separate_in_the_first_rows_have_no_endless_prior(void **state)
{
    (void)state;
    enum { N = 133, WIDE = 160 };
    static double x[N * WIDE], y[N];
    double square = 0;
    fab_random_normal(5, FAB_PURPOSE_DATA, 1, 0, N * WIDE, FAB_F64, x);
    for (int64_t j = 0; j < N; j++) {
        y[j] = (double)(j % 3);
        for (int64_t i = 0; i < WIDE; i++) {
            if (i % 3 == j % 3) x[j * WIDE + i] += 1;
            square += x[j * WIDE + i] * x[j * WIDE + i] / N;
        }
    }
    fab_fit *f =
        open_fit("lrvga", WIDE, "likelihood=categorical classes=3 draws=6 K=2", NULL, NULL);
    const fab_examples e = {.x = {x, FAB_F64, N, WIDE}, .y = y};
    const fab_gauss *q;
    fab_report r;
    assert_int_equal(fab_fit_update(f, &e), FAB_OK);
    assert_int_equal(fab_fit_gauss(f, &q), FAB_OK);
    assert_int_equal(fab_fit_report(f, &r), FAB_OK);
    if (!(r.alpha > 0.05 * square)) fail_msg("alpha %g, the rows have %g", r.alpha, square);
    fab_fit_free(f);
}

static void an_open_scheme_is_refused(void **state)
{
    (void)state;
    const char *const methods[] = {"rvga", "lrvga"};
    for (int m = 0; m < 2; m++) {
        any_settings s;
        fab_fit *f;
        assert_int_equal(try_settings(&s, methods[m], D, TEXT "scheme=explicit"), FAB_OK);
        assert_int_equal(create(&f, methods[m], &s, NULL, NULL), FAB_UNSUPPORTED);
        assert_non_null(strstr(fab_detail(), "expected implicit"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_classes_are_a_bernoulli_target),
        TEST(without_variance_it_is_the_likelihood_itself),
        TEST(a_block_of_rows_is_the_rows_one_at_a_time),
        TEST(many_rows_end_where_laplace_does),
        TEST(a_block_that_settled_forgets_the_order_of_its_rows),
        TEST(hard_data_fit),
        TEST(classes_that_separate_in_the_first_rows_have_no_endless_prior),
        TEST(an_open_scheme_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
