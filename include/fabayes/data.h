/* data.h - where rows come from: files and arrays, read from top to bottom in bounded memory.
 *
 *     fab_data houses = {.file = "houses.csv", .columns = {.target = "price"}};
 *     fab_dataset *t;
 *     fab_scaling *k;
 *
 *     fab_dataset_create(&t, &houses);                   // all rows, in the units of the file
 *     fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1);  // means and scales of its columns
 *     fab_scaling_apply(k, t);                           // t->x and t->y are now in fitting units
 *     fab_dataset_free(t);
 *     fab_scaling_free(k);
 *
 * In four steps: a source gives rows of numbers, from a file or from memory; a feed knows which column is the
 * target, a weight, an offset or a feature; a scaling knows the units they are fitted in; a split says which rows
 * go where.  table.h takes these steps for a whole regression.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_DATA_H
#define FABAYES_DATA_H

#include "fabayes/exec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- source: rows of a file --------------------------------------------------------------------- */

/* Rows of numbers, read once.
 *
 *     fab_source *s;
 *     int64_t got;
 *     fab_source_open(&s, "rows.csv", NULL);
 *     double *buf = malloc(1000 * (size_t)fab_source_columns(s) * sizeof *buf);
 *     while (fab_source_next(s, 1000, buf, &got) == FAB_OK && got > 0) use(buf, got);
 *     fab_source_close(s);
 *
 * Formats: csv and tsv (header detected), blank-separated text, npy, libsvm, idx; gzip, xz, bzip2 or zstd of any of them;
 * "-" is standard input.  The format is sniffed from the content unless it is given.  NaN, Inf, missing values and ragged rows are
 * refused with file, line and column; options take missing values as NaN and columns of words as codes.  Infinity is
 * never taken.  docs/data.md has the rules. */

typedef enum fab_format {
    FAB_FORMAT_AUTO = 0,
    FAB_FORMAT_CSV,
    FAB_FORMAT_TSV,
    FAB_FORMAT_TEXT,
    FAB_FORMAT_NPY,
    FAB_FORMAT_LIBSVM,
    FAB_FORMAT_IDX,
    FAB_FORMAT_ARRAYS /* rows in memory, not a file: fab_source_open_arrays */
} fab_format;

/* "auto", "csv", "tsv", "text", "npy", "libsvm", "idx"; NULL when there is no such format. */
FAB_API const char *fab_format_name(fab_format f);
/* The format of that name. */
FAB_API fab_status fab_format_find(fab_format *f, const char *name);

/* What becomes of dates. */
typedef enum fab_dates {
    FAB_DATES_WORDS = 0, /* a column of them is one of words */
    FAB_DATES_NUMBERS, /* days since 1970-01-01; 03/01/2024 only where a value tells day from month */
    FAB_DATES_DAY_FIRST,   /* the same, 03/01/2024 is in January */
    FAB_DATES_MONTH_FIRST, /* the same, in March */
    FAB_DATES_PARTS /* year, month and weekday (and hour, where there is a time) of each date, by a formula that the table gets */
} fab_dates;

enum { FAB_NA_ROOM = 256 };
#define FAB_NO_COMMENT '\n'

/* How a table of text is written; all zeros: found from its first lines. */
typedef struct fab_dialect {
    char separator; /* between fields; ' ': any number of blanks and tabs */
    char decimal;   /* mark: '.' or ',' */
    char comment;   /* lines that begin with it are passed over; FAB_NO_COMMENT: none are */
    fab_dates dates;
    char na
        [FAB_NA_ROOM]; /* words for a missing value, separated by commas, instead of the usual ones; "": those */
} fab_dialect;

/* Set a part by name: "separator" (a character, or comma, semicolon, tab, blank, pipe), "decimal" (point, comma),
 * "comment" (a character, or none), "dates" (words, numbers, parts, day-first, month-first), "na" (words).  FAB_BAD_ARGUMENT
 * says what is wrong. */
FAB_API fab_status fab_dialect_set(fab_dialect *d, const char *name, const char *text);
/* Does a formula take parts of dates, year(x), month(x), ..?  They must be read as numbers then. */
FAB_API int fab_formula_dates(const char *formula);

