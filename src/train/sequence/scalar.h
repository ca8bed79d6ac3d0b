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
 * The other schemes of [L] replace the expectations after the example by earlier ones.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_SCALAR_H
#define FAB_TRAIN_SCALAR_H

#include "model/likelihoods/likelihood.h"

/* Where the expectations are taken: after the example; before it; after a first explicit step ([L] (36));
 * the same with the weight of the first step ([L] (141)-(143)). */
typedef enum fab_scheme {
    FAB_IMPLICIT = 0,
    FAB_EXPLICIT,
    FAB_EXTRA_GRADIENT,
    FAB_MIRROR_PROX
} fab_scheme;
extern const char *const fab_scheme_names[5];

enum { FAB_MAX_DRAWS = 1024 };
/* elementary operations of an update, about: its equations are solved by quadrature */
#define FAB_SCALAR_WORK 0x1p17

/* How an example is taken in. */
typedef struct fab_rule {
    fab_likelihood likelihood;
    fab_expectation expectation; /* of a likelihood with nodes */
    fab_scheme scheme;
    int64_t draws; /* of a sampled expectation, at most FAB_MAX_DRAWS */
    uint64_t seed; /* of the draws; their stream is the number of the row */
} fab_rule;

/* Update by one example y of weight w > 0 (gaussian: the noise has precision w). */
fab_scalar fab_scalar_update(const fab_rule *r, uint64_t row, double y, double w, double u0,
                             double v0);

/* What the example says about the prior: the log density of y under N(u0, v0), or a bound from the update s. */
double fab_scalar_score(fab_likelihood l, double y, double w, double u0, double v0,
                        const fab_scalar *s);

#endif
