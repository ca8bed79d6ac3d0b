/* formula.h - a formula as R and patsy have it: terms, each a product of factors.
 *
 *     price ~ area + log(age) + district + area:rooms - 1
 *
 * A factor is a column, an arithmetic expression of columns of numbers, a polynomial of one, C(column), whose numbers are
 * levels, or C(month(date)) and the like.  It makes one feature, or one for each level or degree; a term makes the products.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_FORMULA_H
#define FAB_DATA_FORMULA_H

#include "fabayes/data.h"

enum {
    FAB_FORMULA_DEGREE = 8,    /* factors of a term */
    FAB_FORMULA_POLY = 20,     /* degree of a polynomial */
    FAB_FORMULA_STACK = 32,    /* numbers that an expression holds at a time */
    FAB_FORMULA_TERMS = 100000 /* and as many features of one term */
};

/* A step of an expression in postfix notation. */
typedef struct fab_step {
    enum {
        FAB_STEP_NUMBER,
        FAB_STEP_COLUMN,
        FAB_STEP_FUNCTION,
        FAB_STEP_MINUS,
        FAB_STEP_BINARY
    } kind;
    double number;
    int64_t at; /* the column; the function; the operator, as a character */
} fab_step;

typedef struct fab_factor {
    enum { FAB_FACTOR_COLUMN, FAB_FACTOR_EXPRESSION, FAB_FACTOR_POLY, FAB_FACTOR_PART } kind;
    char *text;     /* as it stands in the formula: `floor area` */
    int64_t column; /* of FAB_FACTOR_COLUMN */
    fab_step *step; /* steps; of the others */
    int64_t steps;
    int64_t degree; /* of a polynomial; of C(part of a date) its levels */
    int64_t part;   /* of FAB_FACTOR_PART: its number in fab_date_parts */
    double *alpha,
        *norm2; /* degree, degree + 1: its recurrence, from the rows; NULL: not known yet */
} fab_factor;

typedef struct fab_term {
    int64_t n;                          /* 0: the intercept */
    int64_t factor[FAB_FORMULA_DEGREE]; /* rising */
} fab_term;

typedef struct fab_formula_column {
    char *name; /* in the source */
    int coded;  /* 1: C(name): its numbers are levels */
    int named;  /* 1: the formula says its name, and not '.' alone */
} fab_formula_column;

typedef struct fab_formula {
    char *text;   /* the right side, every column by its name */
    char *target; /* a column, or NULL: the left side is empty */
    char *offset; /* a column, or "log:" and one; or NULL */
    int no_intercept;
    int64_t columns, factors, terms; /* terms: without the intercept */
    fab_formula_column *column;      /* in the order of first use */
    fab_factor *factor;
    fab_term *term;
    int64_t column_room, factor_room, term_room;
} fab_formula;

/* What a call says: "target ~ terms"; name: the n columns that there are, of which '.' are those with all[i] = 1; `target` is
 * never one of them.  FAB_BAD_ARGUMENT says the place and what was expected.  Gives *f. */
fab_status fab_formula_create(fab_formula **f, const char *text, const char *const *name,
                              const char *all, int64_t n);
/* The text of a formula that was made. */
fab_status fab_formula_read(fab_formula **f, const char *text);
void fab_formula_free(fab_formula *f); /* takes NULL */

/* The left side alone: the name of the target, or NULL.  Gives *target. */
fab_status fab_formula_target(const char *text, char **target);
/* Leave out the columns with out[c] = 1, and all terms that have them. */
fab_status fab_formula_without(fab_formula **f, const char *out);
/* The name of a column in a table: "C(cyl)" where it is coded.  Gives *name. */
fab_status fab_formula_column_name(const fab_formula *f, int64_t column, char **name);

/* ---- terms.c: values ------------------------------------------------------------------------------- */

/* Features of a term or of all, when column c has levels[c] of them (0: numbers); FAB_BAD_DATA where an expression has a column of
 * words, and where there are too many. */
fab_status fab_formula_features(const fab_formula *f, const int64_t *levels, int64_t *D);
/* The names of all features of a scaling into name[D], which is empty. */
fab_status fab_formula_name(const fab_scaling *k, char **name);
/* Find the polynomials from the rows of t. */
fab_status fab_formula_learn(fab_formula *f, const fab_dataset *t);
/* The features of the rows of t, in the user's units, by the levels and the polynomials of k: x is n x k->D.  NaN: missing. */
fab_status fab_formula_values(const fab_scaling *k, fab_dataset *t, double *x);
/* What a level of `column` does in feature d of a scaling, with a formula or without. */
typedef struct fab_level_place {
    int64_t level;  /* of the column in this feature; -1: it has none */
    int64_t stride; /* features from one level to the next */
    int64_t base;   /* the feature without it: k->D: the intercept; -1: there is no such feature */
} fab_level_place;
fab_level_place fab_scaling_level_place(const fab_scaling *k, int64_t d, int64_t column);
/* ---- dates.c --------------------------------------------------------------------------------------------- */

/* A part of a date: a function of days since 1970-01-01, whose values are first, first + 1, .. where they come round. */
typedef struct fab_date_part {
    const char *name;
    double (*of)(double days);
    int64_t first, levels;   /* levels 0: it goes on and on */
    const char *const *word; /* levels; NULL: their numbers */
} fab_date_part;
extern const fab_date_part fab_date_parts[]; /* the last one has no name */
const fab_date_part *fab_date_part_find(const char *name);
/* The formula that has the parts of the dates among the columns feature[n] instead of their days.  Gives *text; NULL: no dates. */
fab_status fab_formula_of_dates(const fab_source *s, const int64_t *feature, int64_t n,
                                char **text);

/* One function of a number, by its number in the list; its name, NULL: there are no more. */
double fab_formula_function(int64_t which, double x);

#endif
