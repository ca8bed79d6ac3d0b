/* linear.c - a generalised linear model as a fab_model: theta is the coefficients of its predictors.
 *
 *   eta_ic = x_i . theta_c + intercept_c                      theta: classes x (D + intercept), glm.c
 *   d eta_ic / d theta_c = (x_i, 1)                           the Jacobian: one block a class
 *   g_i = -weight (d log p / d eta_ic) (x_i, 1)               the gradient of an example
 *
 * Rows are read where they stand, one after the other: no workspace, so the description itself is all of its state.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/rows.h"
#include "fabayes/model.h"
#include "model/likelihoods/likelihood.h"
#include <string.h>

enum { BATCH = 256, MOST_CLASSES = 1000 };

static int64_t width_of(const fab_glm *g)
{
    return g->D + g->intercept;
}

/* out (outputs) of row i, without its offset */
static void predictors(const fab_glm *g, const double *theta, const fab_rows *x, int64_t i,
                       double *out)
{
    for (int64_t c = 0; c < g->classes; c++, theta += width_of(g)) {
        double sum = g->intercept ? theta[g->D] : 0;
        for (int64_t k = 0; k < fab_rows_stored(x, i, g->D); k++)
            sum += fab_rows_value(x, i, k) * theta[fab_rows_place(x, i, k)];
        out[c] = sum;
    }
}

/* to += a (x_i, 1) */
static void add_row(const fab_glm *g, const fab_rows *x, int64_t i, double a, double *to)
{
    for (int64_t k = 0; k < fab_rows_stored(x, i, g->D); k++)
        to[fab_rows_place(x, i, k)] += a * fab_rows_value(x, i, k);
    if (g->intercept) to[g->D] += a;
}

/* slope (classes) = d log p / d eta of example i; log p */
static double example(const fab_glm *g, const double *theta, const fab_examples *e, int64_t i,
                      double *slope)
{
    double eta[MOST_CLASSES];
    predictors(g, theta, &e->x, i, eta);
    if (e->offset)
        for (int64_t c = 0; c < g->classes; c++) eta[c] += e->offset[i];
    return fab_glm_loglik(g, e->y[i], eta, slope, NULL);
}

static fab_status check_classes(const fab_glm *g)
{
    if (g->classes <= MOST_CLASSES) return FAB_OK;
    return FAB_FAIL(FAB_UNSUPPORTED, "linear model: %lld classes, offered up to %d",
                    (long long)g->classes, MOST_CLASSES);
}

static fab_status loss(void *self, const double *theta, const fab_examples *e, double *loss,
                       double *gradient)
{
    const fab_glm *g = self;
    const double share = 1 / (double)e->x.n;
    double sum = 0, slope[MOST_CLASSES];
    FAB_TRY(check_classes(g));
    if (gradient) memset(gradient, 0, (size_t)fab_glm_size(g) * sizeof *gradient);
    for (int64_t i = 0; i < e->x.n; i++) {
        const double weight = e->weight ? e->weight[i] : 1;
        sum -= weight * example(g, theta, e, i, slope);
        if (!gradient) continue;
        for (int64_t c = 0; c < g->classes; c++)
            add_row(g, &e->x, i, -share * weight * slope[c], gradient + c * width_of(g));
    }
    *loss = share * sum;
    return FAB_OK;
}

static fab_status predict(void *self, const double *theta, const fab_rows *x, double *out)
{
    const fab_glm *g = self;
    for (int64_t i = 0; i < x->n; i++) predictors(g, theta, x, i, out + i * g->classes);
    return FAB_OK;
}

static fab_status jacobian(void *self, const double *theta, const fab_rows *x, void *J, int64_t ld)
{
    const fab_glm *g = self;
    double *row = J;
    (void)theta; /* linear: the same everywhere */
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t c = 0; c < g->classes; c++, row += ld) {
            memset(row, 0, (size_t)fab_glm_size(g) * sizeof *row);
            add_row(g, x, i, 1, row + c * width_of(g));
        }
    return FAB_OK;
}

static fab_status gradients(void *self, const double *theta, const fab_examples *e, void *G,
                            int64_t ld)
{
    const fab_glm *g = self;
    double slope[MOST_CLASSES], *row = G;
    FAB_TRY(check_classes(g));
    for (int64_t i = 0; i < e->x.n; i++, row += ld) {
        const double weight = e->weight ? e->weight[i] : 1;
        memset(row, 0, (size_t)fab_glm_size(g) * sizeof *row);
        example(g, theta, e, i, slope);
        for (int64_t c = 0; c < g->classes; c++)
            add_row(g, &e->x, i, -weight * slope[c], row + c * width_of(g));
    }
    return FAB_OK;
}

static fab_status fix_beta(void *self, double beta)
{
    fab_glm *g = self;
    if (!fab_glm_likelihood(g)->noise && !fab_glm_likelihood(g)->dispersion)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "linear model: beta = %g of a %s target", beta,
                        fab_likelihood_name(g->likelihood));
    g->beta = beta;
    return FAB_OK;
}

static fab_status json(void *self, char **text)
{
    return fab_glm_json(self, text);
}

fab_model fab_model_linear(fab_glm *g)
{
    if (!(g->beta > 0)) g->beta = 1;
    return (fab_model){.D = fab_glm_size(g),
                       .head = *g,
                       .outputs = g->classes,
                       .linear = 1,
                       .glm = 1,
                       .batch = BATCH,
                       .type = FAB_F64,
                       .self = g,
                       .loss = loss,
                       .fix_beta = fix_beta,
                       .json = json,
                       .predict = predict,
                       .jacobian = jacobian,
                       .gradients = gradients};
}
