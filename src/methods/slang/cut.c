/* cut.c - one step of slang: draws, gradients of single examples, the cut, the mean.
 *
 * The numbers are those of slang.c.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/random.h"
#include "methods/slang/slang.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

/* Streams of random numbers, beyond those of the epochs; Z has one for every step. */
#define E_STREAM ((uint64_t)1 << 48)
#define Z_STREAM ((uint64_t)1 << 49)

static fab_long long_U(const fab_slang *f, void *U)
{
    return fab_long_rows(U, f->m.D, f->s.K);
}

static fab_long vectors(const fab_slang *f, void *p, int64_t k)
{
    return fab_long_vectors(p, f->m.D, k, f->m.D);
}

static void *vector_at(const fab_slang *f, void *p, int64_t j)
{
    return (char *)p + (size_t)(j * f->m.D) * f->run.ops->size;
}

static fab_status not_finite(const fab_slang *f, const char *what, double value)
{
    return FAB_FAIL(FAB_NUMERIC,
                    "%s: %s is %g at step %lld (epoch %lld): lower rate (now %g) or rate_precision "
                    "(now %g), or raise start; mu and the precision are those of the step before",
                    f->who, what, value, (long long)f->number[FAB_SLANG_STEP] + 1,
                    (long long)f->number[FAB_SLANG_EPOCH] + 1, f->s.rate, f->s.rate_precision);
}

/* A sum is finite when all of its terms are. */
static double sum_of(int64_t n, const double *v)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sum;
}

/* ---- 2: draws ----------------------------------------------------------------------------------------- */

/* X = x + psi^-1 U M^-1 (e - U' x),  x = psi^-1/2 z */
static void draw(fab_slang *f)
{
    const fab_ops *op = f->run.ops;
    const int64_t D = f->m.D, K = f->s.K, count = f->s.draws;
    const uint64_t seed = (uint64_t)f->s.seed, step = (uint64_t)f->number[FAB_SLANG_STEP];
    const fab_long X = vectors(f, f->X, count), U = long_U(f, f->U);
    op->randn(&f->run, seed, Z_STREAM + step, &X);
    for (int64_t i = 0; i < D; i++) f->spread[i] = sqrt(f->w[i]);
    op->axpy(&f->run, f->spread, &X, 0, &X);
    if (!K) return;
    fab_random_normal(seed, E_STREAM, step * (uint64_t)(K * count), K * count, FAB_F64, f->h);
    op->cross(&f->run, &U, NULL, &X, f->C);
    for (int64_t i = 0; i < K * count; i++) f->h[i] -= f->C[i];
    fab_chol_solve(K, count, f->L, f->h);
    op->mult(&f->run, f->w, &U, f->h, 1, &X);
}

/* theta = mu + draw l */
static void take_draw(fab_slang *f, int64_t l)
{
    const fab_long x = vectors(f, vector_at(f, f->X, l), 1);
    f->run.ops->get(&f->run, &x, f->theta);
    for (int64_t i = 0; i < f->m.D; i++) f->theta[i] += f->mu[i];
}

/* ---- 3: gradients ------------------------------------------------------------------------------------- */

/* Gradients of a batch at every draw: inside the model, or as vectors of G. */
static fab_status gradients(fab_slang *f, const fab_examples *batch, double *loss)
{
    for (int64_t l = 0; l < f->s.draws; l++) {
        double one;
        take_draw(f, l);
        if (f->m.noise)
            f->m.noise(f->m.self, (uint64_t)f->s.seed, (int64_t)f->number[FAB_SLANG_STEP]);
        FAB_TRY(f->m.loss(f->m.self, f->theta, batch, &one, NULL));
        if (!isfinite(one)) return not_finite(f, "the loss", one);
        *loss += one / (double)f->s.draws;
        FAB_TRY(f->m.examples(f->m.self, f->theta, batch));
        if (!f->products) f->m.rows(f->m.self, vector_at(f, f->G, l * batch->x.n), f->m.D);
    }
    return FAB_OK;
}

/* gradient = the sum of n gradients */
static void add_up(fab_slang *f, int64_t n)
{
    const fab_long v = vectors(f, f->v, 1), G = vectors(f, f->G, n);
    if (f->products)
        f->m.combine(f->m.self, 1, f->ones, f->v);
    else
        f->run.ops->mult(&f->run, NULL, &G, f->ones, 0, &v);
    f->run.ops->get(&f->run, &v, f->gradient);
}

/* ---- 4, 5: the cut ------------------------------------------------------------------------------------ */

typedef struct weights {
    double eta, keep, each; /* rate_precision(t), 1 - eta, eta N / (M draws) */
    int64_t n;              /* gradients */
} weights;

