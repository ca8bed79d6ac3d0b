/* importance.c - the evidence of a model by importance sampling from its posterior, and rows left out by the same draws.
 *
 *   1  theta_s, s = 1 .. S, from the posterior q; wider: mu + wider (theta - mu), of Student's t times sqrt(nu / chi^2) as well, mu the mean
 *      of the part that the draw is from
 *   2  log q(theta_s): of each part from its squared distance and its determinant; over parts, the log of their weighted sum
 *   3  log p(theta_s): N(0, 1/alpha) of every coefficient, N(0, 1/intercept_alpha) of intercepts; the flat prior that exact has for its
 *      intercept is replaced by that one, so that models of several methods can be compared
 *   4  L_is = log p(y_i | theta_s), rows in blocks;  log w_s = sum_i L_is + log p - log q
 *      (k above GOOD, and no proposal asked for: the same with a wider one, and that of the smaller k is kept)
 *   5  log evidence = log mean of the smoothed w, less the log of the target's scale for each row: y is in the user's units
 *   6  the row left out: weights w_s / p(y_i | theta_s), smoothed;  elpd_i = log sum w p(y_i | theta_s) / sum w
 *
 * Draws are tasks of threads where the model is linear: what a draw adds up does not hang on their number.
 *
 * SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/rows.h"
#include "data/columns/table.h"
#include "data/source/source.h"
#include "la/small.h"
#include "la/threads.h"
#include "model/ggn.h"
#include "posterior/pareto.h"
#include "table/regression.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES = 4000,
    ROWS = 256,      /* of a block */
    PIECE = 1 << 16, /* rows read at a time */
    CHUNK = 64,      /* draws of a task */
    WIDER_NU = 5,
    CLASSES = 1000, /* the most a target has */
    KEEP_ALIGNED = 0
};
/* Draws of Gaussians use streams from 0 on, parts of a mixture the last one. */
#define CHI_STREAM (UINT64_MAX - 1)
#define LOG_2PI    1.8378770664093454836
#define LOG_PI     1.1447298858494001741
#define GOOD       0.5 /* k up to which the posterior is a proposal that will do */
#define WIDER      1.2 /* else this and WIDER_NU, where k is smaller */
#define BAD        0.7 /* k above which a row's estimate is not to be trusted */

typedef struct importance {
    fab_importance all; /* first: it is given away */
    fab_regression *r;
    fab_importance_plan how;
    fab_exec exec;
    fab_watch watch;
    int threads;
    const fab_model *m;
    fab_model linear; /* of view.model, where it is linear */
    fab_dataset *t;
    int64_t S, P;
    double *theta;       /* S x P */
    double *logw;        /* S: at first log p(theta) - log q(theta) */
    double *L;           /* ROWS x S: of a block */
    double *eta;         /* linear: ROWS x S for each class; else ROWS x outputs */
    double *work;        /* threads x (S + fab_pareto_doubles(S)) */
    int64_t first, rows; /* of the block */
    double scale;        /* log of the target's scale: fitting units to the user's */
} importance;

/* ---- what can be asked -------------------------------------------------------------------------------- */

static fab_status refuse(const importance *e, const char *why)
{
    return FAB_FAIL(FAB_UNSUPPORTED, "evidence: %s %s", e->r->name ? e->r->name : "the fit", why);
}

/* The precisions of the prior: of the coefficients, and of intercepts. */
static fab_status prior_of(importance *e)
{
    fab_report fit = {0};
    char *own = NULL;
    const char *settings, *alpha;
    if (e->r->posterior) {
        alpha = fab_tensors_get(e->r->posterior->file, "alpha");
        settings = fab_tensors_get(e->r->posterior->file, "settings");
        e->all.alpha = alpha ? strtod(alpha, NULL) : NAN;
    } else {
        FAB_TRY(fab_fitting_report(&e->r->fit, &fit));
        FAB_TRY(fab_regression_settings_json(e->r, &own));
        e->all.alpha = fit.alpha;
        settings = own;
    }
    const fab_status s =
        fab_json_number_or_nan(settings, "intercept_alpha", &e->all.intercept_alpha);
    fab_text_free(own);
    FAB_TRY(s);
    if (!(e->all.alpha > 0))
        return refuse(e,
                      "does not say the precision of its prior (alpha): a prior that was given as "
                      "a file is not in it");
    if (!e->m->glm || !e->r->view.model.intercept) {
        e->all.intercept_alpha = 0;
        return FAB_OK;
    }
    if (!(e->all.intercept_alpha > 0))
        return refuse(e, "does not say the precision of its intercept (intercept_alpha)");
    return FAB_OK;
}

