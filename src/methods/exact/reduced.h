/* reduced.h - a table of examples reduced to its triangular factor, for linear models.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_EXACT_REDUCED_H
#define FAB_EXACT_REDUCED_H

#include "base/hooks.h"
#include "fabayes/model.h"
#include <stddef.h>

/* A table whose columns are brought to size: features (x - centre) times 1/scale, scales powers of two so
 * that nothing is rounded; the target (y - offset - x'm - y_centre) / y_scale (0 when that is rounding).  Column 0 is the constant 1
 * when there is an intercept; then D features; then the target. */
typedef struct fab_exact_columns {
    fab_watch *watch;
    const char *who;
    const fab_examples *e;
    int64_t D, P; /* features; coefficients: D + intercept */
    int64_t intercept;
    int64_t free;    /* nothing holds the intercept: the target is centred too */
    const double *m; /* P: subtract what this theta predicts, or NULL */
    double weights;  /* their sum */
    double *centre;  /* D; zeros without an intercept */
    double *scale;   /* D */
    double *factor;  /* D: 1 / scale; 0 for a feature that is constant beside an intercept */
    double y_centre, y_scale, y_factor;
} fab_exact_columns;

/* Fill centre, scale, factor (D numbers each, in place) and the rest from who, e, D, intercept, free, m. */
fab_status fab_columns_measure(fab_exact_columns *c);

/* Row j: 1 (if there is an intercept), features, target, times sqrt(weight); elements `step` apart. */
void fab_columns_row(const fab_exact_columns *c, int64_t j, double *out, int64_t step);

/* R of the QR of all rows: (P + 1) x (P + 1), column-major. */
fab_status fab_columns_reduce(fab_exact_columns *c, double *R);

#endif
