/* table.h - a fit as a whole: from rows in the user's units to scores of other rows, in those units.
 *
 *     fab_recipe r = {.method = fab_method_find("vifa"), .layers = "mlp:50", .likelihood = FAB_LIKELIHOOD_GAUSSIAN,
 *                     .standardise = 1, .intercept = 1, .samples = 100};
 *     fab_fold *f;
 *     fab_fold_create(&f, &r, table, train, n_train, test, n_test);       // scaled by the training rows
 *     fab_fold_score(f, &r, &settings, &scores);
 *     fab_fold_free(f);
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_TABLE_H
#define FABAYES_TABLE_H

#include "fabayes/data.h"
#include "fabayes/fit.h"
#include "fabayes/net.h"
#include "fabayes/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the targets of a likelihood are: it says what units they have, and which scores apply. */
FAB_API fab_target fab_likelihood_target(fab_likelihood l);

typedef struct fab_recipe {
    const fab_method *method;
    const char *layers; /* of a network; NULL: a linear model */
    fab_noise noise;    /* of a network with a gaussian target */
    double nu, floor;   /* as in fab_net_plan, the floor in the user's units */
    fab_likelihood likelihood;
    int64_t standardise, intercept;
    int64_t samples; /* draws of theta for the predictions of a network; 0: linearised */
} fab_recipe;

typedef struct fab_fold fab_fold;

/* Copies the rows numbered in train and test, in the units of the training rows.  Gives *f. */
FAB_API fab_status fab_fold_create(fab_fold **f, const fab_recipe *r, const fab_dataset *t,
                                   const int64_t *train, int64_t n_train, const int64_t *test,
                                   int64_t n_test);
FAB_API void fab_fold_free(fab_fold *f); /* takes NULL */

/* Fit the training rows with these settings (features, likelihood and classes are filled in) on one thread, and
 * score the test rows. */
FAB_API fab_status fab_fold_score(const fab_fold *f, const fab_recipe *r, const void *settings,
                                  fab_scores *s);

/* The scale of the noise of a network's gaussian target, in the user's units, under which the rows left out of `folds` fits
 * have the highest mean log density: a floor for the noise of a fit of all rows.  *density: that density.  Folds are
 * fitted side by side on `threads` (0: all cores); the result is the same for any number. */
FAB_API fab_status fab_recipe_noise(const fab_recipe *r, const void *settings, const fab_dataset *t,
                                    int64_t folds, uint64_t seed, int64_t threads, double *scale,
                                    double *density);

/* ---- factor analysis of a table -------------------------------------------------------------------- */

/* The Gaussian of the rows of a table, with K factors or as many as BIC wants.
 *
 *     fab_factors *f;
 *     const fab_gauss *q;
 *     fab_source_open(&source, "rows.csv", NULL);
 *     fab_factors_create(&f, &(fab_factors_plan){.source = source, .K = 3}, NULL);
 *     fab_factors_read(f);                             // all rows of the source
 *     fab_factors_result(f, &q);                       // q->mu, q->F, q->psi
 *     fab_factors_save(f, "q.safetensors");            // and fab_factors_load goes on from there
 *     fab_factors_free(f);
 *
 * A stream is read piece by piece in bounded memory; a batch method gets its table whole, and is refused with the
 * number of bytes as soon as table and work do not fit.  A coordinate is a column; the label of a libsvm file is none. */

typedef struct fab_factors_plan {
    fab_source *source; /* the rows; borrowed until free.  NULL: they come by fab_factors_update */
    int64_t D;          /* then: coordinates of a row */
    const char *method; /* NULL: "recursive-em" */
    const void *
        settings; /* the struct of the method (methods.h), copied; NULL: defaults.  Its D is filled in */
    size_t size; /* of it; a shorter one gets defaults for its tail */
    int64_t K;   /* factors; FAB_AUTO_I64: by BIC (gauss.h); 0: as the settings say */
    int64_t
        max_factors; /* by BIC: candidates up to this; 0: what D coordinates can tell apart, 32 at most */
    double memory;      /* bytes that the fit may take; 0: what is free */
    const char *output; /* file of the checkpoints; copied */
    int64_t checkpoint; /* rows of a stream between them; 0: none */
} fab_factors_plan;

