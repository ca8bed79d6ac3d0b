/* ops.h - the contract of a backend: kernels on long arrays, in one precision.
 *
 * A long array has one row per coordinate of theta that lives on this process; it is touched by these
 * kernels only.  Small matrices (K x K, K x m) are double and COLUMN-MAJOR: A(i, j) = A[i + j * rows].
 * ops_ref.c, plain loops, is the meaning of every entry; ops_cpu.c is the fast one.
 *
 * Reductions add f32 products in f32 inside a block of at most 512 rows; blocks are added in double,
 * in a fixed order: the result has the same bits for any number of threads.  Kernels do not allocate:
 * what they need is in run->work, sized by `work`.  They do not sum over processes: the caller does
 * (fab_sum), once per step.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_OPS_H
#define FAB_LA_OPS_H

#include "base/hooks.h"
#include "fabayes/random.h"
#include <stddef.h>

/* A long array, n x k, in the precision of its ops: element (i, j) at p[i * rs + j * cs].
 * Either cs == 1 (row-major: F) or rs == 1 (k vectors of length n, cs apart: data, draws).
 * p == NULL, k == 0: absent. */
typedef struct fab_long {
    void *p;
    int64_t n, k, rs, cs;
} fab_long;

/* A fab_exec made definite, and the workspace lent by the handle that owns it. */
typedef struct fab_run {
    const fab_ops *ops;
    fab_comm comm;
    int threads;
    void *work;
    fab_watch watch;
} fab_run;

/* The fused pass over rows i = 0 .. n-1 (in place where arrays coincide: out may be w or u):
 *
 *   w_i'   = w_i R + (s_num_i / s_den_i) u_i T + x_i C        each term absent when its array is
 *                                                             R NULL: r0 w_i, and w.k = K
 *   base_i = c0 psi_i + c1 |w_i|^2 + c2 |x_i|^2 + c3 d2_i
 *   psi_i' = max(base_i - w_i' Q w_i'^T, floor * base_i)      Q NULL: identity
 *
 * and, with W' and psi' just made (psi itself when psi_out is NULL), what the next step needs:
 *
 *   G = W'^T psi'^-1 W'      E = W'^T diag(psi0 / psi'^2) W'
 *   H = W^T  psi'^-1 W'      N = W'^T psi'^-1 next            (W: the w_i as they were read)
 */
typedef struct fab_sweep {
    int64_t n, K;                /* local rows; columns of W' */
    fab_long w;                  /* n x w.k */
    const double *R;             /* w.k x K; zeros below its diagonal make it cheaper */
    double r0;                   /* in place of R */
    fab_long u;                  /* n x u.k */
    const double *T;             /* u.k x K */
    const double *s_num, *s_den; /* n each, or NULL: 1; s_num not without s_den */
    fab_long x;                  /* n x x.k */
    const double *C;             /* x.k x K */
    fab_long out;                /* n x K */

    double c0, c1, c2, c3; /* a zero coefficient: its array is not read */
    const double *psi;     /* n */
    const double *d2;      /* n */
    const double *Q;       /* K x K, symmetric */
    double floor;
    double *psi_out;  /* n, may be psi; NULL: psi is given */
    double *base_out; /* n, may be d2; NULL: not kept */

    double *G, *E, *H, *N; /* K x K, K x K, w.k x K, K x next.k; NULL: not wanted */
    const double *psi0;    /* n, for E */
    fab_long next;         /* n x next.k, for N */

    int64_t floored; /* out: rows where the floor acted */
} fab_sweep;

struct fab_ops {
    const char *backend;
    fab_dtype type;
    size_t size; /* bytes of an element */

    /* Bytes of workspace for arrays of n rows and small matrices up to rows x cols: rows and cols at
     * least k for gram; for sweep rows >= K, w.k, u.k, x.k and cols >= K, next.k. */
    size_t (*work)(int64_t n, int64_t rows, int64_t cols, int threads);

    /* Reductions over the local rows.  w: n weights >= 0, or NULL for 1. */
    void (*gram)(const fab_run *r, const fab_long *A, const double *w, double *G); /* G = A' w A */
    void (*cross)(const fab_run *r, const fab_long *A, const double *w, const fab_long *B,
                  double *C); /* C = A' w B */
    void (*colquad)(const fab_run *r, const fab_long *A, const double *w,
                    double *q); /* q_j = sum_i w_i a_ij^2 */

    /* Row by row.  s: n factors, or NULL for 1. */
    void (*mult)(const fab_run *r, const double *s, const fab_long *A, const double *M, double beta,
                 const fab_long *B); /* B = s A M + beta B;  B may be A */
    void (*rowquad)(const fab_run *r, const fab_long *A, const double *M, int64_t cols, double beta,
                    double *q); /* q_i = |a_i M|^2 + beta q_i;  M NULL: I */
    void (*rowdot)(const fab_run *r, const fab_long *A, const fab_long *B, double beta,
                   double *q); /* q_i = a_i . b_i + beta q_i */
    void (*axpy)(const fab_run *r, const double *s, const fab_long *A, double beta,
                 const fab_long *B); /* B = s A + beta B, elementwise */

    /* In and out.  mu: n numbers, or NULL for 0. */
    void (*load)(const fab_run *r, const fab_rows *x, const double *mu,
                 const fab_long *X); /* X(:,j) = x_j - mu; sparse rows too */
    void (*get)(const fab_run *r, const fab_long *A, double *out); /* out[i * k + j] = A(i, j) */
    void (*put)(const fab_run *r, const double *in, const fab_long *A);
    void (*zero)(const fab_run *r, const fab_long *A);

    /* A(i, j) = normal number (first_row + i) * k + j of (seed, stream). */
    void (*randn)(const fab_run *r, uint64_t seed, fab_purpose purpose, uint64_t stream,
                  const fab_long *A);

    void (*sweep)(const fab_run *r, fab_sweep *s);
};

extern const fab_ops fab_ops_ref_f64, fab_ops_ref_f32, fab_ops_cpu_f64, fab_ops_cpu_f32;

/* The same backend in another precision. */
const fab_ops *fab_ops_as(const fab_ops *ops, fab_dtype type);

/* Views. */
fab_long fab_long_rows(void *F, int64_t n, int64_t k);                /* row-major n x k */
fab_long fab_long_vectors(void *X, int64_t n, int64_t k, int64_t ld); /* k vectors of length n */

/* Make *x (or NULL) definite; `type` chooses the precision.  work is left NULL. */
fab_status fab_run_init(fab_run *r, const fab_exec *x, fab_dtype type);

/* Add buf over the processes. */
fab_status fab_sum(const fab_run *r, double *buf, int64_t n);

/* Coordinates over all processes, where this one has n. */
int64_t fab_total(const fab_comm *c, int64_t n);

/* Refuse several processes, with a sentence that begins with `who`. */
fab_status fab_check_alone(const char *who, const fab_exec *x);

/* BLAS runs single-threaded inside a verb: take the global count down, give it back. */
int fab_blas_enter(void);
void fab_blas_leave(int before);

/* Threads for work of `count` elementary operations: 1 below FAB_SMALL_WORK. */
enum { FAB_SMALL_WORK = 1 << 17, FAB_BLOCK_ROWS = 512, FAB_MAX_CHUNKS = 64 };

#endif
