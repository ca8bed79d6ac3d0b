/* test_online_sga.c - stochastic gradient ascent against finite differences, and what every stream must
 * keep.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE    700
#define METHOD           "online-sga"
#define WARMUP           100
#define CONSTANT_FLOORED 0 /* psi of a constant column falls by rate / 2 a row only */
#define SURVIVES_SCALES  0
#define BAD_SETTINGS     "rate=0", "rate=2"
#include "fabayes/methods.h"
#include "plain.h"
#include "stream_case.h"

enum { D = 29, K = 3 };

/* ---- the gradient --------------------------------------------------------------------------------- */

/* log N(d; 0, F F' + diag(exp gamma)), dense. */
static double logp(const double *F, const double *gamma, const double *d)
{
    double S[D * D], L[D * D], psi[D], quad = 0, logdet = 0, z[D];
    for (int i = 0; i < D; i++) psi[i] = exp(gamma[i]);
    plain_covariance(D, K, F, psi, S);
    plain_chol(D, S, L);
    for (int i = 0; i < D; i++) {
        z[i] = d[i];
        for (int j = 0; j < i; j++) z[i] -= L[i * D + j] * z[j];
        z[i] /= L[i * D + i];
        quad += z[i] * z[i];
        logdet += 2 * log(L[i * D + i]);
    }
    return -0.5 * (quad + logdet);
}

/* Central difference of order 4 in coordinate *p. */
static double slope(double *p, const double *F, const double *gamma, const double *d)
{
    const double h = 1e-3, at = *p, w[4] = {1 / 12., -8 / 12., 8 / 12., -1 / 12.},
                 step[4] = {-2, -1, 1, 2};
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        *p = at + step[i] * h;
        sum += w[i] * logp(F, gamma, d) / h;
    }
    *p = at;
    return sum;
}

/* F and log psi before and after one row: the change is rate times the gradient.  The difference
 * formula errs by h^4 = 1e-12 and by rounding / h = 1e-12 on a log density of 100. */
static void one_row(const char *text, const double *x, int64_t t, double rate)
{
    double F[D * K], gamma[D], mu[D], d[D], gF[D * K], gG[D];
    fab_fit *e = open_stream(D, K, text, NULL);
    feed(e, x, 0, t, D);
    const fab_gauss *q = result_of(e);
    memcpy(F, q->F, sizeof F);
    memcpy(mu, q->mu, sizeof mu);
    for (int i = 0; i < D; i++) gamma[i] = log(q->psi[i]);
    for (int i = 0; i < D; i++) d[i] = sqrt((double)t / (double)(t + 1)) * (x[t * D + i] - mu[i]);
    feed(e, x, t, 1, D);
    q = result_of(e);
    for (int i = 0; i < D * K; i++) gF[i] = (((const double *)q->F)[i] - F[i]) / rate;
    for (int i = 0; i < D; i++) gG[i] = (log(q->psi[i]) - gamma[i]) / rate;
    for (int i = 0; i < D * K; i++) {
        const double g = slope(&F[i], F, gamma, d);
        if (!(fabs(gF[i] - g) < 1e-7 * (1 + fabs(g))))
            fail_msg("%s: dF[%d] %.12g, expected %.12g", text, i, gF[i], g);
    }
    for (int i = 0; i < D; i++) {
        const double g = slope(&gamma[i], F, gamma, d);
        if (!(fabs(gG[i] - g) < 1e-7 * (1 + fabs(g))))
            fail_msg("%s: dgamma[%d] %.12g, expected %.12g", text, i, gG[i], g);
    }
    fab_fit_free(e);
}

static void a_step_is_the_gradient_of_the_log_likelihood(void **state)
{
    (void)state;
    double *x = draw_usual(D, K, 80, 1);
    for (int64_t t = 21; t < 80; t += 19) {
        one_row("warmup=20 rate=0.01 start=orthonormal", x, t, 0.01);
        one_row("warmup=20 rate=0.05 start=variance seed=7", x, t, 0.05);
        one_row("warmup=20 rate=0.001 start=draft seed=8", x, t, 0.001);
    }
    free(x);
}

/* ---- the start ------------------------------------------------------------------------------------ */

static void the_warm_up_keeps_the_start(void **state)
{
    (void)state;
    double *x = draw_usual(D, K, 50, 1), Q[D * K], v[D];
    plain_normals(1, D, K, Q);
    plain_orthonormal(D, K, Q);
    for (int i = 0; i < D; i++) {
        double mean = 0;
        v[i] = 0;
        for (int j = 0; j < 50; j++) mean += x[j * D + i] / 50;
        for (int j = 0; j < 50; j++) v[i] += (x[j * D + i] - mean) * (x[j * D + i] - mean) / 50;
    }
    fab_gauss *q = fitted(x, 50, D, K, "start=orthonormal", NULL),
              *p = fitted(x, 50, D, K, "start=variance", NULL);
    assert_near("F", D * K, q->F, Q, 1e-14);
    assert_near("psi", D, p->psi, v, 1e-13);
    for (int i = 0; i < D * K; i++) Q[i] *= sqrt(v[i / K]);
    for (int i = 0; i < D; i++) assert_true(q->psi[i] == 1);
    assert_near("scaled F", D * K, p->F, Q, 1e-13);
    fab_gauss_free(p);
    fab_gauss_free(q);
    free(x);
}

/* ---- recovery ------------------------------------------------------------------------------------- */

/* 20 000 rows of a known model.  At a constant rate a the estimate keeps moving by about sqrt(a) of its
 * scale: 0.07 at a = 0.005. */
static void a_known_model_is_recovered(void **state)
{
    (void)state;
    double distance;
    model m = make_model(40, 4);
    double *x = draw(&m, 20000, 1);
    fab_gauss *q = fitted(x, 20000, 40, 4, "rate=0.005", NULL);
    fab_gauss truth = {.form = FAB_FORM_COVARIANCE,
                       .type = FAB_F64,
                       .D = 40,
                       .K = 4,
                       .mu = m.mu,
                       .F = m.F,
                       .psi = m.psi};
    assert_int_equal(fab_distance_covariance(q, &truth, NULL, &distance), FAB_OK);
    assert_true(distance < 0.15);
    fab_gauss_free(q);
    free(x);
    free_model(&m);
}

static void a_stream_that_diverges_says_so_again_and_again(void **state)
{
    (void)state;
    double *x = draw_usual(D, K, 150, 1e150);
    const fab_rows rows = rows_of(x, 0, 150, D);
    const fab_gauss *q;
    fab_fit *e = open_stream(D, K, "start=orthonormal", NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fab_fit_update(e, &(fab_examples){.x = rows}), FAB_NUMERIC);
        assert_non_null(
            strstr(fab_detail(), "online-sga: the numbers stopped being finite at row 101"));
    }
    assert_true(fab_fit_gauss(e, &q) != FAB_OK);
    fab_fit_free(e);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_the_gradient_of_the_log_likelihood),
        cmocka_unit_test(the_warm_up_keeps_the_start),
        cmocka_unit_test(a_known_model_is_recovered),
        cmocka_unit_test(a_stream_that_diverges_says_so_again_and_again),
        STREAM_TESTS,
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
