/* prior.c - minus the log prior of a model's theta and its gradient.
 *
 * SPDX-License-Identifier: MIT */
#include "train/prior.h"
#include "base/memory.h"
#include "posterior/solver.h"
#include <string.h>

fab_status fab_prior_open(fab_prior *p, const fab_model *m, double alpha, const fab_gauss *q,
                          const fab_exec *x)
{
    *p = (fab_prior){.D = m->D, .weights = m->D - m->free, .alpha = alpha, .q = q};
    if (!q) return FAB_OK;
    FAB_TRY(fab_solver_create(&p->solver, q, x));
    const fab_status s = fab_alloc_array((void **)&p->diff, 2 * m->D, sizeof(double), "the prior");
    if (s != FAB_OK) {
        fab_prior_close(p);
        return s;
    }
    p->product = p->diff + m->D;
    return FAB_OK;
}

void fab_prior_close(fab_prior *p)
{
    fab_solver_free(p->solver);
    fab_release(p->diff);
    *p = (fab_prior){0};
}

static void add_alpha(const fab_prior *p, double scale, const double *theta, double *value,
                      double *gradient)
{
    const double a = p->alpha * scale;
    double sum = 0;
    for (int64_t d = 0; d < p->weights; d++) {
        sum += theta[d] * theta[d];
        if (gradient) gradient[d] += a * theta[d];
    }
    *value += 0.5 * a * sum;
}

fab_status fab_prior_add(fab_prior *p, double scale, const double *theta, double *value,
                         double *gradient)
{
    double sum = 0;
    if (!p->q) {
        add_alpha(p, scale, theta, value, gradient);
        return FAB_OK;
    }
    for (int64_t d = 0; d < p->D; d++) p->diff[d] = theta[d] - p->q->mu[d];
    const fab_rows row = {p->diff, FAB_F64, 1, p->D};
    FAB_TRY(fab_solver_times_precision(p->solver, &row, p->product));
    for (int64_t d = 0; d < p->D; d++) {
        sum += p->diff[d] * p->product[d];
        if (gradient) gradient[d] += scale * p->product[d];
    }
    *value += 0.5 * scale * sum;
    return FAB_OK;
}

fab_status fab_prior_times(fab_prior *p, int64_t first, int64_t P, int64_t k, const double *V,
                           double *out)
{
    const fab_rows row = {p->diff, FAB_F64, 1, p->D};
    if (!p->q) {
        for (int64_t i = 0; i < P * k; i++) out[i] += p->alpha * V[i];
        return FAB_OK;
    }
    for (int64_t c = 0; c < k; c++) {
        memset(p->diff, 0, (size_t)p->D * sizeof *p->diff);
        for (int64_t i = 0; i < P; i++) p->diff[first + i] = V[i * k + c];
        FAB_TRY(fab_solver_times_precision(p->solver, &row, p->product));
        for (int64_t i = 0; i < P; i++) out[i * k + c] += p->product[first + i];
    }
    return FAB_OK;
}

fab_status fab_prior_diag(fab_prior *p, double *diag)
{
    if (!p->q) {
        for (int64_t d = 0; d < p->D; d++) diag[d] = d < p->weights ? p->alpha : 0;
        return FAB_OK;
    }
    return p->q->form == FAB_FORM_PRECISION ? fab_solver_diag(p->solver, diag)
                                            : fab_solver_diag_inverse(p->solver, diag);
}
