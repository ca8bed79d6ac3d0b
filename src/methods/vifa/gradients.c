/* gradients.c - gradients of the bound and one step along them, lines 6 - 10 of vifa.c.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vifa/vifa.h"
#include "base/fail.h"
#include <math.h>
#include <string.h>

static int closed(const fab_vifa *f)
{
    return f->s.entropy == FAB_VIFA_CLOSED;
}

int fab_vifa_samples_prior(const fab_vifa *f)
{
    return !closed(f) || f->given;
}

int fab_vifa_keeps_GF(const fab_vifa_settings *s)
{
    return s->K > 0 && (s->optimiser != FAB_VIFA_SGD || s->clip > 0 || s->draws > s->K);
}

int64_t fab_vifa_batches(const fab_vifa *f)
{
    const fab_vifa_settings *s = &f->s;
    if (s->optimiser == FAB_VIFA_NEWTON) return fab_minibatch_steps(f->batches);
    return s->shared ? 1 : s->pairs ? (s->draws + 1) / 2 : s->draws;
}

fab_long fab_vifa_F(const fab_vifa *f)
{
    return fab_long_rows(f->F, f->W, f->K);
}

fab_status fab_vifa_diverged(const fab_vifa *f, int64_t t, const char *what, double value)
{
    static const char *const others[] = {"set clip", "set clip", "lower reach",
                                         "take optimiser = adam"};
    return FAB_FAIL(
        FAB_NUMERIC,
        "%s: %s is %g at step %lld: lower rate (now %g), or %s; the state is back where the "
        "epoch began",
        f->who, what, value, (long long)t + 1, f->s.rate, others[f->s.optimiser]);
}

/* ---- M ---------------------------------------------------------------------------------------------------- */

void fab_vifa_gram(fab_vifa *f)
{
    const fab_long F = fab_vifa_F(f);
    fab_sweep w = {.n = f->W, .K = f->K, .w = F, .r0 = 1, .out = F, .psi = f->psi, .G = f->G};
    if (f->K > 0) f->run.ops->sweep(&f->run, &w);
}

fab_status fab_vifa_factor(fab_vifa *f)
{
    const int64_t K = f->K;
    if (K == 0) return FAB_OK;
    memcpy(f->Lc, f->G, (size_t)(K * K) * sizeof(double));
    fab_add_identity(K, f->Lc);
    const fab_status s = fab_chol(K, f->Lc);
    if (s != FAB_OK) return fab_prefix(s, "%s: I + F' psi^-1 F: ", f->who);
    if (!closed(f)) return FAB_OK;
    memset(f->T, 0, (size_t)(K * K) * sizeof(double));
    fab_add_identity(K, f->T);
    fab_tri_solve(FAB_LEFT, FAB_N, K, K, f->Lc, f->T);
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++) f->root[i + j * K] = f->T[j + i * K]; /* Lc'^-1 */
    fab_mm(FAB_N, FAB_T, K, K, K, 1, f->root, f->root, 0, f->Minv);
    return FAB_OK;
}

/* ---- gradients of c and gamma ------------------------------------------------------------------------------- */

/* 6, 7; the sums of their squares */
static void finish_chunk(fab_vifa *f, const fab_vifa_step *s, int64_t first, int64_t count,
                         int thread, void *ctx)
{
    const double over_L = 1 / (double)f->s.draws, w = closed(f) ? s->weight : 0;
    const double alpha = fab_vifa_samples_prior(f) ? 0 : f->s.alpha;
    const double *psi = f->psi + first, *c = f->c + first, *row = f->row + first;
    double *gc = f->gc + first, *gg = f->gg + first, of_c = 0, of_gamma = 0;
    const double quad = f->K > 0 ? w : 0;
    (void)thread;
    (void)ctx;
    for (int64_t i = 0; i < count; i++) {
        gc[i] = gc[i] * over_L + alpha * c[i];
        of_c += gc[i] * gc[i];
    }
    for (int64_t i = 0; i < count && s->weight > 0; i++) {
        gg[i] = 0.5 * (gg[i] * over_L * sqrt(psi[i]) + alpha * psi[i] - w + quad * row[i] / psi[i]);
        of_gamma += gg[i] * gg[i];
    }
    f->sums[2 * (first / FAB_VIFA_CHUNK)] = of_c;
    f->sums[2 * (first / FAB_VIFA_CHUNK) + 1] = of_gamma;
}

