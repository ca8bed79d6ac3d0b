/* curvature.h - the generalised Gauss-Newton matrix G of a model over all its rows: in full, or by products.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_CURVATURE_H
#define FAB_TRAIN_CURVATURE_H

#include "base/hooks.h"
#include "fabayes/model.h"
#include "train/minibatch.h"

typedef struct fab_curvature fab_curvature;

/* Of coordinates first .. first + P - 1 of theta, at theta, over the training rows of `batches`; products with up
 * to `columns` vectors, 0: the diagonal alone.  Borrows all until free. */
fab_status fab_curvature_init(fab_curvature **c, const char *who, const fab_model *m,
                              const double *theta, fab_minibatch *batches, int64_t first, int64_t P,
                              int64_t columns, fab_watch *w);
void fab_curvature_free(fab_curvature *c); /* takes NULL */

/* Bytes it holds. */
double fab_curvature_bytes(const fab_model *m, int64_t first, int64_t P, int64_t columns);

fab_status fab_curvature_full(fab_curvature *c, double *G);    /* P x P */
fab_status fab_curvature_diag(fab_curvature *c, double *diag); /* P */
/* out = G V, both P x k, row-major */
fab_status fab_curvature_times(fab_curvature *c, int64_t k, const double *V, double *out);

/* S, one row of P for every output of every training row: S'S = G. */
fab_status fab_curvature_rows(fab_curvature *c, double *S);

/* What a pass over the rows also finds out. */
typedef struct fab_fit_of_rows {
    double loglik;  /* sum of w log p(y | x, theta) */
    double weight;  /* sum of w */
    double squares; /* gaussian: sum of w (y - eta)^2 */
} fab_fit_of_rows;
fab_status fab_curvature_fit(fab_curvature *c, fab_fit_of_rows *fit);

#endif
