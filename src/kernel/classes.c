/* classes.c - a Gaussian process for each of several classes: what it says at other rows.
 *
 *   1  k = k(z, x_i), i < n;  mean_c = k' a_c
 *   2  v = L_c^-1 (S_c o k),  d_c = k(z, z) - v'v
 *   3  r_c = M^-1 (S_c o (L_c^-T v))
 *   4  cov_cd = [c = d] d_c + r_c'r_d
 *   5  draws: mean + F e, F F' = the covariance of all rows and classes by pivoted Cholesky
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/classes.h"
#include "base/memory.h"
#include "kernel/process.h"
#include "kernel/sums.h"
#include "la/cholesky.h"
#include "la/small.h"
#include "la/threads.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { PANEL = FAB_SOLVED }; /* rows of a task */

struct fab_class_process {
    fab_process *base; /* kernel and rows; owned */
    int64_t n, C;
    int threads;
    double *a, *s; /* C x n */
    double *L;     /* C x n x n */
    double *M;     /* n x n */
    double *work;  /* threads x (C + 1) x PANEL x n */
    double *diag;  /* threads x PANEL */
};

static void layout(fab_layout *l, void *handle)
{
    fab_class_process *p = handle;
    const int64_t n = p->n, C = p->C;
    p->a = fab_place(l, C * n, sizeof(double));
    p->s = fab_place(l, C * n, sizeof(double));
    p->L = fab_place(l, C * n, (size_t)n * sizeof(double));
    p->M = fab_place(l, n, (size_t)n * sizeof(double));
    p->work = fab_place(l, p->threads * (C + 1) * PANEL, (size_t)n * sizeof(double));
    p->diag = fab_place(l, p->threads * PANEL, sizeof(double));
}

fab_status fab_class_process_create(fab_class_process **p, const fab_kernel *k,
                                    const fab_class_parts *parts, const fab_exec *x)
{
    const int64_t n = parts->n, C = parts->classes, D = fab_kernel_columns(k);
    fab_process *base;
    *p = NULL;
    FAB_TRY(fab_process_create(&base, k, n, parts->X, D, n, x));
    const fab_class_process sizes = {.base = base, .n = n, .C = C, .threads = base->run.threads};
    const fab_status s = fab_build((void **)p, sizeof **p, &sizes, layout);
    if (s != FAB_OK) {
        fab_process_free(base);
        return s;
    }
    memcpy((*p)->a, parts->a, (size_t)(C * n) * sizeof(double));
    memcpy((*p)->s, parts->s, (size_t)(C * n) * sizeof(double));
    memcpy((*p)->L, parts->L, (size_t)(C * n * n) * sizeof(double));
    memcpy((*p)->M, parts->M, (size_t)(n * n) * sizeof(double));
    return FAB_OK;
}

void fab_class_process_free(fab_class_process *p)
{
    if (!p) return;
    fab_process_free(p->base);
    fab_release(p);
}

void fab_class_process_parts(const fab_class_process *p, fab_class_parts *parts)
{
    *parts =
        (fab_class_parts){.n = p->n, .classes = p->C, .a = p->a, .s = p->s, .L = p->L, .M = p->M};
    fab_process_parts(p->base, &parts->X, NULL, NULL, NULL);
}

fab_process *fab_class_process_base(fab_class_process *p)
{
    return p->base;
}

/* ---- mean and covariance ------------------------------------------------------------------------------ */

typedef struct prediction {
    fab_class_process *p;
    int64_t m;
    const double *Z;
    int64_t ldz;
    double *mean, *covariance;
    int64_t first; /* row of this round */
} prediction;

