/* spread.h - a covariance given by its root, as F F' + diag(psi) without loss.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_SPREAD_H
#define FAB_POSTERIOR_SPREAD_H

#include "fabayes/gauss.h"

/* Fill q->F (K = D) and q->psi so that F F' + psi = unit^2 G G'.  G and its inverse Gi: D x D, column-major,
 * both destroyed; work: D x D. */
fab_status fab_spread(fab_gauss *q, double unit, double *G, double *Gi, double *work);

/* scale_i = A_ii^-1/2 and L L' = scale A scale, so that a matrix is factored in its own units; log det A.  All n x n but
 * scale; L may be A. */
fab_status fab_scaled_chol(int64_t n, const double *A, double *scale, double *L, double *logdet);
/* Fill q so that F F' + psi = A^-1, of the A factored so.  L, G and Gi: D x D, all destroyed. */
fab_status fab_spread_inverse(fab_gauss *q, const double *scale, double *L, double *G, double *Gi);

#endif
