/* settings.c - settings tables: defaults, checks, text and JSON.
 *
 * Every setting is 8 bytes: an int64_t (I64, BOOL, ENUM) or a double (F64).
 *
 * SPDX-License-Identifier: MIT */
#include "base/settings.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef union value {
    int64_t i;
    double d;
} value;

static value get(const fab_field *f, const void *settings)
{
    value v;
    memcpy(&v, (const char *)settings + f->offset, sizeof v);
    return v;
}

static void put(const fab_field *f, void *settings, value v)
{
    memcpy((char *)settings + f->offset, &v, sizeof v);
}

static int is_auto(const fab_field *f, value v)
{
    return f->origin == FAB_ORIGIN_AUTO &&
           (f->type == FAB_F64 ? fab_is_auto_f64(v.d) : fab_is_auto_i64(v.i));
}

static value automatic(const fab_field *f)
{
    if (f->type == FAB_F64) return (value){.d = FAB_AUTO_F64};
    return (value){.i = FAB_AUTO_I64};
}

void fab_settings_add_defaults(const fab_fields *t, void *settings, size_t size)
{
    for (int64_t i = 0; i < t->n; i++) {
        const fab_field *f = &t->field[i];
        if (f->offset + sizeof(value) > size) continue; /* the caller has no such member */
        value v = {.i = 0};
        if (f->origin == FAB_ORIGIN_AUTO) v = automatic(f);
        if (f->origin == FAB_ORIGIN_VALUE && f->type == FAB_F64) v.d = f->value;
        if (f->origin == FAB_ORIGIN_VALUE && f->type != FAB_F64) v.i = (int64_t)f->value;
        put(f, settings, v);
    }
}

void fab_settings_defaults(const fab_fields *t, void *settings)
{
    memset(settings, 0, t->size);
    fab_settings_add_defaults(t, settings, t->size);
}

static int print_value(const fab_field *f, value v, char *buf, size_t size)
{
    if (is_auto(f, v)) return snprintf(buf, size, "auto");
    if (f->type == FAB_F64) return fab_print_double(buf, size, v.d);
    if (f->type == FAB_BOOL) return snprintf(buf, size, v.i ? "true" : "false");
    if (f->type == FAB_ENUM && v.i >= 0 && (double)v.i <= f->hi)
        return snprintf(buf, size, "%s", f->names[v.i]);
    return snprintf(buf, size, "%" PRId64, v.i);
}

int fab_settings_print(const fab_field *f, const void *settings, char *buf, size_t size)
{
    return print_value(f, get(f, settings), buf, size);
}

int fab_settings_default_text(const fab_field *f, char *buf, size_t size)
{
    if (f->origin == FAB_ORIGIN_REQUIRED) return snprintf(buf, size, "required");
    if (f->origin == FAB_ORIGIN_AUTO) return snprintf(buf, size, "auto");
    value v;
    if (f->type == FAB_F64)
        v.d = f->value;
    else
        v.i = (int64_t)f->value;
    return print_value(f, v, buf, size);
}

/* "[1, 4096]", "true or false", "svd|qr" */
static void allowed(const fab_field *f, char *buf, size_t size)
{
    if (f->type == FAB_BOOL) {
        snprintf(buf, size, "true|false");
    } else if (f->type == FAB_ENUM) {
        size_t used = 0;
        for (int64_t i = 0; f->names[i] && used < size; i++)
            used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? "|" : "", f->names[i]);
    } else {
        snprintf(buf, size, "[%g, %g]", f->lo, f->hi);
    }
}

static fab_status check_value(const fab_fields *t, const fab_field *f, value v)
{
    if (is_auto(f, v)) return FAB_OK;
    const double x = f->type == FAB_F64 ? v.d : (double)v.i;
    if (x >= f->lo && x <= f->hi) return FAB_OK; /* NaN fails both */
    char text[64], range[256];
    print_value(f, v, text, sizeof text);
    allowed(f, range, sizeof range);
    return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: %s = %s is outside %s", t->method, f->name, text, range);
}

fab_status fab_settings_check(const fab_fields *t, const void *settings)
{
    for (int64_t i = 0; i < t->n; i++)
        FAB_TRY(check_value(t, &t->field[i], get(&t->field[i], settings)));
    return FAB_OK;
}