/* Gram of Y = [sqrt(keep) U, sqrt(each) G] */
static void form_gram(fab_slang *f, const weights *c)
{
    const int64_t K = f->s.K, n = c->n, side = K + n;
    const fab_long U = long_U(f, f->U), G = vectors(f, f->G, n);
    const double mixed = sqrt(c->keep * c->each);
    if (f->products) { /* cross(k, i) = u_k . g_i stands at k + i K either way */
        f->m.gram(f->m.self, f->gram);
        f->m.project(f->m.self, K, f->U, f->cross);
    } else {
        f->run.ops->gram(&f->run, &G, NULL, f->gram);
        f->run.ops->cross(&f->run, &U, NULL, &G, f->cross);
    }
    memset(f->Y, 0, (size_t)(side * side) * sizeof *f->Y);
    for (int64_t k = 0; k < K; k++) f->Y[k + k * side] = c->keep * f->lambda[k];
    for (int64_t i = 0; i < n; i++) {
        double *column = f->Y + (K + i) * side;
        for (int64_t k = 0; k < K; k++) column[k] = mixed * f->cross[k + i * K];
        for (int64_t j = 0; j < n; j++) column[K + j] = c->each * f->gram[j + i * n];
        for (int64_t k = 0; k < K; k++) f->Y[K + i + k * side] = column[k];
    }
}

/* T, C: the leading eigenvectors, as what U and the gradients are multiplied by */
static fab_status leading(fab_slang *f, const weights *c)
{
    const int64_t K = f->s.K, n = c->n, side = K + n;
    const double sum = sum_of(side * side, f->Y);
    if (!isfinite(sum)) return not_finite(f, "the square of the gradients", sum);
    FAB_TRY(fab_eig_top(side, K, f->Y, f->eigenvalues, f->leading, f->work)); /* ascending */
    for (int64_t k = 0; k < K; k++) {
        const double *vector = f->leading + (K - 1 - k) * side;
        f->lambda_next[k] = fmax(f->eigenvalues[K - 1 - k], 0);
        for (int64_t j = 0; j < K; j++) f->T[j + k * K] = sqrt(c->keep) * vector[j];
        for (int64_t i = 0; i < n; i++)
            f->C[f->products ? i * K + k : i + k * n] = sqrt(c->each) * vector[K + i];
    }
    return FAB_OK;
}

/* Y Y' += scale A A', for a long array of D rows */
static void add_outer(fab_slang *f, double scale, double beta, const fab_long *A)
{
    const int64_t D = f->m.D;
    f->run.ops->get(&f->run, A, f->turned); /* column-major, A' */
    fab_mm(FAB_T, FAB_N, D, D, A->k, scale, f->turned, f->turned, beta, f->Y);
}

/* U_next = Q_K Lambda_K^1/2 of the D x D matrix Y Y' */
static fab_status dense_cut(fab_slang *f, const weights *c)
{
    const int64_t D = f->m.D, K = f->s.K;
    const fab_long U = long_U(f, f->U), G = vectors(f, f->G, c->n), next = long_U(f, f->U_next);
    add_outer(f, c->each, 0, &G);
    add_outer(f, c->keep, 1, &U);
    const double sum = sum_of(D * D, f->Y);
    if (!isfinite(sum)) return not_finite(f, "the square of the gradients", sum);
    FAB_TRY(fab_eig_top(D, K, f->Y, f->eigenvalues, f->leading, f->work)); /* ascending */
    for (int64_t k = 0; k < K; k++) {
        f->lambda_next[k] = fmax(f->eigenvalues[K - 1 - k], 0);
        const double *vector = f->leading + (K - 1 - k) * D, root = sqrt(f->lambda_next[k]);
        for (int64_t i = 0; i < D; i++) f->turned[i * K + k] = root * vector[i];
    }
    f->run.ops->put(&f->run, f->turned, &next);
    return FAB_OK;
}

/* U_next = Y V_K,  diag_next = keep diag + eta prior + each sum g_i^2,  psi_next = diag_next - |u_i|^2; the
 * Gram U' psi^-1 U and N = U' psi^-1 v come with the pass */
static void cut_pass(fab_slang *f, const weights *c)
{
    const int64_t D = f->m.D, K = f->s.K;
    fab_sweep s = {.n = D,
                   .K = K,
                   .out = long_U(f, f->U_next),
                   .c3 = 1,
                   .d2 = f->diag_next,
                   .floor = f->s.psi_min,
                   .psi_out = f->psi_next,
                   .G = f->L_next,
                   .N = f->N,
                   .next = vectors(f, f->v, 1)};
    if (f->dense) {
        s.w = long_U(f, f->U_next), s.r0 = 1;
    } else if (f->products) {
        f->m.combine(f->m.self, K, f->C, f->U_next);
        s.w = long_U(f, f->U_next), s.r0 = 1;
        s.u = long_U(f, f->U), s.T = f->T;
    } else {
        s.w = long_U(f, f->U), s.R = f->T;
        s.x = vectors(f, f->G, c->n), s.C = f->C;
    }
    f->run.ops->sweep(&f->run, &s);
    f->number[FAB_SLANG_FLOORED] = (double)s.floored;
}

