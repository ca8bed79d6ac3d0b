/* ahead.h - rows of text read some thousand at a time, on several threads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_AHEAD_H
#define FAB_DATA_AHEAD_H

#include "data/source/lines.h"

/* The row at the front of the window, where it was read ahead; *got = 0: the caller reads it. */
fab_status fab_ahead_next(fab_source *s, fab_row_fn *row, fab_split_fn *split, double *out,
                          int *got);
typedef struct fab_ahead fab_ahead;
void fab_ahead_free(fab_ahead *a); /* takes NULL */

#endif
