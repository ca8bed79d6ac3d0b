/* text.c - values with blanks and tabs between them, one row per line.
 *
 * A field that begins with a quote ends with the next quote in front of a blank or the end.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/lines.h"
#include "data/source/number.h"

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip(const char *p, const char *end)
{
    while (p < end && is_space(*p)) p++;
    return p;
}

static const char *split(const fab_source *s, const char *p, const char *end, fab_cut *field)
{
    (void)s;
    p = skip(p, end);
    const char *stop = p;
    if (p < end && *p == '"') {
        const char *close = p + 1;
        while (close < end && !(*close == '"' && (close + 1 == end || is_space(close[1])))) close++;
        if (close == end) { /* not closed: with its quote, so that it is no number */
            *field = (fab_cut){p, (size_t)(end - p), 1};
            return NULL;
        }
        *field = (fab_cut){p + 1, (size_t)(close - (p + 1)), 0};
        stop = skip(close + 1, end);
        return stop < end ? stop : NULL;
    }
    while (stop < end && !is_space(*stop)) stop++;
    *field = (fab_cut){p, (size_t)(stop - p), 0};
    stop = skip(stop, end);
    return stop < end ? stop : NULL;
}

static int row(const fab_source *s, const char *p, const char *end, double *out)
{
    fab_number_fn *const number = s->number;
    p = skip(p, end);
    for (int64_t j = 0; j < s->columns; j++) {
        const char *q = number(p, &out[j]);
        if (!q || (q != end && !is_space(*q))) return 0;
        p = skip(q, end);
    }
    return p == end;
}

/* Any text is: the other formats are asked first. */
static int sniff(fab_span head, const fab_dialect *given)
{
    (void)given;
    return head.n > 0;
}

static fab_status open_text(fab_source *s)
{
    return fab_lines_open(s, split);
}

static fab_status next(fab_source *s, double *out, int *got)
{
    return fab_lines_next(s, row, split, out, got);
}

const fab_reader fab_reader_text = {FAB_FORMAT_TEXT, "text", sniff, open_text, next};
