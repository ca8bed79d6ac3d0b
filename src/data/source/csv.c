/* csv.c - values with a separator between them, with the quotes of RFC 4180.
 *
 * The separator of csv is given, or it is the comma, the semicolon or the pipe that stands in every row equally often
 * (find_separator).  Blanks around a field do not count.  A row is a line, or several where a quoted field has line ends.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/lines.h"
#include "data/source/number.h"
#include <string.h>

static int is_pad(const fab_source *s, char c)
{
    return c == ' ' || (c == '\t' && s->separator != '\t');
}

/* The byte behind the closing quote of the field that starts at p, or NULL when it does not close. */
static const char *closing(const char *p, const char *end)
{
    while ((p = memchr(p, '"', (size_t)(end - p)))) {
        if (p + 1 == end || p[1] != '"') return p + 1;
        p += 2;
    }
    return NULL;
}

static const char *split_quoted(const fab_source *s, const char *p, const char *end, fab_cut *field)
{
    const char *after = closing(p, end);
    if (!after) { /* not closed: with its quote, so that it is no number */
        *field = (fab_cut){p - 1, (size_t)(end - (p - 1)), 1};
        return NULL;
    }
    *field = (fab_cut){p, (size_t)(after - 1 - p), 1};
    while (after < end && is_pad(s, *after)) after++;
    if (after == end) return NULL;
    if (*after == s->separator) return after + 1;
    const char *stop = memchr(after, s->separator, (size_t)(end - after)); /* "a"b: as it stands */
    *field = (fab_cut){p - 1, (size_t)((stop ? stop : end) - (p - 1)), 0};
    return stop ? stop + 1 : NULL;
}

static const char *split(const fab_source *s, const char *p, const char *end, fab_cut *field)
{
    while (p < end && is_pad(s, *p)) p++;
    if (p < end && *p == '"') return split_quoted(s, p + 1, end, field);
    const char *stop = memchr(p, s->separator, (size_t)(end - p));
    const char *last = stop ? stop : end;
    while (last > p && is_pad(s, last[-1])) last--;
    *field = (fab_cut){p, (size_t)(last - p), 0};
    return stop ? stop + 1 : NULL;
}

/* A number with blanks or quotes around it; gives its separator or the end, NULL when it is none. */
static const char *padded(const fab_source *s, const char *p, const char *end, double *x)
{
    fab_cut f;
    const char *next = split(s, p, end, &f);
    if (f.n == 0 || s->number(f.p, x) != f.p + f.n) return NULL;
    return next ? next - 1 : end;
}

/* Compiled for either decimal mark, so that the call is direct. */
__attribute__((always_inline)) static inline int row_of(const fab_source *s, const char *p,
                                                        const char *end, double *out,
                                                        fab_number_fn *number)
{
    const char separator = s->separator;
    const int64_t columns = s->columns;
    for (int64_t j = 0; j < columns; j++) {
        const char *q = number(p, &out[j]);
        if (!q || (q != end && *q != separator)) q = padded(s, p, end, &out[j]);
        if (!q || (q == end) != (j == columns - 1)) return 0;
        p = q + 1;
    }
    return 1;
}

static int row(const fab_source *s, const char *p, const char *end, double *out)
{
    if (s->number == fab_number) return row_of(s, p, end, out, fab_number);
    return row_of(s, p, end, out, fab_number_comma);
}

/* How often c stands in the line outside quotes; anywhere, when a quote does not close. */
static int64_t count(fab_span line, char c)
{
    int64_t outside = 0, anywhere = 0;
    int inside = 0;
    for (size_t i = 0; i < line.n; i++) {
        inside ^= line.p[i] == '"';
        anywhere += line.p[i] == c;
        outside += line.p[i] == c && !inside;
    }
    return inside ? anywhere : outside;
}

/* Could a number end or start with this byte? */
static int is_digit(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+';
}

/* A blank between two numbers of one tab-separated field?  Between words it is part of a name. */
static int has_inner_blank(fab_span line)
{
    for (size_t i = 1; i + 1 < line.n; i++)
        if (line.p[i] == ' ' && is_digit(line.p[i - 1])) {
            while (i + 1 < line.n && line.p[i] == ' ') i++;
            if (is_digit(line.p[i])) return 1;
        }
    return 0;
}

/* The next row of the head: a line that is not blank and no comment, or several where a quote goes on; the first of
 * these alone where it does not close.  A last line without its end is given only when it is the only one. */
