/* matern52.c - (1 + s + s^2 / 3) exp(-s), s = sqrt(5 q).
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"

static void curve(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own)
{
    (void)f, (void)own;
    for (int64_t i = 0; i < n; i++) v[i] = sqrt(5 * u[i]);
    fab_decay(n, -1, v, v);
    if (slope)
        for (int64_t i = 0; i < n; i++) slope[i] = -5.0 / 6 * v[i] * (1 + sqrt(5 * u[i]));
    for (int64_t i = 0; i < n; i++) v[i] *= 1 + sqrt(5 * u[i]) + 5.0 / 3 * u[i];
}

const fab_basic fab_basic_matern52 = {.name = "matern52",
                                      .shape = &fab_squares,
                                      .lengths = FAB_LENGTHS_ANY,
                                      .stationary = 1,
                                      .curve = curve};
