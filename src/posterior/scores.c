/* scores.c - factor scores: what the factors of a row are expected to be.
 *
 *     E[z | x] = F' S^-1 (x - mu),  S = F F' + diag(psi)
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/rows.h"
#include "posterior/solver.h"
#include <string.h>

enum { PIECE = 1 << 20 }; /* numbers at a time, or one row */

/* z = F' y, for F in either type */
static void project(const fab_gauss *g, const double *y, double *z)
{
    const int64_t K = g->K;
    const double *F64 = g->F;
    const float *F32 = g->F;
    memset(z, 0, (size_t)K * sizeof *z);
    if (g->type == FAB_F32)
        for (int64_t d = 0; d < g->D; d++)
            for (int64_t k = 0; k < K; k++) z[k] += y[d] * (double)F32[d * K + k];
    else
        for (int64_t d = 0; d < g->D; d++)
            for (int64_t k = 0; k < K; k++) z[k] += y[d] * F64[d * K + k];
}

/* work: 2 n D + K numbers */
static fab_status scores(fab_solver *s, const fab_rotation *r, const fab_rows *x, double *work,
                         double *z)
{
    const fab_gauss *g = fab_solver_gauss(s);
    const int64_t D = g->D, K = g->K, n = x->n;
    double *centred = work, *solved = work + n * D, *plain = work + 2 * n * D;
    for (int64_t j = 0; j < n; j++) {
        fab_rows_get(x, j, D, centred + j * D);
        for (int64_t d = 0; d < D; d++) centred[j * D + d] -= g->mu[d]; /* x - mu */
    }
    const fab_rows c = {centred, FAB_F64, n, D, NULL, NULL};
    FAB_TRY(fab_solver_times_precision(s, &c, solved)); /* S^-1 (x - mu) */
    for (int64_t j = 0; j < n; j++) {
        double *out = z + j * K;
        project(g, solved + j * D, r ? plain : out); /* F' S^-1 (x - mu) */
        if (!r) continue;
        memset(out, 0, (size_t)K * sizeof *out);
        for (int64_t i = 0; i < K; i++)
            for (int64_t k = 0; k < K; k++) out[k] += plain[i] * r->R[i * K + k]; /* R' z */
    }
    return FAB_OK;
}

fab_status fab_solver_scores(fab_solver *s, const fab_rotation *r, const fab_rows *x, double *z)
{
    const fab_gauss *g = fab_solver_gauss(s);
    const int64_t most = PIECE / g->D > 0 ? PIECE / g->D : 1;
    const int64_t piece = x->n < most ? x->n : most;
    double *work;
    if (g->form != FAB_FORM_COVARIANCE)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "scores: the Gaussian is in %s form, not a covariance",
                        fab_form_name(g->form));
    if (r && (r->D != g->D || r->K != g->K))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "scores: a rotation of %lld x %lld factors, and the Gaussian has %lld x "
                        "%lld",
                        (long long)r->D, (long long)r->K, (long long)g->D, (long long)g->K);
    FAB_TRY(fab_rows_check_dense("scores", x, g->D));
    FAB_TRY(fab_alloc_array((void **)&work, 2 * piece * g->D + g->K, sizeof *work, "scores"));
    fab_status status = FAB_OK;
    for (int64_t first = 0; first < x->n; first += piece) {
        const int64_t n = x->n - first < piece ? x->n - first : piece;
        const fab_rows part = fab_rows_part(x, first, n);
        status = scores(s, r, &part, work, z + first * g->K);
        if (status != FAB_OK) break;
    }
    fab_release(work);
    return status;
}
