/* eigs.c - the leading eigenpairs of A = diag(s) S diag(s) by a filtered random subspace.
 *
 *   0  V = a random D x b matrix, orthonormal (or the vectors of the last call)
 *   1  W = A V,  T = V' W = U theta U',  V <- V U,  W <- W U              Rayleigh-Ritz
 *   2  stop when |w_k - theta_k v_k| <= tol theta_k for the K leading pairs
 *   3  V <- p(A) V, p the Chebyshev polynomial of degree m that is small on [0, theta_b];  V <- QR(V)
 *
 * A degree of 8 is worth far more than 8 plain multiplications: outside the interval p grows as
 * cosh(m acosh x).  Small matrices are decomposed whole.
 *
 * SPDX-License-Identifier: MIT */
#include "estim/eigs.h"
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/random.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum { DEGREE = 8, MAX_ROUNDS = 40 };
#define RESIDUAL 1e-9

int64_t fab_eigs_width(int64_t D, int64_t K)
{
    const int64_t b = K + (K / 2 > 8 ? K / 2 : 8);
    return b < D ? b : D;
}

static void layout(fab_layout *l, fab_eigs *e)
{
    const int64_t D = e->t->D, b = e->b, whole = e->exact ? D : 0;
    const int64_t qr = fab_qr_work(D, b), small = fab_eig_work(e->exact ? D : b);
    e->lambda = fab_place(l, b > whole ? b : whole, sizeof *e->lambda);
    e->V = fab_place(l, D * b, sizeof *e->V);
    e->W = fab_place(l, D * b, sizeof *e->W);
    e->Y = fab_place(l, D * b, sizeof *e->Y);
    e->Z = fab_place(l, D * b, sizeof *e->Z);
    e->T = fab_place(l, b * b, sizeof *e->T);
    e->R = fab_place(l, b * b, sizeof *e->R);
    e->theta = fab_place(l, b > whole ? b : whole, sizeof *e->theta);
    e->dense = fab_place(l, whole * whole, sizeof *e->dense);
    e->work = fab_place(l, qr > small ? qr : small, sizeof *e->work);
}

fab_status fab_eigs_init(fab_eigs *e, const fab_target *t, int64_t K, int exact, uint64_t seed)
{
    *e = (fab_eigs){.t = t, .K = K, .b = fab_eigs_width(t->D, K), .exact = exact && t->S, .seed = seed};
    fab_layout l = {NULL, 0};
    layout(&l, e);
    FAB_TRY(fab_alloc_array(&e->block, (int64_t)l.used, 1, "eigenvectors"));
    l = (fab_layout){e->block, 0};
    layout(&l, e);
    return FAB_OK;
}

void fab_eigs_free(fab_eigs *e)
{
    fab_release(e->block);
    e->block = NULL;
}

/* ---- the whole matrix ------------------------------------------------------------------------- */

static fab_status solve_whole(fab_eigs *e, const double *s)
{
    const int64_t D = e->t->D;
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++)
            e->dense[i + j * D] = e->t->S[i + j * D] * (s ? s[i] * s[j] : 1);
    FAB_TRY(fab_eig(D, e->dense, e->theta, e->work));
    for (int64_t k = 0; k < e->b; k++) {
        e->lambda[k] = e->theta[D - 1 - k];
        memcpy(e->V + k * D, e->dense + (D - 1 - k) * D, (size_t)D * sizeof *e->V);
    }
    return FAB_OK;
}

/* ---- the subspace ----------------------------------------------------------------------------- */

static void scale_rows(const double *s, int64_t D, int64_t k, const double *in, double *out)
{
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < D; i++) out[i + j * D] = in[i + j * D] * s[i];
}

/* out = A in */
static void apply(const fab_eigs *e, const double *s, const double *in, double *out)
{
    if (s) scale_rows(s, e->t->D, e->b, in, e->Z);
    fab_target_times(e->t, s ? e->Z : in, e->b, out);
    if (s) scale_rows(s, e->t->D, e->b, out, out);
}

