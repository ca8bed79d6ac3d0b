/* logistic.h - the logistic regressions of [L] sections 5.3 and 5.4, and the divergence from their posterior.
 *
 * The prior is N(0, sigma0^2 I), there is no intercept.  The posterior depends on theta through one number a
 * row, so that
 *     KL(q || p) = sum_t E[log(1 + exp(eta_t)) - y_t eta_t] + E |theta|^2 / (2 sigma0^2) - entropy(q) + constant
 * takes one-dimensional integrals only.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STUDIES_LOGISTIC_H
#define STUDIES_LOGISTIC_H

#include "fabayes.h"

typedef struct logistic {
    int64_t d, N;
    double sigma0; /* standard deviation of the prior */
    uint64_t seed;
    double *x, *y; /* N x d, N */
} logistic;

/* What the program of [L] draws: N(-m, C) for y = 0 and N(m, C) for y = 1, as many of each, shuffled; 2 m of length
 * `separation` with positive entries, C = M' diag(1, 1/2, .., 1/d) M / sum 1/i^2. */
void logistic_clusters(logistic *p, double separation);
/* What the text of [L] says: x as in its section 5.2, y from the model with theta from the prior. */
void logistic_text(logistic *p);
void logistic_free(logistic *p);

/* KL(N(mean, covariance of q) || posterior) - log evidence, without sampling error. */
double logistic_divergence(const logistic *p, const fab_gauss *q, const double *mean);

/* log q - log p(y, theta) at the first n draws of q: their mean estimates the same with q's own mean, and log q
 * takes most of the spread of log p away.  Gives n numbers: free. */
double *logistic_draws(const logistic *p, const fab_gauss *q, int64_t n, uint64_t seed);

#endif
