/* product.h - several posteriors of one theta, each from its own rows under a prior that it names, become one.
 *
 *     fab_product p;
 *     FAB_TRY(fab_product_open(&p, D, columns, x));     // columns 0: dense
 *     for each posterior: FAB_TRY(fab_product_add(&p, q, prior, power));
 *     FAB_TRY(fab_product_gauss(&p, after, &q, &log_evidence));       // for any prior afterwards
 *     fab_product_close(&p);                                          // in any case
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_PRODUCT_H
#define FAB_POSTERIOR_PRODUCT_H

#include "fabayes/gauss.h"

typedef struct fab_product {
    int64_t D, columns; /* columns 0: dense */
    const fab_exec *x;
    double *eta;      /* D: precision times mean, of the rows alone */
    double *p;        /* D: diagonal of the precision of the rows; of dense: 0 */
    double *A;        /* dense: D x D, the precision of the rows */
    fab_gauss *stack; /* otherwise: precision form, F of all parts side by side */
    int64_t used;     /* of its columns */
} fab_product;

/* Room for parts of theta of length D: `columns` in all, or D x D numbers.  Borrows *x until close. */
fab_status fab_product_open(fab_product *p, int64_t D, int64_t columns, const fab_exec *x);
void fab_product_close(fab_product *p);

/* One posterior, whose prior had mean 0 and the precisions `prior` (D); what its rows say counts `power` times.  Not dense: a
 * Gaussian in precision form. */
fab_status fab_product_add(fab_product *p, const fab_gauss *q, const double *prior, double power);
/* What rows say by itself: precision A (D x D) and eta (D); dense. */
void fab_product_add_dense(fab_product *p, const double *A, const double *eta);

/* The posterior of all rows under a prior of mean 0 and precisions `after` (D; 0: flat there), in precision form with all columns, or
 * dense in covariance form.  *log_evidence: of that prior, up to a constant.  FAB_NUMERIC where no Gaussian is left.  Gives
 * *q, or with q = NULL the number alone. */
fab_status fab_product_gauss(fab_product *p, const double *after, fab_gauss **q,
                             double *log_evidence);

/* The precision of a Gaussian, D x D. */
fab_status fab_gauss_dense_precision(const fab_gauss *q, const fab_exec *x, double *A);

#endif
