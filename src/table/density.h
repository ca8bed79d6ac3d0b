/* density.h - how well a recipe predicts rows that it was not fitted to.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_DENSITY_H
#define FAB_TABLE_DENSITY_H

#include "fabayes/table.h"

/* The rows left out: the first `used` of `folds` parts, dealt by seed; each is predicted by a fit of all others. */
typedef struct fab_left_out {
    int64_t folds, used;
    uint64_t seed;
} fab_left_out;

/* The mean log density of rows left out, in the user's units, under the mixture of the recipe's runs.  A gaussian target
 * of a network whose noise is not fixed has the noise of the highest density instead of the one that was learned:
 * *scale; otherwise *scale is 0.  Fits run side by side on the threads of *x; the result is the same for any number. */
fab_status fab_recipe_density(const fab_recipe *r, const void *settings, const fab_dataset *t,
                              const fab_left_out *f, const fab_exec *x, double *density,
                              double *scale);

#endif
