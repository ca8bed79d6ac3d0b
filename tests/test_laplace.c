/* test_laplace.c - Laplace's approximation against quadruple precision, integrals and equivalent models.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "laplace_case.h"
#include "model/likelihoods/likelihood.h"

/* ---- the posterior ---------------------------------------------------------------------------- */

static void mode_curvature_and_evidence_are_right(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++)
        for (int way = 0; way < 4; way++) {
            problem p =
                some_problem((fab_likelihood)l, 97, l == FAB_LIKELIHOOD_CATEGORICAL ? 4 : 11, 3);
            p.m.intercept = way & 1;
            if (way & 2) add_weights(&p);
            compare(&p, 1e-10);
        }
}

static void odd_sizes_fit(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{1, 1}, {2, 1}, {300, 1}, {5, 11}, {1, 11}, {513, 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int l = 0; l < 4; l++) {
            const problem p = some_problem((fab_likelihood)l, sizes[i][0], sizes[i][1], 5);
            compare(&p, 1e-9);
        }
}

static void a_given_prior_takes_the_place_of_alpha(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++)
        for (int form = 0; form < 2; form++) {
            problem p = some_problem((fab_likelihood)l, 40, 3, 7);
            fab_gauss *g = some_gauss((fab_form)form, FAB_F64, fab_glm_size(&p.m), 2, 17, 0.5);
            p.prior = g;
            compare(&p, 1e-10);
            fab_gauss_free(g);
        }
}

/* A column near 1e8, which varies by 1, and an intercept that no prior holds: rows of a condition of some 1e9, of which the
 * root keeps eps 1e9 = 2e-7 and the mode, found by gradients of as many digits, about a hundred times that.  The
 * Cholesky factor of A had standard deviations 20 % off, or none. */
static void a_column_far_from_zero_keeps_its_width(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++)
        for (int given = 0; given < 2; given++) {
            problem p = some_problem((fab_likelihood)l, 60, 2, 3);
            const int64_t P = fab_glm_size(&p.m);
            fab_gauss *prior;
            p.intercept_alpha = l == FAB_LIKELIHOOD_CATEGORICAL ? 1e-8 : 1e-20;
            for (int64_t j = 0; j < p.N; j++) p.x[2 * j + 1] += 1e8;
            assert_ok(fab_gauss_create(&prior, FAB_FORM_PRECISION, FAB_F64, P, 1));
            for (int64_t i = 0; i < P; i++) {
                prior->mu[i] = 0;
                ((double *)prior->F)[i] = 0;
                prior->psi[i] = i % 3 < 2 ? p.alpha : p.intercept_alpha;
            }
            if (given) p.prior = prior;
            fab_fit *f = fitted("laplace", &p);
            const fab_gauss *q = posterior_of(f);
            const truth t = truth_at(&p, q->mu);
            const real *S = dense_inverse(P, t.A), *V = dense_covariance(q);
            assert_int_equal(report_of(f).converged, 1);
            assert_near(distance_to_mode(&p, q), 0, 1e-3);
            for (int64_t i = 0; i < P; i++)
                assert_near((double)r_sqrt(V[i * P + i] / S[i * P + i]), 1, 1e-4);
            fab_fit_free(f);
            fab_gauss_free(prior);
        }
}

/* Counts whose rate is spread by a gamma distribution of size 2.385, as quantiles of uniform numbers: the size found is at the
 * top of the evidence, and near it: over 40 seeds its logarithm has a standard deviation of 0.15, and is 0.00 too large. */
