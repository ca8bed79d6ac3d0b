/* distance.h - how far Gaussian a, the estimate, is from Gaussian b, the reference.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_DISTANCE_H
#define FABAYES_DISTANCE_H

#include "fabayes/gauss.h"

#ifdef __cplusplus
extern "C" {
#endif

/* |mu_a - mu_b| / |mu_b| (Euclid);  FAB_UNSUPPORTED when mu_b = 0. */
FAB_API fab_status fab_distance_mean(const fab_gauss *a, const fab_gauss *b, double *out);
/* |S_a - S_b| / |S_b| (Frobenius), any two forms, O(D K^2). */
FAB_API fab_status fab_distance_covariance(const fab_gauss *a, const fab_gauss *b,
                                           const fab_exec *x, double *out);
/* KL(a || b) in nats, any two forms, O(D K^2). */
FAB_API fab_status fab_distance_kl(const fab_gauss *a, const fab_gauss *b, const fab_exec *x,
                                   double *out);
/* The 2-Wasserstein distance; dense, D up to FAB_DENSE_MAX, FAB_UNSUPPORTED above. */
FAB_API fab_status fab_distance_w2(const fab_gauss *a, const fab_gauss *b, const fab_exec *x,
                                   double *out);

#ifdef __cplusplus
}
#endif
#endif
