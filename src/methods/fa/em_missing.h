/* em_missing.h - EM of rows with values missing, for em.c; and its memory beside that of em, for who knows that rows have holes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FA_EM_MISSING_H
#define FAB_FA_EM_MISSING_H

#include "fabayes/methods.h"

struct fab_batch;

/* q and report from b->rows, in which NaN is a value that is missing. */
fab_status fab_em_missing(struct fab_batch *b, const fab_em_settings *set);
double fab_em_missing_bytes(int64_t D, int64_t K, int64_t n);

#endif
