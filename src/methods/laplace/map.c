/* map.c - the mode of the posterior of a generalised linear model, as a point.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/laplace/laplace_fit.h"
#include "fit/infer_methods.h"

static fab_status init(void **handle, const void *settings, const fab_gauss *prior,
                       const fab_exec *x)
{
    return fab_laplace_init(handle, "map", 1, settings, prior, x);
}

static const fab_infer_verbs verbs = {
    .init = init,
    .update = fab_laplace_update,
    .result = fab_laplace_result,
    .report = fab_laplace_report,
    .free = fab_laplace_free,
};

const fab_method fab_map_method = {
    .name = "map",
    .summary = "the mode of a generalised linear model alone, a point",
    .table = &fab_map_table,
    .bytes = fab_laplace_bytes,
    .infer = &verbs,
    .network = &fab_sgd_method,
};
