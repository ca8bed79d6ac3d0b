/* lines.c - what formats of one row per line share: the header, blank lines, and sentences about faults.
 *
 * A row function is fast and says only yes or no.  When it says no the line is looked at again, slowly,
 * field by field, to say what is wrong and where.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data/lines.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "data/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HEADER_LINES = 100 /* a quoted name may contain line ends, but not more */ };

/* ---- lines ----------------------------------------------------------------------------------- */

/* Only blanks that separate nothing? */
static int is_blank(const fab_source *s, fab_span line)
{
    for (size_t i = 0; i < line.n; i++)
        if ((line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r') ||
            line.p[i] == s->separator)
            return 0;
    return 1;
}

fab_status fab_lines_take(fab_source *s, fab_span *line)
{
    do FAB_TRY(fab_stream_line(&s->in, line));
    while (line->p && is_blank(s, *line));
    return FAB_OK;
}

int fab_lines_each(fab_span *head, fab_span *line, int64_t *count)
{
    while (head->n > 0) {
        const char *stop = memchr(head->p, '\n', head->n);
        if (!stop && *count > 0) return 0;
        fab_span next = {head->p, stop ? (size_t)(stop - head->p) : head->n};
        const size_t used = next.n + (stop != NULL);
        *head = (fab_span){head->p + used, head->n - used};
        while (next.n && strchr(" \t\r", next.p[next.n - 1])) next.n--;
        if (next.n == 0) continue;
        *line = next;
        ++*count;
        return 1;
    }
    return 0;
}

/* ---- sentences ------------------------------------------------------------------------------- */

fab_status fab_lines_refuse(const fab_source *s, const char *place, const char *p, size_t n)
{
    char shown[FAB_SHOWN];
    double x;
    const char *word = fab_number_word(p, n);
    if (n == 0)
        return FAB_FAIL(FAB_BAD_DATA, "%s: %s is empty: a missing value", s->in.name, place);
    if (word) return FAB_FAIL(FAB_BAD_DATA, "%s: %s is %s", s->in.name, place, word);
    fab_show(shown, p, n);
    if (!fab_number(p, &x) && isinf(x))
        return FAB_FAIL(FAB_BAD_DATA, "%s: %s: '%s' is too large for a double", s->in.name, place,
                        shown);
    return FAB_FAIL(FAB_BAD_DATA, "%s: %s: '%s' is not a number", s->in.name, place, shown);
}

static int is_number(const fab_cut *f)
{
    double x;
    return f->n > 0 && fab_number(f->p, &x) == f->p + f->n;
}

static fab_status refuse_field(const fab_source *s, int64_t column, const fab_cut *f)
{
    char place[FAB_SHOWN + 64], name[FAB_SHOWN];
    int used = snprintf(place, sizeof place, "line %lld, column %lld", (long long)s->in.lines,
                        (long long)column + 1);
    if (s->names)
        snprintf(place + used, sizeof place - (size_t)used, " ('%s')",
                 fab_show(name, s->names[column], strlen(s->names[column])));
    return fab_lines_refuse(s, place, f->p, f->n);
}

static int64_t count_fields(const fab_source *s, fab_split_fn *split, fab_span line)
{
    fab_cut f;
    int64_t n = 0;
    for (const char *p = line.p; p; n++) p = split(s, p, line.p + line.n, &f);
    return n;
}

static fab_status refuse_line(const fab_source *s, fab_split_fn *split, fab_span line)
{
    const int64_t n = count_fields(s, split, line);
    if (n != s->columns)
        return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld has %lld value%s, expected %lld", s->in.name,
                        (long long)s->in.lines, (long long)n, n == 1 ? "" : "s",
                        (long long)s->columns);
    const char *p = line.p;
    for (int64_t j = 0; p; j++) {
        fab_cut f;
        p = split(s, p, line.p + line.n, &f);
        if (!is_number(&f)) return refuse_field(s, j, &f);
    }
    return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld is not a row", s->in.name, (long long)s->in.lines);
}

/* ---- the header ------------------------------------------------------------------------------ */

/* Words that stand for a value that is not there: they make no header. */
static int is_missing(const fab_cut *f)
{
    static const char *const words[] = {"", "na", "n/a", "null", "none", "?", "-", "."};
    if (fab_number_word(f->p, f->n)) return 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (f->n == strlen(words[i]) && strncasecmp(f->p, words[i], f->n) == 0) return 1;
    return 0;
}

/* A header has a field that is neither a number nor a missing value. */
static int is_header(const fab_source *s, fab_split_fn *split, fab_span line)
{
    for (const char *p = line.p; p;) {
        fab_cut f;
        p = split(s, p, line.p + line.n, &f);
        if (!is_number(&f) && !is_missing(&f)) {
            double x;
            return fab_number(f.p, &x) || !isinf(x); /* 1e999 is a number, if no good one */
        }
    }
    return 0;
}

