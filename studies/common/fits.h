/* fits.h - fits of regressions whose settings are words.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STUDIES_FITS_H
#define STUDIES_FITS_H

#include "study.h"

/* A line of a study: its label and settings "name", "value", .., NULL. */
enum { MAX_WORDS = 32 };
typedef struct variant {
    const char *label, *settings[MAX_WORDS];
} variant;

/* Begin a fit of a linear model by a method on one thread: the settings of `base`, then those of v; the value "K"
 * stands for `rank`.  Gives the fit: fab_fit_free. */
fab_fit *begin_variant(const char *method, fab_glm model, const char *const *base, const variant *v,
                       int64_t rank);

/* The same with all rows taken in; *seconds of update and result. */
fab_fit *fit_variant(const char *method, fab_glm model, const char *const *base, const variant *v,
                     int64_t rank, const fab_examples *e, double *seconds);

/* A variant from words between blanks, "name value ..", which are cut up in place. */
variant variant_of_words(const char *label, char *words);

#endif
