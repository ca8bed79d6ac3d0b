/* bench_mixture_kmeans.c - steps of K-means, seeds and one pass of minibatch-kmeans beside scikit-learn.
 *
 *     bench_mixture_kmeans [--quick] [folder of the peers] [images of MNIST, idx, gzip]
 *
 * One thread on both sides, processor time, the best of several.  Labels are compared with those of plain differences before a step is
 * timed.  Without the images rows of the same size are drawn, and that is said.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "fabayes.h"
#include "la/centres.h"
#include "la/ops.h"
#include "methods/mixture/seeds.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 1024, TIMES = 9 };

static const char *peers = "bench/peers", *images = "/usr/share/mnist/train-images-idx3-ubyte.gz";
static int quick, missed;

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "%s\n", fab_detail());
    exit(1);
}

static void *room(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) exit(1);
    return p;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bar(const char *what, double ours, double theirs, double goal)
{
    printf("%-44s %9.4f s", what, ours);
    if (isfinite(theirs)) {
        const int pass = theirs / ours >= goal;
        missed += !pass;
        printf("   scikit-learn %9.4f s   %5.2f times (goal %g)  %s", theirs, theirs / ours, goal,
               pass ? "PASS" : "MISS");
    }
    printf("\n");
    fflush(stdout);
}

/* Seconds of the peer; NaN where it is not there. */
static double peer(const char *what, const char *path, int64_t G)
{
    char command[LINE], line[LINE];
    double seconds = NAN;
    snprintf(command, sizeof command,
             "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 /usr/bin/python3 %s/kmeans.py %s %s %lld "
             "2>/dev/null",
             peers, what, path, (long long)G);
    FILE *p = popen(command, "r");
    if (!p || !fgets(line, sizeof line, p) || sscanf(line, "%lf", &seconds) != 1) seconds = NAN;
    if (p) pclose(p);
    if (isnan(seconds)) printf("skipped: python3 with scikit-learn is not here\n");
    return seconds;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static float *normals(int64_t n, int64_t D)
{
    float *x = room((size_t)(n * D) * sizeof *x);
    fab_random_normal(1, FAB_PURPOSE_DATA, 0, 0, n * D, FAB_F32, x);
    return x;
}

/* Pixels / 255. */
static float *mnist(int64_t n, int64_t D)
{
    char command[LINE];
    unsigned char head[16], *bytes = room((size_t)(n * D));
    snprintf(command, sizeof command, "gzip -dc '%s' 2>/dev/null", images);
    FILE *p = popen(command, "r");
    const int there = p && fread(head, 1, 16, p) == 16 &&
                      fread(bytes, 1, (size_t)(n * D), p) == (size_t)(n * D);
    if (p) pclose(p);
    if (!there) printf("%s is not there: normal rows of the same size\n", images);
    float *x = there ? room((size_t)(n * D) * sizeof *x) : normals(n, D);
    for (int64_t i = 0; there && i < n * D; i++) x[i] = (float)bytes[i] / 255;
    free(bytes);
    return x;
}

static void write_rows(const char *path, float *x, int64_t n, int64_t D)
{
    const fab_npy a = {x, FAB_F32, 2, n, D};
    must(fab_npy_write(path, &a));
}

/* ---- ours ------------------------------------------------------------------------------------- */

static double step(const fab_rows *x, int64_t D, int64_t G)
{
    const int64_t n = x->n;
    double *mu = room((size_t)(G * D) * sizeof *mu), *sums = room((size_t)(G * D) * sizeof *sums);
    double *counts = room((size_t)G * sizeof *counts), *norm = room((size_t)n * sizeof *norm);
    double *partial = room((size_t)fab_centres_partials(n, G, D) * sizeof *partial),
           best = INFINITY;
    int32_t *label = room((size_t)n * sizeof *label);
    fab_centres c;
    for (int64_t k = 0; k < G; k++) fab_rows_get(x, k, D, mu + k * D);
    must(fab_centres_init(&c, D, G, FAB_F32, NULL, 1, "bench"));
    fab_centres_norms(&c, x, norm);
    fab_assignment a = {x, NULL, norm, label, sums, counts, NULL, partial, 0, 0};
    for (int t = 0; t < TIMES; t++) {
        const double begin = now();
        fab_centres_set(&c, G, mu);
        fab_centres_assign(&c, &a);
        const double took = now() - begin;
        best = took < best ? took : best;
        for (int64_t i = 0; t == 0 && i < n; i += 101) {
            int64_t want = 0;
            for (int64_t k = 1; k < G; k++)
                if (fab_row_distance(x, i, D, mu + k * D) <
                    fab_row_distance(x, i, D, mu + want * D))
                    want = k;
            if (label[i] != want) {
                printf("row %lld has the wrong centre\n", (long long)i);
                exit(1);
            }
        }
    }
    printf("  %lld of %lld rows had a second look\n", (long long)a.second, (long long)n);
    fab_centres_free(&c);
    free(mu), free(sums), free(counts), free(norm), free(partial), free(label);
    return best;
}

static double seeds(const fab_rows *x, int64_t D, int64_t G)
{
    double *mu = room((size_t)(G * D) * sizeof *mu), best = INFINITY;
    double *work = room((size_t)fab_seeds_room(x->n, G, D) * sizeof *work);
    fab_centres c;
    must(fab_centres_init(&c, D, G, FAB_F32, NULL, 1, "bench"));
    const fab_seeds s = {&c, x, NULL, G, FAB_KMEANS_GREEDY, 1, 0, "bench", work};
    for (int t = 0; t < 5; t++) {
        const double begin = now();
        must(fab_seeds_choose(&s, mu, NULL));
        const double took = now() - begin;
        best = took < best ? took : best;
    }
    fab_centres_free(&c);
    free(mu), free(work);
    return best;
}

static double pass(const fab_rows *x, int64_t D, int64_t G)
{
    const fab_minibatch_kmeans_settings s = fab_minibatch_kmeans_defaults(G);
    double best = INFINITY;
    for (int t = 0; t < TIMES; t++) {
        fab_fit *f;
        const fab_mixture *q;
        const double begin = now();
        must(fab_fit_create(&f, "minibatch-kmeans", &s, sizeof s, &(fab_input){.vectors = D},
                            &(fab_exec){.threads = 1}));
        must(fab_fit_update(f, &(fab_examples){.x = *x}));
        must(fab_fit_result(f, &q));
        const double took = now() - begin;
        best = took < best ? took : best;
        fab_fit_free(f);
    }
    return best;
}

int main(int count, char **words)
{
    char path[] = "/tmp/bench_kmeans_XXXXXX";
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--quick") == 0)
            quick = 1;
        else if (strstr(words[i], "idx"))
            images = words[i];
        else
            peers = words[i];
    }
    const int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    const int64_t n = quick ? 6000 : 60000, m = quick ? 10000 : 100000;
    float *x = mnist(n, 784);
    const fab_rows pixels = {x, FAB_F32, n, 784, NULL, NULL, 0};
    write_rows(path, x, n, 784);
    bar("Lloyd step, 60 000 x 784, G = 10, f32", step(&pixels, 784, 10), peer("lloyd", path, 10),
        2);
    bar("one pass of minibatch-kmeans on them", pass(&pixels, 784, 10), peer("minibatch", path, 10),
        4);
    free(x);
    x = normals(m, 100);
    const fab_rows wide = {x, FAB_F32, m, 100, NULL, NULL, 0};
    write_rows(path, x, m, 100);
    bar("Lloyd step, 100 000 x 100, G = 100, f32", step(&wide, 100, 100), peer("lloyd", path, 100),
        1.5);
    bar("seeds of them, 2 + log G candidates", seeds(&wide, 100, 100), peer("seeds", path, 100), 3);
    free(x);
    remove(path);
    if (missed) printf("%d missed\n", missed);
    return 0;
}
