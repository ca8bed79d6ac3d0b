/* pairs.c - shapes of pairs.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/pairs.h"
#include "kernel/sums.h"
#include "la/nn.h"
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static const double *row_of(const fab_tile *t, int64_t i)
{
    return t->x->by_row + (t->first_x + i) * t->x->width;
}

static const double *column_of(const fab_tile *t, int64_t c)
{
    return t->z->across + c * t->z->n + t->first_z;
}

static double nought(const fab_kernel *k, const fab_leaf *f, const double *x)
{
    (void)k, (void)f, (void)x;
    return 0;
}

/* ---- squares ------------------------------------------------------------------------------------------ */

static int64_t one_each(const fab_leaf *f)
{
    return f->columns;
}

static void squares_load(const fab_kernel *k, const fab_leaf *f, const double *centre,
                         const double *x, double *w)
{
    for (int64_t c = 0; c < f->columns; c++) {
        const int64_t at = k->column[f->first + c];
        w[c] = (x[at] - centre[at]) / fab_length(k, f, c);
    }
}

static void squares_pairs(const fab_leaf *f, const fab_tile *t, double *u)
{
    fab_nn_find(FAB_F64)->squares(t->nx, t->nz, f->columns, row_of(t, 0), column_of(t, 0), t->z->n,
                                  u);
}

/* -2 sum H u: the gradient by the logarithm of a length that all columns share, u being a quadratic form in 1 / l. */
static double shared_length(const fab_tile *t, const double *u, const double *H)
{
    return -2 * fab_dot(t->nx * t->nz, H, u);
}

static void squares_gradient(const fab_leaf *f, const fab_tile *t, const double *u, const double *H,
                             double *g)
{
    if (!f->ard) {
        g[0] += shared_length(t, u, H);
        return;
    }
    fab_nn_find(FAB_F64)->square_sums(t->nx, t->nz, f->columns, row_of(t, 0), column_of(t, 0),
                                      t->z->n, H, -2, g);
}

static void squares_rows(const fab_kernel *k, const fab_leaf *f, const fab_tile *t, const double *H,
                         double *G)
{
    for (int64_t i = 0; i < t->nx; i++)
        for (int64_t c = 0; c < f->columns; c++) {
            const double x = row_of(t, i)[c], *z = column_of(t, c), *h = H + i * t->nz;
            const double sum = fab_dot_of_differences(t->nz, h, x, z);
            G[i * k->D + k->column[f->first + c]] += 2 * sum / fab_length(k, f, c);
        }
}

const fab_shape_of_pairs fab_squares = {
    0, nought, one_each, squares_load, squares_pairs, squares_gradient, squares_rows};

/* ---- dots --------------------------------------------------------------------------------------------- */

static double dots_self(const fab_kernel *k, const fab_leaf *f, const double *x)
{
    double sum = 0;
    for (int64_t c = 0; c < f->columns; c++) {
        const double w = x[k->column[f->first + c]] / fab_length(k, f, c);
        sum += w * w;
    }
    return sum;
}

static void dots_load(const fab_kernel *k, const fab_leaf *f, const double *centre, const double *x,
                      double *w)
{
    (void)centre;
    for (int64_t c = 0; c < f->columns; c++)
        w[c] = x[k->column[f->first + c]] / fab_length(k, f, c);
}

static void dots_pairs(const fab_leaf *f, const fab_tile *t, double *u)
{
    memset(u, 0, (size_t)(t->nx * t->nz) * sizeof *u);
    for (int64_t i = 0; i < t->nx; i++)
        for (int64_t c = 0; c < f->columns; c++) {
            const double x = row_of(t, i)[c], *z = column_of(t, c);
            double *to = u + i * t->nz;
            for (int64_t j = 0; j < t->nz; j++) to[j] += x * z[j];
        }
}

static void dots_gradient(const fab_leaf *f, const fab_tile *t, const double *u, const double *H,
                          double *g)
{
    (void)u;
    if (f->lengths == 0) return;
    for (int64_t c = 0; c < f->columns; c++) {
        const double *z = column_of(t, c);
        double sum = 0;
        for (int64_t i = 0; i < t->nx; i++) {
            const double x = row_of(t, i)[c], *h = H + i * t->nz;
            sum += x * fab_dot(t->nz, h, z);
        }
        g[c] -= 2 * sum;
    }
}

static void dots_rows(const fab_kernel *k, const fab_leaf *f, const fab_tile *t, const double *H,
                      double *G)
{
    for (int64_t i = 0; i < t->nx; i++)
        for (int64_t c = 0; c < f->columns; c++) {
            const double *z = column_of(t, c), *h = H + i * t->nz;
            G[i * k->D + k->column[f->first + c]] += fab_dot(t->nz, h, z) / fab_length(k, f, c);
        }
}

const fab_shape_of_pairs fab_dots = {0,          dots_self,     one_each, dots_load,
                                     dots_pairs, dots_gradient, dots_rows};

