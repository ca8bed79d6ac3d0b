/* text.c - numbers with blanks and tabs between them, one row per line.
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
    while (stop < end && !is_space(*stop)) stop++;
    *field = (fab_cut){p, (size_t)(stop - p), 0};
    stop = skip(stop, end);
    return stop < end ? stop : NULL;
}

static int row(const fab_source *s, const char *p, const char *end, double *out)
{
    p = skip(p, end);
    for (int64_t j = 0; j < s->columns; j++) {
        const char *q = fab_number(p, &out[j]);
        if (!q || (q != end && !is_space(*q))) return 0;
        p = skip(q, end);
    }
    return p == end;
}

/* Any text is: the other formats are asked first. */
static int sniff(fab_span head)
{
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
