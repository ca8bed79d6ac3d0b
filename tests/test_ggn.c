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

/* R'R = w Lambda; features, slopes and covariances beside the Jacobian. */
static void gradients_of_outputs_are_those_of_the_Jacobian(void **state)
{
    (void)state;
    static const char *const nets[] = {"linear", "mlp:5:tanh",
                                       "dense:6,relu,residual(dense:6,tanh,dense:6),dropout:0.5"};
    const fab_exec single = {.ops = fab_ops_find("cpu", FAB_F32)};
    for (int k = 0; k < 6 * KINDS; k++) {
        data d;
        fab_net *net =
            net_of(&kinds[k % KINDS], nets[k / KINDS % 3], k / KINDS > 2 ? &single : NULL);
        const fab_model *m = fab_net_model(net);
        const int64_t P = m->D, C = m->outputs, H = m->last / C - 1, first = P - m->free - m->last;
        double *theta = doubles(P), *J = doubles(N * C * P), *phi = doubles(N * H),
               *out = doubles(N * C), *slope = doubles(N * C), *squares = doubles(P),
               *v = doubles(P), *cov = doubles(N * C * C), *R = doubles(N * C * C), L[MOST * MOST];
        const double unit = unit_of(m->type);
        fill(&d, m->head.likelihood);
        m->start(m->self, 3, theta);
        for (int64_t i = 0; i < P; i++) v[i] = 1.2 + noise(6, i);
        for (int64_t i = 0; i < N * C; i++) slope[i] = noise(7, i);
        assert_ok(m->jacobian(m->self, theta, &d.e.x, J, P));
        assert_ok(m->features(m->self, theta, &d.e.x, phi));
        assert_ok(m->predict(m->self, theta, &d.e.x, out));
        for (int64_t i = 0; i < N * C; i++) {
            double sum = theta[first + H * C + i % C];
            for (int64_t h = 0; h < H; h++)
                sum += element(m, phi, i / C * H + h) * theta[first + h * C + i % C];
            assert_true(fabs(sum - out[i]) < 64 * unit * (1 + fabs(sum)));
        }
        assert_ok(m->slopes(m->self, theta, &d.e.x, slope));
        m->squares(m->self, squares);
        for (int64_t p = 0; p < P; p++) {
            double want = 0;
            for (int64_t i = 0; i < N; i++) {
                double g = 0;
                for (int64_t o = 0; o < C; o++)
                    g += slope[i * C + o] * element(m, J, (i * C + o) * P + p);
                want += g * g;
            }
            assert_true(fabs(squares[p] - want) < 256 * unit * (1 + want));
        }
        assert_ok(m->covariances(m->self, theta, &d.e.x, v, cov));
        for (int64_t i = 0; i < N * C * C; i++) {
            const int64_t a = i / C, b = i / (C * C) * C + i % C; /* rows of J */
            double want = 0, most = 0;
            for (int64_t p = 0; p < P - m->free; p++) {
                const double term = element(m, J, a * P + p) * element(m, J, b * P + p) * v[p];
                want += term;
                most += fabs(term);
            }
            assert_true(fabs(cov[i] - want) < 64 * unit * (1 + most));
        }
        assert_ok(fab_ggn_roots(m, theta, &d.e, out, R));
        assert_ok(m->predict(m->self, theta, &d.e.x, out));
        for (int64_t i = 0; i < N; i++) {
            lambda_of(m, &d.e, i, out + i * C, theta, L);
            for (int64_t a = 0; a < C * C; a++) {
                double sum = 0;
                for (int64_t o = 0; o < C; o++)
                    sum += R[(i * C + o) * C + a / C] * R[(i * C + o) * C + a % C];
                assert_true(fabs(sum - d.weight[i] * L[a]) <
                            64 * ROUND_F64 * (1 + d.weight[i] * fabs(L[a])));
            }
        }
        fab_net_free(net);
    }
}

/* Filters have no such product, and many outputs no room: these go through the Jacobian. */
static void networks_without_covariances_say_so(void **state)
{
    (void)state;
    fab_net *net;
    fab_net_plan p = {.layers = "input:1x4x4,conv:2x3,relu,flatten",
                      .features = 16,
                      .likelihood = FAB_LIKELIHOOD_CATEGORICAL,
                      .classes = 3};
    assert_ok(fab_net_create(&net, &p, NULL));
    assert_null(fab_net_model(net)->covariances);
    assert_non_null(fab_net_model(net)->slopes);
    fab_net_free(net);
    p = (fab_net_plan){.layers = "mlp:9",
                       .features = 2,
                       .likelihood = FAB_LIKELIHOOD_CATEGORICAL,
                       .classes = 40,
                       .batch = 1};
    assert_ok(fab_net_create(&net, &p, NULL));
    assert_null(fab_net_model(net)->covariances);
    fab_net_free(net);
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
        TEST(gradients_of_outputs_are_those_of_the_Jacobian),
        TEST(networks_without_covariances_say_so),
        TEST(outputs_out_of_reach_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
