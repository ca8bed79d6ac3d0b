/* sobol.h - Sobol's points: numbers that fill a cube more evenly than random ones.
 *
 *     fab_sobol s;
 *     fab_sobol_init(&s, seed, FAB_PURPOSE_START, 0, D);
 *     for (uint64_t i = 0; i < n; i++) fab_sobol_point(&s, i, u + i * D);
 *
 * Of the first 2^k points one lies in each of 2^k equal slices along every coordinate.  The seed turns bits of all points
 * alike (a digital shift), which keeps that.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_SOBOL_H
#define FAB_BASE_SOBOL_H

#include "fabayes/random.h"

enum { FAB_SOBOL_MAX = 32, FAB_SOBOL_BITS = 32 };

typedef struct fab_sobol {
    uint64_t seed, stream;
    fab_purpose purpose;
    int64_t D;
    uint32_t shift[FAB_SOBOL_MAX];
    uint32_t direction[FAB_SOBOL_MAX][FAB_SOBOL_BITS];
} fab_sobol;

/* D >= 0 coordinates; those behind FAB_SOBOL_MAX are random numbers.  Shift and numbers are of (seed, purpose, stream). */
void fab_sobol_init(fab_sobol *s, uint64_t seed, fab_purpose purpose, uint64_t stream, int64_t D);

/* Point `index`, below 2^32: D numbers in (0, 1). */
void fab_sobol_point(const fab_sobol *s, uint64_t index, double *u);

#endif
