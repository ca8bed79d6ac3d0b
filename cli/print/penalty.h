/* penalty.h - what a regularised risk found: its lambda, what was tried for it, and how near to the least it ended.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_CLI_PRINT_PENALTY_H
#define FAB_CLI_PRINT_PENALTY_H

#include "print/output.h"

/* Nothing where the method has no such penalty. */
int penalty_put(json_t *j, fab_regression *r, const fab_report *f);
int penalty_print(fab_regression *r, const fab_report *f);

#endif
