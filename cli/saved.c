/* saved.c - is a saved file the work of this call?
 *
 * SPDX-License-Identifier: MIT */
#include "saved.h"
#include "print/output.h"
#include <stdlib.h>
#include <string.h>

static int check_same(const char *file, const fab_fields *t, const void *old, const void *now,
                      const char *except)
{
    for (int64_t i = 0; i < t->n; i++) {
        const fab_field *f = &t->field[i];
        char then[64], here[64];
        const int same = memcmp((const char *)old + f->offset, (const char *)now + f->offset, 8) ==
                         0;
        if (same || (except && strcmp(except, f->name) == 0)) continue;
        fab_settings_print(f, old, then, sizeof then);
        fab_settings_print(f, now, here, sizeof here);
        if (strcmp(here, "auto") == 0) continue; /* chosen then, and the file has it */
        return say_failed("%s: was made with %s = %s, and this call says %s", file, f->name, then,
                          here);
    }
    return DONE;
}

int saved_check_settings(const char *file, const char *json, const fab_fields *t, const void *now,
                         const char *except)
{
    void *old = malloc(t->size);
    if (!old) return say_failed("out of memory");
    fab_settings_defaults(t, old);
    const fab_status s = fab_settings_from_json(t, old, json);
    const int status = s == FAB_OK ? check_same(file, t, old, now, except) : say_status_of(file, s);
    free(old);
    return status;
}

int saved_check_method(const char *file, const fab_tensors *t, const char *maker,
                       const fab_method *m, fab_dtype type)
{
    const char *method = fab_tensors_get(t, "method");
    const fab_tensor *F = fab_tensors_find(t, "F");
    if (!method || !fab_tensors_get(t, "settings"))
        return say_failed("%s: is not a file of `fabayes %s`: there is nothing to resume", file,
                          maker);
    if (strcmp(method, fab_method_name(m)) != 0)
        return say_failed("%s: was made by %s, and this call says %s", file, method,
                          fab_method_name(m));
    if (F && F->type != type) /* a point has none */
        return say_failed("%s: holds %s, and this call says %s", file, fab_dtype_name(F->type),
                          fab_dtype_name(type));
    return DONE;
}
