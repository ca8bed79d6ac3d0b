/* scores.c - factor scores: what the factors of a row are expected to be.
 *
 *     E[z | x] = F' S^-1 (x - mu),  S = F F' + diag(psi)
 *
 * Of a row with values missing, o those that are there:
 *
 *     E[z | x_o] = (I + F_o' psi_o^-1 F_o)^-1 F_o' psi_o^-1 (x - mu)_o
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/rows.h"
#include "la/small.h"
#include "posterior/solver.h"
#include <math.h>
#include <string.h>

enum { PIECE = 1 << 20 }; /* numbers at a time, or one row */

static double loading(const fab_gauss *g, int64_t i)
{
    return g->type == FAB_F32 ? (double)((const float *)g->F)[i] : ((const double *)g->F)[i];
}

/* z = F' y */
static void project(const fab_gauss *g, const double *y, double *z)
{
    const int64_t K = g->K;
    memset(z, 0, (size_t)K * sizeof *z);
    for (int64_t d = 0; d < g->D; d++)
        for (int64_t k = 0; k < K; k++) z[k] += y[d] * loading(g, d * K + k);
}

/* E[z | x_o] of a row less mu, NaN where a value is missing; M: K x K */
static fab_status project_there(const fab_gauss *g, const double *e, double *M, double *z)
{
    const int64_t K = g->K;
    memset(z, 0, (size_t)K * sizeof *z);
    memset(M, 0, (size_t)(K * K) * sizeof *M);
    for (int64_t d = 0; d < g->D; d++) {
        if (isnan(e[d])) continue;
        for (int64_t k = 0; k < K; k++) {
            const double p = loading(g, d * K + k) / g->psi[d];
            z[k] += p * e[d];
            for (int64_t l = 0; l < K; l++) M[k * K + l] += p * loading(g, d * K + l);
        }
    }
    fab_add_identity(K, M);
    FAB_TRY(fab_chol(K, M));
    fab_chol_solve(K, 1, M, z);
    return FAB_OK;
}

/* work: 2 n D + K + K^2 numbers */
static fab_status scores(fab_solver *s, const fab_rotation *r, const fab_rows *x, double *work,
                         double *z)
{
    const fab_gauss *g = fab_solver_gauss(s);
    const int64_t D = g->D, K = g->K, n = x->n;
    double *centred = work, *solved = work + n * D, *plain = work + 2 * n * D, *M = plain + K;
    for (int64_t j = 0; j < n; j++) {
        fab_rows_get(x, j, D, centred + j * D);
        for (int64_t d = 0; d < D; d++) centred[j * D + d] -= g->mu[d]; /* x - mu */
    }
    const fab_rows c = {centred, FAB_F64, n, D, NULL, NULL};
    const int missing = fab_rows_missing(&c, D);
    if (!missing) FAB_TRY(fab_solver_times_precision(s, &c, solved)); /* S^-1 (x - mu) */
    for (int64_t j = 0; j < n; j++) {
        double *out = z + j * K;
        if (missing)
            FAB_TRY(project_there(g, centred + j * D, M, r ? plain : out));
        else
            project(g, solved + j * D, r ? plain : out); /* F' S^-1 (x - mu) */
        if (!r) continue;
        memset(out, 0, (size_t)K * sizeof *out);
        for (int64_t i = 0; i < K; i++)
            for (int64_t k = 0; k < K; k++) out[k] += plain[i] * r->back[k * K + i]; /* R^-1 z */
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
    FAB_TRY(fab_rows_check_missing("scores", x, g->D));
    FAB_TRY(fab_alloc_array((void **)&work, 2 * piece * g->D + g->K * (g->K + 1), sizeof *work,
                            "scores"));
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
