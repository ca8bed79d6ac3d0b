/* split.h - which rows go where: training and test rows, folds, mini-batches.
 *
 *     fab_split *s;
 *     fab_split_folds(&s, n, 10, NULL, seed);          ten folds of n rows
 *     n_test = fab_split_part(s, fold, &test);         rows of one of them
 *     n_train = fab_split_rest(s, fold, train);        all others
 *     fab_split_free(s);
 *
 *     fab_batches *b;
 *     fab_batches_create(&b, n, 100, seed);
 *     fab_batches_get(b, epoch, i, &rows, &count);     batch i of any epoch, in any order of asking
 *     fab_batches_free(b);
 *
 * Rows are numbered from 0.  The same seed gives the same rows on every machine; each use has random
 * numbers of its own (random.h), so one seed serves them all.  Memory: n row numbers; twice that, or with
 * classes five times that, while a split is made.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_SPLIT_H
#define FABAYES_SPLIT_H

#include "fabayes/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- parts ---- */

typedef struct fab_split fab_split;

/* Two parts: 0 to train with, 1 to test with, of the whole number of rows nearest to fraction * n; each has
 * at least one.  `y` NULL, or n classes, numbers of which equal ones are one class: the part of each class
 * that is tested differs from the whole by less than a row.  Every row is tested with the same probability.
 * Borrows y during the call.  On failure *s is NULL. */
FAB_API fab_status fab_split_test(fab_split **s, int64_t n, double fraction, const double *y,
                                  uint64_t seed);
/* k parts, 2 <= k <= n, whose sizes differ by at most one row; with `y` as above the parts of each class
 * do so too. */
FAB_API fab_status fab_split_folds(fab_split **s, int64_t n, int64_t k, const double *y,
                                   uint64_t seed);
FAB_API void fab_split_free(fab_split *s); /* takes NULL */

FAB_API int64_t fab_split_parts(const fab_split *s);
/* The rows of a part, in rising order, and how many; 0 when there is no such part.  Lends until free. */
FAB_API int64_t fab_split_part(const fab_split *s, int64_t part, const int64_t **rows);
/* Copies the rows of all other parts, in rising order, into `rows`, which has room for them; how many.
 * NULL: only counts. */
FAB_API int64_t fab_split_rest(const fab_split *s, int64_t part, int64_t *rows);

/* ---- mini-batches ---- */

typedef struct fab_batches fab_batches;

/* Batches of `size` of n rows.  Epoch e is a permutation of all rows that depends on (seed, e) alone, cut
 * into batches; what was asked for before does not matter, so that a run can be resumed anywhere.  On
 * failure *b is NULL. */
FAB_API fab_status fab_batches_create(fab_batches **b, int64_t n, int64_t size, uint64_t seed);
FAB_API void fab_batches_free(fab_batches *b); /* takes NULL */

/* Batches in an epoch: n / size, rounded up. */
FAB_API int64_t fab_batches_per_epoch(const fab_batches *b);
/* The rows of batch i of an epoch, both from 0.  *count is `size`, or in the last batch of an epoch what is
 * left.  Lends until the next call.  Another epoch than that of the last call takes time O(n). */
FAB_API fab_status fab_batches_get(fab_batches *b, int64_t epoch, int64_t i, const int64_t **rows,
                                   int64_t *count);

#ifdef __cplusplus
}
#endif
#endif
