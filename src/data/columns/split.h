/* split.h - a split for another purpose than a caller's own.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_SPLIT_H
#define FAB_DATA_SPLIT_H

#include "fabayes/data.h"
#include "fabayes/random.h"

/* fab_split_test with random numbers of `purpose`; fab_split_test has FAB_PURPOSE_SPLIT. */
fab_status fab_split_test_for(fab_purpose purpose, fab_split **s, int64_t n, double fraction,
                              const double *y, uint64_t seed);
/* fab_split_folds, the same. */
fab_status fab_split_folds_for(fab_purpose purpose, fab_split **s, int64_t n, int64_t k,
                               const double *y, uint64_t seed);

/* Folds of a table, and a part of it to test with: whole groups, or in its order, or of single rows, where with
 * classes != 0 each class is in all parts alike. */
fab_status fab_dataset_folds(fab_purpose purpose, fab_split **s, const fab_dataset *t, int64_t k,
                             int classes, uint64_t seed);
fab_status fab_dataset_test(fab_purpose purpose, fab_split **s, const fab_dataset *t,
                            double fraction, int classes, uint64_t seed);

#endif
