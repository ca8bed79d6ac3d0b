/* waiting.h - what the mixtures of a stream share: rows that wait until a block is full, and how much the past counts beside it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MIXTURE_WAITING_H
#define FAB_MIXTURE_WAITING_H

#include "base/memory.h"
#include "fit/fit.h"
#include "train/state.h"

typedef struct fab_waiting {
    const char *who;
    int64_t D, first, block; /* rows that the start is made from; of a block after it */
    double kappa, t0;
    int64_t started;  /* the start has been made: further numbers are rows of blocks */
    int64_t n;        /* rows that wait */
    double *rows, *w; /* the larger of first and block x D; their weights */
    double *blocks;   /* 1: those taken since the start */
} fab_waiting;

/* kappa > 0 and forget < 1 are two ways for one thing. */
fab_status fab_waiting_check(const char *who, double kappa, double forget);
void fab_waiting_layout(fab_layout *l, fab_waiting *p);
int64_t fab_waiting_room(const fab_waiting *p);
fab_rows fab_waiting_rows(const fab_waiting *p);

/* Take rows in; flush is called whenever a block (or the start) is full, and empties it. */
fab_status fab_waiting_update(fab_waiting *p, const fab_examples *x, fab_status (*flush)(void *),
                              void *handle);
/* The factor for n rows of the past beside a block of weight w: 1 with kappa = 0 (running sums), else what gives the block
 * the share (t0 + t)^-kappa; t counts blocks from 1 on. */
double fab_waiting_past(const fab_waiting *p, double n, double w);

/* Its tensors: state.started and state.blocks (of kappa > 0); state.pending and state.pending_weight.  Those of the past are the
 * caller's, between them. */
void fab_waiting_save(fab_waiting *p, fab_states *s);
void fab_waiting_save_rows(fab_waiting *p, fab_states *s);
/* How many rows a file has pending, and whether it has started: before the tensors are taken. */
fab_status fab_waiting_load(fab_waiting *p, const fab_tensors *t);
/* After that. */
fab_status fab_waiting_check_loaded(const fab_waiting *p);

#endif
