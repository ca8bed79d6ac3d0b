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
    FAB_TRY(fab_run_init_anywhere(&s->run, x, x && x->ops ? x->ops->type : FAB_F64));
    if (s->run.comm.sum && s->start == FAB_START_DRAFT)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: start = draft runs in one process", s->who);
    if ((double)s->D * (double)s->K * (double)(2 * s->K + 4) < ONE_THREAD) s->run.threads = 1;
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
    void *far;
    const fab_memory *memory = ((fab_start *)proto)->run.ops->memory;
    const fab_status status =
        fab_build_apart(handle, parts->size, proto, parts->layout, memory, &far);
    fab_release(proto);
    if (status == FAB_OK) ((fab_start *)*handle)->far = far;
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
    const fab_vectors *v = s->run.ops->vectors;
    const fab_ops *wide = s->run.ops->by_type[FAB_F64];
    s->mu = fab_place_long(l, D, sizeof(double));
    s->psi = fab_place_long(l, D, v->size);
    s->F = fab_place_long(l, D * K, s->run.ops->size);
    s->d2 = fab_place_long(l, D, v->size);
    s->least = fab_place_long(l, D, v->size);
    s->varied = fab_place_long(l, D, v->flag);
    s->w = fab_place_long(l, D, v->size);
    s->next = fab_place_long(l, D, s->run.ops->size);
    s->delta = s->run.ops->size == v->size ? NULL : fab_place_long(l, D, v->size);
    const int view = s->run.ops->memory != NULL;
    s->q = (fab_gauss){.form = FAB_FORM_COVARIANCE,
                       .type = type,
                       .D = D,
                       .K = K,
                       .mu = view ? fab_place(l, D, sizeof *s->q.mu) : s->mu,
                       .F = view ? fab_place(l, D * K, s->run.ops->size) : s->F,
                       .psi = view ? fab_place(l, D, sizeof *s->q.psi) : s->psi};
    s->variance = view ? fab_place(l, s->held.room ? D : 0, sizeof *s->variance) : s->w;
    s->G0 = fab_place(l, K * K, sizeof *s->G0);
    fab_reservoir_layout(l, &s->held);
    s->square = fab_place(l, K * K, sizeof *s->square);
    const size_t own = s->run.ops->work(D, K, K, s->run.threads);
    const size_t twin = wide->work(D, K, K, s->run.threads);
    s->run.work = fab_place_long(l, (int64_t)(own > twin ? own : twin), 1);
    if (!l->base) return;
    memcpy(settings, s->settings, size);
    s->settings = settings;
}

/* ---- the mean --------------------------------------------------------------------------------- */

/* One vector in the type of F. */
static fab_long vector(void *v, int64_t D)
{
    return fab_long_vectors(v, D, 1, D);
}

/* 1, 2  next = the deviation of a row of weight w; mu, g and c move on. */
static void centre(fab_start *s, const fab_rows *row, double w)
{
    const fab_long X = vector(s->next, s->D);
    const int look = s->t > 0 && s->constants > 0;
    s->t++;
    s->weight = (w == 1 ? s->forget : pow(s->forget, w)) * s->weight + w;
    s->g = w / s->weight;
    s->c = s->centre == FAB_CENTRE_EXACT ? sqrt(1 - s->g) : 1 - s->g;
    const int64_t same = s->run.ops->vectors->centre(&s->run, row, s->g, s->mu, &X,
                                                     look ? s->varied : NULL, s->delta);
    if (look) s->constants = same;
}

void fab_start_variance(fab_start *s, double g, void *delta)
{
    const fab_long X = vector(delta, s->D);
    const double root = sqrt(g) * s->c;
    s->run.ops->rowquad(&s->run, &X, &root, 1, 1 - g, s->d2); /* 3 */
}

/* The mean of the variances, over all processes. */
static fab_status mean_variance(const fab_start *s, const void *d2, double *mean)
{
    const double D = (double)fab_total(&s->run.comm, s->D);
    *mean = s->run.ops->vectors->sum(&s->run, s->D, d2, D);
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
    const fab_long top = fab_long_rows(s->F, K < s->D ? K : s->D, K);
    memset(s->square, 0, (size_t)(K * K) * sizeof *s->square);
    for (int64_t k = 0; k < K; k++) s->square[k + k * K] = 0.1;
    s->run.ops->mult(&s->run, NULL, F, s->square, 0, F);
    s->run.ops->get(&s->run, &top, s->square);
    for (int64_t i = 0; i < top.n; i++) s->square[i * K + i] = 1;
    s->run.ops->put(&s->run, s->square, &top);
    s->run.ops->rowquad(&s->run, F, NULL, K, 0, s->w);
    s->p0 = 1 / s->run.ops->vectors->largest(&s->run, s->D, s->w);
}

