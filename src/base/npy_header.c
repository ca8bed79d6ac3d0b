/* npy_header.c - the head of a .npy file: magic, version, length, and a Python dictionary as text.
 *
 *     \x93NUMPY 1 0 <u16 length> {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } ... \n
 *
 * Versions 2 and 3 have a u32 length.  Only the three entries above are understood, in any order, each
 * exactly once; nothing is evaluated.
 *
 * SPDX-License-Identifier: MIT */
#include "base/npy_header.h"
#include "base/bytes.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, DESCR = 1, ORDER = 2, SHAPE = 4 };

typedef struct cursor {
    const char *name; /* of the file */
    const char *p, *end;
} cursor;

typedef struct slice {
    const char *p;
    size_t n;
} slice;

static void skip_blanks(cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
        c->p++;
}

static int eat(cursor *c, const char *word)
{
    const size_t n = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0) return 0;
    c->p += n;
    return 1;
}

static int eat_quoted(cursor *c, slice *s)
{
    if (!eat(c, "'") && !eat(c, "\"")) return 0;
    const char quote = c->p[-1];
    s->p = c->p;
    while (c->p < c->end && *c->p != quote && *c->p != '\\') c->p++;
    if (c->p == c->end || *c->p != quote) return 0;
    s->n = (size_t)(c->p - s->p);
    c->p++;
    return 1;
}

static int same(slice s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

static fab_status not_a_dictionary(const cursor *c)
{
    char near[FAB_SHOWN];
    return FAB_FAIL(FAB_BAD_FILE, "%s: the header is not understood near '%s'", c->name,
                    fab_show(near, c->p, (size_t)(c->end - c->p)));
}

static fab_status parse_descr(cursor *c, fab_npy_header *h)
{
    char shown[FAB_SHOWN];
    slice s;
    skip_blanks(c);
    const cursor start = *c;
    if (!eat_quoted(c, &s))
        s = (slice){start.p, (size_t)(start.end - start.p)}; /* a structured type */
    h->type = same(s, "<f4") ? FAB_F32 : FAB_F64;
    if (same(s, "<f4") || same(s, "<f8")) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE,
                    "%s: its elements are of type %s; only <f4 and <f8 are read: "
                    "save a.astype('<f8')",
                    c->name, fab_show(shown, s.p, s.n));
}

static fab_status parse_order(cursor *c, fab_npy_header *h)
{
    if (eat(c, "False")) return FAB_OK;
    h->by_columns = eat(c, "True");
    return h->by_columns ? FAB_OK : not_a_dictionary(c);
}

/* A plain number; -1 when it does not fit. */
static int eat_size(cursor *c, int64_t *size)
{
    skip_blanks(c);
    const char *start = c->p;
    int overflow = 0;
    *size = 0;
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
        overflow |= __builtin_mul_overflow(*size, 10, size) ||
                    __builtin_add_overflow(*size, *c->p - '0', size);
    if (overflow) *size = -1;
    return c->p > start;
}

/* "(n,)" or "(rows, cols)" or "(rows, cols,)" */
static fab_status parse_shape(cursor *c, fab_npy_header *h)
{
    int64_t size[2] = {1, 1}, next;
    int ndim = 0, overflow = 0, comma = 1;
    skip_blanks(c);
    const char *start = c->p;
    if (!eat(c, "(")) return not_a_dictionary(c);
    for (; comma && eat_size(c, &next); ndim++) {
        overflow |= next < 0;
        if (ndim < 2) size[ndim] = next;
        comma = eat(c, ",");
    }
    if (!eat(c, ")") || (ndim == 1 && !comma)) return not_a_dictionary(c);

    char shown[FAB_SHOWN];
    fab_show(shown, start, (size_t)(c->p - start));
    if (ndim < 1 || ndim > 2)
        return FAB_FAIL(FAB_BAD_FILE, "%s: the shape is %s; only one or two dimensions are read",
                        c->name, shown);
    int64_t bytes;
    if (overflow || __builtin_mul_overflow(size[0], size[1], &bytes) || bytes > INT64_MAX / 8)
        return FAB_FAIL(FAB_BAD_FILE, "%s: the shape %s is too large", c->name, shown);
    h->ndim = ndim;
    h->rows = size[0];
    h->cols = size[1];
    return FAB_OK;
}

