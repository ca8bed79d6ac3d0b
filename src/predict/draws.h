/* draws.h - the memory of a mixture of predictions, for the files that fill it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_PREDICT_DRAWS_H
#define FAB_PREDICT_DRAWS_H

#include "fabayes/predict.h"

/* Room for `samples` components of n rows; linearised: with their spread.  Gives *d. */
fab_status fab_draws_new(fab_draws **d, const fab_glm *head, int64_t n, int64_t samples,
                         int linearised);

/* Do model and Gaussians belong together? */
fab_status fab_draws_check(const fab_model *m, const fab_mixture *q, const fab_rows *x);

#endif
