/* outlook.h - predictions of a fitted model for the rows of DATA, in the user's units.
 *
 * Every function that returns an exit status has said why it is not DONE.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_OUTLOOK_H
#define CLI_OUTLOOK_H

#include "linear.h"

typedef struct outlook {
    fab_posterior *posterior; /* of the file */
    linear linear;
    fab_glm model;      /* beta in the user's units */
    int64_t n, dropped; /* rows; rows left out, for a target that is missing */
    int64_t room;       /* rows there is memory for */
    double *y;          /* n, as in DATA or the number of the class; NULL: not asked for */
    double *eta;        /* n means of the predictor */
    double *variance;   /* n */
    double *logp;       /* n x classes, of several: log probabilities; then no eta and variance */
} outlook;

/* Load FILE and predict DATA with it, piece by piece: rows are not kept.  samples: draws for several
 * classes, 0: by a rule without draws. */
int outlook_open(outlook *o, const char *file, const data_options *d, int with_target,
                 int64_t samples, int64_t seed);
void outlook_close(outlook *o); /* takes zeros */

#endif
