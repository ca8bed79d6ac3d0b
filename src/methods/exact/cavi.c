/* cavi.c - Bayesian linear regression with Gamma priors on both precisions, by coordinate ascent ([N] 9.5.2, Algorithm 9.1).
 *
 *   y = X w + b + noise of precision beta,   w ~ N(0, I / alpha),   alpha ~ Gamma(a0, r0),   beta ~ Gamma(c0, d0),   b flat
 *   q(w, b) q(alpha) q(beta), with X = U diag(s) V' centred, u = U'y, D coefficients, W the weight of the rows:
 *
 *   1  q(w, b) = the exact posterior at A = E alpha, B = E beta (exact.c), of which are needed
 *      E |w|^2         = sum B^2 s^2 u^2 / (A + B s^2)^2 + sum 1 / (A + B s^2) + (D - n) / A
 *      E |y - Xw - b|^2 = rest + sum u^2 A^2 / (A + B s^2)^2 + sum s^2 / (A + B s^2) + [b is free] / B
 *   2  q(alpha) = Gamma(a0 + D / 2, r0 + E |w|^2 / 2),   q(beta) = Gamma(c0 + W / 2, d0 + E |y - Xw - b|^2 / 2)
 *   3  bound = log p(y | A, B) + D / 2 (E log alpha - log A) + W / 2 (E log beta - log B) - KL(q(alpha), p) - KL(q(beta), p),
 *      after 1; until a step changes A and B by less than tol, relatively
 *
 * A precision that is given has no q, and where both are given the bound is the evidence.  A step costs n: the spectrum is found once.
 * It begins at the alpha and beta of largest evidence.  Without features that vary this is the mean and precision of a normal.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/exact/cavi.h"
#include "base/digamma.h"
#include "base/fail.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/exact/exact.h"
#include "train/glm_fields.h"
#include <assert.h>
#include <math.h>

#define FALL 1e-10 /* of the bound that is rounding, relative */

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_cavi_settings
static const fab_field fields[] = {
    GLM_FIELDS,
    FIELD(alpha_shape, F64, 1e-6, 1e-12, 1e12, "shape of the Gamma prior of alpha"),
    FIELD(alpha_rate, F64, 1e-6, 1e-300, 1e300, "its rate: the mean is shape / rate"),
    FIELD(beta_shape, F64, 1e-6, 1e-12, 1e12, "shape of the Gamma prior of beta"),
    FIELD(beta_rate, F64, 1e-6, 1e-300, 1e300, "its rate"),
    FIELD(tol, F64, 1e-10, 0, 1, "stop when a step changes alpha and beta by less, relatively"),
    FIELD(max_iter, I64, 10000, 1, 1e9, "steps"),
};
GLM_LAYOUT(fields);
static const fab_fields table = TABLE("cavi", fields);
#undef SETTINGS

/* ---- the algorithm ------------------------------------------------------------------------------------ */

/* 1 */
static void moments(const fab_evidence *v, const fab_cavi *c, double *w2, double *r2)
{
    const double A = v->alpha, B = v->beta;
    *w2 = (double)(c->D - v->n) / A;
    *r2 = v->rest + (double)c->free / B;
    for (int64_t j = 0; j < v->n; j++) {
        const double p = A + B * v->s2[j], left = A / p, used = B * v->s2[j] / p;
        *w2 += used * (B / p) * v->u2[j] + 1 / p;
        *r2 += v->u2[j] * left * left + v->s2[j] / p;
    }
}

/* KL(q, p) of two Gammas. */
static double divergence(const fab_gamma *q, const fab_gamma *p)
{
    return (q->shape - p->shape) * fab_digamma(q->shape) - lgamma(q->shape) + lgamma(p->shape) +
           p->shape * (log(q->rate) - log(p->rate)) + q->shape * (p->rate - q->rate) / q->rate;
}

/* What a Gamma in the place of its mean adds to the bound where log p has `half` times its logarithm. */
static double beside_mean(const fab_gamma *q, const fab_gamma *p, double half)
{
    if (!(q->shape > 0)) return 0;
    return half * (fab_digamma(q->shape) - log(q->shape)) - divergence(q, p);
}

