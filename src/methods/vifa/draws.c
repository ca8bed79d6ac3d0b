/* draws.c - draws of theta and the gradients there, lines 2 - 5 of vifa.c.
 *
 * z is made again from its random index whenever it is needed; only when all coordinates fit into one chunk is it
 * still at hand.  While only c moves (weight 0) nothing is done for F and gamma.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vifa/vifa.h"
#include "base/fail.h"
#include "fabayes/random.h"
#include <math.h>
#include <string.h>

/* ---- parts of the coordinates ----------------------------------------------------------------------------- */

typedef struct parts {
    fab_vifa *f;
    const fab_vifa_step *s;
    fab_vifa_chunk *chunk;
    void *ctx;
} parts;

static void part_task(void *ctx, int64_t i, int thread)
{
    const parts *p = ctx;
    const int64_t first = i * FAB_VIFA_CHUNK, left = p->f->W - first;
    p->chunk(p->f, p->s, first, left < FAB_VIFA_CHUNK ? left : FAB_VIFA_CHUNK, thread, p->ctx);
}

void fab_vifa_each(fab_vifa *f, const fab_vifa_step *s, fab_vifa_chunk *chunk, void *ctx)
{
    parts p = {f, s, chunk, ctx};
    const int64_t count = (f->W + FAB_VIFA_CHUNK - 1) / FAB_VIFA_CHUNK;
    fab_parallel(count < FAB_VIFA_TEAM ? 1 : f->threads, count, part_task, &p);
}

/* Element `first` of a long vector. */
static void *at(const fab_vifa *f, void *vector, int64_t first)
{
    return (char *)vector + (size_t)first * f->nn->size;
}

/* ---- one draw --------------------------------------------------------------------------------------------- */

typedef struct draw {
    int64_t l;       /* its number in the step */
    uint64_t stream; /* of z; that of h is the next one */
    double sign;
    double scale; /* of the gradient of an average loss: to that of all rows */
    void *v;      /* column of V that takes the gradient */
} draw;

static draw draw_of(const fab_vifa *f, const fab_vifa_step *s, int64_t l)
{
    const int64_t L = f->s.draws, pair = f->s.pairs ? l / 2 : l;
    const int64_t column = f->kept == L ? l : 0;
    return (draw){.l = l,
                  .stream = FAB_VIFA_DRAWS + 2 * (uint64_t)(s->t * L + pair),
                  .sign = f->s.pairs && l % 2 ? -1 : 1,
                  .v = at(f, f->V, f->K > 0 ? column * f->W : 0)};
}

static const double *z_of(fab_vifa *f, const draw *d, int64_t first, int64_t count, int thread)
{
    double *z = f->z + (int64_t)thread * FAB_VIFA_CHUNK;
    const int alone = count == f->W;
    if (alone && f->at_hand == d->stream) return z;
    fab_random_normal((uint64_t)f->s.seed, d->stream, (uint64_t)first, count, FAB_F64, z);
    if (alone) f->at_hand = d->stream;
    return z;
}

/* Y = psi^-1/2 z, to be projected. */
static void weighed_chunk(fab_vifa *f, const fab_vifa_step *s, int64_t first, int64_t count,
                          int thread, void *ctx)
{
    const draw *d = ctx;
    const double *z = z_of(f, d, first, count, thread), *psi = f->psi + first;
    double *v = f->v + (int64_t)thread * FAB_VIFA_CHUNK;
    (void)s;
    for (int64_t i = 0; i < count; i++) v[i] = d->sign * z[i] / sqrt(psi[i]);
    f->nn->narrow(count, v, at(f, f->Y, first));
}

/* 2  theta = c + F h + psi^1/2 z */
static void theta_chunk(fab_vifa *f, const fab_vifa_step *s, int64_t first, int64_t count,
                        int thread, void *ctx)
{
    const draw *d = ctx;
    const double *z = z_of(f, d, first, count, thread), *psi = f->psi + first, *c = f->c + first;
    double *theta = f->theta + first;
    (void)s;
    for (int64_t i = 0; i < count; i++) theta[i] = c[i] + d->sign * sqrt(psi[i]) * z[i];
    if (f->K > 0) f->nn->widen(count, 1, at(f, f->Y, first), 1, theta);
}

/* y = M^-1 (h - F' psi^-1/2 z): then S^-1 (theta - c) = psi^-1/2 z + psi^-1 F y. */
static void project(fab_vifa *f, const fab_vifa_step *s, draw *d)
{
    const int64_t K = f->K;
    const fab_long F = fab_vifa_F(f), Y = fab_long_vectors(f->Y, f->W, 1, f->W);
    double *y = f->hy + K;
    fab_vifa_each(f, s, weighed_chunk, d);
    f->run.ops->cross(&f->run, &F, NULL, &Y, y);
    for (int64_t k = 0; k < K; k++) y[k] = f->hy[k] - y[k];
    fab_chol_solve(K, 1, f->Lc, y);
}

/* Is the slope of log q sampled? */
static int by_path(const fab_vifa *f, const fab_vifa_step *s)
{
    return f->s.entropy == FAB_VIFA_PATH && s->weight > 0;
}

