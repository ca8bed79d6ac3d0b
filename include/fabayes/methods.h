/* methods.h - recursive factor analysis in blocks: the default for a stream.
 *
 * One pass over the rows.  Each block of rows is absorbed into a Gaussian of a rank wider than K, which
 * is cut to K when the result is asked for.  docs/methods/recursive-em.md has the equations.
 *
 * Time O(D R (block + R)) per loop and block, no allocation per row; memory D (2 R + block + 8) numbers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_METHODS_H
#define FABAYES_METHODS_H

#include "fabayes/gauss.h"
#include "fabayes/model.h"
#include "fabayes/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is fitted. */
typedef struct fab_input {
    int64_t vectors;        /* length of the vectors of a method that takes vectors; otherwise 0 */
    const fab_model *model; /* otherwise; copied, its self is borrowed until free */
    const fab_gauss *prior; /* of a model: any Gaussian over theta, copied; NULL: precision alpha */
    int64_t
        rows; /* of a model driven by fab_fit_ask and fab_fit_tell: the examples there are; otherwise 0 */
} fab_input;

/* What a fit says about itself.  What a method does not know is NaN. */
typedef struct fab_report {
    int64_t n;           /* rows seen */
    int64_t iterations;  /* of a batch method; 0 for a stream */
    int64_t converged;   /* 1 yes, 0 stopped at max_iter, -1 does not apply */
    int64_t floored;     /* coordinates whose psi stands at its floor */
    double alpha, beta;  /* precisions in force: of the prior, of the noise (gaussian) */
    double log_evidence; /* or its bound */
    double loss;         /* of a trained model: average of -log p in the last epoch */
    double held_out;     /* the same of rows held out, where there are any */
    double loglik_mean;  /* of vectors: mean log-likelihood per row */
} fab_report;

/* The settings every method for any model begins with. */
typedef struct fab_model_settings {
    double alpha;   /* prior precision of the weights */
    double beta;    /* gaussian: noise precision; auto: as the model has it */
    int64_t epochs; /* passes over the rows */
    int64_t batch;  /* rows in a step */
    double rate;    /* learning rate */
    int64_t seed;
    int64_t runs; /* independent runs, with seeds seed, seed + 1, .. */
} fab_model_settings;

/* The settings every method of generalised linear models begins with. */
typedef struct fab_glm_settings {
    double alpha;           /* prior precision of the coefficients; auto: the method's rule */
    double beta;            /* gaussian: noise precision; auto: the method's rule */
    double intercept_alpha; /* prior precision of the intercept (GLMs and streams) */
    int64_t seed;
} fab_glm_settings;

typedef struct fab_recursive_em_settings {
    int64_t K;
    int64_t block;      /* rows absorbed at a time */
    int64_t inner;      /* EM loops per block */
    int64_t inner_rank; /* rank R kept inside */
    int64_t expand;     /* parameter-expanded EM */
    int64_t start;      /* 0 svd, 1 random */
    int64_t warmup;     /* rows the start is made from */
    double start_eps;   /* random start: share of the variance in F */
    int64_t centre;     /* 0 exact, 1 none: the rows have mean 0 */
    double forget;      /* weight of the past, per row */
    double psi_min;     /* floor of psi */
    double tol;         /* of the cut from R to K */
    int64_t max_iter;   /* of the cut */
    double memory;      /* MB for the block, when block is auto */
    int64_t seed;
} fab_recursive_em_settings;

FAB_API fab_recursive_em_settings fab_recursive_em_defaults(int64_t K);

/* ---- online-em --------------------------------------------------------------------------------- */

/* online expectation-maximisation: factor analysis of a stream, one row at a time.
 *
 *     fab_online_em_settings s = fab_online_em_defaults(K);
 *     fab_estim *e;
 *     const fab_gauss *q;
 *
 *     fab_estim_init(&e, fab_method_find("online-em"), &s, NULL);
 *     while (next(&rows)) fab_estim_update(e, &rows);
 *     fab_estim_result(e, &q);
 *     fab_estim_free(e);
 *
 * Time O(D K^2), one read and one write of a D x K array, and no allocation per row; memory
 * D (2 K + 2) elements and 6 D doubles.  docs/methods/online-em.md has the equations. */

typedef struct fab_online_em_settings {
    int64_t K;
    int64_t warmup; /* rows before the first M-step */
    int64_t expand; /* parameter-expanded M-step */
    int64_t start;  /* 0 orthonormal, 1 draft, 2 variance */
    int64_t centre; /* 0 exact, 1 running */
    double forget;  /* weight of the past, per row */
    double psi_min; /* floor of psi */
    int64_t seed;
} fab_online_em_settings;

