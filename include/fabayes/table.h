/* table.h - a regression: fit a table, predict, score and look at the result, all in the user's units.
 *
 *     fab_data houses = {.file = "houses.csv", .columns = {.target = "price"}};     // or .arrays = &a
 *     fab_regression *r;
 *     fab_predictions *p;
 *
 *     fab_regression_fit(&r, &houses, NULL, NULL);              // likelihood and method are chosen
 *     fab_regression_predict(r, &(fab_data){.file = "new.csv"}, NULL, &p);
 *     for (int64_t i = 0; i < p->n; i++) printf("%g, %g to %g\n", p->p[i].mean, p->p[i].lower, p->p[i].upper);
 *     fab_regression_save(r, "houses.safetensors");             // and fab_regression_load reads it
 *     fab_predictions_free(p);
 *     fab_regression_free(r);
 *
 * This is what `fabayes fit`, `update`, `predict`, `score` and `sample` do: the same choices, the same numbers, the
 * same files.  A batch method reads all rows, a stream piece by piece in bounded memory, in the units of its first
 * rows.  fab_regression_fit is made of steps that can be taken one by one:
 *
 *     fab_regression_open(&r, &data, &plan, exec);              // look at the first rows
 *     fab_regression_choose(r);                                 // likelihood, method, the defaults of its settings
 *     fab_regression_set(r, "alpha", "0.1");
 *     fab_regression_run(r);                                    // all rows; saves where the plan says so
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_TABLE_H
#define FABAYES_TABLE_H

#include "fabayes/data.h"
#include "fabayes/fit.h"
#include "fabayes/kernel.h"
#include "fabayes/net.h"
#include "fabayes/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the targets of a likelihood are: it says what units they have, and which scores apply. */
FAB_API fab_target fab_likelihood_target(fab_likelihood l);

/* ---- fit --------------------------------------------------------------------------------------- */

/* What to fit.  A field that is 0 or NULL is chosen from the data, or means its default. */
typedef struct fab_plan {
    /* "linear" (default); "mlp:50" or layers as in net.h; "gp:rbf:ard" or another kernel as in kernel.h; "nystrom:KERNEL:M" or
     * "rff:KERNEL:M", linear in M features of a kernel, rff with ":orthogonal" and ":seed=N" behind it where wanted.  "mlp":
     * the network that predicts rows left out best; "auto": that, or the linear model or (of a small table) a Gaussian process
     * where it is better. */
    const char *model;
    /* "gaussian", "bernoulli", "categorical" or "poisson"; default: two levels bernoulli, other words categorical, else
     * gaussian. */
    const char *likelihood;
    /* Default: exact; vga for classes up to 2000 coordinates P, 100000 rows n and n P^2 of 2e9 (or n of 4 P),
     * laplace where neither is.  Of more than 2000 features (a gaussian target: 5000) these too, but for counts, where the rows
     * end within a gigabyte (2.5e7 numbers) and nothing asks for a stream (checkpoint, resume, scale_rows, scaling, prior,
     * processes); else lrvga.  Networks: ensemble, a gaussian target with nu = 6 and an automatic floor; vifa for other targets of a
     * network whose layers are given. */
    const char *method;
    const char *const *settings; /* of the method: "alpha=0.1", "seed=3", ..; NULL at the end */
    int64_t no_scale;     /* 1: nothing is standardised, the prior acts on the raw coefficients */
    int64_t no_intercept; /* 1: no intercept, and nothing is centred (linear models) */

    /* The noise of a network's gaussian target: */
    const char *noise; /* "fixed", "learned", "output"; default: learned, fixed where beta is set */
    double nu;         /* > 2: Student's t of so many degrees of freedom; default: normal */
    double floor;      /* its least scale, in the user's units; FAB_AUTO_F64: by cross-validation */

    const char *prior; /* a posterior file; of an earlier fit: its posterior, in its units */
    const fab_gauss *prior_gauss; /* or a Gaussian over theta, in fitting units */

    /* Rows that the units of a stream come from; default 1000.  Features of a kernel: what is not given of the kernel comes from
     * them, 2000 at most, and landmarks from at least 1000 and two for each. */
    int64_t scale_rows;
    double memory;      /* bytes that the fit may take; default: what is free */
    const char *output; /* a file to save to */
    int64_t checkpoint; /* save every so many rows of a stream, epochs of a network */
    int64_t resume;     /* 1: go on from the output, where it is there, to the same bytes */
    int64_t whole;      /* 1: read all rows also for a stream: for a search by folds */
    /* of "mlp" and "auto": "quick", "default" or "thorough" (docs/networks.md) */
    const char *effort;
    /* "temperature" (classes) or "conformal": a fifth of the rows is left out of the fit and calibrates its predictions,
     * see fab_calibration.  For a batch method. */
    const char *calibrate;
    /* levels that the coefficients will be asked against (fab_regression_effects): what is none of the columns and levels is
     * refused before anything is fitted; "none" and NULL are taken */
    const char *reference;
    /* The units of a linear model or a network, and the words of its columns, in place of those of its rows; copied.  Its columns are
     * the features, by name and in their order.  Classes are its own where it has some; target, weight and offset may have other
     * names.  Not with no_scale, nor with a prior that has units. */
    const fab_scaling *scaling;
} fab_plan;

typedef struct fab_regression fab_regression;
enum { FAB_SCALE_ROWS = 1000 };

/* Look at the data, choose, fit, save.  Borrows what *d and *p (NULL: zeros) point to during the call; copies *x.
 * Gives *r; on failure *r is NULL and nothing is held. */
FAB_API fab_status fab_regression_fit(fab_regression **r, const fab_data *d, const fab_plan *p,
                                      const fab_exec *x);
FAB_API void fab_regression_free(fab_regression *r); /* takes NULL */

/* The steps.  Open reads the first rows, and looks through the others for the levels of a target that has only one in
 * them.  Borrows what *d and *p point to until run returns.  On failure *r is NULL. */
FAB_API fab_status fab_regression_open(fab_regression **r, const fab_data *d, const fab_plan *p,
                                       const fab_exec *x);
/* Choose likelihood and method, read all rows for a batch method, and set the settings to their defaults and to
 * those of the plan. */
FAB_API fab_status fab_regression_choose(fab_regression *r);
/* A setting from text; or all of them: the struct of fab_regression_method(r) (methods.h).  Lends until free. */
FAB_API fab_status fab_regression_set(fab_regression *r, const char *name, const char *text);
FAB_API void *fab_regression_settings(fab_regression *r);
/* Check settings and plan against one another and find a floor of the noise that is automatic; run does it if need
 * be. */
FAB_API fab_status fab_regression_prepare(fab_regression *r);
/* Take in all rows, and save.  FAB_STOPPED by the progress hook leaves a valid state in the output where there are
 * checkpoints. */
FAB_API fab_status fab_regression_run(fab_regression *r);

/* More rows, of a method that takes a stream, in the units of the first ones.  Nothing is saved. */
FAB_API fab_status fab_regression_update(fab_regression *r, const fab_data *d);

/* ---- files ------------------------------------------------------------------------------------- */

FAB_API fab_status fab_regression_save(fab_regression *r, const char *path);
FAB_API fab_status fab_regression_load(fab_regression **r, const char *path, const fab_exec *x);
/* The bytes of the file that save writes, in memory.  Gives *bytes: fab_bytes_free (files.h). */
FAB_API fab_status fab_regression_pack(fab_regression *r, void **bytes, size_t *size);
/* Load from such bytes, which are copied; `name` speaks in sentences. */
FAB_API fab_status fab_regression_parse(fab_regression **r, const char *name, const void *bytes,
                                        size_t size, const fab_exec *x);
