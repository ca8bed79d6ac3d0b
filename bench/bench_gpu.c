/* bench_gpu.c - a card: the streams and the Gram beside its copy rate of the same run.
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
    const fab_method *m = fab_method_find(method);
    const int rows = D < 1000000 ? MOST_ROWS : 1, each = D < 1000000 ? 50 : 1;
    int64_t settings[32], fed = 0;
    double seconds[TIMES];
    void *handle, *x[MOST_ROWS];
    float *host = on_card ? NULL : malloc((size_t)D * sizeof *host);
    const fab_exec exec = {.ops = ops, .threads = 1};
    fab_settings_defaults(m->fields, settings);
    if (fab_settings_parse(m->fields, settings, "K", "10") != FAB_OK ||
        fab_settings_parse(m->fields, settings, "warmup", "20") != FAB_OK ||
        fab_settings_parse(m->fields, settings, "held", "0") != FAB_OK)
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

int main(int argc, char **argv)
{
    const int64_t most = argc > 1 ? (int64_t)strtod(argv[1], NULL) : 100000000;
    if (fab_ops_open(&ops, "cuda", FAB_F32) != FAB_OK) stop("no card");
    printf("%-22s %11s %10s %10s %8s %8s\n", "f32, K = 10", "D", "best ms", "median", "TB/s",
           "x copy");
    measure_copy(most < 1000000000 ? most : 1000000000);
    for (int64_t D = 1000; D <= most; D *= 10) {
        if (D >= 1000000) measure_gram(D);
        measure_stream("online-em", "online-em, on card", D, 1, 128);
        if (D == most) break;
        if (D >= 1000000) measure_stream("stochastic-em", "stochastic-em, on card", D, 1, 128);
        if (D == 10000000) measure_stream("online-em", "online-em, from host", D, 0, 128);
    }
    return 0;
}
