/* test_likelihoods.c - every row of the list of likelihoods against what its words mean, by differences and quadrature.
 *
 * Real numbers are integrated in t, y = sinh(t): there tails like y^-6 have the form exp(-6 |t|), and Simpson's rule of
 * STEPS intervals on [-REACH, REACH] is good to 1e-12.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/net.h"
#include "fabayes/table.h"
#include "model/likelihoods/likelihood.h"

#define REACH 12.0
#define EXACT 1e-11 /* what rounding and the quadrature of this file leave */
#define RULE  2e-5  /* what 64 normals in place of Student's t do (base/student.h) */
enum { STEPS = 6000, COUNTS = 4000, CLASSES = 3, MOST_Y = 5 };

static const double predictor[CLASSES] = {0.62, -0.385, 1.1}, mean_of_eta = 0.62;
static const double spreads[] = {0, 0.385, 2.385};

/* ---- the list ------------------------------------------------------------------------------------------- */

typedef void each_fn(const fab_glm *m, const fab_likelihood_row *l);

/* Every row of the list, and the one that nu brings. */
static void each(each_fn *f)
{
    int64_t seen = 0;
    for (int i = 0; i < fab_likelihood_count(); i++) {
        fab_glm m = {.likelihood = (fab_likelihood)i, .D = 3, .classes = 1, .beta = 2.385};
        const fab_likelihood_row *l = fab_likelihood_row_of(m.likelihood);
        if (l->several) m.classes = CLASSES;
        if (!l->noise && !l->dispersion) m.beta = 1;
        f(&m, l);
        seen++;
        if (!l->tailed) continue;
        m.nu = 5.385;
        assert_ptr_equal(fab_glm_likelihood(&m), l->tailed);
        f(&m, l->tailed);
    }
    assert_int_equal(seen, FAB_LIKELIHOODS);
}

/* Some targets; how many. */
static int targets(const fab_glm *m, const fab_likelihood_row *l, double *y)
{
    static const double reals[] = {-1.385, 0.62, 2.385, 29}, counts[] = {0, 1, 3, 16, 29};
    int n = l->several ? (int)m->classes : 2;
    for (int k = 0; k < n; k++) y[k] = k;
    if (l->target == FAB_TARGET_REAL) {
        memcpy(y, reals, sizeof reals);
        n = sizeof reals / sizeof *reals;
    }
    if (l->target == FAB_TARGET_COUNTS) {
        memcpy(y, counts, sizeof counts);
        n = sizeof counts / sizeof *counts;
    }
    return n;
}

static double rule_of(const fab_glm *m, double v)
{
    return m->nu > 0 && v > 0 ? RULE : EXACT;
}

/* ---- sums over y ---------------------------------------------------------------------------------------- */

typedef double value_fn(const void *ctx, double y);

static double simpson(int k, int n)
{
    if (k == 0 || k == n) return 1.0 / 3;
    return k % 2 ? 4.0 / 3 : 2.0 / 3;
}

/* The integral of f from y = sinh(a) to sinh(b). */
static double integral(value_fn *f, const void *ctx, double a, double b)
{
    double sum = 0;
    for (int k = 0; k <= STEPS; k++) {
        const double t = a + (b - a) * k / STEPS;
        sum += simpson(k, STEPS) * cosh(t) * f(ctx, sinh(t));
    }
    return sum * (b - a) / STEPS;
}

/* Over all y that can be, up to `most`. */
static double total(const fab_glm *m, const fab_likelihood_row *l, value_fn *f, const void *ctx,
                    double most)
{
    double sum = 0;
    if (l->target == FAB_TARGET_REAL)
        return integral(f, ctx, -REACH, most < INFINITY ? asinh(most) : REACH);
    for (int k = 0; k < COUNTS && k <= most; k++)
        if (l->fits(m, k)) sum += f(ctx, k);
    return sum;
}

/* A row at predictors, or under a Gaussian one. */
typedef struct at {
    const fab_glm *m;
    const fab_likelihood_row *l;
    double u, v;
    int power, a, b; /* of y - u; which derivatives */
} at;

static double density(const void *ctx, double y)
{
    const at *p = ctx;
    return exp(p->l->loglik(p->m, y, predictor, NULL, NULL));
}

static double information(const void *ctx, double y)
{
    const at *p = ctx;
    double g[CLASSES];
    return exp(p->l->loglik(p->m, y, predictor, g, NULL)) * g[p->a] * g[p->b];
}

