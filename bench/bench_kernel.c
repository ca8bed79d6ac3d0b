/* bench_kernel.c - log evidence and gradient of a Gaussian process beside LAPACK's Cholesky factor and inverse, and scikit-learn.
 *
 *     bench_kernel [KERNEL [D [N ..]]]       default: rbf:ard 8 500 2000
 *
 * One thread, seconds of the processor, the best of several rounds in which both take turns: what is compared meets the same
 * machine.  The gradient is held against differences of the evidence first, and with rbf:ard against scikit-learn's
 * (bench/peers/gp.py), when it is there and the bench runs from the root of the tree.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "fabayes/files.h"
#include "fabayes/kernel.h"
#include "la/ops.h"
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 9, MOST = 256 };

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "bench_kernel: %s\n", fab_detail());
    exit(1);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double evidence(fab_process *p, const double *theta, double noise, double *g)
{
    double lml;
    must(fab_process_set(p, theta));
    must(fab_process_relearn(p, noise));
    must(fab_process_evidence(p, &lml, g));
    return lml;
}

/* The largest error of the gradient by differences. */
static double error_of(fab_process *p, int64_t size, const double *theta, double noise)
{
    double g[MOST], moved[MOST], worst = 0;
    evidence(p, theta, noise, g);
    memcpy(moved, theta, (size_t)size * sizeof *moved);
    for (int64_t i = 0; i < size; i++) {
        const double h = 1e-4;
        moved[i] = theta[i] + h;
        const double up = evidence(p, moved, noise, NULL);
        moved[i] = theta[i] - h;
        const double slope = (up - evidence(p, moved, noise, NULL)) / (2 * h);
        moved[i] = theta[i];
        worst = fmax(worst, fabs(g[i] - slope) / (1 + fabs(slope)));
    }
    return worst;
}

/* Seconds of scikit-learn for the same; 0: it is not there.  Its value and gradient must be these. */
static double peer(int64_t N, int64_t D, const double *X, const double *y, double noise,
                   double length, double lml, const double *g)
{
    char folder[] = "/tmp/bench_kernel.XXXXXX", x[64], t[64], command[512];
    double own, value = 0, worst;
    if (!mkdtemp(folder)) return 0;
    snprintf(x, sizeof x, "%s/x.npy", folder);
    snprintf(t, sizeof t, "%s/y.npy", folder);
    must(fab_npy_write(x, &(fab_npy){(void *)(uintptr_t)X, FAB_F64, 2, N, D}));
    must(fab_npy_write(t, &(fab_npy){(void *)(uintptr_t)y, FAB_F64, 1, N, 1}));
    snprintf(command, sizeof command,
             "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 /usr/bin/python3 bench/peers/gp.py %s %s "
             "%.17g %.17g 2>/dev/null",
             x, t, noise, length);
    FILE *f = popen(command, "r");
    int got = f && fscanf(f, "%lf %lf", &own, &value) == 2;
    worst = fabs(value - lml) / fabs(lml);
    for (int64_t i = 0; got && i < D + 2; i++) {
        got = fscanf(f, "%lf", &value) == 1;
        worst = fmax(worst, fabs(value - g[i]) / (1 + fabs(g[i])));
    }
    if (f) pclose(f);
    remove(x), remove(t), remove(folder);
    if (!got) return 0;
    if (worst < 1e-7) return own;
    fprintf(stderr, "bench_kernel: scikit-learn says something else: %g\n", worst);
    exit(1);
}

static void run(const char *text, int64_t D, int64_t N)
{
    const fab_exec one = {.threads = 1};
    const double noise = 0.01;
    double *X = malloc((size_t)(N * D) * sizeof *X), *y = malloc((size_t)N * sizeof *y),
           *A = malloc((size_t)(N * N) * sizeof *A), *C = malloc((size_t)(N * N) * sizeof *C);
    double theta[MOST], g[MOST], best[3] = {INFINITY, INFINITY, INFINITY};
    fab_kernel *k;
    fab_process *p;
    if (!X || !y || !A || !C) exit(1);
    fab_random_normal(1, FAB_PURPOSE_DATA, 0, 0, N * D, FAB_F64, X);
    fab_random_normal(1, FAB_PURPOSE_DATA, 1, 0, N, FAB_F64, y);
    for (int64_t i = 0; i < N; i++)
        for (int64_t d = 0; d < D; d++) y[i] = 0.1 * y[i] + sin(X[i * D + d]);
    must(fab_kernel_create(&k, text, D, NULL));
    const int64_t size = fab_kernel_size(k);
    if (size >= MOST) exit(1);
    fab_kernel_get(k, theta);
    must(fab_process_create(&p, k, N, X, D, N, &one));
    must(fab_process_learn(p, y, NULL, noise));
    const double error = N <= 500 ? error_of(p, size, theta, noise) : 0;
    if (!(error < 1e-5)) {
        fprintf(stderr, "bench_kernel: the gradient of %s is off by %g\n", text, error);
        exit(1);
    }
    must(fab_kernel_gram(k, N, X, D, A, N, &one));
    for (int64_t i = 0; i < N; i++) A[i * N + i] += noise;
    const int before = fab_blas_enter();
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(C, A, (size_t)(N * N) * sizeof *A);
        double from = seconds();
        LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)N, C, (int)N);
        LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (int)N, C, (int)N);
        best[0] = fmin(best[0], seconds() - from);
        from = seconds();
        evidence(p, theta, noise, NULL);
        best[1] = fmin(best[1], seconds() - from);
        from = seconds();
        evidence(p, theta, noise, g);
        best[2] = fmin(best[2], seconds() - from);
    }
    fab_blas_leave(before);
    const double lml = evidence(p, theta, noise, g),
                 other = strcmp(text, "rbf:ard") == 0
                             ? peer(N, D, X, y, noise, sqrt((double)D), lml, g)
                             : 0;
    printf(
        "%-24s N = %5lld, D = %3lld: potrf + potri %.2e s, evidence %.2e s, with gradient %.2e s: "
        "%.2f times",
        text, (long long)N, (long long)D, best[0], best[1], best[2], best[2] / best[0]);
    if (other > 0) printf("; scikit-learn %.2e s: %.2f of it", other, best[2] / other);
    printf("\n");
    fab_process_free(p);
    fab_kernel_free(k);
    free(X);
    free(y);
    free(A);
    free(C);
}

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "rbf:ard";
    const int64_t D = argc > 2 ? atoll(argv[2]) : 8;
    if (argc > 3)
        for (int i = 3; i < argc; i++) run(text, D, atoll(argv[i]));
    else
        for (int64_t N = 500; N <= 2000; N *= 4) run(text, D, N);
    return 0;
}
