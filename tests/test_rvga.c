/* test_rvga.c - the scalar equations, kalman against the closed form, rvga on hard data.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/methods.h"
#include "train/sequence/scalar.h"
#include "la_allocations.h"
#include "stream_glm.h"

enum { D = 13, AT_ONCE = 192 /* rows that kalman takes in at a time */ };

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

/* Rows come by reflections, AT_ONCE at a time, or by rotations one after the other, where a column is large beside the root along
 * it: the same posterior, and the evidence of `exact`.  Column 0 is 1e-200 in the first rows and 2e3 behind: two blocks are
 * reflected, one is rotated.  Errors are those of a QR of normals, as below; of the evidence of sums of n terms. */
static void reflected_and_rotated_rows_are_the_closed_form(void **state)
{
    (void)state;
    const int64_t wide[] = {1, 31, 70};
    for (int t = 0; t < 6; t++) {
        const char *const text = "intercept=false alpha=0.7 beta=2.385";
        data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, wide[t % 3], 3 * AT_ONCE + 17, 1);
        add_weights(&d);
        for (int64_t j = 0; j < d.n && t >= 3; j++)
            d.x[j * d.D] = j < 2 * AT_ONCE ? 1e-200 : 2e3 * cos((double)j);
        const closed c = closed_form(&d, 0.7, 2.385, 0);
        fab_fit *f = open_fit("kalman", d.D, text, NULL, NULL),
                *g = open_fit("exact", d.D, text, NULL, NULL);
        fab_report r, of;
        feed(f, &d, 0, d.n);
        feed(g, &d, 0, d.n);
        const double e = far_off(result_of(f), &c);
        assert_int_equal(fab_fit_report(f, &r), FAB_OK);
        assert_int_equal(fab_fit_report(g, &of), FAB_OK);
        const double evidence = fabs(r.log_evidence / of.log_evidence - 1);
        if (!(e < 600 * 70 * 2.2e-16 * 1e3 && evidence < 600 * 2.2e-16 * 10))
            fail_msg("case %d: %.3g, evidence %.3g", t, e, evidence);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

/* Rows that come one, seven or all at a time, and with questions between them: the same bits. */
static void rows_may_be_cut_into_any_calls(void **state)
{
    (void)state;
    const char *const text[] = {"", "alpha=0.7", "alpha=0.7 beta=2.385 warmup=1", "warmup=300"};
    const data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, 500, 1);
    for (int t = 0; t < 4; t++) {
        fab_gauss *whole = fitted("kalman", &d, text[t], NULL, NULL);
        for (int64_t cut = 1; cut < 300; cut += 6 + 30 * cut) {
            fab_fit *f = open_fit("kalman", D, text[t], NULL, NULL);
            for (int64_t at = 0; at < d.n; at += cut) {
                feed(f, &d, at, at + cut < d.n ? cut : d.n - at);
                if (at % 11 == 0) result_of(f);
            }
            assert_same_bits(result_of(f), whole);
            fab_fit_free(f);
        }
        fab_gauss_free(whole);
    }
}

/* The posterior of n rows may be as much narrower than the prior as it likes: both are roots of the precision.  Errors
 * are those of the QR of n x T normals, whose condition is below 1e3 here: some n T eps 1e3. */
static void a_prior_may_be_as_wide_as_it_likes(void **state)
{
    (void)state;
    const char *const wide[] = {"1e-6", "1e-12", "1e-20", "1e-28"};
    for (int a = 0; a < 4; a++)
        for (int64_t n = 20; n <= 400; n *= 20) {
            char text[100];
            data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, n, 1);
            add_weights(&d);
            const closed c = closed_form(&d, atof(wide[a]), 2.385, 1e-4);
            snprintf(text, sizeof text, "alpha=%s beta=2.385 intercept_alpha=1e-4", wide[a]);
            fab_gauss *q = fitted("kalman", &d, text, NULL, NULL);
            const double e = far_off(q, &c);
            if (!(e < 400 * D * 2.2e-16 * 1e3)) fail_msg("alpha = %s: %.3g", wide[a], e);
            fab_gauss_free(q);
        }
}

