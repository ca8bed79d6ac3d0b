/* small.c - small dense algebra over BLAS and LAPACK: column-major, our workspace, one thread.
 *
 * LAPACK is called through LAPACKE_*_work, which in column-major order allocates nothing.  But OpenBLAS
 * does, in a small product of two matrices that are both not transposed, and LAPACK's divide and
 * conquer (dsyevd, dgesdd) makes such products: so up to DIVIDE columns the QR iterations dsyev and dgesvd
 * stand here.  Above, where divide and conquer is ten times faster, it is used: only the start of
 * recursive-em and wide eigen cuts come here from an update.  The leading few come by bisection and inverse
 * iteration (dsyevr).  gemm.c goes round the product itself.  Every call takes the BLAS's threads down to
 * one: its bits depend on their number.
 *
 * SPDX-License-Identifier: MIT */
#include "la/small.h"
#include "base/fail.h"
#include "la/ops.h"
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

static int ld(int64_t rows)
{
    return rows > 0 ? (int)rows : 1; /* BLAS refuses a leading dimension of 0 */
}

static CBLAS_TRANSPOSE op(fab_trans t)
{
    return t == FAB_T ? CblasTrans : CblasNoTrans;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int all_finite(int64_t count, const double *A)
{
    for (int64_t e = 0; e < count; e++)
        if (!isfinite(A[e])) return 0;
    return 1;
}

/* ---- products ------------------------------------------------------------------------------------ */

void fab_mm(fab_trans ta, fab_trans tb, int64_t m, int64_t n, int64_t k, double alpha,
            const double *A, const double *B, double beta, double *C)
{
    /* Column-major is row-major of the transposes: C' = op(B)' op(A)'. */
    fab_gemm(FAB_F64, tb, ta, n, m, k, alpha, B, ld(tb == FAB_T ? n : k), A,
             ld(ta == FAB_T ? k : m), beta, C, ld(m));
}

/* y = beta y, where beta = 0 forgets even a NaN. */
static void scale(int64_t n, double beta, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = beta != 0 ? beta * y[i] : 0;
}

void fab_mv(fab_trans t, int64_t m, int64_t n, double alpha, const double *A, const double *x,
            double beta, double *y)
{
    if (m == 0 || n == 0) {
        scale(t == FAB_T ? n : m, beta, y); /* BLAS leaves y alone here */
        return;
    }
    const int before = fab_blas_enter();
    cblas_dgemv(CblasColMajor, op(t), (int)m, (int)n, alpha, A, ld(m), x, 1, beta, y, 1);
    fab_blas_leave(before);
}

void fab_add_identity(int64_t n, double *A)
{
    for (int64_t i = 0; i < n; i++) A[i + i * n] += 1;
}

void fab_symmetrise(int64_t n, double *A)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++) {
            const double mean = A[i + j * n] / 2 + A[j + i * n] / 2;
            A[i + j * n] = A[j + i * n] = mean;
        }
}

/* ---- Cholesky ------------------------------------------------------------------------------------ */

static void zero_above(int64_t n, double *A)
{
    for (int64_t j = 1; j < n; j++) memset(A + j * n, 0, (size_t)j * sizeof *A);
}

static void mirror_lower(int64_t n, double *A)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j + 1; i < n; i++) A[j + i * n] = A[i + j * n];
}

/* The first pivot (from 1) that is not a positive finite number; 0: all are.  A NaN or an infinity
 * anywhere in the lower triangle reaches the diagonal of its row. */
static int64_t bad_pivot(int64_t n, const double *L, int info)
{
    const int64_t done = info > 0 ? info - 1 : n;
    for (int64_t i = 0; i < done; i++)
        if (!(L[i + i * n] > 0 && isfinite(L[i + i * n]))) return i + 1;
    return info > 0 ? info : 0;
}

fab_status fab_chol(int64_t n, double *A)
{
    if (n == 0) return FAB_OK;
    const int before = fab_blas_enter();
    const int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, A, ld(n));
    fab_blas_leave(before);
    const int64_t pivot = bad_pivot(n, A, info);
    if (pivot)
        return FAB_FAIL(FAB_NUMERIC, "a %lld x %lld matrix is not positive definite: pivot %lld",
                        (long long)n, (long long)n, (long long)pivot);
    zero_above(n, A);
    return FAB_OK;
}