/* 2 */
static void make_theta(fab_vifa *f, const fab_vifa_step *s, draw *d)
{
    const int64_t K = f->K, L = f->s.draws, path = by_path(f, s);
    const fab_long F = fab_vifa_F(f), Y = fab_long_vectors(f->Y, f->W, path ? 2 : 1, f->W);
    if (K > 0) {
        if (d->sign > 0) fab_random_normal((uint64_t)f->s.seed, d->stream + 1, 0, K, FAB_F64, f->h);
        for (int64_t k = 0; k < K; k++) {
            f->hy[k] = d->sign * f->h[k];
            f->H[d->l + k * L] = f->hy[k] / (double)L;
        }
        if (path) project(f, s, d);
        f->run.ops->mult(&f->run, NULL, &F, f->hy, 0, &Y); /* F h, F y */
    }
    fab_vifa_each(f, s, theta_chunk, d);
    memcpy(f->theta + f->W, f->c + f->W, (size_t)(f->m.D - f->W) * sizeof(double));
}

/* v = - weight S^-1 (theta - c) */
static void slope_chunk(fab_vifa *f, const fab_vifa_step *s, const draw *d, int64_t first,
                        int64_t count, const double *z, double *v)
{
    const double *psi = f->psi + first, weight = s->weight, sign = d->sign;
    if (f->K > 0) {
        f->nn->widen(count, -weight, at(f, f->Y, f->W + first), 0, v);
        for (int64_t i = 0; i < count; i++) v[i] /= psi[i];
    } else
        memset(v, 0, (size_t)count * sizeof *v);
    for (int64_t i = 0; i < count; i++) v[i] -= weight * sign * z[i] / sqrt(psi[i]);
}

/* 4, 5  v = N g, and with entropy = path v -= weight S^-1 (theta - c) */
static void gradient_chunk(fab_vifa *f, const fab_vifa_step *s, int64_t first, int64_t count,
                           int thread, void *ctx)
{
    const draw *d = ctx;
    const double *z = z_of(f, d, first, count, thread), *g = f->g + first;
    double *v = f->v + (int64_t)thread * FAB_VIFA_CHUNK, *gc = f->gc + first, *gg = f->gg + first;
    const double sign = d->sign, scale = d->scale;
    if (by_path(f, s))
        slope_chunk(f, s, d, first, count, z, v);
    else
        memset(v, 0, (size_t)count * sizeof *v);
    for (int64_t i = 0; i < count; i++) v[i] += scale * g[i];
    if (d->l == 0)
        for (int64_t i = 0; i < count; i++) gc[i] = v[i], gg[i] = v[i] * sign * z[i];
    else
        for (int64_t i = 0; i < count; i++) gc[i] += v[i], gg[i] += v[i] * sign * z[i];
    if (f->K > 0) f->nn->narrow(count, v, at(f, d->v, first));
}

/* 4, 5 while only c moves */
static void mean_chunk(fab_vifa *f, const fab_vifa_step *s, int64_t first, int64_t count,
                       int thread, void *ctx)
{
    const draw *d = ctx;
    const double *g = f->g + first;
    double *gc = f->gc + first;
    (void)s, (void)thread;
    for (int64_t i = 0; i < count; i++) gc[i] = (d->l > 0 ? gc[i] : 0) + d->scale * g[i];
}

/* 3 - 5 */
static fab_status add_gradient(fab_vifa *f, fab_vifa_step *s, draw *d, const fab_examples *batch)
{
    const double rows = (double)batch->x.n;
    double loss, penalty = 0;
    if (f->m.noise) f->m.noise(f->m.self, (uint64_t)f->s.seed, s->t * f->s.draws + d->l);
    FAB_TRY(f->m.loss(f->m.self, f->theta, batch, &loss, f->g)); /* 3 */
    if (!isfinite(loss)) return fab_vifa_diverged(f, s->t, "the loss", loss);
    s->loss += loss * rows;
    s->rows += rows;
    d->scale = (double)fab_minibatch_steps(f->batches) * rows; /* unbiased for uneven batches */
    if (fab_vifa_samples_prior(f))
        FAB_TRY(fab_prior_add(&f->prior, 1 / d->scale, f->theta, &penalty, f->g)); /* 4 */
    fab_vifa_each(f, s, s->weight > 0 ? gradient_chunk : mean_chunk, d);
    for (int64_t i = f->W; i < f->m.D; i++)
        f->gc[i] = (d->l > 0 ? f->gc[i] : 0) + d->scale * f->g[i];
    return FAB_OK;
}

/* Batch number `l` of the step. */
static fab_examples batch_of(fab_vifa *f, const fab_vifa_step *s, int64_t l)
{
    const int64_t steps = fab_minibatch_steps(f->batches), each = fab_vifa_batches(f);
    const int64_t b = s->t * each + (f->s.shared ? 0 : f->s.pairs ? l / 2 : l);
    return fab_minibatch_get(f->batches, b / steps, b % steps);
}

fab_status fab_vifa_draws(fab_vifa *f, fab_vifa_step *s)
{
    const fab_long V = fab_long_vectors(f->V, f->W, 1, f->W), GF = fab_long_rows(f->GF, f->W, f->K);
    fab_examples batch = {0};
    for (int64_t l = 0; l < f->s.draws; l++) {
        draw d = draw_of(f, s, l);
        make_theta(f, s, &d); /* 2 */
        if (l == 0 || !(f->s.shared || d.sign < 0)) batch = batch_of(f, s, l);
        FAB_TRY(add_gradient(f, s, &d, &batch)); /* 3 - 5 */
        if (f->K == 0 || s->weight == 0 || f->kept == f->s.draws) continue;
        for (int64_t k = 0; k < f->K; k++) f->T[k] = f->H[l + k * f->s.draws];
        f->run.ops->mult(&f->run, NULL, &V, f->T, l > 0, &GF); /* GF += v h' / L */
    }
    return FAB_OK;
}
