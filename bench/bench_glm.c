/* bench_glm.c - logistic regression: laplace and lrvga against scikit-learn with a dense Hessian inverse.
 *
 *     bench_glm [--quick] [folder of the peers]
 *
 * Data sets of FAB_DATA (default ../shared/data), columns standardised, the same dense numbers for both, one
 * thread each, alpha = 1 on the coefficients.  Times are the best of several, of the processor: with one thread
 * they are those of the clock on a machine that has nothing else to do.  The modes must agree to 1e-4 before a time is printed.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"
#include "fabayes.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 1024, RUNS = 7, RANK = 10 };
#define ALPHA     1.0
#define INTERCEPT 1e-10 /* scikit-learn does not penalise it */
#define AGREE     1e-4

static const char *peers = "bench/peers";
static int quick, missed;

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "%s\n", fab_detail());
    exit(1);
}

/* ---- data ------------------------------------------------------------------------------------- */

/* The features of a libsvm file, which are packed, as n x D numbers too. */
static void unpack(fab_dataset *t)
{
    if (!t->packed) return;
    t->x = fab_alloc((size_t)(t->n * t->D) * sizeof *t->x);
    if (!t->x) exit(1);
    memset(t->x, 0, (size_t)(t->n * t->D) * sizeof *t->x);
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t k = t->cells.start[i]; k < t->cells.start[i + 1]; k++)
            t->x[i * t->D + t->cells.index[k]] = t->cells.value[k];
}

static void standardise(fab_dataset *t)
{
    for (int64_t d = 0; d < t->D; d++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < t->n; i++) mean += t->x[i * t->D + d] / (double)t->n;
        for (int64_t i = 0; i < t->n; i++) {
            const double r = t->x[i * t->D + d] -= mean;
            square += r * r / (double)t->n;
        }
        for (int64_t i = 0; i < t->n && square > 0; i++) t->x[i * t->D + d] /= sqrt(square);
    }
}

