/* vifa.h - the state of vifa, a struct for each part of the algorithm, and what each file does for the run.
 *
 *     vifa.c          the run
 *     draws.c         line 2: draws of theta
 *     gradients.c     lines 4 - 8: gradients of the bound
 *     sgd.c adam.c natural.c     line 9: how gradients become a step, a rule each; optimiser.c has what they share
 *     newton.c        a whole step, with the curvature as a matrix
 *     gaussian.c      q: its Gram, its Cholesky factor, its divergence from the prior
 *     settings.c      the settings, and what auto means
 *     optimum.c       where a run converges to, for models whose posterior is known
 *     far.c           lines 2 and 4 - 10, and the start, where kernels have memory of their own: a few of theirs do it all
 *
 * The run calls the others.  They call gaussian.c; gradients.c also asks draws.c for z again, and sgd.c asks gradients.c
 * for line 8 as a pass.  Nothing calls the run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_VIFA_H
#define FAB_METHODS_VIFA_H

#include "fabayes/methods.h"
#include "la/nn.h"
#include "la/ops.h"
#include "posterior/closest.h"
#include "train/joint.h"
#include "train/state.h"
#include "train/trend.h"

typedef struct fab_vifa fab_vifa;

/* Random streams: F at the start; z of draw number i at FAB_VIFA_DRAWS + 2 i, its h behind it. */
enum { FAB_VIFA_START = 202, FAB_VIFA_DRAWS = 1 << 8 };
/* Coordinates a thread takes at a time; so many such chunks are worth a team. */
enum { FAB_VIFA_CHUNK = 2048, FAB_VIFA_TEAM = 8 };

/* ---- the state ---------------------------------------------------------------------------------------- */

/* q = N(c, F F' + diag(psi)) over the coordinates that have a prior; the free ones are points, the last of c. */
typedef struct fab_vifa_gaussian {
    int64_t D, W, K;     /* coordinates; those that have a width; factors */
    double *c;           /* D */
    double *gamma, *psi; /* W; psi = exp gamma */
    double *psi_next;    /* W: psi of the next step */
    void *F;             /* W x K, long, row-major: that of the result */
    double *G;           /* K x K: F' psi^-1 F */
    double *L;           /* K x K: M = I + G = L L' */
    double *Minv, *root; /* K x K: M^-1 = root root'; of entropy = closed */
} fab_vifa_gaussian;

/* Line 2: the draw at hand. */
typedef struct fab_vifa_draws {
    int path;              /* entropy = path: y is wanted */
    int64_t l;             /* its number in the step */
    uint64_t stream;       /* of z; that of h is the next one */
    double sign;           /* -1: the second of a pair */
    double *theta;         /* D */
    double *h, *hy;        /* K without the sign; K x 2: h with it, y */
    double *H;             /* L x K, column-major: h of all draws of the step, over L */
    void *Y;               /* W x 1, path: W x 2, vectors: F h, F y */
    int kept;              /* z is */
    double *z;             /* W, or FAB_VIFA_CHUNK for each thread */
    uint64_t *stream_of_z; /* of each chunk, where z is kept; 0: none */
} fab_vifa_draws;

/* Lines 4 - 8. */
typedef struct fab_vifa_gradients {
    int closed;           /* entropy = closed */
    int prior_is_sampled; /* with the likelihood; else its gradient is closed too */
    double alpha;         /* precision of a prior in closed form; 0: it is sampled */
    double *g;            /* D: at one draw */
    double *c, *gamma;    /* D, W */
    double norm_c, norm_gamma;
    int64_t kept; /* columns of V: L, or 1 when their products with h are summed into F */
    void *V;      /* W x kept, vectors */
    void *F;      /* W x K; NULL where the pass that moves F makes it */
    double *row;  /* W: f_i M^-1 f_i' */
} fab_vifa_gradients;

/* Line 9, adam: first and second moments. */
typedef struct fab_vifa_moments {
    void *m_c, *v_c;         /* D */
    void *m_gamma, *v_gamma; /* W */
    void *m_F, *v_F;         /* W x K */
} fab_vifa_moments;

/* The arrays of newton.c. */
typedef struct fab_vifa_curvature {
    double *C;         /* W x W: average of the curvature of -log p(D, theta) */
    double *R;         /* W x W: S = R R'; later the factor of C */
    double *Q, *X;     /* W x W: directions q_j; points x_j = r R q_j, later H */
    double *V;         /* W x W: differences of gradients along them */
    double *F;         /* W x K, row-major */
    double *normal;    /* W + 2: their squares add up to r^2 */
    double *theta, *g; /* D: a point, the gradient of a batch there */
    double *sum;       /* D: the gradient of all rows there, v */
    double *mean;      /* D: E v */
    double *work;
    fab_closest closest;
} fab_vifa_curvature;

