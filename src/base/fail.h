/* fail.h - raise and pass failures.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_FAIL_H
#define FAB_BASE_FAIL_H

#include "fabayes/status.h"
#include <stddef.h>

#if defined(__GNUC__)
#define FAB_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define FAB_PRINTF(f, a)
#endif

/* Remember the sentence for fab_detail() and return s. */
fab_status fab_fail(fab_status s, const char *format, ...) FAB_PRINTF(2, 3);

/* Put words in front of the sentence remembered last: "file: " + detail. */
fab_status fab_prefix(fab_status s, const char *format, ...) FAB_PRINTF(2, 3);

/* A sentence with whom it is about, the first so many bytes of it (0: it does not say): what fab_about asks, and what goes
 * from one thread to another. */
typedef struct fab_sentence {
    char text[1024];
    size_t about;
} fab_sentence;

/* The sentence remembered last; and remembered again, with s returned. */
void fab_sentence_keep(fab_sentence *to);
fab_status fab_sentence_raise(fab_status s, const fab_sentence *kept);

/* Returns s in sight of the caller, so that whoever reads only the caller, a compiler or an analyser,
 * knows that it is not FAB_OK. */
static inline fab_status fab_failed(fab_status s, fab_status remembered)
{
    (void)remembered;
    return s;
}

#define FAB_FAIL(status, ...) fab_failed(status, fab_fail(status, __VA_ARGS__))

/* Put '?' for each control character of s but blanks and line ends: what a file or a call says shall not reach a terminal
 * as a command. */
void fab_no_controls(char *s);

/* Pass a failure up. */
#define FAB_TRY(call)                            \
    do {                                         \
        const fab_status fab_try_ = (call);      \
        if (fab_try_ != FAB_OK) return fab_try_; \
    } while (0)

#endif
