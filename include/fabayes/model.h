/* model.h - a model: how y comes from a row x and one vector theta, and what the data look like.
 *
 *     fab_glm glm = {.likelihood = FAB_LIKELIHOOD_POISSON, .D = 8, .classes = 1, .intercept = 1};
 *     fab_model counts = fab_model_linear(&glm);                                // a generalised linear model
 *     const fab_model *network = fab_net_model(net);                            // net.h
 *     fab_model mine = {.D = 3, .head = {.D = 2, .classes = 1, .beta = 1},      // anything that has a gradient
 *                       .outputs = 1, .batch = 256, .self = &my_data, .loss = my_loss};
 *
 *     fab_fit_create(&f, "sgd", NULL, 0, &(fab_input){.model = &mine}, NULL);
 *
 * A likelihood says how y is spread around what the model computes; a fab_glm adds the shape of the data and is
 * enough for linear models; a fab_model is a table of functions of theta, and all that the methods know.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_MODEL_H
#define FABAYES_MODEL_H

#include "fabayes/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- likelihoods ------------------------------------------------------------------------------- */

typedef enum fab_likelihood {
    FAB_LIKELIHOOD_GAUSSIAN = 0, /* y = eta + noise of precision beta */
    FAB_LIKELIHOOD_BERNOULLI,    /* y in {0, 1}, logistic */
    FAB_LIKELIHOOD_POISSON,      /* y = 0, 1, 2, .. (or any y >= 0), mean exp(eta) */
    FAB_LIKELIHOOD_CATEGORICAL,  /* y in {0 .. classes-1}, softmax */
    FAB_LIKELIHOOD_NEGATIVE_BINOMIAL /* y = 0, 1, 2, .., mean m = exp(eta), variance m + m^2 / beta; laplace and map */
} fab_likelihood;

/* "gaussian", "bernoulli", .., numbered from 0; the one of a name, or FAB_BAD_ARGUMENT with the nearest. */
FAB_API int64_t fab_likelihood_count(void);
FAB_API const char *fab_likelihood_name(fab_likelihood l);
FAB_API fab_status fab_likelihood_find(const char *name, fab_likelihood *l);
/* Has it a parameter beta: the precision of noise, or how little counts are spread? */
FAB_API int fab_likelihood_has_beta(fab_likelihood l);

/* ---- linear and generalised linear models ------------------------------------------------------ */

/* theta holds the coefficients of the D features, then the intercept when there is one; a categorical model has one
 * such vector after the other for its classes.  The linear predictor of a row x is eta = x . coefficients +
 * intercept + offset. */
typedef struct fab_glm {
    fab_likelihood likelihood;
    int64_t D;         /* features */
    int64_t classes;   /* categorical: at least 2; otherwise 1 */
    int64_t intercept; /* 1: the last coordinate (of each class) is the intercept */
    /* gaussian: noise precision; negative-binomial: size, counts are Poisson's as it grows;
     * otherwise 1 */
    double beta;

    /* Gaussian targets of networks, and of linear models by laplace and map. */
    double nu; /* 0: normal; > 2: Student's t of so many degrees of freedom, scale beta^-1/2 */

    /* Gaussian targets of networks. */
    double beta_most; /* the largest precision of a noise that is learned; 0: any */
} fab_glm;

/* Length of theta. */
FAB_API int64_t fab_glm_size(const fab_glm *m);

/* The model as it stands in a file: {"kind": "linear", "likelihood", "features", "classes", "intercept",
 * "beta", and "nu" where it is not 0}.  Gives a string: fab_text_free (settings.h).  Reading trusts nothing. */
FAB_API fab_status fab_glm_json(const fab_glm *m, char **text);
FAB_API fab_status fab_glm_from_json(fab_glm *m, const char *json);

/* log p(y | eta) of one example with `classes` predictors eta; and, where asked for, its gradient and the
 * negative second derivative (classes x classes) by eta. */
FAB_API double fab_glm_loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                              double *curvature);

/* ---- examples ---------------------------------------------------------------------------------- */

/* n examples in the caller's memory. */
typedef struct fab_examples {
    fab_rows x;      /* n vectors of D features */
    const double *y; /* n */
    /* n numbers, or NULL: 1; a row of weight w counts as w rows, and fab_fit_update passes over
     * one of 0 */
    const double *weight;
    const double *offset; /* n numbers added to eta, or NULL: 0 */
} fab_examples;

/* Every number finite, y in the range of the likelihood, weights > 0?  The sentence starts with `who` and
 * names the row. */
FAB_API fab_status fab_examples_check(const char *who, const fab_glm *m, const fab_examples *e);

/* ---- a model ----------------------------------------------------------------------------------- */

/* Functions of one vector theta.  fab_model_linear and networks (net.h) fill this struct, or you do: sizes and `loss`
 * are enough for sgd, swag and vifa; fab_method_lacks says what another method needs.
 *
 * theta and a summed gradient are D doubles.  Whatever has one row per example or D x k numbers is in the
 * model's `type`.  One thread at a time may use a model; no function of it allocates. */

