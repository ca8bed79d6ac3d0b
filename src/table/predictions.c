/* predictions.c - predictions of a regression for rows of data, piece by piece, in the user's units.
 *
 *   1  read some rows, lay those aside that cannot be predicted, bring the others to fitting units
 *   2  a linear model: mean and variance of the predictor of each row, or probabilities of several classes
 *      a network: draws of theta (or its slope at the mean), and from them the same
 *   3  in the end: the temperature, p(y) of each row, and the scores; conformal intervals and sets
 *
 * Pieces are as large as the memory for draws; those of a network with numbers or counts are scored one by one.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/rows.h"
#include "predict/draws.h"
#include "table/predictions.h"
#include "data/columns/table.h"
#include "data/source/source.h"
#include "model/likelihoods/softmax.h"
#include "kernel/process.h"
#include "table/regression.h"
#include <math.h>
#include <string.h>

enum {
    PIECE_NUMBERS =
        1 << 21,        /* of the features read, and of draws of predictors, at a time: 16 MB */
    SAMPLES = 100,      /* of a network */
    CLASS_ROWS = 128,   /* of several classes, */
    PROCESS_ROWS = 1024 /* predicted by a Gaussian process at a time */
};

fab_status fab_table_eta(const fab_gauss *q, const fab_glm *m, const fab_scaling *k,
                         const fab_dataset *t, const fab_exec *x, double *eta, double *variance)
{
    const fab_rows rows = fab_dataset_rows(t);
    FAB_TRY(fab_predict_eta(q, m, &rows, t->offset, x, eta, variance));
    if (t->residual)
        for (int64_t i = 0; i < t->n; i++) variance[i] += t->residual[i];
    fab_predict_to_units(k->target_mean, k->target_scale, t->n, eta, variance);
    return FAB_OK;
}

fab_status fab_table_process(fab_process *p, const fab_scaling *k, const fab_dataset *t,
                             double *eta, double *variance, int64_t *clipped)
{
    const fab_rows rows = fab_dataset_rows(t);
    const int64_t D = k->D, block = t->n < PROCESS_ROWS ? t->n : PROCESS_ROWS;
    double *x;
    FAB_TRY(fab_alloc_array((void **)&x, block * D, sizeof *x, "predictions"));
    fab_status s = FAB_OK;
    for (int64_t first = 0; first < t->n && s == FAB_OK; first += block) {
        const int64_t n = t->n - first < block ? t->n - first : block;
        for (int64_t i = 0; i < n; i++) fab_rows_get(&rows, first + i, D, x + i * D);
        int64_t some = 0;
        s = fab_process_predict(p, n, x, D, eta + first, variance + first, &some);
        if (clipped) *clipped += some;
    }
    fab_release(x);
    FAB_TRY(s);
    for (int64_t i = 0; t->offset && i < t->n; i++) eta[i] += t->offset[i];
    fab_predict_to_units(k->target_mean, k->target_scale, t->n, eta, variance);
    return FAB_OK;
}

fab_status fab_table_places(const fab_process_places *p, const fab_glm *m, const fab_scaling *k,
                            const fab_dataset *t, fab_draws **d, int64_t *clipped)
{
    const int64_t n = t->n;
    FAB_TRY(fab_draws_new(d, m, n, p->n, 1));
    for (int64_t r = 0; r < p->n; r++) {
        const fab_status s =
            fab_table_process(p->p[r], k, t, (*d)->eta + r * n, (*d)->variance + r * n, clipped);
        if (s != FAB_OK) {
            fab_draws_free(*d);
            *d = NULL;
            return s;
        }
        (*d)->weight[r] = p->weight[r];
        for (int64_t i = 0; i < n; i++)
            (*d)->beta[r * n + i] = 1 / (p->noise[r] * k->target_scale * k->target_scale);
    }
    return FAB_OK;
}

