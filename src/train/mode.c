/* mode.c - the theta of highest posterior density by Newton's method.
 *
 *   1  f, g, A at theta;  A = S^-1 L L' S^-1, S = diag(A)^-1/2; where digits run out, L from the rows (objective_root.c)
 *   2  stop when g' A^-1 g / 2, what a Newton step promises, is below tol; f is convex, so there is one mode
 *   3  up to FAB_PAIRS steps -H g, H = A^-1 with the corrections of L-BFGS for the steps since 1: a gradient is
 *      much cheaper than A.  Each is halved until f falls by a share of what it promises
 *   4  back to 1
 *
 * Large models have no A: then each step is -A^-1 g by conjugate gradients.
 *
 * SPDX-License-Identifier: MIT */
#include "train/mode.h"
#include "base/fail.h"
#include "base/memory.h"
#include "la/small.h"
#include "model/likelihoods/likelihood.h"
#include "posterior/spread.h"
#include <math.h>
#include <string.h>

#define SHARE    1e-4  /* of the promised fall that a step must bring */
#define ROUNDING 1e-9  /* of f: below this a step that brings nothing is the end */
#define BLIND    1e-13 /* of f: below this f cannot tell whether a step brings anything */
#define FORCING  1e-2  /* of r' S r: a step of conjugate gradients ends there, or earlier */
#define REST     1e-6  /* of tol: a last step that promises more changes A, which is made again */
#define ILL      1e-5  /* of L's diagonal: below, 10 digits of A are lost, and 6 are left */
#define WORTH    0.25  /* a polishing step that promises more of the one before it is rounding */
enum { PER_FACTOR = 24 }; /* A costs about P / 24 gradients: worth as many steps */
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
    const fab_likelihood_row *l = fab_glm_likelihood(&o->m);
    if (o->m.intercept && l->start)
        theta[o->m.D] = l->start(weighted_mean(o->e), (double)o->e->x.n);
}

/* ---- Newton ----------------------------------------------------------------------------------- */