static int each_row(fab_span *head, fab_span *row, int64_t *count)
{
    fab_span rest = *head;
    int64_t one = *count;
    if (!fab_lines_each(&rest, row, &one)) return 0;
    int inside = 0;
    const char *p = row->p, *end = head->p + head->n;
    for (; p < end && (inside || *p != '\n'); p++) inside ^= *p == '"';
    if (!inside && p > row->p + row->n) {
        if (p == end && *count > 0) return 0; /* it may go on behind the head */
        *row = (fab_span){row->p, (size_t)(p - row->p)};
        if (row->p[row->n - 1] == '\r') row->n--;
        p += p < end;
        rest = (fab_span){p, (size_t)(end - p)};
    }
    *head = rest;
    *count = one;
    return 1;
}

/* How often c stands in the rows of the head: in all of them equally often, of which the first may have one less
 * (tables of R have no name for their row names); 0: not so.  *first: in the first row. */
static int64_t equal_count(fab_span head, char c, int64_t *first)
{
    fab_span row = {NULL, 0};
    int64_t rows = 0, each = 0;
    *first = 0;
    while (each_row(&head, &row, &rows)) {
        const int64_t n = count(row, c);
        if (rows == 1) *first = each = n;
        if (rows == 2 && n == each + 1) each = n;
        if (n != each) return 0;
    }
    return each;
}

/* Does every comma outside quotes stand between two digits? */
static int commas_are_decimal(fab_span head)
{
    int inside = 0;
    for (size_t i = 0; i < head.n; i++) {
        inside ^= head.p[i] == '"';
        if (inside || head.p[i] != ',') continue;
        if (i == 0 || i + 1 == head.n) return 0;
        const char before = head.p[i - 1], after = head.p[i + 1];
        if (before < '0' || before > '9' || after < '0' || after > '9') return 0;
    }
    return 1;
}

/* The same number of tabs in every row, one of them in front of something, and no blanks between numbers inside the
 * fields of the last. */
static int sniff_tsv(fab_span head, const fab_dialect *given)
{
    fab_span row = {NULL, 0}, all = head;
    int64_t rows = 0, first;
    int inside = 0;
    if (given->separator) return given->separator == '\t';
    if (equal_count(head, '\t', &first) == 0) return 0;
    while (each_row(&all, &row, &rows))
        inside |= memchr(row.p, '\t', fab_lines_trimmed(row)) != NULL;
    return inside && !has_inner_blank(row);
}

/* 1  what is given
 * 2  the semicolon, where it stands in all rows equally often and commas do not, or only between digits
 * 3  the comma, then the semicolon, where the first row has one
 * 4  the pipe, where it stands in all rows equally often, and no blank between numbers
 * '\0': none of them. */
static char find_separator(fab_span head, const fab_dialect *given)
{
    int64_t commas, semicolons, pipes;
    if (given->separator) return given->separator; /* 1 */
    const int64_t equal_commas = equal_count(head, ',', &commas);
    const int64_t equal_semicolons = equal_count(head, ';', &semicolons);
    const int decimal = given->decimal == ',' || commas_are_decimal(head);
    if (equal_semicolons && (equal_commas == 0 || decimal)) return ';'; /* 2 */
    if (commas) return ',';                                             /* 3 */
    if (semicolons) return ';';
    if (equal_count(head, '|', &pipes) == 0) return '\0'; /* 4 */
    fab_span row = {NULL, 0};
    int64_t rows = 0;
    while (each_row(&head, &row, &rows))
        if (has_inner_blank(row)) return '\0';
    return '|';
}

static int sniff_csv(fab_span head, const fab_dialect *given)
{
    const char separator = find_separator(head, given);
    return separator != '\0' && separator != ' ';
}

static fab_status open_csv(fab_source *s)
{
    fab_span head;
    FAB_TRY(fab_stream_head(&s->in, FAB_HEAD_LINES, FAB_HEAD_BYTES, &head));
    s->separator = find_separator(head, &s->dialect);
    if (s->separator == '\0') s->separator = ','; /* one column */
    return fab_lines_open(s, split);
}

static fab_status open_tsv(fab_source *s)
{
    s->separator = '\t';
    return fab_lines_open(s, split);
}

static fab_status next(fab_source *s, double *out, int *got)
{
    return fab_lines_next(s, row, split, out, got);
}

const fab_reader fab_reader_csv = {FAB_FORMAT_CSV, "csv", sniff_csv, open_csv, next};
const fab_reader fab_reader_tsv = {FAB_FORMAT_TSV, "tsv", sniff_tsv, open_tsv, next};
