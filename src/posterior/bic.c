/* bic.c - the number of factors by the Bayesian information criterion.
 *
 *     1  k = 0: the diagonal, l(0) = -1/2 sum log(2 pi e v_d)
 *     2  k = 1, 2, ..: cut S to rank k, l(k) = -(entropy of S + KL(S || cut))
 *     3  BIC(k) = -2 n l(k) + p(k) log n; the smallest so far is chosen
 *     4  end when BIC has risen five times in a row
 *
 * SPDX-License-Identifier: MIT */
#include "base/hooks.h"
#include "base/memory.h"
#include "fabayes/gauss.h"
#include <inttypes.h>
#include <math.h>

enum {
    RISES = 5,       /* the search ends when BIC has risen so often in a row */
    CUT_STEPS = 1000 /* EM steps of a cut */
};
#define CUT_TOL  1e-5 /* l is flat at its top: an error e in psi is e^2 in l */
#define CONSTANT 1e-6 /* variance of a constant column, relative to the mean variance */

/* ---- life ------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_bic *b = handle;
    b->all = fab_place(l, b->most + 1, sizeof *b->all);
}

fab_status fab_bic_create(fab_bic **b, int64_t D, double rows, int64_t most, int64_t one_psi)
{
    *b = NULL;
    if (!(rows >= 1))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "BIC: of %g rows, expected at least 1", rows);
    if (D < 1 || most < 1 || most > D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "BIC: up to %" PRId64 " factors for D = %" PRId64 " coordinates", most, D);
    const fab_bic proto = {.D = D, .rows = rows, .most = most, .one_psi = one_psi};
    return fab_build((void **)b, sizeof **b, &proto, layout);
}

void fab_bic_free(fab_bic *b)
{
    fab_release(b);
}

/* ---- candidates ------------------------------------------------------------------------------------- */

int fab_bic_add(fab_bic *b, double loglik_mean)
{
    if (b->n > b->most) return 0;
    const int64_t k = b->n++;
    const double n = b->rows, D = (double)b->D;
    const double p = D * (double)k - (double)k * (double)(k - 1) / 2 + (b->one_psi ? 1 : D) + D;
    const double bic = -2 * n * loglik_mean + p * log(n); /* 3 */
    b->all[k] = (fab_candidate){k, loglik_mean, bic};
    if (k == 1 || (k > 1 && bic < b->all[b->chosen].bic)) b->chosen = k;
    int rises = 0; /* 4 */
    while (rises < RISES && k - rises > 1 && b->all[k - rises].bic > b->all[k - rises - 1].bic)
        rises++;
    return rises < RISES && k < b->most;
}

int fab_bic_add_diagonal(fab_bic *b, const double *variance)
{
    const double each = log(2 * 3.14159265358979323846) + 1;
    double mean = 0, sum = 0;
    for (int64_t d = 0; d < b->D; d++) mean += variance[d] / (double)b->D;
    for (int64_t d = 0; d < b->D; d++) {
        const int constant = !(variance[d] > CONSTANT * CONSTANT * mean);
        sum += each + log(constant ? CONSTANT * mean : variance[d]);
    }
    if (b->one_psi) sum = (double)b->D * (each + log(mean));
    return fab_bic_add(b, -sum / 2); /* 1 */
}

/* ---- the cuts of a Gaussian ------------------------------------------------------------------------- */

static fab_status cuts(fab_bic *b, const fab_gauss *S, fab_solver *solver, double *variance,
                       const fab_exec *x)
{
    double entropy = 0;
    const fab_watch w = fab_watch_of(x);
    FAB_TRY(fab_solver_variances(solver, variance));
    FAB_TRY(fab_solver_entropy(solver, &entropy));
    int go_on = fab_bic_add_diagonal(b, variance);
    while (go_on) {
        fab_gauss *q = NULL;
        double kl = 0;
        fab_status s = fab_gauss_cut(&q, S, b->n, CUT_TOL, CUT_STEPS, x);
        if (s == FAB_OK) s = fab_distance_kl(S, q, x, &kl);
        fab_gauss_free(q);
        FAB_TRY(s);
        FAB_TRY(fab_watch_tick(&w, "rank", b->n, b->most));
        go_on = fab_bic_add(b, -entropy - kl); /* 2 */
    }
    return FAB_OK;
}

fab_status fab_bic_cuts(fab_bic *b, const fab_gauss *S, const fab_exec *x)
{
    fab_solver *solver = NULL;
    double *variance;
    if (b->n > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "BIC: %" PRId64 " candidates are there already", b->n);
    if (S->D != b->D || S->form != FAB_FORM_COVARIANCE)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "BIC: a Gaussian in %s form with D = %" PRId64
                        ", expected a covariance with D = %" PRId64,
                        fab_form_name(S->form), S->D, b->D);
    FAB_TRY(fab_alloc_array((void **)&variance, S->D, sizeof *variance, "variances"));
    fab_status s = fab_solver_create(&solver, S, x);
    if (s == FAB_OK) s = cuts(b, S, solver, variance, x);
    fab_solver_free(solver);
    fab_release(variance);
    return s;
}