static fab_status check_posterior(importance *e)
{
    const fab_mixture *q = &e->r->view.mix;
    const fab_method *method = fab_regression_method(e->r);
    if (fab_regression_is_process(e->r))
        return refuse(e, "is a Gaussian process, whose evidence is exact: `fabayes info` prints it "
                         "(lml)");
    if (!method) return refuse(e, "says no method that is known");
    if (strcmp(method->name, "spike-slab") == 0)
        return refuse(e,
                      "has a sparse prior (spike-slab), which is no Gaussian of precision alpha");
    if (e->m->free)
        return refuse(e,
                      "has learned the noise of its target, on which there is no prior: fit with "
                      "--noise=fixed --beta=.., or choose among models by `fabayes score` on "
                      "rows left out");
    for (int64_t c = 0; c < q->n; c++) {
        if (q->part[c]->form == FAB_FORM_POINT)
            return refuse(e, "is a point, and no distribution to draw from: fit by a method with a "
                             "Gaussian, as laplace, vga or exact");
        if (q->part[c]->total)
            return refuse(e, "is a Gaussian over the last layer alone: the evidence is of all "
                             "parameters");
    }
    if (!e->m->predict) return refuse(e, "has a model without predictions");
    if (e->r->scaling->inputs)
        return refuse(e, "has features of a kernel, which leave a part of the variance to no "
                         "coefficient; `fabayes info` prints the evidence of the kernel (lml)");
    return prior_of(e);
}

/* ---- 1, 2, 3 ------------------------------------------------------------------------------------------ */

/* What turns a Gaussian draw into one of Student's t. */
static double student(const importance *e, int64_t s)
{
    const int64_t nu = e->how.nu;
    double g[CHUNK], sum = 0;
    if (!nu) return 1;
    for (int64_t i = 0; i < nu; i += CHUNK) {
        const int64_t n = nu - i < CHUNK ? nu - i : CHUNK;
        fab_random_normal((uint64_t)e->how.seed, FAB_PURPOSE_EVIDENCE, CHI_STREAM,
                          (uint64_t)(s * nu + i), n, FAB_F64, g);
        for (int64_t j = 0; j < n; j++) sum += g[j] * g[j];
    }
    return sqrt((double)nu / sum);
}

static fab_status draw(importance *e)
{
    const fab_mixture *q = &e->r->view.mix;
    int64_t *from;
    FAB_TRY(fab_alloc_array((void **)&from, e->S, sizeof *from, "evidence"));
    const fab_status s = fab_mixture_sample(q, (uint64_t)e->how.seed, FAB_PURPOSE_EVIDENCE, 0, e->S,
                                            FAB_F64, e->theta, e->P, from, &e->exec);
    for (int64_t j = 0; j < e->S && s == FAB_OK; j++) {
        const double *mu = q->part[from[j]]->mu, by = e->how.wider * student(e, j);
        double *theta = e->theta + j * e->P;
        for (int64_t i = 0; i < e->P && by != 1; i++) theta[i] = mu[i] + by * (theta[i] - mu[i]);
    }
    fab_release(from);
    return s;
}

/* log density of a part of the proposal at a squared distance, without the log of the weight. */
static double density(const importance *e, double logdet, double square)
{
    const double P = (double)e->P, nu = (double)e->how.nu;
    const double m = square / (e->how.wider * e->how.wider),
                 volume = logdet / 2 + P * log(e->how.wider);
    if (!e->how.nu) return -P / 2 * LOG_2PI - volume - m / 2;
    return lgamma((nu + P) / 2) - lgamma(nu / 2) - P / 2 * (log(nu) + LOG_PI) - volume -
           (nu + P) / 2 * log1p(m / nu);
}

