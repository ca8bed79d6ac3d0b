/* dpmeans.c - clusters around means, as many as pay for themselves (Kulis and Jordan 2012; [N] 2.1.2).
 *
 *   the least W + lambda K,  W = sum_i w_i |x_i - mu_c(i)|^2, K the number of clusters:
 *   1  K = 1, mu_1 = the mean of all rows
 *   2  pass: for row i = 1 .. n, with the nearest centroid k and square = |x_i - mu_k|^2
 *   3    w_i square > lambda:  K <- K + 1, mu_K = x_i, c(i) = K;  else c(i) = k
 *   4  update = batch:      after the pass mu_k = the mean of the rows of k
 *      update = immediate:  at 3, where the row changes its cluster, the means of the one that it leaves and of the one it enters
 *   5  clusters without rows are dropped (immediate: at once)
 *   6  until a pass changes no row's cluster
 *
 * A distance that rounding leaves founds nothing.  Each of 3, 4 and 5 lowers the cost or leaves it, so the passes end.  A row that founds a cluster leaves its old one, whose mean is
 * that of the others then.  In a batch pass rows are compared block by block with the centroids that were there before the block, by
 * products, and with those that the block has founded by differences; the immediate update compares by differences.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "la/centres.h"
#include "la/ops.h"
#include "methods/mixture/centroids.h"
#include "methods/mixture/groups.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 1024 };

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_dpmeans_settings
static const char *const updates[] = {"batch", "immediate", NULL};
static const fab_field fields[] = {
    REQUIRED(lambda, F64, 1e-300, 1e300, "what a cluster costs, in squared distances"),
    CHOICE(update, FAB_DPMEANS_BATCH, updates,
           "move centroids after a pass over the rows, or at each row that changes its cluster"),
    FIELD(max_iter, I64, 300, 1, 1e9, "passes"),
    FIELD(floor, F64, 1e-6, 1e-300, 0.5, "of psi, relative to the mean variance of the columns"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("dpmeans", fields);
#undef SETTINGS

/* ---- life ----------------------------------------------------------------------------------------- */

typedef struct dpmeans {
    fab_dpmeans_settings set;
    int64_t D;
    fab_dtype type;
    int threads;
    fab_watch watch;
    fab_rows x;
    const double *weight;
    fab_centroids found;
    fab_groups all; /* means, counts */
    fab_report report;
} dpmeans;

static void release(void *handle)
{
    dpmeans *e = handle;
    if (!e) return;
    fab_centroids_free(&e->found);
    fab_groups_free(&e->all);
    fab_release(e);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    fab_run run;
    dpmeans *e;
    *handle = NULL;
    FAB_TRY(fab_check_alone("dpmeans", x));
    FAB_TRY(fab_run_init(&run, x, x && x->ops ? x->ops->type : FAB_F64));
    FAB_TRY(fab_alloc_array((void **)&e, 1, sizeof *e, "dpmeans"));
    *e = (dpmeans){.set = *(const fab_dpmeans_settings *)settings,
                   .D = in->vectors,
                   .type = run.ops->type,
                   .threads = run.threads,
                   .watch = run.watch};
    *handle = e;
    return FAB_OK;
}

static fab_status update(void *handle, const fab_examples *x)
{
    dpmeans *e = handle;
    e->x = x->x;
    e->weight = x->weight;
    return FAB_OK;
}

/* ---- while it runs -------------------------------------------------------------------------------- */

typedef struct work {
    dpmeans *e;
    fab_spread spread;
    int32_t *label, *before; /* n: clusters of the rows, of the last pass */
    double *mean, *shift;    /* D, D or NULL */
    double *row;             /* D */
    double *square;          /* BLOCK: to the nearest centroid that was there before the block */
    int64_t *place;          /* where clusters are once empty ones are gone; grows with them */
    int64_t places;
    fab_centres c;
    int64_t room; /* of c */
    void *block;
} work;

static double weight_of(const work *k, int64_t i)
{
    return k->e->weight ? k->e->weight[i] : 1;
}

/* Products with all centroids that there are. */
static fab_status pack(work *k)
{
    dpmeans *e = k->e;
    if (e->all.n > k->room) {
        fab_centres_free(&k->c);
        k->room = 2 * e->all.n;
        FAB_TRY(fab_centres_init(&k->c, e->D, k->room, fab_centres_type(&e->x, e->type), k->shift,
                                 e->threads, "dpmeans"));
    }
    fab_centres_set(&k->c, e->all.n, e->all.mu);
    return FAB_OK;
}

