/* const.c - 1.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"

static void curve(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own)
{
    (void)f, (void)u, (void)own;
    for (int64_t i = 0; i < n; i++) v[i] = 1;
    if (!slope) return;
    for (int64_t i = 0; i < n; i++) slope[i] = 0;
}

const fab_basic fab_basic_const = {.name = "const",
                                   .shape = &fab_nothing,
                                   .lengths = FAB_LENGTHS_NONE,
                                   .stationary = 1,
                                   .curve = curve};
