/* bench_fa.c - factor analysis against the same formulas in NumPy and against scikit-learn.
 *
 *     bench_fa [--quick] [folder of the peers]
 *
 * A peer runs in the same run, at its better number of threads, and is skipped with a word where Python
 * or a package is absent.  bench_cost has the cost of a vector over a grid of D and K.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "fabayes.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_SETTINGS = 512, LINE = 512 };

static const char *peers = "bench/peers";
static int quick, missed;

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "%s\n", fab_detail());
    exit(1);
}

static void bar(const char *what, double ratio, double goal)
{
    const int pass = ratio >= goal;
    missed += !pass;
    printf("%-66s %8.1f times  (goal %g)  %s\n", what, ratio, goal, pass ? "PASS" : "MISS");
    fflush(stdout);
}

/* ---- peers ------------------------------------------------------------------------------------ */

/* Run the peer with 1 and 2 BLAS threads; the numbers of the faster run.  0 when it is not there. */
static int peer(const char *arguments, double *seconds, double *second)
{
    *seconds = INFINITY;
    for (int threads = 1; threads <= 2; threads++) {
        char command[LINE], line[LINE];
        double a = 0, b = NAN;
        snprintf(
            command, sizeof command,
            "OPENBLAS_NUM_THREADS=%d OMP_NUM_THREADS=%d /usr/bin/python3 %s/fa.py %s 2>/dev/null",
            threads, threads, peers, arguments);
        FILE *p = popen(command, "r");
        const int got = p && fgets(line, sizeof line, p) ? sscanf(line, "%lf %lf", &a, &b) : 0;
        if (p) pclose(p);
        if (got < 1) continue;
        if (a < *seconds) *seconds = a;
        *second = b;
    }
    if (isfinite(*seconds)) return 1;
    printf("skipped: python3 with the packages for `fa.py %s` is not here\n", arguments);
    return 0;
}

/* ---- ours ------------------------------------------------------------------------------------- */

static fab_fit *begin(const char *method, int64_t D, int64_t K, const char *const *more)
{
    const fab_fields *fields = fab_method_fields(fab_method_find(method));
    double settings[MAX_SETTINGS];
    char number[32];
    fab_fit *e;
    fab_settings_defaults(fields, settings);
    snprintf(number, sizeof number, "%lld", (long long)K);
    must(fab_settings_parse(fields, settings, "K", number));
    if (more && strcmp(more[0], "paper") == 0) {
        static const char *const paper[] = {"block", "1",     "inner",  "3",      "expand",
                                            "false", "start", "random", "centre", "none"};
        must(fab_settings_parse(fields, settings, "inner_rank", number));
        for (int i = 0; i < 10; i += 2)
            must(fab_settings_parse(fields, settings, paper[i], paper[i + 1]));
    }
    must(fab_fit_create(&e, method, settings, fields->size, &(fab_input){.vectors = D}, NULL));
    return e;
}

/* Seconds a vector of [L] Alg. 1, three loops, one vector at a time: the best of several. */
static double one_at_a_time(int64_t D, int64_t K, int vectors)
{
    static const char *const paper[] = {"paper"};
    fab_fit *e = begin("recursive-em", D, K, paper);
    double *row = malloc((size_t)D * sizeof *row), best = INFINITY;
    const int repeat = D >= 100000 ? 1 : (int)(100000 / D);
    for (int t = 0; t < vectors; t++) {
        fab_random_normal(1, FAB_PURPOSE_DATA, (uint64_t)t, 0, D, FAB_F64, row);
        const double before = fab_clock();
        for (int i = 0; i < repeat; i++)
            must(fab_fit_update(e, &(fab_examples){.x = {row, FAB_F64, 1, D}}));
        if (t > 0) best = fmin(best, (fab_clock() - before) / repeat);
    }
    free(row);
    fab_fit_free(e);
    return best;
}

static double rows_per_second(const char *method, int64_t D, int64_t K, int64_t n,
                              const double *rows)
{
    double best = INFINITY;
    for (int i = 0; i < 3; i++) {
        const fab_gauss *q;
        fab_fit *e = begin(method, D, K, NULL);
        const double before = fab_clock();
        must(fab_fit_update(e, &(fab_examples){.x = {rows, FAB_F64, n, D}}));
        must(fab_fit_gauss(e, &q));
        best = fmin(best, fab_clock() - before);
        fab_fit_free(e);
    }
    return (double)n / best;
}

