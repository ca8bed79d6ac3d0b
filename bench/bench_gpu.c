/* bench_gpu.c - a card: the streams, the Gram and the steps of vifa beside its copy rate of the same run.
 *
 *     bench_gpu [largest D, default 1e8]
 *
 * Rows are on the card, f32, K = 10.  Bytes are those that a pass must move: the least that the kernels as they are read
 * and write.  Times are best and median of a few, with the wait for the card and, of a stream, the K x K algebra on the
 * host.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes.h"
#include "fit/method.h"
#include "la/ops.h"
#include <stdio.h>
#include <stdlib.h>

enum { K = 10, TIMES = 21, ROWS_BEFORE = 24, MOST_ROWS = 64 };

static const fab_ops *ops;
static double copy_rate; /* bytes a second, read and written */

static void stop(const char *what)
{
    fprintf(stderr, "bench_gpu: %s: %s\n", what, fab_detail());
    exit(1);
}

static void *take(int64_t count)
{
    void *p = ops->memory->alloc((size_t)count * sizeof(float));
    if (!p) {
        fprintf(stderr, "bench_gpu: no memory for %lld numbers\n", (long long)count);
        exit(1);
    }
    return p;
}

/* Wait for the card. */
static void settle(const void *p)
{
    const fab_run r = {.ops = ops};
    char byte;
    ops->vectors->fetch(&r, 1, p, &byte);
}

