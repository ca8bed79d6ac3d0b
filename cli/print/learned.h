/* learned.h - what a regression says when it is made.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LEARNED_H
#define CLI_LEARNED_H

#include "print/output.h"

/* For a program, or for a person.  `start`: when the call began.  An exit status, said. */
int learned_json(fab_regression *r, const char *output, double start);
int learned_print(fab_regression *r, int64_t quiet, double start);

#endif
