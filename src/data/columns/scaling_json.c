/* scaling_json.c - a scaling as the JSON object that stands in a file, and back.
 *
 * SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/text.h"
#include "data/columns/formula.h"
#include "data/columns/table.h"
#include "kernel/features.h"
#include "fabayes/settings.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---------------------------------------------------------------------------------------- */

static void add_number(fab_text *t, double x)
{
    char number[32];
    fab_print_double(number, sizeof number, x);
    fab_text_add(t, "%s", number);
}

static void add_numbers(fab_text *t, const char *key, const double *x, int64_t n)
{
    fab_text_add(t, ", \"%s\": [", key);
    for (int64_t i = 0; i < n; i++) {
        if (i) fab_text_add(t, ", ");
        add_number(t, x[i]);
    }
    fab_text_add(t, "]");
}

static void add_name(fab_text *t, const char *key, const char *name)
{
    if (!name) return;
    fab_text_add(t, ", \"%s\": ", key);
    fab_text_add_json(t, name);
}

static void add_texts(fab_text *t, char *const *text, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        fab_text_add(t, i ? ", " : "[");
        fab_text_add_json(t, text[i]);
    }
    fab_text_add(t, "]");
}

/* A column of numbers is its name, one of words {"name", "levels"}, one with steps {"name", "steps"}. */
static void add_columns(fab_text *t, const fab_scaling *k)
{
    for (int64_t c = 0; c < k->columns; c++) {
        const fab_column *o = &k->column[c];
        fab_text_add(t, c ? ", " : "[");
        if (o->levels || o->steps) fab_text_add(t, "{\"name\": ");
        fab_text_add_json(t, o->name);
        if (o->levels) {
            fab_text_add(t, ", \"levels\": ");
            add_texts(t, o->level, o->levels);
        }
        if (o->steps) add_numbers(t, "steps", o->step, o->steps);
        if (o->levels || o->steps) fab_text_add(t, "}");
    }
    fab_text_add(t, "]");
}

/* {"separator", "decimal", "comment", "dates", "na"}, those that are other than usual, as fab_dialect_set takes them. */
static void add_dialect(fab_text *t, const fab_dialect *d)
{
    static const char *const dates[] = {NULL, "numbers", "day-first", "month-first", "numbers"};
    const char separator[2] = {d->separator, '\0'}, comment[2] = {d->comment, '\0'};
    fab_text part = {0};
    if (d->separator) add_name(&part, "separator", separator);
    if (d->decimal) add_name(&part, "decimal", d->decimal == ',' ? "comma" : "point");
    if (d->comment) add_name(&part, "comment", d->comment == FAB_NO_COMMENT ? "none" : comment);
    add_name(&part, "dates", dates[d->dates]);
    if (d->na[0]) add_name(&part, "na", d->na);
    if (part.p) fab_text_add(t, ", \"dialect\": {%s}", part.p + 2);
    fab_release(part.p);
}

/* The polynomials of a formula: alpha and norm2 of each, in the order of their factors. */
static void add_polynomials(fab_text *t, const fab_formula *f)
{
    int64_t n = 0;
    for (int64_t i = 0; i < f->factors; i++) {
        const fab_factor *a = &f->factor[i];
        if (a->kind != FAB_FACTOR_POLY) continue;
        fab_text_add(t, n++ ? ", [" : ", \"poly\": [[");
        for (int64_t j = 0; j < 2 * a->degree + 1; j++) {
            if (j) fab_text_add(t, ", ");
            add_number(t, a->alpha[j]);
        }
        fab_text_add(t, "]");
    }
    if (n) fab_text_add(t, "]");
}

/* With a formula or a map the columns are `from`: who does not know these finds no columns, and cannot take them for features.
 * map: the text of one, or NULL. */