static int ascending(const void *a, const void *b)
{
    const double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static void line(const char *what, int64_t D, double *seconds, double bytes)
{
    qsort(seconds, TIMES, sizeof *seconds, ascending);
    const double best = seconds[0], median = seconds[TIMES / 2];
    printf("%-22s %11lld %10.3f %10.3f %8.2f %8.2f\n", what, (long long)D, 1e3 * best, 1e3 * median,
           bytes / best / 1e12, best * copy_rate / bytes);
    fflush(stdout);
}

static void measure_copy(int64_t D)
{
    const fab_run r = {.ops = ops};
    void *a = take(D), *b = take(D);
    double seconds[TIMES];
    copy_rate = 0;
    for (int t = 0; t < TIMES; t++) {
        settle(b);
        const double start = fab_clock();
        for (int i = 0; i < 4; i++) ops->vectors->copy(&r, D, a, b);
        settle(b);
        seconds[t] = (fab_clock() - start) / 4;
    }
    for (int t = 0; t < TIMES; t++)
        if (8.0 * (double)D / seconds[t] > copy_rate) copy_rate = 8.0 * (double)D / seconds[t];
    line("copy", D, seconds, 8.0 * (double)D);
    ops->memory->release(a);
    ops->memory->release(b);
}

static void measure_gram(int64_t D)
{
    double seconds[TIMES], G[K * K];
    fab_run r = {.ops = ops, .threads = 1};
    void *F = take(D * K), *w = take(D);
    r.work = ops->memory->alloc(ops->work(D, K, K, 1));
    if (!r.work) stop("work");
    const fab_long A = fab_long_rows(F, D, K);
    ops->randn(&r, 1, FAB_PURPOSE_DATA, 1, &A);
    ops->vectors->fill(&r, D, 0.5, w);
    for (int t = 0; t < TIMES; t++) {
        settle(F);
        const double start = fab_clock();
        ops->gram(&r, &A, w, G);
        seconds[t] = fab_clock() - start;
    }
    if (fab_sum(&r, G, 1) != FAB_OK) stop("gram");
    line("Gram", D, seconds, 44.0 * (double)D);
    ops->memory->release(F), ops->memory->release(w), ops->memory->release(r.work);
}

/* A fresh row where the stream reads it. */
static void next_row(int64_t D, void *x, float *host)
{
    static uint64_t stream = 10;
    const fab_run r = {.ops = ops, .threads = 1};
    const fab_long X = fab_long_vectors(x, D, 1, D);
    ops->randn(&r, 1, FAB_PURPOSE_DATA, stream++, &X);
    if (host) ops->vectors->fetch(&r, (size_t)D * sizeof(float), x, host);
    settle(x);
}

/* Rows are normals, more than there are factors before the first M-step; making one is not timed where D is large. */
static void measure_stream(const char *method, const char *how, int64_t D, int on_card,
                           double bytes)
{
    const fab_method *m = fab_method_of_vectors(fab_method_find(method));
    const int rows = D < 1000000 ? MOST_ROWS : 1, each = D < 1000000 ? 50 : 1;
    int64_t settings[32], fed = 0;
    double seconds[TIMES];
    void *handle, *x[MOST_ROWS];
    float *host = on_card ? NULL : malloc((size_t)D * sizeof *host);
    const fab_exec exec = {.ops = ops, .threads = 1};
    fab_settings_defaults(m->fields, settings);
    if (fab_settings_parse(m->fields, settings, "K", "10") != FAB_OK) stop("settings");
    if (fab_settings_find(m->fields, "warmup") &&
        (fab_settings_parse(m->fields, settings, "warmup", "20") != FAB_OK ||
         fab_settings_parse(m->fields, settings, "held", "0") != FAB_OK))
        stop("settings");
    if (m->init(&handle, settings, &(fab_input){.vectors = D}, &exec) != FAB_OK) stop(method);
    for (int i = 0; i < rows; i++) {
        x[i] = take(D);
        next_row(D, x[i], host);
    }
    for (int t = -ROWS_BEFORE; t < TIMES; t++) {
        if (rows == 1) next_row(D, x[0], host);
        const double start = fab_clock();
        for (int i = 0; i < each; i++) {
            const void *p = host ? host : x[fed++ % rows];
            if (m->update(handle, &(fab_examples){.x = {p, FAB_F32, 1, D}}) != FAB_OK)
                stop("update");
        }
        settle(x[0]);
        if (t >= 0) seconds[t] = (fab_clock() - start) / each;
    }
    line(how, D, seconds, bytes * (double)D);
    m->free(handle);
    for (int i = 0; i < rows; i++) ops->memory->release(x[i]);
    free(host);
}

/* A draw, and a step of vifa outside the gradient: draws and what moves q from gradients that are there, nearly 0. */
static void measure_vifa(const char *how, int64_t D, int64_t L, int path, int adam, double bytes)
{
    enum { MOST = 2 };
    const fab_vectors *v = ops->vectors;
    fab_run r = {.ops = ops, .threads = 1};
    double draws[TIMES], steps[TIMES], h[MOST * K] = {0}, y[MOST * K], Minv[K * K] = {0}, G[K * K];
    fab_draw draw[MOST];
    void *memory[10] = {take(D),
                        take(D),
                        take(D * K),
                        take(D),
                        take(D * L),
                        adam ? take(D) : NULL,
                        adam ? take(D) : NULL,
                        adam ? take(D) : NULL,
                        adam ? take(D) : NULL,
                        NULL};
    void *m_F = adam ? take(D * K) : NULL, *v_F = adam ? take(D * K) : NULL;
    r.work = ops->memory->alloc(ops->work(D, K, K, 1));
    if (!r.work) stop("work");
    for (int k = 0; k < K; k++) Minv[k + k * K] = h[k] = h[K + k] = y[k] = y[K + k] = 0.1;
    for (int l = 0; l < L; l++)
        draw[l] = (fab_draw){1, 300, l ? -1 : 1, 1e-6, h + l * K, y + l * K};
    const fab_long F = fab_long_rows(memory[2], D, K);
    fab_step s = {.kind = adam ? FAB_STEP_ADAM : FAB_STEP_PLAIN,
                  .q = {D, K, memory[0], memory[1], memory[2]},
                  .L = L,
                  .draw = draw,
                  .V = memory[4],
                  .weight = 1,
                  .alpha = 1e-6,
                  .path = path,
                  .Minv = Minv,
                  .c = {1e-6, 1, 1, memory[5], memory[6]},
                  .gamma = {1e-6, 1, 1, memory[7], memory[8]},
                  .F = {1e-6, 1, 1, m_F, v_F},
                  .b1 = 0.9,
                  .b2 = 0.999,
                  .epsilon = 1e-8,
                  .most = 80,
                  .G = G};
    ops->randn(&r, 1, FAB_PURPOSE_DATA, 1, &F);
    v->fill(&r, D, -1, memory[1]);
    for (int t = 0; t < TIMES; t++) {
        settle(memory[0]);
        const double start = fab_clock();
        for (int l = 0; l < L; l++) {
            if (path && l == 0) v->project(&r, &s.q, &draw[l], y);
            v->draw(&r, &s.q, &draw[l], memory[3]);
        }
        settle(memory[3]);
        const double drawn = fab_clock();
        v->step(&r, &s);
        draws[t] = (drawn - start) / (double)L;
        steps[t] = fab_clock() - start;
    }
    if (fab_sum(&r, G, 1) != FAB_OK) stop("step");
    if (!path && !adam && L == 1) line("a draw", D, draws, 52.0 * (double)D);
    line(how, D, steps, bytes * (double)D);
    for (int i = 0; i < 9; i++)
        if (memory[i]) ops->memory->release(memory[i]);
    if (m_F) ops->memory->release(m_F), ops->memory->release(v_F);
    ops->memory->release(r.work);
}

/* The same by ask and tell: beside the two passes a copy of the gradient, and once an interval a Gram and a copy of q. */
static void measure_ask(int64_t D)
{
    enum { EACH = 5 };
    fab_vifa_settings s = fab_vifa_defaults();
    fab_fit *f;
    fab_question q;
    int done;
    double seconds[TIMES];
    void *g = take(D);
    const fab_exec exec = {.ops = ops, .threads = 1};
    const fab_model m = {
        .D = D, .head = {.D = 1, .classes = 1, .beta = 1}, .batch = 1, .type = FAB_F32};
    s.K = K, s.draws = 1, s.train.batch = 1, s.train.epochs = 1, s.train.rate = 1e-9;
    s.optimiser = FAB_VIFA_SGD, s.entropy = FAB_VIFA_CLOSED, s.map_part = s.ramp_part = 0;
    const fab_input in = {.model = &m, .rows = 100000};
    if (fab_fit_create(&f, "vifa", &s, sizeof s, &in, &exec) != FAB_OK) stop("vifa");
    for (int t = -1; t < TIMES; t++) {
        const double start = fab_clock();
        for (int i = 0; i < EACH; i++) {
            if (fab_fit_ask(f, &q, &done) != FAB_OK || done) stop("ask");
            const fab_answer a = {.loss = 1, .gradient = g, .type = FAB_F32, .there = 1};
            if (fab_fit_tell(f, &a) != FAB_OK) stop("tell");
        }
        settle(g);
        if (t >= 0) seconds[t] = (fab_clock() - start) / EACH;
    }
    line("the same, ask and tell", D, seconds, 160.0 * (double)D);
    fab_fit_free(f);
    ops->memory->release(g);
}

int main(int argc, char **argv)
{
    const int64_t most = argc > 1 ? (int64_t)strtod(argv[1], NULL) : 100000000;
    if (fab_ops_open(&ops, "cuda", FAB_F32) != FAB_OK) stop("no card");
    printf("%-22s %11s %10s %10s %8s %8s\n", "f32, K = 10", "D", "best ms", "median", "TB/s",
           "x copy");
    measure_copy(most < 1000000000 ? most : 1000000000);
    for (int64_t D = 1000; D <= most; D *= 10) {
        if (D >= 1000000) measure_gram(D);
        if (D >= 1000000) measure_vifa("vifa, closed, sgd", D, 1, 0, 0, 152);
        if (D >= 1000000 && D <= 100000000) {
            measure_ask(D);
            measure_vifa("vifa, path, sgd", D, 1, 1, 0, 204);
            measure_vifa("vifa, closed, adam", D, 1, 0, 1, 344);
            measure_vifa("vifa, 2 draws", D, 2, 0, 0, 208);
            measure_vifa("vifa, as by default", D, 2, 1, 1, 452);
        }
        measure_stream("online-em", "online-em, on card", D, 1, 128);
        if (D == most) break;
        if (D >= 1000000) measure_stream("stochastic-em", "stochastic-em, on card", D, 1, 128);
        if (D == 10000000) measure_stream("online-em", "online-em, from host", D, 0, 128);
        if (D == 10000000) measure_stream("swag", "swag, on card", D, 1, 64);
    }
    return 0;
}
