/* saved.h - is a saved file the work of this call?
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SAVED_H
#define CLI_SAVED_H

#include <fabayes.h>

/* Are the settings of `file`, a JSON text, those of this call?  `except` (or NULL) may differ.  Says which
 * one is not. */
int saved_check_settings(const char *file, const char *json, const fab_fields *t, const void *now,
                         const char *except);
/* Was it made by this method, with factors of this type? */
int saved_check_method(const char *file, const fab_tensors *t, const char *maker,
                       const fab_method *m, fab_dtype type);

#endif
