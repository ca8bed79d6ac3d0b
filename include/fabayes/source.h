/* source.h - a table of numbers read once, from top to bottom, in bounded memory.
 *
 *     fab_source *s;
 *     fab_source_open(&s, "rows.csv", NULL);
 *     while (fab_source_next(s, 1000, buf, &got) == FAB_OK && got > 0) ...
 *     fab_source_close(s);
 *
 * Formats: csv and tsv (header detected), blank-separated text, npy, libsvm, idx; .gz of any of them;
 * "-" is standard input.  The format is sniffed from the content unless it is given.  NaN, Inf, missing
 * values and ragged rows are refused with file, line and column.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_SOURCE_H
#define FABAYES_SOURCE_H

#include "fabayes/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_format {
    FAB_FORMAT_AUTO = 0, FAB_FORMAT_CSV, FAB_FORMAT_TSV, FAB_FORMAT_TEXT, FAB_FORMAT_NPY,
    FAB_FORMAT_LIBSVM, FAB_FORMAT_IDX
} fab_format;

typedef struct fab_source_options {
    fab_format format;
    int64_t features;  /* libsvm: number of features; 0: found by a first pass (not for a pipe) */
    const char *rows;  /* a file of 0-based row numbers to keep, or NULL for all */
} fab_source_options;

typedef struct fab_source fab_source;

/* Open and read the head of the file: columns, names, format.  NULL options: the defaults. */
FAB_API fab_status fab_source_open(fab_source **s, const char *path, const fab_source_options *o);
FAB_API void fab_source_close(fab_source *s); /* takes NULL */

FAB_API int64_t fab_source_columns(const fab_source *s);
FAB_API const char *fab_source_name(const fab_source *s, int64_t column); /* "x3" without a header */
FAB_API fab_format fab_source_format(const fab_source *s);
/* Rows in the whole file where the format knows (npy, idx), else -1. */
FAB_API int64_t fab_source_rows(const fab_source *s);
/* Bytes of the file used so far and in all (0 when unknown), for a progress bar. */
FAB_API void fab_source_position(const fab_source *s, int64_t *done, int64_t *total);

/* The next rows, at most `max`, as max x columns doubles; *got = 0 at the end.  After a failure the
 * rows before the bad one have been given or are in *got, and the sentence names the place. */
FAB_API fab_status fab_source_next(fab_source *s, int64_t max, double *out, int64_t *got);
/* Pass over `n` rows without giving them; fails when there are fewer. */
FAB_API fab_status fab_source_skip(fab_source *s, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
