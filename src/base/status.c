/* status.c - what failed and why, per thread.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/fail.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DETAIL_SIZE = 1024 };
static _Thread_local char detail[DETAIL_SIZE];

const char *fab_strerror(fab_status s)
{
    static const char *const phrase[] = {
        [FAB_OK] = "done",
        [FAB_BAD_ARGUMENT] = "bad argument",
        [FAB_BAD_DATA] = "bad data",
        [FAB_BAD_FILE] = "bad file",
        [FAB_NO_MEMORY] = "out of memory",
        [FAB_NUMERIC] = "numerical failure",
        [FAB_UNSUPPORTED] = "not supported",
        [FAB_STOPPED] = "stopped on request",
        [FAB_MISSING_VALUE] = "a missing value",
    };
    const int known = (int)s >= 0 && (size_t)s < sizeof phrase / sizeof *phrase;
    return known ? phrase[s] : "unknown status";
}

const char *fab_detail(void)
{
    return detail;
}

const char *fab_version(void)
{
    return FAB_VERSION;
}

fab_status fab_fail(fab_status s, const char *format, ...)
{
    char next[DETAIL_SIZE] = {0}; /* an argument may point into the old detail */
    va_list args;
    va_start(args, format);
    vsnprintf(next, sizeof next, format, args);
    va_end(args);
    memcpy(detail, next, sizeof next);
    return s;
}

fab_status fab_prefix(fab_status s, const char *format, ...)
{
    char next[DETAIL_SIZE] = {0};
    va_list args;
    va_start(args, format);
    const int used = vsnprintf(next, sizeof next, format, args);
    va_end(args);
    const size_t n = used < 0 ? 0 : (size_t)used < sizeof next ? (size_t)used : sizeof next - 1;
    const size_t rest =
        strnlen(detail, sizeof next - 1 - n); /* a long front cuts the sentence's end */
    memcpy(next + n, detail, rest);
    next[n + rest] = '\0';
    memcpy(detail, next, sizeof next);
    return s;
}
