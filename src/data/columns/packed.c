/* packed.c - columns of a table that holds only the numbers that stand in a libsvm file.
 *
 * Every pass goes over the stored values; the zeros of a column are counted, not visited.
 *
 * SPDX-License-Identifier: MIT */
#include "data/columns/table.h"
#include <math.h>
#include <string.h>

/* What is gathered of a column. */
typedef struct column {
    double size, sum, spread, squares, weight; /* weight of the rows that have a value here */
    int64_t count;                             /* of those rows */
} column;

static double weight_of(const fab_dataset *t, int64_t i)
{
    return t->weight ? t->weight[i] : 1;
}

static fab_status create(const fab_dataset *t, column **columns)
{
    FAB_TRY(fab_alloc_array((void **)columns, t->columns, sizeof **columns, "table"));
    memset(*columns, 0, (size_t)t->columns * sizeof **columns);
    return FAB_OK;
}

/* Sizes, counts and weights. */
static void measure(const fab_dataset *t, column *columns)
{
    const fab_sparse *r = &t->cells;
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t k = r->start[i]; k < r->start[i + 1]; k++) {
            column *c = &columns[r->index[k]];
            c->size = fmax(c->size, fabs(r->value[k]));
            c->weight += weight_of(t, i);
            c->count++;
        }
}

static void add_up(const fab_dataset *t, column *columns)
{
    const fab_sparse *r = &t->cells;
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t k = r->start[i]; k < r->start[i + 1]; k++) {
            column *c = &columns[r->index[k]];
            if (c->size > 0) c->sum += weight_of(t, i) * (r->value[k] / c->size);
        }
}

/* Largest deviations from the means, those of the zeros too. */
static void deviate(const fab_dataset *t, const fab_moment *m, column *columns)
{
    const fab_sparse *r = &t->cells;
    for (int64_t d = 0; d < t->columns; d++)
        columns[d].spread = columns[d].count < t->n ? fabs(m[d].mean) : 0;
    for (int64_t k = 0; k < r->values; k++) {
        column *c = &columns[r->index[k]];
        c->spread = fmax(c->spread, fabs(r->value[k] - m[r->index[k]].mean));
    }
}

static void square(const fab_dataset *t, const fab_moment *m, double total, column *columns)
{
    const fab_sparse *r = &t->cells;
    for (int64_t d = 0; d < t->columns; d++) {
        column *c = &columns[d];
        const double zero = c->spread > 0 ? m[d].mean / c->spread : 0;
        if (c->count < t->n) c->squares = (total - c->weight) * zero * zero;
    }
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t k = r->start[i]; k < r->start[i + 1]; k++) {
            column *c = &columns[r->index[k]];
            if (!(c->spread > 0)) continue;
            const double d = (r->value[k] - m[r->index[k]].mean) / c->spread;
            c->squares += weight_of(t, i) * d * d;
        }
}

static void find_moments(const fab_dataset *t, column *columns, fab_moment *m)
{
    double total = 0; /* weight of all rows */
    for (int64_t i = 0; i < t->n; i++) total += weight_of(t, i);
    measure(t, columns);
    add_up(t, columns);
    for (int64_t d = 0; d < t->columns; d++)
        m[d] = (fab_moment){.mean = columns[d].size * (columns[d].sum / total)};
    deviate(t, m, columns);
    square(t, m, total, columns);
    for (int64_t d = 0; d < t->columns; d++) {
        const column *c = &columns[d];
        m[d].constant = !(c->spread > fmax(FAB_NEAR_CONSTANT * c->size, FAB_LEAST_SPREAD));
        m[d].sd = c->spread * sqrt(c->squares / total);
    }
}

fab_status fab_packed_moments(const fab_dataset *t, fab_moment **m)
{
    column *columns;
    FAB_TRY(create(t, &columns));
    const fab_status s = fab_alloc_array((void **)m, t->columns, sizeof **m, "table");
    if (s == FAB_OK) find_moments(t, columns, *m);
    fab_release(columns);
    return s;
}

/* The least and the most of each column, in `sum` and `spread`. */
fab_status fab_packed_constants(const fab_dataset *t, char *constant)
{
    const fab_sparse *r = &t->cells;
    column *columns;
    FAB_TRY(create(t, &columns));
    measure(t, columns);
    for (int64_t d = 0; d < t->columns; d++) {
        columns[d].sum = columns[d].count < t->n ? 0 : INFINITY;
        columns[d].spread = columns[d].count < t->n ? 0 : -INFINITY;
    }
    for (int64_t k = 0; k < r->values; k++) {
        column *c = &columns[r->index[k]];
        c->sum = fmin(c->sum, r->value[k]);
        c->spread = fmax(c->spread, r->value[k]);
    }
    for (int64_t d = 0; d < t->columns; d++) {
        const double least = fmax(FAB_NEAR_CONSTANT * columns[d].size, FAB_LEAST_SPREAD);
        constant[d] = !(columns[d].spread - columns[d].sum > 2 * least);
    }
    fab_release(columns);
    return FAB_OK;
}

fab_status fab_packed_open(fab_dataset *t)
{
    const fab_sparse *r = &t->cells;
    double *x;
    FAB_TRY(fab_alloc_array((void **)&x, t->n * t->D, sizeof *x, "table"));
    memset(x, 0, (size_t)(t->n * t->D) * sizeof *x);
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t k = r->start[i]; k < r->start[i + 1]; k++)
            x[i * t->D + r->index[k]] = r->value[k];
    fab_release(t->x);
    t->x = x;
    t->packed = 0;
    return FAB_OK;
}
