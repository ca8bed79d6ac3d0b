/* coefficients.h - the coefficients of a linear model, for programs and people.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_COEFFICIENTS_H
#define CLI_COEFFICIENTS_H

#include "print/output.h"

typedef struct coefficients {
    fab_regression *r; /* NULL: there are none */
    int64_t n;
    double *mean, *sd;     /* n each */
    const char *reference; /* they are against these levels; or NULL */
} coefficients;

/* Of an open file, against reference levels (NULL: none).  An exit status, said.  Borrows p and reference until close. */
int coefficients_open(coefficients *c, const char *file, const fab_posterior *p,
                      const char *reference);
void coefficients_close(coefficients *c); /* takes zeros */

json_t *coefficients_json(
    const coefficients *c); /* [{"name", "class" of several, "mean", "sd"}, ..] */
void coefficients_print(const coefficients *c);

#endif
