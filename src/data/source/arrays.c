/* arrays.c - rows in the caller's memory, as a source: what reads a file reads them too.
 *
 * Dense rows have the columns  matrix | columns by themselves | target | weight | offset;  sparse rows those of a
 * libsvm file, the label first.  Nothing is copied but the words, which become codes.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "data/source/names.h"
#include "data/source/source.h"
#include "data/source/words.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MADE = 24 }; /* bytes of a name that is made up: x and a number */

static int is_given(const fab_array *a)
{
    return a->p || a->code || a->text;
}

static int is_words(const fab_array *a)
{
    return a->text || a->words > 0;
}

static double number_at(const void *p, fab_dtype type, int64_t i)
{
    return type == FAB_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

/* The array of a column of dense rows; NULL: it is one of the matrix. */
static const fab_array *array_of(const fab_source *s, int64_t column)
{
    const fab_arrays *a = s->arrays;
    int64_t target, weight, offset;
    fab_arrays_roles(s, &target, &weight, &offset);
    if (column < a->D) return NULL;
    if (column < a->D + a->columns) return &a->column[column - a->D];
    if (column == target) return &a->y;
    return column == weight ? &a->weight : &a->offset;
}

void fab_arrays_roles(const fab_source *s, int64_t *target, int64_t *weight, int64_t *offset)
{
    const fab_arrays *a = s->arrays;
    int64_t next = a->D + a->columns;
    *target = *weight = *offset = -1;
    if (a->start) {
        if (is_given(&a->y)) *target = 0;
        next = 1 + s->features;
    } else if (is_given(&a->y)) {
        *target = next++;
    }
    if (is_given(&a->weight)) *weight = next++;
    if (is_given(&a->offset)) *offset = next++;
}

int fab_arrays_words_given(const fab_source *s, int64_t column)
{
    if (!s->arrays) return 0;
    const fab_array *a = s->arrays->start ? &s->arrays->y : array_of(s, column);
    return a && a->words > 0;
}

/* ---- checks ----------------------------------------------------------------------------------------- */

static fab_status check_array(const fab_array *a, const char *what)
{
    const int given = (a->p != NULL) + (a->code != NULL) + (a->text != NULL);
    if (given > 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "arrays: %s is given as %d things: numbers, codes or words are one", what,
                        given);
    if (a->p && a->type != FAB_F64 && a->type != FAB_F32)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: %s is of type %s, expected f64 or f32", what,
                        fab_dtype_name(a->type));
    if (a->code && !(a->word && a->words > 0))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: %s has codes, and no words for them", what);
    if (a->words < 0 || (a->words > 0 && !a->word) || a->words > FAB_WORDS_MAX)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: %s has %lld words, expected a list of 0 to %d",
                        what, (long long)a->words, FAB_WORDS_MAX);
    return FAB_OK;
}

static fab_status check_sparse(const fab_arrays *a)
{
    if (!a->index || a->columns || a->name)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "arrays: sparse rows are a matrix with an index, a target, weights and "
                        "offsets; they take no other columns and no names");
    if (a->D > INT32_MAX)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: %lld sparse features, expected at most %d",
                        (long long)a->D, INT32_MAX);
    for (int64_t i = 0; i < a->n; i++)
        if (a->start[0] != 0 || a->start[i + 1] < a->start[i])
            return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: start[%lld] = %lld does not follow %lld",
                            (long long)(i + 1), (long long)a->start[i + 1], (long long)a->start[i]);
    return FAB_OK;
}

static fab_status check(const fab_arrays *a)
{
    if (a->n < 0 || a->D < 0 || a->columns < 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: %lld rows of %lld and %lld features",
                        (long long)a->n, (long long)a->D, (long long)a->columns);
    if (a->D > 0 && !a->x && a->n > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: %lld features, and no numbers of them",
                        (long long)a->D);
    if (a->D + a->columns == 0) return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: there is no feature");
    if (a->type != FAB_F64 && a->type != FAB_F32)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: x is of type %s, expected f64 or f32",
                        fab_dtype_name(a->type));
    FAB_TRY(check_array(&a->y, "the target"));
    FAB_TRY(check_array(&a->weight, "the weight"));
    FAB_TRY(check_array(&a->offset, "the offset"));
    if (is_words(&a->weight) || is_words(&a->offset))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: weights and offsets are numbers, not words");
    for (int64_t c = 0; c < a->columns; c++) {
        char what[64];
        snprintf(what, sizeof what, "column %lld", (long long)c);
        FAB_TRY(check_array(&a->column[c], what));
        if (!is_given(&a->column[c]))
            return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: column %lld has no values", (long long)c);
    }
    return a->start ? check_sparse(a) : FAB_OK;
}

