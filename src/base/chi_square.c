/* chi_square.c - the chi-square distribution by the incomplete gamma function.
 *
 *   P(X <= x) = P(a, z),  a = dof / 2,  z = x / 2
 *   1  z < a + 1:  P = z^a e^-z / Gamma(a + 1) (1 + z / (a + 1) + z^2 / ((a + 1)(a + 2)) + ..)
 *   2  else:       Q = 1 - P = z^a e^-z / Gamma(a) times a continued fraction (Lentz's way)
 *   3  noncentral: a mixture of these, of dof + 2 j degrees of freedom with the weights of a Poisson of mean away / 2;
 *      summed from the largest weight to both sides
 *
 * SPDX-License-Identifier: MIT */
#include "base/chi_square.h"
#include <math.h>

enum { TERMS = 1000000 };
#define ENOUGH 1e-16 /* relative: a term that changes nothing */

/* log(z^a e^-z / Gamma(a + 1)) */
static double log_front(double a, double z)
{
    return a * log(z) - z - lgamma(a + 1);
}

static double series(double a, double z) /* 1 */
{
    double term = 1, sum = 1;
    for (int i = 1; i < TERMS && term > ENOUGH * sum; i++) {
        term *= z / (a + i);
        sum += term;
    }
    return sum * exp(log_front(a, z));
}

static double fraction(double a, double z) /* 2 */
{
    const double tiny = 1e-300;
    double b = z + 1 - a, c = 1 / tiny, d = 1 / b, value = d;
    for (int i = 1; i < TERMS; i++) {
        const double an = -(double)i * ((double)i - a);
        b += 2;
        d = an * d + b;
        c = b + an / c;
        if (fabs(d) < tiny) d = tiny;
        if (fabs(c) < tiny) c = tiny;
        d = 1 / d;
        value *= c * d;
        if (fabs(c * d - 1) < ENOUGH) break;
    }
    return value * a * exp(log_front(a, z));
}

/* P(a, z) */
static double gamma_below(double a, double z)
{
    if (!(z > 0)) return 0;
    return z < a + 1 ? series(a, z) : 1 - fraction(a, z);
}

double fab_chi_square_above(double dof, double x)
{
    const double a = dof / 2, z = x / 2;
    if (!(z > 0)) return 1;
    return z < a + 1 ? 1 - series(a, z) : fraction(a, z);
}

double fab_chi_square_below(double dof, double away, double x)
{
    if (!(away > 0)) return gamma_below(dof / 2, x / 2);
    const double mean = away / 2, top = floor(mean);
    const double highest = top * log(mean) - mean - lgamma(top + 1);
    double sum = 0;
    for (double j = top, log_weight = highest; j >= 0; j--) { /* 3  from the top down .. */
        const double term = exp(log_weight) * gamma_below(dof / 2 + j, x / 2);
        sum += term;
        if (exp(log_weight) < ENOUGH) break;
        log_weight += log(j / mean);
    }
    double log_weight = highest;
    for (double j = top + 1; j < top + TERMS; j++) { /* .. and up */
        log_weight += log(mean / j);
        const double term = exp(log_weight) * gamma_below(dof / 2 + j, x / 2);
        sum += term;
        if (term < ENOUGH * sum || term == 0) break;
    }
    return sum;
}

double fab_chi_square_away(double dof, double x, double p)
{
    double low = 0, high = 1;
    if (fab_chi_square_below(dof, 0, x) <= p) return 0;
    while (fab_chi_square_below(dof, high, x) > p) high *= 2;
    for (int i = 0; i < 100 && high - low > 1e-12 * high; i++) {
        const double middle = (low + high) / 2;
        if (fab_chi_square_below(dof, middle, x) > p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}
