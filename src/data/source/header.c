/* header.c - the first rows of a table of text: names or data, and how its columns are written.
 *
 *   1  look at the first row, and at those below it that begin in the first FAB_HEAD_BYTES (without words: among the first
 *      FAB_HEAD_LINES lines, unless 4 needs more); count for each column what its values are: numbers, with which marks and signs, dates,
 *      words, missing values
 *   2  the first row is a header
 *        without words: when one of its fields is a word
 *        with words:    when a column has a word there and below it numbers and no words; or when all its fields are
 *                       words, of which the first may be empty (the name of an index often is)
 *        in any case:   when it has one field less than the rows below, as R's write.table has it; or when all its fields stand
 *                       in quotes, of which the first may be empty, and no number below does ("1940","1945")
 *      otherwise it counts among the others, and a comment in front of it that has as many fields is the header
 *      (numpy.savetxt)
 *   3  the first column is an index when it has no name and all its values differ; it is left out where that was asked for, or
 *      where another column has the name that it would be given
 *   4  decimal mark: given; or the one that a column of numbers shows (3,14; 3.14); or the usual one; or the point.  Where
 *      columns show both the file is refused
 *   5  forms: a column all of whose values have one sign ($3.20, 7.1%), are grouped in threes (1,050) or are dates
 *   6  a column is one of words when it has a word that is part of no form, or when it was named; without words, one whose
 *      words, or whole numbers, all differ may name the rows
 *
 * SPDX-License-Identifier: MIT */
#include "base/bytes.h"
#include "base/memory.h"
#include "data/source/cells.h"
#include "data/source/names.h"
#include "data/source/recode.h"
#include "data/source/words.h"
#include <stdio.h>
#include <string.h>

/* A field to be shown in a sentence, by its place in the stream: the window may move. */
typedef struct kept {
    size_t at, n; /* n = 0: none */
} kept;

/* What was counted of a column. */
typedef struct tally {
    int32_t filled;                            /* fields that are there */
    int32_t none;                              /* of missing ones: the word none */
    int32_t like;                              /* numbers, with whatever marks and sign */
    int32_t shape[FAB_SHAPE_EITHER_COMMA + 1]; /* of these */
    int32_t
        grouped[FAB_SHAPE_EITHER_COMMA + 1]; /* of shape[]: with marks between groups for certain */
    int32_t plain[2];                        /* readable as they stand, with point and with comma */
    int32_t long_whole;                      /* of four digits or more that are not grouped */
    int32_t odd_number;                      /* Inf */
    int32_t dates;
    unsigned char sign, mixed; /* the first sign; another one was there, or none */
    unsigned char orders;      /* of the dates */
    unsigned char first;       /* fab_cell of the first row, FIRST_DATE for a date */
    kept sample;               /* a value with a sign, or a date */
    kept comma;                /* one with a comma, at best as a decimal mark */
    kept point;                /* one with points that may stand between groups */
    kept long_sample;          /* one of long_whole */
} tally;
enum { FIRST_DATE = FAB_CELL_WORD + 1, FEW_NONE = 5 };

typedef struct head {
    fab_source *s;
    fab_split_fn *split;
    size_t first_size;   /* bytes of the first row, without its line end */
    int64_t first_lines; /* lines of it */
    int64_t columns;     /* of the rows, the index counted */
    int short_header;    /* the first row has one field less than the others */
    tally *column;       /* columns */
    int64_t below;       /* rows below the first */
    int64_t unequal;     /* of these: with another number of fields */
    fab_dictionary *row_name;
    int same_names;     /* two rows have the same first field */
    int plain_names;    /* a first field is a number that is not that of its row, without quotes */
    int last_filled;    /* the last field of a row has something in it */
    kept first_field;   /* of the first row */
    int quoted_first;   /* all fields of the first row stand in quotes */
    int quoted_numbers; /* a number below, but for the first column, does */
    int first_name;     /* a column is named x0 */
    int settled;        /* the decimal mark was given or shown */
} head;

/* ---- 1: what the columns have ---------------------------------------------------------------------------- */

static fab_span without_return(fab_span line)
{
    if (line.n && line.p[line.n - 1] == '\r') line.n--;
    return line;
}

static void keep(const head *h, const fab_cut *f, kept *k)
{
    if (k->n == 0) *k = (kept){(size_t)(f->p - (h->s->in.window + h->s->in.begin)), f->n};
}

static const char *show(const head *h, kept k, char shown[FAB_SHOWN])
{
    return fab_show(shown, h->s->in.window + h->s->in.begin + k.at, k.n);
}

