/* cells.h - one field of a line of text: a number, a word, or nothing.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_CELLS_H
#define FAB_DATA_CELLS_H

#include "data/source/lines.h"
#include "data/source/spellings.h"

typedef enum fab_cell {
    FAB_CELL_NUMBER = 0, /* or one that is none of ours: Inf, 1e999 */
    FAB_CELL_EMPTY,
    FAB_CELL_MISSING, /* a word for a value that is not there: NA, nan, ?, .. */
    FAB_CELL_WORD
} fab_cell;

fab_cell fab_cell_kind(const fab_source *s, const fab_cut *f);
/* Is it the word "none", in any case of letters? */
int fab_cell_is_none(const fab_cut *f);
/* Copy the text with a zero byte behind it, at most fab_cell_room bytes; gives the byte behind that.  A text that is no UTF-8
 * is taken for Windows-1252 and recoded, which is said once. */
size_t fab_cell_room(const fab_cut *f);
fab_status fab_cell_copy(fab_source *s, char **to, const fab_cut *f);

int64_t fab_cells_count(const fab_source *s, fab_split_fn *split, fab_span line);
/* Does the last field open a quote that this text does not close? */
int fab_cells_open(const fab_source *s, fab_split_fn *split, fab_span line);

/* Read the line that was taken last, slowly: columns of words, missing values, and a sentence about what
 * is wrong. */
fab_status fab_cells_row(fab_source *s, fab_split_fn *split, fab_span line, double *out);

/* The same for a thread that neither allocates nor says what is wrong: 1: numbers and missing values are in out, and for
 * a column of words, number place[column] of those, the number of the spelling; 0: read the line slowly. */
int fab_cells_try(const fab_source *s, fab_split_fn *split, fab_span line, double *out,
                  fab_spellings *spellings, const int64_t *place);
/* The code of a cell of words, NaN where it is missing. */
fab_status fab_cells_word(fab_source *s, int64_t column, const fab_cut *f, double *x);

/* Refuse the text of n bytes as a number; `place` stands in front: "line 3, column 2". */
fab_status fab_cells_refuse(const fab_source *s, const char *place, const char *p, size_t n);

#endif
