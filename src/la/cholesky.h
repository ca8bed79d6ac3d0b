/* cholesky.h - factors of large symmetric matrices, on threads: row-major, rows ld apart, the lower half.
 *
 * Blocks have a constant size and sums a fixed order: the same bits for any number of threads.  Nothing allocates.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_CHOLESKY_H
#define FAB_LA_CHOLESKY_H

#include "la/ops.h"

enum { FAB_CHOLESKY_BLOCK = 128 };

/* A = L L' in place: L in the lower triangle, zeros above.  FAB_NUMERIC when A is not positive definite or not finite, with the
 * pivot in *pivot (from 0; or NULL); FAB_STOPPED: the watch said so.  A is lost then. */
fab_status fab_cholesky(const fab_run *r, int64_t n, double *A, int64_t ld, int64_t *pivot);

/* U = L^-T, upper: its blocks beside the diagonal, FAB_CHOLESKY_BLOCK wide, above L in the same memory; those on the diagonal in D,
 * n x FAB_CHOLESKY_BLOCK, rows of a block one after the other with zeros below the diagonal.  (L L')^-1 (i, j) is the product of
 * rows i and j of U.  FAB_STOPPED: the watch said so; L is as it was. */
fab_status fab_cholesky_inverse(const fab_run *r, int64_t n, double *L, int64_t ld, double *D);
/* Block row, column <= row, of (L L')^-1 from it, into a matrix with rows FAB_CHOLESKY_BLOCK apart; of the caller's thread. */
void fab_cholesky_inverse_block(int64_t n, const double *U, int64_t ld, const double *D,
                                int64_t row, int64_t column, double *block);
/* |row i of U|^2, all i: the diagonal of the inverse. */
void fab_cholesky_inverse_diagonal(int64_t n, const double *U, int64_t ld, const double *D,
                                   double *diagonal);
/* Zeros above the diagonal again. */
void fab_cholesky_clear(int64_t n, double *L, int64_t ld);

/* b <- L^-1 b and b <- L^-T b, n numbers. */
void fab_forward(int64_t n, const double *L, int64_t ld, double *b);
void fab_backward(int64_t n, const double *L, int64_t ld, double *b);
/* The same for each of m rows of B, m x n, on the caller's thread alone, FAB_SOLVED of them at once.  BLAS takes other paths for
 * other numbers of them: with the last filled up to fab_solved_rows a row has the same bits whichever rows come with it.  24 rows are
 * whole strips for each of the kernels of OpenBLAS, of which some have strips of 8 and some of 12. */
enum { FAB_SOLVED = 24 };
int64_t fab_solved_rows(int64_t m);
void fab_forward_rows(int64_t n, const double *L, int64_t ld, int64_t m, double *B, int64_t ldb);
void fab_backward_rows(int64_t n, const double *L, int64_t ld, int64_t m, double *B, int64_t ldb);

/* A (n x n, lower half) = P L L' P' as far as its pivots are above tol: L is n x rank, rows ld apart, rows in the order of A.
 * For covariances that may be singular: nothing is added to the diagonal.  work: 2 n doubles and n integers. */
int64_t fab_cholesky_pivoted_work(int64_t n); /* doubles */
int64_t fab_cholesky_pivoted(int64_t n, double *A, int64_t ld, double tol, double *work);

#endif
