/* scatter.c - the D x D scatter matrix of many rows.
 *
 * Panels of rows are centred and converted once; then every strip of columns of S takes the whole panel
 * in one product.  Strips are independent, so threads share them in any order.  Of floats a panel takes half of the
 * workspace, and the products of FAB_BLOCK_ROWS of them, a strip of each thread, the other half.
 *
 * SPDX-License-Identifier: MIT */
#include "la/scatter.h"
#include "base/rows.h"
#include "la/threads.h"
#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    PANEL = 1024,
    BLOCK = 64, /* rows that one task loads */
    STRIP = FAB_STRIP,
    FEW_COLUMNS = FAB_FLOAT_COLUMNS, /* one thread below: too little work in a panel */
    FLOAT_THREADS = PANEL / STRIP,
    NARROW = 64 /* columns of S that floats are made of at a time */
};

int fab_scatter_narrow(const fab_exec *x)
{
    return x && x->ops && x->ops->type == FAB_F32;
}

int64_t fab_scatter_work(int64_t D)
{
    return PANEL * D;
}

/* n rows of x, from `first` on, and what is made of them. */
typedef struct scatter_panel {
    const fab_rows *x;
    const double *w; /* of all rows, or NULL */
    int64_t first, n, D;
    const double *c; /* D */
    double *rows;    /* n x D: sqrt(w) (x - c) */
    double *S, *sum; /* D x D, D */
} scatter_panel;

/* rows[i * D + d] = sqrt(w) (x_{first + i, d} - c_d), for block t of the rows */
static void load_block(void *ctx, int64_t t, int thread)
{
    (void)thread;
    const scatter_panel *p = ctx;
    const int64_t D = p->D, end = (t + 1) * BLOCK < p->n ? (t + 1) * BLOCK : p->n;
    for (int64_t i = t * BLOCK; i < end; i++) {
        double *row = p->rows + i * D;
        fab_rows_get(p->x, p->first + i, D, row);
        for (int64_t d = 0; d < D; d++) row[d] -= p->c[d];
        if (!p->w) continue;
        const double root = sqrt(p->w[p->first + i]);
        for (int64_t d = 0; d < D; d++) row[d] *= root;
    }
}

/* Rows d0 .. D-1 of columns d0 .. d0 + STRIP - 1 of S, and these elements of sum; strip t starts at d0 = t STRIP. */
static void add_strip(void *ctx, int64_t t, int thread)
{
    (void)thread;
    const scatter_panel *p = ctx;
    const int64_t D = p->D, d0 = t * STRIP, width = D - d0 < STRIP ? D - d0 : STRIP;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)(D - d0), (int)width, (int)p->n, 1,
                p->rows + d0, (int)D, p->rows + d0, (int)D, 1, p->S + d0 + d0 * D, (int)D);
    for (int64_t i = 0; i < p->n; i++) {
        const double root = p->w ? sqrt(p->w[p->first + i]) : 1;
        for (int64_t d = d0; d < d0 + width; d++) p->sum[d] += root * p->rows[i * D + d];
    }
}

/* The same of floats: rows is n x D of them, and behind PANEL x D of these the strips of the threads. */
static void load_floats(void *ctx, int64_t t, int thread)
{
    (void)thread;
    const scatter_panel *p = ctx;
    const int64_t D = p->D, end = (t + 1) * BLOCK < p->n ? (t + 1) * BLOCK : p->n;
    for (int64_t i = t * BLOCK; i < end; i++) {
        const int64_t at = (p->first + i) * p->x->ld;
        float *row = (float *)(void *)p->rows + i * D;
        const double root = p->w ? sqrt(p->w[p->first + i]) : 1;
        if (p->x->type == FAB_F32) {
            const float *x = (const float *)p->x->p + at;
            for (int64_t d = 0; d < D; d++) row[d] = (float)(root * ((double)x[d] - p->c[d]));
        } else {
            const double *x = (const double *)p->x->p + at;
            for (int64_t d = 0; d < D; d++) row[d] = (float)(root * (x[d] - p->c[d]));
        }
    }
}

static void add_float_strip(void *ctx, int64_t t, int thread)
{
    const scatter_panel *p = ctx;
    const int64_t D = p->D, d0 = t * STRIP, width = D - d0 < STRIP ? D - d0 : STRIP, m = D - d0;
    float *const rows = (float *)(void *)p->rows, *const part = rows + PANEL * D +
                                                                thread * STRIP * D;
    for (int64_t first = 0; first < p->n; first += FAB_BLOCK_ROWS) {
        const int64_t n = p->n - first < FAB_BLOCK_ROWS ? p->n - first : FAB_BLOCK_ROWS;
        const float *X = rows + first * D + d0;
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)m, (int)width, (int)n, 1, X,
                    (int)D, X, (int)D, 0, part, (int)m);
        for (int64_t j = 0; j < width; j++) {
            double *S = p->S + d0 + (d0 + j) * D;
            for (int64_t i = 0; i < m; i++) S[i] += (double)part[i + j * m];
        }
        for (int64_t i = 0; i < n; i++) {
            const double root = p->w ? sqrt(p->w[p->first + first + i]) : 1;
            for (int64_t d = 0; d < width; d++) p->sum[d0 + d] += root * (double)X[i * D + d];
        }
    }
}

