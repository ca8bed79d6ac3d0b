/* test_online_em.c - online EM against dense algebra, and what every stream must keep.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE    700
#define METHOD           "online-em"
#define WARMUP           100
#define CONSTANT_FLOORED 2
#define SURVIVES_SCALES  1
#define BAD_SETTINGS     "expand=2"
#include "fabayes/methods.h"
#include "plain.h"
#include "stream_case.h"

enum { D = 29, K = 3 };

/* ---- [T] Alg. 2 in dense algebra ------------------------------------------------------------------ */

typedef struct oracle {
    fab_online_em_settings set;
    int64_t t;
    double weight;
    double mu[D], F0[D * K], F[D * K], psi[D], A[D * K], B[K * K], d2[D], H[K * K];
} oracle;

static oracle begin(const fab_online_em_settings *set)
{
    oracle o = {.set = *set};
    double largest = 0;
    plain_normals(set->seed, D, K, o.F0);
    if (set->start != 1) plain_orthonormal(D, K, o.F0);
    for (int i = 0; i < D && set->start == 1; i++) {
        double norm = 0;
        for (int k = 0; k < K; k++) {
            o.F0[i * K + k] = i == k ? 1 : 0.1 * o.F0[i * K + k];
            norm += o.F0[i * K + k] * o.F0[i * K + k];
        }
        largest = fmax(largest, norm);
    }
    for (int i = 0; i < D; i++) o.psi[i] = set->start == 1 ? largest : 1;
    memcpy(o.F, o.F0, sizeof o.F);
    return o;
}

/* 13, 15 as printed, or the parameter-expanded M-step. */
static void oracle_m_step(oracle *o, int expand)
{
    double X[K * K], L[K * K], A[D * K], FH[D * K], B[K * K];
    if (expand) {
        plain_chol(K, o->H, L);
        plain_inverse(K, L, X);
        memcpy(A, o->A, sizeof A);
        plain_mm(0, 1, D, K, K, A, X, o->A);
        plain_mm(0, 0, K, K, K, X, o->B, B);
        plain_mm(0, 1, K, K, K, B, X, o->B);
        memcpy(o->F, o->A, sizeof o->F);
        memset(o->H, 0, sizeof o->H);
        for (int k = 0; k < K; k++) o->H[k * K + k] = 1;
    } else {
        plain_inverse(K, o->H, X);
        plain_mm(0, 0, D, K, K, o->A, X, o->F);
    }
    plain_mm(0, 0, D, K, K, o->F, o->H, FH);
    for (int i = 0; i < D; i++) {
        o->psi[i] = o->d2[i];
        for (int k = 0; k < K; k++)
            o->psi[i] += FH[i * K + k] * o->F[i * K + k] - 2 * o->F[i * K + k] * o->A[i * K + k];
    }
}

static void oracle_step(oracle *o, const double *x)
{
    double d[D], Sigma[K * K], m[K];
    o->t++;
    o->weight = o->set.forget * o->weight + 1;
    const double g = 1 / o->weight;
    for (int i = 0; i < D; i++) {
        const double mean = o->mu[i] + g * (x[i] - o->mu[i]);
        d[i] = o->set.centre == 1 ? x[i] - mean : sqrt(1 - g) * (x[i] - o->mu[i]);
        o->mu[i] = mean;
        o->d2[i] += g * (d[i] * d[i] - o->d2[i]);
    }
    if (o->t == 1) return;
    if (o->set.start == 2 && o->t <= o->set.warmup + 1)
        for (int i = 0; i < D; i++) {
            o->psi[i] = o->d2[i];
            for (int k = 0; k < K; k++) o->F[i * K + k] = sqrt(o->d2[i]) * o->F0[i * K + k];
        }
    plain_e_step(D, K, o->F, o->psi, d, Sigma, m);
    for (int i = 0; i < K * K; i++) o->B[i] += g * (m[i / K] * m[i % K] - o->B[i]);
    for (int i = 0; i < K * K; i++) o->H[i] = Sigma[i] + o->B[i];
    for (int i = 0; i < D * K; i++) o->A[i] += g * (d[i / K] * m[i % K] - o->A[i]);
    if (o->t > o->set.warmup) oracle_m_step(o, o->set.expand != 0);
}

/* Follow one stream; the result of a row in the warm-up is that of an M-step on a copy. */
static void follow(const char *text, const double *x, int64_t n)
{
    any_settings any;
    fab_online_em_settings set;
    assert_int_equal(try_settings(&any, K, text), FAB_OK);
    memcpy(&set, &any, sizeof set);
    fab_fit *e = open_stream(D, K, text, NULL);
    oracle o = begin(&set);
    for (int64_t t = 1; t <= n; t++) {
        oracle_step(&o, x + (t - 1) * D);
        feed(e, x, t - 1, 1, D);
        if (t == 1 || t % 7 == 3) continue;
        oracle copy = o;
        if (t <= set.warmup) oracle_m_step(&copy, set.expand != 0);
        const fab_gauss *q = result_of(e);
        assert_near("mu", D, q->mu, copy.mu, 1e-13);
        assert_near("F", D * K, q->F, copy.F,
                    1e-10); /* eps times the conditions of M and H, below 1e4 */
        assert_near("psi", D, q->psi, copy.psi, 1e-10);
    }
    fab_fit_free(e);
}

