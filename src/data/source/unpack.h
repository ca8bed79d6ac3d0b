/* unpack.h - compressed bytes to plain ones: gzip, xz, bzip2 and zstd behind one table.
 *
 *     fab_unpack_find(first, n)           which kind these first bytes are; NULL: none
 *     fab_unpack_open(&u, kind, name)
 *     fab_unpack_read(u, read, ctx, to, n, &got, &ended)
 *     fab_unpack_close(u)
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_UNPACK_H
#define FAB_DATA_UNPACK_H

#include "base/fail.h"
#include <stddef.h>

enum { FAB_UNPACK_MAGIC = 10 }; /* first bytes that decide, at most */

typedef struct fab_packing fab_packing;
typedef struct fab_unpack fab_unpack;
/* At most n compressed bytes; *got = 0 at the end. */
typedef fab_status fab_unpack_input(void *ctx, void *to, size_t n, size_t *got);

/* The kind of a file that begins with these n bytes, or NULL: not compressed. */
const fab_packing *fab_unpack_find(const char *first, size_t n);

/* Begin to unpack; the n bytes at `first` were read already.  Borrows name.  Gives *u. */
fab_status fab_unpack_open(fab_unpack **u, const fab_packing *kind, const char *name,
                           const char *first, size_t n);
void fab_unpack_close(fab_unpack *u); /* takes NULL */

/* At most n plain bytes; *got = 0 without *ended only when the input gave none yet.  A file may be several compressed
 * ones in a row.  What came before a fault is given first. */
fab_status fab_unpack_read(fab_unpack *u, fab_unpack_input *read, void *ctx, void *to, size_t n,
                           size_t *got, int *ended);
/* Begin again, at the first byte of the input. */
fab_status fab_unpack_rewind(fab_unpack *u);
/* Compressed bytes that were read and not used yet. */
size_t fab_unpack_waiting(const fab_unpack *u);

#endif
