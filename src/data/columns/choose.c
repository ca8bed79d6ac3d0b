/* choose.c - a source with some of the columns of another: those of the call, without those that name the rows.
 *
 * SPDX-License-Identifier: MIT */
#include "base/bytes.h"
#include "data/columns/table.h"
#include <string.h>

typedef struct chosen {
    fab_reader reader; /* its format is that of the source behind */
    fab_source *behind;
    double *row;     /* of the source behind */
    int64_t *column; /* columns: which of them */
} chosen;

static fab_status next(fab_source *s, double *out, int *got)
{
    chosen *c = s->view;
    int64_t rows;
    *got = 0;
    if (!out) {
        FAB_TRY(fab_source_skip(c->behind, 1)); /* says so where there is none left */
        *got = 1;
        return FAB_OK;
    }
    FAB_TRY(fab_source_next(c->behind, 1, c->row, &rows));
    *got = rows > 0;
    if (*got)
        for (int64_t i = 0; i < s->columns; i++) out[i] = c->row[c->column[i]];
    return FAB_OK;
}

/* Names in one block: pointers, then the texts. */
static fab_status copy_names(fab_source *s, const chosen *c)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < s->columns; i++)
        bytes += strlen(fab_source_name(c->behind, c->column[i])) + 1;
    FAB_TRY(fab_alloc_array((void **)&s->names, 1, (size_t)s->columns * sizeof *s->names + bytes,
                            "columns"));
    char *to = (char *)(s->names + s->columns);
    for (int64_t i = 0; i < s->columns; i++) {
        const char *name = fab_source_name(c->behind, c->column[i]);
        s->names[i] = memcpy(to, name, strlen(name) + 1);
        to += strlen(name) + 1;
    }
    return FAB_OK;
}

/* The columns of the list, or all but these, need not be read. */
static fab_status leave_out(fab_source *behind, const char *list, int listed, char *mark,
                            char *unread)
{
    const int64_t n = fab_source_columns(behind);
    FAB_TRY(fab_columns_mark(behind, list, mark));
    for (int64_t i = 0; i < n; i++)
        if ((mark[i] != 0) == listed) unread[i] = 1;
    return FAB_OK;
}

/* A column of rows' names that the call does not name itself is left out, where others are there. */
static fab_status leave_keys(fab_source *behind, const char *mark, char *unread)
{
    const int64_t n = fab_source_columns(behind);
    int64_t others = 0;
    for (int64_t i = 0; i < n; i++) others += !unread[i] && !behind->key[i];
    if (!others) return FAB_OK;
    for (int64_t i = 0; i < n; i++) {
        char shown[FAB_SHOWN];
        if (!behind->key[i] || unread[i] || (mark && mark[i] & FAB_MARK_NAMED)) continue;
        const char *name = fab_source_name(behind, i);
        unread[i] = 1;
        fab_show(shown, name, strlen(name));
        FAB_TRY(fab_source_say(behind,
                               "'%s' names the rows, and is left out; --only with %s in it keeps "
                               "it",
                               shown, shown));
    }
    return FAB_OK;
}

/* The columns to read, and those that need not be. */
static fab_status find(fab_source *s, chosen *c, const char *only, const char *exclude)
{
    const int64_t n = fab_source_columns(c->behind);
    char *mark, **unread = &c->behind->unread;
    FAB_TRY(fab_alloc_array((void **)&c->column, n, sizeof *c->column, "columns"));
    FAB_TRY(fab_alloc_array((void **)&c->row, n, sizeof *c->row, "columns"));
    if (!*unread) FAB_TRY(fab_alloc_array((void **)unread, n, 1, "columns"));
    memset(*unread, 0, (size_t)n);
    FAB_TRY(fab_alloc_array((void **)&mark, n, 1, "columns"));
    fab_status done = FAB_OK;
    if (exclude) done = leave_out(c->behind, exclude, 1, mark, *unread);
    if (done == FAB_OK && only) done = leave_out(c->behind, only, 0, mark, *unread);
    if (done == FAB_OK && c->behind->key) done = leave_keys(c->behind, only ? mark : NULL, *unread);
    fab_release(mark);
    for (int64_t i = 0; i < n; i++)
        if (!(*unread)[i]) c->column[s->columns++] = i;
    if (done == FAB_OK && s->columns == 0)
        done = FAB_FAIL(FAB_BAD_ARGUMENT, "%s: no column is left", s->in.name);
    return done;
}

void fab_chosen_free(void *view)
{
    chosen *c = view;
    fab_source_close(c->behind);
    fab_release(c->row);
    fab_release(c->column);
    fab_release(c);
}

fab_status fab_source_choose(fab_source **s, const char *only, const char *exclude)
{
    fab_source *behind = *s, *new;
    chosen *c;
    if (!only && !exclude && !behind->key) return FAB_OK;
    if (fab_source_format(behind) == FAB_FORMAT_LIBSVM || behind->words)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: columns are chosen of rows of numbers, and not of libsvm files",
                        behind->in.name);
    if (!fab_source_name(behind, 0)) return FAB_NO_MEMORY; /* which it has said */
    FAB_TRY(fab_alloc_array((void **)&c, 1, sizeof *c, "columns"));
    *c = (chosen){.reader = {behind->reader->format, behind->reader->name, NULL, NULL, next}};
    fab_status done = fab_alloc_array((void **)&new, 1, sizeof *new, "columns");
    if (done != FAB_OK) {
        fab_release(c);
        return done;
    }
    *new = (fab_source){.reader = &c->reader,
                        .in = {.file = -1, .name = behind->in.name},
                        .rows = behind->rows,
                        .missing = behind->missing,
                        .chosen_from = behind,
                        .view = c};
    c->behind = behind;
    done = find(new, c, only, exclude);
    if (done == FAB_OK) done = copy_names(new, c);
    if (done == FAB_OK) done = fab_copy_text(&new->path, behind->path);
    if (done == FAB_OK) {
        *s = new;
        return FAB_OK;
    }
    c->behind = NULL; /* it stays the caller's */
    fab_source_close(new);
    return done;
}
