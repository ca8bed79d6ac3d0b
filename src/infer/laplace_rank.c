/* laplace_rank.c - the curvature at the mode, as rank K plus diagonal.
 *
 *   1  A = diag(A0) + sum c_i c_i',  c_i = sqrt(w_i h_i) (x_i, 1)
 *   2  the first R = 2 K columns are F as they are
 *   3  blocks of the others are absorbed, rank R kept
 *   4  EM brings R down to K
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/absorb.h"
#include "infer/laplace_fit.h"
#include <math.h>
#include <string.h>

#define CUT_TOL 1e-6 /* of psi, from rank R to K */
enum { CUT_LOOPS = 1000 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void put_column(fab_gauss *g, int64_t k, const double *c)
{
    for (int64_t i = 0; i < g->D; i++)
        if (g->type == FAB_F32)
            ((float *)g->F)[i * g->K + k] = (float)c[i];
        else
            ((double *)g->F)[i * g->K + k] = c[i];
}

/* 2, 3; c: room for `block` columns */
static fab_status take_rows(fab_laplace_fit *fit, fab_absorb *ab, fab_gauss *g, int64_t block,
                            double *c)
{
    const double *theta = fit->mode->theta;
    const int64_t N = fit->e.x.n, P = fit->P;
    for (int64_t first = 0; first < N;) {
        const int64_t whole = first < g->K ? g->K - first : N - first, n = least(whole, block);
        fab_objective_columns(fit->o, theta, first, n, c);
        const fab_rows rows = {c, FAB_F64, n, P};
        for (int64_t j = 0; j < n && first < g->K; j++) put_column(g, first + j, c + j * P);
        if (first >= g->K) FAB_TRY(fab_absorb_update(ab, g, 1, 1, &rows));
        FAB_TRY(fab_progress(fit->who, first += n, N));
    }
    fit->report.floored = N > g->K ? fab_absorb_floored(ab) : 0;
    return FAB_OK;
}

static fab_status absorb_all(fab_laplace_fit *fit, fab_gauss *g, int64_t block, double *c)
{
    fab_absorb_settings s = fab_absorb_defaults();
    fab_exec exec = fit->exec;
    fab_absorb *ab;
    s.inner = fit->s.inner;
    FAB_TRY(fab_absorb_init(&ab, fit->P, g->K, block, &s, &exec));
    const fab_status status = take_rows(fit, ab, g, block, c);
    fab_absorb_free(ab);
    return status;
}

fab_status fab_laplace_rank(fab_laplace_fit *fit)
{
    const int64_t N = fit->e.x.n, P = fit->P, K = least(fit->K, N), R = least(least(2 * K, N), P);
    const int64_t block = least(FAB_OBJECTIVE_ROWS, 2 * R > 32 ? 2 * R : 32);
    fab_gauss *g;
    double *c = NULL;
    FAB_TRY(fab_gauss_create(&g, FAB_PRECISION, fit->type, P, R));
    memcpy(g->psi, fit->o->a0, (size_t)P * sizeof *g->psi); /* 1 */
    fab_status s = fab_alloc_array((void **)&c, P * block, sizeof *c, fit->who);
    if (s == FAB_OK) s = absorb_all(fit, g, block, c);
    fab_release(c);
    if (s == FAB_OK && R > K)
        s = fab_gauss_cut(&fit->q, g, K, CUT_TOL, CUT_LOOPS, &fit->exec); /* 4 */
    if (s == FAB_OK && R == K) s = fab_gauss_copy(&fit->q, g, fit->type);
    fab_gauss_free(g);
    return s;
}
