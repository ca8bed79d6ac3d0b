/* plugin.c - libraries that are looked for when they are asked for.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "la/plugin.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* The folder that this code was loaded from, with its slash; "" where nobody says. */
static void folder_of_this(char *path)
{
    Dl_info here;
    path[0] = '\0';
    if (!dladdr((const void *)(uintptr_t)fab_plugin_find, &here) || !here.dli_fname) return;
    const char *slash = strrchr(here.dli_fname, '/');
    const size_t length = slash ? (size_t)(slash - here.dli_fname) + 1 : 0;
    if (length >= PATH_BYTES) return;
    memcpy(path, here.dli_fname, length);
    path[length] = '\0';
}

static void *open_library(const char *file, int how)
{
    static const char *const below[] = {"", "../lib/"};
    char folder[PATH_BYTES], path[PATH_BYTES + 64];
    folder_of_this(folder);
    for (size_t i = 0; folder[0] && i < sizeof below / sizeof *below; i++) {
        snprintf(path, sizeof path, "%s%s%s", folder, below[i], file);
        void *library = dlopen(path, how);
        if (library) return library;
    }
    return dlopen(file, how);
}

fab_status fab_plugin_find(void **function, const char *file, int global, const char *name,
                           const char *who, const char *how)
{
    char folder[PATH_BYTES];
    *function = NULL;
    void *library = open_library(file, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) {
        folder_of_this(folder);
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: %s was looked for in %s and by the loader, and is not there (%s)", who,
                        file, folder[0] ? folder : "the folder of the program", how);
    }
    *function = dlsym(library, name);
    if (!*function) return FAB_FAIL(FAB_UNSUPPORTED, "%s: %s is of another version", who, file);
    return FAB_OK;
}
