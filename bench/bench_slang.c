/* bench_slang.c - what a step of slang costs beside the gradients, against its own two large products.
 *
 *     bench_slang [--quick] [--threads N]
 *
 * A network of D = 10^6 parameters, 32 rows in a batch, ranks 1, 5, 10, 20.  The fast kernels are first compared with the
 * plain ones (ops_ref) on a small network; wrong code is not timed.  A step is timed from one call of the progress
 * hook to the next; the loss and the gradients of the examples are timed alone and taken off.  Beside it, in the same
 * run: the Gram of D x (K + 32) numbers and their product with (K + 32) x K, which the step has to do in one form or
 * another.  Wanted: at most 2 times their sum.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes.h"
#include "la/ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FEATURES = 998, HIDDEN = 1000, ROWS = 32, STEPS = 12, REPEATS = 9 };
static const double GOAL = 2;
static int64_t threads = 1;
static int missed;

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "bench_slang: %s\n", fab_detail());
    exit(1);
}

/* On one thread the processor's own time: other programs do not disturb it. */
static double now(void)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *room(int64_t bytes)
{
    void *p = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64);
    if (!p) exit(1);
    memset(p, 0, (size_t)bytes);
    return p;
}

/* ---- steps ------------------------------------------------------------------------------------------ */

typedef struct fit {
    fab_net *net;
    fab_fit *f;
    fab_examples e;
    double *x, *y;
} fit;

static fit open_fit(int64_t features, int64_t hidden, int64_t K, const fab_exec *x)
{
    char layers[32];
    fit t = {.x = room(8 * ROWS * features), .y = room(8 * ROWS)};
    snprintf(layers, sizeof layers, "mlp:%lld", (long long)hidden);
    const fab_net_plan plan = {
        .layers = layers, .features = features, .classes = 1, .beta = 1, .batch = ROWS};
    fab_slang_settings s = fab_slang_defaults();
    s.K = K;
    s.vogn.train.batch = ROWS;
    s.vogn.train.epochs = STEPS; /* one step each */
    fab_random_normal(1, FAB_PURPOSE_DATA, 1, 0, ROWS * features, FAB_F64, t.x);
    fab_random_normal(1, FAB_PURPOSE_DATA, 2, 0, ROWS, FAB_F64, t.y);
    t.e = (fab_examples){.x = {.p = t.x, .type = FAB_F64, .n = ROWS, .ld = features}, .y = t.y};
    must(fab_net_create(&t.net, &plan, x));
    must(fab_fit_create(&t.f, "slang", &s, sizeof s, &(fab_input){.model = fab_net_model(t.net)},
                        x));
    must(fab_fit_update(t.f, &t.e));
    return t;
}

static void close_fit(fit *t)
{
    fab_fit_free(t->f);
    fab_net_free(t->net);
    free(t->x);
    free(t->y);
}

static void verify(fab_dtype type)
{
    const fab_exec fast = {.ops = fab_ops_find("cpu", type), .threads = threads},
                   plain = {.ops = fab_ops_find("ref", type), .threads = threads};
    fit a = open_fit(7, 40, 5, &fast), b = open_fit(7, 40, 5, &plain);
    const fab_gauss *p, *q;
    double distance;
    must(fab_fit_gauss(a.f, &p));
    must(fab_fit_gauss(b.f, &q));
    must(fab_distance_covariance(p, q, NULL, &distance));
    if (!(distance < (type == FAB_F64 ? 1e-8 : 1e-2))) {
        fprintf(stderr, "bench_slang: the fast kernels do not agree with the plain ones\n");
        exit(1);
    }
    close_fit(&a);
    close_fit(&b);
}

static double stamp[STEPS + 1];

static int mark(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)total;
    stamp[done] = now();
    return 0;
}

/* ---- times: best and median ------------------------------------------------------------------------- */

