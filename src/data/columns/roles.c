/* roles.c - which column of a source is target, weight, offset, group or feature.
 *
 *   1  target, weight, offset and group by name; the target may stand on the left of a formula
 *   2  all others, or those that `only` lists, without those that `exclude` lists
 *   3  of them those that the formula uses, where there is one
 *
 * SPDX-License-Identifier: MIT */
#include "base/bytes.h"
#include "data/columns/formula.h"
#include "data/columns/table.h"
#include <stdlib.h>
#include <string.h>

/* ---- which column is what ------------------------------------------------------------------------- */

static fab_status check_roles(const fab_roles *p)
{
    if ((p->target >= 0 && (p->target == p->weight || p->target == p->offset)) ||
        (p->weight >= 0 && p->weight == p->offset))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "target, weight and offset are not three columns");
    if (p->group >= 0 && (p->group == p->target || p->group == p->weight || p->group == p->offset))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "the group is target, weight or offset too");
    return FAB_OK;
}

/* The offset: a column, or "log:" and the name of one, whose logarithm is meant, unless a column is named so itself. */
static const char *offset_column(fab_roles *p, const fab_source *s, const char *name)
{
    p->log_offset = name && strncmp(name, "log:", 4) == 0 && fab_source_column(s, name) < 0;
    return p->log_offset ? name + 4 : name;
}

static fab_status named_roles(fab_roles *p, const fab_source *s, const fab_columns *c)
{
    p->target = p->weight = p->offset = p->group = -1;
    if (c->group && c->ordered)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "rows are kept together by group or in the order of time, not by both");
    if (c->group) FAB_TRY(fab_source_find_column(s, c->group, &p->group));
    if (c->target) FAB_TRY(fab_source_find_column(s, c->target, &p->target));
    if (c->weight) FAB_TRY(fab_source_find_column(s, c->weight, &p->weight));
    if (c->offset) FAB_TRY(fab_source_find_column(s, offset_column(p, s, c->offset), &p->offset));
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

/* ---- lists of columns ----------------------------------------------------------------------------- */

enum { LISTED = FAB_MARK_LISTED, NAMED = FAB_MARK_NAMED };

/* One entry of a list: a column by its name or number, else name*, else from:to. */
static fab_status mark_entry(const fab_source *s, char *word, char *mark)
{
    const int64_t n = fab_source_columns(s);
    const size_t length = strlen(word);
    char *colon = strchr(word, ':');
    int64_t from, to;
    if (fab_source_column(s, word) < 0 && length && word[length - 1] == '*') {
        int64_t met = 0;
        for (int64_t c = 0; c < n; c++) {
            const char *name = fab_source_name(s, c);
            if (!name || strncmp(name, word, length - 1) != 0) continue;
            mark[c] |= LISTED;
            met++;
        }
        if (met) return FAB_OK;
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: there is no column whose name begins with '%.*s'",
                        s->in.name, (int)length - 1, word);
    }
    if (fab_source_column(s, word) < 0 && colon) {
        *colon = '\0';
        FAB_TRY(fab_source_find_column(s, word, &from));
        FAB_TRY(fab_source_find_column(s, colon + 1, &to));
        if (from > to)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "%s: columns '%s' to '%s': the second stands before the first",
                            s->in.name, word, colon + 1);
        for (int64_t c = from; c <= to; c++) mark[c] |= LISTED;
        return FAB_OK;
    }
    FAB_TRY(fab_source_find_column(s, word, &from));
    mark[from] |= NAMED;
    return FAB_OK;
}

/* Mark the columns of a list, whose text is cut at its commas. */
static fab_status mark_list(const fab_source *s, char *list, char *mark)
{
    for (char *next = list; next;) {
        char *word = next + strspn(next, " \t"), *comma = strchr(word, ',');
        next = comma ? comma + 1 : NULL;
        char *end = comma ? comma : word + strlen(word);
        while (end > word && strchr(" \t", end[-1])) end--;
        *end = '\0';
        FAB_TRY(mark_entry(s, word, mark));
    }
    return FAB_OK;
}

