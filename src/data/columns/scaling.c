/* scaling.c - the units of a fit: means and scales of the columns, levels of the classes.
 *
 * SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "data/columns/formula.h"
#include "data/columns/table.h"
#include "fabayes/kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a target: the variance of a prediction, in its units, is a number. */
#define LEAST_SD 1e-150
#define MOST_SD  1e150

enum { STEP_ROWS = 5, LEAST_STEPS = 3 }; /* rows that a step has at least; steps of a column */

/* ---- moments of a column ---------------------------------------------------------------------------- */

/* n numbers, NaN: missing.  Divided by the largest, so that nothing overflows. */
static fab_moment moments(const double *x, int64_t n, const double *weight)
{
    fab_moment c = {0};
    double size = 0, spread = 0, total = 0, sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) size = fmax(size, fabs(x[i])); /* fmax passes over NaN */
    if (!(size > 0)) return (fab_moment){.constant = 1};
    for (int64_t i = 0; i < n; i++) {
        if (isnan(x[i])) continue;
        const double w = weight ? weight[i] : 1;
        total += w;
        sum += w * (x[i] / size);
    }
    c.mean = size * (sum / total);
    for (int64_t i = 0; i < n; i++) spread = fmax(spread, fabs(x[i] - c.mean));
    c.constant = spread <= fmax(FAB_NEAR_CONSTANT * size, FAB_LEAST_SPREAD);
    if (spread > 0)
        for (int64_t i = 0; i < n; i++) {
            if (isnan(x[i])) continue;
            const double d = (x[i] - c.mean) / spread;
            squares += (weight ? weight[i] : 1) * d * d;
        }
    c.sd = spread * sqrt(squares / total);
    return c;
}

/* Column c of the table, or where it is a given word of that column. */
static void gather(const fab_dataset *t, int64_t c, int64_t word, double *out)
{
    for (int64_t i = 0; i < t->n; i++) {
        const double x = t->x[i * t->D + c];
        out[i] = word < 0 || isnan(x) ? x : x == (double)word;
    }
}

static int is_constant(const fab_dataset *t, int64_t c)
{
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < t->n; i++) {
        const double x = t->x[i * t->D + c];
        least = fmin(least, x);
        most = fmax(most, x);
    }
    const double size = fmax(fabs(least), fabs(most));
    return !(most - least > 2 * fmax(FAB_NEAR_CONSTANT * size, FAB_LEAST_SPREAD));
}

fab_status fab_dataset_constants(const fab_dataset *t, char *constant)
{
    if (t->packed) return fab_packed_constants(t, constant);
    for (int64_t c = 0; c < t->columns; c++) constant[c] = (char)is_constant(t, c);
    return FAB_OK;
}

/* ---- levels ----------------------------------------------------------------------------------------- */

void fab_levels_add(const double *y, int64_t n, double *level, int64_t *found)
{
    for (int64_t i = 0; i < n && *found <= FAB_MOST_LEVELS; i++) {
        int64_t at = 0;
        while (at < *found && level[at] < y[i]) at++;
        if (at < *found && level[at] == y[i]) continue;
        for (int64_t j = *found; j > at; j--) level[j] = level[j - 1];
        level[at] = y[i];
        ++*found;
    }
}

int64_t fab_dataset_levels(const fab_dataset *t, int64_t most)
{
    double level[FAB_MOST_LEVELS + 1];
    int64_t found = 0;
    if (t->target_words.n) return t->target_words.n < most ? t->target_words.n : most;
    fab_levels_add(t->level, t->levels, level, &found);
    if (t->y)
        for (int64_t i = 0; i < t->n && found < most; i++)
            fab_levels_add(t->y + i, 1, level, &found);
    return found < most ? found : most;
}

