/* em.c - batch EM factor analysis on the sample covariance S ([L] (19)-(20)).
 *
 *   1  W = N(0, 1) sqrt(S_ii / (2 K)), psi = S_ii / 2; the second start has psi by regressions, the third S_ii / 2, both
 *      with the W that is best for it (ml.c); further ones likewise, psi / S_ii = psi_min^u, u uniform; the best end is kept
 *   2  P = psi^-1 W,  V = S P,  M = I + W' P
 *   3  W <- V right,  psi <- diag(S) - rowquad(W, Q)          fab_em_step gives right and Q
 *   4  until the log-likelihood, known after 2, changes by less than tol of itself, columns being measured
 *      in their standard deviations: no unit changes when it stops
 *
 * Rows with values missing: em_missing.c, from where this has brought W and psi.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "methods/fa/em_missing.h"
#include "methods/fa/spectral.h"
#include "fit/method.h"
#include "fabayes/random.h"
#include "la/small.h"
#include "posterior/em.h"
#include <math.h>
#include <string.h>

enum { FIRST_STARTS = 3, MOST_STARTS = 10, SMALL = 64 };
#define APART        1e-6 /* of the mean log-likelihood: the starts have found two optima */
#define LEAST_SIGNAL 0.05 /* least lambda - 1 of a starting factor */

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_em_settings
static const fab_field fields[] = {
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    SWITCH(expand, 1, "parameter-expanded EM"),
    FIELD(tol, F64, 1e-12, 0, 1,
          "stop when the log-likelihood of the standardised columns changes by less, relative"),
    FIELD(max_iter, I64, 5000, 1, 1e9, "EM steps of a start"),
    FIELD(psi_min, F64, 1e-6, 1e-300, 0.5, "floor of psi, relative to the coordinate's variance"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the random starts"),
    AUTOMATIC(
        starts, I64, 1, 1000,
        "starting points; the best end is kept; auto: 3, or 10 where these end apart and D is "
        "at most 128"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("em", fields);
#undef SETTINGS

/* ---- the steps -------------------------------------------------------------------------------- */

typedef struct steps {
    fab_batch *b;
    const fab_target *t;
    const fab_em_settings *set;
    double *P, *V;                         /* D x K */
    double *G, *PV, *right, *Q, *M, *work; /* K x K; work 2 K x K */
    double *v, *scale;                     /* D: variances; scratch */
    double *best_F, *best_psi;             /* D x K; D */
    fab_eigs eigs;
    void *block;
} steps;

/* 1 */
static fab_status begin(steps *e, int64_t start)
{
    const int64_t D = e->b->D, K = e->b->K;
    double *psi = e->b->q->psi;
    for (int64_t i = 0; i < D; i++) psi[i] = 0.5; /* of the variance */
    if (start == 0) {
        fab_random_normal((uint64_t)e->set->seed, FAB_PURPOSE_START, 0, 0, D * K, FAB_F64, e->b->F);
        for (int64_t i = 0; i < D; i++) {
            psi[i] *= e->v[i];
            for (int64_t k = 0; k < K; k++) e->b->F[i + k * D] *= sqrt(e->v[i] / (double)(2 * K));
        }
        return FAB_OK;
    }
    if (start == 1) FAB_TRY(fab_target_regression(e->t, K, e->v, psi));
    if (start > 2) {
        fab_random_uniform((uint64_t)e->set->seed, FAB_PURPOSE_START, (uint64_t)start, 0, D, psi);
        for (int64_t i = 0; i < D; i++) psi[i] = pow(e->b->psi_min, psi[i]);
    }
    for (int64_t i = 0; i < D; i++) {
        const double least = e->b->psi_min;
        psi[i] = e->v[i] * (psi[i] > least ? psi[i] : least);
        e->scale[i] = 1 / sqrt(psi[i]);
    }
    FAB_TRY(fab_eigs_solve(&e->eigs, e->scale));
    for (int64_t i = 0; i < D; i++) e->scale[i] = sqrt(psi[i]);
    for (int64_t k = 0; k < K; k++) /* a factor that explains nothing would stay 0 */
        e->eigs.lambda[k] = e->eigs.lambda[k] > 1 + LEAST_SIGNAL ? e->eigs.lambda[k] - 1
                                                                 : LEAST_SIGNAL;
    fab_batch_set_factors(e->b, e->eigs.V, e->scale, e->eigs.lambda);
    return FAB_OK;
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
        const double rest = e->t->diag[i] - used, floor = fab_target_floor(e->t, e->b->psi_min, i);
        psi[i] = rest > floor ? rest : floor;
    }
    return FAB_OK;
}

/* 2 - 4 from where begin has put W and psi. */
static fab_status iterate(steps *e, double *now, double *gain, int64_t *converged)
{
    fab_report *d = &e->b->report;
    double before, units = 0;
    *now = -INFINITY;
    *gain = NAN;
    for (int64_t i = 0; i < e->b->D; i++) units += log(e->v[i]) / 2;
    *converged = 0;
    for (int64_t step = 0; step < e->set->max_iter && !*converged; step++) {
        before = *now;
        FAB_TRY(expectation(e, now));
        if (step > 0) *gain = *now - before;
        *converged = fabs(*now - before) <= e->set->tol * fabs(*now + units); /* 4 */
        FAB_TRY(maximisation(e));
        FAB_TRY(fab_watch_tick(&e->t->run.watch, "em", ++d->iterations, e->set->max_iter));
    }
    return FAB_OK;
}

static fab_status every_start(steps *e)
{
    const int64_t D = e->b->D, K = e->b->K;
    const int automatic = fab_is_auto_i64(e->set->starts);
    int64_t starts = e->set->starts;
    if (automatic) starts = D <= SMALL ? MOST_STARTS : FIRST_STARTS;
    double best = -INFINITY, worst = INFINITY;
    for (int64_t start = 0; start < starts; start++) {
        double end, gain;
        int64_t converged;
        FAB_TRY(begin(e, start));
        FAB_TRY(iterate(e, &end, &gain, &converged));
        worst = end < worst ? end : worst;
        if (end > best || start == 0) {
            best = end;
            e->b->report.converged = converged;
            e->b->report.gain = gain;
            memcpy(e->best_F, e->b->F, (size_t)(D * K) * sizeof *e->best_F);
            memcpy(e->best_psi, e->b->q->psi, (size_t)D * sizeof *e->best_psi);
        }
        if (automatic && start == FIRST_STARTS - 1 && D <= FAB_WHOLE_UP_TO && best - worst > APART)
            starts = MOST_STARTS;
    }
    memcpy(e->b->F, e->best_F, (size_t)(D * K) * sizeof *e->best_F);
    memcpy(e->b->q->psi, e->best_psi, (size_t)D * sizeof *e->best_psi);
    return FAB_OK;
}

static fab_status solve(fab_batch *b, const fab_target *t)
{
    const int64_t D = b->D, K = b->K;
    steps e = {.b = b, .t = t, .set = (const fab_em_settings *)b->settings};
    FAB_TRY(fab_eigs_init(&e.eigs, t, K, t->S && D <= FAB_WHOLE_UP_TO, (uint64_t)e.set->seed));
    fab_status s = fab_alloc_array(&e.block, 3 * D * (K + 1) + 7 * K * K, sizeof(double), "em");
    if (s != FAB_OK) {
        fab_eigs_free(&e.eigs);
        return s;
    }
    e.P = e.block;
    e.V = e.P + D * K, e.G = e.V + D * K, e.PV = e.G + K * K, e.right = e.PV + K * K;
    e.Q = e.right + K * K, e.M = e.Q + K * K, e.work = e.M + K * K;
    e.v = e.work + 2 * K * K, e.scale = e.v + D, e.best_psi = e.scale + D,
    e.best_F = e.best_psi + D;
    for (int64_t i = 0; i < D; i++)
        e.v[i] = fab_target_varies(t, i) ? t->diag[i] : fab_target_floor(t, b->psi_min, i);
    const int before = fab_blas_enter();
    s = every_start(&e);
    if (s == FAB_OK) s = fab_target_saturated(t, &b->report.saturated);
    fab_blas_leave(before);
    fab_eigs_free(&e.eigs);
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
                             .width = fab_eigs_width(in->vectors, s->K)};
    return fab_batch_init(handle, &proto, settings, sizeof *s, x);
}

static fab_status result(void *handle, const fab_gauss **q)
{
    fab_batch *b = handle;
    if (!fab_rows_missing(&b->rows, b->D)) return fab_batch_result(handle, q);
    FAB_TRY(fab_em_missing(b, (const fab_em_settings *)b->settings));
    *q = b->q;
    return FAB_OK;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_em_settings *s = settings;
    const int64_t D = in->vectors, width = fab_eigs_width(D, s->K);
    const double regression = D <= n && D <= FAB_DENSE_MAX ? 16 * (double)D * (double)D : 0;
    return fab_batch_bytes(D, s->K, n, width, x) + regression +
           fab_eigs_bytes(D, s->K, D <= n && D <= FAB_WHOLE_UP_TO) +
           24 * (double)D * (double)(s->K + 1) + 56 * (double)s->K * (double)s->K;
}

const fab_method fab_em_method = {
    .name = "em",
    .summary = "batch EM",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS | FAB_TAKES_MISSING,
    .saturates = 1,
    .fields = &table,
    .init = init,
    .update = fab_batch_update,
    .result = result,
    .report = fab_batch_report,
    .free = fab_batch_free,
    .bytes = bytes,
};