/* 2, 3 of `count` rows of k (room for FAB_SOLVED more): r (count x n) and d */
static void project(const fab_class_process *p, int64_t c, int64_t count, const double *k,
                    const double *diag, double *r, double *d)
{
    const int64_t n = p->n, whole = fab_solved_rows(count);
    const double *s = p->s + c * n, *L = p->L + c * n * n;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < n; j++) r[i * n + j] = s[j] * k[i * n + j];
    memset(r + count * n, 0, (size_t)((whole - count) * n) * sizeof *r);
    fab_forward_rows(n, L, n, whole, r, n); /* 2 */
    for (int64_t i = 0; i < count; i++) d[i] = fmax(0, diag[i] - fab_dot(n, r + i * n, r + i * n));
    fab_backward_rows(n, L, n, whole, r, n); /* 3 */
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < n; j++) r[i * n + j] *= s[j];
    fab_forward_rows(n, p->M, n, whole, r, n);
}

static void predict_panel(void *ctx, int64_t t, int thread)
{
    const prediction *q = ctx;
    const fab_class_process *p = q->p;
    const int64_t n = p->n, C = p->C, size = PANEL * n, first = q->first + t * PANEL;
    const int64_t count = q->m - first < PANEL ? q->m - first : PANEL;
    const double *Z = q->Z + first * q->ldz;
    double *k = p->work + thread * (C + 1) * size, *r = k + size, *diag = p->diag + thread * PANEL;
    double d[PANEL];
    fab_process_panel(p->base, thread, count, Z, q->ldz, k); /* 1 */
    for (int64_t i = 0; i < count; i++)
        for (int64_t c = 0; c < C; c++)
            q->mean[(first + i) * C + c] = fab_dot(n, k + i * n, p->a + c * n);
    if (!q->covariance) return;
    fab_kernel_diag(p->base->k, count, Z, q->ldz, diag);
    for (int64_t c = 0; c < C; c++) {
        project(p, c, count, k, diag, r + c * size, d);
        for (int64_t i = 0; i < count; i++) { /* 4 */
            double *S = q->covariance + (first + i) * C * C;
            for (int64_t e = 0; e <= c; e++)
                S[c * C + e] = S[e * C + c] =
                    fab_dot(n, r + c * size + i * n, r + e * size + i * n) + (c == e ? d[i] : 0);
        }
    }
}

static fab_status check(const fab_class_process *p, int64_t m, const double *Z, int64_t ldz)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t d = 0; d < p->base->k->D; d++)
            if (!isfinite(Z[i * ldz + d]))
                return FAB_FAIL(FAB_BAD_DATA, "process: row %lld, column %lld is %g", (long long)i,
                                (long long)d, Z[i * ldz + d]);
    return FAB_OK;
}

fab_status fab_class_process_predict(fab_class_process *p, int64_t m, const double *Z, int64_t ldz,
                                     double *mean, double *covariance)
{
    enum { ROUND = 32 };
    FAB_TRY(check(p, m, Z, ldz));
    prediction q = {p, m, Z, ldz, mean, covariance, 0};
    const int64_t panels = (m + PANEL - 1) / PANEL;
    const double n = (double)p->n, each = PANEL * n * (covariance ? n / 4 * (double)p->C : 8);
    for (int64_t t = 0; t < panels; t += ROUND) {
        const int64_t some = panels - t < ROUND ? panels - t : ROUND;
        q.first = t * PANEL;
        fab_parallel(p->threads, some, predict_panel, &q);
        FAB_TRY(fab_watch_work(&p->base->run.watch, each * (double)some, "prediction", t + some,
                               panels));
    }
    return FAB_OK;
}

/* ---- draws -------------------------------------------------------------------------------------------- */

typedef struct draws {
    int64_t n, m, C;
    double *K;    /* m x n */
    double *r;    /* C m x n, and FAB_SOLVED rows */
    double *G;    /* m x m: k(Z, Z) */
    double *V;    /* m x n, and FAB_SOLVED rows: L_c^-1 (S_c o k) */
    double *S;    /* C m x C m: covariance, then F; rows first, then classes */
    double *mean; /* m x C */
    double *e;    /* C m */
    double *work;
} draws;

