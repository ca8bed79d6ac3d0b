/* density.c - how well rows are predicted that the fit has not seen.
 *
 *   1  folds of the rows by seed; some of them are left out, one at a time
 *   2  every run of every fold is a task of one thread: a fit of the other rows, predictions eta_m of those left out
 *   3  the mean over rows of  log 1/M sum_m p(y | eta_m, beta_m);  of a network's gaussian target with every beta_m =
 *      1/s^2, s the scale with the highest density: golden section in log s
 *
 * A network knows its own rows too well: the noise it learns from them is too small.  That of rows left out holds what its
 * runs do not agree on for noise only as far as they are all wrong.
 *
 * SPDX-License-Identifier: MIT */
#include "table/density.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "data/columns/split.h"
#include "data/source/source.h"
#include "fabayes/data.h"
#include "fit/method.h"
#include "la/nn.h"
#include "la/ops.h"
#include "model/likelihoods/likelihood.h"
#include "table/fold.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define GOLDEN  0.61803398874989484820
#define NARROW  0.001 /* of log s, at the end */
#define LEAST   1e-3  /* of the root mean square error: where the search begins */
#define LARGEST 2.0   /* and ends */
enum { WHY = 256 };

typedef struct job { /* one run of one fold */
    const fab_fold *fold;
    void *settings;   /* with its seed; owned */
    fab_draws *draws; /* of a network */
    double nll;       /* of a linear model or a process */
    fab_status status;
    char why[WHY];
} job;

typedef struct left_out {
    const fab_recipe *r;
    int64_t folds, runs;
    fab_fold **fold; /* folds */
    job *job;        /* folds x runs */
    fab_stop stop;
    fab_watch watch;
    atomic_int done;
} left_out;

