/* unpack_thread.h - compressed bytes unpacked by a thread of their own, some blocks before they are needed.
 *
 *     fab_unpack_thread_start(&t, u, &in)         from here on u and what `in` reads belong to the thread
 *     fab_unpack_thread_read(t, to, n, &got, &ended, wait, ctx)
 *     fab_unpack_thread_stop(t)                   waits for it; u may be used again, or closed
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_UNPACK_THREAD_H
#define FAB_DATA_UNPACK_THREAD_H

#include "data/source/unpack.h"
#include <stdint.h>

typedef struct fab_unpack_thread fab_unpack_thread;

/* Where the compressed bytes come from; called on the thread. */
typedef struct fab_unpack_from {
    /* as fab_unpack_read has it; waits in short pieces, and gives up once asked to */
    fab_unpack_input *read;
    int (*ready)(void *ctx);    /* would it give bytes at once? */
    int64_t (*used)(void *ctx); /* compressed bytes that were read so far */
    void *ctx;
} fab_unpack_from;

/* Gives *t; on failure there is no thread, and u is as it was. */
fab_status fab_unpack_thread_start(fab_unpack_thread **t, fab_unpack *u,
                                   const fab_unpack_from *from);
/* Ends the thread, wherever it is; bytes that were not read are lost.  Takes NULL. */
void fab_unpack_thread_stop(fab_unpack_thread *t);
/* For `read`: shall it give up? */
int fab_unpack_thread_asked(const fab_unpack_thread *t);

/* As fab_unpack_read; `wait` is asked now and then whether to go on waiting.  A failure of the thread comes behind what was
 * unpacked before it, and again with every call. */
fab_status fab_unpack_thread_read(fab_unpack_thread *t, void *to, size_t n, size_t *got, int *ended,
                                  fab_status (*wait)(void *ctx), void *ctx);
/* Are there bytes without waiting? */
int fab_unpack_thread_ready(fab_unpack_thread *t);
/* Compressed bytes used for what was read. */
int64_t fab_unpack_thread_used(const fab_unpack_thread *t);

#endif
