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

typedef struct search {
    fab_closest closest;
    double *I; /* D x D: the identity */
} search;

static void layout(fab_layout *l, void *handle)
{
    search *o = handle;
    fab_closest_layout(l, &o->closest);
    o->I = fab_place(l, o->closest.D * o->closest.D, sizeof(double));
}

/* F and psi of the nearest Gaussian into g. */
static fab_status find(search *o, const fab_gauss *p, int64_t starts, uint64_t seed, fab_gauss *g)
{
    const int64_t D = p->D;
    fab_closest *n = &o->closest;
    fab_solver *solver;
    FAB_TRY(fab_solver_create(&solver, p, NULL));
    fab_add_identity(D, o->I);
    const fab_rows rows = {o->I, FAB_F64, D, D};
    const fab_status s = fab_solver_times_precision(solver, &rows, n->A); /* A, row by row */
    fab_solver_free(solver);
    FAB_TRY(s);
    fab_symmetrise(D, n->A);
    FAB_TRY(fab_closest_take(n));
    for (int64_t i = 0; i < starts; i++) FAB_TRY(fab_closest_start(n, seed, i));
    memcpy(g->mu, p->mu, (size_t)D * sizeof(double));
    return fab_closest_give(n, g->F, g->psi);
}

fab_status fab_vifa_optimum(fab_gauss **q, double *kl, const fab_gauss *p, int64_t K,
                            int64_t starts, uint64_t seed)
{
    const search proto = {.closest = {.D = p->D, .K = K}};
    fab_gauss *g = NULL;
    search *o;
    *q = NULL;
    if (p->D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "vifa: D = %lld is above %d, where the optimum is searched for",
                        (long long)p->D, FAB_DENSE_MAX);
    if (K < 0 || K > p->D || starts < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "vifa: K = %lld of D = %lld from %lld starts",
                        (long long)K, (long long)p->D, (long long)starts);
    FAB_TRY(fab_build((void **)&o, sizeof proto, &proto, layout));
    fab_status s = fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, p->D, K);
    if (s == FAB_OK) s = find(o, p, starts, seed, g);
    if (s == FAB_OK) {
        *q = g;
        if (kl) *kl = o->closest.kl;
    } else {
        fab_gauss_free(g);
    }
    fab_release(o);
    return s == FAB_OK ? s : fab_prefix(s, "vifa: ");
}
