/* slang.h - the state of slang and vogn, shared by their files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_SLANG_STATE_H
#define FAB_INFER_SLANG_STATE_H

#include "base/memory.h"
#include "fabayes/methods.h"
#include "train/minibatch.h"
#include "train/prior.h"
#include "la/ops.h"

/* What is saved beside the arrays. */
enum { FAB_SLANG_EPOCH, FAB_SLANG_STEP, FAB_SLANG_LOSS, FAB_SLANG_FLOORED, FAB_SLANG_NUMBERS };

typedef struct fab_slang {
    const char *who;
    fab_slang_settings s; /* K resolved; 0 for vogn */
    fab_model m;
    const fab_gauss *given; /* the prior, or NULL */
    fab_exec exec;
    fab_run run;
    fab_examples e;
    fab_prior prior;
    fab_minibatch *batches;
    fab_gauss *q;
    int products; /* the model multiplies its gradients itself: no rows */
    int dense;    /* D is below K + batch x draws: eigenvectors of Y Y' instead of Y'Y */
    int64_t most; /* gradients in a step: batch x draws */
    double number[FAB_SLANG_NUMBERS];

    /* the Gaussian, and the next one: a step that fails leaves the first as it was */
    double *mu;                   /* D */
    void *U, *U_next;             /* D x K, row-major, in the model's type */
    double *psi, *psi_next;       /* D */
    double *diag, *diag_next;     /* D: of U U' + psi */
    double *lambda, *lambda_next; /* K: U'U is diagonal */
    double *L, *L_next;           /* K x K: L L' = I + U' psi^-1 U */

    double *given_diag;                /* D: prior precision */
    double *mean;                      /* D: of the gradients */
    double *w;                         /* D: 1 / psi */
    double *theta, *gradient, *spread; /* D: a draw, its slope, scratch */
    void *X;                           /* `draws` vectors of length D */
    void *v;                           /* D, in the type of U: the direction */
    void *G;                           /* `most` vectors of length D, without products */
    double *gram, *cross;              /* n x n, K x n (products: n x K, row-major) */
    double *Y, *eigenvalues, *work;    /* side x side, side, scratch; side K + n, or D when dense */
    double *leading;                   /* side x K: eigenvectors */
    double *turned;                    /* D x n or D x K, when dense */
    double *T, *C;                     /* K x K, n x K: from U and from the gradients to U_next */
    double *h, *N;                     /* K x draws, K */
    double *ones;                      /* n */
} fab_slang;

/* 2 - 7 of slang.c: one step with the next batch of rows; adds the loss of its draws to *loss. */
fab_status fab_slang_step(fab_slang *f, const fab_examples *batch, double *loss);

#endif