typedef struct fab_source_options {
    fab_format format;
    int64_t features; /* libsvm: number of features; 0: found by a first pass (not for a pipe) */
    const char *rows; /* a file of 0-based row numbers to keep, or NULL for all */
    int64_t missing;  /* 1: a missing value (empty, NA, nan, ?, ..) is NaN in the row; 0: refused */
    int64_t words;    /* 1: a column of words is read as codes; 0: a word is refused */
    /* Comma-separated names or 0-based numbers of columns to read as words even where they look like
     * numbers, or NULL; needs words = 1. */
    const char *categorical;
    /* The most columns that a file of text, npy or idx may have; 0: FAB_COLUMNS_MAX.  What a line of text, its words and
     * its header may take grows with it: see below. */
    int64_t columns_max;
    fab_dialect dialect;      /* of csv, tsv and text */
    const fab_dialect *usual; /* what holds where neither the options nor the file say; or NULL */
    int64_t leave_index; /* 1: a first column of row numbers or names is left out, with a note */
    /* Comma-separated columns in which "none" is a word, instead of those where it is frequent; NULL: those. */
    const char *none;
    /* The `concerns` columns that matter: what is noted of others is not said, nor that an index is left out.  NULL: all do. */
    const char *const *concern;
    int64_t concerns;
    /* Threads that read csv, tsv and text; 0: all cores.  The rows are the same for any number of them. */
    int64_t threads;
} fab_source_options;

/* What is believed of a file before memory is taken for it: a few kilobytes of gzip can stand for gigabytes. */
enum {
    FAB_COLUMNS_MAX = 1 << 20,  /* columns; fab_source_options has its own */
    FAB_COLUMN_BYTES = 64,      /* of a line of text for each column that may be: lines of 64 MB */
    FAB_COLUMNS_PER_WORDS = 64, /* one column in so many may have words: 16,384 of them */
    FAB_WORDS_BYTES_MAX = 1 << 26 /* of the different words of one column together */
};

typedef struct fab_source fab_source;

/* Open and read the head of the file: columns, names, format.  NULL options: the defaults.  Copies path
 * and options.  On failure *s is NULL. */
FAB_API fab_status fab_source_open(fab_source **s, const char *path, const fab_source_options *o);
FAB_API void fab_source_close(fab_source *s); /* takes NULL */

/* ---- source: rows in memory --------------------------------------------------------------------- */

/* One column in the caller's memory.  One of p, code and text is given. */
typedef struct fab_array {
    const char *name;
    const void *p;           /* numbers; with `word`: codes.  NaN: missing */
    fab_dtype type;          /* of p: FAB_F64 or FAB_F32 */
    const int32_t *code;     /* codes of words; -1: missing */
    const char *const *text; /* words themselves; NULL or "": missing */
    int64_t stride;          /* elements from row to row; 0: 1 */
    const char *const *word; /* the word of each code, all different, `words` of them */
    int64_t words;
} fab_array;

/* n rows in the caller's memory: features, and what goes with them.
 *
 *     double x[] = {...};                                             // n x 8, row after row
 *     const char *const street[] = {"oak", "elm", ...};               // n words
 *     fab_array more[] = {{.name = "street", .text = street}};
 *     fab_arrays a = {.n = n, .x = x, .D = 8, .column = more, .columns = 1, .y = {.name = "price", .p = y}};
 *
 * Features are those of the matrix, then the columns that stand by themselves; either may be absent.  A column
 * of words has a feature for each of its words, as in a file. */
typedef struct fab_arrays {
    int64_t n;
    const void *x;  /* n x D: element (i, d) at i * row_stride + d * column_stride */
    fab_dtype type; /* of x: FAB_F64 or FAB_F32 */
    int64_t D;
    int64_t row_stride, column_stride; /* both 0: D and 1, row after row */
    const char *const *name;           /* D; NULL: x0, x1, .. (sparse: x1, x2, ..) */

    /* Sparse, when `start` is given: row i has the values x[start[i]] .. x[start[i + 1] - 1] at the features
     * index[start[i]] .. , from 0, rising.  There are then no other columns and names. */
    const int64_t *start; /* n + 1 */
    const int32_t *index;

    const fab_array *column; /* columns */
    int64_t columns;
    /* Where they are there; without a name they are "y" (sparse: always "label"), "weight" and "offset". */
    fab_array y, weight, offset;
} fab_arrays;

