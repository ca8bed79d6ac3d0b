/* softmax.h - class probabilities when the predictors are Gaussian: E softmax(eta), eta ~ N(m, S).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_SOFTMAX_H
#define FAB_MODEL_SOFTMAX_H

#include "fabayes/exec.h"

typedef struct fab_softmax fab_softmax;

/* For C classes.  samples 0: the fixed rule of softmax.c; else so many draws of `seed`. */
fab_status fab_softmax_init(fab_softmax **s, int64_t C, int64_t samples, int64_t seed);
void fab_softmax_free(fab_softmax *s); /* takes NULL */

/* logp (C) for row number `row`; mean C, S C x C; S NULL: the predictors are certain. */
fab_status fab_softmax_logp(fab_softmax *s, int64_t row, const double *mean, const double *S,
                            double *logp);

#endif