static fab_status parse_entry(cursor *c, fab_npy_header *h, int *seen)
{
    char shown[FAB_SHOWN];
    slice key = {NULL, 0};
    if (!eat_quoted(c, &key) || !eat(c, ":")) return not_a_dictionary(c);
    int entry = 0;
    if (same(key, "descr")) entry = DESCR;
    if (same(key, "fortran_order")) entry = ORDER;
    if (same(key, "shape")) entry = SHAPE;
    if (!entry || (*seen & entry))
        return FAB_FAIL(FAB_BAD_FILE, "%s: the header has %s entry '%s'", c->name,
                        entry ? "a second" : "an unknown", fab_show(shown, key.p, key.n));
    *seen |= entry;
    if (entry == DESCR) return parse_descr(c, h);
    return entry == ORDER ? parse_order(c, h) : parse_shape(c, h);
}

static fab_status parse_dictionary(cursor *c, fab_npy_header *h)
{
    int seen = 0, comma = 1;
    if (!eat(c, "{")) return not_a_dictionary(c);
    while (!eat(c, "}")) {
        if (!comma) return not_a_dictionary(c);
        FAB_TRY(parse_entry(c, h, &seen));
        comma = eat(c, ",");
    }
    skip_blanks(c);
    if (c->p != c->end) return not_a_dictionary(c);
    if (seen == (DESCR | ORDER | SHAPE)) return FAB_OK;
    const char *missing = "shape";
    if (!(seen & ORDER)) missing = "fortran_order";
    if (!(seen & DESCR)) missing = "descr";
    return FAB_FAIL(FAB_BAD_FILE, "%s: the header has no entry '%s'", c->name, missing);
}

int fab_npy_is_npy(const void *bytes)
{
    return memcmp(bytes, magic, MAGIC) == 0;
}

/* Where the dictionary starts: the length is a u16 in version 1 and a u32 later. */
static size_t text_offset(const unsigned char *b)
{
    return b[MAGIC] == 1 ? 10 : 12;
}

fab_status fab_npy_header_size(size_t *size, const char *name, const void *bytes)
{
    const unsigned char *b = bytes;
    if (!fab_npy_is_npy(b)) return FAB_FAIL(FAB_BAD_FILE, "%s: is not a .npy file", name);
    if (b[MAGIC] < 1 || b[MAGIC] > 3 || b[MAGIC + 1] != 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: .npy version %d.%d is not known; 1.0, 2.0 and 3.0 are",
                        name, b[MAGIC], b[MAGIC + 1]);
    uint64_t length = (uint64_t)b[8] | (uint64_t)b[9] << 8;
    if (b[MAGIC] > 1) length |= (uint64_t)b[10] << 16 | (uint64_t)b[11] << 24;
    if (length < 2 || length > FAB_NPY_HEADER_MAX - text_offset(b))
        return FAB_FAIL(FAB_BAD_FILE, "%s: a header of %" PRIu64 " bytes is not believed", name,
                        length);
    *size = text_offset(b) + (size_t)length;
    return FAB_OK;
}

fab_status fab_npy_header_parse(fab_npy_header *h, const char *name, const void *bytes, size_t size)
{
    memset(h, 0, sizeof *h);
    if (size < FAB_NPY_START)
        return FAB_FAIL(FAB_BAD_FILE, "%s: is cut short: %zu bytes are no .npy header", name, size);
    FAB_TRY(fab_npy_header_size(&h->offset, name, bytes));
    if (h->offset > size)
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: is cut short: the header ends at byte %zu, the file at byte %zu", name,
                        h->offset, size);
    const char *text = bytes;
    cursor c = {name, text + text_offset(bytes), text + h->offset};
    FAB_TRY(parse_dictionary(&c, h));
    h->bytes = (size_t)(h->rows * h->cols) * (h->type == FAB_F32 ? 4 : 8);
    return FAB_OK;
}

void fab_npy_header_print(char buf[FAB_NPY_WRITTEN], fab_dtype type, int ndim, int64_t rows,
                          int64_t cols)
{
    char shape[48], text[FAB_NPY_WRITTEN];
    if (ndim == 1)
        snprintf(shape, sizeof shape, "(%" PRId64 ",)", rows);
    else
        snprintf(shape, sizeof shape, "(%" PRId64 ", %" PRId64 ")", rows, cols);
    const int n = snprintf(text, sizeof text,
                           "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                           type == FAB_F32 ? "<f4" : "<f8", shape);
    memset(buf, ' ', FAB_NPY_WRITTEN);
    memcpy(buf, magic, MAGIC);
    buf[MAGIC] = 1;
    buf[MAGIC + 1] = 0;
    buf[8] = (char)(FAB_NPY_WRITTEN - 10);
    buf[9] = 0;
    memcpy(buf + 10, text, (size_t)n);
    buf[FAB_NPY_WRITTEN - 1] = '\n';
}