/* ---- open ------------------------------------------------------------------------------------------- */

/* Pointers to the caller's names, and behind them those that are made up. */
static fab_status name_columns(fab_source *s)
{
    const fab_arrays *a = s->arrays;
    int64_t target, weight, offset;
    void *p;
    fab_arrays_roles(s, &target, &weight, &offset);
    FAB_TRY(fab_alloc_array(&p, s->columns, sizeof(char *) + MADE, s->in.name));
    s->names = p;
    char *made = (char *)(s->names + s->columns);
    for (int64_t c = 0; c < s->columns; c++, made += MADE) {
        const fab_array *one = array_of(s, c);
        const char *name = NULL;
        if (one)
            name = one->name;
        else if (a->name)
            name = a->name[c];
        snprintf(made, MADE, "x%lld", (long long)c);
        if (c == target) snprintf(made, MADE, "y");
        if (c == weight) snprintf(made, MADE, "weight");
        if (c == offset) snprintf(made, MADE, "offset");
        s->names[c] = name ? (char *)name : made;
    }
    return fab_source_unique_names(s);
}

static fab_status add_word(fab_dictionary *w, const char *word, int64_t *code)
{
    const size_t n = strlen(word);
    char *to;
    FAB_TRY(fab_dictionary_room(w, n + 1, &to));
    memcpy(to, word, n + 1);
    FAB_TRY(fab_dictionary_code(w, n, code));
    if (*code == FAB_WORDS_MAX)
        return FAB_FAIL(FAB_BAD_DATA, "arrays: more than %d different words are no category",
                        FAB_WORDS_MAX);
    return FAB_OK;
}

/* The dictionary of a column of words; given words have the codes of their places. */
static fab_status open_words(fab_source *s, int64_t column, const fab_array *a)
{
    void *p;
    if (!is_words(a)) return FAB_OK;
    if (!s->words) {
        FAB_TRY(fab_alloc_array(&p, s->columns, sizeof *s->words, s->in.name));
        s->words = p;
        memset(s->words, 0, (size_t)s->columns * sizeof *s->words);
    }
    FAB_TRY(fab_dictionary_create(&s->words[column], s->in.name));
    for (int64_t i = 0; i < a->words; i++) {
        int64_t code;
        if (!a->word[i] || !a->word[i][0])
            return FAB_FAIL(FAB_BAD_ARGUMENT, "arrays: word %lld of a column is empty",
                            (long long)i);
        FAB_TRY(add_word(s->words[column], a->word[i], &code));
        if (code != i)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "arrays: word %lld of a column is '%s', which stands there before",
                            (long long)i, a->word[i]);
    }
    return FAB_OK;
}

static fab_status open_dense(fab_source *s)
{
    const fab_arrays *a = s->arrays;
    s->columns = a->D + a->columns + is_given(&a->y) + is_given(&a->weight) + is_given(&a->offset);
    FAB_TRY(name_columns(s));
    for (int64_t c = a->D; c < s->columns; c++) FAB_TRY(open_words(s, c, array_of(s, c)));
    return FAB_OK;
}

static fab_status open_sparse(fab_source *s)
{
    if (s->features == 0) s->features = s->arrays->D;
    s->columns = 1 + s->features + is_given(&s->arrays->weight) + is_given(&s->arrays->offset);
    s->first_name = "label";
    return open_words(s, 0, &s->arrays->y);
}

