/* memory.h - the only heap calls, and the layout of a handle in one block.
 *
 * A handle is laid out by one function that is run twice: first with base == NULL, to count, then with
 * the block, to point.
 *
 *     static void layout(fab_layout *l, est *e) { e->mu = fab_place(l, e->D, sizeof *e->mu); ... }
 *
 *     FAB_TRY(fab_build((void **)est, sizeof **est, &proto, layout));
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_MEMORY_H
#define FAB_BASE_MEMORY_H

#include "base/fail.h"
#include "fabayes/exec.h"

/* 64-byte aligned memory, not cleared; NULL when there is none. */
void *fab_alloc(size_t bytes);
void fab_release(void *p); /* takes NULL */

typedef struct fab_layout {
    char *base;  /* NULL: only count */
    size_t used; /* SIZE_MAX: the sizes do not fit into a size_t */
    int apart;   /* long arrays are in a block of their own, where the kernels are: */
    char *far;
    size_t far_used;
} fab_layout;

/* The next `count` elements of `size` bytes, aligned to 64 bytes; NULL while counting. */
void *fab_place(fab_layout *l, int64_t count, size_t size);
/* The same for a long array, which only kernels touch: in the handle's own block unless that is apart. */
void *fab_place_long(fab_layout *l, int64_t count, size_t size);

/* Memory that kernels have to themselves: the host never reads or writes it.  alloc gives zeros, or NULL. */
typedef struct fab_memory {
    void *(*alloc)(size_t bytes);
    void (*release)(void *p);
} fab_memory;

/* The heap of the process, whatever the hooks are: of a plug-in, which is no part of a handle.  Not cleared. */
extern const fab_memory fab_memory_heap;

/* Allocate a handle of `size` bytes together with all that `layout` places behind it.  The handle
 * starts as a copy of *proto and the rest of the block as zeros.  FAB_NO_MEMORY says how much. */
fab_status fab_build(void **handle, size_t size, const void *proto,
                     void (*layout)(fab_layout *l, void *handle));

/* The same with the long arrays in a block *far of memory m, which the caller releases beside the handle; m NULL: in the
 * block of the handle, *far = NULL. */
fab_status fab_build_apart(void **handle, size_t size, const void *proto,
                           void (*layout)(fab_layout *l, void *handle), const fab_memory *m,
                           void **far);

/* Bytes fab_build would take. */
size_t fab_build_size(size_t size, const void *proto, void (*layout)(fab_layout *l, void *handle));

/* Allocate count * size bytes, overflow checked, with a sentence naming `what` on failure. */
fab_status fab_alloc_array(void **p, int64_t count, size_t size, const char *what);

/* Bytes of memory that are free, or infinity where nobody says. */
double fab_memory_free(void);

#endif
