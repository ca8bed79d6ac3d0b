/* synthetic.h - the linear regressions in two dimensions of [T] section 5.2.1 and B.2.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STUDIES_SYNTHETIC_H
#define STUDIES_SYNTHETIC_H

#include <stdint.h>

enum { SYNTHETIC_ROWS = 1000 };
#define SYNTHETIC_ALPHA 0.01 /* precisions: of the prior, of the noise */
#define SYNTHETIC_BETA  0.1

/* x ~ N(0, [1 .5; .5 1]), theta ~ N(0, 1 / alpha), y = x . theta + N(0, 1 / beta): x has 2 columns. */
void synthetic_rows(uint64_t seed, double *x, double *y);

#endif
