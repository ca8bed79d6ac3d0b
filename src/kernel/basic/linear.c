/* linear.c - sum_j x_j z_j / l_j^2.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"
#include <string.h>

static void curve(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own)
{
    (void)f, (void)own;
    memcpy(v, u, (size_t)n * sizeof *v);
    if (!slope) return;
    for (int64_t i = 0; i < n; i++) slope[i] = 1;
}

const fab_basic fab_basic_linear = {
    .name = "linear", .shape = &fab_dots, .lengths = FAB_LENGTHS_ARD, .curve = curve};
