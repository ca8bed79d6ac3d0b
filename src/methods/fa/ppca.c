/* ppca.c - probabilistic PCA, in closed form ([L] App. B.3).
 *
 *   lambda_k, v_k the leading eigenpairs of S
 *   1  sigma^2 = (tr S - sum_k lambda_k) / (D - K)          the mean of the eigenvalues left out
 *   2  F = V (Lambda - sigma^2)^1/2,  psi = sigma^2
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/fa/spectral.h"

#define SETTINGS fab_ppca_settings
static const fab_field fields[] = {
    FAB_SPECTRAL_FIELDS("floor of psi, relative to the coordinate's variance")};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("ppca", fields);
#undef SETTINGS

static void fill(fab_batch *b, fab_eigs *e, double trace)
{
    double rest = trace;
    for (int64_t k = 0; k < b->K; k++) rest -= e->lambda[k];
    const double sigma2 = b->D > b->K && rest > 0 ? rest / (double)(b->D - b->K) : 0; /* 1 */
    for (int64_t k = 0; k < b->K; k++) e->lambda[k] -= sigma2;
    fab_batch_set_factors(b, e->V, NULL, e->lambda); /* 2 */
    for (int64_t i = 0; i < b->D; i++) b->q->psi[i] = sigma2;
}

static fab_status solve(fab_batch *b, const fab_target *t)
{
    return fab_spectral(b, t, fill);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return fab_spectral_init(handle, "ppca", solve, settings, in, x);
}

const fab_method fab_ppca_method = {
    .name = "ppca",
    .summary = "probabilistic PCA: one psi for all coordinates",
    .one_psi = 1,
    FAB_SPECTRAL_VERBS,
};
