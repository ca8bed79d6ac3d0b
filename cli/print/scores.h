/* scores.h - loadings and factor scores as files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SCORES_H
#define CLI_SCORES_H

#include "data.h"
#include "print/output.h"

/* One line per coordinate: name, its rotated loadings, psi.  csv, complete or not at all. */
int loadings_write(fab_factors *f, const fab_rotation *r, const char *path);
/* E[z | x] of every row of DATA, `rows` of them, read again; .npy or .csv by the name. */
int scores_write(fab_factors *f, const fab_rotation *r, const data_options *o, const char *path,
                 int64_t rows);
/* Is the name of a file of scores one that says its format? */
int scores_check(const char *path);

#endif