fab_status fab_table_classes(fab_class_process *p, const fab_scaling *k, const fab_dataset *t,
                             const fab_exec *x, int64_t samples, int64_t seed, double *logp)
{
    const fab_rows rows = fab_dataset_rows(t);
    const fab_watch watch = fab_watch_of(x);
    const int64_t D = k->D, C = k->levels, block = t->n < CLASS_ROWS ? t->n : CLASS_ROWS;
    fab_softmax *integral;
    double *z;
    if (t->n == 0) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&z, block * (D + C + C * C), sizeof *z, "predictions"));
    double *mean = z + block * D, *S = mean + block * C;
    fab_status s = samples ? fab_softmax_init(&integral, C, samples, seed)
                           : fab_softmax_init_fine(&integral, C);
    if (s != FAB_OK) integral = NULL;
    for (int64_t first = 0; first < t->n && s == FAB_OK; first += block) {
        const int64_t n = t->n - first < block ? t->n - first : block;
        for (int64_t i = 0; i < n; i++) fab_rows_get(&rows, first + i, D, z + i * D);
        s = fab_class_process_predict(p, n, z, D, mean, S);
        for (int64_t i = 0; i < n && s == FAB_OK; i++) {
            s = fab_softmax_logp(integral, first + i, mean + i * C, S + i * C * C,
                                 logp + (first + i) * C);
            if (s == FAB_OK) s = fab_watch_tick(&watch, "prediction", first + i + 1, t->n);
        }
    }
    fab_softmax_free(integral);
    fab_release(z);
    return s;
}

fab_status fab_table_draws(const fab_mixture *q, const fab_model *m, const fab_scaling *k,
                           const fab_dataset *t, int64_t samples, uint64_t seed, const fab_exec *x,
                           fab_draws **d)
{
    const fab_rows rows = fab_dataset_rows(t);
    FAB_TRY(samples ? fab_draws_create(d, m, q, &rows, t->offset, samples, seed, x)
                    : fab_draws_linearise(d, m, q, &rows, t->offset, x));
    fab_draws_to_units(*d, k->target_mean, k->target_scale);
    return FAB_OK;
}

/* ---- work in progress --------------------------------------------------------------------------------- */

typedef struct work {
    fab_predictions all; /* first: it is given away */
    fab_regression *r;
    const char *name; /* of the data */
    fab_predict_plan how;
    fab_exec exec;
    fab_glm model;  /* beta of a linear model in the user's units */
    int calibrates; /* these are the rows left out */
    int64_t room;
    double *eta, *variance;             /* of a linear model, or of two classes */
    fab_scores sum;                     /* of pieces, times their rows */
    int64_t *aside, asides, aside_room; /* rows without a prediction, by their number among all */
} work;

static int several(const work *w)
{
    return w->model.classes > 1;
}

static int has_classes(const work *w)
{
    return fab_likelihood_target(w->model.likelihood) == FAB_TARGET_CLASSES;
}

/* Numbers or counts of a network, numbers of processes at several places: mixtures, which two numbers do not describe. */
static int by_draws(const work *w)
{
    return (w->r->view.net && !has_classes(w)) || w->r->view.places.n > 0;
}

static int wants_cdf(const work *w)
{
    return w->how.with_cdf && w->how.with_target && !has_classes(w);
}

static int wants_density(const work *w)
{
    return w->how.with_density && w->how.with_target;
}

static fab_status grow(void *array, int64_t used, int64_t room, size_t size)
{
    void *new;
    FAB_TRY(fab_alloc_array(&new, room, size, "predictions"));
    if (used) memcpy(new, *(void **)array, (size_t)used * size);
    fab_release(*(void **)array);
    *(void **)array = new;
    return FAB_OK;
}