/* v <- A^-1 v */
static void solve(const fab_objective *o, const fab_mode *m, double *v)
{
    for (int64_t i = 0; i < o->P; i++) v[i] *= m->scale[i];
    fab_chol_solve(o->P, 1, m->L, v);
    for (int64_t i = 0; i < o->P; i++) v[i] *= m->scale[i];
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void add(int64_t n, double t, const double *a, double *b)
{
    for (int64_t i = 0; i < n; i++) b[i] += t * a[i];
}

/* 3  step = -H g by the two loops of L-BFGS; what it promises */
static double promise(fab_objective *o, fab_mode *m, int64_t pairs)
{
    const int64_t P = o->P;
    double share[FAB_PAIRS];
    for (int64_t i = 0; i < P; i++) m->step[i] = -m->gradient[i];
    for (int64_t k = pairs - 1; k >= 0; k--) {
        const double *s = m->moves + k * P, *y = m->turns + k * P;
        share[k] = dot(P, s, m->step) / dot(P, s, y);
        add(P, -share[k], y, m->step);
    }
    solve(o, m, m->step);
    for (int64_t k = 0; k < pairs; k++) {
        const double *s = m->moves + k * P, *y = m->turns + k * P;
        add(P, share[k] - dot(P, y, m->step) / dot(P, s, y), s, m->step);
    }
    return -dot(P, m->gradient, m->step) / 2;
}

/* Halve the step: 1 when theta has moved; value and gradient belong to theta then. */
static int search(fab_objective *o, fab_mode *m, double gain)
{
    double t = 1;
    for (int k = 0; k < HALVINGS; k++, t /= 2) {
        for (int64_t i = 0; i < o->P; i++) m->trial[i] = m->theta[i] + t * m->step[i];
        const double f = fab_objective_at(o, m->trial, m->gradient, NULL);
        if (o->stopped != FAB_OK) return 0;
        if (!(f <= m->value - SHARE * t * 2 * gain)) continue;
        memcpy(m->theta, m->trial, (size_t)o->P * sizeof *m->theta);
        m->value = f;
        return 1;
    }
    return 0;
}

/* So near the mode that f is too round to judge a step, or closer than asked for? */
static int is_near(const fab_mode *m, double gain)
{
    return gain <= m->tol || gain <= BLIND * (1 + fabs(m->value));
}

/* One step with a promise: 1 when it is the last, taken as it is near the mode. */
static int advance(fab_objective *o, fab_mode *m, double gain)
{
    const int near = is_near(m, gain), moved = !near && search(o, m, gain);
    m->converged = near || (!moved && gain <= ROUNDING * (1 + fabs(m->value)));
    if (m->converged) add(o->P, 1, m->step, m->theta);
    m->iterations++;
    return !moved;
}

/* 3; *last: the mode is reached, or a Newton step leads nowhere.  Beside the mode, where f cannot judge a step, steps
 * go on as long as each promises much less than the one before: A shall be that of the mode to rounding. */
static fab_status descend(fab_objective *o, fab_mode *m, int *last)
{
    const int64_t P = o->P, worth = P / PER_FACTOR + 2;
    double before = INFINITY;
    for (int64_t pairs = 0; pairs < FAB_PAIRS; pairs++) {
        double *s = m->moves + pairs * P, *y = m->turns + pairs * P;
        if (!m->converged && pairs >= worth) break;
        const double gain = promise(o, m, pairs);
        m->converged = m->converged || is_near(m, gain);
        if (m->converged && !(gain < WORTH * before)) break;
        memcpy(s, m->theta, (size_t)P * sizeof *s);
        memcpy(y, m->gradient, (size_t)P * sizeof *y);
        FAB_TRY(fab_watch_tick(&o->watch, o->who, m->iterations, 0));
        if (m->converged) {
            add(P, 1, m->step, m->theta);
            m->value = fab_objective_at(o, m->theta, m->gradient, NULL);
            m->iterations++;
            FAB_TRY(o->stopped);
        } else if (advance(o, m, gain)) {
            *last = m->converged || pairs == 0;
            return o->stopped;
        }
        for (int64_t i = 0; i < P; i++) {
            s[i] = m->theta[i] - s[i];
            y[i] = m->gradient[i] - y[i];
        }
        if (!(dot(P, s, y) > 0)) break; /* rounding: f is convex */
        before = m->converged ? gain : INFINITY;
    }
    *last = m->converged != 0;
    return FAB_OK;
}

static fab_status not_finite(const fab_objective *o)
{
    return FAB_FAIL(FAB_NUMERIC, "%s: the log-likelihood is not finite: bring the columns to size",
                    o->who);
}

/* 1 */
static fab_status evaluate(fab_objective *o, fab_mode *m)
{
    m->value = fab_objective_at(o, m->theta, m->gradient, m->A);
    FAB_TRY(o->stopped);
    FAB_TRY(fab_watch_work(&o->watch, pow((double)o->P, 3) / 30, o->who, m->iterations, 0));
    if (!isfinite(m->value)) return not_finite(o);
    fab_status s = fab_scaled_chol(o->P, m->A, m->scale, m->L, &m->logdet);
    double least = INFINITY;
    for (int64_t i = 0; i < o->P; i++) least = fmin(least, m->L[i + i * o->P]);
    if (s == FAB_OK && least > ILL) return FAB_OK;
    s = fab_objective_root(o, m->theta, m->scale, m->L);
    if (s == FAB_OK) {
        m->logdet = fab_chol_logdet(o->P, m->L);
        for (int64_t i = 0; i < o->P; i++) m->logdet -= 2 * log(m->scale[i]);
        return FAB_OK;
    }
    if (s != FAB_NUMERIC) return s;
    return fab_prefix(
        s, "%s: the curvature at the mode, with a prior too weak for its columns: ", o->who);
}

/* 2: 1 when theta is where it shall be, seen with the A that belongs to it: the promise is small, or so round that it
 * does not fall any more from one A to the next (*before).  *again: A is to be made once more, because a step of some size
 * was taken after it. */
static int arrived(fab_objective *o, fab_mode *m, int last, int *again, double *before)
{
    const double gain = promise(o, m, 0);
    const int near = is_near(m, gain), round = gain <= ROUNDING * (1 + fabs(m->value));
    const int claimed = m->converged != 0; /* by a step that knew A from elsewhere */
    const int stands = round && !(gain < WORTH * *before);
    *before = gain;
    m->converged = stands || (last && (near || (claimed && round)));
    *again = last && near && gain > REST * m->tol;
    if (last && near) add(o->P, 1, m->step, m->theta);
    return m->converged || (last && !claimed);
}

fab_status fab_mode_newton(fab_objective *o, fab_mode *m)
{
    const int64_t most = m->iterations + m->max_iter;
    int last = 0, again = 0;
    double before = INFINITY;
    m->converged = 0;
    for (;;) {
        FAB_TRY(evaluate(o, m));                                                  /* 1 */
        if (arrived(o, m, last, &again, &before) || m->iterations >= most) break; /* 2 */
        last = 0;
        FAB_TRY(descend(o, m, &last)); /* 3, 4 */
    }
    return again ? evaluate(o, m) : FAB_OK;
}

/* ---- Newton by conjugate gradients -------------------------------------------------------------- */

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
    add(P, t, d, m->step);
    add(P, -t, m->product, r);
    *size = size_of(m, P);
    for (int64_t i = 0; i < P; i++) d[i] = m->scale[i] * r[i] + *size / before * d[i];
    return FAB_OK;
}

/* step = -A^-1 g as far as it pays: the residual falls to a share of the gradient that goes to 0 with it */
static fab_status conjugate(fab_objective *o, fab_mode *m, double *first)
{
    const int64_t P = o->P;
    const int few = o->e->x.n * o->m.classes < P;
    fab_objective_curvature(o, m->theta);
    FAB_TRY(o->stopped);
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
    for (int64_t i = 0; i < CONJUGATE_STEPS; i++) {
        if (!(size > enough)) break;
        FAB_TRY(conjugate_step(o, m, &size));
        FAB_TRY(fab_watch_tick(&o->watch, o->who, i, 0));
    }
    return FAB_OK;
}

fab_status fab_mode_newton_cg(fab_objective *o, fab_mode *m)
{
    double first = 0;
    m->converged = 0;
    m->value = fab_objective_at(o, m->theta, m->gradient, NULL);
    for (int64_t i = 0; i < m->max_iter; i++) {
        if (!isfinite(m->value)) break;
        FAB_TRY(conjugate(o, m, &first));
        const int last = advance(o, m, -dot(o->P, m->gradient, m->step) / 2);
        FAB_TRY(o->stopped);
        if (last) break;
    }
    m->value = fab_objective_at(o, m->theta, m->gradient, NULL);
    FAB_TRY(o->stopped);
    return isfinite(m->value) ? FAB_OK : not_finite(o);
}
