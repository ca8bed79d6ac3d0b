/* factors_report.c - what there is to say of a factor analysis: likelihood, test, floors, loadings to read.
 *
 * SPDX-License-Identifier: MIT */
#include "base/chi_square.h"
#include "base/memory.h"
#include "fit/method.h"
#include "table/factors.h"
#include <math.h>
#include <string.h>

#define MARKED 0.5 /* a loading that makes a coordinate one of that factor's */

/* The likelihood ratio of K factors against any covariance. */
static void test_factors(const fab_factors *f, double saturated, fab_fa_report *r)
{
    const int64_t K = fab_factors_get(f, "K");
    const double D = (double)f->D, k = (double)K, n = f->total;
    r->chi_square = r->p_value = r->rmsea = r->rmsea_low = r->rmsea_high = NAN;
    r->dof = ((f->D - K) * (f->D - K) - f->D - K) / 2;
    const double ratio = fmax(0, 2 * (saturated - r->loglik_mean)); /* for each row */
    const double bartlett = n - 1 - (2 * D + 5) / 6 - 2 * k / 3;
    if (!(saturated == saturated && r->dof > 0 && n > D + 1 && bartlett > 0)) return;
    const double dof = (double)r->dof, x = (n - 1) * ratio, each = dof * (n - 1);
    r->chi_square = bartlett * ratio;
    r->p_value = fab_chi_square_above(dof, r->chi_square);
    r->rmsea = sqrt(fmax(0, x - dof) / each);
    r->rmsea_low = sqrt(fab_chi_square_away(dof, x, 0.95) / each);
    r->rmsea_high = sqrt(fab_chi_square_away(dof, x, 0.05) / each);
}

fab_status fab_factors_report(fab_factors *f, fab_fa_report *r)
{
    fab_report d = {0};
    const fab_gauss *q;
    FAB_TRY(fab_factors_result(f, &q));
    if (f->whole.q)
        d = f->whole.found;
    else
        FAB_TRY(fab_factors_fit_report(f, &d));
    *r = (fab_fa_report){.n = d.n,
                         .before = f->before,
                         .dropped = f->dropped,
                         .iterations = d.iterations,
                         .converged = d.converged,
                         .floored = d.floored,
                         .loglik_mean = d.loglik_mean,
                         .seconds = f->seconds,
                         .loglik_rows = d.loglik_rows,
                         .loglik_se = d.loglik_se,
                         .gain = d.gain,
                         .stream = f->ahead ? fab_prequential_scores(f->ahead) : NULL};
    test_factors(f, d.saturated, r);
    return FAB_OK;
}

static double variance(const fab_gauss *q, int64_t d)
{
    double v = q->psi[d];
    for (int64_t k = 0; k < q->K; k++) {
        const double x = q->type == FAB_F32 ? (double)((const float *)q->F)[d * q->K + k]
                                            : ((const double *)q->F)[d * q->K + k];
        v += x * x;
    }
    return v;
}

/* psi stands at psi_min of the coordinate's own variance, or for a constant one of the mean variance. */
fab_status fab_factors_floored(fab_factors *f, const int64_t **coordinate, int64_t *n)
{
    const fab_field *field = fab_settings_find(f->method->fields, "psi_min");
    const fab_gauss *q;
    fab_fa_report r;
    double psi_min = 0, mean = 0;
    const int of_iterates = f->method->iterates;
    int64_t *const floored = f->whole.q ? f->whole.places + f->whole.D : f->floored;
    *coordinate = floored;
    *n = 0;
    FAB_TRY(fab_factors_result(f, &q));
    FAB_TRY(fab_factors_report(f, &r));
    if (!field || !r.floored) return FAB_OK;
    memcpy(&psi_min, (const char *)fab_factors_settings(f) + field->offset, sizeof psi_min);
    for (int64_t d = 0; d < q->D; d++) mean += variance(q, d) / (double)q->D;
    for (int64_t d = 0; d < q->D; d++) {
        const double own = psi_min * variance(q, d), all = psi_min * mean;
        int low = q->psi[d] <= own * (1 + 1e-3) || fabs(q->psi[d] / all - 1) < 1e-3;
        if (of_iterates) low = q->psi[d] <= psi_min; /* a number, and no share */
        if ((low || r.floored == q->D) && *n < r.floored) floored[(*n)++] = d;
    }
    return FAB_OK;
}

/* ---- loadings to read ------------------------------------------------------------------------------- */

/* The factor that a coordinate goes with; K: none. */
static int64_t marker(const double *row, int64_t K)
{
    int64_t best = 0;
    for (int64_t k = 1; k < K; k++)
        if (fabs(row[k]) > fabs(row[best])) best = k;
    return fabs(row[best]) < MARKED ? K : best;
}

void fab_factors_loadings_of(const fab_gauss *q, const fab_rotation *r, double *loading,
                             double *uniqueness, double *explained, int64_t *order)
{
    const int64_t K = r->K;
    int64_t n = 0;
    fab_rotation_factors(r, q, 0, q->D, loading);
    for (int64_t d = 0; d < q->D; d++) {
        const double v = variance(q, d);
        uniqueness[d] = q->psi[d] / v;
        if (!r->standardised)
            for (int64_t k = 0; k < K; k++) loading[d * K + k] /= sqrt(v);
    }
    for (int64_t k = 0; k < K; k++) { /* diag(phi L' L) */
        explained[k] = 0;
        for (int64_t d = 0; d < q->D; d++)
            for (int64_t j = 0; j < K; j++)
                explained[k] += r->phi[k * K + j] * loading[d * K + j] * loading[d * K + k];
    }
    for (int64_t k = 0; k <= K; k++) /* those of factor k, the largest first */
        for (int64_t first = n, d = 0; d < q->D; d++) {
            if (marker(loading + d * K, K) != k) continue;
            int64_t at = n++;
            while (at > first && k < K &&
                   fabs(loading[order[at - 1] * K + k]) < fabs(loading[d * K + k])) {
                order[at] = order[at - 1];
                at--;
            }
            order[at] = d;
        }
}

fab_status fab_factors_loadings(fab_factors *f, const fab_rotation *r, double *loading,
                                double *uniqueness, double *explained, int64_t *order)
{
    const fab_gauss *q;
    FAB_TRY(fab_factors_result(f, &q));
    fab_factors_loadings_of(q, r, loading, uniqueness, explained, order);
    return FAB_OK;
}
