/* where.h - the kernels that a test program runs on.
 *
 * With AWAY_STREAMS defined those that have memory of their own (away.h); with CARD_STREAMS those of a card, or the program
 * is skipped; otherwise those of this machine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_WHERE_H
#define FAB_TESTS_WHERE_H

#include "fabayes/exec.h"

#if defined(AWAY_STREAMS)
#include "away.h"
#define KERNELS(type) away_ops(type)
#elif defined(CARD_STREAMS)
#include "card.h"
#define KERNELS(type) card_ops(type)
#else
#define KERNELS(type) fab_ops_find("cpu", type)
#endif

/* *x (or NULL), on the kernels of this program where it names none. */
static inline fab_exec where_of(const fab_exec *x)
{
    fab_exec own = x ? *x : (fab_exec){0};
    if (!own.ops) own.ops = KERNELS(FAB_F64);
    return own;
}

#endif
