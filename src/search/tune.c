/* tune.c - search for settings by cross-validation, trials side by side.
 *
 *   1  the rows are cut into folds once (by class where the target has classes), each in units of its own
 *   2  trial t: each range's value from uniform number t of its stream; by bayes: what fab_propose asks for (2b), told the
 *      trials before
 *   for the trials that are not done, as many at a time as there are threads:
 *   3  every (trial, fold) is a task of one thread: fit, predict, score
 *   4  nll = mean over folds, se = its standard error; a fold that fails makes both infinite
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/search.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "data/columns/split.h"
#include "fabayes/random.h"
#include "fabayes/data.h"
#include "la/nn.h"
#include "fit/method.h"
#include "la/ops.h"
#include "model/likelihoods/likelihood.h"
#include "search/trials.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STREAM = 0x74756e65 }; /* of random numbers: the first of the ranges' */

typedef struct job {
    int64_t trial, fold;
    fab_status status;
    double nll, seconds;
    fab_sentence why;
} job;

struct fab_tune {
    fab_recipe r;
    fab_tune_plan p;
    int threads;
    fab_fold **fold; /* folds; owned */
    void *settings;  /* a copy */
    fab_range *range;
    double *value; /* trials x ranges */
    fab_trial *trial;
    job *job;             /* slots x folds */
    char *trial_settings; /* slots x size */
    fab_stop stop;
    _Atomic int64_t fits; /* of a trial and a fold, that are done */
    fab_watch watch;
    int64_t finished;     /* trials */
    int64_t slots;        /* trials at a time, at most */
    fab_propose *propose; /* by bayes */
    char *told;           /* trials: it knows of */
    double *asked;        /* slots x ranges */
};

/* ---- ranges ------------------------------------------------------------------------------------------- */

static fab_status check_range(const fab_fields *t, const fab_range *r)
{
    const fab_field *f = fab_settings_find(t, r->name);
    if (!f) return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: %s has no setting %s", t->method, r->name);
    if (f->type != FAB_F64 && f->type != FAB_I64)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: %s is not a number", r->name);
    if (!(r->lo >= f->lo && r->hi <= f->hi && r->lo <= r->hi) || (r->log && !(r->lo > 0)))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: %s = %g:%g%s is not a range inside [%g, %g]",
                        r->name, r->lo, r->hi, r->log ? ":log" : "", f->lo, f->hi);
    return FAB_OK;
}

/* Those of the settings table. */
static int64_t propose(const fab_fields *t, fab_range *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const fab_field *f = &t->field[i];
        if (f->tune == FAB_TUNE_NONE) continue;
        if (out) out[n] = (fab_range){f->name, f->tune_lo, f->tune_hi, f->tune == FAB_TUNE_LOG};
        n++;
    }
    return n;
}

fab_status fab_tune_propose(const fab_fields *t, const void *settings, fab_range *out, int64_t most,
                            int64_t *ranges)
{
    char *defaults;
    *ranges = 0;
    FAB_TRY(fab_alloc_array((void **)&defaults, 1, t->size, "tune"));
    fab_settings_defaults(t, defaults);
    for (int64_t i = 0; i < t->n; i++) {
        if (*ranges == most) break;
        const fab_field *f = &t->field[i];
        const int given = memcmp(defaults + f->offset, (const char *)settings + f->offset, 8) != 0;
        if (f->tune != FAB_TUNE_NONE && !given)
            out[(*ranges)++] =
                (fab_range){f->name, f->tune_lo, f->tune_hi, f->tune == FAB_TUNE_LOG};
    }
    fab_release(defaults);
    return FAB_OK;
}

/* 2 */
static void draw_values(fab_tune *t)
{
    for (int64_t j = 0; j < t->p.ranges; j++) {
        const fab_range *r = &t->range[j];
        for (int64_t i = 0; i < t->p.trials; i++) {
            double u, *v = &t->value[i * t->p.ranges + j];
            fab_random_uniform((uint64_t)t->p.seed, FAB_PURPOSE_SEARCH, STREAM + (uint64_t)j,
                               (uint64_t)i, 1, &u);
            *v = r->log ? exp(log(r->lo) + u * (log(r->hi) - log(r->lo)))
                        : r->lo + u * (r->hi - r->lo);
            *v = fmin(fmax(*v, r->lo), r->hi);
            if (r->whole) *v = nearbyint(*v);
        }
    }
}

