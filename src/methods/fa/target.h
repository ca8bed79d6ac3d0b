/* target.h - the sample covariance S of a table of rows, as batch methods use it: products S P.
 *
 * A row of weight w counts as w rows: mu = sum w x / sum w,  S = sum w (x - mu)(x - mu)' / sum w.
 *
 * With D <= N the D x D matrix is formed once; above, products pass over the rows.  Or there is a matrix already, the
 * state of a stream, and no rows.  Always double.
 * Tall arrays here are columns: D x k, column after column.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FA_TARGET_H
#define FAB_FA_TARGET_H

#include "la/ops.h"

typedef struct fab_target {
    int64_t D, N;
    double *mu, *diag; /* D: mean, diag(S) */
    double mean;       /* of diag(S) */
    fab_run run;       /* f64, with workspace for D x k, k up to `width` */
    int64_t width;
    int64_t dense; /* S is there */
    int narrow;    /* S may be summed of floats */
    fab_rows rows;
    const double *w; /* N weights of the rows, or NULL: 1 */
    double total;    /* their sum */
    double *S;       /* D x D, or NULL */
    double *X, *C;   /* without S: D x 128 columns, 128 x width */
    void *block;
    /* Where S is W' W + diag(rest): products are made of these.  One block of memory, W first; freed with the target */
    double *W;         /* R x D, column after column; NULL: S is not known so */
    double *rest, *WP; /* D; R x width, work */
    int64_t R;
} fab_target;

/* Bytes fab_target_init takes. */
double fab_target_bytes(int64_t D, int64_t N, int64_t width, const fab_exec *x);

/* Borrows rows and weights (NULL: 1) until free.  Refuses rows that are all the same. */
fab_status fab_target_init(fab_target *t, const char *who, const fab_rows *rows, const double *w,
                           int64_t D, int64_t width, const fab_exec *x);
/* A target whose mu (D) and S (D x D, full) are still to be filled in; then fab_target_check makes the rest of them, and
 * refuses a matrix in which nothing varies.  To be freed in any case. */
fab_status fab_target_init_matrix(fab_target *t, const char *who, int64_t D, int64_t width,
                                  const fab_exec *x);
fab_status fab_target_check(fab_target *t, const char *who);
/* Room for W and rest, zeros, of a target with a matrix; who fills them in fills S as well. */
fab_status fab_target_factor(fab_target *t, const char *who, int64_t R);
void fab_target_free(fab_target *t);

/* V = S P, both D x k. */
void fab_target_times(const fab_target *t, const double *P, int64_t k, double *V);

/* Does coordinate i vary, beyond rounding? */
int fab_target_varies(const fab_target *t, int64_t i);

/* share_i of the variances v (D): (1 - K / 2D) of what regression on the other coordinates leaves over, which is
 * 1 / (C^-1)_ii, C the correlations; left as it is where C has no inverse or is too large to have one formed. */
fab_status fab_target_regression(const fab_target *t, int64_t K, const double *v, double *share);

/* Mean log-likelihood per row of the Gaussian with mean mu and covariance S; NaN where S has no inverse, is not known
 * itself or is too large to be decomposed. */
fab_status fab_target_saturated(const fab_target *t, double *loglik);

/* Floor of psi at coordinate i: psi_min of its own variance, of the mean variance when it is constant. */
double fab_target_floor(const fab_target *t, double psi_min, int64_t i);

#endif