typedef struct timing {
    double best, median;
} timing;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static timing summary(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, by_value);
    return (timing){seconds[0], seconds[count / 2]};
}

static timing time_steps(fit *t)
{
    double seconds[STEPS];
    const fab_gauss *q;
    fab_set_progress(mark, NULL);
    must(fab_fit_gauss(t->f, &q));
    fab_set_progress(NULL, NULL);
    for (int i = 2; i <= STEPS; i++) seconds[i - 2] = stamp[i] - stamp[i - 1];
    return summary(seconds, STEPS - 1);
}

static timing time_gradients(const fit *t)
{
    const fab_model *m = fab_net_model(t->net);
    double seconds[REPEATS], loss, *theta = room(8 * m->D);
    m->start(m->self, 1, theta);
    for (int i = 0; i < REPEATS; i++) {
        const double before = now();
        must(m->loss(m->self, theta, &t->e, &loss, NULL));
        must(m->examples(m->self, theta, &t->e));
        seconds[i] = now() - before;
    }
    free(theta);
    return summary(seconds, REPEATS);
}

/* One Gram and one right-multiplication of D x (K + ROWS) numbers. */
static timing time_products(int64_t D, int64_t K, const fab_exec *x)
{
    const int64_t n = K + ROWS;
    fab_run run;
    must(fab_run_init(&run, x, x->ops->type));
    run.work = room((int64_t)run.ops->work(D, n, n, run.threads));
    void *Y = room(D * n * (int64_t)run.ops->size), *U = room(D * K * (int64_t)run.ops->size);
    double *G = room(8 * n * n), *V = room(8 * n * K), seconds[REPEATS];
    const fab_long y = fab_long_rows(Y, D, n), u = fab_long_rows(U, D, K);
    run.ops->randn(&run, 1, FAB_PURPOSE_DATA, 1, &y);
    fab_random_normal(1, FAB_PURPOSE_DATA, 2, 0, n * K, FAB_F64, V);
    for (int i = 0; i < REPEATS; i++) {
        const double before = now();
        run.ops->gram(&run, &y, NULL, G);
        run.ops->mult(&run, NULL, &y, V, 0, &u);
        seconds[i] = now() - before;
    }
    free(run.work);
    free(Y);
    free(U);
    free(G);
    free(V);
    return summary(seconds, REPEATS);
}

static void compare(int64_t K, fab_dtype type)
{
    const fab_exec x = {.ops = fab_ops_find("cpu", type), .threads = threads};
    fit t = open_fit(FEATURES, HIDDEN, K, &x);
    const int64_t D = fab_net_model(t.net)->D;
    const timing step = time_steps(&t), gradients = time_gradients(&t),
                 products = time_products(D, K, &x);
    const double own = step.best - gradients.best, ratio = own / products.best;
    printf("%-4s %8lld %4lld %10.1f %10.1f %10.1f %10.1f %10.1f %8.2f  %s\n", fab_dtype_name(type),
           (long long)D, (long long)K, 1e3 * step.best, 1e3 * step.median, 1e3 * gradients.best,
           1e3 * products.best, 1e3 * products.median, ratio, ratio <= GOAL ? "PASS" : "MISS");
    if (ratio > GOAL) missed = 1;
    close_fit(&t);
}

int main(int argc, char **argv)
{
    static const int64_t ranks[] = {10, 1, 5, 20};
    int count = 4;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            count = 1;
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoll(argv[++i]);
    verify(FAB_F64);
    verify(FAB_F32);
    printf("%lld threads; milliseconds; ratio: (step - gradients) / products, wanted %g\n",
           (long long)threads, GOAL);
    printf("%-4s %8s %4s %10s %10s %10s %10s %10s %8s\n", "", "D", "K", "step", "median",
           "gradients", "products", "median", "ratio");
    for (int i = 0; i < count; i++) {
        compare(ranks[i], FAB_F64);
        compare(ranks[i], FAB_F32);
    }
    return missed;
}