static void tally_field(const head *h, tally *t, const fab_cut *f)
{
    const fab_cell kind = fab_cell_kind(h->s, f);
    if (kind == FAB_CELL_MISSING) t->none += fab_cell_is_none(f);
    if (kind == FAB_CELL_EMPTY || kind == FAB_CELL_MISSING) return;
    const fab_look look = fab_notation_look(f->p, f->n);
    if (t->filled++ == 0) t->sign = look.sign;
    if (look.sign != t->sign) t->mixed = 1;
    if (look.shape == FAB_SHAPE_NONE) {
        t->odd_number += fab_number_word(f->p, f->n) != NULL;
        const unsigned char orders = fab_date_orders(f->p, f->n);
        if (orders) t->orders = t->dates++ ? t->orders & orders : orders;
        if (orders) keep(h, f, &t->sample);
        return;
    }
    t->like++;
    t->shape[look.shape]++;
    t->grouped[look.shape] += look.groups;
    t->long_whole += look.long_whole;
    if (look.long_whole) keep(h, f, &t->long_sample);
    if (look.sign) keep(h, f, &t->sample);
    if (look.shape == FAB_SHAPE_COMMA && t->shape[FAB_SHAPE_COMMA] == 1) t->comma.n = 0;
    if (memchr(f->p, ',', f->n)) keep(h, f, &t->comma);
    if (look.shape == FAB_SHAPE_EITHER_POINT || (look.shape == FAB_SHAPE_COMMA && look.groups))
        keep(h, f, &t->point);
    if (look.sign || look.groups) return;
    t->plain[0] += look.shape != FAB_SHAPE_COMMA && look.shape != FAB_SHAPE_EITHER_COMMA;
    t->plain[1] += look.shape != FAB_SHAPE_POINT && look.shape != FAB_SHAPE_EITHER_POINT;
}

static int in_quotes(fab_span row, const fab_cut *f)
{
    return f->p > row.p && f->p[-1] == '"';
}

/* Is the row a new name, and not a number that could be data? */
static fab_status tally_name(head *h, const fab_cut *f)
{
    char *to;
    int64_t code;
    double x;
    FAB_TRY(fab_dictionary_room(h->row_name, f->n + 1, &to));
    memcpy(to, f->p, f->n);
    to[f->n] = '\0';
    const int64_t known = h->row_name->count;
    FAB_TRY(fab_dictionary_code(h->row_name, strlen(to), &code));
    if (code < known || code == FAB_WORDS_MAX) h->same_names = 1;
    const int quoted = f->p[-1] == '"'; /* a field of a line below the first has a byte in front */
    const int number = f->n > 0 && fab_number(f->p, &x) == f->p + f->n;
    if (f->n == 0 || (number && !quoted && x != (double)(h->below + 1))) h->plain_names = 1;
    return FAB_OK;
}

static fab_status tally_row(head *h, fab_span row, int is_below)
{
    const fab_source *s = h->s;
    const char *p = row.p, *end = row.p + row.n;
    fab_cut f = {NULL, 0, 0};
    if (is_below && fab_cells_count(s, h->split, row) != h->columns) {
        h->unequal++;
        return FAB_OK;
    }
    for (int64_t j = 0; p && j < h->columns; j++) {
        p = h->split(s, p, end, &f);
        tally_field(h, &h->column[j], &f);
        if (j == 0 && is_below) FAB_TRY(tally_name(h, &f));
        if (j > 0 && is_below && in_quotes(row, &f) && fab_notation_look(f.p, f.n).shape)
            h->quoted_numbers = 1;
    }
    if (is_below && f.n) h->last_filled = 1;
    return FAB_OK;
}

static void look_first(head *h, fab_span row)
{
    const char *p = row.p, *end = row.p + row.n;
    h->quoted_first = 1;
    for (int64_t j = h->short_header; p && j < h->columns; j++) {
        fab_cut f;
        p = h->split(h->s, p, end, &f);
        if (!in_quotes(row, &f) && (j > 0 || f.n > 0)) h->quoted_first = 0;
        if (j == 0) keep(h, &f, &h->first_field);
        if (j > 0 && f.n == 2 && memcmp(f.p, "x0", 2) == 0) h->first_name = 1;
        const fab_cell kind = fab_cell_kind(h->s, &f);
        unsigned char first = (unsigned char)kind;
        if (kind == FAB_CELL_WORD && fab_notation_look(f.p, f.n).shape) first = FAB_CELL_NUMBER;
        if (kind == FAB_CELL_WORD && fab_date_orders(f.p, f.n)) first = FIRST_DATE;
        h->column[j].first = first;
    }
}

