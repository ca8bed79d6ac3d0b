/* rank.c - the number of factors by the Bayesian information criterion.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "rank.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST = 32,       /* candidates when nobody says more */
    RISES = 5,       /* the search ends when BIC has risen so often in a row */
    CUT_STEPS = 1000 /* EM steps of a cut */
};
#define CUT_TOL  1e-5 /* l is flat at its top: an error e in psi is e^2 in l */
#define CONSTANT 1e-6 /* variance of a constant column, relative to the mean variance */

/* The largest k that D coordinates can tell apart, (D - k)^2 >= D + k (Ledermann 1937); at least 1. */
static int64_t identifiable(int64_t D)
{
    int64_t k = 1;
    while (k < MOST && (double)(D - k - 1) * (double)(D - k - 1) >= (double)(D + k + 1) &&
           k + 1 < D)
        k++;
    return k;
}

int rank_prepare(rank_search *r, fit *f)
{
    const fab_fields *t = f->method->table;
    const int64_t D = f->data.D;
    if (strcmp(f->method->name, "pca") == 0)
        return say_wrong(
            "fa: pca has no psi of its own to compare ranks by; -k auto needs ml, em, ppca "
            "or recursive-em");
    if (f->method->streams && !fab_settings_find(t, "inner_rank"))
        return say_wrong(
            "fa: %s learns one rank in a pass; -k auto needs recursive-em or a batch method",
            f->method->name);
    if (r->most > D)
        return say_wrong("fa: --max-factors=%" PRId64 " for D = %" PRId64 " coordinates", r->most,
                         D);
    if (!r->most) r->most = identifiable(D);
    int64_t widest = 2 * r->most < D ? 2 * r->most : D;
    const int64_t given = setting_get(t, f->settings, "inner_rank");
    if (f->method->streams && given != FAB_AUTO_I64) widest = given < D ? given : D;
    if (f->method->streams && widest < r->most) r->most = widest;
    setting_put(t, f->settings, "K", f->method->streams ? widest : 1);
    if (f->method->streams) setting_put(t, f->settings, "inner_rank", widest);
    r->all = calloc((size_t)r->most + 1, sizeof *r->all);
    return r->all ? DONE : say_failed("out of memory");
}

void rank_close(rank_search *r)
{
    free(r->all);
}

/* ---- the criterion -------------------------------------------------------------------------------- */

/* Rows that count: all, or with `forget` those that are not yet forgotten. */
static double rows_that_count(const fit *f)
{
    double forget = 1;
    const double n = (double)fab_fit_rows(f->estim);
    const fab_field *field = fab_settings_find(f->method->table, "forget");
    if (field) memcpy(&forget, (const char *)f->settings + field->offset, sizeof forget);
    return forget < 1 ? (1 - pow(forget, n)) / (1 - forget) : n;
}

static double parameters(const fit *f, int64_t k)
{
    const double D = (double)f->data.D;
    const int one_psi = strcmp(f->method->name, "ppca") == 0;
    return D * (double)k - (double)k * (double)(k - 1) / 2 + (one_psi ? 1 : D) + D;
}

/* 1: go on; 0: BIC has risen often enough. */
static int add(rank_search *r, const fit *f, int64_t k, double loglik)
{
    const double n = rows_that_count(f);
    r->all[r->n++] = (candidate){k, loglik, -2 * n * loglik + parameters(f, k) * log(n)};
    if (k == 1 || (k > 1 && r->all[k].bic < r->all[r->chosen].bic)) r->chosen = k;
    int rises = 0;
    while (rises < RISES && k - rises > 1 && r->all[k - rises].bic > r->all[k - rises - 1].bic)
        rises++;
    return rises < RISES;
}

