/* cells.c - the fields of a line of text: numbers, words, and values that are not there.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data/source/cells.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "data/source/number.h"
#include "data/source/recode.h"
#include "data/source/words.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- what a field is ------------------------------------------------------------------------- */

static int is_number(const fab_source *s, const fab_cut *f, double *x)
{
    return f->n > 0 && s->number(f->p, x) == f->p + f->n;
}

static int is_too_large(const fab_source *s, const char *p)
{
    double x;
    return !s->number(p, &x) && isinf(x);
}

/* A number that stands for a missing value? */
static int is_na_number(const fab_source *s, double x)
{
    for (int64_t i = 0; i < s->na_count; i++)
        if (x == s->na[i]) return 1;
    return 0;
}

/* A word that stands for a value that is not there?  Spreadsheets write what begins with #. */
static int is_missing(const fab_cut *f)
{
    static const char *const words[] = {
        "na",   "n/a",      "null", "none",    "?",       "-",     ".",      "<na>",  "nat",
        "#n/a", "#n/a n/a", "#na",  "#value!", "#div/0!", "#ref!", "#name?", "#num!", "#null!"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (f->n == strlen(words[i]) && strncasecmp(f->p, words[i], f->n) == 0) return 1;
    return 0;
}

int fab_cell_is_none(const fab_cut *f)
{
    return f->n == 4 && strncasecmp(f->p, "none", 4) == 0;
}

fab_cell fab_cell_kind(const fab_source *s, const fab_cut *f)
{
    double x;
    const int own = s->dialect.na[0] != '\0';
    if (f->n == 0) return FAB_CELL_EMPTY;
    if (own && fab_source_is_na(s, f->p, f->n)) return FAB_CELL_MISSING;
    if (is_number(s, f, &x)) return is_na_number(s, x) ? FAB_CELL_MISSING : FAB_CELL_NUMBER;
    if (is_too_large(s, f->p)) return FAB_CELL_NUMBER;
    const char *word = fab_number_word(f->p, f->n);
    if (word) return strcmp(word, "NaN") == 0 ? FAB_CELL_MISSING : FAB_CELL_NUMBER;
    return !own && is_missing(f) ? FAB_CELL_MISSING : FAB_CELL_WORD;
}

size_t fab_cell_room(const fab_cut *f)
{
    return (fab_is_utf8(f->p, f->n) ? f->n : 3 * f->n) + 1;
}

fab_status fab_cell_copy(fab_source *s, char **to, const fab_cut *f)
{
    const int recode = !fab_is_utf8(f->p, f->n);
    for (size_t i = 0; i < f->n; i++) {
        if (recode)
            *to += fab_recode_1252(*to, f->p + i, 1);
        else
            *(*to)++ = f->p[i];
        if (f->quoted && f->p[i] == '"') i++; /* "" is one " */
    }
    *(*to)++ = '\0';
    if (!recode || s->recoded) return FAB_OK;
    s->recoded = 1;
    return fab_source_say(s, "is not UTF-8: its words are taken for Windows-1252 (Latin-1)");
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
    if (is_too_large(s, p))
        return FAB_FAIL(FAB_BAD_DATA, "%s: %s: '%s' is too large for a double", s->in.name, place,
                        shown);
    return FAB_FAIL(FAB_BAD_DATA, "%s: %s: '%s' is not a number", s->in.name, place, shown);
}

enum { PLACE = FAB_SHOWN + 64 };

/* The line on which the row begins. */
static long long line_of(const fab_source *s)
{
    return (long long)(s->in.lines - s->more_lines);
}

/* "line 3, column 2 ('height')"; lines and columns count from 1. */
static const char *tell_place(char place[PLACE], const fab_source *s, int64_t column)
{
    char name[FAB_SHOWN];
    const int used = snprintf(place, PLACE, "line %lld, column %lld", line_of(s),
                              (long long)column + 1 + s->left);
    if (s->names)
        snprintf(place + used, PLACE - (size_t)used, " ('%s')",
                 fab_show(name, s->names[column], strlen(s->names[column])));
    return place;
}

/* A column for a list: by name, or by number when the name would not do in it. */
static const char *listed_name(char name[FAB_SHOWN], const fab_source *s, int64_t column)
{
    snprintf(name, FAB_SHOWN, "%lld", (long long)column);
    if (s->names && !strchr(s->names[column], ','))
        fab_show(name, s->names[column], strlen(s->names[column]));
    return name;
}

/* A word where rows are vectors, and columns may be left out. */
static fab_status refuse_word_of_vectors(const fab_source *s, int64_t column, const fab_cut *f)
{
    char place[PLACE], shown[FAB_SHOWN], name[FAB_SHOWN];
    return FAB_FAIL(FAB_BAD_DATA,
                    "%s: %s: '%s' is not a number; --exclude %s leaves the column out", s->in.name,
                    tell_place(place, s, column), fab_show(shown, f->p, f->n),
                    listed_name(name, s, column));
}

/* A word in a column of numbers, where words could have been asked for. */
static fab_status refuse_word(const fab_source *s, int64_t column, const fab_cut *f)
{
    char place[PLACE], shown[FAB_SHOWN], name[FAB_SHOWN];
    return FAB_FAIL(FAB_BAD_DATA,
                    "%s: %s: '%s' is not a number; --categorical %s reads the column as words",
                    s->in.name, tell_place(place, s, column), fab_show(shown, f->p, f->n),
                    listed_name(name, s, column));
}

static fab_status refuse_missing(const fab_source *s, int64_t column, const fab_cut *f)
{
    char place[PLACE], shown[FAB_SHOWN];
    tell_place(place, s, column);
    if (f->n == 0) return fab_cells_refuse(s, place, f->p, f->n);
    const int none = fab_cell_is_none(f) && s->with_words && s->dialect.na[0] == '\0';
    return FAB_FAIL(FAB_MISSING_VALUE, "%s: %s: '%s' is a missing value%s", s->in.name, place,
                    fab_show(shown, f->p, f->n), none ? " (--na NA takes it for a word)" : "");
}

/* A value that is written in another way than the column. */
static fab_status refuse_form(const fab_source *s, int64_t column, const fab_cut *f)
{
    char place[PLACE], shown[FAB_SHOWN];
    const fab_notation *form = &s->form[column];
    tell_place(place, s, column);
    fab_show(shown, f->p, f->n);
    if (form->number)
        return FAB_FAIL(FAB_BAD_DATA, "%s: %s: '%s' is not a date as those above it are",
                        s->in.name, place, shown);
    return FAB_FAIL(FAB_BAD_DATA, "%s: %s: '%s' is not a number%s%s%s%s, as those above it are",
                    s->in.name, place, shown, form->sign ? " with the sign '" : "",
                    fab_notation_sign(form->sign), form->sign ? "'" : "",
                    form->group ? " in groups of three digits" : "");
}

static fab_status refuse_number(const fab_source *s, int64_t column, const fab_cut *f)
{
    char place[PLACE], shown[FAB_SHOWN];
    const fab_cell kind = fab_cell_kind(s, f);
    tell_place(place, s, column);
    if (kind == FAB_CELL_MISSING && fab_number_word(f->p, f->n))
        return FAB_FAIL(FAB_MISSING_VALUE, "%s: %s is NaN", s->in.name, place);
    if (kind == FAB_CELL_MISSING) return refuse_missing(s, column, f);
    if (kind == FAB_CELL_WORD && fab_date_orders(f->p, f->n))
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: %s: '%s' is a date; --dates numbers reads the column as days",
                        s->in.name, place, fab_show(shown, f->p, f->n));
    const fab_shape shape = fab_notation_look(f->p, f->n).shape;
    if (kind == FAB_CELL_WORD && (shape == FAB_SHAPE_COMMA || shape == FAB_SHAPE_EITHER_COMMA) &&
        s->number != fab_number_comma)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: %s: '%s' is not a number with a decimal point; --decimal comma reads "
                        "decimal commas",
                        s->in.name, place, fab_show(shown, f->p, f->n));
    if (s->with_words && kind == FAB_CELL_WORD) return refuse_word(s, column, f);
    if (s->leave_index && s->columns > 1 && kind == FAB_CELL_WORD)
        return refuse_word_of_vectors(s, column, f);
    return fab_cells_refuse(s, place, f->p, f->n);
}

