/* lrvga_net_block.c - blocks of rows of lrvga for networks: the rows are slopes, and change with theta.
 *
 * The numbers in the margin are those of lrvga_net.c.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/rows.h"
#include "fabayes/random.h"
#include "methods/lrvga/lrvga_net.h"
#include "train/sequence/scalar.h"
#include "model/ggn.h"
#include <math.h>
#include <string.h>

#define SETTLED 1e-3                /* of the way of a block that the mean may still move */
#define CLASSES ((uint64_t)1 << 50) /* stream of the random classes */

/* ---- rows --------------------------------------------------------------------------------------------- */

void fab_lrvga_net_keep(fab_lrvga_net *f, const fab_examples *e, int64_t first, int64_t n)
{
    const int64_t D = f->train.m.head.D;
    for (int64_t j = 0; j < n; j++) {
        const int64_t to = f->pending + j, from = first + j;
        fab_rows_get(&e->x, from, D, f->x + to * D);
        f->y[to] = e->y[from];
        f->w[to] = e->weight ? e->weight[from] : 1;
        f->o[to] = e->offset ? e->offset[from] : 0;
    }
    f->pending += n;
}

/* Pending rows i .. i + n - 1. */
static fab_examples part_of(const fab_lrvga_net *f, int64_t i, int64_t n)
{
    const int64_t D = f->train.m.head.D;
    return (fab_examples){{f->x + i * D, FAB_F64, n, D}, f->y + i, f->w + i, f->o + i};
}

static int64_t chunk_at(const fab_lrvga_net *f, int64_t i)
{
    return f->pending - i < f->chunk ? f->pending - i : f->chunk;
}

/* n vectors of J, but for a learned noise, become columns of the core's from number `to` on. */
static void put_columns(fab_lrvga_net *f, int64_t n, int64_t to)
{
    const size_t size = f->core->run.ops->size, length = (size_t)f->T * size,
                 ld = (size_t)f->train.m.D * size;
    char *X = fab_absorb_columns(f->core->absorb);
    for (int64_t k = 0; k < n; k++)
        memcpy(X + (size_t)(to + k) * length, (char *)f->J + (size_t)k * ld, length);
}

/* theta = center + at */
static void go_to(fab_lrvga_net *f)
{
    for (int64_t i = 0; i < f->T; i++) f->theta[i] = f->center[i] + f->at[i];
    if (f->train.m.free) f->theta[f->T] = log(f->core->n.beta0);
}

/* ---- 3: the block as a linear model ------------------------------------------------------------------- */

static fab_status slopes_of(fab_lrvga_net *f, int64_t i, int64_t n)
{
    const fab_model *m = &f->train.m;
    const fab_examples part = part_of(f, i, n);
    FAB_TRY(m->predict(m->self, f->theta, &part.x, f->out));
    FAB_TRY(m->jacobian(m->self, f->theta, &part.x, f->J, m->D));
    put_columns(f, n * f->C, i * f->C);
    for (int64_t k = 0; k < n * f->C; k++) f->base[i * f->C + k] = f->out[k] + f->o[i + k / f->C];
    return FAB_OK;
}

/* eta = f + J (theta - at) = base + J theta, around the mean as it is. */
static fab_status linearise(fab_lrvga_net *f)
{
    fab_lrvga *e = f->core;
    const int64_t m = f->pending;
    const fab_long X = fab_lrvga_rows(e, 0, m), z = fab_long_vectors(e->z, f->T, 1, f->T);
    memcpy(f->at, e->S->mu, (size_t)f->T * sizeof *f->at);
    go_to(f);
    for (int64_t i = 0; i < m; i += f->chunk) FAB_TRY(slopes_of(f, i, chunk_at(f, i)));
    e->run.ops->put(&e->run, f->at, &z);
    e->run.ops->cross(&e->run, &X, NULL, &z, e->eta);
    for (int64_t k = 0; k < m * f->C; k++) f->base[k] -= e->eta[k];
    memcpy(e->y, f->y, (size_t)m * sizeof *e->y);
    memcpy(e->w, f->w, (size_t)m * sizeof *e->w);
    for (int64_t j = 0; j < m; j++) e->offset[j] = f->C == 1 ? f->base[j] : 0;
    return FAB_OK;
}

fab_status fab_lrvga_net_decide(fab_lrvga_net *f)
{
    fab_lrvga *e = f->core;
    const double most = f->train.m.head.beta_most;
    FAB_TRY(linearise(f));
    FAB_TRY(fab_lrvga_decide(e, f->pending));
    if (!(most > 0 && e->n.beta0 > most)) return FAB_OK;
    return fab_lrvga_restart(e, f->train.given, e->n.alpha, most);
}