static int is_linear(const fab_recipe *r)
{
    return (r->method->takes & (FAB_TAKES_LINEAR | FAB_TAKES_KERNEL)) != 0;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static fab_status take_fold(left_out *f, const fab_dataset *t, const fab_split *split, int64_t k)
{
    const int64_t *test, n_test = fab_split_part(split, k, &test);
    int64_t *train, n_train = fab_split_rest(split, k, NULL);
    FAB_TRY(fab_alloc_array((void **)&train, n_train, sizeof *train, "density"));
    fab_split_rest(split, k, train);
    const fab_status s = fab_fold_create(&f->fold[k], f->r, t, train, n_train, test, n_test);
    fab_release(train);
    return s;
}

static fab_status take_folds(left_out *f, const fab_dataset *t, const fab_left_out *how)
{
    const int classes = fab_likelihood_target(f->r->likelihood) == FAB_TARGET_CLASSES;
    fab_split *split;
    fab_status s = fab_dataset_folds(FAB_PURPOSE_FOLDS, &split, t, how->folds, classes, how->seed);
    for (int64_t k = 0; k < f->folds && s == FAB_OK; k++) s = take_fold(f, t, split, k);
    fab_split_free(split);
    return s;
}

/* Runs have seeds seed, seed + 1, .., as those of one fit have. */
static fab_status take_jobs(left_out *f, const void *settings)
{
    const size_t size = f->r->method->fields->size;
    for (int64_t i = 0; i < f->folds * f->runs; i++) {
        job *j = &f->job[i];
        j->fold = f->fold[i / f->runs];
        FAB_TRY(fab_alloc_array(&j->settings, 1, size, "density"));
        memcpy(j->settings, settings, size);
        if (is_linear(f->r)) continue;
        fab_model_settings *s = j->settings;
        s->runs = 1;
        s->seed += i % f->runs;
    }
    return FAB_OK;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* The progress of a fit on the caller's thread is that of all. */
static int ask(void *ctx, const char *what, int64_t done, int64_t total)
{
    left_out *f = ctx;
    (void)what, (void)done, (void)total;
    if (fab_watch_tick(&f->watch, "rows left out", atomic_load(&f->done), f->folds * f->runs) !=
        FAB_OK)
        atomic_store(&f->stop, 1);
    return atomic_load(&f->stop);
}

static void run_job(void *ctx, int64_t i, int thread)
{
    left_out *f = ctx;
    job *j = &f->job[i];
    fab_exec x = fab_watch_exec(&f->watch, (fab_exec){0});
    fab_scores s;
    x.progress = thread == 0 ? ask : fab_stop_asked; /* the others hear of a stop */
    x.progress_ctx = thread == 0 ? (void *)f : (void *)&f->stop;
    const fab_watch w = fab_watch_of(&x);
    j->status = fab_watch_tick(&w, "rows left out", 0, 0);
    if (j->status == FAB_OK && is_linear(f->r)) {
        j->status = fab_fold_score(j->fold, f->r, j->settings, &x, &s);
        j->nll = s.nll;
    } else if (j->status == FAB_OK) {
        j->status = fab_fold_draws(j->fold, f->r, j->settings, &x, &j->draws);
    }
    snprintf(j->why, sizeof j->why, "%s", j->status == FAB_OK ? "" : fab_detail());
    atomic_fetch_add(&f->done, 1);
}

static fab_status run_jobs(left_out *f, int threads)
{
    const int before = fab_blas_enter();
    fab_parallel(threads, f->folds * f->runs, run_job, f);
    fab_blas_leave(before);
    for (int64_t i = 0; i < f->folds * f->runs; i++)
        if (f->job[i].status != FAB_OK)
            return FAB_FAIL(f->job[i].status, "fold %lld: %s", (long long)(i / f->runs),
                            f->job[i].why);
    return FAB_OK;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

static double mean_square_error(const left_out *f)
{
    double sum = 0, n = 0;
    for (int64_t k = 0; k < f->folds; k++) {
        const job *j = &f->job[k * f->runs];
        const double *y = fab_fold_y(j->fold);
        for (int64_t i = 0; i < j->draws->n; i++, n++) {
            double mean = 0;
            for (int64_t m = 0; m < f->runs; m++) {
                fab_prediction p;
                fab_draws_predict(j[m].draws, i, &p);
                mean += p.mean / (double)f->runs;
            }
            sum += (y[i] - mean) * (y[i] - mean);
        }
    }
    return sum / n;
}

/* log 1/M sum_m p_m(y) of row i of the fold whose runs are j[0], j[1], .. */
static double mixed(const job *j, int64_t runs, int64_t i, double y)
{
    double most = -INFINITY, sum = 0;
    for (int64_t m = 0; m < runs; m++) most = fmax(most, fab_draws_logp(j[m].draws, i, y));
    if (!isfinite(most)) return most;
    for (int64_t m = 0; m < runs; m++) sum += exp(fab_draws_logp(j[m].draws, i, y) - most);
    return most + log(sum / (double)runs);
}

static double density_of(const left_out *f)
{
    double sum = 0, n = 0;
    for (int64_t k = 0; k < f->folds; k++) {
        const job *j = &f->job[k * f->runs];
        const double *y = fab_fold_y(j->fold);
        for (int64_t i = 0; i < j->draws->n; i++, n++) sum += mixed(j, f->runs, i, y[i]);
    }
    return sum / n;
}

static double density_at(const left_out *f, double log_scale)
{
    for (int64_t i = 0; i < f->folds * f->runs; i++) {
        fab_draws *d = f->job[i].draws;
        for (int64_t k = 0; k < d->samples * d->n; k++) d->beta[k] = exp(-2 * log_scale);
    }
    return density_of(f);
}

static fab_status search(const left_out *f, double *density, double *scale)
{
    const double error = mean_square_error(f);
    if (!(error > 0 && isfinite(error)))
        return FAB_FAIL(FAB_NUMERIC, "the rows left out have a mean square error of %g", error);
    double low = log(LEAST * sqrt(error)), high = log(LARGEST * sqrt(error)),
           a = high - GOLDEN * (high - low), b = low + GOLDEN * (high - low),
           at_a = density_at(f, a), at_b = density_at(f, b);
    while (high - low > NARROW) {
        if (at_a > at_b) {
            high = b, b = a, at_b = at_a;
            at_a = density_at(f, a = high - GOLDEN * (high - low));
        } else {
            low = a, a = b, at_a = at_b;
            at_b = density_at(f, b = low + GOLDEN * (high - low));
        }
    }
    *scale = exp((low + high) / 2);
    *density = density_at(f, (low + high) / 2);
    return FAB_OK;
}

static double density_linear(const left_out *f)
{
    double sum = 0, n = 0;
    for (int64_t k = 0; k < f->folds; k++) {
        const double rows = (double)fab_fold_rows(f->fold[k]);
        sum -= rows * f->job[k].nll;
        n += rows;
    }
    return sum / n;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static fab_status find(left_out *f, const void *settings, const fab_dataset *t,
                       const fab_left_out *how, int threads, double *density, double *scale)
{
    const fab_recipe *r = f->r;
    *scale = 0;
    FAB_TRY(take_folds(f, t, how));
    FAB_TRY(take_jobs(f, settings));
    FAB_TRY(run_jobs(f, threads));
    if (is_linear(r))
        *density = density_linear(f);
    else if (fab_likelihood_row_of(r->likelihood)->noise && r->noise != FAB_NOISE_FIXED)
        FAB_TRY(search(f, density, scale));
    else
        *density = density_of(f);
    return FAB_OK;
}

fab_status fab_recipe_density(const fab_recipe *r, const void *settings, const fab_dataset *t,
                              const fab_left_out *how, const fab_exec *x, double *density,
                              double *scale)
{
    left_out f = {.r = r, .watch = fab_watch_of(x), .folds = how->used, .runs = 1};
    fab_run run;
    if (!is_linear(r)) f.runs = ((const fab_model_settings *)settings)->runs;
    FAB_TRY(fab_run_init(&run, &(fab_exec){.threads = x ? x->threads : 0}, FAB_F64));
    const int64_t jobs = f.folds * f.runs;
    FAB_TRY(fab_alloc_array((void **)&f.fold, f.folds, sizeof *f.fold, "density"));
    for (int64_t k = 0; k < f.folds; k++) f.fold[k] = NULL;
    fab_status s = fab_alloc_array((void **)&f.job, jobs, sizeof *f.job, "density");
    if (s == FAB_OK) {
        for (int64_t i = 0; i < jobs; i++) f.job[i] = (job){0};
        s = find(&f, settings, t, how, run.threads, density, scale);
        for (int64_t i = 0; i < jobs; i++) {
            fab_draws_free(f.job[i].draws);
            fab_release(f.job[i].settings);
        }
    }
    for (int64_t k = 0; k < f.folds; k++) fab_fold_free(f.fold[k]);
    fab_release(f.fold);
    fab_release(f.job);
    return s;
}

fab_status fab_recipe_noise(const fab_recipe *r, const void *settings, const fab_dataset *t,
                            int64_t n, uint64_t seed, const fab_exec *x, double *scale,
                            double *density)
{
    FAB_TRY(fab_likelihood_check("noise", r->likelihood));
    if (!fab_likelihood_row_of(r->likelihood)->noise || r->noise == FAB_NOISE_FIXED ||
        r->method->takes & (FAB_TAKES_VECTORS | FAB_TAKES_LINEAR | FAB_TAKES_KERNEL) ||
        r->samples < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "noise: needs a network with a gaussian target whose noise is "
                        "learned, and draws: samples >= 1");
    const fab_left_out all = {.folds = n, .used = n, .seed = seed};
    return fab_about("noise", fab_recipe_density(r, settings, t, &all, x, density, scale));
}