static double smoothed(const void *ctx, double y)
{
    const at *p = ctx;
    return exp(p->l->logp(p->m, p->u, p->v, y)) * pow(y - p->u, p->power);
}

/* ---- given eta ------------------------------------------------------------------------------------------ */

/* Central differences, h and h/2, extrapolated (Richardson): h^4 / 480 of the fifth derivative, and |f| eps / h. */
#define STEP        4e-3
#define DIFFERENCES 1e-11 /* times the size of f */

static double slope(const fab_glm *m, const fab_likelihood_row *l, double y, int k, int of)
{
    double d[2];
    for (int half = 0; half < 2; half++) {
        const double h = half ? STEP / 2 : STEP;
        double up[CLASSES], down[CLASSES], gu[CLASSES], gd[CLASSES];
        memcpy(up, predictor, sizeof up);
        memcpy(down, predictor, sizeof down);
        up[k] += h, down[k] -= h;
        const double fu = l->loglik(m, y, up, gu, NULL), fd = l->loglik(m, y, down, gd, NULL);
        d[half] = (of < 0 ? fu - fd : gu[of] - gd[of]) / (2 * h);
    }
    return (4 * d[1] - d[0]) / 3;
}

static void check_derivatives(const fab_glm *m, const fab_likelihood_row *l)
{
    double y[MOST_Y], g[CLASSES], h[CLASSES * CLASSES];
    const int n = targets(m, l, y), C = (int)m->classes;
    for (int i = 0; i < n; i++) {
        const double f = l->loglik(m, y[i], predictor, g, h), tol = DIFFERENCES * (10 + fabs(f));
        for (int k = 0; k < C; k++) {
            assert_near(g[k], slope(m, l, y[i], k, -1), tol);
            for (int j = 0; j < C && !(m->nu > 0); j++) /* t has the expected curvature */
                assert_near(h[k * C + j], -slope(m, l, y[i], k, j), tol);
        }
    }
}

static void gradients_and_curvatures_are_derivatives(void **state)
{
    (void)state;
    each(check_derivatives);
}

static double mean_curvature(const void *ctx, double y)
{
    const at *p = ctx;
    double h[CLASSES * CLASSES];
    const double f = p->l->loglik(p->m, y, predictor, NULL, h);
    return exp(f) * h[p->a * p->m->classes + p->b];
}

/* E g g' = E -d^2 log p: the mean of the curvature, whether that depends on y or is the expected one. */
static void check_information(const fab_glm *m, const fab_likelihood_row *l)
{
    const int C = (int)m->classes;
    for (int k = 0; k < C * C; k++) {
        const at p = {.m = m, .l = l, .a = k / C, .b = k % C};
        const double h = total(m, l, mean_curvature, &p, INFINITY);
        assert_near(total(m, l, information, &p, INFINITY), h, EXACT * (1 + fabs(h)));
    }
}

static void curvature_is_the_information(void **state)
{
    (void)state;
    each(check_information);
}

/* (d log p / d log beta)^2 */
static double noise_information(const void *ctx, double y)
{
    const at *p = ctx;
    double d[2];
    for (int half = 0; half < 2; half++) {
        const double h = half ? STEP / 2 : STEP;
        fab_glm up = *p->m, down = *p->m;
        up.beta *= exp(h), down.beta *= exp(-h);
        d[half] = (p->l->loglik(&up, y, predictor, NULL, NULL) -
                   p->l->loglik(&down, y, predictor, NULL, NULL)) /
                  (2 * h);
    }
    const double score = (4 * d[1] - d[0]) / 3;
    return density(ctx, y) * score * score;
}

static void check_noise(const fab_glm *m, const fab_likelihood_row *l)
{
    const at p = {.m = m, .l = l};
    if (!l->noise) return;
    assert_near(total(m, l, noise_information, &p, INFINITY), l->noise_curvature(m), 1e-9);
}

static void noise_has_its_information(void **state)
{
    (void)state;
    each(check_noise);
}

static void check_sum(const fab_glm *m, const fab_likelihood_row *l)
{
    const at p = {.m = m, .l = l};
    assert_near(total(m, l, density, &p, INFINITY), 1, EXACT);
}

static void probabilities_sum_to_one(void **state)
{
    (void)state;
    each(check_sum);
}

/* ---- under a Gaussian predictor --------------------------------------------------------------------------- */

