/* cdf.h - what follows from a distribution function alone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_CDF_H
#define FAB_MODEL_CDF_H

typedef double fab_cdf(const void *ctx, double y); /* P(Y <= y) */

/* The least count k with P(Y <= k) >= p. */
double fab_cdf_least(fab_cdf *cdf, const void *ctx, double p);
/* The p-quantile of a real number of this mean and standard deviation, by bisection. */
double fab_cdf_quantile(fab_cdf *cdf, const void *ctx, double p, double mean, double sd);
/* The central interval of probability `level`, of a count or a real number of this mean and standard deviation. */
void fab_cdf_interval(fab_cdf *cdf, const void *ctx, int counts, double level, double mean,
                      double sd, double *lower, double *upper);
/* The continuous ranked probability score of y; tails may be heavy. */
double fab_cdf_crps(fab_cdf *cdf, const void *ctx, double y, double sd);

#endif
