/* core_arrow.c - tables of Arrow by its C data interface: numbers in one block, column after column, words as codes.
 *
 *     __arrow_c_stream__() -> capsule "arrow_array_stream"        a table, a reader of record batches
 *     __arrow_c_array__()  -> capsules "arrow_schema", "arrow_array"   one record batch
 *
 * The structs are those of the interface's documentation (Arrow columnar format, "The Arrow C data interface" and "C stream
 * interface"); nothing of Arrow is linked.  Batches (row groups of a Parquet file) are taken one after the other, each is let go
 * once its numbers are copied.
 *
 * SPDX-License-Identifier: MIT */
#include "core.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the interface ------------------------------------------------------------------------------- */

typedef struct schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct schema **children, *dictionary;
    void (*release)(struct schema *);
    void *private_data;
} schema;

typedef struct array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct array **children, *dictionary;
    void (*release)(struct array *);
    void *private_data;
} array;

typedef struct stream {
    int (*get_schema)(struct stream *, schema *);
    int (*get_next)(struct stream *, array *);
    const char *(*get_last_error)(struct stream *);
    void (*release)(struct stream *);
    void *private_data;
} stream;

/* ---- a table being read -------------------------------------------------------------------------- */

/* The different words of a column: numbered in the order of meeting them. */
typedef struct words {
    char *text;    /* one behind the other */
    int64_t *end;  /* count: where each ends */
    int32_t *slot; /* slots: 1 + number, or 0 */
    int64_t count, room, slots;
    int64_t used, text_room;
} words;

typedef struct column {
    const char *name;
    const schema *type; /* of the values: those of the dictionary where there is one */
    int is_words;
    int64_t place; /* of a column of numbers: in the block */
    words words;
    int32_t *code; /* n */
} column;

typedef struct reading {
    schema schema;
    array *batch;
    int64_t batches, room;
    column *column;
    int64_t n, columns, numbers;
    int single;  /* 1: all numbers are single precision, and so is the block */
    char *block; /* numbers x n */
} reading;

static void let_go(reading *r)
{
    for (int64_t b = 0; b < r->batches; b++)
        if (r->batch[b].release) r->batch[b].release(&r->batch[b]);
    free(r->batch);
    for (int64_t c = 0; r->column && c < r->columns; c++) {
        free(r->column[c].words.text);
        free(r->column[c].words.end);
        free(r->column[c].words.slot);
        free(r->column[c].code);
    }
    free(r->column);
    if (r->schema.release) r->schema.release(&r->schema);
    memset(r, 0, sizeof *r);
}

static int no_memory(void)
{
    PyErr_NoMemory();
    return 0;
}

/* ---- types --------------------------------------------------------------------------------------- */

static int is_text(const char *format)
{
    return strcmp(format, "u") == 0 || strcmp(format, "U") == 0 || strcmp(format, "vu") == 0;
}

static int is_number(const char *format)
{
    return strlen(format) == 1 && strchr("bcCsSiIlLefgn", *format) != NULL;
}