static void check_moments(const fab_glm *m, const fab_likelihood_row *l)
{
    for (int i = 0; i < 3 && !l->several; i++) {
        const double v = spreads[i], tol = rule_of(m, v);
        double mean, variance;
        at p = {.m = m, .l = l, .u = mean_of_eta, .v = v};
        l->moments(m, p.u, v, &mean, &variance);
        /* Counts beyond COUNTS are 5 standard deviations of eta away when v = 2.385: 3e-7 of all, 3e-4 of their mean,
         * and too much of the variance. */
        const double wide = l->target == FAB_TARGET_COUNTS && v > 1 ? 1e-3 : 0;
        assert_near(total(m, l, smoothed, &p, INFINITY), 1, tol + 1e-2 * wide);
        p.power = 1;
        const double first = total(m, l, smoothed, &p, INFINITY);
        p.power = 2;
        const double second = total(m, l, smoothed, &p, INFINITY);
        assert_near(first, mean - p.u, (tol + wide) * (1 + fabs(mean)));
        if (!(wide > 0)) assert_near(second - first * first, variance, 10 * tol * (1 + variance));
    }
}

static void moments_are_those_of_the_density(void **state)
{
    (void)state;
    each(check_moments);
}

/* The fourth moment of a normal is 3 times the square of its variance. */
static void check_normal(const fab_glm *m, const fab_likelihood_row *l)
{
    double mean, variance;
    const at p = {.m = m, .l = l, .u = mean_of_eta, .power = 4};
    if (l->target != FAB_TARGET_REAL) return;
    l->moments(m, p.u, 0, &mean, &variance);
    const double excess = total(m, l, smoothed, &p, INFINITY) / (variance * variance) - 3;
    assert_int_equal(l->normal, fabs(excess) < 1e-9);
}

static void normal_rows_have_normal_noise(void **state)
{
    (void)state;
    each(check_normal);
}

static void check_certain(const fab_glm *m, const fab_likelihood_row *l)
{
    double y[MOST_Y];
    const int n = l->several ? 0 : targets(m, l, y);
    for (int i = 0; i < n; i++) {
        double g, h;
        const double f = l->loglik(m, y[i], predictor, &g, &h), v = 1e-9;
        assert_near(l->logp(m, predictor[0], 0, y[i]), f, 1e-14 * (10 + fabs(f)));
        assert_near(l->logp(m, predictor[0], v, y[i]), f, /* E p = p (1 + v (g^2 - h) / 2 + ..) */
                    rule_of(m, v) * (1 + fabs(f)) + v * (g * g + h));
    }
}

static void without_spread_it_is_the_likelihood(void **state)
{
    (void)state;
    each(check_certain);
}

static void check_cdf(const fab_glm *m, const fab_likelihood_row *l)
{
    double y[MOST_Y];
    const int n = l->cdf ? targets(m, l, y) : 0;
    assert_true(l->cdf || l->target == FAB_TARGET_CLASSES);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < n; k++) {
            const at p = {.m = m, .l = l, .u = mean_of_eta, .v = spreads[i]};
            assert_near(l->cdf(m, p.u, p.v, y[k]), total(m, l, smoothed, &p, y[k]),
                        rule_of(m, p.v));
        }
}

static void distribution_is_the_sum_of_the_density(void **state)
{
    (void)state;
    each(check_cdf);
}

static void check_quantile(const at *p, double q, double p_of)
{
    const fab_likelihood_row *l = p->l;
    if (l->target == FAB_TARGET_REAL) {
        assert_near(l->cdf(p->m, p->u, p->v, q), p_of, EXACT);
    } else { /* the least that has it */
        assert_true(l->fits(p->m, q));
        assert_true(total(p->m, l, smoothed, p, q) >= p_of);
        assert_true(total(p->m, l, smoothed, p, q - 1) < p_of);
    }
}

static void check_interval(const fab_glm *m, const fab_likelihood_row *l)
{
    const double u[] = {-4.385, -1.385, 0.62, 3.385};
    for (int i = 0; i < 12 && !l->several; i++) {
        const at p = {.m = m, .l = l, .u = u[i % 4], .v = spreads[i / 4]};
        double lower, upper;
        l->interval(m, p.u, p.v, &lower, &upper);
        check_quantile(&p, lower, 0.05);
        check_quantile(&p, upper, 0.95);
    }
}

static void quantiles_invert_the_distribution(void **state)
{
    (void)state;
    each(check_interval);
}

typedef struct step_of {
    at p;
    double y;
} step_of;

static double below(const void *ctx, double x)
{
    const step_of *s = ctx;
    const double F = s->p.l->cdf(s->p.m, s->p.u, s->p.v, x);
    return F * F;
}

