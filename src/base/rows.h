/* rows.h - the check at the door for vectors that come in.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_ROWS_H
#define FAB_BASE_ROWS_H

#include "fabayes/types.h"

/* Usable pointer, type and stride for vectors of length D, and every number finite?  The sentence
 * starts with `who` and names row and column. */
fab_status fab_rows_check(const char *who, const fab_rows *x, int64_t D);

/* Element i of vector j. */
double fab_rows_at(const fab_rows *x, int64_t j, int64_t i);

/* Vectors first .. first + n - 1 of x. */
fab_rows fab_rows_part(const fab_rows *x, int64_t first, int64_t n);

#endif