/* The diagonal: -1/2 sum log(2 pi e v); one v for all with ppca. */
static void add_diagonal(rank_search *r, const fit *f, const double *v)
{
    const int64_t D = f->data.D;
    const double each = log(2 * 3.14159265358979323846) + 1;
    double mean = 0, sum = 0;
    for (int64_t d = 0; d < D; d++) mean += v[d] / (double)D;
    for (int64_t d = 0; d < D; d++)
        sum += each + log(v[d] > CONSTANT * CONSTANT * mean ? v[d] : CONSTANT * mean);
    if (strcmp(f->method->name, "ppca") == 0) sum = (double)D * (each + log(mean));
    add(r, f, 0, -sum / 2);
}

/* Candidates have fewer factors than rows. */
static int64_t most_factors(const rank_search *r, const fit *f)
{
    const int64_t n = fab_fit_rows(f->estim);
    return r->most < n ? r->most : n - 1;
}

/* ---- a stream: cuts of one wide Gaussian ---------------------------------------------------------- */

static fab_status score_cut(const fit *f, const fab_gauss *S, double entropy, int64_t k,
                            double *loglik)
{
    fab_gauss *q = NULL;
    double kl = 0;
    fab_status s = fab_gauss_cut(&q, S, k, CUT_TOL, CUT_STEPS, &f->exec);
    if (s == FAB_OK) s = fab_distance_kl(S, q, &f->exec, &kl);
    fab_gauss_free(q);
    *loglik = -entropy - kl;
    return s;
}

static fab_status score_wide(rank_search *r, const fit *f, const fab_gauss *S, fab_solver *solver,
                             double *v)
{
    double entropy = 0, loglik = 0;
    fab_status s = fab_solver_variances(solver, v);
    if (s == FAB_OK) s = fab_solver_entropy(solver, &entropy);
    if (s != FAB_OK) return s;
    add_diagonal(r, f, v);
    const int64_t most = most_factors(r, f);
    for (int64_t k = 1, go_on = 1; k <= most && go_on; k++) {
        s = score_cut(f, S, entropy, k, &loglik);
        if (s != FAB_OK) return s;
        if (progress_tick(NULL, "rank", k, most)) return FAB_STOPPED;
        go_on = add(r, f, k, loglik);
    }
    return FAB_OK;
}

static fab_status score_stream(rank_search *r, const fit *f)
{
    const fab_gauss *S;
    fab_solver *solver = NULL;
    double *v = malloc((size_t)f->data.D * sizeof *v);
    if (!v) return FAB_NO_MEMORY;
    fab_status s = fab_fit_gauss(f->estim, &S);
    if (s == FAB_OK) s = fab_solver_init(&solver, S, &f->exec);
    if (s == FAB_OK) s = score_wide(r, f, S, solver, v);
    fab_solver_free(solver);
    free(v);
    return s;
}

/* A new file, beside the output where there is one. */
static int temporary(const fit *f, char **path)
{
    const char *folder = getenv("TMPDIR"), *base = f->output;
    const size_t size = strlen(base ? base : "") + strlen(folder ? folder : "/tmp") + 32;
    *path = malloc(size);
    if (!*path) return say_failed("out of memory");
    if (base)
        snprintf(*path, size, "%s.XXXXXX", base);
    else
        snprintf(*path, size, "%s/fabayes.XXXXXX", folder ? folder : "/tmp");
    const int file = mkstemp(*path);
    if (file < 0) {
        say_failed("%s: cannot be written: %s", *path, strerror(errno));
        free(*path);
        return FAILED;
    }
    close(file);
    return DONE;
}

/* The same state with K = chosen: through a file, which is how a state is handed on. */
static int take_rank(rank_search *r, fit *f)
{
    char *path;
    fab_tensors *t = NULL;
    const int64_t seen = f->seen;
    int status = temporary(f, &path);
    if (status != DONE) return status;
    fab_status s = fab_fit_save(f->estim, path, NULL);
    if (s == FAB_OK) s = fab_tensors_read(&t, path);
    remove(path);
    if (s == FAB_OK) {
        fab_fit_free(f->estim);
        f->estim = NULL;
        status = fit_resume(f, path, t, r->chosen);
        f->seen = seen;
    } else {
        status = say_status(s);
    }
    fab_tensors_free(t);
    free(path);
    return status;
}

