/* memory.c - allocation through hooks; one block per handle.
 *
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "base/memory.h"
#include "base/fail.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

enum { ALIGN = 64, LARGE_PAGE = 1 << 21, LONG_ARRAY = 1 << 25 };

#if defined(__linux__)
/* A long array is read 5 to 10 % faster from pages of 2 MB; its end, less than such a page, stays on small ones. */
static void *long_array(size_t bytes)
{
    void *p = NULL; /* aligned_alloc is for sizes that are whole pages */
    if (posix_memalign(&p, LARGE_PAGE, bytes) != 0) return NULL;
    (void)madvise(p, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
    return p;
}
#endif

static void *default_alloc(size_t bytes)
{
    if (bytes > SIZE_MAX - LARGE_PAGE) return NULL;
#if defined(__linux__)
    if (bytes >= LONG_ARRAY) return long_array(bytes);
#endif
    return aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
}

const fab_memory fab_memory_heap = {default_alloc, free};

static void *(*alloc_hook)(size_t) = default_alloc;
static void (*release_hook)(void *) = free;

void fab_set_allocator(void *(*alloc)(size_t), void (*release)(void *))
{
    alloc_hook = alloc ? alloc : default_alloc;
    release_hook = release ? release : free;
}

void *fab_alloc(size_t bytes)
{
    return alloc_hook(bytes ? bytes : 1);
}

void fab_release(void *p)
{
    if (p) release_hook(p);
}

/* The next bytes of a block of which `used` are taken. */
static void *place(char *base, size_t *used, int64_t count, size_t size)
{
    size_t bytes, end;
    const int overflow = count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
                         bytes > SIZE_MAX - 2 * ALIGN ||
                         __builtin_add_overflow(*used, (bytes + ALIGN - 1) / ALIGN * ALIGN, &end);
    if (overflow || *used == SIZE_MAX) {
        *used = SIZE_MAX;
        return NULL;
    }
    void *p = base ? base + *used : NULL;
    *used = end;
    return p;
}

void *fab_place(fab_layout *l, int64_t count, size_t size)
{
    return place(l->base, &l->used, count, size);
}

void *fab_place_long(fab_layout *l, int64_t count, size_t size)
{
    if (!l->apart) return fab_place(l, count, size);
    return place(l->far, &l->far_used, count, size);
}

/* Count the bytes of both blocks; l->used is 0 when there is no memory to count in, SIZE_MAX (or far_used) when the
 * sizes do not fit.  A copy of proto stands in for the handle, so that layout can read its sizes. */
static void count_bytes(fab_layout *l, size_t size, const void *proto,
                        void (*layout)(fab_layout *, void *))
{
    void *scratch = fab_alloc(size);
    if (!scratch) return;
    memcpy(scratch, proto, size);
    fab_place(l, 1, size);
    layout(l, scratch);
    fab_release(scratch);
}

size_t fab_build_size(size_t size, const void *proto, void (*layout)(fab_layout *l, void *handle))
{
    fab_layout l = {0};
    count_bytes(&l, size, proto, layout);
    return l.used ? l.used : SIZE_MAX;
}

fab_status fab_build_apart(void **handle, size_t size, const void *proto,
                           void (*layout)(fab_layout *l, void *handle), const fab_memory *m,
                           void **far)
{
    fab_layout l = {.apart = m != NULL};
    *handle = *far = NULL;
    count_bytes(&l, size, proto, layout);
    const size_t total = l.used, away = l.far_used;
    if (total == SIZE_MAX || away == SIZE_MAX)
        return FAB_FAIL(FAB_NO_MEMORY, "the sizes asked for do not fit into memory");
    char *block = total ? fab_alloc(total) : NULL;
    if (!block)
        return FAB_FAIL(FAB_NO_MEMORY, "cannot allocate %.3g MB",
                        (double)(total ? total : size) / 1e6);
    if (m) *far = m->alloc(away);
    if (m && !*far) {
        fab_release(block);
        return FAB_FAIL(FAB_NO_MEMORY, "cannot allocate %.3g MB in the memory of the kernels",
                        (double)away / 1e6);
    }
    memset(block, 0, total);
    memcpy(block, proto, size);
    l = (fab_layout){.base = block, .apart = m != NULL, .far = *far};
    fab_place(&l, 1, size);
    layout(&l, block);
    *handle = block;
    return FAB_OK;
}

fab_status fab_build(void **handle, size_t size, const void *proto,
                     void (*layout)(fab_layout *l, void *handle))
{
    void *far;
    return fab_build_apart(handle, size, proto, layout, NULL, &far);
}

fab_status fab_alloc_array(void **p, int64_t count, size_t size, const char *what)
{
    size_t bytes;
    *p = NULL;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes))
        return FAB_FAIL(FAB_NO_MEMORY, "%s: the size does not fit into memory", what);
    *p = fab_alloc(bytes);
    if (!*p)
        return FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate %.3g MB", what, (double)bytes / 1e6);
    return FAB_OK;
}

double fab_memory_free(void)
{
    char line[256];
    double kb = INFINITY;
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f) return INFINITY;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lf kB", &kb) == 1) break;
    fclose(f);
    return kb * 1024;
}
