/* start.h - what the methods that take one row at a time share: the running mean, the start of F and
 * psi, and the warm-up.
 *
 *   1  delta = x_t - mu,  mu <- mu + g delta                       g = w_t / (sum of the weights)
 *   2  d_t = c delta                                               c = sqrt(1 - g), running: 1 - g
 *   3  d2 <- (1 - g) d2 + g d_t^2                                  variances; exact with c = sqrt(1 - g)
 *   4  start: F0, psi0                                             see below
 *   5  r = F0' psi0^-1 d_t,  G = F0' psi0^-1 F0                    the E-step of the warm-up
 *
 * orthonormal  F0 = Q, psi0 = 1                                    [T] 4.3
 * draft        F0 = 0.1 normals with ones on the diagonal, psi0 = max diag(F0 F0')     [D3]
 * variance     F0 = diag(d2)^1/2 Q, psi0 = d2 of the rows so far: the data's own scale (a column that has
 *              not varied: F0 = 0, and the mean of d2)
 *
 * Q (D x K) has orthonormal columns: normals of (seed, coordinate), made orthonormal by Cholesky.  It
 * stands in F while the warm-up lasts, and is made again from the seed when a result has used F.
 *
 * The warm-up lasts `warmup` rows and as long as no coordinate has varied.  After it `least` holds a
 * variance for each coordinate, far below its own (or, for one that has not varied, below the mean of
 * all), that d2 carries with it and that keeps psi > 0 where nothing happens.  Which coordinates have
 * varied is kept as a flag: one is constant until a row differs from the mean there.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FA_START_H
#define FAB_FA_START_H

#include "base/memory.h"
#include "base/settings.h"
#include "methods/fa/reservoir.h"
#include "train/state.h"
#include "fabayes/fit.h"
#include "la/ops.h"

typedef enum fab_centring { FAB_CENTRE_EXACT = 0, FAB_CENTRE_RUNNING } fab_centring;
typedef enum fab_starting {
    FAB_START_ORTHONORMAL = 0,
    FAB_START_DRAFT,
    FAB_START_VARIANCE
} fab_starting;

extern const char *const fab_centre_names[3], *const fab_start_names[4];

/* Long arrays of a method's state, where the kernels are: in files F64 or the type of F, flags I64.  With p = NULL there is
 * none. */
typedef struct fab_far {
    const char *name;
    fab_far_kind kind;
    int64_t k; /* of an array: D x k, or 0: D */
    void *p;
} fab_far;
typedef struct fab_fars {
    fab_far of[4];
} fab_fars;

/* What a method adds to the skeleton: its settings, its memory, one step, its result and what is saved. */
typedef struct fab_start_parts {
    /* with K, warmup, start, centre, psi_min, seed, held, and perhaps forget */
    const fab_fields *fields;
    size_t size;                                 /* of its handle, which begins with a fab_start */
    void (*layout)(fab_layout *l, void *handle); /* begins with fab_start_layout */
    /* of the row whose deviation is in next; g and c are its own */
    fab_status (*step)(void *handle);
    fab_status (*form)(void *handle);  /* its result, in q */
    fab_states (*state)(void *handle); /* beside that of the skeleton, in the host's memory */
    fab_fars (*far)(void *handle);     /* where the kernels are */
} fab_start_parts;

