/* bench_vifa.c - a step of vifa: that of a small network beside PyTorch's, that of ten million coordinates beside memory.
 *
 *     bench_vifa [--quick] [--threads N] [PEERS]      PEERS: the folder of vifa.py
 *
 * The loss that both reach after the same number of steps is compared before anything is timed.  For many coordinates
 * the model's gradient costs one pass over two vectors, timed by itself and taken off; a pass over F is 8 D K bytes.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/memory.h"
#include "fabayes/fit.h"
#include "fabayes/net.h"
#include "la/nn.h"
#include "la/ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *peers = "bench/peers";
static double least_seconds = 3;
static int64_t threads = 1, coordinates = 10000000;
static int missed;

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "bench_vifa: %s\n", fab_detail());
    exit(1);
}

static void *bytes(int64_t n)
{
    void *p = fab_alloc((size_t)n);
    if (!p) exit(1);
    memset(p, 0, (size_t)n);
    return p;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- laps of a run, timed by the progress hook ---------------------------------------------------------- */

enum { MOST_LAPS = 1 << 16 };

typedef struct laps {
    double seconds[MOST_LAPS]; /* a step, averaged over a lap */
    double at;
    int64_t n, step, stop; /* laps; steps at the last one; where to stop, 0: never */
} laps;

static laps timed;

static int lap_ends(void *ctx, const char *what, int64_t done, int64_t total)
{
    laps *l = ctx;
    const double now = fab_clock();
    (void)what;
    (void)total;
    if (l->n < MOST_LAPS) l->seconds[l->n++] = (now - l->at) / (double)(done - l->step);
    l->step = done;
    l->at = now;
    return l->stop > 0 && done >= l->stop;
}

static fab_report run(fab_fit *f, const fab_examples *e, int64_t stop)
{
    const fab_gauss *q;
    fab_report r = {0};
    must(fab_fit_update(f, e));
    timed = (laps){.at = fab_clock(), .stop = stop};
    fab_set_progress(lap_ends, &timed);
    const fab_status s = fab_fit_gauss(f, &q);
    fab_set_progress(NULL, NULL);
    if (s != FAB_STOPPED) must(s);
    if (s == FAB_OK) must(fab_fit_report(f, &r));
    qsort(timed.seconds, (size_t)timed.n, sizeof(double), by_size);
    return r;
}

/* ---- a small network ------------------------------------------------------------------------------------ */

enum { ROWS = 690, FEATURES = 8, STEPS = 3000, BATCH = 10, DRAWS = 4 };

/* 0: the peer is not there. */
static int ask_peer(double *loss, double *best, double *median)
{
    char command[512];
    snprintf(command, sizeof command, "OMP_NUM_THREADS=%lld /usr/bin/python3 %s/vifa.py %d %lld %g",
             (long long)threads, peers, STEPS, (long long)threads, least_seconds);
    FILE *f = popen(command, "r");
    if (!f) return 0;
    const int got = fscanf(f, "%lf %lf %lf", loss, best, median);
    pclose(f);
    return got == 3;
}

static void fill_table(double *x, double *y)
{
    for (int64_t i = 0; i < ROWS * FEATURES; i++) x[i] = sin(0.3 * (double)(i + 1));
    for (int64_t i = 0; i < ROWS; i++)
        y[i] = cos((double)(i + 1)) * x[i * FEATURES] + x[i * FEATURES + 1];
}

/* [T]'s settings for its networks. */
static fab_vifa_settings paper(void)
{
    fab_vifa_settings s = fab_vifa_defaults();
    s.K = 1;
    s.train.batch = BATCH;
    s.draws = DRAWS;
    s.pairs = 0;
    s.entropy = FAB_VIFA_CLOSED;
    s.schedule = FAB_SCHEDULE_CONSTANT;
    s.train.rate = 0.01;
    s.rate_F = s.rate_psi = 1;
    s.map_part = s.ramp_part = 0;
    s.train.epochs = (STEPS * DRAWS * BATCH + ROWS - 1) / ROWS;
    return s;
}

