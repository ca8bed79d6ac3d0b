/* test_predict.c - predictions and scores against closed forms and plain numerical integration.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/predict.h"
#include "model/likelihoods/counts.h"

static void eta_has_the_moments_of_the_dense_gaussian(void **state)
{
    (void)state;
    enum { D = 5, N = 3 };
    const fab_form forms[] = {FAB_FORM_COVARIANCE, FAB_FORM_PRECISION};
    const fab_glm m = {FAB_LIKELIHOOD_GAUSSIAN, D - 1, 1, 1, 2.385};
    const double x[N * (D - 1)] = {1, 2, 3, 4, -1, 0.5, 0, 2, 0, 0, 0, 0}, offset[N] = {0, 1, 2};
    const fab_rows rows = {x, FAB_F64, N, D - 1};
    for (int f = 0; f < 2; f++) {
        fab_gauss *q = some_gauss(forms[f], FAB_F64, D, 2, 1, 1);
        fab_solver *s;
        double S[D * D], eta[N], v[N];
        assert_ok(fab_solver_create(&s, q, NULL));
        assert_ok(fab_solver_dense(s, S));
        assert_ok(fab_predict_eta(q, &m, &rows, offset, NULL, eta, v));
        for (int i = 0; i < N; i++) {
            double mean = offset[i], variance = 0, row[D] = {0};
            for (int d = 0; d < D; d++) row[d] = d < D - 1 ? x[i * (D - 1) + d] : 1;
            for (int d = 0; d < D; d++) {
                mean += row[d] * q->mu[d];
                for (int e = 0; e < D; e++) variance += row[d] * S[d * D + e] * row[e];
            }
            assert_true(fabs(eta[i] - mean) < 1e-12 * (1 + fabs(mean)));
            assert_true(fabs(v[i] - variance) < 1e-12 * variance);
        }
        fab_solver_free(s);
        fab_gauss_free(q);
    }
}

static void a_point_has_no_width_and_sizes_are_checked(void **state)
{
    (void)state;
    fab_gauss *q = some_gauss(FAB_FORM_POINT, FAB_F64, 2, 0, 1, 1);
    const fab_glm m = {FAB_LIKELIHOOD_GAUSSIAN, 2, 1, 0, 4},
                  wrong = {FAB_LIKELIHOOD_GAUSSIAN, 2, 1, 1, 4};
    const double x[2] = {1, 1};
    const fab_rows rows = {x, FAB_F64, 1, 2};
    double eta, v;
    assert_ok(fab_predict_eta(q, &m, &rows, NULL, NULL, &eta, &v));
    assert_true(v == 0 && fabs(eta - q->mu[0] - q->mu[1]) < 1e-15);
    assert_refused(fab_predict_eta(q, &wrong, &rows, NULL, NULL, &eta, &v), FAB_BAD_ARGUMENT,
                   "theta has 3");
    const fab_rows narrow = {x, FAB_F64, 1, 1};
    assert_refused(fab_predict_eta(q, &m, &narrow, NULL, NULL, &eta, &v), FAB_BAD_ARGUMENT,
                   "rows of 1 numbers, expected 2");
    fab_gauss_free(q);
}

static void classes_have_functions_of_their_own(void **state)
{
    (void)state;
    fab_gauss *q = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 6, 2, 1, 1);
    const fab_glm m = {FAB_LIKELIHOOD_CATEGORICAL, 2, 3, 0, 1};
    const double x[2] = {1, 1}, y = 2;
    const fab_rows rows = {x, FAB_F64, 1, 2};
    double eta = 0, v = 1, logp[3];
    fab_scores s;
    assert_refused(fab_predict_eta(q, &m, &rows, NULL, NULL, &eta, &v), FAB_UNSUPPORTED,
                   "several predictors: fab_predict_etas");
    assert_refused(fab_score(&m, 1, &eta, &v, &y, NULL, &s), FAB_UNSUPPORTED,
                   "by its probabilities: fab_score_classes");
    assert_refused(fab_predict_classes(q, &m, &rows, NULL, -1, 1, NULL, logp), FAB_BAD_ARGUMENT,
                   "samples = -1");
    assert_ok(fab_predict_classes(q, &m, &rows, NULL, 0, 1, NULL, logp));
    logp[1] = NAN;
    assert_refused(fab_score_classes(3, 1, logp, &y, NULL, &s), FAB_BAD_DATA,
                   "row 0: nan is no log probability");
    assert_refused(fab_score_classes(1, 1, logp, &y, NULL, &s), FAB_BAD_ARGUMENT, "1 classes");
    assert_refused(fab_score_classes(3, 0, logp, &y, NULL, &s), FAB_BAD_DATA, "no rows");
    fab_gauss_free(q);
}

static void gaussian_predictions_are_normal(void **state)
{
    (void)state;
    const fab_glm m = {FAB_LIKELIHOOD_GAUSSIAN, 1, 1, 0, 0.25};
    fab_prediction p;
    fab_predict_y(&m, 2, 5, &p);
    assert_true(p.mean == 2 && fabs(p.sd - 3) < 1e-15);
    assert_true(fabs(p.upper - 2 - 3 * 1.6448536269514722) < 1e-14 &&
                fabs(p.lower + p.upper - 4) < 1e-14);
    assert_true(fabs(fab_predict_logp(&m, 2, 5, 3.5) + 0.5 * log(2 * M_PI * 9) + 0.125) < 1e-14);
}

static void probabilities_add_up_and_shrink_with_the_variance(void **state)
{
    (void)state;
    const fab_glm m = {FAB_LIKELIHOOD_BERNOULLI, 1, 1, 0, 1};
    fab_prediction p;
    fab_predict_y(&m, 1.5, 3.2, &p);
    assert_true(p.mean < 1 / (1 + exp(-1.5)) && p.mean > 0.5);
    assert_true(fabs(p.mean - exp(fab_predict_logp(&m, 1.5, 3.2, 1))) < 1e-14);
    assert_true(fabs(p.sd * p.sd - p.mean * (1 - p.mean)) < 1e-14);
    assert_true(fabs(exp(fab_predict_logp(&m, 1.5, 2, 1)) + exp(fab_predict_logp(&m, 1.5, 2, 0)) -
                     1) < 1e-14);
    assert_true(isfinite(fab_predict_logp(&m, 1e4, 0, 0)));
}

/* log E sigma by 400 001 plain nodes around where the integrand lives. */
static double plain_sigma(double u, double v)
{
    const int n = 400000;
    const double s = sqrt(v), lo = u - 12 * s, h = (v + 24 * s) / n;
    double top = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i <= n; i++) {
            const double t = lo + i * h, z = (t - u) / s;
            const double f = fmin(t, 0) - log1p(exp(-fabs(t))) - z * z / 2;
            if (pass == 0)
                top = fmax(top, f);
            else
                sum += exp(f - top);
        }
    return top + log(sum * h / s) - 0.5 * log(2 * M_PI);
}

