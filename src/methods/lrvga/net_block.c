/* net_block.c - blocks of rows of lrvga for networks: the rows are slopes, and change with theta.
 *
 * The numbers in the margin are those of net.c.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/rows.h"
#include "fabayes/random.h"
#include "methods/lrvga/net.h"
#include "train/sequence/scalar.h"
#include "model/ggn.h"
#include <math.h>
#include <string.h>

#define SETTLED 1e-3                /* of the way of a block that the mean may still move */
#define CLASSES ((uint64_t)1 << 50) /* stream of the random classes, beyond those of the core */

/* ---- rows --------------------------------------------------------------------------------------------- */

void fab_lrvga_net_add(fab_lrvga_net *f, const fab_examples *e, int64_t first, int64_t n)
{
    const int64_t D = f->train.m.head.D;
    for (int64_t j = 0; j < n; j++)
        fab_rows_get(&e->x, first + j, D, f->x + (f->pending.n + j) * D);
    fab_pending_add(&f->pending, e, first, n);
}

/* Pending rows i .. i + n - 1. */
static fab_examples part_of(const fab_lrvga_net *f, int64_t i, int64_t n)
{
    const int64_t D = f->train.m.head.D;
    const fab_pending *p = &f->pending;
    return (fab_examples){{f->x + i * D, FAB_F64, n, D}, p->y + i, p->w + i, p->offset + i};
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* n vectors of J, but for a learned noise, become columns of the core's from number `to` on. */
static void put_columns(fab_lrvga_net *f, int64_t n, int64_t to)
{
    const size_t size = f->core->run.ops->size, length = (size_t)f->T * size,
                 ld = (size_t)f->train.m.D * size;
    char *X = fab_absorb_columns(f->core->absorb);
    for (int64_t k = 0; k < n; k++)
        memcpy(X + (size_t)(to + k) * length, (char *)f->slopes.J + (size_t)k * ld, length);
}

/* theta = center + at, a draw or the mean */
static void set_theta(fab_lrvga_net *f, int draw)
{
    const fab_model *m = &f->train.m;
    if (m->at) m->at(m->self, draw);
    for (int64_t i = 0; i < f->T; i++) f->theta[i] = f->center[i] + f->at[i];
    if (f->train.m.free) f->theta[f->T] = log(f->core->stream.scale.beta);
}

/* ---- 3: the block as a linear model ------------------------------------------------------------------- */

/* eta = f + J (theta - at) = base + J theta, around the mean as it is. */
static fab_status linearise(fab_lrvga_net *f)
{
    fab_lrvga *e = f->core;
    const fab_model *model = &f->train.m;
    const int64_t m = f->pending.n, C = f->C;
    const fab_long X = fab_lrvga_rows(e, 0, m), z = fab_long_vectors(e->z, f->T, 1, f->T);
    memcpy(f->at, e->S->mu, (size_t)f->T * sizeof *f->at);
    set_theta(f, 0); /* 2 */
    for (int64_t i = 0; i < m; i += f->slopes.chunk) {
        const int64_t n = least(m - i, f->slopes.chunk);
        const fab_examples part = part_of(f, i, n);
        FAB_TRY(model->predict(model->self, f->theta, &part.x, f->slopes.out));
        FAB_TRY(model->jacobian(model->self, f->theta, &part.x, f->slopes.J, model->D));
        put_columns(f, n * C, i * C);
        for (int64_t k = 0; k < n * C; k++)
            f->base[i * C + k] = f->slopes.out[k] + part.offset[k / C];
    }
    e->run.ops->put(&e->run, f->at, &z);
    e->run.ops->cross(&e->run, &X, NULL, &z, e->block.eta);
    for (int64_t k = 0; k < m * C; k++) f->base[k] -= e->block.eta[k];
    memcpy(e->pending.y, f->pending.y, (size_t)m * sizeof(double));
    memcpy(e->pending.w, f->pending.w, (size_t)m * sizeof(double));
    for (int64_t j = 0; j < m; j++) e->pending.offset[j] = C == 1 ? f->base[j] : 0;
    return FAB_OK;
}

fab_status fab_lrvga_net_decide(fab_lrvga_net *f)
{
    fab_lrvga *e = f->core;
    const double most = f->train.m.head.beta_most;
    FAB_TRY(linearise(f));
    FAB_TRY(fab_lrvga_decide(e, f->pending.n, NULL));
    if (!(most > 0 && e->stream.scale.beta > most)) return FAB_OK;
    return fab_lrvga_restart(e, f->train.given, e->stream.scale.alpha, most);
}

/* ---- 6: columns of the curvature at draws -------------------------------------------------------------- */

/* A class drawn from softmax(out) in the place of each y. */
static void draw_classes(fab_lrvga_net *f, int64_t i, int64_t n, uint64_t number)
{
    for (int64_t j = 0; j < n; j++) {
        const double *out = f->slopes.out + j * f->C;
        double u, top = out[0], sum = 0, below = 0;
        int64_t c = 0;
        fab_random_uniform((uint64_t)f->s.train.seed, FAB_PURPOSE_CLASSES, CLASSES + number,
                           (uint64_t)(i + j), 1, &u);
        for (int64_t k = 1; k < f->C; k++) top = fmax(top, out[k]);
        for (int64_t k = 0; k < f->C; k++) sum += exp(out[k] - top);
        for (; c < f->C - 1; c++) {
            below += exp(out[c] - top);
            if (below > u * sum) break;
        }
        f->slopes.label[j] = (double)c;
    }
}

/* Classes: the gradient g for a drawn class, one column in the place of C: E g g' = J' (diag p - p p') J. */
static fab_status fisher_rows(fab_lrvga_net *f, int64_t i, int64_t n, uint64_t number)
{
    const fab_model *m = &f->train.m;
    fab_examples part = part_of(f, i, n);
    FAB_TRY(m->predict(m->self, f->theta, &part.x, f->slopes.out));
    draw_classes(f, i, n, number);
    part.y = f->slopes.label;
    part.weight = NULL;
    FAB_TRY(m->examples(m->self, f->theta, &part));
    m->rows(m->self, f->slopes.J, m->D);
    return FAB_OK;
}

/* Columns of n pending rows from number `first` on at theta, as point l. */
static fab_status put_curvature(fab_lrvga_net *f, int64_t first, int64_t n, int64_t l,
                                uint64_t number)
{
    fab_lrvga *e = f->core;
    const fab_model *m = &f->train.m;
    for (int64_t i = 0; i < n; i += f->slopes.chunk) {
        const int64_t k = least(n - i, f->slopes.chunk);
        if (f->C > 1) {
            FAB_TRY(fisher_rows(f, first + i, k, number));
        } else {
            fab_examples part = part_of(f, first + i, k);
            part.weight = NULL;
            FAB_TRY(fab_ggn_rows(m, f->theta, &part, f->slopes.out, f->slopes.J, m->D));
        }
        put_columns(f, k, l * n + i);
    }
    for (int64_t j = 0; j < n; j++)
        e->block.weight[l * n + j] = f->pending.w[first + j] /
                                     ((double)f->points * e->stream.scale.beta);
    return FAB_OK;
}

/* S <- S + the mean over draws of the curvature of the pending rows. */
static fab_status add_curvature(fab_lrvga_net *f)
{
    fab_lrvga *e = f->core;
    for (int64_t i = 0; i < f->pending.n; i += f->group) {
        const int64_t n = least(f->pending.n - i, f->group);
        const uint64_t number = (uint64_t)e->stream.count.rows * (uint64_t)f->points;
        for (int64_t l = 0; l < f->points; l++) {
            if (f->s.draws > 0)
                FAB_TRY(fab_lrvga_draw(e, number + (uint64_t)l, f->at));
            else
                memcpy(f->at, e->S->mu, (size_t)f->T * sizeof *f->at);
            set_theta(f, f->s.draws > 0);
            FAB_TRY(put_curvature(f, i, n, l, number + (uint64_t)l));
        }
        FAB_TRY(fab_lrvga_absorb(e, n * f->points));
        e->stream.count.rows += n;
    }
    return FAB_OK;
}

/* ---- a block that moves the mean ---------------------------------------------------------------------- */

/* 3, 4  The block linearised around the mean as it is, seen by the mean before the block. */
static fab_status evaluate(fab_lrvga_net *f)
{
    fab_lrvga *e = f->core;
    FAB_TRY(linearise(f));
    memcpy(e->S->mu, f->before.mu, (size_t)f->T * sizeof *f->before.mu);
    e->stream = f->before.stream;
    return fab_lrvga_evaluate(e, f->pending.n);
}

/* Has the mean come to rest where the slopes were taken? */
static int settled(const fab_lrvga_net *f)
{
    double moved = 0, way = 0;
    for (int64_t i = 0; i < f->T; i++) {
        const double mu = f->core->S->mu[i];
        moved += (mu - f->at[i]) * (mu - f->at[i]);
        way += (mu - f->before.mu[i]) * (mu - f->before.mu[i]);
    }
    return sqrt(moved) <= SETTLED * sqrt(way);
}

/* 2 - 6 */
static fab_status take_block(fab_lrvga_net *f)
{
    const size_t bytes = (size_t)f->T * sizeof(double);
    const int prox = f->s.scheme == FAB_MIRROR_PROX;
    double *const mu = f->core->S->mu;
    int64_t most = 2; /* times */
    if (f->s.scheme == FAB_EXPLICIT) most = 1;
    if (f->s.scheme == FAB_IMPLICIT) most = f->s.looks;
    FAB_TRY(evaluate(f)); /* 2 - 4 */
    for (int64_t i = 1; i < most; i++) {
        if (settled(f)) break;
        FAB_TRY(evaluate(f)); /* 5 */
    }
    memcpy(f->moved, mu, bytes);
    if (prox) memcpy(mu, f->before.mu, bytes);
    if (f->s.draws > 0) { /* 6 */
        FAB_TRY(add_curvature(f));
    } else {
        if (prox) FAB_TRY(evaluate(f));
        FAB_TRY(fab_lrvga_add(f->core, f->pending.n));
    }
    memcpy(mu, f->moved, bytes);
    return FAB_OK;
}

fab_status fab_lrvga_net_block(fab_lrvga_net *f)
{
    fab_lrvga *e = f->core;
    const size_t bytes = (size_t)f->T * sizeof *f->before.mu;
    memcpy(f->before.mu, e->S->mu, bytes);
    fab_lrvga_forget(e, f->pending.n); /* 1 */
    f->before.stream = e->stream;
    f->before.rank = e->rank;
    const fab_status s = take_block(f);
    f->pending.n = 0;
    if (s == FAB_OK) return FAB_OK;
    memcpy(e->S->mu, f->before.mu, bytes);
    e->stream = f->before.stream;
    e->rank = f->before.rank;
    if (s != FAB_NUMERIC) return s;
    return fab_prefix(s,
                      "lrvga: the block behind row %lld is left out; raise alpha or lower block: ",
                      (long long)e->stream.count.rows);
}

/* ---- rows that the mean was trained on ---------------------------------------------------------------- */

/* 7  The prior of which the trained weights are a typical draw: as wide as they are themselves. */
static double prior_after(const fab_lrvga_net *f)
{
    const double alpha = f->train.s.alpha;
    double squares = 0;
    if (!fab_is_auto_f64(f->s.posterior_alpha)) return f->s.posterior_alpha;
    for (int64_t i = 0; i < f->T; i++) squares += f->center[i] * f->center[i];
    return squares > 0 ? fmax(alpha, (double)f->T / squares) : alpha;
}

/* The rows of e from number `first` on, as many as fit, are the pending ones. */
static void set_pending(fab_lrvga_net *f, const fab_examples *e, int64_t first)
{
    f->pending.n = 0;
    fab_lrvga_net_add(f, e, first, least(e->x.n - first, f->pending.room));
}

/* 8, 9, from the rows on where it was left */
static fab_status take_fixed(fab_lrvga_net *f, const fab_examples *e)
{
    fab_lrvga *c = f->core;
    fab_stream_sums *sum = &c->stream.sum;
    const double work = fab_lrvga_net_work(f);
    while (f->fixed.curved < e->x.n) {
        set_pending(f, e, f->fixed.curved);
        if (f->driven) FAB_TRY(fab_lrvga_snapshot(c));
        const fab_status s = add_curvature(f); /* 8 */
        if (s == FAB_STOPPED && f->driven) fab_lrvga_restore(c);
        if (s == FAB_STOPPED && !f->driven) f->fixed.curved = 0; /* inside a block: begin again */
        FAB_TRY(s);
        f->fixed.curved += f->pending.n;
        FAB_TRY(fab_watch_work(&f->train.watch, work * (double)f->pending.n, "lrvga",
                               f->fixed.curved, 0));
    }
    if (!fab_stream_gaussian(&c->stream)) return FAB_OK;
    while (f->fixed.measured < e->x.n) {
        set_pending(f, e, f->fixed.measured);
        const int64_t m = f->pending.n;
        FAB_TRY(linearise(f));
        FAB_TRY(fab_lrvga_project(c, m));
        for (int64_t j = 0; j < m; j++) { /* 9 */
            const double y = f->pending.y[j], w = f->pending.w[j], r = y - c->block.eta[j],
                         h = w * c->block.A[j + j * m];
            sum->rows += w - fmin(h, w);
            sum->squares += w * r * r;
            sum->power += w * y * y;
        }
        f->fixed.measured += m;
        FAB_TRY(fab_watch_work(&f->train.watch, work * (double)m, "lrvga", f->fixed.measured, 0));
    }
    return FAB_OK;
}

fab_status fab_lrvga_net_fixed(fab_lrvga_net *f, const fab_examples *e)
{
    fab_lrvga *c = f->core;
    const fab_train *t = &f->train;
    const double beta = t->m.free ? fab_glm_beta(&t->m.head, f->center[f->T])
                                  : c->stream.model.beta;
    if (f->fixed.curved == 0) {
        FAB_TRY(fab_lrvga_restart(c, t->given, prior_after(f), beta)); /* 7 */
        memset(c->S->mu, 0, (size_t)f->T * sizeof *c->S->mu);          /* it is in center */
    }
    const fab_status s = take_fixed(f, e);
    f->pending.n = 0;
    if (s != FAB_STOPPED) f->fixed = (fab_lrvga_net_fixed_rows){0};
    if (s != FAB_NUMERIC) return s;
    return fab_prefix(s,
                      "lrvga: rows behind %lld, at draws around the trained weights: raise alpha: ",
                      (long long)c->stream.count.rows);
}