/* The same of a posterior that is open; `name` speaks in sentences.  Borrows p until free. */
FAB_API fab_status fab_regression_take(fab_regression **r, const char *name, const fab_posterior *p,
                                       const fab_exec *x);

/* What a saved file is a posterior of. */
typedef enum fab_kind {
    FAB_KIND_VECTORS = 0, /* no model: the file of a factor analysis, or a bare Gaussian */
    FAB_KIND_LINEAR,      /* a linear or generalised linear model */
    FAB_KIND_NETWORK,
    FAB_KIND_CALLBACK, /* a model of the user's own */
    FAB_KIND_GP,       /* a Gaussian process */
    FAB_KIND_SVM       /* a support vector machine (svm.h): no posterior */
} fab_kind;
FAB_API fab_kind fab_file_kind(const fab_tensors *file);
/* A linear model with its units, as fab_regression_take wants it? */
FAB_API int fab_posterior_is_linear(const fab_posterior *p);

/* ---- predict ----------------------------------------------------------------------------------- */

/* How to predict.  Zeros: the defaults. */
typedef struct fab_predict_plan {
    int64_t with_target; /* 1: read the target too, and score */
    /* 1: a network by its slope at the mean, without draws; so is one of laplace */
    int64_t linearised;
    int64_t samples; /* draws; 0: 100 of a network, and for a linear model a rule without draws */
    int64_t seed;
    /* 1: a word that the fit did not meet is none of the levels of its column: its effect is 0, the mean of the prior.  The
     * variance of that effect is not known (levels are scaled by how frequent they are) and not in the predictions.  0: such a
     * word is refused by row. */
    int64_t unseen;
    int64_t with_cdf; /* 1: `cdf` of the predictions too; with the target, of numbers and counts */
    /* Probability of the intervals of numbers and counts, between 0 and 1; 0: 0.9.  Those of a conformal calibration are of
     * 0.5, 0.9 or 0.95. */
    double level;
    int64_t with_density; /* 1: with the target, log p(y) of each row too */
} fab_predict_plan;

typedef struct fab_predictions {
    int64_t n;         /* rows */
    int64_t dropped;   /* rows left out of scores, for a value that is missing and not filled */
    int64_t classes;   /* of the target; 0: a number or a count */
    fab_prediction *p; /* n; two classes: mean is the probability of the second; more: NULL */
    double *logp;      /* n x classes: log probabilities; NULL: no classes */
    double *y; /* n: the target as in the data, or the number of its class; NULL: not asked for */
    fab_scores scores; /* where it was asked for */
    /* Classes of a conformal calibration: */
    char *set;       /* n x classes: 1: the class is in the 90 % set of its row; else NULL */
    double set_size; /* mean number of classes in a set; else 0 */
    /* Rows that have no prediction, for a feature or an offset that is missing and that the fit does not fill: absent[i] is 1
     * and all numbers of the row are NaN.  NULL: every row has one.  Without a target only; with one such rows are `dropped`. */
    char *absent;
    int64_t absents; /* how many */
    int64_t unseen;  /* words that the fit did not meet, where the plan takes them */
    /* n: where each y stands in its prediction (fab_predict_cdf); NULL: not asked for, or
     * classes */
    double *cdf;
    /* n: log p(y), integrated over theta; its mean is -nll.  NULL: not asked for */
    double *density;
    /* Rows whose variance rounding put below 0, and is 0 then (Gaussian processes). */
    int64_t clipped;
    /* 1: sd is the error of rows left out, the same for every row: a mean alone (mean_only, kernel-ridge). */
    int64_t same_sd;
} fab_predictions;

/* All rows of the data, read piece by piece.  how NULL: zeros.  Gives *p. */
FAB_API fab_status fab_regression_predict(fab_regression *r, const fab_data *d,
                                          const fab_predict_plan *how, fab_predictions **p);
FAB_API void fab_predictions_free(fab_predictions *p); /* takes NULL */
/* The probability of class c in row i. */
FAB_API double fab_predictions_probability(const fab_predictions *p, int64_t i, int64_t c);
/* The most probable class of row i; -1: it has no prediction. */
FAB_API int64_t fab_predictions_class(const fab_predictions *p, int64_t i);
/* Only the scores; *dropped (or NULL): rows left out. */
FAB_API fab_status fab_regression_score(fab_regression *r, const fab_data *d,
                                        const fab_predict_plan *how, fab_scores *s,
                                        int64_t *dropped);
/* Selective prediction: the error of the rows that are left when the share `left`, 0 <= left < 1, of the most uncertain
 * ones goes to a person.  *error is the rmse of a number or a count, whose uncertainty is its sd; of classes 1 -
 * accuracy, and uncertainty is one minus the largest probability.  Of rows that are equally uncertain the mean counts.
 * The predictions were made with the target. */
FAB_API fab_status fab_predictions_selective(const fab_predictions *p, double left, double *error);

/* ---- curves ------------------------------------------------------------------------------------ */

/* How well predictions that were made with the target hold, as curves and tables to look at (`fabayes report`). */

/* Of numbers and counts, with `cdf`: the share of rows whose y is inside the central interval of each level, 0 <= level <= 1;
 * the share whose y is below each quantile.  Densities count, also where a conformal calibration has other intervals.
 * *chance (n, or NULL): a share that is right has a level -+ chance in 9 of 10 tables of as many rows. */
FAB_API fab_status fab_predictions_coverage(const fab_predictions *p, int64_t n,
                                            const double *level, double *share, double *chance);
FAB_API fab_status fab_predictions_below(const fab_predictions *p, int64_t n, const double *level,
                                         double *share, double *chance);

/* Of classes: how often a row of class i has class j as its likeliest (of two that are alike the second, of more the first,
 * as accuracy has it): count, classes x classes. */
FAB_API fab_status fab_predictions_confusion(const fab_predictions *p, int64_t *count);

/* Of classes: rows by the probability of their likeliest class, in the bins of `ece`, which is the sum of
 * n |right - probability| over the number of rows. */
typedef struct fab_reliability {
    int64_t n;          /* rows in the bin */
    double probability; /* their mean; NaN where there is none */
    double right;       /* the share of them that is of that class */
} fab_reliability;
enum { FAB_RELIABILITY_BINS = 15 };
FAB_API fab_status fab_predictions_reliability(const fab_predictions *p,
                                               fab_reliability bin[FAB_RELIABILITY_BINS]);

/* Class `c` against all others: the share of the others (x) and of its own rows (y) whose probability is at or above a limit that
 * falls, from (0, 0) to (1, 1).  Rows of one probability are one step.  The area is that of all steps; points that are closer
 * than 1/500 to the one before are left out.  FAB_BAD_DATA where a side has no rows.  Gives *r. */
typedef struct fab_roc {
    int64_t n;
    double *x, *y; /* n each */
    double area;
} fab_roc;
FAB_API fab_status fab_predictions_roc(const fab_predictions *p, int64_t c, fab_roc **r);
FAB_API void fab_roc_free(fab_roc *r); /* takes NULL */

/* ---- calibrate --------------------------------------------------------------------------------- */

/* What rows left out of the fit (random ones, a fifth of all and at least FAB_CALIBRATION_ROWS, while as many are left
 * for the fit) say of its predictions.  It is stored in the file, and predictions and scores obey it.
 *
 * "temperature": log probabilities of classes are divided by T and normalised again; T maximises the log probability of
 * the rows left out.  But below 1 it falls only until the mean probability of an error is 1 / (rows + 2), the rule of
 * succession: rows that are all predicted right would ask for T = 0.
 *
 * "conformal": intervals and sets that hold the target of a new row, drawn as these rows were, with at least the stated
 * probability, whatever the model.  Score of a row: |y - mean| / sd, of classes -log p(y).  The quantile of level a is
 * the k-th smallest score of n, k = ceil((n + 1) a); the probability given these rows has the distribution
 * Beta(k, n + 1 - k).  Intervals: mean -+ quantile x sd (counts: rounded outwards, not below 0): lower and upper, and
 * the coverages of fab_scores.  Sets: the likeliest class and all classes whose score is within the quantile of 90 %;
 * coverage90 of fab_scores is that of the sets.  Densities and probabilities stay as they are.  The guarantee is of
 * predictions as they are by default: samples, seed and linearised are refused. */