/* logw = -log q(theta_s). */
static fab_status divide_by_proposal(importance *e)
{
    const fab_mixture *q = &e->r->view.mix;
    const fab_rows rows = {.p = e->theta, .type = FAB_F64, .n = e->S, .ld = e->P};
    double *square = e->L;
    for (int64_t j = 0; j < e->S; j++) e->logw[j] = -INFINITY;
    for (int64_t c = 0; c < q->n; c++) {
        fab_solver *solver;
        double logdet;
        if (!(q->weight[c] > 0)) continue;
        FAB_TRY(fab_solver_create(&solver, q->part[c], &e->exec));
        fab_status s = fab_solver_logdet(solver, &logdet);
        if (s == FAB_OK) s = fab_solver_mahalanobis(solver, &rows, square);
        fab_solver_free(solver);
        FAB_TRY(s);
        for (int64_t j = 0; j < e->S; j++) {
            const double one = log(q->weight[c]) + density(e, logdet, square[j]);
            const double high = fmax(one, e->logw[j]), low = fmin(one, e->logw[j]);
            e->logw[j] = high + log1p(exp(low - high));
        }
    }
    for (int64_t j = 0; j < e->S; j++) e->logw[j] = -e->logw[j];
    return FAB_OK;
}

static void times_prior(importance *e)
{
    const fab_glm *g = &e->r->view.model;
    const int64_t width = e->m->glm ? g->D + g->intercept : e->P;
    const double alpha = e->all.alpha, b = e->all.intercept_alpha;
    for (int64_t j = 0; j < e->S; j++) {
        const double *theta = e->theta + j * e->P;
        double sum = 0;
        for (int64_t i = 0; i < e->P; i++) {
            const int intercept = e->m->glm && g->intercept && i % width == g->D;
            const double a = intercept ? b : alpha;
            sum += (log(a) - LOG_2PI - a * theta[i] * theta[i]) / 2;
        }
        e->logw[j] += sum;
    }
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

/* Draws of one task: their L of the rows of the block, of a linear model. */
static void chunk_of_draws(void *ctx, int64_t task, int thread)
{
    const importance *e = ctx;
    const fab_glm *g = &e->r->view.model;
    const fab_dataset *t = e->t;
    const int64_t from = task * CHUNK, n = e->S - from < CHUNK ? e->S - from : CHUNK, S = e->S;
    const int64_t width = g->D + g->intercept, C = g->classes;
    const fab_rows all = fab_dataset_rows(t);
    double eta[CLASSES];
    (void)thread;
    for (int64_t c = 0; c < C; c++) {
        const double *theta = e->theta + from * e->P + c * width;
        double *out = e->eta + c * ROWS * S + from;
        if (t->packed) {
            for (int64_t i = 0; i < e->rows; i++)
                for (int64_t j = 0; j < n; j++) {
                    double sum = 0;
                    for (int64_t k = 0; k < fab_rows_stored(&all, e->first + i, g->D); k++)
                        sum += fab_rows_value(&all, e->first + i, k) *
                               theta[j * e->P + fab_rows_place(&all, e->first + i, k)];
                    out[i * S + j] = sum;
                }
        } else {
            fab_gemm(FAB_F64, FAB_N, FAB_T, e->rows, n, g->D, 1, t->x + e->first * g->D, g->D,
                     theta, e->P, 0, out, S);
        }
        if (g->intercept)
            for (int64_t i = 0; i < e->rows; i++)
                for (int64_t j = 0; j < n; j++) out[i * S + j] += theta[j * e->P + g->D];
    }
    for (int64_t i = 0; i < e->rows; i++) {
        const double offset = t->offset ? t->offset[e->first + i] : 0;
        for (int64_t j = 0; j < n; j++) {
            for (int64_t c = 0; c < C; c++) eta[c] = e->eta[(c * ROWS + i) * S + from + j] + offset;
            e->L[i * S + from + j] = fab_glm_loglik(g, t->y[e->first + i], eta, NULL, NULL);
        }
    }
}

/* The same of a network, draw after draw. */
static fab_status draws_of_network(importance *e)
{
    const fab_rows all = fab_dataset_rows(e->t), part = fab_rows_part(&all, e->first, e->rows);
    const int64_t O = e->m->outputs;
    fab_glm g = e->m->head;
    for (int64_t j = 0; j < e->S; j++) {
        const double *theta = e->theta + j * e->P;
        FAB_TRY(e->m->predict(e->m->self, theta, &part, e->eta));
        for (int64_t i = 0; i < e->rows; i++) {
            double *eta = e->eta + i * O;
            if (fab_likelihood_has_beta(g.likelihood)) g.beta = fab_model_beta(e->m, theta, eta);
            for (int64_t c = 0; c < g.classes && e->t->offset; c++)
                eta[c] += e->t->offset[e->first + i];
            e->L[i * e->S + j] = fab_glm_loglik(&g, e->t->y[e->first + i], eta, NULL, NULL);
        }
        FAB_TRY(fab_watch_work(&e->watch, (double)e->rows * (double)e->P, "evidence", e->first,
                               e->t->n));
    }
    return FAB_OK;
}

static fab_status take_block(importance *e, int64_t first)
{
    const int64_t left = e->t->n - first;
    e->first = first;
    e->rows = left < ROWS ? left : ROWS;
    if (e->m->glm)
        fab_parallel(e->threads, (e->S + CHUNK - 1) / CHUNK, chunk_of_draws, e);
    else
        FAB_TRY(draws_of_network(e));
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t j = 0; j < e->S; j++)
            if (!isfinite(e->L[i * e->S + j]))
                return FAB_FAIL(FAB_NUMERIC,
                                "evidence: row %lld (from 0) has a log density of %g at a draw of "
                                "the posterior",
                                (long long)(first + i), e->L[i * e->S + j]);
    return fab_watch_tick(&e->watch, "evidence", first + e->rows, e->t->n);
}

