/* evidence.h - parameters of a kernel and the noise, where the evidence of a Gaussian process is largest.
 *
 * Shared by the method gp, by features whose kernel is learned from the first rows, and by Bayesian optimisation.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_EVIDENCE_H
#define FAB_TRAIN_EVIDENCE_H

#include "fabayes/kernel.h"

/* The ends of the best searches that are on hills of their own, the best first, for a caller who has room for FAB_EVIDENCE_ENDS of them. */
enum { FAB_EVIDENCE_ENDS = 3 };
typedef struct fab_evidence_ends {
    int64_t n, size; /* size: parameters and, where there is one, the noise */
    double *theta;   /* n x size: logarithms */
} fab_evidence_ends;

typedef struct fab_evidence_plan {
    int64_t starts; /* 0: 5 and one for each free parameter, 10 at most; one long; parts of a sum */
    uint64_t seed;
    int64_t rows;              /* they are looked for on so many rows, drawn at random; 0: 2000 */
    double noise;              /* > 0: given; 0: learned, */
    double noise_start;        /* from here; 0: a tenth of the mean square of y */
    double noise_lo, noise_hi; /* in these bounds; 0: 1e-8 and 1e2 times the mean square of y */
    double tol; /* relative change of the log evidence at which a search ends; 0: 1e-9 */
    fab_evidence_ends *ends; /* NULL: not wanted */
    int64_t here; /* 1: the first search begins where the kernel stands, and at noise_start */
    int64_t once; /* 1: rows that repeat another are passed over where noise is looked for */
    /* Of a search of all rows, at most, with those that start again; 0: 400, and 4 times as many. */
    int64_t evaluations;
} fab_evidence_plan;

typedef struct fab_evidence_report {
    double lml;     /* of all rows, at the maximum */
    int64_t starts; /* searches made */
    int64_t optima; /* different ends of the best of them: more than 1 is said to the user */
    /* Log evidence of the next best end, of so many rows as were searched; NaN: there is one. */
    double second;
    int64_t evaluations;    /* of evidence and gradient */
    int64_t at_bound;       /* parameters, the noise among them, that end at a bound */
    int64_t noise_at_bound; /* 1: the noise does */
    int64_t converged;      /* 1: the best search ended by its tolerance */
    int64_t rows;           /* so many were searched */
    int64_t repeats;        /* and so many passed over, for they repeat another */
} fab_evidence_report;

/* Learn y at the rows of the process, and its kernel's free parameters and the noise with it: it stands at the maximum
 * afterwards, learned from all rows; where that fails or is stopped, its parameters are as they were.  weight: n, or NULL.
 * Rows that repeat another are shown to the search once (plan->once or not). */
fab_status fab_evidence_maximise(fab_process *p, const double *y, const double *weight,
                                 const fab_evidence_plan *plan, fab_evidence_report *report,
                                 const fab_exec *x);

/* ---- the same of another likelihood ---------------------------------------------------------------------- */

/* Rows with whatever stands beside them. */
typedef struct fab_evidence_rows {
    int64_t n;
    const double *X;                   /* n x D */
    const double *y, *weight, *offset; /* n each; weight, offset: or NULL */
} fab_evidence_rows;

/* Who computes a log evidence: made of some rows, and asked at many places. */
typedef struct fab_evidence_of {
    /* Copies the rows, or borrows them until free.  ctx: what the caller of the search gave.  Gives *self. */
    fab_status (*create)(void **self, void *ctx, const fab_kernel *k, const fab_evidence_rows *rows,
                         const fab_exec *x);
    void (*close)(void *self); /* takes NULL */
    /* log evidence at theta, the logarithms of the kernel's parameters, and its gradient by them and, where there is noise, its
     * logarithm (NULL: not wanted).  FAB_NUMERIC: it cannot be had there.  What is looked for beside them stands behind: theta has
     * one number that means nothing, and then theirs, the gradient theirs behind that of the noise. */
    fab_status (*at)(void *self, const double *theta, double noise, double *lml, double *gradient);
} fab_evidence_of;

/* The maximum: theta (fab_kernel_size(k) numbers) and *noise.  whole: one of the kind, of all rows, to be asked where all are.
 * noisy 0: the likelihood has no noise.  scale: of f^2 a priori: the mean square of y, or what stands for it. */
fab_status fab_evidence_search(const fab_evidence_of *how, void *ctx, void *whole,
                               const fab_kernel *k, const fab_evidence_rows *rows, int noisy,
                               double scale, const fab_evidence_plan *plan, double *theta,
                               double *noise, fab_evidence_report *report, const fab_exec *x);

#endif
