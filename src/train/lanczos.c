/* lanczos.c - the spectrum of a matrix known by its products, by Lanczos' method from random signs.
 *
 *   1  B = D A D, D = diag(scale)
 *   2  z_s random signs, s = 1 .. FAB_PROBES; T_s the tridiagonal matrix of STEPS steps of Lanczos from z_s
 *   3  T_s = U t U':  tr f(B) ~ mean over s of P sum u_1i^2 f(t_i)        Gauss' rule for the spectrum of B
 *
 * The signs depend on the seed alone, so that estimates of one matrix after the other can be compared.  Vectors are not
 * made orthogonal again: copies of an eigenvalue that has converged share its weight.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/random.h"
#include "train/products.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum { S = FAB_PROBES, STEPS = FAB_LANCZOS_STEPS, STREAM = 2 };
#define SPENT 1e-12 /* a direction this small, relative to B, is rounding: the space is exhausted */

typedef struct lanczos {
    fab_spectrum face; /* lends node and weight */
    int64_t P, steps;
    const double *scale;         /* P, or NULL */
    double *before, *now, *next; /* P x S, row-major */
    double *diag, *off;          /* S x steps each, of T */
    double *node, *share;        /* S x steps each */
    double *T, *work;            /* steps x steps */
} lanczos;

static void layout(fab_layout *l, void *handle)
{
    lanczos *z = handle;
    z->before = fab_place(l, z->P * S, sizeof(double));
    z->now = fab_place(l, z->P * S, sizeof(double));
    z->next = fab_place(l, z->P * S, sizeof(double));
    z->diag = fab_place(l, S * z->steps, sizeof(double));
    z->off = fab_place(l, S * z->steps, sizeof(double));
    z->node = fab_place(l, S * z->steps, sizeof(double));
    z->share = fab_place(l, S * z->steps, sizeof(double));
    z->T = fab_place(l, z->steps * z->steps, sizeof(double));
    z->work = fab_place(l, fab_eig_work(z->steps), sizeof(double));
}

/* 2: signs of length 1 */
static void begin(lanczos *z, int64_t seed)
{
    const double unit = 1 / sqrt((double)z->P);
    fab_random_uniform((uint64_t)seed, FAB_PURPOSE_PROBE, STREAM, 0, z->P * S, z->now);
    for (int64_t i = 0; i < z->P * S; i++) z->now[i] = z->now[i] < 0.5 ? -unit : unit;
}

/* 1: next = B now */
static fab_status times(lanczos *z, const fab_products *A)
{
    const double *scale = z->scale;
    if (scale)
        for (int64_t i = 0; i < z->P * S; i++) z->now[i] *= scale[i / S];
    FAB_TRY(A->times(A->self, S, z->now, z->next));
    if (scale)
        for (int64_t i = 0; i < z->P * S; i++) {
            z->now[i] /= scale[i / S];
            z->next[i] *= scale[i / S];
        }
    return FAB_OK;
}

/* out_s = sum_i a_is b_is */
static void columns_dot(int64_t P, const double *a, const double *b, double *out)
{
    memset(out, 0, S * sizeof *out);
    for (int64_t i = 0; i < P; i++)
        for (int64_t s = 0; s < S; s++) out[s] += a[i * S + s] * b[i * S + s];
}

/* Step k: a column of every T; the vectors move up by one. */
static fab_status step(lanczos *z, const fab_products *A, int64_t k)
{
    const double *last = k > 0 ? z->off + (k - 1) * S : NULL;
    double *a = z->diag + k * S, *b = z->off + k * S;
    FAB_TRY(times(z, A));
    columns_dot(z->P, z->now, z->next, a);
    for (int64_t i = 0; i < z->P * S; i++)
        z->next[i] -= a[i % S] * z->now[i] + (last ? last[i % S] * z->before[i] : 0);
    columns_dot(z->P, z->next, z->next, b);
    for (int64_t s = 0; s < S; s++) b[s] = sqrt(b[s]) > SPENT * a[s] ? sqrt(b[s]) : 0;
    for (int64_t i = 0; i < z->P * S; i++) z->next[i] = b[i % S] > 0 ? z->next[i] / b[i % S] : 0;
    double *const free_now = z->before;
    z->before = z->now;
    z->now = z->next;
    z->next = free_now;
    return FAB_OK;
}

/* 3, of one probe */
static fab_status rule(lanczos *z, int64_t s)
{
    const int64_t steps = z->steps;
    double *t = z->node + s * steps, *share = z->share + s * steps;
    memset(z->T, 0, (size_t)(steps * steps) * sizeof *z->T);
    for (int64_t k = 0; k < steps; k++) {
        z->T[k + k * steps] = z->diag[k * S + s];
        if (k + 1 < steps) z->T[k + 1 + k * steps] = z->T[k + (k + 1) * steps] = z->off[k * S + s];
    }
    FAB_TRY(fab_eig(steps, z->T, t, z->work));
    for (int64_t i = 0; i < steps; i++)
        share[i] = (double)z->P * z->T[i * steps] * z->T[i * steps] / S;
    return FAB_OK;
}

static fab_status probe(lanczos *z, const fab_products *A, int64_t seed)
{
    begin(z, seed);
    for (int64_t k = 0; k < z->steps; k++) {
        FAB_TRY(step(z, A, k));
        FAB_TRY(A->tick(A->self, k, z->steps));
    }
    for (int64_t s = 0; s < S; s++) FAB_TRY(rule(z, s));
    return FAB_OK;
}

fab_status fab_lanczos(fab_spectrum **out, const fab_products *A, const double *scale, int64_t seed)
{
    const lanczos proto = {.P = A->P, .steps = A->P < STEPS ? A->P : STEPS, .scale = scale};
    lanczos *z;
    *out = NULL;
    FAB_TRY(fab_build((void **)&z, sizeof proto, &proto, layout));
    const fab_status s = probe(z, A, seed);
    if (s != FAB_OK) {
        fab_release(z);
        return s;
    }
    z->face = (fab_spectrum){S * z->steps, z->node, z->share};
    *out = &z->face;
    return FAB_OK;
}
