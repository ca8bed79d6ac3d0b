/* table.h - what tables, feeds and scalings share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_TABLE_H
#define FAB_DATA_TABLE_H

#include "base/hooks.h"
#include "data/source/source.h"
#include "fabayes/data.h"

/* D empty names, and their end. */
fab_status fab_names_create(char ***names, int64_t D);
void fab_names_free(char **names, int64_t D); /* takes NULL */

/* Which column of a source is what. */
typedef struct fab_roles {
    int64_t target, weight, offset; /* columns, or -1 */
    int64_t *feature;               /* n columns; owned */
    int64_t n;
} fab_roles;

fab_status fab_roles_find(fab_roles *r, const fab_source *s, const fab_columns *c);
fab_status fab_roles_find_as(fab_roles *r, const fab_source *s, const fab_scaling *k,
                             fab_reading what);

/* The feed closes these from now on; NULL: nothing more. */
void fab_feed_own(fab_feed *f, fab_source *s, fab_source *labels);

/* Values of a target that are still classes. */
enum { FAB_MOST_LEVELS = 1000 };
/* Put the different values of y into level, rising, *found of them and at most FAB_MOST_LEVELS + 1. */
void fab_levels_add(const double *y, int64_t n, double *level, int64_t *found);

/* A column of numbers: its weighted mean and standard deviation. */
typedef struct fab_moment {
    double mean, sd;
    int constant; /* nothing but rounding */
} fab_moment;

/* Of a table whose features are packed: moments of all columns (gives an array), those that hardly vary, and
 * the features in x after all. */
fab_status fab_packed_moments(const fab_dataset *t, fab_moment **m);
fab_status fab_packed_constants(const fab_dataset *t, char *constant);
fab_status fab_packed_open(fab_dataset *t);

/* The names of the features from the columns and their levels, and room for means and scales. */
fab_status fab_scaling_name(fab_scaling *k);

/* Deviations within this part of a column's size are rounding. */
#define FAB_NEAR_CONSTANT 1e-10

/* The first word that is not a number, to be named where numbers are expected; the first where all are. */
const char *fab_words_odd(const fab_words *w);

#endif
