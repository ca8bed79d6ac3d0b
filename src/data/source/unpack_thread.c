/* unpack_thread.c - compressed bytes unpacked by a thread of their own, some blocks before they are needed.
 *
 *     block:  | full | full | being filled | empty |      a ring; the reader empties the oldest one
 *              first         first + count
 *
 *     the thread                                      the reader
 *     1  wait until a block is empty, or asked to end     wait until one is full, asking whether to go on
 *     2  fill it; a pipe that is dry ends it early        copy; empty it once all of it was taken
 *     3  count + 1, wake the reader                       count - 1, wake the thread
 *
 * Only step 1 and step 3 are under the lock.  The last block carries how it ended: the end of the data, or a failure.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data/source/unpack_thread.h"
#include "base/memory.h"
#include "la/threads.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 4, BLOCK = 1 << 18, WAIT_NS = 200000000 };

typedef struct block {
    size_t n;
    int64_t used; /* compressed bytes, up to its end */
    int ended;
    fab_status status;
    char byte[BLOCK];
} block;

struct fab_unpack_thread {
    fab_unpack *u;
    fab_unpack_from from;
    pthread_t thread;
    pid_t process;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int first, count; /* under lock: full blocks */
    atomic_int asked; /* to end */
    fab_sentence why; /* of the block that failed */
    size_t at;        /* of the first block, what was taken */
    int64_t used;     /* of the block that was read last */
    block block[BLOCKS];
};

/* ---- the thread ---------------------------------------------------------------------------------- */

/* 2 */
static void fill(fab_unpack_thread *t, block *b)
{
    b->n = 0;
    b->ended = 0;
    b->status = FAB_OK;
    while (b->n < BLOCK && !b->ended && b->status == FAB_OK && !atomic_load(&t->asked)) {
        size_t got = 0;
        if (b->n > 0 && fab_unpack_waiting(t->u) == 0 && !t->from.ready(t->from.ctx)) break;
        b->status = fab_unpack_read(t->u, t->from.read, t->from.ctx, b->byte + b->n, BLOCK - b->n,
                                    &got, &b->ended);
        b->n += got;
    }
    if (b->status != FAB_OK) fab_sentence_keep(&t->why);
    b->used = t->from.used(t->from.ctx) - (int64_t)fab_unpack_waiting(t->u);
}

static void *run(void *ctx)
{
    fab_unpack_thread *t = ctx;
    for (int last = 0; !last;) {
        pthread_mutex_lock(&t->lock);
        while (t->count == BLOCKS && !atomic_load(&t->asked)) /* 1 */
            pthread_cond_wait(&t->changed, &t->lock);
        block *b = &t->block[(t->first + t->count) % BLOCKS];
        pthread_mutex_unlock(&t->lock);
        if (atomic_load(&t->asked)) return NULL;
        fill(t, b);
        last = b->ended || b->status != FAB_OK;
        pthread_mutex_lock(&t->lock); /* 3 */
        t->count++;
        pthread_cond_signal(&t->changed);
        pthread_mutex_unlock(&t->lock);
    }
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------------- */

fab_status fab_unpack_thread_start(fab_unpack_thread **t, fab_unpack *u,
                                   const fab_unpack_from *from)
{
    void *p;
    *t = NULL;
    FAB_TRY(fab_alloc_array(&p, 1, sizeof **t, "unpack"));
    fab_unpack_thread *new = p;
    new->u = u;
    new->from = *from;
    new->process = getpid();
    new->first = new->count = 0;
    new->at = 0;
    new->used = 0;
    atomic_init(&new->asked, 0);
    pthread_mutex_init(&new->lock, NULL);
    pthread_cond_init(&new->changed, NULL);
    *t = new; /* before the thread, which may ask for it */
    if (fab_thread_create(&new->thread, run, new)) return FAB_OK;
    *t = NULL;
    pthread_mutex_destroy(&new->lock);
    pthread_cond_destroy(&new->changed);
    fab_release(new);
    return FAB_FAIL(FAB_UNSUPPORTED, "unpack: no thread can be made");
}

void fab_unpack_thread_stop(fab_unpack_thread *t)
{
    if (!t) return;
    if (t->process == getpid()) { /* a child of a fork has no such thread */
        pthread_mutex_lock(&t->lock);
        atomic_store(&t->asked, 1);
        pthread_cond_signal(&t->changed);
        pthread_mutex_unlock(&t->lock);
        pthread_join(t->thread, NULL);
        pthread_mutex_destroy(&t->lock);
        pthread_cond_destroy(&t->changed);
    }
    fab_release(t);
}

int fab_unpack_thread_asked(const fab_unpack_thread *t)
{
    return atomic_load(&t->asked);
}

/* ---- the reader ---------------------------------------------------------------------------------- */

/* Full blocks; waits for `until` of them, at most WAIT_NS. */
static int full_blocks(fab_unpack_thread *t, int until)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += WAIT_NS;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_mutex_lock(&t->lock);
    int failed = 0;
    while (t->count < until && !failed)
        failed = pthread_cond_timedwait(&t->changed, &t->lock, &end);
    const int count = t->count;
    pthread_mutex_unlock(&t->lock);
    return count;
}

fab_status fab_unpack_thread_read(fab_unpack_thread *t, void *to, size_t n, size_t *got, int *ended,
                                  fab_status (*wait)(void *ctx), void *ctx)
{
    *got = 0;
    *ended = 0;
    if (t->process != getpid())
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "unpack: the file was opened before a fork; open it in the child");
    while (full_blocks(t, 1) == 0) FAB_TRY(wait(ctx));
    block *b = &t->block[t->first];
    *got = b->n - t->at < n ? b->n - t->at : n;
    memcpy(to, b->byte + t->at, *got);
    t->at += *got;
    t->used = b->used;
    if (*got == 0 && b->ended) *ended = 1;
    if (*got == 0 && b->status != FAB_OK) return fab_sentence_raise(b->status, &t->why);
    if (t->at < b->n || b->ended || b->status != FAB_OK) return FAB_OK; /* the last one stays */
    t->at = 0;
    pthread_mutex_lock(&t->lock);
    t->first = (t->first + 1) % BLOCKS;
    t->count--;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return FAB_OK;
}

int fab_unpack_thread_ready(fab_unpack_thread *t)
{
    pthread_mutex_lock(&t->lock);
    const int count = t->count;
    pthread_mutex_unlock(&t->lock);
    return count > 0;
}

int64_t fab_unpack_thread_used(const fab_unpack_thread *t)
{
    return t->used;
}
