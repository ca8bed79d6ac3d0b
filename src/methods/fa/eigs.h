/* eigs.h - the leading eigenpairs of diag(s) S diag(s), S a target.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FA_EIGS_H
#define FAB_FA_EIGS_H

#include "methods/fa/target.h"

typedef struct fab_eigs {
    const fab_target *t;
    int64_t K, b; /* pairs wanted, columns worked with */
    int exact;    /* by the whole D x D matrix */
    int warm;     /* V holds the vectors of the last call */
    uint64_t seed;
    double *lambda;    /* b, descending */
    double *V;         /* D x b: eigenvectors in columns */
    double *W, *Y, *Z; /* D x b */
    double *T, *R;     /* b x b */
    double *theta;     /* b */
    double *dense;     /* exact: D x D */
    double *work;
    double worst; /* the largest relative residual left; 0 by the whole matrix */
    void *block;
} fab_eigs;

/* Columns worked with for K pairs in D dimensions: the width a target needs. */
int64_t fab_eigs_width(int64_t D, int64_t K);

/* Bytes fab_eigs_init takes. */
double fab_eigs_bytes(int64_t D, int64_t K, int exact);

#define FAB_EIGS_RESIDUAL 1e-9 /* `worst` above this: the subspace has not converged */

/* exact: 1 whole matrix (the target must have formed it), 0 randomised subspace. */
fab_status fab_eigs_init(fab_eigs *e, const fab_target *t, int64_t K, int exact, uint64_t seed);
void fab_eigs_free(fab_eigs *e);

/* lambda and V for the scaling s (D numbers, NULL: 1). */
fab_status fab_eigs_solve(fab_eigs *e, const double *s);

#endif
