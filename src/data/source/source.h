/* source.h - the inside of a fab_source, and what a format is.
 *
 * A format is one line in the table of source.c: how to know it, how to read its head, how to read a row.
 * Rows are handed out by source.c, which knows no format.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_SOURCE_H
#define FAB_DATA_SOURCE_H

#include "data/source/notation.h"
#include "data/source/number.h"
#include "data/source/stream.h"
#include "fabayes/data.h"

/* What is looked at to tell the format: this many lines, and no more bytes than that. */
enum { FAB_HEAD_LINES = 10, FAB_HEAD_BYTES = 1 << 16 };

typedef struct fab_reader {
    fab_format format;
    const char *name;
    /* Do these bytes, the first lines of the file, look like this format? */
    int (*sniff)(fab_span head, const fab_dialect *given);
    /* Read the head of the stream and set `columns`, and `rows` and `names` where they are known. */
    fab_status (*open)(fab_source *s);
    /* Read one row into out (NULL: pass over it unread); *got = 0 at the end.  A bad row is passed. */
    fab_status (*next)(fab_source *s, double *out, int *got);
} fab_reader;

extern const fab_reader fab_reader_csv, fab_reader_tsv, fab_reader_text, fab_reader_npy,
    fab_reader_libsvm, fab_reader_idx;

struct fab_source {
    const fab_reader *reader;
    fab_stream in;
    char *path;            /* our copy */
    int64_t columns, rows; /* rows -1: unknown */
    int64_t row;           /* of the file, the next to be read, from 0 */

    char **names; /* columns, of a header; NULL: without one */
    char *made;   /* names made up, columns x made_width; NULL: not asked for yet */
    int64_t made_width;
    const char *first_name; /* instead of x0; or NULL */

    int64_t *kept; /* sorted row numbers to keep; NULL: all */
    int64_t kept_count, kept_next;
    char *kept_path;       /* ours */
    const char *kept_name; /* the same in words */

    int64_t columns_max;     /* an option: more are refused, before memory is taken for them */
    int64_t gap;             /* 1 + the column whose missing value was refused; 0: none was */
    int missing, with_words; /* options; with_words: columns of words may be */
    const char *categorical; /* an option, borrowed while opening */
    int64_t word_columns;    /* columns of words */
    char *unread; /* columns: 1: its cells are NaN, whatever they hold; NULL: none; owned */
    /* columns: 1: names the rows, and fab_source_choose leaves it out; NULL: none; owned */
    char *key;
    struct fab_dictionary **words; /* columns: its words, or NULL: numbers; NULL: all are numbers */

    fab_dialect dialect, usual; /* asked for, and found; where neither says */
    char separator;             /* csv and tsv */
    fab_number_fn *number;      /* of the decimal mark */
    char comment;               /* lines that begin with it are passed over; 0: none */
    char *heading;              /* the last comment in front of the first row; or NULL */
    const char *none;           /* an option, borrowed while opening */
    fab_notation *form;         /* columns; NULL: plain numbers and words */
    int leave_index, left;      /* an option; 1: the first field of each line is left out */
    const char *const *concern; /* an option, borrowed while opening */
    int64_t concerns;
    int64_t noted;              /* 1 + the column that notes are about; 0: none */
    int parts;                  /* 1: parts of its dates are asked for */
    int has_index;              /* 1: the first column is one of row numbers or names */
    int64_t more_lines;         /* of the row read last, behind its first line */
    int recoded;                /* a word was no UTF-8 */
    double na[FAB_NA_ROOM / 2]; /* words for missing values that are numbers */
    int64_t na_count;
    char **note; /* notes */
    int64_t notes;

    int64_t features, ignored;  /* libsvm: asked for (0: count them); values above them */
    int64_t share_first, share; /* coordinates of this process; share 0: all of them */
    double *whole;              /* columns: a row of which a share is taken; or NULL */
    fab_sparse one, *sparse;    /* libsvm: a row of its own; where rows go instead, or NULL */
    const struct fab_element *element; /* npy and idx */
    struct fab_by_columns *by_columns; /* npy in Fortran order: the rows of a block; or NULL */
    const fab_arrays *arrays;          /* rows in memory, borrowed; otherwise NULL */
    struct fab_ahead *ahead; /* rows of text that were read before they were asked for; or NULL */
    int alone;               /* 1: they are not read so */
    int64_t ahead_rows;      /* so many were */
    size_t piece;            /* bytes that a thread reads at a time; 0: ahead.c says */
    void *view; /* arrays that were made for a table; columns chosen of another; owned */
    const struct fab_source *chosen_from; /* that other source, or NULL */
};

/* As fab_source_open with a window of `room` bytes, or from `size` bytes in memory. */
fab_status fab_source_open_room(fab_source **s, const char *path, const fab_source_options *o,
                                size_t room);
fab_status fab_source_open_memory(fab_source **s, const char *name, const void *bytes, size_t size,
                                  const fab_source_options *o, size_t room);

/* What a source with chosen columns holds. */
void fab_chosen_free(void *view);

/* The columns of arrays that are target, weight and offset; -1: there is none. */
void fab_arrays_roles(const fab_source *s, int64_t *target, int64_t *weight, int64_t *offset);
/* Are the words of this column given, with those that no row has? */
int fab_arrays_words_given(const fab_source *s, int64_t column);
/* Of sparse rows: the name of a column behind the features, NULL: it is none; n values of it from row `first`. */
const char *fab_arrays_sparse_name(const fab_source *s, int64_t column);
fab_status fab_arrays_beside(fab_source *s, int64_t column, int64_t first, int64_t n, double *out);
/* A table in the user's units as a source.  Borrows t until close. */
fab_status fab_source_open_table(fab_source **s, const fab_dataset *t, const fab_source_options *o);

/* Keep the sentence, and tell the log.  The name of the file stands in front. */
fab_status fab_source_say(fab_source *s, const char *format, ...) FAB_PRINTF(2, 3);
/* Take the words for missing values of the dialect. */
void fab_source_take_na(fab_source *s);
/* Is the text one of the words of s->dialect.na? */
int fab_source_is_na(const fab_source *s, const char *p, size_t n);

/* Keep only the rows whose numbers stand in the file `path`. */
fab_status fab_source_keep(fab_source *s, const char *path);

/* Refuse more columns than may be.  Readers ask once they know how many there are. */
fab_status fab_source_check_columns(const fab_source *s, int64_t columns);

/* A byte that no text has: a control character other than tab and line ends. */
int fab_is_binary(unsigned char c);
/* A copy of a string.  NULL stays NULL. */
fab_status fab_copy_text(char **out, const char *s);

/* The column of that name, or -1. */
int64_t fab_source_column(const fab_source *s, const char *name);
/* The column of that name, else of that 0-based number, else "last": a column may be called "3". */
fab_status fab_source_find_column(const fab_source *s, const char *word, int64_t *column);
/* Fail with `kind`: there is no such column, and the nearest name. */
fab_status fab_source_no_column(fab_status kind, const fab_source *s, const char *name);

/* Room for one more row of so many values. */
fab_status fab_sparse_room(fab_sparse *r, int64_t values, const char *name);

/* Tell the log how many values of a libsvm file were ignored since it was last told. */
void fab_libsvm_say_ignored(fab_source *s);

#endif