/* What a type is called, for those that are not taken. */
static const char *type_name(const char *format)
{
    static const struct {
        const char *start, *name;
    } known[] = {{"td", "dates"},     {"tt", "times"},     {"ts", "timestamps"},
                 {"tD", "durations"}, {"ti", "intervals"}, {"d:", "decimals"},
                 {"z", "bytes"},      {"Z", "bytes"},      {"vz", "bytes"},
                 {"w:", "bytes"},     {"+l", "lists"},     {"+L", "lists"},
                 {"+w", "lists"},     {"+v", "lists"},     {"+s", "structs"},
                 {"+m", "maps"},      {"+u", "unions"},    {"+r", "runs of values"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(format, known[i].start, strlen(known[i].start)) == 0) return known[i].name;
    return "values";
}

static int open_column(reading *r, column *c, const schema *s)
{
    c->name = s->name ? s->name : "";
    c->type = s->dictionary ? s->dictionary : s;
    c->is_words = is_text(c->type->format);
    for (const column *other = r->column; other < c; other++)
        if (strcmp(other->name, c->name) == 0)
            return core_refuse(FAB_BAD_DATA, "the column '%s' comes more than once", c->name) !=
                   NULL;
    if (!c->is_words && (s->dictionary || !is_number(c->type->format)))
        return core_refuse(FAB_BAD_DATA,
                           "column '%s' has %s%s (Arrow's format '%s'), expected numbers, booleans "
                           "or words; cast it",
                           c->name, s->dictionary ? "a dictionary of " : "",
                           is_number(c->type->format) ? "numbers" : type_name(c->type->format),
                           c->type->format) != NULL;
    if (c->is_words) return 1;
    c->place = r->numbers++;
    r->single &= *c->type->format == 'f' || *c->type->format == 'e';
    return 1;
}

static int open_schema(reading *r)
{
    const schema *s = &r->schema;
    if (strcmp(s->format, "+s") != 0)
        return core_refuse(FAB_BAD_ARGUMENT,
                           "an Arrow array of format '%s', expected a table or a record batch",
                           s->format) != NULL;
    if (s->n_children == 0)
        return core_refuse(FAB_BAD_DATA, "0 feature(s): the table has no columns") != NULL;
    r->column = calloc((size_t)s->n_children, sizeof *r->column);
    if (!r->column) return no_memory();
    r->single = 1;
    for (int64_t c = 0; c < s->n_children; c++, r->columns++)
        if (!open_column(r, &r->column[c], s->children[c])) return 0;
    return 1;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

static int bit(const unsigned char *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

/* IEEE half precision */
static double half(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    double x = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) x = fraction ? NAN : INFINITY;
    return h >> 15 ? -x : x;
}

#define COPY(type)                                             \
    do {                                                       \
        const type *v = (const type *)values + at;             \
        for (int64_t i = 0; i < n; i++) out[i] = (double)v[i]; \
    } while (0)

/* Values at .. at + n - 1 as doubles. */
static void copy_numbers(char format, const void *values, int64_t at, int64_t n, double *out)
{
    switch (format) {
    case 'b':
        for (int64_t i = 0; i < n; i++) out[i] = bit(values, at + i);
        break;
    case 'c': COPY(int8_t); break;
    case 'C': COPY(uint8_t); break;
    case 's': COPY(int16_t); break;
    case 'S': COPY(uint16_t); break;
    case 'i': COPY(int32_t); break;
    case 'I': COPY(uint32_t); break;
    case 'l': COPY(int64_t); break;
    case 'L': COPY(uint64_t); break;
    case 'f': COPY(float); break;
    case 'e':
        for (int64_t i = 0; i < n; i++) out[i] = half(((const uint16_t *)values)[at + i]);
        break;
    default: memcpy(out, (const double *)values + at, (size_t)n * sizeof *out);
    }
}

static const unsigned char *nulls_of(const array *a)
{
    return a->null_count != 0 && a->n_buffers > 0 ? a->buffers[0] : NULL;
}

/* Rows first .. of the block. */
static int read_numbers(reading *r, const column *c, const array *a, int64_t at, int64_t n,
                        int64_t first)
{
    enum { PIECE = 1024 };
    double piece[PIECE];
    const char format = *c->type->format;
    const unsigned char *there = format == 'n' ? NULL : nulls_of(a);
    if (n > 0 && format != 'n' && (a->n_buffers < 2 || !a->buffers[1]))
        return core_refuse(FAB_BAD_DATA, "column '%s': an Arrow array without values", c->name) !=
               NULL;
    for (int64_t done = 0; done < n; done += PIECE) {
        const int64_t m = n - done < PIECE ? n - done : PIECE, from = at + done;
        const int64_t to = c->place * r->n + first + done;
        double *out = r->single ? piece : (double *)(void *)r->block + to;
        if (format == 'n')
            for (int64_t i = 0; i < m; i++) out[i] = NAN;
        else
            copy_numbers(format, a->buffers[1], from, m, out);
        for (int64_t i = 0; there && i < m; i++)
            if (!bit(there, from + i)) out[i] = NAN;
        for (int64_t i = 0; r->single && i < m; i++)
            ((float *)(void *)r->block)[to + i] = (float)piece[i];
    }
    return 1;
}

/* ---- words --------------------------------------------------------------------------------------- */

static int grow(void *p, int64_t n, size_t size)
{
    void *more = realloc(*(void **)p, (size_t)n * size);
    if (!more) return no_memory();
    *(void **)p = more;
    return 1;
}

static uint64_t hash(const char *p, int64_t n)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (int64_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * UINT64_C(0x100000001B3);
    return h ^ h >> 32;
}

static const char *word_of(const words *w, int64_t i, int64_t *n)
{
    const int64_t start = i ? w->end[i - 1] : 0;
    *n = w->end[i] - start;
    return w->text + start;
}

static int64_t find(const words *w, const char *p, int64_t n)
{
    const uint64_t mask = (uint64_t)w->slots - 1;
    for (uint64_t i = hash(p, n) & mask;; i = (i + 1) & mask) {
        int64_t length;
        if (w->slot[i] == 0) return (int64_t)i;
        const char *word = word_of(w, w->slot[i] - 1, &length);
        if (length == n && memcmp(word, p, (size_t)n) == 0) return (int64_t)i;
    }
}

/* Room for one more word, the table at most half full. */
static int more_room(words *w, int64_t n)
{
    if (w->used + n > w->text_room) {
        w->text_room = 2 * (w->used + n);
        if (!grow(&w->text, w->text_room, 1)) return 0;
    }
    if (w->count < w->room) return 1;
    const int64_t room = w->room ? 2 * w->room : 16;
    if (room > INT32_MAX / 2 || !grow(&w->end, room, sizeof *w->end) ||
        !grow(&w->slot, 2 * room, sizeof *w->slot))
        return PyErr_Occurred() ? 0 : no_memory();
    w->room = room;
    w->slots = 2 * room;
    memset(w->slot, 0, (size_t)w->slots * sizeof *w->slot);
    for (int64_t i = 0; i < w->count; i++) {
        int64_t length;
        const char *word = word_of(w, i, &length);
        w->slot[find(w, word, length)] = (int32_t)(i + 1);
    }
    return 1;
}

/* Its number; -2 and an exception: no memory.  An empty word is a missing value, as everywhere. */
static int32_t code_of(words *w, const char *p, int64_t n)
{
    if (n == 0) return -1;
    if (!more_room(w, n)) return -2;
    const int64_t i = find(w, p, n);
    if (w->slot[i] == 0) {
        memcpy(w->text + w->used, p, (size_t)n);
        w->used += n;
        w->end[w->count++] = w->used;
        w->slot[i] = (int32_t)w->count;
    }
    return w->slot[i] - 1;
}

/* The text of element i, *n bytes of it; NULL: the array holds no such thing. */
static const char *text_at(const char *format, const array *a, int64_t i, int64_t *n)
{
    static const char empty[1];
    if (a->n_buffers < 3 || !a->buffers[1]) return NULL;
    if (format[0] ==
        'v') { /* 16 bytes: length, then the text, or its beginning, buffer and place */
        const unsigned char *view = (const unsigned char *)a->buffers[1] + 16 * i;
        int32_t length, place[2];
        memcpy(&length, view, sizeof length);
        memcpy(place, view + 8, sizeof place);
        *n = length;
        if (length < 0) return NULL;
        if (length <= 12) return (const char *)view + 4;
        if (place[0] < 0 || place[0] >= a->n_buffers - 3 || place[1] < 0) return NULL;
        return (const char *)a->buffers[2 + place[0]] + place[1];
    }
    const int wide = format[0] == 'U';
    const int64_t start = wide ? ((const int64_t *)a->buffers[1])[i]
                               : ((const int32_t *)a->buffers[1])[i];
    const int64_t end = wide ? ((const int64_t *)a->buffers[1])[i + 1]
                             : ((const int32_t *)a->buffers[1])[i + 1];
    *n = end - start;
    if (start < 0 || end < start) return NULL;
    if (*n == 0) return empty;
    return a->buffers[2] ? (const char *)a->buffers[2] + start : NULL;
}

static int read_texts(column *c, const array *a, int64_t at, int64_t n, int32_t *code)
{
    const unsigned char *there = nulls_of(a);
    for (int64_t i = at; i < at + n; i++) {
        int64_t length;
        code[i - at] = -1;
        if (there && !bit(there, i)) continue;
        const char *text = text_at(c->type->format, a, i, &length);
        if (!text)
            return core_refuse(FAB_BAD_DATA, "column '%s': an Arrow array without its words",
                               c->name) != NULL;
        code[i - at] = code_of(&c->words, text, length);
        if (code[i - at] == -2) return 0;
    }
    return 1;
}

/* Indices into the words of this batch, whose numbers may be others than those of the batch before. */
static int read_dictionary(column *c, const schema *s, const array *a, int64_t at, int64_t n,
                           int32_t *code)
{
    enum { PIECE = 1024 };
    double index[PIECE];
    const array *d = a->dictionary;
    const unsigned char *there = nulls_of(a);
    int32_t *of_word = d ? malloc((size_t)(d->length + 1) * sizeof *of_word) : NULL;
    if (!d || a->n_buffers < 2 || (n > 0 && !a->buffers[1])) {
        free(of_word);
        return core_refuse(FAB_BAD_DATA, "column '%s': an Arrow array without its dictionary",
                           c->name) != NULL;
    }
    if (!of_word) return no_memory();
    int fine = read_texts(c, d, d->offset, d->length, of_word);
    for (int64_t done = 0; fine && done < n; done += PIECE) {
        const int64_t m = n - done < PIECE ? n - done : PIECE;
        copy_numbers(*s->format, a->buffers[1], at + done, m, index);
        for (int64_t i = 0; fine && i < m; i++) {
            code[done + i] = -1;
            if (there && !bit(there, at + done + i)) continue;
            fine = index[i] >= 0 && index[i] < (double)d->length;
            if (fine)
                code[done + i] = of_word[(int64_t)index[i]];
            else
                core_refuse(FAB_BAD_DATA, "column '%s': there is no word %g of %lld", c->name,
                            index[i], (long long)d->length);
        }
    }
    free(of_word);
    return fine;
}

/* ---- batches ------------------------------------------------------------------------------------- */

static int take_batch(reading *r, array *a)
{
    if (r->batches == r->room) {
        r->room = r->room ? 2 * r->room : 16;
        if (!grow(&r->batch, r->room, sizeof *r->batch)) {
            a->release(a);
            return 0;
        }
    }
    r->batch[r->batches++] = *a; /* a move, which the interface allows */
    if (a->n_children != r->columns)
        return core_refuse(FAB_BAD_DATA, "a batch of %lld columns in a table of %lld",
                           (long long)a->n_children, (long long)r->columns) != NULL;
    if (nulls_of(a))
        return core_refuse(FAB_BAD_DATA, "a batch with rows that are null themselves; drop them") !=
               NULL;
    r->n += a->length;
    return 1;
}

static int read_stream(reading *r, stream *s)
{
    const char *why;
    int failed;
    Py_BEGIN_ALLOW_THREADS failed = s->get_schema(s, &r->schema);
    Py_END_ALLOW_THREADS if (!failed && !open_schema(r)) return 0;
    while (!failed) {
        array a = {0};
        Py_BEGIN_ALLOW_THREADS failed = s->get_next(s, &a);
        Py_END_ALLOW_THREADS if (failed) break;
        if (!a.release) return 1;
        if (!take_batch(r, &a)) return 0;
        if (PyErr_CheckSignals() != 0) return 0;
    }
    if (PyErr_Occurred()) return 0;
    why = s->get_last_error(s);
    return core_refuse(FAB_BAD_FILE, "the Arrow stream fails: %s", why ? why : strerror(failed)) !=
           NULL;
}

/* Copy a batch behind the rows before it, and let it go. */
static int read_batch(reading *r, array *a, int64_t first)
{
    for (int64_t k = 0; k < r->columns; k++) {
        column *c = &r->column[k];
        const schema *s = r->schema.children[k];
        const array *child = a->children[k];
        const int64_t at = a->offset + child->offset;
        int fine = 1;
        if (child->length < a->offset + a->length)
            return core_refuse(FAB_BAD_DATA, "column '%s': %lld values in a batch of %lld rows",
                               c->name, (long long)child->length, (long long)a->length) != NULL;
        if (!c->is_words)
            fine = read_numbers(r, c, child, at, a->length, first);
        else if (s->dictionary)
            fine = read_dictionary(c, s, child, at, a->length, c->code + first);
        else
            fine = read_texts(c, child, at, a->length, c->code + first);
        if (!fine) return 0;
    }
    a->release(a);
    a->release = NULL;
    return 1;
}

static PyObject *list_words(const words *w)
{
    PyObject *list = PyList_New((Py_ssize_t)w->count);
    for (int64_t i = 0; list && i < w->count; i++) {
        int64_t n;
        const char *p = word_of(w, i, &n);
        PyObject *one = PyUnicode_DecodeUTF8(p, (Py_ssize_t)n, "strict");
        if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) != 0) Py_CLEAR(list);
    }
    return list;
}