/* Rows in memory as a source; of the options only `missing` and, for sparse rows, `features` are used.  Borrows *a
 * and what it points to until close.  On failure *s is NULL. */
FAB_API fab_status fab_source_open_arrays(fab_source **s, const fab_arrays *a,
                                          const fab_source_options *o);

/* Some columns of a source of numbers: those that `only` lists (NULL: all), without those that `exclude` lists (NULL: none), in
 * the words of fab_columns.  Whatever stands in the others is not looked at.  Of a file of text opened with leave_index and
 * without words, columns whose first rows have a word of their own each, or whole numbers under a name like "id", are left out too,
 * with a note, unless `only` names them.  *s becomes a source of these, which closes the
 * old one with itself; on failure *s stays as it is. */
FAB_API fab_status fab_source_choose(fab_source **s, const char *only, const char *exclude);

/* ---- source: what it has, and its next rows ----------------------------------------------------- */

FAB_API int64_t fab_source_columns(const fab_source *s);
/* The name in the header; "x3" for column 3 without one (libsvm: "label", "x1", "x2", ...).  Lends until
 * close.  NULL when there is no such column, or no memory to make the names. */
FAB_API const char *fab_source_name(const fab_source *s, int64_t column);
/* A column of words?  Its values are the codes 0, 1, .. of the words in the order in which they were met. */
FAB_API int fab_source_is_words(const fab_source *s, int64_t column);
/* How many different words have been met so far; 0 for a column of numbers. */
FAB_API int64_t fab_source_words(const fab_source *s, int64_t column);
/* The word of a code.  Lends until close.  NULL when there is no such code. */
FAB_API const char *fab_source_word(const fab_source *s, int64_t column, int64_t code);
/* A column of dates?  Its values are those of a column of words, or days where `dates` says so. */
FAB_API int fab_source_is_date(const fab_source *s, int64_t column);
/* A column of row numbers or row names, as R and pandas write them in front?  Row names are read as numbers of rows. */
FAB_API int fab_source_is_index(const fab_source *s, int64_t column);
FAB_API fab_format fab_source_format(const fab_source *s);
/* How its text is written, as far as it was given or is other than usual.  Lends until close. */
FAB_API const fab_dialect *fab_source_dialect(const fab_source *s);
/* What there is to say about how it is read, in sentences: so many, and one of them (NULL: there is none; lends until
 * close).  The log hears each once. */
FAB_API int64_t fab_source_notes(const fab_source *s);
FAB_API const char *fab_source_note(const fab_source *s, int64_t i);
/* Rows in the whole file where the format knows (npy, idx), else -1. */
FAB_API int64_t fab_source_rows(const fab_source *s);
/* Before the first row: from here on rows have `n` of their columns alone, from column `first` (features of a libsvm file, which
 * keeps its label in front): those of one process of several.  npy and idx files are read there alone.  Columns are then
 * counted as rows have them, and named as the file has them. */
FAB_API fab_status fab_source_share(fab_source *s, int64_t first, int64_t n);
/* Bytes of the file used so far and in all (0 when unknown), for a progress bar; compressed bytes of a
 * compressed file. */
FAB_API void fab_source_position(const fab_source *s, int64_t *done, int64_t *total);

/* The next rows, at most `max`, as max x columns doubles; *got = 0 at the end.  After a failure the
 * rows before the bad one are in *got, the sentence names the place, and the next call goes on behind the
 * bad row; a file that cannot be read on fails again. */
FAB_API fab_status fab_source_next(fab_source *s, int64_t max, double *out, int64_t *got);

