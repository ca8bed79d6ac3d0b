/* ranges.c - a posterior in a few numbers.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/gauss.h"
#include <math.h>

static void widen(double x, double *lo, double *hi)
{
    if (x < *lo) *lo = x;
    if (x > *hi) *hi = x;
}

fab_status fab_mixture_ranges(const fab_mixture *m, const fab_exec *x, fab_ranges *r)
{
    const int64_t D = m->part[0]->D;
    double *mean;
    *r = (fab_ranges){INFINITY, -INFINITY, INFINITY, -INFINITY};
    FAB_TRY(fab_alloc_array((void **)&mean, 2 * D, sizeof *mean, "ranges"));
    double *variance = mean + D;
    fab_status s = fab_mixture_moments(m, x, mean, variance);
    for (int64_t d = 0; d < D && s == FAB_OK; d++) {
        if (!isfinite(mean[d]) || !isfinite(variance[d]))
            s = FAB_FAIL(FAB_NUMERIC,
                         "posterior: coordinate %lld has mean %g and variance %g: its numbers are "
                         "too large to be squared",
                         (long long)d, mean[d], variance[d]);
        widen(mean[d], &r->mean_lo, &r->mean_hi);
        widen(sqrt(variance[d]), &r->sd_lo, &r->sd_hi);
    }
    fab_release(mean);
    return s;
}

double fab_gauss_share(const fab_gauss *g)
{
    double in_F = 0, in_psi = 0;
    for (int64_t i = 0; i < g->D * g->K; i++) {
        const double f = g->type == FAB_F32 ? (double)((const float *)g->F)[i]
                                            : ((const double *)g->F)[i];
        in_F += f * f;
    }
    for (int64_t d = 0; d < g->D; d++) in_psi += g->psi[d];
    return in_F / (in_F + in_psi);
}
