/* gmm.c - mixtures of Gaussians by EM ([N] 9.4).
 *
 * The step is in parts.c, starts and moves are in mix.c.  A full covariance is the Gaussian with K = D whose psi is half the floor of its
 * eigenvalues and whose F is the Cholesky factor of the rest; tied is one of them for all parts; diag and spherical have K = 0.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/mixture/mix.h"

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_gmm_settings
static const char *const covariances[] = {"full", "tied", "diag", "spherical", NULL};
static const fab_field fields[] = {
    REQUIRED(G, I64, 1, 4096, "number of parts"),
    CHOICE(covariance, FAB_GMM_FULL, covariances, "of a part; tied: one full covariance for all"),
    FIELD(tol, F64, 1e-7, 0, 1, "stop when a step gains less, in nats per row"),
    FIELD(max_iter, I64, 2000, 1, 1e9, "steps of EM"),
    FIELD(restarts, I64, 5, 1, 1000, "short runs from starts of their own; the best goes on"),
    FIELD(moves, I64, 6, 0, 1000, "attempts to merge two parts and split another"),
    FIELD(
        floor, F64, 1e-6, 1e-300, 0.5,
        "floor of the eigenvalues (variances) of a part, relative to the variances of the columns"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the starts and moves"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("gmm", fields);
#undef SETTINGS

static fab_mix_plan plan_of(const void *settings, const fab_input *in)
{
    static const fab_shape shape[] = {FAB_SHAPE_FULL, FAB_SHAPE_TIED, FAB_SHAPE_OWN,
                                      FAB_SHAPE_ISOTROPIC};
    const fab_gmm_settings *s = settings;
    return (fab_mix_plan){.who = "gmm",
                          .D = in->vectors,
                          .G = s->G,
                          .shape = shape[s->covariance],
                          .restarts = s->restarts,
                          .moves = s->moves,
                          .max_iter = s->max_iter,
                          .seed = s->seed,
                          .tol = s->tol,
                          .floor = s->floor};
}

/* Free parameters of the covariances of n parts. */
static double parameters(const void *settings, int64_t n, int64_t D)
{
    const fab_gmm_settings *s = settings;
    const double d = (double)D, full = d * (d + 1) / 2, parts = (double)n;
    const double count[] = {parts * full, full, parts * d, parts};
    return count[s->covariance];
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_mix_plan plan = plan_of(settings, in);
    return fab_mix_open(handle, &plan, in, x);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_mix_plan plan = plan_of(settings, in);
    return fab_mix_bytes(&plan, n, x);
}

const fab_method fab_gmm_method = {
    .name = "gmm",
    .summary = "mixture of Gaussians by EM: full, tied, diagonal or spherical",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .starts = 1,
    .fields = &table,
    .parameters = parameters,
    .init = init,
    .bytes = bytes,
    FAB_MIX_VERBS,
};
