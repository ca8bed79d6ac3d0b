/* tiles.h - kernels over tiles of pairs of rows: values, and sums with their derivatives.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_KERNEL_TILES_H
#define FAB_KERNEL_TILES_H

#include "kernel/pairs.h"

enum {
    FAB_TILE_ROWS = 32,
    FAB_TILE_COLUMNS = 128,
    FAB_BLOCK = 128 /* rows and columns of a task */
};

/* Rows as all leaves see them: a fab_points for each. */
typedef struct fab_view {
    const fab_kernel *k;
    fab_points *side; /* leaves */
} fab_view;

/* Doubles that n rows take in one of the two orders. */
int64_t fab_view_doubles(const fab_kernel *k, int64_t n);
/* Sides of at most `room` rows in memory that the caller has: leaves sides; fab_view_doubles(k, room) each, or NULL: not in that
 * order. */
void fab_view_init(fab_view *v, const fab_kernel *k, int64_t room, fab_points *sides,
                   double *by_row, double *across);
/* Row `first + i` of the view is row i of X.  width: doubles for the widest side of a row, fab_view_widest. */
void fab_view_load(fab_view *v, int64_t first, int64_t n, const double *X, int64_t ldx,
                   const double *centre, double *width);
int64_t fab_view_widest(const fab_kernel *k);
/* The mean of each column. */
void fab_view_centre(int64_t n, int64_t D, const double *X, int64_t ldx, double *centre);

/* Pairs (x_(first_x + i), z_(first_z + j)), i < nx, j < nz, with memory for one thread. */
typedef struct fab_patch {
    const fab_kernel *k;
    const fab_view *x, *z; /* by row; across */
    int64_t first_x, nx, first_z, nz;
    double *work;
} fab_patch;

/* Doubles of work for a patch of at most nx x nz pairs: it is cut into tiles. */
int64_t fab_patch_work(const fab_kernel *k, int64_t nx, int64_t nz);
/* K(i, j), ldk apart. */
void fab_patch_values(const fab_patch *p, double *K, int64_t ldk);
/* g += sum_ij W(i, j) dK(i, j) / dlog theta */
void fab_patch_gradient(const fab_patch *p, const double *W, int64_t ldw, double *g);
/* G(i, c) += sum_j W(i, j) dK(i, j) / dx_ic, nx x D, D apart */
void fab_patch_rows(const fab_patch *p, const double *W, int64_t ldw, double *G);
/* Both in one pass: each curve is taken once. */
void fab_patch_both(const fab_patch *p, const double *W, int64_t ldw, double *g, double *G);

#endif
