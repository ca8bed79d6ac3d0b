/* pool.c - a mixture as one Gaussian: the mean and covariance of all its parts together, cut to rank K.
 *
 *   1  mu = sum_j w_j mu_j
 *   2  S  = sum_j w_j (F_j F_j' + diag(psi_j)) + sum_j w_j (mu_j - mu)(mu_j - mu)'
 *         = F F' + diag(psi),   F = [sqrt(w_j) F_j .., sqrt(w_j) (mu_j - mu) ..],  psi = sum_j w_j psi_j
 *   3  the columns of F are more than K: the Gaussian of rank K nearest to it (cut.c), and what that loses
 *
 * With the shares of the rows as weights these are the moments of all rows, whoever saw which of them.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/gauss.h"
#include "base/fail.h"
#include "base/memory.h"
#include "posterior/element.h"
#include <math.h>
#include <string.h>

#define CUT_TOL 1e-7
enum { CUT_STEPS = 2000 };

static fab_status check(const fab_mixture *m, int64_t K)
{
    FAB_TRY(fab_mixture_check(m));
    if (K < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "pool: a rank of %lld", (long long)K);
    for (int64_t j = 0; j < m->n; j++) {
        if (m->part[j]->form != FAB_FORM_COVARIANCE)
            return FAB_FAIL(FAB_UNSUPPORTED,
                            "pool: part %lld is in %s form, and covariances are what can be pooled",
                            (long long)j, fab_form_name(m->part[j]->form));
        if (m->part[j]->total)
            return FAB_FAIL(FAB_UNSUPPORTED, "pool: part %lld is over part of theta", (long long)j);
    }
    return FAB_OK;
}

/* 1, 2 */
static void fill(const fab_mixture *m, fab_gauss *g)
{
    const int64_t D = g->D, R = g->K;
    int64_t at = 0;
    memset(g->mu, 0, (size_t)D * sizeof *g->mu);
    memset(g->psi, 0, (size_t)D * sizeof *g->psi);
    for (int64_t j = 0; j < m->n; j++)
        for (int64_t i = 0; i < D; i++) {
            g->mu[i] += m->weight[j] * m->part[j]->mu[i];
            g->psi[i] += m->weight[j] * m->part[j]->psi[i];
        }
    for (int64_t j = 0; j < m->n; j++) {
        const fab_gauss *q = m->part[j];
        const double root = sqrt(m->weight[j]);
        for (int64_t i = 0; i < D; i++)
            for (int64_t k = 0; k < q->K; k++)
                fab_gauss_put(g, i * R + at + k, root * fab_gauss_get(q, i * q->K + k));
        at += q->K;
        if (m->n == 1) return;
        for (int64_t i = 0; i < D; i++) fab_gauss_put(g, i * R + at, root * (q->mu[i] - g->mu[i]));
        at++;
    }
}

fab_status fab_mixture_pool(fab_gauss **out, const fab_mixture *m, int64_t K, const fab_exec *x,
                            double *kl)
{
    fab_gauss *whole;
    int64_t R = 0;
    *out = NULL;
    *kl = 0;
    FAB_TRY(check(m, K));
    for (int64_t j = 0; j < m->n; j++) R += m->part[j]->K + (m->n > 1);
    FAB_TRY(fab_gauss_create(&whole, FAB_FORM_COVARIANCE, FAB_F64, m->part[0]->D, R));
    fill(m, whole);
    fab_status s = fab_gauss_check(whole);
    if (s == FAB_OK && R > K) s = fab_gauss_cut(out, whole, K, CUT_TOL, CUT_STEPS, x); /* 3 */
    if (s == FAB_OK && R > K) s = fab_distance_kl(whole, *out, x, kl);
    if (s == FAB_OK && R <= K) {
        *out = whole;
        return FAB_OK;
    }
    fab_gauss_free(whole);
    if (s == FAB_OK) return FAB_OK;
    fab_gauss_free(*out);
    *out = NULL;
    return s;
}
