/* categorical.c - y is a class; one predictor each, and probabilities by softmax, against the largest predictor.
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/likelihood.h"
#include <math.h>

static int fits(const fab_glm *m, double y)
{
    return y >= 0 && y < (double)m->classes && y == floor(y);
}

/* curvature = diag(p) - p p'; p may be its first row. */
static void curve(int64_t C, const double *p, double *curvature)
{
    for (int64_t k = C - 1; k >= 0; k--) {
        const double mine = p[k];
        double rest = 0; /* 1 - p_k */
        for (int64_t l = 0; l < C; l++) rest += l == k ? 0 : p[l];
        for (int64_t l = C - 1; l >= 0; l--)
            if (l != k) curvature[k * C + l] = -mine * p[l];
        curvature[k * C + k] = mine * rest;
    }
}

/* The probability of class k is e_k / sum, e_k = exp(eta_k - top): computed once, and kept where there is room. */
static double loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                     double *curvature)
{
    const int64_t C = m->classes, mine = (int64_t)y;
    double *e = gradient ? gradient : curvature;
    double top = eta[0], sum = 0, others = 0;
    for (int64_t k = 1; k < C; k++) top = eta[k] > top ? eta[k] : top;
    for (int64_t k = 0; k < C; k++) {
        const double each = exp(eta[k] - top);
        sum += each;
        others += k == mine ? 0 : each;
        if (e) e[k] = each;
    }
    if (e)
        for (int64_t k = 0; k < C; k++) e[k] /= sum;
    if (curvature) curve(C, e, curvature);
    if (gradient)
        for (int64_t k = 0; k < C; k++) gradient[k] = k == mine ? others / sum : -gradient[k];
    return eta[mine] == top ? -log1p(others) : eta[mine] - top - log(sum);
}

const fab_likelihood_row fab_likelihood_categorical = {
    .name = "categorical",
    .target = FAB_TARGET_CLASSES,
    .several = 1,
    .fits = fits,
    .range = "a class 0 .. classes - 1",
    .loglik = loglik,
};
