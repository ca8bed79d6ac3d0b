/* methods.h - what a method is told, and what it says: input, report, and a settings struct for each.
 *
 *     fab_glm glm = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = D, .classes = 1, .intercept = 1};
 *     fab_model model = fab_model_linear(&glm);
 *     fab_laplace_settings s = fab_laplace_defaults();
 *     fab_fit *f;                                        // fit.h: one handle for every method
 *     fab_report report;
 *
 *     s.train.alpha = 0.1;                               // given, not found by the evidence
 *     fab_fit_create(&f, "laplace", &s, sizeof s, &(fab_input){.model = &model}, NULL);
 *     fab_fit_update(f, &examples);
 *     fab_fit_report(f, &report);                        // report.iterations, report.log_evidence
 *     fab_fit_free(f);
 *
 * The input says what is fitted, and with it the shape of the data: length of vectors, or features, likelihood,
 * classes and intercept of a model.  Settings say how.  Each struct comes filled from its `_defaults`, and every
 * member is 8 bytes wide; one whose rule is to be applied stands at FAB_AUTO_I64 or FAB_AUTO_F64 (settings.h).
 * `fabayes methods NAME` prints default, range and meaning of each, and docs/methods/NAME.md has the equations.
 * Structs only grow at their end.
 *
 * Methods that differ in a default or in what they keep share a struct: ridge has that of exact, lasso, elastic-net and
 * quantile that of erm, map that of laplace,
 * kalman that of rvga, ensemble that of sgd, meanfield that of vifa, multiswag and iterate-averaging that of swag, pca that
 * of ppca.  For networks, map is sgd.  A struct inside another (glm, train, swa, vogn) does not grow.
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

/* ---- what is fitted, and what is said of it ----------------------------------------------------- */

/* Vectors (factor analysis), or a model of examples (everything else). */
typedef struct fab_input {
    int64_t vectors;        /* length of the vectors of a method that takes vectors; otherwise 0 */
    const fab_model *model; /* otherwise; copied, its self is borrowed until free */
    const fab_gauss *prior; /* of a model: any Gaussian over theta, copied; NULL: precision alpha */
    /* of a model driven by fab_fit_ask and fab_fit_tell: the examples there are; otherwise 0 */
    int64_t rows;
    /* rows: their targets, for a method that asks for outputs; otherwise NULL.  Borrowed until
     * free */
    const double *y;
    const double *weight; /* rows, with y: numbers > 0, or NULL: 1 */
    const double *offset; /* rows, with y: added to the outputs, or NULL: 0 */
    /* > 0: a guess of the precision of the noise, with which a stream that learns it begins; 0: its first rows choose */
    double beta;
    /* of a method of clusters that can be told where to begin: its parts' means, weights and covariances, as far as the method
     * knows such; in the place of its own start, copied.  NULL: its own */
    const fab_mixture *start;
} fab_input;

/* What a fit says about itself (fab_fit_report).  What a method does not know is NaN. */
typedef struct fab_report {
    int64_t n;          /* rows seen */
    int64_t iterations; /* of a batch method or online-ml; 0 for other streams */
    /* 1 yes; 0 it still improved: stopped at max_iter, or after its epochs; -1 does not apply,
     * or cannot be told */
    int64_t converged;
    int64_t floored;     /* coordinates whose psi stands at its floor */
    double alpha, beta;  /* precisions in force: of the prior, of the noise (gaussian) */
    double log_evidence; /* or its bound */
    double loss;         /* of a trained model: average of -log p in the last epoch */
    double held_out;     /* the same of rows held out, where there are any */
    double loglik_mean;  /* of vectors: mean log-likelihood per row */
    int64_t loglik_rows; /* rows that it is the mean of: n, or fewer, drawn at random from all */
    double loglik_se;    /* then its standard error as that of all rows; 0 where all are in it */
    double saturated;    /* loglik_mean of the Gaussian whose covariance is that of the rows */
    /* of a stream of linear models: sum of log p(y) of each row under those before it; unlike
     * the evidence it depends on their order, unless the Gaussian is the posterior itself */
    double log_score;
    /* what the fit still gained at its end, in nats per row.  Of a trained model: the mean loss
     * of the last tenth of its steps below that of the tenth before (under 10 epochs: of what
     * follows 55 % below 10 to 55 %); above 0.05 and two standard errors it has not converged.
     * em: by its last step; vga: what the next step promises */
    double gain;
    /* of vga and laplace: 1, or less where a narrower Gaussian predicts rows left out better */
    double temperature;
    /* of spike-slab: features more likely in than out of the model; of erm: coefficients that are not 0 */
    int64_t kept;
    double cost;   /* of clusters around means: the sum of squared distances of rows to theirs */
    int64_t moved; /* and how often a cluster that had lost its rows took a far one */
    /* of erm and its presets, in fitting units: the weight of the penalty; the mean loss with the penalty; how far that is
     * above a bound from below, at most */
    double lambda, objective, gap;
} fab_report;

/* ---- what settings share ------------------------------------------------------------------------ */

/* The settings that every method of linear models alone begins with, as its member `glm`. */
typedef struct fab_glm_settings {
    double alpha;           /* prior precision of the coefficients; auto: the method's rule */
    double beta;            /* gaussian: noise precision; auto: the method's rule */
    double intercept_alpha; /* prior precision of the intercept (GLMs and streams) */
    int64_t seed;
} fab_glm_settings;

/* The settings that every method for any model begins with: as its member `train`, alone (vifa, vogn) or with those of
 * an optimiser behind them (fab_sgd_settings, which is also all of sgd). */
typedef struct fab_model_settings {
    double alpha;   /* prior precision of the weights */
    double beta;    /* gaussian: noise precision; auto: as the model has it */
    int64_t epochs; /* passes over the rows */
    int64_t batch;  /* rows in a step */
    double rate;    /* learning rate */
    int64_t seed;
    int64_t runs; /* independent runs, with seeds seed, seed + 1, .. */
} fab_model_settings;

/* sgd, ensemble: the mode of the posterior of any model, by stochastic gradients: how networks are trained.
 * ensemble runs it five times.  The result is a point, of several runs a mixture of points.  As a member named
 * `train` this struct is the training that laplace, lrvga, swa and swag begin with.
 *
 * Memory: three vectors of length D and the optimiser's (none, one or two), one batch, and 16 bytes a row.
 * docs/methods/sgd.md, docs/methods/ensemble.md. */
