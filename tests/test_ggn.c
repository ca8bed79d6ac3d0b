/* test_ggn.c - rows of the generalised Gauss-Newton matrix, beside J' Lambda J written out.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "ggn_case.h"
#include "model/ggn.h"

static void the_squares_of_the_rows_are_the_matrix(void **state)
{
    (void)state;
    const fab_exec single = {.ops = fab_ops_find("cpu", FAB_F32)};
    for (int k = 0; k < 2 * KINDS; k++) {
        data d;
        fab_net *net = net_of(&kinds[k / 2], "mlp:5:tanh", k % 2 ? &single : NULL);
        const fab_model *m = fab_net_model(net);
        const int64_t P = m->D, ld = P + 2;
        double *theta = doubles(P), *out = doubles(N * MOST), *S = doubles(N * MOST * ld);
        fill(&d, m->head.likelihood);
        m->start(m->self, 3, theta);
        assert_ok(fab_ggn_check("test", m));
        assert_ok(fab_ggn_rows(m, theta, &d.e, out, S, ld));
        real loglik, *A = matrix_of(m, &d.e, theta, 0, &loglik), *B = dense_new(P * P);
        for (int64_t r = 0; r < N * m->outputs; r++)
            for (int64_t a = 0; a < P * P; a++)
                B[a] += (real)element(m, S, r * ld + a / P) * element(m, S, r * ld + a % P);
        const double error =
            (double)(dense_norm(P * P, dense_minus(P * P, A, B)) / dense_norm(P * P, A));
        assert_true(error < 16 * unit_of(m->type)); /* a few roundings in each factor */
        fab_net_free(net);
    }
}

static void outputs_out_of_reach_are_named(void **state)
{
    (void)state;
    data d;
    fab_net *net = net_of(&(kind){FAB_LIKELIHOOD_POISSON, FAB_NOISE_FIXED}, "mlp:5:tanh", NULL);
    fab_model m = *fab_net_model(net);
    double *theta = doubles(m.D), *out = doubles(N), *S = doubles(N * m.D);
    fill(&d, FAB_LIKELIHOOD_POISSON);
    d.offset[5] = 1000; /* exp(1000) */
    assert_refused(fab_ggn_rows(&m, theta, &d.e, out, S, m.D), FAB_NUMERIC,
                   "the curvature of example 5 is inf");
    m.jacobian = NULL;
    assert_refused(fab_ggn_check("laplace", &m), FAB_UNSUPPORTED,
                   "laplace: needs the outputs of the model and their Jacobian");
    fab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_squares_of_the_rows_are_the_matrix),
        TEST(outputs_out_of_reach_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
