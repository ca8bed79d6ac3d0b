/* state.h - the state of lrvga, shared by its verbs, its steps and its files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LRVGA_STATE_H
#define FAB_LRVGA_STATE_H

#include "fabayes/methods.h"
#include "la/ops.h"
#include "posterior/absorb.h"
#include "train/sequence/stream.h"

/* Columns of W; saved. */
typedef struct fab_lrvga_rank {
    int64_t used;  /* of R */
    int64_t sound; /* 1: W has rank R */
} fab_lrvga_rank;

typedef struct fab_lrvga {
    fab_lrvga_settings set; /* auto resolved */
    fab_exec exec;
    fab_run run;
    int64_t T;       /* length of theta */
    int64_t part;    /* of which belongs to one class */
    int64_t classes; /* columns of a row: the row in the place of each class */

    fab_stream stream;   /* 9, 11: the model, its prior and noise, sums over the rows */
    fab_pending pending; /* rows that wait for their block; their columns are those of absorb */
    fab_absorb *absorb;  /* 5 */
    fab_gauss *S;        /* T x R: the state, mu included */
    fab_lrvga_rank rank; /* 5, 7: of W */
    double *psi0;        /* T: the given prior's psi; NULL where there is none */
    int64_t floored;     /* 5: coordinates at the floor after the last block */
    int said;            /* 2: that f32 loses digits */

    struct {             /* 2: P = psi^-1 - psi^-1 W M^-1 W' psi^-1 */
        double *inverse; /* T: 1 / psi, in a vector of absorb, between its calls; scratch before */
        double *M;       /* R x R: L, L L' = M */
        double *C;       /* R x columns: L^-1 W' psi^-1 X */
        double known;    /* |W' psi^-1 W|: how many times as much as psi the rows know */
    } P;

    struct {                /* 2 - 5: columns = room x classes */
        const double *base; /* columns: predictors at mu = 0 in the place of the offsets, or NULL */
        double *A, *eta;    /* columns x columns; columns: X' P X, X' mu + offset */
        double *gamma;      /* columns: weights */
        double *root;       /* categorical: classes x columns, roots of the weights */
        double *step;       /* columns */
        double *weight;     /* columns: of those that fab_lrvga_absorb takes; 1 or errors before */
    } block;

    struct {           /* 3: scratch */
        double *B, *V; /* columns x columns */
        double *A;     /* the same: GLMs, A as it was before the rows */
        double *glm;   /* 6 columns: errors, u, eta, and scratch of the sweeps */
        double *site;  /* categorical */
    } rows;

    double *v;    /* T, when R = T: psi as it was */
    void *z;      /* a long vector */
    double *line; /* 3 max(R, columns): one coordinate of two long arrays */
    double *bank; /* 9 */

    struct {               /* 10, 11 */
        fab_gauss *q;      /* T x K */
        fab_stream stream; /* with the pending rows */
        int64_t floored;
        int whole;  /* nothing was ever cut off */
        double tol; /* 10: at least this */
    } result;

    struct { /* fab_lrvga_snapshot */
        fab_gauss *S;
        fab_stream stream;
        fab_lrvga_rank rank;
        int64_t pending;
        void *rows; /* the columns, y, w, offset of the pending rows */
    } saved;
} fab_lrvga;

enum { FAB_GAIN_PREVIOUS = 0, FAB_GAIN_PAPER };
enum { FAB_SCHEME_AUTO = 4 }; /* after those of fab_scheme */

extern const fab_fields fab_lrvga_net_table;

int fab_lrvga_categorical(const fab_lrvga *e);
/* Are the rows of a block visited again, one predictor each? */
int fab_lrvga_revisits(const fab_lrvga *e);

/* Prior precision of coordinate i. */
double fab_lrvga_prior_at(const fab_lrvga *e, int64_t i);

/* k columns of the F of g from number `first` on. */
fab_long fab_lrvga_factors(const fab_lrvga *e, const fab_gauss *g, int64_t first, int64_t k);
/* The columns of k pending rows from number `first` on. */
fab_long fab_lrvga_rows(const fab_lrvga *e, int64_t first, int64_t k);
/* The features of k pending rows, in the place of class c. */
fab_long fab_lrvga_features(const fab_lrvga *e, int64_t first, int64_t k, int64_t c);

/* 7, 8: the state becomes the prior; alpha and beta are known. */
fab_status fab_lrvga_begin(fab_lrvga *e);
/* 9: the same when the first m pending rows are to choose them. */
fab_status fab_lrvga_decide(fab_lrvga *e, int64_t m, fab_watch *watch);
/* Rows that make the next block. */
int64_t fab_lrvga_next(const fab_lrvga *e);
/* Take in whole blocks of the pending rows; all of them when `all`. */
fab_status fab_lrvga_flush(fab_lrvga *e, int all);

/* Keep the state and the pending rows; go back to them. */
fab_status fab_lrvga_snapshot(fab_lrvga *e);
void fab_lrvga_restore(fab_lrvga *e);

/* ---- for models whose rows change with theta (net.c) -------------------------------------------------- */

/* Resolve and check what proto has: set, stream.model, T, part; the kernels come from x. */
fab_status fab_lrvga_prepare(fab_lrvga *proto, const fab_gauss *prior, const fab_exec *x);
fab_status fab_lrvga_open(fab_lrvga **e, const fab_lrvga *proto, const fab_gauss *prior);
double fab_lrvga_bytes(const fab_lrvga *proto);
void fab_lrvga_free(void *handle); /* takes NULL */
fab_status fab_lrvga_result(void *handle, const fab_gauss **q);
fab_status fab_lrvga_report(void *handle, fab_report *r);

/* The state is the prior again, in units of a noise of precision beta. */
fab_status fab_lrvga_restart(fab_lrvga *e, const fab_gauss *prior, double alpha, double beta);

/* The steps of a block on the first m rows, by the numbers of lrvga.c: 1; 2 into A and eta; 2 - 4; 5 and 6. */
void fab_lrvga_forget(fab_lrvga *e, int64_t m);
fab_status fab_lrvga_project(fab_lrvga *e, int64_t m);
fab_status fab_lrvga_evaluate(fab_lrvga *e, int64_t m);
fab_status fab_lrvga_add(fab_lrvga *e, int64_t m);
/* 5 for n columns of any kind, with weights in block.weight, in units of the noise; the mean is fixed. */
fab_status fab_lrvga_absorb(fab_lrvga *e, int64_t n);
/* Draw `number` of N(mu, P) ([L] Prop. 1). */
fab_status fab_lrvga_draw(fab_lrvga *e, uint64_t number, double *out);

/* State tensors out and in. */
fab_status fab_lrvga_save(void *handle, fab_tensors *t);
fab_status fab_lrvga_load(void *handle, const fab_tensors *t);

#endif
