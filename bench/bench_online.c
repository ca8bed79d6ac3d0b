/* bench_online.c - rows a second of the methods that take one row at a time, and online EM beside NumPy.
 *
 *     bench_online [--quick] [folder of the peers]
 *
 * Each method is first compared with itself on the plain kernels (ops_ref); wrong code is not timed.
 * Bytes are one read and one write of a D x K array; flops are those of its K x K product and of one
 * Gram matrix.  The ceilings are measured in the same run: a triad that moves as many bytes, and gemm.
 * The peer is [T] Alg. 2 in NumPy on one thread and on all; online EM has to be 10 times faster than
 * the better of them at D = 1000, K = 10.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes.h"
#include "la/small.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, BLOCKS = 4001 };

static const char *peers = "bench/peers";
static double least_seconds = 1;
static int missed;

static void stop(const char *what)
{
    fprintf(stderr, "bench_online: %s\n", what);
    exit(1);
}

/* ---- rows and handles ----------------------------------------------------------------------------- */

/* A few factors and noise; the rows repeat, which no method minds. */
static double *make_rows(int64_t D, int64_t n)
{
    double *x = malloc((size_t)(D * n) * sizeof *x), *h = malloc((size_t)n * sizeof *h);
    double *f = malloc((size_t)D * sizeof *f);
    if (!x || !h || !f) stop("no memory");
    fab_random_normal(1, FAB_PURPOSE_DATA, 0, 0, D * n, FAB_F64, x);
    for (uint64_t k = 1; k < 4; k++) {
        fab_random_normal(1, FAB_PURPOSE_DATA, k, 0, D, FAB_F64, f);
        fab_random_normal(2, FAB_PURPOSE_DATA, k, 0, n, FAB_F64, h);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < D; i++) x[j * D + i] += h[j] * f[i];
    }
    free(h);
    free(f);
    return x;
}

static fab_fit *open_method(const char *name, int64_t D, int64_t K, const char *setting,
                            const fab_exec *x)
{
    const fab_fields *fields = fab_method_fields(fab_method_find(name));
    int64_t settings[32] = {0};
    char number[32];
    fab_fit *e;
    fab_settings_defaults(fields, settings);
    snprintf(number, sizeof number, "%lld", (long long)K);
    fab_settings_parse(fields, settings, "K", number);
    if (*setting) fab_settings_parse(fields, settings, setting, "false");
    if (fab_fit_create(&e, name, settings, fields->size, &(fab_input){.vectors = D}, x) != FAB_OK)
        stop(fab_detail());
    return e;
}

static void feed(fab_fit *e, const double *x, int64_t D, int64_t n)
{
    const fab_rows rows = {x, FAB_F64, n, D};
    if (fab_fit_update(e, &(fab_examples){.x = rows}) != FAB_OK) stop(fab_detail());
}

/* The fast kernels give what the plain ones give, to rounding. */
static void verify(const char *name, int64_t K, const char *setting, fab_dtype type)
{
    enum { D = 517, N = 200 };
    const fab_exec fast = {.ops = fab_ops_find("cpu", type)},
                   plain = {.ops = fab_ops_find("ref", type)};
    double *x = make_rows(D, N), distance = 1;
    const fab_gauss *p, *q;
    fab_fit *a = open_method(name, D, K, setting, &fast),
            *b = open_method(name, D, K, setting, &plain);
    feed(a, x, D, N);
    feed(b, x, D, N);
    if (fab_fit_gauss(a, &p) != FAB_OK || fab_fit_gauss(b, &q) != FAB_OK ||
        fab_distance_covariance(p, q, NULL, &distance) != FAB_OK)
        stop(fab_detail());
    if (!(distance < (type == FAB_F64 ? 1e-7 : 1e-3)))
        stop("the fast kernels do not agree with the plain ones");
    fab_fit_free(a);
    fab_fit_free(b);
    free(x);
}

/* ---- timing --------------------------------------------------------------------------------------- */

typedef struct timing {
    double best, median;
} timing;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static timing summary(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, by_value);
    return (timing){seconds[0], seconds[count / 2]};
}

/* Seconds a row, over blocks of ROWS rows after the warm-up. */
static timing time_method(fab_fit *e, const double *x, int64_t D)
{
    static double seconds[BLOCKS];
    int count = 0;
    for (int i = 0; i < 4; i++) feed(e, x, D, ROWS);
    for (double all = 0; count < 7 || (all < least_seconds && count < BLOCKS); count++) {
        const double start = fab_clock();
        feed(e, x, D, ROWS);
        seconds[count] = fab_clock() - start;
        all += seconds[count];
        seconds[count] /= ROWS;
    }
    return summary(seconds, count);
}