static fab_status make_room(work *w, int64_t n)
{
    fab_predictions *a = &w->all;
    if (n <= w->room) return FAB_OK;
    const int64_t room = n > 2 * w->room ? n : 2 * w->room, C = w->model.classes;
    if (w->how.with_target) FAB_TRY(grow(&a->y, a->n, room, sizeof *a->y));
    if (wants_cdf(w)) FAB_TRY(grow(&a->cdf, a->n, room, sizeof *a->cdf));
    if (wants_density(w)) FAB_TRY(grow(&a->density, a->n, room, sizeof *a->density));
    if (several(w)) {
        FAB_TRY(grow(&a->logp, a->n * C, room * C, sizeof *a->logp));
    } else if (by_draws(w)) {
        FAB_TRY(grow(&a->p, a->n, room, sizeof *a->p));
    } else {
        FAB_TRY(grow(&a->p, a->n, room, sizeof *a->p));
        if (has_classes(w)) FAB_TRY(grow(&a->logp, 2 * a->n, 2 * room, sizeof *a->logp));
        FAB_TRY(grow(&w->eta, a->n, room, sizeof *w->eta));
        FAB_TRY(grow(&w->variance, a->n, room, sizeof *w->variance));
    }
    w->room = room;
    return FAB_OK;
}

static void close_work(work *w)
{
    fab_release(w->eta);
    fab_release(w->variance);
    fab_release(w->aside);
    w->eta = w->variance = NULL;
    w->aside = NULL;
}

void fab_predictions_free(fab_predictions *p)
{
    if (!p) return;
    fab_release(p->p);
    fab_release(p->logp);
    fab_release(p->y);
    fab_release(p->set);
    fab_release(p->absent);
    fab_release(p->cdf);
    fab_release(p->density);
    fab_release(p);
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

static void add_scores(fab_scores *sum, const fab_scores *s)
{
    const double n = (double)s->n;
    sum->n += s->n;
    sum->nll += n * s->nll;
    sum->rmse += n * s->rmse * s->rmse;
    sum->mae += n * s->mae;
    sum->crps += n * s->crps;
    sum->coverage50 += n * s->coverage50;
    sum->coverage90 += n * s->coverage90;
    sum->coverage95 += n * s->coverage95;
    sum->dispersion += n * s->dispersion;
}

static fab_status take_draws(work *w, const fab_draws *d)
{
    fab_predictions *a = &w->all;
    fab_scores s;
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t at = a->n + i;
        if (several(w)) {
            fab_draws_classes(d, i, a->logp + at * w->model.classes);
        } else if (by_draws(w)) {
            fab_draws_predict(d, i, &a->p[at]);
            if (w->how.level > 0) fab_draws_interval(d, i, w->how.level, &a->p[at]);
        } else { /* two classes: the predictor that gives this probability */
            double logp[2];
            fab_draws_classes(d, i, logp);
            w->eta[at] = logp[1] - logp[0];
            w->variance[at] = 0;
        }
    }
    if (!w->how.with_target || !by_draws(w)) return FAB_OK;
    if (wants_cdf(w))
        for (int64_t i = 0; i < d->n; i++) a->cdf[a->n + i] = fab_draws_cdf(d, i, a->y[a->n + i]);
    if (wants_density(w))
        for (int64_t i = 0; i < d->n; i++)
            a->density[a->n + i] = fab_draws_logp(d, i, a->y[a->n + i]);
    FAB_TRY(fab_draws_score(d, a->y + a->n, &w->exec, &s));
    add_scores(&w->sum, &s);
    return FAB_OK;
}

static fab_status predict_net(work *w, const fab_dataset *t)
{
    const fab_regression *r = w->r;
    const int64_t samples = w->how.samples ? w->how.samples : SAMPLES;
    fab_draws *d;
    FAB_TRY(fab_table_draws(&r->view.mix, fab_net_model(r->view.net), r->scaling, t,
                            w->how.linearised ? 0 : samples, (uint64_t)w->how.seed, &w->exec, &d));
    const fab_status s = take_draws(w, d);
    fab_draws_free(d);
    return s;
}

