/* scaling_json.c - a scaling as the JSON object that stands in a file, and back.
 *
 * SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "data/columns/table.h"
#include "fabayes/settings.h"
#include <jansson.h>
#include <math.h>
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

/* A column of numbers is its name, one of words {"name", "levels"}. */
static void add_columns(fab_text *t, const fab_scaling *k)
{
    for (int64_t c = 0; c < k->columns; c++) {
        const fab_column *o = &k->column[c];
        fab_text_add(t, c ? ", " : "[");
        if (o->levels) fab_text_add(t, "{\"name\": ");
        fab_text_add_json(t, o->name);
        if (!o->levels) continue;
        fab_text_add(t, ", \"levels\": ");
        add_texts(t, o->level, o->levels);
        fab_text_add(t, "}");
    }
    fab_text_add(t, "]");
}

fab_status fab_scaling_json(const fab_scaling *k, char **text)
{
    fab_text t = {0};
    fab_text_add(&t, "{\"columns\": ");
    add_columns(&t, k);
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
    fab_text_add(&t, "}");
    return fab_text_give(&t, text);
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

static fab_status take_column(fab_column *c, const json_t *o)
{
    const json_t *levels = json_object_get(o, "levels");
    const char *name = json_string_value(json_is_object(o) ? json_object_get(o, "name") : o);
    if (!name) return FAB_FAIL(FAB_BAD_FILE, "scaling: a column has no name");
    FAB_TRY(fab_copy_text(&c->name, name));
    if (!json_is_object(o)) return FAB_OK;
    if (json_array_size(levels) < 1)
        return FAB_FAIL(FAB_BAD_FILE, "scaling: column '%s' has no levels", name);
    return take_texts(levels, "levels", &c->levels, &c->level);
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
        k->D += k->column[c].levels ? k->column[c].levels : 1;
    }
    return fab_scaling_name(k);
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

static fab_status take(fab_scaling *k, const json_t *o)
{
    FAB_TRY(take_features(k, json_object_get(o, "columns")));
    FAB_TRY(take_numbers(o, "means", k->mean, k->D, 0));
    FAB_TRY(take_numbers(o, "scales", k->scale, k->D, 1));
    FAB_TRY(take_columns(k, o));
    FAB_TRY(take_fill(k, o));
    return take_levels(k, o);
}

fab_status fab_scaling_from_json(fab_scaling **k, const char *json)
{
    fab_scaling *new;
    *k = NULL;
    json_t *o = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
    if (!o) return FAB_FAIL(FAB_BAD_FILE, "scaling: this is not JSON");
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
