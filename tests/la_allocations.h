/* la_allocations.h - a test program that counts its own calls of malloc and its kin; include it once.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LA_ALLOCATIONS_H
#define LA_ALLOCATIONS_H

#include <stdlib.h>

static volatile long allocations;

#if !defined(FAB_SANITIZED) && defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 1
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
void *malloc(size_t n)
{
    allocations++;
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n)
{
    allocations++;
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t align, size_t n)
{
    allocations++;
    return __libc_memalign(align, n);
}
#else
#define COUNTS_ALLOCATIONS 0
#endif

#endif
