/* ridge.c - ridge regression: the mean of the exact posterior, as a point.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/exact/exact_fit.h"
#include "fit/infer_methods.h"

static fab_status init(void **handle, const void *settings, const fab_gauss *prior,
                       const fab_exec *x)
{
    return fab_exact_init(handle, "ridge", 1, settings, prior, x);
}

static const fab_infer_verbs verbs = {
    .init = init,
    .update = fab_exact_update,
    .result = fab_exact_result,
    .report = fab_exact_report,
    .free = fab_exact_free,
};

const fab_method fab_ridge_method = {
    .name = "ridge",
    .summary = "ridge regression: the mean of exact alone, a point",
    .table = &fab_ridge_table,
    .bytes = fab_exact_bytes,
    .infer = &verbs,
};
