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
} fab_layout;

/* The next `count` elements of `size` bytes, aligned to 64 bytes; NULL while counting. */
void *fab_place(fab_layout *l, int64_t count, size_t size);

/* Allocate a handle of `size` bytes together with all that `layout` places behind it.  The handle
 * starts as a copy of *proto and the rest of the block as zeros.  FAB_NO_MEMORY says how much. */
fab_status fab_build(void **handle, size_t size, const void *proto,
                     void (*layout)(fab_layout *l, void *handle));

/* Bytes fab_build would take. */
size_t fab_build_size(size_t size, const void *proto, void (*layout)(fab_layout *l, void *handle));

/* Allocate count * size bytes, overflow checked, with a sentence naming `what` on failure. */
fab_status fab_alloc_array(void **p, int64_t count, size_t size, const char *what);

/* Bytes of memory that are free, or infinity where nobody says. */
double fab_memory_free(void);

#endif
