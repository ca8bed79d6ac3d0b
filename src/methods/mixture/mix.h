/* mix.h - a mixture fitted to a table: starts, moves, EM to its end.  What `mfa` and `gmm` are made of, and how `online-mfa` starts.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MIXTURE_MIX_H
#define FAB_MIXTURE_MIX_H

#include "fabayes/fit.h"
#include "base/hooks.h"
#include "methods/mixture/parts.h"

typedef struct fab_mix_plan {
    const char *who;
    int64_t D, G, q;
    fab_shape shape;
    int64_t restarts, moves, max_iter, seed;
    double tol, floor;
} fab_mix_plan;

typedef struct fab_mix fab_mix;

/* Gives *m.  The watch is that of x. */
fab_status fab_mix_create(fab_mix **m, const fab_mix_plan *plan, const fab_exec *x);
void fab_mix_free(fab_mix *m); /* takes NULL */
double fab_mix_bytes(const fab_mix_plan *plan, int64_t n, const fab_exec *x);

/* Begin with these parts in the place of starts and moves: means, weights and covariances, of parts that have as many factors as these
 * shall have; where they have none, psi is what they say and the factors begin at random. */
fab_status fab_mix_begin(fab_mix *m, const fab_mixture *start);

/* Borrows rows and weights (NULL: 1) until the result; one that begins anew unless it has been loaded. */
fab_status fab_mix_rows(fab_mix *m, const fab_rows *x, const double *weight);
/* EM to its end, or from where it was stopped. */
fab_status fab_mix_run(fab_mix *m);
/* The parts as they are; lends until it runs on. */
fab_status fab_mix_result(fab_mix *m, const fab_mixture **q);
/* The engine with them, after a run. */
fab_parts *fab_mix_parts(fab_mix *m);

/* ---- what starts know of a table ------------------------------------------------------------------------ */

typedef struct fab_mix_table {
    const char *who;
    int64_t D;
    const fab_rows *rows;
    const double *weight; /* NULL: 1 */
    fab_watch *watch;
} fab_mix_table;

/* Mean and variance of each column (D), of a constant one the mean variance of the others; the weight of all rows.  row: room for
 * D.  FAB_BAD_DATA where no column varies. */
fab_status fab_mix_columns(const fab_mix_table *t, double *row, double *mean, double *variance,
                           double *total);

/* ---- the verbs of a method whose handle is a fab_mix (method.h); init and bytes are its own, by its plan ---- */

fab_status fab_mix_open(void **handle, const fab_mix_plan *plan, const fab_input *in,
                        const fab_exec *x);
fab_status fab_mix_update_verb(void *handle, const fab_examples *e);
fab_status fab_mix_mixture_verb(void *handle, const fab_mixture **q);
fab_status fab_mix_so_far_verb(void *handle, const fab_mixture **q);
fab_status fab_mix_report_verb(void *handle, fab_report *r);
fab_status fab_mix_tensors_verb(void *handle, fab_tensors *t);
fab_status fab_mix_save_verb(void *handle, fab_tensors *t);
fab_status fab_mix_load_verb(void *handle, const fab_tensors *t);
void fab_mix_free_verb(void *handle);

#define FAB_MIX_VERBS                                                                      \
    .update = fab_mix_update_verb, .mixture = fab_mix_mixture_verb,                        \
    .mixture_so_far = fab_mix_so_far_verb, .report = fab_mix_report_verb,                  \
    .tensors = fab_mix_tensors_verb, .save = fab_mix_save_verb, .load = fab_mix_load_verb, \
    .free = fab_mix_free_verb

#endif
