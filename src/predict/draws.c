/* draws.c - predictions of any model by draws of theta.
 *
 *   1  theta_s ~ q, s = 1 .. S; of a mixture of points each point once, with its weight
 *   2  eta_s,i = the model's predictor of row i, beta_s,i the precision of its noise
 *   3  p(y_i) = sum_s w_s p(y_i | eta_s,i, beta_s,i)
 *
 * A theta serves all rows before the next is used.  Draws are made some at a time by one solver for each part of q, and rows
 * are rounded once to the precision of a network in f32.  None of it changes a number.
 *
 * SPDX-License-Identifier: MIT */
#include "model/ggn.h"
#include "model/likelihoods/likelihood.h"
#include "predict/draws.h"
#include "predict/eta.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/nn.h"
#include "posterior/mixture.h"
#include <math.h>
#include <string.h>

enum {
    FEW_NUMBERS = 1 << 20,  /* of draws made at a time: 8 MB, */
    MOST_NUMBERS = 1 << 23, /* or as many as make a group of GROUP, up to 64 MB, or one draw */
    GROUP = 8,              /* draws that the solver makes together */
    ROWS = 1 << 12,         /* given to the model at a time, where it takes any number */
    ROUNDED = 1 << 26,      /* numbers of rows that are rounded once: 256 MB */
    WORTH = 4,              /* draws from which that pays */
    CLASSES = 256,          /* whose probabilities are averaged together */
    KEPT = 4096             /* of them, times draws, kept on the stack */
};

typedef struct drawing {
    const fab_model *m;
    const fab_mixture *q;
    fab_rows x;
    const double *offset;
    const fab_exec *exec;
    fab_watch watch;
    uint64_t seed;
    int64_t D, at_once, rows, done; /* draws made, rows predicted at a time; draws predicted */
    double *theta;                  /* at_once x D */
    double *out;                    /* rows x outputs */
    char *rounded;                  /* all rows, or NULL */
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
static fab_status take_outputs(const drawing *g, int64_t s, const double *theta, int64_t first,
                               int64_t n)
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
        for (int64_t c = 0; c < C; c++)
            if (!isfinite(d->eta[at * C + c]) || (d->beta && !isfinite(d->beta[at])))
                return fab_predict_no_number(&m->head, &g->x, first + i);
    }
    return FAB_OK;
}

static fab_status predict(drawing *g, int64_t s, const double *theta)
{
    const int64_t n = g->x.n;
    for (int64_t first = 0; first < n; first += g->rows) {
        const int64_t count = n - first < g->rows ? n - first : g->rows;
        const fab_rows part = fab_rows_part(&g->x, first, count);
        FAB_TRY(g->m->predict(g->m->self, theta, &part, g->out));
        FAB_TRY(take_outputs(g, s, theta, first, count));
        FAB_TRY(fab_watch_work(&g->watch, (double)count * (double)g->D, "predict", g->done,
                               g->d->samples));
    }
    return fab_watch_tick(&g->watch, "predict", ++g->done, g->d->samples);
}

static fab_status predict_points(drawing *g)
{
    for (int64_t s = 0; s < g->d->samples; s++) {
        g->d->weight[s] = g->q->weight[s];
        FAB_TRY(predict(g, s, g->q->part[s]->mu));
    }
    return FAB_OK;
}

/* The draws that come from part j: runs of them, none over the end of a block of at_once. */
static fab_status predict_part(drawing *g, fab_solver *solver, int64_t j)
{
    const int64_t S = g->d->samples;
    for (int64_t s = 0; s < S;) {
        const int64_t block = s - s % g->at_once + g->at_once;
        int64_t end = s;
        while (end < S && end < block &&
               fab_mixture_part(g->q, g->seed, FAB_PURPOSE_PREDICT, end) == j)
            end++;
        if (end == s) {
            s++;
            continue;
        }
        FAB_TRY(fab_solver_sample(solver, g->seed, FAB_PURPOSE_PREDICT, s, end - s, FAB_F64,
                                  g->theta, g->D));
        for (int64_t i = 0; s < end; s++, i++) FAB_TRY(predict(g, s, g->theta + i * g->D));
    }
    return FAB_OK;
}

static fab_status predict_draws(drawing *g)
{
    for (int64_t s = 0; s < g->d->samples; s++) g->d->weight[s] = 1 / (double)g->d->samples;
    for (int64_t j = 0; j < g->q->n; j++) {
        fab_solver *solver;
        FAB_TRY(fab_solver_create(&solver, g->q->part[j], g->exec));
        const fab_status s = predict_part(g, solver, j);
        fab_solver_free(solver);
        FAB_TRY(s);
    }
    return FAB_OK;
}

