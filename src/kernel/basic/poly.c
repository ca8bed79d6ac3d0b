/* poly.c - (x . z + c)^m.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"

static double power(double x, int64_t m)
{
    double y = 1;
    for (; m > 0; m /= 2, x *= x)
        if (m % 2) y *= x;
    return y;
}

static void curve(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own)
{
    const double c = f->value;
    const int64_t m = (int64_t)f->given;
    for (int64_t i = 0; i < n; i++) v[i] = power(u[i] + c, m);
    if (slope)
        for (int64_t i = 0; i < n; i++) slope[i] = f->given * power(u[i] + c, m - 1);
    if (own)
        for (int64_t i = 0; i < n; i++) own[i] = c * f->given * power(u[i] + c, m - 1);
}

const fab_basic fab_basic_poly = {.name = "poly",
                                  .shape = &fab_dots,
                                  .lengths = FAB_LENGTHS_NONE,
                                  .own = {"c", 1, 1e-3, 1e3},
                                  .given = "m",
                                  .given_default = 2,
                                  .given_lo = 1,
                                  .given_hi = 20,
                                  .given_whole = 1,
                                  .curve = curve};
