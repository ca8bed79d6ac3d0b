/* test_rvga.c - the scalar equations, kalman against the closed form, rvga on hard data.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/methods.h"
#include "train/sequence/scalar.h"
#include "la_allocations.h"
#include "stream_glm.h"

enum { D = 13 };

/* ---- scalars -------------------------------------------------------------------------------------- */

static const double u0s[] = {-30, -2.385, 0, 0.3, 7, 100},
                    v0s[] = {1e-280, 1e-9, 0.05, 1, 30, 1e6, 1e9};

/* Both equations hold, relative to the size of their terms. */
static void check_bernoulli(fab_expectation e, double y, double w, double u0, double v0)
{
    const fab_rule r = {
        .likelihood = FAB_LIKELIHOOD_BERNOULLI, .expectation = e, .draws = 30, .seed = 7};
    const fab_scalar s = fab_scalar_update(&r, 3, y, w, u0, v0);
    const double sign = y > 0 ? 1 : -1;
    double z[30];
    fab_random_normal(7, FAB_PURPOSE_DRAW, 3, 0, 30, FAB_F64, z);
    const fab_logistic m = fab_logistic_at(&(fab_nodes){e, 30, z}, sign * s.u, s.v);
    const double miss = m.miss, slope = m.slope;
    const double ru = s.u - u0 - v0 * w * sign * miss, rv = s.v - v0 / (1 + v0 * w * slope);
    const double size = fabs(s.u) + fabs(u0) + 1e-3;
    if (!(fabs(ru) < 1e-9 * size && fabs(rv) <= 1e-9 * v0))
        fail_msg("y %g w %g u0 %g v0 %g: u %.17g v %.17g, residuals %g %g", y, w, u0, v0, s.u, s.v,
                 ru, rv);
    assert_true(s.weight >= 0 && s.weight <= w / 4 * (1 + 1e-12) && s.v <= v0 * (1 + 1e-12));
}

/* Far from the label with a wide prior Newton alone runs from one end of its bracket to the other. */
static void a_surprise_under_a_wide_prior_is_solved(void **state)
{
    (void)state;
    for (int e = FAB_PROBIT; e <= FAB_SAMPLED; e++)
        for (double sd = 3; sd < 3000; sd *= 1.3)
            for (double z = -4; z <= 4; z += 0.25) {
                check_bernoulli((fab_expectation)e, 1, 1.46529, z * sd, sd * sd);
                check_bernoulli((fab_expectation)e, 0, 0.7, z * sd, sd * sd);
            }
}

static void bernoulli_scalars_solve_their_equations(void **state)
{
    (void)state;
    for (int e = FAB_PROBIT; e <= FAB_SAMPLED; e++)
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 7; k++)
                for (int y = 0; y < 2; y++)
                    check_bernoulli((fab_expectation)e, y, k == 3 ? 2.5 : 1, u0s[i], v0s[k]);
}

static void poisson_scalars_solve_their_equations(void **state)
{
    (void)state;
    const double ys[] = {0, 1, 17, 1e9};
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 7; k++)
            for (int j = 0; j < 4; j++) {
                const double u0 = u0s[i], v0 = v0s[k], y = ys[j];
                const fab_scalar s = fab_scalar_update(
                    &(fab_rule){.likelihood = FAB_LIKELIHOOD_POISSON}, 0, y, 1, u0, v0);
                assert_true(isfinite(s.u) && s.v > 0 && s.v <= v0 * (1 + 1e-12) && s.weight >= 0);
                const double mean = exp(s.u + s.v / 2),
                             size = fabs(s.u) + fabs(u0) + v0 * y + v0 * mean + 1e-3;
                const double ru = s.u - u0 - v0 * (y - mean), rv = s.v - v0 / (1 + v0 * mean);
                if (!(fabs(ru) < 1e-9 * size && fabs(rv) < 1e-9 * v0))
                    fail_msg("y %g u0 %g v0 %g: u %.17g v %.17g, residuals %g %g", y, u0, v0, s.u,
                             s.v, ru, rv);
            }
}

/* Simpson's rule with many nodes. */
static double simpson(double u, double v, int slope)
{
    enum { N = 200000 };
    const double s = sqrt(v), h = 20 * s / N;
    double sum = 0;
    for (int i = 0; i <= N; i++) {
        const double eta = u - 10 * s + i * h, z = (eta - u) / s, t = 1 / (1 + exp(eta));
        const double f = slope ? t * (1 - t) : t;
        sum += (i == 0 || i == N ? 1 : i % 2 ? 4 : 2) * f * exp(-z * z / 2);
    }
    return sum * h / 3 / s / sqrt(2 * acos(-1));
}

