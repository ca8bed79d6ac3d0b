/* table.c - a table in memory: its life, and a source read whole.
 *
 * SPDX-License-Identifier: MIT */
#include "data/columns/table.h"
#include "data/source/number.h"
#include <string.h>

/* ---- what becomes of missing values --------------------------------------------------------------- */

static const char *const missing_names[] = {"refuse", "drop", "mean"};
enum { WAYS = sizeof missing_names / sizeof *missing_names };

int64_t fab_missing_count(void)
{
    return WAYS;
}

const char *fab_missing_name(fab_missing m)
{
    return (int)m >= 0 && (int)m < WAYS ? missing_names[m] : "unknown";
}

fab_status fab_missing_find(const char *name, fab_missing *m)
{
    for (int i = 0; i < WAYS; i++)
        if (name && strcmp(name, missing_names[i]) == 0) {
            *m = (fab_missing)i;
            return FAB_OK;
        }
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "missing values: there is no way '%s'; refuse, drop and mean are there",
                    name ? name : "");
}

/* ---- names -------------------------------------------------------------------------------------- */

fab_status fab_names_create(char ***names, int64_t D)
{
    FAB_TRY(fab_alloc_array((void **)names, D + 1, sizeof **names, "table"));
    for (int64_t d = 0; d <= D; d++) (*names)[d] = NULL;
    return FAB_OK;
}

void fab_names_free(char **names, int64_t D)
{
    if (!names) return;
    for (int64_t d = 0; d < D; d++) fab_release(names[d]);
    fab_release(names);
}

/* ---- life ------------------------------------------------------------------------------------------ */

void fab_dataset_free(fab_dataset *t)
{
    if (!t) return;
    if (t->words)
        for (int64_t c = 0; c < t->columns; c++) fab_names_free(t->words[c].word, t->words[c].n);
    fab_names_free(t->target_words.word, t->target_words.n);
    fab_names_free(t->name, t->columns);
    fab_release(t->words);
    fab_release(t->target_name);
    fab_release(t->weight_name);
    fab_release(t->offset_name);
    fab_release(t->group_name);
    fab_release(t->x);
    fab_release(t->y);
    fab_release(t->weight);
    fab_release(t->offset);
    fab_release(t->group);
    fab_release(t->residual);
    fab_release(t->level);
    fab_release(t->formula);
    fab_sparse_free(&t->cells);
    fab_release(t);
}

void fab_dataset_clear(fab_dataset *t)
{
    if (t->D != t->columns) t->room = 0; /* the rows were made wider: their memory does not fit */
    t->D = t->columns;
    t->before += t->n;
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
    if (done == FAB_OK && (*t)->n == 0) done = fab_feed_no_rows(f, *t);
    fab_feed_close(f);
    if (done == FAB_OK) return FAB_OK;
    fab_dataset_free(*t);
    *t = NULL;
    return done;
}

/* ---- some of its rows ------------------------------------------------------------------------------- */

static fab_status copy_words(fab_words *out, const fab_words *w)
{
    if (!w->n) return FAB_OK;
    FAB_TRY(fab_names_create(&out->word, w->n));
    for (; out->n < w->n; out->n++) FAB_TRY(fab_copy_text(&out->word[out->n], w->word[out->n]));
    return FAB_OK;
}

static fab_status copy_columns(fab_dataset *out, const fab_dataset *t)
{
    FAB_TRY(fab_names_create(&out->name, t->columns));
    FAB_TRY(fab_alloc_array((void **)&out->words, t->columns, sizeof *out->words, "table"));
    memset(out->words, 0, (size_t)t->columns * sizeof *out->words);
    for (int64_t c = 0; c < t->columns; c++) {
        FAB_TRY(fab_copy_text(&out->name[c], t->name[c]));
        FAB_TRY(copy_words(&out->words[c], &t->words[c]));
    }
    FAB_TRY(copy_words(&out->target_words, &t->target_words));
    FAB_TRY(fab_copy_text(&out->formula, t->formula));
    FAB_TRY(fab_copy_text(&out->target_name, t->target_name));
    FAB_TRY(fab_copy_text(&out->weight_name, t->weight_name));
    FAB_TRY(fab_copy_text(&out->group_name, t->group_name));
    return fab_copy_text(&out->offset_name, t->offset_name);
}

