/* acquisition.c - expected improvement, its probability, and the upper confidence bound.
 *
 * With x = -gamma and Mills' ratio R(x) = Phi(gamma) / phi(gamma) = sqrt(pi / 2) erfcx(x / sqrt 2), where erfcx(t) is
 * exp(t^2) erfc(t):
 *
 *   1  log Phi(gamma) = log R(x) - x^2 / 2 - log sqrt(2 pi)
 *   2  log(gamma Phi + phi) = log(1 - x R(x)) - x^2 / 2 - log sqrt(2 pi)
 *   3  x R(x) = 1 - 1/x^2 + 3/x^4 - 15/x^6 + ..,      for x >= FAR, where 1 - x R would cancel
 *
 * S. Ament et al., Unexpected improvements to expected improvement for Bayesian optimization, NeurIPS 2023, say why the
 * logarithm is what must be maximised.
 *
 * SPDX-License-Identifier: MIT */
#include "search/acquisition.h"
#include <assert.h>
#include <math.h>

#define LOG_SQRT_2PI 0.91893853320467274178
#define SQRT_HALF    0.70710678118654752440
#define SQRT_HALF_PI 1.25331413731550025121

/* At 10 term k of the series is (2k + 1)!! / 10^2k of the first one: 1e-15 at TERMS.  Nearer 1 - x R loses x^2 of 1e16. */
#define FAR 10.0
enum { TERMS = 20 };

/* x^2 (1 - x R(x)) = 1 - 3/x^2 + 15/x^4 - .. */
static double far_series(double x)
{
    double sum = 0;
    for (int k = TERMS; k >= 1; k--) sum = -(2 * k + 1) / (x * x) * (1 + sum);
    return 1 + sum;
}

/* R(x) and 1 - x R(x), x >= 0. */
static void mills(double x, double *R, double *rest)
{
    if (x >= FAR) {
        *rest = far_series(x) / (x * x); /* 3 */
        *R = (1 - *rest) / x;
    } else {
        *R = SQRT_HALF_PI * exp(x * x / 2) * erfc(x * SQRT_HALF);
        *rest = 1 - x * *R;
    }
}

static double Phi(double gamma)
{
    return 0.5 * erfc(-gamma * SQRT_HALF);
}

static double phi(double gamma)
{
    return exp(-gamma * gamma / 2 - LOG_SQRT_2PI);
}

double fab_log_improvement(double gamma, double *slope)
{
    double R, rest;
    if (gamma > -1) {
        const double h = gamma * Phi(gamma) + phi(gamma);
        *slope = Phi(gamma) / h;
        return log(h);
    }
    mills(-gamma, &R, &rest);
    *slope = R / rest;
    return log(rest) - gamma * gamma / 2 - LOG_SQRT_2PI; /* 2 */
}

double fab_log_probability(double gamma, double *slope)
{
    double R, rest;
    if (gamma > -1) {
        *slope = phi(gamma) / Phi(gamma);
        return log1p(-Phi(-gamma));
    }
    mills(-gamma, &R, &rest);
    *slope = 1 / R;
    return log(R) - gamma * gamma / 2 - LOG_SQRT_2PI; /* 1 */
}

double fab_promise_at(const fab_promise *p, double mean, double sd, double *by_mean, double *by_sd)
{
    assert(sd > 0 && p->kind != FAB_ACQUISITION_THOMPSON);
    if (p->kind == FAB_ACQUISITION_UCB) {
        *by_mean = 1;
        *by_sd = p->beta;
        return mean + p->beta * sd;
    }
    double slope;
    const int expected = p->kind == FAB_ACQUISITION_EI;
    const double gamma = (mean - p->best - p->xi) / sd;
    const double log_of = expected ? fab_log_improvement(gamma, &slope)
                                   : fab_log_probability(gamma, &slope);
    *by_mean = slope / sd;
    *by_sd = ((expected ? 1 : 0) - slope * gamma) / sd;
    return log_of + (expected ? log(sd) : 0);
}
