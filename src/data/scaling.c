/* scaling.c - the units of a fit: means and scales of the columns, levels of the classes.
 *
 * SPDX-License-Identifier: MIT */
#include "data/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- moments of a column ---------------------------------------------------------------------------- */

typedef struct column {
    double mean, sd;
    int constant; /* nothing but rounding */
} column;

/* n numbers, `step` apart.  Divided by the largest, so that nothing overflows. */
static column moments(const double *x, int64_t step, int64_t n, const double *weight)
{
    column c = {0};
    double size = 0, spread = 0, total = 0, sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) size = fmax(size, fabs(x[i * step]));
    if (!(size > 0)) return (column){.constant = 1};
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1;
        total += w;
        sum += w * (x[i * step] / size);
    }
    c.mean = size * (sum / total);
    for (int64_t i = 0; i < n; i++) spread = fmax(spread, fabs(x[i * step] - c.mean));
    c.constant = spread <= FAB_NEAR_CONSTANT * size;
    for (int64_t i = 0; i < n && spread > 0; i++) {
        const double d = (x[i * step] - c.mean) / spread;
        squares += (weight ? weight[i] : 1) * d * d;
    }
    c.sd = spread * sqrt(squares / total);
    return c;
}

int fab_dataset_is_constant(const fab_dataset *t, int64_t d)
{
    return moments(t->x + d, t->D, t->n, t->weight).constant;
}

/* ---- levels ----------------------------------------------------------------------------------------- */

/* The different values of y, rising; at most `most`, else most + 1 is the answer. */
static int64_t find_levels(const double *y, int64_t n, double *level, int64_t most)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        while (at < found && level[at] < y[i]) at++;
        if (at < found && level[at] == y[i]) continue;
        if (found == most) return most + 1;
        for (int64_t j = found; j > at; j--) level[j] = level[j - 1];
        level[at] = y[i];
        found++;
    }
    return found;
}

enum { LEVELS = 1000 };

int64_t fab_dataset_levels(const fab_dataset *t, int64_t most)
{
    double level[LEVELS];
    return t->y ? find_levels(t->y, t->n, level, most < LEVELS ? most : LEVELS) : 0;
}

static fab_status put_levels(fab_scaling *k, const fab_dataset *t)
{
    double level[LEVELS];
    const int64_t n = find_levels(t->y, t->n, level, LEVELS);
    if (n < 2)
        return FAB_FAIL(FAB_BAD_DATA, "target '%s': one class only, %g; nothing to tell apart",
                        t->target_name, t->y[0]);
    if (n > LEVELS)
        return FAB_FAIL(FAB_BAD_DATA, "target '%s': more than %d levels are no classes",
                        t->target_name, LEVELS);
    FAB_TRY(fab_alloc_array((void **)&k->level, n, sizeof *k->level, "scaling"));
    memcpy(k->level, level, (size_t)n * sizeof *level);
    k->levels = n;
    return FAB_OK;
}

/* ---- create ----------------------------------------------------------------------------------------- */

static fab_status start(fab_scaling *k, const fab_dataset *t)
{
    FAB_TRY(fab_names_create(&k->name, k->D));
    FAB_TRY(fab_alloc_array((void **)&k->mean, 2 * k->D, sizeof *k->mean, "scaling"));
    k->scale = k->mean + k->D;
    for (int64_t d = 0; d < k->D; d++) FAB_TRY(fab_copy_text(&k->name[d], t->name[d]));
    FAB_TRY(fab_copy_text(&k->target, t->target_name));
    FAB_TRY(fab_copy_text(&k->weight, t->weight_name));
    return fab_copy_text(&k->offset, t->offset_name);
}

static void put_features(fab_scaling *k, const fab_dataset *t, int standardise, int centre)
{
    for (int64_t d = 0; d < k->D; d++) {
        column c = {0};
        if (standardise) c = moments(t->x + d, t->D, t->n, t->weight);
        k->mean[d] = centre && !t->sparse ? c.mean : 0;
        k->scale[d] = standardise && !c.constant ? c.sd : 1;
    }
}

