/* test_stochastic_em.c - stochastic EM against dense algebra, and what every stream must keep.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE    700
#define METHOD           "stochastic-em"
#define WARMUP           100
#define CONSTANT_FLOORED 2
#define SURVIVES_SCALES  1
#define BAD_SETTINGS     "power=0.4", "power=1.1", "average_from=-1"
#include "fabayes/methods.h"
#include "plain.h"
#include "stream_case.h"

enum { D = 29, K = 3 };

/* ---- [L] App. C in dense algebra, with the errata ------------------------------------------------- */

typedef struct oracle {
    fab_stochastic_em_settings set;
    int64_t t, averages;
    double mu[D], F0[D * K], W[D * K], psi[D], S2[D * K], S3[K * K], s1[D], Wbar[D * K], psibar[D];
} oracle;

static oracle begin(const fab_stochastic_em_settings *set)
{
    oracle o = {.set = *set};
    plain_normals(set->seed, D, K, o.F0);
    plain_orthonormal(D, K, o.F0);
    for (int i = 0; i < D; i++) o.psi[i] = 1;
    memcpy(o.W, o.F0, sizeof o.W);
    return o;
}

static void oracle_m_step(oracle *o)
{
    double X[K * K];
    plain_inverse(K, o->S3, X);
    plain_mm(0, 0, D, K, K, o->S2, X, o->W);
    for (int i = 0; i < D; i++) {
        o->psi[i] = o->s1[i];
        for (int k = 0; k < K; k++) o->psi[i] -= o->W[i * K + k] * o->S2[i * K + k];
    }
}

static void oracle_average(oracle *o)
{
    if (o->set.average_from == 0 || o->t <= o->set.average_from) return;
    const double part = 1 / (double)++o->averages;
    for (int i = 0; i < D * K; i++) o->Wbar[i] += part * (o->W[i] - o->Wbar[i]);
    for (int i = 0; i < D; i++) o->psibar[i] += part * (o->psi[i] - o->psibar[i]);
}

static void oracle_step(oracle *o, const double *x)
{
    double d[D], Sigma[K * K], m[K];
    const double t = (double)++o->t, gamma = pow(t, -o->set.power);
    for (int i = 0; i < D; i++) {
        const double mean = o->mu[i] + (x[i] - o->mu[i]) / t;
        d[i] = o->set.centre == 1 ? x[i] - mean : sqrt(1 - 1 / t) * (x[i] - o->mu[i]);
        o->mu[i] = mean;
        o->s1[i] = (1 - gamma) * o->s1[i] + gamma * d[i] * d[i];
    }
    if (o->set.start == 2 && o->t <= o->set.warmup + 1)
        for (int i = 0; i < D; i++) {
            o->psi[i] = o->t == 1 ? 1 : o->s1[i];
            for (int k = 0; k < K; k++) o->W[i * K + k] = sqrt(o->psi[i]) * o->F0[i * K + k];
        }
    plain_e_step(D, K, o->W, o->psi, d, Sigma, m);
    for (int i = 0; i < K * K; i++)
        o->S3[i] = (1 - gamma) * o->S3[i] + gamma * (Sigma[i] + m[i / K] * m[i % K]);
    for (int i = 0; i < D * K; i++) o->S2[i] = (1 - gamma) * o->S2[i] + gamma * d[i / K] * m[i % K];
    if (o->t <= o->set.warmup) return;
    oracle_m_step(o);
    oracle_average(o);
}

static void follow(const char *text, const double *x, int64_t n)
{
    any_settings any;
    fab_stochastic_em_settings set;
    assert_int_equal(try_settings(&any, K, text), FAB_OK);
    memcpy(&set, &any, sizeof set);
    fab_fit *e = open_stream(D, K, text, NULL);
    oracle o = begin(&set);
    for (int64_t t = 1; t <= n; t++) {
        oracle_step(&o, x + (t - 1) * D);
        feed(e, x, t - 1, 1, D);
        if (t == 1 || t % 7 == 3) continue;
        oracle copy = o;
        if (t <= set.warmup) oracle_m_step(&copy);
        const fab_gauss *q = result_of(e);
        assert_near("mu", D, q->mu, copy.mu, 1e-13);
        assert_near("F", D * K, q->F, copy.averages ? copy.Wbar : copy.W,
                    1e-10); /* as for online-em */
        assert_near("psi", D, q->psi, copy.averages ? copy.psibar : copy.psi, 1e-10);
    }
    fab_fit_free(e);
}

static void every_step_is_that_of_dense_algebra(void **state)
{
    (void)state;
    double *x = draw_usual(D, K, 60, 1);
    for (int i = 0; i < 16; i++) {
        char text[160];
        snprintf(text, sizeof text, "warmup=%d start=%s centre=%s power=%s average_from=%d seed=%d",
                 i % 2 ? 20 : 5, i / 2 % 2 ? "orthonormal" : "variance",
                 i / 4 % 2 ? "running" : "exact", i % 3 ? "0.6" : "0.8", i / 8 ? 12 + i : 0, i);
        follow(text, x, 60);
    }
    free(x);
}

/* ---- averages ------------------------------------------------------------------------------------- */

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

/* 20 000 rows; the last step weighs 20 000^-0.6 = 0.0026, as if 760 rows were remembered: an error of
 * about 1 / sqrt(760) = 0.036 on each of the 4 large directions, 0.07 together; twice that is allowed.
 * Averages over half the rows must lower it. */
static void a_known_model_is_recovered_and_averages_help(void **state)
{
    (void)state;
    model m = make_model(40, 4);
    double *x = draw(&m, 20000, 1);
    const double last = distance_from_model(&m, x, 20000, "");
    const double averaged = distance_from_model(&m, x, 20000, "average_from=10000");
    assert_true(last < 0.15);
    assert_true(averaged < last);
    free(x);
    free_model(&m);
}

/* An average of no rows yet, or one that never begins, is the last step. */
static void averages_are_never_fed_back(void **state)
{
    (void)state;
    double *x = draw_usual(D, K, LONG, 1);
    fab_gauss *plain = fitted(x, LONG, D, K, "", NULL),
              *late = fitted(x, LONG, D, K, "average_from=100000", NULL);
    fab_gauss *one = fitted(x, LONG, D, K, "average_from=1", NULL);
    assert_same_bits(plain, late);
    assert_true(memcmp(plain->psi, one->psi, D * 8) != 0);
    fab_fit *e =
        open_stream(D, K, "average_from=316", NULL); /* LONG - 1: one average, the last row's */
    feed(e, x, 0, LONG, D);
    assert_near("F", D * K, result_of(e)->F, plain->F, 0);
    fab_fit_free(e);
    fab_gauss_free(plain);
    fab_gauss_free(late);
    fab_gauss_free(one);
    free(x);
}

static void averages_are_saved(void **state)
{
    (void)state;
    double *x = draw_usual(D, K, LONG, 1);
    for (int64_t at = 110; at < LONG; at += 41) saved_and_resumed(x, at, "average_from=150", NULL);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_that_of_dense_algebra),
        cmocka_unit_test(a_known_model_is_recovered_and_averages_help),
        cmocka_unit_test(averages_are_never_fed_back),
        cmocka_unit_test_setup_teardown(averages_are_saved, make_folder, remove_folder),
        STREAM_TESTS,
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
