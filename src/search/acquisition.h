/* acquisition.h - what a trial at a point promises, given mean and sd of f there; all are for larger f.
 *
 *     gamma = (mean - best - xi) / sd
 *     EI   log of sd (gamma Phi(gamma) + phi(gamma)), the mean of what f exceeds best + xi by, and 0 where it does not
 *     PI   log of Phi(gamma), the probability that it does
 *     UCB  mean + beta sd
 *
 * The logarithms are right where the numbers themselves are long 0: far from the best trial there is still a slope.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_SEARCH_ACQUISITION_H
#define FAB_SEARCH_ACQUISITION_H

#include "fabayes/search.h"

/* log of gamma Phi(gamma) + phi(gamma), and of Phi(gamma); *slope is its derivative. */
double fab_log_improvement(double gamma, double *slope);
double fab_log_probability(double gamma, double *slope);

typedef struct fab_promise {
    fab_acquisition kind; /* not Thompson's, which is a draw */
    double best, xi, beta;
} fab_promise;

/* The value at mean and sd > 0, with its derivatives by both. */
double fab_promise_at(const fab_promise *p, double mean, double sd, double *by_mean, double *by_sd);

#endif