/* Sizes from 1e-8 to 1e8: every standard deviation to its own digits. */
static void columns_may_be_of_any_size(void **state)
{
    (void)state;
    data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, 400, 1);
    for (int64_t j = 0; j < d.n; j++)
        for (int64_t i = 0; i < D; i++) d.x[j * D + i] *= pow(10, (double)(16 * i) / (D - 1) - 8);
    const closed c = closed_form(&d, 1e-20, 2.385, 1e-4);
    fab_gauss *q = fitted("kalman", &d, "alpha=1e-20 beta=2.385 intercept_alpha=1e-4", NULL, NULL);
    const double e = far_off(q, &c);
    if (!(e < 400 * D * 2.2e-16 * 1e3)) fail_msg("%.3g", e);
    fab_gauss_free(q);
}

/* NIST StRD, Pontius: y on x and x^2, x up to 3e6, as certified to 15 digits.  The rows of (x, x^2, 1), in units where columns
 * have length 1, have a condition of some 40. */
static void pontius_keeps_its_digits(void **state)
{
    (void)state;
    static double y[40] = {0.11019, 0.21956, 0.32949, 0.43899, 0.54803, 0.65694, 0.76562, 0.87487,
                           0.98292, 1.09146, 1.20001, 1.30822, 1.41599, 1.52399, 1.63194, 1.73947,
                           1.84646, 1.95392, 2.06128, 2.16844, 0.11052, 0.22018, 0.32939, 0.43886,
                           0.54798, 0.65739, 0.76596, 0.87474, 0.983,   1.0915,  1.20004, 1.30818,
                           1.41613, 1.52408, 1.63159, 1.73965, 1.84696, 1.95445, 2.06177, 2.16829};
    const double mean[] = {0.732059160401003e-6, -0.316081871345029e-14, 0.673565789473684e-3},
                 sd[] = {0.157817399981659e-9, 0.486652849992036e-16, 0.107938612033077e-3},
                 residual = 0.205177424076185e-3;
    static double x[80];
    for (int j = 0; j < 40; j++) {
        x[2 * j] = 150000.0 * (1 + j % 20);
        x[2 * j + 1] = x[2 * j] * x[2 * j];
    }
    data d = {.D = 2, .n = 40, .x = x, .y = y};
    char text[100];
    snprintf(text, sizeof text, "alpha=1e-30 intercept_alpha=1e-30 beta=%.17g",
             1 / (residual * residual));
    const char *const method[] = {"kalman", "rvga"};
    for (int m = 0; m < 2; m++) {
        fab_gauss *q = fitted(method[m], &d, text, NULL, NULL);
        double v[3];
        fab_solver *s;
        assert_int_equal(fab_solver_create(&s, q, NULL), FAB_OK);
        assert_int_equal(fab_solver_variances(s, v), FAB_OK);
        fab_solver_free(s);
        for (int i = 0; i < 3; i++) {
            assert_true(fabs(q->mu[i] / mean[i] - 1) < 1e-11);
            assert_true(fabs(sqrt(v[i]) / sd[i] - 1) < 1e-13);
        }
        fab_gauss_free(q);
    }
}

/* A column near 1e6 that varies by 1 has a condition of 1e9 beside an intercept that nothing holds. */
static void an_intercept_may_be_free(void **state)
{
    (void)state;
    data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, 400, 1);
    for (int64_t j = 0; j < d.n; j++) d.x[j * D + 4] += 1e6;
    const closed c = closed_form(&d, 0.7, 2.385, 1e-20);
    fab_gauss *q = fitted("kalman", &d, "alpha=0.7 beta=2.385 intercept_alpha=1e-20", NULL, NULL);
    const double e = far_off(q, &c);
    if (!(e < 400 * D * 2.2e-16 * 1e9)) fail_msg("%.3g", e);
    fab_gauss_free(q);
}

