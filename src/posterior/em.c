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

/* B = L'^-1 (I + C) L^-1 with M = L L' and C = L^-1 P'V L'^-1: I + C keeps its digits where M has columns of very
 * different sizes, and B, whose inverse has them, does not. */
fab_status fab_em_step(int64_t K, int expand, double *G, const double *PV, double *right, double *Q,
                       double *work)
{
    double *C = work, *scratch = work + K * K;
    fab_add_identity(K, G);
    FAB_TRY(fab_chol(K, G)); /* M = L L' */
    memcpy(C, PV, (size_t)(K * K) * sizeof *C);
    fab_tri_solve(FAB_LEFT, FAB_N, K, K, G, C);
    fab_tri_solve(FAB_RIGHT, FAB_T, K, K, G, C); /* L^-1 P'V L'^-1 */
    fab_symmetrise(K, C);
    fab_add_identity(K, C);
    if (!expand) { /* Q = B */
        memcpy(Q, C, (size_t)(K * K) * sizeof *Q);
        fab_tri_solve(FAB_LEFT, FAB_T, K, K, G, Q);
        fab_tri_solve(FAB_RIGHT, FAB_N, K, K, G, Q);
        fab_symmetrise(K, Q);
    }
    FAB_TRY(fab_chol(K, C)); /* I + C = N N' */
    memset(right, 0, (size_t)(K * K) * sizeof *right);
    fab_add_identity(K, right);
    if (expand) {
        fab_tri_solve(FAB_RIGHT, FAB_T, K, K, C, right);
    } else { /* (I + C)^-1 L' */
        for (int64_t k = 0; k < K; k++)
            for (int64_t i = 0; i < K; i++) scratch[k + i * K] = i >= k ? G[i + k * K] : 0;
        memcpy(right, scratch, (size_t)(K * K) * sizeof *right);
        fab_chol_solve(K, K, C, right);
    }
    fab_tri_solve(FAB_LEFT, FAB_T, K, K, G, right); /* L'^-1 N'^-1, or M^-1 B^-1 */
    return FAB_OK;
}
