/* minibatch.h - the rows of a table in random batches, and some held out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_MINIBATCH_H
#define FAB_TRAIN_MINIBATCH_H

#include "fabayes/model.h"

typedef struct fab_minibatch fab_minibatch;

/* Batches of `size` rows of *all in `type`, f64 or f32; about `held_out` of the rows are kept
 * apart.  Borrows *all until free. */
fab_status fab_minibatch_init(fab_minibatch **b, const char *who, const fab_examples *all,
                              fab_dtype type, int64_t features, int64_t size, double held_out,
                              uint64_t seed);
void fab_minibatch_free(fab_minibatch *b); /* takes NULL */

int64_t fab_minibatch_rows(const fab_minibatch *b);  /* to train with */
int64_t fab_minibatch_steps(const fab_minibatch *b); /* batches in an epoch */

/* Batch i of an epoch, copied together; lends until the next call.  The order of an epoch depends on (seed,
 * epoch) alone. */
fab_examples fab_minibatch_get(fab_minibatch *b, int64_t epoch, int64_t i);
/* Held-out rows first .. first + size - 1, as far as there are any. */
fab_examples fab_minibatch_held(fab_minibatch *b, int64_t first);

#endif
