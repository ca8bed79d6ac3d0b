/* kept.h - columns of DATA that go with the predictions, as they stand there.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_KEPT_H
#define CLI_KEPT_H

#include "data.h"
#include <stdio.h>

typedef struct kept {
    fab_source *s;   /* NULL: none are kept */
    int64_t n;       /* columns kept */
    int64_t *column; /* n: their numbers */
    double *row;     /* all columns of the source */
} kept;

/* Open DATA a second time for the columns in the list, names or 0-based numbers between commas; NULL: all.  usual: how
 * the text of the fit was written.  An exit status, said. */
int kept_open(kept *k, const data_options *d, const fab_dialect *usual, const char *list);
void kept_close(kept *k); /* takes zeros */

void kept_names(const kept *k, FILE *f); /* each with a comma behind it */
/* The cells of the next row, in the same manner.  An exit status, said. */
int kept_row(kept *k, const char *file, FILE *f);

#endif
