/* minibatch_kmeans.c - K-means of a stream, block by block (Sculley 2010).
 *
 *   start:
 *   1  mu, N = centroids and counts of kmeans, of `restarts` starts, on the first `warmup` rows
 *   for each block of rows:
 *   2  c(i) = the centroid nearest to x_i;  m_k, xbar_k = weight and mean of the rows of k
 *   3  N_k <- (n / (n + m))^fade forget^m N_k + m_k,  mu_k += m_k / N_k (xbar_k - mu_k)
 *                                                           n, m = the weight of the rows before, and of the block
 *   4  a centroid with N_k < starve mean N is moved to the row of the block that is farthest from its own; N_k = the weight of
 *      that row
 *   result:
 *   5  the pending rows go through 1 or 2 and 3 in a copy;  psi = W / (n D), W the sum of |x - mu|^2 as the rows came
 *
 * With forget = 1 the centroid is the mean of all rows that were ever nearest to it: rate 1 / N_k.  Rows that came when the centroids
 * stood elsewhere hold it back.  A block that lies whole in the caller's memory is read there; others wait until they are whole, so
 * that how rows are split over updates does not matter.  Products are in f32, and exact all the same (la/centres.h).
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/fit.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "la/centres.h"
#include "la/ops.h"
#include "methods/mixture/centroids.h"
#include "train/state.h"
#include <math.h>
#include <string.h>

enum { BLOCK = 1024, ROWS_PER_CLUSTER = 30 };

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_minibatch_kmeans_settings
static const fab_field fields[] = {
    REQUIRED(G, I64, 1, 1e6, "number of clusters"),
    FIELD(block, I64, BLOCK, 1, 0x1p20, "rows in a step"),
    AUTOMATIC(warmup, I64, 1, 0x1p24,
              "rows that the centroids begin from; auto: block or 30 G, the larger"),
    FIELD(restarts, I64, 2, 1, 1e6, "starts of kmeans on them; the end of the least cost is kept"),
    FIELD(max_iter, I64, 10, 1, 1e9, "steps of such a start"),
    FIELD(fade, F64, 2, 0, 100,
          "rows count as (their number)^fade, for the first ones came when the centroids stood "
          "elsewhere; 0: all alike, rate 1 / count"),
    FIELD(forget, F64, 1, 0.5, 1, "weight of the past for each new row"),
    FIELD(starve, F64, 0.01, 0, 1,
          "a centroid whose count is below this share of the mean count moves to a far row"),
    FIELD(floor, F64, 1e-6, 1e-300, 0.5, "of psi, relative to the mean variance of the first rows"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the starts"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("minibatch-kmeans", fields);
#undef SETTINGS

/* ---- life ----------------------------------------------------------------------------------------- */

/* What the rows have made: a result works on a copy. */
typedef struct cluster_state {
    double *mu;     /* G x D */
    double *counts; /* G */
    double W, n;    /* of the rows in it: squared distances as they came; weights */
    double scale;   /* mean variance of the first rows */
    int64_t moved, stage, shifted;
} cluster_state;

/* Stages: nothing yet; mu is where to begin, and no row has come through; running. */
enum { EMPTY, GIVEN, RUNNING };

typedef struct minibatch {
    fab_minibatch_kmeans_settings set;
    int64_t D, room; /* rows that may wait */
    int threads;
    fab_exec exec;
    fab_watch watch;
    fab_centres c;
    cluster_state now, copy;
    double *shift; /* D: the first row */
    double *sums, *counts, *partial, *square;
    int32_t *label;
    double *X, *w; /* rows that wait, room x D; their weights */
    int64_t pending;
    double rows;
    fab_status fault;
    fab_centroids found;
    fab_report report;
} minibatch;

static void resolve(fab_minibatch_kmeans_settings *s)
{
    if (!fab_is_auto_i64(s->warmup)) return;
    s->warmup = ROWS_PER_CLUSTER * s->G;
    if (s->warmup < s->block) s->warmup = s->block;
}

static void layout(fab_layout *l, void *handle)
{
    minibatch *e = handle;
    const int64_t G = e->set.G, D = e->D;
    e->now.mu = fab_place(l, G * D, sizeof *e->now.mu);
    e->now.counts = fab_place(l, G, sizeof *e->now.counts);
    e->copy.mu = fab_place(l, G * D, sizeof *e->copy.mu);
    e->copy.counts = fab_place(l, G, sizeof *e->copy.counts);
    e->shift = fab_place(l, D, sizeof *e->shift);
    e->sums = fab_place(l, G * D, sizeof *e->sums);
    e->counts = fab_place(l, G, sizeof *e->counts);
    e->partial = fab_place(l, fab_centres_partials(e->set.block, G, D), sizeof *e->partial);
    e->square = fab_place(l, e->set.block, sizeof *e->square);
    e->label = fab_place(l, e->set.block, sizeof *e->label);
    e->X = fab_place(l, e->room * D, sizeof *e->X);
    e->w = fab_place(l, e->room, sizeof *e->w);
}