typedef enum fab_optimiser {
    FAB_OPTIMISER_SGD = 0,
    FAB_OPTIMISER_NESTEROV,
    FAB_OPTIMISER_ADAM,
    FAB_OPTIMISER_ADAMW
} fab_optimiser;
typedef enum fab_schedule {
    FAB_SCHEDULE_CONSTANT = 0, /* rate */
    FAB_SCHEDULE_STEPS,        /* times drop after every drop_every of the run */
    FAB_SCHEDULE_COSINE,       /* down to 0 along half a cosine */
    FAB_SCHEDULE_ONE_CYCLE /* up along a line for `warmup` of the run, then down along half a cosine */
} fab_schedule;

/* Begins as fab_model_settings. */
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

static inline fab_sgd_settings fab_sgd_defaults(void);

/* ---- vectors: factor analysis of a stream ------------------------------------------------------- */

/* The input is `vectors`, the result a Gaussian in covariance form with K factors.  Rows come in any number of updates.
 *
 *     fab_recursive_em_settings s = fab_recursive_em_defaults(K);
 *     s.forget = 0.999;                                  // the stream drifts
 *     fab_fit_create(&f, "recursive-em", &s, sizeof s, &(fab_input){.vectors = D}, NULL); */

/* online-ml, the one to try first: the scatter matrix of the rows is kept, about D^2 / 2 numbers, and the result is the
 * maximum of the likelihood of all rows, as `ml` finds it, after one pass.
 *
 * Time D^2 / 2 multiply-adds per row; memory 8 D^2 bytes and what `ml` needs for a result.  docs/methods/online-ml.md. */
typedef struct fab_online_ml_settings {
    int64_t K;
    int64_t svd;      /* 0 auto, 1 exact, 2 randomized */
    int64_t starts;   /* the best of so many is kept */
    double tol;       /* relative change of the log-likelihood */
    int64_t max_iter; /* evaluations of the likelihood per start */
    double psi_min;   /* floor of psi */
    int64_t seed;
    double forget; /* weight of the past, per row */
} fab_online_ml_settings;

static inline fab_online_ml_settings fab_online_ml_defaults(int64_t K);

/* recursive-em, for a D whose square is too large: each block of rows is absorbed into a Gaussian of a rank R wider than K, which is
 * cut to K when the result is asked for.
 *
 * Time O(D R (block + R)) per loop and block, no allocation per row; memory D (2 R + block + 10) numbers, rows held, and
 * for a result up to D = 2000 that of ml.
 * docs/methods/recursive-em.md. */
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
    int64_t held; /* rows held for the log-likelihood */
} fab_recursive_em_settings;

static inline fab_recursive_em_settings fab_recursive_em_defaults(int64_t K);

/* online-em: expectation-maximisation row by row, for a D so large that no block of rows fits.
 *
 * Time O(D K^2) and one read and write of a D x K array per row; memory D (2 K + 2) elements and 6 D doubles.
 * docs/methods/online-em.md. */
typedef struct fab_online_em_settings {
    int64_t K;
    int64_t warmup; /* rows before the first M-step */
    int64_t expand; /* parameter-expanded M-step */
    int64_t start;  /* 0 orthonormal, 1 draft, 2 variance */
    int64_t centre; /* 0 exact, 1 running */
    double forget;  /* weight of the past, per row */
    double psi_min; /* floor of psi */
    int64_t seed;
    int64_t held; /* rows held for the log-likelihood */
} fab_online_em_settings;

static inline fab_online_em_settings fab_online_em_defaults(int64_t K);

/* stochastic-em, of Cappe and Moulines: step sizes t^-power forget the first rows, and results may be averaged,
 * from the middle of the stream for example.
 *
 * Time as online-em, twice the D x K traffic once averages are taken; memory D (3 K + 2) elements and 7 D doubles.
 * docs/methods/stochastic-em.md. */
typedef struct fab_stochastic_em_settings {
    int64_t K;
    double power;         /* step size t^-power */
    int64_t average_from; /* rows after which results are averaged; 0: never */
    int64_t warmup;       /* rows before the first M-step */
    int64_t start;        /* 0 orthonormal, 1 draft, 2 variance */
    int64_t centre;       /* 0 exact, 1 running */
    double psi_min;       /* floor of psi */
    int64_t seed;
    int64_t held; /* rows held for the log-likelihood */
} fab_stochastic_em_settings;

static inline fab_stochastic_em_settings fab_stochastic_em_defaults(int64_t K);

/* online-sga: gradient steps on the log-likelihood, to compare with the literature.
 *
 * Time O(D K^2) per row; memory D (K + 2) elements and 9 D doubles.  docs/methods/online-sga.md. */
typedef struct fab_online_sga_settings {
    int64_t K;
    double rate;    /* learning rate */
    int64_t warmup; /* rows before the first step */
    int64_t start;  /* 0 orthonormal, 1 draft, 2 variance */
    int64_t centre; /* 0 exact, 1 running */
    double psi_min; /* floor of psi */
    int64_t seed;
    int64_t held; /* rows held for the log-likelihood */
} fab_online_sga_settings;

static inline fab_online_sga_settings fab_online_sga_defaults(int64_t K);

/* ---- vectors: factor analysis of a table -------------------------------------------------------- */

/* The same input and result; the whole table comes in one update.
 *
 *     fab_ml_settings s = fab_ml_defaults(K);
 *     fab_fit_create(&f, "ml", &s, sizeof s, &(fab_input){.vectors = D}, NULL); */

/* ml: maximum likelihood.  The likelihood is maximised over log psi alone, F being known in closed form given psi;
 * each step needs the K leading eigenvectors of the scaled covariance.
 *
 * Forms the D x D covariance when the table has at least D rows: memory 8 D^2 bytes; with fewer, products pass over the
 * rows.  docs/methods/ml.md. */
typedef struct fab_ml_settings {
    int64_t K;
    int64_t svd;      /* 0 auto, 1 exact, 2 randomized */
    int64_t starts;   /* the best of so many is kept */
    double tol;       /* relative change of the log-likelihood */
    int64_t max_iter; /* evaluations of the likelihood per start */
    double psi_min;   /* floor of psi */
    int64_t seed;
} fab_ml_settings;

static inline fab_ml_settings fab_ml_defaults(int64_t K);

/* em: the same maximum by expectation-maximisation ([L] (19)-(20)): slower, to compare with.  docs/methods/em.md. */
typedef struct fab_em_settings {
    int64_t K;
    int64_t expand;   /* parameter-expanded EM */
    double tol;       /* relative change of the log-likelihood */
    int64_t max_iter; /* EM steps of a start */
    double psi_min;   /* floor of psi */
    int64_t seed;
    int64_t starts; /* the best of so many is kept */
} fab_em_settings;