static void quadrature_is_the_integral(void **state)
{
    (void)state;
    const double us[] = {-9, -1, 0, 2.385, 14}, vs[] = {0.01, 0.5, 3, 15.9, 16.1, 100, 4000};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 7; k++) {
            const fab_logistic m =
                fab_logistic_at(&(fab_nodes){.expectation = FAB_QUADRATURE}, us[i], vs[k]);
            assert_true(fabs(m.miss - simpson(us[i], vs[k], 0)) < 1e-12);
            assert_true(fabs(m.slope - simpson(us[i], vs[k], 1)) < 1e-12);
        }
}

/* Differences over a step h err by h^2 times a third derivative, all below 1 here, and rounding over h. */
static void derivatives_are_the_limits_of_differences(void **state)
{
    (void)state;
    const double us[] = {-3, -0.4, 0, 2.385}, vs[] = {0.3, 1, 9, 30}, h = 1e-4, tol = 1e-7;
    double z[50];
    fab_random_normal(7, FAB_PURPOSE_DATA, 3, 0, 50, FAB_F64, z);
    for (int e = FAB_PROBIT; e <= FAB_SAMPLED; e++)
        for (int i = 0; i < 16; i++) {
            const fab_nodes n = {(fab_expectation)e, 50, z};
            const double u = us[i % 4], v = vs[i / 4];
            const fab_logistic m = fab_logistic_at(&n, u, v), left = fab_logistic_at(&n, u - h, v),
                               right = fab_logistic_at(&n, u + h, v),
                               low = fab_logistic_at(&n, u, v - h),
                               high = fab_logistic_at(&n, u, v + h);
            assert_true(fabs((right.miss - left.miss) / (2 * h) + m.slope) < tol);
            assert_true(fabs((right.slope - left.slope) / (2 * h) - m.slope_u) < tol);
            assert_true(fabs((high.miss - low.miss) / (2 * h) - m.miss_v) < tol);
            assert_true(fabs((high.slope - low.slope) / (2 * h) - m.slope_v) < tol);
        }
}

static void a_scalar_without_variance_is_the_likelihood_itself(void **state)
{
    (void)state;
    const double p = sigmoid(0.7);
    const fab_scalar b = fab_scalar_update(
        &(fab_rule){.likelihood = FAB_LIKELIHOOD_BERNOULLI, .expectation = FAB_QUADRATURE}, 0, 1, 1,
        0.7, 0);
    assert_true(fabs(b.error - (1 - p)) < 1e-15 && fabs(b.weight - p * (1 - p)) < 1e-15 &&
                b.u == 0.7);
    const fab_scalar c =
        fab_scalar_update(&(fab_rule){.likelihood = FAB_LIKELIHOOD_POISSON}, 0, 3, 2, 0.7, 0);
    assert_true(fabs(c.error - 2 * (3 - exp(0.7))) < 1e-14 &&
                fabs(c.weight - 2 * exp(0.7)) < 1e-14);
}

/* ---- the methods ---------------------------------------------------------------------------------- */

static void kalman_is_the_closed_form(void **state)
{
    (void)state;
    data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, 400, 1);
    add_weights(&d);
    const closed c = closed_form(&d, 0.7, 2.385, 0.01);
    fab_gauss *q = fitted("kalman", &d, "alpha=0.7 beta=2.385 intercept_alpha=0.01", NULL, NULL);
    assert_int_equal(q->form, FAB_FORM_COVARIANCE);
    assert_true(distance_to(q, &c) < 1e-11);
    fab_gauss_free(q);
}

/* ---- the schemes of [L], in dense algebra ------------------------------------------------------ */

typedef struct oracle {
    real S[D * D], mu[D]; /* precision */
} oracle;

/* w (y - E m) and w E m' of a row under N(mu, S^-1), sigma as a probit. */
static void expect(const real *S, const real *mu, const double *x, double y, real *error,
                   real *weight)
{
    const real *P = dense_inverse(D, S);
    real u = 0, v = 0;
    for (int i = 0; i < D; i++) u += x[i] * mu[i];
    for (int i = 0; i < D * D; i++) v += x[i / D] * P[i] * x[i % D];
    const real k = 1 / r_sqrt(1 + (real)acos(-1) * v / 8);
    const double p = sigmoid((double)(k * u));
    *error = y - p;
    *weight = k * p * (1 - p);
}

static void add_row(const oracle *o, const double *x, real error, real weight, oracle *to)
{
    real S[D * D], mu[D];
    for (int i = 0; i < D * D; i++) S[i] = o->S[i] + weight * x[i / D] * x[i % D];
    const real *P = dense_inverse(D, S);
    for (int i = 0; i < D; i++) {
        mu[i] = o->mu[i];
        for (int k = 0; k < D; k++) mu[i] += P[i * D + k] * x[k] * error;
    }
    memcpy(to->S, S, sizeof S);
    memcpy(to->mu, mu, sizeof mu);
}

