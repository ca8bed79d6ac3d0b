/* recursive_em.h - the state of recursive-em, shared by its two files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FA_RECURSIVE_EM_H
#define FAB_FA_RECURSIVE_EM_H

#include "fabayes/methods.h"
#include "la/ops.h"
#include "methods/fa/ml.h"
#include "methods/fa/reservoir.h"
#include "posterior/absorb.h"

enum { START_SVD, START_RANDOM };
enum { CENTRE_EXACT, CENTRE_NONE };

typedef struct recursive_em {
    fab_recursive_em_settings set; /* auto resolved */
    int64_t D;
    fab_exec exec;
    fab_run run;
    fab_absorb *absorb;
    fab_gauss *S;     /* D x R: the state, mu included */
    fab_gauss *tail;  /* D x R: with the pending rows, made by result */
    fab_gauss *whole; /* S or tail */
    fab_gauss *q;     /* D x K, when R > K and EM cuts */
    fab_batch *ml;    /* when R > K and ml cuts */
    fab_gauss view;   /* the result */
    fab_reservoir held;
    void *kept;              /* the pending rows while result works */
    double n;                /* weight of S: of the rows in it, and the random start as one more */
    double rows;             /* weight of mu: of the rows in it */
    double constant_psi;     /* psi of the coordinates that have been constant */
    int64_t constants;       /* how many are so still */
    unsigned char *constant; /* D: has the coordinate been the same in all rows? */
    unsigned char *constant_tail; /* D: the same with the pending rows, made by result */
    int64_t *constant_file;       /* D: as files have it, made by save and load */
    fab_status fault;             /* of a block that failed: the stream cannot go on */
    int64_t pending;              /* rows in the columns of absorb */
    int64_t columns;              /* room there */
    int64_t weighted;             /* some of the pending rows have a weight other than 1 */
    int64_t floored;
    double *v;                   /* D: of absorb, between its calls */
    double *psi;                 /* D, when R = K: psi of the result where a floor acts */
    double *before;              /* D */
    double *w;                   /* columns: weights of the pending rows */
    double *mix;                 /* columns: coefficients of a product with the columns */
    double *gram, *lambda, *eig; /* the start: side x side, side, scratch */
    double *B, *B_copy, *B_work; /* a block squeezed: D x D each, scratch */
    double *M, *norm;            /* the larger of side and R by R; R */
} recursive_em;

/* Columns first .. first + k - 1 of the room in absorb. */
fab_long fab_recursive_columns(const recursive_em *e, int64_t first, int64_t k);

/* Of `rows` first rows so many show where the factors begin; settling takes all of them. */
int64_t fab_recursive_svd_rows(const recursive_em *e, int64_t rows);

/* Absorb the pending rows: 1 to 5 of the pseudo-code in recursive_em.c. */
fab_status fab_recursive_flush(recursive_em *e);

/* v, kept inside [lo, hi]. */
int64_t fab_recursive_clamp(double v, int64_t lo, int64_t hi);

#endif
