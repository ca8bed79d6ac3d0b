/* gradients.c - lines 4 - 8 of vifa.c: gradients of E_q[-log p(D, theta)] + w E_q[log q] from the draws.
 *
 * There are two entropies.  With `path` log q, like log p, is differentiated at the draw; with `closed` its
 * expectation is, and that of the prior unless one is given.  While only c moves (w = 0) nothing is done for F and gamma.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vifa/vifa.h"
#include <math.h>
#include <string.h>

void fab_vifa_gradients_layout(fab_layout *l, fab_vifa *f)
{
    fab_vifa_gradients *g = &f->grad;
    const int64_t D = f->q.D, W = f->q.W, K = f->q.K;
    const int F_is_kept = K > 0 &&
                          (f->rule != &fab_vifa_sgd || f->s.clip > 0 || g->kept < f->s.draws);
    g->g = fab_place(l, D, sizeof(double));
    g->c = fab_place(l, D, sizeof(double));
    g->gamma = fab_place(l, W, sizeof(double));
    g->row = fab_place(l, W, sizeof(double));
    g->V = fab_place(l, K > 0 ? g->kept * W : 0, f->nn->size);
    g->F = F_is_kept ? fab_place(l, W * K, f->nn->size) : NULL;
}

/* ---- 4, 5: a draw ------------------------------------------------------------------------------------- */

typedef struct add_call {
    fab_vifa *f;
    double weight, scale;
} add_call;

static void add_chunk(void *ctx, int64_t first, int64_t count, int thread)
{
    const add_call *a = ctx;
    fab_vifa *f = a->f;
    const fab_vifa_draws *d = &f->draw;
    fab_vifa_gradients *grad = &f->grad;
    const double *z = fab_vifa_z(f, first, count, thread), *g = grad->g + first;
    const double *psi = f->q.psi + first, sign = d->sign, weight = a->weight, scale = a->scale;
    double *v = f->scratch.chunk + (int64_t)thread * FAB_VIFA_CHUNK;
    double *gc = grad->c + first, *gg = grad->gamma + first;
    memset(v, 0, (size_t)count * sizeof *v);
    if (d->path) { /* v = -w S^-1 (theta - c) */
        if (f->q.K > 0) {
            f->nn->widen(count, -weight, fab_vifa_at(f, d->Y, f->q.W + first), 0, v);
            for (int64_t i = 0; i < count; i++) v[i] /= psi[i];
        }
        for (int64_t i = 0; i < count; i++) v[i] -= weight * sign * z[i] / sqrt(psi[i]);
    }
    for (int64_t i = 0; i < count; i++) v[i] += scale * g[i];
    if (d->l == 0) {
        for (int64_t i = 0; i < count; i++) gc[i] = v[i], gg[i] = v[i] * sign * z[i];
    } else {
        for (int64_t i = 0; i < count; i++) gc[i] += v[i], gg[i] += v[i] * sign * z[i];
    }
    if (f->q.K > 0) {
        const int64_t column = grad->kept == f->s.draws ? d->l : 0;
        f->nn->narrow(count, v, fab_vifa_at(f, grad->V, column * f->q.W + first));
    }
}

/* While only c moves. */
static void add_c_chunk(void *ctx, int64_t first, int64_t count, int thread)
{
    const add_call *a = ctx;
    const double *g = a->f->grad.g + first;
    double *gc = a->f->grad.c + first;
    (void)thread;
    for (int64_t i = 0; i < count; i++) gc[i] = (a->f->draw.l > 0 ? gc[i] : 0) + a->scale * g[i];
}

void fab_vifa_gradients_add(fab_vifa *f, const fab_vifa_step *s, double scale)
{
    fab_vifa_gradients *grad = &f->grad;
    const int64_t W = f->q.W, K = f->q.K, L = f->s.draws, l = f->draw.l;
    add_call a = {f, s->weight, scale};
    fab_vifa_each(f, s->weight > 0 ? add_chunk : add_c_chunk, &a);
    for (int64_t i = W; i < f->q.D; i++) grad->c[i] = (l > 0 ? grad->c[i] : 0) + scale * grad->g[i];
    if (K > 0 && s->weight > 0 && grad->kept < L) {
        const fab_long V = fab_long_vectors(grad->V, W, 1, W), GF = fab_long_rows(grad->F, W, K);
        double *h = f->scratch.A; /* 1 x K */
        for (int64_t k = 0; k < K; k++) h[k] = f->draw.H[l + k * L];
        f->run.ops->mult(&f->run, NULL, &V, h, l > 0, &GF); /* G_F += v h' / L */
    }
}

/* ---- 6, 7: c and gamma -------------------------------------------------------------------------------- */

typedef struct finish_call {
    fab_vifa *f;
    double weight;
} finish_call;