FAB_API fab_online_em_settings fab_online_em_defaults(int64_t K);

/* ---- stochastic-em ----------------------------------------------------------------------------- */

/* stochastic EM of Cappe and Moulines: factor analysis of a stream whose step sizes
 * t^-power forget the first rows, with averaged results.
 *
 *     fab_stochastic_em_settings s = fab_stochastic_em_defaults(K);
 *     s.average_from = T / 2;                   // T rows are to come
 *     fab_estim_init(&e, fab_method_find("stochastic-em"), &s, NULL);
 *
 * Time O(D K^2), one read and one write of a D x K array a row (two of them once averages are taken) and
 * no allocation; memory D (3 K + 2) elements and 7 D doubles.  docs/methods/stochastic-em.md has the
 * equations. */

typedef struct fab_stochastic_em_settings {
    int64_t K;
    double power;         /* step size t^-power */
    int64_t average_from; /* rows after which results are averaged; 0: never */
    int64_t warmup;       /* rows before the first M-step */
    int64_t start;        /* 0 orthonormal, 1 draft, 2 variance */
    int64_t centre;       /* 0 exact, 1 running */
    double psi_min;       /* floor of psi */
    int64_t seed;
} fab_stochastic_em_settings;

FAB_API fab_stochastic_em_settings fab_stochastic_em_defaults(int64_t K);

/* ---- online-sga -------------------------------------------------------------------------------- */

/* online stochastic gradient ascent: factor analysis of a stream by gradient steps.
 *
 *     fab_online_sga_settings s = fab_online_sga_defaults(K);
 *     s.rate = 0.01;
 *     fab_estim_init(&e, fab_method_find("online-sga"), &s, NULL);
 *
 * Time O(D K^2) and no allocation per row; memory D (K + 2) elements and 9 D doubles.
 * docs/methods/online-sga.md has the equations. */

typedef struct fab_online_sga_settings {
    int64_t K;
    double rate;    /* learning rate */
    int64_t warmup; /* rows before the first step */
    int64_t start;  /* 0 orthonormal, 1 draft, 2 variance */
    int64_t centre; /* 0 exact, 1 running */
    double psi_min; /* floor of psi */
    int64_t seed;
} fab_online_sga_settings;

FAB_API fab_online_sga_settings fab_online_sga_defaults(int64_t K);

/* ---- ml ---------------------------------------------------------------------------------------- */

/* batch maximum likelihood factor analysis.
 *
 * The likelihood is maximised over log psi alone, F being known in closed form given psi; each step
 * needs the K leading eigenvectors of the scaled covariance.  Forms the D x D covariance when the table
 * has at least D rows: memory 8 D^2 bytes; above, products pass over the rows.
 * docs/methods/ml.md has the equations. */

typedef struct fab_ml_settings {
    int64_t K;
    int64_t svd;      /* 0 auto, 1 exact, 2 randomized */
    int64_t starts;   /* the best of so many is kept */
    double tol;       /* relative change of the log-likelihood */
    int64_t max_iter; /* evaluations of the likelihood per start */
    double psi_min;   /* floor of psi */
    int64_t seed;
} fab_ml_settings;

FAB_API fab_ml_settings fab_ml_defaults(int64_t K);

/* ---- em ---------------------------------------------------------------------------------------- */

/* batch EM factor analysis ([L] (19)-(20)).
 *
 * docs/methods/em.md has the equations. */

typedef struct fab_em_settings {
    int64_t K;
    int64_t expand;   /* parameter-expanded EM */
    double tol;       /* relative change of the log-likelihood */
    int64_t max_iter; /* EM steps */
    double psi_min;   /* floor of psi */
    int64_t seed;
} fab_em_settings;

FAB_API fab_em_settings fab_em_defaults(int64_t K);

/* ---- ppca -------------------------------------------------------------------------------------- */

/* probabilistic PCA: factor analysis with one psi for all coordinates, in closed form.
 *
 * docs/methods/ppca.md has the equations. */

typedef struct fab_ppca_settings {
    int64_t K;
    int64_t svd;    /* 0 auto, 1 exact, 2 randomized */
    double psi_min; /* floor of psi */
    int64_t seed;
} fab_ppca_settings;

FAB_API fab_ppca_settings fab_ppca_defaults(int64_t K);

