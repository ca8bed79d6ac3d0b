/* spread.c - a covariance given by its root, as F F' + diag(psi) without loss.
 *
 *   1  sigma_i = |row i of G|,  H = diag(1/sigma) G,  H^-1 = G^-1 diag(sigma)
 *   2  k = 1 / (2 |H^-1|^2),  psi = k sigma^2
 *   3  L L' = I - k (H'H)^-1,  F = G L
 *
 * F F' + psi = G G' since H (I - k (H'H)^-1) H' = H H' - k I.  The eigenvalues of L L' lie between 1/2 and
 * 1, so nothing cancels, however ill conditioned G is; and psi is as large as the smallest eigenvalue of
 * the correlations allows, up to a factor 2 D.
 *
 * SPDX-License-Identifier: MIT */
#include "posterior/spread.h"
#include "base/fail.h"
#include "la/small.h"
#include "posterior/element.h"
#include <math.h>
#include <string.h>

static double row_norm(int64_t n, const double *G, int64_t i)
{
    double most = 0, sum = 0;
    for (int64_t j = 0; j < n; j++) most = fmax(most, fabs(G[i + j * n]));
    if (!(most > 0)) return 0;
    for (int64_t j = 0; j < n; j++) sum += G[i + j * n] / most * (G[i + j * n] / most);
    return most * sqrt(sum);
}

fab_status fab_spread(fab_gauss *q, double unit, double *G, double *Gi, double *work)
{
    const int64_t n = q->D;
    double norm2 = 0;
    for (int64_t j = 0; j < n; j++) {
        const double sigma = row_norm(n, G, j); /* 1 */
        for (int64_t i = 0; i < n; i++) {
            Gi[i + j * n] *= sigma;
            norm2 += Gi[i + j * n] * Gi[i + j * n];
        }
        q->psi[j] = sigma * unit;
    }
    const double k = 0.5 / norm2; /* 2 */
    for (int64_t j = 0; j < n; j++) q->psi[j] *= k * q->psi[j];
    fab_mm(FAB_N, FAB_T, n, n, n, -k, Gi, Gi, 0, work); /* 3 */
    fab_symmetrise(n, work);
    fab_add_identity(n, work);
    FAB_TRY(fab_chol(n, work));
    fab_mm(FAB_N, FAB_N, n, n, n, unit, G, work, 0, Gi);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) fab_gauss_put(q, i * n + j, Gi[i + j * n]);
    return FAB_OK;
}

fab_status fab_scaled_chol(int64_t n, const double *A, double *scale, double *L, double *logdet)
{
    *logdet = 0;
    for (int64_t i = 0; i < n; i++) {
        scale[i] = 1 / sqrt(A[i + i * n]);
        *logdet -= 2 * log(scale[i]);
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) L[i + j * n] = A[i + j * n] * scale[i] * scale[j];
    FAB_TRY(fab_chol(n, L));
    *logdet += fab_chol_logdet(n, L);
    return FAB_OK;
}

/* A = S^-1 L L' S^-1: the covariance has the root S L'^-1, whose inverse is L' S^-1. */
fab_status fab_spread_inverse(fab_gauss *q, const double *scale, double *L, double *G, double *Gi)
{
    const int64_t n = q->D;
    memset(G, 0, (size_t)(n * n) * sizeof *G);
    fab_add_identity(n, G);
    fab_tri_solve(FAB_LEFT, FAB_T, n, n, L, G);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            G[i + j * n] *= scale[i];
            Gi[i + j * n] = L[j + i * n] / scale[j];
        }
    return fab_spread(q, 1, G, Gi, L);
}
