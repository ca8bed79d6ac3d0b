/* lines.c - what formats of one row per line share: lines that count, and rows.
 *
 * A row function is fast and says only yes or no.  When it says no, or when there are columns of words, the
 * line is looked at slowly, field by field (cells.c).
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/lines.h"
#include "data/source/cells.h"
#include <string.h>

/* ---- lines ----------------------------------------------------------------------------------- */

int fab_lines_is_blank(const fab_source *s, fab_span line)
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
    while (line->p && fab_lines_is_blank(s, *line));
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
        if (fab_lines_trimmed(next) == 0) continue;
        if (next.p[next.n - 1] == '\r') next.n--;
        *line = next;
        ++*count;
        return 1;
    }
    return 0;
}

size_t fab_lines_trimmed(fab_span line)
{
    while (line.n && strchr(" \t\r", line.p[line.n - 1])) line.n--;
    return line.n;
}

/* ---- the start of a file ---------------------------------------------------------------------- */

/* Take the byte order mark that some programs put in front. */
static fab_status skip_mark(fab_source *s)
{
    fab_span mark;
    FAB_TRY(fab_stream_look(&s->in, 3, &mark));
    if (mark.n == 3 && memcmp(mark.p, "\xEF\xBB\xBF", 3) == 0) fab_stream_take(&s->in, 3);
    return FAB_OK;
}

fab_status fab_lines_skip_blank(fab_source *s)
{
    fab_span line;
    for (;;) {
        FAB_TRY(fab_stream_look_line(&s->in, 0, &line));
        if (!line.p || !fab_lines_is_blank(s, line)) return FAB_OK;
        FAB_TRY(fab_stream_line(&s->in, &line));
    }
}

fab_status fab_lines_first(fab_source *s)
{
    fab_span seen;
    FAB_TRY(skip_mark(s));
    FAB_TRY(fab_lines_skip_blank(s));
    FAB_TRY(fab_stream_look(&s->in, 1, &seen));
    if (seen.n == 0) return FAB_FAIL(FAB_BAD_DATA, "%s: has no rows", s->in.name);
    return FAB_OK;
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
    if (!out || (!s->words && row(s, line.p, line.p + line.n, out))) return FAB_OK;
    return fab_cells_row(s, split, line, out);
}
