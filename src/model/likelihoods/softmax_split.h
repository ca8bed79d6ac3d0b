/* softmax_split.h - class probabilities when the predictors are Gaussian, by single integrals (softmax_split.c).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_SOFTMAX_SPLIT_H
#define FAB_MODEL_SOFTMAX_SPLIT_H

#include "fabayes/exec.h"

enum { FAB_SOFTMAX_SPLIT = 64 }; /* classes, at most */

typedef struct fab_softmax_split fab_softmax_split;

/* For C classes, 3 to FAB_SOFTMAX_SPLIT.  Gives *s. */
fab_status fab_softmax_split_init(fab_softmax_split **s, int64_t C);
void fab_softmax_split_free(fab_softmax_split *s); /* takes NULL */

/* logp (C) of predictors of mean `mean` and covariance S (C x C).  0: not by this rule. */
int fab_softmax_split_logp(fab_softmax_split *s, const double *mean, const double *S, double *logp);

#endif
