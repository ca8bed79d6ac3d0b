/* spectral.c - what ppca and pca share: verbs, and the leading eigenpairs of the sample covariance.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/fa/spectral.h"
#include "base/fail.h"
#include "base/memory.h"
#include <math.h>

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

fab_status fab_spectral_init(void **handle, const char *name,
                             fab_status (*solve)(fab_batch *b, const fab_target *t),
                             const fab_ppca_settings *s, const fab_input *in, const fab_exec *x)
{
    const fab_batch proto = {.name = name,
                             .D = in->vectors,
                             .K = s->K,
                             .psi_min = s->psi_min,
                             .solve = solve,
                             .width = fab_eigs_width(in->vectors, s->K)};
    return fab_batch_init(handle, &proto, s, sizeof *s, x);
}

double fab_spectral_fit_bytes(const void *settings, const fab_input *in, int64_t n,
                              const fab_exec *x)
{
    const fab_ppca_settings *s = settings;
    return fab_batch_bytes(in->vectors, s->K, n, fab_eigs_width(in->vectors, s->K), x) +
           fab_spectral_bytes(in->vectors, s->K, n, s->svd);
}

fab_status fab_spectral(fab_batch *b, const fab_target *t,
                        void (*use)(fab_batch *b, fab_eigs *e, double trace))
{
    const fab_ppca_settings *set = (const fab_ppca_settings *)b->settings;
    fab_eigs e;
    int exact;
    FAB_TRY(fab_spectral_choose(b->name, set->svd, t, &exact));
    FAB_TRY(fab_eigs_init(&e, t, b->K, exact, (uint64_t)set->seed));
    double *scale = NULL, trace = t->mean * (double)b->D;
    fab_status s = FAB_OK;
    if (set->standardise) {
        s = fab_alloc_array((void **)&scale, b->D, sizeof *scale, b->name);
        trace = 0;
        for (int64_t i = 0; i < b->D && s == FAB_OK; i++) {
            scale[i] = fab_target_varies(t, i) ? 1 / sqrt(t->diag[i]) : 0;
            trace += scale[i] > 0;
        }
    }
    if (s == FAB_OK) s = fab_eigs_solve(&e, scale);
    if (s == FAB_OK) use(b, &e, trace);
    if (s == FAB_OK && scale)
        for (int64_t i = 0; i < b->D; i++) {
            const double sd = scale[i] > 0 ? 1 / scale[i] : 0;
            b->q->psi[i] *= sd * sd;
            for (int64_t k = 0; k < b->K; k++) b->F[i + k * b->D] *= sd;
        }
    b->report.converged = e.worst <= FAB_EIGS_RESIDUAL;
    fab_release(scale);
    fab_eigs_free(&e);
    return s;
}
