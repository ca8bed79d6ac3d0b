/* hooks.h - who watches a piece of work and hears its notes: a fab_watch, made of a fab_exec.
 *
 *     fab_watch w = fab_watch_of(x);                        // x NULL, or without a progress: the global hooks
 *     FAB_TRY(fab_watch_tick(&w, "em", i, max_iter));       // asks at every round
 *     FAB_TRY(fab_watch_work(&w, D * K, "rows", j, n));     // asks when FAB_WATCH_WORK operations have passed
 *
 * Work is counted and not timed: the questions come at the same places in every process of a fab_comm, which can so
 * agree on an answer, and a run that is watched does what one does that is not.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_HOOKS_H
#define FAB_BASE_HOOKS_H

#include "base/memory.h"
#ifndef __cplusplus
#include <stdatomic.h>
#endif

typedef struct fab_watch {
    fab_progress_fn *progress; /* NULL: the global hook */
    void *progress_ctx;
    fab_log_fn *log; /* NULL: the global hook */
    void *log_ctx;
    double work; /* since the last question */
} fab_watch;

#define FAB_WATCH_WORK 0x1p23 /* elementary operations: some 0.01 s */

fab_watch fab_watch_of(const fab_exec *x); /* x may be NULL */
/* *x with the watch of w. */
fab_exec fab_watch_exec(const fab_watch *w, fab_exec x);

/* Report progress; FAB_STOPPED when whoever watches says so. */
fab_status fab_watch_tick(const fab_watch *w, const char *what, int64_t done, int64_t total);
/* The same, once enough work has been done since the last time. */
fab_status fab_watch_work(fab_watch *w, double work, const char *what, int64_t done, int64_t total);
/* The same where work cannot be left half done: an answer to stop is heard at the next question, for a fit keeps it. */
void fab_watch_note(fab_watch *w, double work, const char *what, int64_t done, int64_t total);
/* Tell the log. */
void fab_watch_log(const fab_watch *w, const char *format, ...) FAB_PRINTF(2, 3);

/* ---- work that runs side by side ------------------------------------------------------------------- */

#ifndef __cplusplus
/* Not 0: work that looks at it shall stop. */
typedef atomic_int fab_stop;
#endif

/* A progress function that says nothing and only asks the fab_stop in ctx. */
int fab_stop_asked(void *ctx, const char *what, int64_t done, int64_t total);

#endif