static double above(const void *ctx, double x)
{
    const step_of *s = ctx;
    const double F = s->p.l->cdf(s->p.m, s->p.u, s->p.v, x);
    return (1 - F) * (1 - F);
}

/* int (F(x) - [x >= y])^2 dx; that of t is itself a rule of 64 steps. */
static void check_crps(const fab_glm *m, const fab_likelihood_row *l)
{
    const double ys[] = {-1.385, 0.9};
    if (l->target != FAB_TARGET_REAL) return;
    for (int i = 0; i < 4; i++) {
        const step_of s = {{.m = m, .l = l, .u = mean_of_eta, .v = spreads[i / 2]}, ys[i % 2]};
        const double edge = asinh(s.y),
                     want = integral(below, &s, -REACH, edge) + integral(above, &s, edge, REACH);
        assert_near(l->crps(m, s.p.u, s.p.v, s.y), want, m->nu > 0 ? 1e-4 : EXACT);
    }
}

static void crps_is_the_integral(void **state)
{
    (void)state;
    each(check_crps);
}

static void check_start(const fab_glm *m, const fab_likelihood_row *l)
{
    double mean, variance;
    if (!l->start) return;
    l->moments(m, l->start(0.385, 29), 0, &mean, &variance);
    assert_true(fabs(mean - 0.385) <= 0.5 / 30); /* one more row, of one half */
    l->moments(m, l->start(0, 29), 0, &mean, &variance);
    assert_true(isfinite(l->start(0, 29)) && mean >= 0 && mean < 0.5 / 29);
}

static void a_fit_begins_at_the_mean(void **state)
{
    (void)state;
    each(check_start);
}

/* ---- recursive inference ------------------------------------------------------------------------------------ */

/* Means of gradient and curvature under N(u, v), by the trapezoid rule in standard deviations. */
static void average(const fab_glm *m, const fab_likelihood_row *l, double y, double u, double v,
                    double *gradient, double *curvature)
{
    double weight = 0, g, h;
    *gradient = *curvature = 0;
    for (int k = -2000; k <= 2000; k++) {
        const double z = k / 200.0, p = exp(-z * z / 2), eta = u + sqrt(v) * z;
        l->loglik(m, y, &eta, &g, &h);
        *gradient += p * g;
        *curvature += p * h;
        weight += p;
    }
    *gradient /= weight;
    *curvature /= weight;
}

static void check_update(const fab_glm *model, const fab_likelihood_row *l)
{
    const fab_nodes nodes = {.expectation = FAB_QUADRATURE};
    double y[MOST_Y];
    const int n = l->update ? targets(model, l, y) : 0;
    for (int i = 0; i < 2 * n; i++) {
        const double u0 = mean_of_eta, v0 = i < n ? 0.385 : 2.385, w = l->noise ? 2.385 : 1;
        const fab_scalar s = l->update(&nodes, y[i % n], w, u0, v0);
        fab_glm m = *model;
        double g, h, e, k;
        m.beta = w; /* the weight of a row with noise is its precision */
        average(&m, l, y[i % n], s.u, s.v, &g, &h);
        assert_near(s.error, g, 1e-10 * (1 + fabs(g)));
        assert_near(s.weight, h, 1e-10 * (1 + fabs(h)));
        assert_near(s.u, u0 + v0 * s.error, 1e-12 * (1 + fabs(s.u)));
        assert_near(s.v, v0 / (1 + v0 * s.weight), 1e-12 * v0);
        if (!l->expected) continue;
        average(&m, l, y[i % n], u0, v0, &g, &h);
        l->expected(&nodes, y[i % n], w, u0, v0, &e, &k);
        assert_near(e, g, 1e-10 * (1 + fabs(g)));
        assert_near(k, h, 1e-10 * (1 + fabs(h)));
    }
}

static void updates_solve_their_equations(void **state)
{
    (void)state;
    each(check_update);
}

/* E log p, its gradient and curvature, narrow, wide and far. */
static void check_mean(const fab_glm *m, const fab_likelihood_row *l)
{
    double y[MOST_Y];
    const int n = l->mean_loglik ? targets(m, l, y) : 0;
    for (int i = 0; i < 4 * n; i++) {
        const double u = i < 2 * n ? mean_of_eta : -3.85, v = i % (2 * n) < n ? 0.385 : 2.385;
        double g, h, want_g, want_h, want = 0, weight = 0;
        const double got = l->mean_loglik(m, y[i % n], u, v, &g, &h);
        average(m, l, y[i % n], u, v, &want_g, &want_h);
        for (int k = -2000; k <= 2000; k++) {
            const double z = k / 200.0, p = exp(-z * z / 2), eta = u + sqrt(v) * z;
            want += p * l->loglik(m, y[i % n], &eta, NULL, NULL);
            weight += p;
        }
        assert_near(got, want / weight, 1e-10 * (1 + fabs(got)));
        assert_near(g, want_g, 1e-10 * (1 + fabs(g)));
        assert_near(h, want_h, 1e-10 * (1 + fabs(h)));
    }
}

