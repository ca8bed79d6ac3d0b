/* classes.h - one example of a softmax model seen by a Gaussian: the scalar equations with C predictors.
 *
 * With eta ~ N(u0, V0), one predictor for each class, before an example of class y and weight w:
 *
 *     mu += P X error,   P^-1 += X weight X'              X: the row in the place of each class
 *     u = u0 + V0 error,  V = (V0^-1 + weight)^-1
 *     error = w (e_y - E p),  weight = w E (diag p - p p'),  p = softmax(eta), eta ~ N(u, V)
 *
 * Expectations are means over pairs of draws +- z, the same for a row whenever it is looked at.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_CLASSES_H
#define FAB_TRAIN_CLASSES_H

#include "train/sequence/scalar.h"

/* What one example adds. */
typedef struct fab_site {
    double *error; /* C */
    double *root;  /* C x C: weight = root root' */
    double *u;     /* C: mean of the predictors after the example */
    double score;  /* log p(y) before it */
} fab_site;

/* y: the class; V0 C x C, its columns ld apart; work: fab_classes_work(C, r->draws) doubles.  A V0 that is not finite
 * gives errors that are not. */
void fab_classes_update(const fab_rule *r, uint64_t row, int64_t C, double y, double w,
                        const double *u0, const double *V0, int64_t ld, fab_site *s, double *work);
int64_t fab_classes_work(int64_t C, int64_t draws);

/* K = root (I + root' V0 root)^-1 root', C x C: what taking the example in takes from P, P X K X' P.
 * sign -1 for taking it out: (I - root' V0 root); FAB_NUMERIC when nothing would be left.
 * work: 3 C x C. */
fab_status fab_classes_gain(int64_t C, const double *root, const double *V0, int64_t ld,
                            double sign, double *K, double *work);

/* A block of rows in the space of their predictors (sequence.h), C of them for each row. */
typedef struct fab_class_block {
    const fab_rule *rule;
    uint64_t first; /* number of the first row */
    int64_t m, C;
    int64_t sweeps;      /* at most so many times the rows are looked at again */
    const double *y, *w; /* m */
    const double *A;     /* n x n, n = m C: X' P X */
    const double *eta;   /* n: predictors at mu */
    double *root;        /* C x n, out: weight of row j = root_j root_j', C x C each */
    double *step;        /* n, out */
    double *V, *B;       /* n x n scratch */
    double *site, *d;    /* n scratch */
    double *work;        /* fab_class_block_work(C, draws) doubles */
    double score;        /* out: sum of log p(y) one step ahead */
} fab_class_block;

fab_status fab_class_block_run(fab_class_block *b);
int64_t fab_class_block_work(int64_t C, int64_t draws);

#endif