/* diag_next, all of it */
static void next_diagonal(fab_slang *f, const weights *c)
{
    const int64_t D = f->m.D;
    const fab_long G = vectors(f, f->G, c->n);
    if (f->products)
        f->m.squares(f->m.self, f->diag_next);
    else
        f->run.ops->rowquad(&f->run, &G, NULL, c->n, 0, f->diag_next);
    for (int64_t i = 0; i < D; i++)
        f->diag_next[i] = c->keep * f->diag[i] + c->eta * f->given_diag[i] +
                          c->each * f->diag_next[i];
}

static fab_status factor_next(fab_slang *f)
{
    fab_add_identity(f->s.K, f->L_next);
    const double sum = sum_of(f->s.K * f->s.K, f->L_next) + sum_of(f->m.D, f->psi_next);
    if (!isfinite(sum)) return not_finite(f, "the square of the precision", sum);
    return f->s.K ? fab_chol(f->s.K, f->L_next) : FAB_OK;
}

static fab_status cut(fab_slang *f, const weights *c)
{
    next_diagonal(f, c);
    if (f->s.K && f->dense) {
        FAB_TRY(dense_cut(f, c)); /* 4, 5 */
    } else if (f->s.K) {
        form_gram(f, c);        /* 4 */
        FAB_TRY(leading(f, c)); /* 5 */
    }
    if (f->s.K)
        cut_pass(f, c);
    else
        memcpy(f->psi_next, f->diag_next, (size_t)f->m.D * sizeof(double));
    return factor_next(f);
}

/* ---- 6, 7: the mean ----------------------------------------------------------------------------------- */

static void swap_doubles(double **a, double **b)
{
    double *const t = *a;
    *a = *b;
    *b = t;
}

static void take_next(fab_slang *f)
{
    void *const U = f->U;
    f->U = f->U_next;
    f->U_next = U;
    swap_doubles(&f->psi, &f->psi_next);
    swap_doubles(&f->diag, &f->diag_next);
    swap_doubles(&f->lambda, &f->lambda_next);
    swap_doubles(&f->L, &f->L_next);
    for (int64_t i = 0; i < f->m.D; i++) f->w[i] = 1 / f->psi[i];
}

/* v = the mean of the gradients so far, unbiased, and the prior's */
static fab_status direction(fab_slang *f, double scale)
{
    const int64_t D = f->m.D;
    const double m = f->s.momentum, unbias = 1 / (1 - pow(m, f->number[FAB_SLANG_STEP] + 1));
    const fab_long v = vectors(f, f->v, 1);
    double penalty = 0;
    for (int64_t i = 0; i < D; i++) {
        f->spread[i] = m * f->mean[i] + (1 - m) * scale * f->gradient[i];
        f->gradient[i] = unbias * f->spread[i];
    }
    FAB_TRY(fab_prior_add(&f->prior, 1, f->mu, &penalty, f->gradient)); /* 6 */
    const double sum = sum_of(D, f->gradient);
    if (!isfinite(sum)) return not_finite(f, "the square of the gradient", sum);
    f->run.ops->put(&f->run, f->gradient, &v);
    return FAB_OK;
}

/* mu -= rate Sigma v,  Sigma v = psi^-1 (v - U M^-1 N) */
static void move(fab_slang *f, double rate)
{
    const fab_long U = long_U(f, f->U), v = vectors(f, f->v, 1);
    if (f->s.K) {
        fab_chol_solve(f->s.K, 1, f->L, f->N);
        for (int64_t k = 0; k < f->s.K; k++) f->N[k] = -f->N[k];
        f->run.ops->mult(&f->run, NULL, &U, f->N, 1, &v);
        f->run.ops->get(&f->run, &v, f->gradient);
    }
    for (int64_t i = 0; i < f->m.D; i++) f->mu[i] -= rate * f->w[i] * f->gradient[i];
    swap_doubles(&f->mean, &f->spread);
}

fab_status fab_slang_step(fab_slang *f, const fab_examples *batch, double *loss)
{
    const double N = (double)fab_minibatch_rows(f->batches), M = (double)batch->x.n,
                 fall = pow(f->number[FAB_SLANG_STEP] + 1, -f->s.decay),
                 eta = fall * f->s.rate_precision, scale = N / (M * (double)f->s.draws);
    const weights c = {eta, 1 - eta, eta * scale, batch->x.n * f->s.draws};
    draw(f);                            /* 2 */
    FAB_TRY(gradients(f, batch, loss)); /* 3 */
    add_up(f, c.n);
    FAB_TRY(direction(f, scale));
    FAB_TRY(cut(f, &c));
    take_next(f);
    move(f, fall * f->s.rate); /* 7 */
    f->number[FAB_SLANG_STEP]++;
    return FAB_OK;
}
