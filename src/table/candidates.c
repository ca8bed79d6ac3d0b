/* candidates.c - layers, precision of the prior and epochs of a network, by the density of rows left out.
 *
 *   1  leave out   so many of five folds as hold the rows that the effort asks for: all five of a small table
 *   2  steps       of a number: the linear model, where it may be the answer, and the first network, each without and with
 *                  features for the values of a column that come again (groups, codes, sizes that are made); and a Gaussian
 *                  process, exactly of a small table, of numbers in a larger one through inducing inputs
 *   3  layers      of a list that grows: the first two, then the next as long as the last was the best; with steps where
 *                  the first network was better with them
 *   4  epochs      more, of the best, where its runs are short in steps
 *   5  alpha       times 4 as long as that helps; where it never did, a quarter as long as that helps
 *
 * Every trial is scored on the same rows by networks at their mode, mixed.  Nothing depends on the clock: the same table,
 * seed and effort choose the same network.
 *
 * SPDX-License-Identifier: MIT */
#include "table/candidates.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "fit/method.h"
#include "table/density.h"
#include <math.h>
#include <string.h>

#define ALPHA_STEP 4.0
enum { EPOCHS = 200, EPOCHS_MOST = 1000 };

static const char *const LAYERS[] = {"mlp:50",          "mlp:50,50",   "mlp:100,100",
                                     "mlp:100,100,100", "mlp:200,200", "mlp:200,200,200"};

static const fab_effort EFFORTS[] = {
    {"quick", 500, 1, 3, 2, 0, 1e4, 0, 5000},
    {"default", 1000, 2, 5, 4, 12e3, 6e4, 2, 20000},
    {"thorough", INT64_MAX, 3, 10, 6, 4e4, 4e5, 4, 100000},
};
enum { N_EFFORTS = sizeof EFFORTS / sizeof *EFFORTS, DEFAULT_EFFORT = 1 };

fab_status fab_effort_find(const char *name, const fab_effort **e)
{
    *e = &EFFORTS[DEFAULT_EFFORT];
    if (!name) return FAB_OK;
    for (int i = 0; i < N_EFFORTS; i++)
        if (strcmp(name, EFFORTS[i].name) == 0) {
            *e = &EFFORTS[i];
            return FAB_OK;
        }
    return FAB_FAIL(FAB_BAD_ARGUMENT, "effort is quick, default or thorough, not '%s'", name);
}

typedef struct search {
    fab_candidates *all;
    fab_recipe network;
    const fab_sgd_settings *settings;
    const fab_dataset *t;
    fab_left_out out;
    const fab_exec *x; /* a copy of the caller's, whose progress is that of the search */
    fab_watch watch;   /* the caller's */
    int64_t most;      /* trials, at most, but for a few moves of alpha */
    int64_t unit, at;  /* steps of the progress in a trial; where it stands */
} search;

/* What a trial tells of its networks is a part of the search. */
static int tick(void *ctx, const char *what, int64_t done, int64_t total)
{
    search *s = ctx;
    (void)what;
    if (total > 0) {
        const int64_t at = s->all->n * s->unit + s->unit * done / total;
        if (at > s->at) s->at = at;
    }
    if (s->at > s->most * s->unit) s->at = s->most * s->unit;
    return fab_watch_tick(&s->watch, "models", s->at, s->most * s->unit) != FAB_OK;
}

/* A trial; *better: it is the best so far.  One that cannot be fitted is worse than any other, and says why. */
static fab_status try_one(search *s, const fab_recipe *r, const void *settings, fab_model_trial c,
                          int *better)
{
    fab_candidates *all = s->all;
    const int64_t i = all->n;
    c.steps = r->steps;
    *better = 0;
    if (i == FAB_CANDIDATES) return FAB_OK;
    const fab_status done =
        fab_recipe_density(r, settings, s->t, &s->out, s->x, &c.density, &all->scale[i]);
    if (done == FAB_NUMERIC || (done == FAB_OK && !isfinite(c.density))) {
        c.density = -INFINITY;
        c.failed = 1;
    } else {
        FAB_TRY(done);
    }
    all->c[i] = c;
    all->n++;
    *better = !c.failed && (all->best < 0 || c.density > all->c[all->best].density);
    if (*better) all->best = i;
    return FAB_OK;
}

static fab_status try_network(search *s, const char *layers, double alpha, int64_t epochs,
                              int *better)
{
    fab_recipe r = s->network;
    fab_sgd_settings how = *s->settings;
    r.layers = layers;
    how.alpha = alpha;
    how.epochs = epochs;
    return try_one(s, &r, &how,
                   (fab_model_trial){.model = layers, .alpha = alpha, .epochs = epochs}, better);
}

