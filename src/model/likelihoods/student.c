/* student.c - y = eta + noise of Student's t: a gaussian likelihood of nu > 2 degrees of freedom, scale beta^-1/2.
 *
 * Its rows count (nu + 1) / (nu + beta r^2) times those of a normal: rows far off say less.  Under a Gaussian eta, t is
 * a sum of normals (base/student.h), so that y is normal again in each.
 *
 * SPDX-License-Identifier: MIT */
#include "base/student.h"
#include "model/likelihoods/cdf.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>

static int fits(const fab_glm *m, double y)
{
    (void)m;
    return isfinite(y);
}

/* The curvature is the expected one: the other is negative beyond sqrt(nu / beta). */
static double loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                     double *curvature)
{
    const double r = y - *eta, nu = m->nu, z2 = m->beta * r * r;
    if (gradient) *gradient = m->beta * r * (nu + 1) / (nu + z2);
    if (curvature) *curvature = m->beta * (nu + 1) / (nu + 3);
    return 0.5 * log(m->beta) + fab_student_log_top(nu) - (nu + 1) / 2 * log1p(z2 / nu);
}

static double start(double mean, double n)
{
    (void)n;
    return mean;
}

static double noise_curvature(const fab_glm *m)
{
    return m->nu / (m->nu + 3) / 2;
}

/* ---- eta ~ N(u, v) ------------------------------------------------------------------------------------ */

static void moments(const fab_glm *m, double u, double v, double *mean, double *variance)
{
    *mean = u;
    *variance = v + m->nu / (m->nu - 2) / m->beta;
}

static double logp(const fab_glm *m, double u, double v, double y)
{
    double precision[FAB_STUDENT_NORMALS], weight[FAB_STUDENT_NORMALS], most = -INFINITY, sum = 0;
    fab_glm normal = *m;
    if (!(v > 0)) return loglik(m, y, &u, NULL, NULL);
    fab_student_normals(m->nu, precision, weight);
    for (int j = 0; j < FAB_STUDENT_NORMALS; j++) {
        normal.beta = m->beta * precision[j];
        precision[j] = fab_likelihood_gaussian.logp(&normal, u, v, y);
        most = fmax(most, precision[j]);
    }
    for (int j = 0; j < FAB_STUDENT_NORMALS; j++) sum += weight[j] * exp(precision[j] - most);
    return most + log(sum);
}

static double cdf(const fab_glm *m, double u, double v, double y)
{
    double precision[FAB_STUDENT_NORMALS], weight[FAB_STUDENT_NORMALS], sum = 0;
    fab_glm normal = *m;
    if (!(v > 0)) return fab_student_cdf(m->nu, (y - u) * sqrt(m->beta));
    fab_student_normals(m->nu, precision, weight);
    for (int j = 0; j < FAB_STUDENT_NORMALS; j++) {
        normal.beta = m->beta * precision[j];
        sum += weight[j] * fab_likelihood_gaussian.cdf(&normal, u, v, y);
    }
    return sum;
}

static void interval(const fab_glm *m, double u, double v, double *lower, double *upper)
{
    const fab_predictor p = {m, u, v};
    double mean, variance;
    moments(m, u, v, &mean, &variance);
    *lower = fab_cdf_quantile(fab_predictor_cdf, &p, 0.05, mean, sqrt(variance));
    *upper = fab_cdf_quantile(fab_predictor_cdf, &p, 0.95, mean, sqrt(variance));
}

static double crps(const fab_glm *m, double u, double v, double y)
{
    const fab_predictor p = {m, u, v};
    double mean, variance;
    moments(m, u, v, &mean, &variance);
    return fab_cdf_crps(fab_predictor_cdf, &p, y, sqrt(variance));
}

const fab_likelihood_row fab_likelihood_student = {
    .name = "gaussian",
    .target = FAB_TARGET_REAL,
    .noise = 1,
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
    .normals = fab_student_normals,
};
