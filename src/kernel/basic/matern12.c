/* matern12.c - exp(-r), r = sqrt(q).
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"

static void curve(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own)
{
    (void)f, (void)own;
    for (int64_t i = 0; i < n; i++) v[i] = sqrt(u[i]);
    fab_decay(n, -1, v, v);
    if (!slope) return;
    for (int64_t i = 0; i < n; i++) slope[i] = u[i] > 0 ? -v[i] / (2 * sqrt(u[i])) : 0;
}

const fab_basic fab_basic_matern12 = {.name = "matern12",
                                      .alias = "exponential",
                                      .shape = &fab_squares,
                                      .lengths = FAB_LENGTHS_ANY,
                                      .stationary = 1,
                                      .curve = curve};
