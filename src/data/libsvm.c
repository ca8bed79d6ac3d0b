/* libsvm.c - sparse rows, "label index:value index:value ...", as dense ones.
 *
 * Indices count from 1 and increase.  Column 0 is `label`, column i is feature i.  How many features there
 * are is given, or counted in a first pass over the file.
 *
 * SPDX-License-Identifier: MIT */
#include "base/bytes.h"
#include "base/memory.h"
#include "data/cells.h"
#include "data/number.h"
#include <stdio.h>
#include <string.h>

enum { MAX_INDEX = INT32_MAX }; /* as in LIBSVM itself */

static const char *skip(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p;
}

static int at_stop(const char *p, const char *end)
{
    return p == end || *p == ' ' || *p == '\t';
}

/* The label at p; NULL when it is no number. */
static const char *read_label(const char *p, const char *end, double *label)
{
    const char *q = fab_number(p, label);
    return q && at_stop(q, end) ? q : NULL;
}

/* The digits at p as a number, and the byte after them; more than MAX_INDEX is given as MAX_INDEX + 1. */
static const char *read_index(const char *p, const char *end, int64_t *index)
{
    *index = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        *index = 10 * *index + (*p - '0');
        if (*index > MAX_INDEX) *index = MAX_INDEX + INT64_C(1);
    }
    return p;
}

static int is_index(int64_t index)
{
    return index >= 1 && index <= MAX_INDEX;
}

/* "index:value" at p; NULL when it is none. */
static const char *read_pair(const char *p, const char *end, int64_t *index, double *value)
{
    p = read_index(p, end, index);
    if (p == end || *p != ':' || !is_index(*index)) return NULL;
    p = fab_number(p + 1, value);
    return p && at_stop(p, end) ? p : NULL;
}

/* Fill the row; gives the word that is wrong, or NULL. */
static const char *read_row(fab_source *s, const char *p, const char *end, double *out)
{
    int64_t last = 0, above = 0;
    memset(out, 0, (size_t)s->columns * sizeof *out);
    const char *q = read_label(p, end, &out[0]);
    if (!q) return p;
    for (p = skip(q, end); p < end; p = skip(q, end)) {
        int64_t index;
        double value;
        q = read_pair(p, end, &index, &value);
        if (!q || index <= last) return p;
        last = index;
        if (index < s->columns)
            out[index] = value;
        else
            above++;
    }
    s->ignored += above;
    return NULL;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static fab_status refuse_pair(const fab_source *s, const char *p, size_t n)
{
    char shown[FAB_SHOWN], place[64];
    const long long line = (long long)s->in.lines;
    int64_t index;
    double value;
    const char *colon = read_index(p, p + n, &index);
    fab_show(shown, p, n);
    if (colon == p || colon == p + n || *colon != ':')
        return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld: '%s' is not index:value", s->in.name, line,
                        shown);
    if (!is_index(index))
        return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld: '%s': an index is between 1 and %d",
                        s->in.name, line, shown, MAX_INDEX);
    if (read_pair(p, p + n, &index, &value))
        return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld: '%s' does not follow in increasing order",
                        s->in.name, line, shown);
    snprintf(place, sizeof place, "line %lld, index %lld", line, (long long)index);
    return fab_cells_refuse(s, place, colon + 1, n - (size_t)(colon + 1 - p));
}

static fab_status refuse(const fab_source *s, const char *line, const char *end, const char *fault)
{
    char place[64];
    const char *stop = fault;
    while (!at_stop(stop, end)) stop++;
    if (fault > line) return refuse_pair(s, fault, (size_t)(stop - fault));
    snprintf(place, sizeof place, "line %lld, label", (long long)s->in.lines);
    return fab_cells_refuse(s, place, fault, (size_t)(stop - fault));
}

/* Once at the end, or when the source is closed before. */
void fab_libsvm_say_ignored(fab_source *s)
{
    if (s->ignored)
        fab_log("%s: %lld values have an index above %lld and were ignored", s->in.name,
                (long long)s->ignored, (long long)s->columns - 1);
    s->ignored = 0;
}

/* ---- the format ------------------------------------------------------------------------------ */

/* The index in the last word of the line, the largest of a good line; 0 when there is none. */
static int64_t last_index(fab_span line)
{
    const char *end = line.p + line.n, *p;
    int64_t index;
    while (end > line.p && (end[-1] == ' ' || end[-1] == '\t')) end--;
    for (p = end; p > line.p && p[-1] != ' ' && p[-1] != '\t';) p--;
    const char *colon = read_index(p, end, &index);
    return colon < end && *colon == ':' && is_index(index) ? index : 0;
}

static fab_status count_features(fab_source *s)
{
    fab_span line;
    if (s->in.start < 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: is a pipe, read only once: say how many features its rows have",
                        s->in.name);
    for (;;) {
        FAB_TRY(fab_lines_take(s, &line));
        if (!line.p) break;
        const int64_t index = last_index(line);
        if (index > s->features) s->features = index;
    }
    if (s->features == 0) return FAB_FAIL(FAB_BAD_DATA, "%s: no line has index:value", s->in.name);
    return fab_stream_rewind(&s->in);
}

static fab_status open_libsvm(fab_source *s)
{
    FAB_TRY(fab_lines_first(s));
    if (s->features == 0) FAB_TRY(count_features(s));
    s->columns = 1 + s->features;
    s->first_name = "label";
    return FAB_OK;
}

static fab_status next(fab_source *s, double *out, int *got)
{
    fab_span line;
    *got = 0;
    FAB_TRY(fab_lines_take(s, &line));
    if (!line.p) {
        fab_libsvm_say_ignored(s);
        return FAB_OK;
    }
    *got = 1;
    if (!out) return FAB_OK;
    const char *end = line.p + line.n, *p = skip(line.p, end);
    const char *fault = read_row(s, p, end, out);
    return fault ? refuse(s, p, end, fault) : FAB_OK;
}

/* A line whose first word is a number and whose second starts like index:value. */
static int sniff(fab_span head)
{
    fab_span line;
    int64_t lines = 0, index;
    double label;
    while (fab_lines_each(&head, &line, &lines)) {
        const char *end = line.p + line.n;
        const char *p = read_label(skip(line.p, end), end, &label);
        if (!p) return 0;
        p = skip(p, end);
        const char *colon = read_index(p, end, &index);
        if (colon > p && colon < end && *colon == ':') return 1;
    }
    return 0;
}

const fab_reader fab_reader_libsvm = {FAB_FORMAT_LIBSVM, "libsvm", sniff, open_libsvm, next};
