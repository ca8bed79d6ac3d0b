/* quad.h - the least of a quadratic with an absolute and a square penalty, by coordinate descent.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_ERM_QUAD_H
#define FAB_ERM_QUAD_H

#include "base/hooks.h"
#include "base/memory.h"

/* w'Gw / 2 - c'w + yy / 2 + sum over penalised j of l1 |w_j| + l2 w_j^2 / 2 */
typedef struct fab_quad {
    int64_t P, D; /* coordinates; the first D of them are penalised */
    double *G;    /* P x P, whole */
    double *c;    /* P */
    double yy, l1, l2;
    double *w, *g;   /* P: the point; its gradient c - G w */
    double *S, *L;   /* P x P: G and its factor on the coordinates at work */
    double *u, *h;   /* P: w and g there */
    double *d, *own; /* P: a step; */
    int64_t *W, *A;  /* P: coordinates at work; those of them that are not 0 */
    char *in;        /* P: is it at work? */
    int64_t n;       /* at work */
} fab_quad;

/* All but D, P, the numbers and the penalties. */
void fab_quad_layout(fab_layout *l, fab_quad *q);

/* From w as it stands to the least, where the duality gap (D = P) is at most tol, or (tol 0) where signs stay and the rest of
 * the gradient is rounding.  before: l1 of the point that w is the least of, or INFINITY: nothing is known.  At most
 * *sweeps sweeps; *sweeps <- those made; *gap is NaN where a coordinate is free; *done 0: sweeps ran out. */
fab_status fab_quad_solve(fab_quad *q, double before, double tol, int64_t *sweeps, double *gap,
                          int *done, fab_watch *watch, const char *who);

/* Of w and g as they stand: value less a bound from below. */
double fab_quad_gap(const fab_quad *q);
double fab_quad_value(const fab_quad *q);
/* g = c - G w */
void fab_quad_gradient(fab_quad *q);

#endif
