/* labels.h - rows in clusters, to start a mixture from: the leading axes of the rows, and K-means there.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MIXTURE_LABELS_H
#define FAB_MIXTURE_LABELS_H

#include "fabayes/exec.h"
#include "base/fail.h"

/* The n rows on p axes, n x p: their columns, less `centre` and over their standard deviations, where there are at most p of them;
 * otherwise on p leading principal axes of these.  variance NULL: in their own units.  Gives *z: fab_release. */
fab_status fab_labels_axes(double **z, const char *who, const fab_rows *x, int64_t D, int64_t p,
                           const double *centre, const double *variance, int64_t seed, int threads);

/* Clusters of those of the n points that `among` has (NULL: all of them; else where among[i] is `of`), in label[i]: 0 .. G - 1,
 * by K-means from the places of a seed.  FAB_BAD_DATA: too few of them are different. */
fab_status fab_labels_find(const double *z, int64_t n, int64_t p, int64_t G, const int64_t *among,
                           int64_t of, int64_t seed, int64_t *label);

#endif
