/* mixture.h - which part of a mixture a draw comes from.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_MIXTURE_H
#define FAB_POSTERIOR_MIXTURE_H

#include "fabayes/gauss.h"
#include "fabayes/random.h"

/* The part of draw `number`, as fab_mixture_sample chooses it. */
int64_t fab_mixture_part(const fab_mixture *m, uint64_t seed, fab_purpose purpose, int64_t number);

#endif
