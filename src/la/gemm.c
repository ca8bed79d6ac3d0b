/* gemm.c - the matrix product, row-major, in f64 or f32, on one thread, without allocation.
 *
 * OpenBLAS (0.3.21, with AVX-512) calls malloc in products of at most 10^6 steps where neither matrix is
 * transposed and the inner size is 16 or more (f32: 32).  Such a product is made in thinner slices.
 *
 * SPDX-License-Identifier: MIT */
#include "la/ops.h"
#include "la/small.h"
#include <cblas.h>

static CBLAS_TRANSPOSE op(fab_trans t)
{
    return t == FAB_T ? CblasTrans : CblasNoTrans;
}

static void product(fab_dtype type, fab_trans ta, fab_trans tb, int64_t m, int64_t n, int64_t k,
                    double alpha, const void *A, int64_t lda, const void *B, int64_t ldb,
                    double beta, void *C, int64_t ldc)
{
    if (type == FAB_F64)
        cblas_dgemm(CblasRowMajor, op(ta), op(tb), (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
                    (int)ldb, beta, C, (int)ldc);
    else
        cblas_sgemm(CblasRowMajor, op(ta), op(tb), (int)m, (int)n, (int)k, (float)alpha, A,
                    (int)lda, B, (int)ldb, (float)beta, C, (int)ldc);
}

/* Steps of the inner index that are safe to take at once. */
static int64_t slice(fab_dtype type, fab_trans ta, fab_trans tb, int64_t m, int64_t n, int64_t k)
{
    const int allocates = ta == FAB_N && tb == FAB_N && (double)m * (double)n * (double)k <= 1e6;
    if (!allocates || k == 0) return k;
    return type == FAB_F64 ? 15 : 31;
}

void fab_gemm(fab_dtype type, fab_trans ta, fab_trans tb, int64_t m, int64_t n, int64_t k,
              double alpha, const void *A, int64_t lda, const void *B, int64_t ldb, double beta,
              void *C, int64_t ldc)
{
    if (m == 0 || n == 0) return;
    const int64_t size = type == FAB_F64 ? sizeof(double) : sizeof(float),
                  step = slice(type, ta, tb, m, n, k);
    const char *a = A, *b = B;
    const int before = fab_blas_enter();
    product(type, ta, tb, m, n, step < k ? step : k, alpha, a, lda, b, ldb, beta, C, ldc);
    for (int64_t i = step; i < k; i += step) /* only where both are not transposed */
        product(type, ta, tb, m, n, k - i < step ? k - i : step, alpha, a + i * size, lda,
                b + i * ldb * size, ldb, 1, C, ldc);
    fab_blas_leave(before);
}

void fab_gemv(fab_trans t, int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
              const double *x, double beta, double *y)
{
    if (m == 0 || n == 0) return;
    const int before = fab_blas_enter();
    cblas_dgemv(CblasRowMajor, op(t), (int)m, (int)n, alpha, A, (int)lda, x, 1, beta, y, 1);
    fab_blas_leave(before);
}

void fab_syrk(int64_t m, int64_t n, const double *A, int64_t lda, double *C, int64_t ldc)
{
    if (m == 0 || n == 0) return;
    const int before = fab_blas_enter();
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)m, 1, A, (int)lda, 1, C,
                (int)ldc);
    fab_blas_leave(before);
}