static void put_values(const fab_tune *t, int64_t i, void *settings)
{
    memcpy(settings, t->settings, t->r.method->fields->size);
    for (int64_t j = 0; j < t->p.ranges; j++) {
        const fab_field *f = fab_settings_find(t->r.method->fields, t->range[j].name);
        const double v = t->value[i * t->p.ranges + j];
        const int64_t whole = f->type == FAB_I64 ? (int64_t)v : 0;
        memcpy((char *)settings + f->offset, f->type == FAB_I64 ? (const void *)&whole : &v, 8);
    }
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_tune *t = handle;
    const int64_t size = (int64_t)t->r.method->fields->size;
    t->fold = fab_place(l, t->p.folds, sizeof *t->fold);
    t->settings = fab_place(l, size, 1);
    t->range = fab_place(l, t->p.ranges, sizeof *t->range);
    t->value = fab_place(l, t->p.trials * t->p.ranges, sizeof *t->value);
    t->trial = fab_place(l, t->p.trials, sizeof *t->trial);
    t->job = fab_place(l, t->slots * t->p.folds, sizeof *t->job);
    t->trial_settings = fab_place(l, t->slots * size, 1);
    t->told = fab_place(l, t->p.trials, 1);
    t->asked = fab_place(l, t->slots * t->p.ranges, sizeof *t->asked);
}

/* 1, one fold */
static fab_status make_fold(fab_tune *t, const fab_dataset *table, const fab_split *split,
                            int64_t k, int64_t *train)
{
    const int64_t *test;
    const int64_t n_test = fab_split_part(split, k, &test);
    const int64_t n_train = fab_split_rest(split, k, train);
    return fab_fold_create(&t->fold[k], &t->r, table, train, n_train, test, n_test);
}

static fab_status make_folds(fab_tune *t, const fab_dataset *table)
{
    const int classes = fab_likelihood_row_of(t->r.likelihood)->target == FAB_TARGET_CLASSES;
    fab_split *split;
    int64_t *train;
    FAB_TRY(fab_dataset_folds(FAB_PURPOSE_SPLIT, &split, table, t->p.folds, classes,
                              (uint64_t)t->p.seed));
    fab_status s = fab_alloc_array((void **)&train, table->n, sizeof *train, "tune");
    for (int64_t k = 0; k < t->p.folds; k++)
        if (s == FAB_OK) s = make_fold(t, table, split, k, train);
    fab_release(train);
    fab_split_free(split);
    return s;
}

static fab_status check(const fab_recipe *r, const fab_dataset *table, const fab_tune_plan *p)
{
    if (r->method->takes & FAB_TAKES_VECTORS)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: %s fits vectors, not a target", r->method->name);
    if (r->layers && r->method->takes & FAB_TAKES_LINEAR)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: %s knows linear models, no networks",
                        r->method->name);
    if (p->trials < 1 || p->folds < 2 || p->folds > table->n)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "tune: %lld trials of %lld folds of %lld rows; expected a trial or more, and from "
            "2 folds to one for each row",
            (long long)p->trials, (long long)p->folds, (long long)table->n);
    if (p->at_once < 0 || p->at_once > p->trials ||
        (p->search != FAB_SEARCH_RANDOM && p->search != FAB_SEARCH_BAYES))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "tune: %lld trials at a time by search %d; expected at most %lld, by 0 "
                        "(random) or 1 (bayes)",
                        (long long)p->at_once, (int)p->search, (long long)p->trials);
    for (int64_t i = 0; i < p->ranges; i++) FAB_TRY(check_range(r->method->fields, &p->range[i]));
    return FAB_OK;
}

static void fill(fab_tune *t, const void *settings, const fab_tune_plan *p)
{
    memcpy(t->settings, settings, t->r.method->fields->size);
    if (p->ranges)
        memcpy(t->range, p->range, (size_t)p->ranges * sizeof *t->range);
    else
        propose(t->r.method->fields, t->range);
    t->p.range = t->range;
    for (int64_t j = 0; j < t->p.ranges; j++)
        if (fab_settings_find(t->r.method->fields, t->range[j].name)->type == FAB_I64)
            t->range[j].whole = 1;
    if (t->p.search == FAB_SEARCH_RANDOM) draw_values(t);
    for (int64_t i = 0; i < t->p.trials; i++)
        t->trial[i] = (fab_trial){.value = t->value + i * t->p.ranges};
}

