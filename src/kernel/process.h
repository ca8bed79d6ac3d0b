/* process.h - what a process is inside.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_KERNEL_PROCESS_H
#define FAB_KERNEL_PROCESS_H

#include "kernel/tiles.h"
#include "la/cholesky.h"
#include "la/ops.h"

enum { FAB_PANEL = 2 * FAB_SOLVED }; /* rows that one task predicts */

/* One block, replaced by a larger one when rows no longer fit.  R: room. */
typedef struct fab_process_arrays {
    const fab_kernel *k; /* sizes */
    int64_t room, threads;
    int lean;                          /* no L */
    int64_t patch, panel, thread_room; /* doubles of work, for a thread */

    double *X; /* R x D */
    fab_points *sides;
    double *by_row, *across; /* of the sides */
    fab_view rows;
    double *L;                /* R x R: rows ld apart, and above it U once it is inverted */
    int64_t ld;               /* R, or the number of rows */
    double *D;                /* R x FAB_CHOLESKY_BLOCK: U's blocks on the diagonal */
    double *y, *weight;       /* R each */
    double *a, *b, *s;        /* R each */
    double *partial;          /* blocks of pairs x (size + 1) */
    fab_points *thread_sides; /* threads x leaves */
    double *work; /* threads x thread_room: patch, panel, rows of a panel, one row of a leaf */
} fab_process_arrays;

struct fab_process {
    fab_kernel *k;
    fab_run run;
    int64_t n;
    double *centre; /* D */
    fab_process_arrays *m;
    double *C; /* n x n: of an inducing process, whose rows are Z; or NULL */
    double noise, jitter;
    int has_y, has_s;
    int mean_only; /* predictions have no variance, and there may be no L */
    int stands;    /* a and L are of these parameters */
    int inverted;  /* U is of this L */
    int64_t first; /* block of this round */
};

/* A process as it was when it was written: n rows, y and weights, the factor of its kernel with noise and jitter. */
typedef struct fab_process_past {
    int64_t n;
    const double *X, *y, *weight; /* n x D, n, n */
    const double *L;              /* n x n */
    const double *centre;         /* D */
    double noise, jitter;
} fab_process_past;

/* It again, in O(n^2): rows that are appended have the bits they would have had.  Copies all. */
fab_status fab_process_resume(fab_process **p, const fab_kernel *k, const fab_process_past *past,
                              const fab_exec *x);
/* k(z_i, x_j) of at most FAB_PANEL rows into a count x n matrix, in the memory of a thread of the process. */
void fab_process_panel(const fab_process *p, int thread, int64_t count, const double *Z,
                       int64_t ldz, double *K);
/* From now on predictions have the variance 0, and draws and slopes are refused, as where the factor was left out. */
void fab_process_keep_mean(fab_process *p);
int fab_process_is_mean(const fab_process *p);
/* D numbers: what its rows are seen from.  Lends until free. */
const double *fab_process_centre(const fab_process *p);

#endif