/* 1  Y is free before and after */
static fab_status ritz(fab_eigs *e, const double *s)
{
    const int64_t D = e->t->D, b = e->b;
    apply(e, s, e->V, e->W);
    fab_mm(FAB_T, FAB_N, b, b, D, 1, e->V, e->W, 0, e->T);
    fab_symmetrise(b, e->T);
    FAB_TRY(fab_eig(b, e->T, e->theta, e->work));
    for (int64_t k = 0; k < b; k++) { /* descending */
        e->lambda[k] = e->theta[b - 1 - k];
        memcpy(e->R + k * b, e->T + (b - 1 - k) * b, (size_t)b * sizeof *e->R);
    }
    fab_mm(FAB_N, FAB_N, D, b, b, 1, e->V, e->R, 0, e->Y);
    memcpy(e->V, e->Y, (size_t)(D * b) * sizeof *e->V);
    fab_mm(FAB_N, FAB_N, D, b, b, 1, e->W, e->R, 0, e->Y);
    memcpy(e->W, e->Y, (size_t)(D * b) * sizeof *e->W);
    return FAB_OK;
}

/* 2  the largest relative residual of the pairs wanted */
static double residual(const fab_eigs *e)
{
    const int64_t D = e->t->D;
    double worst = 0;
    for (int64_t k = 0; k < e->K; k++) {
        double sum = 0;
        for (int64_t i = 0; i < D; i++) {
            const double r = e->W[i + k * D] - e->lambda[k] * e->V[i + k * D];
            sum += r * r;
        }
        const double relative = sqrt(sum) / (e->lambda[k] > 0 ? e->lambda[k] : 1);
        worst = relative > worst ? relative : worst;
    }
    return worst;
}

/* 3  y0 = V, y1 = (A - c) V / h, y_{j+1} = 2 (A - c) y_j / h - y_{j-1}, on [c - h, c + h] = [0, theta_b],
 * each divided by its growth at lambda_1 so that nothing overflows */
static void filter(fab_eigs *e, const double *s)
{
    const int64_t n = e->t->D * e->b;
    const double h = e->lambda[e->b - 1] / 2 > 0 ? e->lambda[e->b - 1] / 2 : e->lambda[0] * 1e-3, c = h;
    double sigma = h / (e->lambda[0] - c);
    const double sigma1 = sigma;
    double *before = e->V, *now = e->Y, *next = e->W; /* W = A V from 1 */
    for (int64_t i = 0; i < n; i++) now[i] = (e->W[i] - c * e->V[i]) * (sigma1 / h);
    for (int j = 2; j <= DEGREE; j++) {
        const double sigma2 = 1 / (2 / sigma1 - sigma);
        apply(e, s, now, next);
        for (int64_t i = 0; i < n; i++)
            next[i] = 2 * sigma2 / h * (next[i] - c * now[i]) - sigma * sigma2 * before[i];
        double *const free_now = before;
        before = now;
        now = next;
        next = free_now;
        sigma = sigma2;
    }
    if (now != e->V) memcpy(e->V, now, (size_t)n * sizeof *e->V);
}

static void orthonormalise(fab_eigs *e)
{
    fab_qr(e->t->D, e->b, e->V, e->R, e->work);
}

static fab_status solve_subspace(fab_eigs *e, const double *s)
{
    if (!e->warm) {
        fab_random_normal(e->seed, 0, 0, e->t->D * e->b, FAB_F64, e->V); /* 0 */
        orthonormalise(e);
    }
    e->warm = 1;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        FAB_TRY(ritz(e, s));                                        /* 1 */
        if (residual(e) <= RESIDUAL || e->b == e->t->D) return FAB_OK; /* 2 */
        filter(e, s);                                               /* 3 */
        orthonormalise(e);
    }
    return ritz(e, s); /* as near as it came */
}

fab_status fab_eigs_solve(fab_eigs *e, const double *s)
{
    const int before = fab_blas_enter();
    const fab_status status = e->exact ? solve_whole(e, s) : solve_subspace(e, s);
    fab_blas_leave(before);
    return status;
}