static void means_of_the_log_likelihood_are_its_integrals(void **state)
{
    (void)state;
    each(check_mean);
    for (double s = 3; s < 50;
         s *= 1.7) { /* beside and beyond where a normal's positive part is taken out */
        double want = 0;
        for (int k = -20000; k <= 20000; k++) {
            const double z = k / 2000.0, t = 1.5 + s * z;
            want += exp(-z * z / 2) / 2000 / 2.5066282746310002 *
                    (fmin(t, 0) - log1p(exp(-fabs(t))));
        }
        assert_near(fab_logistic_mean_log(1.5, s * s), want, 1e-9 * fabs(want));
    }
}

/* Equal where it is closed; of counts a bound within what Gaussians lose; of classes with sigma as a probit, whose
 * probabilities are within 0.02. */
static void check_evidence(const fab_glm *m, const fab_likelihood_row *l)
{
    const fab_nodes nodes = {.expectation = FAB_PROBIT};
    double y[MOST_Y];
    const int n = l->evidence ? targets(m, l, y) : 0, bound = l->target == FAB_TARGET_COUNTS,
              probit = l->target == FAB_TARGET_CLASSES;
    assert_int_equal(l->evidence != NULL, l->update != NULL);
    for (int i = 0; i < n; i++) {
        const double w = m->beta, u0 = mean_of_eta, v0 = 0.385;
        const fab_scalar s = l->update(&nodes, y[i], w, u0, v0);
        const double got = l->evidence(y[i], w, u0, v0, &s), logp = l->logp(m, u0, v0, y[i]);
        const double round = 1e-12 * (1 + fabs(logp));
        if (probit) {
            assert_near(exp(got), exp(logp), 0.02);
            continue;
        }
        assert_true(got <= logp + round);
        assert_true(got >= logp - (bound ? 0.02 : round));
    }
}

static void evidence_is_the_density_or_a_bound(void **state)
{
    (void)state;
    each(check_evidence);
}

/* ---- the door ------------------------------------------------------------------------------------------- */

static void check_range(const fab_glm *m, const fab_likelihood_row *l)
{
    static const double never[] = {NAN, INFINITY, -INFINITY};
    static const double not_whole[] = {-1, 2.385, 0.5, 0x1p54, -0x1p-40};
    const double x[9] = {0.385};
    double good[MOST_Y], y[3];
    const int n = targets(m, l, good), whole = l->target != FAB_TARGET_REAL;
    const fab_examples e = {.x = {x, FAB_F64, 3, 3}, .y = y};
    for (int i = 0; i < n; i++) {
        y[0] = y[1] = good[0], y[2] = good[i];
        assert_int_equal(fab_examples_check("me", m, &e), FAB_OK);
    }
    for (int i = 0; i < (whole ? 8 : 3); i++) {
        char want[80];
        y[2] = i < 3 ? never[i] : not_whole[i - 3];
        if (m->likelihood == FAB_LIKELIHOOD_POISSON && y[2] > 0 && y[2] < 3) {
            assert_int_equal(fab_examples_check("me", m, &e), FAB_OK); /* an amount, no count */
            continue;
        }
        snprintf(want, sizeof want, "me: row 2 has y = %g, expected %s", y[2], l->range);
        assert_int_equal(fab_examples_check("me", m, &e), FAB_BAD_DATA);
        assert_string_equal(fab_detail(), want);
    }
    if (l->target != FAB_TARGET_CLASSES) return;
    y[2] = n;
    assert_int_equal(fab_examples_check("me", m, &e), FAB_BAD_DATA);
}

static void targets_out_of_range_are_refused(void **state)
{
    (void)state;
    each(check_range);
}

