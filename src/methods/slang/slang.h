/* slang.h - the state of slang and vogn: slang.c has the run and its steps, cut.c the new precision of a step.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_SLANG_H
#define FAB_METHODS_SLANG_H

#include "base/memory.h"
#include "fabayes/methods.h"
#include "la/ops.h"
#include "train/joint.h"
#include "train/trend.h"

/* Sigma^-1 = U U' + diag(psi), and what is known of it. */
typedef struct fab_slang_precision {
    void *U;        /* D x K, row-major, in the model's type */
    double *psi;    /* D */
    double *diag;   /* D: of U U' + diag(psi) */
    double *lambda; /* K: U'U is diagonal */
    double *L;      /* K x K: L L' = I + U' psi^-1 U */
} fab_slang_precision;

/* Line 2. */
typedef struct fab_slang_draws {
    void *X;       /* `draws` vectors of length D */
    double *theta; /* D: one of them, with mu */
    double *e;     /* K x draws */
    double *Ux;    /* K x draws */
} fab_slang_draws;

/* Lines 3 and 6. */
typedef struct fab_slang_gradients {
    int products;      /* the model multiplies them itself: no rows */
    int64_t most;      /* in a step: batch x draws */
    void *G;           /* `most` vectors of length D, without products */
    double *ones;      /* most */
    double *sum;       /* D; later v, later Sigma v times psi */
    double *mean;      /* D: over the steps */
    double *mean_next; /* D */
    void *v;           /* D, in the type of U: the direction */
} fab_slang_gradients;

/* Lines 4 and 5; n gradients. */
typedef struct fab_slang_cut_arrays {
    int dense;                      /* D is below K + most: eigenvectors of Y Y' instead of Y'Y */
    double *gram, *cross;           /* n x n, K x n (products: n x K, row-major) */
    double *Y, *eigenvalues, *work; /* side x side, side, scratch; side K + n, or D when dense */
    double *leading;                /* side x K: eigenvectors */
    double *rows;                   /* D x n or D x K, when dense */
    double *T, *C;                  /* K x K, n x K: from U and from the gradients to the next U */
    double *N;                      /* K: U' psi^-1 v, of the next U and psi */
} fab_slang_cut_arrays;

/* How far the run is; saved. */
typedef struct fab_slang_counts {
    int64_t epochs, steps;
    int64_t floored; /* psi at the floor in the last step */
} fab_slang_counts;
enum { FAB_SLANG_COUNTS = 3 };

typedef struct fab_slang {
    const char *who;
    fab_vogn_settings s;
    int64_t K;      /* columns of U; 0 for vogn */
    double psi_min; /* floor of psi, with columns */
    fab_exec exec;
    fab_run run;
    fab_gauss *result;

    fab_model m;
    const fab_gauss *given; /* the prior, or NULL */
    double *prior_diag;     /* D: of its precision */
    fab_examples e;
    fab_joint joint;

    double *mu;               /* D */
    fab_slang_precision P;    /* a step that fails leaves it as it was: */
    fab_slang_precision next; /* its work is done here */
    double *inverse_psi;      /* D */

    fab_slang_draws draw;
    fab_slang_gradients grad;
    fab_slang_cut_arrays cut;

    fab_slang_counts count;
    fab_trend trend; /* saved */
    struct {
        double loss; /* sum over the steps */
        double steps;
    } epoch;     /* on its way; saved */
    double loss; /* mean of an epoch; saved */
} fab_slang;

/* Views: U, k vectors of length D, the j-th of them. */
fab_long fab_slang_U(const fab_slang *f, void *U);
fab_long fab_slang_vectors(const fab_slang *f, void *p, int64_t k);
void *fab_slang_vector(const fab_slang *f, void *p, int64_t j);

/* The sentence of a step that left the numbers. */
fab_status fab_slang_not_finite(const fab_slang *f, const char *what, double value);
/* Sum of squares: finite when all of them are. */
double fab_slang_square(int64_t n, const double *x);

void fab_slang_cut_layout(fab_layout *l, fab_slang *f);
/* 4, 5  f->next from f->P and n gradients, and cut.N; eta: the weight of the step, scale: N / (M draws) */
fab_status fab_slang_cut(fab_slang *f, double eta, double scale, int64_t n);

#endif
