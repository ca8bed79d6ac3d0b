/* logistic.c - E sigma and its relatives under N(u, v), by probit, quadrature or draws.
 *
 *   probit      1  k = (1 + pi v / 8)^-1/2:  E sigma(-eta) = sigma(-k u),  E sigma' = k sigma'(k u)
 *   quadrature  2  the trapezoid rule on the line, exponentially exact: a step of at most 0.65 standard
 *                  deviations and 0.45, since sigma has its poles at +- i pi; beyond 4 standard deviations
 *                  only where sigma differs from a probit whose expectation is closed
 *               3  by v: half the expectation of the second derivative
 *   sampled     4  means over u + v^1/2 z_i; by v: along d eta / d v = z / (2 v^1/2)
 *
 * E log sigma is done by 2 as well, with what is taken out the expectation of a normal's positive part: with r(t) = E max(0, t + z/c),
 * E r = E max(0, u + (v + 1/c^2)^1/2 z).  And log E sigma, to rounding relative to E sigma itself however small it is, by the same rule on a log-concave
 * integrand, from its mode outwards:
 *
 *   5  up to 4 standard deviations   E sigma = int sigma(eta) N(eta | u, v) d eta
 *      above                         E sigma = P(T < eta) = int f(t) Phi((u - t) / s) dt, T of density f = sigma'
 *   6  far outside, where that would be too wide for the rule (E sigma below exp(-30000)): sigma(eta) = min(1, exp(eta)),
 *      whose expectation is closed, to 1e-3 of itself
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/logistic.h"
#include <math.h>
#include <stddef.h>

#define PROBIT_SCALE2 2.5464790894703255 /* 8 / pi */
#define ROOT_2_PI     2.5066282746310002
#define TINY          1e-290 /* a variance below this is none */
#define TAIL          8.5    /* standard deviations beyond which a normal is nothing */
#define FAR           40.0   /* where sigma and a probit agree to rounding */
#define WIDE          4.0    /* standard deviation from which the probit is taken out */
#define NARROW        1e-12  /* a variance that changes E sigma by less than this, relative to it */
#define FAR_WIDE      250.0  /* standard deviation from which 6 is as good as 5 .. */
#define STEEP         0.999  /* .. where the density falls as fast as sigma does, beside 0 */

const char *const fab_expectation_names[4] = {"probit", "quadrature", "sampled", NULL};

/* sigma(-t) and the derivatives of sigma at t. */
typedef struct derivatives {
    double miss, first, second, third;
} derivatives;

static derivatives sigma_at(double t)
{
    const double e = exp(-fabs(t)), p = 1 / (1 + e), q = e * p; /* sigma(|t|), sigma(-|t|) */
    const double first = p * q, turn = t > 0 ? q - p : p - q;   /* 1 - 2 sigma(t) */
    return (derivatives){t > 0 ? q : p, first, first * turn, first * (1 - 6 * first)};
}

static double normal_tail(double t) /* P(z > t) */
{
    return 0.5 * erfc(t * 0.70710678118654752440);
}

/* 1 */
static fab_logistic probit(double u, double v)
{
    const double k = sqrt(PROBIT_SCALE2 / (v + PROBIT_SCALE2)),
                 k_v = -0.5 * k / (v + PROBIT_SCALE2);
    const derivatives d = sigma_at(k * u);
    return (fab_logistic){.miss = d.miss,
                          .slope = k * d.first,
                          .miss_v = -d.first * u * k_v,
                          .slope_u = k * k * d.second,
                          .slope_v = k_v * (d.first + k * u * d.second)};
}

/* 2, 3 */
static fab_logistic quadrature(double u, double v)
{
    const double s = sqrt(v), c = sqrt(1 / PROBIT_SCALE2);
    const int wide = s > WIDE;
    double from = u - TAIL * s - fmin(v, fmax(u, 0)), to = u + TAIL * s;
    if (wide) from = fmax(u - TAIL * s, -FAR), to = fmin(to, FAR);
    const double h = fmin(0.65 * s, 0.45), unit = h / (s * ROOT_2_PI);
    fab_logistic m = {.miss = wide ? normal_tail(c * u / sqrt(1 + c * c * v)) : 0};
    const long n = from < to ? (long)((to - from) / h) + 1 : 0;
    for (long i = 0; i < n; i++) {
        const double eta = from + (double)i * h, z = (eta - u) / s, p = unit * exp(-0.5 * z * z);
        const derivatives d = sigma_at(eta);
        m.miss += p * (d.miss - (wide ? normal_tail(c * eta) : 0));
        m.slope += p * d.first;
        m.slope_u += p * d.second;
        m.slope_v += 0.5 * p * d.third;
    }
    m.miss_v = -0.5 * m.slope_u;
    if (!(m.miss > 0)) m.miss = 0;
    return m;
}

/* ---- log E sigma ---------------------------------------------------------------------------------------- */

static double log_sigma(double t)
{
    return fmin(t, 0) - log1p(exp(-fabs(t)));
}