static char *copy_name(char *to, const fab_cut *f)
{
    for (size_t i = 0; i < f->n; i++) {
        *to++ = f->p[i];
        if (f->quoted && f->p[i] == '"') i++; /* "" is one " */
    }
    *to++ = '\0';
    return to;
}

/* Copy the names: an array of pointers, then the text, in one block.  An empty name is made up. */
static fab_status keep_names(fab_source *s, fab_split_fn *split, fab_span line)
{
    void *block;
    const int64_t pointers = s->columns * (int64_t)sizeof(char *), made = 24 * s->columns;
    FAB_TRY(fab_alloc_array(&block, pointers + made + (int64_t)line.n, 1, s->in.name));
    s->names = block;
    char *to = (char *)block + pointers;
    const char *p = line.p;
    for (int64_t j = 0; j < s->columns; j++) {
        fab_cut f;
        p = split(s, p, line.p + line.n, &f);
        s->names[j] = to;
        to = f.n ? copy_name(to, &f) : to + 1 + snprintf(to, 24, "x%lld", (long long)j);
    }
    return FAB_OK;
}

/* Does the last field open a quote that this text does not close? */
static int is_open(const fab_source *s, fab_split_fn *split, fab_span line)
{
    fab_cut f = {NULL, 0, 0};
    for (const char *p = line.p; p;) p = split(s, p, line.p + line.n, &f);
    return f.quoted && f.p + f.n == line.p + line.n;
}

/* Look at the first row: one line, or several when a quoted name goes on. */
static fab_status look_first(fab_source *s, fab_split_fn *split, fab_span *row, int64_t *lines)
{
    FAB_TRY(fab_stream_look_line(&s->in, 0, row));
    *lines = 1;
    while (row->p && is_open(s, split, *row)) {
        fab_span longer;
        FAB_TRY(fab_stream_look_line(&s->in, row->n + 1, &longer));
        if (!longer.p || *lines == HEADER_LINES)
            return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld opens a quote that does not close",
                            s->in.name, (long long)s->in.lines + 1);
        *row = longer;
        ++*lines;
    }
    return FAB_OK;
}

/* Take the byte order mark that some programs put in front. */
static fab_status skip_mark(fab_source *s)
{
    fab_span mark;
    FAB_TRY(fab_stream_look(&s->in, 3, &mark));
    if (mark.n == 3 && memcmp(mark.p, "\xEF\xBB\xBF", 3) == 0) fab_stream_take(&s->in, 3);
    return FAB_OK;
}

/* Take blank lines. */
static fab_status skip_blank(fab_source *s)
{
    fab_span line;
    for (;;) {
        FAB_TRY(fab_stream_look_line(&s->in, 0, &line));
        if (!line.p || !is_blank(s, line)) return FAB_OK;
        FAB_TRY(fab_stream_line(&s->in, &line));
    }
}

fab_status fab_lines_first(fab_source *s)
{
    fab_span seen;
    FAB_TRY(skip_mark(s));
    FAB_TRY(skip_blank(s));
    FAB_TRY(fab_stream_look(&s->in, 1, &seen));
    if (seen.n == 0) return FAB_FAIL(FAB_BAD_DATA, "%s: has no rows", s->in.name);
    return FAB_OK;
}

/* Pass a header of `lines` lines; at least one row must follow. */
static fab_status pass_header(fab_source *s, int64_t lines)
{
    fab_span line;
    for (; lines > 0; lines--) FAB_TRY(fab_stream_line(&s->in, &line));
    const int64_t last = s->in.lines;
    FAB_TRY(skip_blank(s));
    FAB_TRY(fab_stream_look(&s->in, 1, &line));
    if (line.n) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA, "%s: has a header (line %lld) and no rows", s->in.name,
                    (long long)last);
}

fab_status fab_lines_open(fab_source *s, fab_split_fn *split)
{
    fab_span row;
    int64_t lines;
    FAB_TRY(fab_lines_first(s));
    FAB_TRY(look_first(s, split, &row, &lines));
    if (row.p[row.n - 1] == '\r') row.n--;
    s->columns = count_fields(s, split, row);
    if (!is_header(s, split, row)) return FAB_OK;
    FAB_TRY(keep_names(s, split, row));
    return pass_header(s, lines);
}

/* ---- rows ------------------------------------------------------------------------------------ */

fab_status fab_lines_next(fab_source *s, fab_row_fn *row, fab_split_fn *split, double *out,
                          int *got)
{
    fab_span line;
    *got = 0;
    FAB_TRY(fab_lines_take(s, &line));
    if (!line.p) return FAB_OK;
    *got = 1;
    if (!out || row(s, line.p, line.p + line.n, out)) return FAB_OK;
    return refuse_line(s, split, line);
}
