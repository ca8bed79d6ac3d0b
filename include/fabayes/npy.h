/* npy.h - NumPy's .npy files: one array, C order, f4 or f8, header versions 1 to 3.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_NPY_H
#define FABAYES_NPY_H

#include "fabayes/types.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An array of one or two dimensions; one dimension is rows = n, cols = 1. */
typedef struct fab_npy {
    void *data; /* rows x cols, C order */
    fab_dtype type;
    int ndim;
    int64_t rows, cols;
} fab_npy;

/* Read a whole file, or the same bytes from memory.  Gives a->data: fab_npy_free.  On failure a->data
 * is NULL. */
FAB_API fab_status fab_npy_read(fab_npy *a, const char *path);
FAB_API fab_status fab_npy_parse(fab_npy *a, const char *name, const void *bytes, size_t size);
FAB_API void fab_npy_free(fab_npy *a);

/* Write rows x cols elements (ndim 1: rows) atomically. */
FAB_API fab_status fab_npy_write(const char *path, const fab_npy *a);

/* Write a large array piece by piece: the file appears under its name at `close`, or not at all. */
typedef struct fab_npy_writer fab_npy_writer;
FAB_API fab_status fab_npy_open(fab_npy_writer **w, const char *path, fab_dtype type, int64_t rows,
                                int64_t cols);
FAB_API fab_status fab_npy_append(fab_npy_writer *w, const void *elements, int64_t count);
FAB_API fab_status fab_npy_close(fab_npy_writer *w); /* checks that all rows came */
FAB_API void fab_npy_discard(fab_npy_writer *w);     /* takes NULL */

#ifdef __cplusplus
}
#endif
#endif
