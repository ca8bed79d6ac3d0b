/* closest.h - the Gaussian of rank K nearest to a precision matrix.
 *
 *     fab_closest_layout(l, &n);                      // in the layout of the handle, n.D and n.K set
 *     memcpy(n.A, precision, ...);
 *     FAB_TRY(fab_closest_take(&n));
 *     FAB_TRY(fab_closest_start(&n, seed, i));        // any number of starts; the best stays
 *     FAB_TRY(fab_closest_give(&n, F, psi));
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_CLOSEST_H
#define FAB_POSTERIOR_CLOSEST_H

#include "base/memory.h"

typedef struct fab_closest {
    int64_t D, K;
    double *A;        /* D x D: the precision; after `take` in units in which its diagonal is 1 */
    double *unit;     /* D: A_ii^-1/2 */
    double *V, *l;    /* D x D, D: eigenvectors, eigenvalues (ascending) of psi^1/2 A psi^1/2 */
    double *P, *Q;    /* D x D */
    double *H;        /* D x D: curvature in gamma */
    double *gamma;    /* D: log psi in those units */
    double *next;     /* D: a trial */
    double *slope;    /* D */
    double *w, *move; /* D: weights of a sum over eigenvectors; a step */
    double *best;     /* D: gamma of the smallest KL so far */
    double kl;        /* KL(q || p) of best */
    double *work;
} fab_closest;

void fab_closest_layout(fab_layout *l, fab_closest *n);

/* Scale n->A, and forget what was best.  FAB_NUMERIC unless its diagonal is positive. */
fab_status fab_closest_take(fab_closest *n);
/* Descend from place `number`: 0 has psi = 1 / A_ii; 1 .. D less of it for one coordinate; the others are random. */
fab_status fab_closest_start(fab_closest *n, uint64_t seed, int64_t number);
/* Descend from a psi at hand. */
fab_status fab_closest_from(fab_closest *n, const double *psi);
/* F (D x K, row-major) and psi of the best. */
fab_status fab_closest_give(fab_closest *n, double *F, double *psi);

#endif