static void release(void *handle)
{
    minibatch *e = handle;
    if (!e) return;
    fab_centres_free(&e->c);
    fab_centroids_free(&e->found);
    fab_release(e);
}

static fab_status prototype(minibatch *e, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    fab_run run;
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    *e = (minibatch){.set = *(const fab_minibatch_kmeans_settings *)settings,
                     .D = in->vectors,
                     .threads = run.threads,
                     .watch = run.watch};
    resolve(&e->set);
    e->now.stage = in->start ? GIVEN : EMPTY;
    e->room = e->set.warmup > e->set.block ? e->set.warmup : e->set.block;
    return FAB_OK;
}

/* Of the start, which is not left half done: whoever watches is asked, and what was asked for goes on; the fit keeps the answer. */
static int ask(void *ctx, const char *what, int64_t done, int64_t total)
{
    const minibatch *e = ctx;
    (void)what;
    (void)fab_watch_tick(&e->watch, "minibatch-kmeans", done, total);
    return 0;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    minibatch proto, *e;
    *handle = NULL;
    FAB_TRY(fab_check_alone("minibatch-kmeans", x));
    FAB_TRY(prototype(&proto, settings, in, x));
    if (proto.set.warmup < proto.set.G)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "minibatch-kmeans: warmup = %lld for G = %lld clusters, expected at least G",
            (long long)proto.set.warmup, (long long)proto.set.G);
    FAB_TRY(fab_build((void **)&e, sizeof *e, &proto, layout));
    e->exec = fab_watch_exec(&e->watch, (fab_exec){.threads = e->threads});
    e->exec.progress = ask;
    e->exec.progress_ctx = e;
    fab_status s = fab_centroids_make(&e->found, e->D, e->set.G, "minibatch-kmeans");
    if (s == FAB_OK && in->start)
        s = fab_centroids_start(in, e->set.G, "minibatch-kmeans", e->now.mu);
    if (s == FAB_OK)
        s = fab_centres_init(&e->c, e->D, e->set.G, FAB_F32, NULL, e->threads, "minibatch-kmeans");
    if (s != FAB_OK) {
        release(e);
        return s;
    }
    *handle = e;
    return FAB_OK;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    minibatch proto;
    (void)n; /* a stream: the same for any number of rows */
    if (prototype(&proto, settings, in, x) != FAB_OK) return NAN;
    fab_kmeans_settings warm = fab_kmeans_defaults(proto.set.G);
    warm.restarts = proto.set.restarts;
    return (double)fab_build_size(sizeof proto, &proto, layout) +
           fab_centroids_bytes(proto.D, proto.set.G) +
           fab_centres_bytes(proto.D, proto.set.G, FAB_F32, proto.threads) +
           (in->start ? 0 : fab_fit_bytes("kmeans", &warm, sizeof warm, in, proto.set.warmup, x));
}

/* ---- the algorithm ---------------------------------------------------------------------------- */

/* 1 */
static fab_status kmeans_of(minibatch *e, cluster_state *to, const fab_rows *x, const double *w)
{
    fab_fit *f = NULL;
    const fab_mixture *q;
    const fab_tensors *more;
    fab_report r;
    const fab_kmeans_settings s = {.G = e->set.G,
                                   .restarts = e->set.restarts,
                                   .max_iter = e->set.max_iter,
                                   .floor = e->set.floor,
                                   .seed = e->set.seed};
    fab_status done =
        fab_fit_create(&f, "kmeans", &s, sizeof s, &(fab_input){.vectors = e->D}, &e->exec);
    if (done == FAB_OK) done = fab_fit_update(f, &(fab_examples){.x = *x, .weight = w});
    if (done == FAB_OK) done = fab_fit_result(f, &q);
    if (done == FAB_OK) done = fab_fit_report(f, &r);
    if (done == FAB_OK) done = fab_fit_tensors(f, &more);
    if (done == FAB_OK) {
        memcpy(to->counts, fab_tensors_find(more, "counts")->data,
               (size_t)e->set.G * sizeof *to->counts);
        for (int64_t k = 0; k < e->set.G; k++)
            memcpy(to->mu + k * e->D, q->part[k]->mu, (size_t)e->D * sizeof *to->mu);
        to->W = r.cost;
    }
    fab_fit_free(f);
    return done;
}

