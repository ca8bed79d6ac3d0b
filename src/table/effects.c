/* effects.c - the coefficients that matter most.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "table/regression.h"
#include <math.h>
#include <stdlib.h>

#define Z90 1.6448536269514722 /* 90 % of a normal lie within */

/* Intercepts last, the strongest first; of those that are alike the first. */
static int by_strength(const void *a, const void *b)
{
    const fab_effect *x = a, *y = b;
    const double p = fabs(x->mean) * x->step, q = fabs(y->mean) * y->step;
    if ((x->step > 0) != (y->step > 0)) return x->step > 0 ? -1 : 1;
    if (p != q) return (p < q) - (p > q);
    return (x->coefficient > y->coefficient) - (x->coefficient < y->coefficient);
}

fab_status fab_regression_effects(fab_regression *r, const char *reference, fab_effect *e)
{
    const int64_t size = fab_regression_size(r);
    double *mean;
    fab_glm m;
    FAB_TRY(fab_regression_model(r, &m));
    const int64_t width = m.D + m.intercept;
    FAB_TRY(fab_alloc_array((void **)&mean, 2 * size, sizeof *mean, "effects"));
    const double *sd = mean + size;
    const fab_status s = reference ? fab_regression_contrasts(r, reference, mean, mean + size)
                                   : fab_regression_coefficients(r, mean, mean + size);
    for (int64_t i = 0; s == FAB_OK && i < size; i++) {
        const int64_t d = i % width;
        e[i] = (fab_effect){i,
                            mean[i],
                            sd[i],
                            mean[i] - Z90 * sd[i],
                            mean[i] + Z90 * sd[i],
                            d == m.D ? 0 : r->scaling->scale[d]};
    }
    if (s == FAB_OK) qsort(e, (size_t)size, sizeof *e, by_strength);
    fab_release(mean);
    return s;
}