/* Rows of a libsvm file as they stand, one behind the other; start with zeros. */
typedef struct fab_sparse {
    int64_t n, values; /* rows; values of all of them */
    double *label;     /* n */
    int64_t *start;    /* n + 1: row j has the values start[j] .. start[j + 1] - 1 */
    int32_t *index;    /* values: features, from 0, rising within a row */
    double *value;     /* values */
    int64_t row_room, value_room;
} fab_sparse;
FAB_API void fab_sparse_free(fab_sparse *r); /* what it holds */

/* As fab_source_next for a libsvm file: adds at most `max` rows to *r, which grows. */
FAB_API fab_status fab_source_next_sparse(fab_source *s, int64_t max, fab_sparse *r, int64_t *got);
/* Pass over `n` rows without looking at their values; fails when there are fewer. */
FAB_API fab_status fab_source_skip(fab_source *s, int64_t n);

/* ---- feed: columns with a role ------------------------------------------------------------------ */

/* Rows with features and a target, some at a time or all of them.
 *
 *     fab_feed *f;
 *     fab_dataset *t;
 *     fab_feed_open(&f, source, &(fab_columns){.target = "price"});
 *     fab_feed_table(f, &t);
 *     fab_feed_read(f, 1000, t);                // the next rows; INT64_MAX: all that are left
 *     fab_dataset_free(t);
 *     fab_feed_close(f);
 *
 * A column of words has a feature for each of its levels, 1 where the row has that level and else 0. */

/* The words of a column, in the order in which they were met; n = 0: a column of numbers. */
typedef struct fab_words {
    int64_t n;
    char **word;
} fab_words;

typedef struct fab_dataset {
    int64_t n;        /* rows */
    int64_t D;        /* numbers of a row: columns, or features once fab_scaling_apply was there */
    int64_t columns;  /* columns of DATA that make features */
    double *x;        /* n x D; NaN: missing; a column of words holds the numbers of its words */
    double *y;        /* n, or NULL: no target */
    double *weight;   /* n, or NULL */
    double *offset;   /* n, or NULL */
    char **name;      /* columns */
    fab_words *words; /* columns */
    fab_words target_words;                        /* the target's */
    char *target_name, *weight_name, *offset_name; /* NULL: there is none */
    int64_t sparse;  /* 1: from a libsvm file, whose zeros shall stay zeros */
    int64_t fills;   /* 1: a missing feature takes the mean of its column */
    int64_t dropped; /* rows left out, for a value that was missing */
    int64_t room;    /* rows there is memory for */
    int64_t levels;  /* values of the target that a survey met besides those of the rows */
    double *level;   /* levels, rising */
    int64_t packed;  /* 1: the features are in `cells`, as a libsvm file has them, and not in x */
    fab_sparse cells;
    fab_dialect dialect; /* of the file */
    /* what fab_scaling makes of the columns, which are those it names; NULL: each makes its own
     * features */
    char *formula;
    int64_t no_intercept; /* 1: the formula says so */
    int64_t before;       /* rows that fab_dataset_clear has forgotten: sentences count them */
    /* 1: fab_scaling_apply takes a word that is none of its column's levels: all of them are 0.  And how often it did. */
    int64_t takes_unseen, unseen;
    double *group;    /* n, equal numbers are one group; or NULL.  See fab_columns */
    char *group_name; /* NULL: there is none */
    int64_t ordered;  /* 1: the rows stand in the order of time */
    /* n: what a map (fab_scaling_map) leaves of the variance of the predictor, in fitting units; NULL: nothing, or not applied */
    double *residual;
} fab_dataset;

/* The features, sparse when they are packed.  Lends until the table changes. */
FAB_API fab_rows fab_dataset_rows(const fab_dataset *t);

/* What becomes of a row with a missing value. */
typedef enum fab_missing {
    FAB_MISSING_REFUSE = 0, /* the source refuses it, with its place */
    FAB_MISSING_DROP,       /* left out and counted */
    FAB_MISSING_MEAN        /* features take the mean of their column; without a target: left out */
} fab_missing;
/* "refuse", "drop", "mean", numbered from 0; the one of a name, or FAB_BAD_ARGUMENT. */
FAB_API int64_t fab_missing_count(void);
FAB_API const char *fab_missing_name(fab_missing m);
FAB_API fab_status fab_missing_find(const char *name, fab_missing *m);

