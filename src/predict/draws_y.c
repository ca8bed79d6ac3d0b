/* draws_y.c - what y will be, and scores, under a mixture of likelihoods (draws.h).
 *
 *   1  F(y) = sum_s w_s F_s(y); quantiles by bisection                              (model/likelihoods/cdf.h)
 *   2  normals: crps = sum_s w_s A(y - m_s, v_s) - sum_s,t w_s w_t A(m_s - m_t, v_s + v_t) / 2,
 *      A(m, v) = 2 sqrt(v) phi(m / sqrt(v)) + m (2 Phi(m / sqrt(v)) - 1); other real numbers: by F
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/predict.h"
#include "model/likelihoods/cdf.h"
#include "model/likelihoods/likelihood.h"
#include "predict/score.h"
#include <math.h>

#define INV_SQRT_2PI 0.39894228040143267794
/* Operations, for whoever watches: of a component's density, of A(m, v), of an integral over F. */
enum { DENSITY_WORK = 1000, SPREAD_WORK = 50, INTEGRAL_WORK = 100000 };

/* Component s of row i: a predictor, its variance (0 of a draw), and the likelihood with the noise that it has there. */
typedef struct component {
    const fab_likelihood_row *l;
    fab_glm m;
    double u, v;
} component;

static component component_of(const fab_draws *d, int64_t s, int64_t i)
{
    const int64_t at = s * d->n + i;
    component c = {fab_glm_likelihood(&d->head), d->head, d->eta[at],
                   d->variance ? d->variance[at] : 0};
    if (d->beta) c.m.beta = d->beta[at];
    return c;
}

/* ---- moments ------------------------------------------------------------------------------------------ */

/* Mean and variance of the mixture. */
static void mixture_moments(const fab_draws *d, int64_t i, double *mean, double *variance)
{
    double m, v;
    *mean = *variance = 0;
    for (int64_t s = 0; s < d->samples; s++) {
        const component c = component_of(d, s, i);
        c.l->moments(&c.m, c.u, c.v, &m, &v);
        *mean += d->weight[s] * m;
    }
    for (int64_t s = 0; s < d->samples; s++) {
        const component c = component_of(d, s, i);
        c.l->moments(&c.m, c.u, c.v, &m, &v);
        *variance += d->weight[s] * (v + (m - *mean) * (m - *mean));
    }
}

/* ---- distribution --------------------------------------------------------------------------------------- */

typedef struct row_of {
    const fab_draws *d;
    int64_t i;
} row_of;

/* F(y) = sum_s w_s F_s(y) */
static double cdf(const void *ctx, double y)
{
    const row_of *r = ctx;
    double sum = 0;
    for (int64_t s = 0; s < r->d->samples; s++) {
        const component c = component_of(r->d, s, r->i);
        sum += r->d->weight[s] * c.l->cdf(&c.m, c.u, c.v, y);
    }
    return sum;
}

double fab_draws_cdf(const fab_draws *d, int64_t i, double y)
{
    const row_of r = {d, i};
    const fab_target target = fab_glm_likelihood(&d->head)->target;
    if (target == FAB_TARGET_CLASSES) return NAN;
    if (target == FAB_TARGET_REAL) return cdf(&r, y);
    return (cdf(&r, y) + (y > 0 ? cdf(&r, y - 1) : 0)) / 2;
}

void fab_draws_predict(const fab_draws *d, int64_t i, fab_prediction *p)
{
    const row_of r = {d, i};
    double variance;
    mixture_moments(d, i, &p->mean, &variance);
    p->sd = sqrt(variance);
    switch (fab_glm_likelihood(&d->head)->target) {
    case FAB_TARGET_REAL:
        p->lower = fab_cdf_quantile(cdf, &r, 0.05, p->mean, p->sd);
        p->upper = fab_cdf_quantile(cdf, &r, 0.95, p->mean, p->sd);
        break;
    case FAB_TARGET_COUNTS:
        p->lower = fab_cdf_least(cdf, &r, 0.05);
        p->upper = fab_cdf_least(cdf, &r, 0.95);
        break;
    case FAB_TARGET_CLASSES: p->lower = p->mean > 0.95; p->upper = p->mean > 0.05;
    }
}

void fab_draws_interval(const fab_draws *d, int64_t i, double level, fab_prediction *p)
{
    const row_of r = {d, i};
    fab_cdf_interval(cdf, &r, fab_glm_likelihood(&d->head)->target == FAB_TARGET_COUNTS, level,
                     p->mean, p->sd, &p->lower, &p->upper);
}