/* Where kernels have memory of their own, all that is as long as theta is in this block; q.F is, too. */
typedef struct fab_vifa_far {
    void *block;
    fab_far_gauss q, good; /* good: where the run was good the last time */
    void *theta;           /* D, in the type of F */
    void *V;               /* D x L, vectors in the type of F: the gradient at each draw */
    fab_draw *draw;        /* L */
    double *h, *y;         /* K of each draw */
    double *own_theta;     /* D each, for a model that looks at them on the host */
    double *own_g;
    void *staged; /* long arrays on their way into a file */
} fab_vifa_far;

/* Space for one use at a time. */
typedef struct fab_vifa_scratch {
    double *k;     /* K */
    double *A, *B; /* K x K */
    double *chunk; /* FAB_VIFA_CHUNK for each thread */
    double *sums;  /* two for each chunk */
} fab_vifa_scratch;

/* How far the run is; saved. */
typedef struct fab_vifa_counts {
    int64_t steps;  /* done */
    int64_t moves;  /* of them, with F and gamma */
    int64_t epochs; /* passes over the rows done */
} fab_vifa_counts;
typedef struct fab_vifa_losses {
    double first;   /* of the first step */
    double average; /* running */
    double bound;   /* ELBO */
} fab_vifa_losses;
enum { FAB_VIFA_COUNTS = 3, FAB_VIFA_LOSSES = 3 };

/* Where the run was good the last time. */
typedef struct fab_vifa_backup {
    fab_vifa_counts count;
    fab_vifa_losses loss;
    fab_trend trend;
    double *c, *gamma; /* D, W */
    void *F;           /* W x K */
    double *C;         /* W x W, newton */
} fab_vifa_backup;

/* The step at hand. */
typedef struct fab_vifa_step {
    int64_t t;         /* its number, from 0 */
    double rate;       /* of c */
    double weight;     /* w of the entropy: 0 .. 1;  0: only c moves */
    int free_moves;    /* do the free coordinates move? */
    int first_or_last; /* of the run */
    double loss, rows; /* out: sum over the draws of loss times rows; of rows */
} fab_vifa_step;

/* How gradients become a step.  layout and states (what it keeps between steps, and adding that to what is saved) may be
 * NULL.  F also makes the Gram of F and psi_next.  newton has no c, gamma and F but makes all of a step: lines 2 - 10. */
typedef struct fab_vifa_rule {
    const char *remedy; /* against a run that diverges */
    void (*layout)(fab_layout *l, fab_vifa *f);
    void (*states)(const fab_vifa *f, fab_far_states *s);
    void (*c)(fab_vifa *f, const fab_vifa_step *s);
    void (*gamma)(fab_vifa *f, const fab_vifa_step *s);
    void (*F)(fab_vifa *f, const fab_vifa_step *s);
    fab_status (*all)(fab_vifa *f, fab_vifa_step *s);
} fab_vifa_rule;

struct fab_vifa {
    const char *who; /* vifa, meanfield */
    fab_vifa_settings s;
    fab_exec exec;
    fab_run run;
    const fab_nn *nn; /* in the precision of F */
    fab_gauss *result;

    fab_model m;
    const fab_gauss *given; /* the prior, or NULL */
    fab_examples e;
    fab_joint joint;
    int64_t step_batches; /* of a step */

    fab_vifa_gaussian q;
    fab_vifa_draws draw;
    fab_vifa_gradients grad;
    const fab_vifa_rule *rule;
    fab_vifa_moments moment;      /* adam */
    fab_vifa_curvature curvature; /* newton */
    fab_vifa_scratch scratch;
    fab_vifa_far far;

    fab_vifa_counts count;
    fab_vifa_losses loss;
    fab_trend trend; /* saved */
    fab_vifa_backup backup;
    int64_t left; /* steps of an interval that was stopped */
    int done;
};

/* ---- settings.c --------------------------------------------------------------------------------------- */

extern const fab_fields fab_vifa_table, fab_meanfield_table;
/* Put numbers where the settings say auto, but for epochs that depend on the rows. */
void fab_vifa_resolve(void *settings, const fab_input *in);
/* Epochs of a run with so many steps in each. */
int64_t fab_vifa_epochs(const fab_vifa_settings *s, int64_t steps);

/* ---- gaussian.c --------------------------------------------------------------------------------------- */

void fab_vifa_gaussian_layout(fab_layout *l, fab_vifa *f);
void fab_vifa_small_layout(fab_layout *l, fab_vifa *f); /* its K x K matrices, and scratch */
fab_long fab_vifa_F(const fab_vifa *f);
/* A = value I, K x K */
void fab_vifa_identity(int64_t K, double value, double *A);
/* G = F' psi^-1 F, for q.psi or q.psi_next */
void fab_vifa_gram(fab_vifa *f, const double *psi);
/* L, and for entropy = closed M^-1 and root, from G. */
fab_status fab_vifa_factor(fab_vifa *f);
/* 10  psi_next = exp gamma; fails where it would over- or underflow. */
fab_status fab_vifa_next_psi(fab_vifa *f, const fab_vifa_step *s);
fab_status fab_vifa_check_gamma(const fab_vifa *f, int64_t t, double largest);
/* KL(q || N(0, I / alpha)); G is that of F and psi. */
fab_status fab_vifa_divergence(fab_vifa *f, double *kl);