/* The rule's own error is 1e-11; that of the plain sum, of step 24 s / 4e5 at most 1/25, is below rounding. */
static void two_classes_are_integrated_over_their_predictor(void **state)
{
    (void)state;
    const fab_glm m = {FAB_LIKELIHOOD_BERNOULLI, 1, 1, 0, 1};
    const double cases[][2] = {{0.3, 1e-4},  {-2.385, 1}, {5, 15.9}, {5, 16.1},    {-20, 30},
                               {-40, 0.01},  {40, 7},     {100, 25}, {-100, 81},   {-300, 100},
                               {-3000, 400}, {0, 2500},   {70, 900}, {-700, 1024}, {1e-3, 0.2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int y = 0; y < 2; y++) {
            const double u = cases[i][0], v = cases[i][1], want = plain_sigma(y ? u : -u, v),
                         got = fab_predict_logp(&m, u, v, y);
            if (!(fabs(got - want) < 1e-10 * (1 + fabs(want))))
                fail_msg("u = %g, v = %g, y = %d: %.15g, not %.15g", u, v, y, got, want);
        }
    assert_true(fabs(fab_predict_logp(&m, 1e154, 1e308, 1) - log(0.5 * erfc(-1 / sqrt(2)))) <
                1e-12);
    assert_true(fab_predict_logp(&m, -1e200, 1, 1) == -1e200);
    assert_true(fab_predict_logp(&m, 1e300, 1e-3, 1) == 0);
    const double v6 = 250.1 * 250.1, v5 = 249.9 * 249.9; /* of 6 and of 5: log p = u + v/2 there */
    assert_true(fabs(fab_predict_logp(&m, -v6 - 400, v6, 1) -
                     fab_predict_logp(&m, -v5 - 400, v5, 1) + v6 / 2 - v5 / 2) < 1e-2);
}

static void rows_without_a_finite_prediction_are_refused(void **state)
{
    (void)state;
    enum { D = 3, C = 3 };
    const double x[2 * D] = {1, 2, 3, 1, 1e200, -5}, y[2] = {1, 0};
    const fab_rows rows = {x, FAB_F64, 2, D};
    const fab_glm m = {FAB_LIKELIHOOD_BERNOULLI, D, 1, 0, 1},
                  c = {FAB_LIKELIHOOD_CATEGORICAL, D, C, 0, 1};
    double eta[2], v[2], etas[2 * C], cov[2 * C * C], logp[2 * C];
    fab_scores s;
    fab_gauss *q = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 2, 1, 1);
    assert_refused(fab_predict_eta(q, &m, &rows, NULL, NULL, eta, v), FAB_NUMERIC,
                   "row 1 has no finite prediction: its largest feature is number 1, 1e+200");
    fab_gauss_free(q);
    q = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D * C, 2, 1, 1);
    assert_refused(fab_predict_classes(q, &c, &rows, NULL, 0, 0, NULL, logp), FAB_NUMERIC,
                   "row 1 has no finite prediction");
    assert_refused(fab_predict_etas(q, &c, &rows, NULL, NULL, etas, cov), FAB_NUMERIC,
                   "row 1 has no finite prediction");
    fab_gauss_free(q);
    const double none[2] = {0, NAN}, zero[2] = {0, 0};
    assert_refused(fab_score(&m, 2, none, zero, y, NULL, &s), FAB_BAD_DATA,
                   "row 1: a predictor of mean");
    assert_refused(fab_score(&m, 2, zero, none, y, NULL, &s), FAB_BAD_DATA,
                   "row 1: a predictor of mean");
    const fab_glm g = {FAB_LIKELIHOOD_GAUSSIAN, D, 1, 0, 1};
    const double far[2] = {0, 1e200};
    assert_refused(fab_score(&g, 2, far, zero, y, NULL, &s), FAB_NUMERIC,
                   "row 1: y = 0 is too far");
}

