/* cavi.h - q(w) q(alpha) q(beta) of a linear model by coordinate ascent, given its spectrum.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_EXACT_CAVI_H
#define FAB_EXACT_CAVI_H

#include "methods/exact/evidence.h"

typedef struct fab_gamma {
    double shape, rate;
} fab_gamma;

typedef struct fab_cavi {
    fab_gamma prior_alpha, prior_beta;
    double tol; /* relative change of both precisions */
    int64_t max_iter;
    int64_t D;    /* coefficients */
    int64_t free; /* 1: and an intercept of flat prior */
    /* out: */
    fab_gamma alpha, beta; /* shape 0: the precision is given */
    double more;           /* the bound less log p(y | E alpha, E beta) */
    double gain;           /* of the last step, nats per row */
    int64_t iterations, converged;
} fab_cavi;

/* E alpha and E beta to v, in the place of those that fab_exact_evidence finds, and where it begins. */
fab_status fab_cavi_climb(fab_evidence *v, fab_cavi *c);

#endif