/* Bytes a second of a triad over arrays of so many bytes together, flops a second of a large gemm. */
static double triad(double bytes)
{
    const int64_t n = (int64_t)(bytes / 24);
    double *a = make_rows(n, 1), *b = make_rows(n, 1), *c = make_rows(n, 1), best = 1e9;
    for (int r = 0; r < 200; r++) {
        const double start = fab_clock();
        for (int64_t i = 0; i < n; i++) a[i] = b[i] + 0.5 * c[i];
        const double s = fab_clock() - start;
        if (s < best && a[n / 2] > -1e9) best = s;
    }
    free(a);
    free(b);
    free(c);
    return 24 * (double)n / best;
}

static double gemm_rate(void)
{
    enum { N = 384 };
    double *a = make_rows(N, N), *b = make_rows(N, N), *c = make_rows(N, N), best = 1e9;
    for (int r = 0; r < 50; r++) {
        const double start = fab_clock();
        fab_mm(FAB_N, FAB_N, N, N, N, 1, a, b, 0, c);
        const double s = fab_clock() - start;
        if (s < best) best = s;
    }
    free(a);
    free(b);
    free(c);
    return 2.0 * N * N * N / best;
}

static timing bench(const char *name, const char *setting, fab_dtype type, int64_t D, int64_t K,
                    double gemm)
{
    const fab_exec exec = {.ops = fab_ops_find("cpu", type)};
    verify(name, K, setting, type);
    double *x = make_rows(D, ROWS);
    fab_fit *e = open_method(name, D, K, setting, &exec);
    const timing t = time_method(e, x, D);
    const double DK = (double)D * (double)K, bytes = 2 * DK * (type == FAB_F64 ? 8 : 4),
                 flops = 3 * DK * (double)K;
    printf("%-14s %-6s %s %7lld %3lld %9.1f %9.1f %8.2f %8.2f %7.2f %7.2f\n", name,
           *setting ? "plain" : "", fab_dtype_name(type), (long long)D, (long long)K, 1e6 * t.best,
           1e6 * t.median, 1e-9 * bytes / t.best, 1e-9 * flops / t.best,
           bytes / t.best / triad(bytes), flops / t.best / gemm);
    fab_fit_free(e);
    free(x);
    return t;
}

/* ---- NumPy ---------------------------------------------------------------------------------------- */

static timing time_numpy(const char *threads, int64_t D, int64_t K)
{
    char command[512];
    timing t = {0, 0};
    snprintf(command, sizeof command, "%s%s /usr/bin/python3 %s/online_em.py %lld %lld %d %d",
             *threads ? "OPENBLAS_NUM_THREADS=" : "", threads, peers, (long long)D, (long long)K,
             ROWS, least_seconds < 1 ? 20 : 100);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%lf %lf", &t.best, &t.median) != 2) t = (timing){0, 0};
    if (f) pclose(f);
    return t;
}

static void beside_numpy(const char *what, timing ours, timing peer, double wanted)
{
    const double ratio = peer.best / ours.best;
    printf("%-24s %6.1f times NumPy (median %.1f)", what, ratio, peer.median / ours.median);
    if (wanted > 0) printf("; wanted %.0f: %s", wanted, ratio >= wanted ? "PASS" : "MISS");
    if (wanted > 0 && ratio < wanted) missed = 1;
    printf("\n");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            least_seconds = 0.1;
        else
            peers = argv[i];
    const double gemm = gemm_rate();
    printf("%-14s %-6s %s %7s %3s %9s %9s %8s %8s %7s %7s\n", "method", "", "   ", "D", "K",
           "best us", "median", "GB/s", "GFLOP/s", "triad", "gemm");
    const timing ours = bench("online-em", "", FAB_F64, 1000, 10, gemm);
    const timing plain = bench("online-em", "expand", FAB_F64, 1000, 10, gemm);
    bench("online-em", "", FAB_F32, 1000, 10, gemm);
    bench("online-em", "", FAB_F64, 100, 10, gemm);
    bench("online-em", "", FAB_F64, 100000, 10, gemm);
    bench("stochastic-em", "", FAB_F64, 1000, 10, gemm);
    bench("online-sga", "", FAB_F64, 1000, 10, gemm);
    const timing one = time_numpy("1", 1000, 10), all = time_numpy("", 1000, 10);
    if (one.best <= 0 || all.best <= 0) {
        printf("NumPy is not there: nothing to compare with\n");
        return 0;
    }
    const timing peer = one.best < all.best ? one : all;
    printf("\nNumPy, [T] Alg. 2: %.1f us a row on one thread, %.1f us on all\n", 1e6 * one.best,
           1e6 * all.best);
    beside_numpy("online-em, default", ours, peer, 10);
    beside_numpy("online-em, as in [T]", plain, peer, 0);
    return missed;
}
