/* draws_y.c - what y will be, and scores, under a mixture of likelihoods (draws.h).
 *
 *   gaussian   F(y) = sum_s w_s Phi((y - m_s) / sd_s); quantiles by bisection;
 *              crps = sum_s w_s A(y - m_s, sd_s^2) - sum_s,t w_s w_t A(m_s - m_t, sd_s^2 + sd_t^2) / 2,
 *              A(m, v) = 2 sqrt(v) phi(m / sqrt(v)) + m (2 Phi(m / sqrt(v)) - 1)
 *              Student's t: F of t, and crps = int_x<y F^2 + int_x>y (1 - F)^2 by Simpson's rule
 *   poisson    F(k) = sum_s w_s P(Poisson(exp(eta_s)) <= k)
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/student.h"
#include "fabayes/predict.h"
#include "predict/counts.h"
#include "predict/score.h"
#include <math.h>

#define INV_SQRT_2PI 0.39894228040143267794
#define REACH        40    /* standard deviations beyond which a normal has nothing */
#define CLOSE        1e-12 /* of a quantile, relative to the spread */
#define CRPS_REACH   9.0   /* of u = asinh(x / sd): 4000 standard deviations */
enum { CRPS_STEPS = 64 };

/* ---- moments ------------------------------------------------------------------------------------------ */

/* The variance of the predictor of component s: 0 of a draw. */
static double spread_of(const fab_draws *d, int64_t s, int64_t i)
{
    return d->variance ? d->variance[s * d->n + i] : 0;
}

/* The variance of y under component s of a gaussian target. */
static double variance_of(const fab_draws *d, int64_t s, int64_t i)
{
    const double nu = d->head.nu, tails = nu > 0 ? nu / (nu - 2) : 1;
    return spread_of(d, s, i) + tails / d->beta[s * d->n + i];
}

/* Mean of y under component s, and its variance. */
static void moments_of(const fab_draws *d, int64_t s, int64_t i, double *mean, double *variance)
{
    const double eta = d->eta[s * d->n + i], v = spread_of(d, s, i);
    if (d->beta) {
        *mean = eta;
        *variance = variance_of(d, s, i);
    } else if (d->head.likelihood == FAB_LIKELIHOOD_POISSON) {
        *mean = exp(eta + v / 2);
        *variance = *mean + *mean * *mean * expm1(v);
    } else {
        fab_prediction p;
        fab_predict_y(&d->head, eta, v, &p);
        *mean = p.mean;
        *variance = p.mean * (1 - p.mean);
    }
}

/* Mean and variance of the mixture. */
static void mixture_moments(const fab_draws *d, int64_t i, double *mean, double *variance)
{
    double m, v;
    *mean = *variance = 0;
    for (int64_t s = 0; s < d->samples; s++) {
        moments_of(d, s, i, &m, &v);
        *mean += d->weight[s] * m;
    }
    for (int64_t s = 0; s < d->samples; s++) {
        moments_of(d, s, i, &m, &v);
        *variance += d->weight[s] * (v + (m - *mean) * (m - *mean));
    }
}

/* ---- distribution --------------------------------------------------------------------------------------- */

static double component_cdf(const fab_draws *d, int64_t s, int64_t i, double y)
{
    const int64_t at = s * d->n + i;
    const double eta = d->eta[at];
    if (!d->beta) return fab_count_cdf(eta, spread_of(d, s, i), y);
    if (d->head.nu > 0) return fab_student_cdf(d->head.nu, (y - eta) * sqrt(d->beta[at]));
    return 0.5 * erfc((eta - y) / sqrt(2 * variance_of(d, s, i)));
}

static double cdf(const fab_draws *d, int64_t i, double y)
{
    double sum = 0;
    for (int64_t s = 0; s < d->samples; s++) sum += d->weight[s] * component_cdf(d, s, i, y);
    return sum;
}

static double real_quantile(const fab_draws *d, int64_t i, double p, double mean, double sd)
{
    double lo = mean - REACH * sd, hi = mean + REACH * sd;
    while (hi - lo > CLOSE * (sd + fabs(mean) * 1e-3)) {
        const double t = lo + (hi - lo) / 2;
        if (t <= lo || t >= hi) break;
        if (cdf(d, i, t) < p)
            lo = t;
        else
            hi = t;
    }
    return lo + (hi - lo) / 2;
}

typedef struct row_of {
    const fab_draws *d;
    int64_t i;
} row_of;

static double row_cdf(const void *ctx, double k)
{
    const row_of *r = ctx;
    return cdf(r->d, r->i, k);
}

