/* factors_rank.c - the number of factors of a table by BIC.
 *
 *     stream:  learn once, with the widest rank inside; the candidates are results of the same state for K = 1, 2, ..
 *     batch:   a fit for every candidate, of which the best so far is kept
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/ops.h"
#include "table/factors.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    MOST = 32,     /* candidates when nobody says more */
    MORE_RANK = 40 /* inside recursive-em, beside twice the candidates */
};

/* The largest k that D coordinates can tell apart, (D - k)^2 >= D + k (Ledermann 1937); at least 1. */
static int64_t identifiable(int64_t D)
{
    int64_t k = 1;
    while (k < MOST && k + 1 < D) {
        const double rest = (double)(D - k - 1);
        if (rest * rest < (double)(D + k + 1)) break;
        k++;
    }
    return k;
}

const char *fab_factors_lacks(const fab_method *m)
{
    if (m->no_psi) return "has no psi of its own to compare ranks by";
    if (m->streams && !m->any_rank) return "learns one rank in a pass";
    return NULL;
}

fab_status fab_factors_prepare_search(fab_factors *f, int64_t max_factors)
{
    const int64_t D = f->D;
    const char *lacks = fab_factors_lacks(f->method);
    if (lacks)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s %s: the number of factors cannot be chosen by BIC",
                        f->method->name, lacks);
    if (max_factors < 0 || max_factors > D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "max_factors = %" PRId64 " for D = %" PRId64 " coordinates", max_factors,
                        D);
    double forget = 1;
    const fab_field *field = fab_settings_find(f->method->fields, "forget");
    if (field) memcpy(&forget, (const char *)f->settings + field->offset, sizeof forget);
    if (forget < 1 && f->weighed >= 0)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: forget = %g and weights: how many rows count is not known, and the "
                        "number of factors cannot be chosen by BIC; give it",
                        f->method->name, forget);
    f->by_bic = 1;
    f->most = max_factors ? max_factors : identifiable(D);
    if (!fab_settings_find(f->method->fields, "inner_rank")) {
        fab_factors_put(f, "K", 1);
        return FAB_OK;
    }
    const int narrow = f->exec.ops && f->exec.ops->size < sizeof(double);
    int64_t widest = 2 * f->most + (narrow ? 0 : MORE_RANK);
    if (widest > D) widest = D;
    const int64_t given = fab_factors_get(f, "inner_rank");
    if (given != FAB_AUTO_I64) widest = given < D ? given : D;
    if (widest < f->most) f->most = widest;
    fab_factors_put(f, "K", widest);
    fab_factors_put(f, "inner_rank", widest);
    return FAB_OK;
}

/* Rows that count: the weights of all, or with `forget` the rows that are not yet forgotten. */
static double rows_that_count(const fab_factors *f)
{
    double forget = 1;
    const fab_field *field = fab_settings_find(f->method->fields, "forget");
    if (field) memcpy(&forget, (const char *)f->settings + field->offset, sizeof forget);
    return forget < 1 ? (1 - pow(forget, (double)f->n)) / (1 - forget) : f->total;
}

static void count_there(const fab_factors *f, double *there)
{
    memset(there, 0, (size_t)f->D * sizeof *there);
    for (int64_t j = 0; j < f->n; j++)
        for (int64_t d = 0; d < f->D; d++)
            if (!isnan(fab_rows_at(&f->table, j, d))) there[d] += f->weights ? f->weights[j] : 1;
}

/* The diagonal of the table's covariance, in two passes. */
static fab_status add_diagonal(fab_factors *f, int *go_on)
{
    const int64_t n = f->n, D = f->D;
    double *mean, *v, *x, *there; /* there: weight of the rows that have a value */
    FAB_TRY(fab_alloc_array((void **)&mean, 4 * D, sizeof *mean, "variances"));
    memset(mean, 0, 2 * (size_t)D * sizeof *mean);
    v = mean + D;
    x = v + D;
    there = x + D;
    for (int64_t d = 0; d < D; d++) there[d] = f->total;
    if (fab_rows_missing(&f->table, D)) count_there(f, there);
    for (int64_t j = 0; j < n; j++) {
        const double w = f->weights ? f->weights[j] : 1;
        fab_rows_get(&f->table, j, D, x);
        for (int64_t d = 0; d < D; d++)
            if (x[d] == x[d]) mean[d] += w * x[d] / there[d];
    }
    for (int64_t j = 0; j < n; j++) {
        const double w = f->weights ? f->weights[j] : 1;
        fab_rows_get(&f->table, j, D, x);
        for (int64_t d = 0; d < D; d++) {
            const double e = x[d] - mean[d];
            if (e == e) v[d] += w * e * e / there[d];
        }
    }
    if (fab_rows_missing(&f->table, D)) {
        double loglik = 0; /* of what is there */
        for (int64_t d = 0; d < D; d++)
            loglik -= there[d] / f->total * (1.8378770664093454836 + log(v[d]) + 1) / 2;
        *go_on = fab_bic_add(f->search, loglik);
    } else {
        *go_on = fab_bic_add_diagonal(f->search, v);
    }
    fab_release(mean);
    return FAB_OK;
}