int64_t fab_dataset_features(const fab_dataset *t)
{
    int64_t features = 0, *levels;
    fab_formula *f;
    for (int64_t c = 0; c < t->columns; c++) features += t->words[c].n ? t->words[c].n : 1;
    if (!t->formula || fab_formula_read(&f, t->formula) != FAB_OK) return features;
    if (fab_alloc_array((void **)&levels, t->columns, sizeof *levels, "table") == FAB_OK) {
        for (int64_t c = 0; c < t->columns; c++) levels[c] = t->words[c].n;
        if (fab_formula_features(f, levels, &features) != FAB_OK) features = t->columns;
        fab_release(levels);
    }
    fab_formula_free(f);
    return features;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Copies of the words, sorted. */
static fab_status sort_words(const fab_words *w, int64_t *levels, char ***level)
{
    FAB_TRY(fab_names_create(level, w->n));
    for (*levels = 0; *levels < w->n; ++*levels)
        FAB_TRY(fab_copy_text(&(*level)[*levels], w->word[*levels]));
    qsort(*level, (size_t)w->n, sizeof **level, by_bytes);
    return FAB_OK;
}

static fab_status put_numbers(fab_scaling *k, const fab_dataset *t)
{
    double level[FAB_MOST_LEVELS + 1];
    int64_t n = 0;
    fab_levels_add(t->level, t->levels, level, &n);
    fab_levels_add(t->y, t->n, level, &n);
    if (n > FAB_MOST_LEVELS)
        return FAB_FAIL(FAB_BAD_DATA, "target '%s': more than %d levels are no classes",
                        t->target_name, FAB_MOST_LEVELS);
    FAB_TRY(fab_alloc_array((void **)&k->level, n, sizeof *k->level, "scaling"));
    memcpy(k->level, level, (size_t)n * sizeof *level);
    k->levels = n;
    return FAB_OK;
}

static fab_status put_levels(fab_scaling *k, const fab_dataset *t)
{
    char buf[32];
    if (t->target_words.n)
        FAB_TRY(sort_words(&t->target_words, &k->levels, &k->level_name));
    else
        FAB_TRY(put_numbers(k, t));
    if (k->levels < 2)
        return FAB_FAIL(FAB_BAD_DATA, "target '%s': one class only, %s; nothing to tell apart",
                        t->target_name, fab_scaling_class(k, 0, buf));
    return FAB_OK;
}

const char *fab_scaling_class(const fab_scaling *k, int64_t c, char buf[32])
{
    if (k->level_name) return k->level_name[c];
    snprintf(buf, 32, "%.15g", k->level[c]);
    return buf;
}

/* ---- steps ------------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The values of column c that come again, unless they are more than `most`, too few, or of too few rows. */
static fab_status put_steps(fab_column *o, const fab_dataset *t, int64_t c, int64_t most)
{
    int64_t n = 0, found = 0, rows = 0;
    double *x;
    FAB_TRY(fab_alloc_array((void **)&x, t->n, sizeof *x, "scaling"));
    for (int64_t i = 0; i < t->n; i++)
        if (!isnan(t->x[i * t->D + c])) x[n++] = t->x[i * t->D + c];
    qsort(x, (size_t)n, sizeof *x, by_size);
    for (int64_t i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && x[i + same] == x[i];) same++;
        if (same < STEP_ROWS) continue;
        x[found++] = x[i]; /* never before i */
        rows += same;
    }
    fab_status s = FAB_OK;
    if (found >= LEAST_STEPS && found <= most && 2 * rows >= t->n) {
        s = fab_alloc_array((void **)&o->step, found, sizeof *x, "scaling");
        if (s == FAB_OK) memcpy(o->step, x, (size_t)found * sizeof *x);
        if (s == FAB_OK) o->steps = found;
    }
    fab_release(x);
    return s;
}

/* ---- create ----------------------------------------------------------------------------------------- */

static fab_status put_columns(fab_scaling *k, const fab_dataset *t, int steps)
{
    int64_t left = steps && !t->packed ? FAB_MOST_STEPS : 0;
    FAB_TRY(fab_alloc_array((void **)&k->column, t->columns, sizeof *k->column, "scaling"));
    memset(k->column, 0, (size_t)t->columns * sizeof *k->column);
    k->columns =
        t->columns; /* also those that get no memory below: they are zeros, and can be freed */
    for (int64_t i = 0; i < t->columns; i++) {
        fab_column *c = &k->column[i];
        const fab_words *w = &t->words[i];
        c->first = k->D;
        FAB_TRY(fab_copy_text(&c->name, t->name[i]));
        if (w->n) FAB_TRY(sort_words(w, &c->levels, &c->level));
        if (!w->n && left > 0) FAB_TRY(put_steps(c, t, i, left));
        left -= c->steps;
        k->D += fab_column_features(c);
    }
    return FAB_OK;
}

