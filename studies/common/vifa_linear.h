/* vifa_linear.h - vifa of a linear model, whose posterior and whose optimum at rank K are known.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STUDIES_VIFA_LINEAR_H
#define STUDIES_VIFA_LINEAR_H

#include "fits.h"

/* y = X theta + N(0, 1 / beta), theta ~ N(0, I / alpha), no intercept. */
typedef struct linear_case {
    int64_t D, K;
    fab_examples e;
    double alpha, beta; /* both 0: chosen by the evidence */
    fab_fit *fit;       /* by `exact` */
    const fab_gauss *posterior;
    fab_gauss *best; /* of rank K: the deterministic optimum */
    double kl;       /* its KL from the posterior */
    double unit;     /* of y; 0: its own */
} linear_case;

/* Posterior and optimum; alpha and beta are then known. */
void linear_case_solve(linear_case *c);
void linear_case_free(linear_case *c);

/* The same problem, solved, with the target in units of its standard deviation, as `fabayes fit` has it; y has a number per
 * row and stays until free. */
linear_case linear_case_scaled(const linear_case *c, double *y);

/* Run vifa with the settings of v ("N" stands for the number of rows) and print a csv line: name, seed, label,
 * relative distance of mean and covariance, W2 / D, covariance distance of the optimum, KL of both, steps, epochs,
 * draws in a step, seconds.  q, unless NULL, takes a copy of the result. */
void linear_case_run(const linear_case *c, const char *name, int64_t seed, const variant *v,
                     fab_gauss **q);

#endif
