/* linear_case.h - linear problems and their posteriors in quadruple precision.
 *
 * The oracle stacks the weighted rows on the root of the prior and takes the QR by modified Gram-Schmidt:
 * independent of src/la, and good to 113 bits over the condition of the table.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_LINEAR_CASE_H
#define FAB_TESTS_LINEAR_CASE_H

#include "dense.h"
#include "fit/method.h"

typedef struct problem {
    int64_t N, D, intercept;
    double *x, *y, *weight, *offset; /* N x D, N; weight and offset may be NULL */
    double alpha, beta;
    const fab_gauss *prior;
} problem;

typedef struct truth {
    int64_t P;
    real *mean, *cov; /* P, P x P */
    real log_evidence;
} truth;

static inline fab_examples examples_of(const problem *p)
{
    return (fab_examples){
        .x = {p->x, FAB_F64, p->N, p->D}, .y = p->y, .weight = p->weight, .offset = p->offset};
}

/* Rows of normals with a mean, y linear in them. */
static inline problem some_problem(int64_t N, int64_t D, uint64_t seed)
{
    problem p = {.N = N,
                 .D = D,
                 .intercept = 1,
                 .x = doubles(N * D),
                 .y = doubles(N),
                 .alpha = 0.7,
                 .beta = 2.385};
    fab_random_normal(seed, FAB_PURPOSE_DATA, 1, 0, N * D, FAB_F64, p.x);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 2, 0, N, FAB_F64, p.y);
    for (int64_t j = 0; j < N; j++) {
        p.y[j] *= 0.7;
        for (int64_t i = 0; i < D; i++) {
            p.x[j * D + i] += 1.3 * noise(seed, i);
            p.y[j] += p.x[j * D + i] * noise(seed + 1, i);
        }
    }
    return p;
}

static inline void add_weights(problem *p, uint64_t seed)
{
    p->weight = doubles(p->N);
    p->offset = doubles(p->N);
    for (int64_t j = 0; j < p->N; j++) {
        p->weight[j] = 1.5 + noise(seed, j);
        p->offset[j] = 2 * noise(seed + 1, j);
    }
}

/* R (n x n, row-major) of A (m x n), and Q in place of A. */
static inline real *gram_schmidt(int64_t m, int64_t n, real *A)
{
    real *R = dense_new(n * n);
    for (int64_t k = 0; k < n; k++) {
        for (int again = 0; again < 2; again++)
            for (int64_t j = 0; j < k; j++) {
                real s = 0;
                for (int64_t i = 0; i < m; i++) s += A[i * n + j] * A[i * n + k];
                for (int64_t i = 0; i < m; i++) A[i * n + k] -= s * A[i * n + j];
                R[j * n + k] += s;
            }
        real s = 0;
        for (int64_t i = 0; i < m; i++) s += A[i * n + k] * A[i * n + k];
        R[k * n + k] = r_sqrt(s);
        for (int64_t i = 0; i < m; i++) A[i * n + k] /= R[k * n + k];
    }
    return R;
}

/* root' root = prior precision; rows of P. */
static inline real *prior_root(const problem *p, int64_t P)
{
    real *root = dense_new(P * P);
    for (int64_t i = 0; i < p->D && !p->prior; i++) root[i * P + i] = r_sqrt(p->alpha);
    if (p->prior) root = dense_transpose(P, P, dense_chol(P, dense_precision(p->prior)));
    return root;
}

