/* spectral.c - the leading eigenpairs of the sample covariance, for ppca and pca.
 *
 * SPDX-License-Identifier: MIT */
#include "estim/spectral.h"
#include "base/fail.h"

const char *const fab_svd_names[4] = {"auto", "exact", "randomized", NULL};

int fab_spectral_exact(int64_t svd, int64_t D)
{
    return svd == FAB_SVD_EXACT || (svd == FAB_SVD_AUTO && D <= FAB_WHOLE_UP_TO);
}

fab_status fab_spectral(fab_batch *b, const fab_target *t, int64_t svd, int64_t seed,
                        void (*use)(fab_batch *b, fab_eigs *e, double trace))
{
    fab_eigs e;
    FAB_TRY(fab_eigs_init(&e, t, b->K, fab_spectral_exact(svd, b->D), (uint64_t)seed));
    const fab_status s = fab_eigs_solve(&e, NULL);
    if (s == FAB_OK) use(b, &e, t->mean * (double)b->D);
    fab_eigs_free(&e);
    return s;
}
