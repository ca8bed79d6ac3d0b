/* soft_kmeans.c - a mixture of N(mu_k, sigma^2 I) with sigma known, by EM ([N] 9.4, "soft K-means").
 *
 *   1  mu, pi = centroids and shares of kmeans from one seed;  sigma^2 = its W / (n D) where nobody says
 *   2  log Q_ik = log pi_k - |x_i - mu_k|^2 / (2 sigma^2), less the logarithm of their sum                   (9.20)
 *   3  N_k = sum_i w_i Q_ik,  pi_k = N_k / n,  mu_k = sum_i w_i Q_ik x_i / N_k                               (9.21)
 *   4  until the mean log-likelihood, which 2 has, gains less than tol; of the restarts the best end
 *
 * The largest log Q of a row is taken out before exponentials are, so that weights sum to 1 wherever it lies.  Sums are over chunks of
 * rows, in double, about the first row.  A cluster that loses all weight stays where it is, with pi = 0.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/fit.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "la/centres.h"
#include "la/ops.h"
#include "methods/mixture/centroids.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { ROWS = 64 };

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_soft_kmeans_settings
static const char *const starts[] = {"greedy", "kmeans++", "rows", NULL};
static const fab_field fields[] = {
    REQUIRED(G, I64, 1, 1e6, "number of clusters"),
    AUTOMATIC(sigma, F64, 1e-150, 1e150,
              "standard deviation of a coordinate in a cluster; auto: that of kmeans"),
    CHOICE(start, FAB_KMEANS_GREEDY, starts, "seeds of kmeans, which it begins from"),
    FIELD(restarts, I64, 3, 1, 1e6, "such starts; the end of the largest likelihood is kept"),
    FIELD(tol, F64, 1e-8, 0, 1, "nats per row that a last step gains"),
    FIELD(max_iter, I64, 1000, 1, 1e9, "steps of a start"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the starts"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("soft-kmeans", fields);
#undef SETTINGS

/* ---- life ----------------------------------------------------------------------------------------- */

typedef struct soft {
    fab_soft_kmeans_settings set;
    int64_t D;
    int threads;
    fab_watch watch;
    fab_exec exec;
    double *given; /* G x D, and G weights; NULL: 1 */
    fab_rows x;
    const double *weight;
    fab_centroids found;
    fab_report report;
    double *counts; /* G */
} soft;

static void release(void *handle)
{
    soft *e = handle;
    if (!e) return;
    fab_centroids_free(&e->found);
    fab_release(e->given);
    fab_release(e->counts);
    fab_release(e);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_soft_kmeans_settings *set = settings;
    fab_run run;
    soft *e;
    *handle = NULL;
    FAB_TRY(fab_check_alone("soft-kmeans", x));
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    FAB_TRY(fab_alloc_array((void **)&e, 1, sizeof *e, "soft-kmeans"));
    *e = (soft){.set = *set, .D = in->vectors, .threads = run.threads, .watch = run.watch};
    e->exec = fab_watch_exec(&e->watch, (fab_exec){.threads = e->threads});
    const int64_t G = set->G;
    fab_status s = fab_centroids_make(&e->found, e->D, G, "soft-kmeans");
    if (s == FAB_OK) s = fab_alloc_array((void **)&e->counts, G, sizeof(double), "soft-kmeans");
    if (s == FAB_OK && in->start)
        s = fab_alloc_array((void **)&e->given, G * (e->D + 1), sizeof(double), "soft-kmeans");
    if (s == FAB_OK && in->start) {
        s = fab_centroids_start(in, G, "soft-kmeans", e->given);
        if (s == FAB_OK) memcpy(e->given + G * e->D, in->start->weight, (size_t)G * sizeof(double));
    }
    if (s == FAB_OK && in->start && fab_is_auto_f64(set->sigma))
        s = FAB_FAIL(FAB_BAD_ARGUMENT, "soft-kmeans: a start without sigma, expected sigma too");
    if (s != FAB_OK) {
        release(e);
        return s;
    }
    *handle = e;
    return FAB_OK;
}

static fab_status update(void *handle, const fab_examples *x)
{
    soft *e = handle;
    e->x = x->x;
    e->weight = x->weight;
    return FAB_OK;
}

/* ---- a step ------------------------------------------------------------------------------------------- */

/* What runs on the way; a chunk's sums are Q'x about the first row (G x D), N (G), the log-likelihood and the cost. */
typedef struct work {
    soft *e;
    double *mu, *pi, *log_pi; /* G x D; G each */
    double *best_mu, *best_pi;
    double *first;   /* D */
    double *partial; /* chunks x each */
    double *desk;    /* threads x (ROWS x (D + G)) */
    int64_t chunk, chunks, each;
    double sigma2, n, loglik, cost;
    void *block;
} work;

