/* pca.c - principal components as a Gaussian ([N] 2.1.1).
 *
 *   lambda_k, v_k the leading eigenpairs of S
 *   1  F = V Lambda^1/2
 *   2  psi at its floor: PCA has no noise, and a Gaussian needs some
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/fa/spectral.h"

#define SETTINGS fab_ppca_settings
static const fab_field fields[] = {FAB_SPECTRAL_FIELDS(
    "psi, relative to the coordinate's variance: every coordinate stands at this floor")};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("pca", fields);
#undef SETTINGS

static void fill(fab_batch *b, fab_eigs *e, double trace)
{
    (void)trace;
    fab_batch_set_factors(b, e->V, NULL, e->lambda);     /* 1 */
    for (int64_t i = 0; i < b->D; i++) b->q->psi[i] = 0; /* 2  raised to the floor, and counted */
}

static fab_status solve(fab_batch *b, const fab_target *t)
{
    return fab_spectral(b, t, fill);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return fab_spectral_init(handle, "pca", solve, settings, in, x);
}

const fab_method fab_pca_method = {
    .name = "pca",
    .summary = "principal components, with psi at its floor",
    .no_psi = 1,
    FAB_SPECTRAL_VERBS,
};