static double log_phi(double x) /* log P(z < x) */
{
    if (x > -30) return log(normal_tail(-x));
    const double r = 1 / (x * x);
    return -0.5 * x * x - log(-x * ROOT_2_PI) + log1p(-r * (1 - 3 * r * (1 - 5 * r)));
}

/* E max(0, u + s z), z normal */
static double mean_positive(double u, double s)
{
    return u * normal_tail(-u / s) + s * exp(-0.5 * (u / s) * (u / s)) / ROOT_2_PI;
}

double fab_logistic_mean_log(double u, double v)
{
    const double s = sqrt(v), c = sqrt(1 / PROBIT_SCALE2);
    if (!(v > TINY)) return log_sigma(u);
    const int wide = s > WIDE;
    double from = u - TAIL * s, to = u + TAIL * s;
    if (wide) from = fmax(from, -FAR), to = fmin(to, FAR);
    const double h = fmin(0.65 * s, 0.45), unit = h / (s * ROOT_2_PI);
    const long n = from < to ? (long)((to - from) / h) + 1 : 0;
    double sum = wide ? -mean_positive(-u, sqrt(v + 1 / (c * c))) : 0;
    for (long i = 0; i < n; i++) {
        const double eta = from + (double)i * h, z = (eta - u) / s;
        const double value = log_sigma(eta) + (wide ? mean_positive(-eta, 1 / c) : 0);
        sum += unit * exp(-0.5 * z * z) * value;
    }
    return fmin(sum, 0);
}

/* The log of the integrand of 5, but for its constant. */
static double log_integrand(double u, double s, double t)
{
    const double z = (t - u) / s;
    if (s <= WIDE) return log_sigma(t) - 0.5 * z * z;
    return -fabs(t) - 2 * log1p(exp(-fabs(t))) + log_phi(-z);
}

/* Its mode, by golden sections between two points that hold it: it only has to be near. */
static double log_integrand_mode(double u, double s, double lo, double hi)
{
    const double part = 0.3819660112501051, near = 0.1 * fmin(s, 1);
    double a = lo + part * (hi - lo), b = hi - part * (hi - lo);
    double fa = log_integrand(u, s, a), fb = log_integrand(u, s, b);
    while (hi - lo > near) {
        if (fa > fb) {
            hi = b, b = a, fb = fa;
            a = lo + part * (hi - lo), fa = log_integrand(u, s, a);
        } else {
            lo = a, a = b, fa = fb;
            b = hi - part * (hi - lo), fb = log_integrand(u, s, b);
        }
        if (!(a > lo && b < hi)) break; /* to rounding */
    }
    return 0.5 * (lo + hi);
}

double fab_logistic_log(double u, double v)
{
    const double s = sqrt(v);
    if (!(v > NARROW)) return log_sigma(u);
    if (u + v < -FAR - TAIL * s) return u + v / 2; /* sigma is exp wherever the integrand is */
    if (u - v > FAR + TAIL * s) return log1p(-exp(v / 2 - u));
    if (s > FAR_WIDE && u < -STEEP * v) { /* 6 */
        const double below = u + v / 2 + log_phi(-(u + v) / s), above = log_phi(u / s);
        const double top = fmax(below, above);
        return top + log1p(exp(fmin(below, above) - top));
    }
    double lo = u, hi = u + v; /* 5: slopes of log sigma are between 0 and 1 */
    if (s > WIDE) lo = fmin(0, u + v) - 1, hi = 1;
    const double at = log_integrand_mode(u, s, lo, hi), top = log_integrand(u, s, at);
    const double h = fmin(0.65 * s, 0.45);
    double sum = 1;
    for (int side = -1; side <= 1; side += 2)
        for (int i = 1;; i++) {
            const double f = log_integrand(u, s, at + side * i * h) - top;
            sum += exp(f);
            if (!(f > -FAR)) break;
        }
    return fmin(0, top + log(sum * h) - (s <= WIDE ? log(s * ROOT_2_PI) : 0));
}

/* ---- the three rules -------------------------------------------------------------------------------------- */

/* 4 */
static fab_logistic sampled(const fab_nodes *n, double u, double v)
{
    const double s = sqrt(v), p = 1 / (double)n->draws;
    fab_logistic m = {0};
    for (int64_t i = 0; i < n->draws; i++) {
        const derivatives d = sigma_at(u + s * n->z[i]);
        const double by_v = p * n->z[i] / (2 * s);
        m.miss += p * d.miss;
        m.slope += p * d.first;
        m.miss_v -= by_v * d.first;
        m.slope_u += p * d.second;
        m.slope_v += by_v * d.second;
    }
    return m;
}

fab_logistic fab_logistic_at(const fab_nodes *n, double u, double v)
{
    if (!(v > TINY) || n->expectation == FAB_PROBIT) return probit(u, v);
    return n->expectation == FAB_QUADRATURE ? quadrature(u, v) : sampled(n, u, v);
}