const char *fab_arrays_sparse_name(const fab_source *s, int64_t column)
{
    int64_t target, weight, offset;
    if (!s->arrays || !s->arrays->start || column <= s->features) return NULL;
    fab_arrays_roles(s, &target, &weight, &offset);
    if (column == weight) return s->arrays->weight.name ? s->arrays->weight.name : "weight";
    return s->arrays->offset.name ? s->arrays->offset.name : "offset";
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static fab_status cell_missing(const fab_source *s, int64_t row, int64_t column)
{
    return FAB_FAIL(FAB_MISSING_VALUE, "%s: row %lld, column '%s': a missing value", s->in.name,
                    (long long)row, fab_source_name(s, column));
}

static fab_status check_number(const fab_source *s, int64_t row, int64_t column, double x)
{
    if (isnan(x)) return s->missing ? FAB_OK : cell_missing(s, row, column);
    if (isinf(x))
        return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld, column '%s': is infinite", s->in.name,
                        (long long)row, fab_source_name(s, column));
    return FAB_OK;
}

static fab_status read_array(fab_source *s, const fab_array *a, int64_t row, int64_t column,
                             double *out)
{
    const int64_t i = row * (a->stride ? a->stride : 1);
    if (a->text) {
        int64_t code;
        const char *word = a->text[i];
        *out = NAN;
        if (!word || !word[0]) return s->missing ? FAB_OK : cell_missing(s, row, column);
        FAB_TRY(add_word(s->words[column], word, &code));
        *out = (double)code;
        return FAB_OK;
    }
    *out = a->code ? (double)a->code[i] : number_at(a->p, a->type, i);
    if (a->code && a->code[i] == -1) *out = NAN;
    if (a->words && !isnan(*out) && !(*out >= 0 && *out < (double)a->words && *out == floor(*out)))
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: row %lld, column '%s': there is no code %g of %lld words", s->in.name,
                        (long long)row, fab_source_name(s, column), *out, (long long)a->words);
    return check_number(s, row, column, *out);
}

static fab_status next_dense(fab_source *s, double *out, int *got)
{
    const fab_arrays *a = s->arrays;
    const int plain = a->row_stride == 0 && a->column_stride == 0;
    const int64_t across = plain ? 1 : a->column_stride, row = s->row;
    const int64_t first = row * (plain ? a->D : a->row_stride);
    *got = row < a->n;
    if (!*got || !out) return FAB_OK;
    for (int64_t d = 0; d < a->D; d++) {
        out[d] = number_at(a->x, a->type, first + d * across);
        if (!s->unread || !s->unread[d]) FAB_TRY(check_number(s, row, d, out[d]));
    }
    for (int64_t c = a->D; c < s->columns; c++)
        if (s->unread && s->unread[c])
            out[c] = NAN;
        else
            FAB_TRY(read_array(s, array_of(s, c), row, c, &out[c]));
    return FAB_OK;
}

static fab_status add_sparse(fab_source *s, int64_t row, fab_sparse *r)
{
    const fab_arrays *a = s->arrays;
    int64_t last = -1, ignored = 0;
    double label = 0;
    if (is_given(&a->y)) FAB_TRY(read_array(s, &a->y, row, 0, &label));
    if (isnan(label)) return cell_missing(s, row, 0);
    FAB_TRY(fab_sparse_room(r, a->start[row + 1] - a->start[row], s->in.name));
    int64_t at = r->values;
    for (int64_t k = a->start[row]; k < a->start[row + 1]; k++) {
        const double value = number_at(a->x, a->type, k);
        if (a->index[k] <= last || a->index[k] >= a->D)
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s: row %lld: feature %lld does not follow %lld, or is not below %lld",
                            s->in.name, (long long)row, (long long)a->index[k], (long long)last,
                            (long long)a->D);
        if (!isfinite(value))
            return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld: feature %lld is %g", s->in.name,
                            (long long)row, (long long)a->index[k], value);
        last = a->index[k];
        if (last >= s->features) {
            ignored++;
            continue;
        }
        r->index[at] = a->index[k];
        r->value[at++] = value;
    }
    s->ignored += ignored;
    r->label[r->n] = label;
    r->values = at;
    r->start[++r->n] = at;
    return FAB_OK;
}

