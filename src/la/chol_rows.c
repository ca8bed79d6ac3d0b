/* chol_rows.c - rows that go into a Cholesky factor by reflections, a block at a time.
 *
 *   [L'; A] (n + m rows) becomes [L_new'; 0], L_new L_new' = L L' + A'A, and [z; t] goes along
 *   for panels of PANEL columns p .. of [L'; A]:
 *   1  for each column j:  r = L_jj, b = A_j;  v = [1; b / (r + s)],  s = |[r; b]|,  tau = 1 + r / s
 *                          I - tau v v' takes [r; b] to [-s; 0], and the sign of the row is turned: L_jj = s
 *   2  V = [I; V_A], the v of the panel;  T upper triangular: the product of its reflections is I - V T' V'
 *   3  the columns behind, and [z; t]:  W = T' (L' + V_A' A),  L' <- W - L',  A <- A - V_A W
 *
 * The top of V is the identity, for L' is triangular: nothing of it is touched but the rows of the panel.  A column of zeros is
 * left as it is.  3 is two products of matrices, nearly all of the 2 m n^2 steps.
 *
 * SPDX-License-Identifier: MIT */
#include "la/ops.h"
#include "la/small.h"
#include <cblas.h>
#include <math.h>
#include <string.h>

enum { PANEL = 32 };

int64_t fab_chol_rows_work(int64_t n, int64_t m)
{
    return PANEL * (n + m + PANEL + 3);
}

typedef struct panel {
    int64_t n, m, w, rest; /* w columns; columns behind them */
    double *R;             /* the corner of L' at the panel: rows n apart */
    double *V;             /* w x m */
    double *T;             /* w x w, column-major, upper */
    double *W;             /* w x rest */
    double *tau, *dots, *top;
} panel;

/* |[r; b]| without overflow on the way. */
static double length(double r, int64_t m, const double *b)
{
    double most = fabs(r), sum = 0;
    for (int64_t i = 0; i < m; i++) most = fmax(most, fabs(b[i]));
    if (!(most > 0)) return most;
    for (int64_t i = 0; i < m; i++) sum += b[i] / most * (b[i] / most);
    return most * sqrt(sum + r / most * (r / most));
}

/* 1, 2 */
static void reflect(panel *p)
{
    const int64_t n = p->n, m = p->m, w = p->w;
    memset(p->T, 0, (size_t)(w * w) * sizeof *p->T);
    for (int64_t j = 0; j < w; j++) {
        double *v = p->V + j * m, *R = p->R + j * n, *T = p->T + j * w;
        const double r = R[j], s = length(r, m, v);
        p->tau[j] = 0;
        if (s == fabs(r)) {
            memset(v, 0, (size_t)m * sizeof *v);
            continue;
        }
        const double tau = 1 + r / s, unit = 1 / (r + s);
        for (int64_t i = 0; i < m; i++) v[i] *= unit;
        p->tau[j] = tau;
        R[j] = s;
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)w, (int)m, 1, p->V, (int)m, v, 1, 0, p->dots,
                    1);
        for (int64_t k = j + 1; k < w; k++) {
            p->dots[k] = tau * (R[k] + p->dots[k]);
            R[k] = p->dots[k] - R[k];
        }
        if (j + 1 < w)
            cblas_dger(CblasRowMajor, (int)(w - j - 1), (int)m, -1, p->dots + j + 1, 1, v, 1, v + m,
                       (int)m);
        for (int64_t i = 0; i < j; i++) { /* T_j = -tau T (V' v) */
            double sum = 0;
            for (int64_t k = i; k < j; k++) sum += p->T[i + k * w] * p->dots[k];
            T[i] = -tau * sum;
        }
        T[j] = tau;
    }
}

/* 3 */
static void apply(const panel *p, double *A)
{
    const int64_t n = p->n, w = p->w, rest = p->rest;
    for (int64_t j = 0; j < w; j++)
        memcpy(p->W + j * rest, p->R + j * n + w, (size_t)rest * sizeof *p->W);
    fab_gemm(FAB_F64, FAB_N, FAB_N, w, rest, p->m, 1, p->V, p->m, A, n, 1, p->W, rest);
    /* row-major T' W is column-major W' T */
    cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)rest,
                (int)w, 1, p->T, (int)w, p->W, (int)rest);
    for (int64_t j = 0; j < w; j++) {
        double *R = p->R + j * n + w;
        const double *W = p->W + j * rest;
        if (p->tau[j] == 0) continue;
        for (int64_t k = 0; k < rest; k++) R[k] = W[k] - R[k];
    }
    fab_gemm(FAB_F64, FAB_T, FAB_N, p->m, rest, w, -1, p->V, p->m, p->W, rest, 1, A, n);
}

/* 3 of [z; t] */
static void apply_vector(const panel *p, double *z, double *t)
{
    const int64_t m = p->m, w = p->w;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)w, (int)m, 1, p->V, (int)m, t, 1, 0, p->dots, 1);
    for (int64_t j = 0; j < w; j++) {
        double sum = 0; /* (T' (z + V' t))_j */
        for (int64_t i = 0; i <= j; i++) sum += p->T[i + j * w] * (z[i] + p->dots[i]);
        p->top[j] = sum;
    }
    for (int64_t j = 0; j < w; j++)
        if (p->tau[j] != 0) z[j] = p->top[j] - z[j];
    cblas_dgemv(CblasRowMajor, CblasTrans, (int)w, (int)m, -1, p->V, (int)m, p->top, 1, 1, t, 1);
}

void fab_chol_rows(int64_t n, int64_t m, double *L, double *A, double *z, double *t, double *work)
{
    panel p = {.n = n, .m = m, .V = work, .T = work + PANEL * m};
    p.tau = p.T + PANEL * PANEL;
    p.dots = p.tau + PANEL;
    p.top = p.dots + PANEL;
    p.W = p.top + PANEL;
    if (m == 0) return;
    const int before = fab_blas_enter();
    for (int64_t at = 0; at < n; at += p.w) {
        p.w = n - at < PANEL ? n - at : PANEL;
        p.rest = n - at - p.w;
        p.R = L + at + at * n; /* column-major L is row-major L' */
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < p.w; j++) p.V[j * m + i] = A[i * n + at + j];
        reflect(&p);
        if (p.rest) apply(&p, A + at + p.w);
        apply_vector(&p, z + at, t);
    }
    fab_blas_leave(before);
}
