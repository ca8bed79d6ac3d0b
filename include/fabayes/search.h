/* search.h - search for settings by cross-validation, and Bayesian optimisation of any function.
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
    int64_t whole; /* 1: whole numbers alone; a setting that is one needs no word */
} fab_range;

typedef enum fab_search {
    FAB_SEARCH_RANDOM = 0, /* trial t is drawn by (seed, t) alone */
    FAB_SEARCH_BAYES /* where a Gaussian process of the trials before expects most: fab_propose, below */
} fab_search;

typedef struct fab_tune_plan {
    int64_t trials, folds;
    int64_t seed;
    int64_t threads;        /* 0: all cores */
    const fab_range *range; /* ranges; 0 of them: those the settings table proposes */
    int64_t ranges;
    /* who watches the search and hears its notes: nothing else of it; or NULL */
    const fab_exec *exec;
    fab_search search;
    /* by bayes: trials side by side, that do not know of one another; 0: 1.  Each has `folds` threads to use */
    int64_t at_once;
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

/* Run the next trials that are not done, as many as there are threads (by bayes: `at_once`).  FAB_STOPPED leaves them undone. */
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
/* By bayes, before that: the values of its ranges, inside of them. */
FAB_API fab_status fab_tune_place(fab_tune *t, int64_t i, const double *value);

/* The trials that are done as a table, csv, which appears whole or not at all. */
FAB_API fab_status fab_tune_write(const fab_tune *t, const char *path);
/* What such a table knows is not run again; a line that is no trial of this search is refused, and no file is no trial. */
FAB_API fab_status fab_tune_read(fab_tune *t, const char *path);

/* ---- proposals --------------------------------------------------------------------------------- */

/* Bayesian optimisation of whatever gives a number: a Gaussian process of the trials so far says where the next is worth most.
 *
 *     const fab_range ranges[] = {{"rate", 1e-4, 0.1, 1}, {"layers", 1, 4, 0, 1}};
 *     fab_propose_plan p = {.range = ranges, .ranges = 2};
 *     fab_propose *o;
 *     double x[2];
 *
 *     fab_propose_create(&o, &p);
 *     for (int i = 0; i < 30; i++) {
 *         fab_propose_ask(o, 1, x);                  // a point: {rate, layers}
 *         fab_propose_tell(o, x, loss_of(x));        // NAN: the trial failed
 *     }
 *     const int64_t best = fab_propose_best(o);      // the trial, counted from 0
 *     fab_propose_free(o);
 *
 * What is asked depends on the plan and on the trials told, in their order, and on nothing else: a handle that lived and one
 * that is told the same trials again answer alike, bit by bit. */
typedef struct fab_propose fab_propose;

/* What a point is chosen by, with mean mu and sd of the process there, and mu+ the largest mean at a trial so far. */
typedef enum fab_acquisition {
    FAB_ACQUISITION_EI = 0,  /* the expected improvement on mu+ + xi */
    FAB_ACQUISITION_PI,      /* the probability of one */
    FAB_ACQUISITION_UCB,     /* the bound mu + beta sd */
    FAB_ACQUISITION_THOMPSON /* the largest of a joint draw at many points */
} fab_acquisition;

/* "ei", "pi", "ucb", "thompson"; NULL when there is no such number. */
FAB_API const char *fab_acquisition_name(fab_acquisition a);

typedef struct fab_propose_plan {
    const fab_range *range;
    int64_t ranges;
    int64_t maximise; /* 1: numbers told are to be large; 0: small, as losses are */
    fab_acquisition acquisition;
    double xi, beta; /* in units of sd of the numbers told; beta 0: 2 */
    int64_t starts;  /* trials at Sobol's points first; 0: 3 and one for each range */
    int64_t seed;
    const fab_exec *exec; /* who watches, and threads for many trials; or NULL */
} fab_propose_plan;

typedef struct fab_propose_report {
    int64_t trials;    /* told */
    int64_t failed;    /* of them: their places are kept away from */
    int64_t outside;   /* of the ranges: learned from, but never the best */
    int64_t elsewhere; /* where a range of one point has another value: passed over */
    int64_t modelled;  /* 1: the last answer came of a process; 0: of Sobol's points */
    double lml,
        noise; /* of the process: log evidence, variance of the noise; the numbers told have variance 1 */
    const struct fab_kernel *
        kernel; /* with its parameters, in ranges of variance 1; or NULL.  Lends until the next call */
} fab_propose_report;

/* Copies the plan, borrows the names until free.  A range of one point stays there.  Gives *o. */
FAB_API fab_status fab_propose_create(fab_propose **o, const fab_propose_plan *plan);
FAB_API void fab_propose_free(fab_propose *o); /* takes NULL */

/* A trial at x (a number of each range) gave y; a y that is not finite says that it failed.  x may lie outside of the ranges,
 * but is finite, and more than 0 where a range is of logarithms. */
FAB_API fab_status fab_propose_tell(fab_propose *o, const double *x, double y);

/* n points, n x ranges, for trials side by side: of each but the last the process believes what it expects there, and then it
 * is asked for the next.  No point is one of a trial told while there are others. */
FAB_API fab_status fab_propose_ask(fab_propose *o, int64_t n, double *x);

/* The trial inside the ranges where the process expects the best number, or without a process the best number told; -1: none. */
FAB_API int64_t fab_propose_best(const fab_propose *o);
/* What the process of the last answer knows of the function at n points (n x ranges), in the units of the numbers told: its median, 5 %
 * and 95 % quantile, and the acquisition there (or NULL; 0: thompson's).  Points that are believed count as trials. */
FAB_API fab_status fab_propose_look(fab_propose *o, int64_t n, const double *x, double *median,
                                    double *lower, double *upper, double *acquisition);
/* A trial as it was told, and its number; NULL: there is none.  Lends until the next one is told. */
FAB_API const double *fab_propose_trial(const fab_propose *o, int64_t i, double *y);
FAB_API void fab_propose_report_of(const fab_propose *o, fab_propose_report *r);

#ifdef __cplusplus
}
#endif
#endif