typedef struct fab_calibration {
    const char *way;       /* "temperature" or "conformal"; NULL: there is none */
    int64_t rows;          /* left out of the fit */
    double temperature;    /* of conformal 0 */
    double temperature_sd; /* its standard error; 0 where it is limited */
    int64_t limited;       /* 1: the temperature is that of the rule of succession */
    double quantile[3];    /* of 50, 90 and 95 %; of temperature 0 */
} fab_calibration;
enum { FAB_CALIBRATION_ROWS = 19 }; /* the least number that has a quantile of 95 % */
/* Of a fit or a file. */
FAB_API fab_calibration fab_regression_calibration(const fab_regression *r);

/* ---- look at it -------------------------------------------------------------------------------- */

FAB_API const fab_method *fab_regression_method(const fab_regression *r);
/* 1: a network, or a method that takes any model as one. */
FAB_API int fab_regression_is_network(const fab_regression *r);
/* 1: a Gaussian process. */
FAB_API int fab_regression_is_process(const fab_regression *r);
/* 1: a linear model of columns; 0: a network, a Gaussian process, or features of a kernel, whose weights say nothing by
 * themselves. */
FAB_API int fab_regression_has_coefficients(const fab_regression *r);
/* Features of a kernel: what was found of it, zeros of a file and where all of it was given. */
typedef struct fab_map_report {
    int64_t rows; /* whose evidence was maximised; 0: none */
    double lml,
        noise; /* their log evidence; variance of the noise there, in fitting units (1: given by the likelihood) */
    int64_t at_bound;  /* parameters that end at a bound */
    int64_t optima;    /* ends of the searches that differ */
    int64_t converged; /* 1: the best search ended by its tolerance */
    /* nystrom: mean of k(x, x) - q(x, x) at the rows that landmarks come from and are not */
    double left;
} fab_map_report;
FAB_API fab_map_report fab_regression_map(const fab_regression *r);
/* The target's likelihood, features, classes; after a fit beta too, of a linear model in the user's units. */
FAB_API fab_status fab_regression_model(fab_regression *r, fab_glm *m);
/* Columns, levels and units.  Lends until free; NULL before run. */
FAB_API const fab_scaling *fab_regression_scaling(const fab_regression *r);
/* The table of the columns, with their words; before run with the rows at hand, in the user's units.  Lends until run,
 * update or free; NULL of a file. */
FAB_API const fab_dataset *fab_regression_table(const fab_regression *r);

/* Length of theta. */
FAB_API int64_t fab_regression_size(const fab_regression *r);
/* The coefficients of a linear model: means and standard deviations, fab_regression_size(r) each: those of the
 * features, then the intercept, class after class. */
FAB_API fab_status fab_regression_coefficients(fab_regression *r, double *mean, double *sd);
/* The same against reference levels, "district=hill" or several, separated by commas, by the joint posterior: a coefficient of
 * another level of the column is its difference to that of the reference, the intercept (of an interaction: the slope without
 * the column) is that of the reference level, and the reference's own are 0 with an sd of 0.  The fit is the same whatever the
 * reference.  At most FAB_DENSE_MAX features. */
FAB_API fab_status fab_regression_contrasts(fab_regression *r, const char *reference, double *mean,
                                            double *sd);
/* The same as a person reads them: with central intervals of probability `level`, against reference levels (NULL: none), and
 * *order (or NULL): all of them, the strongest first: the largest |mean| / sd; intercepts come last.  e, order:
 * fab_regression_size(r) each. */
typedef struct fab_effect {
    double mean, sd, lower, upper;
    /* standard deviation of the feature in the fit, 1 where nothing is standardised; of an
     * intercept 0 */
    double step;
} fab_effect;
FAB_API fab_status fab_regression_effects(fab_regression *r, const char *reference, double level,
                                          fab_effect *e, int64_t *order);
/* References for a person who names none: the first level of every column of words, where something can take it up.  NULL:
 * there is none, or the coefficients are many.  Gives a string: fab_text_free. */
FAB_API fab_status fab_regression_reference(fab_regression *r, char **text);

/* What is asked first of a linear model, of a fit or a file.  What is not known is NaN: of a stream, whose rows are gone,
 * and of files that do not say it. */
typedef struct fab_summary {
    const char *method, *likelihood; /* method NULL: of a file that says none */
    int64_t rows;                    /* in the fit */
    int64_t dropped;                 /* rows left out for a value that is missing */
    int64_t guessed;                 /* 1: the likelihood, from the values of the target */
    int64_t known;                   /* 1: dropped, guessed and what follows are known */
    double noise; /* a number: sd of y around its mean, in the units of y; else NaN */
    /* Of the rows of the fit, at the posterior mean.  A number: R^2; others: the share of the deviance that is explained.
     * Both against the best constant, without an intercept against 0, as lm and glm of R have it. */
    double explained;
    double accuracy; /* classes: the share of rows whose likeliest class is theirs */
    double frequent; /* classes: the share of the most frequent one, which a constant would reach */
    int64_t method_chosen, alpha_chosen; /* 1: nobody named it */
    double alpha;                        /* precision of the prior, in fitting units */
} fab_summary;
FAB_API fab_status fab_regression_summary(fab_regression *r, fab_summary *f);

/* What a Gaussian process has learned, of a fit or a file. */
typedef struct fab_process_parameter {
    const char *name;   /* "s2", "l", .. as in kernel.h; "noise": its variance */
    const char *kernel; /* "rbf", ..; of an s2 the text of its term; of the noise "" */
    const char *column; /* of a length-scale of its own: the feature; otherwise NULL */
    double theta;       /* in fitting units */
    /* In the user's units; of what belongs to several features of different scales: theta. */
    double value;
    /* Of a length-scale of its own 1 / theta, how much a step of one standard deviation matters; otherwise NaN. */
    double relevance;
    int64_t fixed;    /* 1: given */
    int64_t at_bound; /* 1: the search ended at the end of its range */
} fab_process_parameter;

typedef struct fab_process_summary {
    const char *kernel;                     /* its text */
    int64_t rows;                           /* learned and appended */
    double lml;                             /* log p(y) of all rows, in fitting units */
    double jitter;                          /* added to the diagonal, for a factor; or 0 */
    int64_t searched;                       /* rows that the parameters were looked for on */
    int64_t starts, optima;                 /* searches; ends of them that differ */
    double second;                          /* log p(y) of the next best end; NaN: there is one */
    int64_t n;                              /* parameters, */
    const fab_process_parameter *parameter; /* n */
    const int64_t *order; /* n: those with a relevance in front, the largest first */
    const char *found;    /* fab_kernel_describe: its text with every parameter, in fitting units */
    /* In the space of parameters, that predictions are a mixture of; 1: the one that is said here. */
    int64_t places;
    /* "lml"; through inducing inputs "bound" (vfe) or "approximate_lml" (dtc, fitc): what lml is here, and second of the
     * exact search before */
    const char *objective;
    int64_t inducing, asked; /* inputs, and those asked for; 0: it is exact */
    int64_t steps;           /* evaluations of the objective on all rows */
} fab_process_summary;
/* Lends *s until the next call with this regression, update or free.  FAB_UNSUPPORTED: it is none. */
FAB_API fab_status fab_regression_process(fab_regression *r, const fab_process_summary **s);

