/* linear.h - a fitted linear or generalised linear model, as it is used: in the user's units.
 *
 * Every function that returns an exit status has said why it is not DONE.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LINEAR_H
#define CLI_LINEAR_H

#include "data.h"
#include "print/output.h"

typedef struct linear {
    const char *file;
    const fab_posterior *posterior; /* borrowed */
    const fab_gauss *q;
    fab_glm model;        /* beta in fitting units */
    fab_scaling *scaling; /* NULL: nothing is scaled, nothing has a name */
    double *mean, *sd;    /* of theta: the coefficients, then the intercept, class after class */
} linear;

/* Does the file hold one Gaussian over a linear model, with its scaling? */
int is_linear(const fab_posterior *p);
/* Take model and scaling from an open file.  Borrows p until close. */
int linear_take(linear *l, const char *file, const fab_posterior *p);
void linear_close(linear *l); /* takes zeros */

/* A theta from fitting units to the user's, in place. */
void linear_to_user(const linear *l, double *theta);

/* Means and standard deviations of the coefficients, and the intercept, in the user's units. */
int linear_coefficients(linear *l);
json_t *linear_json(const linear *l); /* [{"name", "class" of several, "mean", "sd"}, ..] */
void linear_print(const linear *l);

#endif