/* Which column is what: a name, a 0-based number or "last"; NULL: there is none (the target of a libsvm
 * file is then its label).  "log:NAME" for the offset is the logarithm of that column, an exposure.  All others are
 * features, unless `only`, `exclude` or a formula says which.
 *
 * `only` and `exclude` are lists, separated by commas, of names, numbers, ranges of either (area:age, 3:7, both ends are in)
 * and beginnings of names (dist*).
 *
 * A formula is what R and patsy write: "price ~ area + log(age) + district + area:rooms - 1".  Operators: + - : * / ^ and
 * parentheses; . is all other columns, -1 and +0 mean no intercept.  Factors: a column (of words: one feature for each
 * level), C(x) (numbers that are levels), log, log1p, log2, log10, exp, sqrt and abs of an expression, I(..) with
 * + - * / ^ of columns and numbers, poly(x, k) (orthogonal over the rows of the fit, as R's); offset(x) and offset(log(x))
 * are `offset`.  `floor area` or "floor area" is a name that is no word.  The left side may be empty where `target` is
 * given.  Features are named log(age), area:rooms, district=hill:area, poly(age, 3)1; levels are as symmetric as without a
 * formula: none is left out.  FAB_BAD_ARGUMENT says the place in the formula and what was expected there; a value that is
 * not finite (log(0)) is refused by row. */
typedef struct fab_columns {
    const char *target, *weight, *offset;
    fab_missing missing; /* other than refuse: the source was opened with `missing` */
    const char *only;    /* columns for features; NULL: all */
    const char *exclude; /* columns that are none; NULL: no column */
    const char *formula; /* or NULL */
    /* Folds and rows left out, where rows choose something: rows with one value (a number or a word) of this column, which is
     * no feature, stay together; or, with `ordered`, rows are predicted by those before them.  One of both. */
    const char *group; /* or NULL */
    int64_t ordered;   /* 1: the rows stand in the order of time */
} fab_columns;

/* What of a row is read for a fitted model. */
typedef enum fab_reading {
    /* and the offset, NaN where they are missing: no row is left out, and the target need not be
     * there */
    FAB_READ_FEATURES = 0,
    FAB_READ_TARGET, /* and the target, to score: rows with a missing value that is not filled are left out, and counted */
    FAB_READ_WEIGHT  /* and the weight, to learn: a missing value that is not filled is refused */
} fab_reading;

/* Rows of a source, some at a time. */
typedef struct fab_feed fab_feed;
typedef struct fab_scaling fab_scaling;

/* Find the columns.  FAB_BAD_ARGUMENT names the nearest column when there is none of a name.  Borrows s
 * until close. */
FAB_API fab_status fab_feed_open(fab_feed **f, fab_source *s, const fab_columns *c);
FAB_API void fab_feed_close(fab_feed *f); /* takes NULL */
/* The target stands in a source of its own, one column, row by row (the labels of idx files).  For a feed without
 * target that has read nothing yet.  Borrows labels until close. */
FAB_API fab_status fab_feed_set_labels(fab_feed *f, fab_source *labels);
/* An empty table for its rows.  Gives *t. */
FAB_API fab_status fab_feed_table(const fab_feed *f, fab_dataset **t);
/* Add the next rows to t, `most` of the file at most; at the end t->n stays as it was and
 * fab_feed_at_end answers 1. */
FAB_API fab_status fab_feed_read(fab_feed *f, int64_t most, fab_dataset *t);
/* Who watches the reading and on how many threads it runs, as *x says; NULL: the global hook and all cores, the default. */
FAB_API void fab_feed_watch(fab_feed *f, const fab_exec *x);
FAB_API int fab_feed_at_end(const fab_feed *f);
/* Columns that make features; rows of the file read or skipped so far. */
FAB_API int64_t fab_feed_columns(const fab_feed *f);
FAB_API int64_t fab_feed_rows(const fab_feed *f);
FAB_API fab_status fab_feed_skip(fab_feed *f, int64_t rows);
/* Look through all rows of f, which was opened as the feed that t belongs to, for the words of its
 * columns and the levels of its target: a stream can then be scaled by its first rows. */
