/* coefficients.h - a linear model as R's summary shows it: coefficients with intervals, noise, R^2, levels.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_COEFFICIENTS_H
#define CLI_COEFFICIENTS_H

#include "print/output.h"

typedef struct coefficients {
    fab_regression *r; /* NULL: there are none */
    fab_regression *owned;
    int64_t n;
    fab_effect *effect; /* n, with 90 % intervals */
    int64_t *order;     /* n: the strongest first */
    fab_summary summary;
    const char *reference; /* they are against these levels; or NULL */
    char *usual;           /* the memory of it, where nobody named them */
} coefficients;

/* A person who names no reference reads differences to the first level; `none` is NULL. */
const char *coefficients_reference(const char *given, int64_t json);

/* Of an open file, which is borrowed until close, or of a fit.  reference: levels that they are against; NULL: none;
 * "auto": the first level of each column.  An exit status, said. */
int coefficients_open(coefficients *c, const char *file, const fab_posterior *p,
                      const char *reference);
int coefficients_of(coefficients *c, const char *file, fab_regression *r, const char *reference);
void coefficients_close(coefficients *c); /* takes zeros */

json_t *coefficients_json(
    const coefficients *c); /* [{"name", "class" of several, "mean", "sd", "lower", "upper"}, ..] */
/* Fields of the summary: noise_sd, and r_squared or deviance_explained and accuracy. */
void summary_put(json_t *j, const fab_summary *s);
void coefficients_print(const coefficients *c);
/* What to do next with a fit that was saved in `output` (NULL: nowhere). */
void next_print(const char *output);

#endif
