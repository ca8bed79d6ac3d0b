/* houses_data.h - sales of houses that were never built: a table whose rule is known.
 *
 *     price = start + 2.6 area + 9 rooms - 0.8 age - 5 distance + what the district adds + noise
 *
 * in thousands; area in m2, age in years, distance to the centre in km.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_HOUSES_H
#define CLI_HOUSES_H

#include "demo/toy.h"

enum { HOUSES_NUMBERS = 4, HOUSES_DISTRICTS = 4 };

typedef struct houses_number {
    const char *name, *per; /* the column; what one unit of it is */
    double worth;           /* of a unit, in thousands */
} houses_number;

typedef struct houses_district {
    const char *name;
    double worth; /* against the first one, in thousands */
} houses_district;

extern const houses_number houses_numbers[HOUSES_NUMBERS];
extern const houses_district houses_districts[HOUSES_DISTRICTS];
extern const double houses_start; /* of a house of nothing in the first district */
extern const double houses_noise; /* standard deviation */

/* The same ones every time. */
toy_line_fn houses_line;

#endif
