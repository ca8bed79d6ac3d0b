/* roles.c - which column of a source is target, weight, offset or feature.
 *
 * SPDX-License-Identifier: MIT */
#include "data/columns/table.h"
#include <stdlib.h>
#include <string.h>

/* ---- which column is what ------------------------------------------------------------------------- */

static fab_status check_roles(const fab_roles *p)
{
    if ((p->target >= 0 && (p->target == p->weight || p->target == p->offset)) ||
        (p->weight >= 0 && p->weight == p->offset))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "target, weight and offset are not three columns");
    return FAB_OK;
}

static fab_status named_roles(fab_roles *p, const fab_source *s, const fab_columns *c)
{
    p->target = p->weight = p->offset = -1;
    if (c->target) FAB_TRY(fab_source_find_column(s, c->target, &p->target));
    if (c->weight) FAB_TRY(fab_source_find_column(s, c->weight, &p->weight));
    if (c->offset) FAB_TRY(fab_source_find_column(s, c->offset, &p->offset));
    if (s->arrays) {
        int64_t target, weight, offset;
        fab_arrays_roles(s, &target, &weight, &offset);
        if (!c->target) p->target = target;
        if (!c->weight) p->weight = weight;
        if (!c->offset) p->offset = offset;
    } else if (!c->target && fab_source_format(s) == FAB_FORMAT_LIBSVM) {
        p->target = 0;
    }
    return check_roles(p);
}

fab_status fab_roles_find(fab_roles *p, const fab_source *s, const fab_columns *c)
{
    const int64_t n = fab_source_columns(s);
    FAB_TRY(named_roles(p, s, c));
    FAB_TRY(fab_alloc_array((void **)&p->feature, n, sizeof *p->feature, "table"));
    for (int64_t i = 0; i < n; i++)
        if (i != p->target && i != p->weight && i != p->offset) p->feature[p->n++] = i;
    if (p->n == 0) return FAB_FAIL(FAB_BAD_DATA, "the file has no column left for a feature");
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

fab_status fab_roles_find_as(fab_roles *p, const fab_source *s, const fab_scaling *k,
                             fab_reading what)
{
    const int by_place = !has_names(s) && fab_source_columns(s) == k->columns &&
                         what == FAB_READ_FEATURES && !k->offset;
    p->target = p->weight = p->offset = -1;
    p->n = k->columns;
    FAB_TRY(fab_alloc_array((void **)&p->feature, k->columns, sizeof *p->feature, "table"));
    for (int64_t c = 0; c < k->columns; c++) {
        p->feature[c] = c;
        if (!by_place) FAB_TRY(need_column(s, k->column[c].name, &p->feature[c]));
    }
    FAB_TRY(need_column(s, k->offset, &p->offset));
    if (what >= FAB_READ_TARGET) FAB_TRY(need_column(s, k->target, &p->target));
    return what >= FAB_READ_WEIGHT ? need_column(s, k->weight, &p->weight) : FAB_OK;
}
