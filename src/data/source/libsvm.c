/* libsvm.c - sparse rows, "label index:value index:value ...", as they stand or as dense ones.
 *
 * Indices count from 1 and increase.  Column 0 is `label`, column i is feature i.  How many features there
 * are is given, or counted in a first pass over the file.
 *
 * SPDX-License-Identifier: MIT */
#include "base/bytes.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "data/source/cells.h"
#include "data/source/number.h"
#include <stdio.h>
#include <string.h>

enum { MAX_INDEX = INT32_MAX }; /* as in LIBSVM itself */
enum { PAIR_BYTES = 4 };        /* at least, with the blank in front: " 1:2" */
enum { FIRST_ROWS = 16 };
/* Of memory for a feature in a model: its names, units, mean and variance; one short line may ask for 2e9. */
enum { FEATURE_BYTES = 300 };

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

/* ---- rows ------------------------------------------------------------------------------------ */

void fab_sparse_free(fab_sparse *r)
{
    fab_release(r->label);
    fab_release(r->start);
    fab_release(r->index);
    fab_release(r->value);
    *r = (fab_sparse){0};
}

static fab_status grow(void **array, int64_t used, int64_t room, size_t size, const char *name)
{
    void *p;
    FAB_TRY(fab_alloc_array(&p, room, size, name));
    if (used) memcpy(p, *array, (size_t)used * size);
    fab_release(*array);
    *array = p;
    return FAB_OK;
}

/* Room for one more row of so many values. */
fab_status fab_sparse_room(fab_sparse *r, int64_t values, const char *name)
{
    if (r->n == r->row_room) {
        const int64_t room = r->row_room ? 2 * r->row_room : FIRST_ROWS;
        FAB_TRY(grow((void **)&r->label, r->n, room, sizeof *r->label, name));
        FAB_TRY(grow((void **)&r->start, r->n ? r->n + 1 : 0, room + 1, sizeof *r->start, name));
        r->row_room = room;
    }
    if (r->values + values > r->value_room) {
        const int64_t room = 2 * r->values + values;
        FAB_TRY(grow((void **)&r->index, r->values, room, sizeof *r->index, name));
        FAB_TRY(grow((void **)&r->value, r->values, room, sizeof *r->value, name));
        r->value_room = room;
    }
    r->start[r->n] = r->values;
    return FAB_OK;
}

/* Add the row, which has room; gives the word that is wrong, or NULL. */
static const char *read_row(fab_source *s, const char *p, const char *end, fab_sparse *r)
{
    int64_t last = 0, above = 0, at = r->values;
    const char *q = read_label(p, end, &r->label[r->n]);
    if (!q) return p;
    for (p = skip(q, end); p < end; p = skip(q, end)) {
        int64_t index;
        q = read_pair(p, end, &index, &r->value[at]);
        if (!q || index <= last) return p;
        last = index;
        r->index[at] = (int32_t)(index - 1 - s->share_first);
        if (index >= s->columns)
            above++;
        else if (!s->share || (r->index[at] >= 0 && r->index[at] < s->share))
            at++;
    }
    s->ignored += above;
    r->values = at;
    r->start[++r->n] = at;
    return NULL;
}

static void spread(const fab_source *s, const fab_sparse *row, double *out)
{
    memset(out, 0, (size_t)fab_source_columns(s) * sizeof *out);
    out[0] = row->label[0];
    for (int64_t k = 0; k < row->values; k++) out[1 + row->index[k]] = row->value[k];
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
        fab_watch_log(&(fab_watch){0}, "%s: %lld values have an index above %lld and were ignored",
                      s->in.name, (long long)s->ignored, (long long)s->columns - 1);
    s->ignored = 0;
}

/* ---- the format ------------------------------------------------------------------------------ */

/* The index in the last word of the line, the largest of a good line; 0 when there is none. */
static int64_t last_index(fab_span line)
{
    const char *end = line.p + line.n, *p;
    int64_t index;
    while (end > line.p && (end[-1] == ' ' || end[-1] == '\t')) end--;
    p = end;
    while (p > line.p && p[-1] != ' ' && p[-1] != '\t') p--;
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
    if ((double)s->features * FEATURE_BYTES > fab_memory_free())
        return FAB_FAIL(FAB_NO_MEMORY,
                        "%s: %lld features are too many for the %.3g MB of memory that are free",
                        s->in.name, (long long)s->features, 1e-6 * fab_memory_free());
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
    fab_sparse *r = s->sparse ? s->sparse : &s->one;
    if (r == &s->one) r->n = r->values = 0;
    const char *end = line.p + line.n, *p = skip(line.p, end);
    FAB_TRY(fab_sparse_room(r, 1 + (end - p) / PAIR_BYTES, s->in.name));
    const char *fault = read_row(s, p, end, r);
    if (fault) return refuse(s, p, end, fault);
    if (r == &s->one) spread(s, r, out);
    return FAB_OK;
}

/* A line whose first word is a number and whose second starts like index:value. */
static int sniff(fab_span head, const fab_dialect *given)
{
    fab_span line;
    int64_t lines = 0, index;
    double label;
    if (given->separator) return 0;
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
