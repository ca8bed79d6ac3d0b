/* hooks.h - the only global state of the library: who allocates, who listens.
 *
 * Set hooks before the first handle is made and from one thread.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_HOOKS_H
#define FABAYES_HOOKS_H

#include "fabayes/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Replace malloc and free.  Memory from alloc must be aligned to 64 bytes.  NULL, NULL: the default. */
FAB_API void fab_set_allocator(void *(*alloc)(size_t bytes), void (*release)(void *p));

/* Hear notes of the library (a floor that acted, a fallback taken).  NULL: silence, the default. */
typedef void fab_log_fn(void *ctx, const char *sentence);
FAB_API void fab_set_log(fab_log_fn *log, void *ctx);

/* Watch long work.  `done` of `total` units (total 0: unknown).  Answer 0 to go on, anything else to
 * stop: the verb then returns FAB_STOPPED with a valid state.  NULL: nobody watches, the default. */
typedef int fab_progress_fn(void *ctx, const char *what, int64_t done, int64_t total);
FAB_API void fab_set_progress(fab_progress_fn *progress, void *ctx);

/* Seconds on a clock that never goes back. */
FAB_API double fab_clock(void);

#ifdef __cplusplus
}
#endif
#endif