void fab_draws_predict(const fab_draws *d, int64_t i, fab_prediction *p)
{
    double variance;
    mixture_moments(d, i, &p->mean, &variance);
    p->sd = sqrt(variance);
    if (d->beta) {
        p->lower = real_quantile(d, i, 0.05, p->mean, p->sd);
        p->upper = real_quantile(d, i, 0.95, p->mean, p->sd);
    } else if (d->head.likelihood == FAB_LIKELIHOOD_POISSON) {
        const row_of r = {d, i};
        p->lower = fab_count_least(row_cdf, &r, 0.05);
        p->upper = fab_count_least(row_cdf, &r, 0.95);
    } else {
        p->lower = p->mean > 0.95;
        p->upper = p->mean > 0.05;
    }
}

/* ---- scores --------------------------------------------------------------------------------------------- */

static double spread(double m, double v)
{
    const double sd = sqrt(v), z = m / sd;
    return 2 * sd * INV_SQRT_2PI * exp(-z * z / 2) + m * erf(z / sqrt(2));
}

static double simpson(int k)
{
    return k == 0 || k == CRPS_STEPS ? 1.0 / 3 : k % 2 ? 4.0 / 3 : 2.0 / 3;
}

/* Of heavy tails: sd * sum over x = y +- sd sinh(u). */
static double tailed_crps(const fab_draws *d, int64_t i, double y, double sd)
{
    double sum = 0;
    for (int k = 0; k <= CRPS_STEPS; k++) {
        const double u = CRPS_REACH * k / CRPS_STEPS, x = sd * sinh(u), below = cdf(d, i, y - x),
                     above = 1 - cdf(d, i, y + x);
        sum += simpson(k) * cosh(u) * (below * below + above * above);
    }
    return sd * sum * CRPS_REACH / CRPS_STEPS;
}

static double crps(const fab_draws *d, int64_t i, double y)
{
    double sum = 0;
    for (int64_t s = 0; s < d->samples; s++) {
        const double m = d->eta[s * d->n + i], v = variance_of(d, s, i);
        sum += d->weight[s] * spread(y - m, v);
        for (int64_t t = 0; t < s; t++) /* twice, halved */
            sum -= d->weight[s] * d->weight[t] *
                   spread(m - d->eta[t * d->n + i], v + variance_of(d, t, i));
        sum -= 0.5 * d->weight[s] * d->weight[s] * spread(0, 2 * v);
    }
    return sum;
}

static void score_real(const fab_draws *d, int64_t i, double y, double mean, double variance,
                       fab_scores *s)
{
    const double inside = fabs(2 * cdf(d, i, y) - 1); /* of the central interval that reaches y */
    s->mae += fabs(y - mean);
    s->crps += d->head.nu > 0 ? tailed_crps(d, i, y, sqrt(variance)) : crps(d, i, y);
    s->coverage50 += inside <= 0.50;
    s->coverage90 += inside <= 0.90;
    s->coverage95 += inside <= 0.95;
}

static fab_status score_classes(const fab_draws *d, const double *y, fab_scores *s)
{
    const int64_t C = d->head.classes;
    double *logp;
    FAB_TRY(fab_alloc_array((void **)&logp, d->n * C, sizeof *logp, "score"));
    for (int64_t i = 0; i < d->n; i++) fab_draws_classes(d, i, logp + i * C);
    const fab_status done = fab_score_classes(C, d->n, logp, y, s);
    fab_release(logp);
    return done;
}

static fab_status score_two(const fab_draws *d, const double *y, fab_scores *s)
{
    double *p, variance;
    FAB_TRY(fab_alloc_array((void **)&p, d->n, sizeof *p, "score"));
    for (int64_t i = 0; i < d->n; i++) mixture_moments(d, i, &p[i], &variance);
    const fab_status done = fab_score_probabilities(d->n, p, y, s);
    fab_release(p);
    return done;
}

fab_status fab_draws_score(const fab_draws *d, const double *y, fab_scores *s)
{
    *s = (fab_scores){.n = d->n};
    if (d->head.likelihood == FAB_LIKELIHOOD_CATEGORICAL) return score_classes(d, y, s);
    for (int64_t i = 0; i < d->n; i++) {
        double mean, variance;
        mixture_moments(d, i, &mean, &variance);
        s->nll -= fab_draws_logp(d, i, y[i]);
        s->rmse += (y[i] - mean) * (y[i] - mean);
        s->dispersion += (y[i] - mean) * (y[i] - mean) / variance;
        if (d->beta) score_real(d, i, y[i], mean, variance, s);
    }
    if (d->head.likelihood == FAB_LIKELIHOOD_BERNOULLI) FAB_TRY(score_two(d, y, s));
    fab_score_finish(d->head.likelihood, s);
    return FAB_OK;
}
