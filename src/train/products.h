/* products.h - a symmetric positive definite matrix A too large to form, known by its products: its rank-K-plus-diagonal
 * neighbour and its spectrum.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_PRODUCTS_H
#define FAB_TRAIN_PRODUCTS_H

#include "fabayes/exec.h"

typedef struct fab_products {
    int64_t P;
    void *self;
    /* out = A V, both P x k, row-major */
    fab_status (*times)(void *self, int64_t k, const double *V, double *out);
    /* Loop `done` of `total` is over; FAB_STOPPED ends the work. */
    fab_status (*tick)(void *self, int64_t done, int64_t total);
} fab_products;

/* ---- rank_em.c ---------------------------------------------------------------------------------------- */

typedef struct fab_rank_plan {
    int64_t K;
    int64_t inner; /* loops, at most */
    double tol;    /* they end when psi changes by less */
    int64_t seed;  /* of the start */
} fab_rank_plan;

/* W W' + diag(psi) near A. */
typedef struct fab_rank {
    const double *psi; /* P */
    const double *W;   /* P x K, row-major */
    int64_t floored;   /* coordinates whose psi stands at its floor */
} fab_rank;

/* The W and psi that minimise KL(N(0, (W W' + psi)^-1) || N(0, A^-1)), or nearly.  diag: P, of A.  Gives *r:
 * fab_release. */
fab_status fab_rank_em(fab_rank **r, const fab_products *A, const double *diag,
                       const fab_rank_plan *p, const fab_exec *x);

/* ---- lanczos.c ---------------------------------------------------------------------------------------- */

enum {
    FAB_PROBES = 8,        /* columns of the products asked for */
    FAB_LANCZOS_STEPS = 40 /* products */
};

/* tr f(A) ~ sum_i weight_i f(node_i). */
typedef struct fab_spectrum {
    int64_t n;
    double *node, *weight; /* n each */
} fab_spectrum;

/* Of diag(scale) A diag(scale), scale P numbers or NULL: 1.  Gives *s: fab_release. */
fab_status fab_lanczos(fab_spectrum **s, const fab_products *A, const double *scale, int64_t seed);

#endif