static fab_status put_target(fab_scaling *k, const fab_dataset *t, fab_target target,
                             int standardise, int centre)
{
    if (target == FAB_TARGET_CLASSES) return put_levels(k, t);
    if (target == FAB_TARGET_COUNTS) return FAB_OK;
    const column c = moments(t->y, 1, t->n, t->weight);
    if (c.constant)
        return FAB_FAIL(FAB_BAD_DATA, "target '%s': is constant, %g; there is nothing to explain",
                        t->target_name, t->y[0]);
    if (!standardise) return FAB_OK;
    k->target_mean = centre ? c.mean : 0;
    k->target_scale = c.sd;
    return FAB_OK;
}

static fab_status check_weights(const fab_dataset *t)
{
    for (int64_t i = 0; t->weight && i < t->n; i++)
        if (!(t->weight[i] > 0))
            return FAB_FAIL(FAB_BAD_DATA, "weight '%s': row %lld has %g, expected more than 0",
                            t->weight_name, (long long)i, t->weight[i]);
    return FAB_OK;
}

fab_status fab_scaling_create(fab_scaling **k, const fab_dataset *t, fab_target target,
                              int standardise, int centre)
{
    fab_scaling *new;
    *k = NULL;
    if (!t->y) return FAB_FAIL(FAB_BAD_ARGUMENT, "scaling: the table has no target");
    FAB_TRY(check_weights(t));
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "scaling"));
    *new = (fab_scaling){.D = t->D, .target_scale = 1, .sparse = t->sparse};
    fab_status s = start(new, t);
    if (s == FAB_OK) put_features(new, t, standardise, centre);
    if (s == FAB_OK) s = put_target(new, t, target, standardise, centre);
    if (s == FAB_OK)
        *k = new;
    else
        fab_scaling_free(new);
    return s;
}

void fab_scaling_free(fab_scaling *k)
{
    if (!k) return;
    fab_names_free(k->name, k->D);
    fab_release(k->mean);
    fab_release(k->level);
    fab_release(k->target);
    fab_release(k->weight);
    fab_release(k->offset);
    fab_release(k);
}

/* ---- apply ------------------------------------------------------------------------------------------ */

/* Rounding of a column that hardly varies is 0. */
static double to_fitting(const fab_scaling *k, int64_t d, double x)
{
    const double deviation = x - k->mean[d];
    if (k->scale[d] == 1 && fabs(deviation) <= FAB_NEAR_CONSTANT * fabs(k->mean[d])) return 0;
    return deviation / k->scale[d];
}

static fab_status to_class(const fab_scaling *k, int64_t row, double *y)
{
    for (int64_t c = 0; c < k->levels; c++)
        if (*y == k->level[c]) {
            *y = (double)c;
            return FAB_OK;
        }
    return FAB_FAIL(FAB_BAD_DATA, "target '%s': row %lld has %g, which is none of the %lld classes",
                    k->target, (long long)row, *y, (long long)k->levels);
}

fab_status fab_scaling_apply(const fab_scaling *k, fab_dataset *t)
{
    if (t->D != k->D)
        return FAB_FAIL(FAB_BAD_DATA, "scaling: %lld features, expected %lld", (long long)t->D,
                        (long long)k->D);
    for (int64_t i = 0; t->y && k->levels && i < t->n; i++) FAB_TRY(to_class(k, i, &t->y[i]));
    for (int64_t i = 0; i < t->n; i++) {
        double *x = t->x + i * t->D;
        for (int64_t d = 0; d < t->D; d++) x[d] = to_fitting(k, d, x[d]);
        if (t->y) t->y[i] = (t->y[i] - k->target_mean) / k->target_scale;
        if (t->offset) t->offset[i] /= k->target_scale;
    }
    return FAB_OK;
}
