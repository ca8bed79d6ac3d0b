/* vifa.h - the state of vifa, shared by its verbs, its draws and its steps.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_VIFA_STATE_H
#define FAB_INFER_VIFA_STATE_H

#include "fabayes/methods.h"
#include "posterior/closest.h"
#include "train/minibatch.h"
#include "train/optim.h"
#include "train/prior.h"
#include "la/nn.h"
#include "la/ops.h"

/* What is saved beside the arrays. */
enum {
    FAB_VIFA_STEP,   /* steps done */
    FAB_VIFA_MOVES,  /* of them, with F and gamma */
    FAB_VIFA_EPOCHS, /* passes over the rows done */
    FAB_VIFA_FIRST,  /* loss of the first step */
    FAB_VIFA_LOSS,
    FAB_VIFA_BOUND,
    FAB_VIFA_NUMBERS
};
/* Random streams: F at the start; z of draw number i at FAB_VIFA_DRAWS + 2 i, its h behind it. */
enum { FAB_VIFA_START = 202, FAB_VIFA_DRAWS = 1 << 8 };
/* Coordinates a thread takes at a time; so many such parts are worth a team. */
enum { FAB_VIFA_CHUNK = 2048, FAB_VIFA_TEAM = 8 };

/* What the optimiser newton has beside the rest; W = 0 for the others. */
typedef struct fab_vifa_newton {
    int64_t W;
    double *curvature; /* W x W: average of the curvature of -log p(D, theta) */
    double *good;      /* W x W: where the lap began */
    double *R;         /* W x W: S = R R'; later the factor of the curvature */
    double *Q, *X;     /* W x W: directions; times r R */
    double *V;         /* W x W: differences of gradients along them */
    double *F;         /* W x K, row-major */
    double *normal;    /* W + 2: their squares add up to r^2 */
    double *sum;       /* m.D: gradient of all rows at a point */
    double *work;
    fab_closest near;
} fab_vifa_newton;

typedef struct fab_vifa {
    const char *who; /* vifa, meanfield */
    fab_vifa_settings s;
    fab_model m;
    const fab_gauss *given; /* the prior, or NULL */
    fab_exec exec;
    fab_run run;
    const fab_nn *nn; /* in the precision of F */
    fab_examples e;
    fab_prior prior;
    fab_minibatch *batches;
    fab_gauss *q; /* the result; its F is the state's */
    int done;
    int64_t W, K; /* coordinates with a width, m.D - m.free; factors */
    int64_t kept; /* gradients kept: L, or 1 when they are summed into GF */
    int threads;  /* for loops over coordinates */
    double number[FAB_VIFA_NUMBERS];

    double *c;           /* m.D */
    double *gamma, *psi; /* W; psi = exp gamma */
    void *F;             /* W x K, long */
    double *next;        /* W: psi of the next step */

    double *theta, *g; /* m.D: a draw, its gradient */
    double *gc, *gg;   /* m.D, W: gradients of c and gamma */
    void *Y;           /* W x 2, vectors: F h and F y */
    void *V;           /* W x kept, vectors */
    void *GF;          /* W x K: gradient of F, where it is kept */
    double *row;       /* W: f_i M^-1 f_i' */

    double *h, *H;                /* K; L x K, column-major: all draws of a step, over L */
    double *G, *Lc, *Minv, *root; /* K x K: F' psi^-1 F; M = I + G = Lc Lc', M^-1 = root root' */
    double *hy, *T, *turn;        /* K x 2; K x K; K x K */
    double *sums;                 /* two per chunk */
    double *z, *v;                /* FAB_VIFA_CHUNK per thread */
    uint64_t at_hand;             /* the stream whose z is in the only chunk; 0: none */

    fab_optim of_c, of_gamma;
    void *mF, *vF;               /* adam: W x K */
    double *good_c, *good_gamma; /* where the lap began */
    void *good_F;
    fab_vifa_newton newton;
} fab_vifa;

/* The step at hand. */
typedef struct fab_vifa_step {
    int64_t t;           /* its number, from 0 */
    double rate, weight; /* of the entropy: 0 .. 1 */
    int moves_free;      /* do the free coordinates move? */
    int ends;            /* the first or the last step of the run */
    double loss, rows;   /* out: sum over the draws of loss times rows; rows */
} fab_vifa_step;

extern const fab_fields fab_vifa_table, fab_meanfield_table;
/* Put numbers where the settings say auto, but for epochs that depend on the rows. */
void fab_vifa_resolve(void *settings, const fab_model *m);
/* Epochs of a run with so many steps in each. */
int64_t fab_vifa_epochs(const fab_vifa_settings *s, int64_t steps);

/* Is the prior sampled with the likelihood? */
int fab_vifa_samples_prior(const fab_vifa *f);
/* Is the gradient of F an array of its own? */
int fab_vifa_keeps_GF(const fab_vifa_settings *s);
/* Batches of rows a step takes. */
int64_t fab_vifa_batches(const fab_vifa *f);
fab_long fab_vifa_F(const fab_vifa *f);

/* 2 - 5: draws and their gradients, summed into gc, gg and V or GF. */
fab_status fab_vifa_draws(fab_vifa *f, fab_vifa_step *s);
/* 6 - 10: gradients of the rest, and c, F, gamma move. */
fab_status fab_vifa_move(fab_vifa *f, const fab_vifa_step *s);
/* All of it for the optimiser newton. */
fab_status fab_vifa_newton_step(fab_vifa *f, fab_vifa_step *s);
void fab_vifa_newton_layout(fab_layout *l, fab_vifa *f);
/* Lc, M^-1 and root from G. */
fab_status fab_vifa_factor(fab_vifa *f);
/* G of F and psi. */
void fab_vifa_gram(fab_vifa *f);

/* The sentence of a run that left the numbers. */
fab_status fab_vifa_diverged(const fab_vifa *f, int64_t t, const char *what, double value);
#define FAB_VIFA_MOST_GAMMA 600 /* |log psi| beyond it: diverged, psi would over- or underflow */

typedef void fab_vifa_chunk(fab_vifa *f, const fab_vifa_step *s, int64_t first, int64_t count,
                            int thread, void *ctx);
/* `chunk` for all coordinates with a width, a part at a time, on threads when it pays. */
void fab_vifa_each(fab_vifa *f, const fab_vifa_step *s, fab_vifa_chunk *chunk, void *ctx);

#endif
