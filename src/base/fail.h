/* fail.h - raise and pass failures.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_FAIL_H
#define FAB_BASE_FAIL_H

#include "fabayes/status.h"

#if defined(__GNUC__)
#define FAB_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define FAB_PRINTF(f, a)
#endif

/* Remember the sentence for fab_detail() and return s. */
fab_status fab_fail(fab_status s, const char *format, ...) FAB_PRINTF(2, 3);

/* Put words in front of the sentence remembered last: "file: " + detail. */
fab_status fab_prefix(fab_status s, const char *format, ...) FAB_PRINTF(2, 3);

/* The status stands outside of the call too: whoever reads only the caller, a compiler or an analyser,
 * sees that it is not FAB_OK. */
#define FAB_FAIL(status, ...) (fab_fail(status, __VA_ARGS__), (fab_status)(status))

/* Pass a failure up. */
#define FAB_TRY(call)                            \
    do {                                         \
        const fab_status fab_try_ = (call);      \
        if (fab_try_ != FAB_OK) return fab_try_; \
    } while (0)

#endif
