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
#include "base/memory.h"
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

/* A vector of D is n numbers, one for each row, where the kernels are and in a type that the backend chooses (`vectors`
 * below; on the CPU double): a `void *` that only kernels look behind.  Weights, factors, psi, means: all that kernels
 * take or give row by row is such a vector.  Rows that come (fab_rows), small matrices and sums are the host's. */

enum { FAB_SWEEP_TERMS = 4 };

/* The fused pass over rows i = 0 .. n-1 (in place where arrays coincide: out may be w or u):
 *
 *   w_i'   = w_i R + (s_num_i / s_den_i) u_i T + x_i C        each term absent when its array is
 *                                                             R NULL: r0 w_i, and w.k = K
 *            + f_1i (w_i R_1 + x_i C_1 + f_2i (w_i R_2 + x_i C_2 + ..))     `terms` of them, with R and without u
 *   base_i = c0 psi_i + c1 |w_i|^2 + c2 |x_i|^2 + c3 d2_i
 *   psi_i' = max(base_i - w_i' Q w_i'^T, floor * base_i)      Q NULL: identity
 *   ratio_i = psi_i / psi_i'                                  psi_out is not psi then
 *
 * and, with W' and psi' just made (psi itself when psi_out and ratio_out are NULL), what the next step needs:
 *
 *   G = W'^T psi'^-1 W'      E = W'^T diag(psi0 / psi'^2) W'
 *   H = W^T  psi'^-1 W'      N = W'^T psi'^-1 next            (W: the w_i as they were read)
 */
typedef struct fab_sweep {
    int64_t n, K;                   /* local rows; columns of W' */
    fab_long w;                     /* n x w.k */
    const double *R;                /* w.k x K; zeros below its diagonal make it cheaper */
    double r0;                      /* in place of R */
    fab_long u;                     /* n x u.k */
    const double *T;                /* u.k x K */
    const void *s_num, *s_den;      /* n each, or NULL: 1; s_num not without s_den */
    fab_long x;                     /* n x x.k */
    const double *C;                /* x.k x K */
    fab_long out;                   /* n x K; absent: W' is not kept */
    int64_t terms;                  /* 0 .. FAB_SWEEP_TERMS */
    const void *f[FAB_SWEEP_TERMS]; /* n each, in the type of the arrays */
    const double *more_R, *more_C;  /* w.k x K and x.k x K for each term, one after another */

    double c0, c1, c2, c3; /* a zero coefficient: its array is not read */
    const void *psi;       /* n */
    const void *d2;        /* n */
    const double *Q;       /* K x K, symmetric */
    double floor;
    void *psi_out;   /* n, may be psi; NULL: psi is given, or ratio_out has it */
    void *base_out;  /* n, may be d2; NULL: not kept */
    void *ratio_out; /* n, in the type of the arrays, or NULL */

    double *G, *E, *H, *N; /* K x K, K x K, w.k x K, K x next.k; NULL: not wanted */
    const void *psi0;      /* n, for E */
    fab_long next;         /* n x next.k, for N */

    int64_t floored; /* out: rows where the floor acted */
} fab_sweep;

/* q = N(c, F F' + diag(psi)), psi = exp gamma, where the kernels are: c and gamma are vectors, F is n x K by rows. */
typedef struct fab_far_gauss {
    int64_t n, K;
    void *c, *gamma;
    void *F;
} fab_far_gauss;

/* A draw of it: theta = c + F h + sign psi^1/2 z, z_i normal number i of (seed, FAB_PURPOSE_DRAW, stream) in double; and
 * what makes the gradient there that of all rows. */
typedef struct fab_draw {
    uint64_t seed, stream;
    double sign, scale;
    const double *h; /* K */
    const double *y; /* K, of a path: M^-1 (h - sign F' psi^-1/2 z), M = I + F' psi^-1 F */
} fab_draw;