static inline truth solve(const problem *p)
{
    const int64_t N = p->N, D = p->D, P = D + p->intercept, n = P + 1, m = N + P;
    real *A = dense_new(m * n), *root = prior_root(p, P), logdet = 0, prior = 0, W = 0;
    truth t = {.P = P, .mean = dense_new(P)};
    for (int64_t j = 0; j < N; j++) {
        const real w = p->weight ? p->weight[j] : 1, r = r_sqrt(w * p->beta);
        real y = (real)p->y[j] - (p->offset ? p->offset[j] : 0);
        W += w;
        for (int64_t i = 0; i < P; i++) {
            const real x = i < D ? p->x[j * D + i] : 1;
            A[j * n + i] = r * x;
            if (p->prior) y -= x * p->prior->mu[i];
        }
        A[j * n + P] = r * y;
    }
    for (int64_t i = 0; i < P * P; i++) A[(N + i / P) * n + i % P] = root[i];
    const real *R = gram_schmidt(m, n, A);
    for (int64_t i = P - 1; i >= 0; i--) {
        real s = R[i * n + P];
        for (int64_t k = i + 1; k < P; k++) s -= R[i * n + k] * t.mean[k];
        t.mean[i] = s / R[i * n + i];
        logdet += 2 * r_log(R[i * n + i]);
        if (root[i * P + i] > 0) prior += 2 * r_log(root[i * P + i]);
    }
    real *L = dense_new(P * P); /* R' */
    for (int64_t i = 0; i < P * P; i++) L[i] = R[(i % P) * n + i / P];
    const real *Li = dense_forward(P, P, L, dense_identity(P));
    t.cov = dense_mul(P, P, P, dense_transpose(P, P, Li), Li);
    for (int64_t i = 0; i < P && p->prior; i++) t.mean[i] += p->prior->mu[i];
    const real log2pi = r_log((real)6.28318530717958647692528676655900577L);
    t.log_evidence =
        (W * (r_log(p->beta) - log2pi) + prior - logdet - R[P * n + P] * R[P * n + P]) / 2;
    if (!p->prior && p->intercept) t.log_evidence += log2pi / 2;
    return t;
}

static inline fab_exact_settings settings_of(const problem *p)
{
    fab_exact_settings s = fab_exact_defaults();
    s.glm.alpha = p->alpha;
    s.glm.beta = p->beta;
    return s;
}

static inline fab_glm glm_of(const problem *p)
{
    return (fab_glm){
        .likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = p->D, .classes = 1, .intercept = p->intercept};
}

/* A fit by name; gives the handle.  The examples stay the caller's. */
static inline fab_fit *fitted_with(const char *method, const problem *p, const fab_exec *x)
{
    const fab_exact_settings s = settings_of(p);
    const fab_examples e = examples_of(p);
    fab_glm glm = glm_of(p);
    const fab_model m = fab_model_linear(&glm);
    fab_fit *f;
    assert_ok(
        fab_fit_create(&f, method, &s, sizeof s, &(fab_input){.model = &m, .prior = p->prior}, x));
    assert_ok(fab_fit_update(f, &e));
    return f;
}

static inline const fab_gauss *posterior_of(fab_fit *f)
{
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_gauss_check(q));
    return q;
}

/* Largest error of a coefficient and of a standard deviation, each relative to its own size. */
static inline double worst_mean(const fab_gauss *q, const truth *t)
{
    double worst = 0;
    for (int64_t i = 0; i < t->P; i++)
        worst = fmax(worst, (double)r_abs((q->mu[i] - t->mean[i]) / t->mean[i]));
    return worst;
}

static inline double worst_sd(const fab_gauss *q, const truth *t)
{
    fab_solver *s;
    double worst = 0, *v = doubles(t->P);
    assert_ok(fab_solver_create(&s, q, NULL));
    assert_ok(fab_solver_variances(s, v));
    fab_solver_free(s);
    for (int64_t i = 0; i < t->P; i++) {
        const real sd = r_sqrt(t->cov[i * t->P + i]);
        worst = fmax(worst, (double)(r_abs(r_sqrt(v[i]) - sd) / sd));
    }
    return worst;
}

/* Relative Frobenius distance of the covariances. */
static inline double covariance_error(const fab_gauss *q, const truth *t)
{
    const int64_t count = t->P * t->P;
    return (double)(dense_norm(count, dense_minus(count, dense_covariance(q), t->cov)) /
                    dense_norm(count, t->cov));
}

#endif
