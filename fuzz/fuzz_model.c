/* fuzz_model.c - any bytes as a file of a fit, through what the verbs do with one: info, predict, score, sample, update, a prior,
 * merge, and going on from it.  Each is refused with a sentence, or gives finite numbers.
 *
 * The seeds (fuzz/seeds/fuzz_model) are files of the command line: linear models, streams with their state, networks, mixtures,
 * factor analyses, Gaussian processes, clusters and what `merge` makes.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/table.h"
#include "fuzz.h"
#include <math.h>

enum { ROWS = 6, TICKS = 200 /* a file may ask for 1e12 epochs */ };

static int64_t ticks;

static int stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return ++ticks > TICKS;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    return mutate_file(bytes, size, room, seed);
}

static fab_arrays rows_of(const double *x, const double *y)
{
    static const char *const names[] = {"a", "b"};
    return (fab_arrays){.n = ROWS, .x = x, .D = 2, .name = names, .y = {.name = "y", .p = y}};
}

static void try_posterior(const char *path)
{
    fab_posterior *p;
    fab_ranges r;
    const fab_status s = fab_posterior_load(&p, path);
    if (s != FAB_OK) {
        must(!p);
        refused(s);
        return;
    }
    if (p->mix.part[0]->D <= 1 << 12 && fab_mixture_ranges(&p->mix, NULL, &r) == FAB_OK)
        must(isfinite(r.mean_lo) && isfinite(r.mean_hi) && isfinite(r.sd_lo) && isfinite(r.sd_hi));
    fab_posterior_free(p);
}

static void try_regression(const char *path, const fab_data *d)
{
    fab_regression *r = NULL;
    fab_predictions *p = NULL;
    fab_scores scores;
    const fab_exec alone = {.threads = 1};
    fab_status s = fab_regression_load(&r, path, &alone);
    if (s != FAB_OK) {
        refused(s);
    } else {
        s = fab_regression_predict(r, d, &(fab_predict_plan){.samples = 2}, &p);
        if (s != FAB_OK) refused(s);
        for (int64_t i = 0; s == FAB_OK && p->p && i < p->n; i++)
            must(!isnan(p->p[i].mean) && !isnan(p->p[i].sd));
        fab_predictions_free(p);
        (void)fab_regression_score(r, d, &(fab_predict_plan){.samples = 2}, &scores, NULL);
        s = fab_regression_update(r, d);
        if (s != FAB_OK) refused(s);
    }
    fab_regression_free(r);
}

static void try_prior(const char *path, const fab_data *d)
{
    fab_regression *r = NULL;
    const fab_plan plan = {.method = "lrvga", .prior = path};
    const fab_status s = fab_regression_fit(&r, d, &plan, &(fab_exec){.threads = 1});
    if (s != FAB_OK) refused(s);
    fab_regression_free(r);
}

/* As it stands with itself: any two files of one kind and the same columns. */
static void try_merge(const char *path)
{
    fab_posterior *p = NULL, *all = NULL;
    if (fab_posterior_load(&p, path) != FAB_OK) return;
    const fab_status s = fab_merge(&all, (const char *const[]){"a", "b"},
                                   (const fab_posterior *const[]){p, p}, 2, NULL,
                                   &(fab_exec){.threads = 1}, NULL);
    must(s == FAB_OK ? all != NULL : !all);
    if (s != FAB_OK) refused(s);
    for (int64_t i = 0; s == FAB_OK && i < all->mix.n; i++)
        must(fab_gauss_check(all->mix.part[i]) == FAB_OK);
    fab_posterior_free(all);
    fab_posterior_free(p);
}

static void try_factors(const char *path, const fab_arrays *a)
{
    fab_source *source = NULL;
    fab_factors *f = NULL;
    const fab_gauss *q;
    if (fab_source_open_arrays(&source, a, NULL) != FAB_OK) return;
    fab_status s = fab_factors_load(&f, &(fab_factors_plan){.source = source}, path,
                                    &(fab_exec){.threads = 1});
    if (s == FAB_OK) s = fab_factors_read(f);
    if (s == FAB_OK) s = fab_factors_result(f, &q);
    if (s != FAB_OK) refused(s);
    for (int64_t i = 0; s == FAB_OK && i < q->D; i++)
        must(isfinite(q->mu[i]) && isfinite(q->psi[i]));
    fab_factors_free(f);
    fab_source_close(source);
}

/* Rows in the clusters of the file, and a stream that goes on from it. */
static void try_clusters(const char *path, const fab_arrays *a)
{
    fab_posterior *p = NULL;
    fab_clusters_view *v = NULL;
    fab_clusters_rows r;
    fab_clusters *f = NULL;
    fab_source *source = NULL;
    const fab_exec alone = {.threads = 1};
    const fab_rows rows = {.p = a->x, .type = FAB_F64, .n = ROWS, .ld = 2};
    fab_status s = fab_posterior_load(&p, path);
    if (s == FAB_OK) s = fab_clusters_view_open(&v, path, p, &alone);
    if (s == FAB_OK && p->mix.part[0]->D == 2) {
        s = fab_clusters_view_assign(v, &rows, &r);
        for (int64_t i = 0; s == FAB_OK && i < r.n; i++) {
            must(r.cluster[i] >= 0 && r.cluster[i] < r.G);
            for (int64_t g = 0; g < r.G; g++) must(r.share[i * r.G + g] >= 0);
            must(!isnan(r.density[i]));
        }
    }
    if (s != FAB_OK) refused(s);
    fab_clusters_view_free(v);
    fab_posterior_free(p);
    if (fab_source_open_arrays(&source, a, NULL) != FAB_OK) return;
    s = fab_clusters_load(&f, &(fab_clusters_plan){.source = source}, path, &alone);
    if (s == FAB_OK) s = fab_clusters_read(f);
    if (s != FAB_OK) refused(s);
    fab_clusters_free(f);
    fab_source_close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const double x[2 * ROWS] = {0.3, -1.2, 2.385, 0.1, -0.7, 0.4,
                                       1.1, -0.2, 0.9,   1.3, -1.5, 0.6};
    static const double y[ROWS] = {1, 0, 1, 0, 1, 1};
    const fab_arrays a = rows_of(x, y);
    const fab_data d = {.arrays = &a};
    const char *path = put_file("model", bytes, size);
    if (!path) return 0;
    fab_set_allocator(small_alloc, free);
    fab_set_progress(stop, NULL);
    ticks = 0;
    try_posterior(path);
    try_regression(path, &d);
    try_prior(path, &d);
    try_factors(path, &a);
    try_clusters(path, &a);
    try_merge(path);
    unlink(path);
    return 0;
}
