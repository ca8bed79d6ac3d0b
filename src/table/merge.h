/* merge.h - what the ways to merge posteriors share: the parts, and the file that comes out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_MERGE_H
#define FAB_TABLE_MERGE_H

#include "fabayes/table.h"

/* One of the posteriors that are merged. */
typedef struct fab_shard {
    const char *name;
    const fab_posterior *p;
    const fab_gauss *q; /* of all its columns: the state of a stream may be wider than its result */
    fab_gauss *wide;    /* owned; or NULL */
    double rows, n;     /* rows; the sum of their weights where it is known, otherwise rows */
    /* of a linear model: */
    fab_scaling *k;
    fab_glm m;
    double alpha, intercept_alpha;       /* precisions of its prior, */
    double prior_alpha, prior_intercept; /* and as they stand in q */
    double alpha_given;                  /* NaN: it was chosen by the fit */
    double temperature;
} fab_shard;

typedef struct fab_merging {
    fab_shard *shard;
    int64_t n;
    const fab_merge_plan *plan;
    const fab_exec *x;
    fab_merge_report *report;
} fab_merging;

/* The Gaussian of a part with all the columns that its file knows, in shard->q. */
fab_status fab_shard_widen(fab_shard *s, const fab_exec *x);

/* merge_linear.c: linear and generalised linear models.  Gives *out. */
fab_status fab_merge_linear(const fab_merging *m, fab_posterior **out);

/* The file of a merged posterior: the metadata of the first part that are still so, those of `more`, and what the report says.
 * Gives *out. */
fab_status fab_merge_file(const fab_merging *m, const fab_mixture *mix, const fab_tensors *more,
                          fab_posterior **out);
/* What the report says, as the metadata `merged` and `n`. */
fab_status fab_merge_describe(const fab_merging *m, fab_tensors *t);

#endif