static fab_status refuse_count(const fab_source *s, int64_t n)
{
    n += s->left;
    return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld has %lld value%s, expected %lld", s->in.name,
                    line_of(s), (long long)n, n == 1 ? "" : "s", (long long)s->columns + s->left);
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
    if (is_number(s, f, x) && !is_na_number(s, *x)) return FAB_OK;
    const fab_cell kind = fab_cell_kind(s, f);
    if (!s->missing || (kind != FAB_CELL_EMPTY && kind != FAB_CELL_MISSING))
        return refuse_number(s, column, f);
    *x = NAN;
    return FAB_OK;
}

/* A value of a column that has a form: a date, a number with a sign or in groups, the name of a row. */
static fab_status read_form(const fab_source *s, int64_t column, const fab_cut *f, double *x)
{
    const fab_notation *form = &s->form[column];
    if (form->row_name) {
        *x = (double)s->row;
        return FAB_OK;
    }
    const int read = form->number ? fab_date_days(f->p, f->n, form->date, x)
                                  : fab_notation_number(form, f->p, f->n, x);
    if (read && !is_na_number(s, *x)) return FAB_OK;
    if (read) return read_number(s, column, f, x);
    const fab_cell kind = fab_cell_kind(s, f);
    if (kind == FAB_CELL_EMPTY || kind == FAB_CELL_MISSING) return read_number(s, column, f, x);
    return refuse_form(s, column, f);
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

fab_status fab_cells_word(fab_source *s, int64_t column, const fab_cut *f, double *x)
{
    const fab_cell kind = fab_cell_kind(s, f);
    const int none = s->form && s->form[column].none && fab_cell_is_none(f);
    *x = NAN;
    if (kind == FAB_CELL_EMPTY || (kind == FAB_CELL_MISSING && !none))
        return s->missing ? FAB_OK : refuse_missing(s, column, f);
    FAB_TRY(check_bytes(s, column, f->p, f->n));
    fab_dictionary *words = s->words[column];
    char *to;
    int64_t code;
    FAB_TRY(fab_dictionary_room(words, fab_cell_room(f), &to));
    char *end = to;
    FAB_TRY(fab_cell_copy(s, &end, f));
    FAB_TRY(fab_dictionary_code(words, (size_t)(end - 1 - to), &code));
    if (code == FAB_WORDS_MAX) return refuse_identifier(s, column);
    *x = (double)code;
    return FAB_OK;
}

fab_status fab_cells_row(fab_source *s, fab_split_fn *split, fab_span line, double *out)
{
    const int64_t n = fab_cells_count(s, split, line);
    if (n != s->columns) return refuse_count(s, n);
    const char *p = line.p;
    for (int64_t j = 0; j < n; j++) {
        fab_cut f;
        p = split(s, p, line.p + line.n, &f);
        if (s->unread && s->unread[j]) {
            out[j] = NAN;
            continue;
        }
        const fab_notation *form = s->form ? &s->form[j] : NULL;
        fab_status read;
        if (s->words && s->words[j])
            read = fab_cells_word(s, j, &f, &out[j]);
        else if (form && (form->decimal || form->number || form->row_name))
            read = read_form(s, j, &f, &out[j]);
        else
            read = read_number(s, j, &f, &out[j]);
        if (read == FAB_MISSING_VALUE) s->gap = j + 1;
        FAB_TRY(read);
    }
    return FAB_OK;
}

/* ---- on a thread of many --------------------------------------------------------------------- */

static int try_number(const fab_source *s, const fab_cut *f, double *x)
{
    if (is_number(s, f, x) && !is_na_number(s, *x)) return 1;
    *x = NAN;
    if (!s->missing) return 0;
    const fab_cell kind = fab_cell_kind(s, f);
    return kind == FAB_CELL_EMPTY || kind == FAB_CELL_MISSING;
}

static int try_form(const fab_source *s, const fab_notation *form, const fab_cut *f, double *x)
{
    const int read = form->number ? fab_date_days(f->p, f->n, form->date, x)
                                  : fab_notation_number(form, f->p, f->n, x);
    if (read && !is_na_number(s, *x)) return 1;
    const fab_cell kind = fab_cell_kind(s, f);
    if (!read && kind != FAB_CELL_EMPTY && kind != FAB_CELL_MISSING) return 0;
    return try_number(s, f, x);
}

int fab_cells_try(const fab_source *s, fab_split_fn *split, fab_span line, double *out,
                  fab_spellings *spellings, const int64_t *place)
{
    const char *p = line.p, *const end = line.p + line.n;
    fab_cut f = {NULL, 0, 0};
    for (int64_t j = 0; j < s->columns; j++) {
        const int words = s->words && s->words[j];
        const fab_notation *form = s->form ? &s->form[j] : NULL;
        const int formed = form && (form->decimal || form->number || form->row_name);
        if (!p) return 0;
        if (!words && !formed && s->separator && !s->na_count && !(s->unread && s->unread[j])) {
            const char *q = s->number(p, &out[j]); /* a plain number needs no cut */
            if (q && q < end && *q == s->separator) {
                p = q + 1;
                continue;
            }
        }
        p = split(s, p, end, &f);
        if (s->unread && s->unread[j]) {
            out[j] = NAN;
        } else if (words) {
            const int64_t i = fab_spelling_find(&spellings[place[j]], &f);
            if (i == FAB_SPELLING_FULL) return 0;
            out[j] = (double)i;
        } else if (form && form->row_name) {
            out[j] = 0; /* who hands the row out knows its number */
        } else if (!(formed ? try_form(s, form, &f, &out[j]) : try_number(s, &f, &out[j]))) {
            return 0;
        }
    }
    return !p && !(f.quoted && f.p + f.n == end); /* nor opens it a quote that goes on */
}
