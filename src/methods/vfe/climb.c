/* climb.c - parameters of a kernel and the noise, where the objective of a sparse Gaussian process is largest.
 *
 *   1  the noise alone, step by step: S and c of one noise are those of all others but for a factor
 *   2  parameters and noise side by side, by L-BFGS within bounds (train/evidence.c), over logarithms
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vfe/climb.h"
#include "base/fail.h"
#include "base/memory.h"
#include "la/small.h"
#include <math.h>

#define LOG_2PI 1.8378770664093454836

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* r: the noise that S and c are of over another one, whose objective is asked for; B: room for m x m + m. */
static double with_noise(const fab_bound *b, double r, double *B)
{
    const int64_t m = fab_bound_size(b);
    const fab_bound_sums *sums;
    const double *c, *S;
    double *z = B + m * m, fitted = 0;
    fab_bound_state(b, &sums, &c, &S);
    for (int64_t i = 0; i < m * m; i++) B[i] = r * S[i];
    for (int64_t i = 0; i < m; i++) z[i] = r * c[i];
    fab_add_identity(m, B);
    if (fab_chol(m, B) != FAB_OK) return -INFINITY;
    fab_tri_solve(FAB_LEFT, FAB_N, m, 1, B, z);
    for (int64_t i = 0; i < m; i++) fitted += z[i] * z[i];
    const double left = fab_bound_kind_of(b) == FAB_BOUND_VFE ? r * sums->left : 0;
    return -(sums->rows * (LOG_2PI - log(r)) + sums->log_noise + fab_chol_logdet(m, B) +
             r * sums->squares - fitted + left) /
           2;
}

fab_status fab_bound_settle(fab_bound *b, const double *theta, double scale, double by,
                            double *noise, double *value)
{
    const double factor[] = {by, 1 / by};
    const int64_t m = fab_bound_size(b);
    double *B, r = 1;
    FAB_TRY(fab_bound_at(b, theta, *noise, NULL, 1, value, NULL));
    if (fab_bound_kind_of(b) == FAB_BOUND_FITC) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&B, m * m + m, sizeof *B, "bound"));
    for (int i = 0; i < 2; i++)
        for (;;) {
            const double next = *noise / r * factor[i], there = with_noise(b, *noise / next, B);
            if (!(there > *value && next >= FAB_BOUND_QUIETEST * scale &&
                  next <= FAB_BOUND_LOUDEST * scale))
                break;
            *value = there;
            r = *noise / next;
        }
    *noise /= r;
    fab_release(B);
    return FAB_OK;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

static void close_nothing(void *self)
{
    (void)self;
}

static fab_status at(void *self, const double *theta, double noise, double *value, double *gradient)
{
    return fab_bound_at(self, theta, noise, NULL, 0, value, gradient);
}

fab_status fab_bound_climb(fab_bound *b, const fab_kernel *k, const fab_bound_plan *plan,
                           double scale, double *theta, double *noise, fab_evidence_report *found,
                           const fab_exec *x)
{
    static const fab_evidence_of how = {NULL, close_nothing, at}; /* of all rows: none is made */
    const fab_bound_rows *r = fab_bound_rows_of(b);
    const fab_evidence_rows rows = {r->n, r->X, r->y, r->weight, NULL};
    const fab_evidence_plan search = {.starts = 1,
                                      .seed = plan->seed,
                                      .rows = r->n,
                                      .noise = plan->noise,
                                      .noise_start = *noise,
                                      .tol = plan->tol,
                                      .here = 1,
                                      .evaluations = plan->evaluations};
    return fab_evidence_search(&how, NULL, b, k, &rows, 1, scale, &search, theta, noise, found, x);
}
