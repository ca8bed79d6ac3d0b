/* idx.c - the items of an idx file (MNIST and its kin), each flattened to one row.
 *
 *     0 0 type ndim   <ndim sizes, 4 bytes each, big-endian>   <elements, big-endian, last index fastest>
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/elements.h"
#include <string.h>

enum { START = 4, MAX_DIMENSIONS = 255 };

static const fab_element *find_type(unsigned char code)
{
    switch (code) {
    case 0x08: return &fab_element_u8;
    case 0x09: return &fab_element_i8;
    case 0x0B: return &fab_element_i16_big;
    case 0x0C: return &fab_element_i32_big;
    case 0x0D: return &fab_element_f32_big;
    case 0x0E: return &fab_element_f64_big;
    default: return NULL;
    }
}

static int is_idx(fab_span head)
{
    return head.n >= START && head.p[0] == 0 && head.p[1] == 0 &&
           find_type((unsigned char)head.p[2]) != NULL && head.p[3] != 0;
}

static int sniff(fab_span head, const fab_dialect *given)
{
    (void)given;
    return is_idx(head);
}

static int64_t read_size(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    return (int64_t)p[0] << 24 | (int64_t)p[1] << 16 | (int64_t)p[2] << 8 | (int64_t)p[3];
}

static fab_status open_idx(fab_source *s)
{
    fab_span head;
    FAB_TRY(fab_stream_look(&s->in, START, &head));
    if (!is_idx(head)) return FAB_FAIL(FAB_BAD_FILE, "%s: is not an idx file", s->in.name);
    const fab_element *e = find_type((unsigned char)head.p[2]);
    const int ndim = (unsigned char)head.p[3];
    const size_t size = START + 4 * (size_t)ndim;
    FAB_TRY(fab_stream_look(&s->in, size, &head));
    if (head.n < size) return FAB_FAIL(FAB_BAD_FILE, "%s: is cut short in its header", s->in.name);
    int64_t columns = 1;
    for (int d = 1; d < ndim; d++)
        if (__builtin_mul_overflow(columns, read_size(head.p + START + 4 * d), &columns))
            return FAB_FAIL(FAB_BAD_FILE, "%s: the sizes in its header are too large", s->in.name);
    const int64_t rows = read_size(head.p + START);
    fab_stream_take(&s->in, size);
    return fab_elements_open(s, e, rows, columns, size);
}

const fab_reader fab_reader_idx = {FAB_FORMAT_IDX, "idx", sniff, open_idx, fab_elements_next};
