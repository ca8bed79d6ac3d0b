/* gaussian.c - the Gaussian that vifa moves, q = N(c, F F' + diag(psi)), psi = exp gamma, M = I + F' psi^-1 F.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vifa/vifa.h"
#include <math.h>
#include <string.h>

#define MOST_GAMMA 600 /* |log psi| beyond it: diverged, psi would over- or underflow */

void fab_vifa_small_layout(fab_layout *l, fab_vifa *f)
{
    fab_vifa_gaussian *q = &f->q;
    fab_vifa_scratch *x = &f->scratch;
    const int64_t K = q->K;
    q->G = fab_place(l, K * K, sizeof(double));
    q->L = fab_place(l, K * K, sizeof(double));
    q->Minv = fab_place(l, K * K, sizeof(double));
    q->root = fab_place(l, K * K, sizeof(double));
    x->k = fab_place(l, K, sizeof(double));
    x->A = fab_place(l, K * K, sizeof(double));
    x->B = fab_place(l, K * K, sizeof(double));
}

void fab_vifa_gaussian_layout(fab_layout *l, fab_vifa *f)
{
    fab_vifa_gaussian *q = &f->q;
    q->c = fab_place(l, q->D, sizeof(double));
    q->gamma = fab_place(l, q->W, sizeof(double));
    q->psi = fab_place(l, q->W, sizeof(double));
    q->psi_next = fab_place(l, q->W, sizeof(double));
    fab_vifa_small_layout(l, f);
}

fab_long fab_vifa_F(const fab_vifa *f)
{
    return fab_long_rows(f->q.F, f->q.W, f->q.K);
}

fab_status fab_vifa_diverged(const fab_vifa *f, int64_t t, const char *what, double value)
{
    return FAB_FAIL(
        FAB_NUMERIC,
        "%s: %s is %g at step %lld: lower rate (now %g), or %s; the state is back where the "
        "epoch began",
        f->who, what, value, (long long)t + 1, f->s.train.rate, f->rule->remedy);
}

/* ---- coordinates in chunks ---------------------------------------------------------------------------- */

typedef struct chunks {
    int64_t W;
    fab_vifa_chunk *chunk;
    void *ctx;
} chunks;

static void chunk_task(void *ctx, int64_t i, int thread)
{
    const chunks *all = ctx;
    const int64_t first = i * FAB_VIFA_CHUNK, left = all->W - first;
    all->chunk(all->ctx, first, left < FAB_VIFA_CHUNK ? left : FAB_VIFA_CHUNK, thread);
}

void fab_vifa_each(const fab_vifa *f, fab_vifa_chunk *chunk, void *ctx)
{
    chunks all = {f->q.W, chunk, ctx};
    const int64_t count = (f->q.W + FAB_VIFA_CHUNK - 1) / FAB_VIFA_CHUNK;
    fab_parallel(count < FAB_VIFA_TEAM ? 1 : f->run.threads, count, chunk_task, &all);
}

void *fab_vifa_at(const fab_vifa *f, void *vector, int64_t first)
{
    return (char *)vector + (size_t)first * f->nn->size;
}

/* ---- M ------------------------------------------------------------------------------------------------ */

void fab_vifa_identity(int64_t K, double value, double *A)
{
    memset(A, 0, (size_t)(K * K) * sizeof *A);
    for (int64_t k = 0; k < K; k++) A[k + k * K] = value;
}

void fab_vifa_gram(fab_vifa *f, const double *psi)
{
    const fab_long F = fab_vifa_F(f);
    fab_sweep w = {.n = f->q.W, .K = f->q.K, .w = F, .r0 = 1, .out = F, .psi = psi, .G = f->q.G};
    if (f->q.K > 0) f->run.ops->sweep(&f->run, &w);
}

fab_status fab_vifa_factor(fab_vifa *f)
{
    fab_vifa_gaussian *q = &f->q;
    const int64_t K = q->K;
    double *inverse = f->scratch.A;
    if (K == 0) return FAB_OK;
    memcpy(q->L, q->G, (size_t)(K * K) * sizeof(double));
    fab_add_identity(K, q->L);
    const fab_status s = fab_chol(K, q->L); /* M = L L' */
    if (s != FAB_OK) return fab_prefix(s, "%s: I + F' psi^-1 F: ", f->who);
    if (!f->grad.closed) return FAB_OK;
    fab_vifa_identity(K, 1, inverse);
    fab_tri_solve(FAB_LEFT, FAB_N, K, K, q->L, inverse);
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++) q->root[i + j * K] = inverse[j + i * K]; /* L'^-1 */
    fab_mm(FAB_N, FAB_T, K, K, K, 1, q->root, q->root, 0, q->Minv);
    return FAB_OK;
}

/* ---- psi ---------------------------------------------------------------------------------------------- */

/* 10; the largest |gamma| of a chunk */
static void psi_chunk(void *ctx, int64_t first, int64_t count, int thread)
{
    fab_vifa *f = ctx;
    const double *gamma = f->q.gamma + first;
    double largest = 0;
    (void)thread;
    for (int64_t i = 0; i < count; i++)
        if (fabs(gamma[i]) > largest) largest = fabs(gamma[i]);
    f->nn->exps(count, gamma, f->q.psi_next + first);
    f->scratch.sums[2 * (first / FAB_VIFA_CHUNK)] = largest;
}

fab_status fab_vifa_check_gamma(const fab_vifa *f, int64_t t, double largest)
{
    if (largest <= MOST_GAMMA) return FAB_OK;
    return fab_vifa_diverged(f, t, "the largest |log psi|", largest);
}

fab_status fab_vifa_next_psi(fab_vifa *f, const fab_vifa_step *s)
{
    fab_vifa_each(f, psi_chunk, f);
    for (int64_t i = 0; i * FAB_VIFA_CHUNK < f->q.W; i++)
        FAB_TRY(fab_vifa_check_gamma(f, s->t, f->scratch.sums[2 * i]));
    return FAB_OK;
}

/* ---- KL ----------------------------------------------------------------------------------------------- */

fab_status fab_vifa_divergence(fab_vifa *f, double *kl)
{
    const fab_vifa_gaussian *q = &f->q;
    const int64_t W = q->W, K = q->K;
    const double alpha = f->s.train.alpha;
    double squares = 0, logdet = 0;
    if (fab_vifa_is_far(f)) {
        double sums[FAB_GAUSS_SUMS];
        fab_vifa_far_sums(f, sums);
        squares = sums[0] + sums[1];
        logdet = sums[2];
    } else {
        for (int64_t i = 0; i < W; i++) {
            squares += q->c[i] * q->c[i] + q->psi[i];
            logdet += q->gamma[i];
        }
    }
    if (K > 0) {
        const fab_long F = fab_vifa_F(f);
        FAB_TRY(fab_vifa_factor(f));
        f->run.ops->colquad(&f->run, &F, NULL, f->scratch.k);
        for (int64_t k = 0; k < K; k++) squares += f->scratch.k[k]; /* c'c + tr S */
        logdet += fab_chol_logdet(K, q->L);                         /* log |S| */
    }
    *kl = (alpha * squares - logdet - (double)W * (1 + log(alpha))) / 2;
    return FAB_OK;
}
