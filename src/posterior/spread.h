/* spread.h - a covariance given by its root, as F F' + diag(psi) without loss.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_SPREAD_H
#define FAB_POSTERIOR_SPREAD_H

#include "fabayes/gauss.h"

/* Fill q->F (K = D) and q->psi so that F F' + psi = unit^2 G G'.  G and its inverse Gi: D x D, column-major,
 * both destroyed; work: D x D. */
fab_status fab_spread(fab_gauss *q, double unit, double *G, double *Gi, double *work);

#endif
