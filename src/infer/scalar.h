/* scalar.h - one example of a generalised linear model seen by a Gaussian: two numbers in, two out.
 *
 * With eta = x . theta + offset ~ N(u0, v0) before the example, the recursive variational update of [L]
 * (29)-(32) is
 *
 *     mu += error P x,   P^-1 += weight x x',
 *
 * and both scalars are expectations under eta ~ N(u, v) after it:
 *
 *     u = u0 + v0 w (y - E m(eta)),   v = v0 / (1 + v0 w E m'(eta))        m the mean of y given eta
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_SCALAR_H
#define FAB_INFER_SCALAR_H

#include "fabayes/glm.h"

/* How E m and E m' of the logistic are computed: sigma as a probit ([L] (51)-(53)), or by quadrature. */
typedef enum fab_expectation { FAB_PROBIT = 0, FAB_QUADRATURE } fab_expectation;
extern const char *const fab_expectation_names[3];

typedef struct fab_scalar {
    double u, v;   /* mean and variance of eta after the example */
    double error;  /* w (y - E m) */
    double weight; /* w E m' >= 0 */
} fab_scalar;

/* Update by one example y of weight w > 0 (gaussian: the noise has precision w). */
fab_scalar fab_scalar_update(fab_likelihood l, fab_expectation e, double y, double w, double u0,
                             double v0);

/* What the example says about the prior: the log density of y under N(u0, v0) (bernoulli by probit; a
 * bound from the update s for poisson, where the integral has no closed form). */
double fab_scalar_score(fab_likelihood l, double y, double w, double u0, double v0,
                        const fab_scalar *s);

/* E sigma(-eta) and E sigma'(eta) for eta ~ N(u, v). */
void fab_logistic_moments(fab_expectation e, double u, double v, double *miss, double *slope);

#endif
