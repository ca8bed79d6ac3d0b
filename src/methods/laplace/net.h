/* net.h - Laplace's approximation of a network while it is made.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_LAPLACE_NET_H
#define FAB_INFER_LAPLACE_NET_H

#include "fabayes/methods.h"
#include "train/curvature.h"
#include "train/products.h"
#include "train/train.h"

/* How far the rounds are; saved beside the training. */
typedef struct fab_laplace_rounds {
    int64_t done;   /* rounds */
    int64_t epochs; /* of training and of rounds before this one */
} fab_laplace_rounds;

typedef struct fab_laplace_net {
    fab_laplace_settings s;
    fab_train train;
    int64_t first, P; /* coordinates first .. first + P - 1 of theta, weights, are uncertain */
    int64_t K;        /* rank of their curvature; 0: in full */
    int dense;        /* P x P matrices are affordable */
    int learned;      /* the last coordinate of theta is the log noise */
    fab_laplace_rounds round;
    double alpha; /* of this round; saved */
    double log_evidence;
    int64_t floored;
    fab_gauss *point; /* theta so far */
    fab_gauss *q;     /* NULL: to be computed */

    fab_curvature *G; /* where theta stands, while at work */
} fab_laplace_net;

/* curvature.c: steps 2, 5 - 7 of net.c.  Training is open. */
/* The spectrum of the curvature at theta, and how well theta fits.  Gives *s: fab_release. */
fab_status fab_laplace_spectrum(fab_laplace_net *f, fab_spectrum **s, fab_fit_of_rows *fit);
/* f->q and f->log_evidence. */
fab_status fab_laplace_gauss(fab_laplace_net *f);
/* Bytes that these need. */
double fab_laplace_curvature_bytes(const fab_laplace_net *f);

#endif
