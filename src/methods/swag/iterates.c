/* iterates.c - the Gaussian of the iterates of an optimiser: lines 4 - 7 of swag.c.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/swag/iterates.h"
#include "base/fail.h"
#include "fit/fit.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { COLUMNS = 20 }; /* K when it is auto */

/* ---- life --------------------------------------------------------------------------------------------- */

fab_status fab_iterates_init(fab_iterates *it, const fab_swag_settings *s, int point, int64_t D,
                             const fab_exec *x)
{
    *it = (fab_iterates){.s = *s, .point = point, .D = D};
    if (fab_is_auto_i64(s->K)) it->s.K = D < COLUMNS ? D : COLUMNS;
    if (it->s.K > D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "swag: K = %lld columns for D = %lld coordinates, expected K <= D",
                        (long long)it->s.K, (long long)D);
    if (s->columns != FAB_SWAG_LAST && it->s.K < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "swag: columns = %s with K = 0, expected K >= 1",
                        fab_swag_columns_names[s->columns]);
    it->last = s->columns == FAB_SWAG_LAST ? it->s.K : 0;
    return fab_run_init(&it->run, x, x && x->ops ? x->ops->type : FAB_F64);
}

void fab_iterates_layout(fab_layout *l, fab_iterates *it)
{
    const int64_t D = it->D;
    const fab_ops *op = it->run.ops;
    it->mean = fab_place(l, D, sizeof(double));
    it->V = it->point ? NULL : fab_place(l, D, sizeof(double));
    it->sum = it->s.swa.window ? fab_place(l, D, sizeof(double)) : NULL;
    it->Dhat = fab_place(l, D * it->last, op->size);
    it->run.work = fab_place(l, (int64_t)op->work(D, it->last + 1, 1, it->run.threads), 1);
}

fab_status fab_iterates_open(fab_iterates *it, const fab_exec *x)
{
    const fab_form form = it->point ? FAB_FORM_POINT : FAB_FORM_COVARIANCE;
    FAB_TRY(fab_gauss_create(&it->result, form, it->run.ops->type, it->D, it->s.K));
    return fab_swag_factor_init(&it->factor, &it->s, it->D, x);
}

void fab_iterates_close(fab_iterates *it)
{
    fab_fit_free(it->factor);
    fab_gauss_free(it->result);
}

/* ---- the iterates ------------------------------------------------------------------------------------- */

double fab_iterates_square(const fab_iterates *it, const double *x)
{
    double square = 0;
    for (int64_t i = 0; i < it->D; i++) square += x[i] * x[i];
    return square;
}

fab_status fab_iterates_take(fab_iterates *it, double *x)
{
    const int64_t D = it->D, n = it->count.iterates + 1;
    if (it->factor) FAB_TRY(fab_swag_factor_take(it->factor, x, D)); /* 5 */
    for (int64_t i = 0; i < D; i++) {                                /* 4 */
        const double d = x[i] - it->mean[i];
        it->mean[i] += d / (double)n;
        if (it->V) it->V[i] += d * (x[i] - it->mean[i]);
        x[i] = d;
    }
    it->count.iterates = n;
    if (it->last > 0 && n >= 2) { /* 5 */
        const int64_t column = (n - 2) % it->last;
        const fab_long to = {.p = (char *)it->Dhat + (size_t)column * it->run.ops->size,
                             .n = D,
                             .k = 1,
                             .rs = it->last,
                             .cs = 1};
        it->run.ops->put(&it->run, x, &to);
    }
    return FAB_OK;
}

/* ---- the result --------------------------------------------------------------------------------------- */

/* F = c A, for arrays of D x K */
static void set_F(fab_iterates *it, double c, void *A)
{
    const int64_t D = it->D, K = it->s.K;
    const fab_long from = fab_long_rows(A, D, K), to = fab_long_rows(it->result->F, D, K);
    for (int64_t i = 0; i < D; i++) it->scratch[i] = c;
    it->run.ops->axpy(&it->run, it->scratch, &from, 0, &to);
}

/* Has any coordinate a variance that is a number in full? */
static int moved(const fab_iterates *it)
{
    for (int64_t i = 0; i < it->D; i++)
        if (it->V[i] / (double)it->count.iterates >= DBL_MIN) return 1;
    return 0;
}

/* With fewer than two iterates, or iterates that are all the same, there is a point and no width: psi is at its floor. */
fab_status fab_iterates_publish(fab_iterates *it, const double *theta)
{
    fab_gauss *q = it->result;
    const int64_t D = it->D, n = it->count.iterates;
    const double scale = it->s.scale;
    memcpy(q->mu, n >= 1 ? it->mean : theta, (size_t)D * sizeof(double));
    if (it->point) return FAB_OK;
    it->floored = 0;
    memset(q->psi, 0, (size_t)D * sizeof(double));
    if (n >= 2 && !it->factor) { /* of the last K deviations */
        const int64_t k = n - 1 < it->s.K ? n - 1 : it->s.K;
        const double half = it->s.K > 0 ? 0.5 : 1; /* the other half is in F */
        for (int64_t i = 0; i < D; i++) q->psi[i] = half * scale * it->V[i] / (double)n;
        if (k >= 2) set_F(it, sqrt(scale / (2 * ((double)k - 1))), it->Dhat);
    } else if (n >= 2 && moved(it)) { /* of all iterates */
        const fab_gauss *fit;
        FAB_TRY(fab_swag_factor_result(it->factor, &fit, &it->floored));
        for (int64_t i = 0; i < D; i++) q->psi[i] = scale * fit->psi[i];
        set_F(it, sqrt(scale), fit->F);
    }
    for (int64_t i = 0; i < D; i++) /* 7 */
        if (!(q->psi[i] >= it->s.psi_min)) {
            q->psi[i] = it->s.psi_min;
            it->floored++;
        }
    return FAB_OK;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static fab_states states_of(fab_iterates *it)
{
    const int64_t D = it->D;
    return (fab_states){
        {{"state.averaged", FAB_I64, FAB_SWAG_COUNTS, 0, &it->count},
         {"state.mean", FAB_F64, D, 0, it->mean},
         {"state.squares", FAB_F64, D, 0, it->V},
         {"state.sum", FAB_F64, D, 0, it->sum},
         {"state.columns", it->result->type, D, it->last, it->last > 0 ? it->Dhat : NULL}}};
}

fab_status fab_iterates_save(fab_iterates *it, fab_tensors *t)
{
    const fab_states all = states_of(it);
    FAB_TRY(fab_states_save(&all, t));
    return it->factor ? fab_fit_save_state(it->factor, t) : FAB_OK;
}

fab_status fab_iterates_load(fab_iterates *it, const fab_tensors *t)
{
    const fab_states all = states_of(it);
    FAB_TRY(fab_states_load(&all, t));
    if (it->count.epochs < 0 || it->count.iterates < 0)
        return FAB_FAIL(FAB_BAD_FILE, "swag: state.averaged says %lld epochs, %lld iterates",
                        (long long)it->count.epochs, (long long)it->count.iterates);
    return it->factor ? fab_fit_load_state(it->factor, t, it->count.iterates) : FAB_OK;
}