/* From gradients g_l at L draws to the next q, row by row.  With v_l = scale_l g_l, and of a path
 *
 *   v_l += alpha theta_l - w (f y_l / psi + sign_l psi^-1/2 z_l)
 *
 * all gradients are
 *
 *   of c      mean v_l                                 + alpha c
 *   of gamma  (mean v_l sign_l z_l psi^1/2              + alpha psi - w + w f M^-1 f' / psi) / 2
 *   of F      mean v_l h_l'                            + alpha f - w f M^-1 / psi
 *
 * where what stands on the right is absent of a path.  They move q by the rates, or by Adam; w = 0: c alone; a row whose
 * gradient has no square stays, and the squares say so.  G and `beyond` are of the q that comes out. */
typedef enum fab_step_kind {
    FAB_STEP_NOTHING, /* G and `beyond` of q as it is: there are no draws */
    FAB_STEP_NORMS,   /* squares alone */
    FAB_STEP_PLAIN,
    FAB_STEP_ADAM
} fab_step_kind;
typedef struct fab_moves {
    double rate; /* of Adam: over 1 - b1^t */
    double by;   /* the gradient is so much of itself */
    double root; /* (1 - b2^t)^-1/2 */
    void *m, *v; /* moments: vectors of c and gamma, n x K of F */
} fab_moves;
typedef struct fab_step {
    fab_step_kind kind;
    fab_far_gauss q;
    int64_t L;
    const fab_draw *draw;  /* L */
    const void *V;         /* n x L vectors in the type of F: g_l, n apart */
    double weight, alpha;  /* w */
    int path;              /* otherwise: */
    const double *Minv;    /* K x K */
    fab_moves c, gamma, F; /* what moves */
    double b1, b2, epsilon;
    double most; /* of |gamma| */

    double *G;         /* out, K x K: F' psi^-1 F */
    double squares[3]; /* out: of the gradients of c, gamma and (kind NORMS) F */
    int64_t beyond;    /* out: rows with |gamma| > most, or not a number */
} fab_step;
enum { FAB_GAUSS_SUMS = 4 }; /* c'c, the sums of psi and gamma, the largest |gamma| */

/* What is done to a vector, number by number. */
typedef enum fab_map {
    FAB_MAP_INVERSE,      /* 1 / v */
    FAB_MAP_ROOT,         /* sqrt v */
    FAB_MAP_INVERSE_ROOT, /* 1 / sqrt v; 0 where v is not positive */
    FAB_MAP_AT_LEAST      /* max(a v, b) */
} fab_map;

