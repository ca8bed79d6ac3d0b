/* csv.c - comma- and tab-separated values, with the quotes of RFC 4180.
 *
 * The separator of csv is the comma, or the semicolon where the first line has no comma.  Blanks around a
 * field do not count.  A row is a line: only a quoted name in the header may contain a line end.
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
    if (f.n == 0 || fab_number(f.p, x) != f.p + f.n) return NULL;
    return next ? next - 1 : end;
}

static int row(const fab_source *s, const char *p, const char *end, double *out)
{
    const char separator = s->separator;
    for (int64_t j = 0; j < s->columns; j++) {
        const char *q = fab_number(p, &out[j]);
        if (!q || (q != end && *q != separator)) q = padded(s, p, end, &out[j]);
        if (!q || (q == end) != (j == s->columns - 1)) return 0;
        p = q + 1;
    }
    return 1;
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

/* The same number of tabs in every line, one of them in front of something, and no blanks between numbers
 * inside the fields of the last. */
static int sniff_tsv(fab_span head)
{
    fab_span line = {NULL, 0};
    int64_t lines = 0, tabs = 0, inside = 0;
    while (fab_lines_each(&head, &line, &lines)) {
        const int64_t n = count(line, '\t');
        if (n == 0 || (lines > 1 && n != tabs)) return 0;
        inside |= memchr(line.p, '\t', fab_lines_trimmed(line)) != NULL;
        tabs = n;
    }
    return inside && !has_inner_blank(line);
}

/* The first row of the head, which may be several lines when a quote goes on; if it never closes, one. */
static fab_span first_row(fab_span head)
{
    size_t i = 0;
    int inside = 0;
    while (i < head.n && (head.p[i] == '\n' || head.p[i] == '\r')) i++;
    const fab_span rest = {head.p + i, head.n - i};
    for (i = 0; i < rest.n && (inside || rest.p[i] != '\n'); i++) inside ^= rest.p[i] == '"';
    if (!inside) return (fab_span){rest.p, i};
    const char *stop = memchr(rest.p, '\n', rest.n);
    return (fab_span){rest.p, stop ? (size_t)(stop - rest.p) : rest.n};
}

/* The comma, or the semicolon in a row without commas; 0 when there is neither. */
static char find_separator(fab_span head)
{
    const fab_span names = first_row(head);
    if (count(names, ',') > 0) return ',';
    return count(names, ';') > 0 ? ';' : '\0';
}

static int sniff_csv(fab_span head)
{
    return find_separator(head) != '\0';
}

static fab_status open_csv(fab_source *s)
{
    fab_span head;
    FAB_TRY(fab_stream_head(&s->in, FAB_HEAD_LINES, FAB_HEAD_BYTES, &head));
    s->separator = find_separator(head);
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