fab_status fab_columns_mark(const fab_source *s, const char *list, char *mark)
{
    char *copy;
    memset(mark, 0, (size_t)fab_source_columns(s));
    FAB_TRY(fab_copy_text(&copy, list));
    const fab_status done = mark_list(s, copy, mark);
    fab_release(copy);
    return done;
}

static int has_role(const fab_roles *p, int64_t c)
{
    return c == p->target || c == p->weight || c == p->offset || c == p->group;
}

/* 2: the columns that may be features, named[] by the call; mark: room for a mark of each column */
static fab_status listed_features(fab_roles *p, const fab_source *s, const fab_columns *c,
                                  char *mark)
{
    const int64_t n = fab_source_columns(s);
    p->n = 0;
    if (c->only) FAB_TRY(fab_columns_mark(s, c->only, mark));
    for (int64_t i = 0; i < n; i++) {
        if (has_role(p, i) || (c->only && !mark[i])) continue;
        p->named[p->n] = c->only && mark[i] & NAMED;
        p->feature[p->n++] = i;
    }
    if (!c->exclude) return FAB_OK;
    FAB_TRY(fab_columns_mark(s, c->exclude, mark));
    for (int64_t i = 0; i < n; i++)
        if (mark[i] & NAMED && has_role(p, i))
            return FAB_FAIL(
                FAB_BAD_ARGUMENT,
                "%s: column '%s' is excluded, and is target, weight, offset or group too",
                s->in.name, fab_source_name(s, i));
    int64_t kept = 0;
    for (int64_t i = 0; i < p->n; i++) {
        if (mark[p->feature[i]]) continue;
        p->named[kept] = p->named[i];
        p->feature[kept++] = p->feature[i];
    }
    p->n = kept;
    return FAB_OK;
}

/* ---- formulas ------------------------------------------------------------------------------------- */

/* The source's column of a column of a formula; a table in memory has C(x) under that name. */
static fab_status formula_column(const fab_source *s, const fab_formula *f, int64_t c,
                                 int64_t *column, char *coded)
{
    char *name;
    *column = fab_source_column(s, f->column[c].name);
    *coded = (char)(f->column[c].coded && *column >= 0 && !fab_source_is_words(s, *column));
    if (*column >= 0) return FAB_OK;
    FAB_TRY(fab_formula_column_name(f, c, &name));
    *column = fab_source_column(s, name);
    fab_release(name);
    if (*column >= 0) return FAB_OK;
    return fab_source_no_column(FAB_BAD_DATA, s, f->column[c].name);
}

/* 3: the columns of the formula, in its order, instead of those that may be */
static fab_status formula_features(fab_roles *p, const fab_source *s, const fab_formula *f)
{
    fab_release(p->feature);
    fab_release(p->named);
    p->named = NULL;
    p->feature = NULL;
    p->n = f->columns;
    FAB_TRY(fab_alloc_array((void **)&p->feature, p->n, sizeof *p->feature, "table"));
    FAB_TRY(fab_alloc_array((void **)&p->named, p->n, 1, "table"));
    FAB_TRY(fab_alloc_array((void **)&p->coded, p->n, 1, "table"));
    for (int64_t c = 0; c < p->n; c++) {
        FAB_TRY(formula_column(s, f, c, &p->feature[c], &p->coded[c]));
        p->named[c] = (char)f->column[c].named;
    }
    return FAB_OK;
}

