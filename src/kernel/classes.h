/* classes.h - a Gaussian process for each of C classes, with one kernel, given rows of these classes.
 *
 * Whatever was learned at the rows is kept as R. & W., algorithm 3.4, has it:
 *
 *     mean of f_c(x) = k(x)' a_c          E_c = S_c B_c^-1 S_c,  B_c = I + S_c K S_c = L_c L_c',  M M' = sum_c E_c
 *     cov(f_c, f_d)(x) = [c = d] (k(x, x) - k(x)' E_c k(x)) + (M^-1 E_c k(x))' (M^-1 E_d k(x))
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_KERNEL_CLASSES_H
#define FAB_KERNEL_CLASSES_H

#include "fabayes/kernel.h"

typedef struct fab_class_process fab_class_process;

/* What it is made of. */
typedef struct fab_class_parts {
    int64_t n, classes;
    const double *X;     /* n x D */
    const double *a, *s; /* classes x n: gradient of log p(y | f) at the mode; diag(S_c) */
    const double *L;     /* classes x n x n, row-major, lower: L_c */
    const double *M;     /* n x n, row-major, lower */
} fab_class_parts;

/* Copies kernel and parts.  Gives *p; on failure it is NULL. */
fab_status fab_class_process_create(fab_class_process **p, const fab_kernel *k,
                                    const fab_class_parts *parts, const fab_exec *x);
void fab_class_process_free(fab_class_process *p); /* takes NULL */
/* Lends until free. */
void fab_class_process_parts(const fab_class_process *p, fab_class_parts *parts);
/* Kernel and rows as a process of their own, which has learned nothing.  Lends until free. */
fab_process *fab_class_process_base(fab_class_process *p);

/* f at m rows: means (m x classes) and covariances (m x classes x classes; NULL: not wanted).  A row has the same bits whichever
 * rows come with it. */
fab_status fab_class_process_predict(fab_class_process *p, int64_t m, const double *Z, int64_t ldz,
                                     double *mean, double *covariance);
/* Joint draws of all f_c at m rows: draw `first + j` is row j of out (draws x (m classes), rows ld apart), row by row. */
fab_status fab_class_process_draw(fab_class_process *p, int64_t m, const double *Z, int64_t ldz,
                                  uint64_t seed, fab_purpose purpose, int64_t first, int64_t draws,
                                  double *out, int64_t ld);

#endif
