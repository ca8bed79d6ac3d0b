/* poisson.c - y counts, with mean exp(eta).
 *
 * A rate or an amount y >= 0 that is no count is taken too, with Gamma(y + 1) for y!: quasi-likelihood, as other
 * packages take it.  Predictions stay counts.
 *
 * For y >= 16, with d = eta - log y, log p = -y (exp(d) - 1 - d) - log(2 pi y)/2 - Stirling's rest: nothing large is
 * subtracted from something large.  One example of recursive inference:
 *
 *   1  E m = E m' = exp(u + v/2), so for a fixed v  q + exp(q) = u0 + v0 w y + log(v0 w) + v/2,  exp(q) = v0 w E m
 *      (Lambert's function of an exponential: nothing overflows)
 *   2  v - v0 / (1 + exp(q(v))) increases on [0, v0]
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/counts.h"
#include "model/likelihoods/likelihood.h"
#include "model/likelihoods/root.h"
#include <math.h>

#define LOG_2_PI 1.8378770664093454836
#define TINY     1e-290 /* a variance below this is none */
/* Counts from here on by Stirling's series, whose first term left out is 1e-14. */
enum { STIRLING = 16 };

static int fits(const fab_glm *m, double y)
{
    (void)m;
    return y >= 0 && y <= 0x1p53;
}

/* log y! = y log y - y + log(2 pi y)/2 + rest */
static double stirling_rest(double y)
{
    const double i = 1 / y, i2 = i * i;
    return i * (1.0 / 12 - i2 * (1.0 / 360 - i2 * (1.0 / 1260 - i2 / 1680)));
}

static double loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                     double *curvature)
{
    (void)m;
    const double mean = exp(*eta);
    if (curvature) *curvature = mean;
    if (y >= STIRLING) {
        const double d = *eta - log(y), excess = expm1(d);
        if (gradient) *gradient = -y * excess;
        return -y * (excess - d) - 0.5 * (LOG_2_PI + log(y)) - stirling_rest(y);
    }
    double factorial = 1;
    for (int k = 2; k <= (int)y; k++) factorial *= k;
    const double log_factorial = y == floor(y) ? log(factorial) : lgamma(y + 1);
    if (gradient) *gradient = y - mean;
    return (y > 0 ? y * *eta : 0) - mean - log_factorial;
}

static double start(double mean, double n)
{
    return log((mean * n + 0.5) / (n + 1));
}

/* ---- eta ~ N(u, v) ------------------------------------------------------------------------------------ */

static void moments(const fab_glm *m, double u, double v, double *mean, double *variance)
{
    (void)m;
    *mean = exp(u + v / 2);
    *variance = *mean + *mean * *mean * expm1(v);
}

static void interval(const fab_glm *m, double u, double v, double *lower, double *upper)
{
    (void)m;
    *lower = fab_count_quantile(u, v, 0.05);
    *upper = fab_count_quantile(u, v, 0.95);
}

static double logp(const fab_glm *m, double u, double v, double y)
{
    (void)m;
    return fab_count_logp(u, v, y);
}

static double cdf(const fab_glm *m, double u, double v, double y)
{
    (void)m;
    return fab_count_cdf(u, v, y);
}

/* ---- recursive inference ------------------------------------------------------------------------------ */

typedef struct equation {
    double y, w, u0, v0;
    double q; /* of the v tried last */
} equation;

/* q with q + exp(q) = sum: Newton from the right, where the function is convex. */
static double lambert(double sum)
{
    double q = sum > 1 ? log(sum) : sum;
    for (int i = 0; i < FAB_ROOT_STEPS; i++) {
        const double e = exp(q), step = (q + e - sum) / (1 + e);
        q -= step;
        if (fabs(step) <= FAB_ROOT_CLOSE * (1 + fabs(q))) break;
    }
    return q;
}

/* 1, 2 */
static double residual(void *ctx, double v)
{
    equation *q = ctx;
    const double gain = q->v0 * q->w;
    q->q = lambert(q->u0 + gain * q->y + log(gain) + 0.5 * v);
    return v - q->v0 / (1 + exp(q->q));
}

static fab_scalar update(const fab_nodes *n, double y, double w, double u0, double v0)
{
    (void)n;
    equation q = {.y = y, .w = w, .u0 = u0, .v0 = v0};
    if (!(v0 > TINY)) return (fab_scalar){u0, 0, w * (y - exp(u0)), w * exp(u0)};
    const double v = fab_root(residual, &q, 0, v0), gain = v0 * w;
    residual(&q, v);
    const double mean = exp(q.q) / gain, u = q.q - log(gain) - 0.5 * v;
    const double error = exp(q.q) > 1 ? (u - u0) / v0 : w * (y - mean);
    return (fab_scalar){u, v, error, w * mean};
}

static void expected(const fab_nodes *n, double y, double w, double u, double v, double *error,
                     double *weight)
{
    (void)n;
    const double mean = exp(u + 0.5 * v);
    *error = w * (y - mean);
    *weight = w * mean;
}

/* A bound: the integral has no closed form. */
static double evidence(double y, double w, double u0, double v0, const fab_scalar *s)
{
    const double fit = w * (y * s->u - s->weight / w - lgamma(y + 1)); /* E log p under N(u, v) */
    if (!(v0 > TINY)) return fit;
    const double r = s->v / v0, d = s->u - u0;
    return fit - 0.5 * (r - 1 - log(r) + d * d / v0);
}

/* E exp(eta) = exp(u + v/2); the rest is linear in eta. */
static double mean_loglik(const fab_glm *m, double y, double u, double v, double *gradient,
                          double *curvature)
{
    const double shifted = u + 0.5 * v, value = loglik(m, y, &shifted, gradient, curvature);
    return value - (y > 0 ? 0.5 * y * v : 0);
}

const fab_likelihood_row fab_likelihood_poisson = {
    .name = "poisson",
    .target = FAB_TARGET_COUNTS,
    .fits = fits,
    .range = "a count or another number >= 0",
    .loglik = loglik,
    .start = start,
    .moments = moments,
    .interval = interval,
    .logp = logp,
    .cdf = cdf,
    .update = update,
    .expected = expected,
    .evidence = evidence,
    .mean_loglik = mean_loglik,
};
