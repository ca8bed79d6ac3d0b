/* table.c - a source read whole: which column is what, and the rows.
 *
 * SPDX-License-Identifier: MIT */
#include "data/table.h"
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 }; /* numbers read at a time */

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

/* ---- which column is what ------------------------------------------------------------------------- */

typedef struct plan {
    int64_t target, weight, offset; /* columns, or -1 */
    int64_t *feature;               /* D columns */
    int64_t D;
} plan;

static fab_status check_roles(const plan *p)
{
    if ((p->target >= 0 && (p->target == p->weight || p->target == p->offset)) ||
        (p->weight >= 0 && p->weight == p->offset))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "target, weight and offset are not three columns");
    return FAB_OK;
}

static fab_status plan_roles(plan *p, const fab_source *s, const fab_columns *c)
{
    p->target = p->weight = p->offset = -1;
    if (c->target) FAB_TRY(fab_source_find_column(s, c->target, &p->target));
    if (c->weight) FAB_TRY(fab_source_find_column(s, c->weight, &p->weight));
    if (c->offset) FAB_TRY(fab_source_find_column(s, c->offset, &p->offset));
    if (!c->target && fab_source_format(s) == FAB_FORMAT_LIBSVM) p->target = 0;
    return check_roles(p);
}

static fab_status plan_columns(plan *p, const fab_source *s, const fab_columns *c)
{
    const int64_t n = fab_source_columns(s);
    FAB_TRY(plan_roles(p, s, c));
    FAB_TRY(fab_alloc_array((void **)&p->feature, n, sizeof *p->feature, "table"));
    for (int64_t i = 0; i < n; i++)
        if (i != p->target && i != p->weight && i != p->offset) p->feature[p->D++] = i;
    if (p->D == 0) return FAB_FAIL(FAB_BAD_DATA, "the file has no column left for a feature");
    return FAB_OK;
}

/* Does the file name its columns itself, and not by their numbers? */
static int has_names(const fab_source *s)
{
    for (int64_t c = 0; c < fab_source_columns(s); c++) {
        const char *name = fab_source_name(s, c);
        char *end;
        if (!name || name[0] != 'x') return 1;
        const long long i = strtoll(name + 1, &end, 10);
        if (end == name + 1 || *end || i != c) return 1;
    }
    return 0;
}

static fab_status need_column(const fab_source *s, const char *name, int64_t *column)
{
    *column = name ? fab_source_column(s, name) : -1;
    return !name || *column >= 0 ? FAB_OK : fab_source_no_column(FAB_BAD_DATA, s, name);
}