/* Has a column of the table values that come again? */
static fab_status find_steps(const fab_recipe *r, const fab_dataset *t, int *has)
{
    fab_scaling *k;
    *has = 0;
    if (r->likelihood != FAB_LIKELIHOOD_GAUSSIAN) return FAB_OK;
    FAB_TRY(fab_scaling_create_steps(&k, t, FAB_TARGET_REAL, (int)r->standardise, 1));
    for (int64_t c = 0; c < k->columns; c++) *has |= k->column[c].steps > 0;
    fab_scaling_free(k);
    return FAB_OK;
}

fab_status fab_candidates_search(fab_candidates *all, const fab_recipe *network,
                                 const fab_sgd_settings *given, const fab_other *line,
                                 const fab_other *process, const fab_dataset *t,
                                 const fab_effort *e, const fab_exec *x)
{
    fab_sgd_settings settings = *given;
    fab_exec watched = x ? *x : (fab_exec){0};
    search s = {.all = all,
                .network = *network,
                .settings = &settings,
                .t = t,
                .out = {FAB_CANDIDATE_FOLDS, FAB_CANDIDATE_FOLDS, 0},
                .x = &watched,
                .watch = fab_watch_of(x)};
    const double rows = (double)t->n, in_fold = rows / FAB_CANDIDATE_FOLDS,
                 batch = (double)given->batch;
    const int free_alpha = !(given->alpha > 0), free_epochs = !(given->epochs > 0);
    int better, has_steps;
    *all = (fab_candidates){.best = -1};
    s.out.seed = (uint64_t)given->seed;
    if (in_fold >= 1 && (double)e->rows < rows) /* 1 */
        s.out.used = (int64_t)fmin(FAB_CANDIDATE_FOLDS, ceil((double)e->rows / in_fold));
    settings.runs = e->runs;

    /* 2 */
    FAB_TRY(find_steps(network, t, &has_steps));
    s.unit = s.out.used * e->runs;
    s.most = (line->how ? 1 + has_steps : 0) + (process->how != NULL) + has_steps + e->layers +
             free_epochs + (free_alpha ? e->alphas : 0);
    watched.progress = tick;
    watched.progress_ctx = &s;
    for (int with = 0; line->how && with <= has_steps; with++) {
        fab_recipe r = *line->how;
        r.steps = with;
        FAB_TRY(try_one(&s, &r, line->settings, (fab_model_trial){.model = line->name}, &better));
    }
    if (process->how)
        FAB_TRY(try_one(&s, process->how, process->settings,
                        (fab_model_trial){.model = process->name}, &better));
    const int64_t lines = all->n;
    const double alpha = free_alpha ? 1 : given->alpha;
    const double bounded = fmax(1, fmin(EPOCHS, floor(e->most * batch / rows)));
    const int64_t epochs = free_epochs ? (int64_t)bounded : given->epochs;
    for (int with = 0; with <= has_steps; with++) {
        s.network.steps = with;
        FAB_TRY(try_network(&s, LAYERS[0], alpha, epochs, &better));
    }
    if (has_steps) s.network.steps = all->c[lines + 1].density > all->c[lines].density;

    /* 3 */
    for (int64_t i = 1; i < e->layers; i++) {
        FAB_TRY(try_network(&s, LAYERS[i], alpha, epochs, &better));
        if (!better) break;
    }
    if (all->best < 0)
        return FAB_FAIL(FAB_NUMERIC,
                        "no network could be fitted to four fifths of the rows; a lower "
                        "rate or a look at the columns may help");
    if (all->best < lines) return FAB_OK;

    /* 4 */
    const double more = fmin(EPOCHS_MOST, floor(e->least * batch / rows));
    if (free_epochs && more >= 1.2 * (double)epochs)
        FAB_TRY(try_network(&s, all->c[all->best].model, alpha, (int64_t)more, &better));

    /* 5 */
    if (!free_alpha) return FAB_OK;
    int helped = 0;
    for (int way = 0; way < 2 && !helped; way++)
        for (int64_t i = 0; i < e->alphas; i++) {
            const fab_model_trial from = all->c[all->best];
            const double to = way == 0 ? from.alpha * ALPHA_STEP : from.alpha / ALPHA_STEP;
            FAB_TRY(try_network(&s, from.model, to, from.epochs, &better));
            if (!better) break;
            helped = 1;
        }
    return FAB_OK;
}
