/* scatter.h - the D x D scatter matrix of many rows, for the batch methods that state their limit.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_SCATTER_H
#define FAB_LA_SCATTER_H

#include "la/ops.h"

/* Doubles of workspace. */
int64_t fab_scatter_work(int64_t D);

/* S = sum_j w_j (x_j - c)(x_j - c)', D x D, full, and sum = sum_j w_j (x_j - c), D numbers; w NULL: 1.  The same bits
 * for any number of threads. */
void fab_scatter(const fab_run *r, const fab_rows *x, const double *w, int64_t D, const double *c,
                 double *S, double *sum, double *work);

#endif
