/* em.c - batch EM factor analysis on the sample covariance S ([L] (19)-(20)).
 *
 *   1  W = N(0, 1) sqrt(S_ii / (2 K)), psi = S_ii / 2
 *   2  P = psi^-1 W,  V = S P,  M = I + W' P
 *   3  W <- V right,  psi <- diag(S) - rowquad(W, Q)          fab_em_step gives right and Q
 *   4  until the log-likelihood, known after 2, changes by less than tol of itself, columns being measured
 *      in their standard deviations: no unit changes when it stops
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/settings.h"
#include "methods/fa/batch.h"
#include "fit/method.h"
#include "fabayes/random.h"
#include "la/small.h"
#include "posterior/em.h"
#include <math.h>
#include <string.h>

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_em_settings
static const fab_field fields[] = {
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    SWITCH(expand, 1, "parameter-expanded EM"),
    FIELD(tol, F64, 1e-12, 0, 1,
          "stop when the log-likelihood of the standardised columns changes by less, relative"),
    FIELD(max_iter, I64, 5000, 1, 1e9, "EM steps"),
    FIELD(psi_min, F64, 1e-6, 1e-300, 0.5, "floor of psi, relative to the coordinate's variance"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the start"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("em", fields);
#undef SETTINGS

fab_em_settings fab_em_defaults(int64_t K)
{
    fab_em_settings s;
    fab_settings_defaults(&table, &s);
    s.K = K;
    return s;
}

/* ---- the steps -------------------------------------------------------------------------------- */

typedef struct steps {
    fab_batch *b;
    const fab_target *t;
    const fab_em_settings *set;
    double *P, *V;                         /* D x K */
    double *G, *PV, *right, *Q, *M, *work; /* K x K; work 2 K x K */
    void *block;
} steps;

/* 1 */
static void begin(steps *e)
{
    const int64_t D = e->b->D, K = e->b->K;
    fab_random_normal((uint64_t)e->set->seed, FAB_PURPOSE_START, 0, 0, D * K, FAB_F64, e->b->F);
    for (int64_t i = 0; i < D; i++) {
        const double v = fab_target_varies(e->t, i) ? e->t->diag[i]
                                                    : fab_batch_floor(e->b, e->t, i);
        e->b->q->psi[i] = v / 2;
        for (int64_t k = 0; k < K; k++) e->b->F[i + k * D] *= sqrt(v / (double)(2 * K));
    }
}

/* 2, and the log-likelihood of W, psi as they are */
static fab_status expectation(steps *e, double *loglik)
{
    const int64_t D = e->b->D, K = e->b->K;
    const double *psi = e->b->q->psi, *W = e->b->F;
    double sum = (double)D * 1.8378770664093454836;
    for (int64_t i = 0; i < D; i++) sum += log(psi[i]) + e->t->diag[i] / psi[i];
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < D; i++) e->P[i + k * D] = W[i + k * D] / psi[i];
    fab_target_times(e->t, e->P, K, e->V);
    fab_mm(FAB_T, FAB_N, K, K, D, 1, W, e->P, 0, e->G);
    fab_mm(FAB_T, FAB_N, K, K, D, 1, e->P, e->V, 0, e->PV);
    fab_symmetrise(K, e->G);
    fab_symmetrise(K, e->PV);
    memcpy(e->M, e->G, (size_t)(K * K) * sizeof *e->M);
    fab_add_identity(K, e->M);
    FAB_TRY(fab_chol(K, e->M));
    memcpy(e->work, e->PV, (size_t)(K * K) * sizeof *e->work);
    fab_chol_solve(K, K, e->M, e->work);
    for (int64_t k = 0; k < K; k++) sum -= e->work[k + k * K];
    *loglik = -0.5 * (sum + fab_chol_logdet(K, e->M));
    return FAB_OK;
}

/* 3 */
static fab_status maximisation(steps *e)
{
    const int64_t D = e->b->D, K = e->b->K;
    double *psi = e->b->q->psi, *W = e->b->F;
    FAB_TRY(fab_em_step(K, e->set->expand != 0, e->G, e->PV, e->right, e->Q, e->work));
    fab_mm(FAB_N, FAB_N, D, K, K, 1, e->V, e->right, 0, W);
    if (!e->set->expand) fab_mm(FAB_N, FAB_N, D, K, K, 1, W, e->Q, 0, e->P);
    for (int64_t i = 0; i < D; i++) {
        double used = 0;
        for (int64_t k = 0; k < K; k++)
            used += W[i + k * D] * (e->set->expand ? W : e->P)[i + k * D];
        const double rest = e->t->diag[i] - used, floor = fab_batch_floor(e->b, e->t, i);
        psi[i] = rest > floor ? rest : floor;
    }
    return FAB_OK;
}

static fab_status iterate(steps *e)
{
    fab_report *d = &e->b->report;
    double before, now = -INFINITY, units = 0;
    begin(e);
    for (int64_t i = 0; i < e->b->D; i++)
        units += log(2 * e->b->q->psi[i]) / 2; /* psi = variance / 2 */
    d->converged = 0;
    while (d->iterations < e->set->max_iter && !d->converged) {
        before = now;
        FAB_TRY(expectation(e, &now));
        d->converged = fabs(now - before) <= e->set->tol * fabs(now + units); /* 4 */
        FAB_TRY(maximisation(e));
        FAB_TRY(fab_watch_tick(&e->t->run.watch, "em", ++d->iterations, e->set->max_iter));
    }
    return FAB_OK;
}

static fab_status solve(fab_batch *b, const fab_target *t)
{
    const int64_t D = b->D, K = b->K;
    steps e = {.b = b, .t = t, .set = (const fab_em_settings *)b->settings};
    FAB_TRY(fab_alloc_array(&e.block, 2 * D * K + 7 * K * K, sizeof(double), "em"));
    e.P = e.block;
    e.V = e.P + D * K, e.G = e.V + D * K, e.PV = e.G + K * K, e.right = e.PV + K * K;
    e.Q = e.right + K * K, e.M = e.Q + K * K, e.work = e.M + K * K;
    const int before = fab_blas_enter();
    const fab_status s = iterate(&e);
    fab_blas_leave(before);
    fab_release(e.block);
    return s;
}

/* ---- the method ------------------------------------------------------------------------------- */

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_em_settings *s = settings;
    const fab_batch proto = {.name = "em",
                             .D = in->vectors,
                             .K = s->K,
                             .psi_min = s->psi_min,
                             .solve = solve,
                             .width = s->K};
    return fab_batch_init(handle, &proto, settings, sizeof *s, x);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_em_settings *s = settings;
    return fab_batch_bytes(in->vectors, s->K, n, s->K, x) +
           16 * (double)in->vectors * (double)s->K + 56 * (double)s->K * (double)s->K;
}

const fab_method fab_em_method = {
    .name = "em",
    .summary = "batch EM",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .fields = &table,
    .init = init,
    .update = fab_batch_update,
    .result = fab_batch_result,
    .report = fab_batch_report,
    .free = fab_batch_free,
    .bytes = bytes,
};
