/* order.h - do the rows of a stream come sorted by their target?
 *
 * One pass over a stream learns from the rows in their order; labels in long runs mislead it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_ORDER_H
#define CLI_ORDER_H

#include <fabayes.h>

/* Start from zeros. */
typedef struct order {
    int64_t n, changes; /* rows; rows whose class is not that of the row before */
    double last;
    double square, product; /* sums of y^2 and of y times the one before, in fitting units */
    int64_t classes;
    int64_t *count; /* classes; owned: order_close */
} order;

/* Rows in fitting units; classes = 0: numbers.  Not 0: no memory. */
int order_watch(order *o, const double *y, int64_t n, int64_t classes);
/* What is suspicious about the order, as a sentence without its end; NULL: nothing. */
const char *order_verdict(const order *o);
void order_close(order *o);

#endif