void fab_tri_solve(fab_side side, fab_trans t, int64_t m, int64_t k, const double *L, double *B)
{
    if (m == 0 || k == 0) return;
    const int before = fab_blas_enter();
    cblas_dtrsm(CblasColMajor, side == FAB_LEFT ? CblasLeft : CblasRight, CblasLower, op(t),
                CblasNonUnit, (int)m, (int)k, 1, L, ld(side == FAB_LEFT ? m : k), B, ld(m));
    fab_blas_leave(before);
}

void fab_chol_solve(int64_t n, int64_t k, const double *L, double *B)
{
    fab_tri_solve(FAB_LEFT, FAB_N, n, k, L, B);
    fab_tri_solve(FAB_LEFT, FAB_T, n, k, L, B);
}

void fab_chol_inv(int64_t n, const double *L, double *S)
{
    if (n == 0) return;
    memmove(S, L, (size_t)(n * n) * sizeof *S);
    const int before = fab_blas_enter();
    LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (int)n, S, ld(n));
    fab_blas_leave(before);
    mirror_lower(n, S);
}

double fab_chol_logdet(int64_t n, const double *L)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += log(L[i + i * n]);
    return 2 * sum;
}

/* ---- eigen --------------------------------------------------------------------------------------- */

enum { EIG_PANEL = 34 }; /* columns per blocked step, and two more */
enum { DIVIDE = 128 };   /* divide and conquer above */

/* Divide and conquer: 1 + 6 n + 2 n^2 doubles, then 3 + 5 n integers. */
static int64_t divide_doubles(int64_t n)
{
    return 1 + 6 * n + 2 * n * n;
}

int64_t fab_eig_work(int64_t n)
{
    return n > DIVIDE ? divide_doubles(n) + 3 + 5 * n : n * EIG_PANEL + 1;
}

static int eig_divide(int64_t n, double *A, double *w, double *work)
{
    const int64_t doubles = divide_doubles(n);
    return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', (int)n, A, ld(n), w, work, (int)doubles,
                               (lapack_int *)(void *)(work + doubles), (int)(3 + 5 * n));
}

static fab_status check_eig(int64_t n, const double *A)
{
    if (all_finite(n * n, A)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "eigenvectors of a %lld x %lld matrix: it is not finite",
                    (long long)n, (long long)n);
}

static fab_status eig_status(int64_t n, int info)
{
    if (info == 0) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "eigenvectors of a %lld x %lld matrix: no convergence",
                    (long long)n, (long long)n);
}

fab_status fab_eig(int64_t n, double *A, double *w, double *work)
{
    if (n == 0) return FAB_OK;
    FAB_TRY(check_eig(n, A));
    const int before = fab_blas_enter();
    const int info = n > DIVIDE ? eig_divide(n, A, w, work)
                                : LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', (int)n, A, ld(n),
                                                     w, work, (int)fab_eig_work(n));
    fab_blas_leave(before);
    return eig_status(n, info);
}

/* 26 n doubles at the least; then 10 n integers, and 2 n for the supports of the vectors. */
int64_t fab_eig_top_work(int64_t n)
{
    return n * EIG_PANEL + 12 * n;
}

fab_status fab_eig_top(int64_t n, int64_t k, double *A, double *w, double *V, double *work)
{
    const int64_t doubles = n * EIG_PANEL;
    lapack_int found, *integers = (lapack_int *)(void *)(work + doubles);
    if (k == 0) return FAB_OK;
    FAB_TRY(check_eig(n, A));
    const int before = fab_blas_enter();
    const int info = LAPACKE_dsyevr_work(
        LAPACK_COL_MAJOR, 'V', 'I', 'L', (int)n, A, ld(n), 0, 0, (int)(n - k + 1), (int)n, 0,
        &found, w, V, ld(n), integers + 10 * n, work, (int)doubles, integers, (int)(10 * n));
    fab_blas_leave(before);
    return eig_status(n, info);
}

/* ---- SVD ----------------------------------------------------------------------------------------- */

