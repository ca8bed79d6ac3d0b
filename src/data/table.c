/* table.c - a table in memory: its life, and a source read whole.
 *
 * SPDX-License-Identifier: MIT */
#include "data/table.h"
#include <string.h>

const char *const fab_missing_names[4] = {"refuse", "drop", "mean", NULL};

/* ---- names -------------------------------------------------------------------------------------- */

fab_status fab_names_create(char ***names, int64_t D)
{
    FAB_TRY(fab_alloc_array((void **)names, D + 1, sizeof **names, "table"));
    for (int64_t d = 0; d <= D; d++) (*names)[d] = NULL;
    return FAB_OK;
}

void fab_names_free(char **names, int64_t D)
{
    for (int64_t d = 0; names && d < D; d++) fab_release(names[d]);
    fab_release(names);
}

/* ---- life ------------------------------------------------------------------------------------------ */

void fab_dataset_free(fab_dataset *t)
{
    if (!t) return;
    for (int64_t c = 0; t->words && c < t->columns; c++)
        fab_names_free(t->words[c].word, t->words[c].n);
    fab_names_free(t->target_words.word, t->target_words.n);
    fab_names_free(t->name, t->columns);
    fab_release(t->words);
    fab_release(t->target_name);
    fab_release(t->weight_name);
    fab_release(t->offset_name);
    fab_release(t->x);
    fab_release(t->y);
    fab_release(t->weight);
    fab_release(t->offset);
    fab_release(t->level);
    fab_sparse_free(&t->cells);
    fab_release(t);
}

void fab_dataset_clear(fab_dataset *t)
{
    if (t->D != t->columns) t->room = 0; /* the rows were made wider: their memory does not fit */
    t->D = t->columns;
    t->n = t->cells.n = t->cells.values = 0;
}

fab_rows fab_dataset_rows(const fab_dataset *t)
{
    fab_rows x = {.p = t->x, .type = FAB_F64, .n = t->n, .ld = t->D};
    if (!t->packed) return x;
    x.p = t->cells.value;
    x.start = t->cells.start;
    x.index = t->cells.index;
    return x;
}

fab_status fab_dataset_read(fab_dataset **t, fab_source *s, const fab_columns *c)
{
    fab_feed *f = NULL;
    *t = NULL;
    FAB_TRY(fab_feed_open(&f, s, c));
    fab_status done = fab_feed_table(f, t);
    if (done == FAB_OK) done = fab_feed_read(f, INT64_MAX, *t);
    if (done == FAB_OK && (*t)->n == 0) done = FAB_FAIL(FAB_BAD_DATA, "there are no rows");
    fab_feed_close(f);
    if (done == FAB_OK) return FAB_OK;
    fab_dataset_free(*t);
    *t = NULL;
    return done;
}