/* ---- 6: columns of the curvature at draws -------------------------------------------------------------- */

/* A class drawn from softmax(out) in the place of each y. */
static void draw_classes(fab_lrvga_net *f, int64_t i, int64_t n, uint64_t number)
{
    for (int64_t j = 0; j < n; j++) {
        const double *out = f->out + j * f->C;
        double u, top = out[0], sum = 0, below = 0;
        int64_t c = 0;
        fab_random_uniform((uint64_t)f->s.train.seed, FAB_PURPOSE_CLASSES, CLASSES + number,
                           (uint64_t)(i + j), 1, &u);
        for (int64_t k = 1; k < f->C; k++) top = fmax(top, out[k]);
        for (int64_t k = 0; k < f->C; k++) sum += exp(out[k] - top);
        for (; c < f->C - 1; c++)
            if ((below += exp(out[c] - top)) > u * sum) break;
        f->label[j] = (double)c;
    }
}

/* Classes: the gradient g for a drawn class, one column in the place of C: E g g' = J' (diag p - p p') J. */
static fab_status fisher_rows(fab_lrvga_net *f, int64_t i, int64_t n, uint64_t number)
{
    const fab_model *m = &f->train.m;
    fab_examples part = part_of(f, i, n);
    FAB_TRY(m->predict(m->self, f->theta, &part.x, f->out));
    draw_classes(f, i, n, number);
    part.y = f->label;
    part.weight = NULL;
    FAB_TRY(m->examples(m->self, f->theta, &part));
    m->rows(m->self, f->J, m->D);
    return FAB_OK;
}

/* Columns of n pending rows from number `first` on at theta, as point l. */
static fab_status curve(fab_lrvga_net *f, int64_t first, int64_t n, int64_t l, uint64_t number)
{
    fab_lrvga *e = f->core;
    for (int64_t i = 0; i < n; i += f->chunk) {
        const int64_t k = n - i < f->chunk ? n - i : f->chunk;
        fab_examples part = part_of(f, first + i, k);
        part.weight = NULL;
        FAB_TRY(f->C > 1 ? fisher_rows(f, first + i, k, number)
                         : fab_ggn_rows(&f->train.m, f->theta, &part, f->out, f->J, f->train.m.D));
        put_columns(f, k, l * n + i);
    }
    for (int64_t j = 0; j < n; j++)
        e->each[l * n + j] = f->w[first + j] / ((double)f->points * e->n.beta0);
    return FAB_OK;
}

static fab_status add_some(fab_lrvga_net *f, int64_t first, int64_t n)
{
    fab_lrvga *e = f->core;
    const uint64_t number = (uint64_t)e->n.rows * (uint64_t)f->points;
    for (int64_t l = 0; l < f->points; l++) {
        if (f->s.draws > 0)
            FAB_TRY(fab_lrvga_draw(e, number + (uint64_t)l, f->at));
        else
            memcpy(f->at, e->S->mu, (size_t)f->T * sizeof *f->at);
        go_to(f);
        FAB_TRY(curve(f, first, n, l, number + (uint64_t)l));
    }
    FAB_TRY(fab_lrvga_hold(e, n * f->points));
    e->n.rows += (double)n;
    return FAB_OK;
}

/* S <- S + the mean over draws of the curvature of the pending rows. */
static fab_status add_draws(fab_lrvga_net *f)
{
    for (int64_t i = 0; i < f->pending; i += f->held)
        FAB_TRY(add_some(f, i, f->pending - i < f->held ? f->pending - i : f->held));
    return FAB_OK;
}

/* ---- a block that moves the mean ---------------------------------------------------------------------- */

/* 3, 4  The block linearised around the mean as it is, seen by the mean before the block. */
static fab_status look(fab_lrvga_net *f, const fab_lrvga_numbers *kept)
{
    fab_lrvga *e = f->core;
    FAB_TRY(linearise(f));
    memcpy(e->S->mu, f->before, (size_t)f->T * sizeof *f->before);
    e->n = *kept;
    return fab_lrvga_look(e, f->pending);
}

/* Has the mean come to rest where the slopes were taken? */
static int settled(const fab_lrvga_net *f)
{
    double moved = 0, way = 0;
    for (int64_t i = 0; i < f->T; i++) {
        const double mu = f->core->S->mu[i];
        moved += (mu - f->at[i]) * (mu - f->at[i]);
        way += (mu - f->before[i]) * (mu - f->before[i]);
    }
    return sqrt(moved) <= SETTLED * sqrt(way);
}

