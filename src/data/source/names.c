/* names.c - the names of columns as metadata of a file.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/names.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/source/source.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Is any column named by the file itself, and not by its number? */
static int has_names(const fab_source *s, int64_t first)
{
    if (!s->names) return 0;
    for (int64_t c = first; c < s->columns; c++) {
        char number[32];
        snprintf(number, sizeof number, "x%" PRId64, c);
        if (strcmp(s->names[c], number) != 0) return 1;
    }
    return 0;
}

/* The name as it is written: bytes that are no UTF-8 become '?'.  Gives *text. */
static fab_status written_name(const fab_source *s, int64_t column, char **text)
{
    FAB_TRY(fab_copy_text(text, s->names[column]));
    json_t *utf8 = json_string(*text);
    if (!utf8)
        for (char *p = *text; *p; p++)
            if ((unsigned char)*p >= 0x80) *p = '?';
    json_decref(utf8);
    return FAB_OK;
}

fab_status fab_source_names_json(const fab_source *s, int64_t first, char **text)
{
    fab_text t = {0};
    *text = NULL;
    if (!has_names(s, first)) return FAB_OK;
    fab_text_add(&t, "{\"names\":[");
    for (int64_t c = first; c < s->columns; c++) {
        char *name;
        const fab_status status = written_name(s, c, &name);
        if (status != FAB_OK) {
            fab_release(t.p);
            return status;
        }
        if (c > first) fab_text_add(&t, ",");
        fab_text_add_json(&t, name);
        fab_release(name);
    }
    fab_text_add(&t, "]}");
    return fab_text_give(&t, text);
}

static fab_status compare(const fab_source *s, int64_t first, const char *file, const json_t *names)
{
    const int64_t known = (int64_t)json_array_size(names);
    for (int64_t i = 0; i < known && first + i < s->columns; i++) {
        const char *old = json_string_value(json_array_get(names, (size_t)i));
        char *now;
        if (!old) continue;
        FAB_TRY(written_name(s, first + i, &now));
        const int same = strcmp(now, old) == 0;
        fab_release(now);
        if (!same)
            return FAB_FAIL(FAB_BAD_DATA, "%s: column %" PRId64 " is '%s', and '%s' in %s", s->path,
                            first + i, s->names[first + i], old, file);
    }
    return FAB_OK;
}

fab_status fab_source_names_check(const fab_source *s, int64_t first, const char *file,
                                  const char *json)
{
    if (!json || !has_names(s, first)) return FAB_OK;
    json_t *o = json_loads(json, 0, NULL);
    const fab_status status = compare(s, first, file, json_object_get(o, "names"));
    json_decref(o);
    return status;
}
