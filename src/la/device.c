/* device.c - kernels by the name of a device: those of this library, or of a plug-in that is looked for when asked.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/fail.h"
#include "la/cuda/cuda.h"
#include "la/ops.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN "libfabayes_cuda.so"
enum { PATH_BYTES = 4096, MOST_CARDS = 1024 };

/* The folder that this code was loaded from, with its slash; "" where nobody says. */
static void folder_of_this(char *path)
{
    Dl_info here;
    path[0] = '\0';
    if (!dladdr((const void *)(uintptr_t)fab_ops_open, &here) || !here.dli_fname) return;
    const char *slash = strrchr(here.dli_fname, '/');
    const size_t length = slash ? (size_t)(slash - here.dli_fname) + 1 : 0;
    if (length >= PATH_BYTES) return;
    memcpy(path, here.dli_fname, length);
    path[length] = '\0';
}

/* Beside the library (or program), in ../lib of it, then where the loader looks. */
static void *open_plugin(void)
{
    static const char *const below[] = {"", "../lib/"};
    char folder[PATH_BYTES], path[PATH_BYTES + 64];
    folder_of_this(folder);
    for (size_t i = 0; folder[0] && i < sizeof below / sizeof *below; i++) {
        snprintf(path, sizeof path, "%s%s%s", folder, below[i], PLUGIN);
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (plugin) return plugin;
    }
    return dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
}

static fab_status open_card(const fab_ops **ops, long number, fab_dtype type)
{
    const fab_ops *const *tables;
    char why[256], folder[PATH_BYTES];
    void *plugin = open_plugin(); /* stays: its tables are used until the process ends */
    if (!plugin) {
        folder_of_this(folder);
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "device cuda: " PLUGIN
                        " was looked for in %s and by the loader, and is not "
                        "there ('make cuda' builds it where nvcc is)",
                        folder[0] ? folder : "the folder of the program");
    }
    fab_cuda_open_fn *open = NULL;
    void *found = dlsym(plugin, "fab_cuda_open");
    memcpy(&open, &found, sizeof open);
    if (!open) return FAB_FAIL(FAB_UNSUPPORTED, "device cuda: " PLUGIN " is of another version");
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