/* [L] (137)-(140); explicit: the first two lines, mirror prox: (141)-(143) */
static void oracle_row(oracle *o, const char *scheme, const double *x, double y)
{
    real error, first, weight;
    oracle hat;
    expect(o->S, o->mu, x, y, &error, &first);
    add_row(o, x, error, first, &hat);
    if (strcmp(scheme, "explicit") != 0) {
        expect(hat.S, hat.mu, x, y, &error, &weight);
        add_row(o, x, error, strcmp(scheme, "mirror-prox") ? weight : first, &hat);
    }
    *o = hat;
}

static void the_schemes_of_the_paper_are_settings(void **state)
{
    (void)state;
    const char *const schemes[] = {"explicit", "extra-gradient", "mirror-prox"};
    const data d = make_data(FAB_LIKELIHOOD_BERNOULLI, D, 100, 1);
    for (int s = 0; s < 3; s++) {
        oracle o = {.mu = {0}};
        char text[200];
        for (int i = 0; i < D; i++) o.S[i * D + i] = 0.7;
        for (int64_t j = 0; j < d.n; j++) oracle_row(&o, schemes[s], d.x + j * D, d.y[j]);
        const closed c = {D, dense_inverse(D, o.S), o.mu};
        snprintf(text, sizeof text,
                 "likelihood=bernoulli alpha=0.7 intercept=false expectation=probit scheme=%s",
                 schemes[s]);
        fab_gauss *q = fitted("rvga", &d, text, NULL, NULL);
        const double e = distance_to(q, &c);
        if (!(e < 1e-11)) fail_msg("%s: %.3g", schemes[s], e);
        fab_gauss_free(q);
    }
}

/* Means over n draws err by n^-1/2: far fewer draws, a larger distance from the integral. */
static void sampled_expectations_approach_the_integral(void **state)
{
    (void)state;
    const data d = make_data(FAB_LIKELIHOOD_BERNOULLI, D, 400, 1);
    fab_gauss *q = fitted("rvga", &d, "likelihood=bernoulli alpha=0.7", NULL, NULL);
    double few = 0, many = 0;
    for (int draws = 4; draws <= 1024; draws *= 256) {
        char text[200];
        snprintf(text, sizeof text, "likelihood=bernoulli alpha=0.7 expectation=sampled draws=%d",
                 draws);
        fab_gauss *p = fitted("rvga", &d, text, NULL, NULL);
        assert_int_equal(fab_distance_mean(p, q, draws == 4 ? &few : &many), FAB_OK);
        fab_gauss_free(p);
    }
    fab_gauss_free(q);
    assert_true(many < 0.25 * few && few < 0.3);
}

/* exp(0.5 v) of a wide prior has no finite mean: the open schemes cannot, the implicit one can. */
static void a_scheme_that_overflows_says_so(void **state)
{
    (void)state;
    const char *const schemes[] = {"implicit", "explicit", "mirror-prox"};
    data d = make_data(FAB_LIKELIHOOD_POISSON, D, 50, 40);
    for (int s = 0; s < 3; s++) {
        char text[200];
        snprintf(text, sizeof text, "likelihood=poisson alpha=1e-3 scheme=%s", schemes[s]);
        fab_fit *f = open_fit("rvga", D, text, NULL, NULL);
        const fab_examples e = rows_from(&d, 0, d.n);
        assert_int_equal(fab_fit_update(f, &e), s == 0 ? FAB_OK : FAB_NUMERIC);
        if (s > 0) {
            assert_non_null(strstr(fab_detail(), schemes[s]));
            assert_int_equal(fab_fit_update(f, &e), FAB_NUMERIC);
            assert_non_null(strstr(fab_detail(), "cannot go on"));
        }
        fab_fit_free(f);
    }
}

/* ---- the methods again --------------------------------------------------------------------------- */

static void a_posterior_is_a_prior(void **state)
{
    (void)state;
    data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, 400, 1), first = d, rest = d;
    first.n = 150;
    rest.n = 250, rest.x += 150 * D, rest.y += 150;
    const closed c = closed_form(&d, 0.7, 2.385, 0.01);
    const char *text = "alpha=0.7 beta=2.385 intercept_alpha=0.01";
    fab_gauss *prior = fitted("kalman", &first, text, NULL, NULL);
    fab_gauss *q = fitted("kalman", &rest, text, prior, NULL);
    assert_true(distance_to(q, &c) < 1e-10);
    fab_gauss_free(q);
    fab_gauss_free(prior);
}

