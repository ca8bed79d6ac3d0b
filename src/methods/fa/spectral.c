/* spectral.c - the leading eigenpairs of the sample covariance, for ppca and pca.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/fa/spectral.h"
#include "base/fail.h"

const char *const fab_svd_names[4] = {"auto", "exact", "randomized", NULL};

static int whole(int64_t svd, int64_t D, int64_t n)
{
    return D <= n && (svd == FAB_SVD_EXACT || (svd == FAB_SVD_AUTO && D <= FAB_WHOLE_UP_TO));
}

fab_status fab_spectral_choose(const char *who, int64_t svd, const fab_target *t, int *exact)
{
    *exact = whole(svd, t->D, t->N);
    if (svd != FAB_SVD_EXACT || *exact) return FAB_OK;
    return FAB_FAIL(FAB_UNSUPPORTED,
                    "%s: svd = exact needs at least D = %lld rows, there are %lld; use auto", who,
                    (long long)t->D, (long long)t->N);
}

double fab_spectral_bytes(int64_t D, int64_t K, int64_t n, int64_t svd)
{
    return fab_eigs_bytes(D, K, whole(svd, D, n));
}

fab_status fab_spectral(fab_batch *b, const fab_target *t, int64_t svd, int64_t seed,
                        void (*use)(fab_batch *b, fab_eigs *e, double trace))
{
    fab_eigs e;
    int exact;
    FAB_TRY(fab_spectral_choose(b->name, svd, t, &exact));
    FAB_TRY(fab_eigs_init(&e, t, b->K, exact, (uint64_t)seed));
    const fab_status s = fab_eigs_solve(&e, NULL);
    if (s == FAB_OK) use(b, &e, t->mean * (double)b->D);
    b->report.converged = e.worst <= FAB_EIGS_RESIDUAL;
    fab_eigs_free(&e);
    return s;
}
