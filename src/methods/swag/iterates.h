/* iterates.h - the Gaussian of the iterates of an optimiser: lines 4 - 7 of swag.c, for swag.c and vectors.c.
 *
 *     FAB_TRY(fab_iterates_init(&f->it, &s, 0, D, x));     // checks; no memory yet
 *     fab_iterates_layout(l, &f->it);                      // in the layout of the handle, which has it.x
 *     FAB_TRY(fab_iterates_open(&f->it, x));
 *     FAB_TRY(fab_iterates_take(&f->it, &row));            // as often as there are iterates, in it.x
 *     FAB_TRY(fab_iterates_publish(&f->it, theta));        // it.result
 *     fab_iterates_close(&f->it);
 *
 * Mean, squares, deviations and the iterate at hand lie where the kernels are; the result is the host's.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_SWAG_ITERATES_H
#define FAB_METHODS_SWAG_ITERATES_H

#include "base/memory.h"
#include "base/settings.h"
#include "fabayes/methods.h"
#include "la/ops.h"
#include "methods/swag/factor.h"
#include "train/state.h"

/* The rows of a settings table that describe the Gaussian: the members of fab_swag_settings behind `swa`. */
#define GAUSSIAN_FIELDS(columns_)                                                                \
    AUTOMATIC(K, I64, 0, 4096, "columns of F; 0: the diagonal alone; auto: 20, at most D"),      \
        CHOICE(columns, columns_, fab_swag_columns_names,                                        \
               "what F is made of: the last K deviations, or K factors of all iterates by this " \
               "method"),                                                                        \
        FIELD(scale, F64, 1, 1e-300, 1e300, "factor of the covariance"),                         \
        FIELD(psi_min, F64, 1e-30, 1e-300, 1, "floor of psi")

/* How far the run is; saved. */
typedef struct fab_swag_counts {
    int64_t epochs;   /* averaged; 0 of a stream of vectors */
    int64_t iterates; /* kept: n */
} fab_swag_counts;
enum { FAB_SWAG_COUNTS = 2 };

typedef struct fab_iterates {
    fab_swag_settings s; /* K resolved */
    int point;           /* swa: the mean alone */
    int64_t D;
    fab_run run;
    fab_gauss *result;

    double *sum;     /* 3  D: of theta since the last iterate; NULL without `window` */
    void *x;         /* D doubles, borrowed: the iterate at hand, then its deviation */
    void *mean, *V;  /* 4  D doubles; a vector, NULL for swa */
    int64_t last;    /* 5  columns of Dhat: K, or 0 when `columns` names a method */
    void *Dhat;      /* 5  D x last, row-major: the last deviations, the oldest is overwritten */
    fab_fit *factor; /* 5  that method */
    fab_swag_counts count;
    int64_t floored; /* 7 */
    void *staged;    /* long arrays on their way into a file */
} fab_iterates;

/* Check and fill *it but for its arrays. */
fab_status fab_iterates_init(fab_iterates *it, const fab_swag_settings *s, int point, int64_t D,
                             const fab_exec *x);
void fab_iterates_layout(fab_layout *l, fab_iterates *it);
/* The result, and the method that `columns` names. */
fab_status fab_iterates_open(fab_iterates *it, const fab_exec *x);
void fab_iterates_close(fab_iterates *it);

/* x'x: finite when all of x is, and then its deviations have squares. */
double fab_iterates_square(const fab_iterates *it);
/* 4, 5  The next iterate, in x; row: the same where it came from. */
fab_status fab_iterates_take(fab_iterates *it, const fab_rows *row);
/* 6, 7  The result of all so far; theta: its mean before the first. */
fab_status fab_iterates_publish(fab_iterates *it, const double *theta);

/* What a run goes on from, and back. */
fab_status fab_iterates_save(fab_iterates *it, fab_tensors *t);
fab_status fab_iterates_load(fab_iterates *it, const fab_tensors *t);

#endif
