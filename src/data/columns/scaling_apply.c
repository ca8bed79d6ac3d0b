/* scaling_apply.c - a table from the user's units to those of the fit.
 *
 * Columns of numbers change in place; a table with columns of words or of steps, and one with a formula or a map, gets other rows.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/text.h"
#include "data/columns/formula.h"
#include "data/columns/table.h"
#include "fabayes/kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Rounding of a column that hardly varies is 0. */
static double to_fitting(const fab_scaling *k, int64_t d, double x)
{
    const double value = isnan(x) && k->fill ? k->fill[d] : x, deviation = value - k->mean[d];
    if (k->scale[d] == 1 && fabs(deviation) <= FAB_NEAR_CONSTANT * fabs(k->mean[d])) return 0;
    return deviation / k->scale[d];
}

static int by_bytes(const void *key, const void *member)
{
    return strcmp(key, *(char *const *)member);
}

/* Place of a word among sorted levels, or -1. */
static int64_t level_of(const char *word, char *const *level, int64_t levels)
{
    char *const *at = bsearch(word, level, (size_t)levels, sizeof *level, by_bytes);
    return at ? at - level : -1;
}

/* ---- the target ------------------------------------------------------------------------------------- */

static fab_status no_class(const fab_scaling *k, const fab_dataset *t, int64_t row)
{
    const fab_words *w = &t->target_words;
    char number[32];
    fab_print_double(number, sizeof number, t->y[row]);
    return FAB_FAIL(FAB_BAD_DATA,
                    "target '%s': row %lld (from 0) has %s, which is none of the %lld classes",
                    k->target, (long long)(t->before + row),
                    w->n ? w->word[(int64_t)t->y[row]] : number, (long long)k->levels);
}

static int64_t class_of(const fab_scaling *k, const fab_dataset *t, double y)
{
    char number[32];
    if (!k->level_name) {
        if (!t->target_words.n)
            for (int64_t c = 0; c < k->levels; c++)
                if (y == k->level[c]) return c;
        return -1;
    }
    fab_print_double(number, sizeof number, y); /* words that are numbers, read as such */
    return level_of(t->target_words.n ? t->target_words.word[(int64_t)y] : number, k->level_name,
                    k->levels);
}

static fab_status apply_target(const fab_scaling *k, fab_dataset *t)
{
    if (!k->levels && t->target_words.n)
        return FAB_FAIL(FAB_BAD_DATA, "target '%s': '%s' is not a number", k->target,
                        fab_words_odd(&t->target_words));
    if (k->levels) {
        for (int64_t i = 0; i < t->n; i++)
            if (class_of(k, t, t->y[i]) < 0) return no_class(k, t, i);
        for (int64_t i = 0; i < t->n; i++) t->y[i] = (double)class_of(k, t, t->y[i]);
    } else {
        for (int64_t i = 0; i < t->n; i++) t->y[i] = (t->y[i] - k->target_mean) / k->target_scale;
    }
    return FAB_OK;
}

/* ---- the features ----------------------------------------------------------------------------------- */

static void apply_numbers(const fab_scaling *k, fab_dataset *t)
{
    if (t->packed) {
        for (int64_t i = 0; i < t->cells.values; i++)
            t->cells.value[i] = to_fitting(k, t->cells.index[i], t->cells.value[i]);
        return;
    }
    for (int64_t i = 0; i < t->n; i++) {
        double *x = t->x + i * t->D;
        for (int64_t d = 0; d < t->D; d++) x[d] = to_fitting(k, d, x[d]);
    }
}

/* Where the words of a column stand among its levels; numbers are looked up as they are printed. */
typedef struct lookup {
    const fab_column *column;
    const fab_words *words;
    const int64_t *level; /* words->n: -1: none of them */
} lookup;

static int64_t look_up(const lookup *l, double x)
{
    char number[32];
    if (isnan(x)) return -1;
    if (l->words->n) return l->level[(int64_t)x];
    fab_print_double(number, sizeof number, x);
    return level_of(number, l->column->level, l->column->levels);
}

