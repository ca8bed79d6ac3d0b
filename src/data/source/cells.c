/* cells.c - the fields of a line of text: numbers, words, and values that are not there.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data/source/cells.h"
#include "base/bytes.h"
#include "data/source/number.h"
#include "data/source/words.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- what a field is ------------------------------------------------------------------------- */

static int is_number(const fab_cut *f, double *x)
{
    return f->n > 0 && fab_number(f->p, x) == f->p + f->n;
}

static int is_too_large(const char *p)
{
    double x;
    return !fab_number(p, &x) && isinf(x);
}

/* A word that stands for a value that is not there? */
static int is_missing(const fab_cut *f)
{
    static const char *const words[] = {"na", "n/a", "null", "none", "?", "-", "."};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (f->n == strlen(words[i]) && strncasecmp(f->p, words[i], f->n) == 0) return 1;
    return 0;
}

fab_cell fab_cell_kind(const fab_cut *f)
{
    double x;
    if (f->n == 0) return FAB_CELL_EMPTY;
    if (is_number(f, &x) || is_too_large(f->p)) return FAB_CELL_NUMBER;
    const char *word = fab_number_word(f->p, f->n);
    if (word) return strcmp(word, "NaN") == 0 ? FAB_CELL_MISSING : FAB_CELL_NUMBER;
    return is_missing(f) ? FAB_CELL_MISSING : FAB_CELL_WORD;
}

char *fab_cell_copy(char *to, const fab_cut *f)
{
    for (size_t i = 0; i < f->n; i++) {
        *to++ = f->p[i];
        if (f->quoted && f->p[i] == '"') i++; /* "" is one " */
    }
    *to++ = '\0';
    return to;
}

/* ---- the fields of a line -------------------------------------------------------------------- */

int64_t fab_cells_count(const fab_source *s, fab_split_fn *split, fab_span line)
{
    fab_cut f;
    int64_t n = 0;
    for (const char *p = line.p; p; n++) p = split(s, p, line.p + line.n, &f);
    return n;
}

int fab_cells_open(const fab_source *s, fab_split_fn *split, fab_span line)
{
    fab_cut f = {NULL, 0, 0};
    for (const char *p = line.p; p;) p = split(s, p, line.p + line.n, &f);
    return f.quoted && f.p + f.n == line.p + line.n;
}

/* ---- sentences ------------------------------------------------------------------------------- */

fab_status fab_cells_refuse(const fab_source *s, const char *place, const char *p, size_t n)
{
    char shown[FAB_SHOWN];
    const char *word = fab_number_word(p, n);
    if (n == 0)
        return FAB_FAIL(FAB_MISSING_VALUE, "%s: %s is empty: a missing value", s->in.name, place);
    if (word) return FAB_FAIL(FAB_BAD_DATA, "%s: %s is %s", s->in.name, place, word);
    fab_show(shown, p, n);
    if (is_too_large(p))
        return FAB_FAIL(FAB_BAD_DATA, "%s: %s: '%s' is too large for a double", s->in.name, place,
                        shown);
    return FAB_FAIL(FAB_BAD_DATA, "%s: %s: '%s' is not a number", s->in.name, place, shown);
}

enum { PLACE = FAB_SHOWN + 64 };

/* "line 3, column 2 ('height')"; lines and columns count from 1. */
static const char *tell_place(char place[PLACE], const fab_source *s, int64_t column)
{
    char name[FAB_SHOWN];
    const int used = snprintf(place, PLACE, "line %lld, column %lld", (long long)s->in.lines,
                              (long long)column + 1);
    if (s->names)
        snprintf(place + used, PLACE - (size_t)used, " ('%s')",
                 fab_show(name, s->names[column], strlen(s->names[column])));
    return place;
}

/* A word in a column of numbers, where words could have been asked for: by name, or by number when the
 * name would not do in a list. */
static fab_status refuse_word(const fab_source *s, int64_t column, const fab_cut *f)
{
    char place[PLACE], shown[FAB_SHOWN], name[FAB_SHOWN];
    snprintf(name, sizeof name, "%lld", (long long)column);
    if (s->names && !strchr(s->names[column], ','))
        fab_show(name, s->names[column], strlen(s->names[column]));
    return FAB_FAIL(FAB_BAD_DATA,
                    "%s: %s: '%s' is not a number; --categorical %s reads the column as words",
                    s->in.name, tell_place(place, s, column), fab_show(shown, f->p, f->n), name);
}

