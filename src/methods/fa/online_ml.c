/* online_ml.c - maximum likelihood of a stream: the scatter matrix of the rows is kept, and its result is that of ml.
 *
 *   state: weight n of the rows seen, mu, S = sum w (x - mu)(x - mu)', D x D, its lower half
 *   for each panel of m rows, of weights w_j:
 *   1  v_j = w_j forget^(weight of the rows behind it in the panel),  v = sum v_j
 *   2  S <- forget^(sum w_j) S,  n likewise
 *   3  e = sum v_j (x_j - mu) / v;   X = [sqrt(v_j) (x_j - mu - e),  sqrt(n v / (n + v)) e]
 *   4  S += X X',   mu += v / (n + v) e,   n += v                              exact for any panel
 *   result:
 *   5  the rows of an unfinished panel go into a copy; then the search of ml.c on S / n
 *
 * Deviations are taken from the mean of the panel, and panels are joined by the distance of their means: nothing
 * cancels however far from 0 the rows lie.  A panel has PANEL rows however they come, so splitting the rows over
 * updates changes no bit.
 *
 * Memory grows with D^2, and so does the work for a row; recursive-em is there for a larger D.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "la/scatter.h"
#include "methods/fa/ml.h"
#include "methods/fa/spectral.h"
#include "train/state.h"
#include <math.h>
#include <string.h>

enum { PANEL = 256 }; /* rows: as fast as more, and few to keep in a file */

