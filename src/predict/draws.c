/* draws.c - predictions of any model by draws of theta.
 *
 *   1  theta_s ~ q, s = 1 .. S; of a mixture of points each point once, with its weight
 *   2  eta_s,i = the model's predictor of row i, beta_s,i the precision of its noise
 *   3  p(y_i) = sum_s w_s p(y_i | eta_s,i, beta_s,i)
 *
 * SPDX-License-Identifier: MIT */
#include "model/ggn.h"
#include "model/likelihoods/likelihood.h"
#include "predict/draws.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include <math.h>
#include <string.h>

enum { THETA_NUMBERS = 1 << 20 }; /* of draws made at a time: 8 MB, or one draw */

typedef struct drawing {
    const fab_model *m;
    const fab_mixture *q;
    const fab_rows *x;
    const double *offset;
    const fab_exec *exec;
    fab_watch watch;
    uint64_t seed;
    int64_t D, at_once;
    double *theta; /* at_once x D */
    double *out;   /* batch x outputs */
    fab_draws *d;
} drawing;

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_draws *d = handle;
    const fab_likelihood_row *row = fab_glm_likelihood(&d->head);
    const int spread = d->variance != NULL;
    d->eta = fab_place(l, d->samples * d->n * d->head.classes, sizeof(double));
    d->beta = row->noise ? fab_place(l, d->samples * d->n, sizeof(double)) : NULL;
    d->variance = spread ? fab_place(l, d->samples * d->n, sizeof(double)) : NULL;
    d->logp = spread && row->several ? fab_place(l, d->n * d->head.classes, sizeof(double)) : NULL;
    d->weight = fab_place(l, d->samples, sizeof(double));
}

fab_status fab_draws_new(fab_draws **d, const fab_glm *head, int64_t n, int64_t samples,
                         int linearised)
{
    double asked = 0; /* for a spread: while room is counted nothing else tells */
    const fab_draws proto = {
        .head = *head, .n = n, .samples = samples, .variance = linearised ? &asked : NULL};
    return fab_build((void **)d, sizeof proto, &proto, layout);
}

void fab_draws_free(fab_draws *d)
{
    fab_release(d);
}

static int all_points(const fab_mixture *q)
{
    int64_t points = 0;
    for (int64_t i = 0; i < q->n; i++) points += q->part[i]->form == FAB_FORM_POINT;
    return points == q->n;
}

fab_status fab_draws_check(const fab_model *m, const fab_mixture *q, const fab_rows *x)
{
    const fab_gauss *g = q->part[0];
    FAB_TRY(fab_model_check("draws", m));
    FAB_TRY(fab_mixture_check(q));
    if (!m->predict) return FAB_FAIL(FAB_UNSUPPORTED, "draws: the model has no function `predict`");
    if ((g->total ? g->total : g->D) != m->D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "draws: the Gaussian has %lld coordinates, the model has %lld",
                        (long long)(g->total ? g->total : g->D), (long long)m->D);
    if (x->n < 1) return FAB_FAIL(FAB_BAD_DATA, "draws: there are no rows");
    return FAB_OK;
}

/* ---- 1, 2 --------------------------------------------------------------------------------------------- */

/* Predictors and noise of rows first .. first + n - 1 from the outputs of draw s. */
static void take_outputs(const drawing *g, int64_t s, const double *theta, int64_t first, int64_t n)
{
    const fab_model *m = g->m;
    fab_draws *d = g->d;
    const int64_t C = d->head.classes, O = m->outputs;
    for (int64_t i = 0; i < n; i++) {
        const double *out = g->out + i * O;
        const int64_t at = s * d->n + first + i;
        for (int64_t c = 0; c < C; c++)
            d->eta[at * C + c] = out[c] + (g->offset ? g->offset[first + i] : 0);
        if (d->beta) d->beta[at] = fab_model_beta(m, theta, out);
    }
}

static fab_status predict(drawing *g, int64_t s, const double *theta)
{
    const int64_t batch = g->m->batch, n = g->x->n;
    for (int64_t first = 0; first < n; first += batch) {
        const int64_t count = n - first < batch ? n - first : batch;
        const fab_rows part = fab_rows_part(g->x, first, count);
        FAB_TRY(g->m->predict(g->m->self, theta, &part, g->out));
        take_outputs(g, s, theta, first, count);
        FAB_TRY(
            fab_watch_work(&g->watch, (double)count * (double)g->D, "predict", s, g->d->samples));
    }
    return fab_watch_tick(&g->watch, "predict", s + 1, g->d->samples);
}

