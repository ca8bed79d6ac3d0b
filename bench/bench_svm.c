/* bench_svm.c - a support vector machine of classes beside libsvm in scikit-learn.
 *
 *     bench_svm [--quick] [folder of the peers] [a1a.t]
 *
 * C = 1, gamma = 1/123, tol = 0.001, 200 MB of rows of the kernel on both sides; processor time, the best of some.  The dual objective and b
 * must be those of the peer, and a row of the kernel that of its matrix, before anything is timed.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "fabayes.h"
#include "methods/svm/rows.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS = 123, LINE = 1024 };

static const char *peers = "bench/peers", *file;
static int missed;

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "%s\n", fab_detail());
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static fab_sparse read_file(void)
{
    fab_sparse r = {0};
    fab_source *s;
    int64_t got = 1;
    const fab_source_options o = {.format = FAB_FORMAT_LIBSVM, .features = COLUMNS};
    must(fab_source_open(&s, file, &o));
    while (got) must(fab_source_next_sparse(s, 4096, &r, &got));
    fab_source_close(s);
    return r;
}

static fab_kernel *kernel_of(void)
{
    char text[64];
    fab_kernel *k;
    snprintf(text, sizeof text, "rbf:l=%.17g", sqrt(COLUMNS / 2.0));
    must(fab_kernel_create(&k, text, COLUMNS, NULL));
    return k;
}

/* The first row by the sparse way and by tiles. */
static void verify_row(const fab_kernel *k, const fab_rows *x)
{
    enum { SOME = 500 };
    fab_svm_rows *r;
    double *X = calloc((size_t)SOME * COLUMNS, sizeof *X), *K = calloc(SOME, sizeof *K);
    if (!X || !K) exit(1);
    for (int64_t i = 0; i < SOME; i++)
        for (int64_t p = x->start[i]; p < x->start[i + 1]; p++)
            X[i * COLUMNS + x->index[p]] = ((const double *)x->p)[p];
    must(fab_kernel_cross(k, 1, X, COLUMNS, SOME, X, COLUMNS, K, SOME, NULL));
    must(fab_svm_rows_create(&r, k, x, NULL, x->n, 1, NULL));
    const double *row = fab_svm_rows_get(r, 0);
    for (int64_t i = 0; i < SOME; i++)
        if (!(fabs(row[i] - K[i]) < 1e-13)) {
            fprintf(stderr, "a row of the kernel is wrong at %lld\n", (long long)i);
            exit(1);
        }
    fab_svm_rows_free(r);
    free(X);
    free(K);
}

static double time_of(const fab_kernel *k, const fab_rows *x, const double *y, int64_t threads,
                      int times, fab_svm_report *r, double *b)
{
    double best = INFINITY;
    const fab_exec e = {.threads = threads};
    for (int i = 0; i < times; i++) {
        fab_svm *m;
        fab_svm_parts p;
        const double begin = now();
        must(fab_svm_create(&m, k, 2, NULL, x, y, NULL, &e));
        best = fmin(best, now() - begin);
        fab_svm_report_of(m, r);
        fab_svm_parts_of(m, &p);
        *b = p.b[0];
        fab_svm_free(m);
    }
    return best;
}

/* Seconds, dual and b of the peer; 0: it is not there. */
static int ask_peer(int64_t rows, int times, double *seconds, double *dual, double *b)
{
    char line[LINE];
    snprintf(line, sizeof line,
             "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 /usr/bin/python3 %s/svm.py %s %lld %d %d "
             "2>/dev/null",
             peers, file, (long long)rows, COLUMNS, times);
    FILE *p = popen(line, "r");
    if (!p) return 0;
    const int got = fscanf(p, "%lf %lf %lf", seconds, dual, b);
    pclose(p);
    return got == 3;
}

static void run(const fab_sparse *all, const fab_kernel *k, int64_t n, int64_t threads, int times,
                double goal)
{
    double seconds, dual, peer_b, b, *y = malloc((size_t)n * sizeof *y);
    fab_svm_report r;
    if (!y) exit(1);
    const fab_rows x = {.p = all->value,
                        .type = FAB_F64,
                        .n = n,
                        .ld = COLUMNS,
                        .start = all->start,
                        .index = all->index};
    for (int64_t i = 0; i < n; i++) y[i] = all->label[i] > 0;
    verify_row(k, &x);
    const double ours = time_of(k, &x, y, threads, times, &r, &b);
    printf("%6lld rows, %lld threads: %8.3f s, %lld steps, %lld support vectors", (long long)n,
           (long long)threads, ours, (long long)r.iterations, (long long)r.support);
    if (ask_peer(n, times, &seconds, &dual, &peer_b)) {
        if (fabs(dual - r.dual) > 1e-4 * dual || fabs(b - peer_b) > 1e-2) {
            fprintf(stderr, "\ndual %.10g and b %.6g, the peer's %.10g and %.6g\n", r.dual, b, dual,
                    peer_b);
            exit(1);
        }
        missed += seconds / ours < goal;
        printf("   scikit-learn %8.3f s   %.2f times (goal %g)  %s", seconds, seconds / ours, goal,
               seconds / ours < goal ? "MISS" : "PASS");
    }
    printf("\n");
    fflush(stdout);
    free(y);
}

int main(int argc, char **argv)
{
    static char path[LINE];
    const char *data = getenv("FAB_DATA");
    const int quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    if (argc > 1 + quick) peers = argv[1 + quick];
    snprintf(path, sizeof path, "%s/libsvm/a1a.t", data ? data : "../shared/data");
    file = argc > 2 + quick ? argv[2 + quick] : path;
    if (access(file, R_OK) != 0) {
        printf("skipped: there is no %s\n", file);
        return 0;
    }
    const fab_sparse all = read_file();
    fab_kernel *k = kernel_of();
    if (quick) {
        run(&all, k, 2000, 1, 1, 1);
    } else {
        run(&all, k, 10000, 1, 5, 3);
        run(&all, k, all.n, 2, 2, 5);
    }
    fab_kernel_free(k);
    return missed > 0;
}
