/* fold.h - what a fold holds, for the files that fit it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_FOLD_H
#define FAB_TABLE_FOLD_H

#include "fabayes/table.h"

/* Fit a network to the training rows as fab_fold_score does; the predictions of the test rows, in the user's units.
 * Gives *d. */
fab_status fab_fold_draws(const fab_fold *f, const fab_recipe *r, const void *settings,
                          const fab_exec *x, fab_draws **d);

/* The targets of the test rows, in the user's units, and how many they are.  Lends. */
const double *fab_fold_y(const fab_fold *f);
int64_t fab_fold_rows(const fab_fold *f);

#endif
