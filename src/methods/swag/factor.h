/* factor.h - the iterates of swag as a stream of vectors: columns = the name of a factor-analysis method.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_SWAG_FACTOR_H
#define FAB_METHODS_SWAG_FACTOR_H

#include "fabayes/fit.h"
#include "fabayes/methods.h"

extern const char *const fab_swag_columns_names[6];

/* The fit that s->columns names for vectors of length D: its defaults with K and seed of *s, and a warm-up of
 * fab_swag_factor_warmup iterates where its default is a number.  Gives *f; NULL: columns = last. */
fab_status fab_swag_factor_init(fab_fit **f, const fab_swag_settings *s, int64_t D,
                                const fab_exec *x);

/* Bytes of a handle; 0 for columns = last. */
double fab_swag_factor_bytes(const fab_swag_settings *s, int64_t D, int64_t n);

/* Iterates that the start is made from; 0 where the method finds its own. */
int64_t fab_swag_factor_warmup(const fab_swag_settings *s);

/* Take one iterate.  The sentence of a failure names the setting. */
fab_status fab_swag_factor_take(fab_fit *f, const fab_rows *row);

/* The fit of all of them, lent until the next, and how many psi stand at their floor. */
fab_status fab_swag_factor_result(fab_fit *f, const fab_gauss **q, int64_t *floored);

#endif
