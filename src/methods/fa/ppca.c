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
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    CHOICE(svd, FAB_SVD_AUTO, fab_svd_names,
           "eigenvectors from the whole matrix or a random subspace; auto: whole up to D = 128; "
           "the whole needs at least D rows"),
    FIELD(psi_min, F64, 1e-6, 1e-300, 0.5, "floor of psi, relative to the coordinate's variance"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the random subspace"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("ppca", fields);
#undef SETTINGS

fab_ppca_settings fab_ppca_defaults(int64_t K)
{
    fab_ppca_settings s;
    fab_settings_defaults(&table, &s);
    s.K = K;
    return s;
}

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
    const fab_ppca_settings *s = (const fab_ppca_settings *)b->settings;
    return fab_spectral(b, t, s->svd, s->seed, fill);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_ppca_settings *s = settings;
    const fab_batch proto = {.name = "ppca",
                             .D = in->vectors,
                             .K = s->K,
                             .psi_min = s->psi_min,
                             .solve = solve,
                             .width = fab_eigs_width(in->vectors, s->K)};
    return fab_batch_init(handle, &proto, settings, sizeof *s, x);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_ppca_settings *s = settings;
    return fab_batch_bytes(in->vectors, s->K, n, fab_eigs_width(in->vectors, s->K), x) +
           fab_spectral_bytes(in->vectors, s->K, n, s->svd);
}

const fab_method fab_ppca_method = {
    .name = "ppca",
    .summary = "probabilistic PCA: one psi for all coordinates",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .fields = &table,
    .init = init,
    .update = fab_batch_update,
    .result = fab_batch_result,
    .report = fab_batch_report,
    .free = fab_batch_free,
    .bytes = bytes,
};
