/* logistic.c - E sigma and its relatives under N(u, v), by probit, quadrature or draws.
 *
 *   probit      1  k = (1 + pi v / 8)^-1/2:  E sigma(-eta) = sigma(-k u),  E sigma' = k sigma'(k u)
 *   quadrature  2  the trapezoid rule on the line, exponentially exact: a step of at most 0.65 standard
 *                  deviations and 0.45, since sigma has its poles at +- i pi; beyond 4 standard deviations
 *                  only where sigma differs from a probit whose expectation is closed
 *               3  by v: half the expectation of the second derivative
 *   sampled     4  means over u + v^1/2 z_i; by v: along d eta / d v = z / (2 v^1/2)
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
