/* bench_lrvga.c - [L] Table 2: seconds a row and memory of lrvga for D = 10^6, one row at a time, beside NumPy.
 *
 *     bench_lrvga [--quick] [folder of the peers]
 *
 * Linear regression with the settings that are [L]'s scheme, K = 10, 3 inner loops.  The fast kernels are first
 * compared with the plain ones (ops_ref); wrong code is not timed.  The peer is the same recursion in NumPy on
 * one thread and on all; lrvga has to be 10 times faster than the better of them.  The state is W, psi and
 * mu; memory is what the process has at most, without the rows.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { K = 10, INNER = 3, DISTINCT = 4, MOST_ROWS = 1000 };

static const char *peers = "bench/peers";

typedef struct timing {
    double best, median, bytes;
} timing;

static void stop(const char *what)
{
    fprintf(stderr, "bench_lrvga: %s\n", what);
    exit(1);
}

static double *normals(uint64_t stream, int64_t n)
{
    double *x = malloc((size_t)n * sizeof *x);
    if (!x) stop("no memory");
    fab_random_normal(1, FAB_PURPOSE_DATA, stream, 0, n, FAB_F64, x);
    return x;
}

static fab_fit *open_method(int64_t D, const fab_exec *x)
{
    fab_lrvga_settings s = fab_lrvga_defaults(K);
    fab_glm glm = {
        .likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = D, .classes = 1, .intercept = 0, .beta = 1};
    const fab_model model = fab_model_linear(&glm);
    fab_fit *f;
    s.train.alpha = s.train.beta = 1;
    s.expand = 0;
    s.inner_rank = K, s.block = 1, s.inner = INNER;
    s.gain = s.start = 1;
    if (fab_fit_create(&f, "lrvga", &s, sizeof s, &(fab_input){.model = &model}, x) != FAB_OK)
        stop(fab_detail());
    return f;
}

static void feed(fab_fit *f, const double *x, const double *y, int64_t D, int64_t n)
{
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = n, .ld = D}, .y = y};
    if (fab_fit_update(f, &e) != FAB_OK) stop(fab_detail());
}

/* The fast kernels give what the plain ones give, to rounding. */
static void verify(fab_dtype type)
{
    enum { D = 517, N = 60 };
    const fab_exec fast = {.ops = fab_ops_find("cpu", type)},
                   plain = {.ops = fab_ops_find("ref", type)};
    double *x = normals(2, (int64_t)D * N), *y = normals(3, N), mean = 1, covariance = 1;
    for (int64_t i = 0; i < (int64_t)D * N; i++) x[i] *= 0.05;
    fab_fit *a = open_method(D, &fast), *b = open_method(D, &plain);
    const fab_gauss *p, *q;
    feed(a, x, y, D, N);
    feed(b, x, y, D, N);
    if (fab_fit_gauss(a, &p) != FAB_OK || fab_fit_gauss(b, &q) != FAB_OK ||
        fab_distance_mean(p, q, &mean) != FAB_OK ||
        fab_distance_covariance(p, q, NULL, &covariance) != FAB_OK)
        stop(fab_detail());
    const double close = type == FAB_F64 ? 1e-6 : 1e-2;
    if (!(mean < close && covariance < close))
        stop("the fast kernels do not agree with the plain ones");
    fab_fit_free(a);
    fab_fit_free(b);
    free(x);
    free(y);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static timing bench(fab_dtype type, int threads, int64_t D, int rows)
{
    static double seconds[MOST_ROWS];
    const fab_exec exec = {.ops = fab_ops_find("cpu", type), .threads = threads};
    double *x = normals(2, D * DISTINCT), *y = normals(3, DISTINCT);
    for (int64_t i = 0; i < D * DISTINCT; i++) x[i] *= 1e-3;
    verify(type);
    fab_fit *f = open_method(D, &exec);
    feed(f, x, y, D, DISTINCT);
    for (int i = 0; i < rows; i++) {
        const double start = fab_clock();
        feed(f, x + i % DISTINCT * D, y + i % DISTINCT, D, 1);
        seconds[i] = fab_clock() - start;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fab_fit_free(f);
    free(x);
    free(y);
    qsort(seconds, (size_t)rows, sizeof *seconds, by_value);
    return (timing){seconds[0], seconds[rows / 2],
                    1024.0 * (double)usage.ru_maxrss - 8 * DISTINCT * (double)D};
}

static timing time_numpy(const char *threads, int64_t D, int rows)
{
    char command[512];
    timing t = {0, 0, 0};
    snprintf(command, sizeof command, "%s%s /usr/bin/python3 %s/lrvga.py %lld %d %d %d",
             *threads ? "OPENBLAS_NUM_THREADS=" : "", threads, peers, (long long)D, K, INNER, rows);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%lf %lf %lf", &t.best, &t.median, &t.bytes) != 3) t = (timing){0, 0, 0};
    if (f) pclose(f);
    return t;
}

static void print(const char *who, timing t, int64_t D, double size)
{
    const double state = (double)D * (K * size + 16);
    printf("%-20s %9.4f %9.4f %8.0f %8.2f\n", who, t.best, t.median, 1e-6 * t.bytes,
           t.bytes / state);
}

int main(int argc, char **argv)
{
    int quick = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            quick = 1;
        else
            peers = argv[i];
    const int64_t D = quick ? 20000 : 1000000;
    const int rows = quick ? 5 : 15;
    printf("D = %lld, K = %d, %d inner loops, seconds a row\n", (long long)D, K, INNER);
    printf("%-20s %9s %9s %8s %8s\n", "", "best", "median", "MB", "/ state");
    const timing narrow =
        bench(FAB_F32, 0, D, rows); /* the peak only grows: the smaller one first */
    print("lrvga f32", narrow, D, 4);
    const timing ours = bench(FAB_F64, 0, D, rows);
    print("lrvga f64", ours, D, 8);
    const timing one = time_numpy("1", D, rows), all = time_numpy("", D, rows);
    if (one.best <= 0 || all.best <= 0) {
        printf("NumPy is not there: nothing to compare with\n");
        return 0;
    }
    print("NumPy, one thread", one, D, 8);
    print("NumPy, all", all, D, 8);
    const double peer = one.best < all.best ? one.best : all.best, ratio = peer / ours.best;
    printf("\nlrvga is %.1f times faster than NumPy (f32: %.1f); wanted 10: %s\n", ratio,
           peer / narrow.best, ratio >= 10 ? "PASS" : "MISS");
    return ratio < 10;
}
