/* exact.h - Bayesian linear regression: the posterior of a linear model with Gaussian noise, exactly.
 *
 *     fab_exact_settings s = fab_exact_defaults(D);
 *     fab_infer *f;
 *     fab_infer_init(&f, fab_method_find("exact"), &s, NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);
 *
 * alpha and beta are given, or found by maximising the evidence.  The intercept is not penalised.  At least
 * as many rows as coordinates: covariance form of rank D, from a QR of the table in blocks of rows, memory
 * about 10 D^2 numbers; fewer: precision form of rank N, memory about 3 D N numbers.  Up to min(N, D) =
 * FAB_EXACT_MAX.  `ridge` has the same settings and gives the mean alone.
 * docs/methods/exact.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_EXACT_H
#define FABAYES_EXACT_H

#include "fabayes/infer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FAB_EXACT_MAX = 20000 };

typedef struct fab_exact_settings {
    int64_t D;
    int64_t likelihood;     /* FAB_GAUSSIAN */
    int64_t classes;        /* 1 */
    int64_t intercept;      /* 1: a free intercept, the last coordinate of theta */
    double alpha;           /* auto: by evidence; not used with a given prior */
    double beta;            /* auto: by evidence */
    double intercept_alpha; /* not used: the intercept is free */
    int64_t seed;           /* not used */
} fab_exact_settings;

FAB_API fab_exact_settings fab_exact_defaults(int64_t D);

#ifdef __cplusplus
}
#endif
#endif
