/* lines.c - what formats of one row per line share: lines that count, and rows.
 *
 * A row function is fast and says only yes or no.  When it says no, or when there are columns of words, the
 * line is looked at slowly, field by field (cells.c).  Most rows of a long file do not come here: they were read ahead of
 * their time, on several threads (ahead.c).
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/lines.h"
#include "data/source/ahead.h"
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
    while (line->p && (fab_lines_is_blank(s, *line) || (s->comment && line->p[0] == s->comment)));
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
        if (fab_lines_trimmed(next) == 0 || (*count > 0 && next.p[0] == '#')) continue;
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

fab_status fab_lines_skip_blank(fab_source *s)
{
    fab_span line;
    for (;;) {
        FAB_TRY(fab_stream_look_line(&s->in, 0, &line));
        if (!line.p) return FAB_OK;
        const int comment = s->comment && line.n && line.p[0] == s->comment;
        if (!comment && !fab_lines_is_blank(s, line)) return FAB_OK;
        FAB_TRY(fab_stream_line(&s->in, &line));
    }
}

fab_status fab_lines_first(fab_source *s)
{
    fab_span seen;
    FAB_TRY(fab_lines_skip_blank(s));
    FAB_TRY(fab_stream_look(&s->in, 1, &seen));
    if (seen.n == 0) return FAB_FAIL(FAB_BAD_DATA, "%s: has no rows", s->in.name);
    return FAB_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

fab_status fab_lines_look_row(fab_source *s, fab_split_fn *split, size_t from, fab_span *row,
                              int64_t *lines)
{
    size_t first = 0; /* length of the first line */
    fab_span all;
    *row = (fab_span){NULL, 0};
    FAB_TRY(fab_stream_look_line(&s->in, from, &all));
    for (*lines = 1; all.p; ++*lines) {
        *row = (fab_span){all.p + from, all.n - from};
        if (*lines == 1) first = row->n;
        if (!memchr(row->p, '"', row->n) || !fab_cells_open(s, split, *row)) return FAB_OK;
        if (*lines == FAB_ROW_LINES || row->n > FAB_ROW_BYTES) break;
        FAB_TRY(fab_stream_look_line(&s->in, all.n + 1, &all));
    }
    if (*lines == 1 && !row->p) return FAB_OK;
    FAB_TRY(fab_stream_look(&s->in, from + first, &all)); /* the window may have moved */
    *row = (fab_span){all.p + from, first};
    *lines = 0;
    return FAB_OK;
}

/* The line that was taken opens a quote: take the lines on which it goes on. */
static fab_status take_rest(fab_source *s, fab_split_fn *split, fab_span *line)
{
    fab_span row;
    int64_t lines;
    fab_stream_give_back(&s->in, *line);
    FAB_TRY(fab_lines_look_row(s, split, 0, &row, &lines));
    *line = row;
    for (int64_t i = 0; i < (lines ? lines : 1); i++) FAB_TRY(fab_stream_line(&s->in, &row));
    if (lines == 0)
        return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld opens a quote that does not close", s->in.name,
                        (long long)s->in.lines);
    if (line->n && line->p[line->n - 1] == '\r') line->n--;
    s->more_lines = lines - 1;
    return FAB_OK;
}

int fab_lines_has_na(const fab_source *s, const double *row)
{
    for (int64_t i = 0; i < s->na_count; i++)
        for (int64_t j = 0; j < s->columns; j++)
            if (row[j] == s->na[i]) return 1;
    return 0;
}

fab_status fab_lines_next(fab_source *s, fab_row_fn *row, fab_split_fn *split, double *out,
                          int *got)
{
    fab_span line;
    *got = 0;
    if (out) FAB_TRY(fab_ahead_next(s, row, split, out, got));
    if (*got) return FAB_OK;
    FAB_TRY(fab_lines_take(s, &line));
    if (!line.p) return FAB_OK;
    *got = 1;
    s->more_lines = 0;
    const int plain = out && !s->words && !s->form;
    if (plain && !s->left && row(s, line.p, line.p + line.n, out) && !fab_lines_has_na(s, out))
        return FAB_OK;
    if (memchr(line.p, '"', line.n) && fab_cells_open(s, split, line))
        FAB_TRY(take_rest(s, split, &line));
    if (!out) return FAB_OK;
    const char *p = line.p, *end = line.p + line.n;
    if (s->left) {
        fab_cut index;
        p = split(s, p, end, &index);
        if (plain && p && row(s, p, end, out) && !fab_lines_has_na(s, out)) return FAB_OK;
    }
    return fab_cells_row(s, split, (fab_span){p, (size_t)(p ? end - p : 0)}, out);
}
