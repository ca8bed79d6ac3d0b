/* trials.h - the table of trials, read from bytes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_SEARCH_TRIALS_H
#define FAB_SEARCH_TRIALS_H

#include "fabayes/search.h"
#include <stddef.h>

/* fab_tune_read of `size` bytes, `name` speaking in messages.  Trials before a bad line are taken. */
fab_status fab_tune_parse(fab_tune *t, const char *name, const void *bytes, size_t size);

/* Is that the value of range j in trial i?  By bayes it becomes it, where the range has it. */
int fab_tune_takes(fab_tune *t, int64_t i, int64_t j, double value);

#endif
