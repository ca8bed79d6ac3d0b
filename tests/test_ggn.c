/* test_ggn.c - rows of the generalised Gauss-Newton matrix, beside J' Lambda J written out.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/net.h"
#include "linear_case.h"
#include "model/ggn.h"

enum { N = 13, D = 3, CLASSES = 3, MOST = CLASSES };

typedef struct kind {
    fab_likelihood likelihood;
    fab_noise noise;
    double nu;
} kind;

static const kind kinds[] = {
    {FAB_GAUSSIAN, FAB_NOISE_FIXED},    {FAB_GAUSSIAN, FAB_NOISE_LEARNED},
    {FAB_GAUSSIAN, FAB_NOISE_OUTPUT},   {FAB_BERNOULLI, FAB_NOISE_FIXED},
    {FAB_POISSON, FAB_NOISE_FIXED},     {FAB_CATEGORICAL, FAB_NOISE_FIXED},
    {FAB_GAUSSIAN, FAB_NOISE_FIXED, 5}, {FAB_GAUSSIAN, FAB_NOISE_OUTPUT, 3}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static fab_net *net_of(const kind *k, const fab_exec *x)
{
    const fab_net_plan p = {.layers = "mlp:5:tanh",
                            .features = D,
                            .likelihood = k->likelihood,
                            .classes = k->likelihood == FAB_CATEGORICAL ? CLASSES : 1,
                            .noise = k->noise,
                            .beta = 2.385,
                            .nu = k->nu};
    fab_net *net;
    assert_ok(fab_net_init(&net, &p, x));
    return net;
}

typedef struct data {
    double x[N * D], y[N], weight[N], offset[N];
    fab_examples e;
} data;

static void fill(data *d, fab_likelihood l)
{
    for (int64_t i = 0; i < N * D; i++) d->x[i] = noise(1, i);
    for (int64_t i = 0; i < N; i++) {
        d->y[i] = l == FAB_GAUSSIAN ? noise(2, i) : (double)(i % (l == FAB_BERNOULLI ? 2 : 3));
        d->weight[i] = 1.3 + noise(3, i);
        d->offset[i] = l == FAB_CATEGORICAL ? 0 : 0.4 * noise(4, i);
    }
    d->e = (fab_examples){{d->x, FAB_F64, N, D}, d->y, d->weight, d->offset};
}

/* Lambda of example i, plainly; for a log noise output s the expectation of beta r^2 / 2, beta = exp s, is 1/2. */
static void lambda_of(const fab_model *m, const fab_examples *e, int64_t i, const double *out,
                      const double *theta, double *L)
{
    fab_glm g = m->head;
    double eta[MOST];
    for (int64_t c = 0; c < m->outputs; c++) eta[c] = out[c] + e->offset[i];
    if (m->free) g.beta = exp(theta[m->D - 1]);
    if (g.likelihood == FAB_GAUSSIAN && m->outputs == 2) g.beta = exp(out[1]);
    fab_glm_loglik(&g, e->y[i], eta, NULL, L);
    if (g.likelihood != FAB_GAUSSIAN || m->outputs == 1) return;
    L[1] = L[2] = 0, L[3] = g.nu > 0 ? g.nu / (g.nu + 3) / 2 : 0.5;
}

static double at(const fab_model *m, const void *p, int64_t i)
{
    return m->type == FAB_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static real *matrix_of(const fab_model *m, const fab_examples *e, const double *theta)
{
    const int64_t C = m->outputs, P = m->D;
    double *J = doubles(N * C * P), *out = doubles(N * C), L[MOST * MOST];
    real *A = dense_new(P * P);
    assert_ok(m->predict(m->self, theta, &e->x, out));
    assert_ok(m->jacobian(m->self, theta, &e->x, J, P));
    for (int64_t i = 0; i < N; i++) {
        lambda_of(m, e, i, out + i * C, theta, L);
        for (int64_t a = 0; a < P * P; a++)
            for (int64_t c = 0; c < C * C; c++)
                A[a] += (real)at(m, J, (i * C + c / C) * P + a / P) * L[c] * e->weight[i] *
                        at(m, J, (i * C + c % C) * P + a % P);
    }
    return A;
}

static void the_squares_of_the_rows_are_the_matrix(void **state)
{
    (void)state;
    const fab_exec single = {.ops = fab_ops_find("cpu", FAB_F32)};
    for (int k = 0; k < 2 * KINDS; k++) {
        data d;
        fab_net *net = net_of(&kinds[k / 2], k % 2 ? &single : NULL);
        const fab_model *m = fab_net_model(net);
        const int64_t P = m->D, ld = P + 2;
        double *theta = doubles(P), *out = doubles(N * MOST), *S = doubles(N * MOST * ld);
        fill(&d, m->head.likelihood);
        m->start(m->self, 3, theta);
        assert_ok(fab_ggn_check("test", m));
        assert_ok(fab_ggn_rows(m, theta, &d.e, out, S, ld));
        real *A = matrix_of(m, &d.e, theta), *B = dense_new(P * P);
        for (int64_t r = 0; r < N * m->outputs; r++)
            for (int64_t a = 0; a < P * P; a++)
                B[a] += (real)at(m, S, r * ld + a / P) * at(m, S, r * ld + a % P);
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
    fab_net *net = net_of(&(kind){FAB_POISSON, FAB_NOISE_FIXED}, NULL);
    fab_model m = *fab_net_model(net);
    double *theta = doubles(m.D), *out = doubles(N), *S = doubles(N * m.D);
    fill(&d, FAB_POISSON);
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
