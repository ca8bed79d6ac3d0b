/* counts.h - counts whose log rate is Gaussian: y ~ Poisson(exp(eta)), eta ~ N(m, v).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_COUNTS_H
#define FAB_MODEL_COUNTS_H

double fab_count_logp(double m, double v, double y);
/* P(Y <= k) for a whole k >= 0. */
double fab_count_cdf(double m, double v, double k);
/* The least k with P(Y <= k) >= p. */
double fab_count_quantile(double m, double v, double p);

#endif
