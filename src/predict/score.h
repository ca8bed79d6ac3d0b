/* score.h - sums of scores that several kinds of predictions share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_PREDICT_SCORE_H
#define FAB_PREDICT_SCORE_H

#include "base/hooks.h"
#include "fabayes/data.h"
#include "fabayes/predict.h"

/* Accuracy, brier, ece and auc of n probabilities of 1; y is 0 or 1. */
fab_status fab_score_probabilities(int64_t n, const double *p, const double *y, fab_watch *w,
                                   fab_scores *s);
/* Which central intervals hold a y whose P(Y <= y) is `cdf`. */
void fab_score_coverage(double cdf, fab_scores *s);
/* Add a row to nll, rmse and dispersion; a sentence where what it adds is no finite number. */
fab_status fab_score_add(int64_t row, double y, double logp, double mean, double variance,
                         fab_scores *s);
/* Sums become means; NaN for what does not apply to the target. */
void fab_score_finish(fab_target target, fab_scores *s);

#endif