/* The weight or the offset of a sparse row. */
static fab_status read_beside(fab_source *s, int64_t row, int64_t column, double *out)
{
    int64_t target, weight, offset;
    fab_arrays_roles(s, &target, &weight, &offset);
    return read_array(s, column == weight ? &s->arrays->weight : &s->arrays->offset, row, column,
                      out);
}

static fab_status next_sparse(fab_source *s, double *out, int *got)
{
    const int64_t row = s->row;
    *got = row < s->arrays->n;
    if (!*got || !out) return FAB_OK;
    if (s->sparse) return add_sparse(s, row, s->sparse);
    s->one.n = s->one.values = 0;
    FAB_TRY(add_sparse(s, row, &s->one));
    memset(out, 0, (size_t)s->columns * sizeof *out);
    out[0] = s->one.label[0];
    for (int64_t k = 0; k < s->one.values; k++) out[1 + s->one.index[k]] = s->one.value[k];
    for (int64_t c = 1 + s->features; c < s->columns; c++) FAB_TRY(read_beside(s, row, c, &out[c]));
    return FAB_OK;
}

fab_status fab_arrays_beside(fab_source *s, int64_t column, int64_t first, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) FAB_TRY(read_beside(s, first + i, column, &out[i]));
    return FAB_OK;
}

static const fab_reader dense = {FAB_FORMAT_ARRAYS, "arrays", NULL, open_dense, next_dense};
static const fab_reader sparse = {FAB_FORMAT_LIBSVM, "arrays", NULL, open_sparse, next_sparse};

static fab_status open_as(fab_source **s, const fab_arrays *a, const fab_source_options *o,
                          const char *name)
{
    fab_source *new;
    *s = NULL;
    FAB_TRY(check(a));
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, name));
    *new = (fab_source){.reader = a->start ? &sparse : &dense,
                        .in = {.file = -1, .name = name},
                        .rows = a->n,
                        .features = a->start && o ? o->features : 0,
                        .missing = o && o->missing,
                        .with_words = 1,
                        .arrays = a};
    const fab_status status = new->reader->open(new);
    if (status == FAB_OK)
        *s = new;
    else
        fab_source_close(new);
    return status;
}

fab_status fab_source_open_arrays(fab_source **s, const fab_arrays *a, const fab_source_options *o)
{
    return open_as(s, a, o, "arrays");
}

/* ---- a table ---------------------------------------------------------------------------------------- */

fab_status fab_source_open_table(fab_source **s, const fab_dataset *t, const fab_source_options *o)
{
    struct view {
        fab_arrays all;
        fab_array column[];
    } * v;
    void *p;
    *s = NULL;
    if (t->D != t->columns)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "table: its rows are in fitting units; the user's are expected");
    FAB_TRY(fab_alloc_array(
        &p, 1, sizeof *v + (size_t)(t->packed ? 0 : t->columns) * sizeof *v->column, "table"));
    v = p;
    const fab_array y = {.name = t->target_name,
                         .p = t->y,
                         .word = (const char *const *)t->target_words.word,
                         .words = t->target_words.n};
    v->all = (fab_arrays){.n = t->n, .y = y};
    if (t->packed) {
        v->all.x = t->cells.value;
        v->all.D = t->D;
        v->all.start = t->cells.start;
        v->all.index = t->cells.index;
    } else {
        v->all.column = v->column;
        v->all.columns = t->columns;
        v->all.weight = (fab_array){.name = t->weight_name, .p = t->weight};
        v->all.offset = (fab_array){.name = t->offset_name, .p = t->offset};
        for (int64_t c = 0; c < t->columns; c++)
            v->column[c] = (fab_array){.name = t->name[c],
                                       .p = t->x + c,
                                       .stride = t->D,
                                       .word = (const char *const *)t->words[c].word,
                                       .words = t->words[c].n};
    }
    const fab_status status = open_as(s, &v->all, o, "table");
    if (status != FAB_OK) {
        fab_release(p);
        return status;
    }
    (*s)->view = p;
    (*s)->dialect = t->dialect;
    return FAB_OK;
}
