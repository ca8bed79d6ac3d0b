/* names.h - the names of the last columns of a source as metadata of a file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_NAMES_H
#define FAB_DATA_NAMES_H

#include "fabayes/data.h"

/* {"names": [..]} of the columns `first`, first + 1, ..; NULL when the file has no names of its own.  Gives *text:
 * fab_text_free. */
fab_status fab_source_names_json(const fab_source *s, int64_t first, char **text);
/* Are the columns named as in that text of `file`?  A source without names of its own fits any, and so does NULL. */
fab_status fab_source_names_check(const fab_source *s, int64_t first, const char *file,
                                  const char *json);

#endif