/* The formula over the columns that may be features; '.' is without its offset. */
static fab_status read_formula(fab_roles *p, const fab_source *s, const fab_columns *c,
                               fab_formula **formula)
{
    const char **name;
    char *all;
    FAB_TRY(fab_alloc_array((void **)&name, p->n + 1, sizeof *name + 1, "table"));
    all = (char *)(name + p->n + 1);
    for (int64_t i = 0; i < p->n; i++) {
        name[i] = fab_source_name(s, p->feature[i]);
        all[i] = 1;
    }
    fab_status done = fab_formula_create(formula, c->formula, name, all, p->n);
    if (done == FAB_OK && (*formula)->offset && c->offset)
        done =
            FAB_FAIL(FAB_BAD_ARGUMENT, "formula: it has an offset, and '%s' is another", c->offset);
    if (done == FAB_OK && (*formula)->offset) {
        const char *offset = offset_column(p, s, (*formula)->offset);
        p->offset = fab_source_column(s, offset);
        for (int64_t i = 0; i < p->n; i++) all[i] = p->feature[i] != p->offset;
        fab_formula_free(*formula);
        *formula = NULL;
        done = fab_formula_create(formula, c->formula, name, all, p->n);
    }
    fab_release(name);
    FAB_TRY(done);
    FAB_TRY(formula_features(p, s, *formula));
    for (int64_t i = 0; i < p->n; i++)
        if (p->feature[i] == p->offset)
            return FAB_FAIL(FAB_BAD_ARGUMENT, "formula: column '%s' is the offset and a term",
                            fab_source_name(s, p->offset));
    return check_roles(p);
}

/* The target on the left of the formula, and that of the call, are one. */
static fab_status check_target(const fab_roles *p, const fab_source *s, const char *left)
{
    int64_t target;
    FAB_TRY(fab_source_find_column(s, left, &target));
    if (target == p->target) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "the formula explains '%s', and the target is '%s'", left,
                    fab_source_name(s, p->target));
}

fab_status fab_roles_find(fab_roles *p, const fab_source *s, const fab_columns *c,
                          fab_formula **formula)
{
    const int64_t n = fab_source_columns(s);
    fab_columns named = *c;
    char *left = NULL, *mark = NULL, *of_dates = NULL;
    *formula = NULL;
    if (n < 1 || !fab_source_name(s, 0)) return FAB_NO_MEMORY; /* which it has said */
    if (c->formula) FAB_TRY(fab_formula_target(c->formula, &left));
    if (left && !c->target) named.target = left;
    fab_status done = named_roles(p, s, &named); /* 1 */
    if (done == FAB_OK && left) done = check_target(p, s, left);
    fab_release(left);
    FAB_TRY(done);
    FAB_TRY(fab_alloc_array((void **)&p->feature, n, sizeof *p->feature, "table"));
    FAB_TRY(fab_alloc_array((void **)&p->named, n, 1, "table"));
    FAB_TRY(fab_alloc_array((void **)&mark, n, 1, "table"));
    done = listed_features(p, s, c, mark);
    fab_release(mark);
    FAB_TRY(done);
    if (s->parts && !c->formula) FAB_TRY(fab_formula_of_dates(s, p->feature, p->n, &of_dates));
    if (of_dates) named.formula = of_dates;
    if (named.formula) done = read_formula(p, s, &named, formula);
    fab_release(of_dates);
    FAB_TRY(done);
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
    p->target = p->weight = p->offset = p->group = -1;
    if (k->terms) {
        FAB_TRY(formula_features(p, s, k->terms));
    } else {
        p->n = k->columns;
        FAB_TRY(fab_alloc_array((void **)&p->feature, k->columns, sizeof *p->feature, "table"));
        for (int64_t c = 0; c < k->columns; c++) {
            p->feature[c] = c;
            if (!by_place) FAB_TRY(need_column(s, k->column[c].name, &p->feature[c]));
        }
    }
    FAB_TRY(need_column(s, offset_column(p, s, k->offset), &p->offset));
    if (what >= FAB_READ_TARGET) FAB_TRY(need_column(s, k->target, &p->target));
    return what >= FAB_READ_WEIGHT ? need_column(s, k->weight, &p->weight) : FAB_OK;
}