/* The least dgesvd takes (with more it multiplies blocks, and allocates there); divide and conquer takes
 * 4 r^2 + 7 r doubles and the longer side, then 8 r integers. */
static int64_t svd_doubles(int64_t m, int64_t n)
{
    const int64_t r = least(m, n), longer = m > n ? m : n, usual = 3 * r + longer;
    if (r > DIVIDE) return 4 * r * r + 7 * r + longer;
    return usual > 5 * r ? usual : 5 * r + 1;
}

int64_t fab_svd_work(int64_t m, int64_t n)
{
    const int64_t r = least(m, n);
    return svd_doubles(m, n) + (r > DIVIDE ? 8 * r : 0);
}

fab_status fab_svd(int64_t m, int64_t n, double *A, double *U, double *s, double *Vt, double *work)
{
    const int64_t r = least(m, n), doubles = svd_doubles(m, n);
    if (r == 0) return FAB_OK;
    if (!all_finite(m * n, A))
        return FAB_FAIL(FAB_NUMERIC, "SVD of a %lld x %lld matrix: it is not finite", (long long)m,
                        (long long)n);
    const int before = fab_blas_enter();
    const int info = r > DIVIDE
                         ? LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'S', (int)m, (int)n, A, ld(m), s,
                                               U, ld(m), Vt, ld(r), work, (int)doubles,
                                               (lapack_int *)(void *)(work + doubles))
                         : LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'S', 'S', (int)m, (int)n, A, ld(m),
                                               s, U, ld(m), Vt, ld(r), work, (int)doubles);
    fab_blas_leave(before);
    if (info != 0)
        return FAB_FAIL(FAB_NUMERIC, "SVD of a %lld x %lld matrix: no convergence", (long long)m,
                        (long long)n);
    return FAB_OK;
}

int64_t fab_jacobi_work(int64_t m, int64_t n)
{
    return m + n > 6 ? m + n : 6;
}

fab_status fab_jacobi(int64_t m, int64_t n, double *A, double *s, double *work)
{
    double unused = 0;
    if (n == 0) return FAB_OK;
    if (!all_finite(m * n, A))
        return FAB_FAIL(FAB_NUMERIC, "SVD of a %lld x %lld matrix: it is not finite", (long long)m,
                        (long long)n);
    const int before = fab_blas_enter();
    const int info = LAPACKE_dgesvj_work(LAPACK_COL_MAJOR, 'G', 'U', 'N', (int)m, (int)n, A, ld(m),
                                         s, 0, &unused, 1, work, (int)fab_jacobi_work(m, n));
    fab_blas_leave(before);
    if (info != 0)
        return FAB_FAIL(FAB_NUMERIC, "SVD of a %lld x %lld matrix: no convergence", (long long)m,
                        (long long)n);
    const double unit = work[0]; /* of the singular values */
    for (int64_t j = 0; j < n; j++) {
        s[j] *= unit;
        if (!(s[j] > 0)) memset(A + j * m, 0, (size_t)m * sizeof *A);
    }
    return FAB_OK;
}

/* ---- QR ------------------------------------------------------------------------------------------ */

enum { QR_PANEL = 64 }; /* columns per blocked step, at least what LAPACK prefers */

int64_t fab_qr_work(int64_t m, int64_t n)
{
    (void)m;
    return n + n * QR_PANEL + 1; /* tau, then LAPACK's own */
}

static void factor(int64_t m, int64_t n, double *A, double *R, double *work)
{
    LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, (int)m, (int)n, A, ld(m), work, work + n,
                        (int)(n * QR_PANEL));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) R[i + j * n] = i <= j ? A[i + j * m] : 0;
}

void fab_qr_r(int64_t m, int64_t n, double *A, double *R, double *work)
{
    if (n == 0) return;
    const int before = fab_blas_enter();
    factor(m, n, A, R, work);
    fab_blas_leave(before);
}

void fab_qr(int64_t m, int64_t n, double *A, double *R, double *work)
{
    if (n == 0) return;
    const int before = fab_blas_enter();
    factor(m, n, A, R, work);
    LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, (int)m, (int)n, (int)n, A, ld(m), work, work + n,
                        (int)(n * QR_PANEL));
    fab_blas_leave(before);
}