static inline fab_em_settings fab_em_defaults(int64_t K);

/* ppca, pca: probabilistic PCA, one psi for all coordinates, in closed form from one decomposition; and the K leading
 * principal components as a Gaussian, psi at its floor.  docs/methods/ppca.md, docs/methods/pca.md. */
typedef struct fab_ppca_settings {
    int64_t K;
    int64_t svd;    /* 0 auto, 1 exact, 2 randomized */
    double psi_min; /* floor of psi */
    int64_t seed;
    int64_t standardise; /* 1: of the correlations */
} fab_ppca_settings;

static inline fab_ppca_settings fab_ppca_defaults(int64_t K);
static inline fab_ppca_settings fab_pca_defaults(int64_t K);

/* ---- linear models ------------------------------------------------------------------------------ */

/* The input is a model made by fab_model_linear; likelihood, features, classes and intercept are its own.
 *
 *     fab_exact_settings s = fab_exact_defaults();
 *     s.glm.beta = 4;                                    // the noise is known, alpha comes from the evidence
 *     fab_fit_create(&f, "exact", &s, sizeof s, &(fab_input){.model = &model}, NULL); */

/* exact, ridge: Bayesian linear regression in closed form, the posterior itself; ridge gives its mean alone.  Gaussian
 * targets; alpha and beta are given, or found by maximising the evidence.  The intercept is not penalised.
 *
 * At least as many rows as coordinates: covariance form of rank D, from a QR of the table in blocks of rows, memory
 * about 10 D^2 numbers; fewer: precision form of rank N, about 3 D N numbers.  Up to min(N, D) = FAB_EXACT_MAX.
 * docs/methods/exact.md, docs/methods/ridge.md. */
enum { FAB_EXACT_MAX = 20000 };

typedef struct fab_exact_settings {
    fab_glm_settings glm; /* alpha: not used with a given prior; alpha and beta auto: by evidence;
                             intercept_alpha, seed: not used, the intercept is free */
} fab_exact_settings;

static inline fab_exact_settings fab_exact_defaults(void);

/* cavi: linear regression with Gamma priors on alpha and beta, by coordinate ascent: q(w) q(alpha) q(beta) of largest bound, which the report
 * has as log_evidence.  Gaussian targets; the result is q(w), at the means of the other two, which are alpha and beta of the
 * report; their shapes and rates are the tensors `q_alpha` and `q_beta`.  A precision that is given stays: with both it is exact.
 *
 * Time and memory those of exact; a step costs min(N, D).  docs/methods/cavi.md. */
typedef struct fab_cavi_settings {
    /* alpha, beta: auto: with a prior and a q; intercept_alpha, seed: not used */
    fab_glm_settings glm;
    double alpha_shape, alpha_rate, beta_shape, beta_rate; /* of the priors */
    double tol; /* relative change of alpha and beta by a last step */
    int64_t max_iter;
} fab_cavi_settings;

static inline fab_cavi_settings fab_cavi_defaults(void);

/* spike-slab: linear regression where few of many columns matter: large effects of a few (a spike at 0 and slabs of all sizes),
 * small ones of all.  Gaussian targets; how many and how large is found with the noise, by a bound of the evidence, which the
 * report has as log_evidence.  The prior is one of columns with variance 1: predictions do not depend on the units of columns.
 * The intercept is not penalised.
 *
 * Precision form of rank M = min(N, D) + 1, up to FAB_SPIKE_SLAB_MAX; memory about 2 D M numbers, and M^2 more.
 * docs/methods/spike-slab.md. */
enum { FAB_SPIKE_SLAB_MAX = 20000 };

typedef struct fab_spike_slab_settings {
    /* alpha: precision of the small effects, of columns with variance 1; alpha and beta auto: by
     * the bound; intercept_alpha, seed: not used */
    fab_glm_settings glm;
    double tol;       /* nats by which a sweep raises the bound */
    int64_t max_iter; /* sweeps over the columns */
} fab_spike_slab_settings;

static inline fab_spike_slab_settings fab_spike_slab_defaults(void);

/* erm: the mean loss of the rows with a penalty of the coefficients, lambda ((1 - l1) |w|^2 + l1 |w|_1); the intercept is not
 * penalised.  lasso, elastic-net and quantile are erm with other defaults.  Numbers and two classes; lambda auto: by rows left out,
 * the tensor `path` has what was tried (lambda, mean loss left out, its standard error, coefficients that are not 0, gap).
 *
 * The result is a point, or with an uncertainty (squared and logistic loss) a covariance over the coefficients that are not 0,
 * conditional on which they are.  Memory: the rows, and up to 5 D^2 numbers, D up to FAB_ERM_MAX.  docs/methods/erm.md. */
enum { FAB_ERM_MAX = 5000 };
typedef enum fab_loss {
    FAB_LOSS_AUTO = 0, /* squared, of two classes logistic */
    FAB_LOSS_SQUARED,
    FAB_LOSS_ABSOLUTE,
    FAB_LOSS_PINBALL, /* 2 max(tau r, (tau - 1) r): twice that of scikit-learn, absolute at tau 1/2 */
    FAB_LOSS_EPS_INSENSITIVE,
    FAB_LOSS_HINGE,
    FAB_LOSS_LOGISTIC,
    FAB_LOSS_EXPONENTIAL
} fab_loss;
typedef enum fab_erm_rule { FAB_ERM_MIN = 0, FAB_ERM_ONE_SE } fab_erm_rule;
typedef enum fab_erm_width {
    FAB_ERM_WIDTH_AUTO = 0, /* active for squared and logistic loss */
    FAB_ERM_WIDTH_NONE,
    FAB_ERM_WIDTH_ACTIVE
} fab_erm_width;

typedef struct fab_erm_settings {
    /* alpha: refused; beta auto: by the residuals; intercept_alpha: not used */
    fab_glm_settings glm;
    int64_t loss;        /* fab_loss */
    double l1;           /* share of the penalty on |w| */
    double lambda;       /* weight of the penalty; auto: by rows left out */
    double tau, eps;     /* of pinball; of eps-insensitive */
    int64_t lambdas;     /* values that are tried */
    double ratio;        /* the smallest of them beside the largest */
    int64_t cv;          /* folds that are left out in turn, to choose lambda */
    int64_t rule;        /* fab_erm_rule */
    int64_t uncertainty; /* fab_erm_width */
    double tol;          /* squared: gap of the path beside the mean square of y */
    int64_t max_iter;    /* steps of the other losses */
} fab_erm_settings;

