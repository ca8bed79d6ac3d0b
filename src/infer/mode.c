/* mode.c - the theta of highest posterior density by Newton's method.
 *
 *   1  f, g, A at theta;  A = S^-1 L L' S^-1, S = diag(A)^-1/2
 *   2  step = -A^-1 g, by the factor, or for large models by conjugate gradients;  gain = g' A^-1 g / 2, what the step promises
 *   3  halve the step until f falls by a share of what it promises
 *   4  stop when gain <= tol, after that step; f is convex, so the mode is the only one
 *
 * SPDX-License-Identifier: MIT */
#include "infer/mode.h"
#include "base/fail.h"
#include "base/memory.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define SHARE    1e-4  /* of the promised fall that a step must bring */
#define ROUNDING 1e-9  /* of f: below this a step that brings nothing is the end */
#define BLIND    1e-13 /* of f: below this f cannot tell whether a step brings anything */
#define FORCING  1e-2  /* of r' S r: a step of conjugate gradients ends there, or earlier */
enum { HALVINGS = 60, CONJUGATE_STEPS = 2000 };

static double weighted_mean(const fab_examples *e)
{
    double sum = 0, weights = 0;
    for (int64_t j = 0; j < e->x.n; j++) {
        const double w = e->weight ? e->weight[j] : 1;
        sum += w * e->y[j];
        weights += w;
    }
    return sum / weights;
}

void fab_mode_start(const fab_objective *o, double *theta)
{
    memset(theta, 0, (size_t)o->P * sizeof *theta);
    if (!o->m.intercept || o->m.likelihood == FAB_CATEGORICAL) return;
    const double mean = weighted_mean(o->e),
                 share = (mean * (double)o->e->x.n + 0.5) / ((double)o->e->x.n + 1);
    double *b = theta + o->m.D;
    if (o->m.likelihood == FAB_GAUSSIAN) *b = mean;
    if (o->m.likelihood == FAB_BERNOULLI) *b = log(share / (1 - share));
    if (o->m.likelihood == FAB_POISSON) *b = log(share);
}

/* ---- Newton ----------------------------------------------------------------------------------- */

/* 1 */
static fab_status factor(fab_objective *o, fab_mode *m)
{
    const int64_t P = o->P;
    m->logdet = 0;
    for (int64_t i = 0; i < P; i++) {
        m->scale[i] = 1 / sqrt(m->A[i + i * P]);
        m->logdet -= 2 * log(m->scale[i]);
    }
    for (int64_t j = 0; j < P; j++)
        for (int64_t i = 0; i < P; i++)
            m->L[i + j * P] = m->A[i + j * P] * m->scale[i] * m->scale[j];
    const fab_status s = fab_chol(P, m->L);
    if (s != FAB_OK)
        return fab_prefix(
            s, "%s: the curvature at the mode, with a prior too weak for its columns: ", o->who);
    m->logdet += fab_chol_logdet(P, m->L);
    return FAB_OK;
}

/* 2 */
static double promise(fab_objective *o, fab_mode *m)
{
    const int64_t P = o->P;
    double gain = 0;
    for (int64_t i = 0; i < P; i++) m->step[i] = -m->gradient[i] * m->scale[i];
    fab_chol_solve(P, 1, m->L, m->step);
    for (int64_t i = 0; i < P; i++) {
        m->step[i] *= m->scale[i];
        gain -= m->gradient[i] * m->step[i] / 2;
    }
    return gain;
}

/* 3: 1 when theta has moved */
static int search(fab_objective *o, fab_mode *m, double gain)
{
    double t = 1;
    for (int k = 0; k < HALVINGS; k++, t /= 2) {
        for (int64_t i = 0; i < o->P; i++) m->trial[i] = m->theta[i] + t * m->step[i];
        const double f = fab_objective_at(o, m->trial, NULL, NULL);
        if (!(f <= m->value - SHARE * t * 2 * gain)) continue;
        memcpy(m->theta, m->trial, (size_t)o->P * sizeof *m->theta);
        return 1;
    }
    return 0;
}

/* 2 - 4: one step; 1 when it is the last.  So near the mode that f is too round to judge it, a step is taken
 * as it is. */
