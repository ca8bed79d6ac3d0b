/* online_dpmeans.c - clusters around means of a stream, as many as pay for themselves, row by row.
 *
 *   state: K clusters with means mu_k, counts N_k
 *   for each row x of weight w, with the nearest centroid k and square = |x - mu_k|^2:
 *   1  no cluster yet, or w square > lambda:  K <- K + 1, mu_K = x, N_K = w
 *   2  else:  N_k <- N_k + w,  mu_k += w / N_k (x - mu_k)
 *   result: psi = W / (n D), W the sum of w square as the rows came; those that found a cluster have 0
 *
 * Distances are from differences, rows in the order in which they come: how they are split over updates does not matter.  The mean
 * variance of the columns is kept beside it, for the floor of psi.
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
#include "train/state.h"
#include <math.h>
#include <string.h>

#define SETTINGS fab_online_dpmeans_settings
static const fab_field fields[] = {
    REQUIRED(lambda, F64, 1e-300, 1e300, "what a cluster costs, in squared distances"),
    FIELD(floor, F64, 1e-6, 1e-300, 0.5, "of psi, relative to the mean variance of the columns"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("online-dpmeans", fields);
#undef SETTINGS

/* ---- life ----------------------------------------------------------------------------------------- */

typedef struct online {
    fab_online_dpmeans_settings set;
    int64_t D;
    const fab_nn *nn;
    fab_groups all;              /* means, counts; no sums */
    double *row, *mean, *origin; /* D: a row; mean of all; 0 */
    double *square;              /* as many as there is room for clusters */
    int64_t squares;
    double n, W, spread; /* weight of all rows; cost; sum of w |x - mean|^2 */
    fab_centroids found;
    fab_report report;
} online;

static void release(void *handle)
{
    online *e = handle;
    if (!e) return;
    fab_groups_free(&e->all);
    fab_centroids_free(&e->found);
    fab_release(e->square);
    fab_release(e);
}

static void layout(fab_layout *l, void *handle)
{
    online *e = handle;
    e->row = fab_place(l, e->D, sizeof *e->row);
    e->mean = fab_place(l, e->D, sizeof *e->mean);
    e->origin = fab_place(l, e->D, sizeof *e->origin);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const online proto = {.set = *(const fab_online_dpmeans_settings *)settings,
                          .D = in->vectors,
                          .nn = fab_nn_find(FAB_F64)};
    online *e;
    *handle = NULL;
    FAB_TRY(fab_check_alone("online-dpmeans", x));
    FAB_TRY(fab_build((void **)&e, sizeof *e, &proto, layout));
    fab_groups_reset(&e->all, e->D, e->origin);
    *handle = e;
    return FAB_OK;
}

/* Of some clusters: nobody knows how many there will be. */
static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    (void)settings, (void)n, (void)x;
    return 8 * 3 * (double)in->vectors + 16 * 32 * (double)in->vectors;
}

/* A row may found a cluster, so that m rows cost up to D (m n + m^2 / 2): pieces of as many as may take so long. */
static double work(const void *handle)
{
    const online *e = handle;
    const double n = (double)e->all.n, per = 2 * FAB_WATCH_WORK / (double)e->D;
    return FAB_WATCH_WORK / fmax(1, per / (n + sqrt(n * n + per)));
}

/* ---- the algorithm ---------------------------------------------------------------------------- */

static fab_status found_cluster(online *e)
{
    if (e->all.n == e->squares) {
        const int64_t room = e->squares ? 2 * e->squares : 16;
        double *more;
        FAB_TRY(fab_alloc_array((void **)&more, room, sizeof *more, "online-dpmeans"));
        fab_release(e->square);
        e->square = more;
        e->squares = room;
    }
    return fab_groups_add(&e->all, e->row, "online-dpmeans");
}

