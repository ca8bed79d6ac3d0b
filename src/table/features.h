/* features.h - features of a kernel in front of a linear model: `--model nystrom:rbf:500`.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_FEATURES_H
#define FAB_TABLE_FEATURES_H

#include "fabayes/kernel.h"
#include "fabayes/table.h"

typedef enum fab_map_kind { FAB_MAP_NONE = 0, FAB_MAP_RFF, FAB_MAP_NYSTROM } fab_map_kind;

/* What a model text asks for: rff:KERNEL:M[:orthogonal][:seed=N] or nystrom:KERNEL:M. */
typedef struct fab_map_plan {
    fab_map_kind kind;
    char *kernel; /* owned */
    int64_t m, orthogonal, seed;
} fab_map_plan;

/* Zeros where `model` (or NULL) asks for none.  FAB_BAD_ARGUMENT says what was expected. */
fab_status fab_map_read(fab_map_plan *p, const char *model);
void fab_map_close(fab_map_plan *p); /* takes zeros */

/* Rows that the map comes from, where `rows` are what units come from: at least twice as many as features. */
int64_t fab_map_rows(const fab_map_plan *p, int64_t rows);

/* Put the map behind the units k, which were made of t, in the user's units.  Its kernel is where the evidence of a Gaussian
 * process of at most `rows` rows is largest, of a target that is no number by one step of Newton's method from a constant;
 * landmarks are of fab_map_rows rows: the first ones, or with `whole` evenly spread over t.  *report (zeros where all was given):
 * what the search found.  *most: more than that does not count of what landmarks leave of a row (fab_fitting.left); 0: all does. */
fab_status fab_map_build(const fab_map_plan *p, fab_scaling *k, const fab_dataset *t,
                         fab_likelihood likelihood, int64_t rows, int whole, fab_map_report *report,
                         double *most, const fab_exec *x);

/* Is the map of a file the one that is asked for?  `file` begins the sentence. */
fab_status fab_map_check(const fab_map_plan *p, const char *file, const fab_scaling *k);

#endif
