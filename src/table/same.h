/* same.h - is a saved file the work of this call?
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_SAME_H
#define FAB_TABLE_SAME_H

#include "fabayes/fit.h"

/* Was `file` with the tensors t made by m, with factors of this type?  maker: the verb that makes such files. */
fab_status fab_same_method(const char *file, const fab_tensors *t, const char *maker,
                           const fab_method *m, fab_dtype type);
/* Are its settings those of this call, but for `except` (or NULL)?  One that is auto now was chosen then. */
fab_status fab_same_settings(const char *file, const fab_tensors *t, const fab_fields *fields,
                             const void *now, const char *except);

#endif