const fab_field *fab_settings_find(const fab_fields *t, const char *name)
{
    for (int64_t i = 0; i < t->n; i++)
        if (strcmp(t->field[i].name, name) == 0) return &t->field[i];
    return NULL;
}

static fab_status unknown_name(const fab_fields *t, const char *name)
{
    const char *names[64];
    int64_t n = 0;
    for (; n < t->n && n < 64; n++) names[n] = t->field[n].name;
    return fab_prefix(fab_no_such(FAB_BAD_ARGUMENT, "setting", name, names, n, ""),
                      "%s: ", t->method);
}

/* Text to a value of the field's type; 0 when it is no such value. */
static int read_value(const fab_field *f, const char *text, value *v)
{
    char *end = NULL;
    errno = 0;
    if (f->origin == FAB_ORIGIN_AUTO && strcmp(text, "auto") == 0) {
        *v = automatic(f);
        return 1;
    }
    switch (f->type) {
    case FAB_F64: v->d = strtod(text, &end); return end != text && *end == '\0' && isfinite(v->d);
    case FAB_I64: {
        v->i = strtoll(text, &end, 10);
        if (end != text && *end == '\0') return errno == 0;
        const double d = strtod(text, &end); /* 1e6 is a whole number too */
        v->i = fabs(d) <= 0x1p53 ? (int64_t)d : 0;
        return end != text && *end == '\0' && (double)v->i == d;
    }
    case FAB_BOOL:
        v->i = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
        return v->i || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
    case FAB_ENUM:
        for (v->i = 0; f->names[v->i]; v->i++)
            if (strcmp(f->names[v->i], text) == 0) return 1;
        return 0;
    case FAB_F32: break;
    }
    return 0;
}

double fab_settings_number(const fab_fields *t, const void *settings, const char *name)
{
    const fab_field *f = fab_settings_find(t, name);
    double real;
    int64_t whole;
    if (!f) return NAN;
    memcpy(&real, (const char *)settings + f->offset, sizeof real);
    memcpy(&whole, (const char *)settings + f->offset, sizeof whole);
    if (f->type == FAB_F64) return real;
    return fab_is_auto_i64(whole) ? FAB_AUTO_F64 : (double)whole;
}

void fab_settings_choose(const fab_fields *t, void *settings, const char *name, double chosen)
{
    const fab_field *f = fab_settings_find(t, name);
    double now;
    if (!f || !(chosen > 0)) return;
    memcpy(&now, (char *)settings + f->offset, sizeof now);
    if (fab_is_auto_f64(now)) memcpy((char *)settings + f->offset, &chosen, sizeof chosen);
}

fab_status fab_settings_parse(const fab_fields *t, void *settings, const char *name,
                              const char *text)
{
    const fab_field *f = fab_settings_find(t, name);
    if (!f) return unknown_name(t, name);
    value v;
    if (!read_value(f, text, &v)) {
        char range[256];
        const char *kind = "a choice", *or_auto = f->origin == FAB_ORIGIN_AUTO ? " or auto" : "";
        if (f->type == FAB_I64) kind = "a whole number";
        if (f->type == FAB_F64) kind = "a number";
        allowed(f, range, sizeof range);
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: %s = '%s' is not %s in %s%s", t->method, name, text,
                        kind, range, or_auto);
    }
    FAB_TRY(check_value(t, f, v));
    put(f, settings, v);
    return FAB_OK;
}

fab_status fab_settings_text(const fab_fields *t, char **text)
{
    fab_text out = {0};
    fab_text_add(&out, "%-16s %-10s %-22s %s\n", "setting", "default", "allowed", "meaning");
    for (int64_t i = 0; i < t->n; i++) {
        const fab_field *f = &t->field[i];
        char standard[64], range[256];
        fab_settings_default_text(f, standard, sizeof standard);
        allowed(f, range, sizeof range);
        fab_text_add(&out, "%-16s %-10s %-22s %s\n", f->name, standard, range, f->help);
    }
    return fab_text_give(&out, text);
}

static void json_value(fab_text *out, const fab_field *f, value v)
{
    char text[64];
    print_value(f, v, text, sizeof text);
    const char *quote = f->type == FAB_ENUM || is_auto(f, v) ? "\"" : "";
    fab_text_add(out, "\"%s\": %s%s%s", f->name, quote, text, quote);
}

