/* source.h - a table of numbers read once, from top to bottom, in bounded memory.
 *
 *     fab_source *s;
 *     fab_source_open(&s, "rows.csv", NULL);
 *     while (fab_source_next(s, 1000, buf, &got) == FAB_OK && got > 0) ...
 *     fab_source_close(s);
 *
 * Formats: csv and tsv (header detected), blank-separated text, npy, libsvm, idx; .gz of any of them;
 * "-" is standard input.  The format is sniffed from the content unless it is given.  NaN, Inf, missing
 * values and ragged rows are refused with file, line and column; options take missing values as NaN and
 * columns of words as codes.  Infinity is never taken.  docs/data.md has the rules.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_SOURCE_H
#define FABAYES_SOURCE_H

#include "fabayes/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_format {
    FAB_FORMAT_AUTO = 0,
    FAB_FORMAT_CSV,
    FAB_FORMAT_TSV,
    FAB_FORMAT_TEXT,
    FAB_FORMAT_NPY,
    FAB_FORMAT_LIBSVM,
    FAB_FORMAT_IDX
} fab_format;

/* "auto", "csv", "tsv", "text", "npy", "libsvm", "idx"; NULL when there is no such format. */
FAB_API const char *fab_format_name(fab_format f);
/* The format of that name. */
FAB_API fab_status fab_format_find(fab_format *f, const char *name);

typedef struct fab_source_options {
    fab_format format;
    int64_t features; /* libsvm: number of features; 0: found by a first pass (not for a pipe) */
    const char *rows; /* a file of 0-based row numbers to keep, or NULL for all */
    int64_t missing;  /* 1: a missing value (empty, NA, nan, ?, ..) is NaN in the row; 0: refused */
    int64_t words;    /* 1: a column of words is read as codes; 0: a word is refused */
    /* Comma-separated names or 0-based numbers of columns to read as words even where they look like
     * numbers, or NULL; needs words = 1. */
    const char *categorical;
} fab_source_options;

typedef struct fab_source fab_source;

/* Open and read the head of the file: columns, names, format.  NULL options: the defaults.  Copies path
 * and options.  On failure *s is NULL. */
FAB_API fab_status fab_source_open(fab_source **s, const char *path, const fab_source_options *o);
FAB_API void fab_source_close(fab_source *s); /* takes NULL */

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
FAB_API fab_format fab_source_format(const fab_source *s);
/* Rows in the whole file where the format knows (npy, idx), else -1. */
FAB_API int64_t fab_source_rows(const fab_source *s);
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

#ifdef __cplusplus
}
#endif
#endif
