/* negative_binomial.c - y counts, with mean m = exp(eta) and variance m + m^2 / beta: a Poisson rate that is itself spread.
 *
 *   log p = sum_{k < y} log(1 + k / beta) - log y! + y eta - (y + beta) log(1 + m / beta)
 *
 * in which nothing large is subtracted from something large as beta grows and p becomes Poisson's.  The distribution
 * function is the incomplete beta function I_x(beta, k + 1) of x = beta / (beta + m).  Under a Gaussian predictor densities are
 * integrated in eta by the trapezoid rule: the integrand is log-concave, and analytic as far as pi from the line.
 *
 * SPDX-License-Identifier: MIT */
#include "base/student.h"
#include "model/likelihoods/cdf.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>

#define LOG_2PI 1.8378770664093454836
#define WIDEST  0.25 /* step in eta, whatever the width */
#define REACH   8.5  /* standard deviations of eta */
enum { FEW = 256, MOST_STEPS = 100000, NODES = 2000, BISECTIONS = 200 };

static int fits(const fab_glm *m, double y)
{
    (void)m;
    return y >= 0 && y <= 0x1p53 && y == floor(y);
}

/* log(1 + exp(a)) */
static double softplus(double a)
{
    return fmax(a, 0) + log1p(exp(-fabs(a)));
}

/* log Gamma(y + beta) - log Gamma(beta) - y log beta - log y! */
static double log_ways(double beta, double y)
{
    double sum = -lgamma(y + 1);
    if (y > FEW) return sum + lgamma(y + beta) - lgamma(beta) - y * log(beta);
    for (double k = 1; k < y; k++) sum += log1p(k / beta);
    return sum;
}

static double loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                     double *curvature)
{
    const double beta = m->beta, a = *eta - log(beta);
    const double share = 1 / (1 + exp(-a)), rest = 1 / (1 + exp(a)); /* m / (beta + m); beta / .. */
    if (gradient) *gradient = y * rest - beta * share;
    if (curvature) *curvature = (y + beta) * share * rest;
    return log_ways(beta, y) + (y > 0 ? y * *eta : 0) - (y + beta) * softplus(a);
}

static double start(double mean, double n)
{
    return log((mean * n + 0.5) / (n + 1));
}

/* ---- eta ~ N(u, v) ------------------------------------------------------------------------------------ */

static void moments(const fab_glm *m, double u, double v, double *mean, double *variance)
{
    *mean = exp(u + v / 2);
    *variance = *mean + *mean * *mean * (expm1(v) + exp(v) / m->beta);
}

/* Where the slope of log p - (eta - u)^2 / 2 v is 0; it falls. */
static double mode(const fab_glm *m, double u, double v, double y)
{
    double lo, hi = u, slope;
    loglik(m, y, &u, &slope, NULL);
    lo = u + v * fmin(slope, 0);
    if (y > 0) lo = fmin(u, log(y)), hi = fmax(u, log(y));
    for (int i = 0; i < BISECTIONS && hi - lo > 1e-12 * (1 + fabs(lo)); i++) {
        const double t = lo + (hi - lo) / 2;
        loglik(m, y, &t, &slope, NULL);
        if (slope - (t - u) / v > 0)
            lo = t;
        else
            hi = t;
    }
    return lo + (hi - lo) / 2;
}

static double logp(const fab_glm *m, double u, double v, double y)
{
    if (!(v > 0)) return loglik(m, y, &u, NULL, NULL);
    double curvature, sum = 1;
    const double at = mode(m, u, v, y),
                 top = loglik(m, y, &at, NULL, &curvature) - (at - u) * (at - u) / (2 * v);
    const double h =
        fmax(fmin(1 / (3 * sqrt(1 / v + curvature)), WIDEST), sqrt(90 * v) / MOST_STEPS);
    for (int side = -1; side <= 1; side += 2)
        for (int i = 1; i <= MOST_STEPS; i++) {
            const double eta = at + side * i * h;
            const double f = loglik(m, y, &eta, NULL, NULL) - (eta - u) * (eta - u) / (2 * v) - top;
            sum += exp(f);
            if (f < -45) break;
        }
    return top + log(h * sum) - 0.5 * (LOG_2PI + log(v));
}

/* P(Y <= k | eta) = I_x(beta, k + 1); its factor x^beta (1 - x)^(k + 1) / B is (k + 1) p(k + 1) */
static double cdf_given(const fab_glm *m, double eta, double k)
{
    const double b = k + 1, a = m->beta, x = 1 / (1 + exp(eta - log(a))),
                 rest = 1 / (1 + exp(log(a) - eta));
    const double front = b * exp(loglik(m, b, &eta, NULL, NULL));
    if (!(front > 0)) return exp(eta) < k ? 1 : 0;
    if (x < (a + 1) / (a + b + 2)) return front / (a * fab_beta_fraction(a, b, x));
    return 1 - front / (b * fab_beta_fraction(b, a, rest));
}

static double cdf(const fab_glm *m, double u, double v, double k)
{
    const double sd = sqrt(v);
    if (!(v > 0)) return cdf_given(m, u, k);
    /* Nodes as dense as the jump of the counts, as long as that is affordable. */
    const double wish = 2 * REACH * sd / fmin(sd / 4, 0.3 / sqrt(k + 1));
    const int n = wish < NODES ? (int)wish + 1 : NODES;
    double sum = 0, weight = 0;
    for (int i = 0; i <= n; i++) {
        const double z = REACH * (2.0 * i / n - 1), w = exp(-z * z / 2);
        sum += w * cdf_given(m, u + sd * z, k);
        weight += w;
    }
    return sum / weight;
}

static void interval(const fab_glm *m, double u, double v, double *lower, double *upper)
{
    const fab_predictor p = {m, u, v};
    *lower = fab_cdf_least(fab_predictor_cdf, &p, 0.05);
    *upper = fab_cdf_least(fab_predictor_cdf, &p, 0.95);
}

const fab_likelihood_row fab_likelihood_negative_binomial = {
    .name = "negative-binomial",
    .target = FAB_TARGET_COUNTS,
    .dispersion = 1,
    .fits = fits,
    .range = "a count 0, 1, 2, ..",
    .loglik = loglik,
    .start = start,
    .moments = moments,
    .interval = interval,
    .logp = logp,
    .cdf = cdf,
};
