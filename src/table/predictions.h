/* predictions.h - predictions of rows in fitting units, back in the user's.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_PREDICTIONS_H
#define FAB_TABLE_PREDICTIONS_H

#include "fabayes/table.h"
#include "fit/method.h"
#include "kernel/classes.h"

/* The predictors of one Gaussian over a linear model, in the user's units: means and variances, n each. */
fab_status fab_table_eta(const fab_gauss *q, const fab_glm *m, const fab_scaling *k,
                         const fab_dataset *t, const fab_exec *x, double *eta, double *variance);
/* The same of a Gaussian process. */
fab_status fab_table_process(fab_process *p, const fab_scaling *k, const fab_dataset *t,
                             double *eta, double *variance, int64_t *clipped);
/* The same of a mixture of them: one component each.  Gives *d. */
fab_status fab_table_places(const fab_process_places *p, const fab_glm *m, const fab_scaling *k,
                            const fab_dataset *t, fab_draws **d, int64_t *clipped);
/* Log probabilities (n x classes) of processes of several classes. */
fab_status fab_table_classes(fab_class_process *p, const fab_scaling *k, const fab_dataset *t,
                             const fab_exec *x, int64_t samples, int64_t seed, double *logp);
/* Predictions of a network in the user's units; samples 0: linearised.  Gives *d. */
fab_status fab_table_draws(const fab_mixture *q, const fab_model *m, const fab_scaling *k,
                           const fab_dataset *t, int64_t samples, uint64_t seed, const fab_exec *x,
                           fab_draws **d);
/* The likeliest class of row i and its probability; of two the second where they are alike, of more the first, as scores
 * have it. */
int64_t fab_predictions_likeliest(const fab_predictions *p, int64_t i, double *probability);

#endif
