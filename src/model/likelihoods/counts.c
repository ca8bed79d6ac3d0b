/* counts.c - counts whose log rate is Gaussian, by the trapezoidal rule in eta.
 *
 * The integrand of p(y) is log-concave and entire: from its mode outwards in steps of a third of its
 * width the rule is exact to rounding.  Steps stay below 1/4 for the sake of exp(eta).
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/counts.h"
#include "model/likelihoods/cdf.h"
#include <math.h>

#define LOG_2PI 1.8378770664093454836
enum { MOST_STEPS = 100000, NODES = 2000 };

/* ---- p(y) --------------------------------------------------------------------------------------------- */

/* log Poisson(y | exp(eta)) + log N(eta | m, v), up to log y! and the constants of N */
static double exponent(double m, double v, double y, double eta)
{
    return y * eta - exp(eta) - (eta - m) * (eta - m) / (2 * v);
}

/* Where y - exp(eta) - (eta - m)/v is 0: the left side falls, so bisection is safe. */
static double mode(double m, double v, double y)
{
    const double top = y > 0 ? fmax(m, log(y)) : m, step = v * (y - exp(m));
    double lo = y > 0 ? fmin(m, log(y)) : m + fmin(0, step), hi = top;
    if (!(lo > -1e300)) lo = m - 1e5;
    for (int i = 0; i < 200 && hi - lo > 1e-12 * (1 + fabs(lo)); i++) {
        const double t = lo + (hi - lo) / 2;
        if (y - exp(t) - (t - m) / v > 0)
            lo = t;
        else
            hi = t;
    }
    return lo + (hi - lo) / 2;
}

/* The sum over the nodes on one side of the mode, relative to its top. */
static double side(double m, double v, double y, double at, double top, double h)
{
    double sum = 0;
    for (int i = 1; i <= MOST_STEPS; i++) {
        const double f = exponent(m, v, y, at + i * h) - top;
        sum += exp(f);
        if (f < -45) break;
    }
    return sum;
}

double fab_count_logp(double m, double v, double y)
{
    const double log_factorial = lgamma(y + 1);
    if (!(v > 0)) return y * m - exp(m) - log_factorial;
    const double at = mode(m, v, y), top = exponent(m, v, y, at);
    const double h = fmax(fmin(1 / (3 * sqrt(1 / v + exp(at))), 0.25), sqrt(90 * v) / MOST_STEPS);
    const double sum = 1 + side(m, v, y, at, top, h) + side(m, v, y, at, top, -h);
    return top + log(h * sum) - log_factorial - 0.5 * (LOG_2PI + log(v));
}

/* ---- P(Y <= k) ---------------------------------------------------------------------------------------- */

static double normal_cdf(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* Q(a, x) by the series of P below a + 1, by the continued fraction of Lentz above. */
static double gamma_upper(double a, double x)
{
    const double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double n = a + 1; term > 1e-17 * sum; n++) sum += term *= x / n;
        return 1 - front * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 10000; i++) {
        const double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-16) break;
    }
    return front * h;
}

/* P(Poisson(rate) <= k); for many counts by the cube root of Wilson and Hilferty, good to 1e-5. */
static double poisson_cdf(double k, double rate)
{
    const double a = k + 1, w = 1 / (9 * a);
    if (!(rate > 0)) return 1;
    if (a > 1000) return normal_cdf(-(cbrt(rate / a) - 1 + w) / sqrt(w));
    return rate > 1e6 ? 0 : gamma_upper(a, rate);
}

double fab_count_cdf(double m, double v, double k)
{
    const double sd = sqrt(v), reach = 8.5;
    if (!(v > 0)) return poisson_cdf(k, exp(m));
    /* Nodes as dense as the jump of the counts, as long as that is affordable. */
    const double wish = 2 * reach * sd / fmin(sd / 4, 0.3 / sqrt(k + 1));
    const int n = wish < NODES ? (int)wish + 1 : NODES;
    double sum = 0, weight = 0;
    for (int i = 0; i <= n; i++) {
        const double z = reach * (2.0 * i / n - 1), w = exp(-z * z / 2);
        sum += w * poisson_cdf(k, exp(m + sd * z));
        weight += w;
    }
    return sum / weight;
}

typedef struct log_rate {
    double m, v;
} log_rate;

static double cdf_of(const void *ctx, double k)
{
    const log_rate *r = ctx;
    return fab_count_cdf(r->m, r->v, k);
}

double fab_count_quantile(double m, double v, double p)
{
    const log_rate r = {m, v};
    return fab_cdf_least(cdf_of, &r, p);
}