typedef struct norms {
    double c, gamma;
} norms;

static fab_status finish_gradients(fab_vifa *f, const fab_vifa_step *s, norms *n)
{
    const fab_long F = fab_vifa_F(f);
    *n = (norms){0};
    if (closed(f) && f->K > 0 && s->weight > 0)
        f->run.ops->rowquad(&f->run, &F, f->root, f->K, 0, f->row);
    fab_vifa_each(f, s, finish_chunk, NULL);
    for (int64_t i = 0; i * FAB_VIFA_CHUNK < f->W; i++) {
        n->c += f->sums[2 * i];
        n->gamma += f->sums[2 * i + 1];
    }
    for (int64_t i = f->W; i < f->m.D; i++) {
        f->gc[i] = s->moves_free ? f->gc[i] / (double)f->s.draws : 0;
        n->c += f->gc[i] * f->gc[i];
    }
    n->c = sqrt(n->c);
    n->gamma = sqrt(n->gamma);
    if (isfinite(n->c) && isfinite(n->gamma)) return FAB_OK;
    return fab_vifa_diverged(f, s->t, "the norm of the gradient", n->c + n->gamma);
}

/* ---- gradient of F, or F less a part of it ------------------------------------------------------------------ */

static void set_identity(int64_t K, double value, double *A)
{
    memset(A, 0, (size_t)(K * K) * sizeof *A);
    for (int64_t k = 0; k < K; k++) A[k + k * K] = value;
}

/* 8  out = keep F - rate (alpha F - weight psi^-1 F M^-1 + V H): with keep = 1 the step of sgd, with keep = 0 and
 *    rate = -1 the gradient, where V H may be summed already; with G comes the Gram of the next F and psi */
static void sweep_F(fab_vifa *f, const fab_vifa_step *s, double keep, double rate, void *out,
                    double *G)
{
    const int64_t K = f->K, L = f->s.draws, summed = f->kept < L;
    const fab_long F = fab_vifa_F(f);
    const double alpha = fab_vifa_samples_prior(f) ? 0 : f->s.alpha;
    fab_sweep w = {.n = f->W,
                   .K = K,
                   .r0 = summed ? 1 : keep - rate * alpha,
                   .w = summed ? fab_long_rows(f->GF, f->W, K) : F,
                   .x = summed ? F : fab_long_vectors(f->V, f->W, L, f->W),
                   .C = summed ? f->turn : f->H,
                   .out = fab_long_rows(out, f->W, K),
                   .psi = f->next,
                   .G = G};
    if (summed)
        set_identity(K, alpha, f->turn);
    else
        for (int64_t i = 0; i < K * L; i++) f->H[i] *= -rate;
    if (closed(f)) {
        for (int64_t i = 0; i < K * K; i++) f->T[i] = rate * s->weight * f->Minv[i];
        w.u = F, w.T = f->T, w.s_den = f->psi;
    }
    f->run.ops->sweep(&f->run, &w);
}

/* F -= rate GF, and the Gram */
static void subtract_GF(fab_vifa *f, double rate)
{
    const fab_long F = fab_vifa_F(f);
    set_identity(f->K, -rate, f->turn);
    fab_sweep w = {.n = f->W,
                   .K = f->K,
                   .w = F,
                   .r0 = 1,
                   .x = fab_long_rows(f->GF, f->W, f->K),
                   .C = f->turn,
                   .out = F,
                   .psi = f->next,
                   .G = f->G};
    f->run.ops->sweep(&f->run, &w);
}

/* ---- how far ------------------------------------------------------------------------------------------------ */

/* The factor that brings a norm down to `most`; 0: any. */
static double clipped(double most, double norm)
{
    return most > 0 && norm > most ? most / norm : 1;
}

static void scale(int64_t n, double by, double *x)
{
    for (int64_t i = 0; i < n && by != 1; i++) x[i] *= by;
}

