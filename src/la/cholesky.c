/* cholesky.c - blocked factors of large symmetric matrices, over tasks.
 *
 * L, column of blocks by column of blocks, each from all those before it:
 *
 *   1  A_ij -= sum_(k < j) L_ik L_jk', all i >= j      (one product for each i)
 *   2  A_jj = L_jj L_jj'                               (LAPACK, on one thread)
 *   3  L_ij = A_ij L_jj^-T, all i > j
 *
 * and its inverse U = L^-T, whose rows of blocks know nothing of each other:
 *
 *   4  U_jj = L_jj^-T;   U_ji = -(sum_(j <= k < i) U_jk L_ik') L_ii^-T, i > j
 *
 * All products are of rows with rows.  What threads share are rows of blocks.
 *
 * SPDX-License-Identifier: MIT */
#include "la/cholesky.h"
#include "base/fail.h"
#include "la/small.h"
#include "la/threads.h"
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum {
    B = FAB_CHOLESKY_BLOCK,
    ALONE = 256 /* one thread up to so many rows */
};

typedef struct factors {
    int64_t n, ld;
    double *A; /* or L, and above it U */
    double *D;
    int64_t j; /* the column of blocks; the first row of them of this round */
} factors;

static int64_t blocks_of(int64_t n)
{
    return (n + B - 1) / B;
}

static int64_t rows_of(int64_t n, int64_t b)
{
    return n - b * B < B ? n - b * B : B;
}

/* X <- X L_ii^-T, m rows. */
static void divide(int64_t m, int64_t width, const double *L, int64_t ld, double *X, int64_t ldx)
{
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)width,
                1, L, (int)ld, X, (int)ldx);
}

/* 1 */
static void subtract(void *ctx, int64_t t, int thread)
{
    (void)thread;
    const factors *f = ctx;
    const int64_t i = f->j + t, ld = f->ld, before = f->j * B;
    double *row = f->A + i * B * ld;
    if (t == 0)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)rows_of(f->n, i), (int)before, -1,
                    row, (int)ld, 1, row + before, (int)ld);
    else
        fab_gemm(FAB_F64, FAB_N, FAB_T, rows_of(f->n, i), rows_of(f->n, f->j), before, -1, row, ld,
                 f->A + before * ld, ld, 1, row + before, ld);
}

/* 3 */
static void divide_block(void *ctx, int64_t t, int thread)
{
    (void)thread;
    const factors *f = ctx;
    const int64_t i = f->j + 1 + t, ld = f->ld, at = f->j * B;
    divide(rows_of(f->n, i), rows_of(f->n, f->j), f->A + at * ld + at, ld, f->A + i * B * ld + at,
           ld);
}

/* The first pivot that is not a positive finite number; -1: all are. */
static int64_t bad_pivot(int64_t n, const double *L, int64_t ld, int info)
{
    const int64_t done = info > 0 ? info - 1 : n;
    for (int64_t i = 0; i < done; i++)
        if (!(L[i * ld + i] > 0 && isfinite(L[i * ld + i]))) return i;
    return info > 0 ? info - 1 : -1;
}

static fab_status columns(const fab_run *r, factors *f, int64_t *pivot)
{
    const int64_t count = blocks_of(f->n), n = f->n, ld = f->ld;
    const int threads = n <= ALONE ? 1 : r->threads;
    fab_watch watch = r->watch;
    for (int64_t j = 0; j < count; j++) {
        const int64_t width = rows_of(n, j);
        double *diagonal = f->A + j * B * ld + j * B;
        f->j = j;
        if (j > 0) fab_parallel(threads, count - j, subtract, f); /* 1 */
        const int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)width, diagonal, (int)ld);
        const int64_t bad = bad_pivot(width, diagonal, ld, info);
        if (bad >= 0) {
            if (pivot) *pivot = j * B + bad;
            return FAB_FAIL(FAB_NUMERIC,
                            "a %lld x %lld matrix is not positive definite: pivot %lld",
                            (long long)n, (long long)n, (long long)(j * B + bad) + 1);
        }
        fab_parallel(threads, count - j - 1, divide_block, f); /* 3 */
        FAB_TRY(fab_watch_work(&watch, (double)(n - j * B) * (double)((j + 1) * B) * B / 8,
                               "Cholesky factor", j + 1, count));
    }
    return FAB_OK;
}

