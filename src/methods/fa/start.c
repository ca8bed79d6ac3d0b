/* start.c - the running mean, the start of F and psi, and the warm-up of the methods that take one row
 * at a time.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/fa/start.h"
#include "base/fail.h"
#include "base/rows.h"
#include "la/small.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { STREAM_OF_F = 1 }; /* of the random numbers; the columns follow */

const char *const fab_centre_names[] = {"exact", "running", NULL};
const char *const fab_start_names[] = {"orthonormal", "draft", "variance", NULL};

/* ---- life ------------------------------------------------------------------------------------- */

/* Elementary operations of a row below which a second thread costs more than it does: about 50 us. */
#define ONE_THREAD 0x1p20

static fab_status make_run(fab_start *s, const fab_exec *x)
{
    FAB_TRY(fab_run_init(&s->run, x, x && x->ops ? x->ops->type : FAB_F64));
    if (s->run.comm.sum && s->start == FAB_START_DRAFT)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: start = draft runs in one process", s->who);
    if ((double)s->D * (double)s->K * (double)(2 * s->K + 4) < ONE_THREAD) s->run.threads = 1;
    s->wide = s->run;
    s->wide.ops = fab_ops_as(s->run.ops, FAB_F64);
    return FAB_OK;
}

static void take(const fab_fields *t, const void *settings, const char *name, void *out)
{
    const fab_field *f = fab_settings_find(t, name);
    if (f) memcpy(out, (const char *)settings + f->offset, 8);
}

/* *handle, of parts->size bytes: what the skeleton knows before there is a layout. */
static fab_status prototype(void **handle, const fab_start_parts *parts, const void *settings,
                            const fab_input *in, const fab_exec *x)
{
    const fab_fields *t = parts->fields;
    int64_t held = 0;
    FAB_TRY(fab_alloc_array(handle, 1, parts->size, t->method));
    memset(*handle, 0, parts->size);
    fab_start *s = *handle;
    *s = (fab_start){.parts = parts,
                     .who = t->method,
                     .settings = settings,
                     .D = in->vectors,
                     .constants = in->vectors,
                     .forget = 1};
    take(t, settings, "K", &s->K);
    take(t, settings, "warmup", &s->warmup);
    take(t, settings, "start", &s->start);
    take(t, settings, "centre", &s->centre);
    take(t, settings, "seed", &s->seed);
    take(t, settings, "forget", &s->forget);
    take(t, settings, "psi_min", &s->psi_min);
    take(t, settings, "held", &held);
    const int64_t room = fab_reservoir_room(held, fab_total(x ? x->comm : NULL, s->D));
    s->held = (fab_reservoir){.D = s->D, .room = room, .seed = s->seed, .forget = s->forget};
    const fab_status status = make_run(s, x);
    s->held.unsized = s->run.comm.sum != NULL;
    if (status == FAB_OK) return FAB_OK;
    fab_release(*handle);
    *handle = NULL;
    return status;
}

fab_status fab_start_init(void **handle, const fab_start_parts *parts, const void *settings,
                          const fab_input *in, const fab_exec *x)
{
    void *proto = NULL;
    *handle = NULL;
    FAB_TRY(prototype(&proto, parts, settings, in, x));
    const fab_status status = fab_build(handle, parts->size, proto, parts->layout);
    fab_release(proto);
    return status;
}

double fab_start_bytes(const fab_start_parts *parts, const void *settings, const fab_input *in,
                       const fab_exec *x)
{
    void *proto = NULL;
    if (prototype(&proto, parts, settings, in, x) != FAB_OK)
        return (double)SIZE_MAX; /* nothing to count it in */
    const double bytes = (double)fab_build_size(parts->size, proto, parts->layout);
    fab_release(proto);
    return bytes;
}

void fab_start_layout(fab_layout *l, fab_start *s)
{
    const int64_t D = s->D, K = s->K;
    const fab_dtype type = s->run.ops->type;
    const size_t size = s->parts->fields->size;
    void *settings = fab_place(l, (int64_t)size, 1);
    s->q = (fab_gauss){.form = FAB_FORM_COVARIANCE, .type = type, .D = D, .K = K};
    s->q.mu = fab_place(l, D, sizeof *s->q.mu);
    s->q.psi = fab_place(l, D, sizeof *s->q.psi);
    s->q.F = fab_place(l, D * K, s->run.ops->size);
    s->d2 = fab_place(l, D, sizeof *s->d2);
    s->least = fab_place(l, D, sizeof *s->least);
    s->varied = fab_place(l, D, sizeof *s->varied);
    s->w = fab_place(l, D, sizeof *s->w);
    s->next = fab_place(l, D, s->run.ops->size);
    s->delta = type == FAB_F32 ? fab_place(l, D, sizeof *s->delta) : NULL;
    s->G0 = fab_place(l, K * K, sizeof *s->G0);
    fab_reservoir_layout(l, &s->held);
    s->square = fab_place(l, K * K, sizeof *s->square);
    const size_t narrow = s->run.ops->work(D, K, K, s->run.threads);
    const size_t wide = s->wide.ops->work(D, K, K, s->wide.threads);
    s->run.work = fab_place(l, (int64_t)(narrow > wide ? narrow : wide), 1);
    s->wide.work = s->run.work;
    if (!l->base) return;
    memcpy(settings, s->settings, size);
    s->settings = settings;
}

