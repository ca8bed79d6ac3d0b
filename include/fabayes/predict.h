/* predict.h - a Gaussian over theta, a model and rows in; what y will be, and scores, out.
 *
 *     fab_predict_eta(q, &glm, &x, offset, NULL, eta, variance);        // a linear model: in closed form
 *     fab_predict_y(&glm, eta[i], variance[i], &p);                     // p.mean, p.sd, p.lower, p.upper
 *     fab_score(&glm, n, eta, variance, y, NULL, &s);                   // s.nll, s.rmse, ..
 *
 *     fab_draws *d;                                                     // any model: by draws of theta
 *     fab_draws_create(&d, fab_net_model(net), &posterior->mix, &x, NULL, 100, seed, NULL);
 *     fab_draws_predict(d, i, &p);
 *     fab_draws_score(d, y, NULL, &s);
 *     fab_draws_free(d);
 *
 * Rows and predictions are in fitting units; fab_regression_predict (table.h) does this for tables, in the user's.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_PREDICT_H
#define FABAYES_PREDICT_H

#include "fabayes/gauss.h"
#include "fabayes/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one linear predictor ---------------------------------------------------------------------- */

/* The linear predictor eta of a row is Gaussian, and so are predictions of a gaussian target; those of the others are
 * integrated over it.  Time O(n D K), no D x D matrix. */

/* Mean and variance of the linear predictor of each row of x; offset: n numbers, or NULL.  A point has
 * variance 0.  A categorical model has several predictors and is refused; so is a row whose mean or variance is
 * no finite number (FAB_NUMERIC), here and below. */
FAB_API fab_status fab_predict_eta(const fab_gauss *q, const fab_glm *m, const fab_rows *x,
                                   const double *offset, const fab_exec *exec, double *eta,
                                   double *variance);

/* Predictors of a gaussian target from the units of a fit to the user's: y = mean + scale y'. */
FAB_API void fab_predict_to_units(double mean, double scale, int64_t n, double *eta,
                                  double *variance);

/* What y will be.  Bernoulli: mean is the probability of 1. */
typedef struct fab_prediction {
    double mean, sd;
    double lower, upper; /* 5 % and 95 % quantile */
} fab_prediction;

/* gaussian: in closed form, sd^2 = variance + 1/beta.  bernoulli: E sigma, integrated to 1e-11.  poisson: mean
 * exp(eta + variance/2), quantiles of the mixture. */
FAB_API void fab_predict_y(const fab_glm *m, double eta, double variance, fab_prediction *p);

/* The central interval of probability `level`, 0 < level < 1, of a number or a count, into p->lower and p->upper. */
FAB_API void fab_predict_interval(const fab_glm *m, double eta, double variance, double level,
                                  fab_prediction *p);

/* log p(y), integrated over the linear predictor. */
FAB_API double fab_predict_logp(const fab_glm *m, double eta, double variance, double y);

/* Where y stands in its prediction: P(Y < y) + P(Y = y) / 2, uniform over rows that are predicted right.  Numbers and counts;
 * NaN of classes. */
FAB_API double fab_predict_cdf(const fab_glm *m, double eta, double variance, double y);

/* Means over n rows.  What does not apply to the likelihood is NaN. */
typedef struct fab_scores {
    int64_t n;
    double nll;                                           /* -log p(y) */
    double rmse;                                          /* gaussian, poisson */
    double mae, crps, coverage50, coverage90, coverage95; /* gaussian */
    double accuracy, brier, auc; /* bernoulli; auc is NaN when one class is missing */
    double ece;        /* calibration error: 15 bins of the probability of the likelier class */
    double dispersion; /* poisson: (y - mean)^2 over its predicted variance; 1 when right */
} fab_scores;

/* Whoever watches *exec may stop this and the scores below. */
FAB_API fab_status fab_score(const fab_glm *m, int64_t n, const double *eta, const double *variance,
                             const double *y, const fab_exec *exec, fab_scores *s);