static void chunk_of(void *ctx, int64_t t, int thread)
{
    const work *k = ctx;
    const soft *e = k->e;
    const int64_t G = e->set.G, D = e->D, first = t * k->chunk;
    const int64_t end = first + k->chunk < e->x.n ? first + k->chunk : e->x.n;
    const fab_nn *nn = fab_nn_find(FAB_F64);
    double *sums = k->partial + t * k->each, *N = sums + G * D, *loglik = N + G;
    double *X = k->desk + (int64_t)thread * ROWS * (D + G), *Q = X + ROWS * D;
    memset(sums, 0, (size_t)k->each * sizeof *sums);
    for (int64_t i = first; i < end; i += ROWS) {
        const int64_t m = end - i < ROWS ? end - i : ROWS;
        for (int64_t r = 0; r < m; r++) fab_rows_get(&e->x, i + r, D, X + r * D);
        nn->distances(m, G, D, X, D, k->mu, Q);
        for (int64_t r = 0; r < m; r++) { /* 2 */
            const double w = e->weight ? e->weight[i + r] : 1;
            double *q = Q + r * G, top = -INFINITY, sum = 0, cost = 0;
            for (int64_t g = 0; g < G; g++) {
                const double l = k->log_pi[g] - q[g] / (2 * k->sigma2);
                if (l > top) top = l;
            }
            for (int64_t g = 0; g < G; g++) {
                const double p = exp(k->log_pi[g] - q[g] / (2 * k->sigma2) - top);
                cost += p > 0 ? p * q[g] : 0;
                q[g] = p;
                sum += p;
            }
            for (int64_t g = 0; g < G; g++) {
                q[g] *= w / sum;
                N[g] += q[g]; /* 3 */
            }
            loglik[0] += w * (top + log(sum > 1 ? sum : 1)); /* the largest is e^0 */
            loglik[1] += w * cost / sum;
            for (int64_t d = 0; d < D; d++) X[r * D + d] -= k->first[d];
        }
        fab_gemm(FAB_F64, FAB_T, FAB_N, G, D, m, 1, Q, G, X, D, 1, sums, D);
    }
}

static void step(work *k)
{
    soft *e = k->e;
    const int64_t G = e->set.G, D = e->D, n = e->x.n;
    const double steps = (double)n * (double)D * (double)G;
    for (int64_t g = 0; g < G; g++) k->log_pi[g] = k->pi[g] > 0 ? log(k->pi[g]) : -INFINITY;
    const int before = fab_blas_enter();
    fab_parallel(steps < FAB_SMALL_WORK ? 1 : e->threads, k->chunks, chunk_of, k);
    fab_blas_leave(before);
    double *sums = k->partial;
    for (int64_t t = 1; t < k->chunks; t++)
        for (int64_t i = 0; i < k->each; i++) sums[i] += k->partial[t * k->each + i];
    const double *N = sums + G * D;
    k->n = 0;
    for (int64_t g = 0; g < G; g++) k->n += N[g];
    k->loglik = N[G] / k->n - 0.5 * (double)D * log(6.2831853071795864769 * k->sigma2);
    k->cost = N[G + 1];
    for (int64_t g = 0; g < G; g++) {
        k->pi[g] = N[g] / k->n;
        if (!(N[g] > 0)) continue;
        for (int64_t d = 0; d < D; d++) k->mu[g * D + d] = k->first[d] + sums[g * D + d] / N[g];
    }
}

/* ---- all of them ------------------------------------------------------------------------------------ */

/* 1 */
static fab_status begin(work *k, int64_t number)
{
    soft *e = k->e;
    const int64_t G = e->set.G, D = e->D;
    fab_fit *f = NULL;
    const fab_mixture *q;
    fab_kmeans_settings s = fab_kmeans_defaults(G);
    s.restarts = 1;
    s.start = e->set.start;
    s.seed = e->set.seed + number;
    if (e->given) {
        memcpy(k->mu, e->given, (size_t)(G * D) * sizeof *k->mu);
        memcpy(k->pi, e->given + G * D, (size_t)G * sizeof *k->pi);
        return FAB_OK;
    }
    fab_status done =
        fab_fit_create(&f, "kmeans", &s, sizeof s, &(fab_input){.vectors = D}, &e->exec);
    if (done == FAB_OK) done = fab_fit_update(f, &(fab_examples){.x = e->x, .weight = e->weight});
    if (done == FAB_OK) done = fab_fit_result(f, &q);
    if (done == FAB_OK) {
        for (int64_t g = 0; g < G; g++) {
            memcpy(k->mu + g * D, q->part[g]->mu, (size_t)D * sizeof *k->mu);
            k->pi[g] = q->weight[g];
        }
        if (fab_is_auto_f64(e->set.sigma) && number == 0) k->sigma2 = q->part[0]->psi[0];
    }
    fab_fit_free(f);
    return done == FAB_OK || done == FAB_STOPPED ? done : fab_prefix(done, "soft-kmeans: start: ");
}