/* The mixture by 200 001 plain nodes. */
static double plain_count(double m, double v, double y)
{
    const int n = 200000;
    const double reach = 14, h = 2 * reach / n;
    double sum = 0;
    for (int i = 0; i <= n; i++) {
        const double z = -reach + i * h, eta = m + sqrt(v) * z;
        sum += exp(y * eta - exp(eta) - lgamma(y + 1) - z * z / 2);
    }
    return log(sum * h) - 0.5 * log(2 * M_PI);
}

static void counts_are_integrated_over_their_rate(void **state)
{
    (void)state;
    const double cases[][3] = {{0.3, 0.5, 0}, {0.3, 0.5, 7}, {3, 1e-4, 20},
                               {-5, 9, 2},    {1, 100, 0},   {6, 2, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double *c = cases[i], got = fab_count_logp(c[0], c[1], c[2]),
                     want = plain_count(c[0], c[1], c[2]);
        if (!(fabs(got - want) < 1e-9 * (1 + fabs(want))))
            fail_msg("case %zu: %.15g, not %.15g", i, got, want);
    }
    assert_true(fabs(fab_count_logp(1e-9, 0, 3) + 1 + log(6)) < 1e-8);
    assert_true(isfinite(fab_count_logp(20, 1, 1e9)));
}

static void quantiles_of_counts_are_those_of_the_sum(void **state)
{
    (void)state;
    const double cases[][2] = {{0.3, 0.5}, {2, 0}, {3, 1}, {-3, 0.1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double q = fab_count_quantile(cases[i][0], cases[i][1], 0.95);
        double below = 0;
        for (double k = 0; k < q; k++) below += exp(fab_count_logp(cases[i][0], cases[i][1], k));
        assert_true(below < 0.95);
        assert_true(below + exp(fab_count_logp(cases[i][0], cases[i][1], q)) >= 0.95);
        assert_true(fabs(fab_count_cdf(cases[i][0], cases[i][1], q) - below -
                         exp(fab_count_logp(cases[i][0], cases[i][1], q))) < 1e-9);
    }
    const double many = fab_count_quantile(log(1e9), 0, 0.95); /* normal there */
    assert_true(fabs(many - 1e9 - 1.6448536 * sqrt(1e9)) < 10);
}

static void intervals_have_their_level(void **state)
{
    (void)state;
    const fab_glm real_ = {FAB_LIKELIHOOD_GAUSSIAN, 1, 1, 0, 4},
                  count = {FAB_LIKELIHOOD_POISSON, 1, 1, 0, 1};
    static const double level[] = {0.5, 0.9, 0.99},
                        z[] = {0.6744897501960817, 1.6448536269514722, 2.5758293035489004};
    for (int l = 0; l < 3; l++)
        for (int i = 0; i < 5; i++) {
            const double eta = 1.3 * i - 2, v = 0.4 * i;
            fab_prediction p;
            double below = 0, at = 0, low = 0;
            fab_predict_interval(&real_, eta, v, level[l], &p);
            assert_true(p.mean == eta && fabs(p.sd - sqrt(v + 0.25)) < 1e-14);
            assert_true(fabs(p.upper - eta - z[l] * p.sd) < 1e-9 * (1 + p.sd));
            assert_true(fabs(eta - p.lower - z[l] * p.sd) < 1e-9 * (1 + p.sd));
            fab_predict_interval(&count, eta, v, level[l], &p);
            for (double k = 0; k <= p.upper; k++) {
                at = exp(fab_predict_logp(&count, eta, v, k));
                if (k < p.lower) low += at;
                if (k == p.lower) assert_true(low + at >= (1 - level[l]) / 2 - 1e-8);
                below += at;
            }
            assert_true(low < (1 - level[l]) / 2 + 1e-8);
            assert_true(below >= (1 + level[l]) / 2 - 1e-8 &&
                        below - at < (1 + level[l]) / 2 + 1e-8);
        }
}

/* Rows are sorted in pieces of 2^15, which are merged: two pieces end in the other array, three in the first again. */
static void the_area_of_many_rows_is_that_of_pairs(void **state)
{
    (void)state;
    enum { LEVELS = 501, PIECE = 1 << 15 };
    const fab_glm b = {FAB_LIKELIHOOD_BERNOULLI, 1, 1, 0, 1};
    static const int64_t rows[] = {29, PIECE, PIECE + 29, 2 * PIECE + 29, 5 * PIECE};
    for (int k = 0; k < 5; k++) {
        const int64_t n = rows[k];
        double *eta = doubles(n), *v = doubles(n), *y = doubles(n), *u = doubles(2 * n);
        int64_t count[LEVELS][2] = {0}, of[2] = {0, 0}, twice = 0, below = 0;
        fab_random_uniform(2385, FAB_PURPOSE_DATA, 0, 0, 2 * n, u);
        for (int64_t i = 0; i < n; i++) {
            const int level = (int)(u[2 * i] * LEVELS);
            eta[i] = 0.01 * (level - LEVELS / 2);
            v[i] = 0;
            y[i] = u[2 * i + 1] < 1 / (1 + exp(-eta[i]));
            count[level][(int)y[i]]++;
            of[(int)y[i]]++;
        }
        for (int l = 0; l < LEVELS; l++) {
            twice += count[l][1] * (2 * below + count[l][0]);
            below += count[l][0];
        }
        fab_scores s;
        assert_ok(fab_score(&b, n, eta, v, y, NULL, &s));
        assert_true(fabs(s.auc - 0.5 * (double)twice / ((double)of[0] * (double)of[1])) < 1e-12);
    }
}

static void scores_are_their_formulas(void **state)
{
    (void)state;
    const fab_glm m = {FAB_LIKELIHOOD_GAUSSIAN, 1, 1, 0, 1},
                  b = {FAB_LIKELIHOOD_BERNOULLI, 1, 1, 0, 1},
                  c = {FAB_LIKELIHOOD_POISSON, 1, 1, 0, 1};
    const double eta[4] = {0, 0, 0, 0}, v[4] = {0, 0, 0, 0}, y[4] = {0.5, -1, 1.8, 3};
    fab_scores s;
    assert_ok(fab_score(&m, 4, eta, v, y, NULL, &s));
    assert_true(fabs(s.rmse - sqrt((0.25 + 1 + 3.24 + 9) / 4)) < 1e-15 &&
                fabs(s.mae - 6.3 / 4) < 1e-15);
    assert_true(s.coverage50 == 0.25 && s.coverage90 == 0.5 && s.coverage95 == 0.75 &&
                isnan(s.auc));
    double crps = 0; /* integral of (cdf - step)^2 */
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 400000; j++) {
            const double t = -10 + 20 * (j + 0.5) / 400000,
                         f = 0.5 * erfc(-t / sqrt(2)) - (t >= y[i]);
            crps += f * f * 20 / 400000 / 4;
        }
    assert_true(fabs(s.crps - crps) < 1e-5);
    const double be[4] = {1, -1, 2, -2}, by[4] = {1, 1, 1, 0};
    assert_ok(fab_score(&b, 4, be, v, by, NULL, &s));
    assert_true(s.accuracy == 0.75 && s.auc == 1 && s.ece > 0 && isnan(s.rmse));
    assert_ok(fab_score(&b, 3, be, v, by, NULL, &s));
    assert_true(isnan(s.auc)); /* one class */
    const double cy[4] = {0, 2, 1, 1};
    assert_ok(fab_score(&c, 4, eta, v, cy, NULL, &s));
    assert_true(fabs(s.dispersion - 0.5) < 1e-15 && fabs(s.nll - 1 - log(2) / 4) < 1e-14);
    assert_refused(fab_score(&c, 0, eta, v, cy, NULL, &s), FAB_BAD_DATA, "no rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eta_has_the_moments_of_the_dense_gaussian),
        cmocka_unit_test(a_point_has_no_width_and_sizes_are_checked),
        cmocka_unit_test(classes_have_functions_of_their_own),
        cmocka_unit_test(gaussian_predictions_are_normal),
        cmocka_unit_test(probabilities_add_up_and_shrink_with_the_variance),
        cmocka_unit_test(two_classes_are_integrated_over_their_predictor),
        cmocka_unit_test(rows_without_a_finite_prediction_are_refused),
        cmocka_unit_test(counts_are_integrated_over_their_rate),
        cmocka_unit_test(quantiles_of_counts_are_those_of_the_sum),
        cmocka_unit_test(intervals_have_their_level),
        cmocka_unit_test(the_area_of_many_rows_is_that_of_pairs),
        cmocka_unit_test(scores_are_their_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