static fab_status write(const fab_scaling *k, const char *map, char **text)
{
    fab_text t = {0};
    fab_text_add(&t, k->terms || map ? "{\"from\": " : "{\"columns\": ");
    add_columns(&t, k);
    if (k->terms) {
        add_name(&t, "formula", k->formula);
        add_polynomials(&t, k->terms);
    }
    add_numbers(&t, "means", k->mean, k->D);
    add_numbers(&t, "scales", k->scale, k->D);
    add_name(&t, "target", k->target);
    fab_text_add(&t, ", \"target_mean\": ");
    add_number(&t, k->target_mean);
    fab_text_add(&t, ", \"target_scale\": ");
    add_number(&t, k->target_scale);
    add_name(&t, "weight", k->weight);
    add_name(&t, "offset", k->offset);
    if (k->fill) add_numbers(&t, "fill", k->fill, k->D);
    if (k->level) add_numbers(&t, "levels", k->level, k->levels);
    if (k->level_name) {
        fab_text_add(&t, ", \"levels\": ");
        add_texts(&t, k->level_name, k->levels);
    }
    if (k->sparse) fab_text_add(&t, ", \"sparse\": true");
    add_dialect(&t, &k->dialect);
    if (map) fab_text_add(&t, ", \"features\": %s", map);
    fab_text_add(&t, "}");
    return fab_text_give(&t, text);
}

fab_status fab_scaling_json(const fab_scaling *k, char **text)
{
    char *map;
    *text = NULL;
    if (!k->inputs) return write(k, NULL, text);
    FAB_TRY(fab_features_json(k->features, &map));
    const fab_status s = write(k->inputs, map, text);
    fab_text_free(map);
    return s;
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static fab_status take_numbers(const json_t *o, const char *key, double *x, int64_t n, int positive)
{
    const json_t *a = json_object_get(o, key);
    if (!json_is_array(a) || (int64_t)json_array_size(a) != n)
        return FAB_FAIL(FAB_BAD_FILE, "scaling: '%s' is not a list of %lld numbers", key,
                        (long long)n);
    for (int64_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(a, (size_t)i);
        x[i] = json_number_value(v);
        if (!json_is_number(v) || (positive && !(x[i] > 0)))
            return FAB_FAIL(FAB_BAD_FILE, "scaling: number %lld of '%s' is impossible",
                            (long long)i, key);
    }
    return FAB_OK;
}

/* The strings of a list, *n of them. */
static fab_status take_texts(const json_t *a, const char *key, int64_t *n, char ***text)
{
    const int64_t many = (int64_t)json_array_size(a);
    FAB_TRY(fab_names_create(text, many));
    for (*n = 0; *n < many; ++*n) {
        const char *one = json_string_value(json_array_get(a, (size_t)*n));
        if (!one) return FAB_FAIL(FAB_BAD_FILE, "scaling: '%s' are not all strings", key);
        FAB_TRY(fab_copy_text(&(*text)[*n], one));
        if (*n && strcmp((*text)[*n - 1], one) >= 0)
            return ++*n, FAB_FAIL(FAB_BAD_FILE, "scaling: '%s' are not in order", key);
    }
    return FAB_OK;
}

static fab_status take_steps(fab_column *c, const json_t *o)
{
    const int64_t n = (int64_t)json_array_size(json_object_get(o, "steps"));
    if (n < 1 || n > FAB_MOST_STEPS)
        return FAB_FAIL(FAB_BAD_FILE, "scaling: column '%s' has %lld steps, expected 1 to %d",
                        c->name, (long long)n, FAB_MOST_STEPS);
    FAB_TRY(fab_alloc_array((void **)&c->step, n, sizeof *c->step, "scaling"));
    FAB_TRY(take_numbers(o, "steps", c->step, n, 0));
    for (int64_t i = 1; i < n; i++)
        if (!(c->step[i - 1] < c->step[i]))
            return FAB_FAIL(FAB_BAD_FILE, "scaling: the steps of column '%s' do not rise", c->name);
    c->steps = n;
    return FAB_OK;
}

static fab_status take_column(fab_column *c, const json_t *o)
{
    const json_t *levels = json_object_get(o, "levels");
    const char *name = json_string_value(json_is_object(o) ? json_object_get(o, "name") : o);
    if (!name) return FAB_FAIL(FAB_BAD_FILE, "scaling: a column has no name");
    FAB_TRY(fab_copy_text(&c->name, name));
    if (!json_is_object(o)) return FAB_OK;
    if (!levels && json_object_get(o, "steps")) return take_steps(c, o);
    if (json_array_size(levels) < 1)
        return FAB_FAIL(FAB_BAD_FILE, "scaling: column '%s' has no levels", name);
    return take_texts(levels, "levels", &c->levels, &c->level);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Earlier releases fitted columns of one name, of which rows have only the first. */
static fab_status check_names(const fab_scaling *k)
{
    const char **name;
    fab_status s = FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&name, k->columns, sizeof *name, "scaling"));
    for (int64_t c = 0; c < k->columns; c++) name[c] = k->column[c].name;
    qsort(name, (size_t)k->columns, sizeof *name, by_text);
    for (int64_t c = 1; c < k->columns && s == FAB_OK; c++)
        if (strcmp(name[c], name[c - 1]) == 0)
            s = FAB_FAIL(FAB_BAD_FILE,
                         "scaling: two columns are named '%s', and cannot be told apart: fit again",
                         name[c]);
    fab_release(name);
    return s;
}