/* ---- waves -------------------------------------------------------------------------------------------- */

/* Of each column a = pi x / p, sin a and cos a: with them sin(a - b) and cos(a - b) take products alone. */
enum { WAVE = 3 };

static int64_t three_each(const fab_leaf *f)
{
    return WAVE * f->columns;
}

static void waves_load(const fab_kernel *k, const fab_leaf *f, const double *centre,
                       const double *x, double *w)
{
    for (int64_t c = 0; c < f->columns; c++) {
        const int64_t at = k->column[f->first + c];
        const double a = pi * (x[at] - centre[at]) / f->value;
        w[WAVE * c] = a;
        w[WAVE * c + 1] = sin(a);
        w[WAVE * c + 2] = cos(a);
    }
}

static double sine(const double *x, double sin_z, double cos_z)
{
    return x[1] * cos_z - x[2] * sin_z;
}

static double cosine(const double *x, double sin_z, double cos_z)
{
    return x[2] * cos_z + x[1] * sin_z;
}

static double wave_scale(const fab_leaf *f)
{
    return 2 / (f->length * f->length);
}

static void waves_pairs(const fab_leaf *f, const fab_tile *t, double *u)
{
    const double scale = wave_scale(f);
    memset(u, 0, (size_t)(t->nx * t->nz) * sizeof *u);
    for (int64_t i = 0; i < t->nx; i++)
        for (int64_t c = 0; c < f->columns; c++) {
            const double *x = row_of(t, i) + WAVE * c, *sin_z = column_of(t, WAVE * c + 1),
                         *cos_z = column_of(t, WAVE * c + 2);
            double *to = u + i * t->nz;
            for (int64_t j = 0; j < t->nz; j++) {
                const double s = sine(x, sin_z[j], cos_z[j]);
                to[j] += scale * s * s;
            }
        }
}

/* du/dlog p = -2 (2 / l^2) sum_j sin cos (a_j - b_j) */
static void waves_gradient(const fab_leaf *f, const fab_tile *t, const double *u, const double *H,
                           double *g)
{
    double sum = 0;
    g[0] += shared_length(t, u, H);
    for (int64_t c = 0; c < f->columns; c++) {
        const double *z = column_of(t, WAVE * c), *sin_z = column_of(t, WAVE * c + 1),
                     *cos_z = column_of(t, WAVE * c + 2);
        for (int64_t i = 0; i < t->nx; i++) {
            const double *x = row_of(t, i) + WAVE * c, *h = H + i * t->nz;
            for (int64_t j = 0; j < t->nz; j++)
                sum += h[j] * sine(x, sin_z[j], cos_z[j]) * cosine(x, sin_z[j], cos_z[j]) *
                       (x[0] - z[j]);
        }
    }
    g[1] -= 2 * wave_scale(f) * sum;
}

static void waves_rows(const fab_kernel *k, const fab_leaf *f, const fab_tile *t, const double *H,
                       double *G)
{
    const double scale = 2 * wave_scale(f) * pi / f->value;
    for (int64_t i = 0; i < t->nx; i++)
        for (int64_t c = 0; c < f->columns; c++) {
            const double *x = row_of(t, i) + WAVE * c, *sin_z = column_of(t, WAVE * c + 1),
                         *cos_z = column_of(t, WAVE * c + 2), *h = H + i * t->nz;
            double sum = 0;
            for (int64_t j = 0; j < t->nz; j++)
                sum += h[j] * sine(x, sin_z[j], cos_z[j]) * cosine(x, sin_z[j], cos_z[j]);
            G[i * k->D + k->column[f->first + c]] += scale * sum;
        }
}

const fab_shape_of_pairs fab_waves = {1,           nought,         three_each, waves_load,
                                      waves_pairs, waves_gradient, waves_rows};

/* ---- nothing ------------------------------------------------------------------------------------------ */

static int64_t none(const fab_leaf *f)
{
    (void)f;
    return 0;
}

static void nothing_load(const fab_kernel *k, const fab_leaf *f, const double *centre,
                         const double *x, double *w)
{
    (void)k, (void)f, (void)centre, (void)x, (void)w;
}

static void nothing_pairs(const fab_leaf *f, const fab_tile *t, double *u)
{
    (void)f;
    memset(u, 0, (size_t)(t->nx * t->nz) * sizeof *u);
}

static void nothing_gradient(const fab_leaf *f, const fab_tile *t, const double *u, const double *H,
                             double *g)
{
    (void)f, (void)t, (void)u, (void)H, (void)g;
}

static void nothing_rows(const fab_kernel *k, const fab_leaf *f, const fab_tile *t, const double *H,
                         double *G)
{
    (void)k, (void)f, (void)t, (void)H, (void)G;
}

const fab_shape_of_pairs fab_nothing = {
    0, nought, none, nothing_load, nothing_pairs, nothing_gradient, nothing_rows};