FAB_API fab_status fab_feed_survey(fab_feed *f, fab_dataset *t);

/* Where rows come from: a file, arrays or a table in memory.  It can be opened any number of times, but for
 * standard input, which is read once.
 *
 *     fab_feed_open_data(&f, &(fab_data){.file = "houses.csv", .columns = {.target = "price"}});
 *     fab_feed_open_data(&f, &(fab_data){.arrays = &a});
 */
typedef struct fab_data {
    const char *file;         /* or "-" */
    const fab_arrays *arrays; /* or these: target, weight and offset are theirs */
    const fab_dataset *table; /* or this one, in the user's units; the same holds */
    fab_source *source;       /* the file or arrays, open already, to be read first; or NULL */
    fab_columns columns;      /* which column of a file is what; `missing` for all */
    /* Of a file: */
    fab_format format;
    int64_t features;        /* libsvm; 0: from a first pass */
    const char *rows;        /* a file of the row numbers to keep */
    const char *categorical; /* columns of numbers to read as words, separated by commas */
    const char *labels;      /* a file of the target alone */
    int64_t columns_max;     /* the most columns of a file; 0: FAB_COLUMNS_MAX */
    fab_dialect dialect;     /* how its text is written */
    int64_t threads;         /* that read it; 0: all cores, or those of the fab_exec given */
} fab_data;

/* What it is called in sentences: its file, "arrays" or "table". */
FAB_API const char *fab_data_name(const fab_data *d);
/* Can it be opened a second time? */
FAB_API int fab_data_again(const fab_data *d);
/* Open it with all of its columns, words read as words; or, as fab_feed_open_as, for a fitted model.  Borrows what
 * *d points to until close, which closes all that was opened here. */
FAB_API fab_status fab_feed_open_data(fab_feed **f, const fab_data *d);
FAB_API fab_status fab_feed_open_data_as(fab_feed **f, const fab_data *d, const fab_scaling *k,
                                         fab_reading what);
/* All of its rows.  Gives *t, which borrows nothing. */
FAB_API fab_status fab_dataset_create(fab_dataset **t, const fab_data *d);

FAB_API void fab_dataset_free(fab_dataset *t);  /* takes NULL */
FAB_API void fab_dataset_clear(fab_dataset *t); /* no rows; columns, words and memory stay */

/* Rows `index`[0 .. n-1] of t, in the user's units.  Gives *out. */
FAB_API fab_status fab_dataset_take(fab_dataset **out, const fab_dataset *t, const int64_t *index,
                                    int64_t n);

/* All rows of a source. */
FAB_API fab_status fab_dataset_read(fab_dataset **t, fab_source *s, const fab_columns *c);

/* ---- scaling: the units of a fit ----------------------------------------------------------------- */

/* What the target is, for its units. */
typedef enum fab_target {
    FAB_TARGET_REAL = 0, /* a number with a unit: centred and scaled as the features are */
    FAB_TARGET_CLASSES,  /* levels, in rising order: 0, 1, .. */
    FAB_TARGET_COUNTS    /* as it stands */
} fab_target;

/* A column of DATA and the features it makes. */
typedef struct fab_column {
    char *name;
    int64_t first;  /* its first feature */
    int64_t levels; /* features, one for each level; 0: one number */
    char **level;   /* sorted by their bytes */
    int64_t steps;  /* of a column of numbers: features behind the number itself, ... */
    double *step;   /* ... 1 where it has this value, and 0 elsewhere; rising */
} fab_column;

/* Fitting units: (x - mean) / scale, (y - target_mean) / target_scale, offset / target_scale. */
struct fab_scaling {
    int64_t columns;
    fab_column *column;             /* columns */
    int64_t D;                      /* features */
    char **name;                    /* D: the column's, or column=level, column=step */
    double *mean, *scale;           /* D */
    double *fill;                   /* D: for a missing value; NULL: none may be missing */
    char *target, *weight, *offset; /* names of columns, or NULL */
    double target_mean, target_scale;
    int64_t levels;    /* of a target of classes; otherwise 0 */
    double *level;     /* rising; NULL: words */
    char **level_name; /* sorted by their bytes; NULL: numbers */
    int64_t sparse;
    /* of the file: other rows are read so where they do not say otherwise themselves */
    fab_dialect dialect;
    /* The terms that make the features, as text, and its meaning; NULL: columns make their own features.  `first` of a column
     * is then -1. */
    char *formula;
    struct fab_formula *terms;
    /* A map behind the units (fab_scaling_map): D, name, mean 0 and scale 1 are of its features, `inputs` has those of what it
     * takes.  NULL: there is none. */
    struct fab_features *features;
    struct fab_scaling *inputs;
};

