/* learning.h - a regression while it is made: what `fit` and `update` share.
 *
 *     learning l = {.verb = "fit", ...};
 *     learning_open(&l);  learning_begin(&l) or learning_resume(&l, ..);
 *     learning_rows(&l);  learning_save(&l);  learning_close(&l);
 *
 * A batch method gets the whole table, a stream the rows piece by piece in the units of the first ones.
 * Every function that returns an exit status has said why it is not DONE.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LEARNING_H
#define CLI_LEARNING_H

#include "data.h"
#include "order.h"
#include "print/output.h"

typedef struct learning {
    const char *verb;
    data_options data;
    fab_columns columns;
    int64_t scale_rows; /* rows that the units of a stream come from; 0: 1000 */
    int64_t no_scale, no_intercept;
    double memory; /* MB a fit may take; 0: what is free */

    fab_source *source, *labels;
    fab_feed *feed;
    fab_dataset *table; /* the rows at hand */
    fab_scaling *scaling;
    fab_likelihood kind;
    char **constant; /* names of columns that hardly vary */
    int64_t constants;

    const char *layers; /* of a network; NULL: a linear model of a method that knows it */
    int64_t noise;      /* fab_noise of a network with a gaussian target */
    /* Of that noise: */
    double nu;      /* degrees of freedom; 0: normal */
    double floor;   /* least scale, in the user's units; 0: none */
    double density; /* mean log density of rows left out, where they have set the floor; else 0 */
    fab_net *net;

    const fab_method *method;
    void *settings; /* of the method; owned */
    fab_exec exec;
    fab_fit *infer;
    fab_posterior *prior;
    const char *output; /* NULL: no file */
    int64_t
        checkpoint;    /* rows of a stream, epochs of a network between saves; 0: only at the end */
    int64_t resumable; /* 1: the file says how many rows of DATA are in it */
    int64_t quiet;

    order order;
    int64_t rows, dropped; /* of this call */
    double needed;         /* bytes */
    double start;          /* of the clock */
} learning;

/* Open DATA, find its columns, and read the first rows. */
int learning_open(learning *l);
/* Read the rows that are left: the table of a batch method. */
int learning_load(learning *l);
/* The units of the rows at hand; --prior FILE of an earlier fit brings its own. */
int learning_scale(learning *l);
/* A prior from FILE. */
int learning_take_prior(learning *l, const char *file);
/* A new inference for the settings. */
int learning_begin(learning *l);
/* Go on from an open file, in its units. */
int learning_resume(learning *l, const char *file, const fab_tensors *t);
/* Open DATA in the units of l->scaling, target and weight included. */
int learning_open_as(learning *l);
/* Take in the rows at hand and, of a stream, all that follow. */
int learning_rows(learning *l);
int learning_save(const learning *l); /* to l->output; without one nothing */
void learning_close(learning *l);

/* The settings of a method for linear models; NULL: it takes a network. */
fab_glm_settings *learning_glm(const learning *l);
/* The defaults of method m as l->settings. */
int learning_settings(learning *l, const fab_method *m);
/* Classes of the target, 0 when it has none. */
int64_t learning_classes(const learning *l);

#endif