static inline fab_erm_settings fab_erm_defaults(void);
static inline fab_erm_settings fab_lasso_defaults(void);
static inline fab_erm_settings fab_elastic_net_defaults(void);
static inline fab_erm_settings fab_quantile_defaults(void);

/* gp: a Gaussian process (fab_model_kernel): the parameters of its kernel and the noise by the evidence, then f at any row;
 * numbers exactly, classes and counts by Laplace's method, more than two classes with a process for each and one kernel.  The result is a point: the logarithms of these parameters; the process itself is in the tensors of the fit
 * (fab_fit_tensors, and files): X, a, L, y and what fab_process_parts has else, and `search`.  After the result more rows
 * may come in further updates: they are appended to the factor, and the parameters stay.
 *
 * Time N^3 / 3 for each of some hundred evaluations on at most search_rows rows, and once on all; memory 3 N^2 numbers of N rows,
 * and N^2 when it is made; of C > 2 classes C times the time, and 2 C + 5 and C + 1 for 3 and 1.  docs/methods/gp.md. */
typedef struct fab_gp_settings {
    double beta;    /* gaussian: noise precision; auto: by the evidence */
    int64_t seed;   /* of the rows that parameters are looked for on, and of the starts */
    int64_t starts; /* searches; auto: 5 and one for each free parameter, 10 at most, and more */
    int64_t search_rows; /* that parameters are looked for on, at most */
    int64_t exact_limit; /* rows that are taken */
    double tol;          /* relative change of the log evidence at which a search ends */
    /* gaussian: 1: results and files have the mean without the factor; sd is the root of the mean square by which rows left out
     * one by one are missed, the same everywhere */
    int64_t mean_only;
    /* gaussian: 1, 2: predictions are a mixture over parameters, fab_average.  Memory and files grow with its places. */
    int64_t average;
} fab_gp_settings;

/* Parameters that predictions are averaged over. */
typedef enum fab_average {
    FAB_AVERAGE_NONE,
    FAB_AVERAGE_LAPLACE, /* a design of up to 33 places in the Gaussian that the evidence is like at its maximum */
    FAB_AVERAGE_STARTS /* the ends of searches that differ, at most 3, by their evidence */
} fab_average;

static inline fab_gp_settings fab_gp_defaults(void);

/* kernel-ridge: the mean of gp alone, f = sum_i a_i k(x, x_i), the minimum of sum_i w_i (y_i - f(x_i))^2 + lambda |f|^2 in the norm of
 * the kernel: gaussian targets.  lambda is the noise of gp.  Time as gp; predictions O(N), files O(N).  docs/methods/kernel-ridge.md. */
typedef enum fab_ridge_by {
    FAB_RIDGE_EVIDENCE, /* lambda of the highest evidence */
    FAB_RIDGE_ROWS      /* of the smallest mean square error of rows that are left out one by one */
} fab_ridge_by;

typedef struct fab_kernel_ridge_settings {
    double lambda;  /* auto: as `choose` says */
    int64_t choose; /* fab_ridge_by */
    int64_t seed;   /* as gp, and the following too */
    int64_t starts;
    int64_t search_rows;
    int64_t exact_limit;
    double tol;
} fab_kernel_ridge_settings;

static inline fab_kernel_ridge_settings fab_kernel_ridge_defaults(void);

/* vfe, dtc, fitc: a Gaussian process of numbers (fab_model_kernel) through its values at inducing inputs Z, from all rows:
 * log N(y; 0, Q + s^2 I) with Q = Kxz Kzz^-1 Kzx, less tr(K - Q) / (2 s^2) (vfe, a lower bound of gp's log evidence), as it is
 * (dtc), or with diag(K - Q) in the noise (fitc).  The result is q(v), v = L^-1 f(Z), Kzz = L L', whose prior is N(0, I), as a
 * precision; tensors of the fit: X (that is Z), a, L and C, of which fab_process_of_inducing (kernel.h) makes the process,
 * `parameters` (logarithms of those of the kernel and of the noise precision), the sums over rows, and `search`.  After the
 * result more rows may come in further updates: they join the sums, and parameters and Z stay.
 *
 * Time 5 N m^2 for each of `steps` evaluations, and a search on search_rows rows; memory N D, 4096 m and 11 m^2 numbers.
 * docs/methods/vfe.md. */
typedef struct fab_vfe_settings {
    double beta;         /* noise precision; auto: where the objective is largest */
    int64_t seed;        /* of the rows that the search begins with, and of the starts */
    int64_t inducing;    /* inputs; fewer where rows are too much alike */
    int64_t optimise;    /* 1: Z is moved, too */
    int64_t steps;       /* evaluations of the objective on all rows, about */
    int64_t starts;      /* searches of the first rows; auto: as gp has it */
    int64_t search_rows; /* whose exact evidence says where the search begins, at most */
    double tol;          /* relative change of the objective at which a search ends */
} fab_vfe_settings;

static inline fab_vfe_settings fab_vfe_defaults(void);
static inline fab_vfe_settings fab_dtc_defaults(void);
static inline fab_vfe_settings fab_fitc_defaults(void);

/* rvga, kalman: one pass with the full covariance, the baselines of lrvga.  rvga takes any likelihood, kalman
 * gaussian targets, of which the result is the exact posterior.  The covariance form with as many factors as
 * coordinates.  The state is the root of the precision: priors may be as wide and columns of such sizes as they like.
 *
 * Time O(D^2) and no allocation per row; memory D (4 D + warmup + 4) numbers, for theta of up to FAB_DENSE_MAX
 * coordinates.  docs/methods/rvga.md, docs/methods/kalman.md. */
typedef struct fab_rvga_settings {
    fab_glm_settings glm;
    int64_t expectation; /* bernoulli: 0 probit, 1 quadrature, 2 sampled */
    int64_t draws;       /* of a sampled expectation */
    int64_t scheme;      /* GLMs: 0 implicit, 1 explicit, 2 extra-gradient, 3 mirror-prox */
    int64_t warmup;      /* rows the prior is chosen from */
} fab_rvga_settings;

static inline fab_rvga_settings fab_rvga_defaults(void);

/* vga: the variational Gaussian of the whole table, all likelihoods: Newton's method with expected gradient and
 * curvature, alpha and beta by the bound of the evidence; of classes the temperature by rows left out.  Up to FAB_VGA_MAX
 * coordinates P: memory about 5 P^2 numbers and 6 N C^2 of N rows and C classes.  With fewer rows than features, and no prior
 * given, these are C (N + 1), and q has the precision form of rank N C.  docs/methods/vga.md. */