static fab_status predict_linear(work *w, const fab_dataset *t)
{
    const fab_regression *r = w->r;
    const fab_gauss *q = r->view.mix.part[0];
    const fab_rows x = fab_dataset_rows(t);
    const int64_t n = w->all.n;
    if (r->view.places.n > 0) {
        fab_draws *d;
        FAB_TRY(
            fab_table_places(&r->view.places, &r->view.model, r->scaling, t, &d, &w->all.clipped));
        const fab_status s = take_draws(w, d);
        fab_draws_free(d);
        return s;
    }
    if (r->view.classes)
        return fab_table_classes(r->view.classes, r->scaling, t, &w->exec, w->how.samples,
                                 w->how.seed + n, w->all.logp + n * w->model.classes);
    if (r->view.process)
        return fab_table_process(r->view.process, r->scaling, t, w->eta + n, w->variance + n,
                                 &w->all.clipped);
    if (several(w)) /* each row has draws of its own, whatever the pieces */
        return fab_predict_classes_wider(q, &r->view.model, &x, t->offset, t->residual,
                                         w->how.samples, w->how.seed + n, &w->exec,
                                         w->all.logp + n * w->model.classes);
    return fab_table_eta(q, &r->view.model, r->scaling, t, &w->exec, w->eta + n, w->variance + n);
}

/* p(y) of a row from its predictor. */
static void predict_y(work *w, int64_t i)
{
    fab_predictions *a = &w->all;
    const double eta = w->eta[i], v = w->variance[i];
    fab_predict_y(&w->model, eta, v, &a->p[i]);
    if (w->how.level > 0) fab_predict_interval(&w->model, eta, v, w->how.level, &a->p[i]);
    if (!a->logp) return;
    a->logp[2 * i] = fab_predict_logp(&w->model, eta, v, 0);
    a->logp[2 * i + 1] = fab_predict_logp(&w->model, eta, v, 1);
}

/* ---- what is no number -------------------------------------------------------------------------------- */

/* Row i of the piece, or the one with the largest feature where i < 0, cannot be predicted: its largest feature is named. */
static fab_status refuse_row(const work *w, const fab_dataset *t, int64_t i)
{
    const fab_scaling *k = w->r->scaling;
    const fab_rows x = fab_dataset_rows(t);
    int64_t row = i < 0 ? 0 : i, at = 0;
    double most = -1;
    for (int64_t j = i < 0 ? 0 : i; j < (i < 0 ? t->n : i + 1); j++)
        for (int64_t d = 0; d < k->D; d++) {
            const double value = fabs(fab_rows_at(&x, j, d));
            if (!(value <= most)) most = value, row = j, at = d;
        }
    return FAB_FAIL(
        FAB_BAD_DATA,
        "row %lld (from 0), column '%s': %g is too large for the prediction of this row to be a "
        "finite number",
        (long long)(w->all.n + w->asides + row), k->name[at],
        k->mean[at] + k->scale[at] * fab_rows_at(&x, row, at));
}

/* Every number that is given is finite. */
static fab_status check_predictions(const work *w, const fab_dataset *t)
{
    const fab_predictions *a = &w->all;
    const int64_t C = w->model.classes > 1 ? w->model.classes : 2;
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t at = a->n + i;
        const fab_prediction *p = a->p ? &a->p[at] : NULL;
        if (p &&
            !(isfinite(p->mean) && isfinite(p->sd) && isfinite(p->lower) && isfinite(p->upper)))
            return refuse_row(w, t, i);
        if (a->logp)
            for (int64_t c = 0; c < C; c++)
                if (!isfinite(a->logp[at * C + c])) return refuse_row(w, t, i);
    }
    return FAB_OK;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static fab_status take_piece(work *w, const fab_dataset *t)
{
    const fab_scaling *k = w->r->scaling;
    const fab_examples e = {fab_dataset_rows(t), t->y, NULL, t->offset};
    FAB_TRY(make_room(w, w->all.n + t->n));
    if (w->how.with_target) {
        FAB_TRY(fab_examples_check(w->name, &w->model, &e));
        for (int64_t i = 0; i < t->n; i++)
            w->all.y[w->all.n + i] = k->target_mean + k->target_scale * t->y[i];
    }
    const fab_status s = w->r->view.net ? predict_net(w, t) : predict_linear(w, t);
    if (s == FAB_NUMERIC) return refuse_row(w, t, -1);
    FAB_TRY(s);
    if (w->eta)
        for (int64_t i = 0; i < t->n; i++) predict_y(w, w->all.n + i);
    FAB_TRY(check_predictions(w, t));
    w->all.n += t->n;
    return FAB_OK;
}

