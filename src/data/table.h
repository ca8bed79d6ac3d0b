/* table.h - what the table and its scaling share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_TABLE_H
#define FAB_DATA_TABLE_H

#include "base/memory.h"
#include "data/source.h"
#include "fabayes/table.h"

/* D empty names, and their end. */
fab_status fab_names_create(char ***names, int64_t D);
void fab_names_free(char **names, int64_t D); /* takes NULL */

/* Deviations within this part of a column's size are rounding. */
#define FAB_NEAR_CONSTANT 1e-10

#endif