/* 3 - 5 */
static fab_status move(fab_lrvga_net *f, const fab_lrvga_numbers *kept)
{
    const int64_t most = f->s.scheme == FAB_EXPLICIT   ? 1
                         : f->s.scheme == FAB_IMPLICIT ? f->s.looks
                                                       : 2;
    FAB_TRY(look(f, kept));
    for (int64_t i = 1; i < most && !settled(f); i++) FAB_TRY(look(f, kept));
    return FAB_OK;
}

/* 6 */
static fab_status add(fab_lrvga_net *f, const fab_lrvga_numbers *kept)
{
    const size_t bytes = (size_t)f->T * sizeof *f->second;
    double *const mu = f->core->S->mu;
    const int first = f->s.scheme == FAB_MIRROR_PROX;
    memcpy(f->second, mu, bytes);
    if (first) memcpy(mu, f->before, bytes);
    if (first && f->s.draws == 0) FAB_TRY(look(f, kept));
    FAB_TRY(f->s.draws == 0 ? fab_lrvga_add(f->core, f->pending) : add_draws(f));
    memcpy(mu, f->second, bytes);
    return FAB_OK;
}

fab_status fab_lrvga_net_block(fab_lrvga_net *f)
{
    fab_lrvga *e = f->core;
    const size_t bytes = (size_t)f->T * sizeof *f->before;
    memcpy(f->before, e->S->mu, bytes);
    fab_lrvga_forget(e, f->pending); /* 1 */
    const fab_lrvga_numbers kept = e->n;
    fab_status s = move(f, &kept);
    if (s == FAB_OK) s = add(f, &kept);
    if (s != FAB_OK) {
        memcpy(e->S->mu, f->before, bytes);
        e->n = kept;
    }
    f->pending = 0;
    return s == FAB_NUMERIC ? fab_prefix(s,
                                         "lrvga: the block behind row %.0f is left out; raise "
                                         "alpha or lower block: ",
                                         kept.rows)
                            : s;
}

/* ---- rows that the mean was trained on ---------------------------------------------------------------- */

/* The next block of e. */
static void next_rows(fab_lrvga_net *f, const fab_examples *e, int64_t first)
{
    const int64_t left = e->x.n - first;
    f->pending = 0;
    fab_lrvga_net_keep(f, e, first, left < f->rows ? left : f->rows);
}

/* 8 */
static fab_status hold(fab_lrvga_net *f, const fab_examples *e)
{
    for (int64_t i = 0; i < e->x.n; i += f->pending) {
        next_rows(f, e, i);
        FAB_TRY(add_draws(f));
    }
    return FAB_OK;
}

/* 9  Rows less those that went into theta, and the squares of what is left of y. */
static fab_status count_rows(fab_lrvga_net *f, const fab_examples *e)
{
    fab_lrvga *c = f->core;
    for (int64_t i = 0; i < e->x.n; i += f->pending) {
        next_rows(f, e, i);
        const int64_t m = f->pending;
        FAB_TRY(linearise(f));
        FAB_TRY(fab_lrvga_project(c, m));
        for (int64_t j = 0; j < m; j++) {
            const double r = f->y[j] - c->eta[j], h = f->w[j] * c->A[j + j * m];
            c->n.count += 1 - fmin(h, 1);
            c->n.squares += f->w[j] * r * r;
            c->n.power += f->w[j] * f->y[j] * f->y[j];
        }
    }
    return FAB_OK;
}

/* 7  The prior of which the trained weights are a typical draw: as wide as they are themselves. */
static double prior_after(const fab_lrvga_net *f)
{
    const double alpha = f->train.s.alpha;
    double squares = 0;
    if (!fab_is_auto_f64(f->s.posterior_alpha)) return f->s.posterior_alpha;
    for (int64_t i = 0; i < f->T; i++) squares += f->center[i] * f->center[i];
    return squares > 0 ? fmax(alpha, (double)f->T / squares) : alpha;
}

fab_status fab_lrvga_net_hold(fab_lrvga_net *f, const fab_examples *e)
{
    fab_lrvga *c = f->core;
    const fab_train *t = &f->train;
    const double beta = t->m.free ? fab_glm_beta(&t->m.head, f->center[f->T]) : c->model.beta;
    FAB_TRY(fab_lrvga_restart(c, t->given, prior_after(f), beta));
    memset(c->S->mu, 0, (size_t)f->T * sizeof *c->S->mu); /* it is in center */
    fab_status s = hold(f, e);
    if (s == FAB_OK && fab_lrvga_gaussian(c)) s = count_rows(f, e);
    f->pending = 0;
    return s == FAB_NUMERIC ? fab_prefix(s,
                                         "lrvga: rows behind %.0f, at draws around the trained "
                                         "weights: raise alpha: ",
                                         c->n.rows)
                            : s;
}
