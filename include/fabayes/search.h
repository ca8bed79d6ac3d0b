/* search.h - search for settings by cross-validation: trial t has settings drawn by (seed, t) alone.
 *
 *     const fab_range ranges[] = {{"rate", 1e-3, 1e-1, 1}, {"alpha", 1e-2, 1e2, 1}};      // their logarithms uniform
 *     fab_tune_plan p = {.trials = 30, .folds = 5, .seed = 1, .range = ranges, .ranges = 2};
 *     fab_recipe what = {.method = fab_method_find("sgd"), .layers = "mlp:50", .noise = FAB_NOISE_LEARNED,
 *                        .standardise = 1, .samples = 100};
 *     fab_sgd_settings settings = fab_sgd_defaults();
 *     fab_tune *t;
 *
 *     fab_tune_create(&t, &what, &settings, table, &p);
 *     while (!fab_tune_done(t) && fab_tune_step(t) == FAB_OK)   // the next trials, side by side
 *         ;
 *     fab_tune_settings(t, fab_tune_best(t), &settings);
 *     fab_tune_free(t);
 *
 * What is fitted is a fab_recipe (table.h): a regression without its data and settings; fab_regression_recipe has
 * that of one that was chosen from the data.  Every trial is fitted to every training fold and scored on the rows
 * left out: mean -log p(y), in the user's units.  The number of threads changes no result.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_SEARCH_H
#define FABAYES_SEARCH_H

#include "fabayes/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the plan ---------------------------------------------------------------------------------- */

/* A setting that is searched: uniform in [lo, hi], or its logarithm is. */
typedef struct fab_range {
    const char *name;
    double lo, hi;
    int64_t log;
} fab_range;

typedef struct fab_tune_plan {
    int64_t trials, folds;
    int64_t seed;
    int64_t threads;        /* 0: all cores */
    const fab_range *range; /* ranges; 0 of them: those the settings table proposes */
    int64_t ranges;
    /* who watches the search and hears its notes: nothing else of it; or NULL */
    const fab_exec *exec;
} fab_tune_plan;

/* ---- the trials -------------------------------------------------------------------------------- */

typedef struct fab_trial {
    const double *value; /* of each range */
    int64_t done;        /* 0: not yet */
    int64_t failed;      /* folds that could not be fitted; `why` says it of the first */
    double nll, se;      /* mean over folds, and its standard error; infinite when a fold failed */
    double seconds;
    char why[256];
} fab_trial;

typedef struct fab_tune fab_tune;

/* Copies settings and plan, borrows the recipe's strings until free.  Ranges outside those of the settings are
 * refused.  Gives *t. */
FAB_API fab_status fab_tune_create(fab_tune **t, const fab_recipe *r, const void *settings,
                                   const fab_dataset *table, const fab_tune_plan *p);
FAB_API void fab_tune_free(fab_tune *t); /* takes NULL */

/* Run the next trials that are not done, as many as there are threads.  FAB_STOPPED leaves them undone. */
FAB_API fab_status fab_tune_step(fab_tune *t);
FAB_API int fab_tune_done(const fab_tune *t);

/* The ranges that a settings table proposes, but for settings that are not at their default; at most `most`. */
FAB_API fab_status fab_tune_propose(const fab_fields *t, const void *settings, fab_range *out,
                                    int64_t most, int64_t *ranges);

FAB_API int64_t fab_tune_ranges(const fab_tune *t, const fab_range **range); /* lends */
FAB_API const fab_trial *fab_tune_trial(const fab_tune *t, int64_t i);       /* lends */
/* The trial of the least nll so far; -1: none. */
FAB_API int64_t fab_tune_best(const fab_tune *t);
/* The settings of a trial. */
FAB_API fab_status fab_tune_settings(const fab_tune *t, int64_t i, void *settings);
/* What is known of trial i from before: it is not run again. */
FAB_API fab_status fab_tune_recall(fab_tune *t, int64_t i, double nll, double se, int64_t failed,
                                   double seconds);

/* The trials that are done as a table, csv, which appears whole or not at all. */
FAB_API fab_status fab_tune_write(const fab_tune *t, const char *path);
/* What such a table knows is not run again; a line that is no trial of this search is refused, and no file is no trial. */
FAB_API fab_status fab_tune_read(fab_tune *t, const char *path);

#ifdef __cplusplus
}
#endif
#endif
