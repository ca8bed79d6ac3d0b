/* climb.h - parameters of a kernel and the noise, where the objective of a sparse Gaussian process is largest.
 *
 * Shared by the methods of vfe.c and by features of a kernel at landmarks (table/features.c).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_VFE_CLIMB_H
#define FAB_METHODS_VFE_CLIMB_H

#include "methods/vfe/bound.h"
#include "train/evidence.h"

#define FAB_BOUND_QUIETEST 1e-8 /* noise, times the mean square of y */
#define FAB_BOUND_LOUDEST  1e2

typedef struct fab_bound_plan {
    int64_t evaluations; /* of the objective with its gradient, about */
    double noise;        /* > 0: given */
    double tol;          /* relative change of the objective at which the search ends; 0: 1e-9 */
    uint64_t seed;
} fab_bound_plan;

/* *noise times or divided by `by` (above 1) as long as the objective at theta rises, which is *value then; that of fitc, which has a
 * place for what inducing inputs leave, stays.  scale: the mean square of y. */
fab_status fab_bound_settle(fab_bound *b, const double *theta, double scale, double by,
                            double *noise, double *value);

/* From where k stands and *noise to theta (logarithms, fab_kernel_size(k)) and *noise where the objective is largest, the inducing
 * inputs as they are; what the text of k gives stays. */
fab_status fab_bound_climb(fab_bound *b, const fab_kernel *k, const fab_bound_plan *plan,
                           double scale, double *theta, double *noise, fab_evidence_report *found,
                           const fab_exec *x);

#endif