/* ---- scores --------------------------------------------------------------------------------------------- */

static double spread(double m, double v)
{
    const double sd = sqrt(v), z = m / sd;
    return 2 * sd * INV_SQRT_2PI * exp(-z * z / 2) + m * erf(z / sqrt(2));
}

/* Of a mixture of normals. */
static fab_status crps(const fab_draws *d, int64_t i, double y, fab_watch *w, double *crps)
{
    double sum = 0, m, v, mean, variance;
    for (int64_t s = 0; s < d->samples; s++) {
        FAB_TRY(fab_watch_work(w, SPREAD_WORK * (double)(s + 1), "score", i, d->n));
        const component c = component_of(d, s, i);
        c.l->moments(&c.m, c.u, c.v, &m, &v);
        sum += d->weight[s] * spread(y - m, v);
        for (int64_t t = 0; t < s; t++) { /* twice, halved */
            const component o = component_of(d, t, i);
            o.l->moments(&o.m, o.u, o.v, &mean, &variance);
            sum -= d->weight[s] * d->weight[t] * spread(m - mean, v + variance);
        }
        sum -= 0.5 * d->weight[s] * d->weight[s] * spread(0, 2 * v);
    }
    *crps = sum;
    return FAB_OK;
}

static fab_status score_classes(const fab_draws *d, const double *y, const fab_exec *exec,
                                fab_scores *s)
{
    const int64_t C = d->head.classes;
    fab_watch w = fab_watch_of(exec);
    fab_status done = FAB_OK;
    double *logp;
    FAB_TRY(fab_alloc_array((void **)&logp, d->n * C, sizeof *logp, "score"));
    for (int64_t i = 0; i < d->n; i++) {
        fab_draws_classes(d, i, logp + i * C);
        done = fab_watch_work(&w, DENSITY_WORK * (double)(d->samples * C), "score", i, d->n);
        if (done != FAB_OK) break;
    }
    if (done == FAB_OK) done = fab_score_classes(C, d->n, logp, y, exec, s);
    fab_release(logp);
    return done;
}

static fab_status score_two(const fab_draws *d, const double *y, fab_watch *w, fab_scores *s)
{
    fab_status done = FAB_OK;
    double *p, variance;
    FAB_TRY(fab_alloc_array((void **)&p, d->n, sizeof *p, "score"));
    for (int64_t i = 0; i < d->n; i++) {
        mixture_moments(d, i, &p[i], &variance);
        done = fab_watch_work(w, DENSITY_WORK * (double)d->samples, "score", i, d->n);
        if (done != FAB_OK) break;
    }
    if (done == FAB_OK) done = fab_score_probabilities(d->n, p, y, w, s);
    fab_release(p);
    return done;
}

fab_status fab_draws_score(const fab_draws *d, const double *y, const fab_exec *exec, fab_scores *s)
{
    const fab_likelihood_row *l = fab_glm_likelihood(&d->head);
    fab_watch w = fab_watch_of(exec);
    *s = (fab_scores){.n = d->n};
    if (l->several) return score_classes(d, y, exec, s);
    for (int64_t i = 0; i < d->n; i++) {
        const row_of r = {d, i};
        double mean, variance, one;
        FAB_TRY(fab_watch_work(&w, DENSITY_WORK * (double)d->samples, "score", i, d->n));
        mixture_moments(d, i, &mean, &variance);
        const double logp = fab_draws_logp(d, i, y[i]);
        FAB_TRY(fab_score_add(i, y[i], logp, mean, variance, s));
        if (l->target != FAB_TARGET_REAL) continue;
        s->mae += fabs(y[i] - mean);
        if (l->normal) {
            FAB_TRY(crps(d, i, y[i], &w, &one));
        } else {
            FAB_TRY(fab_watch_work(&w, INTEGRAL_WORK * (double)d->samples, "score", i, d->n));
            one = fab_cdf_crps(cdf, &r, y[i], sqrt(variance));
        }
        s->crps += one;
        fab_score_coverage(cdf(&r, y[i]), s);
    }
    if (l->target == FAB_TARGET_CLASSES) FAB_TRY(score_two(d, y, &w, s));
    fab_score_finish(l->target, s);
    return FAB_OK;
}
