/* files.h - the two containers: .npy, one array, and safetensors, named arrays with metadata.
 *
 *     fab_tensors *t;
 *     fab_tensors_create(&t);
 *     fab_tensors_add(t, "mu", FAB_F64, 1, (int64_t[]){D}, mu);
 *     fab_tensors_set(t, "form", "covariance");
 *     fab_tensors_write(t, "q.safetensors");
 *     fab_tensors_free(t);
 *
 *     fab_npy a;
 *     fab_npy_read(&a, "rows.npy");                     // a.data: a.rows x a.cols of a.type
 *     fab_npy_free(&a);
 *
 * Draws and vectors are .npy; everything that is fitted is one safetensors file (gauss.h says what is in it).  Any
 * NumPy or safetensors reader opens them.  Writing is atomic: a temporary file beside the target, fsync, rename,
 * fsync of the folder.  Reading trusts nothing and refuses with the file's name and the reason.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_FILES_H
#define FABAYES_FILES_H

#include "fabayes/exec.h"
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- npy --------------------------------------------------------------------------------------- */

/* C order, f4 or f8, header versions 1 to 3.  An array of one or two dimensions; one dimension is rows = n, cols =
 * 1. */
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

/* ---- safetensors ------------------------------------------------------------------------------- */

enum { FAB_MAX_DIMS = 8 };

typedef struct fab_tensor {
    const char *name;
    fab_dtype type; /* FAB_F64, FAB_F32 or FAB_I64 */
    int ndim;
    int64_t shape[FAB_MAX_DIMS];
    const void *data; /* C order */
} fab_tensor;

typedef struct fab_tensors fab_tensors;

/* An empty set. */
FAB_API fab_status fab_tensors_create(fab_tensors **t);
/* Add an array under a new name.  Borrows data until the set is freed. */
FAB_API fab_status fab_tensors_add(fab_tensors *t, const char *name, fab_dtype type, int ndim,
                                   const int64_t *shape, const void *data);
/* Set a metadata string (UTF-8); an old value of the key is replaced.  Copies key and value. */
FAB_API fab_status fab_tensors_set(fab_tensors *t, const char *key, const char *value);

/* Read a file, or the same bytes from memory (`name` speaks in error messages; copies what it needs). */
FAB_API fab_status fab_tensors_read(fab_tensors **t, const char *path);
FAB_API fab_status fab_tensors_parse(fab_tensors **t, const char *name, const void *bytes,
                                     size_t size);
FAB_API fab_status fab_tensors_write(const fab_tensors *t, const char *path);
/* The bytes of that file in memory; fab_tensors_parse reads them.  Gives *bytes: fab_bytes_free. */
FAB_API fab_status fab_tensors_pack(const fab_tensors *t, void **bytes, size_t *size);
FAB_API void fab_bytes_free(void *bytes); /* takes NULL */

/* Look things up: NULL when there is no such name.  Lends until the set is freed (a metadata value:
 * until its key is set again). */
FAB_API const fab_tensor *fab_tensors_find(const fab_tensors *t, const char *name);
FAB_API const char *fab_tensors_get(const fab_tensors *t, const char *key);

/* Walk: the i-th tensor, the i-th metadata key in the order of the file. */
FAB_API int64_t fab_tensors_count(const fab_tensors *t);
FAB_API const fab_tensor *fab_tensors_at(const fab_tensors *t, int64_t i);
FAB_API int64_t fab_tensors_meta_count(const fab_tensors *t);
FAB_API const char *fab_tensors_meta_key(const fab_tensors *t, int64_t i);

FAB_API void fab_tensors_free(fab_tensors *t); /* takes NULL */

/* ---- a file of text that appears whole ------------------------------------------------------------- */

/* What is printed into *stream becomes the file `path` when `keep` is 1 at the close and all of it was written; the old file is
 * as it was otherwise.  It is replaced as the files above are: permissions stay, a link stays a link, and what a killed process
 * left in the folder is removed.
 *
 *     fab_output_open(&o, "rows.csv", &f);
 *     fprintf(f, "a,b\n1,2\n");
 *     fab_output_close(o, 1);
 *
 * Copies path; lends *stream until the close.  Gives *o. */
typedef struct fab_output fab_output;
FAB_API fab_status fab_output_open(fab_output **o, const char *path, FILE **stream);
FAB_API fab_status fab_output_close(fab_output *o, int keep); /* ends it in any case; takes NULL */

/* ---- one writer at a time ------------------------------------------------------------------------- */

/* Who reads a file, works on it and replaces it holds its lock from before the reading until after the writing:
 *
 *     fab_file_lock(&lock, path, x);
 *     fab_regression_load(&r, path, x);  fab_regression_update(r, &more);  fab_regression_save(r, path);
 *     fab_file_unlock(lock);
 *
 * A lock held by another process is waited for: the log of *x (or the global one) hears once who has it, and its progress may stop the waiting
 * (FAB_STOPPED).  A file system that has no locks is said to the log, and *lock is NULL.  Copies path.  Gives *lock. */
typedef struct fab_lock fab_lock;
FAB_API fab_status fab_file_lock(fab_lock **lock, const char *path, const fab_exec *x);
FAB_API void fab_file_unlock(fab_lock *lock); /* takes NULL */

#ifdef __cplusplus
}
#endif
#endif
