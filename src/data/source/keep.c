/* keep.c - the list of row numbers that --rows keeps: itself a table of one column.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "data/source/source.h"
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Room for twice as many. */
static fab_status grow(fab_source *s, int64_t *room)
{
    void *p;
    *room = *room ? 2 * *room : 1024;
    FAB_TRY(fab_alloc_array(&p, *room, sizeof *s->kept, s->kept_name));
    if (s->kept) memcpy(p, s->kept, (size_t)s->kept_count * sizeof *s->kept);
    fab_release(s->kept);
    s->kept = p;
    return FAB_OK;
}

static fab_status read_numbers(fab_source *s, fab_source *list)
{
    int64_t room = 0;
    for (;;) {
        int64_t got;
        double x;
        FAB_TRY(fab_source_next(list, 1, &x, &got));
        if (got == 0) return FAB_OK;
        if (!(x >= 0 && x <= 0x1p53 && x == (double)(int64_t)x))
            return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld: %g is not a row number", s->kept_name,
                            (long long)list->in.lines, x);
        if (s->kept_count == room) FAB_TRY(grow(s, &room));
        s->kept[s->kept_count++] = (int64_t)x;
    }
}

static fab_status sort(fab_source *s)
{
    qsort(s->kept, (size_t)s->kept_count, sizeof *s->kept, compare);
    for (int64_t i = 1; i < s->kept_count; i++)
        if (s->kept[i] == s->kept[i - 1])
            return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld stands there twice", s->kept_name,
                            (long long)s->kept[i]);
    return FAB_OK;
}

static fab_status read_list(fab_source *s, fab_source *list)
{
    if (list->names)
        return FAB_FAIL(FAB_BAD_DATA, "%s: line 1: '%s' is not a row number", s->kept_name,
                        list->names[0]);
    if (list->columns != 1)
        return FAB_FAIL(FAB_BAD_DATA, "%s: has %lld columns; one row number per line is expected",
                        s->kept_name, (long long)list->columns);
    FAB_TRY(read_numbers(s, list));
    return sort(s);
}

fab_status fab_source_keep(fab_source *s, const char *path)
{
    fab_source *list;
    FAB_TRY(fab_source_open(&list, path, NULL));
    s->kept_path = list->path; /* it goes on to live here */
    s->kept_name = list->in.name;
    list->path = NULL;
    const fab_status status = read_list(s, list);
    fab_source_close(list);
    return status;
}
