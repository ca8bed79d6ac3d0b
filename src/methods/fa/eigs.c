/* eigs.c - the leading eigenpairs of A = diag(s) S diag(s) by a filtered random subspace.
 *
 *   0  V = a random D x b matrix, orthonormal (or the vectors of the last call)
 *   1  W = A V,  T = V' W = U theta U',  V <- V U,  W <- W U              Rayleigh-Ritz
 *   2  stop when |w_k - theta_k v_k| <= tol theta_k, or rounding, for the K leading pairs
 *   3  V <- p(A) V, p the Chebyshev polynomial of degree m that is small on [0, theta_b];  V <- QR(V)
 *
 * A degree of 8 is worth far more than 8 plain multiplications: outside the interval p grows as
 * cosh(m acosh x).  What grows by more than a double can hold would wash the other vectors away: the
 * degree is less where p(theta_1) would be above GROWTH, and leading pairs that have settled in 2 are left
 * out of 3 and taken out of A there, so that a few large eigenvalues do not slow down the rest.  Small
 * matrices are decomposed whole.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/fa/eigs.h"
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/random.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum { DEGREE = 8, MAX_ROUNDS = 40 };
#define GROWTH   1e12  /* of the leading vector over the interval, in one filter */
#define RANK     1e-14 /* theta_b at least, relative to theta_1 */
#define ROUNDING 1e-13 /* residuals below this part of theta_1 are rounding */

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

double fab_eigs_bytes(int64_t D, int64_t K, int exact)
{
    const fab_target t = {.D = D};
    fab_eigs e = {.t = &t, .K = K, .b = fab_eigs_width(D, K), .exact = exact};
    fab_layout l = {0};
    layout(&l, &e);
    return (double)l.used;
}

fab_status fab_eigs_init(fab_eigs *e, const fab_target *t, int64_t K, int exact, uint64_t seed)
{
    *e = (fab_eigs){
        .t = t, .K = K, .b = fab_eigs_width(t->D, K), .exact = exact && t->S, .seed = seed};
    fab_layout l = {0};
    layout(&l, e);
    FAB_TRY(
        fab_alloc_array(&e->block, l.used < INT64_MAX ? (int64_t)l.used : -1, 1, "eigenvectors"));
    l = (fab_layout){.base = e->block};
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
            e->dense[i + j * D] = s ? e->t->S[i + j * D] * s[i] * s[j] : e->t->S[i + j * D];
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

/* out = (A - sum over the first `settled` pairs of theta v v') in, k columns */
static void apply(const fab_eigs *e, const double *s, int64_t settled, int64_t k, const double *in,
                  double *out)
{
    const int64_t D = e->t->D;
    if (s) scale_rows(s, D, k, in, e->Z);
    fab_target_times(e->t, s ? e->Z : in, k, out);
    if (s) scale_rows(s, D, k, out, out);
    if (settled == 0) return;
    fab_mm(FAB_T, FAB_N, settled, k, D, 1, e->V, in, 0, e->T);
    for (int64_t i = 0; i < settled * k; i++) e->T[i] *= e->lambda[i % settled];
    fab_mm(FAB_N, FAB_N, D, k, settled, -1, e->V, e->T, 1, out);
}

/* 1  Y is free before and after */
static fab_status ritz(fab_eigs *e, const double *s)
{
    const int64_t D = e->t->D, b = e->b;
    apply(e, s, 0, b, e->V, e->W);
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

/* 2  the relative residual of pair k, in units where rounding does not count and no square underflows */
static double residual(const fab_eigs *e, int64_t k)
{
    const int64_t D = e->t->D;
    const double least = ROUNDING / FAB_EIGS_RESIDUAL, unit = 1 / e->lambda[0],
                 size = unit * e->lambda[k];
    double sum = 0;
    for (int64_t i = 0; i < D; i++) {
        const double r = unit * (e->W[i + k * D] - e->lambda[k] * e->V[i + k * D]);
        sum += r * r;
    }
    return sqrt(sum) / (size > least ? size : least);
}

/* Leading pairs that have settled; worst is the largest residual of the pairs wanted. */
static int64_t judge(fab_eigs *e)
{
    int64_t settled = 0;
    e->worst = 0;
    for (int64_t k = 0; k < e->K && e->b < e->t->D; k++) {
        const double r = residual(e, k);
        settled += settled == k && r <= FAB_EIGS_RESIDUAL;
        e->worst = r > e->worst ? r : e->worst;
    }
    return settled;
}

static int degree(double top)
{
    const double m = top > 1 ? log(2 * GROWTH) / acosh(top)
                             : DEGREE; /* p(top) = cosh(m acosh top) */
    if (m < 1) return 1;
    return m < DEGREE ? (int)m : DEGREE;
}

/* 3  y0 = V, y1 = (A - c) V / h, y_{j+1} = 2 (A - c) y_j / h - y_{j-1}, on [c - h, c + h] = [0, theta_b],
 * each divided by its growth at the first eigenvalue not settled so that nothing overflows */
static void filter(fab_eigs *e, const double *s, int64_t settled)
{
    const int64_t k = e->b - settled, first = e->t->D * settled, n = e->t->D * k;
    const double top = e->lambda[settled], last = e->lambda[e->b - 1], least = RANK * e->lambda[0];
    const double h = (last > least ? last : least) / 2, c = h, sigma1 = top > c ? h / (top - c) : 1;
    const int m = degree(1 / sigma1);
    double sigma = sigma1;
    fab_watch w = e->t->run.watch;
    double *before = e->V + first, *now = e->Y + first, *next = e->W + first; /* W = A V from 1 */
    for (int64_t i = 0; i < n; i++) now[i] = (next[i] - c * before[i]) * (sigma1 / h);
    for (int j = 2; j <= m; j++) {
        const double sigma2 = 1 / (2 / sigma1 - sigma);
        apply(e, s, settled, k, now, next);
        fab_watch_note(&w, (double)e->t->D * (double)(k * (e->t->S ? e->t->D / 4 : 1)),
                       "eigenvectors", j, m);
        for (int64_t i = 0; i < n; i++)
            next[i] = 2 * sigma2 / h * (next[i] - c * now[i]) - sigma * sigma2 * before[i];
        double *const free_now = before;
        before = now;
        now = next;
        next = free_now;
        sigma = sigma2;
    }
    if (now != e->V + first) memcpy(e->V + first, now, (size_t)n * sizeof *e->V);
}

static void orthonormalise(fab_eigs *e)
{
    fab_qr(e->t->D, e->b, e->V, e->R, e->work);
}

static fab_status solve_subspace(fab_eigs *e, const double *s)
{
    if (!e->warm) {
        fab_random_normal(e->seed, FAB_PURPOSE_PROBE, 0, 0, e->t->D * e->b, FAB_F64, e->V); /* 0 */
        orthonormalise(e);
    }
    e->warm = 1;
    for (int round = 0;; round++) {
        FAB_TRY(ritz(e, s));              /* 1 */
        const int64_t settled = judge(e); /* 2 */
        if (e->worst <= FAB_EIGS_RESIDUAL || round == MAX_ROUNDS)
            return FAB_OK;     /* as near as it came */
        filter(e, s, settled); /* 3 */
        orthonormalise(e);
        FAB_TRY(fab_watch_tick(&e->t->run.watch, "eigenvectors", round + 1, MAX_ROUNDS));
    }
}

fab_status fab_eigs_solve(fab_eigs *e, const double *s)
{
    const int before = fab_blas_enter();
    const fab_status status = e->exact ? solve_whole(e, s) : solve_subspace(e, s);
    fab_blas_leave(before);
    return status;
}