fab_status fab_scaling_terms(fab_scaling *k)
{
    int64_t *levels;
    FAB_TRY(fab_formula_read(&k->terms, k->formula));
    if (k->terms->columns != k->columns)
        return FAB_FAIL(FAB_BAD_FILE, "scaling: %lld columns, and the formula has %lld",
                        (long long)k->columns, (long long)k->terms->columns);
    for (int64_t c = 0; c < k->columns; c++) {
        char *name;
        FAB_TRY(fab_formula_column_name(k->terms, c, &name));
        const int same = strcmp(name, k->column[c].name) == 0;
        fab_release(name);
        if (!same)
            return FAB_FAIL(FAB_BAD_FILE, "scaling: column '%s' is not the formula's",
                            k->column[c].name);
        k->column[c].first = -1;
    }
    FAB_TRY(fab_alloc_array((void **)&levels, k->columns, sizeof *levels, "scaling"));
    for (int64_t c = 0; c < k->columns; c++) levels[c] = k->column[c].levels;
    const fab_status s = fab_formula_features(k->terms, levels, &k->D);
    fab_release(levels);
    return s;
}

fab_status fab_scaling_name(fab_scaling *k)
{
    FAB_TRY(fab_names_create(&k->name, k->D));
    FAB_TRY(fab_alloc_array((void **)&k->mean, 2 * k->D, sizeof *k->mean, "scaling"));
    k->scale = k->mean + k->D;
    if (k->terms) return fab_formula_name(k, k->name);
    for (int64_t c = 0; c < k->columns; c++) {
        const fab_column *o = &k->column[c];
        if (!o->levels) FAB_TRY(fab_copy_text(&k->name[o->first], o->name));
        for (int64_t l = 0; l < o->levels; l++) {
            fab_text text = {0};
            fab_text_add(&text, "%s=%s", o->name, o->level[l]);
            FAB_TRY(fab_text_give(&text, &k->name[o->first + l]));
        }
        for (int64_t l = 0; l < o->steps; l++) {
            fab_text text = {0};
            fab_text_add(&text, "%s=%.15g", o->name, o->step[l]);
            FAB_TRY(fab_text_give(&text, &k->name[o->first + 1 + l]));
        }
    }
    return FAB_OK;
}

static fab_status start(fab_scaling *k, const fab_dataset *t, int steps)
{
    FAB_TRY(put_columns(k, t, steps && !t->formula));
    if (t->formula) {
        FAB_TRY(fab_copy_text(&k->formula, t->formula));
        FAB_TRY(fab_scaling_terms(k));
        FAB_TRY(fab_formula_learn(k->terms, t));
    }
    FAB_TRY(fab_scaling_name(k));
    FAB_TRY(fab_copy_text(&k->target, t->target_name));
    FAB_TRY(fab_copy_text(&k->weight, t->weight_name));
    return fab_copy_text(&k->offset, t->offset_name);
}

static int64_t find_word(const fab_words *w, const char *word)
{
    for (int64_t i = 0; i < w->n; i++)
        if (strcmp(w->word[i], word) == 0) return i;
    return -1;
}

typedef struct units {
    int standardise, centre, steps;
    double *x; /* n: one feature */
} units;

static void put_feature(fab_scaling *k, const fab_dataset *t, const units *u, int64_t d,
                        fab_moment m)
{
    k->mean[d] = u->standardise && u->centre && !t->sparse ? m.mean : 0;
    k->scale[d] = u->standardise && !m.constant ? m.sd : 1;
    if (k->fill) k->fill[d] = m.mean;
}

static fab_status put_packed(fab_scaling *k, const fab_dataset *t, const units *u)
{
    fab_moment *m;
    FAB_TRY(fab_packed_moments(t, &m));
    for (int64_t d = 0; d < k->D; d++) put_feature(k, t, u, d, m[d]);
    fab_release(m);
    return FAB_OK;
}