/* log p(y) of all rows of a Gaussian process of a number, in fitting units, under theta: fab_regression_size(r) logarithms, of the
 * parameters of the kernel and then of the precision of the noise; NULL: those that were found.  *gradient by them, as many (or
 * NULL).  The fit stays as it is.  FAB_UNSUPPORTED: another model. */
FAB_API fab_status fab_regression_evidence(fab_regression *r, const double *theta, double *lml,
                                           double *gradient);

/* The name of coefficient i (NULL: there is none), and the class it belongs to (NULL: there is one
 * predictor).  Lends until free; writes into buf where it must. */
FAB_API const char *fab_regression_coefficient_name(fab_regression *r, int64_t i);
FAB_API const char *fab_regression_coefficient_class(fab_regression *r, int64_t i, char buf[32]);

/* What the predictions do when one column of numbers moves from two standard deviations below its mean to two above, while
 * the other columns are at their mean, or their most frequent word. */
typedef struct fab_profile {
    const char *column; /* lent by the regression */
    int64_t n;
    double *x;          /* n: the values of the column */
    fab_predictions *p; /* of these rows */
} fab_profile;
/* The column along which the predictions move most, by their largest minus their least mean (of classes: probability of any
 * class); n >= 2 points of it.  FAB_UNSUPPORTED, with a sentence, where there is none: no column of numbers, features made by a
 * formula, nothing standardised.  Gives *f. */
FAB_API fab_status fab_regression_profile(fab_regression *r, int64_t n, fab_profile **f);
FAB_API void fab_profile_free(fab_profile *f); /* takes NULL */

/* Draws number first .. first + n - 1 of theta, one per row of `out`, ld elements of `type` apart; of a linear
 * model in the user's units.  A draw has the same bits whichever call makes it. */
FAB_API fab_status fab_regression_sample(fab_regression *r, uint64_t seed, int64_t first, int64_t n,
                                         fab_dtype type, void *out, int64_t ld);
/* Functions of a Gaussian process at all rows of the data, jointly: draws number first .. first + n - 1 of its predictor (of a
 * number f in the user's units, without noise), n x *rows.  Of more than two classes each row has a predictor for each class, row
 * by row, and *rows counts all.  Memory 8 bytes times the square of *rows.  Gives *draws:
 * fab_bytes_free. */
FAB_API fab_status fab_regression_functions(fab_regression *r, const fab_data *d, uint64_t seed,
                                            int64_t first, int64_t n, double **draws,
                                            int64_t *rows);
/* A Gaussian process of a number: mean and covariance of y at all rows of the data, jointly, each with its noise (that of weight 1):
 * *mean has *rows numbers, *covariance their square.  Gives both: fab_bytes_free. */
FAB_API fab_status fab_regression_joint(fab_regression *r, const fab_data *d, double **mean,
                                        double **covariance, int64_t *rows);
/* The Gaussian of a linear model in the user's units.  Means of columns mix every coefficient into the intercept:
 * that is done densely, and FAB_UNSUPPORTED above FAB_DENSE_MAX coordinates.  Gives *g. */
FAB_API fab_status fab_regression_gauss(fab_regression *r, fab_gauss **g);

/* A column that names the rows and says nothing of them: as many words as rows, nearly (docs/data.md has the rule), or whole
 * numbers, all different, under a name that says so.  It is left out, unless the call names it (columns.only, a formula,
 * categorical); numbers that only look so stay, and are remarked. */
typedef struct fab_key {
    const char *column;
    int64_t number;   /* of the column in the data */
    int64_t levels;   /* words in the rows at hand; 0: numbers */
    int64_t rows;     /* at hand, that have a value */
    int64_t left_out; /* 0: it stays */
} fab_key;
/* How many, and *key: lends until free.  From open on. */
FAB_API int64_t fab_regression_keys(const fab_regression *r, const fab_key **key);

/* How good a stream is while it goes: rows are predicted before they are learned (test, then train).  The Gaussian of the rows
 * so far predicts those that follow, from row 64 on (of vectors from the power of two at or above 8 D and 64); it is taken
 * anew at rows 64, 128, 256, .. and from 65536 on every eighth more (of vectors after 4 times the rows, 8 times where D >
 * 256).  Of long streams a sample of the rows is scored, the same for any number of threads and any way to read them.  Units
 * (means and scales) are those of the first rows of all.  Weights of rows do not count. */
typedef struct fab_stream_score {
    int64_t rows; /* rows of the stream that it stands for */
    /* rows scored; 0: nothing was, and the numbers below are NaN, as those that do not apply */
    int64_t scored;
    int64_t lost; /* rows whose density was no finite number: in none of the means */
    /* mean log p(y) under the rows before, in the user's units; of vectors log p(x) */
    double log_density;
    double log_density_se; /* its standard error, were the rows independent */
    double rmse;           /* of numbers */
    double coverage90;     /* of numbers: share inside the 90 % interval */
    double error;          /* of classes: share whose likeliest class is another */
} fab_stream_score;

typedef struct fab_stream_point {
    int64_t seen;           /* rows before those scored, */
    fab_stream_score score; /* until the next point */
} fab_stream_point;

typedef struct fab_stream_scores {
    const char *of;       /* "numbers", "counts", "classes" or "vectors" */
    int64_t from;         /* rows that are learned before the first one is scored; of a file 0 */
    fab_stream_score all; /* since the first row that was scored, over all calls */
    fab_stream_score first, recent; /* the first half of it; the last tenth, or somewhat more */
    /* rows of this call: those of an update under what the file knew before; of a file none */
    fab_stream_score call;
    /* 1: the recent log density is lower than that of the first half by more than 0.05 and 4
     * standard errors: the stream drifts, or its rows have an order */
    int64_t worse;
    int64_t points;                /* the learning curve */
    const fab_stream_point *point; /* points */
} fab_stream_scores;

/* Those that a file has: a stream of fab_regression_* or fab_factors_*.  Gives *s; NULL: it has none. */
FAB_API fab_status fab_stream_scores_read(fab_stream_scores **s, const fab_tensors *file);
FAB_API void fab_stream_scores_free(fab_stream_scores *s); /* takes NULL */

/* What there is to say of a fit.  Texts and lists lend until the next call with this regression. */
typedef struct fab_table_report {
    const char *method, *likelihood;
    int64_t guessed;       /* 1: the likelihood, from the values of the target */
    int64_t D, K;          /* features; rank of the posterior */
    int64_t rows, dropped; /* of this call: read, and left out for a value that is missing */
    fab_report fit;        /* rows in all, iterations, precisions in fitting units, .. */
    double loglik_mean;    /* mean log p(y | x, the posterior mean), in the user's units, or NaN */
    /* what is suspicious about the order of a stream, without a full stop; or NULL */
    const char *order;
    int64_t counts;    /* 1: the target is small whole numbers that vary as counts do */
    int64_t constants; /* columns that hardly vary, whose coefficients are left to the prior */
    const char *const *constant; /* their names */
    int64_t parameters;          /* of a network; otherwise 0 */
    double floor, density;       /* of its noise: see fab_recipe_noise; 0: none */
    double bytes;                /* that the method needs; 0: not known */
    /* a target taken for a number has so few whole numbers, 3 to 20, that they could be classes;
     * or 0 */
    int64_t levels;
    /* of counts, all rows at hand: sum of (y - mean)^2 / variance over rows less coordinates; or
     * NaN */
    double dispersion;
    /* 1: a poisson target is spread so much more that negative-binomial is worth a try */
    int64_t spread;
    /* 1: a stream of counts that were all 0: nothing says how small their rate is, and
     * predictions are no use */
    int64_t zeros;
    /* of a stream; NULL: a batch method, or a network's first rows */
    const fab_stream_scores *stream;
    /* 1: exact, the default, has so many features for its rows that spike-slab is worth a try */
    int64_t wide;
} fab_table_report;
FAB_API fab_status fab_regression_report(fab_regression *r, fab_table_report *f);
/* What the method of a fit made here has beside the posterior (fab_fit_tensors), feature by feature as in the report.  Lends
 * until the next update or free. */
