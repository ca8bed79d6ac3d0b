/* state.h - the state of lrvga, shared by its verbs, its steps and its files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_LRVGA_STATE_H
#define FAB_INFER_LRVGA_STATE_H

#include "fabayes/methods.h"
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
    fab_lrvga_numbers before;   /* that fab_lrvga_recall goes back to, with `tail` */
    fab_status fault;           /* of a block that failed: the stream cannot go on */
    int64_t floored;            /* coordinates at the floor after the last block */
    int64_t T;                  /* length of theta */
    int64_t part;               /* of which belongs to one class */
    int64_t classes;            /* columns of a row: the row in the place of each class */
    int64_t pending;            /* rows in the columns of absorb */
    int64_t room;               /* for so many rows */
    double *y, *w, *offset;     /* room */
    const double *base;         /* columns: predictors at mu = 0 in the place of offset, or NULL */
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
enum { FAB_SCHEME_AUTO = 4 }; /* after those of fab_scheme */

extern const fab_fields fab_lrvga_net_table;

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
fab_status fab_lrvga_begin(fab_lrvga *e);
/* The same when the first m rows are to choose them. */
fab_status fab_lrvga_decide(fab_lrvga *e, int64_t m);
/* Rows that make the next block. */
int64_t fab_lrvga_next(const fab_lrvga *e);
/* Take in whole blocks of the pending rows; all of them when `all`. */
fab_status fab_lrvga_flush(fab_lrvga *e, int all);

/* ---- for models whose rows change with theta (net.c) ------------------------------------------ */

/* Resolve and check what proto has: set, model, T, part; the kernels come from x. */
fab_status fab_lrvga_prepare(fab_lrvga *proto, const fab_gauss *prior, const fab_exec *x);
fab_status fab_lrvga_open(fab_lrvga **e, const fab_lrvga *proto, const fab_gauss *prior);
double fab_lrvga_bytes(const fab_lrvga *proto);
void fab_lrvga_free(void *handle); /* takes NULL */
fab_status fab_lrvga_result(void *handle, const fab_gauss **q);
fab_status fab_lrvga_report(void *handle, fab_report *r);

/* The state is the prior again, in units of a noise of precision beta0. */
fab_status fab_lrvga_restart(fab_lrvga *e, const fab_gauss *prior, double alpha, double beta0);
/* Keep the state; go back to what was kept. */
fab_status fab_lrvga_remember(fab_lrvga *e);
void fab_lrvga_recall(fab_lrvga *e);

/* The steps of a block on the first m rows, by the numbers of lrvga.c: 1; 2 into A and eta; 2 - 4; 5. */
void fab_lrvga_forget(fab_lrvga *e, int64_t m);
fab_status fab_lrvga_project(fab_lrvga *e, int64_t m);
fab_status fab_lrvga_look(fab_lrvga *e, int64_t m);
fab_status fab_lrvga_add(fab_lrvga *e, int64_t m);
/* 5 for n columns of any kind, with weights in `each`, in units of the noise. */
fab_status fab_lrvga_hold(fab_lrvga *e, int64_t n);
/* Draw `number` of N(mu, P) ([L] Prop. 1). */
fab_status fab_lrvga_draw(fab_lrvga *e, uint64_t number, double *out);

/* State tensors out and in. */
fab_status fab_lrvga_save(void *handle, fab_tensors *t);
fab_status fab_lrvga_load(void *handle, const fab_tensors *t);

#endif
