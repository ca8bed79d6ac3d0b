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

#define SETTINGS fab_pca_settings
static const fab_field fields[] = {
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    CHOICE(svd, FAB_SVD_AUTO, fab_svd_names,
           "eigenvectors from the whole matrix or a random subspace; auto: whole up to D = 128; "
           "the whole needs at least D rows"),
    FIELD(psi_min, F64, 1e-6, 1e-300, 0.5,
          "psi, relative to the coordinate's variance: every coordinate stands at this floor"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the random subspace"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("pca", fields);
#undef SETTINGS

fab_pca_settings fab_pca_defaults(int64_t K)
{
    fab_pca_settings s;
    fab_settings_defaults(&table, &s);
    s.K = K;
    return s;
}

static void fill(fab_batch *b, fab_eigs *e, double trace)
{
    (void)trace;
    fab_batch_set_factors(b, e->V, NULL, e->lambda);     /* 1 */
    for (int64_t i = 0; i < b->D; i++) b->q->psi[i] = 0; /* 2  raised to the floor, and counted */
}

static fab_status solve(fab_batch *b, const fab_target *t)
{
    const fab_pca_settings *s = (const fab_pca_settings *)b->settings;
    return fab_spectral(b, t, s->svd, s->seed, fill);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_pca_settings *s = settings;
    const fab_batch proto = {.name = "pca",
                             .D = in->vectors,
                             .K = s->K,
                             .psi_min = s->psi_min,
                             .solve = solve,
                             .width = fab_eigs_width(in->vectors, s->K)};
    return fab_batch_init(handle, &proto, settings, sizeof *s, x);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_pca_settings *s = settings;
    return fab_batch_bytes(in->vectors, s->K, n, fab_eigs_width(in->vectors, s->K), x) +
           fab_spectral_bytes(in->vectors, s->K, n, s->svd);
}

const fab_method fab_pca_method = {
    .name = "pca",
    .summary = "principal components, with psi at its floor",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .fields = &table,
    .init = init,
    .update = fab_batch_update,
    .result = fab_batch_result,
    .report = fab_batch_report,
    .free = fab_batch_free,
    .bytes = bytes,
};
