/* names.h - the names of columns: each its own; as metadata of a file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_NAMES_H
#define FAB_DATA_NAMES_H

#include "fabayes/data.h"

/* Columns of one name become x, x.1, x.2, .. from the left, as R and pandas have them, passing over names that are there; the
 * log is told.  For readers, once `names` is set; its block is replaced. */
fab_status fab_source_unique_names(fab_source *s);

/* Does a name say that the numbers below number the rows?  Id, CustomerID, id_of_house and row.names do; humid and price_index do
 * not. */
int fab_name_numbers_rows(const char *name);
/* Does it say that they are of time?  They may rise from row to row as a trend then. */
int fab_name_tells_time(const char *name);

/* {"names": [..]} of the columns `first`, first + 1, .. without `except` (-1: none); NULL when the file has no names of
 * its own.  Gives *text: fab_text_free. */
fab_status fab_source_names_json(const fab_source *s, int64_t first, int64_t except, char **text);
/* Are the columns named as in that text of `file`?  A source without names of its own fits any, and so does NULL. */
fab_status fab_source_names_check(const fab_source *s, int64_t first, int64_t except,
                                  const char *file, const char *json);

#endif
