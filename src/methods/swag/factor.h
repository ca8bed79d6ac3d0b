/* factor.h - the iterates of swag as a stream of vectors: columns = the name of a factor-analysis method.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_SWAG_FACTOR_H
#define FAB_METHODS_SWAG_FACTOR_H

#include "fabayes/fit.h"
#include "fabayes/methods.h"

extern const char *const fab_swag_columns_names[6];

typedef struct fab_swag_factor {
    const fab_method *method; /* NULL: columns = last */
    void *handle;
} fab_swag_factor;

/* Build the method that s->columns names for vectors of length D: its defaults with K and seed of *s, and a
 * warm-up of fab_swag_factor_warmup iterates where its default is a number. */
fab_status fab_swag_factor_init(fab_swag_factor *f, const fab_swag_settings *s, int64_t D,
                                const fab_exec *x);
void fab_swag_factor_free(fab_swag_factor *f);

/* Bytes of a handle; 0 for columns = last. */
double fab_swag_factor_bytes(const fab_swag_settings *s, int64_t D, int64_t n);

/* Iterates that the start is made from; 0 where the method finds its own. */
int64_t fab_swag_factor_warmup(const fab_swag_settings *s);

/* Take one iterate (D).  The sentence of a failure names the setting. */
fab_status fab_swag_factor_take(fab_swag_factor *f, const double *x, int64_t D);

/* The fit of all of them and how many psi are at their floor.  Lends *q until the next iterate. */
fab_status fab_swag_factor_result(fab_swag_factor *f, const fab_gauss **q, int64_t *floored);

#endif