enum { FAB_VGA_MAX = 2000 };

typedef struct fab_vga_settings {
    fab_glm_settings glm; /* alpha and beta auto: by the bound; seed: of the start at rank K */
    int64_t K;            /* rank of the precision; auto: the full covariance */
    int64_t inner;        /* EM loops that bring the precision to rank K, at most */
    double rank_tol;      /* they end when psi changes by less */
    int64_t nodes;        /* several classes: nodes of their expectations, taken with both signs */
    double tol; /* what a step promises at the end: nats, of several classes a share of the bound */
    int64_t max_iter; /* steps */
    /* of the posterior that q is near; auto: 1, or less where classes separate and rows left out
     * say so */
    double temperature;
} fab_vga_settings;

static inline fab_vga_settings fab_vga_defaults(void);

/* ---- vectors: clusters around means ---------------------------------------------------------------- */

/* The result is a mixture: part k is N(mu_k, psi I), mu_k its centroid, psi = W / (n D), its weight the share of its rows, with
 * W = sum |x - mu|^2 the cost.  fab_fit_tensors has `counts`, `cost` and `iterations`. */

/* kmeans: Lloyd's algorithm over the table from `restarts` starts.
 *
 * Time a step n D G multiply-adds; memory, beside the rows, n numbers and of each start n / 2 and 2 G D; for the seeds 4 + log G
 * columns of n.  docs/methods/kmeans.md. */
typedef enum fab_kmeans_start {
    FAB_KMEANS_GREEDY = 0, /* kmeans++, each seed the best of 2 + log G draws */
    FAB_KMEANS_PLUSPLUS,   /* kmeans++ */
    FAB_KMEANS_ROWS        /* rows at random */
} fab_kmeans_start;

typedef struct fab_kmeans_settings {
    int64_t G;     /* number of clusters */
    int64_t start; /* fab_kmeans_start */
    int64_t restarts;
    double tol; /* squared moves, relative to the mean variance of the columns */
    int64_t max_iter;
    double floor; /* of psi, relative to that variance */
    int64_t seed;
} fab_kmeans_settings;

static inline fab_kmeans_settings fab_kmeans_defaults(int64_t G);

/* minibatch-kmeans: the same of a stream, block by block, in one pass: a centroid is the mean of the rows that were nearest to it
 * when they came.
 *
 * Time a row D G multiply-adds; memory 5 D G numbers and one block of rows, warmup of them.  docs/methods/minibatch-kmeans.md. */
typedef struct fab_minibatch_kmeans_settings {
    int64_t G;        /* number of clusters */
    int64_t block;    /* rows in a step */
    int64_t warmup;   /* rows that the centroids begin from */
    int64_t restarts; /* of kmeans on them, */
    int64_t max_iter; /* steps each */
    double fade;      /* rows count as (their number)^fade */
    double forget;    /* weight of the past for each new row */
    double starve;    /* a centroid of a lower share of the mean count moves to a far row */
    double floor;     /* of psi, relative to the mean variance of the first rows */
    int64_t seed;
} fab_minibatch_kmeans_settings;

static inline fab_minibatch_kmeans_settings fab_minibatch_kmeans_defaults(int64_t G);
/* ---- vectors: clusters ---------------------------------------------------------------------------- */

/* The input is `vectors`, the result a mixture with one part for each cluster, whose weight is its share of the rows. */

/* mfa: a mixture of factor analysers, by EM over the table: part g is N(mu_g, F_g F_g' + diag psi_g) with F_g of q columns.
 *
 * Time a step 4 D q G multiply-adds per row at most, memory about 3 G D (q + 2) numbers and 4 MB a thread.  docs/methods/mfa.md. */
typedef enum fab_mfa_psi {
    FAB_MFA_OWN = 0,  /* a diagonal for each part */
    FAB_MFA_COMMON,   /* one diagonal for all */
    FAB_MFA_ISOTROPIC /* one number for each part: probabilistic principal component analysers */
} fab_mfa_psi;

typedef struct fab_mfa_settings {
    int64_t G;   /* number of parts */
    int64_t q;   /* factors of a part */
    int64_t psi; /* fab_mfa_psi */
    double tol;  /* nats per row that a last step gains */
    int64_t max_iter;
    int64_t restarts; /* short runs from starts of their own */
    int64_t moves;    /* attempts to merge two parts and split another */
    double floor;     /* of psi, relative to the variance of the column */
    int64_t seed;
} fab_mfa_settings;

static inline fab_mfa_settings fab_mfa_defaults(int64_t G);

/* online-mfa: the same of a stream, each row seen once.  The first rows make the start, as mfa would; after that each block moves every
 * part by its responsibilities, as recursive-em moves its one.
 *
 * Time 2 D R (G + 4 inner) multiply-adds per row, R the inner rank; memory D (2 G (R + 3) + 2 block) numbers, no D x D.  docs/methods/online-mfa.md. */
typedef struct fab_online_mfa_settings {
    int64_t G, q;
    int64_t first;           /* rows that the start is made from */
    int64_t block;           /* rows at a time */
    int64_t inner_rank;      /* rank R kept inside */
    int64_t inner;           /* EM loops per block and part */
    int64_t restarts, moves; /* of the start */
    double forget;           /* weight of a part's past, per row of its own */
    double floor;            /* of psi, relative to the variance of the column */
    double tol;              /* of the cut from R to q */
    int64_t max_iter;        /* of the cut */
    double memory;           /* MB for rows, when first and block are auto */
    int64_t seed;
    double kappa, t0; /* share (t0 + t)^-kappa of block t; 0: running sums */
} fab_online_mfa_settings;

static inline fab_online_mfa_settings fab_online_mfa_defaults(int64_t G);

/* gmm: a mixture of Gaussians, by EM over the table.  A full covariance is a Gaussian with K = D, for D up to FAB_DENSE_MAX.
 *
 * Time a step 2 D^2 G multiply-adds per row at most, of diagonals 6 D G.  docs/methods/gmm.md. */
typedef enum fab_gmm_covariance {
    FAB_GMM_FULL = 0,
    FAB_GMM_TIED, /* one full covariance for all parts */
    FAB_GMM_DIAG,
    FAB_GMM_SPHERICAL
} fab_gmm_covariance;

