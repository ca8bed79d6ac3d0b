/* target.h - the sample covariance S of a table of rows, as batch methods use it: products S P.
 *
 * A row of weight w counts as w rows: mu = sum w x / sum w,  S = sum w (x - mu)(x - mu)' / sum w.
 *
 * With D <= N the D x D matrix is formed once; above, products pass over the rows.  Always double.
 * Tall arrays here are columns: D x k, column after column.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_ESTIM_TARGET_H
#define FAB_ESTIM_TARGET_H

#include "la/ops.h"

typedef struct fab_target {
    int64_t D, N;
    double *mu, *diag; /* D: mean, diag(S) */
    double mean;       /* of diag(S) */
    fab_run run;       /* f64, with workspace for D x k, k up to `width` */
    int64_t width;
    fab_rows rows;
    const double *w; /* N weights of the rows, or NULL: 1 */
    double total;    /* their sum */
    double *S;       /* D x D, or NULL */
    double *X, *C;   /* without S: D x 128 columns, 128 x width */
    void *block;
} fab_target;

/* Bytes fab_target_init takes. */
double fab_target_bytes(int64_t D, int64_t N, int64_t width, const fab_exec *x);

/* Borrows rows and weights (NULL: 1) until free.  Refuses rows that are all the same. */
fab_status fab_target_init(fab_target *t, const char *who, const fab_rows *rows, const double *w,
                           int64_t D, int64_t width, const fab_exec *x);
void fab_target_free(fab_target *t);

/* V = S P, both D x k. */
void fab_target_times(const fab_target *t, const double *P, int64_t k, double *V);

/* Does coordinate i vary, beyond rounding? */
int fab_target_varies(const fab_target *t, int64_t i);

#endif
