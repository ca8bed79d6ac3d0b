/* predict.c - the linear predictor of rows, and the distribution of y that follows from it.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/predict.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "model/likelihoods/cdf.h"
#include "model/likelihoods/likelihood.h"
#include "predict/eta.h"
#include <math.h>
#include <string.h>

/* ---- eta ---------------------------------------------------------------------------------------------- */

enum { BLOCK = FAB_PREDICT_ROWS };

fab_status fab_predict_check(const fab_gauss *q, const fab_glm *m, const fab_rows *x)
{
    if (q->total) return FAB_FAIL(FAB_UNSUPPORTED, "predict: the Gaussian is over part of theta");
    if (q->D != fab_glm_size(m))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "predict: the Gaussian has %lld coordinates, theta has %lld",
                        (long long)q->D, (long long)fab_glm_size(m));
    return fab_rows_hold(x, m->D)
               ? FAB_OK
               : FAB_FAIL(FAB_BAD_ARGUMENT, "predict: rows of %lld numbers, expected %lld",
                          (long long)x->ld, (long long)m->D);
}

void fab_predict_gather(const fab_glm *m, const fab_rows *x, int64_t first, int64_t n, double *rows)
{
    const int64_t width = m->D + m->intercept;
    for (int64_t j = 0; j < n; j++) {
        fab_rows_get(x, first + j, m->D, rows + j * width);
        if (m->intercept) rows[j * width + m->D] = 1;
    }
}

fab_status fab_predict_no_number(const fab_glm *m, const fab_rows *x, int64_t row)
{
    int64_t at = 0;
    double most = 0;
    for (int64_t d = 0; d < m->D; d++) {
        const double value = fabs(fab_rows_at(x, row, d));
        if (!(value <= most)) most = value, at = d;
    }
    return FAB_FAIL(FAB_NUMERIC,
                    "predict: row %lld has no finite prediction: its largest feature is number "
                    "%lld, %g",
                    (long long)row, (long long)at, m->D ? fab_rows_at(x, row, at) : 0.0);
}

static double dot(int64_t n, const double *a, const double *b)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

/* Means x.mu and variances x' S x of n gathered rows; `product` has as many numbers as the rows. */
static fab_status block(const fab_gauss *q, fab_solver *solver, const double *rows, int64_t n,
                        double *product, double *eta, double *variance)
{
    const fab_rows r = {rows, FAB_F64, n, q->D};
    if (q->form != FAB_FORM_POINT) FAB_TRY(fab_solver_times_covariance(solver, &r, product));
    for (int64_t i = 0; i < n; i++) {
        const double *x = rows + i * q->D;
        eta[i] = dot(q->D, x, q->mu);
        variance[i] = q->form == FAB_FORM_POINT ? 0 : dot(q->D, x, product + i * q->D);
        if (variance[i] < 0) variance[i] = 0; /* rounding; NaN stays and is refused */
    }
    return FAB_OK;
}

static fab_status blocks(const fab_gauss *q, const fab_glm *m, const fab_rows *x,
                         fab_solver *solver, fab_watch *w, double *work, double *eta,
                         double *variance)
{
    for (int64_t first = 0; first < x->n; first += BLOCK) {
        const int64_t n = x->n - first < BLOCK ? x->n - first : BLOCK;
        fab_predict_gather(m, x, first, n, work);
        FAB_TRY(block(q, solver, work, n, work + BLOCK * q->D, eta + first, variance + first));
        FAB_TRY(fab_watch_tick(w, "predict", first + n, x->n));
    }
    return FAB_OK;
}

fab_status fab_predict_eta(const fab_gauss *q, const fab_glm *m, const fab_rows *x,
                           const double *offset, const fab_exec *exec, double *eta,
                           double *variance)
{
    fab_solver *solver;
    double *work;
    FAB_TRY(fab_predict_check(q, m, x));
    if (fab_glm_likelihood(m)->several)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "predict: a %s model has several predictors: fab_predict_etas",
                        fab_likelihood_name(m->likelihood));
    FAB_TRY(fab_solver_create(&solver, q, exec));
    fab_status s = fab_alloc_array((void **)&work, 2 * BLOCK * q->D, sizeof *work, "predict");
    if (s == FAB_OK) {
        fab_watch w = fab_watch_of(exec);
        s = blocks(q, m, x, solver, &w, work, eta, variance);
        fab_release(work);
    }
    fab_solver_free(solver);
    FAB_TRY(s);
    if (offset)
        for (int64_t i = 0; i < x->n; i++) eta[i] += offset[i];
    for (int64_t i = 0; i < x->n; i++)
        if (!isfinite(eta[i]) || !isfinite(variance[i])) return fab_predict_no_number(m, x, i);
    return FAB_OK;
}

void fab_predict_to_units(double mean, double scale, int64_t n, double *eta, double *variance)
{
    for (int64_t i = 0; i < n; i++) {
        eta[i] = mean + scale * eta[i];
        variance[i] *= scale * scale;
    }
}

/* ---- y ------------------------------------------------------------------------------------------------ */

void fab_predict_y(const fab_glm *m, double eta, double v, fab_prediction *p)
{
    const fab_likelihood_row *l = fab_glm_likelihood(m);
    double variance;
    l->moments(m, eta, v, &p->mean, &variance);
    p->sd = sqrt(variance);
    l->interval(m, eta, v, &p->lower, &p->upper);
}

double fab_predict_cdf(const fab_glm *m, double eta, double v, double y)
{
    const fab_likelihood_row *l = fab_glm_likelihood(m);
    if (l->target == FAB_TARGET_CLASSES) return NAN;
    if (l->target == FAB_TARGET_REAL) return l->cdf(m, eta, v, y);
    return (l->cdf(m, eta, v, y) + (y > 0 ? l->cdf(m, eta, v, y - 1) : 0)) / 2;
}

void fab_predict_interval(const fab_glm *m, double eta, double v, double level, fab_prediction *p)
{
    const fab_predictor c = {m, eta, v};
    fab_predict_y(m, eta, v, p);
    fab_cdf_interval(fab_predictor_cdf, &c, fab_glm_likelihood(m)->target == FAB_TARGET_COUNTS,
                     level, p->mean, p->sd, &p->lower, &p->upper);
}

double fab_predict_logp(const fab_glm *m, double eta, double v, double y)
{
    return fab_glm_likelihood(m)->logp(m, eta, v, y);
}
