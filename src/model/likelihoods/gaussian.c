/* gaussian.c - y = eta + normal noise of precision beta.  Everything is closed.
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/likelihood.h"
#include <math.h>

#define PI           3.14159265358979323846
#define LOG_2_PI     1.8378770664093454836
#define ROOT_2_PI    2.5066282746310002
#define INV_SQRT_PI  0.56418958354775628695
#define INV_SQRT_2PI 0.39894228040143267794
#define Z90          1.6448536269514722 /* 90 % of a normal lie within */

static int fits(const fab_glm *m, double y)
{
    (void)m;
    return isfinite(y);
}

static double loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                     double *curvature)
{
    const double beta = m->beta, r = y - *eta;
    if (gradient) *gradient = beta * r;
    if (curvature) *curvature = beta;
    return 0.5 * (log(beta) - LOG_2_PI - beta * r * r);
}

static double noise_curvature(const fab_glm *m)
{
    (void)m;
    return 1.0 / 2;
}

static double start(double mean, double n)
{
    (void)n;
    return mean;
}

/* ---- eta ~ N(u, v) ------------------------------------------------------------------------------------ */

static void moments(const fab_glm *m, double u, double v, double *mean, double *variance)
{
    *mean = u;
    *variance = v + 1 / m->beta;
}

static void interval(const fab_glm *m, double u, double v, double *lower, double *upper)
{
    const double sd = sqrt(v + 1 / m->beta);
    *lower = u - Z90 * sd;
    *upper = u + Z90 * sd;
}

static double logp(const fab_glm *m, double u, double v, double y)
{
    const double s2 = v + 1 / m->beta, d = y - u;
    return -0.5 * (log(2 * PI * s2) + d * d / s2);
}

static double cdf(const fab_glm *m, double u, double v, double y)
{
    return 0.5 * erfc((u - y) / sqrt(2 * (v + 1 / m->beta)));
}

static double crps(const fab_glm *m, double u, double v, double y)
{
    const double sd = sqrt(v + 1 / m->beta), z = (y - u) / sd;
    const double density = INV_SQRT_2PI * exp(-z * z / 2);
    return sd * (z * erf(z / sqrt(2)) + 2 * density - INV_SQRT_PI);
}

/* ---- recursive inference ------------------------------------------------------------------------------ */

/* weight = w, error = w (y - u0) / (1 + w v0) */
static fab_scalar update(const fab_nodes *n, double y, double w, double u0, double v0)
{
    (void)n;
    const double error = w * (y - u0) / (1 + w * v0);
    return (fab_scalar){u0 + v0 * error, v0 / (1 + w * v0), error, w};
}

static double evidence(double y, double w, double u0, double v0, const fab_scalar *s)
{
    (void)s;
    const double variance = 1 / w + v0, r = y - u0;
    return -log(ROOT_2_PI) - 0.5 * (log(variance) + r * r / variance);
}

static double mean_loglik(const fab_glm *m, double y, double u, double v, double *gradient,
                          double *curvature)
{
    return loglik(m, y, &u, gradient, curvature) - 0.5 * m->beta * v;
}

const fab_likelihood_row fab_likelihood_gaussian = {
    .name = "gaussian",
    .target = FAB_TARGET_REAL,
    .noise = 1,
    .normal = 1,
    .tailed = &fab_likelihood_student,
    .fits = fits,
    .range = "a finite number",
    .loglik = loglik,
    .noise_curvature = noise_curvature,
    .start = start,
    .moments = moments,
    .interval = interval,
    .logp = logp,
    .cdf = cdf,
    .crps = crps,
    .update = update,
    .evidence = evidence,
    .mean_loglik = mean_loglik,
};
