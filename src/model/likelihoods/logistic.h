/* logistic.h - expectations of the logistic function under a Gaussian, and how they change with it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_LOGISTIC_H
#define FAB_MODEL_LOGISTIC_H

#include <stdint.h>

/* sigma as a probit ([L] (51)-(53)), by quadrature, or the mean over draws ([L] (58)). */
typedef enum fab_expectation { FAB_PROBIT = 0, FAB_QUADRATURE, FAB_SAMPLED } fab_expectation;
extern const char *const fab_expectation_names[4];

/* A rule; z: standard normal draws of FAB_SAMPLED. */
typedef struct fab_nodes {
    fab_expectation expectation;
    int64_t draws;
    const double *z;
} fab_nodes;

/* Under eta ~ N(u, v). */
typedef struct fab_logistic {
    double miss;             /* E sigma(-eta); its derivative by u is -slope */
    double slope;            /* E sigma'(eta) */
    double miss_v;           /* derivative of miss by v */
    double slope_u, slope_v; /* derivatives of slope */
} fab_logistic;

fab_logistic fab_logistic_at(const fab_nodes *n, double u, double v);

/* E log sigma(eta). */
double fab_logistic_mean_log(double u, double v);

/* log E sigma(eta), to 1e-11 of E sigma; -eta for the other class. */
double fab_logistic_log(double u, double v);

#endif