/* 2 - 4 */
static void step(minibatch *e, cluster_state *s, const fab_rows *x, const double *w)
{
    const int64_t G = e->set.G, D = e->D, n = x->n;
    fab_assignment a = {.x = x,
                        .weight = w,
                        .label = e->label,
                        .sums = e->sums,
                        .counts = e->counts,
                        .square = e->square,
                        .partial = e->partial};
    double all = 0, mean = 0;
    e->c.shift = s->shifted ? e->shift : NULL;
    fab_centres_set(&e->c, G, s->mu);
    fab_centres_assign(&e->c, &a); /* 2 */
    for (int64_t i = 0; i < n; i++) {
        all += w ? w[i] : 1;
        s->W += (w ? w[i] : 1) * e->square[i];
    }
    s->n += all;
    double keep = e->set.fade > 0 ? pow((s->n - all) / s->n, e->set.fade) : 1;
    if (e->set.forget < 1) keep *= pow(e->set.forget, all);
    for (int64_t k = 0; k < G; k++) { /* 3 */
        const double m = e->counts[k];
        s->counts[k] = keep * s->counts[k] + m;
        mean += s->counts[k] / (double)G;
        if (!(m > 0)) continue;
        const double rate = m / s->counts[k];
        for (int64_t d = 0; d < D; d++) {
            const double bar = e->sums[k * D + d] / m + (s->shifted ? e->shift[d] : 0);
            s->mu[k * D + d] += rate * (bar - s->mu[k * D + d]);
        }
    }
    for (int64_t k = 0; k < G; k++) { /* 4 */
        if (!(s->counts[k] < e->set.starve * mean)) continue;
        int64_t far = -1;
        for (int64_t i = 0; i < n; i++)
            if (e->square[i] > (far < 0 ? 0 : e->square[far])) far = i;
        if (far < 0) return;
        fab_rows_get(x, far, D, s->mu + k * D);
        s->counts[k] = w ? w[far] : 1;
        e->square[far] = 0;
        s->moved++;
    }
}

static fab_status begin(minibatch *e, cluster_state *s, const fab_rows *x, const double *w)
{
    fab_spread spread;
    FAB_TRY(fab_rows_spread(x, w, e->D, e->threads, "minibatch-kmeans", e->sums, &spread));
    s->scale = spread.variance / (double)e->D;
    s->shifted = spread.far;
    fab_rows_get(x, 0, e->D, e->shift);
    if (s->stage == GIVEN) {
        step(e, s, x, w);
    } else {
        const fab_status done = kmeans_of(e, s, x, w);
        if (done != FAB_OK)
            return fab_prefix(done, "minibatch-kmeans: the first %lld rows: ", (long long)x->n);
        s->n = spread.weight;
    }
    s->stage = RUNNING;
    return FAB_OK;
}

static fab_status take(minibatch *e, cluster_state *s, const fab_rows *x, const double *w)
{
    if (s->stage != RUNNING) return begin(e, s, x, w);
    step(e, s, x, w);
    return FAB_OK;
}

static int64_t wanted(const minibatch *e)
{
    return e->now.stage == EMPTY ? e->set.warmup : e->set.block;
}

/* Pieces end where a block does. */
static double work(const void *handle)
{
    const minibatch *e = handle;
    return FAB_WATCH_WORK / ((double)(wanted(e) - e->pending) + 0.5);
}

static fab_status check_fault(const minibatch *e)
{
    if (e->fault == FAB_OK) return FAB_OK;
    return FAB_FAIL(e->fault,
                    "minibatch-kmeans: the start failed after %.0f rows, and the stream cannot go "
                    "on: give a larger warmup",
                    e->rows);
}

static fab_status update(void *handle, const fab_examples *x)
{
    minibatch *e = handle;
    FAB_TRY(check_fault(e));
    for (int64_t done = 0; done < x->x.n;) {
        const int64_t full = wanted(e), left = x->x.n - done, space = full - e->pending;
        const int64_t n = left < space ? left : space;
        const fab_rows part = fab_rows_part(&x->x, done, n);
        const double *w = x->weight ? x->weight + done : NULL;
        fab_status s = FAB_OK;
        e->rows += (double)n;
        done += n;
        if (n == full) { /* a block that lies whole */
            s = take(e, &e->now, &part, w);
        } else {
            for (int64_t i = 0; i < n; i++) {
                fab_rows_get(&part, i, e->D, e->X + (e->pending + i) * e->D);
                e->w[e->pending + i] = w ? w[i] : 1;
            }
            e->pending += n;
            if (e->pending < full) return FAB_OK;
            const fab_rows block = {e->X, FAB_F64, full, e->D};
            s = take(e, &e->now, &block, e->w);
            e->pending = 0;
        }
        if (s != FAB_OK) e->fault = s;
        FAB_TRY(s);
    }
    return FAB_OK;
}