/* Kernels on vectors of D and on flags, which are n marks of 0 or 1. */
typedef struct fab_vectors {
    size_t size, flag; /* bytes of a number, of a mark */

    /* To the host and back; store and fetch: bytes of a long array as they are. */
    void (*get)(const fab_run *r, int64_t n, const void *v, double *out);
    void (*put)(const fab_run *r, int64_t n, const double *in, void *v);
    void (*get_flags)(const fab_run *r, int64_t n, const void *flags, int64_t *out);
    void (*put_flags)(const fab_run *r, int64_t n, const int64_t *in, void *flags);
    void (*fetch)(const fab_run *r, size_t bytes, const void *from, void *host);
    void (*store)(const fab_run *r, size_t bytes, const void *host, void *to);

    double (*sum)(const fab_run *r, int64_t n, const void *v, double over); /* of v_i / over */
    double (*largest)(const fab_run *r, int64_t n, const void *v);          /* 0 when none is */
    int64_t (*unmarked)(const fab_run *r, int64_t n, const void *flags);    /* how many are 0 */

    void (*fill)(const fab_run *r, int64_t n, double a, void *v);
    void (*copy)(const fab_run *r, int64_t n, const void *from, void *to);
    void (*map)(const fab_run *r, int64_t n, fab_map how, double a, double b, const void *v,
                void *out); /* out may be v */
    void (*blend)(const fab_run *r, int64_t n, double a, const void *x, double b,
                  void *y); /* y = a x + b y */
    void (*choose)(const fab_run *r, int64_t n, const void *flags, const void *v, double c,
                   void *out);                                         /* v where marked, else c */
    void (*round)(const fab_run *r, const void *v, const fab_long *A); /* A(:, 0) = v */
    void (*normals)(const fab_run *r, int64_t n, uint64_t seed, fab_purpose purpose,
                    uint64_t stream, void *v); /* randn in double, then the type of a vector */

    /* psi_i = max(psi_i, share d2_i), share c where d2_i is not positive; how many stand at that floor. */
    int64_t (*floor)(const fab_run *r, int64_t n, double share, const void *d2, double c,
                     void *psi);
    /* psi_i = max(psi_i exp(a (v_i inverse_i - 1) / 2), least_i); how many went beyond `most`. */
    double (*ascend)(const fab_run *r, int64_t n, double a, const void *v, const void *inverse,
                     const void *least, double most, void *psi);
    /* A mean is n doubles on every backend: after many rows g d is below the last bit of a float.
     * d = the row - mu, mu += g d, X(:, 0) = d; flags (or NULL: 0 is answered) are marked where d is not 0, and those that are
     * not are counted.  scratch: a vector where an element of X is not as wide as one. */
    int64_t (*centre)(const fab_run *r, const fab_rows *row, double g, void *mu, const fab_long *X,
                      void *flags, void *scratch);
    /* x and mean are n doubles, too.  The t-th x: d = x - mean, mean += d / t, squares += d (x - mean), x = d, X(:, 0) = d;
     * squares NULL, X with k = 0: not kept. */
    void (*welford)(const fab_run *r, int64_t n, double t, void *x, void *mean, void *squares,
                    const fab_long *X);

    /* X(:, 0) = the row, in the type of F; how many numbers are not finite. */
    int64_t (*bring)(const fab_run *r, const fab_rows *row, const fab_long *X);
    /* theta: n numbers in the type of F.  sums: K, sign F' psi^-1/2 z. */
    void (*draw)(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, void *theta);
    void (*project)(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, double *sums);
    void (*step)(const fab_run *r, fab_step *s);
    void (*gauss_sums)(const fab_run *r, const fab_far_gauss *q, double *out);
} fab_vectors;

struct fab_ops {
    const char *backend;
    fab_dtype type;
    size_t size;                   /* bytes of an element */
    const fab_ops *const *by_type; /* the same backend in FAB_F64, FAB_F32 */
    const fab_vectors *vectors;
    const fab_memory *memory; /* where long arrays and run->work are; NULL: the host's */
    /* What has gone wrong in kernels that answer nothing, since it was last asked; NULL: nothing.  It is said once: whose
     * arrays they were does not go on, and the sums of such kernels are no numbers. */
    const char *(*fault)(void);

    /* Bytes of workspace for arrays of n rows and small matrices up to rows x cols: rows and cols at
     * least k for gram; for sweep rows >= K, w.k, u.k, x.k and cols >= K, next.k, and rows
     * twice as many where there are terms. */
    size_t (*work)(int64_t n, int64_t rows, int64_t cols, int threads);

    /* Reductions over the local rows.  w: n weights >= 0, or NULL for 1. */
    void (*gram)(const fab_run *r, const fab_long *A, const void *w, double *G); /* G = A' w A */
    void (*cross)(const fab_run *r, const fab_long *A, const void *w, const fab_long *B,
                  double *C); /* C = A' w B */
    void (*colquad)(const fab_run *r, const fab_long *A, const void *w,
                    double *q); /* q_j = sum_i w_i a_ij^2 */

    /* Row by row.  s: n factors, or NULL for 1. */
    void (*mult)(const fab_run *r, const void *s, const fab_long *A, const double *M, double beta,
                 const fab_long *B); /* B = s A M + beta B;  B may be A */
    void (*rowquad)(const fab_run *r, const fab_long *A, const double *M, int64_t cols, double beta,
                    void *q); /* q_i = |a_i M|^2 + beta q_i;  M NULL: I */
    void (*rowdot)(const fab_run *r, const fab_long *A, const fab_long *B, double beta,
                   void *q); /* q_i = a_i . b_i + beta q_i */
    void (*axpy)(const fab_run *r, const void *s, const fab_long *A, double beta,
                 const fab_long *B); /* B = s A + beta B, elementwise */