static void draws_layout(fab_layout *l, void *handle)
{
    draws *d = handle;
    const int64_t all = d->C * d->m;
    d->K = fab_place(l, d->m * d->n, sizeof(double));
    d->r = fab_place(l, (all + FAB_SOLVED) * d->n, sizeof(double));
    d->G = fab_place(l, d->m * d->m, sizeof(double));
    d->V = fab_place(l, (d->m + FAB_SOLVED) * d->n, sizeof(double));
    d->S = fab_place(l, all * all, sizeof(double));
    d->mean = fab_place(l, all, sizeof(double));
    d->e = fab_place(l, all, sizeof(double));
    d->work = fab_place(l, fab_cholesky_pivoted_work(all), sizeof(double));
}

/* Mean and F; its rank. */
static fab_status joint(fab_class_process *p, draws *d, const double *Z, int64_t ldz, int64_t *rank)
{
    const int64_t m = d->m, n = d->n, C = d->C, all = C * m;
    const fab_exec x = fab_watch_exec(&p->base->run.watch, (fab_exec){.threads = p->threads});
    double top = 0;
    FAB_TRY(fab_kernel_cross(p->base->k, m, Z, ldz, n, p->base->m->X, p->base->k->D, d->K, n, &x));
    FAB_TRY(fab_kernel_gram(p->base->k, m, Z, ldz, d->G, m, &x));
    memset(d->S, 0, (size_t)(all * all) * sizeof *d->S);
    for (int64_t c = 0; c < C; c++) {
        const double *s = p->s + c * n, *L = p->L + c * n * n;
        double *r = d->r + c * m * n;
        for (int64_t i = 0; i < m; i++) {
            d->mean[i * C + c] = fab_dot(n, d->K + i * n, p->a + c * n);
            for (int64_t j = 0; j < n; j++) d->V[i * n + j] = s[j] * d->K[i * n + j];
        }
        fab_forward_rows(n, L, n, m, d->V, n); /* 2 */
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m; j++)
                d->S[(i * C + c) * all + j * C + c] = d->G[i * m + j] -
                                                      fab_dot(n, d->V + i * n, d->V + j * n);
        memcpy(r, d->V, (size_t)(m * n) * sizeof *r);
        fab_backward_rows(n, L, n, m, r, n); /* 3 */
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) r[i * n + j] *= s[j];
        fab_forward_rows(n, p->M, n, m, r, n);
        for (int64_t e = 0; e <= c; e++) /* 4 */
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < m; j++) {
                    const double v = fab_dot(n, r + i * n, d->r + (e * m + j) * n);
                    d->S[(i * C + c) * all + j * C + e] += v;
                    if (e < c) d->S[(j * C + e) * all + i * C + c] += v;
                }
    }
    for (int64_t i = 0; i < m; i++) top = fmax(top, d->G[i * m + i]);
    *rank = fab_cholesky_pivoted(all, d->S, all, (double)(all + n) * DBL_EPSILON * top, d->work);
    return FAB_OK;
}

fab_status fab_class_process_draw(fab_class_process *p, int64_t m, const double *Z, int64_t ldz,
                                  uint64_t seed, fab_purpose purpose, int64_t first, int64_t count,
                                  double *out, int64_t ld)
{
    const int64_t all = p->C * m;
    draws *d;
    int64_t rank;
    FAB_TRY(check(p, m, Z, ldz));
    if (m == 0 || count == 0) return FAB_OK;
    const draws sizes = {.n = p->n, .m = m, .C = p->C};
    FAB_TRY(fab_build((void **)&d, sizeof *d, &sizes, draws_layout));
    const fab_status s = joint(p, d, Z, ldz, &rank);
    for (int64_t j = 0; s == FAB_OK && j < count; j++) { /* 5 */
        fab_random_normal(seed, purpose, (uint64_t)(first + j), 0, all, FAB_F64, d->e);
        memcpy(out + j * ld, d->mean, (size_t)all * sizeof *out);
        fab_gemv(FAB_N, all, rank, 1, d->S, all, d->e, 1, out + j * ld);
    }
    fab_release(d);
    return s;
}
