/* iterates.c - the Gaussian of the iterates of an optimiser: lines 4 - 7 of swag.c.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/swag/iterates.h"
#include "base/fail.h"
#include "fit/fit.h"
#include "la/nn.h"
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
    return fab_run_init_anywhere(&it->run, x, x && x->ops ? x->ops->type : FAB_F64);
}

void fab_iterates_layout(fab_layout *l, fab_iterates *it)
{
    const int64_t D = it->D;
    const fab_ops *op = it->run.ops;
    const size_t own = op->work(D, it->last + 1, 1, it->run.threads),
                 twin = op->by_type[FAB_F64]->work(D, 1, 1, it->run.threads);
    it->mean = fab_place_long(l, D, sizeof(double));
    it->V = it->point ? NULL : fab_place_long(l, D, op->vectors->size);
    it->sum = it->s.swa.window ? fab_place(l, D, sizeof(double)) : NULL;
    it->Dhat = fab_place_long(l, D * it->last, op->size);
    it->run.work = fab_place_long(l, (int64_t)(own > twin ? own : twin), 1);
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
    fab_release(it->staged);
}

/* ---- the iterates ------------------------------------------------------------------------------------- */

double fab_iterates_square(const fab_iterates *it)
{
    fab_run wide = it->run;
    wide.ops = it->run.ops->by_type[FAB_F64];
    const fab_long X = fab_long_vectors(it->x, it->D, 1, it->D);
    double square;
    wide.ops->colquad(&wide, &X, NULL, &square);
    return square;
}

fab_status fab_iterates_take(fab_iterates *it, const fab_rows *row)
{
    const int64_t D = it->D, n = it->count.iterates + 1;
    fab_long to = {0};
    if (it->factor) FAB_TRY(fab_swag_factor_take(it->factor, row)); /* 5 */
    if (it->last > 0 && n >= 2)
        to = (fab_long){.p = (char *)it->Dhat + (size_t)((n - 2) % it->last) * it->run.ops->size,
                        .n = D,
                        .k = 1,
                        .rs = it->last,
                        .cs = 1};
    it->run.ops->vectors->welford(&it->run, D, (double)n, it->x, it->mean, it->V, &to); /* 4, 5 */
    it->count.iterates = n;
    return FAB_OK;
}

/* ---- the result --------------------------------------------------------------------------------------- */

/* mean and V into the result, and Dhat where F is made of it: the host goes on from there. */
static void show(fab_iterates *it, const double *theta)
{
    const fab_vectors *v = it->run.ops->vectors;
    fab_gauss *q = it->result;
    const size_t bytes = (size_t)it->D * sizeof(double);
    if (it->count.iterates >= 1)
        v->fetch(&it->run, bytes, it->mean, q->mu);
    else if (theta)
        memcpy(q->mu, theta, bytes);
    else
        memset(q->mu, 0, bytes);
    if (it->point) return;
    v->get(&it->run, it->D, it->V, q->psi);
}

/* F = c F */
static void scale_F(fab_iterates *it, double c)
{
    enum { CHUNK = 512 };
    const fab_nn *nn = fab_nn_find(it->result->type);
    const int64_t count = it->D * it->s.K;
    double by[CHUNK];
    for (int i = 0; i < CHUNK; i++) by[i] = c;
    for (int64_t e = 0; e < count; e += CHUNK) {
        char *F = (char *)it->result->F + (size_t)e * nn->size;
        nn->scale(count - e < CHUNK ? count - e : CHUNK, by, F, F);
    }
}

/* Has any coordinate a variance that is a number in full? */
static int moved(const fab_iterates *it)
{
    const double most = it->run.ops->vectors->largest(&it->run, it->D, it->V);
    return most / (double)it->count.iterates >= DBL_MIN;
}

/* With fewer than two iterates, or iterates that are all the same, there is a point and no width: psi is at its floor. */
fab_status fab_iterates_publish(fab_iterates *it, const double *theta)
{
    fab_gauss *q = it->result;
    const int64_t D = it->D, n = it->count.iterates;
    const size_t F_bytes = (size_t)(D * it->s.K) * it->run.ops->size;
    const double scale = it->s.scale;
    double number = 0;
    show(it, theta);
    if (it->point) return fab_sum(&it->run, &number, 1);
    it->floored = 0;
    if (n >= 2 && !it->factor) { /* of the last K deviations */
        const int64_t k = n - 1 < it->s.K ? n - 1 : it->s.K;
        const double half = it->s.K > 0 ? 0.5 : 1; /* the other half is in F */
        for (int64_t i = 0; i < D; i++) q->psi[i] = half * scale * q->psi[i] / (double)n;
        if (k >= 2) {
            it->run.ops->vectors->fetch(&it->run, F_bytes, it->Dhat, q->F);
            scale_F(it, sqrt(scale / (2 * ((double)k - 1))));
        }
    } else if (n >= 2 && moved(it)) { /* of all iterates */
        const fab_gauss *fit;
        FAB_TRY(fab_swag_factor_result(it->factor, &fit, &it->floored));
        for (int64_t i = 0; i < D; i++) q->psi[i] = scale * fit->psi[i];
        memcpy(q->F, fit->F, F_bytes);
        scale_F(it, sqrt(scale));
    } else {
        memset(q->psi, 0, (size_t)D * sizeof(double));
    }
    for (int64_t i = 0; i < D; i++) /* 7 */
        if (!(q->psi[i] >= it->s.psi_min)) {
            q->psi[i] = it->s.psi_min;
            it->floored++;
        }
    return fab_sum(&it->run, &number, 1); /* have kernels failed? */
}

/* ---- files -------------------------------------------------------------------------------------------- */

static fab_far_states states_of(fab_iterates *it)
{
    const int64_t D = it->D;
    fab_far_states s = {0};
    fab_far_add(&s, "state.averaged", FAB_NEAR, FAB_I64, FAB_SWAG_COUNTS, 0, &it->count);
    fab_far_add(&s, "state.mean", FAB_FAR_MEAN, FAB_F64, D, 0, it->mean);
    fab_far_add(&s, "state.squares", FAB_FAR_VECTOR, FAB_F64, D, 0, it->V);
    fab_far_add(&s, "state.sum", FAB_NEAR, FAB_F64, D, 0, it->sum);
    fab_far_add(&s, "state.columns", FAB_FAR_ARRAY, it->result->type, D, it->last,
                it->last > 0 ? it->Dhat : NULL);
    return s;
}

fab_status fab_iterates_save(fab_iterates *it, fab_tensors *t)
{
    const fab_far_states far = states_of(it);
    fab_states all;
    fab_release(it->staged);
    FAB_TRY(fab_far_fetch(&it->run, &far, &all, &it->staged));
    FAB_TRY(fab_states_save(&all, t));
    return it->factor ? fab_fit_save_state(it->factor, t) : FAB_OK;
}

fab_status fab_iterates_load(fab_iterates *it, const fab_tensors *t)
{
    const fab_far_states far = states_of(it);
    fab_states all;
    fab_release(it->staged);
    FAB_TRY(fab_far_room(&it->run, &far, &all, &it->staged));
    FAB_TRY(fab_states_load(&all, t));
    fab_far_store(&it->run, &all, &far);
    if (it->count.epochs < 0 || it->count.iterates < 0)
        return FAB_FAIL(FAB_BAD_FILE, "swag: state.averaged says %lld epochs, %lld iterates",
                        (long long)it->count.epochs, (long long)it->count.iterates);
    return it->factor ? fab_fit_load_state(it->factor, t, it->count.iterates) : FAB_OK;
}
