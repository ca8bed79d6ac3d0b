/* threads.h - tasks spread over threads that sleep when there is nothing to do.
 *
 *     typedef struct scaling { double s; double *x; } scaling;
 *
 *     static void scale_block(void *ctx, int64_t i, int thread) { ... }
 *
 *     fab_parallel(run->threads, blocks, scale_block, &(scaling){2, x});
 *
 * The workers belong to the process: they are made when a call first asks for them, sleep between calls, and end with
 * the process or when the library is unloaded.  They serve one caller at a time.  A call from a second thread meanwhile
 * runs its tasks on that thread alone, and takes the workers for the tasks that are left as soon as they are free.
 * What the tasks compute must therefore not depend on the number of threads.
 *
 * After fork the child has no workers and makes its own.  A child of a fork inside a task may only exec or _exit.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_THREADS_H
#define FAB_LA_THREADS_H

#include <pthread.h>
#include <stdint.h>

/* One of many.  `thread` is below the number of threads asked for, and no two tasks that run at the same time have the
 * same: a place in an array of workspaces. */
typedef void fab_task(void *ctx, int64_t i, int thread);

/* Run task(ctx, i, thread) for i = 0 .. count-1, each once, started in this order, on at most `threads` threads, the
 * caller's among them; come back when all are done.  Inside a task: on the caller alone, and the same when no
 * thread can be made.  Nothing is allocated but the threads. */
void fab_parallel(int threads, int64_t count, fab_task *task, void *ctx);

/* A thread of one's own, to which signals of the program do not go; 0: none can be made. */
int fab_thread_create(pthread_t *t, void *(*run)(void *ctx), void *ctx);

/* The cores that this process may use. */
int fab_cores(void);

#endif