FAB_API fab_status fab_regression_tensors(fab_regression *r, const fab_tensors **t);

/* What a search for a network has tried, in this order: a linear model, or layers with alpha and epochs. */
typedef struct fab_model_trial {
    const char *model;
    double alpha;   /* 0: a linear model */
    int64_t epochs; /* 0: a linear model */
    double density; /* mean log density of the rows left out, in the user's units */
    int64_t failed; /* 1: it could not be fitted; density is -INFINITY */
    int64_t chosen; /* 1: this one was fitted to all rows */
    int64_t steps;  /* 1: values of a column that come again are features */
} fab_model_trial;
/* How many, and *c: lends until free.  0: model and method were given. */
FAB_API int64_t fab_regression_candidates(const fab_regression *r, const fab_model_trial **c);

/* The settings as they were in force, as JSON; the layers of a network as text (NULL: none).  Give strings:
 * fab_text_free. */
FAB_API fab_status fab_regression_settings_json(fab_regression *r, char **text);
FAB_API fab_status fab_regression_layers(const fab_regression *r, char **text);
/* The settings of the inference: those that were auto as the method chose them for the model.  Lends until free. */
FAB_API const void *fab_regression_chosen(const fab_regression *r);

/* What was too large for plan.memory, or for what is free, when a step failed with FAB_NO_MEMORY. */
typedef enum fab_large { FAB_LARGE_NOTHING = 0, FAB_LARGE_TABLE, FAB_LARGE_METHOD } fab_large;
/* *needed and *limit: bytes. */
FAB_API fab_large fab_regression_too_large(const fab_regression *r, double *needed, double *limit);

/* ---- merge ------------------------------------------------------------------------------------- */

/* Posteriors that were learned apart, each from its own rows, become one: that of all rows.
 *
 *     fab_posterior_load(&p[0], "a.safetensors");
 *     fab_posterior_load(&p[1], "b.safetensors");
 *     fab_merge(&all, (const char *[]){"a", "b"}, p, 2, NULL, NULL, &report);
 *     fab_tensors_write(all->file, "all.safetensors");          // a file as those are
 *     fab_posterior_free(all);
 */
typedef enum fab_merge_way {
    FAB_MERGE_STATES =
        0, /* the states of streams add up: exactly what one pass over all rows keeps, and it goes on from there */
    FAB_MERGE_MOMENTS, /* mean and covariance of all parts together, cut to K factors */
    /* of `exact`: the moments of the rows, which each posterior still knows; they are fitted again, in the units of all rows */
    FAB_MERGE_ROWS,
    FAB_MERGE_PRODUCT, /* posteriors multiply, and the prior counts once */
    FAB_MERGE_MIXTURE /* of networks, whose posteriors are of different modes: all of them, with equal weights */
} fab_merge_way;

/* "states", "moments", "rows", "product", "mixture". */
FAB_API const char *fab_merge_way_name(fab_merge_way way);

/* Zeros: the defaults. */
typedef struct fab_merge_plan {
    int64_t K; /* columns of F at most; 0: as many as the part that has most */
    /* Prior precision of the coefficients afterwards; 0: that of the parts where it was given and is the same, and otherwise
     * found by the evidence, as the fit of all rows does (rows), or between the least and the greatest of the parts (product). */
    double alpha;
} fab_merge_plan;

typedef struct fab_merge_report {
    fab_kind kind;
    fab_merge_way way;
    int64_t parts;
    double n; /* rows of all parts, or the sum of their weights */
    int64_t D, K;
    double alpha, beta;   /* of a linear model, afterwards; else NaN */
    int64_t alpha_chosen; /* 1: by the merge */
    /* What the cut to K columns lost: KL in nats of the posterior with all columns from it; 0: nothing was cut */
    double kl;
} fab_merge_report;

/* Merge n >= 2 posteriors, which `name` names in sentences.  Any order and grouping gives the same where nothing is cut, but for
 * rounding.  Refused where they are not of one kind, of the same columns, or in units that cannot be brought together.
 * Posteriors of overlapping rows count these twice, and nobody can see it.  plan, x and report may be NULL.  Gives *out. */
FAB_API fab_status fab_merge(fab_posterior **out, const char *const *name,
                             const fab_posterior *const *part, int64_t n,
                             const fab_merge_plan *plan, const fab_exec *x,
                             fab_merge_report *report);

/* ---- folds ------------------------------------------------------------------------------------- */

/* A fit without its data and settings: what every fold of a search shares.
 *
 *     fab_fold *f;
 *     fab_fold_create(&f, &recipe, table, train, n_train, test, n_test);   // scaled by the training rows
 *     fab_fold_score(f, &recipe, &settings, NULL, &scores);
 *     fab_fold_free(f); */
typedef struct fab_recipe {
    const fab_method *method;
    const char *layers; /* of a network; NULL: a linear model */
    fab_noise noise;    /* of a network with a gaussian target */
    double nu, floor;   /* as in fab_net_plan, the floor in the user's units */
    fab_likelihood likelihood;
    int64_t standardise, intercept;
    int64_t samples; /* draws of theta for the predictions of a network; 0: linearised */
    /* 1: values of a column that come again are features (fab_scaling_create_steps) */
    int64_t steps;
    const char *kernel; /* of a Gaussian process; otherwise NULL */
    /* "nystrom:rbf:500", ..: of a linear model, as in fab_plan.model; NULL: none */
    const char *features;
} fab_recipe;

/* That of a regression which was prepared.  Borrows the plan's texts. */
FAB_API fab_recipe fab_regression_recipe(const fab_regression *r);

typedef struct fab_fold fab_fold;

/* Copies the rows numbered in train and test, in the units of the training rows.  Gives *f. */
FAB_API fab_status fab_fold_create(fab_fold **f, const fab_recipe *r, const fab_dataset *t,
                                   const int64_t *train, int64_t n_train, const int64_t *test,
                                   int64_t n_test);
FAB_API void fab_fold_free(fab_fold *f); /* takes NULL */

/* Fit the training rows with these settings, the struct of the method, on one thread, and
 * score the test rows.  Of *x its progress and log count alone. */
FAB_API fab_status fab_fold_score(const fab_fold *f, const fab_recipe *r, const void *settings,
                                  const fab_exec *x, fab_scores *s);

/* The scale of the noise of a network's gaussian target, in the user's units, under which the rows left out of
 * `folds` fits have the highest mean log density: a floor for the noise of a fit of all rows.  *density: that
 * density.  Folds are fitted side by side on the threads of *x; the result is the same for any number. */
FAB_API fab_status fab_recipe_noise(const fab_recipe *r, const void *settings, const fab_dataset *t,
                                    int64_t folds, uint64_t seed, const fab_exec *x, double *scale,
                                    double *density);
/* Folds of a floor that is automatic: so many rows it needs at least. */
enum { FAB_FLOOR_FOLDS = 5 };

/* ---- factor analysis of a table -------------------------------------------------------------------- */