/* ---- several classes ---------------------------------------------------------------------------- */

/* A categorical model has one predictor for each class.
 *
 *     fab_predict_classes(q, &glm, &x, offset, 0, 0, NULL, logp);       // n x classes
 *     fab_score_classes(glm.classes, n, logp, y, NULL, &s); */

/* Means (n x classes) and covariances (n x classes x classes) of the linear predictors of each row of x under
 * a categorical model.  A point has covariance 0. */
FAB_API fab_status fab_predict_etas(const fab_gauss *q, const fab_glm *m, const fab_rows *x,
                                    const double *offset, const fab_exec *exec, double *eta,
                                    double *covariance);

/* The log of the probability of each class (n x classes), softmax integrated over the predictors: samples 0 by
 * a fixed rule of 1024 points, good to about 0.002; else by `samples` draws of `seed` for each row. */
FAB_API fab_status fab_predict_classes(const fab_gauss *q, const fab_glm *m, const fab_rows *x,
                                       const double *offset, int64_t samples, int64_t seed,
                                       const fab_exec *exec, double *logp);

/* The same where the predictor of every class of row i has a variance of more[i] beside that of theta, independent of all else
 * (NULL: 0): what a Gaussian process keeps of its own behind features (kernel.h). */
FAB_API fab_status fab_predict_classes_wider(const fab_gauss *q, const fab_glm *m,
                                             const fab_rows *x, const double *offset,
                                             const double *more, int64_t samples, int64_t seed,
                                             const fab_exec *exec, double *logp);

/* nll; accuracy and ece of the likeliest class; brier, summed over classes (so twice that of a bernoulli
 * target for two); auc, the mean over classes of each against the others, NaN when y lacks one. */
FAB_API fab_status fab_score_classes(int64_t classes, int64_t n, const double *logp,
                                     const double *y, const fab_exec *exec, fab_scores *s);

/* ---- any model, by draws of theta --------------------------------------------------------------- */

/* A Gaussian or a mixture in, p(y) of each row out.  p(y) is the mean over draws of the likelihood: a mixture.
 * Draw s of a seed is the same theta for every table.  A mixture of points needs no draws: each of its points is
 * one. */

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
 * model's Jacobian at mu; exact for a linear model.  `samples` is then the number of parts (64 times as many of
 * noise of Student's t, which is made of normals).  Holds a few rows of J at a time.  Gives *d. */
FAB_API fab_status fab_draws_linearise(fab_draws **d, const fab_model *m, const fab_mixture *q,
                                       const fab_rows *x, const double *offset,
                                       const fab_exec *exec);
FAB_API void fab_draws_free(fab_draws *d); /* takes NULL */

/* From the units of a fit to the user's: y = mean + scale y'.  Gaussian targets. */
FAB_API void fab_draws_to_units(fab_draws *d, double mean, double scale);

/* What y of row i will be.  Bernoulli: mean is the probability of 1.  Not for several classes. */
FAB_API void fab_draws_predict(const fab_draws *d, int64_t i, fab_prediction *p);
/* Its central interval of probability `level`, as fab_predict_interval. */
FAB_API void fab_draws_interval(const fab_draws *d, int64_t i, double level, fab_prediction *p);
/* Log probability of each class of row i: two of a bernoulli target. */
FAB_API void fab_draws_classes(const fab_draws *d, int64_t i, double *logp);
/* log p(y) of row i. */
FAB_API double fab_draws_logp(const fab_draws *d, int64_t i, double y);
/* As fab_predict_cdf, of row i. */
FAB_API double fab_draws_cdf(const fab_draws *d, int64_t i, double y);

FAB_API fab_status fab_draws_score(const fab_draws *d, const double *y, const fab_exec *exec,
                                   fab_scores *s);

#ifdef __cplusplus
}
#endif
#endif