typedef struct fab_model {
    int64_t D;       /* length of theta */
    int64_t free;    /* so many coordinates at its end have no prior: log noise precision */
    int64_t last;    /* so many before these are the weights of the last layer; 0: it has none */
    fab_glm head;    /* D: features of a row; likelihood, classes, beta: of y given the outputs */
    int64_t outputs; /* numbers the model computes from a row */
    int64_t linear;  /* 1: they are linear in theta, which makes -log p convex */
    int64_t glm;     /* 1: they are the linear predictors of `head` (fab_model_linear) */
    int64_t batch;   /* rows at most in one call of anything but `loss`, which takes any number */
    fab_dtype type;  /* of rows, Jacobians and D x k arrays */
    void *self;      /* borrowed by whoever uses the model */

    /* The average of -weight log p(y | x, theta) over the examples and, where gradient is not NULL, its
     * gradient.  A loss that is not finite is returned as it is. */
    fab_status (*loss)(void *self, const double *theta, const fab_examples *e, double *loss,
                       double *gradient);

    /* What follows may be NULL. */

    /* A theta to start from; NULL: zeros. */
    void (*start)(void *self, uint64_t seed, double *theta);
    /* Random parts of the next losses (dropout) are draw number `step` of seed; step < 0: off. */
    void (*noise)(void *self, uint64_t seed, int64_t step);
    /* The theta of the next losses is a draw of the posterior so far (1), or its mean or an optimiser's iterate (0). */
    void (*at)(void *self, int draw);
    /* Fix the noise precision of a gaussian target at beta. */
    fab_status (*fix_beta)(void *self, double beta);
    /* The model as it stands in a file.  Gives a string: fab_text_free. */
    fab_status (*json)(void *self, char **text);

    /* n x outputs numbers of n rows. */
    fab_status (*predict)(void *self, const double *theta, const fab_rows *x, double *out);
    /* Row i outputs + o of J, ld numbers apart: the gradient of output o of row i. */
    fab_status (*jacobian)(void *self, const double *theta, const fab_rows *x, void *J, int64_t ld);

    /* Gradients g_i of -weight log p of each of n examples, up to `batch`, as the rows of G (n x D, ld numbers apart):
     * enough for the methods that need them. */
    fab_status (*gradients)(void *self, const double *theta, const fab_examples *e, void *G,
                            int64_t ld);

    /* The same for a model that has sums and products of them without the rows: they are kept inside until the next
     * call of anything above, and the functions below use them. */
    fab_status (*examples)(void *self, const double *theta, const fab_examples *e);
    void (*rows)(void *self, void *G, int64_t ld); /* G itself */
    void (*gram)(void *self, double *C);           /* n x n: G G' */
    void (*squares)(void *self, double *sum);      /* D: sum_i g_i^2 */
    /* k up to FAB_MODEL_COLUMNS */
    void (*combine)(void *self, int64_t k, const double *V, void *out); /* D x k: G' V, V n x k */
    void (*project)(void *self, int64_t k, const void *U, double *out); /* n x k: G U, U D x k */

    /* The last layer is a linear model of its inputs: outputs = (phi, 1) W, W the `last` weights, row-major, (features + 1)
     * x outputs.  phi: n x features, features = last / outputs - 1. */
    fab_status (*features)(void *self, const double *theta, const fab_rows *x, void *phi);
    /* As `examples`, of gradients J_i' slope_i with the Jacobian J_i of row i; slope: n x outputs. */
    fab_status (*slopes)(void *self, const double *theta, const fab_rows *x, const double *slope);
    /* n x outputs x outputs: J_i diag(variance) J_i' of n rows; variance: D, of which those of free coordinates do not
     * matter. */
    fab_status (*covariances)(void *self, const double *theta, const fab_rows *x,
                              const double *variance, double *out);
    /* 1: rows may come in f32 or f64, and `predict`, too, takes any number of them */
    int64_t any_rows;

    /* a Gaussian process (fab_model_kernel), which has no loss; otherwise NULL */
    const fab_kernel *kernel;

    /* `loss` where theta and gradient lie with the kernels of the fit, in their type (fab_exec: a card); NULL: both are
     * brought to the host and back */
    fab_status (*loss_there)(void *self, const void *theta, const fab_examples *e, double *loss,
                             void *gradient);
} fab_model;

enum { FAB_MODEL_COLUMNS = 512 };

/* A generalised linear model as a model: loss, predictions, Jacobian, gradients of single examples.  Borrows g
 * until the last use of the model (a fit copies it); a beta that is fixed is written to it. */
FAB_API fab_model fab_model_linear(fab_glm *g);

/* A Gaussian process as a model, for the method gp: the predictor of a row is eta = f(x) + offset, f with mean 0 and the
 * covariance k (kernel.h).  theta: the logarithms of the parameters of the kernel and, of a gaussian target, of the noise
 * precision.  Borrows g and k until the last use of the model. */
FAB_API fab_model fab_model_kernel(fab_glm *g, const fab_kernel *k);

/* Sizes and functions that no model can do without?  The sentence starts with `who`. */
FAB_API fab_status fab_model_check(const char *who, const fab_model *m);

#ifdef __cplusplus
}
#endif
#endif
