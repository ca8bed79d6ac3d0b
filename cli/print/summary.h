/* summary.h - what a factor analysis found, for a person or a program.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "factors.h"
#include "rank.h"

/* Print it; `ranks` is NULL unless the rank was chosen. */
int summary_say(fit *f, const factors *turned, const rank_search *ranks, int64_t json);

#endif