static int advance(fab_objective *o, fab_mode *m, double gain)
{
    const double size = 1 + fabs(m->value);
    const int near = gain <= m->tol || gain <= BLIND * size, moved = !near && search(o, m, gain);
    m->converged = near || (!moved && gain <= ROUNDING * size);
    for (int64_t k = 0; k < o->P && m->converged; k++) m->theta[k] += m->step[k];
    m->iterations++;
    return !moved;
}

static fab_status not_finite(const fab_objective *o)
{
    return FAB_FAIL(FAB_NUMERIC, "%s: the log-likelihood is not finite: bring the columns to size",
                    o->who);
}

/* The last step's own remainder, with the factor that is there: A has not changed. */
static void polish(fab_objective *o, fab_mode *m)
{
    promise(o, m);
    for (int64_t k = 0; k < o->P && m->converged; k++) m->theta[k] += m->step[k];
}

fab_status fab_mode_newton(fab_objective *o, fab_mode *m)
{
    int last = 0;
    m->converged = 0;
    for (int64_t i = 0;; i++) {
        m->value = fab_objective_at(o, m->theta, m->gradient, m->A); /* 1 */
        if (!isfinite(m->value)) return not_finite(o);
        FAB_TRY(factor(o, m));
        FAB_TRY(fab_progress(o->who, i, 0));
        if (last) polish(o, m);
        if (last || i == m->max_iter) return FAB_OK;
        last = advance(o, m, promise(o, m));
    }
}

/* ---- Newton by conjugate gradients -------------------------------------------------------------- */

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* r' S r, S = diag(A)^-1; with fewer rows than coordinates diag(A0)^-1: A is then A0 but for those rows, and so
 * many steps are enough */
static double size_of(const fab_mode *m, int64_t P)
{
    double sum = 0;
    for (int64_t i = 0; i < P; i++) sum += m->residual[i] * m->scale[i] * m->residual[i];
    return sum;
}

/* One step of conjugate gradients, *size = r' S r before and after. */
static fab_status conjugate_step(fab_objective *o, fab_mode *m, double *size)
{
    const int64_t P = o->P;
    double *r = m->residual, *d = m->direction;
    FAB_TRY(fab_objective_times(o, 1, d, m->product));
    const double t = *size / dot(P, d, m->product), before = *size;
    for (int64_t i = 0; i < P; i++) m->step[i] += t * d[i];
    for (int64_t i = 0; i < P; i++) r[i] -= t * m->product[i];
    *size = size_of(m, P);
    for (int64_t i = 0; i < P; i++) d[i] = m->scale[i] * r[i] + *size / before * d[i];
    return FAB_OK;
}

/* 2  step = -A^-1 g as far as it pays: the residual falls to a share of the gradient that goes to 0 with it */
static fab_status conjugate(fab_objective *o, fab_mode *m, double *first)
{
    const int64_t P = o->P;
    const int few = o->e->x.n * o->m.classes < P;
    fab_objective_bend(o, m->theta);
    FAB_TRY(few ? fab_objective_diag_prior(o, m->scale) : fab_objective_diag(o, m->scale));
    for (int64_t i = 0; i < P; i++) {
        m->scale[i] = 1 / m->scale[i];
        m->step[i] = 0;
        m->residual[i] = -m->gradient[i];
        m->direction[i] = m->scale[i] * m->residual[i];
    }
    double size = size_of(m, P);
    if (!(*first > 0)) *first = size;
    const double enough = size * fmin(FORCING, sqrt(size / *first));
    for (int64_t i = 0; i < CONJUGATE_STEPS && size > enough; i++) {
        FAB_TRY(conjugate_step(o, m, &size));
        FAB_TRY(fab_progress(o->who, i, 0));
    }
    return FAB_OK;
}

fab_status fab_mode_newton_cg(fab_objective *o, fab_mode *m)
{
    double first = 0;
    int last = 0;
    m->converged = 0;
    for (int64_t i = 0;; i++) {
        m->value = fab_objective_at(o, m->theta, m->gradient, NULL); /* 1 */
        if (!isfinite(m->value)) return not_finite(o);
        if (last || i == m->max_iter) return FAB_OK;
        FAB_TRY(conjugate(o, m, &first)); /* 2 */
        last = advance(o, m, -dot(o->P, m->gradient, m->step) / 2);
    }
}
