/* periodic.c - exp(-u), u = 2 sum_j sin^2(pi (x_j - z_j) / p) / l^2.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"

static void curve(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own)
{
    (void)f, (void)own; /* the gradient by p is the shape's */
    fab_decay(n, -1, u, v);
    if (!slope) return;
    for (int64_t i = 0; i < n; i++) slope[i] = -v[i];
}

const fab_basic fab_basic_periodic = {.name = "periodic",
                                      .shape = &fab_waves,
                                      .lengths = FAB_LENGTHS_ONE,
                                      .own = {"p", 1, 1e-2, 1e2},
                                      .one_column = 1,
                                      .stationary = 1,
                                      .curve = curve};
