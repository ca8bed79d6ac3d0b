/* kmeans.c - Lloyd's algorithm ([N] Algorithm 2.1) from several starts.
 *
 *   the least W = sum_i w_i |x_i - mu_c(i)|^2, from each of `restarts` starts:
 *   1  mu = seeds (seeds.c), or the means of a given start
 *   2  c(i) = the centroid nearest to x_i, of equal ones the first
 *   3  a cluster without rows takes the row of the largest w |x - mu|^2 from its own, which keeps at least one
 *   4  mu_k = the mean of the rows of k
 *   5  until no row changes its cluster; or the centroids move by no more than sum |move|^2 = tol v, v the mean variance of the
 *      columns, and 2 once more
 *   6  of the restarts the one of the least W, from differences in double
 *
 * The rows are read where they lie: 2 to 4 are one pass in the precision of the rows, exact all the same (la/centres.h).  Rows far
 * from 0 are compared about the first of them.  Restarts run side by side where there is at least one for each thread: each is a
 * step of all of them, so that whoever watches is asked in between.  The result is a mixture: mu the centroid, psi = W / (n D),
 * weight the share of the rows.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "la/ops.h"
#include "methods/mixture/centroids.h"
#include "methods/mixture/seeds.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_kmeans_settings
static const char *const starts[] = {"greedy", "kmeans++", "rows", NULL};
static const fab_field fields[] = {
    REQUIRED(G, I64, 1, 1e6, "number of clusters"),
    CHOICE(start, FAB_KMEANS_GREEDY, starts,
           "centroids to begin with: rows far apart, the best of 2 + log G draws each; by one draw "
           "each; or rows at random"),
    FIELD(restarts, I64, 10, 1, 1e6, "starts; the end of the least cost is kept"),
    FIELD(tol, F64, 0, 0, 1,
          "stop when the centroids move by less, squared, relative to the mean variance of the "
          "columns; 0: when no row changes its cluster"),
    FIELD(max_iter, I64, 300, 1, 1e9, "steps of a start"),
    FIELD(floor, F64, 1e-6, 1e-300, 0.5, "of psi, relative to the mean variance of the columns"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the starts"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("kmeans", fields);
#undef SETTINGS

/* ---- life ----------------------------------------------------------------------------------------- */

/* One start on its way. */
typedef struct lloyd {
    double *mu;     /* G x D */
    double *counts; /* G */
    int32_t *label; /* n */
    double W;
    int64_t steps, moved;
    int ended, converged;
    fab_status failed;
    fab_sentence why;
} lloyd;

/* What one thread needs for a step of one of them. */
typedef struct desk {
    fab_centres c;
    double *sums;    /* G x D */
    double *partial; /* of the sums over chunks */
    double *room;    /* of the seeds; n costs */
} desk;

typedef struct kmeans {
    fab_kmeans_settings set;
    int64_t D;
    fab_dtype type; /* of products, unless the rows are in f32 */
    int threads;
    fab_watch watch;
    double *given; /* G x D: where to begin; NULL: seeds */
    fab_rows x;
    const double *weight;
    fab_centroids found;
    fab_report report;
    double *counts; /* G */
    double cost;
    int64_t steps;

    /* while it runs */
    double *shift, *norm; /* D, or NULL; n */
    double *mean;         /* D */
    double variance;      /* of all columns together */
    int64_t restarts, desks;
    lloyd *run;  /* restarts */
    desk *place; /* desks */
} kmeans;