/* Weights 1 to 4, and the rows so many times: the same noise, scores and evidence.  Sums of 1000 terms each. */
static void a_row_of_weight_w_counts_as_w_rows(void **state)
{
    (void)state;
    const char *const method[] = {"kalman", "lrvga"}, *const text[] = {"alpha=0.7 beta=2.385",
                                                                       "alpha=0.7", ""};
    data once = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, 400, 1);
    data many = {.D = D, .x = doubles(4 * 400 * D), .y = doubles(4 * 400)};
    once.w = doubles(once.n);
    for (int64_t j = 0; j < once.n; j++) {
        once.w[j] = (double)(1 + j % 4);
        for (int64_t k = 0; k <= j % 4; k++, many.n++) {
            memcpy(many.x + many.n * D, once.x + j * D, D * sizeof *many.x);
            many.y[many.n] = once.y[j];
        }
    }
    for (int i = 0; i < 6; i++) {
        fab_report r[2];
        for (int k = 0; k < 2; k++) {
            /* the prior is chosen from the same rows: 200, weighing 500 */
            char all[100];
            snprintf(all, sizeof all, "%s warmup=%d", text[i / 2], k ? 500 : 200);
            fab_fit *f = open_fit(method[i % 2], D, all, NULL, NULL);
            feed(f, k ? &many : &once, 0, k ? many.n : once.n);
            assert_int_equal(fab_fit_report(f, &r[k]), FAB_OK);
            fab_fit_free(f);
        }
        assert_true(fabs(r[0].alpha / r[1].alpha - 1) < 1e-9);
        if (!(fabs(r[0].beta / r[1].beta - 1) < 1e-9))
            fail_msg("%s: beta %.17g, %.17g", text[i / 2], r[0].beta, r[1].beta);
        assert_true(fabs(r[0].log_evidence / r[1].log_evidence - 1) < 1e-9);
    }
}