static void every_step_is_that_of_dense_algebra(void **state)
{
    (void)state;
    double *x = draw_usual(D, K, 60, 1);
    for (int i = 0; i < 24; i++) {
        char text[128];
        const char *const start[] = {"orthonormal", "draft", "variance"};
        snprintf(text, sizeof text, "warmup=%d expand=%s start=%s centre=%s forget=%s seed=%d",
                 i % 2 ? 20 : 3, i / 2 % 2 ? "true" : "false", start[i % 3],
                 i / 4 % 2 ? "running" : "exact", i % 5 ? "1" : "0.97", i);
        follow(text, x, 60);
    }
    free(x);
}

/* ---- centring ------------------------------------------------------------------------------------- */

/* Expanded, diag(F F' + psi) = d2, so the marginal variances are those of two passes. */
static void exact_centring_is_that_of_two_passes(void **state)
{
    (void)state;
    enum { N = 400 };
    double *x = draw_usual(D, K, N, 1);
    fab_gauss *q = fitted(x, N, D, K, "warmup=50", NULL);
    const double *F = q->F;
    for (int i = 0; i < D; i++) {
        double mean = 0, variance = 0, marginal = q->psi[i];
        for (int j = 0; j < N; j++) mean += x[j * D + i] / N;
        for (int j = 0; j < N; j++) variance += (x[j * D + i] - mean) * (x[j * D + i] - mean) / N;
        for (int k = 0; k < K; k++) marginal += F[i * K + k] * F[i * K + k];
        assert_true(fabs(marginal / variance - 1) < 1e-12);
    }
    fab_gauss_free(q);
    free(x);
}

/* ---- recovery ------------------------------------------------------------------------------------- */

static double distance_from_model(const model *m, const double *x, int64_t n, const char *text)
{
    double distance;
    fab_gauss *q = fitted(x, n, m->D, m->K, text, NULL);
    fab_gauss truth = {.form = FAB_FORM_COVARIANCE,
                       .type = FAB_F64,
                       .D = m->D,
                       .K = m->K,
                       .mu = m->mu,
                       .F = m->F,
                       .psi = m->psi};
    assert_int_equal(fab_distance_covariance(q, &truth, NULL, &distance), FAB_OK);
    fab_gauss_free(q);
    return distance;
}

/* 20 000 rows of a known model.  The sample covariance errs by about 1 / sqrt(20 000) = 0.007 on each of
 * the K = 4 large directions; 0.03 is twice that, for what one pass loses.  Plain EM, which weighs the
 * factors of its first rows like the last, is far from there after as many rows. */
static void a_known_model_is_recovered(void **state)
{
    (void)state;
    model m = make_model(40, 4);
    double *x = draw(&m, 20000, 1);
    assert_true(distance_from_model(&m, x, 20000, "") < 0.03);
    assert_true(distance_from_model(&m, x, 20000, "start=orthonormal") < 0.03);
    assert_true(distance_from_model(&m, x, 20000, "expand=false") > 0.1);
    free(x);
    free_model(&m);
}

/* start = variance works in the data's own units, coordinate by coordinate. */
static void units_do_not_matter(void **state)
{
    (void)state;
    enum { N = 400 };
    double *x = draw_usual(D, K, N, 1), *y = malloc(N * D * sizeof *y);
    for (int i = 0; i < N * D; i++) y[i] = ldexp(x[i], i % D - 14);
    fab_gauss *p = fitted(x, N, D, K, "start=variance", NULL),
              *q = fitted(y, N, D, K, "start=variance", NULL);
    for (int i = 0; i < D; i++)
        assert_true(fabs(ldexp(p->psi[i], 2 * (i - 14)) / q->psi[i] - 1) < 1e-10);
    fab_gauss_free(p);
    fab_gauss_free(q);
    free(x);
    free(y);
}

/* After a change of the data, forgetting follows and the plain average does not. */
static void forgetting_follows_a_change(void **state)
{
    (void)state;
    enum { N = 4000 };
    model m = make_model(D, K);
    double *x = draw(&m, N, 1);
    for (int i = 0; i < N / 2 * D; i++) x[i] = 5 * x[i] + 1;
    assert_true(distance_from_model(&m, x, N, "forget=0.995") < 0.35);
    assert_true(distance_from_model(&m, x, N, "") > 1);
    free(x);
    free_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_that_of_dense_algebra),
        cmocka_unit_test(exact_centring_is_that_of_two_passes),
        cmocka_unit_test(a_known_model_is_recovered),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(forgetting_follows_a_change),
        STREAM_TESTS,
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
