/* net.h - the state of lrvga for networks, shared by its verbs and its blocks.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LRVGA_NET_H
#define FAB_LRVGA_NET_H

#include "methods/lrvga/state.h"
#include "train/train.h"

/* Of training; saved. */
typedef struct fab_lrvga_net_counts {
    int64_t trained; /* 1: center is where training ended, and its rows are in the precision */
    int64_t epochs;
} fab_lrvga_net_counts;

/* Rows of 8 and of 9 that are done, where it was left on its way; saved. */
typedef struct fab_lrvga_net_fixed_rows {
    int64_t curved, measured;
} fab_lrvga_net_fixed_rows;

typedef struct fab_lrvga_net_losses {
    double train, held_out;
} fab_lrvga_net_losses;

typedef struct fab_lrvga_net {
    fab_lrvga_settings s;
    int64_t T, C;    /* coordinates that have a prior; predictors of a row */
    fab_train train; /* 7: the model, the prior, and start = map */
    fab_lrvga_net_counts count;
    fab_lrvga_net_fixed_rows fixed; /* 8, 9 */
    fab_lrvga_net_losses loss;
    int driven; /* the model may be left inside a block: FAB_STOPPED, and the state is as before the block */

    fab_lrvga *core; /* the recursion, over theta - center */
    double *center;  /* D: theta0, or the mode */
    fab_gauss *q;    /* the result, over all of theta but a learned noise */

    fab_pending pending; /* rows of the stream */
    double *x;           /* room x features: theirs */

    double *theta; /* 2  D: where the slopes are taken */
    double *at;    /* 2  T: theta - center */

    struct {           /* 3: the slopes of some rows at a time */
        int64_t chunk; /* of so many */
        double *out;   /* chunk x C */
        void *J;       /* chunk C x D, in the model's type */
        double *label; /* 6  chunk: drawn classes */
    } slopes;
    double *base; /* 3  room C: eta at theta = center */

    struct { /* 4: what a block starts from */
        double *mu;
        fab_stream stream;
        fab_lrvga_rank rank;
    } before;
    double *moved; /* 6  T: the mean after the block */

    int64_t points; /* 6  of theta whose curvature is averaged: draws, or the mean alone */
    int64_t group;  /* 6  rows that meet the same points: a block of columns */
} fab_lrvga_net;

/* Elementary operations that a row costs. */
double fab_lrvga_net_work(const fab_lrvga_net *f);

/* Rows first .. first + n - 1 of e behind the pending ones. */
void fab_lrvga_net_add(fab_lrvga_net *f, const fab_examples *e, int64_t first, int64_t n);
/* 10: the first rows of a stream choose what is unknown about prior and noise. */
fab_status fab_lrvga_net_decide(fab_lrvga_net *f);
/* 1 - 6: the pending rows move the mean and enter the precision; on failure the mean is as it was. */
fab_status fab_lrvga_net_block(fab_lrvga_net *f);
/* 7 - 9: all rows of e, which center was trained on, enter the precision; the mean is fixed. */
fab_status fab_lrvga_net_fixed(fab_lrvga_net *f, const fab_examples *e);

#endif
