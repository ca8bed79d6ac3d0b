/* table.h - a table in memory for regression: features, target, and the units they are fitted in.
 *
 *     fab_dataset *t;
 *     fab_scaling *k;
 *     fab_dataset_read(&t, source, &(fab_columns){.target = "price"});
 *     fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1);
 *     fab_scaling_apply(k, t);                  // t->x and t->y are now in fitting units
 *     ... fab_scaling_json(k, &text) ...        // and stands beside the posterior
 *     fab_dataset_free(t);
 *     fab_scaling_free(k);
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_TABLE_H
#define FABAYES_TABLE_H

#include "fabayes/source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_dataset {
    int64_t n, D;
    double *x;                                     /* n x D */
    double *y;                                     /* n, or NULL: no target */
    double *weight;                                /* n, or NULL */
    double *offset;                                /* n, or NULL */
    char **name;                                   /* D: of the features */
    char *target_name, *weight_name, *offset_name; /* NULL: there is none */
    int64_t sparse; /* 1: from a libsvm file, whose zeros shall stay zeros */
} fab_dataset;

/* Which column is what: a name, a 0-based number or "last"; NULL: there is none (the target of a libsvm
 * file is then its label).  All others are features. */
typedef struct fab_columns {
    const char *target, *weight, *offset;
} fab_columns;

/* Read all rows that are left.  FAB_BAD_ARGUMENT names the nearest column when there is none of a name.
 * Gives *t. */
FAB_API fab_status fab_dataset_read(fab_dataset **t, fab_source *s, const fab_columns *c);
FAB_API void fab_dataset_free(fab_dataset *t); /* takes NULL */

/* What the target is, for its units. */
typedef enum fab_target {
    FAB_TARGET_REAL = 0, /* a number with a unit: centred and scaled as the features are */
    FAB_TARGET_CLASSES,  /* levels, in rising order: 0, 1, .. */
    FAB_TARGET_COUNTS    /* as it stands */
} fab_target;

/* Fitting units: (x - mean) / scale, (y - target_mean) / target_scale, offset / target_scale. */
typedef struct fab_scaling {
    int64_t D;
    char **name;                    /* D */
    double *mean, *scale;           /* D */
    char *target, *weight, *offset; /* names of columns, or NULL */
    double target_mean, target_scale;
    int64_t levels;
    double *level; /* of a target of classes, rising; otherwise levels = 0 */
    int64_t sparse;
} fab_scaling;

/* Weighted means and standard deviations of the table.  standardise = 0: means 0, scales 1.  centre = 0
 * (a model without intercept): means 0; the features of a libsvm file are never centred.  A column whose
 * deviations are within 1e-10 of its size has scale 1.  A constant target, and one class only, are
 * refused.  Gives *k. */
FAB_API fab_status fab_scaling_create(fab_scaling **k, const fab_dataset *t, fab_target target,
                                      int standardise, int centre);
FAB_API void fab_scaling_free(fab_scaling *k); /* takes NULL */

/* Is feature d a column that hardly varies?  Its coefficient is then left to the prior. */
FAB_API int fab_dataset_is_constant(const fab_dataset *t, int64_t d);
/* Levels of the target: how many different values, counted up to `most`. */
FAB_API int64_t fab_dataset_levels(const fab_dataset *t, int64_t most);

/* Bring a table to fitting units, in place.  A value that is none of the levels is refused by row. */
FAB_API fab_status fab_scaling_apply(const fab_scaling *k, fab_dataset *t);

/* Read the columns a fitted model needs, by name; a file without names of its own and with just D columns
 * by place.  with_target = 0: the target need not be there, and is not read.  Gives *t. */
FAB_API fab_status fab_dataset_read_as(fab_dataset **t, fab_source *s, const fab_scaling *k,
                                       int with_target);

/* {"features", "means", "scales", "target", "target_mean", "target_scale", ..}.  Gives a string:
 * fab_text_free (settings.h).  Reading trusts nothing; gives *k. */
FAB_API fab_status fab_scaling_json(const fab_scaling *k, char **text);
FAB_API fab_status fab_scaling_from_json(fab_scaling **k, const char *json);

#ifdef __cplusplus
}
#endif
#endif