static void beside_peer(void)
{
    const fab_exec exec = {.threads = threads};
    const fab_net_plan plan = {
        .layers = "mlp:50", .features = FEATURES, .classes = 1, .beta = 25, .batch = BATCH};
    double *x = bytes(8 * ROWS * FEATURES), *y = bytes(8 * ROWS), loss, best, median;
    const fab_vifa_settings s = paper();
    fab_net *net;
    fab_fit *f;
    fill_table(x, y);
    const fab_examples e = {.x = {x, FAB_F64, ROWS, FEATURES}, .y = y};
    if (!ask_peer(&loss, &best, &median)) {
        printf("PyTorch is not there: nothing to compare with\n");
        return;
    }
    must(fab_net_create(&net, &plan, &exec));
    must(
        fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = fab_net_model(net)}, &exec));
    const fab_report r = run(f, &e, 0);
    printf("1 x 50 relu, D = %lld, K = 1, batch %d, %d draws, adam: loss %.3f, PyTorch's %.3f\n",
           (long long)fab_net_model(net)->D, BATCH, DRAWS, r.loss, loss);
    const double ours = timed.seconds[0], middle = timed.seconds[timed.n / 2], ratio = best / ours;
    if (!(fabs(r.loss - loss) < 0.3 + 0.1 * fabs(loss))) { /* averages over noisy steps */
        printf("WRONG: not compared\n");
        missed = 1;
    } else
        printf(
            "step %.1f us (median %.1f), PyTorch's %.1f (%.1f): ratio %.1f (%.1f), wanted 30: %s\n",
            1e6 * ours, 1e6 * middle, 1e6 * best, 1e6 * median, ratio, median / middle,
            ratio >= 30 ? "PASS" : "MISS");
    if (ratio < 30) missed = 1;
    fab_fit_free(f);
    fab_net_free(net);
    fab_release(x);
    fab_release(y);
}

/* ---- many coordinates ----------------------------------------------------------------------------------- */

enum { K = 10, LARGE_STEPS = 40 };

/* -log p = |theta|^2 / 2, whatever the rows. */
static fab_status bowl(void *self, const double *theta, const fab_examples *e, double *loss,
                       double *gradient)
{
    double *seconds = self;
    const double begin = fab_clock();
    double sum = 0;
    (void)e;
    for (int64_t i = 0; i < coordinates; i++) {
        gradient[i] = theta[i];
        sum += theta[i];
    }
    *loss = sum * 1e-12;
    *seconds += fab_clock() - begin;
    return FAB_OK;
}

typedef struct triad_call {
    double *a, *b, *c;
    int64_t part;
} triad_call;

static void triad_task(void *ctx, int64_t i, int thread)
{
    const triad_call *t = ctx;
    (void)thread;
    for (int64_t j = i * t->part; j < (i + 1) * t->part; j++) t->a[j] = t->b[j] + 3 * t->c[j];
}

/* Bytes a second of a = b + 3 c. */
static double triad(void)
{
    enum { PARTS = 64, PART = 1 << 18 };
    const int64_t n = (int64_t)PARTS * PART;
    triad_call t = {bytes(8 * n), bytes(8 * n), bytes(8 * n), PART};
    double best = 1e9;
    for (int r = 0; r < 10; r++) {
        const double begin = fab_clock();
        fab_parallel((int)threads, PARTS, triad_task, &t);
        best = fmin(best, fab_clock() - begin);
    }
    fab_release(t.a);
    fab_release(t.b);
    fab_release(t.c);
    return 24 * (double)n / best;
}

/* Bytes a step moves, outside the model: F four times (draw, gamma, and the pass that reads and writes it), and the
 * vectors of vifa_draw.c and vifa_step.c. */
static double moved(void)
{
    enum { VECTORS = 30 };
    return 8.0 * (double)coordinates * (4 * K + VECTORS);
}

static void beside_memory(void)
{
    const fab_exec exec = {.threads = threads};
    double row = 1, gradient = 0;
    const fab_examples e = {.x = {&row, FAB_F64, 1, 1}, .y = &row};
    const fab_model m = {.D = coordinates,
                         .head = {.D = 1, .classes = 1, .beta = 1},
                         .self = &gradient,
                         .loss = bowl};
    fab_vifa_settings s = fab_vifa_defaults();
    fab_fit *f;
    s.K = K;
    s.draws = 1;
    s.entropy = FAB_VIFA_CLOSED;
    s.optimiser = FAB_VIFA_SGD;
    s.train.rate = 1e-4;
    s.start_sd = 0.1;
    s.train.epochs = LARGE_STEPS;
    must(fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &m}, &exec));
    run(f, &e, 0);
    const double seconds = timed.seconds[0] - gradient / LARGE_STEPS, ceiling = triad();
    const double part = moved() / seconds / ceiling, pass = 8.0 * (double)coordinates * K / ceiling;
    printf("\nD = %lld, K = %d, sgd, 1 draw, %lld threads: step %.3f s without the gradient (%.3f "
           "s); triad %.1f "
           "GB/s\n",
           (long long)coordinates, K, (long long)threads, seconds, gradient / LARGE_STEPS,
           1e-9 * ceiling);
    printf("3 passes over F; %.1f GB moved at %.2f of triad, wanted 0.50: %s; as long as %.1f "
           "passes at triad\n",
           1e-9 * moved(), part, part >= 0.5 ? "PASS" : "MISS", seconds / pass);
    if (part < 0.5) missed = 1;
    fab_fit_free(f);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0) {
            least_seconds = 0.5;
            coordinates = 1000000;
        } else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoll(argv[++i]);
        else
            peers = argv[i];
    beside_peer();
    beside_memory();
    return missed;
}
