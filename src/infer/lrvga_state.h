/* lrvga_state.h - the state of lrvga, shared by its verbs, its steps and its files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_LRVGA_STATE_H
#define FAB_INFER_LRVGA_STATE_H

#include "fabayes/lrvga.h"
#include "la/ops.h"
#include "posterior/absorb.h"

/* The numbers of the state, saved as they are. */
typedef struct fab_lrvga_numbers {
    double started;        /* 1: alpha and beta are known, S holds the prior */
    double given;          /* 1: a prior was given, alpha does not count */
    double used;           /* columns of W in use */
    double sound;          /* 1: W has rank R */
    double alpha, beta0;   /* prior precision; the unit of S */
    double rows;           /* in S and mu */
    double count, squares; /* gaussian: 11 */
    double lost;           /* rows that say nothing about the noise */
    double power;          /* sum of w y^2: what no noise is measured by */
    double logdet, score;  /* one step ahead */
} fab_lrvga_numbers;

typedef struct fab_lrvga {
    fab_lrvga_settings set; /* auto resolved */
    fab_glm model;
    fab_exec exec;
    fab_run run;
    fab_absorb *absorb;
    fab_gauss *S;    /* T x R: the state, mu included */
    fab_gauss *tail; /* T x R: with the pending rows, made by result */
    fab_gauss *q;    /* T x K: the result */
    void *kept;      /* the pending rows while result works */
    fab_lrvga_numbers n;
    fab_lrvga_numbers shown;    /* of the result */
    fab_status fault;           /* of a block that failed: the stream cannot go on */
    int64_t floored;            /* coordinates at the floor after the last block */
    int64_t T;                  /* length of theta */
    int64_t part;               /* of which belongs to one class */
    int64_t classes;            /* columns of a row: the row in the place of each class */
    int64_t pending;            /* rows in the columns of absorb */
    int64_t room;               /* for so many rows */
    double *y, *w, *offset;     /* room */
    double *each;               /* columns = room x classes */
    double *psi0;               /* T: the given prior's psi */
    double *v, *inverse;        /* T; 1 / psi */
    void *z;                    /* a long vector */
    double *M, *C;              /* R x R: L, L L' = M; R x columns: L^-1 W' psi^-1 X */
    double *line;               /* 3 max(R, columns): one coordinate of two long arrays, scratch */
    double *A, *B;              /* columns x columns */
    double *A0, *V;             /* the same, when rows are looked at again */
    double *eta, *gamma, *step; /* columns */
    double *again;              /* 6 columns: errors, u, eta, and scratch of the sweeps */
    double *root, *site;        /* categorical: classes x columns; scratch of the block */
    double *bank;               /* the choice of the prior */
} fab_lrvga;

enum { FAB_GAIN_PREVIOUS = 0, FAB_GAIN_PAPER };
enum { FAB_START_EXACT = 0, FAB_START_RANDOM };

/* Is something about the prior or the noise to be found in the first rows? */
int fab_lrvga_undecided(const fab_lrvga *e);
int fab_lrvga_gaussian(const fab_lrvga *e);
int fab_lrvga_categorical(const fab_lrvga *e);
/* Are the rows of a block looked at again, one predictor each? */
int fab_lrvga_revisits(const fab_lrvga *e);

/* Prior precision of coordinate i. */
double fab_lrvga_prior_at(const fab_lrvga *e, int64_t i);

/* k columns of the F of g from number `first` on. */
fab_long fab_lrvga_factors(const fab_lrvga *e, const fab_gauss *g, int64_t first, int64_t k);
/* The columns of k pending rows from number `first` on. */
fab_long fab_lrvga_rows(const fab_lrvga *e, int64_t first, int64_t k);
/* The features of k pending rows, in the place of class c. */
fab_long fab_lrvga_features(const fab_lrvga *e, int64_t first, int64_t k, int64_t c);

/* The state becomes the prior; alpha and beta are known. */
fab_status fab_lrvga_start(fab_lrvga *e);
/* Rows that make the next block. */
int64_t fab_lrvga_next(const fab_lrvga *e);
/* Take in whole blocks of the pending rows; all of them when `all`. */
fab_status fab_lrvga_flush(fab_lrvga *e, int all);

/* State tensors out and in. */
fab_status fab_lrvga_save(void *handle, fab_tensors *t);
fab_status fab_lrvga_load(void *handle, const fab_tensors *t);

#endif
