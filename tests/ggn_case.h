/* ggn_case.h - small networks of every likelihood, their examples, and J' Lambda J written out in quadruple precision.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_GGN_CASE_H
#define FAB_TESTS_GGN_CASE_H

#include "dense.h"
#include "fabayes/net.h"

enum { N = 13, D = 3, CLASSES = 3, MOST = CLASSES };

typedef struct kind {
    fab_likelihood likelihood;
    fab_noise noise;
    double nu;
} kind;

static const kind kinds[] = {
    {FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_FIXED},     {FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_LEARNED},
    {FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_OUTPUT},    {FAB_LIKELIHOOD_BERNOULLI, FAB_NOISE_FIXED},
    {FAB_LIKELIHOOD_POISSON, FAB_NOISE_FIXED},      {FAB_LIKELIHOOD_CATEGORICAL, FAB_NOISE_FIXED},
    {FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_FIXED, 5},  {FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_OUTPUT, 3},
    {FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_LEARNED, 4}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static inline fab_net *net_of(const kind *k, const char *layers, const fab_exec *x)
{
    const fab_net_plan p = {.layers = layers,
                            .features = D,
                            .likelihood = k->likelihood,
                            .classes = k->likelihood == FAB_LIKELIHOOD_CATEGORICAL ? CLASSES : 1,
                            .noise = k->noise,
                            .beta = 2.385,
                            .nu = k->nu};
    fab_net *net;
    assert_ok(fab_net_create(&net, &p, x));
    return net;
}

typedef struct data {
    double x[N * D], y[N], weight[N], offset[N];
    fab_examples e;
} data;

static inline void fill(data *d, fab_likelihood l)
{
    for (int64_t i = 0; i < N * D; i++) d->x[i] = noise(1, i);
    for (int64_t i = 0; i < N; i++) {
        d->y[i] = l == FAB_LIKELIHOOD_GAUSSIAN
                      ? noise(2, i)
                      : (double)(i % (l == FAB_LIKELIHOOD_BERNOULLI ? 2 : 3));
        d->weight[i] = 1.3 + noise(3, i);
        d->offset[i] = l == FAB_LIKELIHOOD_CATEGORICAL ? 0 : 0.4 * noise(4, i);
    }
    d->e = (fab_examples){{d->x, FAB_F64, N, D}, d->y, d->weight, d->offset};
}

/* The expectation of the second derivative of -log p by the log precision, beta r^2 / 2 of normal noise. */
static inline double noise_curvature(const fab_glm *g)
{
    return g->nu > 0 ? g->nu / (g->nu + 3) / 2 : 0.5;
}

/* log p of example i and Lambda, plainly */
static inline double lambda_of(const fab_model *m, const fab_examples *e, int64_t i,
                               const double *out, const double *theta, double *L)
{
    fab_glm g = m->head;
    double eta[MOST];
    for (int64_t c = 0; c < m->outputs; c++) eta[c] = out[c] + (e->offset ? e->offset[i] : 0);
    if (m->free) g.beta = exp(theta[m->D - 1]);
    if (g.likelihood == FAB_LIKELIHOOD_GAUSSIAN && m->outputs == 2) g.beta = exp(out[1]);
    const double loglik = fab_glm_loglik(&g, e->y[i], eta, NULL, L);
    if (g.likelihood == FAB_LIKELIHOOD_GAUSSIAN && m->outputs == 2)
        L[1] = L[2] = 0, L[3] = noise_curvature(&g);
    return loglik;
}

static inline double element(const fab_model *m, const void *p, int64_t i)
{
    return m->type == FAB_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

/* sum w J' Lambda J, D x D (and the curvature of a learned noise, when asked); *loglik: sum w log p. */
static inline real *matrix_of(const fab_model *m, const fab_examples *e, const double *theta,
                              int with_noise, real *loglik)
{
    const int64_t C = m->outputs, P = m->D, n = e->x.n;
    double *J = doubles(n * C * P), *out = doubles(n * C), L[MOST * MOST];
    real *A = dense_new(P * P);
    *loglik = 0;
    assert_ok(m->predict(m->self, theta, &e->x, out));
    assert_ok(m->jacobian(m->self, theta, &e->x, J, P));
    for (int64_t i = 0; i < n; i++) {
        const double w = e->weight ? e->weight[i] : 1;
        *loglik += w * lambda_of(m, e, i, out + i * C, theta, L);
        for (int64_t a = 0; a < P * P; a++)
            for (int64_t c = 0; c < C * C; c++)
                A[a] += (real)element(m, J, (i * C + c / C) * P + a / P) * L[c] * w *
                        element(m, J, (i * C + c % C) * P + a % P);
        if (m->free && with_noise) A[P * P - 1] += (real)w * noise_curvature(&m->head);
    }
    return A;
}

#endif
