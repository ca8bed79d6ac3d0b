/* scaling_json.c - a scaling as the JSON object that stands in a file, and back.
 *
 * SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "data/table.h"
#include "fabayes/settings.h"
#include <jansson.h>
#include <math.h>

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

fab_status fab_scaling_json(const fab_scaling *k, char **text)
{
    fab_text t = {0};
    fab_text_add(&t, "{\"features\": [");
    for (int64_t d = 0; d < k->D; d++) {
        if (d) fab_text_add(&t, ", ");
        fab_text_add_json(&t, k->name[d]);
    }
    fab_text_add(&t, "]");
    add_numbers(&t, "means", k->mean, k->D);
    add_numbers(&t, "scales", k->scale, k->D);
    add_name(&t, "target", k->target);
    fab_text_add(&t, ", \"target_mean\": ");
    add_number(&t, k->target_mean);
    fab_text_add(&t, ", \"target_scale\": ");
    add_number(&t, k->target_scale);
    add_name(&t, "weight", k->weight);
    add_name(&t, "offset", k->offset);
    if (k->levels) add_numbers(&t, "levels", k->level, k->levels);
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

static fab_status take_names(fab_scaling *k, const json_t *features)
{
    FAB_TRY(fab_names_create(&k->name, k->D));
    for (int64_t d = 0; d < k->D; d++) {
        const char *name = json_string_value(json_array_get(features, (size_t)d));
        if (!name) return FAB_FAIL(FAB_BAD_FILE, "scaling: a feature has no name");
        FAB_TRY(fab_copy_text(&k->name[d], name));
    }
    return FAB_OK;
}

static fab_status take_levels(fab_scaling *k, const json_t *o)
{
    const json_t *a = json_object_get(o, "levels");
    if (!a) return FAB_OK;
    k->levels = (int64_t)json_array_size(a);
    if (k->levels < 2) return FAB_FAIL(FAB_BAD_FILE, "scaling: 'levels' are fewer than 2");
    FAB_TRY(fab_alloc_array((void **)&k->level, k->levels, sizeof *k->level, "scaling"));
    return take_numbers(o, "levels", k->level, k->levels, 0);
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

static fab_status take(fab_scaling *k, const json_t *o)
{
    const json_t *features = json_object_get(o, "features");
    k->D = (int64_t)json_array_size(features);
    if (k->D < 1) return FAB_FAIL(FAB_BAD_FILE, "scaling: there are no features");
    FAB_TRY(fab_alloc_array((void **)&k->mean, 2 * k->D, sizeof *k->mean, "scaling"));
    k->scale = k->mean + k->D;
    FAB_TRY(take_names(k, features));
    FAB_TRY(take_numbers(o, "means", k->mean, k->D, 0));
    FAB_TRY(take_numbers(o, "scales", k->scale, k->D, 1));
    FAB_TRY(take_columns(k, o));
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
