/* plugin.h - libraries that are looked for when they are asked for.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_PLUGIN_H
#define FAB_LA_PLUGIN_H

#include "base/fail.h"

/* Open the library `file` (RTLD_GLOBAL where `global`: it has plug-ins of its own), which stays open until the process ends, and
 * find `name` in it.  It is looked for beside this library (or program), in ../lib of it, then where the loader looks.  FAB_UNSUPPORTED:
 * a sentence that begins with `who`, and says that `how` builds it. */
fab_status fab_plugin_find(void **function, const char *file, int global, const char *name,
                           const char *who, const char *how);

#endif
