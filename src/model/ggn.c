/* ggn.c - rows whose squares are the generalised Gauss-Newton matrix.
 *
 *   1  out = the outputs of the examples, then J, their gradients by theta
 *   2  one predictor:  s = sqrt(w h) J_1,  h the curvature of -log p there;  a log noise output: sqrt(w / 2) J_2
 *   3  classes:        s_c = sqrt(w p_c) (J_c - sum_k p_k J_k)
 *
 * 3 is a root of diag(p) - p p': with R = (I - p 1') diag(p)^1/2 it is R R', and s = R' J.
 *
 * SPDX-License-Identifier: MIT */
#include "model/ggn.h"
#include "base/fail.h"
#include "la/nn.h"
#include "model/layers/layers.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>

double fab_glm_beta(const fab_glm *g, double log_beta)
{
    const double beta = exp(log_beta);
    return g->beta_most > 0 && beta > g->beta_most ? g->beta_most : beta;
}

double fab_model_beta(const fab_model *m, const double *theta, const double *out)
{
    if (m->outputs == 2) return fab_glm_beta(&m->head, out[1]);
    return m->free ? fab_glm_beta(&m->head, theta[m->D - 1]) : m->head.beta;
}

double fab_glm_noise_curvature(const fab_glm *g)
{
    const fab_likelihood_row *l = fab_glm_likelihood(g);
    return l->noise ? l->noise_curvature(g) : 0;
}

fab_status fab_ggn_check(const char *who, const fab_model *m)
{
    if (!m->predict || !m->jacobian)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: needs the outputs of the model and their Jacobian, and this model has "
                        "no functions `predict` and `jacobian`",
                        who);
    return FAB_OK;
}

/* ---- factors of the gradients ------------------------------------------------------------------------- */

/* 2: out <- sqrt(w h), sqrt(w / 2) */
static void bend_one(const fab_model *m, const double *theta, const fab_examples *e, int64_t i,
                     double w, double *out)
{
    fab_glm g = m->head;
    const double eta = out[0] + (e->offset ? e->offset[i] : 0);
    double h;
    if (fab_glm_likelihood(&g)->noise) g.beta = fab_model_beta(m, theta, out);
    fab_glm_loglik(&g, e->y[i], &eta, NULL, &h);
    out[0] = sqrt(w * h);
    if (m->outputs == 2) out[1] = sqrt(w * fab_glm_noise_curvature(&g));
}

/* 3: out <- p */
static void probabilities(int64_t C, double *out)
{
    double top = out[0], sum = 0;
    for (int64_t c = 1; c < C; c++) top = fmax(top, out[c]);
    for (int64_t c = 0; c < C; c++) sum += out[c] = exp(out[c] - top);
    for (int64_t c = 0; c < C; c++) out[c] /= sum;
}

/* Factors of example i: p of classes, the roots of one predictor. */
static fab_status factors(const fab_model *m, const double *theta, const fab_examples *e, int64_t i,
                          double *out)
{
    double sum = 0;
    if (fab_glm_likelihood(&m->head)->several)
        probabilities(m->outputs, out);
    else
        bend_one(m, theta, e, i, e->weight ? e->weight[i] : 1, out);
    for (int64_t c = 0; c < m->outputs; c++) sum += out[c];
    if (isfinite(sum)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "the curvature of example %lld is %g", (long long)i, sum);
}

fab_status fab_ggn_roots(const fab_model *m, const double *theta, const fab_examples *e,
                         double *out, double *R)
{
    const int64_t C = m->outputs;
    const int several = fab_glm_likelihood(&m->head)->several;
    FAB_TRY(m->predict(m->self, theta, &e->x, out)); /* 1 */
    for (int64_t i = 0; i < e->x.n; i++) {
        const double w = e->weight ? e->weight[i] : 1, *p = out + i * C;
        double *r = R + i * C * C;
        FAB_TRY(factors(m, theta, e, i, out + i * C));
        for (int64_t o = 0; o < C; o++)
            for (int64_t k = 0; k < C; k++) {
                const double one = o == k;
                r[o * C + k] = several ? sqrt(w * p[o]) * (one - p[k]) : one * p[o]; /* 3, 2 */
            }
    }
    return FAB_OK;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static void scale(const fab_nn *nn, int64_t D, double a, void *row)
{
    for (int64_t d = 0; d < D; d++) fab_put(nn, row, d, a * fab_get(nn, row, d));
}

/* 3, of the C gradients of one example; p: their probabilities */
static void scale_classes(const fab_nn *nn, int64_t C, int64_t D, const double *p, double w,
                          void *rows, int64_t ld)
{
    for (int64_t d = 0; d < D; d++) {
        double mean = 0;
        for (int64_t c = 0; c < C; c++) mean += p[c] * fab_get(nn, rows, c * ld + d);
        for (int64_t c = 0; c < C; c++)
            fab_put(nn, rows, c * ld + d, sqrt(w * p[c]) * (fab_get(nn, rows, c * ld + d) - mean));
    }
}

static fab_status scale_example(const fab_model *m, const double *theta, const fab_examples *e,
                                int64_t i, double *out, void *rows, int64_t ld)
{
    const fab_nn *nn = fab_nn_find(m->type);
    const int64_t C = m->outputs;
    const int several = fab_glm_likelihood(&m->head)->several;
    const double w = e->weight ? e->weight[i] : 1;
    FAB_TRY(factors(m, theta, e, i, out));
    if (several)
        scale_classes(nn, C, m->D, out, w, rows, ld);
    else
        for (int64_t c = 0; c < C; c++) scale(nn, m->D, out[c], fab_at(nn, rows, c * ld));
    return FAB_OK;
}

fab_status fab_ggn_rows(const fab_model *m, const double *theta, const fab_examples *e, double *out,
                        void *S, int64_t ld)
{
    const fab_nn *nn = fab_nn_find(m->type);
    const int64_t C = m->outputs;
    FAB_TRY(m->predict(m->self, theta, &e->x, out)); /* 1 */
    FAB_TRY(m->jacobian(m->self, theta, &e->x, S, ld));
    for (int64_t i = 0; i < e->x.n; i++)
        FAB_TRY(scale_example(m, theta, e, i, out + i * C, fab_at(nn, S, i * C * ld), ld));
    return FAB_OK;
}
