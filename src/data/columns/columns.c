/* columns.c - the columns of a source by name or by number.
 *
 * SPDX-License-Identifier: MIT */
#include "base/bytes.h"
#include "base/memory.h"
#include "data/source/source.h"
#include "base/settings.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED = 8 }; /* columns in a sentence */

/* The column of a name that was made up, x3, or -1. */
static int64_t made_up(const fab_source *s, const char *name)
{
    char *end = NULL, again[24];
    if (s->first_name && strcmp(name, s->first_name) == 0) return 0;
    const long long c = name[0] == 'x' ? strtoll(name + 1, &end, 10) : -1;
    if (c < (s->first_name ? 1 : 0) || c >= s->columns || *end) return -1;
    snprintf(again, sizeof again, "x%lld", c);
    return strcmp(again, name) == 0 ? c : -1; /* not x03 */
}

int64_t fab_source_column(const fab_source *s, const char *name)
{
    if (!s->names) { /* behind the features are those of arrays that go with sparse rows */
        for (int64_t c = s->columns - 1; fab_arrays_sparse_name(s, c); c--)
            if (strcmp(fab_arrays_sparse_name(s, c), name) == 0) return c;
        return made_up(s, name);
    }
    for (int64_t c = 0; c < s->columns; c++) {
        const char *known = fab_source_name(s, c);
        if (known && strcmp(known, name) == 0) return c;
    }
    return -1;
}

fab_status fab_source_no_column(fab_status kind, const fab_source *s, const char *name)
{
    const char **names;
    char count[64 + LISTED * (FAB_SHOWN + 2)], shown[FAB_SHOWN];
    int used = snprintf(count, sizeof count, " among its %lld", (long long)s->columns);
    FAB_TRY(fab_alloc_array((void **)&names, s->columns, sizeof *names, s->in.name));
    for (int64_t c = 0; c < s->columns; c++) names[c] = fab_source_name(s, c);
    for (int64_t c = 0; c < s->columns && c < LISTED && names[c]; c++)
        used += snprintf(count + used, sizeof count - (size_t)used, "%s%s", c ? ", " : ": ",
                         fab_show(shown, names[c], strlen(names[c])));
    if (s->columns > LISTED) snprintf(count + used, sizeof count - (size_t)used, ", ..");
    const fab_status no =
        fab_no_such(kind, "column", name, names, names[0] ? s->columns : 0, count);
    fab_release(names);
    return fab_prefix(no, "%s: ", s->in.name);
}

fab_status fab_source_find_column(const fab_source *s, const char *word, int64_t *column)
{
    char *end;
    *column = fab_source_column(s, word);
    if (*column >= 0) return FAB_OK;
    if (strcmp(word, "last") == 0) {
        *column = s->columns - 1;
        return FAB_OK;
    }
    errno = 0;
    const long long i = strtoll(word, &end, 10);
    if (end == word || *end || errno || i < 0)
        return fab_source_no_column(FAB_BAD_ARGUMENT, s, word);
    if (i >= s->columns)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: there is no column %lld: it has %lld", s->in.name, i,
                        (long long)s->columns);
    *column = i;
    return FAB_OK;
}
