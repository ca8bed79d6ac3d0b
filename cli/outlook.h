/* outlook.h - predictions of a fitted model for the rows of DATA, in the user's units.
 *
 * Every function that returns an exit status has said why it is not DONE.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_OUTLOOK_H
#define CLI_OUTLOOK_H

#include "linear.h"

typedef struct outlook {
    fab_posterior *posterior;   /* of the file */
    linear linear;              /* of a linear model; otherwise zeros */
    fab_net *net;               /* of a network; otherwise NULL */
    fab_scaling *net_scaling;   /* of a network; owned */
    const fab_scaling *scaling; /* of either */
    fab_glm model;              /* beta of a linear model in the user's units */
    int64_t n, dropped;         /* rows; rows left out, for a target that is missing */
    int64_t room;               /* rows there is memory for */
    double *y;                  /* n, as in DATA or the number of the class; NULL: not asked for */

    /* One of three: */
    double *eta, *variance; /* n each: the predictor of a linear model, or of two classes */
    double *logp;           /* n x classes, of several: log probabilities */
    fab_prediction *p;      /* n, of a network for numbers or counts, by draws */
    fab_scores sum;         /* and their scores, times the rows, where y is asked for */
} outlook;

typedef struct outlook_options {
    int with_target;
    int64_t
        linearised; /* 1: a network by its slope at the mean, without draws; so is one of laplace */
    int64_t samples; /* draws; 0: 100 of a network, and for a linear model a rule without draws */
    int64_t seed;
} outlook_options;

/* Load FILE and predict DATA with it, piece by piece: rows are not kept. */
int outlook_open(outlook *o, const char *file, const data_options *d, const outlook_options *how);
void outlook_close(outlook *o); /* takes zeros */

#endif