/* ---- the mean --------------------------------------------------------------------------------- */

static fab_long vector(void *v, int64_t D)
{
    return fab_long_vectors(v, D, 1, D);
}

/* 1, 2  next = the deviation of a row of weight w; mu, g and c move on. */
static void centre(fab_start *s, const fab_rows *row, double w)
{
    const fab_long X = vector(s->next, s->D), mu = vector(s->q.mu, s->D);
    const fab_long W = vector(s->delta ? s->delta : s->next, s->D);
    s->t++;
    s->weight = (w == 1 ? s->forget : pow(s->forget, w)) * s->weight + w;
    s->g = w / s->weight;
    s->c = s->centre == FAB_CENTRE_EXACT ? sqrt(1 - s->g) : 1 - s->g;
    s->wide.ops->load(&s->wide, row, s->q.mu, &W);        /* 1  x - mu */
    s->wide.ops->mult(&s->wide, NULL, &W, &s->g, 1, &mu); /*    mu + g delta */
    if (s->t > 1 && s->constants > 0) {
        const double *delta = W.p;
        s->constants = 0;
        for (int64_t i = 0; i < s->D; i++) {
            s->varied[i] = s->varied[i] || delta[i] != 0;
            s->constants += !s->varied[i];
        }
    }
    if (s->delta) s->run.ops->put(&s->run, s->delta, &X);
}

void fab_start_variance(fab_start *s, double g, const void *delta)
{
    const fab_long X = vector((void *)delta, s->D);
    const double root = sqrt(g) * s->c;
    s->run.ops->rowquad(&s->run, &X, &root, 1, 1 - g, s->d2); /* 3 */
}

/* The mean of the variances, over all processes. */
static fab_status mean_variance(const fab_start *s, const double *d2, double *mean)
{
    const double D = (double)fab_total(&s->run.comm, s->D);
    *mean = 0;
    for (int64_t i = 0; i < s->D; i++) *mean += d2[i] / D;
    return fab_sum(&s->run, mean, 1);
}

/* ---- the start -------------------------------------------------------------------------------- */

/* Orthonormal columns by Cholesky: Q <- Q L'^-1 with L L' = Q'Q.  The first of three rounds is shifted
 * by a multiple of rounding, so that it never fails; the others finish what it left. */
static fab_status orthonormalise(fab_start *s, const fab_long *Q)
{
    const int64_t K = s->K;
    const double eps = s->run.ops->type == FAB_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
    for (int round = 0; round < 3; round++) {
        double trace = 0;
        s->run.ops->gram(&s->run, Q, NULL, s->square);
        FAB_TRY(fab_sum(&s->run, s->square, K * K));
        for (int64_t k = 0; k < K; k++) trace += s->square[k + k * K];
        if (round == 0)
            for (int64_t k = 0; k < K; k++) s->square[k + k * K] += (double)K * eps * trace;
        FAB_TRY(fab_chol(K, s->square));
        memset(s->G0, 0, (size_t)(K * K) * sizeof *s->G0);
        fab_add_identity(K, s->G0);
        fab_tri_solve(FAB_RIGHT, FAB_T, K, K, s->square, s->G0);
        s->run.ops->mult(&s->run, NULL, Q, s->G0, 0, Q);
    }
    return FAB_OK;
}

/* [D3] (2.41): 0.1 normals, ones on the diagonal; psi0 = max diag(F0 F0'). */
static void draft(fab_start *s, const fab_long *F)
{
    const int64_t K = s->K;
    const fab_long top = fab_long_rows(s->q.F, K < s->D ? K : s->D, K);
    double largest = 0;
    memset(s->square, 0, (size_t)(K * K) * sizeof *s->square);
    for (int64_t k = 0; k < K; k++) s->square[k + k * K] = 0.1;
    s->run.ops->mult(&s->run, NULL, F, s->square, 0, F);
    s->run.ops->get(&s->run, &top, s->square);
    for (int64_t i = 0; i < top.n; i++) s->square[i * K + i] = 1;
    s->run.ops->put(&s->run, s->square, &top);
    s->run.ops->rowquad(&s->run, F, NULL, K, 0, s->w);
    for (int64_t i = 0; i < s->D; i++) largest = fmax(largest, s->w[i]);
    s->p0 = 1 / largest;
}