static fab_status take_features(fab_scaling *k, const json_t *columns)
{
    const int64_t n = (int64_t)json_array_size(columns);
    if (n < 1) return FAB_FAIL(FAB_BAD_FILE, "scaling: there are no columns");
    FAB_TRY(fab_alloc_array((void **)&k->column, n, sizeof *k->column, "scaling"));
    memset(k->column, 0, (size_t)n * sizeof *k->column);
    k->columns = n;
    for (int64_t c = 0; c < n; c++) {
        k->column[c].first = k->D;
        FAB_TRY(take_column(&k->column[c], json_array_get(columns, (size_t)c)));
        k->D += fab_column_features(&k->column[c]);
    }
    FAB_TRY(check_names(k));
    if (k->formula) FAB_TRY(fab_scaling_terms(k));
    return fab_scaling_name(k);
}

static fab_status take_polynomials(fab_formula *f, const json_t *all)
{
    size_t met = 0;
    for (int64_t i = 0; i < f->factors; i++) {
        fab_factor *a = &f->factor[i];
        if (a->kind != FAB_FACTOR_POLY) continue;
        const json_t *one = json_array_get(all, met++);
        const int64_t n = 2 * a->degree + 1;
        if ((int64_t)json_array_size(one) != n)
            return FAB_FAIL(FAB_BAD_FILE, "scaling: the polynomial %s is missing", a->text);
        FAB_TRY(fab_alloc_array((void **)&a->alpha, n, sizeof *a->alpha, "scaling"));
        a->norm2 = a->alpha + a->degree;
        for (int64_t j = 0; j < n; j++) {
            const json_t *v = json_array_get(one, (size_t)j);
            a->alpha[j] = json_number_value(v);
            if (!json_is_number(v) || (j >= a->degree && !(a->alpha[j] > 0)))
                return FAB_FAIL(FAB_BAD_FILE, "scaling: number %lld of %s is impossible",
                                (long long)j, a->text);
        }
    }
    if (met != json_array_size(all))
        return FAB_FAIL(FAB_BAD_FILE, "scaling: it has polynomials that its formula has not");
    return FAB_OK;
}

static fab_status take_levels(fab_scaling *k, const json_t *o)
{
    const json_t *a = json_object_get(o, "levels");
    if (!a) return FAB_OK;
    const int64_t n = (int64_t)json_array_size(a);
    if (n < 2) return FAB_FAIL(FAB_BAD_FILE, "scaling: 'levels' are fewer than 2");
    if (json_is_string(json_array_get(a, 0)))
        return take_texts(a, "levels", &k->levels, &k->level_name);
    FAB_TRY(fab_alloc_array((void **)&k->level, n, sizeof *k->level, "scaling"));
    k->levels = n;
    return take_numbers(o, "levels", k->level, n, 0);
}

