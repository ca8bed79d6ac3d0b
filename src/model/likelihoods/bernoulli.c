/* bernoulli.c - y is 0 or 1, with probability sigma(eta) = 1 / (1 + exp(-eta)) of a 1.
 *
 * log p = -log(1 + exp(-+eta)); slopes come from the tail they live in.  Under eta ~ N(u, v) a 1 has the probability
 * E sigma(eta), integrated (logistic.c).  One example of recursive inference:
 *
 *   1  signs turned so that y = 1:  u = u0 + v0 w E sigma(-eta),  v = v0 / (1 + v0 w E sigma')
 *   2  Newton in (u, v), inside the box that holds the solution; if it does not get there:
 *   3  for a fixed v, u - u0 - v0 w E sigma(-eta) increases in u, slope 1 + v0 w E sigma': Newton inside [u0, u0 + v0 w]
 *   4  v - v0 / (1 + v0 w E sigma') changes sign on [v0 / (1 + v0 w / 4), v0]
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/likelihood.h"
#include "model/likelihoods/root.h"
#include <math.h>

#define PROBIT_SCALE2 2.5464790894703255 /* 8 / pi */
#define TINY          1e-290             /* a variance below this is none */
#define STEP          1e-11 /* relative step of Newton after which the next would be rounding */
#define CLOSE         FAB_ROOT_CLOSE
enum { MAX_NEWTON = 25 };

static int fits(const fab_glm *m, double y)
{
    (void)m;
    return y == 0 || y == 1;
}

static double loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                     double *curvature)
{
    (void)m;
    const double t = y > 0 ? -*eta : *eta; /* log p = -log(1 + exp(t)) */
    const double small = exp(-fabs(t)), one = 1 + small;
    const double miss = (t > 0 ? 1 : small) / one; /* sigma(t), the probability of the other y */
    if (gradient) *gradient = y > 0 ? miss : -miss;
    if (curvature) *curvature = small / one / one;
    return -(t > 0 ? t : 0) - log1p(small);
}

static double start(double mean, double n)
{
    const double share = (mean * n + 0.5) / (n + 1);
    return log(share / (1 - share));
}

/* ---- eta ~ N(u, v) ------------------------------------------------------------------------------------ */

static void moments(const fab_glm *m, double u, double v, double *mean, double *variance)
{
    (void)m;
    const double one = fab_logistic_log(u, v), none = fab_logistic_log(-u, v);
    *mean = u < 0 ? exp(one) : -expm1(none);
    *variance = exp(one + none);
}

static void interval(const fab_glm *m, double u, double v, double *lower, double *upper)
{
    double p, variance;
    moments(m, u, v, &p, &variance);
    *lower = p > 0.95;
    *upper = p > 0.05;
}

static double logp(const fab_glm *m, double u, double v, double y)
{
    (void)m;
    return fab_logistic_log(y > 0 ? u : -u, v);
}

/* ---- recursive inference ------------------------------------------------------------------------------ */

/* One example with y = 1, and the best u for the v tried last. */
typedef struct equation {
    const fab_nodes *nodes;
    double w, u0, v0;
    double u, v;
    fab_logistic m;
} equation;

static double clamped(double x, double lo, double hi)
{
    if (x < lo) return lo;
    return x > hi ? hi : x;
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
    for (int i = 0; i < FAB_ROOT_STEPS; i++) {
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
static double residual(void *ctx, double v)
{
    equation *q = ctx;
    solve_u(q, v);
    return v - q->v0 / (1 + q->v0 * q->w * q->m.slope);
}

static fab_scalar update(const fab_nodes *n, double y, double w, double u0, double v0)
{
    const double sign = y > 0 ? 1 : -1; /* 1 */
    equation q = {.nodes = n, .w = w, .u0 = sign * u0, .v0 = v0};
    if (!(v0 > TINY) || !newton(&q)) {
        q.u = q.u0;
        const double v = v0 > TINY ? fab_root(residual, &q, v0 / (1 + v0 * w / 4), v0) : 0;
        solve_u(&q, v);
    }
    return (fab_scalar){sign * q.u, q.v, sign * w * q.m.miss, w * q.m.slope};
}

static void expected(const fab_nodes *n, double y, double w, double u, double v, double *error,
                     double *weight)
{
    const double sign = y > 0 ? 1 : -1;
    const fab_logistic m = fab_logistic_at(n, sign * u, v);
    *error = sign * w * m.miss;
    *weight = w * m.slope;
}

/* The density, with sigma as a probit. */
static double evidence(double y, double w, double u0, double v0, const fab_scalar *s)
{
    (void)s;
    const double t = (y > 0 ? u0 : -u0) * sqrt(PROBIT_SCALE2 / (v0 + PROBIT_SCALE2));
    return w * (fmin(t, 0) - log1p(exp(-fabs(t))));
}

static double mean_loglik(const fab_glm *m, double y, double u, double v, double *gradient,
                          double *curvature)
{
    static const fab_nodes nodes = {.expectation = FAB_QUADRATURE};
    (void)m;
    expected(&nodes, y, 1, u, v, gradient, curvature);
    return fab_logistic_mean_log(y > 0 ? u : -u, v);
}

const fab_likelihood_row fab_likelihood_bernoulli = {
    .name = "bernoulli",
    .target = FAB_TARGET_CLASSES,
    .fits = fits,
    .range = "0 or 1",
    .loglik = loglik,
    .start = start,
    .moments = moments,
    .interval = interval,
    .logp = logp,
    .nodes = 1,
    .update = update,
    .expected = expected,
    .evidence = evidence,
    .mean_loglik = mean_loglik,
};