/* Column k of q.F: the normals of stream STREAM_OF_F + k, the same in both precisions. */
static void normals(fab_start *s)
{
    const fab_long w = vector(s->w, s->D);
    for (int64_t k = 0; k < s->K; k++) {
        const fab_long column = {(char *)s->q.F + (size_t)k * s->run.ops->size, s->D, 1, s->K, 1};
        s->wide.ops->randn(&s->wide, (uint64_t)s->seed, FAB_PURPOSE_START,
                           STREAM_OF_F + (uint64_t)k, &w);
        s->run.ops->put(&s->run, s->w, &column);
    }
}

/* 4  F0 (variance: Q) in q.F, and G0. */
static fab_status make_F0(fab_start *s)
{
    const int64_t K = s->K;
    const fab_long F = fab_long_rows(s->q.F, s->D, K);
    if (s->has_F0) return FAB_OK;
    normals(s);
    s->p0 = 1;
    if (s->start == FAB_START_DRAFT)
        draft(s, &F);
    else
        FAB_TRY(orthonormalise(s, &F));
    s->run.ops->gram(&s->run, &F, NULL, s->G0);
    FAB_TRY(fab_sum(&s->run, s->G0, K * K));
    for (int64_t i = 0; i < K * K; i++) s->G0[i] *= s->p0;
    s->has_F0 = 1;
    return FAB_OK;
}

fab_status fab_start_make(fab_start *s, double *psi)
{
    const fab_long F = fab_long_rows(s->q.F, s->D, s->K);
    double mean;
    FAB_TRY(make_F0(s));
    FAB_TRY(mean_variance(s, s->d2, &mean));
    for (int64_t i = 0; i < s->D; i++) psi[i] = 1 / s->p0;
    if (s->start != FAB_START_VARIANCE) return FAB_OK;
    for (int64_t i = 0; i < s->D; i++) {
        s->w[i] = s->varied[i] ? sqrt(s->d2[i]) : 0;
        psi[i] = s->varied[i] ? s->d2[i] : mean;
    }
    s->run.ops->axpy(&s->run, s->w, &F, 0, &F);
    s->has_F0 = 0;
    return FAB_OK;
}

/* ---- the warm-up ------------------------------------------------------------------------------ */

fab_status fab_start_project(fab_start *s, const void *delta, double *G, double *r)
{
    const int64_t K = s->K;
    const int scaled = s->start == FAB_START_VARIANCE;
    const fab_long F = fab_long_rows(s->q.F, s->D, K), X = vector((void *)delta, s->D);
    FAB_TRY(make_F0(s));
    for (int64_t i = 0; i < s->D; i++) {
        s->w[i] = s->p0;
        if (scaled) s->w[i] = s->d2[i] > 0 ? 1 / sqrt(s->d2[i]) : 0;
    }
    s->run.ops->cross(&s->run, &F, s->w, &X, r);
    FAB_TRY(fab_sum(&s->run, r, K));
    for (int64_t k = 0; k < K; k++) r[k] = s->c > 0 ? s->c * r[k] : 0; /* 5 */
    memcpy(G, s->G0, (size_t)(K * K) * sizeof *G);
    return FAB_OK;
}

#define LEAST 1e-20 /* `least` as a part of the variance: nothing beside it */

fab_status fab_start_end(fab_start *s)
{
    const double smallest = s->run.ops->type == FAB_F32 ? 1e-70
                                                        : 1e-307; /* 1/sqrt(least) stays finite */
    double mean;
    if (s->done || s->t <= s->warmup) return FAB_OK;
    FAB_TRY(mean_variance(s, s->d2, &mean));
    if (!(mean > 0)) return FAB_OK;
    for (int64_t i = 0; i < s->D; i++) {
        s->least[i] = fmax(LEAST * (s->varied[i] ? s->d2[i] : mean), smallest);
        s->d2[i] += s->least[i];
    }
    s->done = 1;
    return FAB_OK;
}

fab_status fab_start_e_step(int64_t K, double *G, const double *r, double *Sigma, double *m)
{
    fab_add_identity(K, G);
    FAB_TRY(fab_chol(K, G));
    fab_chol_inv(K, G, Sigma);
    fab_mv(FAB_N, K, K, 1, Sigma, r, 0, m);
    return FAB_OK;
}