static fab_status take_columns(fab_scaling *k, const json_t *o)
{
    FAB_TRY(fab_copy_text(&k->target, json_string_value(json_object_get(o, "target"))));
    FAB_TRY(fab_copy_text(&k->weight, json_string_value(json_object_get(o, "weight"))));
    FAB_TRY(fab_copy_text(&k->offset, json_string_value(json_object_get(o, "offset"))));
    if (!k->target) return FAB_FAIL(FAB_BAD_FILE, "scaling: the target has no name");
    k->target_mean = json_number_value(json_object_get(o, "target_mean"));
    k->target_scale = json_number_value(json_object_get(o, "target_scale"));
    if (!(k->target_scale > 0))
        return FAB_FAIL(FAB_BAD_FILE, "scaling: 'target_scale' is missing or impossible");
    k->sparse = json_is_true(json_object_get(o, "sparse"));
    return FAB_OK;
}

static fab_status take_fill(fab_scaling *k, const json_t *o)
{
    if (!json_object_get(o, "fill")) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&k->fill, k->D, sizeof *k->fill, "scaling"));
    return take_numbers(o, "fill", k->fill, k->D, 0);
}

static fab_status take_dialect(fab_scaling *k, const json_t *o)
{
    static const char *const parts[] = {"separator", "decimal", "comment", "dates", "na"};
    const json_t *dialect = json_object_get(o, "dialect");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *text = json_string_value(json_object_get(dialect, parts[i]));
        if (text && fab_dialect_set(&k->dialect, parts[i], text) != FAB_OK)
            return FAB_FAIL(FAB_BAD_FILE, "scaling: the %s of its dialect is impossible", parts[i]);
    }
    return FAB_OK;
}

/* The map behind the units. */
static fab_status take_map(fab_scaling *k, const json_t *o)
{
    const json_t *map = json_object_get(o, "features");
    const char **names;
    fab_features *f = NULL;
    if (!map) return FAB_OK;
    FAB_TRY(fab_scaling_columns(k, &names));
    fab_status s = fab_features_read(&f, map, k->D, names);
    fab_release(names);
    if (s == FAB_OK) s = fab_scaling_map(k, f);
    if (s != FAB_OK) fab_features_free(f);
    return s == FAB_BAD_ARGUMENT || s == FAB_BAD_DATA ? FAB_BAD_FILE : s;
}

static fab_status take(fab_scaling *k, const json_t *o)
{
    const int other = json_object_get(o, "formula") || json_object_get(o, "features");
    FAB_TRY(fab_copy_text(&k->formula, json_string_value(json_object_get(o, "formula"))));
    const fab_status s = take_features(k, json_object_get(o, other ? "from" : "columns"));
    if (s != FAB_OK) return s == FAB_BAD_ARGUMENT || s == FAB_BAD_DATA ? FAB_BAD_FILE : s;
    if (k->terms) FAB_TRY(take_polynomials(k->terms, json_object_get(o, "poly")));
    FAB_TRY(take_numbers(o, "means", k->mean, k->D, 0));
    FAB_TRY(take_numbers(o, "scales", k->scale, k->D, 1));
    FAB_TRY(take_columns(k, o));
    FAB_TRY(take_fill(k, o));
    FAB_TRY(take_dialect(k, o));
    FAB_TRY(take_levels(k, o));
    return take_map(k, o);
}

fab_status fab_scaling_from_json(fab_scaling **k, const char *json)
{
    fab_scaling *new;
    *k = NULL;
    json_t *o;
    FAB_TRY(fab_json_read_string(&o, "scaling", json));
    fab_status s = fab_alloc_array((void **)&new, 1, sizeof *new, "scaling");
    if (s == FAB_OK) {
        *new = (fab_scaling){0};
        s = take(new, o);
        if (s == FAB_OK)
            *k = new;
        else
            fab_scaling_free(new);
    }
    json_decref(o);
    return s;
}
