/* bench_mixture_stream.c - a row of online-mfa at a million coordinates against a row of recursive-em, the same with one part.
 *
 *     bench_mixture_stream [D]
 *
 * Processor seconds of one thread, both in one run, of blocks behind the start: the best of three.  Block, inner rank and EM
 * loops are the same.  G parts may cost 1.3 G times one.  At D = 1e6 it needs 6 GB.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <fabayes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { G = 4, Q = 5, BLOCK = 16, BLOCKS = 3, FIRST = 48 };

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "%s\n", fab_detail());
    exit(1);
}

static double processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rows of G parts that are apart, f32: row j is of part j mod G. */
static void fill(float *x, int64_t D, int64_t n, uint64_t number)
{
    fab_random_normal(1, FAB_PURPOSE_DATA, number, 0, n * D, FAB_F32, x);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j % G; i < D; i += G) x[j * D + i] += 2;
}

/* Best seconds of a block, behind a start of FIRST rows. */
static double block_seconds(const char *method, const void *settings, size_t size, float *x,
                            int64_t D, double *held)
{
    const fab_exec one = {.threads = 1};
    const fab_input in = {.vectors = D};
    double best = INFINITY;
    fab_fit *f;
    must(fab_fit_create(&f, method, settings, size, &in, &one));
    *held = fab_fit_bytes(method, settings, size, &in, 0, &one);
    for (int64_t j = 0; j < FIRST; j += BLOCK) {
        fill(x, D, BLOCK, (uint64_t)j);
        must(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F32, BLOCK, D}}));
    }
    for (int64_t b = 0; b < BLOCKS; b++) {
        fill(x, D, BLOCK, (uint64_t)(1000 + b));
        const double from = processor();
        must(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F32, BLOCK, D}}));
        const double s = processor() - from;
        if (s < best) best = s;
    }
    fab_fit_free(f);
    return best;
}

static int row(const char *what, const fab_online_mfa_settings *many,
               const fab_recursive_em_settings *single, float *x, int64_t D)
{
    double room[2];
    const double g = block_seconds("online-mfa", many, sizeof *many, x, D, &room[0]),
                 one = block_seconds("recursive-em", single, sizeof *single, x, D, &room[1]);
    const int pass = g <= 1.3 * G * one;
    printf("%-28s online-mfa %8.3f s a row (%.2f GB)   recursive-em %8.3f s (%.2f GB)   %.2f G "
           "times  (goal "
           "1.3)  %s\n",
           what, g / BLOCK, 1e-9 * room[0], one / BLOCK, 1e-9 * room[1], g / one / G,
           pass ? "PASS" : "MISS");
    fflush(stdout);
    return pass;
}

int main(int argc, char **argv)
{
    const int64_t D = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
    float *x = malloc((size_t)(BLOCK * D) * sizeof *x);
    if (!x) return 1;
    fab_online_mfa_settings many = fab_online_mfa_defaults(G);
    fab_recursive_em_settings single = fab_recursive_em_defaults(Q);
    many.q = Q;
    many.first = FIRST;
    many.restarts = 1;
    many.moves = 0;
    many.block = single.block = BLOCK;
    single.warmup = BLOCK;
    single.inner_rank = 2 * Q + 20;
    single.inner = many.inner;
    const int pass = row("the same rank and loops", &many, &single, x, D);
    free(x);
    return !pass;
}