static double weight_of(const importance *e, int64_t i)
{
    return e->t->weight ? e->t->weight[i] : 1;
}

static fab_status weigh(importance *e)
{
    for (int64_t first = 0; first < e->t->n; first += ROWS) {
        FAB_TRY(take_block(e, first));
        for (int64_t i = 0; i < e->rows; i++) {
            const double w = weight_of(e, first + i);
            e->all.weight += w;
            for (int64_t j = 0; j < e->S; j++) e->logw[j] += w * e->L[i * e->S + j];
        }
    }
    return FAB_OK;
}

/* ---- 5 ------------------------------------------------------------------------------------------------ */

static fab_status sum_up(importance *e)
{
    double *logw = e->work, *room = e->work + e->S;
    memcpy(logw, e->logw, (size_t)e->S * sizeof *logw);
    for (int64_t j = 0; j < e->S; j++)
        if (!isfinite(logw[j]))
            return FAB_FAIL(FAB_NUMERIC, "evidence: draw %lld has a weight whose logarithm is %g",
                            (long long)j, logw[j]);
    e->all.k = fab_pareto_smooth_in(e->S, logw, room);
    const fab_weights w = fab_weights_of(e->S, logw);
    e->all.log_evidence = w.log_mean - e->all.weight * e->scale;
    e->all.se = w.se;
    e->all.ess = w.ess;
    return FAB_OK;
}

/* ---- 6 ------------------------------------------------------------------------------------------------ */

static void leave_out(void *ctx, int64_t i, int thread)
{
    importance *e = ctx;
    const int64_t S = e->S, at = e->first + i;
    const double *L = e->L + i * S, weight = weight_of(e, at);
    double *logw = e->work + thread * (S + fab_pareto_doubles(S)), *room = logw + S,
           top = -INFINITY, highest = -INFINITY, sum = 0, with = 0;
    for (int64_t j = 0; j < S; j++) logw[j] = e->logw[j] - weight * L[j];
    e->all.row_k[at] = fab_pareto_smooth_in(S, logw, room);
    for (int64_t j = 0; j < S; j++) top = fmax(top, logw[j]), highest = fmax(highest, L[j]);
    for (int64_t j = 0; j < S; j++) {
        const double w = exp(logw[j] - top);
        sum += w;
        with += w * exp(L[j] - highest);
    }
    e->all.row_elpd[at] = highest + log(with / sum) - e->scale;
}