static void release(void *handle)
{
    kmeans *e = handle;
    if (!e) return;
    fab_centroids_free(&e->found);
    fab_release(e->given);
    fab_release(e->counts);
    fab_release(e);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_kmeans_settings *set = settings;
    fab_run run;
    kmeans *e;
    *handle = NULL;
    FAB_TRY(fab_check_alone("kmeans", x));
    FAB_TRY(fab_run_init(&run, x, x && x->ops ? x->ops->type : FAB_F64));
    FAB_TRY(fab_alloc_array((void **)&e, 1, sizeof *e, "kmeans"));
    *e = (kmeans){.set = *set,
                  .D = in->vectors,
                  .type = run.ops->type,
                  .threads = run.threads,
                  .watch = run.watch};
    fab_status s = fab_centroids_make(&e->found, e->D, set->G, "kmeans");
    if (s == FAB_OK) s = fab_alloc_array((void **)&e->counts, set->G, sizeof *e->counts, "kmeans");
    if (s == FAB_OK && in->start)
        s = fab_alloc_array((void **)&e->given, set->G * e->D, sizeof *e->given, "kmeans");
    if (s == FAB_OK && in->start) s = fab_centroids_start(in, set->G, "kmeans", e->given);
    if (s != FAB_OK) {
        release(e);
        return s;
    }
    *handle = e;
    return FAB_OK;
}

static fab_status update(void *handle, const fab_examples *x)
{
    kmeans *e = handle;
    e->x = x->x;
    e->weight = x->weight;
    return FAB_OK;
}

/* ---- a step ------------------------------------------------------------------------------------------- */

/* 3 */
static fab_status fill_empty(kmeans *e, lloyd *l, desk *d)
{
    const int64_t G = e->set.G, n = e->x.n, D = e->D;
    double *cost = NULL;
    for (int64_t k = 0; k < G; k++) {
        if (l->counts[k] > 0) continue;
        if (!cost) {
            cost = d->room;
            fab_centres_cost(&d->c, &e->x, e->weight, l->mu, l->label, cost);
        }
        int64_t far = -1;
        for (int64_t i = 0; i < n; i++) {
            const double w = e->weight ? e->weight[i] : 1;
            if (cost[i] > (far < 0 ? 0 : cost[far]) && l->counts[l->label[i]] > w) far = i;
        }
        if (far < 0)
            return FAB_FAIL(FAB_BAD_DATA,
                            "kmeans: fewer than G = %lld distinct rows; ask for fewer clusters",
                            (long long)G);
        const double w = e->weight ? e->weight[far] : 1;
        double *from = d->sums + l->label[far] * D, *to = d->sums + k * D;
        double *row = d->room + n; /* behind the costs */
        fab_rows_get(&e->x, far, D, row);
        for (int64_t j = 0; j < D; j++) {
            const double part = w * (row[j] - (e->shift ? e->shift[j] : 0));
            from[j] -= part;
            to[j] = part;
        }
        l->counts[l->label[far]] -= w;
        l->counts[k] = w;
        l->label[far] = (int32_t)k;
        cost[far] = 0;
        l->moved++;
    }
    return FAB_OK;
}

static fab_status begin(kmeans *e, lloyd *l, desk *d, int64_t number)
{
    const int64_t G = e->set.G;
    for (int64_t i = 0; i < e->x.n; i++) l->label[i] = -1;
    if (e->given) {
        memcpy(l->mu, e->given, (size_t)(G * e->D) * sizeof *l->mu);
        return FAB_OK;
    }
    const fab_seeds seeds = {.c = &d->c,
                             .x = &e->x,
                             .weight = e->weight,
                             .G = G,
                             .how = e->set.start,
                             .seed = (uint64_t)e->set.seed,
                             .stream = (uint64_t)number,
                             .who = "kmeans",
                             .room = d->room};
    return fab_seeds_choose(&seeds, l->mu, NULL);
}