/* A word that is none of the levels: taken where the table says so. */
static fab_status no_level(const lookup *l, fab_dataset *t, int64_t row, double x)
{
    char number[32];
    if (t->takes_unseen) {
        t->unseen++;
        return FAB_OK;
    }
    fab_print_double(number, sizeof number, x);
    return FAB_FAIL(FAB_BAD_DATA,
                    "column '%s': row %lld (from 0) has '%s', which is none of its %lld levels; "
                    "predict --unseen prior takes it",
                    l->column->name, (long long)(t->before + row),
                    l->words->n ? l->words->word[(int64_t)x] : number,
                    (long long)l->column->levels);
}

fab_status fab_scaling_level(const fab_scaling *k, fab_dataset *t, int64_t c, const int64_t *place,
                             int64_t row, double *level)
{
    const lookup l = {&k->column[c], &t->words[c], place};
    const double x = t->x[row * t->D + c];
    const int64_t at = look_up(&l, x);
    if (at < 0) FAB_TRY(no_level(&l, t, row, x));
    *level = (double)at;
    return FAB_OK;
}

static fab_status find_places(const fab_scaling *k, const fab_dataset *t, int64_t c,
                              int64_t **place)
{
    const fab_column *o = &k->column[c];
    const fab_words *w = &t->words[c];
    FAB_TRY(fab_alloc_array((void **)place, w->n + 1, sizeof **place, "scaling"));
    for (int64_t i = 0; i < w->n; i++) (*place)[i] = level_of(w->word[i], o->level, o->levels);
    return FAB_OK;
}

fab_status fab_scaling_places(const fab_scaling *k, const fab_dataset *t, int64_t ***place)
{
    int64_t **new;
    fab_status s = FAB_OK;
    *place = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, k->columns, sizeof *new, "scaling"));
    for (int64_t c = 0; c < k->columns; c++) new[c] = NULL;
    for (int64_t c = 0; c < k->columns && s == FAB_OK; c++)
        if (k->column[c].levels) s = find_places(k, t, c, &new[c]);
    if (s == FAB_OK) {
        *place = new;
        return FAB_OK;
    }
    for (int64_t c = 0; c < k->columns; c++) fab_release(new[c]);
    fab_release(new);
    return s;
}

/* A column of words of all rows into the features it makes. */
static fab_status spread_words(const fab_scaling *k, fab_dataset *t, const lookup *l,
                               const double *word, double *x)
{
    for (int64_t i = 0; i < t->n; i++, word += t->D, x += k->D) {
        const int64_t at = look_up(l, *word), first = l->column->first;
        if (at < 0 && !isnan(*word)) FAB_TRY(no_level(l, t, i, *word));
        for (int64_t j = 0; j < l->column->levels; j++)
            x[first + j] = to_fitting(k, first + j, isnan(*word) ? NAN : (double)(j == at));
    }
    return FAB_OK;
}

static fab_status spread_column(const fab_scaling *k, fab_dataset *t, int64_t c, double *x)
{
    const fab_column *o = &k->column[c];
    int64_t *place;
    if (!o->levels) {
        const int64_t d = o->first;
        for (int64_t i = 0; i < t->n; i++) {
            const double number = t->x[i * t->D + c];
            double *row = x + i * k->D;
            row[d] = to_fitting(k, d, number);
            for (int64_t j = 0; j < o->steps; j++)
                row[d + 1 + j] =
                    to_fitting(k, d + 1 + j, isnan(number) ? NAN : number == o->step[j]);
        }
        return FAB_OK;
    }
    FAB_TRY(find_places(k, t, c, &place));
    const lookup l = {o, &t->words[c], place};
    const fab_status s = spread_words(k, t, &l, t->x + c, x);
    fab_release(place);
    return s;
}

/* The features of a formula. */
static fab_status spread_terms(const fab_scaling *k, fab_dataset *t, double *x)
{
    FAB_TRY(fab_formula_values(k, t, x));
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t d = 0; d < k->D; d++) x[i * k->D + d] = to_fitting(k, d, x[i * k->D + d]);
    return FAB_OK;
}

static fab_status apply_words(const fab_scaling *k, fab_dataset *t)
{
    double *x;
    fab_status s = fab_alloc_array((void **)&x, t->n * k->D, sizeof *x, "scaling");
    if (s != FAB_OK) return s;
    if (k->terms)
        s = spread_terms(k, t, x);
    else
        for (int64_t c = 0; c < k->columns && s == FAB_OK; c++) s = spread_column(k, t, c, x);
    if (s != FAB_OK) {
        fab_release(x);
        return s;
    }
    fab_release(t->x);
    t->x = x;
    t->D = k->D;
    t->room = t->n;
    return FAB_OK;
}