/* *best: the fit of the chosen k; NULL: that of k = 1, which is there. */
static fab_status fit_candidates(fab_factors *f, fab_factors_fit **best)
{
    fab_bic *b = f->search;
    const fab_watch w = fab_watch_of(&f->exec);
    fab_report first;
    int go_on = 0;
    FAB_TRY(add_diagonal(f, &go_on));
    FAB_TRY(fab_factors_fit_report(f, &first));
    FAB_TRY(fab_watch_tick(&w, "rank", 1, b->most));
    go_on = fab_bic_add(b, first.loglik_mean);
    while (go_on) {
        const int64_t k = b->n;
        double loglik = 0;
        fab_factors_fit *next = NULL, *worse;
        fab_status s = fab_factors_fit_table(f, k, &next, &loglik);
        if (s == FAB_OK) s = fab_watch_tick(&w, "rank", k, b->most);
        if (s == FAB_OK) go_on = fab_bic_add(b, loglik);
        worse = next;
        if (s == FAB_OK && b->chosen == k) {
            worse = *best;
            *best = next;
        }
        fab_factors_fit_free(worse);
        FAB_TRY(s);
    }
    return FAB_OK;
}

static fab_status search_table(fab_factors *f)
{
    fab_factors_fit *best = NULL;
    const fab_status s = fit_candidates(f, &best);
    fab_factors_put(f, "K", s == FAB_OK ? f->search->chosen : 1);
    if (s != FAB_OK) {
        fab_factors_fit_free(best);
    } else if (best) {
        fab_factors_fit_free(f->fit);
        f->fit = best;
    }
    return s;
}

/* The log-likelihood of the result for k factors: that of the rows where the stream knows all of them; where it holds
 * some, whose noise n rows would multiply, that under its state S, which is as wide for each k. */
static fab_status candidate(fab_factors *f, const fab_gauss *S, int64_t k, double *loglik)
{
    const fab_gauss *q;
    fab_report r = {0};
    double entropy = 0, kl = 0;
    fab_solver *solver = NULL;
    FAB_TRY(fab_factors_fit_cut(f, k));
    FAB_TRY(fab_factors_fit_result(f, &q));
    FAB_TRY(fab_fit_report(f->fit, &r));
    *loglik = r.loglik_mean;
    if (r.loglik_rows == r.n) return FAB_OK;
    FAB_TRY(fab_solver_create(&solver, S, &f->host));
    fab_status s = fab_solver_entropy(solver, &entropy);
    if (s == FAB_OK) s = fab_distance_kl(S, q, &f->host, &kl);
    fab_solver_free(solver);
    *loglik = -entropy - kl;
    return s;
}

/* S: the result for the widest rank, whose diagonal is that of the rows. */
static fab_status search_from(fab_factors *f, const fab_gauss *S)
{
    fab_bic *b = f->search;
    const fab_watch w = fab_watch_of(&f->exec);
    fab_solver *solver = NULL;
    double *variance;
    FAB_TRY(fab_alloc_array((void **)&variance, S->D, sizeof *variance, "variances"));
    fab_status s = fab_solver_create(&solver, S, &f->host);
    if (s == FAB_OK) s = fab_solver_variances(solver, variance);
    int go_on = s == FAB_OK && fab_bic_add_diagonal(b, variance);
    fab_solver_free(solver);
    fab_release(variance);
    while (go_on) {
        double loglik = 0;
        const int64_t k = b->n;
        FAB_TRY(candidate(f, S, k, &loglik));
        FAB_TRY(fab_watch_tick(&w, "rank", k, b->most));
        go_on = fab_bic_add(b, loglik);
    }
    FAB_TRY(s);
    return fab_factors_fit_cut(f, b->chosen);
}

static fab_status search_stream(fab_factors *f)
{
    const fab_gauss *lent;
    fab_gauss *S;
    FAB_TRY(fab_factors_fit_result(f, &lent));
    FAB_TRY(fab_gauss_copy(&S, lent, lent->type));
    const fab_status s = search_from(f, S);
    fab_gauss_free(S);
    return s;
}

fab_status fab_factors_choose(fab_factors *f)
{
    const int64_t most = f->most < f->n ? f->most : f->n - 1; /* fewer factors than rows */
    const int64_t one_psi = f->method->one_psi;
    if (f->n < 2)
        return FAB_FAIL(FAB_BAD_DATA, "%s: %" PRId64 " rows; at least 2 are needed", f->who, f->n);
    fab_bic_free(f->search);
    FAB_TRY(fab_bic_create(&f->search, f->D, rows_that_count(f), most, one_psi));
    FAB_TRY(f->method->streams ? search_stream(f) : search_table(f));
    f->by_bic = 0;
    return FAB_OK;
}
