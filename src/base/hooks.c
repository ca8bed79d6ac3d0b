/* hooks.c - log, progress, clock.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 199309L
#include "base/hooks.h"
#include "base/fail.h"
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

fab_watch fab_watch_of(const fab_exec *x)
{
    if (!x) return (fab_watch){0};
    return (fab_watch){x->progress, x->progress_ctx, x->log, x->log_ctx, 0};
}

fab_exec fab_watch_exec(const fab_watch *w, fab_exec x)
{
    x.progress = w->progress;
    x.progress_ctx = w->progress_ctx;
    x.log = w->log;
    x.log_ctx = w->log_ctx;
    return x;
}

void fab_watch_log(const fab_watch *w, const char *format, ...)
{
    fab_log_fn *log = w->log ? w->log : hooks.log;
    if (!log) return;
    char sentence[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    fab_no_controls(sentence);
    log(w->log ? w->log_ctx : hooks.log_ctx, sentence);
}

fab_status fab_watch_tick(const fab_watch *w, const char *what, int64_t done, int64_t total)
{
    fab_progress_fn *progress = w->progress ? w->progress : hooks.progress;
    void *ctx = w->progress ? w->progress_ctx : hooks.progress_ctx;
    if (!progress || progress(ctx, what, done, total) == 0) return FAB_OK;
    return FAB_FAIL(FAB_STOPPED, "%s: stopped after %lld of %lld", what, (long long)done,
                    (long long)total);
}

fab_status fab_watch_work(fab_watch *w, double work, const char *what, int64_t done, int64_t total)
{
    w->work += work;
    if (w->work < FAB_WATCH_WORK) return FAB_OK;
    w->work = 0;
    return fab_watch_tick(w, what, done, total);
}

void fab_watch_note(fab_watch *w, double work, const char *what, int64_t done, int64_t total)
{
    (void)fab_watch_work(w, work, what, done, total);
}

int fab_stop_asked(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    return atomic_load((fab_stop *)ctx);
}

double fab_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
