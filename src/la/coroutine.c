/* coroutine.c - a function that can be left in the middle and entered again.
 *
 * SPDX-License-Identifier: MIT */
#include "la/coroutine.h"
#include "base/memory.h"
#include <pthread.h>
#include <string.h>

typedef enum turn { CALLER, WORK, ENDED } turn;

struct fab_coroutine {
    void (*work)(void *ctx);
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    turn turn; /* whose it is */
};

static void hand_over(fab_coroutine *c, turn to)
{
    c->turn = to;
    pthread_cond_signal(&c->changed);
}

static void *run(void *self)
{
    fab_coroutine *c = self;
    pthread_mutex_lock(&c->lock);
    while (c->turn == CALLER) pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    if (c->turn == WORK) c->work(c->ctx);
    pthread_mutex_lock(&c->lock);
    hand_over(c, ENDED);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

fab_status fab_coroutine_create(fab_coroutine **c, void (*work)(void *ctx), void *ctx)
{
    fab_coroutine *new;
    *c = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "coroutine"));
    *new = (fab_coroutine){.work = work, .ctx = ctx, .turn = CALLER};
    pthread_mutex_init(&new->lock, NULL);
    pthread_cond_init(&new->changed, NULL);
    const int failed = pthread_create(&new->thread, NULL, run, new);
    if (failed) {
        pthread_cond_destroy(&new->changed);
        pthread_mutex_destroy(&new->lock);
        fab_release(new);
        return FAB_FAIL(FAB_NO_MEMORY, "coroutine: cannot allocate a thread: %s", strerror(failed));
    }
    *c = new;
    return FAB_OK;
}

int fab_coroutine_resume(fab_coroutine *c)
{
    pthread_mutex_lock(&c->lock);
    if (c->turn == CALLER) hand_over(c, WORK);
    while (c->turn == WORK) pthread_cond_wait(&c->changed, &c->lock);
    const int more = c->turn == CALLER;
    pthread_mutex_unlock(&c->lock);
    return more;
}

void fab_coroutine_yield(fab_coroutine *c)
{
    pthread_mutex_lock(&c->lock);
    hand_over(c, CALLER);
    while (c->turn == CALLER) pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void fab_coroutine_free(fab_coroutine *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    if (c->turn == CALLER) hand_over(c, ENDED); /* it never began */
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    fab_release(c);
}
