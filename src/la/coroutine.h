/* coroutine.h - a function that can be left in the middle and entered again.
 *
 *     fab_coroutine *c;
 *     fab_coroutine_create(&c, work, ctx);
 *     while (fab_coroutine_resume(c)) ...;      work(ctx) has called fab_coroutine_yield(c), and waits
 *     fab_coroutine_free(c);
 *
 * It has a thread of its own, and never runs at the same time as the one that resumes it: control goes back and forth.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_COROUTINE_H
#define FAB_LA_COROUTINE_H

#include "base/fail.h"

typedef struct fab_coroutine fab_coroutine;

/* Nothing runs yet.  Gives *c. */
fab_status fab_coroutine_create(fab_coroutine **c, void (*work)(void *ctx), void *ctx);
/* Run work until it yields (1) or returns (0); 0 again once it has returned. */
int fab_coroutine_resume(fab_coroutine *c);
/* Inside work: hand control back; comes back with the next resume. */
void fab_coroutine_yield(fab_coroutine *c);
/* Work must have returned, or never have begun.  Takes NULL. */
void fab_coroutine_free(fab_coroutine *c);

#endif