/* 3, without what does not change */
static double bound(const fab_evidence *v, fab_cavi *c)
{
    const double A = v->alpha, B = v->beta;
    double square = v->rest, logdet = 0;
    for (int64_t j = 0; j < v->n; j++) {
        logdet += log1p(B * v->s2[j] / A);
        square += v->u2[j] * (A / (A + B * v->s2[j]));
    }
    c->more = beside_mean(&c->alpha, &c->prior_alpha, (double)c->D / 2) +
              beside_mean(&c->beta, &c->prior_beta, (v->nu + (double)c->free) / 2);
    return (v->nu * log(B) - logdet - B * square) / 2 + c->more;
}

fab_status fab_cavi_climb(fab_evidence *v, fab_cavi *c)
{
    const int find_alpha = fab_is_auto_f64(v->alpha), find_beta = fab_is_auto_f64(v->beta);
    const double rows = v->nu + (double)c->free;
    double now = -INFINITY;
    FAB_TRY(fab_exact_evidence(v));
    c->alpha = c->beta = (fab_gamma){0, 0};
    c->converged = 0;
    for (c->iterations = 0; !c->converged && c->iterations < c->max_iter; c->iterations++) {
        const double before = now, alpha = v->alpha, beta = v->beta;
        double w2, r2;
        moments(v, c, &w2, &r2); /* 1 */
        if (find_alpha) {        /* 2 */
            c->alpha =
                (fab_gamma){c->prior_alpha.shape + (double)c->D / 2, c->prior_alpha.rate + w2 / 2};
            v->alpha = c->alpha.shape / c->alpha.rate;
        }
        if (find_beta) {
            c->beta = (fab_gamma){c->prior_beta.shape + rows / 2, c->prior_beta.rate + r2 / 2};
            v->beta = c->beta.shape / c->beta.rate;
        }
        now = bound(v, c); /* 3 */
        if (!isfinite(now))
            return FAB_FAIL(FAB_NUMERIC, "%s: the bound is %g: bring the columns to size", v->who,
                            now);
        c->gain = c->iterations ? (now - before) / rows : NAN;
        assert(c->iterations == 0 || now - before >= -FALL * (1 + fabs(before) + rows));
        c->converged = fabs(v->alpha - alpha) <= c->tol * alpha && /* NaN has been refused */
                       fabs(v->beta - beta) <= c->tol * beta;
        FAB_TRY(fab_watch_work(&v->watch, 30 * (double)v->n, v->who, c->iterations, c->max_iter));
    }
    v->calls = c->iterations;
    return FAB_OK;
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_cavi_settings *s = settings;
    FAB_TRY(fab_exact_init(handle, "cavi", 0, &(fab_exact_settings){s->glm}, in, x));
    fab_exact_fit *fit = *handle;
    fit->has_gammas = 1;
    fit->cavi = (fab_cavi){.prior_alpha = {s->alpha_shape, s->alpha_rate},
                           .prior_beta = {s->beta_shape, s->beta_rate},
                           .tol = s->tol,
                           .max_iter = s->max_iter,
                           .D = fit->model.D,
                           .free = fit->model.intercept && !fit->prior};
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    fab_exact_fit *fit = handle;
    const int64_t two = 2;
    if (fit->cavi.alpha.shape > 0)
        FAB_TRY(fab_tensors_add(t, "q_alpha", FAB_F64, 1, &two, &fit->cavi.alpha));
    if (!(fit->cavi.beta.shape > 0)) return FAB_OK;
    return fab_tensors_add(t, "q_beta", FAB_F64, 1, &two, &fit->cavi.beta);
}

const fab_method fab_cavi_method = {
    .name = "cavi",
    .summary =
        "linear regression by coordinate ascent: q(w) q(alpha) q(beta), Gamma priors on both",
    .fields = &table,
    .tensors = tensors,
    FAB_EXACT_VERBS,
};