/* ---- a batch method: one fit for each k ----------------------------------------------------------- */

/* Variances in two passes; `room` holds D means and D variances. */
static const double *table_variances(const fit *f, double *room)
{
    const int64_t n = fab_fit_rows(f->estim), D = f->data.D;
    const fab_rows rows = data_rows(&f->data, f->table, n);
    double *mean = room, *v = room + D;
    for (int64_t j = 0; j < n; j++)
        for (int64_t d = 0; d < D; d++)
            mean[d] += ((const double *)rows.p)[j * rows.ld + d] / (double)n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t d = 0; d < D; d++) {
            const double e = ((const double *)rows.p)[j * rows.ld + d] - mean[d];
            v[d] += e * e / (double)n;
        }
    return v;
}

/* Fit k factors; *e is the new estimator. */
static fab_status fit_rank(fit *f, int64_t k, fab_fit **e, double *loglik)
{
    fab_report d = {0};
    const fab_rows rows = data_rows(&f->data, f->table, fab_fit_rows(f->estim));
    setting_put(f->method->table, f->settings, "K", k);
    fab_status s = fab_fit_create(e, fab_method_name(f->method), f->settings, sizeof *f->settings,
                                  &(fab_input){.vectors = VECTORS}, &f->exec);
    if (s == FAB_OK) s = fab_fit_update(*e, &(fab_examples){.x = rows});
    if (s == FAB_OK) s = fab_fit_report(*e, &d);
    *loglik = d.loglik_mean;
    return s;
}

/* f->estim becomes the best so far. */
static fab_status score_next(rank_search *r, fit *f, int64_t k, int64_t *go_on)
{
    fab_fit *e = NULL;
    double loglik = 0;
    fab_status s = k > 1 ? fit_rank(f, k, &e, &loglik) : FAB_OK;
    if (k == 1) {
        fab_report d = {0};
        s = fab_fit_report(f->estim, &d);
        loglik = d.loglik_mean;
    }
    if (s == FAB_OK) *go_on = add(r, f, k, loglik);
    if (s == FAB_OK && e && r->chosen == k) {
        fab_fit *worse = f->estim;
        f->estim = e;
        e = worse;
    }
    fab_fit_free(e);
    return s;
}

static fab_status score_table(rank_search *r, fit *f)
{
    double *room = calloc(2 * (size_t)f->data.D, sizeof *room);
    fab_status s = room ? FAB_OK : FAB_NO_MEMORY;
    if (room) add_diagonal(r, f, table_variances(f, room));
    free(room);
    const int64_t most = most_factors(r, f);
    for (int64_t k = 1, go_on = 1; k <= most && go_on && s == FAB_OK; k++) {
        s = score_next(r, f, k, &go_on);
        if (s == FAB_OK && progress_tick(NULL, "rank", k, most)) s = FAB_STOPPED;
    }
    setting_put(f->method->table, f->settings, "K", r->chosen);
    return s;
}

int rank_choose(rank_search *r, fit *f)
{
    if (fab_fit_rows(f->estim) < 2)
        return say_failed("%s: %" PRId64 " rows; at least 2 are needed", f->data.o.file,
                          fab_fit_rows(f->estim));
    const fab_status s = f->method->streams ? score_stream(r, f) : score_table(r, f);
    if (s == FAB_STOPPED) return say_failed("%s: stopped", f->verb);
    if (s == FAB_NO_MEMORY && !fab_detail()[0]) return say_failed("out of memory");
    if (s != FAB_OK) return say_status_of(f->data.o.file, s);
    const int status = f->method->streams ? take_rank(r, f) : DONE;
    f->seconds = fab_clock() - f->start;
    return status;
}
