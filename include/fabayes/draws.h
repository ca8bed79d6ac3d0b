/* draws.h - predictions of any model by draws of theta: a Gaussian or a mixture in, p(y) of each row out.
 *
 *     fab_draws *d;
 *     fab_draws_create(&d, fab_net_model(net), &posterior->mix, &rows, NULL, 100, seed, NULL);
 *     fab_draws_predict(d, i, &p);                // p.mean, p.sd, p.lower, p.upper
 *     fab_draws_classes(d, i, logp);              // of a target of classes
 *     fab_draws_score(d, y, &scores);
 *     fab_draws_free(d);
 *
 * p(y) is the mean over draws of the likelihood: a mixture.  Draw s of a seed is the same theta for every
 * table.  A mixture of points needs no draws: each of its points is one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_DRAWS_H
#define FABAYES_DRAWS_H

#include "fabayes/mixture.h"
#include "fabayes/model.h"
#include "fabayes/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_draws {
    fab_glm head;    /* likelihood and classes of y */
    int64_t n;       /* rows */
    int64_t samples; /* draws */
    double *eta;     /* samples x n x classes: predictors, offsets added */
    double *beta;    /* samples x n: noise precisions of a gaussian target, else NULL */
    double *weight;  /* samples, sum 1 */

    /* Linearised, else NULL. */
    double *variance; /* samples x n: of eta, of one predictor */
    double *logp;     /* n x classes: log probabilities of several classes */
} fab_draws;

/* Draw theta `samples` times and compute the predictors of all rows.  offset: n numbers, or NULL.  Holds one theta
 * at a time.  Gives *d. */
FAB_API fab_status fab_draws_create(fab_draws **d, const fab_model *m, const fab_mixture *q,
                                    const fab_rows *x, const double *offset, int64_t samples,
                                    uint64_t seed, const fab_exec *exec);
/* The same without draws: the outputs of each part of q are Gaussian with mean f(mu) and covariance J S J', J the
 * model's Jacobian at mu; exact for a linear model.  `samples` is then the number of parts (64 times as many of noise of
 * Student's t, which is made of normals).  Holds a few rows of J at a time.  Gives *d. */
FAB_API fab_status fab_draws_linearise(fab_draws **d, const fab_model *m, const fab_mixture *q,
                                       const fab_rows *x, const double *offset,
                                       const fab_exec *exec);
FAB_API void fab_draws_free(fab_draws *d); /* takes NULL */

/* From the units of a fit to the user's: y = mean + scale y'.  Gaussian targets. */
FAB_API void fab_draws_to_units(fab_draws *d, double mean, double scale);

/* What y of row i will be.  Bernoulli: mean is the probability of 1.  Not for several classes. */
FAB_API void fab_draws_predict(const fab_draws *d, int64_t i, fab_prediction *p);
/* Log probability of each class of row i: two of a bernoulli target. */
FAB_API void fab_draws_classes(const fab_draws *d, int64_t i, double *logp);
/* log p(y) of row i. */
FAB_API double fab_draws_logp(const fab_draws *d, int64_t i, double y);

FAB_API fab_status fab_draws_score(const fab_draws *d, const double *y, fab_scores *s);

#ifdef __cplusplus
}
#endif
#endif
