/* categorical.c - y is a class; one predictor each, and probabilities by softmax, against the largest predictor.
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/likelihood.h"
#include <math.h>

static int fits(const fab_glm *m, double y)
{
    return y >= 0 && y < (double)m->classes && y == floor(y);
}

/* The probability of class k is exp(eta_k - top) / sum. */
static double loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                     double *curvature)
{
    const int64_t C = m->classes, mine = (int64_t)y;
    double top = eta[0], sum = 0, others = 0;
    for (int64_t k = 1; k < C; k++) top = eta[k] > top ? eta[k] : top;
    for (int64_t k = 0; k < C; k++) sum += exp(eta[k] - top);
    for (int64_t k = 0; k < C; k++) others += k == mine ? 0 : exp(eta[k] - top);
    if (gradient)
        for (int64_t k = 0; k < C; k++)
            gradient[k] = k == mine ? others / sum : -exp(eta[k] - top) / sum;
    if (curvature)
        for (int64_t k = 0; k < C * C; k++) {
            const double p = exp(eta[k / C] - top) / sum, q = exp(eta[k % C] - top) / sum;
            double rest = 0; /* 1 - p */
            if (k / C != k % C) {
                curvature[k] = -p * q;
                continue;
            }
            for (int64_t l = 0; l < C; l++) rest += l == k / C ? 0 : exp(eta[l] - top) / sum;
            curvature[k] = p * rest;
        }
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