/* ---- the result ------------------------------------------------------------------------------- */

/* 5 */
static fab_status mixture(void *handle, const fab_mixture **q)
{
    minibatch *e = handle;
    const int64_t G = e->set.G, D = e->D;
    FAB_TRY(check_fault(e));
    const cluster_state room = e->copy;
    e->copy = e->now;
    e->copy.mu = room.mu;
    e->copy.counts = room.counts;
    memcpy(room.mu, e->now.mu, (size_t)(G * D) * sizeof *room.mu);
    memcpy(room.counts, e->now.counts, (size_t)G * sizeof *room.counts);
    if (e->pending) {
        const fab_rows block = {e->X, FAB_F64, e->pending, D};
        FAB_TRY(take(e, &e->copy, &block, e->w));
    }
    const cluster_state *s = &e->copy;
    if (!isfinite(s->W))
        return FAB_FAIL(
            FAB_NUMERIC,
            "minibatch-kmeans: the squared distances of the rows sum to %g: scale the columns",
            s->W);
    double all = 0; /* the counts are of rows that fade, W is not */
    for (int64_t k = 0; k < G; k++) all += s->counts[k];
    fab_centroids_set(&e->found, G, s->mu, s->counts, s->W / s->n * all, s->scale, e->set.floor, q);
    e->report = (fab_report){.converged = -1,
                             .floored = e->found.floored,
                             .loglik_mean = NAN,
                             .cost = s->W,
                             .moved = s->moved};
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    *r = ((minibatch *)handle)->report;
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    minibatch *e = handle;
    const int64_t one = 1;
    FAB_TRY(fab_tensors_add(t, "counts", FAB_F64, 1, &e->set.G, e->copy.counts));
    return fab_tensors_add(t, "cost", FAB_F64, 1, &one, &e->copy.W);
}

/* ---- files ------------------------------------------------------------------------------------ */

static fab_states state_of(minibatch *e)
{
    const int64_t D = e->D, G = e->set.G;
    return (fab_states){{{"state.rows", FAB_F64, 1, 0, &e->rows},
                         {"state.mu", FAB_F64, G, D, e->now.mu},
                         {"state.counts", FAB_F64, G, 0, e->now.counts},
                         {"state.cost", FAB_F64, 1, 0, &e->now.W},
                         {"state.weight", FAB_F64, 1, 0, &e->now.n},
                         {"state.scale", FAB_F64, 1, 0, &e->now.scale},
                         {"state.moved", FAB_I64, 1, 0, &e->now.moved},
                         {"state.stage", FAB_I64, 1, 0, &e->now.stage},
                         {"state.shifted", FAB_I64, 1, 0, &e->now.shifted},
                         {"state.shift", FAB_F64, D, 0, e->shift},
                         {"state.pending", FAB_F64, e->pending, D, e->X},
                         {"state.pending_weight", FAB_F64, e->pending, 0, e->w}}};
}

static fab_status save(void *handle, fab_tensors *t)
{
    const fab_states all = state_of(handle);
    return fab_states_save(&all, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    minibatch *e = handle;
    const fab_tensor *pending = fab_tensors_find(t, "state.pending");
    if (!pending || pending->ndim != 2 || pending->shape[0] < 0 || pending->shape[0] >= e->room)
        return FAB_FAIL(FAB_BAD_FILE,
                        "tensor 'state.pending' is absent or has more rows than a block");
    e->pending = pending->shape[0];
    const fab_states all = state_of(e);
    FAB_TRY(fab_states_load(&all, t));
    int ok = e->now.W >= 0 && e->now.n >= 0 && e->now.scale >= 0 && e->rows >= 0 &&
             e->now.stage >= EMPTY && e->now.stage <= RUNNING && e->now.shifted >= 0 &&
             e->now.shifted <= 1 && e->now.moved >= 0 && e->pending < wanted(e);
    for (int64_t k = 0; k < e->set.G; k++) ok = ok && e->now.counts[k] >= 0;
    for (int64_t j = 0; j < e->pending; j++) ok = ok && e->w[j] > 0;
    if (!ok)
        return FAB_FAIL(FAB_BAD_FILE,
                        "the state to go on from has counts, weights or marks that none can have");
    return FAB_OK;
}

const fab_method fab_minibatch_kmeans_method = {
    .name = "minibatch-kmeans",
    .summary = "clusters around means of a stream, one pass",
    .streams = 1,
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS | FAB_TAKES_SPARSE,
    .starts = 1,
    .fields = &table,
    .init = init,
    .update = update,
    .work = work,
    .mixture = mixture,
    .mixture_so_far = mixture,
    .report = report,
    .tensors = tensors,
    .free = release,
    .bytes = bytes,
    .save = save,
    .load = load,
};
