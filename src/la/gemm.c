/* gemm.c - the networks' matrix product, row-major, in f64 or f32, on one thread.
 *
 * SPDX-License-Identifier: MIT */
#include "la/ops.h"
#include "la/small.h"
#include <cblas.h>

static CBLAS_TRANSPOSE op(fab_trans t)
{
    return t == FAB_T ? CblasTrans : CblasNoTrans;
}

void fab_gemm(fab_dtype type, fab_trans ta, fab_trans tb, int64_t m, int64_t n, int64_t k,
              double alpha, const void *A, int64_t lda, const void *B, int64_t ldb, double beta,
              void *C, int64_t ldc)
{
    if (m == 0 || n == 0) return;
    const int before = fab_blas_enter();
    if (type == FAB_F64)
        cblas_dgemm(CblasRowMajor, op(ta), op(tb), (int)m, (int)n, (int)k, alpha, A, (int)lda, B, (int)ldb,
                    beta, C, (int)ldc);
    else
        cblas_sgemm(CblasRowMajor, op(ta), op(tb), (int)m, (int)n, (int)k, (float)alpha, A, (int)lda, B,
                    (int)ldb, (float)beta, C, (int)ldc);
    fab_blas_leave(before);
}
