/* predicting.h - what `predict` and `score` share: FILE and DATA to predictions.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_PREDICTING_H
#define CLI_PREDICTING_H

#include "data.h"
#include "print/output.h"

/* Load FILE and predict DATA with it.  An exit status, said; gives *r and *p, also when it is not DONE. */
int predicting(fab_regression **r, fab_predictions **p, const char *file, const data_options *d,
               const fab_predict_plan *how, int64_t quiet);

/* Is FILE one of clusters?  0 too where it cannot be read: whoever reads it next says why. */
int is_of_clusters(const char *file);

#endif