static fab_status check_columns(const fab_scaling *k, const fab_dataset *t)
{
    if (t->columns != k->columns || t->D != t->columns)
        return FAB_FAIL(FAB_BAD_DATA, "scaling: %lld columns, expected %lld", (long long)t->D,
                        (long long)k->columns);
    for (int64_t c = 0; c < k->columns; c++)
        if (!k->column[c].levels && t->words[c].n)
            return FAB_FAIL(FAB_BAD_DATA, "column '%s': '%s' is not a number", k->column[c].name,
                            fab_words_odd(&t->words[c]));
    return FAB_OK;
}

static int has_levels(const fab_scaling *k)
{
    int64_t levels = 0;
    for (int64_t c = 0; c < k->columns; c++) levels += k->column[c].levels + k->column[c].steps;
    return levels > 0;
}

/* Does a zero stay one? */
static int keeps_zeros(const fab_scaling *k)
{
    for (int64_t d = 0; d < k->D; d++)
        if (k->mean[d] != 0) return 0;
    return !has_levels(k) && !k->terms;
}

/* Rows in the units of what it takes become the features of the map. */
static fab_status apply_map(const fab_scaling *k, fab_dataset *t, const fab_exec *x)
{
    double *phi, *residual = NULL;
    if (t->packed) FAB_TRY(fab_packed_open(t));
    fab_status s = fab_alloc_array((void **)&phi, t->n * k->D, sizeof *phi, "scaling");
    if (s == FAB_OK && fab_features_leave(k->features))
        s = fab_alloc_array((void **)&residual, t->n, sizeof *residual, "scaling");
    if (s == FAB_OK) s = fab_features_apply(k->features, t->n, t->x, t->D, phi, k->D, residual, x);
    if (s != FAB_OK) {
        fab_release(phi);
        fab_release(residual);
        return s;
    }
    fab_release(t->x);
    fab_release(t->residual);
    t->x = phi;
    t->residual = residual;
    t->D = k->D;
    t->room = t->n;
    return FAB_OK;
}

static fab_status apply_units(const fab_scaling *k, fab_dataset *t)
{
    FAB_TRY(check_columns(k, t));
    if (t->packed && !keeps_zeros(k)) FAB_TRY(fab_packed_open(t));
    if (t->y) FAB_TRY(apply_target(k, t));
    if (has_levels(k) || k->terms)
        FAB_TRY(apply_words(k, t));
    else
        apply_numbers(k, t);
    if (t->offset)
        for (int64_t i = 0; i < t->n; i++) t->offset[i] /= k->target_scale;
    return FAB_OK;
}

fab_status fab_scaling_apply_on(const fab_scaling *k, fab_dataset *t, const fab_exec *x)
{
    if (!k->inputs) return apply_units(k, t);
    FAB_TRY(apply_units(k->inputs, t));
    return apply_map(k, t, x);
}

fab_status fab_scaling_apply(const fab_scaling *k, fab_dataset *t)
{
    return fab_scaling_apply_on(k, t, NULL);
}

fab_status fab_scaling_categorical(const fab_scaling *k, char **names)
{
    fab_text text = {0};
    int64_t n = 0;
    *names = NULL;
    for (int64_t c = 0; c < k->columns; c++)
        if (k->column[c].levels && !strchr(k->column[c].name, ',') &&
            !(k->terms && k->terms->column[c].coded))
            fab_text_add(&text, "%s%s", n++ ? "," : "", k->column[c].name);
    return n ? fab_text_give(&text, names) : FAB_OK;
}

static int has_none(char *const *level, int64_t levels)
{
    for (int64_t l = 0; l < levels; l++)
        if (strcasecmp(level[l], "none") == 0) return 1;
    return 0;
}

fab_status fab_scaling_none(const fab_scaling *k, char **names)
{
    fab_text text = {0};
    *names = NULL;
    fab_text_add(&text, "%s", k->level_name && has_none(k->level_name, k->levels) ? k->target : "");
    for (int64_t c = 0; c < k->columns; c++)
        if (has_none(k->column[c].level, k->column[c].levels))
            fab_text_add(&text, ",%s", k->column[c].name);
    return fab_text_give(&text, names);
}
