/* optimum.c - the Gaussian of rank K nearest to a given one: where vifa converges to, without noise.
 *
 * The expectation of a linear model with Gaussian noise is known in closed form: its posterior is p = N(m, A^-1), and
 * the ELBO of q = N(m, S) is its log evidence less KL(q || p).  closest.c finds the smallest one.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "posterior/closest.h"
#include "la/small.h"
#include <string.h>

typedef struct problem {
    const fab_gauss *p;
    fab_closest near;
    double *I; /* D x D: the identity */
} problem;

static void layout(fab_layout *l, void *handle)
{
    problem *o = handle;
    fab_closest_layout(l, &o->near);
    o->I = fab_place(l, o->near.D * o->near.D, sizeof(double));
}

/* A of p. */
static fab_status take_precision(problem *o)
{
    fab_solver *s;
    const int64_t D = o->near.D;
    FAB_TRY(fab_solver_init(&s, o->p, NULL));
    fab_add_identity(D, o->I);
    const fab_rows rows = {o->I, FAB_F64, D, D};
    const fab_status status = fab_solver_times_precision(s, &rows, o->near.A);
    fab_solver_free(s);
    FAB_TRY(status);
    fab_symmetrise(D, o->near.A);
    return fab_closest_take(&o->near);
}

static fab_status best_of(problem *o, int64_t starts, uint64_t seed, fab_gauss **q)
{
    const int64_t D = o->near.D, K = o->near.K;
    fab_gauss *g;
    FAB_TRY(take_precision(o));
    for (int64_t i = 0; i < starts; i++) FAB_TRY(fab_closest_start(&o->near, seed, i));
    FAB_TRY(fab_gauss_create(&g, FAB_COVARIANCE, FAB_F64, D, K));
    memcpy(g->mu, o->p->mu, (size_t)D * sizeof(double));
    const fab_status s = fab_closest_give(&o->near, g->F, g->psi);
    if (s == FAB_OK)
        *q = g;
    else
        fab_gauss_free(g);
    return s;
}

fab_status fab_vifa_optimum(fab_gauss **q, double *kl, const fab_gauss *p, int64_t K,
                            int64_t starts, uint64_t seed)
{
    const problem proto = {.p = p, .near = {.D = p->D, .K = K}};
    problem *o;
    *q = NULL;
    if (p->D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "vifa: D = %lld is above %d, where the optimum is searched for",
                        (long long)p->D, FAB_DENSE_MAX);
    if (K < 0 || K > p->D || starts < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "vifa: K = %lld of D = %lld from %lld starts",
                        (long long)K, (long long)p->D, (long long)starts);
    FAB_TRY(fab_build((void **)&o, sizeof proto, &proto, layout));
    const fab_status s = best_of(o, starts, seed, q);
    if (kl) *kl = o->near.kl;
    fab_release(o);
    return s == FAB_OK ? s : fab_prefix(s, "vifa: ");
}
