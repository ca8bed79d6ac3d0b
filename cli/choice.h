/* choice.h - the call of `fit` and `tune`: their options, and the regression that is made of them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CHOICE_H
#define CLI_CHOICE_H

#include "data.h"
#include "print/output.h"

typedef struct choice {
    const char *verb;
    data_options data;
    fab_columns columns;
    fab_plan plan;
    const char *k, *seed, *floor;    /* as the call says, or NULL */
    const char *units;               /* a file whose scaling is taken; NULL: the rows' own */
    fab_scaling *scaling;            /* of it */
    int64_t missing, dtype, threads; /* fab_missing, fab_dtype */
    double memory;                   /* MB */
    int64_t quiet;
    double start; /* of the clock */
    fab_source *source;
    fab_regression *r;
    fab_data rows; /* --model svm:KERNEL: DATA, and what the machine is told */
    fab_svm_settings machine;
} choice;

// clang-format off
#define CHOICE_OPTIONS(c_) \
    {"target", 'y', OPT_TEXT, &(c_)->columns.target, "TARGET", 0, 0, NULL, "the column to explain: name, 0-based number or last"}, \
    {"formula", 'f', OPT_TEXT, &(c_)->columns.formula, "FORMULA", 0, 0, NULL, "target and features as R writes them: 'price ~ area + log(age) + district + area:rooms'; + - : * / ^ . -1, log log1p log2 log10 exp sqrt abs, I(a / b), poly(x, 3), C(x), offset(log(x))"}, \
    OPTIONS_COLUMNS(&(c_)->columns.only, &(c_)->columns.exclude), \
    {"model", 0, OPT_TEXT, &(c_)->plan.model, "MODEL", 0, 0, ((const char *const[]){"linear", "mlp", "auto", NULL}), "linear (default); mlp: the network that predicts rows left out best; auto: that, linear or, of a small table, a Gaussian process; mlp:50, mlp:64,64:tanh or layers: input:1x28x28,conv:8x3,relu,pool:2,flatten,dense:64,relu; gp:rbf:ard or another kernel: a Gaussian process; svm:rbf, svm:rbf:nu=0.2: a support vector machine; nystrom:rbf:500 or rff:rbf:1000: linear in so many features of a kernel"}, \
    {"method", 'm', OPT_TEXT, &(c_)->plan.method, "METHOD", 0, 0, NULL, "see `fabayes methods` (default: exact; vga for classes; laplace for counts; lrvga for many features; networks: ensemble, vifa where the target is no number and the layers are given)"}, \
    {"likelihood", 0, OPT_TEXT, &(c_)->plan.likelihood, "L", 0, 0, ((const char *const[]){"gaussian", "bernoulli", "categorical", "poisson", "negative-binomial", NULL}), "gaussian, bernoulli, categorical, poisson or negative-binomial (default: two levels bernoulli, other words categorical, else gaussian)"}, \
    {NULL, 'k', OPT_TEXT, &(c_)->k, "K", 0, 0, NULL, "rank, where the method has one"}, \
    {"weight", 0, OPT_TEXT, &(c_)->columns.weight, "COLUMN", 0, 0, NULL, "weights of the rows; one of 0 is absent"}, \
    {"offset", 0, OPT_TEXT, &(c_)->columns.offset, "COLUMN", 0, 0, NULL, "numbers added to the linear predictor; log:COLUMN adds their logarithms, of exposures"}, \
    {"group", 0, OPT_TEXT, &(c_)->columns.group, "COLUMN", 0, 0, NULL, "rows of one value, of one patient say, are left out together where rows left out choose; no feature"}, \
    {"ordered", 0, OPT_FLAG, &(c_)->columns.ordered, NULL, 0, 0, NULL, "the rows stand in the order of time: those left out are predicted by rows before them"}, \
    {"missing", 0, OPT_CHOICE, &(c_)->missing, "WAY", 0, 0, ((const char *const[]){fab_missing_name(FAB_MISSING_REFUSE), fab_missing_name(FAB_MISSING_DROP), fab_missing_name(FAB_MISSING_MEAN), NULL}), "refuse, drop the row, or take the mean (default refuse)"}, \
    {"categorical", 0, OPT_TEXT, &(c_)->data.categorical, "COLUMNS", 0, 0, NULL, "columns of numbers to read as words, separated by commas"}, \
    {"no-scale", 0, OPT_FLAG, &(c_)->plan.no_scale, NULL, 0, 0, NULL, "do not standardise: the prior acts on the raw coefficients"}, \
    {"no-intercept", 0, OPT_FLAG, &(c_)->plan.no_intercept, NULL, 0, 0, NULL, "no intercept, and nothing is centred"}, \
    {"noise", 0, OPT_TEXT, &(c_)->plan.noise, "KIND", 0, 0, ((const char *const[]){"fixed", "learned", "output", NULL}), "of a network's gaussian target: fixed, learned or output (default: learned, fixed where beta is given)"}, \
    {"noise-floor", 0, OPT_TEXT, &(c_)->floor, "SD|auto", 0, 0, NULL, "least scale of a network's noise that is learned, in the units of the target; auto: by cross-validation (default: none; auto without -m)"}, \
    {"nu", 0, OPT_F64, &(c_)->plan.nu, "NU", 2.001, 1e6, NULL, "the noise of a gaussian target is Student's t of NU degrees of freedom: networks, and linear models by laplace and map (default: normal; 6 for a network without -m)"}, \
    {"memory", 0, OPT_F64, &(c_)->memory, "MB", 0.001, 1e9, NULL, "for the whole fit (default: what is free)"}, \
    OPTION_FORMAT(&(c_)->data.format), \
    OPTION_ROWS(&(c_)->data.rows), \
    OPTION_LABELS(&(c_)->data.labels), \
    OPTION_FEATURES(&(c_)->data.features), \
    OPTION_MAX_COLUMNS(&(c_)->data.columns_max), \
    OPTIONS_DIALECT(&(c_)->data), \
    {"seed", 0, OPT_TEXT, &(c_)->seed, "N", 0, 0, NULL, "seed of the random numbers (default: the method's)"}, \
    OPTION_THREADS(&(c_)->threads), \
    OPTION_QUIET(&(c_)->quiet)
// clang-format on

/* Open DATA and choose; a settings_fn whose ctx is a choice. */
int choice_settings(void *ctx, const fab_fields **table, void **settings);
/* The settings that other options stand for; options that mean nothing here are refused. */
int choice_put(choice *c);
/* A failure of the library in the words of the command line: an exit status, said. */
int choice_say(const choice *c, fab_status s);
void choice_close(choice *c);

#endif