static void spread_counts_have_their_size(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_NEGATIVE_BINOMIAL, 400, 2, 3);
    const fab_likelihood_row *l = fab_likelihood_row_of(p.m.likelihood);
    p.m.beta = 2.385;
    for (int64_t j = 0; j < p.N; j++) {
        double u;
        const double eta = 0.7 + 0.4 * p.x[2 * j] - 0.3 * p.x[2 * j + 1];
        fab_random_uniform(11, FAB_PURPOSE_DATA, 3, (uint64_t)j, 1, &u);
        for (p.y[j] = 0; l->cdf(&p.m, eta, 0, p.y[j]) < u;) p.y[j]++;
    }
    fab_laplace_settings s = settings_of(&p);
    s.train.alpha = FAB_AUTO_F64;
    fab_fit *f;
    assert_ok(try_with(&f, "laplace", &p, &s, NULL));
    const fab_report best = report_of(f);
    assert_near(log(best.beta / 2.385), 0, 4 * 0.15);
    assert_near(posterior_of(f)->mu[0], 0.4, 4 * 0.06);
    for (int way = -1; way <= 1; way += 2) {
        fab_fit *g;
        s.train.alpha = best.alpha;
        s.train.beta = best.beta * exp(0.05 * way);
        assert_ok(try_with(&g, "laplace", &p, &s, NULL));
        assert_true(report_of(g).log_evidence < best.log_evidence);
        fab_fit_free(g);
    }
    s.train.beta = best.beta;
    fab_fit_free(f);
    assert_ok(try_with(&f, "map", &p, &s, NULL)); /* slopes there are 0 */
    p.m.beta = best.beta;
    p.alpha = best.alpha;
    assert_near(largest_gradient(&p, posterior_of(f)->mu), 0, 1e-6);
    fab_fit_free(f);
}

/* Noise of Student's t: slopes at the mode are 0, and its scale is at the top of the evidence. */
static void heavy_tails_have_their_scale(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_GAUSSIAN, 150, 3, 5);
    p.m.nu = 4;
    for (int64_t j = 0; j < 8; j++) p.y[17 * j] += 40;
    fab_laplace_settings s = settings_of(&p);
    s.train.beta = FAB_AUTO_F64;
    fab_fit *f;
    assert_ok(try_with(&f, "laplace", &p, &s, NULL));
    const fab_report best = report_of(f);
    assert_int_equal(best.converged, 1);
    p.m.beta = best.beta;
    assert_near(largest_gradient(&p, posterior_of(f)->mu), 0, 1e-5);
    for (int way = -1; way <= 1; way += 2) {
        fab_fit *g;
        s.train.beta = best.beta * exp(0.05 * way);
        assert_ok(try_with(&g, "laplace", &p, &s, NULL));
        assert_true(report_of(g).log_evidence < best.log_evidence);
        fab_fit_free(g);
    }
    fab_fit_free(f);
    char *text;
    fab_glm again;
    assert_ok(fab_glm_json(&p.m, &text));
    assert_ok(fab_glm_from_json(&again, text));
    fab_text_free(text);
    assert_true(again.nu == 4 && again.beta == p.m.beta);
}

