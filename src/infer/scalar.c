/* scalar.c - the implicit scalar equations of recursive variational inference, solved with brackets.
 *
 *   gaussian   closed: weight = w, error = w (y - u0) / (1 + w v0)
 *   bernoulli  1  signs turned so that y = 1:  u = u0 + v0 w E sigma(-eta)
 *              2  for a fixed v, u - u0 - v0 w E sigma(-eta) increases in u, slope 1 + v0 w E sigma':
 *                 Newton inside [u0, u0 + v0 w]
 *              3  v - v0 / (1 + v0 w E sigma') changes sign on [v0 / (1 + v0 w / 4), v0]
 *   poisson    4  E m = E m' = exp(u + v/2), so for a fixed v  q + exp(q) = u0 + v0 w y + log(v0 w) + v/2,
 *                 exp(q) = v0 w E m (Lambert's function of an exponential: nothing overflows)
 *              5  v - v0 / (1 + exp(q(v))) increases on [0, v0]
 *   quadrature 6  the trapezoid rule on the line, exponentially exact: a step of at most 0.65 standard
 *                 deviations and 0.45, since sigma has its poles at +- i pi; beyond 4 standard deviations
 *                 only where sigma differs from a probit whose expectation is closed
 *
 * SPDX-License-Identifier: MIT */
#include "infer/scalar.h"
#include <math.h>
#include <stddef.h>

#define PROBIT_SCALE2 2.5464790894703255 /* 8 / pi */
#define ROOT_2_PI     2.5066282746310002
#define TINY          1e-290 /* a variance below this is none */
#define CLOSE         1e-14  /* relative width of a bracket that is small enough */
#define TAIL          8.5    /* standard deviations beyond which a normal is nothing */
#define FAR           40.0   /* where sigma and a probit agree to rounding */
#define WIDE          4.0    /* standard deviation from which the probit is taken out */
enum { MAX_STEPS = 200 };

const char *const fab_expectation_names[3] = {"probit", "quadrature", NULL};

/* ---- expectations of the logistic -------------------------------------------------------------- */

static double sigma(double t)
{
    const double e = exp(-fabs(t));
    return (t > 0 ? 1 : e) / (1 + e);
}

static double sigma_slope(double t)
{
    const double e = exp(-fabs(t));
    return e / ((1 + e) * (1 + e));
}

static double normal_tail(double t) /* P(z > t) */
{
    return 0.5 * erfc(t * 0.70710678118654752440);
}

/* 6 */
static void quadrature(double u, double v, double *miss, double *slope)
{
    const double s = sqrt(v), c = sqrt(1 / PROBIT_SCALE2);
    const int wide = s > WIDE;
    double from = u - TAIL * s - fmin(v, fmax(u, 0)), to = u + TAIL * s;
    if (wide) from = fmax(u - TAIL * s, -FAR), to = fmin(to, FAR);
    const double h = fmin(0.65 * s, 0.45), unit = h / (s * ROOT_2_PI);
    *miss = wide ? normal_tail(c * u / sqrt(1 + c * c * v)) : 0;
    *slope = 0;
    const long n = from < to ? (long)((to - from) / h) + 1 : 0;
    for (long i = 0; i < n; i++) {
        const double eta = from + (double)i * h, z = (eta - u) / s, p = unit * exp(-0.5 * z * z);
        *miss += p * (sigma(-eta) - (wide ? normal_tail(c * eta) : 0));
        *slope += p * sigma_slope(eta);
    }
    if (!(*miss > 0)) *miss = 0;
}

void fab_logistic_moments(fab_expectation e, double u, double v, double *miss, double *slope)
{
    if (e == FAB_QUADRATURE && v > TINY) {
        quadrature(u, v, miss, slope);
        return;
    }
    const double k = sqrt(PROBIT_SCALE2 / (v + PROBIT_SCALE2)); /* [L] (53) */
    *miss = sigma(-k * u);
    *slope = k * sigma_slope(k * u);
}

/* ---- a root inside a bracket ------------------------------------------------------------------- */

/* One example, and the best u for the v tried last. */
typedef struct equation {
    fab_expectation e;
    double y, w, u0, v0;
    double u, miss, slope; /* bernoulli */
    double q;              /* poisson */
} equation;

typedef double residual_fn(equation *q, double v);

/* Root of f on [a, b] where f(a) <= 0 <= f(b): secants, halved when one end stays (Illinois), with a
 * bisection now and then so that the bracket always shrinks. */
static double root(residual_fn *f, equation *q, double a, double b)
{
    double fa = f(q, a), fb = f(q, b), v = b;
    if (!(fa < 0)) return a;
    if (!(fb > 0)) return b;
    int side = 0;
    for (int i = 0; i < MAX_STEPS && b - a > CLOSE * b; i++) {
        v = i % 8 == 7 ? 0.5 * (a + b) : (a * fb - b * fa) / (fb - fa);
        if (!(v > a && v < b)) v = 0.5 * (a + b);
        const double fv = f(q, v);
        if (fabs(fv) <= 0.25 * CLOSE * v) break;
        if (fv < 0) {
            a = v, fa = fv;
            if (side < 0) fb *= 0.5;
            side = -1;
        } else {
            b = v, fb = fv;
            if (side > 0) fa *= 0.5;
            side = 1;
        }
    }
    return v;
}

