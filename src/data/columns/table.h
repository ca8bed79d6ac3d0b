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
    int64_t target, weight, offset, group; /* columns, or -1 */
    int log_offset;                        /* 1: the offset is the logarithm of its column */
    int64_t *feature;                      /* n columns; owned */
    int64_t n;
    char *coded; /* n: 1: numbers that are levels, C(x) of a formula; owned; NULL: none */
    char *named; /* n: 1: the call says its name; owned; NULL: none */
} fab_roles;

/* *formula (or NULL: there is none): its terms, of these columns.  Gives it. */
fab_status fab_roles_find(fab_roles *r, const fab_source *s, const fab_columns *c,
                          struct fab_formula **formula);
fab_status fab_roles_find_as(fab_roles *r, const fab_source *s, const fab_scaling *k,
                             fab_reading what);

/* keys.c: columns that name the rows, of the rows at hand.  key[c]: whether it is left out, and why; named[c] (or NULL: none
 * is): the call names it. */
enum {
    FAB_KEY_NONE = 0,
    FAB_KEY_WORDS,   /* a word for each row, nearly */
    FAB_KEY_NUMBERS, /* numbers the rows, and is named so */
    FAB_KEY_REMARK   /* looks like a number of the row, and stays */
};
fab_status fab_dataset_keys(const fab_dataset *t, const char *named, char *key);

/* Which columns the call names, in `only`, a formula or this list (NULL: none): a mark for each.  Gives *named: fab_release.
 */
fab_status fab_feed_named(const fab_feed *f, const char *list, char **named);
/* The number of feature column c in the source. */
int64_t fab_feed_column(const fab_feed *f, int64_t c);
/* Does it hold dates? */
int fab_feed_is_date(const fab_feed *f, int64_t c);
/* Rows that were read and are absent, for their weight is 0. */
int64_t fab_feed_weightless(const fab_feed *f);
/* Fails: t, all that f gave, has no rows, or one beside those that miss a value; why. */
fab_status fab_feed_no_rows(const fab_feed *f, const fab_dataset *t);
/* Leave out the columns with out[c] = 1, of the feed and of a table of its rows (NULL: none). */
fab_status fab_feed_leave_out(fab_feed *f, fab_dataset *t, const char *out);
/* The columns of a list mark[] them: mark has a place for each column of the source. */
enum {
    FAB_MARK_LISTED = 1, /* by a range or the beginning of its name */
    FAB_MARK_NAMED = 2,  /* by itself */
};
fab_status fab_columns_mark(const fab_source *s, const char *list, char *mark);

/* The columns of the feed are those of this formula, in its order.  On failure the feed is closed, and *f NULL. */
fab_status fab_feed_set_formula(fab_feed **f, const char *text);

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

/* Features of a column. */
static inline int64_t fab_column_features(const fab_column *c)
{
    return c->levels ? c->levels : 1 + c->steps;
}

/* The names of the features from the columns and their levels, and room for means and scales. */
fab_status fab_scaling_name(fab_scaling *k);
/* The terms of k->formula, and how many features they make of its columns. */
fab_status fab_scaling_terms(fab_scaling *k);
/* Where the words of each column of t stand among the levels of k, -1: none of them; NULL: a column of numbers.  Gives
 * *place, an array of arrays (fab_release). */
fab_status fab_scaling_places(const fab_scaling *k, const fab_dataset *t, int64_t ***place);
/* The level of column c in a row: its place, or -1 where it is not known and may be so. */
fab_status fab_scaling_level(const fab_scaling *k, fab_dataset *t, int64_t c, const int64_t *place,
                             int64_t row, double *level);

/* Deviations within this part of a column's size are rounding. */
#define FAB_NEAR_CONSTANT 1e-10
/* Smaller deviations count as none: the coefficient of such a column, in the user's units, need not be a number. */
#define FAB_LEAST_SPREAD 1e-302

/* The first word that is not a number, to be named where numbers are expected; the first where all are. */
const char *fab_words_odd(const fab_words *w);

#endif
