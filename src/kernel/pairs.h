/* pairs.h - shapes: the one number u of a pair of rows that a basic kernel is a curve of, and its derivatives.
 *
 *     squares   u = sum_j ((x_j - z_j) / l_j)^2                  waves     u = 2 sum_j sin^2(pi (x_j - z_j) / p) / l^2
 *     dots      u = sum_j x_j z_j / l_j^2                        nothing   u = 0
 *
 * Rows are brought into a side first, once for all pairs: in units of l, less a centre where only differences count, so that
 * numbers near 1e6 keep their digits.  Then u and sums over pairs come tile by tile.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_KERNEL_PAIRS_H
#define FAB_KERNEL_PAIRS_H

#include "kernel/kernel.h"

/* Room for n rows as a leaf sees them: `width` numbers each, by rows or across. */
typedef struct fab_points {
    int64_t n, width;
    double *by_row; /* n x width; NULL where it is not needed */
    double *across; /* width x n */
} fab_points;

/* Pairs (first_x + i, first_z + j), i < nx, j < nz: matrices of them are nx x nz without gaps. */
typedef struct fab_tile {
    const fab_points *x; /* by_row */
    const fab_points *z; /* across */
    int64_t first_x, nx, first_z, nz;
} fab_tile;

struct fab_shape_of_pairs {
    int has_own; /* 1: the own parameter is part of u, and not of the curve */
    /* u of a row with itself. */
    double (*self)(const fab_kernel *k, const fab_leaf *f, const double *x);
    /* Numbers of a row in a side. */
    int64_t (*width)(const fab_leaf *f);
    /* One row into w.  x: the whole row, D numbers; centre: D. */
    void (*load)(const fab_kernel *k, const fab_leaf *f, const double *centre, const double *x,
                 double *w);
    /* u, nx x nz. */
    void (*pairs)(const fab_leaf *f, const fab_tile *t, double *u);
    /* g[p] += sum H du/dlog p, p the lengths and, with waves, the own parameter.  g: those of the leaf, from f->at on. */
    void (*gradient)(const fab_leaf *f, const fab_tile *t, const double *u, const double *H,
                     double *g);
    /* G(i, c) += sum_j H(i, j) du/dx_ic for all columns c; G: the nx rows, D apart. */
    void (*rows)(const fab_kernel *k, const fab_leaf *f, const fab_tile *t, const double *H,
                 double *G);
};

extern const fab_shape_of_pairs fab_squares, fab_dots, fab_waves, fab_nothing;

#endif
