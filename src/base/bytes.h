/* bytes.h - bytes that nobody vouches for, taken in order from a file or from memory.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_BYTES_H
#define FAB_BASE_BYTES_H

#include "base/fail.h"
#include <stddef.h>

typedef struct fab_bytes {
    const char *name;  /* speaks in messages */
    const char *bytes; /* NULL: the file */
    int file;
    size_t size, taken;
} fab_bytes;

/* Start at the first byte of a regular file.  Borrows path until close. */
fab_status fab_bytes_open(fab_bytes *s, const char *path);
/* Start at the first of `size` bytes in memory; needs no close.  Borrows both until the last take. */
fab_bytes fab_bytes_memory(const char *name, const void *bytes, size_t size);
void fab_bytes_close(fab_bytes *s);

/* Bytes not yet taken. */
size_t fab_bytes_left(const fab_bytes *s);
/* Copy the next n bytes. */
fab_status fab_bytes_take(fab_bytes *s, void *to, size_t n);

/* The start of `s` (n bytes) as words fit for a sentence: at most 60 bytes, no control characters, cut
 * between characters.  Returns buf. */
enum { FAB_SHOWN = 64 };
const char *fab_show(char buf[FAB_SHOWN], const char *s, size_t n);

#endif
