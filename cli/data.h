/* data.h - DATA of a call: the options that say how it is read, and its rows piece by piece.
 *
 * A coordinate is a column; the label of a libsvm file is none.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_DATA_H
#define CLI_DATA_H

#include "options.h"

typedef struct data_options {
    const char *file, *rows;
    int64_t format, features;
    int64_t missing, words; /* 1: values may be missing; columns may hold words */
    const char *categorical;
    const char *labels; /* a file of the target alone, or NULL */
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
#define OPTION_FEATURES(where_) \
    {"features", 0, OPT_I64, where_, "N", 1, 0x1p40, NULL, \
     "libsvm: number of features (default: from a first pass)"}
// clang-format on

typedef struct data {
    data_options o;
    fab_source *source;
    int64_t D, columns;   /* coordinates, and columns of the file */
    int64_t read;         /* rows so far */
    int64_t skipped;      /* rows of them that were passed over */
    int64_t rows_at_once; /* in the buffer */
    double *buffer;       /* rows_at_once x columns */
    double *first;        /* D: the first row read */
    int64_t *constant;    /* coordinates that have been as in the first row ever since */
    int64_t constants;
} data;

/* Open DATA and make a buffer of about 8 MB.  Every function here that returns an exit status has said
 * why it is not DONE. */
int data_open(data *d, const data_options *o);
void data_close(data *d); /* takes zeros */

/* The next rows, at most `most`, lent until the next call; rows->n = 0 at the end. */
int data_next(data *d, int64_t most, fab_rows *rows);
/* The same into `out`, whose rows have d->columns numbers; *got = 0 at the end. */
int data_read(data *d, int64_t most, double *out, int64_t *got);
/* Pass over n rows that were seen before. */
int data_skip(data *d, int64_t n);
/* The rows of `table` (n x d->columns) as coordinates. */
fab_rows data_rows(const data *d, const double *table, int64_t n);

const char *data_name(const data *d, int64_t coordinate);
/* The bar, named `what`; not 0 when the work shall stop. */
int data_tick(const data *d, const char *what);
/* Can DATA be read a second time? */
int data_is_file(const data_options *o);

/* Open DATA to read it as a table. */
int table_open(fab_source **s, const data_options *o);
/* DATA as the library takes it. */
fab_data data_of(const data_options *o);

/* The names of the coordinates as metadata, {"names": [..]}; NULL when the file has none of its own.
 * Gives: free. */
char *data_names(const data *d);
/* Are the coordinates named as in that metadata text of `file`?  DATA without names fits any. */
int data_check_names(const data *d, const char *file, const char *names);

#endif
