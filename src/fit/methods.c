/* methods.c - the list: one line per method.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/fit.h"
#include "fit/estim_methods.h"
#include "fit/infer_methods.h"
#include <string.h>

// clang-format off
static const fab_method *const list[] = {
    &fab_recursive_em_method,
    &fab_online_em_method,
    &fab_stochastic_em_method,
    &fab_online_sga_method,
    &fab_ml_method,
    &fab_em_method,
    &fab_ppca_method,
    &fab_pca_method,
    &fab_exact_method,
    &fab_ridge_method,
    &fab_laplace_method,
    &fab_map_method,
    &fab_kalman_method,
    &fab_rvga_method,
    &fab_lrvga_method,
    &fab_sgd_method,
    &fab_ensemble_method,
    &fab_vifa_method,
    &fab_meanfield_method,
    &fab_swa_method,
    &fab_swag_method,
    &fab_multiswag_method,
    &fab_iterate_averaging_method,
    &fab_slang_method,
    &fab_vogn_method,
    NULL, /* the end */
};
// clang-format on

int64_t fab_method_count(void)
{
    return (int64_t)(sizeof list / sizeof *list) - 1;
}

const fab_method *fab_method_at(int64_t i)
{
    return i >= 0 && i < fab_method_count() ? list[i] : NULL;
}

const fab_method *fab_method_find(const char *name)
{
    for (int64_t i = 0; i < fab_method_count(); i++)
        if (strcmp(list[i]->name, name) == 0) return list[i];
    return NULL;
}

const fab_method *fab_method_of_networks(const fab_method *m)
{
    return m->network ? m->network : m;
}
