/* map.h - what is said of features of a kernel.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_MAP_H
#define CLI_MAP_H

#include "print/output.h"

/* A line for a person; members of an object for a program.  Nothing where there are none. */
int map_print(const fab_regression *r);
void map_put(json_t *j, const fab_regression *r);

#endif