/* Features of a formula: all values, then the moments of each. */
static fab_status put_terms(fab_scaling *k, const fab_dataset *t, units *u)
{
    fab_dataset same = *t; /* it is counted in */
    double *x;
    FAB_TRY(fab_alloc_array((void **)&x, t->n * k->D, sizeof *x, "scaling"));
    fab_status s = fab_formula_values(k, &same, x);
    if (s == FAB_OK) s = fab_alloc_array((void **)&u->x, t->n, sizeof *u->x, "scaling");
    if (s == FAB_OK)
        for (int64_t d = 0; d < k->D; d++) {
            for (int64_t i = 0; i < t->n; i++) u->x[i] = x[i * k->D + d];
            put_feature(k, t, u, d, moments(u->x, t->n, t->weight));
        }
    fab_release(u->x);
    fab_release(x);
    return s;
}

static fab_status put_features(fab_scaling *k, const fab_dataset *t, units u)
{
    if (k->terms) return put_terms(k, t, &u);
    if (t->packed) return put_packed(k, t, &u);
    FAB_TRY(fab_alloc_array((void **)&u.x, t->n, sizeof *u.x, "scaling"));
    for (int64_t c = 0; c < k->columns; c++) {
        const fab_column *o = &k->column[c];
        for (int64_t l = 0; l < (o->levels ? o->levels : 1); l++) {
            gather(t, c, o->levels ? find_word(&t->words[c], o->level[l]) : -1, u.x);
            put_feature(k, t, &u, o->first + l, moments(u.x, t->n, t->weight));
        }
        for (int64_t l = 0; l < o->steps; l++) {
            gather(t, c, -1, u.x);
            for (int64_t i = 0; i < t->n; i++)
                if (!isnan(u.x[i])) u.x[i] = u.x[i] == o->step[l];
            put_feature(k, t, &u, o->first + 1 + l, moments(u.x, t->n, t->weight));
        }
    }
    fab_release(u.x);
    return FAB_OK;
}

static fab_status put_target(fab_scaling *k, const fab_dataset *t, fab_target target, units u)
{
    if (target == FAB_TARGET_CLASSES) return put_levels(k, t);
    if (t->target_words.n)
        return FAB_FAIL(FAB_BAD_DATA, "target '%s': '%s' is not a number", t->target_name,
                        fab_words_odd(&t->target_words));
    if (target == FAB_TARGET_COUNTS) return FAB_OK;
    const fab_moment c = moments(t->y, t->n, t->weight);
    if (c.constant)
        return FAB_FAIL(FAB_BAD_DATA, "target '%s': is constant, %g; there is nothing to explain",
                        t->target_name, t->y[0]);
    if (!(c.sd > LEAST_SD && c.sd < MOST_SD))
        return FAB_FAIL(
            FAB_BAD_DATA,
            "target '%s': has a standard deviation of %g, expected %g to %g: its square "
            "must be a number; write it in another unit",
            t->target_name, c.sd, LEAST_SD, MOST_SD);
    if (!u.standardise) return FAB_OK;
    k->target_mean = u.centre ? c.mean : 0;
    k->target_scale = c.sd;
    return FAB_OK;
}

static fab_status check_weights(const fab_dataset *t)
{
    if (t->weight)
        for (int64_t i = 0; i < t->n; i++)
            if (!(t->weight[i] > 0))
                return FAB_FAIL(FAB_BAD_DATA,
                                "weight '%s': row %lld (from 0) has %g, expected 0 or more",
                                t->weight_name, (long long)i, t->weight[i]);
    return FAB_OK;
}

static fab_status build(fab_scaling *k, const fab_dataset *t, fab_target target, units u)
{
    FAB_TRY(start(k, t, u.steps));
    if (t->fills) FAB_TRY(fab_alloc_array((void **)&k->fill, k->D, sizeof *k->fill, "scaling"));
    FAB_TRY(put_features(k, t, u));
    return put_target(k, t, target, u);
}

