/* npy_header.h - the head of a .npy file, for readers that hold only its first bytes.
 *
 *     read FAB_NPY_START bytes;
 *     FAB_TRY(fab_npy_header_size(&size, name, bytes));
 *     read on to `size` bytes;
 *     FAB_TRY(fab_npy_header_parse(&h, name, bytes, size));
 *     the elements follow.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_NPY_HEADER_H
#define FAB_BASE_NPY_HEADER_H

#include "base/fail.h"
#include "fabayes/exec.h"
#include <stddef.h>

/* FAB_NPY_START bytes hold magic, version and header length in every version; no header is shorter.
 * NumPy itself writes about 100 bytes of header for an array of numbers. */
enum { FAB_NPY_START = 12, FAB_NPY_HEADER_MAX = 65536 };

typedef struct fab_npy_header {
    fab_dtype type; /* FAB_F64 or FAB_F32 */
    int ndim;       /* 1 or 2 */
    int64_t rows, cols;
    int by_columns; /* 1: Fortran order, and it is another than C's */
    size_t offset;  /* of the first element */
    size_t bytes;   /* of all elements */
} fab_npy_header;

/* Do these FAB_NPY_START bytes begin like a .npy file? */
int fab_npy_is_npy(const void *bytes);

/* How many bytes stand before the first element (at most FAB_NPY_HEADER_MAX), from the first
 * FAB_NPY_START of them. */
fab_status fab_npy_header_size(size_t *size, const char *name, const void *bytes);

/* Understand those bytes.  `size` may be larger than the header. */
fab_status fab_npy_header_parse(fab_npy_header *h, const char *name, const void *bytes,
                                size_t size);

/* Write the header of rows x cols (ndim 1: rows) elements: exactly FAB_NPY_WRITTEN bytes, for any
 * sizes, and the same bytes as NumPy's. */
enum { FAB_NPY_WRITTEN = 128 };
void fab_npy_header_print(char buf[FAB_NPY_WRITTEN], fab_dtype type, int ndim, int64_t rows,
                          int64_t cols);

#endif
