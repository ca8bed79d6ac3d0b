/* pareto.h - importance weights whose largest are smoothed, in memory of the caller.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_PARETO_H
#define FAB_POSTERIOR_PARETO_H

#include <stdint.h>

/* Doubles of work for n weights. */
int64_t fab_pareto_doubles(int64_t n);
/* fab_pareto_smooth (gauss.h) of finite logarithms; its k. */
double fab_pareto_smooth_in(int64_t n, double *logw, double *work);

/* What n weights, as logarithms, say of their mean. */
typedef struct fab_weights {
    double log_mean; /* log of sum w / n */
    double se;       /* standard error of log_mean: that of the mean over the mean */
    double ess;      /* (sum w)^2 / sum w^2 */
} fab_weights;
fab_weights fab_weights_of(int64_t n, const double *logw);

#endif
