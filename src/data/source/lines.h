/* lines.h - what formats of one row per line share: the header, lines that count, and rows.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_LINES_H
#define FAB_DATA_LINES_H

#include "data/source/source.h"

/* How a format cuts a line.  Gives the first field of p .. end, without quotes and blanks around it, and
 * where the next one starts, NULL when this was the last.  `quoted`: doubled quotes inside count once. */
typedef struct fab_cut {
    const char *p;
    size_t n;
    int quoted;
} fab_cut;
typedef const char *fab_split_fn(const fab_source *s, const char *p, const char *end,
                                 fab_cut *field);

/* Read a line of exactly s->columns numbers; 0 when it is not one. */
typedef int fab_row_fn(const fab_source *s, const char *p, const char *end, double *out);

/* Pass blank lines and comments; fails when nothing follows. */
fab_status fab_lines_first(fab_source *s);
/* Find the first line, count the columns, see whether it is a header and which columns are words. */
fab_status fab_lines_open(fab_source *s, fab_split_fn *split);
/* The next row; words, missing values and what is wrong with a bad row are found with `split`. */
fab_status fab_lines_next(fab_source *s, fab_row_fn *row, fab_split_fn *split, double *out,
                          int *got);

/* Does a row that was read hold a number that stands for a missing value? */
int fab_lines_has_na(const fab_source *s, const double *row);

/* Look at the row that begins `from` bytes from here: a line, or several where a quote goes on, *lines of them.  .p is NULL
 * at the end; *lines = 0: it opens a quote that does not close, and is given as one line. */
fab_status fab_lines_look_row(fab_source *s, fab_split_fn *split, size_t from, fab_span *row,
                              int64_t *lines);
/* A row of more lines or bytes than these is one with a quote that does not close. */
enum { FAB_ROW_LINES = 1000, FAB_ROW_BYTES = 1 << 20 };

/* Only blanks that separate nothing? */
int fab_lines_is_blank(const fab_source *s, fab_span line);
fab_status fab_lines_skip_blank(fab_source *s);
/* Take the next line that is not blank; .p is NULL at the end. */
fab_status fab_lines_take(fab_source *s, fab_span *line);

/* The length of a line without the blanks, tabs and returns at its end. */
size_t fab_lines_trimmed(fab_span line);
/* The lines of the head of a file, for sniffing: cut the next one off *head; 0 when there is none.  A
 * last line without its end is given only when it is the only one. */
int fab_lines_each(fab_span *head, fab_span *line, int64_t *count);

#endif
