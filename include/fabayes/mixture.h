/* mixture.h - a weighted set of Gaussians over the same theta (MultiSWAG, ensembles).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_MIXTURE_H
#define FABAYES_MIXTURE_H

#include "fabayes/gauss.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_mixture {
    int64_t n;
    const fab_gauss *const *part; /* n Gaussians of the same D (and total) */
    const double *weight;         /* n, >= 0, sum 1 */
} fab_mixture;

/* Parts agree in D, weights >= 0 and sum to 1 within 1e-9? */
FAB_API fab_status fab_mixture_check(const fab_mixture *m);
/* log density of each row; refused when a part is a point. */
FAB_API fab_status fab_mixture_logpdf(const fab_mixture *m, const fab_rows *x, const fab_exec *e,
                                      double *out);
/* Draws as fab_solver_sample; which part a draw comes from depends on (seed, number) alone.  `from`
 * gets the part of each draw, or is NULL. */
FAB_API fab_status fab_mixture_sample(const fab_mixture *m, uint64_t seed, int64_t first, int64_t n,
                                      fab_dtype type, void *out, int64_t ld, int64_t *from,
                                      const fab_exec *e);
/* Mean and marginal variances, D each; a point has variance 0. */
FAB_API fab_status fab_mixture_moments(const fab_mixture *m, const fab_exec *e, double *mean,
                                       double *variance);

#ifdef __cplusplus
}
#endif
#endif