/* A libsvm file of two classes; NULL when it is not there. */
static fab_dataset *load(const char *name)
{
    const char *root = getenv("FAB_DATA");
    char path[LINE];
    fab_source *s;
    fab_dataset *t;
    fab_scaling *k;
    snprintf(path, sizeof path, "%s/libsvm/%s", root ? root : "../shared/data", name);
    if (access(path, R_OK) != 0) return NULL;
    must(fab_source_open(&s, path, &(fab_source_options){.format = FAB_FORMAT_LIBSVM}));
    must(fab_dataset_read(&t, s, &(fab_columns){0}));
    must(fab_scaling_create(&k, t, FAB_TARGET_CLASSES, 0, 0)); /* labels become 0 and 1 */
    must(fab_scaling_apply(k, t));
    fab_scaling_free(k);
    fab_source_close(s);
    unpack(t);
    standardise(t);
    return t;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- ours ------------------------------------------------------------------------------------- */

/* Best seconds of a fit from data in memory to a posterior; its mean into mode (D + 1). */
static double time_fit(const fab_dataset *t, const char *method, const void *settings, size_t size,
                       double *mode)
{
    const fab_examples e = {.x = {t->x, FAB_F64, t->n, t->D}, .y = t->y};
    fab_glm glm = {
        .likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = t->D, .classes = 1, .intercept = 1, .beta = 1};
    const fab_model model = fab_model_linear(&glm);
    double best = INFINITY;
    for (int i = 0; i < (quick ? 3 : RUNS); i++) {
        fab_fit *f;
        const fab_gauss *q;
        const double before = seconds();
        must(fab_fit_create(&f, method, settings, size, &(fab_input){.model = &model},
                            &(fab_exec){.threads = 1}));
        must(fab_fit_update(f, &e));
        must(fab_fit_gauss(f, &q));
        best = fmin(best, seconds() - before);
        if (mode) memcpy(mode, q->mu, (size_t)(t->D + 1) * sizeof *mode);
        fab_fit_free(f);
    }
    return best;
}

static double time_laplace(const fab_dataset *t, double *mode)
{
    fab_laplace_settings s = fab_laplace_defaults();
    s.train.alpha = ALPHA;
    s.intercept_alpha = INTERCEPT;
    return time_fit(t, "laplace", &s, sizeof s, mode);
}

static double time_lrvga(const fab_dataset *t)
{
    fab_lrvga_settings s = fab_lrvga_defaults(RANK);
    s.train.alpha = ALPHA;
    return time_fit(t, "lrvga", &s, sizeof s, NULL);
}

/* ---- the peer --------------------------------------------------------------------------------- */

typedef struct peer {
    double seconds, inverse, ours_off, theirs_off;
} peer;

static int run_peer(const fab_dataset *t, const double *mode, peer *p)
{
    char folder[] = "/tmp/fabayes-bench-XXXXXX", x[LINE], y[LINE], m[LINE], command[5 * LINE],
         line[LINE];
    if (!mkdtemp(folder)) return 0;
    snprintf(x, sizeof x, "%s/x.npy", folder);
    snprintf(y, sizeof y, "%s/y.npy", folder);
    snprintf(m, sizeof m, "%s/mode.npy", folder);
    must(fab_npy_write(x, &(fab_npy){t->x, FAB_F64, 2, t->n, t->D}));
    must(fab_npy_write(y, &(fab_npy){t->y, FAB_F64, 1, t->n, 1}));
    must(fab_npy_write(m, &(fab_npy){(void *)mode, FAB_F64, 1, t->D + 1, 1}));
    snprintf(command, sizeof command,
             "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 /usr/bin/python3 %s/glm.py %s %s %g %s %d "
             "2>/dev/null",
             peers, x, y, ALPHA, m, quick ? 2 : RUNS);
    FILE *f = popen(command, "r");
    const int got = f && fgets(line, sizeof line, f)
                        ? sscanf(line, "%lf %lf %lf %lf", &p->seconds, &p->inverse, &p->ours_off,
                                 &p->theirs_off)
                        : 0;
    if (f) pclose(f);
    remove(x), remove(y), remove(m), remove(folder);
    return got == 4;
}

/* ---- the bars --------------------------------------------------------------------------------- */

static void bench(const char *name)
{
    fab_dataset *t = load(name);
    peer p;
    if (!t) {
        printf("%-18s skipped: not in FAB_DATA\n", name);
        return;
    }
    double *mode = malloc((size_t)(t->D + 1) * sizeof *mode);
    if (!mode) exit(1);
    const double laplace = time_laplace(t, mode), lrvga = time_lrvga(t);
    if (!run_peer(t, mode, &p)) {
        printf("%-18s skipped: python3 with scikit-learn is not here\n", name);
    } else if (!(p.ours_off < AGREE)) {
        printf("%-18s the modes differ by %.2g: nothing is timed\n", name, p.ours_off);
        missed++;
    } else {
        const int pass = laplace < p.seconds;
        missed += !pass && t->D >= 100;
        printf("%-18s %6lld %5lld %9.2f %9.2f %9.2f %9.2f %7.1f %s  %8.1e %8.1e\n", name,
               (long long)t->n, (long long)t->D, 1e3 * laplace, 1e3 * lrvga, 1e3 * p.seconds,
               1e3 * p.inverse, p.seconds / laplace,
               t->D < 100 ? "    "
               : pass     ? "PASS"
                          : "MISS",
               p.ours_off, p.theirs_off);
    }
    fflush(stdout);
    free(mode);
    fab_dataset_free(t);
}

int main(int argc, char **argv)
{
    static const char *const sets[] = {"heart_scale",    "australian_scale", "a1a",
                                       "usps_3v5.train", "mushrooms",        "madelon"};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            quick = 1;
        else
            peers = argv[i];
    printf("Milliseconds of a fit (processor), one thread; goal: laplace below scikit-learn for D "
           ">= 100.  The "
           "last two\n"
           "columns: how far the coefficients are from scikit-learn's newton-cholesky at tolerance "
           "1e-10.\n");
    printf("%-18s %6s %5s %9s %9s %9s %9s %7s %4s  %8s %8s\n", "set", "N", "D", "laplace",
           "lrvga 10", "sklearn", "its inv", "ratio", "", "ours", "sklearn");
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) bench(sets[i]);
    printf("%d missed\n", missed);
    return 0;
}