typedef struct fab_gmm_settings {
    int64_t G;
    int64_t covariance; /* fab_gmm_covariance */
    double tol;
    int64_t max_iter;
    int64_t restarts, moves;
    double floor; /* of the eigenvalues, relative to the variances of the columns */
    int64_t seed;
} fab_gmm_settings;

static inline fab_gmm_settings fab_gmm_defaults(int64_t G);

/* online-gmm: the same of a stream, each row seen once, from a start on its first rows.
 *
 * Time as a step of gmm; memory 3 G D^2 numbers, of diagonals 6 G D, and two blocks of rows.  docs/methods/online-gmm.md. */
typedef struct fab_online_gmm_settings {
    int64_t G;
    int64_t covariance;      /* fab_gmm_covariance */
    int64_t first, block;    /* rows that the start is made from; at a time */
    int64_t restarts, moves; /* of the start */
    double forget;           /* weight of a part's past, per row of its own */
    double kappa, t0;        /* share (t0 + t)^-kappa of block t; 0: running sums */
    double floor;            /* of the eigenvalues, relative to the variances of the columns */
    double memory;           /* MB for rows, when first and block are auto */
    int64_t seed;
} fab_online_gmm_settings;

static inline fab_online_gmm_settings fab_online_gmm_defaults(int64_t G);

/* vbgmm: a mixture of Gaussians by variational Bayes over the table: a Dirichlet on the weights, a Normal-Wishart on mean and precision of
 * a part, or of diagonals a Normal-Gamma on each coordinate.  Parts that the rows do not need lose them and are not in the result, whose
 * parts are Gaussians at the posterior means; the bound is log_evidence of the report.  Full covariances up to FAB_DENSE_MAX columns.
 *
 * Time a step that of gmm and D^3 G; memory 4 G D^2 numbers, of diagonals 6 D G.  docs/methods/vbgmm.md. */
typedef enum fab_vbgmm_covariance { FAB_VBGMM_FULL = 0, FAB_VBGMM_DIAG } fab_vbgmm_covariance;

typedef struct fab_vbgmm_settings {
    int64_t G;
    int64_t covariance;   /* fab_vbgmm_covariance */
    double concentration; /* of the Dirichlet, each part; auto: 1 / G */
    /* rows that the prior mean, that of all rows, counts as; auto: 1 or less, of largest bound */
    double mean_precision;
    double freedom; /* degrees of freedom of the prior; auto: D, of diagonals 1 */
    double scatter; /* of the prior, in covariances of all rows; auto: of largest bound */
    double floor;   /* added to those, relative to the variances of the columns */
    double tol;     /* nats per row that a last step gains */
    int64_t max_iter, restarts, seed;
} fab_vbgmm_settings;

static inline fab_vbgmm_settings fab_vbgmm_defaults(int64_t G);

/* dpmeans: as many clusters as pay for themselves: the least W + lambda K, K their number, by passes over the table.
 *
 * Time a pass n D K multiply-adds; memory n numbers and 4 D K, which grows with K.  docs/methods/dpmeans.md. */
typedef enum fab_dpmeans_update {
    FAB_DPMEANS_BATCH = 0, /* centroids move after a pass */
    FAB_DPMEANS_IMMEDIATE  /* at each row that changes its cluster */
} fab_dpmeans_update;

typedef struct fab_dpmeans_settings {
    double lambda;  /* what a cluster costs */
    int64_t update; /* fab_dpmeans_update */
    int64_t max_iter;
    double floor; /* of psi, relative to the mean variance of the columns */
} fab_dpmeans_settings;

static inline fab_dpmeans_settings fab_dpmeans_defaults(double lambda);

/* online-dpmeans: the same of a stream, row by row, in one pass. */
typedef struct fab_online_dpmeans_settings {
    double lambda;
    double floor;
} fab_online_dpmeans_settings;

static inline fab_online_dpmeans_settings fab_online_dpmeans_defaults(double lambda);

/* soft-kmeans: a mixture of N(mu_k, sigma^2 I) with one sigma that is known, by EM over the table.
 *
 * Time a step 3 n D G multiply-adds, memory 3 D G numbers for each of at most 64 chunks of rows.  docs/methods/soft-kmeans.md. */
typedef struct fab_soft_kmeans_settings {
    int64_t G;     /* number of clusters */
    double sigma;  /* standard deviation in a cluster; auto: that of kmeans */
    int64_t start; /* fab_kmeans_start */
    int64_t restarts;
    double tol; /* nats per row that a last step gains */
    int64_t max_iter;
    int64_t seed;
} fab_soft_kmeans_settings;

static inline fab_soft_kmeans_settings fab_soft_kmeans_defaults(int64_t G);

/* ---- linear models and networks ----------------------------------------------------------------- */

/* One struct for both: `train` comes first.  What does not concern the model at hand (its comment says so) stays at its
 * default; another value is refused. */

/* laplace, map: the mode and the curvature there; map gives the mode alone (of a network it is sgd).
 *
 * Linear models up to FAB_LAPLACE_MAX coordinates: Newton's method, the full curvature (covariance form, exact),
 * the log evidence, and alpha by maximising it; memory about 6 P^2 numbers of P coordinates.  Above: Newton's steps
 * by conjugate gradients, the curvature at rank K plus diagonal (precision form), an estimate of the evidence;
 * about P (3 K + 44).
 *
 * Networks, and models with functions `predict` and `jacobian`: the mode by `train`, the generalised Gauss-Newton
 * matrix there; the same limit and forms.  Predictions are best linearised (fab_draws_linearise).
 * docs/methods/laplace.md, docs/methods/map.md. */
enum { FAB_LAPLACE_MAX = 2000 };

/* What is kept of the curvature of a network. */
typedef enum fab_structure {
    /* low rank where K is given; else full up to FAB_LAPLACE_MAX weights, then low rank as long
     * as that is affordable, then diagonal */
    FAB_STRUCTURE_AUTO = 0,
    FAB_STRUCTURE_FULL,
    FAB_STRUCTURE_LOW_RANK, /* rank K plus diagonal */
    FAB_STRUCTURE_DIAGONAL  /* its diagonal alone: K = 0 */
} fab_structure;

typedef struct fab_laplace_settings {
    fab_sgd_settings train; /* alpha (auto: by the evidence), beta, seed; networks: all of it */
    double intercept_alpha; /* linear: prior precision of intercepts */
    int64_t K;              /* rank of the curvature; auto: full up to FAB_LAPLACE_MAX, 20 above */
    int64_t inner;          /* EM loops that bring the curvature to rank K, at most */
    double rank_tol;        /* they end when psi changes by less */
    double tol;             /* linear: of the search for the mode, in nats */
    int64_t max_iter;       /* linear: Newton steps */
    int64_t rounds;         /* networks, alpha auto: times that it is chosen and training goes on */
    int64_t again;          /* networks: epochs of training after each */
    int64_t last_layer;     /* networks: 1: its weights alone are uncertain */
    int64_t structure;      /* networks: fab_structure */
    /* linear, laplace: of the posterior that q is near; auto: 1, of classes less where rows left
     * out say so */
    double temperature;
} fab_laplace_settings;

