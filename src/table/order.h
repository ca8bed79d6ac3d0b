/* order.h - do the rows of a stream come sorted by their target?
 *
 * One pass over a stream learns from the rows in their order; labels in long runs mislead it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_ORDER_H
#define FAB_TABLE_ORDER_H

#include "base/fail.h"
#include <stdint.h>

/* Start from zeros. */
typedef struct fab_order {
    int64_t n, changes; /* rows; rows whose class is not that of the row before */
    double last;
    double square, product; /* sums of y^2 and of y times the one before, in fitting units */
    int64_t classes;
    int64_t *count; /* classes; owned: fab_order_close */
} fab_order;

/* Rows in fitting units; classes = 0: numbers. */
fab_status fab_order_watch(fab_order *o, const double *y, int64_t n, int64_t classes);
/* What is suspicious about the order, as a sentence without its end; NULL: nothing. */
const char *fab_order_verdict(const fab_order *o);
void fab_order_close(fab_order *o); /* back to zeros */

#endif
