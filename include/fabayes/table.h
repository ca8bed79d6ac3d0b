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

#ifdef __cplusplus
}
#endif
#endif
