/* smooth.c - logistic and exponential loss by proximal Newton steps.
 *
 *   1  f, slope and curvature of every row:  c0 = - sum v L' x / V,  H = sum v L'' x x' / V
 *   2  the least of the quadratic with the penalty:  G = H,  c = c0 + H theta,  l1, 2 l2         (quad.c)
 *   3  d from theta to it, shortened until the objective falls by 1e-4 of what 2 promises at least
 *   4  end when 2 promises nothing but rounding
 *   5  gap: the objective less  - sum v L*(-s_i) / V - sum_j (|X's|_j - l1)_+^2 / (4 l2),  s_i = -y L' >= 0;
 *      without l2: s times l1 / max |X's|, if that is below 1
 *          logistic  L*(-s) = s log s + (1 - s) log(1 - s),   exponential  s log s - s
 *
 * SPDX-License-Identifier: MIT */
#include "methods/erm/erm.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define FALL    1e-4
#define NOTHING (4 * DBL_EPSILON) /* of the objective */
#define SLIGHT  1e-12             /* curvature of a row, at least: it says how far, not where */
enum { HALVES = 40, SWEEPS = 100000 };

void fab_erm_smooth_layout(fab_layout *l, fab_erm_smooth *f, const fab_erm_rows *r)
{
    f->q.P = r->P;
    f->q.D = r->D;
    fab_quad_layout(l, &f->q);
    f->f = fab_place(l, r->n, sizeof(double));
    f->s = fab_place(l, r->n, sizeof(double));
    f->s2 = fab_place(l, r->n, sizeof(double));
    f->try = fab_place(l, r->P, sizeof(double));
    f->block = fab_place(l, FAB_ERM_BLOCK * r->P, sizeof(double));
}

static double penalty(const fab_erm_rows *r, const fab_erm_penalty *p, const double *theta)
{
    double sum = 0;
    for (int64_t j = 0; j < r->D; j++) sum += p->l1 * fabs(theta[j]) + p->l2 * theta[j] * theta[j];
    return sum;
}

/* 1: q.c <- c0; returns the mean loss */
static fab_status slopes(fab_erm_smooth *f, const fab_erm_rows *r, const double *theta, double V,
                         double *mean, fab_watch *w)
{
    double sum = 0;
    memset(f->q.c, 0, (size_t)r->P * sizeof *f->q.c);
    for (int64_t i = 0; i < r->n; i++) {
        const double *x = r->X + i * r->P, v = r->v[i] / V;
        f->s[i] = f->s2[i] = 0;
        if (!(v > 0)) continue;
        const double at = fab_erm_f(r, theta, i), slope = fab_erm_slope(r, r->y[i], at);
        sum += v * fab_erm_loss(r, r->y[i], at);
        f->s[i] = -r->y[i] * slope;
        f->s2[i] = v * fmax(fab_erm_curve(r, r->y[i], at), SLIGHT);
        for (int64_t j = 0; j < r->P; j++) f->q.c[j] -= v * slope * x[j];
        FAB_TRY(fab_watch_work(w, 4 * (double)r->P, r->who, i, r->n));
    }
    *mean = sum;
    return FAB_OK;
}

/* 5: q.c is c0 = X's.  Rounding of exact zeros of s log s is none. */
static double gap_of(const fab_erm_smooth *f, const fab_erm_rows *r, const fab_erm_penalty *p,
                     double V, double objective)
{
    double most = 0, over = 0, bound = 0;
    for (int64_t j = 0; j < r->D; j++) {
        const double more = fabs(f->q.c[j]) - p->l1;
        most = fmax(most, fabs(f->q.c[j]));
        over += more > 0 ? more * more : 0;
    }
    const double scale = p->l2 > 0 || most <= p->l1 ? 1 : p->l1 / most;
    for (int64_t i = 0; i < r->n; i++) {
        const double s = scale * f->s[i], v = r->v[i] / V;
        if (!(v > 0) || !(s > 0)) continue;
        bound -= v * s * log(s) + v * s * r->y[i] * r->offset[i];
        if (r->loss == FAB_LOSS_EXPONENTIAL)
            bound += v * s;
        else if (s < 1)
            bound -= v * (1 - s) * log1p(-s);
    }
    if (p->l2 > 0) bound -= over / (4 * p->l2);
    return fmax(objective - bound, 0);
}

fab_status fab_erm_smooth_solve(fab_erm_smooth *f, const fab_erm_rows *r, const fab_erm_penalty *p,
                                int64_t max_iter, double *theta, fab_erm_end *end, fab_watch *watch)
{
    const int64_t P = r->P;
    fab_quad *q = &f->q;
    double V = 0, mean = 0, before = p->before;
    *end = (fab_erm_end){0};
    for (int64_t i = 0; i < r->n; i++) V += r->v[i];
    q->l1 = p->l1;
    q->l2 = 2 * p->l2;
    q->yy = 0;
    for (;;) {
        FAB_TRY(slopes(f, r, theta, V, &mean, watch)); /* 1 */
        end->objective = mean + penalty(r, p, theta);
        if (!isfinite(end->objective))
            return FAB_FAIL(FAB_NUMERIC, "%s: the mean loss is not finite: bring columns to size",
                            r->who);
        end->gap = gap_of(f, r, p, V, end->objective); /* 5 */
        if (end->converged || end->iterations >= max_iter) return FAB_OK;
        FAB_TRY(fab_erm_gram(r, f->s2, q->G, f->block, watch));
        double promise = 0;
        for (int64_t i = 0; i < P; i++)
            for (int64_t j = 0; j < i; j++) q->G[j * P + i] = q->G[i * P + j];
        memcpy(f->try, q->c, (size_t)P * sizeof *f->try); /* c0 */
        for (int64_t i = 0; i < P; i++)
            for (int64_t j = 0; j < P; j++) q->c[i] += q->G[i * P + j] * theta[j];
        memcpy(q->w, theta, (size_t)P * sizeof *q->w);
        int64_t sweeps = SWEEPS;
        double gap;
        int done;
        FAB_TRY(fab_quad_solve(q, before, 0, &sweeps, &gap, &done, watch, r->who)); /* 2 */
        before = INFINITY;
        for (int64_t j = 0; j < P; j++) promise += f->try[j] * (q->w[j] - theta[j]);
        promise += penalty(r, p, theta) - penalty(r, p, q->w); /* what the objective falls by */
        double t = 1, now = INFINITY;
        for (int half = 0; half < HALVES; half++, t /= 2) { /* 3 */
            for (int64_t j = 0; j < P; j++) {
                f->try[j] = theta[j] + t * (q->w[j] - theta[j]);
                if (half == 0) f->try[j] = q->w[j];
            }
            now = fab_erm_mean(r, f->try, NULL, r->n) + penalty(r, p, f->try);
            if (now <= end->objective - FALL * t * promise + NOTHING * end->objective) break;
        }
        end->iterations++;
        if (!(now <= end->objective + NOTHING * end->objective)) t = 0; /* rounding */
        if (t > 0) memcpy(theta, f->try, (size_t)P * sizeof *theta);
        end->converged = t == 0 || !(promise > NOTHING * end->objective); /* 4 */
        FAB_TRY(fab_watch_tick(watch, r->who, end->iterations, max_iter));
    }
}
