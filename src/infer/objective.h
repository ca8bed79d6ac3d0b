/* objective.h - minus the log posterior of a generalised linear model, its gradient and curvature.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_OBJECTIVE_H
#define FAB_INFER_OBJECTIVE_H

#include "fabayes/gauss.h"
#include "fabayes/glm.h"

enum { FAB_OBJECTIVE_ROWS = 256 }; /* at a time */

typedef struct fab_objective {
    const char *who;
    fab_glm m;
    const fab_examples *e;
    int64_t width, P;    /* D + intercept; coordinates of theta: classes x width */
    double *a0, *m0;     /* P each: prior precision (a diagonal) and mean */
    double *A0;          /* P x P: prior precision when it is no diagonal, or NULL */
    double log_prior;    /* log det of the prior precision */
    double *x, *z;       /* width x ROWS each: rows with their 1, and scaled */
    double *eta, *slope; /* classes x ROWS */
    double *curve;       /* classes x classes x ROWS */
    double *small;       /* width x width; NULL: no curvatures are asked for */
    double *diff;        /* P */
} fab_objective;

/* Room for all of it; `dense` asks for curvatures, `prior` (or NULL) for a full A0, which it fills. */
fab_status fab_objective_init(fab_objective **o, const char *who, const fab_glm *m,
                              const fab_gauss *prior, int dense, const fab_exec *x);
void fab_objective_free(fab_objective *o); /* takes NULL */

/* A diagonal prior of mean 0. */
void fab_objective_diagonal(fab_objective *o, double alpha, double intercept_alpha);

/* -log p(y | theta) + (theta - m0)' A0 (theta - m0) / 2; where asked for its gradient (P) and its second
 * derivative (P x P). */
double fab_objective_at(fab_objective *o, const double *theta, double *gradient, double *A);

/* Columns sqrt(curvature) (x, 1) of the rows first .. first + n - 1 at theta, one after the other, of a model
 * with one linear predictor: out is P x n. */
void fab_objective_columns(fab_objective *o, const double *theta, int64_t first, int64_t n,
                           double *out);

#endif