/* log p(y_i) under the posterior of all rows. */
static double with_all(const importance *e, int64_t i)
{
    const double *L = e->L + i * e->S;
    double top = -INFINITY, highest = -INFINITY, sum = 0, with = 0;
    for (int64_t j = 0; j < e->S; j++) top = fmax(top, e->logw[j]), highest = fmax(highest, L[j]);
    for (int64_t j = 0; j < e->S; j++) {
        const double w = exp(e->logw[j] - top);
        sum += w;
        with += w * exp(L[j] - highest);
    }
    return highest + log(with / sum) - e->scale;
}

static fab_status leave_out_rows(importance *e)
{
    fab_importance *a = &e->all;
    double in = 0, square = 0;
    a->elpd = 0;
    for (int64_t first = 0; first < e->t->n; first += ROWS) {
        FAB_TRY(take_block(e, first));
        fab_parallel(e->threads, e->rows, leave_out, e);
        for (int64_t i = 0; i < e->rows; i++) {
            const double w = weight_of(e, first + i);
            in += w * with_all(e, i);
            a->elpd += w * a->row_elpd[first + i];
            a->bad += a->row_k[first + i] > BAD;
        }
    }
    for (int64_t i = 0; i < a->n; i++) {
        const double d = a->row_elpd[i] - a->elpd / a->weight;
        square += weight_of(e, i) * d * d;
    }
    a->elpd_se = sqrt(square);
    a->p_loo = in - a->elpd;
    return FAB_OK;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static fab_status read_rows(importance *e, const fab_data *d)
{
    fab_feed *f;
    FAB_TRY(fab_feed_open_data_as(&f, d, e->r->scaling, FAB_READ_WEIGHT));
    fab_feed_watch(f, &e->exec);
    fab_status s = fab_feed_table(f, &e->t);
    while (s == FAB_OK && !fab_feed_at_end(f)) s = fab_feed_read(f, PIECE, e->t);
    if (s == FAB_OK && e->t->n == 0) s = fab_feed_no_rows(f, e->t);
    if (s == FAB_OK) s = fab_scaling_apply_on(e->r->scaling, e->t, &e->exec);
    fab_feed_close(f);
    FAB_TRY(s);
    const fab_examples rows = {fab_dataset_rows(e->t), e->t->y, e->t->weight, e->t->offset};
    e->all.n = e->t->n;
    e->all.dropped = e->t->dropped;
    return fab_examples_check("evidence", &e->r->view.model, &rows);
}

static fab_status make_room(importance *e)
{
    const int64_t S = e->S, outputs = e->m->glm ? S * e->r->view.model.classes : e->m->outputs;
    const int64_t place = S + fab_pareto_doubles(S);
    const double bytes = 8 * (double)S * ((double)e->P + ROWS) + 8 * (double)ROWS * (double)outputs;
    if (bytes > fab_memory_free())
        return FAB_FAIL(FAB_NO_MEMORY,
                        "evidence: %lld draws of %lld parameters need %.3g GB, and %.3g are free; "
                        "ask for fewer (samples)",
                        (long long)S, (long long)e->P, bytes / 1e9, fab_memory_free() / 1e9);
    FAB_TRY(fab_alloc_array((void **)&e->theta, S * e->P, sizeof *e->theta, "evidence"));
    FAB_TRY(fab_alloc_array((void **)&e->logw, S, sizeof *e->logw, "evidence"));
    FAB_TRY(fab_alloc_array((void **)&e->L, ROWS * S, sizeof *e->L, "evidence"));
    FAB_TRY(fab_alloc_array((void **)&e->eta, ROWS * outputs, sizeof *e->eta, "evidence"));
    FAB_TRY(fab_alloc_array((void **)&e->work, e->threads * place, sizeof *e->work, "evidence"));
    if (e->how.no_rows) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&e->all.row_elpd, e->all.n, sizeof(double), "evidence"));
    return fab_alloc_array((void **)&e->all.row_k, e->all.n, sizeof(double), "evidence");
}