/* A weight of 3 is a row given three times. */
static void weights_repeat_rows(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++) {
        problem p = some_problem((fab_likelihood)l, 20, 2, 9), many = p;
        p.weight = doubles(20);
        many.N = 60, many.x = doubles(120), many.y = doubles(60);
        for (int64_t j = 0; j < 60; j++) {
            p.weight[j / 3] = 3;
            many.y[j] = p.y[j / 3];
            memcpy(many.x + 2 * j, p.x + 2 * (j / 3), 16);
        }
        fab_fit *f = fitted("laplace", &p), *g = fitted("laplace", &many);
        for (int64_t i = 0; i < fab_glm_size(&p.m); i++)
            assert_near(posterior_of(f)->mu[i], posterior_of(g)->mu[i], 1e-9);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

/* Two classes, each with precision alpha: the difference of their coefficients has alpha / 2. */
static void two_classes_are_a_logistic_model(void **state)
{
    (void)state;
    problem two = some_problem(FAB_LIKELIHOOD_BERNOULLI, 60, 3, 11), c = two;
    c.m.likelihood = FAB_LIKELIHOOD_CATEGORICAL;
    c.m.classes = 2;
    two.alpha = c.alpha / 2;
    two.intercept_alpha = c.intercept_alpha / 2;
    fab_fit *f = fitted("laplace", &two), *g = fitted("laplace", &c);
    const double *a = posterior_of(f)->mu, *b = posterior_of(g)->mu;
    for (int64_t i = 0; i < 4; i++) assert_near(a[i], b[4 + i] - b[i], 1e-8);
    assert_near(report_of(f).log_evidence, report_of(g).log_evidence, 1e-9);
    fab_fit_free(f);
    fab_fit_free(g);
}

/* ---- the evidence ----------------------------------------------------------------------------- */

/* log of the integral over one coefficient, by the trapezoid rule */
static double integrated(const problem *p, const fab_gauss *q, double sd)
{
    const int steps = 300;
    double sum = 0, top = 0;
    for (int i = -steps; i <= steps; i++) {
        const double theta = q->mu[0] + 12 * sd * i / steps,
                     at = (double)-truth_at(p, &theta).value;
        if (i == -steps) top = (double)-truth_at(p, q->mu).value;
        sum += exp(at - top);
    }
    return top + log(sum * 12 * sd / steps) + 0.5 * log(p->alpha / 6.283185307179586);
}

/* Exact for a gaussian target; for 60 rows of the others its error is of order 1/N. */
static void the_evidence_is_near_the_integral(void **state)
{
    (void)state;
    for (int l = 0; l < 3; l++) {
        problem p = some_problem((fab_likelihood)l, 60, 1, 13);
        p.m.intercept = 0;
        fab_fit *f = fitted("laplace", &p);
        const fab_gauss *q = posterior_of(f);
        const double sd = sqrt((double)dense_covariance(q)[0]),
                     off = report_of(f).log_evidence - integrated(&p, q, sd);
        assert_true(fabs(off) < (l == FAB_LIKELIHOOD_GAUSSIAN ? 1e-10 : 0.05));
        fab_fit_free(f);
    }
}

static void hear(void *ctx, const char *sentence)
{
    if (strstr(sentence, "the evidence sees no signal")) *(int *)ctx = 1;
}

static void alpha_is_at_the_top_of_the_evidence(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++) {
        int no_signal = 0;
        problem p = some_problem((fab_likelihood)l, 200, 3, 15);
        p.alpha = FAB_AUTO_F64;
        fab_set_log(hear, &no_signal);
        fab_fit *f = fitted("laplace", &p);
        fab_set_log(NULL, NULL);
        assert_false(no_signal);
        const fab_report best = report_of(f);
        fab_fit_free(f);
        for (int k = -3; k <= 3; k++) {
            p.alpha = best.alpha * exp(k * 0.7);
            f = fitted("laplace", &p);
            assert_true(report_of(f).log_evidence <= best.log_evidence + 1e-8);
            fab_fit_free(f);
        }
    }
}

/* ---- odd data --------------------------------------------------------------------------------- */

static void separable_data_have_a_finite_mode(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 40, 2, 19);
    for (int64_t j = 0; j < 40; j++) p.y[j] = p.x[2 * j] > 0;
    const double alpha[] = {1, 1e-6, FAB_AUTO_F64};
    for (int i = 0; i < 3; i++) {
        p.alpha = alpha[i];
        if (i < 2) compare(&p, 1e-6);
        fab_fit_free(fitted("laplace", &p));
    }
}

static void one_class_alone_fits(void **state)
{
    (void)state;
    for (int y = 0; y < 2; y++)
        for (int automatic = 0; automatic < 2; automatic++) {
            problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 40, 2, 19);
            for (int64_t j = 0; j < 40; j++) p.y[j] = y;
            if (!automatic) compare(&p, 1e-8);
            if (automatic) p.alpha = FAB_AUTO_F64;
            int no_signal = 0;
            fab_set_log(hear, &no_signal);
            fab_fit *f = fitted("laplace", &p);
            fab_set_log(NULL, NULL);
            assert_int_equal(no_signal, automatic);
            assert_true((posterior_of(f)->mu[2] > 0) == y);
            fab_fit_free(f);
        }
}

/* Gradients of rows at 1e9 are good to 1e9 * 4e-16 each, standard deviations are 1e-5: 1e-2 of 1e-5 is little. */
static void counts_of_a_billion_fit(void **state)
{
    (void)state;
    for (int64_t intercept = 0; intercept < 2; intercept++) {
        problem p = some_problem(FAB_LIKELIHOOD_POISSON, 40, 2, 21);
        p.m.intercept = intercept;
        for (int64_t j = 0; j < 40; j++) {
            if (!intercept) p.x[2 * j] = 1;
            p.y[j] = floor(1e9 * exp(0.3 * p.x[2 * j + 1]));
        }
        fab_fit *f = fitted("laplace", &p);
        const fab_gauss *q = posterior_of(f);
        assert_near(q->mu[1], 0.3, 1e-6);
        assert_int_equal(report_of(f).converged, 1);
        fab_fit_free(f);
        p.alpha = FAB_AUTO_F64;
        fab_fit_free(fitted("laplace", &p));
    }
}

