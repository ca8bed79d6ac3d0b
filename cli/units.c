/* units.c - the posterior of a linear model as a Gaussian in the user's units.
 *
 *   theta_user = A theta + a.  A is diagonal but for the row of an intercept (linear.c).
 *
 *   1  no column has a mean: A is diagonal, and F and psi are scaled as they stand
 *   2  else S = A cov A', dense, and back to F F' + psi without loss
 *
 * SPDX-License-Identifier: MIT */
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int has_means(const linear *l)
{
    const fab_scaling *k = l->scaling;
    for (int64_t d = 0; d < k->D; d++)
        if (k->mean[d] != 0 && l->model.intercept) return 1;
    return 0;
}

int units_allow(const linear *l)
{
    return !has_means(l) || l->q->D <= FAB_DENSE_MAX;
}

/* Unit of coordinate i: A_ii. */
static double unit_of(const linear *l, int64_t i)
{
    const fab_scaling *k = l->scaling;
    const int64_t d = i % (l->model.D + l->model.intercept);
    return d < k->D ? k->target_scale / k->scale[d] : k->target_scale;
}

/* 1 */
static void scale_rows(fab_gauss *g, const linear *l)
{
    double *F = g->F;
    for (int64_t i = 0; i < g->D && g->form != FAB_POINT; i++) {
        const double u = g->form == FAB_COVARIANCE ? unit_of(l, i) : 1 / unit_of(l, i);
        for (int64_t j = 0; j < g->K; j++) F[i * g->K + j] *= u;
        g->psi[i] *= u * u;
    }
}

/* A S A' in place: rows are vectors of theta, then columns are. */
static void change_both(const linear *l, double *S, const double *zero)
{
    const int64_t P = l->q->D;
    for (int turn = 0; turn < 2; turn++) {
        for (int64_t i = 0; i < P; i++) {
            double *row = S + i * P;
            linear_to_user(l, row);
            for (int64_t j = 0; j < P; j++) row[j] -= zero[j];
        }
        for (int64_t i = 0; i < P; i++)
            for (int64_t j = 0; j < i; j++) {
                const double t = S[i * P + j];
                S[i * P + j] = S[j * P + i];
                S[j * P + i] = t;
            }
    }
}

/* 2 */
static fab_status change_densely(fab_gauss **g, const linear *l, double *S, double *zero)
{
    fab_solver *solver;
    memset(zero, 0, (size_t)l->q->D * sizeof *zero);
    linear_to_user(l, zero);
    fab_status s = fab_solver_init(&solver, l->q, NULL);
    if (s == FAB_OK) s = fab_solver_dense(solver, S);
    fab_solver_free(solver);
    if (s != FAB_OK) return s;
    change_both(l, S, zero);
    return fab_gauss_from_dense(g, l->q->D, S);
}

static int make(fab_gauss **g, const linear *l)
{
    const int64_t P = l->q->D;
    if (!has_means(l) || l->q->form == FAB_POINT) {
        const fab_status s = fab_gauss_copy(g, l->q, FAB_F64);
        if (s != FAB_OK) return say_status_of(l->file, s);
        scale_rows(*g, l);
        return DONE;
    }
    double *S = malloc((size_t)(P * P + P) * sizeof *S);
    if (!S) return say_failed("%s: no memory for %" PRId64 " x %" PRId64 " numbers", l->file, P, P);
    const fab_status s = change_densely(g, l, S, S + P * P);
    free(S);
    return s == FAB_OK ? DONE : say_status_of(l->file, s);
}

int units_gauss(fab_gauss **g, const linear *l)
{
    const int status = make(g, l);
    if (status != DONE) return status;
    memcpy((*g)->mu, l->q->mu, (size_t)l->q->D * sizeof *(*g)->mu);
    linear_to_user(l, (*g)->mu);
    return DONE;
}