fab_status fab_cholesky(const fab_run *r, int64_t n, double *A, int64_t ld, int64_t *pivot)
{
    factors f = {.n = n, .ld = ld, .A = A};
    if (pivot) *pivot = -1;
    const int before = fab_blas_enter();
    const fab_status s = columns(r, &f, pivot);
    fab_blas_leave(before);
    FAB_TRY(s);
    fab_cholesky_clear(n, A, ld);
    return FAB_OK;
}

/* to (n x m) = from' (m x n) */
static void transpose(int64_t m, int64_t n, const double *from, int64_t ldf, double *to,
                      int64_t ldt)
{
    enum { SIDE = 8 };
    for (int64_t i0 = 0; i0 < m; i0 += SIDE)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = i0; i < m && i < i0 + SIDE; i++) to[j * ldt + i] = from[i * ldf + j];
}

/* X <- s D X, D a block of the diagonal of U, m x m; X is m x width */
static void times_diagonal(int64_t m, int64_t width, double s, const double *D, double *X,
                           int64_t ldx)
{
    cblas_dtrmm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (int)m,
                (int)width, s, D, B, X, (int)ldx);
}

/* 4 */
static void inverse_row(void *ctx, int64_t t, int thread)
{
    (void)thread;
    const factors *f = ctx;
    const int64_t j = f->j + t;
    const int64_t m = rows_of(f->n, j), count = blocks_of(f->n), ld = f->ld, at = j * B;
    double *row = f->A + at * ld, *diagonal = f->D + at * B;
    memset(diagonal, 0, (size_t)(m * B) * sizeof *diagonal);
    for (int64_t a = 0; a < m; a++)
        for (int64_t b = 0; b <= a; b++) diagonal[b * B + a] = row[a * ld + at + b];
    /* the rows of L' are the columns of L, and so are those of the inverses */
    LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'L', 'N', (int)m, diagonal, B);
    for (int64_t i = j + 1; i < count; i++) {
        const int64_t width = rows_of(f->n, i);
        const double *L = f->A + i * B * ld;
        double *to = row + i * B;
        transpose(width, m, L + at, ld, to, ld);
        times_diagonal(m, width, -1, diagonal, to, ld);
        if (i > j + 1)
            fab_gemm(FAB_F64, FAB_N, FAB_T, m, width, (i - j - 1) * B, -1, row + at + B, ld,
                     L + at + B, ld, 1, to, ld);
        divide(m, width, L + i * B, ld, to, ld);
    }
}

static fab_status inverse_rows(const fab_run *r, factors *f)
{
    enum { ROUND = 8 };
    const int64_t count = blocks_of(f->n), n = f->n;
    const int threads = n <= ALONE ? 1 : r->threads;
    fab_watch watch = r->watch;
    for (f->j = 0; f->j < count; f->j += ROUND) {
        const int64_t some = count - f->j < ROUND ? count - f->j : ROUND;
        const double left = (double)(n - f->j * B);
        fab_parallel(threads, some, inverse_row, f);
        FAB_TRY(fab_watch_work(&watch, (double)(some * B) * left * left / 8, "inverse", f->j + some,
                               count));
    }
    return FAB_OK;
}

fab_status fab_cholesky_inverse(const fab_run *r, int64_t n, double *L, int64_t ld, double *D)
{
    factors f = {.n = n, .ld = ld, .A = L, .D = D};
    const int before = fab_blas_enter();
    const fab_status s = inverse_rows(r, &f);
    fab_blas_leave(before);
    return s;
}

/* A block on the diagonal: D D' and what is right of it, upper half, then both. */
static void diagonal_block(int64_t m, int64_t rest, const double *U, int64_t ld, const double *D,
                           double *block)
{
    memcpy(block, D, (size_t)(m * B) * sizeof *block);
    LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (int)m, block, B);
    if (rest > 0)
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)m, (int)rest, 1, U, (int)ld, 1,
                    block, B);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < i; j++) block[i * B + j] = block[j * B + i];
}

