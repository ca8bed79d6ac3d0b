/* selective.c - the error of predictions when the most uncertain rows are left to a person.
 *
 *   1  uncertainty and loss of each row: sd and squared error; of classes 1 - max p and 0 or 1
 *   2  rows in rising order of uncertainty
 *   3  the losses of the first m = n - (left n, rounded); those equally uncertain as row m share what is left of m, so
 *      that the order of the rows does not matter
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "table/predictions.h"
#include <math.h>
#include <stdlib.h>

typedef struct judged {
    double uncertainty, loss;
} judged;

static int by_uncertainty(const void *a, const void *b)
{
    const double x = ((const judged *)a)->uncertainty, y = ((const judged *)b)->uncertainty;
    return (x > y) - (x < y);
}

/* 1, of classes */
static judged judge_classes(const fab_predictions *p, int64_t i)
{
    double most;
    const int64_t best = fab_predictions_likeliest(p, i, &most);
    return (judged){1 - most, best != (int64_t)p->y[i]};
}

fab_status fab_predictions_selective(const fab_predictions *p, double left, double *error)
{
    judged *a;
    *error = NAN;
    if (!p->y)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "selective: the predictions were made without the target");
    if (!(left >= 0 && left < 1))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "selective: left = %g, expected 0 or more and less than 1", left);
    FAB_TRY(fab_alloc_array((void **)&a, p->n, sizeof *a, "selective"));
    for (int64_t i = 0; i < p->n; i++) {
        if (p->classes) {
            a[i] = judge_classes(p, i);
        } else {
            const double gap = p->y[i] - p->p[i].mean;
            a[i] = (judged){p->p[i].sd, gap * gap};
        }
    }
    qsort(a, (size_t)p->n, sizeof *a, by_uncertainty); /* 2 */
    int64_t m = p->n - (int64_t)(left * (double)p->n + 0.5), first = 0;
    if (m < 1) m = 1;
    double sum = 0;
    while (first < m) { /* 3: one group of rows that are alike */
        int64_t end = first;
        double group = 0;
        while (end < p->n && a[end].uncertainty == a[first].uncertainty) group += a[end++].loss;
        const int64_t counted = end < m ? end - first : m - first;
        sum += group * (double)counted / (double)(end - first);
        first = end;
    }
    fab_release(a);
    *error = p->classes ? sum / (double)m : sqrt(sum / (double)m);
    return FAB_OK;
}