/* Can the row be predicted?  What is missing is filled, or is not. */
static int is_absent(const work *w, const fab_dataset *t, int64_t i)
{
    if (t->offset && isnan(t->offset[i])) return 1;
    if (w->r->scaling->fill) return 0;
    for (int64_t c = 0; c < t->D; c++)
        if (isnan(t->x[i * t->D + c])) return 1;
    return 0;
}

/* Take the rows out of the piece that cannot be predicted, and keep their numbers. */
static fab_status lay_aside(work *w, fab_dataset *t)
{
    int64_t kept = 0;
    if (t->packed || w->how.with_target) return FAB_OK;
    for (int64_t i = 0; i < t->n; i++) {
        if (is_absent(w, t, i)) {
            if (w->asides == w->aside_room) {
                const int64_t room = 2 * w->asides + 64;
                FAB_TRY(grow(&w->aside, w->asides, room, sizeof *w->aside));
                w->aside_room = room;
            }
            w->aside[w->asides] = w->all.n + kept + w->asides;
            w->asides++;
            continue;
        }
        if (kept < i) {
            memcpy(t->x + kept * t->D, t->x + i * t->D, (size_t)t->D * sizeof *t->x);
            if (t->offset) t->offset[kept] = t->offset[i];
        }
        kept++;
    }
    t->n = kept;
    return FAB_OK;
}

static fab_status read_pieces(work *w, fab_feed *f, fab_dataset *t)
{
    const int64_t samples = w->how.samples ? w->how.samples : SAMPLES;
    const int64_t draws = w->r->view.net ? samples * w->model.classes : 0;
    const int64_t D = w->r->scaling->inputs ? w->r->scaling->D : t->columns;
    const int64_t numbers = draws > D ? draws : D;
    const int64_t rows = numbers > 0 && numbers < PIECE_NUMBERS ? PIECE_NUMBERS / numbers : 1;
    while (!fab_feed_at_end(f)) {
        fab_dataset_clear(t);
        FAB_TRY(fab_feed_read(f, rows, t));
        FAB_TRY(lay_aside(w, t));
        FAB_TRY(fab_scaling_apply_on(w->r->scaling, t, &w->exec));
        if (t->n > 0) FAB_TRY(take_piece(w, t));
    }
    w->all.dropped = t->dropped;
    w->all.unseen = t->unseen;
    if (w->all.n + w->asides == 0) return fab_feed_no_rows(f, t);
    return FAB_OK;
}

