/* net.h - Laplace's approximation of a network while it is made.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LAPLACE_NET_H
#define FAB_LAPLACE_NET_H

#include "fabayes/methods.h"
#include "fabayes/net.h"
#include "train/curvature.h"
#include "train/products.h"
#include "train/train.h"

/* How far the rounds are; saved beside the training. */
typedef struct fab_laplace_rounds {
    int64_t done;   /* rounds */
    int64_t epochs; /* of training and of rounds before this one */
} fab_laplace_rounds;

/* The last layer as a model of its own: a linear network on features that stay (last.c). */
typedef struct fab_laplace_last {
    fab_net *net;   /* NULL: none */
    void *phi;      /* N x features, in the model's type */
    fab_examples e; /* these rows, and y, weights and offsets as they were */
    fab_joint joint;
} fab_laplace_last;

typedef struct fab_laplace_net {
    fab_laplace_settings s;
    fab_train train;
    int64_t first, P; /* coordinates first .. first + P - 1 of theta, weights, are uncertain */
    fab_structure structure; /* of their curvature; auto until the rows are known */
    int64_t K;               /* rank; 0: in full, or diagonal */
    int dense;               /* P x P matrices are affordable, and wanted */
    int learned;             /* the last coordinate of theta is the log noise */
    fab_laplace_rounds round;
    double alpha; /* of this round; saved */
    double log_evidence;
    int64_t floored;
    fab_gauss *point; /* theta so far */
    fab_gauss *q;     /* NULL: to be computed */

    fab_laplace_last last;
    fab_curvature *G; /* where theta stands, while at work */
} fab_laplace_net;

/* last.c: the features at theta and a linear network on them, where the last layer is asked about and the model tells its
 * features; otherwise nothing.  Training is open. */
fab_status fab_laplace_last_open(fab_laplace_net *f);
void fab_laplace_last_close(fab_laplace_net *f);
double fab_laplace_last_bytes(const fab_laplace_net *f, const fab_model *m, int64_t n);
/* The training of the uncertain part: that of the whole network, or of the last layer, whose arrays are parts of the
 * others'; fab_laplace_last_done brings back what a run of it has changed. */
fab_train fab_laplace_last_train(const fab_laplace_net *f);
void fab_laplace_last_done(fab_laplace_net *f, const fab_train *t);

/* curvature.c: steps 2, 5 - 7 of net.c.  Training is open. */
/* The spectrum of the curvature at theta, and how well theta fits.  Gives *s: fab_release. */
fab_status fab_laplace_spectrum(fab_laplace_net *f, fab_spectrum **s, fab_fit_of_rows *fit);
/* f->q and f->log_evidence. */
fab_status fab_laplace_gauss(fab_laplace_net *f);
/* Bytes that these need. */
double fab_laplace_curvature_bytes(const fab_laplace_net *f);

#endif