static fab_status check_plan(fab_importance_plan *p)
{
    if (p->samples == 0) p->samples = SAMPLES;
    if (p->wider == 0) p->wider = 1;
    if (p->samples < 100 || p->samples > INT64_C(1) << 30)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "evidence: samples = %lld, expected 100 to 2^30",
                        (long long)p->samples);
    if (!(p->wider > 0 && p->wider <= 1e3))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "evidence: wider = %g, expected a number above 0 and up to 1000", p->wider);
    if (p->nu < 0 || p->nu > 1000)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "evidence: nu = %lld, expected degrees of freedom from 1 to 1000, or 0 for "
                        "a Gaussian",
                        (long long)p->nu);
    return FAB_OK;
}

/* 1 to 5 */
static fab_status estimate(importance *e)
{
    e->all.weight = 0;
    e->all.nu = e->how.nu;
    e->all.wider = e->how.wider;
    FAB_TRY(draw(e));
    FAB_TRY(divide_by_proposal(e));
    times_prior(e);
    FAB_TRY(weigh(e));
    return sum_up(e);
}

static fab_status run(importance *e, const fab_data *d)
{
    FAB_TRY(check_posterior(e));
    FAB_TRY(read_rows(e, d));
    FAB_TRY(make_room(e));
    const int given = e->how.nu != 0 || e->how.wider != 1;
    FAB_TRY(estimate(e));
    if (!given && e->all.k > GOOD) {
        const fab_importance before = e->all;
        const fab_importance_plan plan = e->how;
        e->how.nu = WIDER_NU;
        e->how.wider = WIDER;
        FAB_TRY(estimate(e));
        if (!(e->all.k < before.k)) { /* the same draws again */
            e->how = plan;
            FAB_TRY(estimate(e));
        }
    }
    return e->how.no_rows ? FAB_OK : leave_out_rows(e);
}

fab_status fab_regression_importance(fab_regression *r, const fab_data *d,
                                     const fab_importance_plan *how, fab_importance **out)
{
    importance e = {.r = r, .watch = fab_watch_of(&r->exec)};
    *out = NULL;
    e.exec = fab_watch_exec(&e.watch, (fab_exec){.threads = r->exec.threads});
    e.threads = r->exec.threads > 0 ? (int)r->exec.threads : fab_cores();
    if (how) e.how = *how;
    FAB_TRY(check_plan(&e.how));
    FAB_TRY(fab_regression_view(r));
    e.linear = fab_model_linear(&r->view.model);
    e.m = r->view.net ? fab_net_model(r->view.net) : &e.linear;
    e.S = e.how.samples;
    e.P = r->view.mix.part[0]->D;
    e.scale = log(r->scaling->target_scale);
    e.all = (fab_importance){
        .D = e.P, .samples = e.S, .elpd = NAN, .elpd_se = NAN, .p_loo = NAN, .alpha = NAN};
    fab_importance *new;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "evidence"));
    const fab_status s = fab_about(fab_data_name(d), run(&e, d));
    fab_dataset_free(e.t);
    fab_release(e.theta);
    fab_release(e.logw);
    fab_release(e.L);
    fab_release(e.eta);
    fab_release(e.work);
    *new = e.all;
    if (s == FAB_OK)
        *out = new;
    else
        fab_importance_free(new);
    return s;
}

void fab_importance_free(fab_importance *e)
{
    if (!e) return;
    fab_release(e->row_elpd);
    fab_release(e->row_k);
    fab_release(e);
}

fab_status fab_importance_compare(int64_t n, const fab_importance *const *e, double *probability,
                                  int64_t *best)
{
    int64_t first = 0;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (e[i]->n != e[0]->n || e[i]->weight != e[0]->weight)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "evidence: model %lld (from 0) is of %lld rows of weight %g, and the "
                            "first of %lld of weight %g: models are compared on the same rows",
                            (long long)i, (long long)e[i]->n, e[i]->weight, (long long)e[0]->n,
                            e[0]->weight);
        if (e[i]->log_evidence > e[first]->log_evidence) first = i;
    }
    for (int64_t i = 0; i < n; i++) {
        probability[i] = exp(e[i]->log_evidence - e[first]->log_evidence);
        sum += probability[i];
    }
    for (int64_t i = 0; i < n; i++) probability[i] /= sum;
    if (best) *best = first;
    return FAB_OK;
}