static void names_lead_to_their_rows(void **state)
{
    (void)state;
    fab_likelihood l = FAB_LIKELIHOOD_POISSON;
    assert_string_equal(fab_likelihood_name(FAB_LIKELIHOOD_GAUSSIAN), "gaussian");
    assert_string_equal(fab_likelihood_name(FAB_LIKELIHOOD_BERNOULLI), "bernoulli");
    assert_string_equal(fab_likelihood_name(FAB_LIKELIHOOD_POISSON), "poisson");
    assert_string_equal(fab_likelihood_name(FAB_LIKELIHOOD_CATEGORICAL), "categorical");
    for (int i = 0; i < fab_likelihood_count(); i++) {
        assert_int_equal(fab_likelihood_find(fab_likelihood_name((fab_likelihood)i), &l), FAB_OK);
        assert_int_equal(l, i);
        assert_string_equal(fab_likelihood_names[i], fab_likelihood_row_of(l)->name);
        assert_int_equal(fab_likelihood_target(l), fab_likelihood_row_of(l)->target);
    }
    assert_null(fab_likelihood_names[FAB_LIKELIHOODS]);
    assert_int_equal(fab_likelihood_find("gausian", &l), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "there is no likelihood 'gausian'; did you mean 'gaussian'?");
    assert_int_equal(fab_likelihood_find("cauchyxyz", &l), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "there is no likelihood 'cauchyxyz'");
    assert_int_equal(fab_likelihood_find(NULL, &l), FAB_BAD_ARGUMENT);
    assert_int_equal(l, fab_likelihood_count() - 1); /* as it was */
    assert_string_equal(fab_likelihood_name((fab_likelihood)FAB_LIKELIHOODS), "unknown");
    assert_string_equal(fab_likelihood_name((fab_likelihood)-1), "unknown");
}

/* A number that is no likelihood stops at every door. */
static void unlisted_likelihoods_are_refused(void **state)
{
    (void)state;
    const fab_likelihood none = (fab_likelihood)FAB_LIKELIHOODS;
    const fab_glm g = {.likelihood = none, .D = 1, .classes = 1, .beta = 1};
    const double x[1] = {2.385};
    const fab_examples e = {.x = {x, FAB_F64, 1, 1}, .y = x};
    const fab_net_plan p = {
        .layers = "linear", .features = 1, .likelihood = none, .classes = 1, .beta = 1};
    const fab_recipe r = {.likelihood = none};
    const int64_t row = 0;
    fab_fold *fold;
    fab_net *net;
    assert_int_equal(fab_examples_check("me", &g, &e), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "me: likelihood 5, expected one of 0 .. 4");
    assert_int_equal(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_fold_create(&fold, &r, NULL, &row, 1, &row, 1), FAB_BAD_ARGUMENT);
}

static void other_names_are_found(void **state)
{
    (void)state;
    fab_noise noise = FAB_NOISE_FIXED;
    fab_missing missing = FAB_MISSING_REFUSE;
    assert_int_equal(fab_noise_count(), FAB_NOISE_OUTPUT + 1);
    assert_int_equal(fab_missing_count(), FAB_MISSING_MEAN + 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fab_noise_find(fab_noise_name((fab_noise)i), &noise), FAB_OK);
        assert_int_equal(noise, i);
        assert_int_equal(fab_missing_find(fab_missing_name((fab_missing)i), &missing), FAB_OK);
        assert_int_equal(missing, i);
    }
    assert_int_equal(fab_noise_find("loud", &noise), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_missing_find("median", &missing), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_noise_find(NULL, &noise), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_missing_find(NULL, &missing), FAB_BAD_ARGUMENT);
    assert_true(noise == FAB_NOISE_OUTPUT && missing == FAB_MISSING_MEAN);
    assert_string_equal(fab_noise_name((fab_noise)3), "unknown");
    assert_string_equal(fab_missing_name((fab_missing)-1), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gradients_and_curvatures_are_derivatives),
        TEST(curvature_is_the_information),
        TEST(noise_has_its_information),
        TEST(probabilities_sum_to_one),
        TEST(moments_are_those_of_the_density),
        TEST(normal_rows_have_normal_noise),
        TEST(without_spread_it_is_the_likelihood),
        TEST(distribution_is_the_sum_of_the_density),
        TEST(quantiles_invert_the_distribution),
        TEST(crps_is_the_integral),
        TEST(a_fit_begins_at_the_mean),
        TEST(updates_solve_their_equations),
        TEST(means_of_the_log_likelihood_are_its_integrals),
        TEST(evidence_is_the_density_or_a_bound),
        TEST(targets_out_of_range_are_refused),
        TEST(names_lead_to_their_rows),
        TEST(unlisted_likelihoods_are_refused),
        TEST(other_names_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