static fab_status plan_model(plan *p, const fab_source *s, const fab_scaling *k, int with_target)
{
    const int by_place = !has_names(s) && fab_source_columns(s) == k->D && !with_target &&
                         !k->offset;
    p->target = p->weight = p->offset = -1;
    p->D = k->D;
    FAB_TRY(fab_alloc_array((void **)&p->feature, k->D, sizeof *p->feature, "table"));
    for (int64_t d = 0; d < k->D; d++) {
        p->feature[d] = d;
        if (!by_place) FAB_TRY(need_column(s, k->name[d], &p->feature[d]));
    }
    FAB_TRY(need_column(s, k->offset, &p->offset));
    return with_target ? need_column(s, k->target, &p->target) : FAB_OK;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

static fab_status grow_array(double **a, int64_t used, int64_t room)
{
    double *new;
    FAB_TRY(fab_alloc_array((void **)&new, room, sizeof *new, "table"));
    if (used) memcpy(new, *a, (size_t)used * sizeof *new);
    fab_release(*a);
    *a = new;
    return FAB_OK;
}

static fab_status grow(fab_dataset *t, const plan *p, int64_t room)
{
    FAB_TRY(grow_array(&t->x, t->n * t->D, room * t->D));
    if (p->target >= 0) FAB_TRY(grow_array(&t->y, t->n, room));
    if (p->weight >= 0) FAB_TRY(grow_array(&t->weight, t->n, room));
    if (p->offset >= 0) FAB_TRY(grow_array(&t->offset, t->n, room));
    return FAB_OK;
}

static void take_row(fab_dataset *t, const plan *p, const double *row)
{
    double *x = t->x + t->n * t->D;
    for (int64_t d = 0; d < t->D; d++) x[d] = row[p->feature[d]];
    if (t->y) t->y[t->n] = row[p->target];
    if (t->weight) t->weight[t->n] = row[p->weight];
    if (t->offset) t->offset[t->n] = row[p->offset];
    t->n++;
}

static fab_status read_pieces(fab_dataset *t, fab_source *s, const plan *p, double *piece,
                              int64_t most)
{
    int64_t room = 0, got = 0;
    const int64_t columns = fab_source_columns(s);
    do {
        FAB_TRY(fab_source_next(s, most, piece, &got));
        if (t->n + got > room) {
            room = 2 * room > t->n + got ? 2 * room : t->n + got;
            FAB_TRY(grow(t, p, room));
        }
        for (int64_t i = 0; i < got; i++) take_row(t, p, piece + i * columns);
        int64_t done, total;
        fab_source_position(s, &done, &total);
        FAB_TRY(fab_progress("read", done, total));
    } while (got > 0);
    return t->n ? FAB_OK : FAB_FAIL(FAB_BAD_DATA, "there are no rows");
}

static fab_status read_rows(fab_dataset *t, fab_source *s, const plan *p)
{
    const int64_t columns = fab_source_columns(s), most = PIECE / columns > 0 ? PIECE / columns : 1;
    double *piece;
    FAB_TRY(fab_alloc_array((void **)&piece, most * columns, sizeof *piece, "table"));
    const fab_status done = read_pieces(t, s, p, piece, most);
    fab_release(piece);
    return done;
}

static fab_status name_columns(fab_dataset *t, const fab_source *s, const plan *p)
{
    FAB_TRY(fab_names_create(&t->name, t->D));
    for (int64_t d = 0; d < t->D; d++)
        FAB_TRY(fab_copy_text(&t->name[d], fab_source_name(s, p->feature[d])));
    FAB_TRY(fab_copy_text(&t->target_name, fab_source_name(s, p->target)));
    FAB_TRY(fab_copy_text(&t->weight_name, fab_source_name(s, p->weight)));
    return fab_copy_text(&t->offset_name, fab_source_name(s, p->offset));
}

/* ---- the verbs -------------------------------------------------------------------------------------- */

static fab_status build(fab_dataset **t, fab_source *s, const plan *p)
{
    fab_dataset *new;
    *t = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "table"));
    *new = (fab_dataset){.D = p->D, .sparse = fab_source_format(s) == FAB_FORMAT_LIBSVM};
    fab_status done = name_columns(new, s, p);
    if (done == FAB_OK) done = read_rows(new, s, p);
    if (done == FAB_OK)
        *t = new;
    else
        fab_dataset_free(new);
    return done;
}

fab_status fab_dataset_read(fab_dataset **t, fab_source *s, const fab_columns *c)
{
    plan p = {0};
    *t = NULL;
    fab_status done = plan_columns(&p, s, c);
    if (done == FAB_OK) done = build(t, s, &p);
    fab_release(p.feature);
    return done;
}

fab_status fab_dataset_read_as(fab_dataset **t, fab_source *s, const fab_scaling *k,
                               int with_target)
{
    plan p = {0};
    *t = NULL;
    fab_status done = plan_model(&p, s, k, with_target);
    if (done == FAB_OK) done = build(t, s, &p);
    fab_release(p.feature);
    return done;
}

void fab_dataset_free(fab_dataset *t)
{
    if (!t) return;
    fab_names_free(t->name, t->D);
    fab_release(t->target_name);
    fab_release(t->weight_name);
    fab_release(t->offset_name);
    fab_release(t->x);
    fab_release(t->y);
    fab_release(t->weight);
    fab_release(t->offset);
    fab_release(t);
}