/* A line of the head that begins with # and has another number of fields than the rows is a comment, and so are then all. */
static fab_status is_comment(head *h, fab_span row, int *comment)
{
    fab_source *s = h->s;
    *comment = row.n && s->comment && row.p[0] == s->comment;
    if (*comment || s->comment || s->dialect.comment || s->usual.comment) return FAB_OK;
    if (h->columns < 2 || row.n == 0 || row.p[0] != '#') return FAB_OK;
    if (fab_cells_count(s, h->split, row) == h->columns) return FAB_OK;
    s->comment = '#';
    *comment = 1;
    return fab_source_say(
        s, "lines that begin with '#' are taken for comments; --comment none reads them");
}

/* Has a column 1,050 or the like, and nothing so far says what the comma is? */
static int is_undecided(const head *h)
{
    int32_t either = 0, decided = 0;
    if (h->s->dialect.decimal || h->s->usual.decimal || h->s->separator == ',') return 0;
    for (int64_t j = 0; j < h->columns; j++) {
        either |= h->column[j].shape[FAB_SHAPE_EITHER_COMMA];
        decided |= h->column[j].shape[FAB_SHAPE_COMMA] | h->column[j].shape[FAB_SHAPE_POINT];
    }
    return either && !decided;
}

/* The rows below the first. */
static fab_status tally_below(head *h)
{
    fab_source *s = h->s;
    size_t n = h->first_size;
    int64_t seen = h->first_lines, lines;
    while (h->below == 0 || (s->with_words ? n < FAB_HEAD_BYTES : seen < FAB_HEAD_LINES) ||
           (n < FAB_HEAD_BYTES && is_undecided(h))) {
        fab_span row;
        int comment;
        const fab_status status = fab_lines_look_row(s, h->split, n + 1, &row, &lines);
        if (status == FAB_BAD_FILE) break; /* it fails again once the rows before are read */
        FAB_TRY(status);
        if (!row.p || lines == 0) break; /* the reader will say what is wrong with it */
        n += 1 + row.n;
        seen += lines;
        row = without_return(row);
        FAB_TRY(is_comment(h, row, &comment));
        if (comment || fab_lines_is_blank(s, row)) continue;
        FAB_TRY(tally_row(h, row, 1));
        h->below++;
    }
    return FAB_OK;
}

/* ---- 4: the decimal mark --------------------------------------------------------------------------------- */

static const char *name_of(const head *h, int64_t column, char *to, size_t size)
{
    char shown[FAB_SHOWN];
    const int64_t at = column - h->s->left;
    if (h->s->names && at >= 0)
        snprintf(to, size, "column %lld ('%s')", (long long)column + 1,
                 fab_show(shown, h->s->names[at], strlen(h->s->names[at])));
    else
        snprintf(to, size, "column %lld", (long long)column + 1);
    return to;
}

/* A column all of whose values are numbers, with whatever marks. */
static int is_like_numbers(const tally *t)
{
    return t->filled > 0 && t->like == t->filled;
}

static fab_status find_decimal(head *h)
{
    fab_source *s = h->s;
    char where[2][FAB_SHOWN + 32], shown[FAB_SHOWN];
    int64_t point = -1, comma = -1;
    int with_commas = 0; /* a number has a comma inside; between commas it is in quotes */
    for (int64_t j = 0; j < h->columns; j++) {
        const tally *t = &h->column[j];
        if (!is_like_numbers(t)) continue;
        if (t->shape[FAB_SHAPE_POINT] && point < 0) point = j;
        if (t->shape[FAB_SHAPE_COMMA] && comma < 0) comma = j;
        if (t->shape[FAB_SHAPE_COMMA] || t->shape[FAB_SHAPE_EITHER_COMMA]) with_commas = 1;
    }
    h->settled = s->dialect.decimal || s->usual.decimal || point >= 0 || comma >= 0 ||
                 s->separator == ',';
    if (s->dialect.decimal == ',' && s->separator == ',' && !with_commas)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: the comma separates its fields, and none has a decimal comma in "
                        "quotes; --sep gives another separator",
                        s->in.name);
    if (s->dialect.decimal) return FAB_OK;
    if (comma >= 0 && point >= 0 && s->usual.decimal) {
        s->dialect.decimal = s->usual.decimal;
    } else if (comma >= 0 && point >= 0 && s->separator != ',') {
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: %s has decimal commas, as '%s', and %s decimal points; --decimal "
                        "comma or --decimal point says which are numbers",
                        s->in.name, name_of(h, comma, where[0], sizeof where[0]),
                        show(h, h->column[comma].comma, shown),
                        name_of(h, point, where[1], sizeof where[1]));
    } else if (comma >= 0 && point < 0) {
        s->dialect.decimal = ',';
        return fab_source_say(s,
                              "numbers are read with a decimal comma, as '%s' in %s; --decimal "
                              "point reads them with a point",
                              show(h, h->column[comma].comma, shown),
                              name_of(h, comma, where[0], sizeof where[0]));
    } else if (comma >= 0) { /* in quotes, among numbers with points */
        return fab_source_say(s,
                              "%s has values as '%s', which are no numbers with a decimal point; "
                              "--decimal comma reads them as numbers",
                              name_of(h, comma, where[0], sizeof where[0]),
                              show(h, h->column[comma].comma, shown));
    } else if (point < 0 && with_commas && s->usual.decimal == ',') {
        s->dialect.decimal = ',';
    }
    return FAB_OK;
}