/* ---- pca --------------------------------------------------------------------------------------- */

/* principal components as a Gaussian: the K leading ones, and psi at its floor.
 *
 * docs/methods/pca.md has the equations. */

typedef struct fab_pca_settings {
    int64_t K;
    int64_t svd;    /* 0 auto, 1 exact, 2 randomized */
    double psi_min; /* floor of psi */
    int64_t seed;
} fab_pca_settings;

FAB_API fab_pca_settings fab_pca_defaults(int64_t K);

/* ---- sgd --------------------------------------------------------------------------------------- */

/* the mode of the posterior of any model, by stochastic gradients: how networks are trained.
 *
 *     fab_sgd_settings s = fab_sgd_defaults();
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.epochs = 200;
 *     fab_infer_init_model(&f, fab_method_find("sgd"), &s, fab_net_model(net), NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                     // q->mu is theta, a point
 *     fab_infer_free(f);
 *
 * Memory: three vectors of length D and the optimiser's (none, one or two), one batch, and 16 bytes a row.
 * docs/methods/sgd.md has the equations. */

typedef enum fab_optimiser { FAB_SGD = 0, FAB_NESTEROV, FAB_ADAM, FAB_ADAMW } fab_optimiser;
typedef enum fab_schedule {
    FAB_CONSTANT = 0, /* rate */
    FAB_STEPS,        /* times drop after every drop_every of the run */
    FAB_COSINE,       /* down to 0 along half a cosine */
    FAB_ONE_CYCLE     /* up along a line for `warmup` of the run, then down along half a cosine */
} fab_schedule;

/* Begins as fab_model_settings (infer.h). */
typedef struct fab_sgd_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;

    int64_t optimiser;       /* fab_optimiser */
    double momentum;         /* of nesterov; the first moment of adam */
    double second;           /* the second moment of adam */
    double epsilon;          /* of adam */
    int64_t schedule;        /* fab_schedule */
    double drop, drop_every; /* of steps */
    double warmup;           /* of one-cycle */
    double clip;             /* largest norm of a gradient; 0: any */
    double held_out;         /* part of the rows kept for the score that stops the run */
    int64_t patience;        /* epochs without a better score before it stops */
} fab_sgd_settings;

FAB_API fab_sgd_settings fab_sgd_defaults(void);

/* ---- exact ------------------------------------------------------------------------------------- */

/* Bayesian linear regression: the posterior of a linear model with Gaussian noise, exactly.
 *
 *     fab_exact_settings s = fab_exact_defaults();
 *     fab_infer *f;
 *     fab_infer_init(&f, fab_method_find("exact"), &s, NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);
 *
 * alpha and beta are given, or found by maximising the evidence.  The intercept is not penalised.  At least
 * as many rows as coordinates: covariance form of rank D, from a QR of the table in blocks of rows, memory
 * about 10 D^2 numbers; fewer: precision form of rank N, memory about 3 D N numbers.  Up to min(N, D) =
 * FAB_EXACT_MAX.  `ridge` has the same settings and gives the mean alone.
 * docs/methods/exact.md has the equations. */

enum { FAB_EXACT_MAX = 20000 };

typedef struct fab_exact_settings {
    double alpha;           /* auto: by evidence; not used with a given prior */
    double beta;            /* auto: by evidence */
    double intercept_alpha; /* not used: the intercept is free */
    int64_t seed;           /* not used */
} fab_exact_settings;

FAB_API fab_exact_settings fab_exact_defaults(void);

/* ---- laplace ----------------------------------------------------------------------------------- */

/* Laplace's approximation of a generalised linear model or a network: the mode and the curvature there.
 *
 *     fab_laplace_settings s = fab_laplace_defaults();
 *     s.likelihood = FAB_LIKELIHOOD_BERNOULLI;
 *     fab_infer_init(&f, fab_method_find("laplace"), &s, NULL, NULL);
 *
 * Up to FAB_LAPLACE_MAX coordinates: Newton's method, the full curvature (covariance form, exact), the log
 * evidence, and alpha by maximising it; memory about 6 P^2 numbers.  Above: Newton's steps by conjugate
 * gradients, the curvature at rank K plus diagonal (precision form), an estimate of the evidence; memory about
 * P (3 K + 44).  The prior may be any Gaussian.  `map` has the same settings and gives the mode alone.
 *
 * A network, or any model with functions `predict` and `jacobian`, has settings of its own:
 *
 *     fab_laplace_net_settings s = fab_laplace_net_defaults();
 *     fab_infer_init_model(&f, fab_method_find("laplace"), &s, fab_net_model(net), NULL, NULL);
 *
 * Its mode is found by training, as sgd does it, and its curvature is the generalised Gauss-Newton matrix; the same
 * limit, forms and memory.  Predictions are best linearised (fab_draws_linearise).  docs/methods/laplace.md has the
 * equations. */

