/* laplace_rank.c - the curvature at the mode, as rank K plus diagonal, in precision form.
 *
 *   1  A = A0 + sum w_j h_j (x_j, 1)(x_j, 1)', known by its diagonal and its products A V alone
 *   2  psi = diag(A)/2, W random, |w_i|^2 about diag(A)_i/2
 *   3  V = A psi^-1 W,  W <- V right,  psi <- diag(A) - |w_i|^2     parameter-expanded EM (posterior/em.h)
 *   4  until the root mean square of psi'/psi - 1 is below `rank_tol`, or after `inner` loops
 *
 * EM makes KL(q || N(theta, A^-1)) fall.  With at most K rows, one predictor and a plain prior there is nothing
 * to cut: F is the columns of the rows, psi = diag(A0).
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/absorb.h"
#include "fabayes/random.h"
#include "infer/laplace_fit.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/em.h"
#include <math.h>
#include <string.h>

enum { STREAM = 1 }; /* of the random numbers in 2 */

typedef struct fitter {
    int64_t P, K;
    fab_run run;
    double *diag, *psi, *weight; /* P: diag(A); psi; 1/psi */
    double *W, *V;               /* P x K, row-major */
    double *G, *PV, *right;      /* K x K */
    double *work;                /* 2 K^2 */
    double floor;                /* of psi, relative to diag(A) */
    int64_t floored;
} fitter;

static void layout(fab_layout *l, void *handle)
{
    fitter *e = handle;
    const int64_t P = e->P, K = e->K;
    e->diag = fab_place(l, P, sizeof(double));
    e->psi = fab_place(l, P, sizeof(double));
    e->weight = fab_place(l, P, sizeof(double));
    e->W = fab_place(l, P * K, sizeof(double));
    e->V = fab_place(l, P * K, sizeof(double));
    e->G = fab_place(l, K * K, sizeof(double));
    e->PV = fab_place(l, K * K, sizeof(double));
    e->right = fab_place(l, K * K, sizeof(double));
    e->work = fab_place(l, 2 * K * K, sizeof(double));
    e->run.work = fab_place(l, (int64_t)e->run.ops->work(P, K, K, e->run.threads), 1);
}

/* 2 */
static void begin(fitter *e, int64_t seed)
{
    const int64_t K = e->K;
    fab_random_normal((uint64_t)seed, STREAM, 0, e->P * K, FAB_F64, e->W);
    for (int64_t i = 0; i < e->P * K; i++) e->W[i] *= sqrt(e->diag[i / K] / (double)(2 * K));
    for (int64_t i = 0; i < e->P; i++) e->psi[i] = e->diag[i] / 2;
}

/* psi = diag(A) - |w_i|^2; the root mean square of its relative change */
static double take_diagonal(fitter *e)
{
    const fab_long W = fab_long_rows(e->W, e->P, e->K);
    double *square = e->weight, sum = 0;
    e->run.ops->rowquad(&e->run, &W, NULL, e->K, 0, square);
    e->floored = 0;
    for (int64_t i = 0; i < e->P; i++) {
        const double least = e->floor * e->diag[i], psi = e->diag[i] - square[i];
        const double now = psi > least ? psi : least, change = now / e->psi[i] - 1;
        e->floored += now > psi;
        e->psi[i] = now;
        sum += change * change;
    }
    return sqrt(sum / (double)e->P);
}

/* 3 */
static fab_status loop(fab_laplace_fit *fit, fitter *e, double *change)
{
    const fab_long W = fab_long_rows(e->W, e->P, e->K), V = fab_long_rows(e->V, e->P, e->K);
    for (int64_t i = 0; i < e->P; i++) e->weight[i] = 1 / e->psi[i];
    e->run.ops->gram(&e->run, &W, e->weight, e->G);
    e->run.ops->axpy(&e->run, e->weight, &W, 0, &W); /* psi^-1 W */
    FAB_TRY(fab_objective_times(fit->o, e->K, e->W, e->V));
    e->run.ops->cross(&e->run, &W, NULL, &V, e->PV);
    fab_symmetrise(e->K, e->PV);
    FAB_TRY(fab_em_step(e->K, 1, e->G, e->PV, e->right, NULL, e->work));
    e->run.ops->mult(&e->run, NULL, &V, e->right, 0, &W);
    *change = take_diagonal(e);
    return FAB_OK;
}

static fab_status expectation_maximisation(fab_laplace_fit *fit, fitter *e)
{
    double change = INFINITY;
    FAB_TRY(fab_objective_diag(fit->o, e->diag)); /* 1 */
    begin(e, fit->s.seed);
    for (int64_t i = 0; i < fit->s.inner && change > fit->s.rank_tol; i++) { /* 4 */
        FAB_TRY(loop(fit, e, &change));
        FAB_TRY(fab_progress(fit->who, i, fit->s.inner));
    }
    fit->report.floored = e->floored;
    return FAB_OK;
}

/* F and psi as the posterior keeps them */
static fab_status keep(fab_laplace_fit *fit, int64_t K, const double *F, const double *psi)
{
    FAB_TRY(fab_gauss_create(&fit->q, FAB_PRECISION, fit->type, fit->P, K));
    memcpy(fit->q->psi, psi, (size_t)fit->P * sizeof *psi);
    for (int64_t i = 0; i < fit->P * K; i++)
        if (fit->type == FAB_F32)
            ((float *)fit->q->F)[i] = (float)F[i];
        else
            ((double *)fit->q->F)[i] = F[i];
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

fab_status fab_laplace_rank(fab_laplace_fit *fit)
{
    fitter proto = {.P = fit->P, .K = fit->K, .floor = fab_absorb_defaults().psi_min}, *e;
    fab_objective_bend(fit->o, fit->mode->theta);
    if (fit->e.x.n <= fit->K && fit->o->m.classes == 1 && !fit->prior) return all_columns(fit);
    FAB_TRY(fab_run_init(&proto.run, &fit->exec, FAB_F64));
    FAB_TRY(fab_build((void **)&e, sizeof proto, &proto, layout));
    fab_status s = expectation_maximisation(fit, e);
    if (s == FAB_OK) s = keep(fit, e->K, e->W, e->psi);
    fab_release(e);
    return s;
}