static double squared(const double *x, const double *y, int64_t D)
{
    const fab_rows row = {x, FAB_F64, 1, D};
    return fab_row_distance(&row, 0, D, y);
}

/* What is left of the squared distance of k->row to the mean of rows that are all alike. */
static double rounding(const work *k)
{
    double square = 0;
    for (int64_t d = 0; d < k->e->D; d++)
        square += k->row[d] * k->row[d] + k->e->all.about[d] * k->e->all.about[d];
    return 64 * DBL_EPSILON * DBL_EPSILON * square;
}

/* 3, among the clusters first .. n - 1 and the best so far; *to: the cluster of the row, *founded: it is a new one. */
static fab_status place_row(work *k, int64_t i, int64_t first, double least, int32_t *to,
                            int *founded)
{
    dpmeans *e = k->e;
    const int64_t D = e->D;
    fab_rows_get(&e->x, i, D, k->row);
    for (int64_t j = first; j < e->all.n; j++) {
        const double square = squared(k->row, e->all.mu + j * D, D);
        if (square < least) {
            least = square;
            *to = (int32_t)j;
        }
    }
    *founded = weight_of(k, i) * least > e->set.lambda && least > rounding(k);
    if (!*founded) return FAB_OK;
    *to = (int32_t)e->all.n;
    return fab_groups_add(&e->all, k->row, "dpmeans");
}

/* 5  Drop the clusters without rows; labels follow. */
static fab_status drop_empty(work *k)
{
    dpmeans *e = k->e;
    if (e->all.n > k->places) {
        fab_release(k->place);
        k->place = NULL;
        k->places = 2 * e->all.n;
        FAB_TRY(fab_alloc_array((void **)&k->place, k->places, sizeof *k->place, "dpmeans"));
    }
    fab_groups_pack(&e->all, k->place);
    for (int64_t i = 0; i < e->x.n; i++)
        if (k->label[i] >= 0) k->label[i] = (int32_t)k->place[k->label[i]];
    return FAB_OK;
}

/* 2 - 4, batch; *changed: rows of another cluster than before. */
static fab_status batch_pass(work *k, int64_t *changed)
{
    dpmeans *e = k->e;
    const int64_t D = e->D, n = e->x.n;
    int64_t packed = -1;
    *changed = 0;
    memcpy(k->before, k->label, (size_t)n * sizeof *k->label);
    fab_groups_empty(&e->all);
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t rows = n - i < BLOCK ? n - i : BLOCK, known = e->all.n;
        const fab_rows part = fab_rows_part(&e->x, i, rows);
        fab_assignment a = {.x = &part, .label = k->label + i, .square = k->square};
        if (packed != known) FAB_TRY(pack(k));
        packed = known;
        k->c.mu = e->all.mu; /* which may have moved as it grew */
        fab_centres_assign(&k->c, &a);
        for (int64_t r = i; r < i + rows; r++) {
            int founded;
            FAB_TRY(place_row(k, r, known, k->square[r - i], &k->label[r], &founded));
            fab_groups_count(&e->all, k->label[r], weight_of(k, r), k->row);
            *changed += founded || k->label[r] != k->before[r];
        }
        FAB_TRY(fab_watch_work(&e->watch, (double)rows * (double)D * (double)e->all.n, "dpmeans",
                               i + rows, n));
    }
    for (int64_t j = 0; j < e->all.n; j++) fab_groups_centre(&e->all, j);
    return FAB_OK;
}

/* 2 - 5, immediate. */
static fab_status immediate_pass(work *k, int64_t *changed)
{
    dpmeans *e = k->e;
    const int64_t n = e->x.n, D = e->D;
    *changed = 0;
    for (int64_t i = 0; i < n; i++) {
        int founded;
        int32_t to = 0;
        FAB_TRY(place_row(k, i, 0, INFINITY, &to, &founded));
        FAB_TRY(fab_watch_work(&e->watch, (double)D * (double)e->all.n, "dpmeans", i, n));
        const int32_t from = k->label[i];
        if (from == to) continue;
        ++*changed;
        k->label[i] = to;
        fab_groups_count(&e->all, to, weight_of(k, i), k->row);
        fab_groups_centre(&e->all, to);
        fab_groups_count(&e->all, from, -weight_of(k, i), k->row);
        if (e->all.rows[from] > 0)
            fab_groups_centre(&e->all, from);
        else
            FAB_TRY(drop_empty(k));
    }
    return FAB_OK;
}

