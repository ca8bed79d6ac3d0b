/* npy.c - the rows of a .npy file, one after the other.
 *
 * An array in Fortran order stands column after column.  Of each column a run of some thousand rows is read at a time, from its own
 * place in the file, and put beside the others; memory is that of the block.
 *
 * Files are read, not mapped: a file that becomes shorter under a mapping kills the program, and one that is read is said to be cut
 * short; copying costs less than the look at every number for NaN.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"
#include "base/npy_header.h"
#include "data/source/elements.h"
#include <string.h>

static int sniff(fab_span head, const fab_dialect *given)
{
    (void)given;
    return head.n >= FAB_NPY_START && fab_npy_is_npy(head.p);
}

/* ---- Fortran order ------------------------------------------------------------------------------- */

enum {
    BLOCK = 1 << 20,
    LEAST_RUN = 64,
    LONGEST_RUN = 1 << 13
}; /* numbers of a block; rows of it */

struct fab_by_columns {
    int64_t before;       /* bytes of the header */
    int64_t first, n;     /* rows in the block */
    int64_t room;         /* rows */
    double *value;        /* room x columns */
    double *run;          /* room: of one column */
    unsigned char *bytes; /* room elements */
};

static fab_status open_by_columns(fab_source *s, size_t before)
{
    void *p;
    size_t got;
    FAB_TRY(fab_stream_read_at(&s->in, 0, NULL, 0, &got));
    int64_t room = BLOCK / s->columns;
    if (room < LEAST_RUN) room = LEAST_RUN;
    if (room > LONGEST_RUN) room = LONGEST_RUN;
    if (room > s->rows) room = s->rows;
    const int64_t numbers = room * (s->columns + 2);
    FAB_TRY(fab_alloc_array(&p, (int64_t)sizeof *s->by_columns + numbers * (int64_t)sizeof(double),
                            1, s->in.name));
    s->by_columns = p;
    void *behind = s->by_columns + 1;
    double *value = behind;
    *s->by_columns =
        (struct fab_by_columns){.before = (int64_t)before,
                                .room = room,
                                .value = value,
                                .run = value + room * s->columns,
                                .bytes = (unsigned char *)(value + room * (s->columns + 1))};
    fab_stream_take(&s->in, s->in.end - s->in.begin);
    s->in.raw = (int64_t)before; /* what the position is counted from */
    return FAB_OK;
}

static int64_t columns_of(const fab_source *s)
{
    return s->share ? s->share : s->columns;
}

/* The rows from s->row on, the columns of this process. */
static fab_status read_block(fab_source *s)
{
    struct fab_by_columns *b = s->by_columns;
    const int64_t left = s->rows - s->row, size = (int64_t)s->element->size, all = columns_of(s);
    b->first = s->row;
    b->n = 0;
    const int64_t n = left < b->room ? left : b->room;
    for (int64_t c = 0; c < all; c++) {
        size_t got;
        const int64_t at = b->before + ((s->share_first + c) * s->rows + s->row) * size;
        FAB_TRY(fab_stream_read_at(&s->in, at, b->bytes, (size_t)(n * size), &got));
        if (got < (size_t)(n * size))
            return FAB_FAIL(FAB_BAD_FILE,
                            "%s: is cut short: it ends in column %lld (from 0) of %lld", s->in.name,
                            (long long)(s->share_first + c), (long long)s->columns);
        s->element->convert(b->bytes, n, b->run);
        for (int64_t i = 0; i < n; i++) b->value[i * all + c] = b->run[i];
    }
    b->n = n;
    return FAB_OK;
}

static fab_status next_by_columns(fab_source *s, double *out, int *got)
{
    struct fab_by_columns *b = s->by_columns;
    *got = 0;
    if (s->row == s->rows) return FAB_OK;
    if (out && (s->row < b->first || s->row >= b->first + b->n)) FAB_TRY(read_block(s));
    s->in.raw += s->columns * (int64_t)s->element->size;
    *got = 1;
    if (!out) return FAB_OK;
    const int64_t all = columns_of(s);
    memcpy(out, b->value + (s->row - b->first) * all, (size_t)all * sizeof *out);
    return fab_elements_check(s, out);
}

/* ---- any order ----------------------------------------------------------------------------------- */

static fab_status open_npy(fab_source *s)
{
    fab_span start;
    fab_npy_header h;
    size_t size = FAB_NPY_START;
    FAB_TRY(fab_stream_look(&s->in, size, &start));
    if (start.n == size) FAB_TRY(fab_npy_header_size(&size, s->in.name, start.p));
    FAB_TRY(fab_stream_look(&s->in, size, &start));
    FAB_TRY(fab_npy_header_parse(&h, s->in.name, start.p, start.n));
    fab_stream_take(&s->in, size);
    FAB_TRY(fab_elements_open(s, h.type == FAB_F32 ? &fab_element_f32 : &fab_element_f64, h.rows,
                              h.cols, size));
    if (!h.by_columns || h.rows == 1 || h.cols == 1) return FAB_OK; /* both orders are the same */
    const fab_status opened = open_by_columns(s, size);
    if (opened != FAB_UNSUPPORTED) return opened;
    return FAB_FAIL(FAB_BAD_FILE,
                    "%s: the array is in Fortran order, whose rows stand apart, and is %s: save "
                    "np.ascontiguousarray(a)",
                    s->in.name, s->in.unpack ? "compressed" : "a pipe");
}

static fab_status next(fab_source *s, double *out, int *got)
{
    return s->by_columns ? next_by_columns(s, out, got) : fab_elements_next(s, out, got);
}

const fab_reader fab_reader_npy = {FAB_FORMAT_NPY, "npy", sniff, open_npy, next};