/* The Gaussian of the rows of a table, with K factors or as many as BIC wants.
 *
 *     fab_factors *f;
 *     const fab_gauss *q;
 *     fab_source_open(&source, "rows.csv", NULL);
 *     fab_factors_create(&f, &(fab_factors_plan){.source = source, .K = 3}, NULL);
 *     fab_factors_read(f);                             // all rows of the source
 *     fab_factors_result(f, &q);                       // q->mu, q->F, q->psi
 *     fab_factors_save(f, "q.safetensors");            // and fab_factors_load goes on from there
 *     fab_factors_free(f);
 *
 * A stream is read piece by piece in bounded memory; a batch method gets its table whole, and is refused with the
 * number of bytes as soon as table and work do not fit.  A coordinate is a column; weights and the label of a libsvm
 * file are none.  Rows of a libsvm file stay sparse. */

/* What becomes of a row with a missing value, NaN; the source, where there is one, was opened with `missing` for the last
 * two. */
typedef enum fab_factors_missing {
    FAB_FACTORS_REFUSE = 0,
    FAB_FACTORS_DROP, /* left out and counted */
    FAB_FACTORS_EM    /* the likelihood of the values that are there, by EM: method em */
} fab_factors_missing;

typedef struct fab_factors_plan {
    fab_source *source; /* the rows; borrowed until free.  NULL: they come by fab_factors_update */
    int64_t D;          /* then: coordinates of a row */
    const char *method; /* NULL: fab_factors_default(D) */
    const void *settings; /* the struct of the method (methods.h), copied; NULL: defaults */
    size_t size;          /* of it; a shorter one gets defaults for its tail */
    int64_t K;            /* factors; FAB_AUTO_I64: by BIC (gauss.h); 0: as the settings say */
    int64_t max_factors;  /* by BIC: candidates up to this; 0: what D can tell apart, 32 at most */
    double memory;        /* bytes that the fit may take; 0: what is free */
    const char *output;   /* file of the checkpoints; copied */
    int64_t checkpoint;   /* rows of a stream between them; 0: none */
    /* Column of the weights (a name, a 0-based number or "last"), numbers >= 0: a row of weight w counts as w of them, one of 0 is absent.
     * NULL: all are 1; of a file that goes on: the column of that name again.  Of a libsvm file: "label". */
    const char *weight;
    fab_factors_missing missing;
} fab_factors_plan;

typedef struct fab_factors fab_factors;

/* The method for a D when none is named: online-ml, the maximum itself, up to FAB_FACTORS_SCATTER columns; above it
 * recursive-em, whose memory is linear in D.  At D = 1000 the scatter matrix and its work take 60 MB, and a row costs
 * both methods the same. */
enum { FAB_FACTORS_SCATTER = 1000 };
FAB_API const char *fab_factors_default(int64_t D);

/* A factor analysis without rows.  Gives *f; on failure *f is NULL. */
FAB_API fab_status fab_factors_create(fab_factors **f, const fab_factors_plan *p,
                                      const fab_exec *x);
/* Go on with the stream saved in `path` with more rows: method, settings and K are those of the file, and p says
 * where rows come from and what they may take.  D and the names of the columns are those of the file, or refused.
 * Metadata of the file that is not ours is kept. */
FAB_API fab_status fab_factors_load(fab_factors **f, const fab_factors_plan *p, const char *path,
                                    const fab_exec *x);
/* Go on with a checkpoint of the very fit that p describes: the rows that it has seen are passed over in the source.
 * A method or setting that differs is refused by name. */
FAB_API fab_status fab_factors_resume(fab_factors **f, const fab_factors_plan *p, const char *path,
                                      const fab_exec *x);
FAB_API void fab_factors_free(fab_factors *f); /* takes NULL */

/* Why the number of factors cannot be chosen by BIC, as the end of a sentence ("learns one rank in a pass"); NULL: it
 * can. */
FAB_API const char *fab_factors_lacks(const fab_method *m);

/* All rows that the source still has. */
FAB_API fab_status fab_factors_read(fab_factors *f);
/* Rows in memory, dense or sparse, and their weights (NULL: 1).  A batch method takes its whole table in one update and
 * borrows both until free. */
FAB_API fab_status fab_factors_update(fab_factors *f, const fab_rows *rows, const double *weight);
/* The Gaussian of the rows so far; the first call chooses the number of factors where BIC is to, and it stays.  More
 * rows than factors are needed, and at least 2.  Lends until the next rows or free. */
FAB_API fab_status fab_factors_result(fab_factors *f, const fab_gauss **q);
/* With a comm in its fab_exec, f has the coordinates of one process, and the result is that process's part; its source was opened
 * and fab_source_share called.  After this call, to which all processes come, the first one has the Gaussian, the report and the names of all, and
 * everything below works there as if it were alone; the others are done.  Alone: nothing. */
FAB_API fab_status fab_factors_gather(fab_factors *f);
/* Instead of gathering: each process (`rank` 0, 1, ..) writes its coordinates to a file of its own, and the first one the index
 * `path`, NAME.safetensors.index.json, by which everything here reads them.  All processes come here. */
FAB_API fab_status fab_factors_save_shards(fab_factors *f, int64_t rank, const char *path);
/* Save Gaussian, settings, names and, for a stream, the state to go on from (what was gathered has none).  Atomic. */
FAB_API fab_status fab_factors_save(fab_factors *f, const char *path);
/* The bytes of that file in memory.  Gives *bytes: fab_bytes_free (files.h). */
FAB_API fab_status fab_factors_pack(fab_factors *f, void **bytes, size_t *size);
/* Keep the state of a stream as it is now, a copy of it alone that is made without its result, and go back to it: the rows since are
 * not there, whatever became of them (a stop in their middle).  As long as f its memory is held, and used again; back may be
 * called once for each keep. */
FAB_API fab_status fab_factors_keep(fab_factors *f);
FAB_API fab_status fab_factors_back(fab_factors *f);
/* fab_factors_load from such bytes, which are copied; `name` speaks in sentences. */
FAB_API fab_status fab_factors_parse(fab_factors **f, const fab_factors_plan *p, const char *name,
                                     const void *bytes, size_t size, const fab_exec *x);

/* What happened; computes the result when that is not there yet. */
typedef struct fab_fa_report {
    int64_t n;           /* rows seen in all */
    int64_t before;      /* of them, by the file that was loaded */
    int64_t dropped;     /* rows left out for a value that is missing */
    int64_t iterations;  /* of a batch method or online-ml; 0 for other streams */
    int64_t converged;   /* 1 yes, 0 stopped at max_iter, -1 does not apply */
    int64_t floored;     /* coordinates whose psi stands at its floor */
    double loglik_mean;  /* mean log-likelihood per row where the method knows it, else NaN */
    double seconds;      /* for the rows and the choice of K */
    int64_t loglik_rows; /* rows that loglik_mean is of: n, or fewer, drawn at random from all */
    double loglik_se;    /* then its standard error as that of all rows; 0 where all are in it */
    /* Do K factors do?  The likelihood ratio against any covariance with Bartlett's correction,
     *     chi_square = 2 (n - 1 - (2 D + 5) / 6 - 2 K / 3) (saturated - loglik_mean),
     * of dof = ((D - K)^2 - D - K) / 2 degrees of freedom, and the probability of a larger one; the root mean square
     * error of approximation sqrt(max(0, x / (dof (n - 1)) - 1 / (n - 1))), x = 2 (n - 1)(saturated - loglik_mean), with
     * its 90 % interval.  Maximum likelihood alone (ml, em, online-ml); NaN where dof < 1, rows are no more than D + 1,
     * or a column follows from the others. */
    double chi_square, p_value, rmsea, rmsea_low, rmsea_high;
    int64_t dof;
    double gain; /* as in fab_report */
    /* Of a stream, lent until the next rows; NULL: a batch method, iterates of swag, or K was to be chosen by BIC. */
    const fab_stream_scores *stream;
} fab_fa_report;
FAB_API fab_status fab_factors_report(fab_factors *f, fab_fa_report *r);

