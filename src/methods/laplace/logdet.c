/* logdet.c - log det of the curvature of a linear model, too large to form.
 *
 *   1  B = D^-1/2 A D^-1/2, D = diag(A0): what the data do not see has eigenvalue 1, and log 1 = 0
 *   2  log det A = log det D + tr log B                                                       (lanczos.c)
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "methods/laplace/laplace.h"
#include <math.h>

static fab_status estimate(fab_laplace_fit *fit, const double *scale, double *logdet)
{
    const fab_products A = fab_laplace_products(fit);
    fab_spectrum *B;
    FAB_TRY(fab_lanczos(&B, &A, scale, fit->s.train.seed));
    *logdet = fit->o->log_prior; /* 2: eigenvalues are at least 1, but for rounding */
    for (int64_t i = 0; i < B->n; i++) *logdet += B->weight[i] * log(fmax(1, B->node[i]));
    fab_release(B);
    return FAB_OK;
}

fab_status fab_laplace_logdet(fab_laplace_fit *fit, double *logdet)
{
    double *scale;
    FAB_TRY(fab_alloc_array((void **)&scale, fit->P, sizeof *scale, fit->who));
    for (int64_t i = 0; i < fit->P; i++) scale[i] = 1 / sqrt(fit->o->a0[i]);
    fab_objective_curvature(fit->o, fit->mode->theta);
    const fab_status s = estimate(fit, scale, logdet);
    fab_release(scale);
    return s;
}
