/* linear.h - a fitted linear or generalised linear model, as it is used: in the user's units.
 *
 * Every function that returns an exit status has said why it is not DONE.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LINEAR_H
#define CLI_LINEAR_H

#include "data.h"
#include "output.h"

typedef struct linear {
    const char *file;
    const fab_posterior *posterior; /* borrowed */
    const fab_gauss *q;
    fab_glm model;        /* beta in fitting units */
    fab_scaling *scaling; /* NULL: nothing is scaled, nothing has a name */
    double *mean, *sd;    /* of the coefficients, then of the intercept */
} linear;

/* Does the file hold one Gaussian over a linear model of one predictor, with its scaling? */
int is_linear(const fab_posterior *p);
/* Take model and scaling from an open file.  Borrows p until close. */
int linear_take(linear *l, const char *file, const fab_posterior *p);
void linear_close(linear *l); /* takes zeros */

/* Means and standard deviations of the coefficients, and the intercept, in the user's units. */
int linear_coefficients(linear *l);
json_t *linear_json(const linear *l); /* [{"name", "mean", "sd"}, ..] */
void linear_print(const linear *l);

/* Predictions for the rows of DATA in the user's units. */
typedef struct outlook {
    fab_dataset *data; /* y as it stands in DATA, or 0 and 1 */
    fab_glm model;     /* beta in the user's units */
    double *eta, *variance;
} outlook;

int outlook_open(outlook *o, const linear *l, const data_options *d, int with_target);
void outlook_close(outlook *o);

/* Load FILE and predict DATA with it. */
int outlook_of(const char *file, const data_options *d, int with_target, fab_posterior **p,
               linear *l, outlook *o);

/* Open DATA for reading whole. */
int table_open(fab_source **s, const data_options *o);

#endif