void fab_scatter(const fab_run *r, int narrow, const fab_rows *x, const double *w, int64_t D,
                 const double *c, double *S, double *sum, double *work)
{
    const int64_t strips = (D + STRIP - 1) / STRIP;
    const int floats = narrow && D >= FEW_COLUMNS && !x->start && fab_rows_stride(x) == 1;
    int threads = D < FEW_COLUMNS ? 1 : r->threads;
    if (floats && threads > FLOAT_THREADS) threads = FLOAT_THREADS;
    memset(S, 0, (size_t)(D * D) * sizeof *S);
    memset(sum, 0, (size_t)D * sizeof *sum);
    fab_watch watch = r->watch;
    for (int64_t first = 0; first < x->n; first += PANEL) {
        const int64_t n = x->n - first < PANEL ? x->n - first : PANEL;
        scatter_panel p = {x, w, first, n, D, c, work, S, sum};
        fab_parallel(threads, (n + BLOCK - 1) / BLOCK, floats ? load_floats : load_block, &p);
        fab_parallel(threads, strips, floats ? add_float_strip : add_strip, &p);
        fab_watch_note(&watch, (double)n * (double)D * (double)D / 8, "covariance", first + n,
                       x->n);
    }
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < j; i++) S[i + j * D] = S[j + i * D];
}

/* ---- strips ----------------------------------------------------------------------------------------- */

/* Where strip t begins. */
static int64_t strip_at(int64_t D, int64_t t)
{
    return STRIP * (D * t - STRIP * (t * (t - 1) / 2)); /* the sum of STRIP (D - STRIP s), s < t */
}

int64_t fab_strips_count(int64_t D)
{
    const int64_t whole = D / STRIP, rest = D % STRIP;
    return strip_at(D, whole) + rest * rest;
}

typedef struct strips_add {
    int64_t D, n;
    const double *X; /* n x D, row-major */
    double *floats;  /* in its place */
    double *S;
} strips_add;

static void grow_strip(void *ctx, int64_t t, int thread)
{
    (void)thread;
    const strips_add *a = ctx;
    const int64_t D = a->D, d0 = t * STRIP, width = D - d0 < STRIP ? D - d0 : STRIP;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)(D - d0), (int)width, (int)a->n, 1,
                a->X + d0, (int)D, a->X + d0, (int)D, 1, a->S + strip_at(D, t), (int)(D - d0));
}

void fab_strips_add(const fab_run *r, int64_t D, int64_t n, const double *X, double *S)
{
    strips_add a = {.D = D, .n = n, .X = X, .S = S};
    fab_parallel(D < FEW_COLUMNS ? 1 : r->threads, (D + STRIP - 1) / STRIP, grow_strip, &a);
}

/* Floats stand where the first half of X was, and behind them NARROW columns of each thread. */
static void grow_float_strip(void *ctx, int64_t t, int thread)
{
    const strips_add *a = ctx;
    const int64_t D = a->D, d0 = t * STRIP, width = D - d0 < STRIP ? D - d0 : STRIP, m = D - d0;
    float *const rows = (float *)(void *)a->floats, *const part = rows +
                                                                  (a->n + thread * NARROW) * D;
    for (int64_t first = 0; first < a->n; first += FAB_BLOCK_ROWS) {
        const int64_t n = a->n - first < FAB_BLOCK_ROWS ? a->n - first : FAB_BLOCK_ROWS;
        const float *X = rows + first * D + d0;
        for (int64_t j = 0; j < width; j += NARROW) {
            const int64_t cols = width - j < NARROW ? width - j : NARROW;
            double *S = a->S + strip_at(D, t) + j * m;
            cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)m, (int)cols, (int)n, 1, X,
                        (int)D, X + j, (int)D, 0, part, (int)m);
            for (int64_t e = 0; e < m * cols; e++) S[e] += (double)part[e];
        }
    }
}

void fab_strips_add_floats(const fab_run *r, int64_t D, int64_t n, double *X, double *S)
{
    const int64_t most = n / NARROW; /* threads that have room behind the floats */
    if (most < 1) {
        fab_strips_add(r, D, n, X, S);
        return;
    }
    strips_add a = {.D = D, .n = n, .floats = X, .S = S};
    float *rows = (float *)(void *)X;
    for (int64_t e = 0; e < n * D; e++) rows[e] = (float)X[e]; /* each behind those still to come */
    fab_parallel(r->threads < most ? r->threads : (int)most, (D + STRIP - 1) / STRIP,
                 grow_float_strip, &a);
}

void fab_strips_full(int64_t D, double a, const double *S, double *full)
{
    for (int64_t j = 0; j < D; j++) {
        const int64_t t = j / STRIP, d0 = t * STRIP;
        const double *column = S + strip_at(D, t) + (j - d0) * (D - d0) - d0;
        for (int64_t i = j; i < D; i++) full[i + j * D] = full[j + i * D] = a * column[i];
    }
}

void fab_strips_scale(int64_t D, double a, double *S)
{
    const int64_t n = fab_strips_count(D);
    for (int64_t i = 0; i < n; i++) S[i] *= a;
}

void fab_panel_centre(int64_t n, int64_t D, const double *rows, const double *w, const double *c,
                      double *e, double *X)
{
    double total = 0;
    memset(e, 0, (size_t)D * sizeof *e);
    for (int64_t j = 0; j < n; j++) {
        total += w[j];
        for (int64_t d = 0; d < D; d++) e[d] += w[j] * (rows[j * D + d] - c[d]);
    }
    for (int64_t d = 0; d < D; d++) e[d] /= total;
    for (int64_t j = 0; j < n; j++) {
        const double root = sqrt(w[j]);
        for (int64_t d = 0; d < D; d++) X[j * D + d] = root * (rows[j * D + d] - c[d] - e[d]);
    }
}
