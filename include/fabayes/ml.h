/* ml.h - batch maximum likelihood factor analysis.
 *
 * The likelihood is maximised over log psi alone, F being known in closed form given psi; each step
 * needs the K leading eigenvectors of the scaled covariance.  Forms the D x D covariance when the table
 * has at least D rows: memory 8 D^2 bytes; above, products pass over the rows.
 * docs/methods/ml.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_ML_H
#define FABAYES_ML_H

#include "fabayes/estim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_ml_settings {
    int64_t D, K;
    int64_t svd;      /* 0 auto, 1 exact, 2 randomized */
    int64_t starts;   /* the best of so many is kept */
    double tol;       /* relative change of the log-likelihood */
    int64_t max_iter; /* evaluations of the likelihood per start */
    double psi_min;   /* floor of psi */
    int64_t seed;
} fab_ml_settings;

FAB_API fab_ml_settings fab_ml_defaults(int64_t D, int64_t K);

#ifdef __cplusplus
}
#endif
#endif
