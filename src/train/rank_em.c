/* rank_em.c - a matrix known by its products, as rank K plus diagonal.
 *
 *   1  A is known by its diagonal and its products A V alone
 *   2  psi = diag(A)/2, W random, |w_i|^2 about diag(A)_i/2
 *   3  V = A psi^-1 W,  W <- V right,  psi <- diag(A) - |w_i|^2     parameter-expanded EM (posterior/em.h)
 *   4  until the root mean square of psi'/psi - 1 is below tol, or after `inner` loops
 *
 * EM makes KL(N(0, (W W' + psi)^-1) || N(0, A^-1)) fall.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/gauss.h"
#include "fabayes/random.h"
#include "train/products.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/em.h"
#include <math.h>

enum { STREAM = 1 }; /* of the random numbers in 2 */

typedef struct fitter {
    fab_rank face; /* lends psi and W */
    int64_t P, K;
    fab_run run;
    const double *diag;     /* P: diag(A), borrowed */
    double *psi, *weight;   /* P: psi; 1/psi */
    double *W, *V;          /* P x K, row-major */
    double *G, *PV, *right; /* K x K */
    double *work;           /* 2 K^2 */
    double floor;           /* of psi, relative to diag(A) */
} fitter;

static void layout(fab_layout *l, void *handle)
{
    fitter *e = handle;
    const int64_t P = e->P, K = e->K;
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
    fab_random_normal((uint64_t)seed, FAB_PURPOSE_START, STREAM, 0, e->P * K, FAB_F64, e->W);
    for (int64_t i = 0; i < e->P * K; i++) e->W[i] *= sqrt(e->diag[i / K] / (double)(2 * K));
    for (int64_t i = 0; i < e->P; i++) e->psi[i] = e->diag[i] / 2;
}

/* psi = diag(A) - |w_i|^2; the root mean square of its relative change */
static double take_diagonal(fitter *e)
{
    const fab_long W = fab_long_rows(e->W, e->P, e->K);
    double *square = e->weight, sum = 0;
    e->run.ops->rowquad(&e->run, &W, NULL, e->K, 0, square);
    e->face.floored = 0;
    for (int64_t i = 0; i < e->P; i++) {
        const double least = e->floor * e->diag[i], psi = e->diag[i] - square[i];
        const double now = psi > least ? psi : least, change = now / e->psi[i] - 1;
        e->face.floored += now > psi;
        e->psi[i] = now;
        sum += change * change;
    }
    return sqrt(sum / (double)e->P);
}

/* 3 */
static fab_status loop(const fab_products *A, fitter *e, double *change)
{
    const fab_long W = fab_long_rows(e->W, e->P, e->K), V = fab_long_rows(e->V, e->P, e->K);
    for (int64_t i = 0; i < e->P; i++) e->weight[i] = 1 / e->psi[i];
    e->run.ops->gram(&e->run, &W, e->weight, e->G);
    e->run.ops->axpy(&e->run, e->weight, &W, 0, &W); /* psi^-1 W */
    FAB_TRY(A->times(A->self, e->K, e->W, e->V));
    e->run.ops->cross(&e->run, &W, NULL, &V, e->PV);
    fab_symmetrise(e->K, e->PV);
    FAB_TRY(fab_em_step(e->K, 1, e->G, e->PV, e->right, NULL, e->work));
    e->run.ops->mult(&e->run, NULL, &V, e->right, 0, &W);
    *change = take_diagonal(e);
    return FAB_OK;
}

static fab_status loops(const fab_products *A, fitter *e, const fab_rank_plan *p)
{
    double change;
    begin(e, p->seed);
    for (int64_t i = 0; i < p->inner; i++) { /* 4 */
        FAB_TRY(loop(A, e, &change));
        FAB_TRY(A->tick(A->self, i, p->inner));
        if (!(change > p->tol)) break;
    }
    return FAB_OK;
}

fab_status fab_rank_em(fab_rank **r, const fab_products *A, const double *diag,
                       const fab_rank_plan *p, const fab_exec *x)
{
    fitter proto = {.P = A->P, .K = p->K, .diag = diag, .floor = fab_absorb_defaults().psi_min}, *e;
    *r = NULL;
    FAB_TRY(fab_run_init(&proto.run, x, FAB_F64));
    FAB_TRY(fab_build((void **)&e, sizeof proto, &proto, layout));
    const fab_status s = loops(A, e, p);
    if (s != FAB_OK) {
        fab_release(e);
        return s;
    }
    e->face.psi = e->psi;
    e->face.W = e->W;
    *r = &e->face;
    return FAB_OK;
}