/* ---- 5: forms -------------------------------------------------------------------------------------------- */

/* Values that are read as they stand, without a form. */
static int is_plain(const fab_source *s, const tally *t)
{
    return t->plain[s->number == fab_number_comma] + t->odd_number == t->filled;
}

static fab_status make_form(fab_source *s, int64_t column, fab_notation **form)
{
    if (!s->form) {
        void *p;
        FAB_TRY(fab_alloc_array(&p, s->columns, sizeof *s->form, s->in.name));
        memset(p, 0, (size_t)s->columns * sizeof *s->form);
        s->form = p;
    }
    *form = &s->form[column];
    return FAB_OK;
}

/* Numbers with one sign, or grouped in threes; `at` of the source is column `column` of the file. */
static fab_status find_number_form(head *h, int64_t column, int64_t at)
{
    fab_source *s = h->s;
    const tally *t = &h->column[column];
    const int comma = s->dialect.decimal == ',';
    const fab_shape mine = comma ? FAB_SHAPE_COMMA : FAB_SHAPE_POINT;
    const fab_shape other = comma ? FAB_SHAPE_POINT : FAB_SHAPE_COMMA;
    const fab_shape either = comma ? FAB_SHAPE_EITHER_POINT : FAB_SHAPE_EITHER_COMMA;
    char where[FAB_SHOWN + 32], shown[FAB_SHOWN], long_shown[FAB_SHOWN];
    fab_notation *form;
    if (!is_like_numbers(t) || t->mixed || t->shape[other]) return FAB_OK;
    const kept grouped = comma ? t->point : t->comma;
    const int groups = t->grouped[mine] || t->shape[either];
    name_of(h, column, where, sizeof where);
    if (groups && (!h->settled || t->long_whole)) {
        char whole[FAB_SHOWN + 32] = "";
        if (t->long_whole)
            snprintf(whole, sizeof whole, ", and '%s' is not grouped",
                     show(h, t->long_sample, long_shown));
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: %s: '%s' is a number in groups of three digits, or one with a decimal "
                        "%s%s; --decimal point or --decimal comma says which",
                        s->in.name, where, show(h, grouped, shown), comma ? "point" : "comma",
                        whole);
    }
    const int quoted = comma && s->separator == ',' &&
                       (t->shape[mine] || t->shape[FAB_SHAPE_EITHER_COMMA]);
    if (!groups && !t->sign && !quoted) return FAB_OK;
    FAB_TRY(make_form(s, at, &form));
    form->decimal = comma ? ',' : '.';
    form->sign = t->sign;
    form->group = '\0';
    if (groups) {
        form->group = comma ? '.' : ',';
        s->dialect.decimal = comma ? ',' : '.'; /* other rows need not show it */
    }
    const char *here = s->in.window + s->in.begin;
    double x = 0;
    if (t->sign) {
        fab_notation_number(form, here + t->sample.at, t->sample.n, &x);
        FAB_TRY(fab_source_say(s, "%s: the sign '%s' is left out: '%s' is %.15g", where,
                               fab_notation_sign(t->sign), show(h, t->sample, shown), x));
    }
    if (groups) {
        fab_notation_number(form, here + grouped.at, grouped.n, &x);
        FAB_TRY(fab_source_say(s,
                               "%s: the marks between groups of three digits are left out: '%s' is "
                               "%.15g",
                               where, show(h, grouped, shown), x));
    }
    return FAB_OK;
}