fab_status fab_tune_create(fab_tune **t, const fab_recipe *r, const void *settings,
                           const fab_dataset *table, const fab_tune_plan *p)
{
    fab_tune proto = {.r = *r, .p = *p, .watch = fab_watch_of(p->exec)}, *new;
    fab_run run;
    *t = NULL;
    FAB_TRY(check(r, table, p));
    FAB_TRY(fab_run_init(&run, &(fab_exec){.threads = p->threads}, FAB_F64));
    proto.threads = run.threads;
    proto.slots = run.threads;
    if (p->search == FAB_SEARCH_BAYES) proto.slots = p->at_once ? p->at_once : 1;
    if (!p->ranges) proto.p.ranges = propose(r->method->fields, NULL);
    if (!proto.p.ranges)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: %s proposes no settings to search; name one",
                        r->method->name);
    FAB_TRY(fab_build((void **)&new, sizeof proto, &proto, layout));
    fill(new, settings, p);
    fab_status s = make_folds(new, table);
    if (s == FAB_OK && p->search == FAB_SEARCH_BAYES)
        s = fab_propose_create(&new->propose, &(fab_propose_plan){.range = new->range,
                                                                  .ranges = new->p.ranges,
                                                                  .seed = p->seed,
                                                                  .exec = p->exec});
    if (s == FAB_OK)
        *t = new;
    else
        fab_tune_free(new);
    return s;
}

void fab_tune_free(fab_tune *t)
{
    if (!t) return;
    for (int64_t k = 0; k < t->p.folds; k++) fab_fold_free(t->fold[k]);
    fab_propose_free(t->propose);
    fab_release(t);
}

/* ---- trials ------------------------------------------------------------------------------------------- */

/* The progress of a fit on the caller's thread is that of the search. */
static int ask(void *ctx, const char *what, int64_t done, int64_t total)
{
    fab_tune *t = ctx;
    (void)what, (void)done, (void)total;
    if (fab_watch_tick(&t->watch, "tune", atomic_load(&t->fits), t->p.trials * t->p.folds) !=
        FAB_OK)
        atomic_store(&t->stop, 1);
    return atomic_load(&t->stop);
}

/* 3 */
static void run_job(void *ctx, int64_t i, int thread)
{
    fab_tune *t = ctx;
    job *j = &t->job[i];
    fab_scores s = {.nll = INFINITY};
    const int64_t slot = i / t->p.folds;
    const double start = fab_clock();
    fab_exec x = fab_watch_exec(&t->watch, (fab_exec){0});
    x.progress = thread == 0 ? ask : fab_stop_asked; /* the others hear of a stop */
    x.progress_ctx = thread == 0 ? (void *)t : (void *)&t->stop;
    const fab_watch w = fab_watch_of(&x);
    j->status = fab_watch_tick(&w, "tune", 0, 0);
    if (j->status == FAB_OK)
        j->status = fab_fold_score(t->fold[j->fold], &t->r,
                                   t->trial_settings + (size_t)slot * t->r.method->fields->size, &x,
                                   &s);
    j->nll = j->status == FAB_OK ? s.nll : INFINITY;
    if (j->status != FAB_OK) fab_sentence_keep(&j->why);
    j->seconds = fab_clock() - start;
    atomic_fetch_add(&t->fits, 1);
}

/* 4 */
static void finish_trial(fab_tune *t, int64_t slot)
{
    const int64_t folds = t->p.folds;
    const job *j = t->job + slot * folds;
    fab_trial *r = &t->trial[j->trial];
    double sum = 0, squares = 0;
    r->failed = 0;
    r->seconds = 0;
    for (int64_t k = 0; k < folds; k++) {
        const int bad = j[k].status != FAB_OK || !isfinite(j[k].nll);
        if (bad && r->failed++ == 0)
            snprintf(r->why, sizeof r->why, "%.*s", (int)sizeof r->why - 1, j[k].why.text);
        sum += j[k].nll / (double)folds;
        r->seconds += j[k].seconds;
    }
    for (int64_t k = 0; k < folds; k++) squares += (j[k].nll - sum) * (j[k].nll - sum);
    r->nll = r->failed ? INFINITY : sum;
    r->se = r->failed ? INFINITY : sqrt(squares / (double)((folds - 1) * folds));
    r->done = 1;
}

/* 2b  Values of the next trials that are not done. */
static fab_status ask_values(fab_tune *t)
{
    const int64_t ranges = t->p.ranges;
    int64_t slots = 0;
    for (int64_t i = 0; i < t->p.trials; i++) {
        const fab_trial *r = &t->trial[i];
        if (!r->done || t->told[i]) continue;
        FAB_TRY(fab_propose_tell(t->propose, r->value, r->failed ? NAN : r->nll));
        t->told[i] = 1;
    }
    for (int64_t i = 0; i < t->p.trials; i++) slots += !t->trial[i].done;
    if (slots > t->slots) slots = t->slots;
    if (slots == 0) return FAB_OK;
    FAB_TRY(fab_propose_ask(t->propose, slots, t->asked));
    for (int64_t i = 0, s = 0; s < slots; i++)
        if (!t->trial[i].done)
            memcpy(t->value + i * ranges, t->asked + ranges * s++,
                   (size_t)ranges * sizeof *t->value);
    return FAB_OK;
}