static fab_status take(online *e, double w)
{
    const int64_t D = e->D;
    int64_t k = 0;
    if (e->all.n) e->nn->distances(1, e->all.n, D, e->row, D, e->all.mu, e->square);
    for (int64_t j = 1; j < e->all.n; j++)
        if (e->square[j] < e->square[k]) k = j;
    const int founds = e->all.n == 0 || w * e->square[k] > e->set.lambda; /* 1 */
    if (founds) {
        FAB_TRY(found_cluster(e));
        k = e->all.n - 1;
    } else {
        e->W += w * e->square[k];
    }
    double *mu = e->all.mu + k * D;
    e->all.counts[k] += w; /* 2 */
    e->all.rows[k]++;
    for (int64_t d = 0; d < D; d++) mu[d] += w / e->all.counts[k] * (e->row[d] - mu[d]);
    e->n += w;
    for (int64_t d = 0; d < D; d++) {
        const double by = e->row[d] - e->mean[d];
        e->mean[d] += w / e->n * by;
        e->spread += w * by * (e->row[d] - e->mean[d]);
    }
    return FAB_OK;
}

static fab_status update(void *handle, const fab_examples *x)
{
    online *e = handle;
    for (int64_t i = 0; i < x->x.n; i++) {
        fab_rows_get(&x->x, i, e->D, e->row);
        FAB_TRY(take(e, x->weight ? x->weight[i] : 1));
    }
    return FAB_OK;
}

static fab_status mixture(void *handle, const fab_mixture **q)
{
    online *e = handle;
    if (!isfinite(e->W) || !isfinite(e->spread))
        return FAB_FAIL(
            FAB_NUMERIC,
            "online-dpmeans: the squared distances of the rows sum to %g: scale the columns",
            e->spread);
    FAB_TRY(fab_centroids_make(&e->found, e->D, e->all.n, "online-dpmeans"));
    fab_centroids_set(&e->found, e->all.n, e->all.mu, e->all.counts, e->W,
                      e->spread / (e->n * (double)e->D), e->set.floor, q);
    e->report = (fab_report){
        .converged = -1, .floored = e->found.floored, .loglik_mean = NAN, .cost = e->W};
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    *r = ((online *)handle)->report;
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    online *e = handle;
    const int64_t one = 1;
    FAB_TRY(fab_tensors_add(t, "counts", FAB_F64, 1, &e->all.n, e->all.counts));
    return fab_tensors_add(t, "cost", FAB_F64, 1, &one, &e->W);
}

/* ---- files ------------------------------------------------------------------------------------ */

static fab_states state_of(online *e)
{
    return (fab_states){{{"state.counts", FAB_F64, e->all.n, 0, e->all.counts},
                         {"state.rows", FAB_I64, e->all.n, 0, e->all.rows},
                         {"state.mu", FAB_F64, e->all.n, e->D, e->all.mu},
                         {"state.weight", FAB_F64, 1, 0, &e->n},
                         {"state.cost", FAB_F64, 1, 0, &e->W},
                         {"state.spread", FAB_F64, 1, 0, &e->spread},
                         {"state.mean", FAB_F64, e->D, 0, e->mean}}};
}

static fab_status save(void *handle, fab_tensors *t)
{
    const fab_states all = state_of(handle);
    return fab_states_save(&all, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    online *e = handle;
    const fab_tensor *counts = fab_tensors_find(t, "state.counts");
    if (!counts || counts->ndim != 1 || counts->shape[0] < 1 || counts->shape[0] > INT32_MAX)
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.counts' is absent or empty");
    while (e->all.n < counts->shape[0]) FAB_TRY(found_cluster(e));
    const fab_states all = state_of(e);
    FAB_TRY(fab_states_load(&all, t));
    int ok = e->n > 0 && e->W >= 0 && e->spread >= 0;
    for (int64_t k = 0; k < e->all.n; k++) ok = ok && e->all.counts[k] > 0 && e->all.rows[k] > 0;
    if (!ok) return FAB_FAIL(FAB_BAD_FILE, "the state to go on from has counts that none can have");
    return FAB_OK;
}

const fab_method fab_online_dpmeans_method = {
    .name = "online-dpmeans",
    .summary = "clusters around means of a stream, as many as pay lambda each, one pass",
    .streams = 1,
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS | FAB_TAKES_SPARSE,
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
