/* natural.c - line 9 of vifa.c along natural directions: c -= rate S g_c, gamma -= 2 rate_psi g_gamma, F -= rate_F S G_F,
 * S = F F' + diag(psi), with steps no longer than `reach` standard deviations (Amari 1998).
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vifa/vifa.h"
#include <math.h>
#include <string.h>

static double norm(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

typedef struct c_call {
    fab_vifa *f;
    double rate;
} c_call;

/* c -= rate (psi g_c + F F' g_c) */
static void c_chunk(void *ctx, int64_t first, int64_t count, int thread)
{
    const c_call *a = ctx;
    fab_vifa *f = a->f;
    const double *psi = f->q.psi + first, *gc = f->grad.c + first;
    double *c = f->q.c + first, *v = f->scratch.chunk + (int64_t)thread * FAB_VIFA_CHUNK;
    memset(v, 0, (size_t)count * sizeof *v);
    if (f->q.K > 0) f->nn->widen(count, 1, fab_vifa_at(f, f->draw.Y, first), 0, v);
    for (int64_t i = 0; i < count; i++) c[i] -= a->rate * (psi[i] * gc[i] + v[i]);
}

/* Free coordinates: 2 / N in place of S, the inverse Fisher information of a log noise precision. */
static void move_c(fab_vifa *f, const fab_vifa_step *s)
{
    const int64_t W = f->q.W, K = f->q.K;
    const double *psi = f->q.psi, *gc = f->grad.c,
                 rows = (double)fab_minibatch_rows(f->joint.batches);
    double square = 0, *k = f->scratch.k;
    if (K > 0) {
        const fab_long F = fab_vifa_F(f), Y = fab_long_vectors(f->draw.Y, W, 1, W);
        f->nn->narrow(W, gc, f->draw.Y);
        f->run.ops->cross(&f->run, &F, NULL, &Y, k); /* F' g_c */
        f->run.ops->mult(&f->run, NULL, &F, k, 0, &Y);
        square = norm(K, k);
    }
    square *= square;
    for (int64_t i = 0; i < W; i++) square += psi[i] * gc[i] * gc[i]; /* g_c' S g_c */
    const double most = f->s.reach * sqrt((double)W);
    c_call a = {f, s->rate * fab_vifa_shorter(most, s->rate * sqrt(square))};
    fab_vifa_each(f, c_chunk, &a);
    for (int64_t i = W; i < f->q.D; i++) f->q.c[i] -= s->rate * 2 * gc[i] / rows;
}

/* The natural gradient of a log variance is twice the plain one. */
static void move_gamma(fab_vifa *f, const fab_vifa_step *s)
{
    const int64_t W = f->q.W;
    const double rate = s->rate * f->s.rate_psi, most = f->s.reach * sqrt((double)W);
    const double by = 2 * fab_vifa_shorter(most, 2 * rate * f->grad.norm_gamma);
    fab_vifa_scale(W, by, f->grad.gamma);
    fab_vifa_subtract(f, W, rate, f->grad.gamma, f->q.gamma);
}

static void move_F(fab_vifa *f, const fab_vifa_step *s)
{
    const int64_t W = f->q.W, K = f->q.K;
    const double rate = s->rate * f->s.rate_F;
    const fab_long F = fab_vifa_F(f), GF = fab_long_rows(f->grad.F, W, K);
    double *FG = f->scratch.A, *I = f->scratch.B;
    f->run.ops->cross(&f->run, &F, NULL, &GF, FG); /* F' G_F */
    const double square_root = hypot(fab_vifa_norm_F(f, f->q.psi), norm(K * K, FG));
    fab_vifa_identity(K, 1, I);
    f->run.ops->mult(&f->run, f->q.psi, &GF, I, 0, &GF); /* psi G_F */
    f->run.ops->mult(&f->run, NULL, &F, FG, 1, &GF);     /* + F F' G_F */
    fab_vifa_subtract_F(f, rate * fab_vifa_shorter(f->s.reach, rate * square_root));
}

const fab_vifa_rule fab_vifa_natural = {
    .remedy = "lower reach",
    .c = move_c,
    .gamma = move_gamma,
    .F = move_F,
};
