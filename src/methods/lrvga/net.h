/* net.h - the state of lrvga for networks, shared by its verbs and its blocks.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_LRVGA_NET_H
#define FAB_INFER_LRVGA_NET_H

#include "methods/lrvga/state.h"
#include "train/train.h"

/* Saved as they are. */
typedef struct fab_lrvga_net_numbers {
    double trained;      /* 1: center is where training ended, and its rows are in the precision */
    double epochs, loss; /* of training */
    double held_out;
} fab_lrvga_net_numbers;

typedef struct fab_lrvga_net {
    fab_lrvga_settings s;
    fab_train train; /* the model, the prior, and start = map */
    fab_lrvga *core; /* the recursion, over theta - center */
    fab_gauss *q;    /* the result, over all of theta but a learned noise */
    fab_lrvga_net_numbers n;
    int64_t T, C;      /* coordinates that have a prior; predictors of a row */
    int64_t rows;      /* that fit into a block of the stream */
    int64_t points;    /* of theta whose curvature is averaged: draws, or the mean alone */
    int64_t held;      /* rows that meet the same points: a block of columns */
    int64_t chunk;     /* whose slopes are computed at a time */
    int64_t pending;   /* in x, y, w, o */
    double *center;    /* D: theta0, or the mode */
    double *theta;     /* D: where the slopes are taken */
    double *at;        /* T: theta - center */
    double *before;    /* T: the mean before the block */
    double *second;    /* T: mirror-prox, the mean of the second look */
    double *x;         /* rows x features */
    double *y, *w, *o; /* rows */
    double *out;       /* chunk x C */
    void *J;           /* chunk C x D, in the model's type */
    double *base;      /* rows C */
    double *label;     /* chunk: drawn classes */
} fab_lrvga_net;

/* Take rows of e from number `first` on into x, y, w, o behind the pending ones. */
void fab_lrvga_net_keep(fab_lrvga_net *f, const fab_examples *e, int64_t first, int64_t n);
/* The first rows of a stream choose what is unknown about prior and noise. */
fab_status fab_lrvga_net_decide(fab_lrvga_net *f);
/* The pending rows move the mean and enter the precision; on failure the mean is as it was. */
fab_status fab_lrvga_net_block(fab_lrvga_net *f);
/* All rows of e, which center was trained on, enter the precision; the mean stays. */
fab_status fab_lrvga_net_hold(fab_lrvga_net *f, const fab_examples *e);

#endif
