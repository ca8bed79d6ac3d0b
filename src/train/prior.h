/* prior.h - minus the log prior of a model's theta and its gradient.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_PRIOR_H
#define FAB_TRAIN_PRIOR_H

#include "fabayes/gauss.h"
#include "fabayes/model.h"

/* Precision alpha around 0 for all coordinates but the model's free ones, or a given Gaussian. */
typedef struct fab_prior {
    int64_t D, weights;
    double alpha;
    const fab_gauss *q;     /* NULL: alpha */
    fab_solver *solver;     /* of q */
    double *diff, *product; /* D each, with q: theta - mean, precision times it */
} fab_prior;

/* Borrows q until close. */
fab_status fab_prior_open(fab_prior *p, const fab_model *m, double alpha, const fab_gauss *q,
                          const fab_exec *x);
void fab_prior_close(fab_prior *p);

/* (theta - mean)' precision (theta - mean) / 2, times scale; its gradient, times scale, is added. */
fab_status fab_prior_add(fab_prior *p, double scale, const double *theta, double *value,
                         double *gradient);

/* out += precision V, both P x k, row-major, of coordinates first .. first + P - 1 of theta, none of them free. */
fab_status fab_prior_times(fab_prior *p, int64_t first, int64_t P, int64_t k, const double *V,
                           double *out);
/* The diagonal of the precision, D; 0 for free coordinates without a given prior. */
fab_status fab_prior_diag(fab_prior *p, double *diag);

#endif
