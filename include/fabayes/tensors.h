/* tensors.h - a safetensors file: named arrays and metadata strings.
 *
 *     fab_tensors *t;
 *     fab_tensors_create(&t);
 *     fab_tensors_add(t, "mu", FAB_F64, 1, (int64_t[]){D}, mu);
 *     fab_tensors_set(t, "form", "covariance");
 *     fab_tensors_write(t, "q.safetensors");
 *     fab_tensors_free(t);
 *
 * Writing is atomic: a temporary file beside the target, fsync, rename, fsync of the folder.  Reading
 * trusts nothing and refuses with the file's name and the reason.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_TENSORS_H
#define FABAYES_TENSORS_H

#include "fabayes/types.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
