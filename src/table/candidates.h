/* candidates.h - the network that predicts rows left out best.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_CANDIDATES_H
#define FAB_TABLE_CANDIDATES_H

#include "fabayes/table.h"

enum { FAB_CANDIDATES = 24, FAB_CANDIDATE_FOLDS = 5 };

/* How much work a search and the fit after it may be. */
typedef struct fab_effort {
    const char *name;
    int64_t rows;   /* left out: as many folds of five as hold so many */
    int64_t runs;   /* networks of a fold */
    int64_t final;  /* networks of the fit */
    int64_t layers; /* of the list of candidates.c */
    double least,
        most; /* steps of a network: more epochs are tried below the one, and none beyond the other */
    int64_t alphas; /* moves of alpha, each way */
    int64_t sparse; /* rows up to which a process of numbers is tried through inducing inputs */
} fab_effort;

/* NULL: the default one. */
fab_status fab_effort_find(const char *name, const fab_effort **e);

typedef struct fab_candidates {
    fab_model_trial c[FAB_CANDIDATES]; /* in the order of the trials */
    double scale[FAB_CANDIDATES];      /* of the noise of each; 0: it has none to find */
    int64_t n, best;
} fab_candidates;

/* A model that is no network, with the settings of its method; how NULL: it is not tried. */
typedef struct fab_other {
    const fab_recipe *how;
    const void *settings;
    const char *name; /* for its trial: "linear", "gp:.." */
} fab_other;

/* Try networks of the recipe's noise and likelihood, as points trained with the settings (alpha and epochs that are
 * automatic are searched), and a linear model and a Gaussian process. */
fab_status fab_candidates_search(fab_candidates *all, const fab_recipe *network,
                                 const fab_sgd_settings *settings, const fab_other *line,
                                 const fab_other *process, const fab_dataset *t,
                                 const fab_effort *e, const fab_exec *x);

#endif