/* Dates are flagged, and read as numbers where that is asked for. */
static fab_status find_dates(head *h, int64_t column, int64_t at)
{
    fab_source *s = h->s;
    const tally *t = &h->column[column];
    const fab_dates asked = s->dialect.dates ? s->dialect.dates : s->usual.dates;
    char where[FAB_SHOWN + 32], shown[FAB_SHOWN];
    fab_notation *form;
    unsigned char orders = t->orders;
    if (t->dates == 0 || t->dates != t->filled || orders == 0) return FAB_OK;
    FAB_TRY(make_form(s, at, &form));
    form->date = orders;
    if (!asked) return FAB_OK;
    name_of(h, column, where, sizeof where);
    if (orders == (FAB_ORDER_DAY | FAB_ORDER_MONTH)) {
        if (asked == FAB_DATES_NUMBERS || asked == FAB_DATES_PARTS)
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s: %s: '%s' has day and month in either order; --dates day-first or "
                            "--dates month-first says which",
                            s->in.name, where, show(h, t->sample, shown));
        orders = asked == FAB_DATES_DAY_FIRST ? FAB_ORDER_DAY : FAB_ORDER_MONTH;
    }
    if ((asked == FAB_DATES_DAY_FIRST && orders == FAB_ORDER_MONTH) ||
        (asked == FAB_DATES_MONTH_FIRST && orders == FAB_ORDER_DAY))
        return FAB_FAIL(FAB_BAD_DATA, "%s: %s: its dates do not have the %s first, as '%s'",
                        s->in.name, where, asked == FAB_DATES_DAY_FIRST ? "day" : "month",
                        show(h, t->sample, shown));
    form->date = orders;
    form->number = 1;
    form->time = memchr(h->s->in.window + h->s->in.begin + t->sample.at, ':', t->sample.n) != NULL;
    s->parts = asked == FAB_DATES_PARTS;
    s->dialect.dates = s->parts ? FAB_DATES_NUMBERS : asked; /* the parts are in a formula */
    if (orders == FAB_ORDER_DAY ||
        orders == FAB_ORDER_MONTH) /* so that other rows are read in the same order */
        s->dialect.dates = orders == FAB_ORDER_DAY ? FAB_DATES_DAY_FIRST : FAB_DATES_MONTH_FIRST;
    return fab_source_say(s, "%s: dates are read as %s", where,
                          s->parts ? "their parts: year, month, weekday" : "days since 1970-01-01");
}

/* ---- 2: names -------------------------------------------------------------------------------------------- */

/* Copy the names of the columns that stay: an array of pointers, then the text, in one block.  An empty name is made up.
 * The fields of `line` are those of the columns from `from` on. */
static fab_status keep_names(head *h, fab_span line, int64_t from)
{
    fab_source *s = h->s;
    void *block;
    const int64_t pointers = s->columns * (int64_t)sizeof(char *), made = 24 * s->columns;
    FAB_TRY(fab_alloc_array(&block, pointers + made + 3 * (int64_t)line.n, 1, s->in.name));
    s->names = block;
    char *to = (char *)block + pointers;
    const char *p = line.p;
    for (int64_t j = 0; j < h->columns; j++) {
        fab_cut f = {NULL, 0, 0};
        if (j >= from) p = h->split(s, p, line.p + line.n, &f);
        if (j < s->left) continue;
        s->names[j - s->left] = to;
        if (f.n)
            FAB_TRY(fab_cell_copy(s, &to, &f));
        else
            to += 1 + snprintf(to, 24, "x%lld", (long long)(j - s->left));
    }
    return fab_source_unique_names(s);
}

/* Pass a header of `lines` lines; at least one row must follow. */
static fab_status pass_header(fab_source *s, int64_t lines)
{
    fab_span line;
    for (; lines > 0; lines--) FAB_TRY(fab_stream_line(&s->in, &line));
    const int64_t last = s->in.lines;
    FAB_TRY(fab_lines_skip_blank(s));
    FAB_TRY(fab_stream_look(&s->in, 1, &line));
    if (line.n) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA, "%s: has a header (line %lld) and no rows", s->in.name,
                    (long long)last);
}

