/* scalar.c - the scalar equations of recursive variational inference, the implicit ones inside brackets.
 *
 *   gaussian   closed: weight = w, error = w (y - u0) / (1 + w v0)
 *   bernoulli  1  signs turned so that y = 1:  u = u0 + v0 w E sigma(-eta),  v = v0 / (1 + v0 w E sigma')
 *              2  Newton in (u, v), inside the box that holds the solution; if it does not get there:
 *              3  for a fixed v, u - u0 - v0 w E sigma(-eta) increases in u, slope 1 + v0 w E sigma':
 *                 Newton inside [u0, u0 + v0 w]
 *              4  v - v0 / (1 + v0 w E sigma') changes sign on [v0 / (1 + v0 w / 4), v0]
 *   poisson    5  E m = E m' = exp(u + v/2), so for a fixed v  q + exp(q) = u0 + v0 w y + log(v0 w) + v/2,
 *                 exp(q) = v0 w E m (Lambert's function of an exponential: nothing overflows)
 *              6  v - v0 / (1 + exp(q(v))) increases on [0, v0]
 *   schemes    7  explicit: e, h = w (y - E m), w E m' at (u0, v0);  error = e / (1 + h v0), weight = h
 *              8  extra-gradient: 7 gives (u1, v1); e, h there, again from (u0, v0)
 *              9  mirror prox: e of 8, h of 7
 *
 * SPDX-License-Identifier: MIT */
#include "train/sequence/scalar.h"
#include "fabayes/random.h"
#include <math.h>
#include <stddef.h>

#define PROBIT_SCALE2 2.5464790894703255 /* 8 / pi */
#define ROOT_2_PI     2.5066282746310002
#define TINY          1e-290 /* a variance below this is none */
#define CLOSE         1e-14  /* relative width of a bracket that is small enough */
#define STEP          1e-11  /* relative step of Newton after which the next would be rounding */
enum { MAX_STEPS = 200, MAX_NEWTON = 25 };

const char *const fab_scheme_names[5] = {"implicit", "explicit", "extra-gradient", "mirror-prox",
                                         NULL};

/* ---- a root inside a bracket ------------------------------------------------------------------- */