/* One step ahead, the log score is the log evidence where the Gaussian is the posterior, and nowhere else. */
static void a_score_is_called_evidence_only_where_it_is(void **state)
{
    (void)state;
    const struct {
        const char *method, *text;
        fab_likelihood likelihood;
        int evidence;
    } of[] = {{"kalman", "", FAB_LIKELIHOOD_GAUSSIAN, 1},
              {"lrvga", "K=2 inner_rank=14", FAB_LIKELIHOOD_GAUSSIAN, 1},
              {"lrvga", "K=2 inner_rank=5", FAB_LIKELIHOOD_GAUSSIAN, 0},
              {"rvga", "likelihood=bernoulli", FAB_LIKELIHOOD_BERNOULLI, 0},
              {"lrvga", "likelihood=poisson", FAB_LIKELIHOOD_POISSON, 0}};
    for (int i = 0; i < 5; i++) {
        const data d = make_data(of[i].likelihood, D, 100, 1);
        fab_fit *f = open_fit(of[i].method, D, of[i].text, NULL, NULL);
        fab_report r;
        feed(f, &d, 0, d.n);
        assert_int_equal(fab_fit_report(f, &r), FAB_OK);
        assert_true(isfinite(r.log_score) && r.log_score < 0);
        assert_true(of[i].evidence ? r.log_evidence == r.log_score : isnan(r.log_evidence));
        fab_fit_free(f);
    }
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
        snprintf(
            text, sizeof text,
            "likelihood=bernoulli alpha=0.7 intercept=false expectation=probit warmup=1 scheme=%s",
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
        snprintf(text, sizeof text, "likelihood=poisson alpha=1e-3 warmup=1 scheme=%s", schemes[s]);
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

/* Largest distance of the mean from that of `to` in its standard deviations. */
static double moved(const fab_gauss *q, const fab_gauss *to)
{
    double P[16 * 16], worst = 0;
    fab_solver *s;
    assert_true(to->D <= 16);
    assert_int_equal(fab_solver_create(&s, to, NULL), FAB_OK);
    assert_int_equal(fab_solver_dense(s, P), FAB_OK);
    fab_solver_free(s);
    for (int64_t i = 0; i < to->D; i++)
        worst = fmax(worst, fabs(q->mu[i] - to->mu[i]) / sqrt(P[i + i * to->D]));
    return worst;
}

/* Few rows, each of them five times one after the other: row by row the means are up to 100 standard deviations off. */
static void rows_under_a_wide_prior_are_learned_together(void **state)
{
    (void)state;
    const char *const models[] = {"likelihood=bernoulli", "likelihood=poisson",
                                  "likelihood=categorical classes=2"};
    for (int l = 0; l < 3; l++) {
        data d = make_data(l == 1 ? FAB_LIKELIHOOD_POISSON : FAB_LIKELIHOOD_BERNOULLI, 3, 100, 1);
        for (int64_t j = 0; j < d.n; j++)
            memcpy(d.x + j * d.D, d.x + j / 5 * 5 * d.D, (size_t)d.D * sizeof *d.x);
        for (double alpha = 1e-2; alpha > 1e-8; alpha *= 1e-3) {
            char text[200];
            snprintf(text, sizeof text, "%s alpha=%g intercept_alpha=%g", models[l], alpha, alpha);
            fab_gauss *q = fitted("rvga", &d, text, NULL, NULL);
            fab_gauss *batch = fitted("vga", &d, text, NULL, NULL);
            const double e = moved(q, batch);
            if (!(e < 0.2)) fail_msg("%s: %.3g standard deviations", text, e);
            fab_gauss_free(q);
            fab_gauss_free(batch);
        }
    }
}

static void a_predictor_beyond_the_digits_is_refused(void **state)
{
    (void)state;
    const data d = make_data(FAB_LIKELIHOOD_POISSON, D, 50, 1);
    for (int warmup = 1; warmup <= 20; warmup += 19) {
        char text[200];
        snprintf(text, sizeof text, "likelihood=poisson alpha=1e-12 warmup=%d", warmup);
        fab_fit *f = open_fit("rvga", D, text, NULL, NULL);
        const fab_examples e = rows_from(&d, 0, d.n);
        assert_int_equal(fab_fit_update(f, &e), FAB_NUMERIC);
        assert_non_null(strstr(fab_detail(), "alpha = 1e-12"));
        assert_non_null(strstr(fab_detail(), "laplace and vga"));
        fab_fit_free(f);
    }
}

/* Of several classes, too; row 3 is the one that is far off. */
static void a_row_beyond_the_digits_is_named(void **state)
{
    (void)state;
    const char *const likelihood[] = {"poisson", "categorical classes=3"};
    for (int l = 0; l < 2; l++) {
        data d = make_data(FAB_LIKELIHOOD_BERNOULLI, D, 8, 1);
        char text[200];
        d.x[3 * D + 2] = 1e9;
        snprintf(text, sizeof text, "likelihood=%s alpha=1 warmup=8", likelihood[l]);
        fab_fit *f = open_fit("rvga", D, text, NULL, NULL);
        const fab_examples e = rows_from(&d, 0, d.n);
        assert_int_equal(fab_fit_update(f, &e), FAB_NUMERIC);
        if (!strstr(fab_detail(), "the predictor of row 3 has variance 1e+18"))
            fail_msg("%s: %s", likelihood[l], fab_detail());
        fab_fit_free(f);
    }
}

/* A first block of rows is settled as a whole, and scored as its rows are in turn, which is what rows one at a time do: the
 * products with m rows in place of those with the root, errors of some D m eps. */
static void a_block_is_scored_as_its_rows_in_turn(void **state)
{
    (void)state;
    const data d = make_data(FAB_LIKELIHOOD_BERNOULLI, D, 12, 1);
    for (int64_t m = 2; m <= d.n; m++) {
        fab_report r[2];
        for (int one = 0; one < 2; one++) {
            char text[100];
            snprintf(text, sizeof text, "likelihood=bernoulli alpha=0.7 warmup=%d",
                     one ? 1 : (int)m);
            fab_fit *f = open_fit("rvga", D, text, NULL, NULL);
            feed(f, &d, 0, m);
            assert_int_equal(fab_fit_report(f, &r[one]), FAB_OK);
            fab_fit_free(f);
        }
        if (!(fabs(r[0].log_score / r[1].log_score - 1) < 12 * D * 2.2e-16 * 100))
            fail_msg("%d rows: %.17g, in turn %.17g", (int)m, r[0].log_score, r[1].log_score);
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
        for (int64_t at = 20; at < (v ? 150 : 500);
             at += 60) { /* before the prior is chosen, inside of blocks */
            const data d = make_data((fab_likelihood)v, D, v ? 150 : 500, 1);
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

/* Earlier files have the covariance and the mean as their state: the same stream goes on.  A state that is no covariance is
 * refused, and a mean that is too large for the root of its inverse. */
static void a_covariance_of_an_earlier_file_goes_on(void **state)
{
    (void)state;
    enum { T = D + 1 };
    const data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, 300, 1);
    fab_gauss *whole = fitted("kalman", &d, "alpha=0.7 beta=1", NULL, NULL);
    for (int bad = 0; bad < 3; bad++) {
        fab_fit *f = open_fit("kalman", D, "alpha=0.7 beta=1", NULL, NULL), *again;
        fab_tensors *file, *old;
        fab_solver *s;
        double P[T * T], mu[T];
        feed(f, &d, 0, AT_ONCE); /* no row waits: the result is of those in the state */
        const fab_gauss *q = result_of(f);
        memcpy(mu, q->mu, sizeof mu);
        assert_int_equal(fab_solver_create(&s, q, NULL), FAB_OK);
        assert_int_equal(fab_solver_dense(s, P), FAB_OK);
        fab_solver_free(s);
        if (bad == 1) P[0] = -P[0];
        if (bad == 2) mu[0] = 1.7e308;
        assert_int_equal(fab_fit_save(f, in_folder("q.safetensors"), NULL), FAB_OK);
        assert_int_equal(fab_tensors_read(&file, in_folder("q.safetensors")), FAB_OK);
        assert_int_equal(fab_tensors_create(&old), FAB_OK);
        for (int64_t i = 0; i < fab_tensors_meta_count(file); i++) {
            const char *key = fab_tensors_meta_key(file, i);
            assert_int_equal(fab_tensors_set(old, key, fab_tensors_get(file, key)), FAB_OK);
        }
        for (int64_t i = 0; i < fab_tensors_count(file); i++) {
            const fab_tensor *t = fab_tensors_at(file, i);
            if (strcmp(t->name, "state.L") == 0 || strcmp(t->name, "state.z") == 0) continue;
            assert_int_equal(fab_tensors_add(old, t->name, t->type, t->ndim, t->shape, t->data),
                             FAB_OK);
        }
        assert_int_equal(fab_tensors_add(old, "state.mu", FAB_F64, 1, (int64_t[]){T}, mu), FAB_OK);
        assert_int_equal(fab_tensors_add(old, "state.P", FAB_F64, 2, (int64_t[]){T, T}, P), FAB_OK);
        assert_int_equal(fab_fit_load(&again, old, NULL, NULL), bad ? FAB_BAD_FILE : FAB_OK);
        if (!bad) {
            double mean, covariance;
            feed(again, &d, AT_ONCE, d.n - AT_ONCE);
            assert_int_equal(fab_distance_mean(result_of(again), whole, &mean), FAB_OK);
            assert_int_equal(fab_distance_covariance(result_of(again), whole, NULL, &covariance),
                             FAB_OK);
            assert_true(mean < 1e-11 && covariance < 1e-11);
            fab_fit_free(again);
        }
        fab_tensors_free(old);
        fab_tensors_free(file);
        fab_fit_free(f);
    }
    fab_gauss_free(whole);
}

static void update_does_not_allocate(void **state)
{
    (void)state;
    if (!COUNTS_ALLOCATIONS) skip();
    const data d = make_data(FAB_LIKELIHOOD_GAUSSIAN, D, 500, 1);
    fab_fit *f = open_fit("kalman", D, "warmup=30", NULL, NULL);
    feed(f, &d, 0, 40);
    const long before = allocations;
    feed(f, &d, 40, 460);
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
        TEST(rows_under_a_wide_prior_are_learned_together),
        TEST(a_predictor_beyond_the_digits_is_refused),
        TEST(a_row_beyond_the_digits_is_named),
        TEST(a_block_is_scored_as_its_rows_in_turn),
        TEST(a_scalar_without_variance_is_the_likelihood_itself),
        TEST(kalman_is_the_closed_form),
        TEST(reflected_and_rotated_rows_are_the_closed_form),
        TEST(rows_may_be_cut_into_any_calls),
        TEST(a_prior_may_be_as_wide_as_it_likes),
        TEST(columns_may_be_of_any_size),
        TEST(pontius_keeps_its_digits),
        TEST(an_intercept_may_be_free),
        TEST(a_row_of_weight_w_counts_as_w_rows),
        TEST(a_score_is_called_evidence_only_where_it_is),
        TEST(a_posterior_is_a_prior),
        TEST(hard_data_fit),
        TEST(update_does_not_allocate),
        TEST(every_failed_allocation_is_reported),
        TEST(what_cannot_be_done_is_said),
        cmocka_unit_test_setup_teardown(split_saved_and_resumed_is_the_whole, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_covariance_of_an_earlier_file_goes_on, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
