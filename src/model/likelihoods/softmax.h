/* softmax.h - class probabilities when the predictors are Gaussian: E softmax(eta), eta ~ N(m, S).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_SOFTMAX_H
#define FAB_MODEL_SOFTMAX_H

#include "fabayes/exec.h"

typedef struct fab_softmax fab_softmax;

/* For C classes.  samples 0: the fixed rule of softmax.c; else so many draws of `seed`. */
fab_status fab_softmax_init(fab_softmax **s, int64_t C, int64_t samples, int64_t seed);
/* The fine rule of softmax.c: 1e-8; of five classes and more some milliseconds a row, and 65536 x classes numbers. */
fab_status fab_softmax_init_fine(fab_softmax **s, int64_t C);
void fab_softmax_free(fab_softmax *s); /* takes NULL */

/* logp (C) for row number `row`; mean C, S C x C; S NULL: the predictors are certain. */
fab_status fab_softmax_logp(fab_softmax *s, int64_t row, const double *mean, const double *S,
                            double *logp);

/* ---- the mean of log softmax, for variational inference (softmax_mean.c) ------------------------------- */

typedef struct fab_softmax_mean fab_softmax_mean;

/* For C classes, by `pairs` nodes with both signs. */
fab_status fab_softmax_mean_init(fab_softmax_mean **s, int64_t C, int64_t pairs);
void fab_softmax_mean_free(fab_softmax_mean *s); /* takes NULL */

/* E log p(y), E of its gradient (C) and of its negative second derivative (C x C), eta ~ N(mean, V), V C x C. */
double fab_softmax_mean_at(fab_softmax_mean *s, int64_t y, const double *mean, const double *V,
                           double *gradient, double *curvature);

/* The nodes of both: z is D x L, column by column. */
void fab_softmax_nodes(int64_t D, int64_t L, double *z);

#endif
