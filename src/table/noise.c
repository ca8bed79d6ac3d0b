/* noise.c - how large the noise of a network's target is, from rows that it was not trained with.
 *
 *   1  folds of the rows by seed
 *   2  every fold is a task of one thread: a fit of the other rows, predictions eta_m of its own, one of each part m
 *   3  the scale s with the highest  mean over rows of log sum_m w_m p(y | eta_m, 1/s^2):  golden section in log s
 *
 * A network knows its own rows too well: the noise it learns from them is too small.  That of rows left out holds what its
 * parts do not agree on for noise only as far as they are all wrong.
 *
 * SPDX-License-Identifier: MIT */
#include "base/hooks.h"
#include "base/memory.h"
#include "fabayes/data.h"
#include "la/nn.h"
#include "fit/method.h"
#include "la/ops.h"
#include "model/likelihoods/likelihood.h"
#include "table/fold.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#define GOLDEN  0.61803398874989484820
#define NARROW  0.001 /* of log s, at the end */
#define LEAST   1e-3  /* of the root mean square error: where the search begins */
#define LARGEST 2.0   /* and ends */
enum { WHY = 256 };

typedef struct job {
    fab_fold *fold;
    fab_draws *draws;
    fab_status status;
    char why[WHY];
} job;

typedef struct folds {
    const fab_recipe *r;
    const void *settings;
    int64_t n; /* folds */
    job *job;
    fab_stop stop;
    fab_watch watch;
    atomic_int done;
} folds;

/* ---- 1, 2 --------------------------------------------------------------------------------------------- */

static fab_status take_fold(folds *f, const fab_dataset *t, const fab_split *split, int64_t k)
{
    const int64_t *test, n_test = fab_split_part(split, k, &test);
    int64_t *train, n_train = fab_split_rest(split, k, NULL);
    FAB_TRY(fab_alloc_array((void **)&train, n_train, sizeof *train, "noise"));
    fab_split_rest(split, k, train);
    const fab_status s = fab_fold_create(&f->job[k].fold, f->r, t, train, n_train, test, n_test);
    fab_release(train);
    return s;
}

static fab_status take_folds(folds *f, const fab_dataset *t, uint64_t seed)
{
    fab_split *split;
    fab_status s = fab_split_folds(&split, t->n, f->n, NULL, seed);
    for (int64_t k = 0; k < f->n && s == FAB_OK; k++) s = take_fold(f, t, split, k);
    fab_split_free(split);
    return s;
}

/* The progress of a fit on the caller's thread is that of all folds. */
static int ask(void *ctx, const char *what, int64_t done, int64_t total)
{
    folds *f = ctx;
    (void)what, (void)done, (void)total;
    if (fab_watch_tick(&f->watch, "noise", atomic_load(&f->done), f->n) != FAB_OK)
        atomic_store(&f->stop, 1);
    return atomic_load(&f->stop);
}

static void run_job(void *ctx, int64_t i, int thread)
{
    folds *f = ctx;
    job *j = &f->job[i];
    fab_exec x = fab_watch_exec(&f->watch, (fab_exec){0});
    x.progress = thread == 0 ? ask : fab_stop_asked; /* the others hear of a stop */
    x.progress_ctx = thread == 0 ? (void *)f : (void *)&f->stop;
    const fab_watch w = fab_watch_of(&x);
    j->status = fab_watch_tick(&w, "noise", 0, 0);
    if (j->status == FAB_OK) j->status = fab_fold_draws(j->fold, f->r, f->settings, &x, &j->draws);
    snprintf(j->why, sizeof j->why, "%s", j->status == FAB_OK ? "" : fab_detail());
    atomic_fetch_add(&f->done, 1);
}

static fab_status run_jobs(folds *f, int threads)
{
    const int before = fab_blas_enter();
    fab_parallel(threads, f->n, run_job, f);
    fab_blas_leave(before);
    for (int64_t k = 0; k < f->n; k++)
        if (f->job[k].status != FAB_OK)
            return FAB_FAIL(f->job[k].status, "noise: fold %lld: %s", (long long)k, f->job[k].why);
    return FAB_OK;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

static double mean_square_error(const folds *f)
{
    double sum = 0, n = 0;
    for (int64_t k = 0; k < f->n; k++) {
        const double *y = fab_fold_y(f->job[k].fold);
        fab_prediction p;
        for (int64_t i = 0; i < f->job[k].draws->n; i++, n++) {
            fab_draws_predict(f->job[k].draws, i, &p);
            sum += (y[i] - p.mean) * (y[i] - p.mean);
        }
    }
    return sum / n;
}

static double density_at(const folds *f, double log_scale)
{
    double sum = 0, n = 0;
    for (int64_t k = 0; k < f->n; k++) {
        fab_draws *d = f->job[k].draws;
        const double *y = fab_fold_y(f->job[k].fold);
        for (int64_t i = 0; i < d->samples * d->n; i++) d->beta[i] = exp(-2 * log_scale);
        for (int64_t i = 0; i < d->n; i++, n++) sum += fab_draws_logp(d, i, y[i]);
    }
    return sum / n;
}

static fab_status search(const folds *f, double *scale, double *density)
{
    const double error = mean_square_error(f);
    if (!(error > 0 && isfinite(error)))
        return FAB_FAIL(FAB_NUMERIC, "noise: the rows left out have a mean square error of %g",
                        error);
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

/* ---- all ---------------------------------------------------------------------------------------------- */

static fab_status check(const fab_recipe *r)
{
    FAB_TRY(fab_likelihood_check("noise", r->likelihood));
    if (!fab_likelihood_row_of(r->likelihood)->noise ||
        r->method->takes & (FAB_TAKES_VECTORS | FAB_TAKES_LINEAR) || r->samples < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "noise: needs a network with a gaussian target, and draws: samples >= 1");
    return FAB_OK;
}

static fab_status find(folds *f, const fab_dataset *t, uint64_t seed, int threads, double *scale,
                       double *density)
{
    FAB_TRY(take_folds(f, t, seed));
    FAB_TRY(run_jobs(f, threads));
    return search(f, scale, density);
}

fab_status fab_recipe_noise(const fab_recipe *r, const void *settings, const fab_dataset *t,
                            int64_t n, uint64_t seed, const fab_exec *x, double *scale,
                            double *density)
{
    folds f = {.r = r, .settings = settings, .watch = fab_watch_of(x), .n = n};
    fab_run run;
    FAB_TRY(check(r));
    FAB_TRY(fab_run_init(&run, &(fab_exec){.threads = x ? x->threads : 0}, FAB_F64));
    FAB_TRY(fab_alloc_array((void **)&f.job, n, sizeof *f.job, "noise"));
    for (int64_t k = 0; k < n; k++) f.job[k] = (job){0};
    const fab_status s = find(&f, t, seed, run.threads, scale, density);
    for (int64_t k = 0; k < n; k++) {
        fab_draws_free(f.job[k].draws);
        fab_fold_free(f.job[k].fold);
    }
    fab_release(f.job);
    return s;
}