static int is_header(const head *h)
{
    const fab_source *s = h->s;
    int64_t words = 0;
    if (h->short_header) return 1;
    if (h->quoted_first && !h->quoted_numbers && h->columns > 1) return 1;
    for (int64_t j = 0; j < h->columns; j++) {
        const tally *t = &h->column[j];
        const int dates = t->dates && t->dates == t->filled;
        const int word = t->first == FAB_CELL_WORD || (t->first == FIRST_DATE && !dates);
        if (word && !s->with_words) return 1;
        if (word && (is_like_numbers(t) || dates || (t->filled && is_plain(s, t)))) return 1;
        words += word || (j == 0 && h->columns > 1 && t->first == FAB_CELL_EMPTY);
    }
    return s->with_words && words == h->columns;
}

/* The comment in front of the first row, when it has as many fields as that. */
static int heading_fits(const head *h, fab_span *line)
{
    const fab_source *s = h->s;
    if (!s->heading) return 0;
    const char *p = s->heading + strspn(s->heading, " \t#");
    *line = (fab_span){p, strlen(p)};
    line->n = fab_lines_trimmed(*line);
    return line->n && !fab_cells_open(s, h->split, *line) &&
           fab_cells_count(s, h->split, *line) == h->columns;
}

/* ---- 3: an index ----------------------------------------------------------------------------------------- */

static int has_index(const head *h)
{
    const tally *t = &h->column[0];
    if (h->columns < 2 || h->below == 0 || h->same_names) return 0;
    if (t->shape[FAB_SHAPE_POINT] || t->shape[FAB_SHAPE_COMMA]) return 0;
    return h->short_header || t->first == FAB_CELL_EMPTY;
}

/* ---- 6: columns of words --------------------------------------------------------------------------------- */

static fab_status make_words(fab_source *s, int64_t column)
{
    if (!s->words) {
        void *p;
        FAB_TRY(fab_alloc_array(&p, s->columns, sizeof *s->words, s->in.name));
        s->words = p;
        for (int64_t j = 0; j < s->columns; j++) s->words[j] = NULL;
    }
    if (s->words[column]) return FAB_OK;
    if (++s->word_columns > s->columns_max / FAB_COLUMNS_PER_WORDS)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: has more than %lld columns of words; is the separator right? "
                        "--max-columns raises the limit",
                        s->in.name, (long long)(s->columns_max / FAB_COLUMNS_PER_WORDS));
    return fab_dictionary_create(&s->words[column], s->in.name);
}

/* What is done with a column of a list. */
typedef fab_status listed_fn(fab_source *s, const char *name);

static fab_status listed_words(fab_source *s, const char *name)
{
    int64_t column;
    FAB_TRY(fab_source_find_column(s, name, &column));
    return make_words(s, column);
}

/* A column that is not there needs no level. */
static fab_status listed_none(fab_source *s, const char *name)
{
    const int64_t column = fab_source_column(s, name);
    fab_notation *form;
    if (column < 0) return FAB_OK;
    FAB_TRY(make_form(s, column, &form));
    form->none = 1;
    return FAB_OK;
}

/* For each column of a list with commas. */
static fab_status each_listed(fab_source *s, const char *list, listed_fn *put)
{
    char *copy;
    fab_status status = FAB_OK;
    FAB_TRY(fab_copy_text(&copy, list));
    for (char *next = copy; next && status == FAB_OK;) {
        char *word = next + strspn(next, " \t"), *comma = strchr(word, ',');
        next = comma ? comma + 1 : NULL;
        char *end = comma ? comma : word + strlen(word);
        while (end > word && strchr(" \t", end[-1])) end--;
        *end = '\0';
        status = put(s, word);
    }
    fab_release(copy);
    return status;
}

/* "none" is a level where it is frequent, FEW_NONE fields and a twentieth of them, and the others are words. */
static fab_status find_none(head *h, int64_t column, int64_t at)
{
    fab_source *s = h->s;
    const tally *t = &h->column[column];
    const int frequent = t->none >= FEW_NONE && 20 * t->none >= t->none + t->filled &&
                         t->like + t->odd_number == 0 && !s->dialect.na[0];
    fab_notation *form;
    char where[FAB_SHOWN + 32];
    if (s->none || !frequent) return FAB_OK;
    FAB_TRY(make_form(s, at, &form));
    form->none = 1;
    return fab_source_say(s,
                          "%s: 'None' is frequent and taken for a word; --na None makes it a "
                          "missing value",
                          name_of(h, column, where, sizeof where));
}

