/* scatter.h - the D x D scatter matrix of many rows, for the methods that state their limit.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_SCATTER_H
#define FAB_LA_SCATTER_H

#include "la/ops.h"

/* Does x (or NULL) ask for work in floats? */
int fab_scatter_narrow(const fab_exec *x);

/* Doubles of workspace. */
int64_t fab_scatter_work(int64_t D);

/* S = sum_j w_j (x_j - c)(x_j - c)', D x D, full, and sum = sum_j w_j (x_j - c), D numbers; w NULL: 1.  The same bits
 * for any number of threads.  narrow: dense rows of many columns (256) are rounded to floats once they are
 * centred, and at most 512 of their products added before that is done in double. */
void fab_scatter(const fab_run *r, int narrow, const fab_rows *x, const double *w, int64_t D,
                 const double *c, double *S, double *sum, double *work);

/* A symmetric matrix that grows: its lower half in strips of FAB_STRIP columns, one after the other.  Strip t has
 * columns d0 = t FAB_STRIP .. and rows d0 .. D-1, column-major: about D^2 / 2 numbers. */
enum { FAB_STRIP = 96 };
int64_t fab_strips_count(int64_t D);

/* S += X' X, X n rows of D numbers.  The same bits for any number of threads. */
void fab_strips_add(const fab_run *r, int64_t D, int64_t n, const double *X, double *S);

/* The same by products of floats, at most 512 of them added before that is done in double, but of very few rows; X is
 * destroyed.  Below FAB_FLOAT_COLUMNS there is too little to do for it. */
enum { FAB_FLOAT_COLUMNS = 256 };
void fab_strips_add_floats(const fab_run *r, int64_t D, int64_t n, double *X, double *S);

/* S *= a. */
void fab_strips_scale(int64_t D, double a, double *S);

/* Deviations of n rows (n x D) of weights w from their mean e = sum w x / sum w, both about c:  e = that mean - c,
 * X = sqrt(w) (x - c - e), n x D.  X may not be rows. */
void fab_panel_centre(int64_t n, int64_t D, const double *rows, const double *w, const double *c,
                      double *e, double *X);

/* full = a S, D x D. */
void fab_strips_full(int64_t D, double a, const double *S, double *full);

#endif
