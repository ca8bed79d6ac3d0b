/* mfa.c - mixtures of factor analysers by EM: part g is N(mu_g, F_g F_g' + diag psi_g) with F_g of q columns ([N] 9.4, [T] 2.4).
 *
 * The step is in parts.c, starts and moves are in mix.c.  psi is each part's own, common to all, or one number in each part, which makes
 * a mixture of probabilistic principal component analysers; q = 0 leaves the diagonals, and q = D has every covariance.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/mixture/mix.h"

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_mfa_settings
static const char *const psis[] = {"own", "common", "isotropic", NULL};
static const fab_field fields[] = {
    REQUIRED(G, I64, 1, 4096, "number of parts"),
    FIELD(q, I64, 2, 0, 4096, "factors of a part; 0: its diagonal alone"),
    CHOICE(psi, FAB_MFA_OWN, psis, "what the diagonals have in common"),
    FIELD(tol, F64, 1e-7, 0, 1, "stop when a step gains less, in nats per row"),
    FIELD(max_iter, I64, 2000, 1, 1e9, "steps of EM"),
    FIELD(restarts, I64, 5, 1, 1000, "short runs from starts of their own; the best goes on"),
    FIELD(moves, I64, 6, 0, 1000, "attempts to merge two parts and split another"),
    FIELD(floor, F64, 1e-6, 1e-300, 0.5, "floor of psi, relative to the variance of the column"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the starts and moves"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("mfa", fields);
#undef SETTINGS

static fab_mix_plan plan_of(const void *settings, const fab_input *in)
{
    const fab_mfa_settings *s = settings;
    return (fab_mix_plan){.who = "mfa",
                          .D = in->vectors,
                          .G = s->G,
                          .q = s->q < in->vectors ? s->q : in->vectors,
                          .shape = (fab_shape)s->psi,
                          .restarts = s->restarts,
                          .moves = s->moves,
                          .max_iter = s->max_iter,
                          .seed = s->seed,
                          .tol = s->tol,
                          .floor = s->floor};
}

/* Free parameters of the covariances of n parts: loadings up to a rotation, and psi. */
static double parameters(const void *settings, int64_t n, int64_t D)
{
    const fab_mfa_settings *s = settings;
    const double d = (double)D, q = (double)(s->q < D ? s->q : D);
    const double loadings = (double)n * (d * q - q * (q - 1) / 2);
    if (s->psi == FAB_MFA_COMMON) return loadings + d;
    return loadings + (double)n * (s->psi == FAB_MFA_OWN ? d : 1);
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

const fab_method fab_mfa_method = {
    .name = "mfa",
    .summary = "mixture of factor analysers by EM",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .starts = 1,
    .fields = &table,
    .parameters = parameters,
    .init = init,
    .bytes = bytes,
    FAB_MIX_VERBS,
};
