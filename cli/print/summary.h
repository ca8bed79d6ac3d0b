/* summary.h - what a factor analysis found, for a person or a program.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "print/output.h"

typedef struct summary {
    fab_factors *f;
    const fab_rotation *r;
    const char *file, *output; /* DATA; NULL: nothing was saved */
    int64_t json, quiet;
} summary;

int summary_say(const summary *s);

/* What is known where no process has all coordinates, of which there are D: no loadings, no names.  s->r is not looked at. */
int summary_say_shared(const summary *s, const fab_fa_report *r, int64_t D, int64_t processes);

/* The sentence of a factor analysis that failed at its rows: FAILED. */
int factors_failed(const char *who, fab_status s);

#endif
