/* axes.c - the principal axes of a mixture: where to look at its parts from.
 *
 *   C = sum_g w_g (F_g F_g' + diag(psi_g)) + sum_g w_g (mu_g - mu)(mu_g - mu)',  R = s^-1 C s^-1 with s^2 = diag C
 *   1  V (D x b) at random, its columns orthonormal;  b = k + GUARDS, at most D
 *   2  Z = R V, by the factors: nothing is D x D
 *   3  H = V' Z = U diag(l) U';  V <- Z U with orthonormal columns;  until the k largest l have moved by TOL of themselves
 *   4  axis j is the j-th column over s, its largest element positive, and l_j / D the share of the variance
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/gauss.h"
#include "fabayes/random.h"
#include "la/small.h"
#include "posterior/element.h"
#include <math.h>
#include <string.h>

enum { GUARDS = 6, STEPS = 500 };
#define TOL 1e-10

typedef struct axes {
    const fab_mixture *m;
    int64_t D, b;
    const double *centre;
    double *scale;   /* D: s */
    double *V, *Z;   /* D x b, column-major */
    double *H, *U;   /* b x b */
    double *l, *was; /* b */
    double *QR, *eig, *u;
} axes;

static void layout(fab_layout *l, void *handle)
{
    axes *a = handle;
    const int64_t D = a->D, b = a->b;
    a->scale = fab_place(l, D, sizeof *a->scale);
    a->V = fab_place(l, D * b, sizeof *a->V);
    a->Z = fab_place(l, D * b, sizeof *a->Z);
    a->H = fab_place(l, b * b, sizeof *a->H);
    a->U = fab_place(l, b * b, sizeof *a->U);
    a->l = fab_place(l, b, sizeof *a->l);
    a->was = fab_place(l, b, sizeof *a->was);
    a->QR = fab_place(l, fab_qr_work(D, b), sizeof *a->QR);
    a->eig = fab_place(l, fab_eig_work(b), sizeof *a->eig);
    a->u = fab_place(l, D, sizeof *a->u);
}

/* z += R_g v for part g of weight w, v and z one column. */
static void add_part(axes *a, int64_t g, const double *v, double *z)
{
    const fab_gauss *q = a->m->part[g];
    const double w = a->m->weight[g], *s = a->scale;
    double *u = a->u, along = 0;
    for (int64_t i = 0; i < a->D; i++) {
        u[i] = v[i] / s[i];
        along += (q->mu[i] - a->centre[i]) * u[i];
    }
    for (int64_t i = 0; i < a->D; i++)
        z[i] += w / s[i] * (q->psi[i] * u[i] + along * (q->mu[i] - a->centre[i]));
    for (int64_t k = 0; k < q->K; k++) {
        double f = 0;
        for (int64_t i = 0; i < a->D; i++) f += fab_gauss_get(q, i * q->K + k) * u[i];
        for (int64_t i = 0; i < a->D; i++) z[i] += w / s[i] * f * fab_gauss_get(q, i * q->K + k);
    }
}

static fab_status iterate(axes *a, int64_t k)
{
    const int64_t D = a->D, b = a->b;
    fab_random_normal(1, FAB_PURPOSE_START, UINT64_MAX / 5, 0, D * b, FAB_F64, a->V); /* 1 */
    fab_qr(D, b, a->V, a->H, a->QR);
    for (int64_t step = 0; step < STEPS; step++) {
        memset(a->Z, 0, (size_t)(D * b) * sizeof *a->Z);
        for (int64_t j = 0; j < b; j++)
            for (int64_t g = 0; g < a->m->n; g++)
                add_part(a, g, a->V + j * D, a->Z + j * D); /* 2 */
        fab_mm(FAB_T, FAB_N, b, b, D, 1, a->V, a->Z, 0, a->H);
        fab_symmetrise(b, a->H);
        FAB_TRY(fab_eig(b, a->H, a->l, a->eig)); /* 3 */
        int moved = step == 0;
        for (int64_t j = 0; j < b; j++) {
            if (j >= b - k) moved |= fabs(a->l[j] - a->was[j]) > TOL * fabs(a->l[j]);
            a->was[j] = a->l[j];
        }
        if (!moved ||
            step ==
                STEPS -
                    1) { /* the last ones: two axes of nearly one variance, of which any turn will do */
            fab_mm(FAB_N, FAB_N, D, b, b, 1, a->V, a->H, 0, a->Z);
            memcpy(a->V, a->Z, (size_t)(D * b) * sizeof *a->V);
            return FAB_OK;
        }
        fab_mm(FAB_N, FAB_N, D, b, b, 1, a->Z, a->H, 0, a->V);
        fab_qr(D, b, a->V, a->U, a->QR);
    }
    return FAB_OK;
}

