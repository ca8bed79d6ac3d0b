/* factors.h - the factors of a Gaussian in covariance form, turned so that a person can read them.
 *
 * F F' does not change when F is turned.  On the principal axes the columns of F are orthogonal, the
 * longest first; varimax makes the squared loadings of each column as unlike as possible (Kaiser 1958,
 * rows scaled to length 1 while turning).  In both the largest loading of a column is positive.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_FACTORS_H
#define CLI_FACTORS_H

#include "fit.h"

typedef struct factors {
    const fab_gauss *g;
    int64_t D, K;
    double *turn;   /* K x K, row-major: the turned F is g->F turn */
    double *length; /* K: sum of squares of a column of the turned F */
    double total;   /* trace of the covariance */
} factors;

/* Borrows g until close.  Fails for want of memory, with a sentence. */
int factors_open(factors *f, const fab_gauss *g, int varimax);
void factors_close(factors *f); /* takes zeros */

/* Coordinate d of F turned, K numbers. */
void factors_row(const factors *f, int64_t d, double *row);
/* The turn of n rows of K numbers, in place. */
void factors_turn(const factors *f, double *rows, int64_t n);

/* One line per coordinate: name, its loadings, psi.  csv, complete or not at all. */
int loadings_write(const factors *f, const data *d, const char *path);
/* E[z | x] of every row of DATA, read again; .npy or .csv by the name. */
int scores_write(const factors *f, const fit *source, const char *path, int64_t rows);
/* Is the name of a file of scores one that says its format? */
int scores_check(const char *path);

#endif
