/* precisions.c - alpha and beta of a model by its Laplace evidence, where theta stands.
 *
 * With eigenvalues t of the curvature at the beta that came in, and b = beta over that one:
 *
 *   1  2 log evidence = N log beta - beta sum r^2 + P log alpha - alpha |theta|^2 - sum log(alpha + b t) + constants
 *   2  gamma = sum b t / (alpha + b t)
 *   3  by alpha: 0 where alpha |theta|^2 = gamma                 by beta: 0 where beta sum r^2 = N - gamma
 *
 * gamma / alpha falls with alpha and (N - gamma) / beta with beta, so each has one solution, found by bisection; one after
 * the other they climb 1.
 *
 * SPDX-License-Identifier: MIT */
#include "train/precisions.h"
#include <math.h>

enum { TURNS = 200 }; /* alpha, beta, alpha, ..; far more than there are in practice */
#define WIDE    13.8  /* log 1e6: how far a precision may move at once */
#define FINE    1e-12 /* of its logarithm */
#define SETTLED 1e-10 /* change of both logarithms that ends the turns */

/* An eigenvalue is not negative, but for rounding. */
static double eigenvalue(const fab_spectrum *G, int64_t i)
{
    return fmax(0, G->node[i]);
}

double fab_precisions_logdet(const fab_spectrum *G, double alpha)
{
    double sum = 0;
    for (int64_t i = 0; i < G->n; i++) sum += G->weight[i] * log(alpha + eigenvalue(G, i));
    return sum;
}

/* 2 */
static double gamma_at(const fab_precisions *p, double alpha, double b)
{
    double sum = 0;
    for (int64_t i = 0; i < p->G->n; i++) {
        const double t = b * eigenvalue(p->G, i);
        sum += p->G->weight[i] * (t / (alpha + t));
    }
    return sum;
}

/* 3: the slope of 1 by log alpha, by log beta */
typedef double slope(const fab_precisions *p, double before, double x);

static double by_alpha(const fab_precisions *p, double before, double x)
{
    return gamma_at(p, exp(x), p->beta / before) - exp(x) * p->size;
}

static double by_beta(const fab_precisions *p, double before, double x)
{
    return p->rows - gamma_at(p, p->alpha, exp(x) / before) - exp(x) * p->squares;
}

/* Where the slope, positive before and negative behind, changes its sign; an end of the range where it does not. */
static double top(const fab_precisions *p, slope *f, double before, double centre)
{
    double lo = centre - WIDE, hi = centre + WIDE;
    while (hi - lo > FINE) {
        const double mid = (lo + hi) / 2;
        if (f(p, before, mid) > 0)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + hi) / 2;
}

void fab_precisions_find(fab_precisions *p)
{
    const double before = p->beta, x = log(p->alpha), z = log(p->beta);
    for (int i = 0; i < TURNS; i++) {
        const double alpha = p->alpha, beta = p->beta;
        p->alpha = exp(top(p, by_alpha, before, x));
        if (p->squares >= 0) p->beta = fmin(exp(top(p, by_beta, before, z)), p->beta_most);
        const double change = fabs(log(p->alpha / alpha)) + fabs(log(p->beta / beta));
        if (!(change > SETTLED)) break;
    }
}
