/* evidence.h - parameters of a kernel and the noise, where the evidence of a Gaussian process is largest.
 *
 * Shared by the method gp, by features whose kernel is learned from the first rows, and by Bayesian optimisation.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_EVIDENCE_H
#define FAB_TRAIN_EVIDENCE_H

#include "fabayes/kernel.h"

typedef struct fab_evidence_plan {
    int64_t starts; /* 0: 5 and one for each free parameter, 10 at most */
    uint64_t seed;
    int64_t rows;              /* they are looked for on so many rows, drawn at random; 0: 2000 */
    double noise;              /* > 0: given; 0: learned, */
    double noise_start;        /* from here; 0: a tenth of the variance of y */
    double noise_lo, noise_hi; /* in these bounds; 0: 1e-8 and 1e2 times the variance of y */
    double tol; /* relative change of the log evidence at which a search ends; 0: 1e-9 */
} fab_evidence_plan;

typedef struct fab_evidence_report {
    double lml;          /* of all rows, at the maximum */
    int64_t starts;      /* searches made */
    int64_t optima;      /* different ends of them: more than 1 is said to the user */
    double second;       /* the best of the others; NaN: there is one */
    int64_t evaluations; /* of evidence and gradient */
    int64_t at_bound;    /* parameters, the noise among them, that end at a bound */
    int64_t converged;   /* 1: the best search ended by its tolerance */
} fab_evidence_report;

/* Learn y at the rows of the process, and its kernel's free parameters and the noise with it: it stands at the maximum
 * afterwards, learned from all rows.  weight: n, or NULL. */
fab_status fab_evidence_maximise(fab_process *p, const double *y, const double *weight,
                                 const fab_evidence_plan *plan, fab_evidence_report *report,
                                 const fab_exec *x);

#endif