static fab_status refuse_missing(const fab_source *s, int64_t column, const fab_cut *f)
{
    char place[PLACE], shown[FAB_SHOWN];
    tell_place(place, s, column);
    if (f->n == 0) return fab_cells_refuse(s, place, f->p, f->n);
    return FAB_FAIL(FAB_MISSING_VALUE, "%s: %s: '%s' is a missing value", s->in.name, place,
                    fab_show(shown, f->p, f->n));
}

static fab_status refuse_number(const fab_source *s, int64_t column, const fab_cut *f)
{
    char place[PLACE];
    const fab_cell kind = fab_cell_kind(f);
    if (s->with_words && kind == FAB_CELL_WORD) return refuse_word(s, column, f);
    if (kind == FAB_CELL_MISSING && !fab_number_word(f->p, f->n))
        return refuse_missing(s, column, f);
    return fab_cells_refuse(s, tell_place(place, s, column), f->p, f->n);
}

static fab_status refuse_count(const fab_source *s, int64_t n)
{
    return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld has %lld value%s, expected %lld", s->in.name,
                    (long long)s->in.lines, (long long)n, n == 1 ? "" : "s", (long long)s->columns);
}

static fab_status refuse_open(const fab_source *s)
{
    return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld opens a quote that does not close", s->in.name,
                    (long long)s->in.lines);
}

static fab_status refuse_identifier(const fab_source *s, int64_t column)
{
    char place[PLACE];
    return FAB_FAIL(FAB_BAD_DATA,
                    "%s: %s is the first of more than %d different words: the column is an "
                    "identifier, not a category",
                    s->in.name, tell_place(place, s, column), FAB_WORDS_MAX);
}

/* ---- values ---------------------------------------------------------------------------------- */

static fab_status read_number(const fab_source *s, int64_t column, const fab_cut *f, double *x)
{
    if (is_number(f, x)) return FAB_OK;
    const fab_cell kind = fab_cell_kind(f);
    if (!s->missing || (kind != FAB_CELL_EMPTY && kind != FAB_CELL_MISSING))
        return refuse_number(s, column, f);
    *x = NAN;
    return FAB_OK;
}

/* Names of words are lent as strings: no byte in them may end one, or garble a terminal. */
static fab_status check_bytes(const fab_source *s, int64_t column, const char *p, size_t n)
{
    char place[PLACE];
    for (size_t i = 0; i < n; i++)
        if (fab_is_binary((unsigned char)p[i]))
            return FAB_FAIL(FAB_BAD_DATA, "%s: %s: a word with the byte 0x%02x", s->in.name,
                            tell_place(place, s, column), (unsigned char)p[i]);
    return FAB_OK;
}

static fab_status read_word(const fab_source *s, int64_t column, const fab_cut *f, double *x)
{
    const fab_cell kind = fab_cell_kind(f);
    *x = NAN;
    if (kind == FAB_CELL_EMPTY || kind == FAB_CELL_MISSING)
        return s->missing ? FAB_OK : refuse_missing(s, column, f);
    FAB_TRY(check_bytes(s, column, f->p, f->n));
    fab_dictionary *words = s->words[column];
    char *to;
    int64_t code;
    FAB_TRY(fab_dictionary_room(words, f->n + 1, &to));
    const char *end = fab_cell_copy(to, f);
    FAB_TRY(fab_dictionary_code(words, (size_t)(end - 1 - to), &code));
    if (code == FAB_WORDS_MAX) return refuse_identifier(s, column);
    *x = (double)code;
    return FAB_OK;
}

fab_status fab_cells_row(fab_source *s, fab_split_fn *split, fab_span line, double *out)
{
    const int64_t n = fab_cells_count(s, split, line);
    if (n != s->columns) return refuse_count(s, n);
    if (s->words && fab_cells_open(s, split, line)) return refuse_open(s);
    const char *p = line.p;
    for (int64_t j = 0; j < n; j++) {
        fab_cut f;
        p = split(s, p, line.p + line.n, &f);
        FAB_TRY(s->words && s->words[j] ? read_word(s, j, &f, &out[j])
                                        : read_number(s, j, &f, &out[j]));
    }
    return FAB_OK;
}
