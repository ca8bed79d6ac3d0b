/* saved.c - what every saved fit says of itself, and how a saved stream is found again.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/saved.h"
#include "base/fail.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t fab_saved_setting(const fab_method *m, const void *settings, const char *name)
{
    int64_t v = 0;
    const fab_field *f = fab_settings_find(m->table, name);
    if (f) memcpy(&v, (const char *)settings + f->offset, sizeof v);
    return v;
}

fab_status fab_saved_describe(fab_tensors *t, const fab_method *m, const void *settings, int64_t n)
{
    char number[32], *json;
    FAB_TRY(fab_tensors_set(t, "method", m->name));
    FAB_TRY(fab_settings_json(m->table, settings, &json));
    const fab_status s = fab_tensors_set(t, "settings", json);
    fab_text_free(json);
    FAB_TRY(s);
    snprintf(number, sizeof number, "%" PRId64, n);
    FAB_TRY(fab_tensors_set(t, "n", number));
    snprintf(number, sizeof number, "%" PRId64, fab_saved_setting(m, settings, "seed"));
    return fab_tensors_set(t, "seed", number);
}

fab_status fab_saved_add(fab_tensors *t, const fab_tensors *more)
{
    for (int64_t i = 0; i < fab_tensors_meta_count(more); i++) {
        const char *key = fab_tensors_meta_key(more, i);
        FAB_TRY(fab_tensors_set(t, key, fab_tensors_get(more, key)));
    }
    for (int64_t i = 0; i < fab_tensors_count(more); i++) {
        const fab_tensor *v = fab_tensors_at(more, i);
        FAB_TRY(fab_tensors_add(t, v->name, v->type, v->ndim, v->shape, v->data));
    }
    return FAB_OK;
}

fab_status fab_saved_stream(const fab_tensors *file, const fab_method **m, const char **settings,
                            int64_t *n)
{
    const char *name = fab_tensors_get(file, "method"), *rows = fab_tensors_get(file, "n");
    char *end = NULL;
    *settings = fab_tensors_get(file, "settings");
    if (!name || !*settings || !rows)
        return FAB_FAIL(FAB_BAD_FILE,
                        "the metadata lack method, settings or n: this is no saved stream");
    *m = fab_method_find(name);
    if (!*m) return FAB_FAIL(FAB_BAD_FILE, "method '%s' is not known", name);
    if (!(*m)->streams)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "method '%s' is a batch method and cannot continue; fit again with all rows", name);
    *n = strtoll(rows, &end, 10);
    if (end == rows || *end != '\0' || *n < 0 || *n > INT64_MAX / 2)
        return FAB_FAIL(FAB_BAD_FILE, "n = '%s' is not a number of rows", rows);
    return FAB_OK;
}