static void columns_of_any_scale_fit(void **state)
{
    (void)state;
    for (int l = 0; l < 3; l++) {
        problem p = some_problem((fab_likelihood)l, 40, 3, 23);
        for (int64_t j = 0; j < 40; j++) {
            p.x[3 * j] *= 1e-12;
            if (l == FAB_LIKELIHOOD_BERNOULLI) p.x[3 * j + 1] *= 1e12;
            p.x[3 * j + 2] = 0;
        }
        compare(&p, 1e-6);
        p.alpha = FAB_AUTO_F64;
        fab_fit_free(fitted("laplace", &p));
    }
}

/* ---- the method ------------------------------------------------------------------------------- */

static void map_is_the_mean_of_laplace(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++) {
        const problem p = some_problem((fab_likelihood)l, 40, 3, 31);
        fab_fit *f = fitted("laplace", &p), *g = fitted("map", &p);
        assert_int_equal(posterior_of(g)->form, FAB_FORM_POINT);
        assert_memory_equal(posterior_of(f)->mu, posterior_of(g)->mu,
                            (size_t)fab_glm_size(&p.m) * 8);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

static void what_is_not_offered_is_said(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_GAUSSIAN, 20, 3, 35);
    fab_laplace_settings s = settings_of(&p);
    fab_fit *f;
    s.train.beta = FAB_AUTO_F64;
    assert_refused(try_with(&f, "laplace", &p, &s, NULL), FAB_UNSUPPORTED, "exact finds it");
    s = settings_of(&p);
    s.train.alpha = FAB_AUTO_F64;
    memset(p.x, 0, 60 * 8);
    assert_refused(try_with(&f, "laplace", &p, &s, NULL), FAB_BAD_DATA, "give alpha");
    p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 20, 3, 35);
    s = settings_of(&p);
    s.temperature = 0.5;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, fab_glm_size(&p.m), 2, 17, 0.5);
    p.prior = g;
    assert_refused(try_with(&f, "laplace", &p, &s, NULL), FAB_UNSUPPORTED,
                   "temperature = 0.5 with a prior that is given");
    fab_gauss_free(g);
}

static int64_t rank_now;
static const fab_gauss *prior_now;

static fab_status fit_once(void)
{
    static double x[60 * 5], y[60];
    fab_random_normal(5, FAB_PURPOSE_DATA, 5, 0, 60 * 5, FAB_F64, x);
    for (int j = 0; j < 60; j++) y[j] = x[5 * j] + x[5 * j + 1] > 0.3;
    const problem p = {.m = {.likelihood = FAB_LIKELIHOOD_BERNOULLI,
                             .D = 5,
                             .classes = 1,
                             .intercept = 1,
                             .beta = 1},
                       .N = 60,
                       .x = x,
                       .y = y,
                       .alpha = 1,
                       .intercept_alpha = 1,
                       .prior = prior_now};
    fab_laplace_settings s = settings_of(&p);
    fab_fit *f;
    s.K = rank_now;
    const fab_status status = try_with(&f, "laplace", &p, &s, NULL);
    fab_fit_free(f);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 6, 2, 17, 1);
    for (rank_now = 2; rank_now <= 6; rank_now += 4)
        assert_true(fail_every_allocation(fit_once) >= 5);
    prior_now = g;
    rank_now = 6;
    assert_true(fail_every_allocation(fit_once) >= 5);
    fab_gauss_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mode_curvature_and_evidence_are_right),
        TEST(odd_sizes_fit),
        TEST(a_given_prior_takes_the_place_of_alpha),
        TEST(a_column_far_from_zero_keeps_its_width),
        TEST(spread_counts_have_their_size),
        TEST(heavy_tails_have_their_scale),
        TEST(weights_repeat_rows),
        TEST(two_classes_are_a_logistic_model),
        TEST(the_evidence_is_near_the_integral),
        TEST(alpha_is_at_the_top_of_the_evidence),
        TEST(separable_data_have_a_finite_mode),
        TEST(one_class_alone_fits),
        TEST(counts_of_a_billion_fit),
        TEST(columns_of_any_scale_fit),
        TEST(map_is_the_mean_of_laplace),
        TEST(what_is_not_offered_is_said),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