/* (name, place in the block, None, None), or (name, None, codes, words) */
static PyObject *give_column(const reading *r, const column *c)
{
    if (!c->is_words) return Py_BuildValue("sLOO", c->name, (long long)c->place, Py_None, Py_None);
    PyObject *code = core_copy(c->code, r->n, sizeof *c->code);
    PyObject *list = code ? list_words(&c->words) : NULL;
    if (list) return Py_BuildValue("sONN", c->name, Py_None, code, list);
    Py_XDECREF(code);
    return NULL;
}

static PyObject *give(reading *r)
{
    const size_t size = r->single ? sizeof(float) : sizeof(double);
    PyObject *block = core_matrix(r->numbers, r->n, size, &r->block);
    if (!block) return NULL;
    for (int64_t k = 0; k < r->columns; k++)
        if (r->column[k].is_words) {
            r->column[k].code = malloc((size_t)(r->n + 1) * sizeof *r->column[k].code);
            if (!r->column[k].code) PyErr_NoMemory();
        }
    int64_t first = 0;
    for (int64_t b = 0; !PyErr_Occurred() && b < r->batches; b++) {
        const int64_t n = r->batch[b].length;
        if (read_batch(r, &r->batch[b], first)) first += n;
        PyErr_CheckSignals();
    }
    PyObject *list = PyErr_Occurred() ? NULL : PyList_New(0);
    for (int64_t k = 0; list && k < r->columns; k++) {
        PyObject *one = give_column(r, &r->column[k]);
        if (!one || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    if (list) return Py_BuildValue("LNiN", (long long)r->n, block, r->single, list);
    Py_DECREF(block);
    return NULL;
}

/* What a capsule holds; NULL and an exception: it is another, or was used up. */
static void *held(PyObject *capsule, const char *name)
{
    if (PyCapsule_IsValid(capsule, name)) return PyCapsule_GetPointer(capsule, name);
    core_refuse(FAB_BAD_ARGUMENT, "expected a capsule '%s' of Arrow's C data interface", name);
    return NULL;
}

static PyObject *arrow_stream(PyObject *self, PyObject *capsule)
{
    (void)self;
    reading r = {0};
    stream *s = held(capsule, "arrow_array_stream");
    if (!s) return NULL;
    if (!s->release) return core_refuse(FAB_BAD_ARGUMENT, "an Arrow stream that was read already");
    PyObject *out = read_stream(&r, s) ? give(&r) : NULL;
    let_go(&r);
    s->release(s);
    return out;
}

static PyObject *arrow_array(PyObject *self, PyObject *args)
{
    (void)self;
    reading r = {0};
    PyObject *of_schema, *of_array, *out = NULL;
    if (!PyArg_ParseTuple(args, "OO", &of_schema, &of_array)) return NULL;
    schema *s = held(of_schema, "arrow_schema");
    array *a = s ? held(of_array, "arrow_array") : NULL;
    if (!a) return NULL;
    if (!s->release || !a->release)
        return core_refuse(FAB_BAD_ARGUMENT, "an Arrow array that was read already");
    r.schema = *s; /* moves: they are ours to release */
    array batch = *a;
    s->release = NULL;
    a->release = NULL;
    if (!open_schema(&r))
        batch.release(&batch);
    else if (take_batch(&r, &batch))
        out = give(&r);
    let_go(&r);
    return out;
}

PyMethodDef core_arrow_functions[] = {
    {"arrow_stream", arrow_stream, METH_O,
     "arrow_stream(capsule) -> rows, numbers, single, [(name, place, codes, words)]"},
    {"arrow_array", arrow_array, METH_VARARGS,
     "arrow_array(schema capsule, array capsule) -> the same of one batch"},
    {NULL, NULL, 0, NULL}};
