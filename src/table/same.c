/* same.c - is a saved file the work of this call?
 *
 * SPDX-License-Identifier: MIT */
#include "table/same.h"
#include "base/fail.h"
#include "base/memory.h"
#include "data/source/source.h"
#include <string.h>

fab_status fab_same_method(const char *file, const fab_tensors *t, const char *maker,
                           const fab_method *m, fab_dtype type)
{
    const char *method = fab_tensors_get(t, "method"), *now = fab_method_name(m);
    const fab_tensor *F = fab_tensors_find(t, "F");
    if (!method || !fab_tensors_get(t, "settings"))
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: is not a file of `fabayes %s`: there is nothing to resume", file,
                        maker);
    if (strcmp(method, now) != 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: was made by %s, and this call says %s", file, method,
                        now);
    if (F && F->type != type) /* a point has none */
        return FAB_FAIL(FAB_BAD_FILE, "%s: holds %s, and this call says %s", file,
                        fab_dtype_name(F->type), fab_dtype_name(type));
    return FAB_OK;
}

static fab_status compare(const char *file, const fab_fields *t, const void *old, const void *now,
                          const char *except)
{
    for (int64_t i = 0; i < t->n; i++) {
        const fab_field *f = &t->field[i];
        char then[64], here[64];
        if (memcmp((const char *)old + f->offset, (const char *)now + f->offset, 8) == 0) continue;
        if (except && strcmp(except, f->name) == 0) continue;
        fab_settings_print(f, old, then, sizeof then);
        fab_settings_print(f, now, here, sizeof here);
        if (strcmp(here, "auto") == 0) continue; /* chosen then, and the file has it */
        return FAB_FAIL(FAB_BAD_FILE, "%s: was made with %s = %s, and this call says %s", file,
                        f->name, then, here);
    }
    return FAB_OK;
}

fab_status fab_same_settings(const char *file, const fab_tensors *t, const fab_fields *fields,
                             const void *now, const char *except)
{
    void *old;
    FAB_TRY(fab_alloc_array(&old, 1, fields->size, fields->method));
    fab_settings_defaults(fields, old);
    fab_status s = fab_settings_from_json(fields, old, fab_tensors_get(t, "settings"));
    if (s != FAB_OK) s = fab_about(file, s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s);
    if (s == FAB_OK) s = compare(file, fields, old, now, except);
    fab_release(old);
    return s;
}