static inline fab_laplace_settings fab_laplace_defaults(void);

/* lrvga: limited-memory recursive variational inference: a stream of examples, one pass, no learning rate.  Each
 * block of rows moves the mean and is absorbed into a precision of a rank R wider than K, which is cut to K when
 * the result is asked for (precision form).  A network is trained on its first update, or is a stream from its own
 * start on.
 *
 * Time O(D R (block + R)) per loop and block, no allocation per row; memory D (2 R + block + 5) numbers (and `warmup`
 * columns instead of `block` when the prior is to be chosen, and for GLMs).  docs/methods/lrvga.md. */
typedef enum fab_lrvga_start {
    FAB_LRVGA_EXACT = 0, /* linear: F begins with the first rows */
    FAB_LRVGA_RANDOM,    /* linear: at random, as in [L] */
    FAB_LRVGA_MAP,       /* networks: the first update is trained on */
    FAB_LRVGA_MODEL,     /* networks: everything is a stream, from the model's own start */
    FAB_LRVGA_AUTO       /* exact, map */
} fab_lrvga_start;

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
    int64_t draws;  /* linear: of a sampled expectation; networks: of theta, for curvature */
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

static inline fab_lrvga_settings fab_lrvga_defaults(int64_t K);

/* ---- any model with a gradient ------------------------------------------------------------------ */

/* The input is a network (fab_net_model), a linear model or callbacks of your own; the whole table comes in one update.
 *
 *     fab_swag_settings s = fab_swag_defaults();
 *     s.swa.train.epochs = 200;                          // training, as sgd does it
 *     s.swa.average = 100;                               // then so many epochs, which are averaged
 *     fab_fit_create(&f, "swag", &s, sizeof s, &(fab_input){.model = fab_net_model(net)}, NULL); */

/* swa, swag: training goes on at a constant rate; swa is the mean of those iterates, a point, and swag their
 * Gaussian, in covariance form.  multiswag (five runs, mixed) and iterate-averaging (means over windows) are swag
 * with other defaults.
 *
 * Memory: that of sgd, two or three vectors of length D, and D x 2 K numbers (columns by a method: what that needs).
 * docs/methods/swag.md. */