enum { FAB_LAPLACE_MAX = 2000 };

/* Of linear models and networks alike; what does not concern the model at hand stays at its default. */
typedef struct fab_laplace_settings {
    fab_sgd_settings
        train; /* alpha (auto: by the Laplace evidence), beta, seed; networks: all of it */
    double intercept_alpha; /* linear: prior precision of intercepts */
    int64_t K; /* rank of the curvature; auto: full up to FAB_LAPLACE_MAX coordinates, 20 above */
    int64_t inner;      /* EM loops that bring the curvature to rank K, at most */
    double rank_tol;    /* they end when psi changes by less */
    double tol;         /* linear: of the search for the mode, in nats */
    int64_t max_iter;   /* linear: Newton steps */
    int64_t rounds;     /* networks, alpha auto: times that it is chosen and training goes on */
    int64_t again;      /* networks: epochs of training after each */
    int64_t last_layer; /* networks: 1: its weights alone are uncertain */
} fab_laplace_settings;

FAB_API fab_laplace_settings fab_laplace_defaults(void);

/* ---- rvga -------------------------------------------------------------------------------------- */

/* recursive variational inference with the full covariance: `rvga`, and `kalman` for linear models.
 *
 *     fab_rvga_settings s = fab_rvga_defaults();
 *     fab_infer *f;
 *     s.likelihood = FAB_LIKELIHOOD_BERNOULLI;
 *     fab_infer_init(&f, fab_method_find("rvga"), &s, NULL, NULL);
 *
 * One pass; for a gaussian target the result is the exact posterior.  These are the baselines of lrvga:
 * D x D numbers, for theta of up to FAB_DENSE_MAX coordinates.  The result has the covariance form with as
 * many factors as coordinates.
 *
 * Time O(D^2) and no allocation per row; memory D (2 D + warmup + 4) numbers. */

/* The settings of both methods; kalman takes gaussian targets only. */
typedef struct fab_rvga_settings {
    double alpha, beta, intercept_alpha;
    int64_t seed;
    int64_t expectation; /* bernoulli: 0 probit, 1 quadrature, 2 sampled */
    int64_t draws;       /* of a sampled expectation */
    int64_t scheme;      /* GLMs: 0 implicit, 1 explicit, 2 extra-gradient, 3 mirror-prox */
    int64_t warmup;      /* rows the prior is chosen from */
} fab_rvga_settings;

FAB_API fab_rvga_settings fab_rvga_defaults(void);

/* ---- lrvga ------------------------------------------------------------------------------------- */

/* limited-memory recursive variational inference: a stream of examples in, a Gaussian out.
 *
 *     fab_lrvga_settings s = fab_lrvga_defaults(K);
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.likelihood = FAB_LIKELIHOOD_BERNOULLI;
 *     fab_infer_init(&f, fab_method_find("lrvga"), &s, NULL, NULL);
 *     while (next(&examples)) fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                  // precision form, rank K
 *     fab_infer_free(f);
 *
 * One pass, no learning rate.  Each block of rows moves the mean and is absorbed into a precision of a
 * rank wider than K, which is cut to K when the result is asked for.  Gaussian, bernoulli, poisson
 * and categorical targets.  docs/methods/lrvga.md has the equations.  Networks and other models: the same
 * method with fab_lrvga_net_settings in fab_infer_init_model.
 *
 * Time O(D R (block + R)) per loop and block, no allocation per row; memory D (2 R + block + 5) numbers
 * (and `warmup` columns instead of `block` when the prior is to be chosen, and for GLMs). */

typedef enum fab_lrvga_start {
    FAB_LRVGA_EXACT = 0, /* linear: F begins with the first rows */
    FAB_LRVGA_RANDOM,    /* linear: at random, as in [L] */
    FAB_LRVGA_MAP,       /* networks: the first update is trained on */
    FAB_LRVGA_MODEL,     /* networks: everything is a stream, from the model's own start */
    FAB_LRVGA_AUTO       /* exact, map */
} fab_lrvga_start;