static fab_status predict_points(drawing *g)
{
    for (int64_t s = 0; s < g->d->samples; s++) {
        g->d->weight[s] = g->q->weight[s];
        FAB_TRY(predict(g, s, g->q->part[s]->mu));
    }
    return FAB_OK;
}

static fab_status predict_draws(drawing *g)
{
    const int64_t S = g->d->samples;
    for (int64_t first = 0; first < S; first += g->at_once) {
        const int64_t n = S - first < g->at_once ? S - first : g->at_once;
        FAB_TRY(fab_mixture_sample(g->q, g->seed, FAB_PURPOSE_PREDICT, first, n, FAB_F64, g->theta,
                                   g->D, NULL, g->exec));
        for (int64_t j = 0; j < n; j++) {
            g->d->weight[first + j] = 1 / (double)S;
            FAB_TRY(predict(g, first + j, g->theta + j * g->D));
        }
    }
    return FAB_OK;
}

static fab_status fill(drawing *g)
{
    const int points = all_points(g->q) && !g->q->part[0]->total;
    FAB_TRY(
        fab_alloc_array((void **)&g->out, g->m->batch * g->m->outputs, sizeof *g->out, "draws"));
    if (!points)
        FAB_TRY(fab_alloc_array((void **)&g->theta, g->at_once * g->D, sizeof *g->theta, "draws"));
    return points ? predict_points(g) : predict_draws(g);
}

fab_status fab_draws_create(fab_draws **d, const fab_model *m, const fab_mixture *q,
                            const fab_rows *x, const double *offset, int64_t samples, uint64_t seed,
                            const fab_exec *exec)
{
    *d = NULL;
    FAB_TRY(fab_draws_check(m, q, x));
    const int points = all_points(q) && !q->part[0]->total;
    if (samples < 1 && !points)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "draws: %lld samples, expected at least 1",
                        (long long)samples);
    drawing g = {.m = m,
                 .q = q,
                 .x = x,
                 .offset = offset,
                 .exec = exec,
                 .watch = fab_watch_of(exec),
                 .seed = seed,
                 .D = m->D};
    g.at_once = THETA_NUMBERS / m->D > 0 ? THETA_NUMBERS / m->D : 1;
    if (g.at_once > samples && !points) g.at_once = samples;
    FAB_TRY(fab_draws_new(&g.d, &m->head, x->n, points ? q->n : samples, 0));
    const fab_status s = fill(&g);
    fab_release(g.theta);
    fab_release(g.out);
    if (s == FAB_OK)
        *d = g.d;
    else
        fab_draws_free(g.d);
    return s;
}

void fab_draws_to_units(fab_draws *d, double mean, double scale)
{
    if (!d->beta) return;
    for (int64_t i = 0; i < d->samples * d->n; i++) {
        d->eta[i] = mean + scale * d->eta[i];
        d->beta[i] /= scale * scale;
        if (d->variance) d->variance[i] *= scale * scale;
    }
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

/* log p(y) of component s for row i. */
static double component_logp(const fab_draws *d, int64_t s, int64_t i, double y)
{
    const int64_t at = s * d->n + i;
    const double *eta = d->eta + at * d->head.classes;
    fab_glm head = d->head;
    if (d->beta) head.beta = d->beta[at];
    return d->variance ? fab_predict_logp(&head, *eta, d->variance[at], y)
                       : fab_glm_loglik(&head, y, eta, NULL, NULL);
}

double fab_draws_logp(const fab_draws *d, int64_t i, double y)
{
    double most = -INFINITY, sum = 0;
    if (d->logp) return d->logp[i * d->head.classes + (int64_t)y];
    for (int pass = 0; pass < 2; pass++)
        for (int64_t s = 0; s < d->samples; s++) {
            const double l = component_logp(d, s, i, y);
            if (pass == 0)
                most = fmax(most, l);
            else
                sum += d->weight[s] * exp(l - most);
        }
    return most > -INFINITY ? most + log(sum) : most;
}

void fab_draws_classes(const fab_draws *d, int64_t i, double *logp)
{
    const fab_likelihood_row *l = fab_glm_likelihood(&d->head);
    const int64_t C = l->target == FAB_TARGET_CLASSES && !l->several ? 2 : d->head.classes;
    for (int64_t c = 0; c < C; c++) logp[c] = fab_draws_logp(d, i, (double)c);
}