typedef enum fab_swag_columns {
    FAB_SWAG_LAST = 0,        /* the last K deviations from the running mean */
    FAB_SWAG_BY_RECURSIVE_EM, /* K factors of all iterates, by this method */
    FAB_SWAG_BY_ONLINE_EM,
    FAB_SWAG_BY_STOCHASTIC_EM,
    FAB_SWAG_BY_ONLINE_SGA
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

static inline fab_swa_settings fab_swa_defaults(void);
static inline fab_swag_settings fab_swag_defaults(void);

/* vogn, slang: variational inference by natural gradients, from gradients of single examples: vogn with a diagonal
 * precision, slang at rank K plus diagonal (precision form).
 *
 * Memory: D x (2 K + draws + 1) numbers and eight vectors of length D; with draws > 1, or a model that cannot multiply
 * its gradients, D x batch x draws more.  docs/methods/slang.md, docs/methods/vogn.md. */

typedef struct fab_vogn_settings {
    fab_model_settings train; /* its rate is that of mu */
    double rate_precision;    /* weight of a step in the precision */
    double decay;             /* both rates fall as t^-decay */
    double momentum;          /* weight of the past in the mean of the gradients */
    int64_t draws;            /* of theta in a step */
    double start; /* precision to begin with; auto: that of the prior, and the number of rows */
} fab_vogn_settings;

typedef struct fab_slang_settings {
    fab_vogn_settings vogn;
    int64_t K;      /* columns of F; auto: 5, at most D */
    double psi_min; /* floor of psi, relative to the diagonal of the precision */
} fab_slang_settings;

static inline fab_vogn_settings fab_vogn_defaults(void);
static inline fab_slang_settings fab_slang_defaults(void);

/* vifa, meanfield: variational inference with F F' + diag(psi) as the covariance, by gradients at draws of theta;
 * meanfield has K = 0.  log_evidence of the report is the evidence lower bound (ELBO).  A model's free coordinates (a
 * learned log noise precision) are points: the result is then over part of theta.
 *
 * Time a step: the model's gradients and O(D K) numbers; memory about D (2 K + 10) numbers with sgd, D (5 K + 14)
 * with adam.  docs/methods/vifa.md, docs/methods/meanfield.md. */
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

/* epochs, rate, draws, optimiser, rate_F, map_part and ramp_part may be auto: fab_fit_settings has what was chosen for
 * the model, the report the epochs that its rows made of auto. */
typedef struct fab_vifa_settings {
    fab_model_settings train;
    int64_t K;
    int64_t draws;                    /* L, in a step; auto: 2, newton: 2 W + 1 */
    int64_t pairs;                    /* 1: draws come as h, z and -h, -z, on the same rows */
    int64_t shared;                   /* 1: all draws of a step see the same rows */
    int64_t entropy;                  /* fab_vifa_entropy */
    int64_t optimiser;                /* fab_vifa_optimiser */
    double rate_F, rate_psi;          /* in units of rate */
    double momentum, second, epsilon; /* of adam */
    double reach;                     /* of natural */
    int64_t schedule;                 /* fab_schedule */
    double drop, drop_every, warmup;
    double clip;
    int64_t start;            /* fab_vifa_start */
    double start_sd, start_F; /* standard deviation of a coordinate; size of F in units of it */
    double map_part, ramp_part;
    double free_after;
} fab_vifa_settings;

static inline fab_vifa_settings fab_vifa_defaults(void);
/* K = 0: a diagonal. */
static inline fab_vifa_settings fab_meanfield_defaults(void);

/* The Gaussian q of rank K with the smallest KL(q || p), by Newton steps from `starts` places (the first D + 1 need
 * no seed), in double, for D up to FAB_DENSE_MAX.  With p the exact posterior of a linear model this is what vifa
 * converges to.  Gives *q. */
FAB_API fab_status fab_vifa_optimum(fab_gauss **q, double *kl, const fab_gauss *p, int64_t K,
                                    int64_t starts, uint64_t seed);

/* ---- defaults ---------------------------------------------------------------------------------- */

/* Fill the first `size` bytes of a method's settings struct with its defaults: all that a caller was compiled with, be it
 * fewer members than the library knows.  Of a method that is not there: zeros. */
FAB_API void fab_method_defaults(const char *method, void *settings, size_t size);

/* The functions above are compiled into the caller, for that is who knows the size of his struct. */
#define FAB_DEFAULTS(settings_, function_, method_) \
    static inline settings_ function_(void)         \
    {                                               \
        settings_ s;                                \
        fab_method_defaults(method_, &s, sizeof s); \
        return s;                                   \
    }
#define FAB_DEFAULTS_OF_RANK(settings_, function_, method_) \
    static inline settings_ function_(int64_t K)            \
    {                                                       \
        settings_ s;                                        \
        fab_method_defaults(method_, &s, sizeof s);         \
        s.K = K;                                            \
        return s;                                           \
    }
#define FAB_DEFAULTS_OF_PARTS(settings_, function_, method_) \
    static inline settings_ function_(int64_t G)             \
    {                                                        \
        settings_ s;                                         \
        fab_method_defaults(method_, &s, sizeof s);          \
        s.G = G;                                             \
        return s;                                            \
    }
#define FAB_DEFAULTS_OF_COST(settings_, function_, method_) \
    static inline settings_ function_(double lambda)        \
    {                                                       \
        settings_ s;                                        \
        fab_method_defaults(method_, &s, sizeof s);         \
        s.lambda = lambda;                                  \
        return s;                                           \
    }

FAB_DEFAULTS(fab_sgd_settings, fab_sgd_defaults, "sgd")
FAB_DEFAULTS_OF_PARTS(fab_kmeans_settings, fab_kmeans_defaults, "kmeans")
FAB_DEFAULTS_OF_PARTS(fab_soft_kmeans_settings, fab_soft_kmeans_defaults, "soft-kmeans")
FAB_DEFAULTS_OF_COST(fab_dpmeans_settings, fab_dpmeans_defaults, "dpmeans")
FAB_DEFAULTS_OF_COST(fab_online_dpmeans_settings, fab_online_dpmeans_defaults, "online-dpmeans")
FAB_DEFAULTS_OF_PARTS(fab_minibatch_kmeans_settings, fab_minibatch_kmeans_defaults,
                      "minibatch-kmeans")
FAB_DEFAULTS_OF_PARTS(fab_mfa_settings, fab_mfa_defaults, "mfa")
FAB_DEFAULTS_OF_PARTS(fab_online_mfa_settings, fab_online_mfa_defaults, "online-mfa")
FAB_DEFAULTS_OF_PARTS(fab_gmm_settings, fab_gmm_defaults, "gmm")
FAB_DEFAULTS_OF_PARTS(fab_online_gmm_settings, fab_online_gmm_defaults, "online-gmm")
FAB_DEFAULTS_OF_PARTS(fab_vbgmm_settings, fab_vbgmm_defaults, "vbgmm")
FAB_DEFAULTS_OF_RANK(fab_online_ml_settings, fab_online_ml_defaults, "online-ml")
FAB_DEFAULTS_OF_RANK(fab_recursive_em_settings, fab_recursive_em_defaults, "recursive-em")
FAB_DEFAULTS_OF_RANK(fab_online_em_settings, fab_online_em_defaults, "online-em")
FAB_DEFAULTS_OF_RANK(fab_stochastic_em_settings, fab_stochastic_em_defaults, "stochastic-em")
FAB_DEFAULTS_OF_RANK(fab_online_sga_settings, fab_online_sga_defaults, "online-sga")
FAB_DEFAULTS_OF_RANK(fab_ml_settings, fab_ml_defaults, "ml")
FAB_DEFAULTS_OF_RANK(fab_em_settings, fab_em_defaults, "em")
FAB_DEFAULTS_OF_RANK(fab_ppca_settings, fab_ppca_defaults, "ppca")
FAB_DEFAULTS_OF_RANK(fab_ppca_settings, fab_pca_defaults, "pca")
FAB_DEFAULTS(fab_exact_settings, fab_exact_defaults, "exact")
FAB_DEFAULTS(fab_cavi_settings, fab_cavi_defaults, "cavi")
FAB_DEFAULTS(fab_gp_settings, fab_gp_defaults, "gp")
FAB_DEFAULTS(fab_kernel_ridge_settings, fab_kernel_ridge_defaults, "kernel-ridge")
FAB_DEFAULTS(fab_vfe_settings, fab_vfe_defaults, "vfe")
FAB_DEFAULTS(fab_vfe_settings, fab_dtc_defaults, "dtc")
FAB_DEFAULTS(fab_vfe_settings, fab_fitc_defaults, "fitc")
FAB_DEFAULTS(fab_spike_slab_settings, fab_spike_slab_defaults, "spike-slab")
FAB_DEFAULTS(fab_erm_settings, fab_erm_defaults, "erm")
FAB_DEFAULTS(fab_erm_settings, fab_lasso_defaults, "lasso")
FAB_DEFAULTS(fab_erm_settings, fab_elastic_net_defaults, "elastic-net")
FAB_DEFAULTS(fab_erm_settings, fab_quantile_defaults, "quantile")
FAB_DEFAULTS(fab_rvga_settings, fab_rvga_defaults, "rvga")
FAB_DEFAULTS(fab_vga_settings, fab_vga_defaults, "vga")
FAB_DEFAULTS(fab_laplace_settings, fab_laplace_defaults, "laplace")
FAB_DEFAULTS_OF_RANK(fab_lrvga_settings, fab_lrvga_defaults, "lrvga")
FAB_DEFAULTS(fab_swa_settings, fab_swa_defaults, "swa")
FAB_DEFAULTS(fab_swag_settings, fab_swag_defaults, "swag")
FAB_DEFAULTS(fab_vogn_settings, fab_vogn_defaults, "vogn")
FAB_DEFAULTS(fab_slang_settings, fab_slang_defaults, "slang")
FAB_DEFAULTS(fab_vifa_settings, fab_vifa_defaults, "vifa")
FAB_DEFAULTS(fab_vifa_settings, fab_meanfield_defaults, "meanfield")

#undef FAB_DEFAULTS
#undef FAB_DEFAULTS_OF_RANK
#undef FAB_DEFAULTS_OF_PARTS
#undef FAB_DEFAULTS_OF_COST

#ifdef __cplusplus
}
#endif
#endif
