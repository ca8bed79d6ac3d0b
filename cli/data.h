/* data.h - DATA of a call: the options that say how it is read.
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

/* Open DATA to read its rows as vectors.  Every function here that returns an exit status has said why it is not
 * DONE. */
int data_open(fab_source **s, const data_options *o);
/* Can DATA be read a second time? */
int data_is_file(const data_options *o);

/* Open DATA to read it as a table. */
int table_open(fab_source **s, const data_options *o);
/* DATA as the library takes it. */
fab_data data_of(const data_options *o);

#endif
