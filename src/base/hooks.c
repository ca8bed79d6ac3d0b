/* hooks.c - log, progress, clock.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 199309L
#include "base/hooks.h"
#include "base/fail.h"
#include "base/memory.h"
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static struct {
    fab_log_fn *log;
    void *log_ctx;
    fab_progress_fn *progress;
    void *progress_ctx;
} hooks;

void fab_set_log(fab_log_fn *log, void *ctx)
{
    hooks.log = log;
    hooks.log_ctx = ctx;
}

void fab_set_progress(fab_progress_fn *progress, void *ctx)
{
    hooks.progress = progress;
    hooks.progress_ctx = ctx;
}

fab_progress_fn *fab_get_progress(void **ctx)
{
    *ctx = hooks.progress_ctx;
    return hooks.progress;
}

void fab_log(const char *format, ...)
{
    if (!hooks.log) return;
    char sentence[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    hooks.log(hooks.log_ctx, sentence);
}

static _Thread_local fab_stop *quiet; /* of this thread; NULL: it tells the hook */

void fab_progress_quietly(fab_stop *stop)
{
    quiet = stop;
}

fab_status fab_progress(const char *what, int64_t done, int64_t total)
{
    if (quiet) return atomic_load(quiet) ? FAB_FAIL(FAB_STOPPED, "%s: stopped", what) : FAB_OK;
    if (!hooks.progress || hooks.progress(hooks.progress_ctx, what, done, total) == 0)
        return FAB_OK;
    return FAB_FAIL(FAB_STOPPED, "%s: stopped after %lld of %lld", what, (long long)done,
                    (long long)total);
}

double fab_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
