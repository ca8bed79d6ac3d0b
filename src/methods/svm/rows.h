/* rows.h - rows of a kernel matrix that is never whole: each is made when it is asked for, and the last ones are kept.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_SVM_ROWS_H
#define FAB_METHODS_SVM_ROWS_H

#include "fabayes/kernel.h"

typedef struct fab_svm_rows fab_svm_rows;

/* Of the rows pick[0 .. n-1] of x (pick NULL: all), which is finite.  megabytes: room for kept rows, two at least.  Copies what it needs of x;
 * borrows k until free.  Gives *r. */
fab_status fab_svm_rows_create(fab_svm_rows **r, const fab_kernel *k, const fab_rows *x,
                               const int64_t *pick, int64_t n, double megabytes, const fab_exec *e);
void fab_svm_rows_free(fab_svm_rows *r); /* takes NULL */

int64_t fab_svm_rows_count(const fab_svm_rows *r); /* n */
/* k(x_i, x_i), n of them; lends until free. */
const double *fab_svm_rows_diag(const fab_svm_rows *r);
/* k(x_i, x_j) for all j.  Lends until another row than this and the one asked for before it is asked for. */
const double *fab_svm_rows_get(fab_svm_rows *r, int64_t i);
/* Rows made so far; elementary operations that one of them takes. */
int64_t fab_svm_rows_made(const fab_svm_rows *r);
double fab_svm_rows_work(const fab_svm_rows *r);

#endif
