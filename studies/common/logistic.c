/* logistic.c - the logistic regressions of [L] sections 5.3 and 5.4.
 *
 * SPDX-License-Identifier: MIT */
#include "logistic.h"
#include "inputs.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>

enum { THETA_STREAM = 2, LABEL_STREAM = 3 };
static const double TWO_PI = 6.283185307179586;

/* ---- problems ----------------------------------------------------------------------------------- */

/* As many 1 as 0, in an order from the seed. */
static void balanced_labels(logistic *p)
{
    double *u = numbers(p->N);
    fab_random_uniform(p->seed, FAB_PURPOSE_DATA, LABEL_STREAM, 0, p->N, u);
    for (int64_t j = 0; j < p->N; j++) p->y[j] = (double)(j % 2);
    for (int64_t j = p->N - 1; j > 0; j--) {
        const int64_t k = (int64_t)(u[j] * (double)(j + 1));
        const double y = p->y[j];
        p->y[j] = p->y[k];
        p->y[k] = y;
    }
    free(u);
}

static void begin(logistic *p)
{
    p->x = numbers(p->N * p->d);
    p->y = numbers(p->N);
    inputs_draw(p->d, p->N, p->seed, p->x);
}

void logistic_clusters(logistic *p, double separation)
{
    double *m = numbers(p->d), norm2 = 0;
    begin(p);
    inputs_divide_by_spectrum(p->d, p->N, p->x);
    balanced_labels(p);
    fab_random_uniform(p->seed, FAB_PURPOSE_DATA, THETA_STREAM, 0, p->d, m);
    for (int64_t i = 0; i < p->d; i++) norm2 += m[i] * m[i];
    const double half = separation / 2 / sqrt(norm2);
    for (int64_t j = 0; j < p->N; j++)
        for (int64_t i = 0; i < p->d; i++) p->x[j * p->d + i] += (2 * p->y[j] - 1) * half * m[i];
    free(m);
}

void logistic_text(logistic *p)
{
    double *theta = numbers(p->d), *u = numbers(p->N);
    begin(p);
    inputs_normalise(p->d, p->N, p->x);
    fab_random_normal(p->seed, FAB_PURPOSE_DATA, THETA_STREAM, 0, p->d, FAB_F64, theta);
    fab_random_uniform(p->seed, FAB_PURPOSE_DATA, LABEL_STREAM, 0, p->N, u);
    for (int64_t j = 0; j < p->N; j++) {
        double eta = 0;
        for (int64_t i = 0; i < p->d; i++) eta += p->sigma0 * theta[i] * p->x[j * p->d + i];
        p->y[j] = u[j] < 1 / (1 + exp(-eta));
    }
    free(theta);
    free(u);
}

void logistic_free(logistic *p)
{
    free(p->x);
    free(p->y);
}

/* ---- divergences -------------------------------------------------------------------------------- */

static double softplus(double eta)
{
    return fmax(eta, 0) + log1p(exp(-fabs(eta)));
}

/* E log(1 + exp(eta)), eta ~ N(m, v), by the trapezoid rule: the integrand is analytic up to i pi in eta, and steps
 * of 0.8 there and of half a standard deviation leave an error below 1e-10. */
static double mean_softplus(double m, double v)
{
    const double s = sqrt(v), reach = 9, h = fmin(0.5, s > 0 ? 0.8 / s : 0.5);
    double sum = 0, weights = 0;
    for (int64_t k = (int64_t)ceil(-reach / h); (double)k * h <= reach; k++) {
        const double z = (double)k * h, w = exp(-z * z / 2);
        sum += w * softplus(m + s * z);
        weights += w;
    }
    return sum / weights;
}

double logistic_divergence(const logistic *p, const fab_gauss *q, const double *mean)
{
    const double alpha = 1 / (p->sigma0 * p->sigma0);
    const fab_glm model = {FAB_LIKELIHOOD_BERNOULLI, p->d, 1, 0, 1};
    const fab_rows x = {p->x, FAB_F64, p->N, p->d};
    double *eta = numbers(p->N), *v = numbers(p->N), *var = numbers(p->d), entropy, sum = 0;
    fab_gauss moved = *q;
    fab_solver *s;
    moved.mu = (double *)mean;
    must(fab_predict_eta(&moved, &model, &x, NULL, NULL, eta, v));
    must(fab_solver_create(&s, q, NULL));
    must(fab_solver_variances(s, var));
    must(fab_solver_entropy(s, &entropy));
    for (int64_t j = 0; j < p->N; j++) sum += mean_softplus(eta[j], v[j]) - p->y[j] * eta[j];
    for (int64_t i = 0; i < p->d; i++)
        sum += (alpha * (mean[i] * mean[i] + var[i]) + log(TWO_PI / alpha)) / 2;
    fab_solver_free(s);
    free(eta);
    free(v);
    free(var);
    return sum - entropy;
}

double *logistic_draws(const logistic *p, const fab_gauss *q, int64_t n, uint64_t seed)
{
    const double alpha = 1 / (p->sigma0 * p->sigma0);
    double *theta = numbers(n * p->d), *out = numbers(n);
    fab_solver *s;
    must(fab_solver_create(&s, q, NULL));
    must(fab_solver_sample(s, seed, FAB_PURPOSE_SAMPLE, 0, n, FAB_F64, theta, p->d));
    must(fab_solver_logpdf(s, &(fab_rows){theta, FAB_F64, n, p->d}, out));
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < p->d; i++)
            out[k] += (alpha * pow(theta[k * p->d + i], 2) + log(TWO_PI / alpha)) / 2;
    for (int64_t j = 0; j < p->N; j++)
        for (int64_t k = 0; k < n; k++) {
            double eta = 0;
            for (int64_t i = 0; i < p->d; i++) eta += theta[k * p->d + i] * p->x[j * p->d + i];
            out[k] += softplus(eta) - p->y[j] * eta;
        }
    fab_solver_free(s);
    free(theta);
    return out;
}
