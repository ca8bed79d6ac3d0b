/* reduced.c - a table of examples reduced to its triangular factor, for linear models.
 *
 * The normal equations would square the condition of the table; its QR does not, and R is all that a
 * posterior needs.  Rows come in blocks: R <- R of [R; block], so memory does not grow with the table.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/exact/reduced.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/small.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* a column varies by less than this part of its size: rounding */
#define CONSTANT (8 * DBL_EPSILON)
#define LEAST    DBL_MIN /* the same by itself: below, numbers have no digits to divide by */

static double weight(const fab_exact_columns *c, int64_t j)
{
    return c->e->weight ? c->e->weight[j] : 1;
}

/* sum += a b, the sum in two parts: as if in twice the digits */
static void add_product(double sum[2], double a, double b)
{
    const double p = a * b, lost = fma(a, b, -p), s = sum[0] + p, part = s - sum[0];
    sum[1] += (sum[0] - (s - part)) + (p - part) + lost;
    sum[0] = s;
}

/* The target less what is known of it. */
static double target(const fab_exact_columns *c, int64_t j)
{
    double y[2] = {c->e->y[j], 0};
    if (c->e->offset) add_product(y, -1, c->e->offset[j]);
    if (!c->m) return y[0] + y[1];
    for (int64_t i = 0; i < c->D; i++) add_product(y, -c->m[i], fab_rows_at(&c->e->x, j, i));
    if (c->intercept) add_product(y, -1, c->m[c->D]);
    return y[0] + y[1];
}

/* 2^k with v / 2^k in [1/2, 1); 1 for v = 0. */
static double size_of(double v)
{
    int k = 0;
    frexp(v, &k);
    return v > 0 ? ldexp(1, k) : 1;
}

/* Weighted means; the second pass removes the rounding of the first. */
static fab_status measure_means(fab_exact_columns *c)
{
    const int64_t n = c->e->x.n;
    for (int64_t j = 0; j < n; j++) {
        const double share = weight(c, j) / c->weights;
        for (int64_t i = 0; i < c->D; i++) c->centre[i] += share * fab_rows_at(&c->e->x, j, i);
        if (c->free) c->y_centre += share * target(c, j);
        FAB_TRY(fab_watch_work(c->watch, 4 * (double)c->D, c->who, j, n));
    }
    for (int64_t j = 0; j < n; j++) {
        const double share = weight(c, j) / c->weights;
        for (int64_t i = 0; i < c->D; i++)
            c->factor[i] += share * (fab_rows_at(&c->e->x, j, i) - c->centre[i]);
        FAB_TRY(fab_watch_work(c->watch, 4 * (double)c->D, c->who, j, n));
    }
    for (int64_t i = 0; i < c->D; i++) c->centre[i] += c->factor[i];
    return FAB_OK;
}

static fab_status measure_scales(fab_exact_columns *c)
{
    const int64_t n = c->e->x.n, D = c->D;
    double most = 0;
    for (int64_t j = 0; j < n; j++) {
        most = fmax(most, fabs(target(c, j) - c->y_centre));
        for (int64_t i = 0; i < D; i++)
            c->scale[i] = fmax(c->scale[i], fabs(fab_rows_at(&c->e->x, j, i) - c->centre[i]));
        FAB_TRY(fab_watch_work(c->watch, 4 * (double)D, c->who, j, n));
    }
    const int flat = most <= fmax(CONSTANT * fabs(c->y_centre), LEAST);
    c->y_scale = size_of(flat ? 0 : most);
    c->y_factor = flat ? 0 : 1 / c->y_scale;
    for (int64_t i = 0; i < D; i++) {
        const int constant = c->scale[i] <= fmax(CONSTANT * fabs(c->centre[i]), LEAST);
        c->scale[i] = size_of(constant ? 0 : c->scale[i]);
        c->factor[i] = constant ? 0 : 1 / c->scale[i];
    }
    return FAB_OK;
}

fab_status fab_columns_measure(fab_exact_columns *c)
{
    const size_t bytes = (size_t)c->D * sizeof(double);
    memset(c->centre, 0, bytes);
    memset(c->scale, 0, bytes);
    memset(c->factor, 0, bytes);
    c->P = c->D + c->intercept;
    c->weights = c->y_centre = 0;
    for (int64_t j = 0; j < c->e->x.n; j++) c->weights += weight(c, j);
    if (c->intercept) FAB_TRY(measure_means(c));
    return measure_scales(c);
}

void fab_columns_row(const fab_exact_columns *c, int64_t j, double *out, int64_t step)
{
    const double root = sqrt(weight(c, j));
    if (c->intercept) {
        *out = root;
        out += step;
    }
    for (int64_t i = 0; i < c->D; i++)
        out[i * step] = root * ((fab_rows_at(&c->e->x, j, i) - c->centre[i]) * c->factor[i]);
    out[c->D * step] = root * ((target(c, j) - c->y_centre) * c->y_factor);
}

/* R of [R; rows first .. first + n - 1]; A: (width + n) x width */
static void absorb(const fab_exact_columns *c, int64_t first, int64_t n, double *A, double *R,
                   double *work)
{
    const int64_t width = c->P + 1, m = width + n;
    for (int64_t k = 0; k < width; k++) memcpy(A + k * m, R + k * width, (size_t)width * sizeof *A);
    for (int64_t j = 0; j < n; j++) fab_columns_row(c, first + j, A + width + j, m);
    fab_qr_r(m, width, A, R, work);
}

fab_status fab_columns_reduce(fab_exact_columns *c, double *R)
{
    const int64_t width = c->P + 1, n = c->e->x.n, most = 2 * width > 128 ? 2 * width : 128;
    const int64_t block = n < most ? n : most;
    double *A;
    FAB_TRY(fab_alloc_array((void **)&A,
                            (width + block) * width + fab_qr_work(width + block, width), sizeof *A,
                            c->who));
    memset(R, 0, (size_t)(width * width) * sizeof *R);
    fab_status s = FAB_OK;
    for (int64_t first = 0; first < n && s == FAB_OK; first += block) {
        const int64_t left = n - first, rows = left < block ? left : block;
        absorb(c, first, rows, A, R, A + (width + block) * width);
        s = fab_watch_work(c->watch, (double)(width + rows) * (double)width * (double)width / 2,
                           c->who, first + rows, n);
    }
    fab_release(A);
    return s;
}