static fab_status step(kmeans *e, lloyd *l, desk *d)
{
    const int64_t G = e->set.G, D = e->D;
    fab_assignment a = {.x = &e->x,
                        .weight = e->weight,
                        .norm = e->norm,
                        .label = l->label,
                        .sums = d->sums,
                        .counts = l->counts,
                        .partial = d->partial};
    const int64_t moved = l->moved;
    fab_centres_set(&d->c, G, l->mu);
    fab_centres_assign(&d->c, &a); /* 2 */
    FAB_TRY(fill_empty(e, l, d));  /* 3 */
    l->steps++;
    double way = 0;
    for (int64_t k = 0; k < G; k++) /* 4 */
        for (int64_t j = 0; j < D; j++) {
            const double mean = d->sums[k * D + j] / l->counts[k] + (e->shift ? e->shift[j] : 0);
            const double by = mean - l->mu[k * D + j];
            way += by * by;
            l->mu[k * D + j] = mean;
        }
    const int still = a.changed == 0 && l->moved == moved;
    const int near = e->set.tol > 0 && way <= e->set.tol * e->variance / (double)D;
    l->converged = still || near; /* 5 */
    l->ended = l->converged || l->steps == e->set.max_iter;
    if (!l->ended) return FAB_OK;
    if (!still) {
        fab_centres_set(&d->c, G, l->mu);
        a.sums = NULL;
        fab_centres_assign(&d->c, &a);
        memset(l->counts, 0, (size_t)G * sizeof *l->counts);
        for (int64_t i = 0; i < e->x.n; i++) {
            const double w = e->weight ? e->weight[i] : 1;
            l->counts[l->label[i]] += w;
        }
    }
    l->W = fab_centres_cost(&d->c, &e->x, e->weight, l->mu, l->label, NULL);
    if (!isfinite(l->W))
        return FAB_FAIL(FAB_NUMERIC,
                        "kmeans: the squared distances of the rows sum to %g: scale the columns",
                        l->W);
    return FAB_OK;
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static void advance(void *ctx, int64_t number, int thread)
{
    kmeans *e = ctx;
    lloyd *l = e->run + number;
    desk *d = e->place + (e->desks > 1 ? thread : 0);
    if (l->ended) return;
    fab_status s = l->steps == 0 ? begin(e, l, d, number) : FAB_OK; /* 1 */
    if (s == FAB_OK) s = step(e, l, d);
    if (s == FAB_OK) return;
    l->failed = s;
    l->ended = 1;
    fab_sentence_keep(&l->why);
}

static fab_status run(kmeans *e)
{
    const int side_by_side = e->desks > 1;
    int64_t steps = 0;
    for (int64_t first = 0; first < e->restarts;) {
        const int64_t end = side_by_side ? e->restarts : first + 1;
        if (side_by_side)
            fab_parallel(e->threads, e->restarts, advance, e);
        else
            advance(e, first, 0);
        int64_t going = 0;
        for (int64_t i = first; i < end; i++) {
            if (e->run[i].failed != FAB_OK)
                return fab_sentence_raise(e->run[i].failed, &e->run[i].why);
            going += !e->run[i].ended;
        }
        FAB_TRY(fab_watch_tick(&e->watch, "kmeans", ++steps, 0));
        if (!going) first = end;
    }
    return FAB_OK;
}

static void keep_best(kmeans *e, const fab_mixture **q)
{
    const lloyd *best = e->run;
    for (int64_t i = 1; i < e->restarts; i++) /* 6 */
        if (e->run[i].W < best->W) best = e->run + i;
    memcpy(e->counts, best->counts, (size_t)e->set.G * sizeof *e->counts);
    e->cost = best->W;
    e->steps = best->steps;
    fab_centroids_set(&e->found, e->set.G, best->mu, best->counts, best->W,
                      e->variance / (double)e->D, e->set.floor, q);
    e->report = (fab_report){.iterations = best->steps,
                             .converged = best->converged,
                             .floored = e->found.floored,
                             .loglik_mean = NAN,
                             .cost = best->W,
                             .moved = best->moved};
}

/* The variance of all columns, the first row to compare about where the rows are far from 0, and |x| about it. */
static fab_status measure_rows(kmeans *e, fab_dtype type)
{
    fab_spread spread;
    fab_centres c;
    FAB_TRY(fab_rows_spread(&e->x, e->weight, e->D, e->threads, "kmeans", e->mean, &spread));
    e->variance = spread.variance;
    fab_rows_get(&e->x, 0, e->D, e->shift);
    if (!spread.far) e->shift = NULL;
    FAB_TRY(fab_centres_init(&c, e->D, 1, type, e->shift, e->threads, "kmeans"));
    fab_centres_norms(&c, &e->x, e->norm);
    fab_centres_free(&c);
    return FAB_OK;
}

static int64_t seeds_room(const kmeans *e)
{
    const int64_t seeds = fab_seeds_room(e->x.n, e->set.G, e->D), costs = e->x.n + e->D;
    return seeds > costs ? seeds : costs;
}

static void layout(fab_layout *l, void *handle)
{
    kmeans *e = handle;
    const int64_t n = e->x.n, G = e->set.G, D = e->D;
    e->shift = fab_place(l, D, sizeof *e->shift);
    e->norm = fab_place(l, n, sizeof *e->norm);
    e->mean = fab_place(l, D, sizeof *e->mean);
    e->run = fab_place(l, e->restarts, sizeof *e->run);
    e->place = fab_place(l, e->desks, sizeof *e->place);
    for (int64_t i = 0; i < e->restarts; i++) {
        double *mu = fab_place(l, G * D, sizeof *mu), *counts = fab_place(l, G, sizeof *counts);
        int32_t *label = fab_place(l, n, sizeof *label);
        if (l->base) e->run[i] = (lloyd){.mu = mu, .counts = counts, .label = label};
    }
    for (int64_t i = 0; i < e->desks; i++) {
        double *sums = fab_place(l, G * D, sizeof *sums);
        double *partial = fab_place(l, fab_centres_partials(n, G, D), sizeof *partial);
        double *room = fab_place(l, seeds_room(e), sizeof *room);
        if (l->base) e->place[i] = (desk){.sums = sums, .partial = partial, .room = room};
    }
}

/* How many restarts there are, and how many run side by side. */
static void plan(kmeans *e)
{
    e->restarts = e->given ? 1 : e->set.restarts;
    e->desks = e->restarts >= e->threads ? e->threads : 1;
}

static fab_status mixture(void *handle, const fab_mixture **q)
{
    kmeans *e = handle, proto;
    void *block;
    plan(e);
    proto = *e;
    FAB_TRY(fab_build(&block, sizeof proto, &proto, layout));
    kmeans *work = block;
    const fab_dtype type = fab_centres_type(&e->x, e->type);
    fab_status s = measure_rows(work, type);
    for (int64_t i = 0; i < work->desks && s == FAB_OK; i++)
        s = fab_centres_init(&work->place[i].c, e->D, e->set.G, type, work->shift,
                             work->desks > 1 ? 1 : e->threads, "kmeans");
    if (s == FAB_OK) s = run(work);
    if (s == FAB_OK) {
        keep_best(work, q);
        e->report = work->report;
        e->cost = work->cost;
        e->steps = work->steps;
        e->found = work->found;
        *q = &e->found.q;
    }
    for (int64_t i = 0; i < work->desks; i++) fab_centres_free(&work->place[i].c);
    fab_release(block);
    return s;
}

/* ---- the method ------------------------------------------------------------------------------------- */

static fab_status report(void *handle, fab_report *r)
{
    *r = ((kmeans *)handle)->report;
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    kmeans *e = handle;
    const int64_t one = 1;
    FAB_TRY(fab_tensors_add(t, "counts", FAB_F64, 1, &e->set.G, e->counts));
    FAB_TRY(fab_tensors_add(t, "cost", FAB_F64, 1, &one, &e->cost));
    return fab_tensors_add(t, "iterations", FAB_I64, 1, &one, &e->steps);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    kmeans e = {.set = *(const fab_kmeans_settings *)settings, .D = in->vectors, .x.n = n};
    fab_run run;
    if (fab_run_init(&run, x, x && x->ops ? x->ops->type : FAB_F64) != FAB_OK) return NAN;
    e.threads = run.threads;
    e.given = in->start ? &e.cost : NULL;
    plan(&e);
    return (double)fab_build_size(sizeof e, &e, layout) + fab_centroids_bytes(e.D, e.set.G) +
           (double)e.desks *
               fab_centres_bytes(e.D, e.set.G, run.ops->type, e.desks > 1 ? 1 : e.threads);
}

const fab_method fab_kmeans_method = {
    .name = "kmeans",
    .summary = "clusters around means: Lloyd's algorithm",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS | FAB_TAKES_SPARSE,
    .starts = 1,
    .fields = &table,
    .init = init,
    .update = update,
    .mixture = mixture,
    .report = report,
    .tensors = tensors,
    .free = release,
    .bytes = bytes,
};
