/* batch.h - what the batch methods share: the table they borrow, and the Gaussian they lend.
 *
 * A batch method fills q from a target in one function; the four verbs are these.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FA_BATCH_H
#define FAB_FA_BATCH_H

#include "methods/fa/target.h"
#include "fabayes/fit.h"

typedef struct fab_batch {
    const char *name;
    fab_exec exec;
    int64_t D, K;
    fab_rows rows;
    const double *weight; /* of the rows, or NULL: 1 */
    fab_gauss *q;
    double *F; /* D x K, columns: what the method fills; q->F is made from it */
    fab_report report;
    double psi_min;
    fab_status (*solve)(struct fab_batch *b, const fab_target *t); /* fills q->psi, F, report */
    int64_t width;     /* columns the target works with */
    double settings[]; /* a copy of the method's settings */
} fab_batch;

/* Build a batch handle: `size` bytes of settings are copied behind it. */
fab_status fab_batch_init(void **handle, const fab_batch *proto, const void *settings, size_t size,
                          const fab_exec *x);
fab_status fab_batch_update(void *handle, const fab_examples *e);
fab_status fab_batch_result(void *handle, const fab_gauss **q);
/* q and report of a target that is there: what result does with that of the rows. */
fab_status fab_batch_solve(fab_batch *b, const fab_target *t);
/* psi at or above its floor, q from F, mu and psi; and is q a Gaussian? */
fab_status fab_batch_finish(fab_batch *b, const fab_target *t);
fab_status fab_batch_report(void *handle, fab_report *d);
void fab_batch_free(void *handle);

/* Bytes of target, Gaussian and likelihood for n rows; what the method needs beside comes on top. */
double fab_batch_bytes(int64_t D, int64_t K, int64_t n, int64_t width, const fab_exec *x);

/* F = diag(scale) V_K sqrt(gain), columns; scale NULL: 1. */
void fab_batch_set_factors(fab_batch *b, const double *V, const double *scale, const double *gain);

/* Mean log-likelihood per row of (F, psi) for the target; P, V: D x K room. */
fab_status fab_batch_loglik(const fab_batch *b, const fab_target *t, double *loglik);

#endif