static fab_status read_all(work *w, const fab_data *d)
{
    fab_data unlabelled = *d;
    fab_feed *f;
    fab_dataset *t = NULL;
    if (!w->how.with_target) unlabelled.labels = NULL;
    FAB_TRY(fab_feed_open_data_as(&f, &unlabelled, w->r->scaling,
                                  w->how.with_target ? FAB_READ_TARGET : FAB_READ_FEATURES));
    fab_feed_watch(f, &w->exec);
    fab_status s = fab_feed_table(f, &t);
    if (s == FAB_OK) {
        t->takes_unseen = w->how.unseen;
        s = read_pieces(w, f, t);
    }
    fab_dataset_free(t);
    fab_feed_close(f);
    return fab_about(w->name, s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s);
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

/* Scores of pieces become scores of the whole. */
static fab_scores mean_scores(const fab_scores *sum)
{
    const double n = (double)sum->n;
    return (fab_scores){.n = sum->n,
                        .nll = sum->nll / n,
                        .rmse = sqrt(sum->rmse / n),
                        .mae = sum->mae / n,
                        .crps = sum->crps / n,
                        .coverage50 = sum->coverage50 / n,
                        .coverage90 = sum->coverage90 / n,
                        .coverage95 = sum->coverage95 / n,
                        .dispersion = sum->dispersion / n};
}

static fab_status score(work *w)
{
    fab_predictions *a = &w->all;
    if (by_draws(w)) {
        a->scores = mean_scores(&w->sum);
        return FAB_OK;
    }
    if (several(w))
        return fab_score_classes(w->model.classes, a->n, a->logp, a->y, &w->exec, &a->scores);
    return fab_score(&w->model, a->n, w->eta, w->variance, a->y, &w->exec, &a->scores);
}

/* Of two classes it is that of their one predictor. */
static fab_status apply_temperature(work *w, const fab_calibration *c)
{
    fab_predictions *a = &w->all;
    if (several(w)) return fab_calibration_heat(c, w->model.classes, a->n, a->logp);
    for (int64_t i = 0; i < a->n; i++) {
        const double no = fab_predict_logp(&w->model, w->eta[i], w->variance[i], 0);
        const double yes = fab_predict_logp(&w->model, w->eta[i], w->variance[i], 1);
        if (!isfinite(yes - no))
            return FAB_FAIL(FAB_BAD_DATA, "row %lld: log probabilities of %g and %g", (long long)i,
                            no, yes);
        w->eta[i] = (yes - no) / c->temperature;
        w->variance[i] = 0;
        predict_y(w, i);
    }
    return FAB_OK;
}

/* What the rows left out of the fit say of all predictions; scores. */
static fab_status finish(work *w)
{
    fab_predictions *a = &w->all;
    const fab_calibration c = fab_regression_calibration(w->r);
    if (c.temperature > 0) FAB_TRY(apply_temperature(w, &c));
    if (w->how.with_target) FAB_TRY(score(w));
    if (wants_cdf(w) && !by_draws(w))
        for (int64_t i = 0; i < a->n; i++)
            a->cdf[i] = fab_predict_cdf(&w->model, w->eta[i], w->variance[i], a->y[i]);
    if (wants_density(w) && !by_draws(w))
        for (int64_t i = 0; i < a->n; i++)
            a->density[i] = a->classes
                                ? a->logp[i * a->classes + (int64_t)a->y[i]]
                                : fab_predict_logp(&w->model, w->eta[i], w->variance[i], a->y[i]);
    if (!c.way || c.temperature > 0) return FAB_OK;
    if (a->classes) return fab_calibration_sets(&c, a);
    double quantile;
    FAB_TRY(fab_calibration_level(&c, w->how.level, &quantile));
    fab_calibration_intervals(&c, fab_likelihood_target(w->model.likelihood), quantile, a);
    return FAB_OK;
}

/* One row more for each that was laid aside, in its place: from the end, so that nothing is overwritten. */
static fab_status put_back(work *w)
{
    fab_predictions *a = &w->all;
    const int64_t n = a->n + w->asides, C = a->classes;
    int64_t from = a->n, aside = w->asides;
    if (!w->asides) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&a->absent, n, 1, "predictions"));
    if (!several(w)) FAB_TRY(grow(&a->p, a->n, n, sizeof *a->p));
    if (C) FAB_TRY(grow(&a->logp, a->n * C, n * C, sizeof *a->logp));
    if (a->set) FAB_TRY(grow(&a->set, a->n * C, n * C, 1));
    for (int64_t i = n - 1; i >= 0; i--) {
        a->absent[i] = aside > 0 && w->aside[aside - 1] == i;
        if (a->absent[i]) {
            aside--;
            if (a->p)
                a->p[i] = (fab_prediction){.mean = NAN, .sd = NAN, .lower = NAN, .upper = NAN};
            for (int64_t c = 0; c < C; c++) a->logp[i * C + c] = NAN;
            if (a->set) memset(a->set + i * C, 0, (size_t)C);
            continue;
        }
        from--;
        if (a->p) a->p[i] = a->p[from];
        if (C) memmove(a->logp + i * C, a->logp + from * C, (size_t)C * sizeof *a->logp);
        if (a->set) memmove(a->set + i * C, a->set + from * C, (size_t)C);
    }
    a->n = n;
    a->absents = w->asides;
    return FAB_OK;
}

