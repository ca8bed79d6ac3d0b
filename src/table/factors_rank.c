/* factors_rank.c - the number of factors of a table by BIC.
 *
 *     stream:  learn once with the widest rank; the candidates are cuts of that Gaussian; the result of the chosen one
 *              comes from the same state
 *     batch:   a fit for every candidate, of which the best so far is kept
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/memory.h"
#include "base/rows.h"
#include "table/factors.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST = 32 }; /* candidates when nobody says more */

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
    if (strcmp(m->name, "pca") == 0) return "has no psi of its own to compare ranks by";
    if (m->streams && !fab_settings_find(m->fields, "inner_rank"))
        return "learns one rank in a pass";
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
    f->by_bic = 1;
    f->most = max_factors ? max_factors : identifiable(D);
    if (!f->method->streams) {
        fab_factors_put(f, "K", 1);
        return FAB_OK;
    }
    int64_t widest = 2 * f->most < D ? 2 * f->most : D;
    const int64_t given = fab_factors_get(f, "inner_rank");
    if (given != FAB_AUTO_I64) widest = given < D ? given : D;
    if (widest < f->most) f->most = widest;
    fab_factors_put(f, "K", widest);
    fab_factors_put(f, "inner_rank", widest);
    return FAB_OK;
}

/* Rows that count: all, or with `forget` those that are not yet forgotten. */
static double rows_that_count(const fab_factors *f)
{
    double forget = 1;
    const double n = (double)f->n;
    const fab_field *field = fab_settings_find(f->method->fields, "forget");
    if (field) memcpy(&forget, (const char *)f->settings + field->offset, sizeof forget);
    return forget < 1 ? (1 - pow(forget, n)) / (1 - forget) : n;
}

/* The diagonal of the table's covariance, in two passes. */
static fab_status add_diagonal(fab_factors *f, int *go_on)
{
    const int64_t n = f->n, D = f->D;
    double *mean, *v;
    FAB_TRY(fab_alloc_array((void **)&mean, 2 * D, sizeof *mean, "variances"));
    memset(mean, 0, 2 * (size_t)D * sizeof *mean);
    v = mean + D;
    for (int64_t j = 0; j < n; j++)
        for (int64_t d = 0; d < D; d++) mean[d] += fab_rows_at(&f->table, j, d) / (double)n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t d = 0; d < D; d++) {
            const double e = fab_rows_at(&f->table, j, d) - mean[d];
            v[d] += e * e / (double)n;
        }
    *go_on = fab_bic_add_diagonal(f->search, v);
    fab_release(mean);
    return FAB_OK;
}

/* *best: the fit of the chosen k; NULL: that of k = 1, which is there. */
static fab_status fit_candidates(fab_factors *f, fab_factors_fit **best)
{
    fab_bic *b = f->search;
    const fab_watch w = fab_watch_of(&f->exec);
    double loglik = 0;
    int go_on = 0;
    FAB_TRY(add_diagonal(f, &go_on));
    FAB_TRY(fab_factors_fit_loglik(f, &loglik));
    FAB_TRY(fab_watch_tick(&w, "rank", 1, b->most));
    go_on = fab_bic_add(b, loglik);
    while (go_on) {
        const int64_t k = b->n;
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

static fab_status search_stream(fab_factors *f)
{
    const fab_gauss *S;
    FAB_TRY(fab_factors_fit_result(f, &S));
    FAB_TRY(fab_bic_cuts(f->search, S, &f->exec));
    return fab_factors_fit_cut(f, f->search->chosen);
}

fab_status fab_factors_choose(fab_factors *f)
{
    const int64_t most = f->most < f->n ? f->most : f->n - 1; /* fewer factors than rows */
    const int64_t one_psi = strcmp(f->method->name, "ppca") == 0;
    if (f->n < 2)
        return FAB_FAIL(FAB_BAD_DATA, "%s: %" PRId64 " rows; at least 2 are needed", f->who, f->n);
    fab_bic_free(f->search);
    FAB_TRY(fab_bic_create(&f->search, f->D, rows_that_count(f), most, one_psi));
    FAB_TRY(f->method->streams ? search_stream(f) : search_table(f));
    f->by_bic = 0;
    return FAB_OK;
}
