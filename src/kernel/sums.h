/* sums.h - sums in eight parts: quick, and in an order that is a matter of their length alone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_KERNEL_SUMS_H
#define FAB_KERNEL_SUMS_H

#include <stdint.h>

enum { FAB_PARTS = 8 };

static inline double fab_sum_of_parts(const double *part)
{
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
}

/* sum_i x_i y_i */
static inline double fab_dot(int64_t n, const double *x, const double *y)
{
    double part[FAB_PARTS] = {0};
    int64_t i = 0;
    for (; i + FAB_PARTS <= n; i += FAB_PARTS)
        for (int l = 0; l < FAB_PARTS; l++) part[l] += x[i + l] * y[i + l];
    for (int l = 0; i + l < n; l++) part[l] += x[i + l] * y[i + l];
    return fab_sum_of_parts(part);
}

/* sum_i h_i (x - z_i) */
static inline double fab_dot_of_differences(int64_t n, const double *h, double x, const double *z)
{
    double part[FAB_PARTS] = {0};
    int64_t i = 0;
    for (; i + FAB_PARTS <= n; i += FAB_PARTS)
        for (int l = 0; l < FAB_PARTS; l++) part[l] += h[i + l] * (x - z[i + l]);
    for (int l = 0; i + l < n; l++) part[l] += h[i + l] * (x - z[i + l]);
    return fab_sum_of_parts(part);
}

#endif
