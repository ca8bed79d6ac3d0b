/* laplace_case.h - generalised linear problems, their fits, and their posteriors in quadruple precision.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_LAPLACE_CASE_H
#define FAB_TESTS_LAPLACE_CASE_H

#include "dense.h"
#include "fabayes/methods.h"
#include <string.h>

typedef struct problem {
    fab_glm m;
    int64_t N;
    double *x, *y, *weight, *offset;
    double alpha, intercept_alpha;
    const fab_gauss *prior;
} problem;

static inline real r_exp(real x)
{
    real sum = 1, term = 1;
    x /= 1048576;
    for (int i = 1; i < 30; i++) sum += term *= x / i;
    for (int i = 0; i < 20; i++) sum *= sum;
    return sum;
}

/* ---- problems --------------------------------------------------------------------------------- */

static inline double draw_y(const problem *p, double eta, double u, double v)
{
    switch (p->m.likelihood) {
    case FAB_LIKELIHOOD_BERNOULLI: return u < 1 / (1 + exp(-eta));
    case FAB_LIKELIHOOD_POISSON: return floor(exp(eta) * (0.5 + u) + v);
    case FAB_LIKELIHOOD_CATEGORICAL:
        return floor((double)p->m.classes * (u + 0.2 * tanh(eta)) / 1.2 * 0.999 + 0.1 * v);
    default: return eta + u - v;
    }
}

static inline problem some_problem(fab_likelihood l, int64_t N, int64_t D, uint64_t seed)
{
    problem p = {.m = {.likelihood = l,
                       .D = D,
                       .classes = l == FAB_LIKELIHOOD_CATEGORICAL ? 3 : 1,
                       .intercept = 1,
                       .beta = 1},
                 .N = N,
                 .x = doubles(N * D),
                 .y = doubles(N),
                 .alpha = 0.7,
                 .intercept_alpha = 1e-4};
    if (l == FAB_LIKELIHOOD_GAUSSIAN) p.m.beta = 2.385;
    fab_random_normal(seed, FAB_PURPOSE_DATA, 1, 0, N * D, FAB_F64, p.x);
    for (int64_t j = 0; j < N; j++) {
        double eta = 0.3;
        for (int64_t i = 0; i < D; i++) eta += p.x[j * D + i] * noise(seed, i) / sqrt((double)D);
        const double u = 0.5 + 0.5 * noise(seed + 1, j), v = 0.5 + 0.5 * noise(seed + 2, j);
        p.y[j] = fmax(0, draw_y(&p, eta, u, v));
        if (l == FAB_LIKELIHOOD_CATEGORICAL && p.y[j] > 2) p.y[j] = 2;
    }
    return p;
}

static inline void add_weights(problem *p)
{
    p->weight = doubles(p->N);
    p->offset = doubles(p->N);
    for (int64_t j = 0; j < p->N; j++) {
        p->weight[j] = 1.5 + noise(5, j);
        p->offset[j] = noise(6, j);
    }
}

static inline fab_laplace_settings settings_of(const problem *p)
{
    fab_laplace_settings s = fab_laplace_defaults();
    s.train.alpha = p->alpha;
    if (p->m.likelihood == FAB_LIKELIHOOD_GAUSSIAN) s.train.beta = p->m.beta;
    s.intercept_alpha = p->intercept_alpha;
    return s;
}

static inline fab_status try_with(fab_fit **f, const char *method, const problem *p,
                                  const fab_laplace_settings *s, const fab_exec *x)
{
    const fab_examples e = {
        .x = {p->x, FAB_F64, p->N, p->m.D}, .y = p->y, .weight = p->weight, .offset = p->offset};
    const fab_gauss *q;
    fab_glm glm = p->m;
    const fab_model m = fab_model_linear(&glm);
    fab_status status =
        fab_fit_create(f, method, s, sizeof *s, &(fab_input){.model = &m, .prior = p->prior}, x);
    if (status == FAB_OK) status = fab_fit_update(*f, &e);
    if (status == FAB_OK) status = fab_fit_gauss(*f, &q);
    if (status == FAB_OK) return fab_gauss_check(q);
    fab_fit_free(*f);
    *f = NULL;
    return status;
}

static inline fab_fit *fitted(const char *method, const problem *p)
{
    const fab_laplace_settings s = settings_of(p);
    fab_fit *f;
    assert_ok(try_with(&f, method, p, &s, NULL));
    return f;
}

static inline const fab_gauss *posterior_of(fab_fit *f)
{
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(f, &q));
    return q;
}

static inline fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

/* ---- the oracle ------------------------------------------------------------------------------- */

typedef struct truth {
    int64_t P;
    real *gradient, *A, *prior; /* of minus the log posterior, at the theta asked about */
    real value;                 /* minus log p(y | theta), minus log prior but for its constants */
} truth;

