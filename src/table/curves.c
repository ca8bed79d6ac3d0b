/* curves.c - how well predictions hold: coverage and calibration of numbers and counts; confusion, reliability and ROC of
 * classes.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "table/predictions.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define Z90     1.6448536269514722 /* 90 % of a normal lie within */
#define CLOSEST 0.002              /* between two points of a ROC curve that are kept */

/* ---- numbers and counts --------------------------------------------------------------------------------- */

/* The share of rows for which `inside` is at most each level. */
static fab_status shares(const fab_predictions *p, int64_t n, const double *level,
                         double (*inside)(double cdf), double *share, double *chance)
{
    if (!p->cdf)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "curves: the predictions were made without the target and its cdf, or are "
                        "of classes");
    for (int64_t k = 0; k < n; k++) {
        if (!(level[k] >= 0 && level[k] <= 1))
            return FAB_FAIL(FAB_BAD_ARGUMENT, "curves: level %g, expected 0 to 1", level[k]);
        int64_t count = 0;
        for (int64_t i = 0; i < p->n; i++) count += inside(p->cdf[i]) <= level[k];
        share[k] = (double)count / (double)p->n;
        if (chance) chance[k] = Z90 * sqrt(level[k] * (1 - level[k]) / (double)p->n);
    }
    return FAB_OK;
}

static double central(double cdf) /* the level of the central interval that reaches y */
{
    return fabs(2 * cdf - 1);
}

static double itself(double cdf)
{
    return cdf;
}

fab_status fab_predictions_coverage(const fab_predictions *p, int64_t n, const double *level,
                                    double *share, double *chance)
{
    return shares(p, n, level, central, share, chance);
}

fab_status fab_predictions_below(const fab_predictions *p, int64_t n, const double *level,
                                 double *share, double *chance)
{
    return shares(p, n, level, itself, share, chance);
}

/* ---- classes -------------------------------------------------------------------------------------------- */

static fab_status need_classes(const fab_predictions *p, const char *what)
{
    if (!p->y || p->classes < 2)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the predictions are not of classes, with the target",
                        what);
    return FAB_OK;
}

fab_status fab_predictions_confusion(const fab_predictions *p, int64_t *count)
{
    double probability;
    FAB_TRY(need_classes(p, "confusion"));
    for (int64_t i = 0; i < p->classes * p->classes; i++) count[i] = 0;
    for (int64_t i = 0; i < p->n; i++)
        count[(int64_t)p->y[i] * p->classes + fab_predictions_likeliest(p, i, &probability)]++;
    return FAB_OK;
}

fab_status fab_predictions_reliability(const fab_predictions *p,
                                       fab_reliability bin[FAB_RELIABILITY_BINS])
{
    FAB_TRY(need_classes(p, "reliability"));
    for (int b = 0; b < FAB_RELIABILITY_BINS; b++) bin[b] = (fab_reliability){0};
    for (int64_t i = 0; i < p->n; i++) {
        double probability;
        const int64_t best = fab_predictions_likeliest(p, i, &probability);
        const int at = (int)(probability * FAB_RELIABILITY_BINS);
        fab_reliability *b = &bin[at < FAB_RELIABILITY_BINS ? at : FAB_RELIABILITY_BINS - 1];
        b->n++;
        b->probability += probability;
        b->right += best == (int64_t)p->y[i];
    }
    for (int b = 0; b < FAB_RELIABILITY_BINS; b++) { /* 0 / 0: NaN */
        bin[b].probability /= (double)bin[b].n;
        bin[b].right /= (double)bin[b].n;
    }
    return FAB_OK;
}

typedef struct judged {
    double probability;
    int own;
} judged;

static int falling(const void *a, const void *b)
{
    const double x = ((const judged *)a)->probability, y = ((const judged *)b)->probability;
    return (x < y) - (x > y);
}

/* Walk down the sorted rows, one step for those of one probability. */
static void walk(const judged *a, int64_t n, double own, fab_roc *r)
{
    const double others = (double)n - own;
    double x = 0, y = 0;
    r->x[0] = r->y[0] = r->area = 0;
    r->n = 1;
    for (int64_t i = 0; i < n;) {
        const double from_x = x, from_y = y, p = a[i].probability;
        for (; i < n && a[i].probability == p; i++) {
            y += a[i].own / own;
            x += !a[i].own / others;
        }
        if (i == n) x = y = 1; /* without the rounding of the sums */
        r->area += (x - from_x) * (from_y + y) / 2;
        const double dx = x - r->x[r->n - 1], dy = y - r->y[r->n - 1];
        if (i < n && dx < CLOSEST && dy < CLOSEST) continue;
        r->x[r->n] = x;
        r->y[r->n++] = y;
    }
}

fab_status fab_predictions_roc(const fab_predictions *p, int64_t c, fab_roc **r)
{
    judged *a;
    double own = 0;
    *r = NULL;
    FAB_TRY(need_classes(p, "roc"));
    if (c < 0 || c >= p->classes)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "roc: class %" PRId64 " of %" PRId64, c, p->classes);
    for (int64_t i = 0; i < p->n; i++) own += (int64_t)p->y[i] == c;
    if (!(own > 0 && own < (double)p->n))
        return FAB_FAIL(FAB_BAD_DATA,
                        "roc: all rows are of one side: %g of %" PRId64 " are of class %" PRId64,
                        own, p->n, c);
    FAB_TRY(fab_alloc_array((void **)&a, p->n, sizeof *a, "roc"));
    for (int64_t i = 0; i < p->n; i++)
        a[i] = (judged){fab_predictions_probability(p, i, c), (int64_t)p->y[i] == c};
    qsort(a, (size_t)p->n, sizeof *a, falling);
    fab_roc *new;
    fab_status s = fab_alloc_array((void **)&new, 1, sizeof *new, "roc");
    if (s == FAB_OK) {
        *new = (fab_roc){0};
        s = fab_alloc_array((void **)&new->x, 2 * (p->n + 1), sizeof *new->x, "roc");
        if (s == FAB_OK) {
            new->y = new->x + p->n + 1;
            walk(a, p->n, own, new);
            *r = new;
        } else {
            fab_roc_free(new);
        }
    }
    fab_release(a);
    return s;
}

void fab_roc_free(fab_roc *r)
{
    if (!r) return;
    fab_release(r->x);
    fab_release(r);
}
