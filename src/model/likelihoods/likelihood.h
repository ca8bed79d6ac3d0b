/* likelihood.h - what the library knows of a likelihood: one row, which stands at the end of its file.
 *
 *     const fab_likelihood_row *l = fab_glm_likelihood(m);
 *     l->loglik(m, y, &eta, &gradient, &curvature);
 *
 * A likelihood with one predictor for each class (`several`) is a softmax (softmax.h): what is said below under a
 * Gaussian predictor is NULL in its row.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_LIKELIHOOD_H
#define FAB_MODEL_LIKELIHOOD_H

#include "base/hooks.h"
#include "fabayes/data.h"
#include "fabayes/model.h"
#include "model/likelihoods/list.h"
#include "model/likelihoods/logistic.h"

/* One example seen by a Gaussian eta ~ N(u0, v0): what the recursive methods take from it (train/sequence/scalar.h). */
typedef struct fab_scalar {
    double u, v;   /* mean and variance of eta after the example */
    double error;  /* of the mean, along P x before the example */
    double weight; /* w E m' >= 0 */
} fab_scalar;

typedef struct fab_likelihood_row {
    const char *name;
    fab_target target; /* real number, classes or counts; which scores apply follows from it */
    int several;       /* one predictor for each of m->classes classes, at least 2; else one */
    int noise;         /* y has noise of precision m->beta, which may be learned */
    int normal;        /* y is normal given eta: mixtures have a closed crps */
    int dispersion; /* m->beta says how little y is spread beyond its mean, and may be learned by a method that does */
    const struct fab_likelihood_row *tailed; /* the row in force where m->nu > 0, or NULL */

    /* Can y be this?  range: the sentence "y = -1, expected .." ends with. */
    int (*fits)(const fab_glm *m, double y);
    const char *range;

    /* log p(y | eta) and, where asked for, gradient and negative second derivative (or its mean) by eta. */
    double (*loglik)(const fab_glm *m, double y, const double *eta, double *gradient,
                     double *curvature);
    /* With noise: the mean of the negative second derivative by log beta. */
    double (*noise_curvature)(const fab_glm *m);
    /* The predictor of n targets of this mean, where a fit begins; NULL: 0. */
    double (*start)(double mean, double n);

    /* y under eta ~ N(u, v), v >= 0. */
    void (*moments)(const fab_glm *m, double u, double v, double *mean, double *variance);
    void (*interval)(const fab_glm *m, double u, double v, double *lower,
                     double *upper); /* 5, 95 % */
    double (*logp)(const fab_glm *m, double u, double v, double y);
    double (*cdf)(const fab_glm *m, double u, double v, double y);  /* P(Y <= y); NULL of classes */
    double (*crps)(const fab_glm *m, double u, double v, double y); /* real numbers */
    /* Noise made of normals: FAB_STUDENT_NORMALS factors of beta and their weights; or NULL. */
    void (*normals)(double nu, double *precision, double *weight);

    /* Recursive variational inference.  `update`: the example y of weight w > 0 (of noise: its precision) taken in, every
     * expectation under the result.  `expected`: w (y - E m) and w E m' under N(u, v), m the mean of y given eta; NULL:
     * `update` is closed, and all schemes are it.  nodes: the logistic function is integrated by n.  `evidence`: what the
     * example says about the prior N(u0, v0), log p(y) or a bound by the result s.  All NULL: not offered. */
    int nodes;
    fab_scalar (*update)(const fab_nodes *n, double y, double w, double u0, double v0);
    void (*expected)(const fab_nodes *n, double y, double w, double u, double v, double *error,
                     double *weight);
    double (*evidence)(double y, double w, double u0, double v0, const fab_scalar *s);

    /* Batch variational inference: E log p(y | eta), E of its gradient and of its negative second derivative, under
     * N(u, v); NULL: not offered. */
    double (*mean_loglik)(const fab_glm *m, double y, double u, double v, double *gradient,
                          double *curvature);
} fab_likelihood_row;

#define FAB_LIKELIHOOD_COUNTED(id, name, text) +1
enum { FAB_LIKELIHOODS = 0 FAB_LIKELIHOOD_LIST(FAB_LIKELIHOOD_COUNTED) };

#define FAB_LIKELIHOOD_DECLARED(id, name, text) \
    extern const fab_likelihood_row fab_likelihood_##name;
FAB_LIKELIHOOD_LIST(FAB_LIKELIHOOD_DECLARED)
extern const fab_likelihood_row fab_likelihood_student; /* gaussian where nu > 0 */

/* For settings tables, NULL at the end. */
extern const char *const fab_likelihood_names[FAB_LIKELIHOODS + 1];

/* Is it in the list?  The sentence starts with `who`. */
fab_status fab_likelihood_check(const char *who, fab_likelihood l);
/* The row of a likelihood that is; and the one in force, which nu may change. */
const fab_likelihood_row *fab_likelihood_row_of(fab_likelihood l);
const fab_likelihood_row *fab_glm_likelihood(const fab_glm *m);

/* y under a Gaussian predictor of mean u and variance v: P(Y <= y), as cdf.h wants it. */
typedef struct fab_predictor {
    const fab_glm *m;
    double u, v;
} fab_predictor;

double fab_predictor_cdf(const void *predictor, double y);

/* fab_examples_check, asking w now and then; a row of weight 0 is absent, and may have any y. */
fab_status fab_examples_check_watched(const char *who, const fab_glm *m, const fab_examples *e,
                                      fab_watch *w);

#endif