/* The sentence of a run that left the numbers. */
fab_status fab_vifa_diverged(const fab_vifa *f, int64_t t, const char *what, double value);

/* `chunk` for all coordinates that have a width, FAB_VIFA_CHUNK at a time, on threads when it pays. */
typedef void fab_vifa_chunk(void *ctx, int64_t first, int64_t count, int thread);
void fab_vifa_each(const fab_vifa *f, fab_vifa_chunk *chunk, void *ctx);
/* Element `first` of a long vector. */
void *fab_vifa_at(const fab_vifa *f, void *vector, int64_t first);

/* ---- draws.c ------------------------------------------------------------------------------------------ */

void fab_vifa_draws_layout(fab_layout *l, fab_vifa *f);
/* 2  theta of draw l of the step, and where the entropy is sampled F y. */
void fab_vifa_draw(fab_vifa *f, const fab_vifa_step *s, int64_t l);
/* z of the draw at hand without its sign, coordinates first .. first + count - 1; lends until the thread's next. */
const double *fab_vifa_z(fab_vifa *f, int64_t first, int64_t count, int thread);

/* ---- gradients.c -------------------------------------------------------------------------------------- */

void fab_vifa_gradients_layout(fab_layout *l, fab_vifa *f);
/* 4, 5  of the draw at hand from grad.g, `scale` of which is the gradient of all rows. */
void fab_vifa_gradients_add(fab_vifa *f, const fab_vifa_step *s, double scale);
/* 6, 7  grad.c and grad.gamma, and their norms. */
fab_status fab_vifa_gradients_finish(fab_vifa *f, const fab_vifa_step *s);
/* 8  grad.F */
void fab_vifa_gradient_F(fab_vifa *f, const fab_vifa_step *s);
/* 8  as a pass that is still to be given its output: `by` times the gradient, where V has all draws; once a step. */
fab_sweep fab_vifa_gradient_pass(fab_vifa *f, const fab_vifa_step *s, double by);

/* ---- far.c -------------------------------------------------------------------------------------------- */

int fab_vifa_is_far(const fab_vifa *f);
/* What is not done there. */
fab_status fab_vifa_far_check(const fab_vifa *f);
void fab_vifa_far_layout(fab_layout *l, fab_vifa *f);
/* 1 */
fab_status fab_vifa_far_start(fab_vifa *f);
/* 2  Draw l of the step. */
void fab_vifa_far_draw(fab_vifa *f, const fab_vifa_step *s, int64_t l);
/* 3  Its loss; the gradient, `scale` of which is that of all rows, is kept. */
fab_status fab_vifa_far_loss(fab_vifa *f, const fab_examples *batch, int64_t l, double *loss);
/* 4 - 10 of all draws, whose scales are known. */
fab_status fab_vifa_far_move(fab_vifa *f, const fab_vifa_step *s);
/* The Gram F' psi^-1 F. */
fab_status fab_vifa_far_gram(fab_vifa *f);
/* c'c and the sums of psi and gamma. */
void fab_vifa_far_sums(fab_vifa *f, double *out);
/* q into the result; and back, of F that the host has. */
fab_status fab_vifa_far_publish(fab_vifa *f);
void fab_vifa_far_take_F(fab_vifa *f);
void fab_vifa_far_copy(fab_vifa *f, const fab_far_gauss *from, const fab_far_gauss *to);
void fab_vifa_far_free(fab_vifa *f);

/* ---- optimiser.c, sgd.c, adam.c, natural.c, newton.c -------------------------------------------------- */

/* The rule of a setting optimiser. */
const fab_vifa_rule *fab_vifa_rule_of(int64_t optimiser);
extern const fab_vifa_rule fab_vifa_sgd, fab_vifa_adam, fab_vifa_natural, fab_vifa_newton;

/* The factor that brings a norm down to `most`; 0: any. */
double fab_vifa_shorter(double most, double norm);
/* x *= by */
void fab_vifa_scale(int64_t n, double by, double *x);
/* x -= rate g */
void fab_vifa_subtract(const fab_vifa *f, int64_t n, double rate, const double *g, double *x);
/* F -= rate grad.F, and the Gram of F and psi_next */
void fab_vifa_subtract_F(fab_vifa *f, double rate);
/* |grad.F|; w: W weights of its rows, or NULL. */
double fab_vifa_norm_F(fab_vifa *f, const double *w);

/* What newton can not do. */
fab_status fab_vifa_newton_check(const fab_vifa *f);

#endif
