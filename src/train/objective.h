/* objective.h - minus the log posterior of a generalised linear model, its gradient and curvature.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_OBJECTIVE_H
#define FAB_TRAIN_OBJECTIVE_H

#include "base/hooks.h"
#include "fabayes/gauss.h"
#include "fabayes/model.h"

typedef struct fab_objective {
    const char *who;
    fab_watch watch;
    fab_status stopped; /* of a pass over the rows that was not finished */
    fab_glm m;
    const fab_examples *e;
    int64_t width, P;    /* D + intercept; coordinates of theta: classes x width */
    int64_t columns;     /* of the widest fab_objective_times */
    int64_t rows;        /* of a block */
    double *a0, *m0;     /* P each: prior precision (a diagonal) and mean */
    double *A0;          /* P x P: prior precision when it is no diagonal, or NULL */
    fab_solver *given;   /* the prior as it came, without A0; or NULL */
    int precision;       /* its form */
    double log_prior;    /* log det of the prior precision */
    double *x;           /* rows x width: features of f32 rows, or features with their 1; or NULL */
    double *z;           /* the same, scaled; where curvatures are asked for */
    double *eta, *slope; /* rows x classes */
    double *hessian;     /* rows, of one predictor */
    double *U;           /* of classes: rows x P */
    double *blocks;      /* of classes: classes x width x width */
    double *curvature;   /* N x classes: w times it, or the probabilities of several classes */
    double *XV, *HXV;    /* rows x columns for each class: (x, 1)' V, and times w curvature */
    double *diff, *A0diff; /* P each: theta - m0, A0 (theta - m0) */
} fab_objective;

/* Room for all of it.  `dense` asks for curvatures and turns a given prior into A0; else it stays as it is.
 * Borrows examples and prior until free. */
fab_status fab_objective_init(fab_objective **o, const char *who, const fab_glm *m,
                              const fab_examples *e, const fab_gauss *prior, int dense,
                              int64_t columns, const fab_exec *x);
void fab_objective_free(fab_objective *o); /* takes NULL */

/* Numbers of a block of rows of so many features, at most. */
double fab_objective_block(int64_t width);

/* A diagonal prior of mean 0. */
void fab_objective_diagonal(fab_objective *o, double alpha, double intercept_alpha);

/* Work that whoever watches has stopped: `stopped` says so then, and values are NaN from there on.
 *
 * -log p(y | theta) + (theta - m0)' A0 (theta - m0) / 2; where asked for its gradient (P) and its second
 * derivative (P x P).  NaN or infinite where theta is out of reach. */
double fab_objective_at(fab_objective *o, const double *theta, double *gradient, double *A);

/* Keep what the second derivative A at theta is made of: the functions below speak of it. */
void fab_objective_curvature(fab_objective *o, const double *theta);
/* out = A V, both P x k, row-major; without A in memory. */
fab_status fab_objective_times(fab_objective *o, int64_t k, const double *V, double *out);
fab_status fab_objective_diag(fab_objective *o, double *diag);       /* of A */
fab_status fab_objective_diag_prior(fab_objective *o, double *diag); /* of A0 */
/* L (P x P, lower) with L L' = scale A scale at theta, without A: by the QR of the rows. */
fab_status fab_objective_root(fab_objective *o, const double *theta, const double *scale,
                              double *L);
/* The predictors at theta of the block of rows that begins with `first`: eta (rows x classes) is lent until the next call.
 * Returns how many rows. */
int64_t fab_objective_eta(fab_objective *o, const double *theta, int64_t first, const double **eta);
/* What k changes V (P x k, row-major) of theta do to them: rows x k numbers for each class, lent. */
void fab_objective_moves(fab_objective *o, int64_t k, const double *V, int64_t first,
                         const double **moves);
/* Columns sqrt(curvature) (x, 1) of all rows, of a model with one linear predictor: F is P x N, row-major. */
void fab_objective_columns(fab_objective *o, double *F);

#endif