/* Weighted means and standard deviations of the table, which is in the user's units.  standardise = 0:
 * means 0, scales 1.  centre = 0 (a model without intercept): means 0; the features of a libsvm file are
 * never centred.  A column whose deviations are within 1e-10 of its size has scale 1.  A constant target,
 * one class only, and words for a number are refused.  Gives *k. */
FAB_API fab_status fab_scaling_create(fab_scaling **k, const fab_dataset *t, fab_target target,
                                      int standardise, int centre);
/* The same with steps: a column of numbers whose values come again (3 of them or more; at least half of the rows have a value
 * that 5 or more rows have) gets a feature for each of those, as a column of words has.  FAB_MOST_STEPS in all; a column
 * with more than are left gets none. */
enum { FAB_MOST_STEPS = 300 };
FAB_API fab_status fab_scaling_create_steps(fab_scaling **k, const fab_dataset *t,
                                            fab_target target, int standardise, int centre);
FAB_API void fab_scaling_free(fab_scaling *k); /* takes NULL */

/* Which columns hardly vary?  constant[c] = 1 or 0; their coefficients are left to the prior. */
FAB_API fab_status fab_dataset_constants(const fab_dataset *t, char *constant);
/* Features that it makes: one for each column of numbers and for each word of the others, or those of its formula. */
FAB_API int64_t fab_dataset_features(const fab_dataset *t);
/* Levels of the target: how many different values, counted up to `most`. */
FAB_API int64_t fab_dataset_levels(const fab_dataset *t, int64_t most);

/* Bring a table to fitting units: t->D becomes k->D.  A target that is none of the levels, and a word
 * that is none of its column's, are refused by row; the table is then of no more use. */
FAB_API fab_status fab_scaling_apply(const fab_scaling *k, fab_dataset *t);
/* Put a map of kernel.h behind the units: rows become its features.  `features` takes as many columns as k had.  Takes it over
 * where it succeeds. */
FAB_API fab_status fab_scaling_map(fab_scaling *k, struct fab_features *features);
/* What columns of numbers and levels become, names for `col` of a kernel: the column of each feature, k->D of them (before a map;
 * with a formula the features themselves).  Gives *names, whose texts are lent: fab_bytes_free (files.h). */
FAB_API fab_status fab_scaling_columns(const fab_scaling *k, const char ***names);
/* fab_scaling_apply where *x says (NULL: all cores). */
FAB_API fab_status fab_scaling_apply_on(const fab_scaling *k, fab_dataset *t, const fab_exec *x);
/* The columns with levels, separated by commas, for fab_source_options; NULL: there are none.  Gives:
 * fab_text_free. */
FAB_API fab_status fab_scaling_categorical(const fab_scaling *k, char **names);
/* The columns, and the target, that have "none" among their levels; "": there are none.  Gives: fab_text_free. */
FAB_API fab_status fab_scaling_none(const fab_scaling *k, char **names);
/* The name of class c: a word, or its number.  Writes into buf where it must. */
FAB_API const char *fab_scaling_class(const fab_scaling *k, int64_t c, char buf[32]);

/* The columns a fitted model needs, by name; features of a file without names of its own and with just
 * as many columns by place.  As fab_feed_open. */
FAB_API fab_status fab_feed_open_as(fab_feed **f, fab_source *s, const fab_scaling *k,
                                    fab_reading what);

/* {"columns", "means", "scales", "target", "target_mean", "target_scale", ..}.  Gives a string:
 * fab_text_free (settings.h).  Reading trusts nothing; gives *k. */
