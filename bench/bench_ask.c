/* bench_ask.c - what a step of vifa costs whoever drives it by ask and tell: milliseconds of the processor, for python_torch.py.
 *
 *     bench_ask D K STEPS        one thread; gradients in f32, the same at every draw
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/fit.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "bench_ask: %s\n", fab_detail());
    exit(1);
}

int main(int argc, char **argv)
{
    const int64_t D = argc > 1 ? atoll(argv[1]) : 1000000, steps = argc > 3 ? atoll(argv[3]) : 20;
    float *g = calloc((size_t)D, sizeof *g);
    const fab_exec x = {.threads = 1};
    const fab_model m = {
        .D = D, .head = {.D = 1, .classes = 1, .beta = 1}, .batch = 32, .type = FAB_F64};
    fab_vifa_settings s = fab_vifa_defaults();
    fab_question q;
    fab_fit *f;
    clock_t begin = 0;
    int done;
    if (!g) return 1;
    for (int64_t i = 0; i < D; i++) g[i] = 1e-6F * (float)(i % 7 - 3);
    s.K = argc > 2 ? atoll(argv[2]) : 5;
    s.train.epochs = 1000;
    s.map_part = s.ramp_part = 0; /* F and psi move from the first step on */
    must(fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &m, .rows = 32 * 100}, &x));
    must(fab_fit_ask(f, &q, &done));
    for (int64_t t = -2; t < steps; t++) { /* two to warm up */
        if (t == 0) begin = clock();
        for (int draw = 0; draw < 2; draw++) {
            must(fab_fit_tell(f, &(fab_answer){.loss = 1, .gradient = g, .type = FAB_F32}));
            must(fab_fit_ask(f, &q, &done));
        }
    }
    printf("%.2f ms of the processor for a step of two draws, D = %lld, K = %lld, one thread\n",
           1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC / (double)steps, (long long)D,
           (long long)s.K);
    fab_fit_free(f);
    free(g);
    return 0;
}