static fab_status prepare(work *k)
{
    dpmeans *e = k->e;
    const int64_t n = e->x.n, D = e->D;
    double *first;
    FAB_TRY(fab_alloc_array(&k->block, n + 3 * D + BLOCK, sizeof(double), "dpmeans"));
    k->mean = k->block;
    k->row = k->mean + D;
    first = k->row + D;
    k->square = first + D;
    k->label = (int32_t *)(void *)(k->square + BLOCK);
    k->before = k->label + n;
    FAB_TRY(fab_rows_spread(&e->x, e->weight, D, e->threads, "dpmeans", k->mean, &k->spread));
    if (!isfinite(k->spread.variance))
        return FAB_FAIL(FAB_NUMERIC,
                        "dpmeans: the squared distances of the rows sum to %g: scale the columns",
                        k->spread.variance);
    fab_rows_get(&e->x, 0, D, first);
    if (k->spread.far) k->shift = first;
    fab_groups_reset(&e->all, D, first);
    FAB_TRY(fab_groups_add(&e->all, k->mean, "dpmeans")); /* 1 */
    for (int64_t i = 0; i < n; i++) {
        k->label[i] = 0;
        fab_rows_get(&e->x, i, D, k->row);
        fab_groups_count(&e->all, 0, weight_of(k, i), k->row);
    }
    return FAB_OK;
}

static fab_status solve(work *k, const fab_mixture **q)
{
    dpmeans *e = k->e;
    int64_t changed = 1, pass = 0;
    FAB_TRY(prepare(k));
    for (; changed && pass < e->set.max_iter; pass++) { /* 6 */
        FAB_TRY(e->set.update == FAB_DPMEANS_BATCH ? batch_pass(k, &changed)
                                                   : immediate_pass(k, &changed));
        FAB_TRY(drop_empty(k)); /* 5 */
        FAB_TRY(fab_watch_tick(&e->watch, "dpmeans", pass + 1, 0));
    }
    FAB_TRY(pack(k));
    const double W = fab_centres_cost(&k->c, &e->x, e->weight, e->all.mu, k->label, NULL);
    FAB_TRY(fab_centroids_make(&e->found, e->D, e->all.n, "dpmeans"));
    fab_centroids_set(&e->found, e->all.n, e->all.mu, e->all.counts, W,
                      k->spread.variance / (double)e->D, e->set.floor, q);
    e->report = (fab_report){.iterations = pass,
                             .converged = changed == 0,
                             .floored = e->found.floored,
                             .loglik_mean = NAN,
                             .cost = W};
    return FAB_OK;
}

static fab_status mixture(void *handle, const fab_mixture **q)
{
    work k = {.e = handle};
    const fab_status s = solve(&k, q);
    fab_centres_free(&k.c);
    fab_release(k.place);
    fab_release(k.block);
    return s;
}

/* ---- the method ------------------------------------------------------------------------------------- */

static fab_status report(void *handle, fab_report *r)
{
    *r = ((dpmeans *)handle)->report;
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    dpmeans *e = handle;
    const int64_t one = 1;
    FAB_TRY(fab_tensors_add(t, "counts", FAB_F64, 1, &e->all.n, e->all.counts));
    FAB_TRY(fab_tensors_add(t, "cost", FAB_F64, 1, &one, &e->report.cost));
    return fab_tensors_add(t, "iterations", FAB_I64, 1, &one, &e->report.iterations);
}

/* Of some clusters: nobody knows how many there will be. */
static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    fab_run run;
    (void)settings;
    if (fab_run_init(&run, x, FAB_F64) != FAB_OK) return NAN;
    return 8 * ((double)n + 3 * (double)in->vectors + BLOCK) +
           fab_centres_bytes(in->vectors, 16, FAB_F64, run.threads) + 16 * 40 * (double)in->vectors;
}

const fab_method fab_dpmeans_method = {
    .name = "dpmeans",
    .summary = "clusters around means, as many as pay lambda each",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS | FAB_TAKES_SPARSE,
    .fields = &table,
    .init = init,
    .update = update,
    .mixture = mixture,
    .report = report,
    .tensors = tensors,
    .free = release,
    .bytes = bytes,
};