/* Bytes that the fit needs, as found when it was last held against the limit. */
FAB_API double fab_factors_bytes(const fab_factors *f);
FAB_API const fab_method *fab_factors_method(const fab_factors *f);
/* Lends until the next rows or free. */
FAB_API const void *fab_factors_settings(const fab_factors *f);
/* The candidates of the search for K; NULL before it and where K was given.  Lends until free. */
FAB_API const fab_bic *fab_factors_search(const fab_factors *f);
/* The name of a coordinate; "?" where the source has none or there is no source.  Lends until the source is closed. */
FAB_API const char *fab_factors_name(const fab_factors *f, int64_t coordinate);
/* Coordinates that were the same in every row since create or load, and how many.  Lends until the next rows. */
FAB_API int64_t fab_factors_constants(const fab_factors *f, const int64_t **coordinate);
/* Coordinates whose psi stands at its floor: some of the `floored` of the report where not all can be told.  Lends
 * *coordinate, *n numbers, until the next rows. */
FAB_API fab_status fab_factors_floored(fab_factors *f, const int64_t **coordinate, int64_t *n);

/* Loadings as a person reads them: of coordinates divided by their standard deviations (D x K); the share of each
 * coordinate's variance that no factor explains, psi over the variance (D); the variance of all coordinates that each factor
 * explains (K), of D in all; and an order (D): the coordinates of the first factor, on which they load with 0.5 or more, the
 * largest first; those of the second, ..; those of none. */
FAB_API fab_status fab_factors_loadings(fab_factors *f, const fab_rotation *r, double *loading,
                                        double *uniqueness, double *explained, int64_t *order);

/* A factor analysis that was saved, to look at: its loadings as fab_factors_loadings has them. */
typedef struct fab_factors_view {
    int64_t D, K;
    const fab_gauss *q; /* lent by the posterior */
    fab_rotation *rotation;
    char **name;        /* D; NULL: the file has no names */
    double *loading;    /* D x K */
    double *uniqueness; /* D */
    double *explained;  /* K */
    double *principal;  /* K: what the principal axes explain, of D in all; falling */
    int64_t *order;     /* D */
} fab_factors_view;
/* Of a posterior that is open; `file` speaks in sentences.  Borrows p until free.  FAB_BAD_DATA: the file has no factors.  Gives
 * *v. */
FAB_API fab_status fab_factors_view_open(fab_factors_view **v, const char *file,
                                         const fab_posterior *p, fab_rotation_kind kind);
/* Factor scores of the first rows of a source, `most` at most, into z (most x K); *n: how many.  Its columns are those of the
 * fit, or refused. */
FAB_API fab_status fab_factors_view_scores(const fab_factors_view *v, const char *file,
                                           const fab_posterior *p, fab_source *s, int64_t most,
                                           double *z, int64_t *n);
FAB_API void fab_factors_view_free(fab_factors_view *v); /* takes NULL */

/* Rows of a source that are read at a time: about 8 MB of them. */
FAB_API int64_t fab_factors_piece(const fab_factors *f);
/* Factor scores (fab_solver_scores) of the next rows of a source, a piece of them at most, into z (piece x K);
 * *got = 0 at the end.  Its columns are those of the fit. */
FAB_API fab_status fab_factors_scores(fab_factors *f, const fab_rotation *r, fab_source *s,
                                      double *z, int64_t *got);

/* ---- the clusters of a table ----------------------------------------------------------------------------- */

/* The rows of a table as a mixture with one part for each cluster, in the units of the table.
 *
 *     fab_clusters *f;
 *     const fab_mixture *q;
 *     fab_clusters_create(&f, &(fab_clusters_plan){.source = source, .method = "mfa", .G = 5, .q = 2}, NULL);
 *     fab_clusters_read(f);                            // all rows of the source
 *     fab_clusters_result(f, &q);                      // q->weight[g], q->part[g]
 *     fab_clusters_save(f, "q.safetensors");           // for fab_clusters_view_open; of a stream fab_clusters_load goes on
 *     fab_clusters_free(f); */
typedef struct fab_clusters_plan {
    fab_source *source;   /* the rows; borrowed until free */
    const char *method;   /* NULL: kmeans, or where q is given mfa */
    const void *settings; /* of the method, `size` bytes; NULL: its defaults */
    size_t size;
    int64_t G; /* parts; FAB_AUTO_I64: by BIC, of vbgmm by its bound; 0: as the settings say */
    /* factors of a part, of a method that has such; FAB_AUTO_I64: by BIC; 0: as the settings say */
    int64_t q;
    int64_t most, most_q; /* by BIC: candidates up to these; 0: 10 parts, 5 factors */
    int64_t standardise;  /* 1: columns count in their standard deviations; of a batch method */
    int64_t drop;         /* 1: rows with a missing value are left out; 0: they are refused */
    double memory;        /* bytes; 0: what is free */
    const char *output;   /* file of the checkpoints; copied */
    int64_t checkpoint;   /* rows between them; 0: none */
} fab_clusters_plan;

typedef struct fab_clusters fab_clusters;

/* Nothing is read yet but what the source has read itself.  Gives *f. */
FAB_API fab_status fab_clusters_create(fab_clusters **f, const fab_clusters_plan *p,
                                       const fab_exec *x);
/* Go on from a saved stream with the rows of another source; the file has method and settings. */
FAB_API fab_status fab_clusters_load(fab_clusters **f, const fab_clusters_plan *p, const char *path,
                                     const fab_exec *x);
/* Go on from a file that this same call has made, behind the rows that it has seen. */
FAB_API fab_status fab_clusters_resume(fab_clusters **f, const fab_clusters_plan *p,
                                       const char *path, const fab_exec *x);
FAB_API void fab_clusters_free(fab_clusters *f); /* takes NULL */

/* Read the rest of the source; a batch method then fits it, each candidate where BIC chooses. */
FAB_API fab_status fab_clusters_read(fab_clusters *f);
/* Lends until the next rows or free. */
FAB_API fab_status fab_clusters_result(fab_clusters *f, const fab_mixture **q);
FAB_API fab_status fab_clusters_save(fab_clusters *f, const char *path);

typedef struct fab_clusters_report {
    int64_t n;       /* rows seen in all */
    int64_t before;  /* of them by the file that was loaded */
    int64_t dropped; /* rows left out for a value that is missing */
    int64_t parts;   /* of the result; fewer than asked for where some have died */
    int64_t iterations, converged, floored;
    double gain;
    double loglik_mean;  /* per row in the units of the table; NaN: the method knows none */
    int64_t loglik_rows; /* rows that it is the mean of */
    double cost; /* of clusters around means: sum of squared distances, in the units of the fit */
    double parameters; /* free ones */
    double bic;        /* -2 loglik + parameters log n; of a stream NaN */
    double seconds;
    double bound; /* of the log evidence, in the units of the table; NaN: the method has none */
} fab_clusters_report;
FAB_API fab_status fab_clusters_report_of(fab_clusters *f, fab_clusters_report *r);

/* One that BIC has looked at. */
typedef struct fab_clusters_candidate {
    int64_t G, q;  /* asked for */
    int64_t parts; /* found */
    double loglik_mean, bic;
    /* 1: variances of a cluster stand at their floor, so that the likelihood has no upper limit: taken only where all are so */
    int64_t collapsed;
    int64_t chosen; /* 1: it is the result */
    /* of a method that has a bound, which then decides: that and the logarithm of the number of orders of its parts, which are as
     * many optima; NaN: BIC decides */
    double bound;
} fab_clusters_candidate;
/* How many, in the order that they were tried; 0: nothing was to be chosen.  Lends until free. */
FAB_API int64_t fab_clusters_candidates(const fab_clusters *f, const fab_clusters_candidate **all);
FAB_API const fab_method *fab_clusters_method(const fab_clusters *f);
FAB_API const void *fab_clusters_settings(const fab_clusters *f); /* lends until free */
/* The name of a coordinate; "?" where the source has none.  Lends until the source is closed. */
FAB_API const char *fab_clusters_name(const fab_clusters *f, int64_t coordinate);