FAB_API fab_status fab_scaling_json(const fab_scaling *k, char **text);
FAB_API fab_status fab_scaling_from_json(fab_scaling **k, const char *json);

/* ---- split: which rows go where ----------------------------------------------------------------- */

/* Which rows go where: training and test rows, folds, mini-batches.
 *
 *     fab_split *s;
 *     fab_split_folds(&s, n, 10, NULL, seed);          // ten folds of n rows
 *     n_test = fab_split_part(s, fold, &test);         // rows of one of them
 *     n_train = fab_split_rest(s, fold, train);        // all others
 *     fab_split_free(s);
 *
 *     fab_batches *b;
 *     fab_batches_create(&b, n, 100, seed);
 *     fab_batches_get(b, epoch, i, &rows, &count);     // batch i of any epoch, in any order of asking
 *     fab_batches_free(b);
 *
 * Rows are numbered from 0.  The same seed gives the same rows on every machine; each use has random
 * numbers of its own (random.h), so one seed serves them all.  Memory: n row numbers; twice that, or with
 * classes five times that, while a split is made. */

typedef struct fab_split fab_split;

/* Two parts: 0 to train with, 1 to test with, of the whole number of rows nearest to fraction * n; each has
 * at least one.  `y` NULL, or n classes, numbers of which equal ones are one class: the part of each class
 * that is tested differs from the whole by less than a row.  Every row is tested with the same probability.
 * Borrows y during the call.  On failure *s is NULL. */
FAB_API fab_status fab_split_test(fab_split **s, int64_t n, double fraction, const double *y,
                                  uint64_t seed);
/* k parts, 2 <= k <= n, whose sizes differ by at most one row; with `y` as above the parts of each class
 * do so too. */
FAB_API fab_status fab_split_folds(fab_split **s, int64_t n, int64_t k, const double *y,
                                   uint64_t seed);
/* k parts of whole groups, rows of which `group` has equal numbers: a group is in one part.  The largest groups first, each to
 * the part that has the fewest rows; groups of one size by chance.  Borrows group during the call. */
FAB_API fab_status fab_split_groups(fab_split **s, int64_t n, int64_t k, const double *group,
                                    uint64_t seed);
/* k parts of rows in the order of time: the rows are cut into k + 1 blocks, part 0 is the last of them, part k - 1 the second,
 * and the rest of a part are the rows before it, so that nothing is predicted by its future. */
FAB_API fab_status fab_split_ordered(fab_split **s, int64_t n, int64_t k);
FAB_API void fab_split_free(fab_split *s); /* takes NULL */

FAB_API int64_t fab_split_parts(const fab_split *s);
/* The rows of a part, in rising order, and how many; 0 when there is no such part.  Lends until free. */
FAB_API int64_t fab_split_part(const fab_split *s, int64_t part, const int64_t **rows);
/* Copies the rows of all other parts (of fab_split_ordered: those before it), in rising order, into `rows`, which has room for them; how many.
 * NULL: only counts. */
FAB_API int64_t fab_split_rest(const fab_split *s, int64_t part, int64_t *rows);

/* ---- mini-batches ------------------------------------------------------------------------------- */

typedef struct fab_batches fab_batches;

/* Batches of `size` of n rows.  Epoch e is a permutation of all rows that depends on (seed, e) alone, cut
 * into batches; what was asked for before does not matter, so that a run can be resumed anywhere.  On
 * failure *b is NULL. */
FAB_API fab_status fab_batches_create(fab_batches **b, int64_t n, int64_t size, uint64_t seed);
FAB_API void fab_batches_free(fab_batches *b); /* takes NULL */

/* Batches in an epoch: n / size, rounded up. */
FAB_API int64_t fab_batches_per_epoch(const fab_batches *b);
/* The rows of batch i of an epoch, both from 0.  *count is `size`, or in the last batch of an epoch what is
 * left.  Lends until the next call.  Another epoch than that of the last call takes time O(n). */
FAB_API fab_status fab_batches_get(fab_batches *b, int64_t epoch, int64_t i, const int64_t **rows,
                                   int64_t *count);

#ifdef __cplusplus
}
#endif
#endif