static fab_status solve(work *k)
{
    soft *e = k->e;
    const int64_t G = e->set.G, D = e->D, restarts = e->given ? 1 : e->set.restarts;
    double best = -INFINITY;
    k->sigma2 = e->set.sigma * e->set.sigma;
    for (int64_t number = 0; number < restarts; number++) {
        double before = -INFINITY, gain = INFINITY;
        int64_t steps = 0;
        FAB_TRY(begin(k, number));
        while (steps < e->set.max_iter && !(gain <= e->set.tol)) {
            step(k);
            steps++;
            if (!isfinite(k->loglik))
                return FAB_FAIL(FAB_NUMERIC,
                                "soft-kmeans: the log-likelihood is %g: scale the columns",
                                k->loglik);
            gain = k->loglik - before; /* 4 */
            assert(gain >= -1e-9 * (1 + fabs(before) + (double)D) || steps == 1);
            before = k->loglik;
            FAB_TRY(fab_watch_tick(&e->watch, "soft-kmeans", steps, 0));
        }
        if (!(k->loglik > best)) continue;
        best = k->loglik;
        memcpy(k->best_mu, k->mu, (size_t)(G * D) * sizeof *k->mu);
        memcpy(k->best_pi, k->pi, (size_t)G * sizeof *k->pi);
        e->report = (fab_report){.iterations = steps,
                                 .converged = gain <= e->set.tol,
                                 .gain = gain,
                                 .loglik_mean = best,
                                 .cost = k->cost};
    }
    return FAB_OK;
}

static void layout(fab_layout *l, void *handle)
{
    work *k = handle;
    const int64_t G = k->e->set.G, D = k->e->D;
    k->mu = fab_place(l, G * D, sizeof *k->mu);
    k->pi = fab_place(l, G, sizeof *k->pi);
    k->log_pi = fab_place(l, G, sizeof *k->log_pi);
    k->best_mu = fab_place(l, G * D, sizeof *k->best_mu);
    k->best_pi = fab_place(l, G, sizeof *k->best_pi);
    k->first = fab_place(l, D, sizeof *k->first);
    k->partial = fab_place(l, k->chunks * k->each, sizeof *k->partial);
    k->desk = fab_place(l, (int64_t)k->e->threads * ROWS * (D + G), sizeof *k->desk);
}

/* Chunks keep sums of G x D each, less than the rows have numbers. */
static work plan(soft *e, int64_t n)
{
    const int64_t G = e->set.G, least = 4 * G;
    int64_t chunk = fab_centres_chunk(n);
    if (chunk < least) chunk = least;
    return (work){
        .e = e, .chunk = chunk, .chunks = (n + chunk - 1) / chunk, .each = G * (e->D + 1) + 2};
}

static fab_status mixture(void *handle, const fab_mixture **q)
{
    soft *e = handle;
    const work proto = plan(e, e->x.n);
    work *k;
    FAB_TRY(fab_build((void **)&k, sizeof *k, &proto, layout));
    fab_rows_get(&e->x, 0, e->D, k->first);
    const fab_status s = solve(k);
    if (s == FAB_OK) { /* psi is sigma^2, whatever the cost */
        fab_centroids_set(&e->found, e->set.G, k->best_mu, k->best_pi, k->sigma2 * (double)e->D, 0,
                          0, q);
        for (int64_t g = 0; g < e->set.G; g++) e->counts[g] = k->n * k->best_pi[g];
    }
    fab_release(k);
    return s;
}

/* ---- the method ------------------------------------------------------------------------------------- */

static fab_status report(void *handle, fab_report *r)
{
    *r = ((soft *)handle)->report;
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    soft *e = handle;
    const int64_t one = 1;
    FAB_TRY(fab_tensors_add(t, "counts", FAB_F64, 1, &e->set.G, e->counts));
    FAB_TRY(fab_tensors_add(t, "cost", FAB_F64, 1, &one, &e->report.cost));
    return fab_tensors_add(t, "iterations", FAB_I64, 1, &one, &e->report.iterations);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    soft e = {.set = *(const fab_soft_kmeans_settings *)settings, .D = in->vectors};
    fab_kmeans_settings warm = fab_kmeans_defaults(e.set.G);
    fab_run run;
    if (fab_run_init(&run, x, FAB_F64) != FAB_OK) return NAN;
    e.threads = run.threads;
    warm.restarts = 1;
    const work proto = plan(&e, n);
    return (double)fab_build_size(sizeof proto, &proto, layout) +
           fab_centroids_bytes(e.D, e.set.G) +
           (in->start ? 0 : fab_fit_bytes("kmeans", &warm, sizeof warm, in, n, x));
}

const fab_method fab_soft_kmeans_method = {
    .name = "soft-kmeans",
    .summary = "a mixture of spheres of one known width, by EM",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS | FAB_TAKES_SPARSE,
    .starts = 1,
    .fields = &table,
    .init = init,
    .update = update,
    .mixture = mixture,
    .report = report,
    .tensors = tensors,
    .free = release,
    .bytes = bytes,
};