/* ---- bernoulli --------------------------------------------------------------------------------- */

/* 2: Newton, and a bisection where a step leaves the bracket or is not half the one before the last. */
static void solve_u(equation *q, double v)
{
    const double gain = q->v0 * q->w;
    double lo = q->u0, hi = q->u0 + gain, last = gain, before = gain;
    double u = q->u >= lo && q->u <= hi ? q->u : lo;
    for (int i = 0; i < MAX_STEPS; i++) {
        fab_logistic_moments(q->e, u, v, &q->miss, &q->slope);
        const double f = u - q->u0 - gain * q->miss;
        if (f < 0)
            lo = u;
        else
            hi = u;
        double next = u - f / (1 + gain * q->slope);
        if (!(next > lo && next < hi) || fabs(next - u) > 0.5 * before) next = 0.5 * (lo + hi);
        before = last;
        last = fabs(next - u);
        u = next;
        if (last <= CLOSE * (fabs(u) + fabs(q->u0)) || hi - lo <= CLOSE * fabs(hi)) break;
    }
    q->u = u;
    fab_logistic_moments(q->e, u, v, &q->miss, &q->slope);
}

/* 3 */
static double bernoulli_residual(equation *q, double v)
{
    solve_u(q, v);
    return v - q->v0 / (1 + q->v0 * q->w * q->slope);
}

static fab_scalar bernoulli(fab_expectation e, double y, double w, double u0, double v0)
{
    const double sign = y > 0 ? 1 : -1; /* 1 */
    equation q = {.e = e, .w = w, .u0 = sign * u0, .v0 = v0, .u = sign * u0};
    const double v = v0 > TINY ? root(bernoulli_residual, &q, v0 / (1 + v0 * w / 4), v0) : 0;
    solve_u(&q, v);
    return (fab_scalar){sign * q.u, v, sign * w * q.miss, w * q.slope};
}

/* ---- poisson ----------------------------------------------------------------------------------- */

/* q with q + exp(q) = sum: Newton from the right, where the function is convex. */
static double lambert(double sum)
{
    double q = sum > 1 ? log(sum) : sum;
    for (int i = 0; i < MAX_STEPS; i++) {
        const double e = exp(q), step = (q + e - sum) / (1 + e);
        q -= step;
        if (fabs(step) <= CLOSE * (1 + fabs(q))) break;
    }
    return q;
}

/* 4, 5 */
static double poisson_residual(equation *q, double v)
{
    const double gain = q->v0 * q->w;
    q->q = lambert(q->u0 + gain * q->y + log(gain) + 0.5 * v);
    return v - q->v0 / (1 + exp(q->q));
}

static fab_scalar poisson(double y, double w, double u0, double v0)
{
    equation q = {.y = y, .w = w, .u0 = u0, .v0 = v0};
    if (!(v0 > TINY)) return (fab_scalar){u0, 0, w * (y - exp(u0)), w * exp(u0)};
    const double v = root(poisson_residual, &q, 0, v0), gain = v0 * w;
    poisson_residual(&q, v);
    const double mean = exp(q.q) / gain, u = q.q - log(gain) - 0.5 * v;
    const double error = exp(q.q) > 1 ? (u - u0) / v0 : w * (y - mean);
    return (fab_scalar){u, v, error, w * mean};
}

/* ---- the verbs --------------------------------------------------------------------------------- */

fab_scalar fab_scalar_update(fab_likelihood l, fab_expectation e, double y, double w, double u0,
                             double v0)
{
    if (l == FAB_BERNOULLI) return bernoulli(e, y, w, u0, v0);
    if (l == FAB_POISSON) return poisson(y, w, u0, v0);
    const double error = w * (y - u0) / (1 + w * v0);
    return (fab_scalar){u0 + v0 * error, v0 / (1 + w * v0), error, w};
}

double fab_scalar_score(fab_likelihood l, double y, double w, double u0, double v0,
                        const fab_scalar *s)
{
    if (l == FAB_GAUSSIAN) {
        const double variance = 1 / w + v0, r = y - u0;
        return -log(ROOT_2_PI) - 0.5 * (log(variance) + r * r / variance);
    }
    if (l == FAB_BERNOULLI) {
        const double t = (y > 0 ? u0 : -u0) * sqrt(PROBIT_SCALE2 / (v0 + PROBIT_SCALE2));
        return w * (fmin(t, 0) - log1p(exp(-fabs(t))));
    }
    const double fit = w * (y * s->u - s->weight / w - lgamma(y + 1)); /* E log p under N(u, v) */
    if (!(v0 > TINY)) return fit;
    const double r = s->v / v0, d = s->u - u0;
    return fit - 0.5 * (r - 1 - log(r) + d * d / v0);
}
