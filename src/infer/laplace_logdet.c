/* laplace_logdet.c - log det of a curvature too large to form, by Lanczos' method from random signs.
 *
 *   1  B = D^-1/2 A D^-1/2, D = diag(A0): what the data do not see has eigenvalue 1, and log 1 = 0
 *   2  z_s random signs, s = 1 .. FAB_PROBES; T_s the tridiagonal matrix of STEPS steps of Lanczos from z_s
 *   3  T_s = U t U':  tr log B ~ mean over s of P sum u_1i^2 log t_i      Gauss' rule for the spectrum of B
 *   4  log det A = log det D + tr log B
 *
 * The signs are the same for every alpha, so that estimates can be compared.  Vectors are not made orthogonal
 * again: copies of an eigenvalue that has converged share its weight.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/random.h"
#include "infer/laplace_fit.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum { S = FAB_PROBES, STEPS = 40, STREAM = 2 };
#define SPENT 1e-12 /* a direction this small, relative to B, is rounding: the space is exhausted */

typedef struct lanczos {
    int64_t P;
    double *before, *now, *next; /* P x S, row-major */
    double *scale;               /* P: D^-1/2 */
    double *diag, *off;          /* S x STEPS each, of T */
    double *T, *t, *work;        /* STEPS x STEPS, STEPS */
} lanczos;

static void layout(fab_layout *l, void *handle)
{
    lanczos *z = handle;
    z->before = fab_place(l, z->P * S, sizeof(double));
    z->now = fab_place(l, z->P * S, sizeof(double));
    z->next = fab_place(l, z->P * S, sizeof(double));
    z->scale = fab_place(l, z->P, sizeof(double));
    z->diag = fab_place(l, S * STEPS, sizeof(double));
    z->off = fab_place(l, S * STEPS, sizeof(double));
    z->T = fab_place(l, STEPS * STEPS, sizeof(double));
    z->t = fab_place(l, STEPS, sizeof(double));
    z->work = fab_place(l, fab_eig_work(STEPS), sizeof(double));
}

/* 2: signs of length 1 */
static void begin(lanczos *z, const fab_laplace_fit *fit)
{
    const double unit = 1 / sqrt((double)z->P);
    fab_random_uniform((uint64_t)fit->s.seed, STREAM, 0, z->P * S, z->now);
    for (int64_t i = 0; i < z->P * S; i++) z->now[i] = z->now[i] < 0.5 ? -unit : unit;
    for (int64_t i = 0; i < z->P; i++) z->scale[i] = 1 / sqrt(fit->o->a0[i]);
}

/* next = B now */
static fab_status times(lanczos *z, fab_laplace_fit *fit)
{
    for (int64_t i = 0; i < z->P * S; i++) z->now[i] *= z->scale[i / S];
    FAB_TRY(fab_objective_times(fit->o, S, z->now, z->next));
    for (int64_t i = 0; i < z->P * S; i++) {
        z->now[i] /= z->scale[i / S];
        z->next[i] *= z->scale[i / S];
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
static fab_status step(lanczos *z, fab_laplace_fit *fit, int64_t k)
{
    const double *last = k > 0 ? z->off + (k - 1) * S : NULL;
    double *a = z->diag + k * S, *b = z->off + k * S;
    FAB_TRY(times(z, fit));
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

/* 3, of one probe; eigenvalues are at least 1, but for rounding */
static fab_status rule(lanczos *z, int64_t s, int64_t steps, double *sum)
{
    memset(z->T, 0, (size_t)(steps * steps) * sizeof *z->T);
    for (int64_t k = 0; k < steps; k++) {
        z->T[k + k * steps] = z->diag[k * S + s];
        if (k + 1 < steps) z->T[k + 1 + k * steps] = z->T[k + (k + 1) * steps] = z->off[k * S + s];
    }
    FAB_TRY(fab_eig(steps, z->T, z->t, z->work));
    for (int64_t i = 0; i < steps; i++) {
        const double u = z->T[i * steps];
        *sum += (double)z->P * u * u * log(fmax(1, z->t[i]));
    }
    return FAB_OK;
}

static fab_status estimate(lanczos *z, fab_laplace_fit *fit, double *logdet)
{
    const int64_t steps = z->P < STEPS ? z->P : STEPS;
    double sum = 0;
    begin(z, fit);
    fab_objective_bend(fit->o, fit->mode->theta);
    for (int64_t k = 0; k < steps; k++) {
        FAB_TRY(step(z, fit, k));
        FAB_TRY(fab_progress(fit->who, k, steps));
    }
    for (int64_t s = 0; s < S; s++) FAB_TRY(rule(z, s, steps, &sum));
    *logdet = fit->o->log_prior + sum / S; /* 4 */
    return FAB_OK;
}

fab_status fab_laplace_logdet(fab_laplace_fit *fit, double *logdet)
{
    const lanczos proto = {.P = fit->P};
    lanczos *z;
    FAB_TRY(fab_build((void **)&z, sizeof proto, &proto, layout));
    const fab_status s = estimate(z, fit, logdet);
    fab_release(z);
    return s;
}
