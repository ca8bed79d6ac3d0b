/* npy.c - the rows of a .npy file, one after the other.
 *
 * SPDX-License-Identifier: MIT */
#include "base/npy_header.h"
#include "data/source/elements.h"

static int sniff(fab_span head, const fab_dialect *given)
{
    (void)given;
    return head.n >= FAB_NPY_START && fab_npy_is_npy(head.p);
}

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
    return fab_elements_open(s, h.type == FAB_F32 ? &fab_element_f32 : &fab_element_f64, h.rows,
                             h.cols, size);
}

const fab_reader fab_reader_npy = {FAB_FORMAT_NPY, "npy", sniff, open_npy, fab_elements_next};
