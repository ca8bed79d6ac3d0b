/* batch.c - the four verbs of the batch methods.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/fa/batch.h"
#include "base/fail.h"
#include "base/memory.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

/* relative: psi that was searched as a logarithm stands this near its floor */
#define AT_FLOOR 1e-9

fab_status fab_batch_init(void **handle, const fab_batch *proto, const void *settings, size_t size,
                          const fab_exec *x)
{
    fab_batch *b;
    *handle = NULL;
    FAB_TRY(fab_check_alone(proto->name, x));
    const fab_dtype type = x && x->ops ? x->ops->type : FAB_F64;
    FAB_TRY(fab_alloc_array((void **)&b, 1, sizeof *b + size, proto->name));
    memcpy(b, proto, sizeof *b);
    memcpy(b->settings, settings, size);
    if (x) b->exec = *x;
    fab_status s = fab_gauss_create(&b->q, FAB_FORM_COVARIANCE, type, b->D, b->K);
    if (s == FAB_OK) s = fab_alloc_array((void **)&b->F, b->D * b->K, sizeof *b->F, b->name);
    if (s != FAB_OK) {
        fab_batch_free(b);
        return s;
    }
    *handle = b;
    return FAB_OK;
}

void fab_batch_free(void *handle)
{
    fab_batch *b = handle;
    if (!b) return;
    fab_gauss_free(b->q);
    fab_release(b->F);
    fab_release(b);
}

fab_status fab_batch_update(void *handle, const fab_examples *e)
{
    fab_batch *b = handle;
    b->rows = e->x;
    b->weight = e->weight;
    return FAB_OK;
}

fab_status fab_batch_finish(fab_batch *b, const fab_target *t)
{
    const int64_t D = b->D, K = b->K;
    for (int64_t i = 0; i < D; i++) {
        const double floor = fab_target_floor(t, b->psi_min, i);
        const int low = !(b->q->psi[i] > floor * (1 + AT_FLOOR));
        if (low) b->q->psi[i] = floor;
        b->report.floored += low;
        for (int64_t k = 0; k < K; k++) {
            if (b->q->type == FAB_F32)
                ((float *)b->q->F)[i * K + k] = (float)b->F[i + k * D];
            else
                ((double *)b->q->F)[i * K + k] = b->F[i + k * D];
        }
    }
    memcpy(b->q->mu, t->mu, (size_t)D * sizeof *t->mu);
    return fab_gauss_check(b->q);
}

fab_status fab_batch_result(void *handle, const fab_gauss **q)
{
    fab_batch *b = handle;
    fab_target t;
    FAB_TRY(fab_target_init(&t, b->name, &b->rows, b->weight, b->D, b->width, &b->exec));
    const fab_status s = fab_batch_solve(b, &t);
    fab_target_free(&t);
    if (s == FAB_OK) *q = b->q;
    return s;
}

fab_status fab_batch_solve(fab_batch *b, const fab_target *t)
{
    b->report = (fab_report){.converged = -1, .loglik_mean = NAN, .saturated = NAN};
    FAB_TRY(b->solve(b, t));
    FAB_TRY(fab_batch_finish(b, t));
    return fab_batch_loglik(b, t, &b->report.loglik_mean);
}

fab_status fab_batch_report(void *handle, fab_report *d)
{
    *d = ((fab_batch *)handle)->report;
    return FAB_OK;
}

double fab_batch_bytes(int64_t D, int64_t K, int64_t n, int64_t width, const fab_exec *x)
{
    return fab_target_bytes(D, n, width, x) + 8 * (double)D * (double)(4 * K + 2) +
           16 * (double)K * (double)K;
}

void fab_batch_set_factors(fab_batch *b, const double *V, const double *scale, const double *gain)
{
    for (int64_t k = 0; k < b->K; k++) {
        const double g = gain[k] > 0 ? sqrt(gain[k]) : 0;
        for (int64_t i = 0; i < b->D; i++)
            b->F[i + k * b->D] = g * V[i + k * b->D] * (scale ? scale[i] : 1);
    }
}

/* -(D log 2 pi + sum log psi + log det M + tr(psi^-1 S) - tr(M^-1 P' S P)) / 2,  P = psi^-1 F */
static fab_status loglik_with(const fab_batch *b, const fab_target *t, double *P, double *V,
                              double *M, double *loglik)
{
    const int64_t D = b->D, K = b->K;
    double sum = (double)D * 1.8378770664093454836, *PV = M + K * K;
    for (int64_t i = 0; i < D; i++) sum += log(b->q->psi[i]) + t->diag[i] / b->q->psi[i];
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < D; i++) P[i + k * D] = b->F[i + k * D] / b->q->psi[i];
    fab_target_times(t, P, K, V);
    fab_mm(FAB_T, FAB_N, K, K, D, 1, b->F, P, 0, M);
    fab_mm(FAB_T, FAB_N, K, K, D, 1, P, V, 0, PV);
    fab_symmetrise(K, M);
    fab_add_identity(K, M);
    FAB_TRY(fab_chol(K, M));
    fab_chol_solve(K, K, M, PV);
    for (int64_t k = 0; k < K; k++) sum -= PV[k + k * K];
    *loglik = -0.5 * (sum + fab_chol_logdet(K, M));
    return FAB_OK;
}

fab_status fab_batch_loglik(const fab_batch *b, const fab_target *t, double *loglik)
{
    double *room;
    FAB_TRY(
        fab_alloc_array((void **)&room, 2 * b->D * b->K + 2 * b->K * b->K, sizeof *room, b->name));
    double *V = room + b->D * b->K;
    const int before = fab_blas_enter();
    const fab_status s = loglik_with(b, t, room, V, V + b->D * b->K, loglik);
    fab_blas_leave(before);
    fab_release(room);
    return s;
}
