/* draws.c - line 2 of vifa.c: theta = c + F h + psi^1/2 z.
 *
 * Draw l of step t has number i = t L + l; with `pairs` it has number t L + l / 2, and every second one the other sign.
 * The number is the random stream of h and z (vifa.h).  Up to KEPT coordinates z is kept, and both draws of a pair use it;
 * of more it is made again wherever it is needed, which costs less memory than the mean.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/random.h"
#include "methods/vifa/vifa.h"
#include <math.h>
#include <string.h>

enum { KEPT = 1 << 22 }; /* coordinates whose z is kept: 32 MB */

void fab_vifa_draws_layout(fab_layout *l, fab_vifa *f)
{
    fab_vifa_draws *d = &f->draw;
    const int64_t W = f->q.W, K = f->q.K;
    d->theta = fab_place(l, f->q.D, sizeof(double));
    d->h = fab_place(l, K, sizeof(double));
    d->hy = fab_place(l, 2 * K, sizeof(double));
    d->H = fab_place(l, f->s.draws * K, sizeof(double));
    d->Y = fab_place(l, K > 0 ? (1 + d->path) * W : 0, f->nn->size);
    d->kept = W <= KEPT;
    d->z = fab_place(l, d->kept ? W : (int64_t)FAB_VIFA_CHUNK * f->run.threads, sizeof(double));
    d->stream_of_z = fab_place(l, d->kept ? W / FAB_VIFA_CHUNK + 1 : 0, sizeof *d->stream_of_z);
}

const double *fab_vifa_z(fab_vifa *f, int64_t first, int64_t count, int thread)
{
    fab_vifa_draws *d = &f->draw;
    double *z = d->kept ? d->z + first : d->z + (int64_t)thread * FAB_VIFA_CHUNK;
    uint64_t *there = d->kept ? &d->stream_of_z[first / FAB_VIFA_CHUNK] : NULL;
    if (there && *there == d->stream) return z;
    fab_random_normal((uint64_t)f->s.train.seed, FAB_PURPOSE_DRAW, d->stream, (uint64_t)first,
                      count, FAB_F64, z);
    if (there) *there = d->stream;
    return z;
}

/* Y = psi^-1/2 z */
static void scaled_z_chunk(void *ctx, int64_t first, int64_t count, int thread)
{
    fab_vifa *f = ctx;
    const double *z = fab_vifa_z(f, first, count, thread), *psi = f->q.psi + first;
    double *x = f->scratch.chunk + (int64_t)thread * FAB_VIFA_CHUNK;
    for (int64_t i = 0; i < count; i++) x[i] = f->draw.sign * z[i] / sqrt(psi[i]);
    f->nn->narrow(count, x, fab_vifa_at(f, f->draw.Y, first));
}

static void theta_chunk(void *ctx, int64_t first, int64_t count, int thread)
{
    fab_vifa *f = ctx;
    const double *z = fab_vifa_z(f, first, count, thread), *psi = f->q.psi + first;
    const double *c = f->q.c + first, sign = f->draw.sign;
    double *theta = f->draw.theta + first;
    for (int64_t i = 0; i < count; i++) theta[i] = c[i] + sign * sqrt(psi[i]) * z[i];
    if (f->q.K > 0) f->nn->widen(count, 1, fab_vifa_at(f, f->draw.Y, first), 1, theta); /* + F h */
}

void fab_vifa_draw(fab_vifa *f, const fab_vifa_step *s, int64_t l)
{
    fab_vifa_draws *d = &f->draw;
    const int64_t W = f->q.W, K = f->q.K, L = f->s.draws;
    const int64_t number = s->t * L + (f->s.pairs ? l / 2 : l);
    d->l = l;
    d->sign = f->s.pairs && l % 2 ? -1 : 1;
    d->stream = FAB_VIFA_DRAWS + 2 * (uint64_t)number;
    if (K > 0) {
        const int path = d->path && s->weight > 0;
        const fab_long F = fab_vifa_F(f), Y = fab_long_vectors(d->Y, W, path ? 2 : 1, W);
        double *h = d->hy, *y = d->hy + K;
        if (d->sign > 0)
            fab_random_normal((uint64_t)f->s.train.seed, FAB_PURPOSE_DRAW, d->stream + 1, 0, K,
                              FAB_F64, d->h);
        for (int64_t k = 0; k < K; k++) {
            h[k] = d->sign * d->h[k];
            d->H[l + k * L] = h[k] / (double)L;
        }
        if (path) {
            const fab_long x = fab_long_vectors(d->Y, W, 1, W);
            fab_vifa_each(f, scaled_z_chunk, f);
            f->run.ops->cross(&f->run, &F, NULL, &x, y); /* F' psi^-1/2 z */
            for (int64_t k = 0; k < K; k++) y[k] = h[k] - y[k];
            fab_chol_solve(K, 1, f->q.L, y); /* y = M^-1 (h - F' psi^-1/2 z) */
        }
        f->run.ops->mult(&f->run, NULL, &F, d->hy, 0, &Y); /* F h, F y */
    }
    fab_vifa_each(f, theta_chunk, f);
    memcpy(d->theta + W, f->q.c + W, (size_t)(f->q.D - W) * sizeof(double));
}
