/* precisions.h - alpha and beta of a model by its Laplace evidence, where theta stands.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_PRECISIONS_H
#define FAB_TRAIN_PRECISIONS_H

#include "train/products.h"

typedef struct fab_precisions {
    const fab_spectrum *G; /* of the curvature of -log p at theta, with beta as it comes */
    double size;           /* |theta|^2 of them */
    double rows;           /* sum of weights */
    double squares;        /* sum of weighted squared residuals; < 0: beta is given */
    double beta_most;      /* beta goes no higher */
    double alpha, beta;    /* in: where the search begins; out: as found */
} fab_precisions;

void fab_precisions_find(fab_precisions *p);

/* sum log(alpha + t) over the spectrum. */
double fab_precisions_logdet(const fab_spectrum *G, double alpha);

#endif
