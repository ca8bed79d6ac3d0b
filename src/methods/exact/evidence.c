/* evidence.c - alpha and beta of a linear model by maximising the evidence, given its spectrum.
 *
 * With l = alpha / beta everything is a sum over singular values:
 *
 *   1  Q(l) = rest + sum u_j^2 l / (l + s_j^2)                       the penalised sum of squares
 *   2  log evidence = nu/2 log beta - beta/2 Q(l) - 1/2 sum log(1 + s_j^2 / l) + constants
 *   3  both auto: beta = nu / Q(l);  alpha given: beta = alpha / l;  beta given: as it is
 *
 * so that one number, x = log l, is searched: a grid finds the highest hill, bisection of the slope its
 * top.  MacKay's fixed point has the same solutions, and may stop on the lower of two hills.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/exact/evidence.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/settings.h"
#include <math.h>

#define STEP      0.25    /* of the grid, in log l */
#define BEYOND    18.4    /* log 1e8: how far above the spectrum l is searched */
#define BELOW     69.1    /* log 1e30: how far below; a target without noise goes there */
#define EXACT_FIT 0x1p-50 /* residuals below this part of y are rounding: beta goes no higher */

/* 1, 3 */
static double penalised(const fab_evidence *v, double l)
{
    double q = v->rest, y2 = v->rest;
    for (int64_t j = 0; j < v->n; j++) {
        q += v->u2[j] * (l / (l + v->s2[j]));
        y2 += v->u2[j];
    }
    const double least = y2 * EXACT_FIT * EXACT_FIT;
    return q > least ? q : least;
}

static double beta_at(const fab_evidence *v, double l)
{
    if (!fab_is_auto_f64(v->beta)) return v->beta;
    return fab_is_auto_f64(v->alpha) ? v->nu / penalised(v, l) : v->alpha / l;
}

/* 2 */
static double value(fab_evidence *v, double x)
{
    const double l = exp(x), beta = beta_at(v, l);
    double sum = 0;
    for (int64_t j = 0; j < v->n; j++) sum += log1p(v->s2[j] / l);
    v->calls++;
    return 0.5 * (v->nu * log(beta) - beta * penalised(v, l) - sum);
}

/* Its slope by x. */
static double slope(fab_evidence *v, double x)
{
    const double l = exp(x), beta = beta_at(v, l), Q = penalised(v, l);
    double used = 0, dQ = 0; /* sum s^2 / (l + s^2);  dQ / dx */
    for (int64_t j = 0; j < v->n; j++) {
        const double share = v->s2[j] / (l + v->s2[j]);
        used += share;
        dQ += v->u2[j] * share * (l / (l + v->s2[j]));
    }
    v->calls++;
    const int given = !fab_is_auto_f64(v->alpha);
    return 0.5 * (used - beta * dQ + (given ? beta * Q - v->nu : 0));
}

static double top_between(fab_evidence *v, double lo, double hi)
{
    while (hi - lo > 1e-14 * (1 + fabs(lo))) {
        const double mid = lo + (hi - lo) / 2;
        if (mid <= lo || mid >= hi) break;
        if (slope(v, mid) > 0)
            lo = mid;
        else
            hi = mid;
    }
    return lo + (hi - lo) / 2;
}

/* Where to look for x: around the spectrum, or where beta is between that of y alone and an exact fit. */
static fab_status range(const fab_evidence *v, double *lo, double *hi)
{
    double least = INFINITY, most = 0, y2 = v->rest;
    for (int64_t j = 0; j < v->n; j++) {
        y2 += v->u2[j];
        if (v->s2[j] > 0 && v->s2[j] < least) least = v->s2[j];
        if (v->s2[j] > most) most = v->s2[j];
    }
    if (!(v->nu > 0))
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: too few rows to find alpha or beta by evidence: give both", v->who);
    if (fab_is_auto_f64(v->beta) && !(y2 > 0))
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: the target does not vary, so beta cannot be found: give beta", v->who);
    if (fab_is_auto_f64(v->alpha) && !(most > 0))
        return FAB_FAIL(FAB_BAD_DATA, "%s: no feature varies, so alpha cannot be found: give alpha",
                        v->who);
    *lo = log(least) - BELOW, *hi = log(most) + BEYOND;
    if (fab_is_auto_f64(v->alpha)) return FAB_OK;
    *hi = log(v->alpha) - log(v->nu / y2) + BEYOND;
    *lo = log(v->alpha) - log(v->nu / y2) + 2 * log(EXACT_FIT);
    return FAB_OK;
}

fab_status fab_exact_evidence(fab_evidence *v)
{
    double lo = 0, hi = 0, best = -INFINITY, at = 0;
    if (!fab_is_auto_f64(v->alpha) && !fab_is_auto_f64(v->beta)) return FAB_OK;
    FAB_TRY(range(v, &lo, &hi));
    for (double x = lo; x <= hi; x += STEP) {
        const double L = value(v, x);
        if (!(L > best)) continue;
        best = L;
        at = x;
    }
    if (!isfinite(best))
        return FAB_FAIL(FAB_NUMERIC, "%s: the evidence is not finite for any alpha and beta",
                        v->who);
    const double x = top_between(v, at - STEP, at + STEP), l = exp(x);
    if (x > hi - STEP && fab_is_auto_f64(v->alpha))
        fab_watch_log(&v->watch,
                      "%s: the evidence sees no signal: alpha stands at the end of its range",
                      v->who);
    v->beta = beta_at(v, l);
    if (fab_is_auto_f64(v->alpha)) v->alpha = l * v->beta;
    return FAB_OK;
}