static fab_status check_plan(const work *w)
{
    const int network = w->r->view.net != NULL;
    if (w->how.linearised && !network)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "linearised is for networks: a linear model needs no draws");
    if (w->how.linearised && w->how.samples)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "linearised predictions need no draws, and samples asks for %lld",
                        (long long)w->how.samples);
    if (w->how.samples && !network && !several(w))
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "samples are for networks and for several classes: this model needs no draws");
    if (w->how.level != 0 && !(w->how.level > 0 && w->how.level < 1))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "level = %g, expected a number between 0 and 1",
                        w->how.level);
    if (w->how.level > 0 && w->r->scaling->levels)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "level is for intervals of numbers and counts: this target has classes");
    if (w->r->calibration.way && !w->r->calibrated && !w->calibrates)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "regression: its calibration has failed");
    const fab_calibration c = fab_regression_calibration(w->r);
    double quantile;
    if (c.way && !(c.temperature > 0) && !w->calibrates)
        FAB_TRY(fab_calibration_level(&c, w->how.level, &quantile));
    if (c.way && !(c.temperature > 0) && (w->how.linearised || w->how.samples || w->how.seed))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "conformal intervals and sets hold for predictions as the rows left out "
                        "were predicted: samples, seed and linearised cannot be given");
    return FAB_OK;
}

fab_status fab_regression_predict(fab_regression *r, const fab_data *d, const fab_predict_plan *how,
                                  fab_predictions **p)
{
    const fab_watch watch = fab_watch_of(&r->exec);
    work w = {.r = r,
              .name = fab_data_name(d),
              .calibrates = d->table && d->table == r->left_out,
              .exec = fab_watch_exec(&watch, (fab_exec){.threads = r->exec.threads})};
    *p = NULL;
    if (how) w.how = *how;
    FAB_TRY(fab_regression_model(r, &w.model));
    FAB_TRY(fab_regression_view(r));
    FAB_TRY(check_plan(&w));
    /* The curvature of laplace is that of the network made linear: unless draws are asked for, so are its predictions. */
    const fab_method *m = r->fit.what.method;
    if (r->view.net && !w.how.samples && m && m->linearises) w.how.linearised = 1;
    w.all.classes = r->scaling->levels;
    w.all.same_sd = r->view.process && fab_process_is_mean(r->view.process);
    fab_predictions *new;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "predictions"));
    fab_status s = read_all(&w, d);
    if (s == FAB_OK && w.all.n > 0) s = fab_about(w.name, finish(&w));
    if (s == FAB_OK) s = put_back(&w);
    close_work(&w);
    *new = w.all;
    if (s == FAB_OK)
        *p = new;
    else
        fab_predictions_free(new);
    return s;
}

double fab_predictions_probability(const fab_predictions *p, int64_t i, int64_t c)
{
    if (!p->p) return exp(p->logp[i * p->classes + c]);
    return c == 1 ? p->p[i].mean : 1 - p->p[i].mean;
}

int64_t fab_predictions_likeliest(const fab_predictions *p, int64_t i, double *probability)
{
    int64_t best = 0;
    *probability = 0;
    for (int64_t c = 0; c < p->classes; c++) {
        const double q = fab_predictions_probability(p, i, c);
        if (q > *probability || (p->p && q == *probability)) {
            *probability = q;
            best = c;
        }
    }
    return best;
}

int64_t fab_predictions_class(const fab_predictions *p, int64_t i)
{
    double probability;
    if (!p->classes || (p->absent && p->absent[i])) return -1;
    return fab_predictions_likeliest(p, i, &probability);
}

fab_status fab_regression_score(fab_regression *r, const fab_data *d, const fab_predict_plan *how,
                                fab_scores *s, int64_t *dropped)
{
    fab_predict_plan with = {0};
    fab_predictions *p;
    if (how) with = *how;
    with.with_target = 1;
    FAB_TRY(fab_regression_predict(r, d, &with, &p));
    *s = p->scores;
    if (dropped) *dropped = p->dropped;
    fab_predictions_free(p);
    return FAB_OK;
}
