/* em.c - the small half of one factor-analysis EM step.
 *
 * SPDX-License-Identifier: MIT */
#include "posterior/em.h"
#include "base/fail.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

int fab_all_finite(int64_t n, const double *v)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(v[i])) return 0;
    return 1;
}

fab_status fab_em_step(int64_t K, int expand, double *G, const double *PV, double *right, double *Q,
                       double *work)
{
    double *Mi = work, *B = work + K * K;
    fab_add_identity(K, G);
    FAB_TRY(fab_chol(K, G));
    fab_chol_inv(K, G, Mi); /* M^-1 */
    memcpy(B, PV, (size_t)(K * K) * sizeof *B);
    fab_chol_solve(K, K, G, B);
    memcpy(right, Mi, (size_t)(K * K) * sizeof *right);
    fab_mm(FAB_N, FAB_N, K, K, K, 1, B, Mi, 1, right); /* B = M^-1 + M^-1 P'V M^-1 */
    fab_symmetrise(K, right);
    memcpy(B, right, (size_t)(K * K) * sizeof *B);
    if (!expand) memcpy(Q, B, (size_t)(K * K) * sizeof *Q);
    FAB_TRY(fab_chol(K, B)); /* L L' = B */
    memcpy(right, Mi, (size_t)(K * K) * sizeof *right);
    fab_tri_solve(FAB_RIGHT, FAB_T, K, K, B, right);              /* M^-1 L'^-1 */
    if (!expand) fab_tri_solve(FAB_RIGHT, FAB_N, K, K, B, right); /* M^-1 (L L')^-1 */
    return FAB_OK;
}
