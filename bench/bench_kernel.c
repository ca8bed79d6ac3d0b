/* bench_kernel.c - log evidence and gradient of a Gaussian process beside LAPACK's Cholesky factor and inverse, and scikit-learn;
 * the bound through inducing inputs beside GPy.
 *
 *     bench_kernel [KERNEL [D [N ..]]]       default: rbf:ard 8 500 2000
 *     bench_kernel vfe [N [M [PYTHON]]]      default: 100000 200; the bound with its gradient by parameters and inputs, D = 8
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
#include "methods/vfe/bound.h"
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

/* ---- inducing inputs ----------------------------------------------------------------------------------- */

/* Seconds of GPy for the same, at its better number of threads; 0: it is not there.  Its value must be this one. */
static double peer_of_bound(const char *python, int64_t N, int64_t M, int64_t D, const double *X,
                            const double *y, const double *Z, double noise, double length,
                            double value)
{
    char folder[] = "/tmp/bench_kernel.XXXXXX", x[64], t[64], z[64], command[640];
    double best = 0;
    if (!mkdtemp(folder)) return 0;
    snprintf(x, sizeof x, "%s/x.npy", folder);
    snprintf(t, sizeof t, "%s/y.npy", folder);
    snprintf(z, sizeof z, "%s/z.npy", folder);
    must(fab_npy_write(x, &(fab_npy){(void *)(uintptr_t)X, FAB_F64, 2, N, D}));
    must(fab_npy_write(t, &(fab_npy){(void *)(uintptr_t)y, FAB_F64, 1, N, 1}));
    must(fab_npy_write(z, &(fab_npy){(void *)(uintptr_t)Z, FAB_F64, 2, M, D}));
    for (int threads = 1; threads <= 2; threads++) {
        double own = 0, other = 0;
        snprintf(command, sizeof command,
                 "OPENBLAS_NUM_THREADS=%d OMP_NUM_THREADS=%d %s bench/peers/sgp.py %s %s %s %.17g "
                 "%.17g 2>/dev/null",
                 threads, threads, python, x, t, z, noise, length);
        FILE *f = popen(command, "r");
        const int got = f && fscanf(f, "%lf %lf", &own, &other) == 2;
        if (f) pclose(f);
        if (!got) continue;
        if (!(fabs(other - value) < 1e-4 * fabs(value))) { /* GPy adds a jitter to Kzz */
            fprintf(stderr, "bench_kernel: GPy says something else: %.10g, not %.10g\n", other,
                    value);
            exit(1);
        }
        best = best > 0 ? fmin(best, own) : own;
    }
    remove(x);
    remove(t);
    remove(z);
    remove(folder);
    return best;
}

static void run_bound(int64_t N, int64_t M, const char *python)
{
    enum { D = 8, TIMES = 5 };
    const fab_exec one = {.threads = 1};
    const double noise = 0.01, h = 1e-4;
    double *X = malloc((size_t)(N * D) * sizeof *X), *y = malloc((size_t)N * sizeof *y),
           *Z = malloc((size_t)(M * D) * sizeof *Z),
           *g = malloc((size_t)(M * D + MOST) * sizeof *g), theta[MOST], moved[MOST],
           best[2] = {INFINITY, INFINITY}, value, up, down, worst = 0;
    fab_kernel *k;
    fab_bound *b;
    if (!X || !y || !Z || !g) exit(1);
    fab_random_normal(1, FAB_PURPOSE_DATA, 0, 0, N * D, FAB_F64, X);
    fab_random_normal(1, FAB_PURPOSE_DATA, 1, 0, N, FAB_F64, y);
    fab_random_normal(1, FAB_PURPOSE_DATA, 2, 0, M * D, FAB_F64, Z);
    for (int64_t i = 0; i < N; i++)
        for (int64_t d = 0; d < D; d++) y[i] = 0.1 * y[i] + sin(X[i * D + d]);
    must(fab_kernel_create(&k, "rbf:ard", D, NULL));
    const int64_t size = fab_kernel_size(k);
    fab_kernel_get(k, theta);
    const fab_bound_rows rows = {N, X, y, NULL};
    must(fab_bound_create(&b, FAB_BOUND_VFE, k, &rows, M, Z, NULL, &one));
    for (int round = 0; round < TIMES; round++) {
        double from = seconds();
        must(fab_bound_at(b, theta, noise, Z, 1, &value, NULL));
        best[0] = fmin(best[0], seconds() - from);
        from = seconds();
        must(fab_bound_at(b, theta, noise, Z, 1, &value, g));
        best[1] = fmin(best[1], seconds() - from);
    }
    memcpy(moved, theta, sizeof moved);
    for (int64_t i = 0; i < 2; i++) { /* of the variance and a length */
        moved[i] = theta[i] + h;
        must(fab_bound_at(b, moved, noise, Z, 1, &up, NULL));
        moved[i] = theta[i] - h;
        must(fab_bound_at(b, moved, noise, Z, 1, &down, NULL));
        moved[i] = theta[i];
        worst = fmax(worst, fabs(g[i] - (up - down) / (2 * h)) / (1 + fabs(g[i])));
    }
    if (!(worst < 1e-5)) {
        fprintf(stderr, "bench_kernel: the gradient of the bound is off by %g\n", worst);
        exit(1);
    }
    const double other =
        peer_of_bound(python, N, M, D, X, y, Z, noise, exp(theta[size - 1]), value);
    printf("vfe, N = %lld, M = %lld, D = %d: bound %.2e s, with gradient %.2e s: %.1f Gflop/s of "
           "5 N M^2",
           (long long)N, (long long)M, D, best[0], best[1],
           5e-9 * (double)N * (double)(M * M) / best[1]);
    if (other > 0) printf("; GPy %.2e s: %.2f of it", other, best[1] / other);
    printf("\n");
    fab_bound_free(b);
    fab_kernel_free(k);
    free(X);
    free(y);
    free(Z);
    free(g);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "vfe") == 0) {
        run_bound(argc > 2 ? atoll(argv[2]) : 100000, argc > 3 ? atoll(argv[3]) : 200,
                  argc > 4 ? argv[4] : "/usr/bin/python3");
        return 0;
    }
    const char *text = argc > 1 ? argv[1] : "rbf:ard";
    const int64_t D = argc > 2 ? atoll(argv[2]) : 8;
    if (argc > 3)
        for (int i = 3; i < argc; i++) run(text, D, atoll(argv[i]));
    else
        for (int64_t N = 500; N <= 2000; N *= 4) run(text, D, N);
    return 0;
}
