/* mode.h - the theta of highest posterior density.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_MODE_H
#define FAB_TRAIN_MODE_H

#include "train/objective.h"

enum { FAB_PAIRS = 30 };

typedef struct fab_mode {
    double *theta;                           /* P: start in, mode out */
    double *gradient, *step, *trial, *scale; /* P each */
    double *moves, *turns; /* FAB_PAIRS x P: steps taken, and what they did to the gradient */
    double *residual, *direction, *product; /* P each, of conjugate gradients */
    double *A; /* P x P: the curvature at the mode, destroyed by its factor */
    double *L; /* P x P: lower factor of scale A scale, scale_i = A_ii^-1/2 */
    double tol;
    int64_t max_iter;
    int64_t iterations, converged; /* out; iterations are added up */
    double value;                  /* out: the objective */
    double logdet;                 /* out: log det A */
} fab_mode;

/* A theta that predicts the weighted mean of y, where the model has an intercept; else 0. */
void fab_mode_start(const fab_objective *o, double *theta);

/* Newton's method with quasi-Newton steps between its factors; L and logdet belong to the mode. */
fab_status fab_mode_newton(fab_objective *o, fab_mode *m);

/* The same with the steps by conjugate gradients, without A, L and logdet. */
fab_status fab_mode_newton_cg(fab_objective *o, fab_mode *m);

#endif