/* log p, slopes and curvatures of one row, plainly */
static inline real row_loglik(const fab_glm *m, double y, const real *eta, real *g, real *h)
{
    const int64_t C = m->classes;
    if (m->likelihood == FAB_LIKELIHOOD_GAUSSIAN) {
        const real r = y - eta[0], two_pi = 6.28318530717958647692528676655900577L;
        *g = m->beta * r, *h = m->beta;
        return (r_log(m->beta / two_pi) - m->beta * r * r) / 2;
    }
    if (m->likelihood == FAB_LIKELIHOOD_POISSON) {
        real L = y * eta[0] - r_exp(eta[0]);
        for (int64_t k = 2; k <= (int64_t)y; k++) L -= r_log((real)k);
        *g = y - r_exp(eta[0]), *h = r_exp(eta[0]);
        return L;
    }
    if (m->likelihood == FAB_LIKELIHOOD_BERNOULLI) {
        const real e = r_exp(-eta[0]), s = 1 / (1 + e);
        *g = y - s, *h = s * (1 - s);
        return y > 0 ? r_log(s) : r_log(1 - s);
    }
    real sum = 0, p[8];
    for (int64_t k = 0; k < C; k++) sum += r_exp(eta[k]);
    for (int64_t k = 0; k < C; k++) p[k] = r_exp(eta[k]) / sum;
    for (int64_t k = 0; k < C; k++) g[k] = (k == (int64_t)y) - p[k];
    for (int64_t k = 0; k < C * C; k++)
        h[k] = (k / C == k % C ? p[k / C] : 0) - p[k / C] * p[k % C];
    return r_log(p[(int64_t)y]);
}

static inline truth truth_at(const problem *p, const double *theta)
{
    const int64_t D = p->m.D, w = D + p->m.intercept, C = p->m.classes, P = C * w;
    truth t = {.P = P, .gradient = dense_new(P), .prior = dense_new(P * P)};
    for (int64_t i = 0; i < P && !p->prior; i++)
        t.prior[i * P + i] = i % w < D ? p->alpha : p->intercept_alpha;
    if (p->prior) t.prior = dense_precision(p->prior);
    t.A = dense_new(P * P);
    memcpy(t.A, t.prior, (size_t)(P * P) * sizeof *t.A);
    for (int64_t i = 0; i < P; i++)
        for (int64_t k = 0; k < P; k++) {
            const real a = theta[i] - (p->prior ? (real)p->prior->mu[i] : 0),
                       b = theta[k] - (p->prior ? (real)p->prior->mu[k] : 0);
            t.gradient[i] += t.prior[i * P + k] * b;
            t.value += a * t.prior[i * P + k] * b / 2;
        }
    for (int64_t j = 0; j < p->N; j++) {
        real eta[8], g[8], h[64];
        const real weight = p->weight ? p->weight[j] : 1;
        for (int64_t k = 0; k < C; k++) {
            eta[k] = p->offset ? p->offset[j] : 0;
            for (int64_t i = 0; i < w; i++)
                eta[k] += (real)theta[k * w + i] * (i < D ? p->x[j * D + i] : 1);
        }
        t.value -= weight * row_loglik(&p->m, p->y[j], eta, g, h);
        for (int64_t a = 0; a < P; a++) {
            const real xa = a % w < D ? p->x[j * D + a % w] : 1;
            t.gradient[a] -= weight * g[a / w] * xa;
            for (int64_t b = 0; b < P; b++)
                t.A[a * P + b] += weight * h[(a / w) * C + b / w] * xa *
                                  (b % w < D ? p->x[j * D + b % w] : 1);
        }
    }
    return t;
}

/* The Newton step of the oracle from q->mu, in standard deviations: how far the mode is. */
static inline double distance_to_mode(const problem *p, const fab_gauss *q)
{
    const truth t = truth_at(p, q->mu);
    const real *S = dense_inverse(t.P, t.A), *step = dense_mul(t.P, t.P, 1, S, t.gradient);
    double worst = 0;
    for (int64_t i = 0; i < t.P; i++)
        worst = fmax(worst, (double)r_abs(step[i] / r_sqrt(S[i * t.P + i])));
    return worst;
}

static inline void compare(const problem *p, double tol)
{
    fab_fit *f = fitted("laplace", p);
    const fab_gauss *q = posterior_of(f);
    const truth t = truth_at(p, q->mu);
    const int64_t n = t.P * t.P;
    const real *S = dense_inverse(t.P, t.A);
    const fab_report r = report_of(f);
    assert_int_equal(r.converged, 1);
    assert_near(distance_to_mode(p, q), 0, tol);
    assert_near(dense_norm(n, dense_minus(n, dense_covariance(q), S)) / dense_norm(n, S), 0, tol);
    assert_near(r.log_evidence, (dense_logdet(t.P, t.prior) - dense_logdet(t.P, t.A)) / 2 - t.value,
                tol * (1 + fabs(r.log_evidence)));
    fab_fit_free(f);
}

/* The gradient of the log posterior in doubles, for models too large for the oracle. */
static inline double largest_gradient(const problem *p, const double *theta)
{
    const int64_t D = p->m.D, w = D + p->m.intercept, C = p->m.classes;
    double *g = doubles(C * w), worst = 0;
    for (int64_t i = 0; i < C * w; i++)
        g[i] = theta[i] * (i % w < D ? p->alpha : p->intercept_alpha);
    for (int64_t j = 0; j < p->N; j++) {
        double eta[8] = {0}, slope[8];
        for (int64_t i = 0; i < C * w; i++)
            eta[i / w] += theta[i] * (i % w < D ? p->x[j * D + i % w] : 1);
        fab_glm_loglik(&p->m, p->y[j], eta, slope, NULL);
        for (int64_t i = 0; i < C * w; i++)
            g[i] -= slope[i / w] * (i % w < D ? p->x[j * D + i % w] : 1);
    }
    for (int64_t i = 0; i < C * w; i++) worst = fmax(worst, fabs(g[i]));
    return worst;
}

#endif