static double length(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* |GF|, rows weighed by w or not. */
static double norm_GF(fab_vifa *f, const double *w)
{
    const fab_long GF = fab_long_rows(f->GF, f->W, f->K);
    double sum = 0;
    f->run.ops->colquad(&f->run, &GF, w, f->hy);
    for (int64_t k = 0; k < f->K; k++) sum += f->hy[k];
    return sqrt(sum);
}

/* ---- 9: sgd and adam ---------------------------------------------------------------------------------------- */

typedef struct adam_call {
    fab_vifa *f;
    double rate, root;
} adam_call;

static void adam_task(void *ctx, int64_t i, int thread)
{
    const adam_call *a = ctx;
    const fab_vifa *f = a->f;
    const int64_t all = f->W * f->K, first = i * FAB_VIFA_CHUNK * f->K, left = all - first;
    const int64_t n = left < FAB_VIFA_CHUNK * f->K ? left : FAB_VIFA_CHUNK * f->K;
    const size_t at = (size_t)first * f->nn->size;
    (void)thread;
    f->nn->adam(n, f->s.momentum, f->s.second, a->rate, a->root, f->s.epsilon, (char *)f->GF + at,
                (char *)f->mF + at, (char *)f->vF + at, (char *)f->F + at);
}

/* F by adam; t counts its steps from 1. */
static void adam_F(fab_vifa *f, double rate)
{
    const double t = (double)f->of_gamma.t;
    adam_call a = {f, rate / (1 - pow(f->s.momentum, t)), 1 / sqrt(1 - pow(f->s.second, t))};
    const int64_t chunks = (f->W + FAB_VIFA_CHUNK - 1) / FAB_VIFA_CHUNK;
    fab_parallel(chunks < FAB_VIFA_TEAM ? 1 : f->threads, chunks, adam_task, &a);
    double *psi = f->psi;
    f->psi = f->next;
    fab_vifa_gram(f);
    f->psi = psi;
}

static void plain_F(fab_vifa *f, const fab_vifa_step *s, double rate)
{
    if (!fab_vifa_keeps_GF(&f->s)) {
        sweep_F(f, s, 1, rate, f->F, f->G);
        return;
    }
    sweep_F(f, s, 0, -1, f->GF, NULL);
    const double by = f->s.clip > 0 ? clipped(f->s.clip, norm_GF(f, NULL)) : 1;
    if (f->s.optimiser == FAB_VIFA_SGD) {
        subtract_GF(f, rate * by);
        return;
    }
    if (by != 1) {
        const fab_long GF = fab_long_rows(f->GF, f->W, f->K);
        set_identity(f->K, by, f->turn);
        f->run.ops->mult(&f->run, NULL, &GF, f->turn, 0, &GF);
    }
    adam_F(f, rate);
}

/* ---- 9: along S times the gradient -------------------------------------------------------------------------- */

static void natural_chunk(fab_vifa *f, const fab_vifa_step *s, int64_t first, int64_t count,
                          int thread, void *ctx)
{
    const double rate = *(const double *)ctx, *psi = f->psi + first, *gc = f->gc + first;
    double *c = f->c + first, *v = f->v + (int64_t)thread * FAB_VIFA_CHUNK;
    (void)s;
    memset(v, 0, (size_t)count * sizeof *v);
    if (f->K > 0) f->nn->widen(count, 1, (char *)f->Y + (size_t)first * f->nn->size, 0, v);
    for (int64_t i = 0; i < count; i++) c[i] -= rate * (psi[i] * gc[i] + v[i]);
}

/* c -= rate S gc, at most `reach` standard deviations a coordinate; free coordinates: 2 / N in place of S, the
 * inverse Fisher information of a log noise precision */
static void natural_c(fab_vifa *f, const fab_vifa_step *s)
{
    const fab_long F = fab_vifa_F(f), Y = fab_long_vectors(f->Y, f->W, 1, f->W);
    double sum = 0, rate = s->rate;
    if (f->K > 0) {
        f->nn->narrow(f->W, f->gc, f->Y);
        f->run.ops->cross(&f->run, &F, NULL, &Y, f->hy); /* F' gc */
        sum = length(f->K, f->hy);
        f->run.ops->mult(&f->run, NULL, &F, f->hy, 0, &Y);
    }
    sum *= sum;
    for (int64_t i = 0; i < f->W; i++) sum += f->psi[i] * f->gc[i] * f->gc[i];
    rate *= clipped(f->s.reach * sqrt((double)f->W), rate * sqrt(sum)); /* sum = gc' S gc */
    fab_vifa_each(f, s, natural_chunk, &rate);
    for (int64_t i = f->W; i < f->m.D; i++)
        f->c[i] -= s->rate * 2 * f->gc[i] / (double)fab_minibatch_rows(f->batches);
}

/* F -= rate S GF */
static void natural_F(fab_vifa *f, const fab_vifa_step *s, double rate)
{
    const int64_t K = f->K;
    const fab_long F = fab_vifa_F(f), GF = fab_long_rows(f->GF, f->W, K);
    sweep_F(f, s, 0, -1, f->GF, NULL);
    f->run.ops->cross(&f->run, &F, NULL, &GF, f->T); /* F' GF */
    const double norm = hypot(norm_GF(f, f->psi), length(K * K, f->T));
    set_identity(K, 1, f->turn);
    f->run.ops->mult(&f->run, f->psi, &GF, f->turn, 0, &GF);
    f->run.ops->mult(&f->run, NULL, &F, f->T, 1, &GF); /* psi GF + F F' GF */
    subtract_GF(f, rate * clipped(f->s.reach, rate * norm));
}

/* ---- 9, 10 -------------------------------------------------------------------------------------------------- */

static void step_c(fab_vifa *f, const fab_vifa_step *s, double norm)
{
    if (f->s.optimiser == FAB_VIFA_NATURAL) {
        natural_c(f, s);
        return;
    }
    scale(f->m.D, clipped(f->s.clip, norm), f->gc);
    fab_optim_step(&f->of_c, s->rate, f->gc, 0, 0, f->c);
}

/* psi of the next step; the largest |gamma| of a chunk */
static void psi_chunk(fab_vifa *f, const fab_vifa_step *s, int64_t first, int64_t count, int thread,
                      void *ctx)
{
    const double *gamma = f->gamma + first;
    double *next = f->next + first, most = 0;
    (void)s, (void)thread, (void)ctx;
    for (int64_t i = 0; i < count; i++) most = fabs(gamma[i]) > most ? fabs(gamma[i]) : most;
    f->nn->exps(count, gamma, next); /* 10 */
    f->sums[2 * (first / FAB_VIFA_CHUNK)] = most;
}

/* gamma: natural gradients of a log variance are twice the plain ones */
static fab_status step_gamma(fab_vifa *f, const fab_vifa_step *s, double norm)
{
    const int natural = f->s.optimiser == FAB_VIFA_NATURAL;
    const double rate = s->rate * f->s.rate_psi;
    const double by = natural ? 2 * clipped(f->s.reach * sqrt((double)f->W), 2 * rate * norm)
                              : clipped(f->s.clip, norm);
    scale(f->W, by, f->gg);
    fab_optim_step(&f->of_gamma, rate, f->gg, 0, 0, f->gamma);
    fab_vifa_each(f, s, psi_chunk, NULL);
    for (int64_t i = 0; i * FAB_VIFA_CHUNK < f->W; i++)
        if (!(f->sums[2 * i] <= FAB_VIFA_MOST_GAMMA))
            return fab_vifa_diverged(f, s->t, "the largest |log psi|", f->sums[2 * i]);
    return FAB_OK;
}

fab_status fab_vifa_move(fab_vifa *f, const fab_vifa_step *s)
{
    norms n;
    FAB_TRY(finish_gradients(f, s, &n)); /* 6, 7 */
    step_c(f, s, n.c);                   /* 9 */
    if (s->weight == 0) return FAB_OK;
    FAB_TRY(step_gamma(f, s, n.gamma)); /* 9, 10 */
    if (f->K > 0) {
        if (f->s.optimiser == FAB_VIFA_NATURAL)
            natural_F(f, s, s->rate * f->s.rate_F); /* 8, 9 */
        else
            plain_F(f, s, s->rate * f->s.rate_F);
    }
    double *psi = f->psi;
    f->psi = f->next;
    f->next = psi;
    return FAB_OK;
}
