/* rq.c - (1 + q / (2 a))^-a.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"

static void curve(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own)
{
    const double a = f->value;
    for (int64_t i = 0; i < n; i++) v[i] = -a * log1p(u[i] / (2 * a));
    if (own) /* a d/da = k (w / (1 + w) - log(1 + w)) a, w = q / (2 a) */
        for (int64_t i = 0; i < n; i++) own[i] = v[i] + u[i] / 2 / (1 + u[i] / (2 * a));
    fab_decay(n, 1, v, v);
    if (own)
        for (int64_t i = 0; i < n; i++) own[i] *= v[i];
    if (slope)
        for (int64_t i = 0; i < n; i++) slope[i] = -v[i] / 2 / (1 + u[i] / (2 * a));
}

const fab_basic fab_basic_rq = {.name = "rq",
                                .shape = &fab_squares,
                                .lengths = FAB_LENGTHS_ANY,
                                .own = {"a", 1, 1e-2, 1e3},
                                .stationary = 1,
                                .curve = curve};
