/* average.h - a Gaussian process of numbers at several places in the space of its parameters: a mixture.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_GP_AVERAGE_H
#define FAB_METHODS_GP_AVERAGE_H

#include "train/evidence.h"

enum { FAB_AVERAGE_MOST = 31 }; /* free parameters of laplace */

typedef struct fab_gp_average {
    int64_t n,
        size; /* places; numbers of each: the logarithms of the kernel's parameters and of the noise */
    double *theta;   /* n x size; the first place is the maximum */
    double *base;    /* n: what its weight has beside the evidence, in logarithms */
    double *weight;  /* n, sum 1 */
    double *noise;   /* n: of predictions */
    fab_process **p; /* n; the first is borrowed; NULL: not learned */
} fab_gp_average;

/* Places, by laplace, that so many parameters that are free have. */
int64_t fab_gp_average_places(int64_t parameters);

/* Around the maximum, where p stands, which is moved on the way and put back.  noise_free: the noise is looked for.  Gives *a. */
fab_status fab_gp_average_laplace(fab_gp_average **a, fab_process *p, int noise_free);
/* At the ends of a search.  Gives *a. */
fab_status fab_gp_average_ends(fab_gp_average **a, const fab_evidence_ends *ends);
/* n places that a file has.  Gives *a, whose numbers are zeros. */
fab_status fab_gp_average_create(fab_gp_average **a, int64_t n, int64_t size);
void fab_gp_average_free(fab_gp_average *a); /* takes NULL */

/* Learn y at all places, the first of which is p itself, and weigh them. */
fab_status fab_gp_average_learn(fab_gp_average *a, fab_process *p, const double *y,
                                const double *weight, const fab_exec *x);

#endif
