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
    .takes = FAB_TAKES_LINEAR,
    .suits = fab_suits_normal,
    .closed = 1,
    .fields = &fab_ridge_table,
    .bytes = fab_exact_bytes,
    .init = init,
    .update = fab_exact_update,
    .result = fab_exact_result,
    .report = fab_exact_report,
    .free = fab_exact_free,
};