/* width numbers of each of the rows; NULL stays NULL. */
static fab_status copy_rows(double **out, const double *from, const int64_t *index, int64_t n,
                            int64_t width)
{
    if (!from) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)out, n * width, sizeof **out, "table"));
    for (int64_t i = 0; i < n; i++)
        memcpy(*out + i * width, from + index[i] * width, (size_t)width * sizeof **out);
    return FAB_OK;
}

/* The same of sparse rows. */
static fab_status copy_cells(fab_sparse *out, const fab_sparse *from, const int64_t *index,
                             int64_t n)
{
    int64_t values = 0;
    for (int64_t i = 0; i < n; i++) values += from->start[index[i] + 1] - from->start[index[i]];
    FAB_TRY(fab_alloc_array((void **)&out->start, n + 1, sizeof *out->start, "table"));
    FAB_TRY(fab_alloc_array((void **)&out->index, values + 1, sizeof *out->index, "table"));
    FAB_TRY(fab_alloc_array((void **)&out->value, values + 1, sizeof *out->value, "table"));
    out->start[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = from->start[index[i]], count = from->start[index[i] + 1] - at;
        memcpy(out->index + out->values, from->index + at, (size_t)count * sizeof *out->index);
        memcpy(out->value + out->values, from->value + at, (size_t)count * sizeof *out->value);
        out->values += count;
        out->start[i + 1] = out->values;
    }
    out->n = n;
    return FAB_OK;
}

static fab_status take(fab_dataset *out, const fab_dataset *t, const int64_t *index, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= t->n)
            return FAB_FAIL(FAB_BAD_ARGUMENT, "table: there is no row %lld of %lld",
                            (long long)index[i], (long long)t->n);
    FAB_TRY(copy_columns(out, t));
    if (t->packed)
        FAB_TRY(copy_cells(&out->cells, &t->cells, index, n));
    else
        FAB_TRY(copy_rows(&out->x, t->x, index, n, t->D));
    FAB_TRY(copy_rows(&out->y, t->y, index, n, 1));
    FAB_TRY(copy_rows(&out->weight, t->weight, index, n, 1));
    FAB_TRY(copy_rows(&out->offset, t->offset, index, n, 1));
    FAB_TRY(copy_rows(&out->group, t->group, index, n, 1));
    out->ordered = t->ordered;
    out->n = out->room = n;
    return FAB_OK;
}

fab_status fab_dataset_take(fab_dataset **out, const fab_dataset *t, const int64_t *index,
                            int64_t n)
{
    fab_dataset *new;
    *out = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "table"));
    *new = (fab_dataset){.D = t->D,
                         .columns = t->columns,
                         .sparse = t->sparse,
                         .fills = t->fills,
                         .packed = t->packed,
                         .dialect = t->dialect,
                         .no_intercept = t->no_intercept};
    const fab_status s = take(new, t, index, n);
    if (s == FAB_OK)
        *out = new;
    else
        fab_dataset_free(new);
    return s;
}

/* ---- words ---------------------------------------------------------------------------------------- */

const char *fab_words_odd(const fab_words *w)
{
    enum { LONGEST = 64 }; /* of a number in a table */
    for (int64_t i = 0; i < w->n; i++) {
        char text[LONGEST + FAB_NUMBER_PAD] = {0};
        double x;
        if (strlen(w->word[i]) >= LONGEST) return w->word[i];
        memcpy(text, w->word[i], strlen(w->word[i]));
        const char *end = fab_number(text, &x);
        if (!end || *end) return w->word[i];
    }
    return w->word[0];
}