static void finish_chunk(void *ctx, int64_t first, int64_t count, int thread)
{
    const finish_call *a = ctx;
    fab_vifa *f = a->f;
    const double over_L = 1 / (double)f->s.draws, alpha = f->grad.alpha;
    const double w = f->grad.closed ? a->weight : 0; /* of the entropy in closed form */
    const double w_row = f->q.K > 0 ? w : 0;
    const double *psi = f->q.psi + first, *c = f->q.c + first, *row = f->grad.row + first;
    double *gc = f->grad.c + first, *gg = f->grad.gamma + first, of_c = 0, of_gamma = 0;
    (void)thread;
    for (int64_t i = 0; i < count; i++) {
        gc[i] = gc[i] * over_L + alpha * c[i]; /* 6 */
        of_c += gc[i] * gc[i];
    }
    if (a->weight > 0)
        for (int64_t i = 0; i < count; i++) {
            gg[i] = 0.5 * (gg[i] * over_L * sqrt(psi[i]) + alpha * psi[i] - w +
                           w_row * row[i] / psi[i]); /* 7 */
            of_gamma += gg[i] * gg[i];
        }
    f->scratch.sums[2 * (first / FAB_VIFA_CHUNK)] = of_c;
    f->scratch.sums[2 * (first / FAB_VIFA_CHUNK) + 1] = of_gamma;
}

fab_status fab_vifa_gradients_finish(fab_vifa *f, const fab_vifa_step *s)
{
    fab_vifa_gradients *g = &f->grad;
    finish_call a = {f, s->weight};
    double of_c = 0, of_gamma = 0;
    if (g->closed && f->q.K > 0 && s->weight > 0) {
        const fab_long F = fab_vifa_F(f);
        f->run.ops->rowquad(&f->run, &F, f->q.root, f->q.K, 0, g->row); /* rowdot(F M^-1, F) */
    }
    fab_vifa_each(f, finish_chunk, &a);
    for (int64_t i = 0; i * FAB_VIFA_CHUNK < f->q.W; i++) {
        of_c += f->scratch.sums[2 * i];
        of_gamma += f->scratch.sums[2 * i + 1];
    }
    for (int64_t i = f->q.W; i < f->q.D; i++) {
        g->c[i] = s->free_moves ? g->c[i] / (double)f->s.draws : 0;
        of_c += g->c[i] * g->c[i];
    }
    g->norm_c = sqrt(of_c);
    g->norm_gamma = sqrt(of_gamma);
    if (isfinite(g->norm_c) && isfinite(g->norm_gamma)) return FAB_OK;
    return fab_vifa_diverged(f, s->t, "the norm of the gradient", g->norm_c + g->norm_gamma);
}

/* ---- 8: F --------------------------------------------------------------------------------------------- */

/* Adds -by w psi^-1 F M^-1 to a pass. */
static void add_entropy(fab_vifa *f, const fab_vifa_step *s, double by, fab_sweep *w)
{
    const int64_t K = f->q.K;
    if (!f->grad.closed) return;
    for (int64_t i = 0; i < K * K; i++) f->scratch.A[i] = -by * s->weight * f->q.Minv[i];
    w->u = fab_vifa_F(f);
    w->T = f->scratch.A;
    w->s_den = f->q.psi;
}

fab_sweep fab_vifa_gradient_pass(fab_vifa *f, const fab_vifa_step *s, double by)
{
    const int64_t W = f->q.W, K = f->q.K, L = f->s.draws;
    fab_sweep w = {.n = W,
                   .K = K,
                   .w = fab_vifa_F(f),
                   .r0 = by * f->grad.alpha, /* alpha F */
                   .x = fab_long_vectors(f->grad.V, W, L, W),
                   .C = f->draw.H}; /* V H: v_1 h_1' + .. + v_L h_L' */
    for (int64_t i = 0; i < K * L; i++) f->draw.H[i] *= by;
    add_entropy(f, s, by, &w);
    return w;
}

void fab_vifa_gradient_F(fab_vifa *f, const fab_vifa_step *s)
{
    const int64_t W = f->q.W, K = f->q.K;
    const fab_long GF = fab_long_rows(f->grad.F, W, K);
    fab_sweep w;
    if (f->grad.kept == f->s.draws) {
        w = fab_vifa_gradient_pass(f, s, 1);
    } else { /* V H is in G_F */
        fab_vifa_identity(K, f->grad.alpha, f->scratch.B);
        w = (fab_sweep){.n = W, .K = K, .w = GF, .r0 = 1, .x = fab_vifa_F(f), .C = f->scratch.B};
        add_entropy(f, s, 1, &w);
    }
    w.out = GF;
    w.psi = f->q.psi;
    f->run.ops->sweep(&f->run, &w);
}