/* Do the fields of a column below the first row all differ? */
static fab_status all_differ(const head *h, int64_t column, int *differ)
{
    fab_source *s = h->s;
    fab_dictionary *words;
    size_t n = h->first_size;
    int64_t lines, rows = 0;
    FAB_TRY(fab_dictionary_create(&words, s->in.name));
    fab_status status = FAB_OK;
    *differ = 1;
    while (rows < h->below && *differ && status == FAB_OK) {
        fab_span row;
        char *to;
        int64_t code;
        status = fab_lines_look_row(s, h->split, n + 1, &row, &lines);
        if (status != FAB_OK || !row.p || lines == 0) break;
        n += 1 + row.n;
        row = without_return(row);
        if (fab_lines_is_blank(s, row) || (row.n && s->comment && row.p[0] == s->comment)) continue;
        rows++;
        const char *p = row.p;
        fab_cut f = {NULL, 0, 0};
        for (int64_t j = 0; p && j <= column; j++) p = h->split(s, p, row.p + row.n, &f);
        const int64_t known = words->count;
        status = fab_dictionary_room(words, f.n + 1, &to);
        if (status != FAB_OK) break;
        if (f.n) memcpy(to, f.p, f.n);
        to[f.n] = '\0';
        status = fab_dictionary_code(words, f.n, &code);
        *differ = status == FAB_OK && code == known;
    }
    fab_dictionary_free(words);
    return status;
}

/* Without words: the columns that may name the rows.  A few are looked for: where more have words, they are data. */
static fab_status find_keys(head *h)
{
    enum { MOST = 8 };
    fab_source *s = h->s;
    int looked = 0;
    if (s->with_words || !s->leave_index || !s->names || h->below < 2) return FAB_OK;
    for (int64_t j = s->left; j < h->columns && looked < MOST; j++) {
        const tally *t = &h->column[j];
        const int64_t at = j - s->left;
        const int words = t->like + t->odd_number + t->dates == 0;
        const int numbers = t->shape[FAB_SHAPE_WHOLE] == t->filled &&
                            fab_name_numbers_rows(s->names[at]);
        int differ;
        if (t->filled == 0 || t->filled < h->below || (!words && !numbers)) continue;
        looked++;
        FAB_TRY(all_differ(h, j, &differ));
        if (!differ) continue;
        if (!s->key) {
            FAB_TRY(fab_alloc_array((void **)&s->key, s->columns, 1, s->in.name));
            memset(s->key, 0, (size_t)s->columns);
        }
        s->key[at] = 1;
    }
    return FAB_OK;
}

/* ---- the head of a file ---------------------------------------------------------------------------------- */

/* Forms and words of the columns that stay. */
static fab_status find_columns(head *h)
{
    fab_source *s = h->s;
    char where[FAB_SHOWN + 32];
    if (s->has_index && !s->left && !is_plain(s, &h->column[0])) {
        fab_notation *form;
        FAB_TRY(make_form(s, 0, &form));
        form->row_name = 1;
    }
    if (s->categorical) FAB_TRY(each_listed(s, s->categorical, listed_words));
    if (s->none) FAB_TRY(each_listed(s, s->none, listed_none));
    int dated = 0;
    for (int64_t j = s->left; j < h->columns; j++) {
        const tally *t = &h->column[j];
        const int64_t at = j - s->left;
        dated |= t->dates > 0;
        if (s->form && s->form[at].row_name) continue;
        s->noted = at + 1;
        if (s->words && s->words[at]) { /* as they stand */
            FAB_TRY(find_none(h, j, at));
            continue;
        }
        FAB_TRY(find_dates(h, j, at));
        FAB_TRY(find_number_form(h, j, at));
        const fab_notation *form = s->form ? &s->form[at] : NULL;
        if (form && (form->decimal || form->number)) continue;
        if (!s->with_words || t->filled == 0 || is_plain(s, t)) continue;
        FAB_TRY(make_words(s, at));
        name_of(h, j, where, sizeof where);
        if (form && form->date)
            FAB_TRY(fab_source_say(
                s,
                "%s: dates are read as words; --dates numbers reads days, --dates parts "
                "year, month and weekday",
                where));
        if (is_like_numbers(t))
            FAB_TRY(
                fab_source_say(s,
                               "%s: its values are numbers that are not all written in one way: "
                               "they are read as words",
                               where));
        FAB_TRY(find_none(h, j, at));
    }
    s->noted = 0;
    if (s->dialect.dates && !dated)
        return fab_source_say(s, "no column holds dates: what is said of them has no effect");
    return FAB_OK;
}

