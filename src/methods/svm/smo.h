/* smo.h - a quadratic program with bounds and one or two sums that stay, by steps of two variables.
 *
 *     min over beta   1/2 beta' K beta + q' beta     lo <= beta <= hi, sum of beta in each group as it is at the start
 *
 * Support vector machines are this: beta_i = y_i a_i (classes), and two variables a row for the eps-insensitive loss.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_SVM_SMO_H
#define FAB_METHODS_SVM_SMO_H

#include "base/hooks.h"
#include "methods/svm/rows.h"

typedef struct fab_smo {
    fab_svm_rows *rows;        /* K; borrowed */
    int64_t n;                 /* variables */
    const int64_t *row;        /* n: the row of K of each; NULL: its own number */
    const double *q, *lo, *hi; /* n each; lo <= hi, finite */
    const char *group;         /* n: 0 or 1; NULL: there is one group */
    double tol;                /* of `gap`, > 0 */
    int64_t max_iter;
    int64_t whole; /* 1: variables at their bounds are never laid aside */

    double *beta; /* n: the start, which is inside its bounds, and the result */
    double *g;    /* n: K beta + q of the result */

    /* Found: gap, the largest over groups of max g of those that may fall less min g of those that may rise, 0 where negative; dual,
     * -(1/2 beta' K beta + q' beta); level, of each group g of variables inside their bounds, or the middle of its interval where
     * there are none. */
    double gap, dual, level[2];
    int64_t iterations, converged, restored;
} fab_smo;

/* FAB_STOPPED: beta is inside its bounds, and gap, dual and level are those of variables that are not laid aside. */
fab_status fab_smo_solve(fab_smo *p, fab_watch *w);

#endif
