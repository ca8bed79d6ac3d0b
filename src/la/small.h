/* small.h - small dense matrices: double, column-major, leading dimension = rows, no allocation.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_SMALL_H
#define FAB_LA_SMALL_H

#include "fabayes/exec.h"

typedef enum fab_side { FAB_LEFT, FAB_RIGHT } fab_side;
typedef enum fab_trans { FAB_N, FAB_T } fab_trans;

/* C = alpha op(A) op(B) + beta C;  C is m x n, the inner size is k. */
void fab_mm(fab_trans ta, fab_trans tb, int64_t m, int64_t n, int64_t k, double alpha,
            const double *A, const double *B, double beta, double *C);
/* y = alpha op(A) x + beta y;  A is m x n. */
void fab_mv(fab_trans t, int64_t m, int64_t n, double alpha, const double *A, const double *x,
            double beta, double *y);
void fab_add_identity(int64_t n, double *A); /* A += I */
void fab_symmetrise(int64_t n, double *A);   /* A = (A + A') / 2 */

/* A = L L' in place; L in the lower triangle, zeros above.  FAB_NUMERIC with the pivot when A is not
 * positive definite or not finite. */
fab_status fab_chol(int64_t n, double *A);
/* B (m x k) <- op(L)^-1 B  or  B op(L)^-1. */
void fab_tri_solve(fab_side side, fab_trans t, int64_t m, int64_t k, const double *L, double *B);
void fab_chol_solve(int64_t n, int64_t k, const double *L, double *B); /* B <- (L L')^-1 B */
void fab_chol_inv(int64_t n, const double *L, double *S);              /* S = (L L')^-1, full */
double fab_chol_logdet(int64_t n, const double *L);                    /* log det L L' */

/* Symmetric eigen: A -> eigenvectors in columns, w ascending. */
int64_t fab_eig_work(int64_t n); /* doubles of workspace */
fab_status fab_eig(int64_t n, double *A, double *w, double *work);
/* The k <= n largest alone (A is destroyed): eigenvectors in the columns of V (n x k), their values in the first k
 * of w (n), ascending. */
int64_t fab_eig_top_work(int64_t n);
fab_status fab_eig_top(int64_t n, int64_t k, double *A, double *w, double *V, double *work);

/* Thin SVD of A (m x n, destroyed): U m x r, s r descending, Vt r x n, r = min(m, n). */
int64_t fab_svd_work(int64_t m, int64_t n);
fab_status fab_svd(int64_t m, int64_t n, double *A, double *U, double *s, double *Vt, double *work);

/* One-sided Jacobi of A (m x n, m >= n, destroyed): U m x n in its place, s n descending, each to
 * relative accuracy however differently the columns are scaled; columns of U where s = 0 are 0. */
int64_t fab_jacobi_work(int64_t m, int64_t n);
fab_status fab_jacobi(int64_t m, int64_t n, double *A, double *s, double *work);

/* R of the QR of A (m x n, m >= n, destroyed): upper triangular n x n, zeros below. */
int64_t fab_qr_work(int64_t m, int64_t n);
void fab_qr_r(int64_t m, int64_t n, double *A, double *R, double *work);
/* Q (m x n) in place of A, R as above. */
void fab_qr(int64_t m, int64_t n, double *A, double *R, double *work);

/* Rows into a factor: L L' <- L L' + A' A for L n x n, lower with a positive diagonal, and A m x n, row-major, destroyed.  [z; t]
 * (n, m) is turned along: with z = L' mu the new z is L' times the mu of least |L'(mu - mu0)|^2 + |A mu - t|^2, and that
 * minimum is |t|^2 then. */
int64_t fab_chol_rows_work(int64_t n, int64_t m);
void fab_chol_rows(int64_t n, int64_t m, double *L, double *A, double *z, double *t, double *work);

/* y = alpha op(A) x + beta y; A is m x n, row-major, rows lda apart. */
void fab_gemv(fab_trans t, int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
              const double *x, double beta, double *y);

/* The lower triangle of C += A' A;  A is m x n and C n x n, row-major, rows lda and ldc apart. */
void fab_syrk(int64_t m, int64_t n, const double *A, int64_t lda, double *C, int64_t ldc);

/* The networks' product, row-major, single-threaded: C = alpha op(A) op(B) + beta C in f64 or f32. */
void fab_gemm(fab_dtype type, fab_trans ta, fab_trans tb, int64_t m, int64_t n, int64_t k,
              double alpha, const void *A, int64_t lda, const void *B, int64_t ldb, double beta,
              void *C, int64_t ldc);

#endif
