/* glm.h - linear and generalised linear models: what theta means and what the data look like.
 *
 * theta holds the coefficients of the D features, then the intercept when there is one; a categorical
 * model has one such vector after the other for its classes.  The linear predictor of a row x is
 * eta = x . coefficients + intercept + offset.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_GLM_H
#define FABAYES_GLM_H

#include "fabayes/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_likelihood {
    FAB_GAUSSIAN = 0, /* y = eta + noise of precision beta */
    FAB_BERNOULLI,    /* y in {0, 1}, logistic */
    FAB_POISSON,      /* y = 0, 1, 2, .., mean exp(eta) */
    FAB_CATEGORICAL   /* y in {0 .. classes-1}, softmax */
} fab_likelihood;

/* "gaussian", "bernoulli", "poisson", "categorical"; NULL-terminated list for settings tables. */
FAB_API const char *fab_likelihood_name(fab_likelihood l);
extern FAB_API const char *const fab_likelihood_names[5];

typedef struct fab_glm {
    fab_likelihood likelihood;
    int64_t D;         /* features */
    int64_t classes;   /* categorical: at least 2; otherwise 1 */
    int64_t intercept; /* 1: the last coordinate (of each class) is the intercept */
    double beta;       /* gaussian: noise precision; otherwise 1 */

    /* Gaussian targets of networks. */
    double
        nu; /* 0: normal noise; > 2: Student's t of so many degrees of freedom, scale beta^-1/2 */
    double beta_most; /* the largest precision of a noise that is learned; 0: any */
} fab_glm;

/* Length of theta. */
FAB_API int64_t fab_glm_size(const fab_glm *m);

/* The model as it stands in a file: {"kind": "linear", "likelihood", "features", "classes", "intercept",
 * "beta"}.  Gives a string: fab_text_free (settings.h).  Reading trusts nothing. */
FAB_API fab_status fab_glm_json(const fab_glm *m, char **text);
FAB_API fab_status fab_glm_from_json(fab_glm *m, const char *json);

/* n examples in the caller's memory. */
typedef struct fab_examples {
    fab_rows x;           /* n vectors of D features */
    const double *y;      /* n */
    const double *weight; /* n numbers > 0, or NULL: 1 */
    const double *offset; /* n numbers added to eta, or NULL: 0 */
} fab_examples;

/* Every number finite, y in the range of the likelihood, weights > 0?  The sentence starts with `who` and
 * names the row. */
FAB_API fab_status fab_examples_check(const char *who, const fab_glm *m, const fab_examples *e);

/* log p(y | eta) of one example with `classes` predictors eta; and, where asked for, its gradient and the
 * negative second derivative (classes x classes) by eta. */
FAB_API double fab_glm_loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                              double *curvature);

#ifdef __cplusplus
}
#endif
#endif
