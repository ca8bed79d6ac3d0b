/* cdf.c - quantiles by bisection; crps = int_x<y F^2 + int_x>y (1 - F)^2 by Simpson's rule in asinh.
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/cdf.h"
#include <math.h>

#define REACH      40    /* standard deviations beyond which a normal has nothing */
#define CLOSE      1e-12 /* of a quantile, relative to the spread */
#define CRPS_REACH 9.0   /* of u = asinh(x / sd): 4000 standard deviations */
enum { CRPS_STEPS = 64 };

double fab_cdf_least(fab_cdf *cdf, const void *ctx, double p)
{
    double lo = -1, hi = 1;
    while (cdf(ctx, hi) < p && hi < 1e300) {
        lo = hi;
        hi *= 2;
    }
    while (hi - lo > 1 && hi - lo > 1e-9 * hi) {
        const double k = floor(lo + (hi - lo) / 2);
        if (cdf(ctx, k) < p)
            lo = k;
        else
            hi = k;
    }
    return hi;
}

double fab_cdf_quantile(fab_cdf *cdf, const void *ctx, double p, double mean, double sd)
{
    double lo = mean - REACH * sd, hi = mean + REACH * sd;
    while (hi - lo > CLOSE * (sd + fabs(mean) * 1e-3)) {
        const double t = lo + (hi - lo) / 2;
        if (t <= lo || t >= hi) break;
        if (cdf(ctx, t) < p)
            lo = t;
        else
            hi = t;
    }
    return lo + (hi - lo) / 2;
}

void fab_cdf_interval(fab_cdf *cdf, const void *ctx, int counts, double level, double mean,
                      double sd, double *lower, double *upper)
{
    const double below = (1 - level) / 2, above = (1 + level) / 2;
    *lower = counts ? fab_cdf_least(cdf, ctx, below) : fab_cdf_quantile(cdf, ctx, below, mean, sd);
    *upper = counts ? fab_cdf_least(cdf, ctx, above) : fab_cdf_quantile(cdf, ctx, above, mean, sd);
}

static double simpson(int k)
{
    if (k == 0 || k == CRPS_STEPS) return 1.0 / 3;
    return k % 2 ? 4.0 / 3 : 2.0 / 3;
}

/* sd * sum over x = y +- sd sinh(u) */
double fab_cdf_crps(fab_cdf *cdf, const void *ctx, double y, double sd)
{
    double sum = 0;
    for (int k = 0; k <= CRPS_STEPS; k++) {
        const double u = CRPS_REACH * k / CRPS_STEPS, x = sd * sinh(u), below = cdf(ctx, y - x),
                     above = 1 - cdf(ctx, y + x);
        sum += simpson(k) * cosh(u) * (below * below + above * above);
    }
    return sd * sum * CRPS_REACH / CRPS_STEPS;
}