/* Rows in another precision than the network's, which would round them for every draw, or sparse ones. */
static fab_status round_rows(drawing *g)
{
    const fab_nn *nn = fab_nn_find(g->m->type);
    const int64_t D = g->m->head.D, n = g->x.n;
    if (!g->m->any_rows || (g->x.type == nn->type && !g->x.start)) return FAB_OK;
    if (g->d->samples < WORTH || n > ROUNDED / D) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&g->rounded, n * D, nn->size, "draws"));
    for (int64_t i = 0; i < n; i++)
        fab_nn_load(nn, &g->x, i, D, g->rounded + (size_t)(i * D) * nn->size);
    g->x = (fab_rows){g->rounded, nn->type, n, D};
    return FAB_OK;
}

static fab_status fill(drawing *g, int points)
{
    FAB_TRY(fab_alloc_array((void **)&g->out, g->rows * g->m->outputs, sizeof *g->out, "draws"));
    FAB_TRY(round_rows(g));
    if (points) return predict_points(g);
    FAB_TRY(fab_alloc_array((void **)&g->theta, g->at_once * g->D, sizeof *g->theta, "draws"));
    return predict_draws(g);
}

/* Draws made at a time. */
static int64_t at_once(int64_t D, int64_t samples)
{
    const int64_t few = FEW_NUMBERS / D, most = MOST_NUMBERS / D < GROUP ? MOST_NUMBERS / D : GROUP;
    int64_t n = few > most ? few : most;
    if (n > samples) n = samples;
    if (n > GROUP) n -= n % GROUP;
    return n > 0 ? n : 1;
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
                 .x = *x,
                 .offset = offset,
                 .exec = exec,
                 .watch = fab_watch_of(exec),
                 .seed = seed,
                 .D = m->D,
                 .at_once = at_once(m->D, samples),
                 .rows = m->any_rows && m->batch < ROWS ? ROWS : m->batch};
    FAB_TRY(fab_draws_new(&g.d, &m->head, x->n, points ? q->n : samples, 0));
    const fab_status s = fill(&g, points);
    fab_release(g.theta);
    fab_release(g.out);
    fab_release(g.rounded);
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

/* log p of every class: the numbers of fab_glm_loglik, which would sum the exponentials anew for each. */
static void log_softmax(int64_t C, const double *eta, double *logp)
{
    double top = eta[0], sum = 0;
    for (int64_t k = 1; k < C; k++) top = eta[k] > top ? eta[k] : top;
    for (int64_t k = 0; k < C; k++) sum += logp[k] = exp(eta[k] - top);
    const double log_sum = log(sum);
    double others = 0; /* e^(eta - top) of all but one that is top */
    for (int64_t k = 0; k < C; k++) {
        if (eta[k] < top) continue;
        others = 0;
        for (int64_t j = 0; j < C; j++) others += j == k ? 0 : logp[j];
        break;
    }
    for (int64_t k = 0; k < C; k++)
        logp[k] = eta[k] < top ? eta[k] - top - log_sum : -log1p(others);
}

/* The mixture of them, by the largest of each class.  They are kept from the first pass where they are few. */
static void average_classes(const fab_draws *d, int64_t i, double *logp)
{
    const int64_t C = d->head.classes, few = d->samples <= KEPT / C;
    double kept[KEPT], sum[CLASSES];
    for (int64_t c = 0; c < C; c++) logp[c] = -INFINITY, sum[c] = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t s = 0; s < d->samples; s++) {
            double *one = kept + (few ? s * C : 0);
            if (pass == 0 || !few) log_softmax(C, d->eta + (s * d->n + i) * C, one);
            for (int64_t c = 0; c < C; c++) {
                if (pass == 0)
                    logp[c] = fmax(logp[c], one[c]);
                else
                    sum[c] += d->weight[s] * exp(one[c] - logp[c]);
            }
        }
    for (int64_t c = 0; c < C; c++)
        if (logp[c] > -INFINITY) logp[c] += log(sum[c]);
}

void fab_draws_classes(const fab_draws *d, int64_t i, double *logp)
{
    const fab_likelihood_row *l = fab_glm_likelihood(&d->head);
    const int64_t C = l->target == FAB_TARGET_CLASSES && !l->several ? 2 : d->head.classes;
    if (l->several && !d->logp && C <= CLASSES) {
        average_classes(d, i, logp);
        return;
    }
    for (int64_t c = 0; c < C; c++) logp[c] = fab_draws_logp(d, i, (double)c);
}
