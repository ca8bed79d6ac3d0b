/* methods.h - the list of methods: what `fabayes methods` prints and `-m NAME` finds.
 *
 * Every method that turns vectors into a Gaussian has the same four verbs behind one table, so that a
 * program can run any of them by name.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_METHODS_H
#define FABAYES_METHODS_H

#include "fabayes/gauss.h"
#include "fabayes/settings.h"
#include "fabayes/tensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a method says about a fit. */
typedef struct fab_diagnostics {
    int64_t n;          /* rows seen */
    int64_t floored;    /* coordinates whose psi stands at its floor */
    int64_t iterations; /* of a batch method; 0 for a stream */
    int64_t converged;  /* 1 yes, 0 stopped at max_iter, -1 does not apply */
    double loglik_mean; /* mean log-likelihood per row where the method knows it, else NaN */
} fab_diagnostics;

/* One method.  The functions are called by fab_estim (estim.h), which checks what comes in. */
typedef struct fab_method {
    const char *name, *summary;
    int64_t streams;        /* 1: any number of updates; 0: its whole table in one update */
    const fab_table *table; /* its settings; D, K and seed are fields of every table */

    fab_status (*init)(void **handle, const void *settings, const fab_exec *x);
    fab_status (*update)(void *handle, const fab_rows *rows); /* batch: borrows rows until result */
    fab_status (*result)(void *handle, const fab_gauss **q);  /* lends until update or free */
    fab_status (*diagnostics)(void *handle, fab_diagnostics *d); /* after result */
    void (*free)(void *handle);

    /* Streams: add the tensors state.* needed to continue exactly (borrowed until the set is freed or
     * the handle is used again); take them back into a fresh handle of the same settings. */
    fab_status (*save)(void *handle, fab_tensors *t);
    fab_status (*load)(void *handle, const fab_tensors *t);

    /* Bytes a handle of these settings needs for n rows, the rows themselves not counted. */
    double (*bytes)(const void *settings, int64_t n, const fab_exec *x);

    /* A method of inference (infer.h) has these verbs instead of the ones above; NULL: vectors in. */
    const struct fab_infer_verbs *infer;
    /* A method of linear models: who does the same for networks, with settings of its own; or NULL. */
    const struct fab_method *network;
} fab_method;

FAB_API int64_t fab_method_count(void);
FAB_API const fab_method *fab_method_at(int64_t i);
FAB_API const fab_method *fab_method_find(const char *name); /* NULL: no such method */
/* Who does for networks what m does for linear models; m itself where there is no other. */
FAB_API const fab_method *fab_method_of_networks(const fab_method *m);

#ifdef __cplusplus
}
#endif
#endif
