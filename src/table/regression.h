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
#include "table/fitting.h"
#include "table/order.h"

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
    const char **constant; /* names of columns that hardly vary; the texts are the table's */
    int64_t constants;
    int prepared, resumable; /* resumable: a save says how many rows of the data are in it */
    fab_order order;
    int64_t rows, dropped; /* of this call */
    double needed, limit;  /* bytes of the method; bytes that may be used */
    double loglik_mean;    /* of the rows, for the report */
    int counts;
    fab_large large;
    struct {
        int64_t every, last; /* epochs of a network between saves, 0: none; the last told of */
        int due;             /* the stop is ours, and not that of whoever watches */
    } pause;

    /* A file: */
    char *name;                     /* speaks in sentences */
    fab_posterior *loaded;          /* owned; or NULL: it is borrowed, or there is no file */
    const fab_posterior *posterior; /* the file; NULL: a fit */

    /* Made when first asked for, and forgotten by an update: */
    struct {
        int is_made;
        fab_mixture mix;
        fab_glm model; /* beta in fitting units */
        fab_net *net;  /* for predictions: f64, of any number of rows; owned; NULL: linear */
        fab_solver *solver;
    } view;
};

/* rows.c: the first rows; all others; words and classes that the first rows do not show. */
fab_status fab_regression_open_rows(fab_regression *r);
fab_status fab_regression_load_rows(fab_regression *r);
fab_status fab_regression_survey(fab_regression *r);
/* Take in the rows at hand and, of a stream, all that follow; work to the result. */
fab_status fab_regression_take_rows(fab_regression *r);
/* The fit that is to be made reports to the regression. */
void fab_regression_watch(fab_regression *r);

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

#endif