/* 4: the k largest, in falling order. */
static void give(const axes *a, int64_t k, double *axis, double *share)
{
    const int64_t D = a->D;
    for (int64_t j = 0; j < k; j++) {
        const double *v = a->V + (a->b - 1 - j) * D;
        double high = 0;
        for (int64_t i = 0; i < D; i++)
            if (fabs(v[i]) > fabs(high)) high = v[i];
        for (int64_t i = 0; i < D; i++) axis[j * D + i] = (high < 0 ? -v[i] : v[i]) / a->scale[i];
        share[j] = a->l[a->b - 1 - j] / (double)D;
    }
}

static fab_status check(const fab_mixture *m, int64_t k)
{
    FAB_TRY(fab_mixture_check(m));
    if (k < 1 || k > m->part[0]->D)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "axes: %lld of them, expected 1 to D = %lld",
                        (long long)k, (long long)m->part[0]->D);
    for (int64_t g = 0; g < m->n; g++)
        if (m->part[g]->form != FAB_FORM_COVARIANCE || m->part[g]->total)
            return FAB_FAIL(FAB_UNSUPPORTED,
                            "axes: part %lld is no covariance of whole vectors, and those are what "
                            "has axes here",
                            (long long)g);
    return FAB_OK;
}

fab_status fab_mixture_axes(const fab_mixture *m, int64_t k, const fab_exec *x, double *centre,
                            double *axis, double *share)
{
    axes *a;
    FAB_TRY(check(m, k));
    const int64_t D = m->part[0]->D;
    const axes proto = {.m = m, .D = D, .b = k + GUARDS < D ? k + GUARDS : D, .centre = centre};
    FAB_TRY(fab_build((void **)&a, sizeof proto, &proto, layout));
    fab_status s = fab_mixture_moments(m, x, centre, a->scale);
    for (int64_t i = 0; i < D; i++) a->scale[i] = sqrt(a->scale[i]);
    if (s == FAB_OK) s = iterate(a, k);
    if (s == FAB_OK) give(a, k, axis, share);
    fab_release(a);
    return s;
}

void fab_gauss_on_axes(const fab_gauss *g, int64_t k, const double *centre, const double *axis,
                       double *mean, double *covariance)
{
    const int64_t D = g->D;
    for (int64_t a = 0; a < k; a++) {
        mean[a] = 0;
        for (int64_t i = 0; i < D; i++) mean[a] += axis[a * D + i] * (g->mu[i] - centre[i]);
        for (int64_t b = 0; b <= a; b++) {
            const double *va = axis + a * D, *vb = axis + b * D;
            double sum = 0;
            for (int64_t i = 0; i < D; i++) sum += va[i] * g->psi[i] * vb[i];
            for (int64_t j = 0; j < g->K; j++) {
                double fa = 0, fb = 0;
                for (int64_t i = 0; i < D; i++) {
                    const double f = fab_gauss_get(g, i * g->K + j);
                    fa += va[i] * f;
                    fb += vb[i] * f;
                }
                sum += fa * fb;
            }
            covariance[a * k + b] = covariance[b * k + a] = sum;
        }
    }
}

void fab_gauss_outline(int64_t k, const double *mean, const double *covariance, double reach,
                       int64_t n, double *x, double *y)
{
    const double pi = 3.14159265358979323846, *S = covariance, sd = sqrt(S[0]);
    const double across = k > 1 ? S[2] / sd : 0, left = k > 1 ? S[3] - across * across : 0;
    for (int64_t i = 0; i < n; i++) {
        const double t = (double)i / (double)(n - 1), turn = 2 * pi * t, u = reach * (2 * t - 1);
        if (k > 1) { /* by the Cholesky factor */
            x[i] = mean[0] + reach * sd * cos(turn);
            y[i] = mean[1] + reach * (across * cos(turn) + (left > 0 ? sqrt(left) : 0) * sin(turn));
        } else {
            x[i] = mean[0] + u * sd;
            y[i] = exp(-u * u / 2) / (sd * sqrt(2 * pi));
        }
    }
}

fab_status fab_mixture_standings(const fab_mixture *m, const fab_exec *x, double *z)
{
    FAB_TRY(fab_mixture_check(m));
    const int64_t D = m->part[0]->D;
    double *mean;
    FAB_TRY(fab_alloc_array((void **)&mean, 2 * D, sizeof *mean, "mixture"));
    const fab_status s = fab_mixture_moments(m, x, mean, mean + D);
    for (int64_t g = 0; g < m->n && s == FAB_OK; g++)
        for (int64_t i = 0; i < D; i++)
            z[g * D + i] = (m->part[g]->mu[i] - mean[i]) / sqrt(mean[D + i]);
    fab_release(mean);
    return s;
}