/* A name that is a number among words is more often a count of rows, or data. */
static fab_status remark_numbers(head *h)
{
    char shown[FAB_SHOWN];
    if (h->column[0].first != FAB_CELL_NUMBER || h->short_header || h->quoted_first ||
        h->s->concern)
        return FAB_OK;
    return fab_source_say(
        h->s, "line %lld is taken for the names of its columns, though '%s' is a number",
        (long long)h->first_lines, show(h, h->first_field, shown));
}

static fab_status read_head(head *h)
{
    fab_source *s = h->s;
    fab_span row, line;
    FAB_TRY(tally_below(h));
    FAB_TRY(fab_stream_look(&s->in, h->first_size, &row)); /* the window has moved */
    row = without_return(row);
    if (h->short_header &&
        (h->unequal || h->same_names || h->plain_names || !h->last_filled || h->below == 0)) {
        h->short_header = 0; /* the first row counts: those below have one field too many */
        h->columns--;
        memset(h->column, 0, (size_t)h->columns * sizeof *h->column);
        h->below = h->unequal = 0;
    }
    look_first(h, row);
    const int named = is_header(h);
    const int heading = !named && heading_fits(h, &line);
    if (!named) FAB_TRY(tally_row(h, row, 0));
    s->columns = h->columns;
    s->has_index = named && has_index(h);
    s->left = s->has_index && (s->leave_index || h->first_name);
    s->columns -= s->left;
    if (named) FAB_TRY(keep_names(h, row, h->short_header));
    if (heading) {
        FAB_TRY(keep_names(h, line, 0));
        FAB_TRY(fab_source_say(s, "the comment in front of its rows has the names of its columns"));
    }
    FAB_TRY(find_decimal(h));
    if (s->dialect.decimal == ',' && s->separator != ',') s->number = fab_number_comma;
    fab_source_take_na(s);
    if (s->left && !s->concern)
        FAB_TRY(
            fab_source_say(s, "its first column has no name and a value of its own in each row: an "
                              "index, which is left out"));
    FAB_TRY(find_columns(h));
    if (named) FAB_TRY(remark_numbers(h));
    FAB_TRY(find_keys(h));
    return named ? pass_header(s, h->first_lines) : FAB_OK;
}

/* Has the first row words only, and the second one field more? */
static fab_status find_short_header(head *h, fab_span first)
{
    fab_source *s = h->s;
    size_t n = h->first_size;
    const char *p = first.p;
    int64_t lines;
    fab_span row;
    while (p) {
        fab_cut f;
        p = h->split(s, p, first.p + first.n, &f);
        if (fab_cell_kind(s, &f) != FAB_CELL_WORD || fab_notation_look(f.p, f.n).shape)
            return FAB_OK;
    }
    do {
        FAB_TRY(fab_lines_look_row(s, h->split, n + 1, &row, &lines));
        if (!row.p || lines == 0) return FAB_OK;
        n += 1 + row.n;
        row = without_return(row);
    } while (fab_lines_is_blank(s, row) || (row.n && s->comment && row.p[0] == s->comment));
    if (fab_cells_count(s, h->split, row) != h->columns + 1) return FAB_OK;
    h->short_header = 1;
    h->columns++;
    return FAB_OK;
}

fab_status fab_lines_open(fab_source *s, fab_split_fn *split)
{
    head h = {.s = s, .split = split};
    fab_span row;
    if (!s->dialect.na[0]) memcpy(s->dialect.na, s->usual.na, sizeof s->dialect.na);
    if (s->dialect.decimal == ',' && s->separator != ',') s->number = fab_number_comma;
    fab_source_take_na(s);
    FAB_TRY(fab_lines_first(s));
    FAB_TRY(fab_lines_look_row(s, split, 0, &row, &h.first_lines));
    if (h.first_lines == 0)
        return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld opens a quote that does not close", s->in.name,
                        (long long)s->in.lines + 1);
    h.first_size = row.n;
    row = without_return(row);
    h.columns = fab_cells_count(s, split, row);
    FAB_TRY(find_short_header(&h, row));
    FAB_TRY(fab_source_check_columns(s, h.columns));
    void *column;
    FAB_TRY(fab_alloc_array(&column, h.columns, sizeof *h.column, s->in.name));
    h.column = column;
    memset(column, 0, (size_t)h.columns * sizeof *h.column);
    fab_status status = fab_dictionary_create(&h.row_name, s->in.name);
    if (status == FAB_OK) status = read_head(&h);
    fab_dictionary_free(h.row_name);
    fab_release(column);
    return status;
}
