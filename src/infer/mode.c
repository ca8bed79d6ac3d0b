/* mode.c - the theta of highest posterior density: Newton's method for small models, L-BFGS for large.
 *
 *   1  f, g, A at theta;  A = S^-1 L L' S^-1, S = diag(A)^-1/2
 *   2  step = -A^-1 g;  gain = g' A^-1 g / 2, what the step promises
 *   3  halve the step until f falls by a share of what it promises
 *   4  stop when gain <= tol, after that step; f is convex, so the mode is the only one
 *
 * SPDX-License-Identifier: MIT */
#include "infer/mode.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/small.h"
#include <math.h>
#include <nlopt.h>
#include <string.h>

#define SHARE    1e-4  /* of the promised fall that a step must bring */
#define ROUNDING 1e-9  /* of f: below this a step that brings nothing is the end */
#define BLIND    1e-13 /* of f: below this f cannot tell whether a step brings anything */
#define ENOUGH   1e-6  /* of f: a bound on what L-BFGS leaves */
enum { HALVINGS = 60, MEMORY = 20, RESTARTS = 20 };

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
static int advance(fab_objective *o, fab_mode *m)
{
    const double gain = promise(o, m), size = 1 + fabs(m->value);
    const int near = gain <= m->tol || gain <= BLIND * size, moved = !near && search(o, m, gain);
    m->converged = near || (!moved && gain <= ROUNDING * size);
    for (int64_t k = 0; k < o->P && m->converged; k++) m->theta[k] += m->step[k];
    m->iterations++;
    return !moved;
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
        if (!isfinite(m->value))
            return FAB_FAIL(FAB_NUMERIC,
                            "%s: the log-likelihood is not finite: bring the columns to size",
                            o->who);
        FAB_TRY(factor(o, m));
        FAB_TRY(fab_progress(o->who, i, 0));
        if (last) polish(o, m);
        if (last || i == m->max_iter) return FAB_OK;
        last = advance(o, m);
    }
}

/* ---- L-BFGS ----------------------------------------------------------------------------------- */

typedef struct smooth {
    fab_objective *o;
    fab_mode *m;
    nlopt_opt opt;
    double
        unit; /* the objective is told in this unit, so that the first step moves no eta by more than 1 */
    fab_status status;
} smooth;

static double evaluate(unsigned n, const double *theta, double *gradient, void *ctx)
{
    smooth *s = ctx;
    s->status = fab_progress(s->o->who, s->m->iterations++, 0);
    if (s->status != FAB_OK) nlopt_force_stop(s->opt);
    const double f = fab_objective_at(s->o, theta, gradient, NULL);
    for (unsigned i = 0; i < n && gradient; i++) gradient[i] /= s->unit;
    return isfinite(f) ? f / s->unit : HUGE_VAL;
}

/* |gradient| times the longest row; at least 1 */
static double first_unit(fab_objective *o, fab_mode *m)
{
    double longest = 0, g = 0;
    fab_objective_at(o, m->theta, m->gradient, NULL);
    for (int64_t i = 0; i < o->P; i++) g += m->gradient[i] * m->gradient[i];
    for (int64_t j = 0; j < o->e->x.n; j++) {
        double square = 1;
        for (int64_t i = 0; i < o->m.D; i++)
            square += fab_rows_at(&o->e->x, j, i) * fab_rows_at(&o->e->x, j, i);
        longest = fmax(longest, square);
    }
    return fmax(1, sqrt(g * longest));
}

/* No more than this is left to gain: the curvature is at least A0, a diagonal. */
static double left_to_gain(fab_objective *o, fab_mode *m)
{
    double bound = 0;
    m->value = fab_objective_at(o, m->theta, m->gradient, NULL);
    for (int64_t i = 0; i < o->P; i++) bound += m->gradient[i] * m->gradient[i] / (2 * o->a0[i]);
    return bound;
}

static nlopt_opt optimiser(const fab_mode *m, smooth *s)
{
    const nlopt_opt opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)s->o->P);
    if (!opt) return NULL;
    nlopt_set_min_objective(opt, evaluate, s);
    nlopt_set_vector_storage(opt, MEMORY);
    nlopt_set_ftol_abs(opt, m->tol / s->unit);
    nlopt_set_ftol_rel(opt, 1e-15);
    nlopt_set_maxeval(opt, (int)m->max_iter);
    return opt;
}

/* A line search that ran into infinity ends it early: begin again from there. */
fab_status fab_mode_lbfgs(fab_objective *o, fab_mode *m)
{
    m->converged = 0;
    for (int round = 0; round < RESTARTS && !m->converged; round++) {
        smooth s = {.o = o, .m = m, .unit = first_unit(o, m)};
        s.opt = optimiser(m, &s);
        if (!s.opt) return FAB_FAIL(FAB_NO_MEMORY, "%s: the optimiser has no memory", o->who);
        const nlopt_result r = nlopt_optimize(s.opt, m->theta, &m->value);
        nlopt_destroy(s.opt);
        FAB_TRY(s.status);
        if (r == NLOPT_OUT_OF_MEMORY)
            return FAB_FAIL(FAB_NO_MEMORY, "%s: the optimiser has no memory", o->who);
        if (r == NLOPT_INVALID_ARGS)
            return FAB_FAIL(FAB_NUMERIC, "%s: the optimiser refuses its start", o->who);
        m->converged = left_to_gain(o, m) <= ENOUGH * (1 + fabs(m->value));
        if (r == NLOPT_MAXEVAL_REACHED) break;
    }
    return FAB_OK;
}
