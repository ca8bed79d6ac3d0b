/* device.c - kernels by the name of a device: those of this library, or of a plug-in that is looked for when asked.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "la/cuda/cuda.h"
#include "la/ops.h"
#include "la/plugin.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_CARDS = 1024 };

static fab_status open_card(const fab_ops **ops, long number, fab_dtype type)
{
    const fab_ops *const *tables;
    char why[256];
    fab_cuda_open_fn *open = NULL;
    void *found;
    FAB_TRY(fab_plugin_find(&found, "libfabayes_cuda.so", 0, "fab_cuda_open", "device cuda",
                            "'make cuda' builds it where nvcc is"));
    memcpy(&open, &found, sizeof open);
    if (!open((int)number, &fab_memory_heap, &tables, why, sizeof why))
        return FAB_FAIL(FAB_UNSUPPORTED, "device cuda: %s", why);
    *ops = tables[type];
    return FAB_OK;
}

fab_status fab_ops_open(const fab_ops **ops, const char *device, fab_dtype type)
{
    *ops = NULL;
    if (type != FAB_F64 && type != FAB_F32)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "long arrays are f64 or f32, not %s",
                        fab_dtype_name(type));
    *ops = fab_ops_find(device, type);
    if (*ops) return FAB_OK;
    if (device && strncmp(device, "cuda", 4) == 0 && (device[4] == '\0' || device[4] == ':')) {
        char *end = NULL;
        const long number = device[4] ? strtol(device + 5, &end, 10) : 0;
        if (!device[4] || (end != device + 5 && *end == '\0' && number >= 0 && number < MOST_CARDS))
            return open_card(ops, number, type);
    }
    return FAB_FAIL(FAB_BAD_ARGUMENT, "there is no device '%s'; cpu, cuda and cuda:N are",
                    device ? device : "");
}