/* ---- results ---------------------------------------------------------------------------------- */

fab_status fab_start_finish(fab_start *s)
{
    double mean;
    for (int64_t i = 0; i < s->D; i++)
        if (!s->varied[i]) s->w[i] = 0; /* what it has is `least` */
    FAB_TRY(mean_variance(s, s->w, &mean));
    if (!(mean > 0))
        return FAB_FAIL(FAB_BAD_DATA, "%s: no column varies in the %lld rows seen", s->who,
                        (long long)s->t);
    FAB_TRY(fab_state_floor(&s->q, s->w, s->psi_min, &s->run, &s->floored));
    const fab_status status = fab_gauss_check(&s->q);
    return status == FAB_OK ? FAB_OK : fab_prefix(FAB_NUMERIC, "%s: ", s->who);
}

fab_status fab_start_report(void *handle, fab_report *d)
{
    fab_start *s = handle;
    const fab_exec x = fab_watch_exec(
        &s->run.watch,
        (fab_exec){.ops = s->run.ops, .comm = &s->run.comm, .threads = s->run.threads});
    *d = (fab_report){.n = s->t, .floored = s->floored, .converged = -1};
    return fab_reservoir_loglik(&s->held, &s->q, s->w, &x, d);
}

/* ---- verbs ------------------------------------------------------------------------------------ */

static fab_status check_fault(const fab_start *s)
{
    if (s->fault == FAB_OK) return FAB_OK;
    return FAB_FAIL(
        s->fault, "%s: the numbers stopped being finite at row %lld; scale the data or begin again",
        s->who, (long long)s->t - 1);
}

double fab_start_work(const void *handle)
{
    const fab_start *s = handle;
    const int64_t D = s->run.comm.sum ? s->run.comm.total_rows : s->D;
    return (double)D * (double)(s->K * s->K + 2 * s->K + 4);
}

fab_status fab_start_update(void *handle, const fab_examples *e)
{
    fab_start *s = handle;
    FAB_TRY(check_fault(s));
    const int before = fab_blas_enter();
    fab_status status = FAB_OK;
    for (int64_t j = 0; j < e->x.n && status == FAB_OK; j++) {
        const fab_rows row = fab_rows_part(&e->x, j, 1);
        const double w = e->weight ? e->weight[j] : 1;
        centre(s, &row, w);
        fab_reservoir_offer(&s->held, &e->x, j, w);
        status = s->parts->step(handle);
    }
    fab_blas_leave(before);
    if (status != FAB_NUMERIC) return status;
    s->fault = status;
    return check_fault(s);
}

fab_status fab_start_result(void *handle, const fab_gauss **q)
{
    fab_start *s = handle;
    FAB_TRY(check_fault(s));
    const int before = fab_blas_enter();
    const fab_status status = s->parts->form(handle);
    fab_blas_leave(before);
    *q = status == FAB_OK ? &s->q : NULL;
    return status;
}

/* ---- files ------------------------------------------------------------------------------------ */

static fab_states state_of(fab_start *s)
{
    return (fab_states){{{"state.rows", FAB_I64, 1, 0, &s->t},
                         {"state.done", FAB_I64, 1, 0, &s->done},
                         {"state.weight", FAB_F64, 1, 0, &s->weight},
                         {"state.g", FAB_F64, 1, 0, &s->g},
                         {"state.c", FAB_F64, 1, 0, &s->c},
                         {"state.mu", FAB_F64, s->D, 0, s->q.mu},
                         {"state.d2", FAB_F64, s->D, 0, s->d2},
                         {"state.least", FAB_F64, s->D, 0, s->least},
                         {"state.varied", FAB_I64, s->D, 0, s->varied}}};
}

fab_status fab_start_save(void *handle, fab_tensors *t)
{
    fab_start *s = handle;
    const fab_states all = state_of(s), more = s->parts->state(handle);
    FAB_TRY(fab_states_save(&all, t));
    FAB_TRY(fab_states_save(&more, t));
    return fab_reservoir_save(&s->held, t);
}

fab_status fab_start_load(void *handle, const fab_tensors *t)
{
    fab_start *s = handle;
    const fab_states all = state_of(s), more = s->parts->state(handle);
    FAB_TRY(fab_states_load(&all, t));
    FAB_TRY(fab_states_load(&more, t));
    FAB_TRY(fab_reservoir_load(&s->held, t));
    if (s->t < 0)
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.rows' counts %lld rows", (long long)s->t);
    s->constants = 0;
    for (int64_t i = 0; i < s->D; i++) s->constants += !s->varied[i];
    return FAB_OK;
}
