/* map.c - the mode of the posterior of a generalised linear model, as a point.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/laplace/laplace.h"
#include "fit/method.h"

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return fab_laplace_init(handle, "map", 1, settings, in, x);
}

const fab_method fab_map_method = {
    .name = "map",
    .summary = "the mode of a generalised linear model alone, a point",
    .fields = &fab_map_table,
    .general = &fab_sgd_method,
    FAB_LAPLACE_VERBS,
};