static fab_status create(fab_scaling **k, const fab_dataset *t, fab_target target, units u)
{
    fab_scaling *new;
    *k = NULL;
    if (!t->y) return FAB_FAIL(FAB_BAD_ARGUMENT, "scaling: the table has no target");
    if (t->n < 1) return FAB_FAIL(FAB_BAD_DATA, "scaling: the table has no rows");
    FAB_TRY(check_weights(t));
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "scaling"));
    *new = (fab_scaling){.target_scale = 1, .sparse = t->sparse, .dialect = t->dialect};
    const fab_status s = build(new, t, target, u);
    if (s == FAB_OK)
        *k = new;
    else
        fab_scaling_free(new);
    return s;
}

fab_status fab_scaling_create(fab_scaling **k, const fab_dataset *t, fab_target target,
                              int standardise, int centre)
{
    return create(k, t, target, (units){.standardise = standardise, .centre = centre});
}

fab_status fab_scaling_create_steps(fab_scaling **k, const fab_dataset *t, fab_target target,
                                    int standardise, int centre)
{
    return create(k, t, target, (units){.standardise = standardise, .centre = centre, .steps = 1});
}

/* ---- a map behind the units -------------------------------------------------------------------------- */

fab_status fab_scaling_columns(const fab_scaling *k, const char ***names)
{
    FAB_TRY(fab_alloc_array((void **)names, k->D, sizeof **names, "scaling"));
    for (int64_t d = 0; d < k->D; d++) (*names)[d] = k->name[d];
    for (int64_t c = 0; c < k->columns && !k->terms; c++)
        for (int64_t l = 0; l < fab_column_features(&k->column[c]); l++)
            (*names)[k->column[c].first + l] = k->column[c].name;
    return FAB_OK;
}

/* Names, means 0 and scales 1 of n features. */
static fab_status put_plain(fab_scaling *k, int64_t n)
{
    k->D = n;
    FAB_TRY(fab_names_create(&k->name, n));
    FAB_TRY(fab_alloc_array((void **)&k->mean, 2 * n, sizeof *k->mean, "scaling"));
    k->scale = k->mean + n;
    for (int64_t d = 0; d < n; d++) {
        fab_text text = {0};
        k->mean[d] = 0;
        k->scale[d] = 1;
        fab_text_add(&text, "feature %lld", (long long)d);
        FAB_TRY(fab_text_give(&text, &k->name[d]));
    }
    return FAB_OK;
}

fab_status fab_scaling_map(fab_scaling *k, struct fab_features *features)
{
    fab_scaling *inputs;
    const int64_t D = fab_kernel_columns(fab_features_kernel(features));
    if (k->inputs) return FAB_FAIL(FAB_BAD_ARGUMENT, "scaling: it has a map already");
    if (D != k->D)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "scaling: a map of %lld columns behind %lld",
                        (long long)D, (long long)k->D);
    FAB_TRY(fab_alloc_array((void **)&inputs, 1, sizeof *inputs, "scaling"));
    *inputs = *k;
    const fab_status s = put_plain(k, fab_features_size(features));
    if (s != FAB_OK) {
        if (k->name != inputs->name) fab_names_free(k->name, k->D);
        if (k->mean != inputs->mean) fab_release(k->mean);
        *k = *inputs;
        fab_release(inputs);
        return s;
    }
    k->inputs = inputs;
    k->features = features;
    return FAB_OK;
}

void fab_scaling_free(fab_scaling *k)
{
    if (!k) return;
    if (k->inputs) { /* which has all else, and no map of its own */
        fab_scaling *inputs = k->inputs;
        fab_names_free(k->name, k->D);
        fab_release(k->mean);
        fab_features_free(k->features);
        fab_release(k);
        k = inputs;
    }
    for (int64_t c = 0; c < k->columns; c++) {
        fab_release(k->column[c].name);
        fab_names_free(k->column[c].level, k->column[c].levels);
        fab_release(k->column[c].step);
    }
    fab_release(k->column);
    fab_formula_free(k->terms);
    fab_release(k->formula);
    fab_names_free(k->name, k->D);
    fab_names_free(k->level_name, k->levels);
    fab_release(k->mean);
    fab_release(k->fill);
    fab_release(k->level);
    fab_release(k->target);
    fab_release(k->weight);
    fab_release(k->offset);
    fab_release(k);
}