static int64_t plan_jobs(fab_tune *t)
{
    const int64_t folds = t->p.folds;
    int64_t slots = 0;
    for (int64_t i = 0; i < t->p.trials; i++) {
        if (t->trial[i].done) continue;
        if (slots == t->slots) break;
        put_values(t, i, t->trial_settings + (size_t)slots * t->r.method->fields->size);
        for (int64_t k = 0; k < folds; k++)
            t->job[slots * folds + k] = (job){.trial = i, .fold = k};
        slots++;
    }
    return slots;
}

fab_status fab_tune_step(fab_tune *t)
{
    if (t->propose) FAB_TRY(ask_values(t));
    const int64_t slots = plan_jobs(t), folds = t->p.folds;
    atomic_store(&t->fits, t->finished * folds);
    FAB_TRY(fab_watch_tick(&t->watch, "tune", t->finished * folds, t->p.trials * folds));
    const int before = fab_blas_enter();
    atomic_store(&t->stop, 0);
    fab_parallel(t->threads, slots * folds, run_job, t);
    fab_blas_leave(before);
    for (int64_t i = 0; i < slots * folds; i++)
        if (t->job[i].status == FAB_STOPPED || t->job[i].status == FAB_NO_MEMORY)
            return fab_sentence_raise(t->job[i].status, &t->job[i].why);
    for (int64_t s = 0; s < slots; s++) finish_trial(t, s);
    t->finished += slots;
    return fab_watch_tick(&t->watch, "tune", t->finished * folds, t->p.trials * folds);
}

/* ---- answers ------------------------------------------------------------------------------------------ */

int fab_tune_done(const fab_tune *t)
{
    for (int64_t i = 0; i < t->p.trials; i++)
        if (!t->trial[i].done) return 0;
    return 1;
}

int64_t fab_tune_ranges(const fab_tune *t, const fab_range **range)
{
    *range = t->range;
    return t->p.ranges;
}

const fab_trial *fab_tune_trial(const fab_tune *t, int64_t i)
{
    return i >= 0 && i < t->p.trials ? &t->trial[i] : NULL;
}

int64_t fab_tune_best(const fab_tune *t)
{
    int64_t best = -1;
    for (int64_t i = 0; i < t->p.trials; i++)
        if (t->trial[i].done && isfinite(t->trial[i].nll) &&
            (best < 0 || t->trial[i].nll < t->trial[best].nll))
            best = i;
    return best;
}

fab_status fab_tune_settings(const fab_tune *t, int64_t i, void *settings)
{
    if (i < 0 || i >= t->p.trials)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: there is no trial %lld of %lld", (long long)i,
                        (long long)t->p.trials);
    put_values(t, i, settings);
    return FAB_OK;
}

int fab_tune_takes(fab_tune *t, int64_t i, int64_t j, double value)
{
    const fab_range *r = &t->range[j];
    if (!t->propose) return value == t->trial[i].value[j];
    if (!(value >= r->lo && value <= r->hi) || (r->whole && value != nearbyint(value))) return 0;
    t->value[i * t->p.ranges + j] = value;
    return 1;
}

fab_status fab_tune_place(fab_tune *t, int64_t i, const double *value)
{
    if (i < 0 || i >= t->p.trials || !t->propose)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: trial %lld of %lld is not one to place",
                        (long long)i, (long long)t->p.trials);
    for (int64_t j = 0; j < t->p.ranges; j++)
        if (!fab_tune_takes(t, i, j, value[j]))
            return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: %s = %g of trial %lld is not in its range",
                            t->range[j].name, value[j], (long long)i);
    return FAB_OK;
}

fab_status fab_tune_recall(fab_tune *t, int64_t i, double nll, double se, int64_t failed,
                           double seconds)
{
    if (i < 0 || i >= t->p.trials)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tune: there is no trial %lld of %lld", (long long)i,
                        (long long)t->p.trials);
    t->finished += !t->trial[i].done;
    t->trial[i] = (fab_trial){.value = t->trial[i].value,
                              .done = 1,
                              .failed = failed,
                              .nll = failed ? INFINITY : nll,
                              .se = failed ? INFINITY : se,
                              .seconds = seconds};
    if (failed)
        snprintf(t->trial[i].why, sizeof t->trial[i].why, "trial %lld failed before", (long long)i);
    return FAB_OK;
}