fab_status fab_settings_json(const fab_fields *t, const void *settings, char **text)
{
    fab_text out = {0};
    fab_text_add(&out, "{");
    for (int64_t i = 0; i < t->n; i++) {
        if (i) fab_text_add(&out, ", ");
        json_value(&out, &t->field[i], get(&t->field[i], settings));
    }
    fab_text_add(&out, "}");
    return fab_text_give(&out, text);
}

/* A JSON scalar as the text fab_settings_parse reads. */
static int scalar_text(const json_t *j, char *buf, size_t size)
{
    if (json_is_string(j)) return snprintf(buf, size, "%s", json_string_value(j)) < (int)size;
    if (json_is_integer(j))
        return snprintf(buf, size, "%lld", (long long)json_integer_value(j)) > 0;
    if (json_is_real(j)) return fab_print_double(buf, size, json_real_value(j)) > 0;
    if (json_is_boolean(j)) return snprintf(buf, size, json_is_true(j) ? "true" : "false") > 0;
    return 0;
}

/* Files of the versions before 0.2 have the shape of the data among their settings. */
static int is_shape(const char *key)
{
    static const char *const shape[] = {"D", "likelihood", "classes", "intercept"};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        if (strcmp(key, shape[i]) == 0) return 1;
    return 0;
}

static fab_status set_all(const fab_fields *t, void *settings, json_t *object)
{
    const char *key;
    json_t *item;
    json_object_foreach(object, key, item)
    {
        char text[128];
        if (is_shape(key) && !fab_settings_find(t, key)) continue;
        if (!scalar_text(item, text, sizeof text))
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "%s: setting '%s' is not a number, a choice or true|false", t->method,
                            key);
        FAB_TRY(fab_settings_parse(t, settings, key, text));
    }
    return FAB_OK;
}

fab_status fab_settings_from_json(const fab_fields *t, void *settings, const char *json)
{
    json_t *object;
    fab_status s = fab_json_read_string(&object, "settings", json);
    if (s == FAB_NO_MEMORY) return s;
    if (!json_is_object(object)) {
        json_decref(object);
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the settings are not a JSON object", t->method);
    }
    void *copy = NULL; /* nothing changes unless all is well */
    s = fab_alloc_array(&copy, 1, t->size, "settings");
    if (s == FAB_OK) {
        memcpy(copy, settings, t->size);
        s = set_all(t, copy, object);
        if (s == FAB_OK) memcpy(settings, copy, t->size);
    }
    fab_release(copy);
    json_decref(object);
    return s;
}

enum { MAX_NAME = 64 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Letters to insert, remove, replace (by another than the same in capitals), or swap with their neighbour; a long name is far from all. */
static int64_t distance(const char *a, const char *b)
{
    const size_t la = strlen(a), lb = strlen(b);
    if (la >= MAX_NAME || lb >= MAX_NAME) return INT64_MAX;
    int64_t rows[3][MAX_NAME], *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= lb; j++) row[j] = (int64_t)j;
    for (size_t i = 1; i <= la; i++) {
        int64_t *const oldest = before;
        before = last, last = row, row = oldest;
        row[0] = (int64_t)i;
        for (size_t j = 1; j <= lb; j++) {
            const int64_t replace = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            const int64_t gap = (last[j] < row[j - 1] ? last[j] : row[j - 1]) + 1;
            row[j] = replace < gap ? replace : gap;
            const int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
        }
    }
    return row[lb];
}

const char *fab_nearest(const char *wrong, const char *const *names, int64_t n)
{
    const char *best = NULL;
    int64_t least = (int64_t)strlen(wrong) / 3 + 2; /* farther than this is another word */
    for (int64_t i = 0; i < n; i++) {
        const int64_t d = distance(wrong, names[i]);
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

fab_status fab_no_such(fab_status s, const char *what, const char *wrong, const char *const *names,
                       int64_t n, const char *otherwise)
{
    char shown[FAB_SHOWN], near_shown[FAB_SHOWN];
    const char *near = fab_nearest(wrong, names, n);
    fab_show(shown, wrong, strlen(wrong));
    if (!near) return FAB_FAIL(s, "there is no %s '%s'%s", what, shown, otherwise);
    return FAB_FAIL(s, "there is no %s '%s'; did you mean '%s'?", what, shown,
                    fab_show(near_shown, near, strlen(near)));
}