typedef struct fab_factors fab_factors;

/* A factor analysis without rows.  Gives *f; on failure *f is NULL. */
FAB_API fab_status fab_factors_create(fab_factors **f, const fab_factors_plan *p,
                                      const fab_exec *x);
/* Go on with the stream saved in `path` with more rows: method, settings and K are those of the file, and p says
 * where rows come from and what they may take.  D and the names of the columns are those of the file, or refused.
 * Metadata of the file that is not ours is kept. */
FAB_API fab_status fab_factors_load(fab_factors **f, const fab_factors_plan *p, const char *path,
                                    const fab_exec *x);
/* Go on with a checkpoint of the very fit that p describes: the rows that it has seen are passed over in the source.
 * A method or setting that differs is refused by name. */
FAB_API fab_status fab_factors_resume(fab_factors **f, const fab_factors_plan *p, const char *path,
                                      const fab_exec *x);
FAB_API void fab_factors_free(fab_factors *f); /* takes NULL */

/* Why the number of factors cannot be chosen by BIC, as the end of a sentence ("learns one rank in a pass"); NULL: it
 * can. */
FAB_API const char *fab_factors_lacks(const fab_method *m);

/* All rows that the source still has. */
FAB_API fab_status fab_factors_read(fab_factors *f);
/* Rows in memory.  A batch method takes its whole table in one update and borrows it until free. */
FAB_API fab_status fab_factors_update(fab_factors *f, const fab_rows *rows);
/* The Gaussian of the rows so far; the first call chooses the number of factors where BIC is to, and it stays.  More
 * rows than factors are needed, and at least 2.  Lends until the next rows or free. */
FAB_API fab_status fab_factors_result(fab_factors *f, const fab_gauss **q);
/* Save Gaussian, settings, names and, for a stream, the state to go on from.  Atomic. */
FAB_API fab_status fab_factors_save(fab_factors *f, const char *path);

/* What happened; computes the result when that is not there yet. */
typedef struct fab_fa_report {
    int64_t n;          /* rows seen in all */
    int64_t before;     /* of them, by the file that was loaded */
    int64_t iterations; /* of a batch method; 0 for a stream */
    int64_t converged;  /* 1 yes, 0 stopped at max_iter, -1 does not apply */
    int64_t floored;    /* coordinates whose psi stands at its floor */
    double loglik_mean; /* mean log-likelihood per row where the method knows it, else NaN */
    double seconds;     /* for the rows and the choice of K */
} fab_fa_report;
FAB_API fab_status fab_factors_report(fab_factors *f, fab_fa_report *r);

/* Bytes that the fit needs, as found when it was last held against the limit. */
FAB_API double fab_factors_bytes(const fab_factors *f);
FAB_API const fab_method *fab_factors_method(const fab_factors *f);
FAB_API const void *fab_factors_settings(
    const fab_factors *f); /* lends until the next rows or free */
/* The candidates of the search for K; NULL before it and where K was given.  Lends until free. */
FAB_API const fab_bic *fab_factors_search(const fab_factors *f);
/* The name of a coordinate; "?" where the source has none or there is no source.  Lends until the source is closed. */
FAB_API const char *fab_factors_name(const fab_factors *f, int64_t coordinate);
/* Coordinates that were the same in every row since create or load, and how many.  Lends until the next rows. */
FAB_API int64_t fab_factors_constants(const fab_factors *f, const int64_t **coordinate);
/* Coordinates whose psi stands at its floor: some of the `floored` of the report where not all can be told.  Lends
 * *coordinate, *n numbers, until the next rows. */
FAB_API fab_status fab_factors_floored(fab_factors *f, const int64_t **coordinate, int64_t *n);

/* Rows of a source that are read at a time: about 8 MB of them. */
FAB_API int64_t fab_factors_piece(const fab_factors *f);
/* Factor scores (fab_solver_scores) of the next rows of a source, a piece of them at most, into z (piece x K);
 * *got = 0 at the end.  Its columns are those of the fit. */
FAB_API fab_status fab_factors_scores(fab_factors *f, const fab_rotation *r, fab_source *s,
                                      double *z, int64_t *got);

#ifdef __cplusplus
}
#endif
#endif
