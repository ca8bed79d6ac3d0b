/* inputs.h - the inputs of the regressions of [L] section 5.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STUDIES_INPUTS_H
#define STUDIES_INPUTS_H

#include <stdint.h>

/* N rows of N(0, M' diag(1, 1/2, .., 1/d) M) with a uniform rotation M that depends on the seed: N x d. */
void inputs_draw(int64_t d, int64_t N, uint64_t seed, double *x);

/* Divide the rows by the mean of their norms: what the text of [L] says. */
void inputs_normalise(int64_t d, int64_t N, double *x);

/* Divide the rows by the norm of their spectrum, (sum 1/i^2)^1/2: what its program does.  Their norms are then
 * about 2.1 at d = 1000. */
void inputs_divide_by_spectrum(int64_t d, int64_t N, double *x);

#endif