/* Rows in the clusters of a file.  Lent until the next rows or free. */
typedef struct fab_clusters_rows {
    int64_t n, G, q;
    const int64_t *cluster; /* n: the likeliest part; of clusters around means the nearest */
    const double *share;    /* n x G: of each part in the row's density; they sum to 1 */
    const double *density;  /* n: log density, in the units of the table */
    const double *scores;   /* n x q: factors of the row in its cluster; NULL: there are none */
    const double *cost;     /* n: squared distance from the mean of its cluster */
} fab_clusters_rows;

typedef struct fab_clusters_view fab_clusters_view;

/* Of a posterior that is open: every mixture of Gaussians over the rows of a table, or one.  `file` speaks in sentences.  Borrows both
 * until free.  Gives *v. */
FAB_API fab_status fab_clusters_view_open(fab_clusters_view **v, const char *file,
                                          const fab_posterior *p, const fab_exec *x);
FAB_API void fab_clusters_view_free(fab_clusters_view *v); /* takes NULL */
/* Factors that fab_clusters_rows has; 0: none. */
FAB_API int64_t fab_clusters_view_factors(const fab_clusters_view *v);
/* BIC of the mixture for n rows of this log-likelihood in all; NaN: the file does not say how it was made. */
FAB_API double fab_clusters_view_bic(const fab_clusters_view *v, double loglik, double n);
/* The next rows of a source; n = 0 at its end.  Its columns are those of the fit, or refused. */
FAB_API fab_status fab_clusters_view_next(fab_clusters_view *v, fab_source *s,
                                          fab_clusters_rows *r);
/* The rows themselves, of the last fab_clusters_view_next.  Lends until the next one or free. */
FAB_API fab_rows fab_clusters_view_rows(const fab_clusters_view *v);
/* Rows in memory, at most 1024 of them. */
FAB_API fab_status fab_clusters_view_assign(fab_clusters_view *v, const fab_rows *x,
                                            fab_clusters_rows *r);

/* How two partitions of n rows agree: the Rand index adjusted for chance (1: the same, 0: as by chance), and the mutual information over
 * the mean of the two entropies (1: the same). */
FAB_API fab_status fab_partitions_compare(int64_t n, const int64_t *a, const int64_t *b,
                                          double *rand, double *information);
/* ---- evidence ---------------------------------------------------------------------------------- */

/* How likely are the rows under a model, its coefficients integrated over their prior?  By importance sampling from a posterior:
 *
 *     fab_importance *e;
 *     fab_regression_importance(r, &(fab_data){.file = "houses.csv"}, NULL, &e);   // the rows that r was fitted to
 *     printf("%g +- %g, k = %g\n", e->log_evidence, e->se, e->k);
 *     fab_importance_free(e);
 *
 * Of draws theta_s of the proposal, the posterior q or a wider one: weights w_s = p(y | theta_s) p(theta_s) / q(theta_s), smoothed
 * (fab_pareto_smooth), and their mean.  The same draws say how well each row is predicted by all others (PSIS-LOO). */
typedef struct fab_importance_plan {
    int64_t samples; /* draws; 0: 4000 */
    int64_t seed;
    /* The proposal: standard deviations over those of the posterior (0: 1), and Student's t of so many degrees of freedom in place of
     * Gaussians (0: Gaussians).  Both 0: the posterior and, where k is above 0.5, also wider = 1.2 with nu = 5; the one of the smaller k
     * is kept. */
    double wider;
    int64_t nu;
    int64_t no_rows; /* 1: rows are not left out, which takes a second pass over them */
} fab_importance_plan;

typedef struct fab_importance {
    int64_t n, dropped; /* rows; left out for a missing value */
    double weight;      /* sum of their weights */
    int64_t D, samples; /* coordinates of theta; draws */
    /* prior precisions of the coefficients, or of all weights of a network, and of intercepts (0: there is none of its own), in
     * fitting units */
    double alpha, intercept_alpha;
    /* log p(y), in the user's units, with its standard error; effective number of draws; fab_pareto_smooth */
    double log_evidence, se, ess, k;
    double wider; /* the proposal */
    int64_t nu;
    /* Sum of log p(y_i | all other rows), its standard error; effective number of parameters; rows whose k is above 0.7.
     * NaN where rows are not left out. */
    double elpd, elpd_se, p_loo;
    int64_t bad;
    double *row_elpd, *row_k; /* n each; or NULL */
} fab_importance;

/* Refused where the prior is not known or no Gaussian of precision alpha, and of a posterior that is a point, over the last layer, or of a
 * process, whose evidence is exact.  *d: the rows of the fit; all of them are held in memory.  how NULL: zeros.  Gives *e. */
FAB_API fab_status fab_regression_importance(fab_regression *r, const fab_data *d,
                                             const fab_importance_plan *how, fab_importance **e);
FAB_API void fab_importance_free(fab_importance *e); /* takes NULL */
/* probability (n): of each model, where all are equally likely before; *best (or NULL): the likeliest.  FAB_BAD_ARGUMENT where they are not
 * of as many rows, of the same weight. */
FAB_API fab_status fab_importance_compare(int64_t n, const fab_importance *const *e,
                                          double *probability, int64_t *best);

/* ---- tests ------------------------------------------------------------------------------------- */

/* Two tables compared, or two groups of columns of one: the tests of kernel.h.
 *
 *     fab_test_report r;
 *     fab_test_samples(&r, NULL, &(fab_data){.file = "a.csv"}, &(fab_data){.file = "b.csv"}, NULL, NULL);   // r.test.p
 *     fab_test_columns(&r, &(fab_data){.file = "t.csv"}, "height,weight", "district", NULL, NULL);
 *
 * Columns of numbers are divided by their standard deviations over all rows, and a column of words has a feature for each of them,
 * 1 or 0.  What a kernel's text leaves open of its length-scales is the median distance of the rows, all that it leaves
 * open besides is 1. */
typedef struct fab_test_plan {
    const char *kernel;   /* its text; NULL: rbf */
    const char *kernel_y; /* fab_test_columns: of the y; NULL: the same text */
    int64_t raw;          /* 1: numbers as they stand */
    int64_t permutations; /* 0: 1000 */
    uint64_t seed;
} fab_test_plan;

typedef struct fab_test_report {
    fab_kernel_test test;
    int64_t n, m;    /* rows of both tables; of one table both are its pairs */
    int64_t D, Dy;   /* features; of x and of y */
    double l, l_y;   /* median distances that length-scales are; NaN: the text has them all */
    int64_t dropped; /* rows left out for a missing value */
} fab_test_report;

/* Do the rows of a and b come from one distribution (MMD)?  b has the columns of a, in any order.  witness: where they differ, a number
 * for each row of a and then of b, above 0 where there is more of a (gives: fab_bytes_free); NULL: not wanted.
 * plan NULL: the defaults. */
FAB_API fab_status fab_test_samples(fab_test_report *r, double **witness, const fab_data *a,
                                    const fab_data *b, const fab_test_plan *plan,
                                    const fab_exec *x);
/* Are the columns x of d independent of its columns y (HSIC)?  Lists in the words of fab_columns. */
FAB_API fab_status fab_test_columns(fab_test_report *r, const fab_data *d, const char *x_columns,
                                    const char *y_columns, const fab_test_plan *plan,
                                    const fab_exec *x);

#ifdef __cplusplus
}
#endif
#endif