static void hard_data_fit(void **state)
{
    (void)state;
    const char *const likelihood[] = {"gaussian", "bernoulli", "poisson"};
    for (int l = 0; l < 3; l++)
        for (int hard = 0; hard < 4; hard++) {
            data d = make_data((fab_likelihood)l, D, 300, 1);
            char text[100];
            for (int64_t j = 0; j < d.n; j++) {
                d.x[j * D + 3] = 1, d.x[j * D + 5] = d.x[j * D + 6];
                if (hard == 1) d.y[j] = 1;
                if (hard == 2) d.y[j] = d.x[j * D] > 0;
                if (hard == 3) d.y[j] = j >= 150;
            }
            snprintf(text, sizeof text, "likelihood=%s%s", likelihood[l],
                     hard % 2 ? " alpha=1e-3" : "");
            fab_gauss *q = fitted("rvga", &d, text, NULL, NULL);
            assert_int_equal(fab_gauss_check(q), FAB_OK);
            fab_gauss_free(q);
        }
}

static void split_saved_and_resumed_is_the_whole(void **state)
{
    (void)state;
    const char *const text[] = {"", "likelihood=bernoulli warmup=50", "likelihood=poisson alpha=1"};
    for (int v = 0; v < 3; v++)
        for (int64_t at = 20; at < 150; at += 60) {
            const data d = make_data((fab_likelihood)v, D, 150, 1);
            fab_gauss *whole = fitted("rvga", &d, text[v], NULL, NULL);
            fab_fit *f = open_fit("rvga", D, text[v], NULL, NULL), *again;
            fab_tensors *file;
            feed(f, &d, 0, at);
            result_of(f);
            assert_int_equal(fab_fit_save(f, in_folder("q.safetensors"), NULL), FAB_OK);
            feed(f, &d, at, d.n - at);
            assert_same_bits(result_of(f), whole);
            assert_int_equal(fab_tensors_read(&file, in_folder("q.safetensors")), FAB_OK);
            if (fab_fit_load(&again, file, NULL, NULL) != FAB_OK)
                fail_msg("resume: %s", fab_detail());
            feed(again, &d, at, d.n - at);
            assert_same_bits(result_of(again), whole);
            fab_tensors_free(file);
            fab_fit_free(f);
            fab_fit_free(again);
            fab_gauss_free(whole);
        }
}

static void update_does_not_allocate(void **state)
{
    (void)state;
    if (!COUNTS_ALLOCATIONS) skip();
    const data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, 150, 1);
    fab_fit *f = open_fit("kalman", D, "warmup=30", NULL, NULL);
    feed(f, &d, 0, 40);
    const long before = allocations;
    feed(f, &d, 40, 110);
    assert_int_equal(allocations, before);
    fab_fit_free(f);
}

static fab_status open_fit_and_close(void)
{
    static double x[12 * D], y[12];
    any_settings s;
    fab_fit *f;
    const fab_gauss *q;
    fab_random_normal(5, FAB_PURPOSE_DATA, 5, 0, 12 * D, FAB_F64, x);
    fab_random_normal(5, FAB_PURPOSE_DATA, 6, 0, 12, FAB_F64, y);
    assert_int_equal(try_settings(&s, "kalman", D, ""), FAB_OK);
    fab_status status = create(&f, "kalman", &s, NULL, NULL);
    if (status != FAB_OK) return status;
    status = fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, 12, D}, .y = y});
    if (status == FAB_OK) status = fab_fit_gauss(f, &q);
    fab_fit_free(f);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(open_fit_and_close) >= 4);
}

static void what_cannot_be_done_is_said(void **state)
{
    (void)state;
    any_settings s;
    fab_fit *f;
    assert_int_equal(try_settings(&s, "kalman", D, "likelihood=bernoulli"), FAB_OK);
    assert_int_equal(create(&f, "kalman", &s, NULL, NULL), FAB_UNSUPPORTED);
    assert_non_null(strstr(fab_detail(), "expected gaussian"));
    assert_int_equal(try_settings(&s, "rvga", 2000, ""), FAB_OK);
    assert_int_equal(create(&f, "rvga", &s, NULL, NULL), FAB_UNSUPPORTED);
    assert_non_null(strstr(fab_detail(), "offered up to 2000"));
    assert_null(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_surprise_under_a_wide_prior_is_solved),
        TEST(bernoulli_scalars_solve_their_equations),
        TEST(poisson_scalars_solve_their_equations),
        TEST(quadrature_is_the_integral),
        TEST(derivatives_are_the_limits_of_differences),
        TEST(the_schemes_of_the_paper_are_settings),
        TEST(sampled_expectations_approach_the_integral),
        TEST(a_scheme_that_overflows_says_so),
        TEST(a_scalar_without_variance_is_the_likelihood_itself),
        TEST(kalman_is_the_closed_form),
        TEST(a_posterior_is_a_prior),
        TEST(hard_data_fit),
        TEST(update_does_not_allocate),
        TEST(every_failed_allocation_is_reported),
        TEST(what_cannot_be_done_is_said),
        cmocka_unit_test_setup_teardown(split_saved_and_resumed_is_the_whole, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