/* One example, and the best u for the v tried last. */
typedef struct equation {
    const fab_nodes *nodes;
    double y, w, u0, v0;
    double u, v; /* bernoulli */
    fab_logistic m;
    double q; /* poisson */
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

static double clamped(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* 2: 1 when it has arrived. */
static int newton(equation *q)
{
    const double gain = q->v0 * q->w, least = q->v0 / (1 + gain / 4);
    double u = q->u0, v = q->v0;
    for (int i = 0; i < MAX_NEWTON; i++) {
        const fab_logistic m = q->m = fab_logistic_at(q->nodes, u, v);
        const double grow = 1 + gain * m.slope;
        const double f = u - q->u0 - gain * m.miss, f_u = grow, f_v = -gain * m.miss_v;
        const double g = v * grow - q->v0, g_u = v * gain * m.slope_u,
                     g_v = grow + v * gain * m.slope_v;
        const double det = f_u * g_v - f_v * g_u;
        const double du = (g_v * f - f_v * g) / det, dv = (f_u * g - g_u * f) / det;
        q->u = u, q->v = v;
        if (fabs(du) <= STEP * (fabs(u) + fabs(q->u0)) && fabs(dv) <= STEP * v) return 1;
        if (!isfinite(du) || !isfinite(dv)) return 0;
        u = clamped(u - du, q->u0, q->u0 + gain);
        v = clamped(v - dv, least, q->v0);
    }
    return 0;
}

/* 3: Newton, and a bisection where a step leaves the bracket or is not half the one before the last. */
static void solve_u(equation *q, double v)
{
    const double gain = q->v0 * q->w;
    double lo = q->u0, hi = q->u0 + gain, last = gain, before = gain;
    double u = q->u >= lo && q->u <= hi ? q->u : lo;
    for (int i = 0; i < MAX_STEPS; i++) {
        q->m = fab_logistic_at(q->nodes, u, v);
        const double f = u - q->u0 - gain * q->m.miss;
        if (f < 0)
            lo = u;
        else
            hi = u;
        double next = u - f / (1 + gain * q->m.slope);
        if (!(next > lo && next < hi) || fabs(next - u) > 0.5 * before) next = 0.5 * (lo + hi);
        before = last;
        last = fabs(next - u);
        u = next;
        if (last <= CLOSE * (fabs(u) + fabs(q->u0)) || hi - lo <= CLOSE * fabs(hi)) break;
    }
    q->u = u;
    q->v = v;
    q->m = fab_logistic_at(q->nodes, u, v);
}

/* 4 */
static double bernoulli_residual(equation *q, double v)
{
    solve_u(q, v);
    return v - q->v0 / (1 + q->v0 * q->w * q->m.slope);
}

static fab_scalar bernoulli(const fab_nodes *n, double y, double w, double u0, double v0)
{
    const double sign = y > 0 ? 1 : -1; /* 1 */
    equation q = {.nodes = n, .w = w, .u0 = sign * u0, .v0 = v0};
    if (!(v0 > TINY) || !newton(&q)) {
        q.u = q.u0;
        const double v = v0 > TINY ? root(bernoulli_residual, &q, v0 / (1 + v0 * w / 4), v0) : 0;
        solve_u(&q, v);
    }
    return (fab_scalar){sign * q.u, q.v, sign * w * q.m.miss, w * q.m.slope};
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

/* 5, 6 */
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

/* ---- the other schemes -------------------------------------------------------------------------- */

/* w (y - E m) and w E m' under N(u, v). */
static void expect(const fab_rule *r, const fab_nodes *n, double y, double w, double u, double v,
                   double *error, double *weight)
{
    if (r->likelihood == FAB_LIKELIHOOD_POISSON) {
        const double mean = exp(u + 0.5 * v);
        *error = w * (y - mean);
        *weight = w * mean;
        return;
    }
    const double sign = y > 0 ? 1 : -1;
    const fab_logistic m = fab_logistic_at(n, sign * u, v);
    *error = sign * w * m.miss;
    *weight = w * m.slope;
}

static fab_scalar moved(double e, double h, double u0, double v0)
{
    const double error = e / (1 + h * v0);
    return (fab_scalar){u0 + v0 * error, v0 / (1 + h * v0), error, h};
}

/* 7, 8, 9 */
static fab_scalar open_loop(const fab_rule *r, const fab_nodes *n, double y, double w, double u0,
                            double v0)
{
    double e, h, again;
    expect(r, n, y, w, u0, v0, &e, &h);
    const fab_scalar first = moved(e, h, u0, v0);
    if (r->scheme == FAB_EXPLICIT) return first;
    expect(r, n, y, w, first.u, first.v, &e, &again);
    return moved(e, r->scheme == FAB_EXTRA_GRADIENT ? again : h, u0, v0);
}

/* ---- the verbs --------------------------------------------------------------------------------- */

fab_scalar fab_scalar_update(const fab_rule *r, uint64_t row, double y, double w, double u0,
                             double v0)
{
    double z[FAB_MAX_DRAWS];
    const fab_nodes n = {r->expectation, r->draws, z};
    if (r->likelihood == FAB_LIKELIHOOD_GAUSSIAN) return moved(w * (y - u0), w, u0, v0);
    if (r->likelihood == FAB_LIKELIHOOD_BERNOULLI && r->expectation == FAB_SAMPLED)
        fab_random_normal(r->seed, row, 0, r->draws, FAB_F64, z);
    if (r->scheme != FAB_IMPLICIT) return open_loop(r, &n, y, w, u0, v0);
    return r->likelihood == FAB_LIKELIHOOD_BERNOULLI ? bernoulli(&n, y, w, u0, v0)
                                                     : poisson(y, w, u0, v0);
}

double fab_scalar_score(fab_likelihood l, double y, double w, double u0, double v0,
                        const fab_scalar *s)
{
    if (l == FAB_LIKELIHOOD_GAUSSIAN) {
        const double variance = 1 / w + v0, r = y - u0;
        return -log(ROOT_2_PI) - 0.5 * (log(variance) + r * r / variance);
    }
    if (l == FAB_LIKELIHOOD_BERNOULLI) {
        const double t = (y > 0 ? u0 : -u0) * sqrt(PROBIT_SCALE2 / (v0 + PROBIT_SCALE2));
        return w * (fmin(t, 0) - log1p(exp(-fabs(t))));
    }
    const double fit = w * (y * s->u - s->weight / w - lgamma(y + 1)); /* E log p under N(u, v) */
    if (!(v0 > TINY)) return fit;
    const double r = s->v / v0, d = s->u - u0;
    return fit - 0.5 * (r - 1 - log(r) + d * d / v0);
}
