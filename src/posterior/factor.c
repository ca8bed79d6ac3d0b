/* factor.c - L L' = I + F' w F, also when the Gram has lost the columns.
 *
 *   1  M = I + F' w F and its Cholesky factor, when M scaled to a unit diagonal is far from singular
 *   2  else L' is the R of the QR of [I; w^1/2 F], by blocks of rows
 *
 * SPDX-License-Identifier: MIT */
#include "posterior/factor.h"
#include "base/fail.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum { QR_ROWS = 512 };
#define GRAM_IS_SAFE 1e-6 /* least eigenvalue of M scaled to a unit diagonal */

int64_t fab_factor_scratch(int64_t K)
{
    const int64_t rows = K + QR_ROWS;
    const int64_t eig = K * K + K + fab_eig_work(K);
    const int64_t qr = K * K + rows * K + QR_ROWS * K + fab_qr_work(rows, K);
    if (K == 0) return 0;
    return eig > qr ? eig : qr;
}

/* Is M safe to factor: has it, scaled to a unit diagonal, eigenvalues well above rounding? */
static int gram_is_safe(int64_t K, const double *M, double *scratch)
{
    double *A = scratch, *lambda = A + K * K;
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++)
            A[i + j * K] = M[i + j * K] / sqrt(M[i + i * K]) / sqrt(M[j + j * K]);
    return fab_eig(K, A, lambda, lambda + K) == FAB_OK && lambda[0] > GRAM_IS_SAFE;
}

/* Rows first .. first + n - 1 of w^1/2 F under the R so far: a (K + n) x K matrix. */
static void stack_rows(const fab_run *r, const fab_long *F, const double *w, const double *R,
                       int64_t first, int64_t n, double *A, double *rows)
{
    const int64_t K = F->k;
    const fab_long part = {(char *)F->p + (size_t)(first * K) * r->ops->size, n, K, K, 1};
    r->ops->get(r, &part, rows);
    for (int64_t k = 0; k < K; k++) {
        memcpy(A + k * (K + n), R + k * K, (size_t)K * sizeof *A);
        for (int64_t i = 0; i < n; i++)
            A[k * (K + n) + K + i] = rows[i * K + k] * sqrt(w[first + i]);
    }
}

static void factor_by_qr(const fab_run *r, const fab_long *F, const double *w, double *L,
                         double *scratch)
{
    const int64_t K = F->k;
    double *R = scratch, *A = R + K * K, *rows = A + (K + QR_ROWS) * K, *work = rows + QR_ROWS * K;
    memset(R, 0, (size_t)(K * K) * sizeof *R);
    fab_add_identity(K, R);
    for (int64_t first = 0; first < F->n; first += QR_ROWS) {
        const int64_t n = F->n - first < QR_ROWS ? F->n - first : QR_ROWS;
        stack_rows(r, F, w, R, first, n, A, rows);
        fab_qr_r(K + n, K, A, R, work);
    }
    for (int64_t j = 0; j < K; j++) { /* L = R', of a positive diagonal */
        const double sign = R[j + j * K] < 0 ? -1 : 1;
        for (int64_t i = 0; i < j; i++) L[i + j * K] = 0;
        for (int64_t i = j; i < K; i++) L[i + j * K] = R[j + i * K] * sign;
    }
}

fab_status fab_factor(const fab_run *r, const fab_long *F, const double *w, double *L,
                      double *scratch, int *refine)
{
    const int64_t K = F->k;
    *refine = 0;
    if (K == 0) return FAB_OK;
    r->ops->gram(r, F, w, L);
    FAB_TRY(fab_sum(r, L, K * K));
    fab_add_identity(K, L);
    *refine = !gram_is_safe(K, L, scratch);
    if (!*refine || r->comm.sum) return fab_chol(K, L); /* 1 */
    factor_by_qr(r, F, w, L, scratch);                  /* 2 */
    return FAB_OK;
}

void fab_factor_invert(int64_t K, const double *L, double *Li)
{
    memset(Li, 0, (size_t)(K * K) * sizeof *Li);
    fab_add_identity(K, Li);
    fab_tri_solve(FAB_LEFT, FAB_T, K, K, L, Li);
}