/* Of linear models and networks alike; what does not concern the model at hand stays at its default. */
typedef struct fab_lrvga_settings {
    fab_sgd_settings train; /* alpha, beta, seed; networks: all of it, for start = map */
    double intercept_alpha; /* linear */
    int64_t K;              /* rank of the result; more than the length of theta: that */
    int64_t inner_rank;     /* rank R kept inside */
    int64_t block;          /* columns absorbed at a time: rows times classes, or times draws */
    int64_t inner;          /* EM loops per block */
    int64_t expand;         /* linear: parameter-expanded EM */
    int64_t cut;            /* linear: fab_cut: back to rank R by EM or by eigenvectors */
    int64_t gain;           /* linear: 0 previous, 1 paper */
    int64_t start;          /* fab_lrvga_start */
    double start_eps;       /* random start: share of the prior in F */
    int64_t expectation;    /* linear, bernoulli: 0 probit, 1 quadrature, 2 sampled */
    int64_t draws;  /* linear: of a sampled expectation; networks: of theta, for the curvature */
    int64_t scheme; /* 0 implicit, 1 explicit, 2 extra-gradient, 3 mirror-prox, 4 auto */
    int64_t sweeps; /* linear: times the rows of a block are looked at again */
    int64_t warmup; /* rows of the first block */
    double posterior_alpha; /* networks, map: prior precision of the posterior */
    int64_t looks;          /* networks, implicit: times a block is looked at, at most */
    double forget;          /* weight of the past, per row */
    double psi_min;         /* floor of psi, relative to the prior */
    double tol;             /* of the cut from R to K */
    int64_t max_iter;       /* of the cut */
} fab_lrvga_settings;

FAB_API fab_lrvga_settings fab_lrvga_defaults(int64_t K);

/* ---- swag -------------------------------------------------------------------------------------- */

/* averages of a training run, and the Gaussian of its iterates: swa and swag.
 *
 *     fab_swag_settings s = fab_swag_defaults();
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.epochs = 200;                              // training, as sgd does it
 *     s.average = 100;                             // then so many epochs at swag_rate, which are averaged
 *     fab_infer_init_model(&f, fab_method_find("swag"), &s, fab_net_model(net), NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                     // q->mu, q->F, q->psi: the covariance
 *     fab_infer_free(f);
 *
 * "swa" takes fab_swa_settings and gives the mean of the iterates alone, a point.  "multiswag" (five runs, mixed) and
 * "iterate-averaging" (means over windows) are swag with other defaults.
 *
 * Memory: that of sgd, two or three vectors of length D, and D x 2 K numbers (columns by a method: what that needs).  docs/methods/swag.md has the equations. */

typedef enum fab_swag_columns {
    FAB_LAST = 0,        /* the last K deviations from the running mean */
    FAB_BY_RECURSIVE_EM, /* K factors of all iterates, by this method */
    FAB_BY_ONLINE_EM,
    FAB_BY_STOCHASTIC_EM,
    FAB_BY_ONLINE_SGA
} fab_swag_columns;

typedef struct fab_swa_settings {
    fab_sgd_settings train;
    int64_t average;  /* epochs that are averaged */
    double swag_rate; /* learning rate in them, constant */
    int64_t every;    /* steps between two iterates kept; auto: an epoch */
    int64_t window;   /* 1: keep the mean of these steps instead of the last theta */
} fab_swa_settings;

typedef struct fab_swag_settings {
    fab_swa_settings swa;
    int64_t K;       /* columns of F; 0: the diagonal alone; auto: 20, at most D */
    int64_t columns; /* fab_swag_columns */
    double scale;    /* of the covariance */
    double psi_min;  /* floor of psi */
} fab_swag_settings;

FAB_API fab_swa_settings fab_swa_defaults(void);
FAB_API fab_swag_settings fab_swag_defaults(void);

/* ---- slang ------------------------------------------------------------------------------------- */

/* variational inference by natural gradients, from gradients of single examples: slang and vogn.
 *
 *     fab_slang_settings s = fab_slang_defaults();
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.K = 5;
 *     fab_infer_init_model(&f, fab_method_find("slang"), &s, fab_net_model(net), NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                     // q->mu, q->F, q->psi: the precision
 *     fab_infer_free(f);
 *
 * "vogn" takes fab_vogn_settings and keeps the diagonal alone.
 *
 * Memory: D x (2 K + draws + 1) numbers and eight vectors of length D; with draws > 1, or a model that cannot multiply
 * its gradients, D x batch x draws more.  docs/methods/slang.md has the equations. */