typedef struct online_ml {
    fab_online_ml_settings set;
    fab_exec exec;
    fab_run run;
    int64_t D;
    fab_batch *ml; /* the search, and its result */

    int64_t seen;  /* rows */
    double weight; /* n */
    double *mu;    /* D */
    double *S;     /* fab_strips_count(D) */
    int64_t pending;
    double *rows; /* PANEL x D: the pending rows */
    double *w;    /* PANEL: their weights */

    double *v;            /* PANEL + 1 */
    double *e;            /* D */
    int narrow;           /* X X' is made of floats */
    double *X;            /* (PANEL + 1) x D */
    double *mu_all, *all; /* mu and S with the pending rows, for a result */
} online_ml;

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_online_ml_settings
static const fab_field fields[] = {
    FAB_ML_FIELDS,
    FIELD(forget, F64, 1, 0.5, 1,
          "weight of the past for each new row; below 1 for streams that drift"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("online-ml", fields);
#undef SETTINGS

static fab_ml_settings ml_settings(const fab_online_ml_settings *s)
{
    return (fab_ml_settings){.K = s->K,
                             .svd = s->svd,
                             .starts = s->starts,
                             .tol = s->tol,
                             .max_iter = s->max_iter,
                             .psi_min = s->psi_min,
                             .seed = s->seed};
}

/* ---- life ------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    online_ml *o = handle;
    const int64_t D = o->D, half = fab_strips_count(D);
    o->mu = fab_place(l, D, sizeof *o->mu);
    o->S = fab_place(l, half, sizeof *o->S);
    o->rows = fab_place(l, PANEL * D, sizeof *o->rows);
    o->w = fab_place(l, PANEL, sizeof *o->w);
    o->v = fab_place(l, PANEL + 1, sizeof *o->v);
    o->e = fab_place(l, D, sizeof *o->e);
    o->X = fab_place(l, (PANEL + 1) * D, sizeof *o->X);
    o->mu_all = fab_place(l, D, sizeof *o->mu_all);
    o->all = fab_place(l, half, sizeof *o->all);
}

static void release(void *handle)
{
    online_ml *o = handle;
    if (!o) return;
    fab_batch_free(o->ml);
    fab_release(o);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    online_ml proto = {.set = *(const fab_online_ml_settings *)settings, .D = in->vectors}, *o;
    const fab_ml_settings search = ml_settings(&proto.set);
    *handle = NULL;
    FAB_TRY(fab_check_alone("online-ml", x));
    FAB_TRY(fab_run_init(&proto.run, x, FAB_F64));
    if (x) proto.exec = *x;
    proto.narrow = proto.D >= FAB_FLOAT_COLUMNS && fab_scatter_narrow(x);
    FAB_TRY(fab_build((void **)&o, sizeof *o, &proto, layout));
    const fab_status s = fab_ml_init(&o->ml, "online-ml", o->D, &search, x);
    if (s != FAB_OK) {
        release(o);
        return s;
    }
    *handle = o;
    return FAB_OK;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    online_ml proto = {.set = *(const fab_online_ml_settings *)settings, .D = in->vectors};
    const fab_ml_settings search = ml_settings(&proto.set);
    (void)n; /* a stream: the same for any number of rows */
    return (double)fab_build_size(sizeof proto, &proto, layout) +
           fab_ml_bytes(proto.D, proto.D, &search, x);
}

/* ---- the algorithm ---------------------------------------------------------------------------- */

/* 1 - 4  The pending rows go into S, mu and the weight. */
static void add_panel(online_ml *o, double *S, double *mu, double *weight)
{
    const int64_t D = o->D, m = o->pending;
    double behind = 0, v = 0;
    for (int64_t j = m - 1; j >= 0; j--) {
        o->v[j] = o->set.forget < 1 ? o->w[j] * pow(o->set.forget, behind) : o->w[j]; /* 1 */
        v += o->v[j];
        behind += o->w[j];
    }
    if (o->set.forget < 1) { /* 2 */
        const double keep = pow(o->set.forget, behind);
        fab_strips_scale(D, keep, S);
        *weight *= keep;
    }
    fab_panel_centre(m, D, o->rows, o->v, mu, o->e, o->X); /* 3 */
    const double after = *weight + v, root = sqrt(*weight * v / after);
    double *last = o->X + m * D;
    for (int64_t i = 0; i < D; i++) last[i] = root * o->e[i];
    if (o->narrow)
        fab_strips_add_floats(&o->run, D, m + 1, o->X, S); /* 4 */
    else
        fab_strips_add(&o->run, D, m + 1, o->X, S); /* 4 */
    for (int64_t i = 0; i < D; i++) mu[i] += v / after * o->e[i];
    *weight = after;
}

static fab_status update(void *handle, const fab_examples *x)
{
    online_ml *o = handle;
    const int before = fab_blas_enter();
    if (o->weight == 0 && o->pending == 0 && x->x.n > 0)
        fab_rows_get(&x->x, 0, o->D, o->mu); /* any point near the rows */
    for (int64_t j = 0; j < x->x.n; j++) {
        fab_rows_get(&x->x, j, o->D, o->rows + o->pending * o->D);
        o->w[o->pending++] = x->weight ? x->weight[j] : 1;
        o->seen++;
        if (o->pending < PANEL) continue;
        add_panel(o, o->S, o->mu, &o->weight);
        o->pending = 0;
    }
    fab_blas_leave(before);
    return FAB_OK;
}

/* Scatter matrices of two sets of rows, joined by the distance of their means as 3 and 4 join a panel; rows that are pending on
 * either side stay pending where a panel has room for them. */
static fab_status merge(void *handle, const void *from)
{
    online_ml *o = handle;
    const online_ml *other = from;
    const int64_t D = o->D, half = fab_strips_count(D);
    double n = other->weight;
    if (o->set.forget < 1)
        return FAB_FAIL(FAB_UNSUPPORTED, "online-ml: a stream that forgets has an order, and two "
                                         "of them cannot be merged");
    const int before = fab_blas_enter();
    memcpy(o->mu_all, other->mu, (size_t)D * sizeof *o->mu_all);
    memcpy(o->all, other->S, (size_t)half * sizeof *o->all);
    if (other->pending) { /* a panel of the other, in this one's room */
        online_ml whole = *o;
        whole.pending = other->pending;
        whole.rows = other->rows;
        whole.w = other->w;
        add_panel(&whole, o->all, o->mu_all, &n);
    }
    if (o->pending) add_panel(o, o->S, o->mu, &o->weight);
    o->pending = 0;
    if (n > 0) {
        const double after = o->weight + n, root = sqrt(o->weight * (n / after));
        for (int64_t i = 0; i < D; i++) o->X[i] = root * (o->mu_all[i] - o->mu[i]);
        for (int64_t i = 0; i < half; i++) o->S[i] += o->all[i];
        fab_strips_add(&o->run, D, 1, o->X, o->S);
        for (int64_t i = 0; i < D; i++) o->mu[i] += n / after * (o->mu_all[i] - o->mu[i]);
        o->weight = after;
    }
    o->seen += other->seen;
    fab_blas_leave(before);
    return FAB_OK;
}

static double work(const void *handle)
{
    const online_ml *o = handle;
    return (double)o->D * (double)o->D / 2;
}

/* ---- the result ------------------------------------------------------------------------------- */

/* 5 */
static fab_status fill(online_ml *o, fab_target *t)
{
    const int64_t D = o->D;
    double weight = o->weight;
    memcpy(o->all, o->S, (size_t)fab_strips_count(D) * sizeof *o->all);
    memcpy(t->mu, o->mu, (size_t)D * sizeof *t->mu);
    const int before = fab_blas_enter();
    if (o->pending) add_panel(o, o->all, t->mu, &weight);
    fab_blas_leave(before);
    fab_strips_full(D, 1 / weight, o->all, t->S);
    for (int64_t i = 0; i < D; i++)
        if (!isfinite(t->S[i + i * D]))
            return FAB_FAIL(FAB_NUMERIC,
                            "online-ml: the variance of coordinate %lld is no finite number; scale "
                            "the rows",
                            (long long)i);
    return fab_target_check(t, "online-ml");
}

static fab_status solve(online_ml *o, fab_status (*by)(fab_batch *b, const fab_target *t),
                        const fab_gauss **q)
{
    fab_target t;
    FAB_TRY(fab_target_init_matrix(&t, "online-ml", o->D, o->ml->width, &o->exec));
    fab_status s = fill(o, &t);
    if (s == FAB_OK) s = by(o->ml, &t);
    fab_target_free(&t);
    if (s == FAB_OK) *q = o->ml->q;
    return s;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    return solve(handle, fab_batch_solve, q);
}

static fab_status so_far(void *handle, const fab_gauss **q)
{
    return solve(handle, fab_ml_solve_once, q);
}

static fab_status report(void *handle, fab_report *d)
{
    online_ml *o = handle;
    FAB_TRY(fab_batch_report(o->ml, d));
    d->loglik_rows = o->seen;
    if (o->set.forget < 1) d->saturated = NAN; /* of no number of rows */
    return FAB_OK;
}

/* ---- files ------------------------------------------------------------------------------------ */

static fab_states state_of(online_ml *o)
{
    return (fab_states){{{"state.rows", FAB_I64, 1, 0, &o->seen},
                         {"state.weight", FAB_F64, 1, 0, &o->weight},
                         {"state.mu", FAB_F64, o->D, 0, o->mu},
                         {"state.scatter", FAB_F64, fab_strips_count(o->D), 0, o->S},
                         {"state.pending", FAB_F64, o->pending, o->D, o->rows},
                         {"state.pending_weight", FAB_F64, o->pending, 0, o->w}}};
}

static fab_status save(void *handle, fab_tensors *t)
{
    const fab_states all = state_of(handle);
    return fab_states_save(&all, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    online_ml *o = handle;
    const fab_tensor *pending = fab_tensors_find(t, "state.pending");
    if (!pending || pending->ndim != 2 || pending->shape[0] < 0 || pending->shape[0] >= PANEL)
        return FAB_FAIL(FAB_BAD_FILE,
                        "tensor 'state.pending' is absent or has more rows than a panel");
    o->pending = pending->shape[0];
    const fab_states all = state_of(o);
    FAB_TRY(fab_states_load(&all, t));
    if (!(o->weight >= 0 && isfinite(o->weight)))
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.weight' is %g", o->weight);
    for (int64_t j = 0; j < o->pending; j++)
        if (!(o->w[j] > 0 && isfinite(o->w[j])))
            return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.pending_weight' has the weight %g",
                            o->w[j]);
    const fab_rows rows = {o->rows, FAB_F64, o->pending, o->D};
    const fab_rows mu = {o->mu, FAB_F64, 1, o->D};
    const fab_rows S = {o->S, FAB_F64, 1, fab_strips_count(o->D)};
    if (fab_rows_check("state.pending", &rows, o->D) != FAB_OK ||
        fab_rows_check("state.mu", &mu, o->D) != FAB_OK ||
        fab_rows_check("state.scatter", &S, S.ld) != FAB_OK)
        return FAB_BAD_FILE;
    return FAB_OK;
}

const fab_method fab_online_ml_method = {
    .name = "online-ml",
    .summary = "maximum likelihood of a stream, one pass: keeps D^2 / 2 numbers",
    .streams = 1,
    .any_rank = 1,
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .saturates = 1,
    .fields = &table,
    .init = init,
    .update = update,
    .work = work,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
    .merge = merge,
    .bytes = bytes,
};
