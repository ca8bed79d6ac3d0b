/* learned.h - what a regression says when it is made.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LEARNED_H
#define CLI_LEARNED_H

#include "print/output.h"
#include <stdio.h>

/* For a program, or for a person.  `start`: when the call began.  An exit status, said. */
int learned_json(fab_regression *r, const char *output, double start);
int learned_print(fab_regression *r, int64_t quiet, double start);
/* Columns that name the rows: a line for each, or lists of their names where there are any. */
void keys_print(FILE *to, const fab_regression *r);
void keys_put(json_t *j, const fab_regression *r);
/* What rows left out say of the predictions, as `fit` and `score` tell it.  Gives an object. */
json_t *calibration_json(const fab_calibration *c);

#endif