    /* In and out.  mu: n doubles on every backend, or NULL for 0. */
    void (*load)(const fab_run *r, const fab_rows *x, const void *mu,
                 const fab_long *X); /* X(:,j) = x_j - mu; sparse rows too */
    void (*get)(const fab_run *r, const fab_long *A, double *out); /* out[i * k + j] = A(i, j) */
    void (*put)(const fab_run *r, const double *in, const fab_long *A);
    void (*zero)(const fab_run *r, const fab_long *A);

    /* A(i, j) = normal number (first_row + i) * k + j of (seed, stream). */
    void (*randn)(const fab_run *r, uint64_t seed, fab_purpose purpose, uint64_t stream,
                  const fab_long *A);

    void (*sweep)(const fab_run *r, fab_sweep *s);
};

extern const fab_vectors fab_vectors_host; /* of ref and cpu; its steps are in ref/steps.c: */
int64_t fab_ref_bring(const fab_run *r, const fab_rows *row, const fab_long *X);
void fab_ref_draw(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, void *theta);
void fab_ref_project(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, double *sums);
void fab_ref_step(const fab_run *r, fab_step *s);
void fab_ref_gauss_sums(const fab_run *r, const fab_far_gauss *q, double *out);
extern const fab_ops fab_ops_ref_f64, fab_ops_ref_f32, fab_ops_cpu_f64, fab_ops_cpu_f32;

/* The same backend in another precision. */
const fab_ops *fab_ops_as(const fab_ops *ops, fab_dtype type);

/* Views. */
fab_long fab_long_rows(void *F, int64_t n, int64_t k);                /* row-major n x k */
fab_long fab_long_vectors(void *X, int64_t n, int64_t k, int64_t ld); /* k vectors of length n */

/* Make *x (or NULL) definite; `type` chooses the precision.  work is left NULL.  Kernels with memory of their own are
 * refused: `anywhere` is for those who leave all long arrays to them. */
fab_status fab_run_init(fab_run *r, const fab_exec *x, fab_dtype type);
fab_status fab_run_init_anywhere(fab_run *r, const fab_exec *x, fab_dtype type);

/* Kernels for arrays in the host's memory that are as near to these as there are. */
const fab_ops *fab_ops_host(const fab_ops *ops);

/* Add buf over the processes. */
fab_status fab_sum(const fab_run *r, double *buf, int64_t n);

/* Coordinates over all processes, where this one has n. */
int64_t fab_total(const fab_comm *c, int64_t n);

/* FAB_OK where `mine` is in every process; else, in all of them, the status and the sentence of the first process that
 * failed.  `key` stands for what they must have alike (kept to 13 bits): where it differs, all are refused with the sentence
 * `unlike`.  Every process comes here, whatever became of it; before sums that one of them might never reach. */
fab_status fab_agree_all(const fab_comm *c, fab_status mine, uint64_t key, const char *unlike);

static inline fab_status fab_agree(const fab_comm *c, fab_status mine, uint64_t key,
                                   const char *unlike)
{
    if (!c || !c->sum) return mine;
    const fab_status all = fab_agree_all(c, mine, key, unlike);
    return all == FAB_OK ? mine : all; /* in sight of an analyser: where all go on, this one does */
}

/* Refuse several processes, with a sentence that begins with `who`. */
fab_status fab_check_alone(const char *who, const fab_exec *x);

/* BLAS runs single-threaded inside a verb: take the global count down, give it back. */
int fab_blas_enter(void);
void fab_blas_leave(int before);

/* Threads for work of `count` elementary operations: 1 below FAB_SMALL_WORK. */
enum { FAB_SMALL_WORK = 1 << 17, FAB_BLOCK_ROWS = 512, FAB_MAX_CHUNKS = 64 };

#endif
