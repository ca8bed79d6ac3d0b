/* state.h - small help for the methods: state tensors in files, and the log-likelihood of a stream.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_STATE_H
#define FAB_TRAIN_STATE_H

#include "fabayes/files.h"
#include "fabayes/gauss.h"
#include "la/ops.h"

/* Find tensor `name` with exactly this type and shape and copy it to `out`; a sentence otherwise. */
fab_status fab_state_take(const fab_tensors *t, const char *name, fab_dtype type, int ndim,
                          const int64_t *shape, void *out);

/* Where the numbers of a state are, and as what: on the host as `type` says; or where the kernels are, as a long array of
 * that type, as one of their vectors (in files F64), as doubles, as flags (I64). */
typedef enum fab_far_kind {
    FAB_NEAR = 0,
    FAB_FAR_ARRAY,
    FAB_FAR_VECTOR,
    FAB_FAR_MEAN,
    FAB_FAR_FLAGS
} fab_far_kind;

/* One tensor of a method's state, borrowed: n numbers, or n x k where k > 0; FAB_I64 for counts.  With p = NULL there is
 * none. */
typedef struct fab_state {
    const char *name;
    fab_dtype type;
    int64_t n, k;
    void *p;
} fab_state;

/* All of them, in the order of the file; the first without a name ends the list. */
typedef struct fab_states {
    fab_state of[16];
} fab_states;

/* Append one of them. */
void fab_states_add(fab_states *s, const char *name, fab_dtype type, int64_t n, int64_t k, void *p);
/* Such a list of arrays that may be where the kernels are. */
typedef struct fab_far_states {
    fab_states all;
    fab_far_kind kind[16];
} fab_far_states;
void fab_far_add(fab_far_states *s, const char *name, fab_far_kind kind, fab_dtype type, int64_t n,
                 int64_t k, void *p);

/* The list with room on the host for all that is where the kernels are, in *room, which the caller releases: after `fetch`
 * it holds their numbers, `store` takes them back.  Kernels that share the host's memory need none. */
fab_status fab_far_fetch(const fab_run *r, const fab_far_states *far, fab_states *near,
                         void **room);
fab_status fab_far_room(const fab_run *r, const fab_far_states *far, fab_states *near, void **room);
void fab_far_store(const fab_run *r, const fab_states *near, const fab_far_states *far);

/* Add them to a file; take them from one. */
fab_status fab_states_save(const fab_states *s, fab_tensors *t);
fab_status fab_states_load(const fab_states *s, const fab_tensors *t);

/* Add the tensors of `from` whose names begin with `drop` to `to`, with `add` in its place.  Borrows their numbers. */
fab_status fab_state_rename(const fab_tensors *from, const char *drop, const char *add,
                            fab_tensors *to);

/* Mean log-likelihood per row of q for data whose variances are d2 (D) and whose correlations q has
 * fitted: with S = F F' + diag(d2 - rowdot(F, F)), -(D log 2 pi + log det + tr(Sigma^-1 S)) / 2.  Exact at
 * a maximum of the likelihood.  With a comm in x, q and d2 are this process's part and the number is of all. */
fab_status fab_state_loglik(const fab_gauss *q, const double *d2, const fab_exec *x,
                            double *loglik);

/* Raise psi to at least psi_min times the coordinate's variance d2_i; a coordinate that is constant, d2_i = 0 (the method
 * knows which are), gets psi_min times the mean variance.  *floored: how many stand at the floor.  Mean and count are
 * over the processes of r. */
fab_status fab_state_floor(fab_gauss *q, const double *d2, double psi_min, const fab_run *r,
                           int64_t *floored);

#endif