void fab_cholesky_inverse_block(int64_t n, const double *U, int64_t ld, const double *D,
                                int64_t row, int64_t column, double *block)
{
    const int64_t m = rows_of(n, row), width = rows_of(n, column), at = row * B,
                  rest = n - at - m; /* columns of U right of the block on the diagonal */
    const double *x = U + at * ld + at + m, *z = U + column * B * ld + at;
    const int before = fab_blas_enter();
    if (row == column) {
        diagonal_block(m, rest, x, ld, D + at * B, block);
    } else {
        transpose(width, m, z, ld, block, B);
        times_diagonal(m, width, 1, D + at * B, block, B);
        if (rest > 0)
            fab_gemm(FAB_F64, FAB_N, FAB_T, m, width, rest, 1, x, ld, z + m, ld, 1, block, B);
    }
    fab_blas_leave(before);
}

void fab_cholesky_inverse_diagonal(int64_t n, const double *U, int64_t ld, const double *D,
                                   double *diagonal)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t b = i / B, end = b * B + rows_of(n, b);
        double sum = 0;
        for (int64_t k = 0; k < end - b * B; k++) sum += D[i * B + k] * D[i * B + k];
        for (int64_t k = end; k < n; k++) sum += U[i * ld + k] * U[i * ld + k];
        diagonal[i] = sum;
    }
}

void fab_cholesky_clear(int64_t n, double *L, int64_t ld)
{
    for (int64_t i = 0; i < n; i++) memset(L + i * ld + i + 1, 0, (size_t)(n - i - 1) * sizeof *L);
}

/* ---- solving ------------------------------------------------------------------------------------------ */

void fab_forward(int64_t n, const double *L, int64_t ld, double *b)
{
    const int before = fab_blas_enter();
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, L, (int)ld, b, 1);
    fab_blas_leave(before);
}

void fab_backward(int64_t n, const double *L, int64_t ld, double *b)
{
    const int before = fab_blas_enter();
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (int)n, L, (int)ld, b, 1);
    fab_blas_leave(before);
}

int64_t fab_solved_rows(int64_t m)
{
    return (m + FAB_SOLVED - 1) / FAB_SOLVED * FAB_SOLVED;
}

void fab_forward_rows(int64_t n, const double *L, int64_t ld, int64_t m, double *X, int64_t ldx)
{
    if (m == 0 || n == 0) return;
    const int before = fab_blas_enter();
    for (int64_t i = 0; i < m; i += FAB_SOLVED) /* (L^-1 x)' = x' L^-T */
        divide(m - i < FAB_SOLVED ? m - i : FAB_SOLVED, n, L, ld, X + i * ldx, ldx);
    fab_blas_leave(before);
}

void fab_backward_rows(int64_t n, const double *L, int64_t ld, int64_t m, double *X, int64_t ldx)
{
    if (m == 0 || n == 0) return;
    const int before = fab_blas_enter();
    for (int64_t i = 0; i < m; i += FAB_SOLVED)
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit,
                    (int)(m - i < FAB_SOLVED ? m - i : FAB_SOLVED), (int)n, 1, L, (int)ld,
                    X + i * ldx, (int)ldx);
    fab_blas_leave(before);
}

/* ---- with pivots -------------------------------------------------------------------------------------- */

int64_t fab_cholesky_pivoted_work(int64_t n)
{
    return 2 * n + n + n; /* LAPACK's, its integers, and a column */
}

int64_t fab_cholesky_pivoted(int64_t n, double *A, int64_t ld, double tol, double *work)
{
    lapack_int *order = (lapack_int *)(void *)(work + 2 * n), rank = 0;
    double *column = work + 3 * n;
    if (n == 0) return 0;
    const int before = fab_blas_enter(); /* row-major and lower is column-major and upper */
    LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'U', (int)n, A, (int)ld, order, &rank, tol, work);
    fab_blas_leave(before);
    for (int64_t i = 0; i < n; i++) /* row i of the factor: `rank` numbers */
        for (int64_t j = (i < rank ? i + 1 : rank); j < n; j++) A[i * ld + j] = 0;
    for (int64_t j = 0; j < rank; j++) { /* row i is row order[i] of A */
        for (int64_t i = 0; i < n; i++) column[order[i] - 1] = A[i * ld + j];
        for (int64_t i = 0; i < n; i++) A[i * ld + j] = column[i];
    }
    return rank;
}
