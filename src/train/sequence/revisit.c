/* revisit.c - the rows of a block again, each given all others.
 *
 *   a row is a site: h_j added to the precision along x_j, c_j = error + h_j (u_j - eta_j) to P^-1 (mu - mu0)
 *   for each sweep:
 *   1  V = (A^-1 + H)^-1 = A - A H^1/2 B^-1 H^1/2 A,  B = I + H^1/2 A H^1/2,   d = V c
 *   2  for each row: without it, v0 = v / (1 - h v),  u0 = eta + (d - v c) / (1 - h v),  v = V_jj
 *   3      error, h', u' = scalar update from (u0, v0);  c' = error + h' (u' - eta)          (scalar.c)
 *   4      k = 1 / (1 + (h' - h) v):  d += k (c' - c - (h' - h) d_j) V e_j,  V -= k (h' - h) V e_j e_j' V
 *   5  at the end: step = (I + H A)^-1 c = c - H^1/2 B^-1 H^1/2 A c
 *
 * A fixed point is the variational Gaussian of the whole block: mu = mu0 + P0 X error with every
 * expectation under the result.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "train/sequence/sequence.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define SETTLED 1e-3  /* standard deviations that a predictor may still move */
#define ALONE   1e-10 /* share of the others in what is known about a row; below, they say nothing */

/* B = L L' */
static fab_status factor(const fab_sequence *s, const fab_revisit *v)
{
    const int64_t m = s->m;
    for (int64_t k = 0; k < m; k++)
        for (int64_t i = 0; i < m; i++)
            v->B[i + k * m] = sqrt(s->weight[i]) * v->A[i + k * m] * sqrt(s->weight[k]);
    fab_add_identity(m, v->B);
    return fab_chol(m, v->B);
}

/* 1; V through the root L^-1 H^1/2 A */
static fab_status spread(fab_sequence *s, const fab_revisit *v, double *d)
{
    const int64_t m = s->m;
    double *root = s->C;
    FAB_TRY(factor(s, v));
    for (int64_t i = 0; i < m * m; i++) root[i] = sqrt(s->weight[i % m]) * v->A[i];
    fab_tri_solve(FAB_LEFT, FAB_N, m, m, v->B, root);
    memcpy(v->V, v->A, (size_t)(m * m) * sizeof *v->V);
    fab_mm(FAB_T, FAB_N, m, m, m, -1, root, root, 1, v->V);
    fab_mv(FAB_N, m, m, 1, v->V, v->site, 0, d);
    return FAB_OK;
}

/* 4 */
static void replace(const fab_sequence *s, const fab_revisit *v, double *d, int64_t j,
                    double more_c, double more_h)
{
    const int64_t m = s->m;
    const double k = 1 / (1 + more_h * v->V[j + j * m]), along = k * (more_c - more_h * d[j]);
    const double *Vj = v->V + j * m;
    for (int64_t i = 0; i < m; i++) d[i] += along * Vj[i];
    for (int64_t i = 0; i < m; i++) s->C[i] = Vj[i];
    for (int64_t l = 0; l < m; l++) {
        const double f = k * more_h * s->C[l];
        for (int64_t i = 0; i < m; i++) v->V[i + l * m] -= f * s->C[i];
    }
    v->site[j] += more_c;
    s->weight[j] += more_h;
}

/* 2, 3; how far the row moved its predictor, in standard deviations */
static double take_again(fab_sequence *s, const fab_revisit *v, double *d, int64_t j)
{
    const double var = v->V[j + j * s->m], h = s->weight[j], others = 1 - h * var, eta = v->eta[j];
    if (!(others > ALONE) || !(var > 0)) return 0;
    const double v0 = var / others, u0 = eta + (d[j] - var * v->site[j]) / others, before = d[j];
    const fab_scalar q =
        fab_scalar_update(s->rule, s->first + (uint64_t)j, s->y[j], s->w[j], u0, v0);
    replace(s, v, d, j, q.error + q.weight * (q.u - eta) - v->site[j], q.weight - h);
    return fabs(d[j] - before) / sqrt(var);
}

static fab_status settle(fab_sequence *s, const fab_revisit *v, double *d)
{
    for (int64_t j = 0; j < s->m; j++)
        v->site[j] = s->error[j] + s->weight[j] * (s->u[j] - v->eta[j]);
    for (int64_t i = 0; i < v->sweeps; i++) {
        double moved = 0;
        FAB_TRY(spread(s, v, d));
        for (int64_t j = 0; j < s->m; j++) {
            if (s->watch)
                FAB_TRY(fab_watch_work(s->watch, FAB_SCALAR_WORK + (double)(s->m * s->m), "rows", j,
                                       s->m));
            moved = fmax(moved, take_again(s, v, d, j));
        }
        if (!(moved > SETTLED)) break;
    }
    return factor(s, v);
}

/* 5, into d */
static int find_step(const fab_sequence *s, const fab_revisit *v, double *d)
{
    const int64_t m = s->m;
    double sum = 0;
    fab_mv(FAB_N, m, m, 1, v->A, v->site, 0, d);
    for (int64_t j = 0; j < m; j++) d[j] *= sqrt(s->weight[j]);
    fab_chol_solve(m, 1, v->B, d);
    for (int64_t j = 0; j < m; j++) {
        d[j] = v->site[j] - sqrt(s->weight[j]) * d[j];
        sum += fabs(d[j]);
    }
    return isfinite(sum);
}

fab_status fab_sequence_revisit(fab_sequence *s, const fab_revisit *v)
{
    const size_t size = (size_t)s->m * sizeof *s->weight;
    double *d = v->site + s->m, *before = d + s->m;
    memcpy(before, s->weight, size);
    const fab_status status = settle(s, v, d);
    if (status == FAB_STOPPED) return status;
    if (status == FAB_OK && find_step(s, v, d)) {
        memcpy(s->step, d, size);
        return FAB_OK;
    }
    memcpy(s->weight, before, size);
    return FAB_NUMERIC;
}
