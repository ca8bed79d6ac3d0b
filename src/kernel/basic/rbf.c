/* rbf.c - exp(-q / 2).
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"

static void curve(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own)
{
    (void)f, (void)own;
    fab_decay(n, -0.5, u, v);
    if (!slope) return;
    for (int64_t i = 0; i < n; i++) slope[i] = -v[i] / 2;
}

const fab_basic fab_basic_rbf = {.name = "rbf",
                                 .shape = &fab_squares,
                                 .lengths = FAB_LENGTHS_ANY,
                                 .stationary = 1,
                                 .curve = curve};