/* Begins as fab_model_settings (infer.h). */
typedef struct fab_vogn_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate; /* of mu */
    int64_t seed, runs;

    double rate_precision; /* weight of a step in the precision */
    double decay;          /* both rates fall as t^-decay */
    double momentum;       /* weight of the past in the mean of the gradients */
    int64_t draws;         /* of theta in a step */
    double start; /* precision to begin with; auto: that of the prior, and the number of rows */
} fab_vogn_settings;

/* Begins as fab_vogn_settings. */
typedef struct fab_slang_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;
    double rate_precision, decay, momentum;
    int64_t draws;
    double start;

    int64_t K;      /* columns of F; auto: 5, at most D */
    double psi_min; /* floor of psi, relative to the diagonal of the precision */
} fab_slang_settings;

FAB_API fab_vogn_settings fab_vogn_defaults(void);
FAB_API fab_slang_settings fab_slang_defaults(void);

/* ---- vifa -------------------------------------------------------------------------------------- */

/* variational inference with a factor-analysis posterior, for any model with a gradient.
 *
 *     fab_vifa_settings s = fab_vifa_defaults();
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.K = 5;
 *     fab_infer_init_model(&f, fab_method_find("vifa"), &s, fab_net_model(net), NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                     // N(q->mu, F F' + diag(psi))
 *     fab_infer_free(f);
 *
 * fab_inference.log_evidence is the evidence lower bound (ELBO).  A model's free coordinates (a learned log
 * noise precision) are points: q is then over part of theta.
 * Time a step: the model's gradients and O(D K) numbers; memory about D (2 K + 10) numbers with sgd, D (5 K + 14)
 * with adam.  docs/methods/vifa.md has the equations. */

typedef enum fab_vifa_optimiser {
    FAB_VIFA_SGD = 0,
    FAB_VIFA_ADAM,
    FAB_VIFA_NATURAL,
    FAB_VIFA_NEWTON, /* the curvature as a matrix: models with log-concave p, up to FAB_DENSE_MAX */
    FAB_VIFA_AUTO    /* newton for linear models of up to FAB_VIFA_SMALL coordinates, or adam */
} fab_vifa_optimiser;
enum { FAB_VIFA_SMALL = 128 };
typedef enum fab_vifa_entropy {
    FAB_VIFA_CLOSED = 0, /* gradients of prior and entropy in closed form, [T] (5.7)-(5.12) */
    FAB_VIFA_PATH /* sampled with the likelihood: less noise the nearer q is to the posterior */
} fab_vifa_entropy;
typedef enum fab_vifa_start {
    FAB_VIFA_ZERO = 0, /* c = 0 */
    FAB_VIFA_MODEL     /* c = the model's own start, or a given prior's mean */
} fab_vifa_start;

/* Begins as fab_model_settings (infer.h).  epochs, rate, draws, optimiser, rate_F, map_part and ramp_part may be auto:
 * fab_infer_settings has what was chosen for the model, fab_inference the epochs that its rows made of auto. */
typedef struct fab_vifa_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;

    int64_t K;
    int64_t draws;                    /* L, in a step; auto: 2, newton: 2 W + 1 */
    int64_t pairs;                    /* 1: draws come as h, z and -h, -z, on the same rows */
    int64_t shared;                   /* 1: all draws of a step see the same rows */
    int64_t entropy;                  /* fab_vifa_entropy */
    int64_t optimiser;                /* fab_vifa_optimiser */
    double rate_F, rate_psi;          /* in units of rate */
    double momentum, second, epsilon; /* of adam */
    double reach;                     /* of natural */
    int64_t schedule;                 /* fab_schedule (sgd.h) */
    double drop, drop_every, warmup;
    double clip;
    int64_t start;            /* fab_vifa_start */
    double start_sd, start_F; /* standard deviation of a coordinate; size of F in units of it */
    double map_part, ramp_part;
    double free_after;
} fab_vifa_settings;

FAB_API fab_vifa_settings fab_vifa_defaults(void);
/* K = 0: a diagonal. */
FAB_API fab_vifa_settings fab_meanfield_defaults(void);

/* The Gaussian q of rank K with the smallest KL(q || p), by Newton steps from `starts` places (the first D + 1 need no seed), in double, for
 * D up to FAB_DENSE_MAX.  With p the exact posterior of a linear model this is what vifa converges to.  Gives *q. */
FAB_API fab_status fab_vifa_optimum(fab_gauss **q, double *kl, const fab_gauss *p, int64_t K,
                                    int64_t starts, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