/* Column k of F: the normals of stream STREAM_OF_F + k, the same in both precisions. */
static void normals(fab_start *s)
{
    const fab_vectors *v = s->run.ops->vectors;
    for (int64_t k = 0; k < s->K; k++) {
        const fab_long column = {(char *)s->F + (size_t)k * s->run.ops->size, s->D, 1, s->K, 1};
        v->normals(&s->run, s->D, (uint64_t)s->seed, FAB_PURPOSE_START, STREAM_OF_F + (uint64_t)k,
                   s->w);
        v->round(&s->run, s->w, &column);
    }
}

/* 4  F0 (variance: Q) in F, and G0. */
static fab_status make_F0(fab_start *s)
{
    const int64_t K = s->K;
    const fab_long F = fab_long_rows(s->F, s->D, K);
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

fab_status fab_start_make(fab_start *s, void *psi)
{
    const fab_vectors *v = s->run.ops->vectors;
    const fab_long F = fab_long_rows(s->F, s->D, s->K);
    double mean;
    FAB_TRY(make_F0(s));
    FAB_TRY(mean_variance(s, s->d2, &mean));
    v->fill(&s->run, s->D, 1 / s->p0, psi);
    if (s->start != FAB_START_VARIANCE) return FAB_OK;
    v->choose(&s->run, s->D, s->varied, s->d2, 0, s->w);
    v->map(&s->run, s->D, FAB_MAP_ROOT, 0, 0, s->w, s->w);
    v->choose(&s->run, s->D, s->varied, s->d2, mean, psi);
    s->run.ops->axpy(&s->run, s->w, &F, 0, &F);
    s->has_F0 = 0;
    return FAB_OK;
}

/* ---- the warm-up ------------------------------------------------------------------------------ */

fab_status fab_start_project(fab_start *s, void *delta, double *G, double *r)
{
    const fab_vectors *v = s->run.ops->vectors;
    const int64_t K = s->K;
    const fab_long F = fab_long_rows(s->F, s->D, K), X = vector(delta, s->D);
    FAB_TRY(make_F0(s));
    if (s->start == FAB_START_VARIANCE)
        v->map(&s->run, s->D, FAB_MAP_INVERSE_ROOT, 0, 0, s->d2, s->w);
    else
        v->fill(&s->run, s->D, s->p0, s->w);
    s->run.ops->cross(&s->run, &F, s->w, &X, r);
    FAB_TRY(fab_sum(&s->run, r, K));
    for (int64_t k = 0; k < K; k++) r[k] = s->c > 0 ? s->c * r[k] : 0; /* 5 */
    memcpy(G, s->G0, (size_t)(K * K) * sizeof *G);
    return FAB_OK;
}

#define LEAST 1e-20 /* `least` as a part of the variance: nothing beside it */

fab_status fab_start_end(fab_start *s)
{
    const fab_vectors *v = s->run.ops->vectors;
    double smallest = s->run.ops->type == FAB_F32 ? 1e-70 : 1e-307; /* 1/sqrt(least) stays finite */
    if (v->size == sizeof(float)) smallest = 1e-36;
    double mean;
    if (s->done || s->t <= s->warmup) return FAB_OK;
    FAB_TRY(mean_variance(s, s->d2, &mean));
    if (!(mean > 0)) return FAB_OK;
    v->choose(&s->run, s->D, s->varied, s->d2, mean, s->least);
    v->map(&s->run, s->D, FAB_MAP_AT_LEAST, LEAST, smallest, s->least, s->least);
    v->blend(&s->run, s->D, 1, s->least, 1, s->d2);
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

/* mu, F, psi and the variances of a result, where the host can read them. */
static void show(fab_start *s)
{
    const fab_vectors *v = s->run.ops->vectors;
    if (!s->run.ops->memory) return;
    v->fetch(&s->run, (size_t)s->D * sizeof *s->q.mu, s->mu, s->q.mu);
    v->get(&s->run, s->D, s->psi, s->q.psi);
    v->fetch(&s->run, (size_t)(s->D * s->K) * s->run.ops->size, s->F, s->q.F);
    if (s->held.room) v->get(&s->run, s->D, s->w, s->variance);
}

fab_status fab_start_finish(fab_start *s)
{
    const fab_vectors *v = s->run.ops->vectors;
    double mean;
    v->choose(&s->run, s->D, s->varied, s->w, 0, s->w); /* what constants have is `least` */
    FAB_TRY(mean_variance(s, s->w, &mean));
    if (!(mean > 0))
        return FAB_FAIL(FAB_BAD_DATA, "%s: no column varies in the %lld rows seen", s->who,
                        (long long)s->t);
    double count = (double)v->floor(&s->run, s->D, s->psi_min, s->w, mean, s->psi);
    show(s);
    FAB_TRY(fab_sum(&s->run, &count, 1)); /* and whether kernels have failed */
    s->floored = (int64_t)count;
    const fab_status status = fab_gauss_check(&s->q);
    return status == FAB_OK ? FAB_OK : fab_prefix(FAB_NUMERIC, "%s: ", s->who);
}

fab_status fab_start_report(void *handle, fab_report *d)
{
    fab_start *s = handle;
    const fab_exec x = fab_watch_exec(&s->run.watch, (fab_exec){.ops = fab_ops_host(s->run.ops),
                                                                .comm = &s->run.comm,
                                                                .threads = s->run.threads});
    *d = (fab_report){.n = s->t, .floored = s->floored, .converged = -1};
    return fab_reservoir_loglik(&s->held, &s->q, s->variance, &x, d);
}

/* ---- verbs ------------------------------------------------------------------------------------ */

static fab_status check_fault(const fab_start *s)
{
    if (s->fault == FAB_OK) return FAB_OK;
    if (s->fault == FAB_UNSUPPORTED)
        return FAB_FAIL(s->fault, "%s: its kernels failed at row %lld; go on from the last file",
                        s->who, (long long)s->t - 1);
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
    if (status == FAB_UNSUPPORTED) s->fault = status; /* kernels that failed have said it */
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
                         {"state.c", FAB_F64, 1, 0, &s->c}}};
}

