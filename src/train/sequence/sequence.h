/* sequence.h - rows one after the other, seen only through their products with each other.
 *
 * A block of rows X (D x m) meets a Gaussian N(mu, P).  All the recursive update needs are the m values
 * eta_j = x_j . mu and the m x m matrix A = X' P X; one row after the other is taken in there, and what
 * goes back to mu and P is small:  mu += P X step,  P^-1 += X diag(weight) X'.  A block of rows is then
 * exactly the same as the rows one at a time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_SEQUENCE_H
#define FAB_TRAIN_SEQUENCE_H

#include "base/hooks.h"
#include "train/sequence/scalar.h"

typedef struct fab_sequence {
    const fab_rule *rule;
    uint64_t first; /* number of the first row: the address of its draws */
    int64_t m;
    const double *y, *w; /* m */
    double *A;           /* m x m: X' P X, destroyed */
    double *eta;         /* m: predictors at mu, offsets included, destroyed */
    double *weight;      /* m, out */
    double *step;        /* m, out; NULL: not wanted */
    double *C;           /* m x m scratch for step */
    double *error, *u;   /* m, out: the errors, and each predictor after its own row; or NULL */
    fab_watch *watch;    /* asked between rows; NULL: nobody */

    double squares; /* out, gaussian: sum of (y - eta)^2 / (1/w + v) one step ahead */
    double logdet;  /* out, gaussian: sum of log(1 + w v) */
    double score;   /* out: sum of fab_scalar_score */
} fab_sequence;

/* FAB_STOPPED when the watch says so: the numbers out are then none. */
fab_status fab_sequence_run(fab_sequence *s);

/* The rows of the same block again, each given all others, until none of them moves its predictor by more
 * than a thousandth of its standard deviation: the block then meets N(mu, P) as a whole, and the order of its rows
 * is forgotten.  After fab_sequence_run with `error` and `u`;
 * weight and step are replaced; FAB_NUMERIC: they are left as they are, for the numbers do not allow it; FAB_STOPPED. */
typedef struct fab_revisit {
    const double *A;   /* m x m: X' P X */
    const double *eta; /* m: predictors at mu */
    double *V, *B;     /* m x m scratch */
    double *site; /* 3 m: the first m what each row adds to P^-1 (mu - mu0) along x, then scratch */
    int64_t sweeps; /* at most so many */
} fab_revisit;

fab_status fab_sequence_revisit(fab_sequence *s, const fab_revisit *v);

/* A prior, found in the first rows. */
typedef struct fab_stream_prior {
    double alpha; /* gaussian: alpha / beta, the prior in units of the noise */
    double beta;  /* gaussian: noise precision; in: 0, to be found as well */
    /* Gaussian, beta found: rows that say nothing about the noise under this prior, which is wider than the best one. */
    double uninformative;
} fab_stream_prior;

/* The prior from the first rows: a wide mean of 1/alpha under the one-step-ahead scores of a bank of 17,
 * half a decade apart, with the mean square of a row in the middle.
 *
 *   G         n x n: products of the features of the rows (no intercept in them)
 *   intercept variance of the intercept, 0: none
 *   work      fab_prior_work(n) doubles
 *
 * Categorical: the sum of the scores of each class against the rest.  watch (or NULL) is asked between the rows: FAB_STOPPED,
 * and nothing is chosen. */
fab_status fab_prior_choose(const fab_glm *model, int64_t n, const double *G, double intercept,
                            const double *y, const double *w, const double *offset,
                            fab_watch *watch, fab_stream_prior *prior, double *work);
int64_t fab_prior_work(int64_t n);

/* Precision of the noise from a sum of `df` squares; `power` is the sum of squares of the targets.  With the
 * noise integrated out theta has Student's distribution, of variance df / (df - 2) times larger: beta is
 * smaller by df / (df + 2), the same but for df near 2, so that a Gaussian is as wide. */
double fab_noise(double df, double squares, double power);

#endif
