/* rank.c - the curvature of a linear model at the mode, as rank K plus diagonal, in precision form.
 *
 *   1  A = A0 + sum w_j h_j (x_j, 1)(x_j, 1)', known by its diagonal and its products A V alone
 *   2  W W' + psi near A by EM                                                              (rank_em.c)
 *
 * With at most K rows, one predictor and a plain prior there is nothing to cut: F is the columns of the rows,
 * psi = diag(A0).
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "methods/laplace/laplace.h"
#include "la/ops.h"
#include "posterior/element.h"
#include <string.h>

void fab_laplace_put(fab_gauss *q, int64_t P, const double *F, const double *psi)
{
    memcpy(q->psi, psi, (size_t)P * sizeof *psi);
    for (int64_t i = 0; i < P * q->K; i++) fab_gauss_put(q, i, F[i]);
}

static fab_status keep(fab_laplace_fit *fit, int64_t K, const double *F, const double *psi)
{
    FAB_TRY(fab_gauss_create(&fit->q, FAB_FORM_PRECISION, fit->type, fit->P, K));
    fab_laplace_put(fit->q, fit->P, F, psi);
    return FAB_OK;
}

static fab_status all_columns(fab_laplace_fit *fit)
{
    const int64_t N = fit->e.x.n;
    double *F;
    FAB_TRY(fab_alloc_array((void **)&F, fit->P * N, sizeof *F, fit->who));
    fab_objective_columns(fit->o, F);
    const fab_status s = keep(fit, N, F, fit->o->a0);
    fab_release(F);
    return s;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static fab_status times(void *self, int64_t k, const double *V, double *out)
{
    return fab_objective_times(((const fab_laplace_fit *)self)->o, k, V, out);
}

static fab_status tick(void *self, int64_t done, int64_t total)
{
    const fab_laplace_fit *fit = self;
    return fab_watch_tick(&fit->o->watch, fit->who, done, total);
}

fab_products fab_laplace_products(fab_laplace_fit *fit)
{
    return (fab_products){.P = fit->P, .self = fit, .times = times, .tick = tick};
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

static fab_status cut(fab_laplace_fit *fit, double *diag)
{
    const fab_products A = fab_laplace_products(fit);
    const fab_rank_plan p = {fit->K, fit->s.inner, fit->s.rank_tol, fit->s.train.seed};
    fab_rank *r;
    FAB_TRY(fab_objective_diag(fit->o, diag));
    FAB_TRY(fab_rank_em(&r, &A, diag, &p, &fit->exec));
    fit->report.floored = r->floored;
    const fab_status s = keep(fit, fit->K, r->W, r->psi);
    fab_release(r);
    return s;
}

fab_status fab_laplace_rank(fab_laplace_fit *fit)
{
    double *diag;
    fab_objective_curvature(fit->o, fit->mode->theta);
    FAB_TRY(fit->o->stopped);
    if (fit->e.x.n <= fit->K && fit->o->m.classes == 1 && !fit->prior) return all_columns(fit);
    FAB_TRY(fab_alloc_array((void **)&diag, fit->P, sizeof *diag, fit->who));
    const fab_status s = cut(fit, diag);
    fab_release(diag);
    return s;
}
