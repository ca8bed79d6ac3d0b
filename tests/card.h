/* card.h - kernels of a card, for tests; a program that finds none is skipped.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_CARD_H
#define FAB_TESTS_CARD_H

#include "la/ops.h"
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 }; /* what ctest takes for it */

static inline const fab_ops *card_ops(fab_dtype type)
{
    const fab_ops *ops;
    if (fab_ops_open(&ops, "cuda", type) == FAB_OK) return ops;
    printf("skipped: %s\n", fab_detail());
    exit(SKIPPED);
}

#endif
