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
#include "fabayes/gauss.h"
#include "la/scatter.h"
#include "la/small.h"
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
    const int64_t cols = dense || k > rows ? k : rows;
    t->run.work = fab_place(l, (int64_t)t->run.ops->work(D, rows, cols, t->run.threads), 1);
}

static fab_status prototype(fab_target *t, int64_t D, int64_t N, int64_t width, const fab_exec *x)
{
    *t = (fab_target){.D = D, .N = N, .width = width};
    t->narrow = fab_scatter_narrow(x);
    return fab_run_init(&t->run, x, FAB_F64);
}

double fab_target_bytes(int64_t D, int64_t N, int64_t width, const fab_exec *x)
{
    fab_target t;
    fab_layout l = {0};
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
    fab_scatter(&t->run, t->narrow, &t->rows, t->w, D, c, t->S, shift, t->X);
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

/* The block of memory behind it. */
static fab_status place(fab_target *t, const char *who)
{
    fab_layout l = {0};
    layout(&l, t);
    FAB_TRY(fab_alloc_array(&t->block, l.used < INT64_MAX ? (int64_t)l.used : -1, 1, who));
    l = (fab_layout){.base = t->block};
    layout(&l, t);
    return FAB_OK;
}

/* The mean variance; refuses a target in which nothing varies. */
static fab_status check(fab_target *t, const char *who)
{
    for (int64_t i = 0; i < t->D; i++) t->mean += t->diag[i] / (double)t->D;
    for (int64_t i = 0; i < t->D; i++)
        if (fab_target_varies(t, i)) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA, "%s: every column is constant", who);
}

fab_status fab_target_init(fab_target *t, const char *who, const fab_rows *rows, const double *w,
                           int64_t D, int64_t width, const fab_exec *x)
{
    FAB_TRY(prototype(t, D, rows->n, width, x));
    t->rows = *rows;
    t->w = w;
    for (int64_t j = 0; j < t->N; j++) t->total += w ? w[j] : 1;
    FAB_TRY(place(t, who));
    const int before = fab_blas_enter();
    if (t->S)
        form_dense(t);
    else
        form_direct(t);
    fab_blas_leave(before);
    fab_status s = fab_watch_tick(&t->run.watch, who, 0, 0);
    if (s == FAB_OK) s = check(t, who);
    if (s != FAB_OK) fab_target_free(t);
    return s;
}

fab_status fab_target_init_matrix(fab_target *t, const char *who, int64_t D, int64_t width,
                                  const fab_exec *x)
{
    FAB_TRY(prototype(t, D, D, width, x)); /* as of D rows: the matrix is there */
    t->total = 1;
    return place(t, who);
}

fab_status fab_target_check(fab_target *t, const char *who)
{
    for (int64_t i = 0; i < t->D; i++) t->diag[i] = t->S[i + i * t->D];
    return check(t, who);
}

fab_status fab_target_factor(fab_target *t, const char *who, int64_t R)
{
    const int64_t numbers = t->D * (R + 1) + R * t->width;
    FAB_TRY(fab_alloc_array((void **)&t->W, numbers, sizeof *t->W, who));
    memset(t->W, 0, (size_t)numbers * sizeof *t->W);
    t->R = R;
    t->rest = t->W + t->D * R;
    t->WP = t->rest + t->D;
    return FAB_OK;
}

void fab_target_free(fab_target *t)
{
    fab_release(t->block);
    fab_release(t->W);
    t->block = NULL;
    t->W = NULL;
}

int fab_target_varies(const fab_target *t, int64_t i)
{
    return t->diag[i] > 1e-28 * t->mu[i] * t->mu[i];
}

fab_status fab_target_regression(const fab_target *t, int64_t K, const double *v, double *share)
{
    const int64_t D = t->D;
    double *C;
    if (!t->S || D > FAB_DENSE_MAX) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&C, 2 * D * D, sizeof *C, "regression"));
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++)
            C[i + j * D] = i == j ? 1 : t->S[i + j * D] / sqrt(v[i]) / sqrt(v[j]);
    const int before = fab_blas_enter();
    if (fab_chol(D, C) == FAB_OK) {
        fab_chol_inv(D, C, C + D * D);
        for (int64_t i = 0; i < D; i++)
            share[i] = (1 - (double)K / (2 * (double)D)) / C[D * D + i + i * D];
    }
    fab_blas_leave(before);
    fab_release(C);
    return FAB_OK;
}

fab_status fab_target_saturated(const fab_target *t, double *loglik)
{
    const int64_t D = t->D;
    double *C, sum = (double)D * (1 + 1.8378770664093454836);
    *loglik = NAN;
    if (!t->S || t->W || D > FAB_DENSE_MAX) return FAB_OK;
    for (int64_t i = 0; i < D; i++)
        if (!fab_target_varies(t, i)) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&C, D * D, sizeof *C, "correlations"));
    for (int64_t j = 0; j < D; j++) {
        sum += log(t->diag[j]);
        for (int64_t i = 0; i < D; i++)
            C[i + j * D] = i == j ? 1 : t->S[i + j * D] / sqrt(t->diag[i]) / sqrt(t->diag[j]);
    }
    const int before = fab_blas_enter();
    if (fab_chol(D, C) == FAB_OK) {
        double least =
            1; /* squared pivots: what regression on those before it leaves of a coordinate */
        for (int64_t i = 0; i < D; i++) least = fmin(least, C[i + i * D] * C[i + i * D]);
        if (least > 1e-12) *loglik = -(sum + fab_chol_logdet(D, C)) / 2;
    }
    fab_blas_leave(before);
    fab_release(C);
    return FAB_OK;
}

double fab_target_floor(const fab_target *t, double psi_min, int64_t i)
{
    return psi_min * (fab_target_varies(t, i) ? t->diag[i] : t->mean);
}

void fab_target_times(const fab_target *t, const double *P, int64_t k, double *V)
{
    const fab_long out = fab_long_vectors(V, t->D, k, t->D);
    const int before = fab_blas_enter();
    if (t->W && 2 * t->R < t->D) {
        fab_mm(FAB_N, FAB_N, t->R, k, t->D, 1, t->W, P, 0, t->WP); /* W P */
        fab_mm(FAB_T, FAB_N, t->D, k, t->R, 1, t->W, t->WP, 0, V); /* W' W P + rest P */
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < t->D; i++) V[i + j * t->D] += t->rest[i] * P[i + j * t->D];
    } else if (t->S) {
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
