/* regression.h - the inside of a regression.
 *
 * It is made by a fit (regression.c, rows.c) or read from a file (saved.c); what is made of it for the user -
 * predictions.c, linear.c, report.c - asks `view` for the posterior and the model, whichever it was.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_REGRESSION_H
#define FAB_TABLE_REGRESSION_H

#include "base/hooks.h"
#include "base/memory.h"
#include "kernel/classes.h"
#include "table/calibration.h"
#include "table/candidates.h"
#include "table/features.h"
#include "table/fitting.h"
#include "fit/method.h"
#include "table/order.h"
#include "table/prequential.h"

struct fab_regression {
    fab_exec exec;
    fab_scaling *scaling;

    /* A fit: */
    fab_data data; /* texts borrowed */
    fab_plan plan; /* the same */
    fab_feed *feed;
    fab_dataset *table; /* the rows at hand */
    fab_posterior *prior;
    void *settings;  /* of the method; owned */
    fab_fitting fit; /* fit.what: what was chosen */
    int64_t guessed; /* the likelihood */
    double density;  /* of rows left out, where they have set the floor of the noise; else 0 */
    enum { FAB_SEARCH_NOTHING = 0, FAB_SEARCH_NETWORK, FAB_SEARCH_MODEL } searches;
    fab_candidates candidates;
    fab_map_plan map; /* features of a kernel that the plan asks for */
    fab_map_report mapped;
    const char **constant; /* names of columns that hardly vary; the texts are the table's */
    int64_t constants;
    fab_key *key; /* keys: columns that name the rows; their names are owned */
    int64_t keys;
    char *left;              /* columns of the feed as it was opened: 1: left out */
    int prepared, resumable; /* resumable: a save says how many rows of the data are in it */
    fab_order order;
    int64_t counted;        /* of a stream of counts: 1: one other than 0 was met */
    fab_prequential *ahead; /* scores of a stream; NULL: none */
    int64_t rows, dropped;  /* of this call */
    double needed, limit;   /* bytes of the method; bytes that may be used */
    double loglik_mean;     /* of the rows, for the report */
    double *eta;            /* predictors of a process at its rows, while they are noted; or NULL */
    int64_t counts, levels; /* what whole numbers could be */
    double dispersion;      /* of counts, for the report */
    int64_t spread;         /* Poisson's are spread too much */
    int64_t wide;           /* features enough for a sparse prior */
    fab_summary summary;    /* what was found of the rows; known: 0: nothing was */
    fab_large large;
    struct {
        int64_t every, last; /* epochs of a network between saves, 0: none; the last told of */
        int due;             /* the stop is ours, and not that of whoever watches */
    } pause;
    fab_dataset *left_out; /* rows that calibrate, in the user's units, until they have */

    /* A file: */
    char *name;                     /* speaks in sentences */
    fab_posterior *loaded;          /* owned; or NULL: it is borrowed, or there is no file */
    const fab_posterior *posterior; /* the file; NULL: a fit */

    /* Of a fit or a file; not calibrated yet: way and rows alone */
    fab_calibration calibration;
    int calibrated;

    fab_process_summary *process; /* as it was asked for last; or NULL */

    /* Made when first asked for, and forgotten by an update: */
    struct {
        int is_made;
        fab_mixture mix;
        fab_glm model;        /* beta in fitting units */
        fab_net *net;         /* for predictions: f64, of any number of rows; owned; NULL: none */
        fab_process *process; /* of a Gaussian process; NULL: none.  Lent by the fit, or */
        fab_process *owned;   /* read from a file */
        /* Of several classes, of which `process` is the base; lent by the fit, or owned. */
        fab_class_process *classes, *owned_classes;
        /* A mixture over parameters, of which `process` is the first; lent by the fit, or owned but for the first.  n 0: none. */
        fab_process_places places;
        fab_process **owned_places;
        double *place_numbers;
        fab_solver *solver;
    } view;
};

/* regression.c: the method of a linear model of these rows that is not named; features, with one for each word; a failure
 * of the data begins with their name. */
const char *fab_regression_default_linear(const fab_regression *r);
int64_t fab_regression_features(const fab_regression *r);
fab_status fab_regression_of_data(const fab_regression *r, fab_status s);

/* process.c: what a plan may say of a Gaussian process; the process of a file, and the units of its parameters. */
fab_status fab_regression_prepare_process(const fab_regression *r);
fab_status fab_regression_take_process(fab_regression *r, const fab_posterior *p);
/* The predictors of the rows at hand, where the process has just these: r->eta, which is NULL otherwise. */
fab_status fab_regression_note_process(fab_regression *r);

/* network.c: settings that a search finds are automatic until they are given. */
void fab_regression_open_search(fab_regression *r);
/* Noise, its floor, and the model where rows left out choose it; it may be a linear one. */
fab_status fab_regression_prepare_network(fab_regression *r);
fab_status fab_regression_choose_noise(fab_regression *r);

/* rows.c: the first rows; all others; as many of them as may be; words and classes that the first rows do not show. */
fab_status fab_regression_open_rows(fab_regression *r);
fab_status fab_regression_load_rows(fab_regression *r);
/* Rows behind the first ones, up to a gigabyte, and so many that rows times columns are `most`; all stay at hand. */
fab_status fab_regression_read_on(fab_regression *r, int64_t columns, double most);
fab_status fab_regression_survey(fab_regression *r);
/* Scores of the stream that is about to take rows, with those of the file it goes on from (or NULL). */
fab_status fab_regression_open_scores(fab_regression *r, const fab_tensors *file);
/* Take in the rows at hand and, of a stream, all that follow; work to the result. */
fab_status fab_regression_take_rows(fab_regression *r);
/* The fit that is to be made reports to the regression. */
void fab_regression_watch(fab_regression *r);

/* linear.c: refuse what is none of columns, which has no WHAT. */
fab_status fab_regression_need_linear(fab_regression *r, const char *what);
/* contrasts.c: does a feature, or the intercept, take up a level of the column?  Are these levels there, of a linear model? */
int fab_regression_can_refer(const fab_scaling *k, int64_t column, int64_t intercept);
fab_status fab_regression_check_reference(const fab_regression *r, const char *reference);

/* saved.c: write what is there; unfinished: the state of a run as it stands. */
fab_status fab_regression_write(fab_regression *r, const char *path, int unfinished);
/* Go on from the output of the plan, behind the rows that are in it. */
fab_status fab_regression_resume(fab_regression *r);
/* An inference for a file, in its units. */
fab_status fab_regression_continue(fab_regression *r);

/* report.c: what the report says of the rows, which are not kept. */
fab_status fab_regression_note(fab_regression *r);
/* Posterior and model, of a fit or a file. */
fab_status fab_regression_view(fab_regression *r);
void fab_regression_forget_view(fab_regression *r);
/* The predictors of row i of the table at the posterior mean, m->classes of them, in fitting units. */
void fab_regression_eta(const fab_regression *r, const fab_glm *m, const fab_gauss *q, int64_t i,
                        double *eta);

/* summary.c: how well the rows are described; what of it goes into a file. */
fab_status fab_regression_note_summary(fab_regression *r, const fab_glm *m, const fab_gauss *q);
fab_status fab_summary_save(const fab_summary *f, fab_tensors *more);

#endif
