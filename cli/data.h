/* data.h - DATA of a call: the options that say how it is read.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_DATA_H
#define CLI_DATA_H

#include "options.h"

typedef struct data_options {
    const char *file, *rows;
    int64_t format, features, columns_max;
    int64_t missing, words; /* 1: values may be missing; columns may hold words */
    const char *categorical;
    const char *labels; /* a file of the target alone, or NULL */
    const char *separator, *decimal, *comment, *dates,
        *na;                    /* of its dialect, as the call says; or NULL */
    const char *only, *exclude; /* columns of vectors, or NULL */
    int64_t with_index;         /* 1: row numbers and row names in front are a column too */
    int64_t hushed;             /* 1: what is noted of its columns was said, or matters to nobody */
    int64_t threads;            /* that read; 0: all cores */
    const fab_dialect *usual;   /* what holds where neither call nor file says; or NULL */
} data_options;

extern const char *const format_names[]; /* in the order of fab_format */

// clang-format off
#define OPTION_FORMAT(where_) \
    {"format", 0, OPT_CHOICE, where_, "NAME", 0, 0, format_names, \
     "csv, tsv, text, npy, libsvm or idx (default: from the content)"}
#define OPTION_ROWS(where_) \
    {"rows", 0, OPT_TEXT, where_, "FILE", 0, 0, NULL, "keep the 0-based row numbers listed in FILE"}
#define OPTION_LABELS(where_) \
    {"labels", 0, OPT_TEXT, where_, "FILE", 0, 0, NULL, "the target, one column, row by row: the labels of an idx file"}
#define OPTIONS_COLUMNS(only_, exclude_) \
    {"only", 0, OPT_TEXT, only_, "COLUMNS", 0, 0, NULL, \
     "columns to read, separated by commas: names, 0-based numbers, ranges (area:age), beginnings (dist*) (default: all)"}, \
    {"exclude", 0, OPT_TEXT, exclude_, "COLUMNS", 0, 0, NULL, "columns to leave out, in the same words"}
#define OPTION_FEATURES(where_) \
    {"features", 0, OPT_I64, where_, "N", 1, 0x1p40, NULL, \
     "libsvm: number of features (default: from a first pass)"}
#define OPTION_MAX_COLUMNS(where_) \
    {"max-columns", 0, OPT_I64, where_, "N", 1, 2147483647, NULL, \
     "believe so many columns of a file (default 1048576); longer lines too"}
#define OPTIONS_DIALECT(d_) \
    {"sep", 0, OPT_TEXT, &(d_)->separator, "CHAR", 0, 0, ((const char *const[]){"comma", "semicolon", "tab", "blank", "pipe", NULL}), "between fields: comma, semicolon, tab, blank, pipe or one character (default: found)"}, \
    {"decimal", 0, OPT_TEXT, &(d_)->decimal, "MARK", 0, 0, ((const char *const[]){"point", "comma", NULL}), "decimal mark: point or comma (default: found)"}, \
    {"na", 0, OPT_TEXT, &(d_)->na, "WORDS", 0, 0, NULL, "words for a missing value, separated by commas, instead of NA, null, ?, .. (default: those)"}, \
    {"comment", 0, OPT_TEXT, &(d_)->comment, "CHAR", 0, 0, NULL, "pass over lines that begin with it, or none (default: # where it is no data)"}, \
    {"dates", 0, OPT_TEXT, &(d_)->dates, "HOW", 0, 0, ((const char *const[]){"words", "numbers", "parts", "day-first", "month-first", NULL}), "dates as words, as days since 1970 (numbers, day-first, month-first), or as parts: year, month, weekday (default words)"}
// clang-format on

/* Open DATA to read its rows as vectors.  Every function here that returns an exit status has said why it is not
 * DONE. */
int data_open(fab_source **s, const data_options *o);
/* Can DATA be read a second time? */
int data_is_file(const data_options *o);

/* Open DATA to read it as a table. */
int table_open(fab_source **s, const data_options *o);
/* DATA as the library takes it.  Borrows from o. */
int data_of(fab_data *d, const data_options *o);

#endif
