/* left_out.c - is a colder posterior better for rows left out?
 *
 * SPDX-License-Identifier: MIT */
#include "train/left_out.h"
#include <math.h>

#define WORTH 0.005 /* nats a row */

static double weight_of(const double *weight, int64_t i)
{
    return weight ? weight[i] : 1;
}

double fab_left_out_mean(int64_t n, const double *weight, const double *density)
{
    long double sum = 0, weights = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weight_of(weight, i) > 0)) continue;
        sum += weight_of(weight, i) * density[i];
        weights += weight_of(weight, i);
    }
    return (double)(sum / weights);
}

int fab_left_out_gains(int64_t n, const double *weight, const double *now, const double *base,
                       double sure)
{
    double weights = 0, mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weight_of(weight, i) > 0)) continue;
        weights += weight_of(weight, i);
        mean += weight_of(weight, i) * (now[i] - base[i]);
    }
    mean /= weights;
    for (int64_t i = 0; i < n; i++) {
        if (!(weight_of(weight, i) > 0)) continue;
        const double off = now[i] - base[i] - mean;
        square += weight_of(weight, i) * off * off;
    }
    return mean > WORTH && mean * weights > sure * sqrt(square);
}
