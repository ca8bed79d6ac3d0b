/* saved.h - what every saved fit says of itself, and how a saved stream is found again.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_ESTIM_SAVED_H
#define FAB_ESTIM_SAVED_H

#include "fabayes/fit.h"

/* A whole-number setting by name; 0 when the table has none of that name. */
int64_t fab_saved_setting(const fab_method *m, const void *settings, const char *name);

/* Set the metadata method, settings, n and seed. */
fab_status fab_saved_describe(fab_tensors *t, const fab_method *m, const void *settings, int64_t n);

/* Add the metadata and tensors of `more`. */
fab_status fab_saved_add(fab_tensors *t, const fab_tensors *more);

/* The method, settings (JSON, lent by the file) and rows of a saved stream; a batch method is refused. */
fab_status fab_saved_stream(const fab_tensors *file, const fab_method **m, const char **settings,
                            int64_t *n);

#endif