/* The first member of a method's handle. */
typedef struct fab_start {
    const fab_start_parts *parts;
    const char *who;      /* the method, for sentences */
    const void *settings; /* all of them, a copy */
    int64_t D, K, warmup, start, centre, seed;
    double forget, psi_min;
    fab_run run;
    void *far; /* the block of the long arrays, where that is apart */

    int64_t t;         /* rows seen */
    double weight;     /* the sum of their weights */
    double g, c;       /* of the last row */
    int64_t done;      /* the warm-up is over */
    int64_t constants; /* coordinates that have not varied */
    fab_status fault;  /* a step that failed: the stream cannot go on */

    void *mu;     /* D doubles: the running mean */
    void *F;      /* D x K: of the result */
    void *psi;    /* D: of the result */
    void *d2;     /* D */
    void *least;  /* D */
    void *varied; /* D flags: has the coordinate varied? */
    void *w;      /* D: weights of the projection; the variances of a result */
    void *next;   /* D, in the type of F: deviation of the row that comes */
    void *delta;  /* D: scratch, when an element of F is not as wide as that of a vector */

    fab_gauss q;      /* the result, as the host sees it */
    double *variance; /* D: w, as the host sees it, where rows are held */
    void *staged[2];  /* long arrays on their way into a file: its own, and those of the method */
    double *G0;       /* K x K: F0' psi0^-1 F0 */
    fab_reservoir held;
    double *square;  /* K x K: scratch */
    double p0;       /* 1 / psi0, but for `variance` */
    int64_t has_F0;  /* F holds F0 (variance: Q) */
    int64_t floored; /* of the last result */
} fab_start;

void fab_start_layout(fab_layout *l, fab_start *s);

/* 3 */
void fab_start_variance(fab_start *s, double g, void *delta);
/* 5  G and r of the last row under the start. */
fab_status fab_start_project(fab_start *s, void *delta, double *G, double *r);
/* Is the warm-up over?  Fills least when it is. */
fab_status fab_start_end(fab_start *s);
/* 4  F0 in F and psi0 in psi, from the variances so far. */
fab_status fab_start_make(fab_start *s, void *psi);

/* Floor psi by the variances in w (0 where nothing has varied), count, show mu, F and psi in q, and check it. */
fab_status fab_start_finish(fab_start *s);

/* A handle of parts->size bytes for vectors of in->vectors coordinates; and the bytes that it takes. */
fab_status fab_start_init(void **handle, const fab_start_parts *parts, const void *settings,
                          const fab_input *in, const fab_exec *x);
double fab_start_bytes(const fab_start_parts *parts, const void *settings, const fab_input *in,
                       const fab_exec *x);

/* The verbs.  A step that failed is remembered: its sentence comes back at every later call.  In files: state.rows,
 * state.done, state.weights (weight, g, c), state.mu, state.d2, state.least, state.varied, and what the method has
 * more. */
fab_status fab_start_update(void *handle, const fab_examples *e);
double fab_start_work(const void *handle);
fab_status fab_start_result(void *handle, const fab_gauss **q);
fab_status fab_start_report(void *handle, fab_report *d);
fab_status fab_start_save(void *handle, fab_tensors *t);
fab_status fab_start_load(void *handle, const fab_tensors *t);
void fab_start_free(void *handle);

/* The row of a method in the list of methods, but for its name, summary, `takes` and `load`; it has parts, init, bytes. */
#define FAB_START_VERBS                                                             \
    .fields = &table, .streams = 1, .anywhere = 1, .init = init, .bytes = bytes,    \
    .update = fab_start_update, .work = fab_start_work, .result = fab_start_result, \
    .report = fab_start_report, .free = fab_start_free, .save = fab_start_save

/* Rows that their settings tables share. */
#define FAB_START_WARMUP(before_what) \
    TUNED(warmup, I64, 100, 1, 0x1p53, LOG, 20, 2000, "rows seen before the first " before_what)
#define FAB_START_START(value, when)                                                         \
    CHOICE(start, value, fab_start_names,                                                    \
           "F and psi " when ": orthonormal and 1, as in [T]; as in [D3]; or scaled by the " \
           "variances")
#define FAB_START_CENTRE                               \
    CHOICE(centre, FAB_CENTRE_EXACT, fab_centre_names, \
           "deviations that give the exact covariance, or [T]'s from the running mean")
#define FAB_START_PSI_MIN \
    FIELD(psi_min, F64, 1e-6, 1e-300, 0.5, "floor of psi, relative to the coordinate's variance")
#define FAB_START_SEED FIELD(seed, I64, 1, 0, 0x1p53, "seed of the random start")

/* M = I + G;  Sigma = M^-1,  m = Sigma r.  G becomes the Cholesky factor of M. */
fab_status fab_start_e_step(int64_t K, double *G, const double *r, double *Sigma, double *m);

#endif
