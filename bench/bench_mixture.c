/* bench_mixture.c - a step of EM for mixtures against scikit-learn and against the same formulas in NumPy.
 *
 *     bench_mixture [folder of the peers]
 *
 * Processor seconds of one thread, of both sides, in one run: the best of five.  A step is the difference of two runs from one start
 * that are so many steps apart.  Before a time counts, the likelihood of the last step is held against a density by another way
 * (fab_mixture_logpdf).
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <fabayes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TIMES = 5, STEPS = 4 };

static const char *peers = "bench/peers";
static int missed;

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "%s\n", fab_detail());
    exit(1);
}

static double *numbers(int64_t n)
{
    double *p = malloc((size_t)n * sizeof *p);
    if (p) return p;
    fprintf(stderr, "no memory\n");
    exit(1);
}

static double processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int peer(const char *arguments, double *seconds)
{
    char command[512], line[100];
    snprintf(
        command, sizeof command,
        "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 /usr/bin/python3 %s/mixture.py %s 2>/dev/null",
        peers, arguments);
    FILE *p = popen(command, "r");
    const int got = p && fgets(line, sizeof line, p) ? sscanf(line, "%lf", seconds) : 0;
    if (p) pclose(p);
    return got == 1;
}

static double *rows(int64_t n, int64_t D, int64_t G)
{
    double *x = numbers(n * D), *c = numbers(G * D), *u = numbers(n);
    fab_random_normal(1, FAB_PURPOSE_DATA, 0, 0, n * D, FAB_F64, x);
    fab_random_normal(1, FAB_PURPOSE_DATA, 1, 0, G * D, FAB_F64, c);
    fab_random_uniform(1, FAB_PURPOSE_DATA, 2, 0, n, u);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < D; i++) x[j * D + i] += 3 * c[(int64_t)(u[j] * (double)G) * D + i];
    free(c);
    free(u);
    return x;
}

/* Processor seconds of a run of so many steps from rows as means. */
static double run(const char *method, const char *name, const char *value, const double *x,
                  int64_t n, int64_t D, int64_t G, int64_t q, int64_t steps, int check)
{
    const fab_fields *t = fab_method_fields(fab_method_find(method));
    double settings[64], *weight = numbers(G);
    char text[32];
    fab_gauss **own = malloc((size_t)G * sizeof *own);
    const fab_gauss **part = malloc((size_t)G * sizeof *part);
    fab_settings_defaults(t, settings);
    snprintf(text, sizeof text, "%lld", (long long)G);
    must(fab_settings_parse(t, settings, "G", text));
    must(fab_settings_parse(t, settings, name, value));
    must(fab_settings_parse(t, settings, "tol", "0"));
    snprintf(text, sizeof text, "%lld", (long long)steps);
    must(fab_settings_parse(t, settings, "max_iter", text));
    for (int64_t g = 0; g < G; g++) {
        fab_gauss *p;
        must(fab_gauss_create(&p, FAB_FORM_COVARIANCE, FAB_F64, D, q));
        if (q) fab_random_normal(2, FAB_PURPOSE_START, (uint64_t)g, 0, D * q, FAB_F64, p->F);
        for (int64_t i = 0; i < D; i++) p->mu[i] = x[g * D + i], p->psi[i] = 2;
        part[g] = own[g] = p;
        weight[g] = 1 / (double)G;
    }
    const fab_mixture start = {G, part, weight}, *r;
    const fab_exec one = {.threads = 1};
    fab_fit *f;
    const double from = processor();
    must(fab_fit_create(&f, method, settings, t->size, &(fab_input){.vectors = D, .start = &start},
                        &one));
    must(fab_fit_update(f, &(fab_examples){.x = {.p = x, .type = FAB_F64, .n = n, .ld = D}}));
    must(fab_fit_result(f, &r));
    const double seconds = processor() - from;
    if (check) {
        double *l = numbers(n), sum = 0;
        fab_report report;
        must(fab_mixture_logpdf(r, &(fab_rows){.p = x, .type = FAB_F64, .n = n, .ld = D}, NULL, l));
        for (int64_t j = 0; j < n; j++) sum += l[j];
        must(fab_fit_report(f, &report));
        if (!(fabs(sum / (double)n - report.loglik_mean) < 1e-9 * fabs(sum / (double)n))) {
            fprintf(stderr, "%s: log-likelihood %.17g, by the densities %.17g\n", method,
                    report.loglik_mean, sum / (double)n);
            exit(1);
        }
        free(l);
    }
    fab_fit_free(f);
    for (int64_t g = 0; g < G; g++) fab_gauss_free(own[g]);
    free(own);
    free(part);
    free(weight);
    return seconds;
}

static void row(const char *method, const char *name, const char *value, const char *arguments,
                int64_t n, int64_t D, int64_t G, int64_t q, double goal)
{
    double *x = rows(n, D, G), step = INFINITY, theirs;
    run(method, name, value, x, n, D, G, q, 2, 1);
    for (int i = 0; i < TIMES; i++) {
        const double few = run(method, name, value, x, n, D, G, q, 1, 0),
                     many = run(method, name, value, x, n, D, G, q, 1 + STEPS, 0);
        if ((many - few) / STEPS < step) step = (many - few) / STEPS;
    }
    free(x);
    printf("%-34s %8.4f s", arguments, step);
    if (!peer(arguments, &theirs)) {
        printf("   skipped: the peer is not here\n");
        return;
    }
    missed += !(theirs / step >= goal);
    printf("   peer %8.4f s   %5.1f times  (goal %g)  %s\n", theirs, theirs / step, goal,
           theirs / step >= goal ? "PASS" : "MISS");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc > 1) peers = argv[1];
    row("gmm", "covariance", "full", "full 100000 20 10", 100000, 20, 10, 0, 4);
    row("gmm", "covariance", "full", "full 10000 200 10", 10000, 200, 10, 0, 2.5);
    row("gmm", "covariance", "diag", "diag 100000 20 10", 100000, 20, 10, 0, 2);
    row("mfa", "q", "10", "mfa 10000 784 10 10", 10000, 784, 10, 10, 5);
    return missed > 0;
}
