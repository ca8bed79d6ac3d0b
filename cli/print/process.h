/* process.h - a Gaussian process as it was learned: its parameters in the units of the table.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_PROCESS_H
#define CLI_PROCESS_H

#include "print/output.h"

/* For a program: lml (through inducing inputs bound or approximate_lml), theta (name, value, at_bound), jitter, starts, optima; or for a person.  An exit status, said. */
int process_put(json_t *j, fab_regression *r);
int process_print(fab_regression *r);
/* What it maximised, in words: "log evidence", or what stands for it. */
const char *process_objective(const fab_process_summary *s);

#endif