static fab_fars far_of(fab_start *s)
{
    return (fab_fars){{{"state.mu", FAB_FAR_MEAN, 0, s->mu},
                       {"state.d2", FAB_FAR_VECTOR, 0, s->d2},
                       {"state.least", FAB_FAR_VECTOR, 0, s->least},
                       {"state.varied", FAB_FAR_FLAGS, 0, s->varied}}};
}

enum { FARS = sizeof(fab_fars) / sizeof(fab_far) };

/* How they stand in a file. */
static fab_far_states states_of(const fab_start *s, const fab_fars *far)
{
    fab_far_states all = {0};
    for (int i = 0; i < FARS && far->of[i].name; i++) {
        const fab_far *f = &far->of[i];
        fab_dtype type = FAB_F64;
        if (f->kind == FAB_FAR_ARRAY) type = s->run.ops->type;
        if (f->kind == FAB_FAR_FLAGS) type = FAB_I64;
        fab_far_add(&all, f->name, f->kind, type, s->D, f->k, f->p);
    }
    return all;
}

static void release_staged(fab_start *s)
{
    for (int i = 0; i < 2; i++) fab_release(s->staged[i]);
    s->staged[0] = s->staged[1] = NULL;
}

fab_status fab_start_save(void *handle, fab_tensors *t)
{
    fab_start *s = handle;
    const fab_fars own = far_of(s), of_method = s->parts->far(handle);
    const fab_states all = state_of(s), more = s->parts->state(handle);
    const fab_far_states far = states_of(s, &own), farther = states_of(s, &of_method);
    fab_states long_all, long_more;
    release_staged(s);
    FAB_TRY(fab_far_fetch(&s->run, &far, &long_all, &s->staged[0]));
    FAB_TRY(fab_far_fetch(&s->run, &farther, &long_more, &s->staged[1]));
    FAB_TRY(fab_states_save(&all, t));
    FAB_TRY(fab_states_save(&long_all, t));
    FAB_TRY(fab_states_save(&more, t));
    FAB_TRY(fab_states_save(&long_more, t));
    return fab_reservoir_save(&s->held, t);
}

fab_status fab_start_load(void *handle, const fab_tensors *t)
{
    fab_start *s = handle;
    const fab_fars own = far_of(s), of_method = s->parts->far(handle);
    const fab_states all = state_of(s), more = s->parts->state(handle);
    const fab_far_states far = states_of(s, &own), farther = states_of(s, &of_method);
    fab_states long_all, long_more;
    release_staged(s);
    FAB_TRY(fab_far_room(&s->run, &far, &long_all, &s->staged[0]));
    FAB_TRY(fab_far_room(&s->run, &farther, &long_more, &s->staged[1]));
    FAB_TRY(fab_states_load(&all, t));
    FAB_TRY(fab_states_load(&long_all, t));
    FAB_TRY(fab_states_load(&more, t));
    FAB_TRY(fab_states_load(&long_more, t));
    fab_far_store(&s->run, &long_all, &far);
    fab_far_store(&s->run, &long_more, &farther);
    FAB_TRY(fab_reservoir_load(&s->held, t));
    if (s->t < 0)
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.rows' counts %lld rows", (long long)s->t);
    s->constants = s->run.ops->vectors->unmarked(&s->run, s->D, s->varied);
    return FAB_OK;
}

void fab_start_free(void *handle)
{
    fab_start *s = handle;
    if (!s) return;
    if (s->far) s->run.ops->memory->release(s->far);
    release_staged(s);
    fab_release(s);
}
