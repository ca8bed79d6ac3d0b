/* target.c - the sample covariance of a table of rows and its products.
 *
 *   c = mean of the first rows;  s = sum w (x - c);  N = sum w;  mu = c + s / N
 *   S = sum w (x - c)(x - c)' / N - (mu - c)(mu - c)'        one pass; c is so near that nothing cancels
 *
 * SPDX-License-Identifier: MIT */
#include "methods/fa/target.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/scatter.h"
#include <math.h>
#include <string.h>

enum { FIRST_ROWS = 1000, DIRECT_ROWS = 128 };

static void layout(fab_layout *l, fab_target *t)
{
    const int64_t D = t->D, dense = D <= t->N, k = t->width;
    const int64_t rows = dense ? D : DIRECT_ROWS;
    t->mu = fab_place(l, D, sizeof *t->mu);
    t->diag = fab_place(l, D, sizeof *t->diag);
    t->S = dense ? fab_place(l, D * D, sizeof *t->S) : NULL;
    t->X = fab_place(l, dense ? fab_scatter_work(D) : D * DIRECT_ROWS, sizeof *t->X);
    t->C = fab_place(l, dense ? D : DIRECT_ROWS * k, sizeof *t->C);
    t->run.work =
        fab_place(l, (int64_t)t->run.ops->work(D, rows, k > rows ? k : rows, t->run.threads), 1);
}

static fab_status prototype(fab_target *t, int64_t D, int64_t N, int64_t width, const fab_exec *x)
{
    *t = (fab_target){.D = D, .N = N, .width = width};
    return fab_run_init(&t->run, x, FAB_F64);
}

double fab_target_bytes(int64_t D, int64_t N, int64_t width, const fab_exec *x)
{
    fab_target t;
    fab_layout l = {NULL, 0};
    if (prototype(&t, D, N, width, x) != FAB_OK) return NAN;
    layout(&l, &t);
    return (double)l.used;
}

/* c = mean of the first n rows, by their differences from the first: a constant column is exact */
static void mean_of(const fab_target *t, int64_t n, double *c)
{
    double total = t->w ? t->w[0] : 1;
    for (int64_t i = 0; i < t->D; i++) c[i] = 0;
    for (int64_t j = 1; j < n; j++) {
        const double w = t->w ? t->w[j] : 1;
        total += w;
        for (int64_t i = 0; i < t->D; i++)
            c[i] += w * (fab_rows_at(&t->rows, j, i) - fab_rows_at(&t->rows, 0, i));
    }
    for (int64_t i = 0; i < t->D; i++) c[i] = fab_rows_at(&t->rows, 0, i) + c[i] / total;
}

static void form_dense(fab_target *t)
{
    const int64_t D = t->D;
    const double N = t->total;
    double *shift = t->diag, *c = t->C;
    mean_of(t, t->N < FIRST_ROWS ? t->N : FIRST_ROWS, c);
    fab_scatter(&t->run, &t->rows, t->w, D, c, t->S, shift, t->X);
    for (int64_t i = 0; i < D; i++) shift[i] /= N;
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) t->S[i + j * D] = t->S[i + j * D] / N - shift[i] * shift[j];
    for (int64_t i = 0; i < D; i++) t->mu[i] = c[i] + shift[i];
    for (int64_t i = 0; i < D; i++) t->diag[i] = t->S[i + i * D];
}

/* The next block of rows as columns of X: sqrt(w) (x - mu). */
static fab_long load(const fab_target *t, int64_t first)
{
    const int64_t left = t->N - first, k = left < DIRECT_ROWS ? left : DIRECT_ROWS;
    const fab_rows part = fab_rows_part(&t->rows, first, k);
    const fab_long X = fab_long_vectors(t->X, t->D, k, t->D);
    t->run.ops->load(&t->run, &part, t->mu, &X);
    if (t->w)
        for (int64_t j = 0; j < k; j++) {
            const double root = sqrt(t->w[first + j]);
            for (int64_t i = 0; i < t->D; i++) t->X[i + j * t->D] *= root;
        }
    return X;
}

/* Mean and variances by two passes: rows are few beside columns here. */
static void form_direct(fab_target *t)
{
    mean_of(t, t->N, t->mu);
    memset(t->diag, 0, (size_t)t->D * sizeof *t->diag);
    for (int64_t first = 0; first < t->N; first += DIRECT_ROWS) {
        const fab_long X = load(t, first);
        t->run.ops->rowquad(&t->run, &X, NULL, X.k, 1, t->diag);
        fab_watch_note(&t->run.watch, (double)(2 * X.k) * (double)t->D, "variances", first + X.k,
                       t->N);
    }
    for (int64_t i = 0; i < t->D; i++) t->diag[i] /= t->total;
}

fab_status fab_target_init(fab_target *t, const char *who, const fab_rows *rows, const double *w,
                           int64_t D, int64_t width, const fab_exec *x)
{
    FAB_TRY(prototype(t, D, rows->n, width, x));
    t->rows = *rows;
    t->w = w;
    for (int64_t j = 0; j < t->N; j++) t->total += w ? w[j] : 1;
    fab_layout l = {NULL, 0};
    layout(&l, t);
    FAB_TRY(fab_alloc_array(&t->block, l.used < INT64_MAX ? (int64_t)l.used : -1, 1, who));
    l = (fab_layout){t->block, 0};
    layout(&l, t);
    const int before = fab_blas_enter();
    if (t->S)
        form_dense(t);
    else
        form_direct(t);
    fab_blas_leave(before);
    const fab_status s = fab_watch_tick(&t->run.watch, who, 0, 0);
    if (s != FAB_OK) {
        fab_target_free(t);
        return s;
    }
    for (int64_t i = 0; i < D; i++) t->mean += t->diag[i] / (double)D;
    for (int64_t i = 0; i < D; i++)
        if (fab_target_varies(t, i)) return FAB_OK;
    fab_target_free(t);
    return FAB_FAIL(FAB_BAD_DATA, "%s: every column is constant", who);
}

void fab_target_free(fab_target *t)
{
    fab_release(t->block);
    t->block = NULL;
}

int fab_target_varies(const fab_target *t, int64_t i)
{
    return t->diag[i] > 1e-28 * t->mu[i] * t->mu[i];
}

void fab_target_times(const fab_target *t, const double *P, int64_t k, double *V)
{
    const fab_long out = fab_long_vectors(V, t->D, k, t->D);
    const int before = fab_blas_enter();
    if (t->S) {
        const fab_long S = fab_long_rows(t->S, t->D, t->D);
        t->run.ops->mult(&t->run, NULL, &S, P, 0, &out);
    }
    if (!t->S) {
        const fab_long in = fab_long_vectors((void *)(uintptr_t)P, t->D, k, t->D);
        fab_watch w = t->run.watch;
        for (int64_t first = 0; first < t->N; first += DIRECT_ROWS) {
            const fab_long X = load(t, first);
            t->run.ops->cross(&t->run, &X, NULL, &in, t->C);
            for (int64_t i = 0; i < X.k * k; i++) t->C[i] /= t->total;
            t->run.ops->mult(&t->run, NULL, &X, t->C, first > 0, &out);
            fab_watch_note(&w, (double)X.k * (double)(1 + k) * (double)t->D, "products",
                           first + X.k, t->N);
        }
    }
    fab_blas_leave(before);
}
