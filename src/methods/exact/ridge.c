/* ridge.c - ridge regression: the mean of the exact posterior, as a point.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/exact/exact.h"
#include "fit/method.h"

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return fab_exact_init(handle, "ridge", 1, settings, in, x);
}

const fab_method fab_ridge_method = {
    .name = "ridge",
    .summary = "ridge regression: the mean of exact alone, a point",
    .fields = &fab_ridge_table,
    FAB_EXACT_VERBS,
};
