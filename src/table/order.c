/* order.c - do the rows of a stream come sorted by their target?
 *
 * SPDX-License-Identifier: MIT */
#include "table/order.h"
#include "base/memory.h"
#include <string.h>

enum { LEAST_ROWS = 50 }; /* fewer say nothing */
/* of those that shuffled rows have: 50 shuffled rows have as few once in 1e9 */
#define FEW_CHANGES 0.1
#define ALIKE       0.8 /* correlation of neighbours: 50 shuffled rows reach it once in 1e8 */

fab_status fab_order_watch(fab_order *o, const double *y, int64_t n, int64_t classes)
{
    if (classes && !o->count) {
        FAB_TRY(fab_alloc_array((void **)&o->count, classes, sizeof *o->count, "order"));
        memset(o->count, 0, (size_t)classes * sizeof *o->count);
        o->classes = classes;
    }
    for (int64_t i = 0; i < n; i++, o->n++) {
        if (classes) o->count[(int64_t)y[i]]++;
        o->changes += o->n > 0 && y[i] != o->last;
        o->square += y[i] * y[i];
        o->product += o->n > 0 ? y[i] * o->last : 0;
        o->last = y[i];
    }
    return FAB_OK;
}

/* Changes of class that rows in random order would have. */
static double expected_changes(const fab_order *o)
{
    double same = 0;
    for (int64_t c = 0; c < o->classes; c++) {
        const double p = (double)o->count[c] / (double)o->n;
        same += p * p;
    }
    return (double)(o->n - 1) * (1 - same);
}

const char *fab_order_verdict(const fab_order *o)
{
    if (o->n < LEAST_ROWS) return NULL;
    if (o->classes && (double)o->changes < FEW_CHANGES * expected_changes(o))
        return "the rows come in long runs of one class";
    if (!o->classes && o->product > ALIKE * o->square)
        return "the rows come sorted by their target, or drift";
    return NULL;
}

void fab_order_close(fab_order *o)
{
    fab_release(o->count);
    *o = (fab_order){0};
}