/* A known model: K strong factors and noise. */
static double *make_rows(int64_t D, int64_t K, int64_t n)
{
    fab_gauss *g;
    fab_solver *s;
    double *rows = malloc((size_t)(n * D) * sizeof *rows);
    must(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, D, K));
    fab_random_normal(7, FAB_PURPOSE_DATA, 0, 0, D * K, FAB_F64, g->F);
    fab_random_uniform(7, FAB_PURPOSE_DATA, 1, 0, D, g->psi);
    must(fab_solver_create(&s, g, NULL));
    must(fab_solver_sample(s, 7, FAB_PURPOSE_DATA, 0, n, FAB_F64, rows, D));
    fab_solver_free(s);
    fab_gauss_free(g);
    return rows;
}

/* ---- the bars --------------------------------------------------------------------------------- */

static void bench_recursive(int64_t D, int64_t K, double goal)
{
    char arguments[64], what[128];
    double numpy, none;
    const double ours = one_at_a_time(D, K, quick ? 4 : 8);
    snprintf(arguments, sizeof arguments, "recursive %lld %lld %d", (long long)D, (long long)K,
             quick ? 2 : 4);
    if (!peer(arguments, &numpy, &none)) return;
    snprintf(what, sizeof what, "recursive-em, one vector, D = %g, K = %lld: %.4g s, NumPy %.4g s",
             (double)D, (long long)K, ours, numpy);
    bar(what, numpy / ours, goal);
}

/* What the handle holds against the state; what the whole program took is printed beside it. */
static void bench_memory(int64_t D, int64_t K)
{
    struct rusage use;
    fab_recursive_em_settings s = fab_recursive_em_defaults(K);
    s.block = 1, s.inner = 3, s.inner_rank = K, s.expand = 0, s.start = 1, s.centre = 1;
    getrusage(RUSAGE_SELF, &use);
    const double state = 8.0 * (double)D * (double)(2 * K + 4),
                 held = fab_fit_bytes("recursive-em", &s, sizeof s, &(fab_input){.vectors = D}, 0,
                                      NULL);
    const int pass = held <= 1.2 * state;
    missed += !pass;
    printf("%-66s %8.3f times  (goal <= 1.2)  %s\n",
           "    memory of the handle, of D (2 K + 4) numbers", held / state,
           pass ? "PASS" : "MISS");
    printf("%-66s %8.3f times\n", "    the whole program, libraries and the vector included",
           (double)use.ru_maxrss * 1024 / state);
    fflush(stdout);
}

static void bench_default(int64_t D, int64_t K)
{
    char what[128];
    double numpy, none;
    const int64_t n = quick ? 20000 : 100000;
    double *rows = make_rows(D, K, n);
    const double ours = rows_per_second("recursive-em", D, K, n, rows);
    free(rows);
    if (!peer("recursive 1000 10 300", &numpy, &none)) return;
    snprintf(what, sizeof what,
             "recursive-em (default), D = %lld, K = %lld: %.4g rows/s, NumPy %.4g", (long long)D,
             (long long)K, ours, 1 / numpy);
    bar(what, ours * numpy, 30);
}

static void bench_ml(int64_t D, int64_t K)
{
    char path[] = "/tmp/fabayes-bench-XXXXXX", arguments[128], what[160];
    const int64_t n = quick ? 10000 : 100000;
    double *rows = make_rows(D, K, n), sklearn, score;
    fab_report d;
    const fab_gauss *q;
    fab_fit *e = begin("ml", D, K, NULL);
    const double before = fab_clock();
    must(fab_fit_update(e, &(fab_examples){.x = {rows, FAB_F64, n, D}}));
    must(fab_fit_gauss(e, &q));
    const double ours = fab_clock() - before;
    must(fab_fit_report(e, &d));
    fab_fit_free(e);
    const int fd = mkstemp(path);
    if (fd < 0) exit(1);
    must(fab_npy_write(path, &(fab_npy){rows, FAB_F64, 2, n, D}));
    free(rows);
    snprintf(arguments, sizeof arguments, "sklearn %s %lld", path, (long long)K);
    const int there = peer(arguments, &sklearn, &score);
    remove(path);
    if (!there) return;
    snprintf(what, sizeof what, "ml, %lld x %lld, K = %lld: %.3g s, scikit-learn %.3g s",
             (long long)n, (long long)D, (long long)K, ours, sklearn);
    bar(what, sklearn / ours, 3);
    const int pass = d.loglik_mean >= score - 1e-9 * fabs(score);
    missed += !pass;
    printf("%-66s %.8g, scikit-learn %.8g  %s\n", "    mean log-likelihood", d.loglik_mean, score,
           pass ? "PASS" : "MISS");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            quick = 1;
        else
            peers = argv[i];
    }
    const int64_t D = quick ? 100000 : 1000000;
    bench_recursive(D, 10, 10);
    bench_memory(D, 10); /* before anything larger has been used */
    bench_recursive(D, 100, 5);
    bench_default(1000, 10);
    bench_ml(1000, 10);
    printf("%d missed\n", missed);
    return 0;
}
