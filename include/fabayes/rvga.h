/* rvga.h - recursive variational inference with the full covariance: `rvga`, and `kalman` for linear models.
 *
 *     fab_rvga_settings s = fab_rvga_defaults(D);
 *     fab_infer *f;
 *     s.likelihood = FAB_BERNOULLI;
 *     fab_infer_init(&f, fab_method_find("rvga"), &s, NULL, NULL);
 *
 * One pass; for a gaussian target the result is the exact posterior.  These are the baselines of lrvga:
 * D x D numbers, for theta of up to FAB_DENSE_MAX coordinates.  The result has the covariance form with as
 * many factors as coordinates.
 *
 * Time O(D^2) and no allocation per row; memory D (2 D + warmup + 4) numbers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_RVGA_H
#define FABAYES_RVGA_H

#include "fabayes/infer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The settings of both methods; kalman takes gaussian targets only. */
typedef struct fab_rvga_settings {
    int64_t D;
    int64_t likelihood, classes, intercept;
    double alpha, beta, intercept_alpha;
    int64_t seed;
    int64_t expectation; /* bernoulli: 0 probit, 1 quadrature, 2 sampled */
    int64_t draws;       /* of a sampled expectation */
    int64_t scheme;      /* GLMs: 0 implicit, 1 explicit, 2 extra-gradient, 3 mirror-prox */
    int64_t warmup;      /* rows the prior is chosen from */
} fab_rvga_settings;

FAB_API fab_rvga_settings fab_rvga_defaults(int64_t D);

#ifdef __cplusplus
}
#endif
#endif
