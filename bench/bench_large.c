/* bench_large.c - 784-400-400-10 in f32: training steps and predictions by draws, beside PyTorch's and beside the products alone.
 *
 *     bench_large [--quick] [--rounds N] [--threads N] [PEERS]      PEERS: the folder of large.py
 *
 * What is timed is what a user calls: epochs of `sgd` (adam, the prior, batches in random order), steps of `vifa`, draws of a
 * Gaussian of rank 5 with the class probabilities of all rows, and those of a point.  Both sides take turns in one run, so that
 * what disturbs one disturbs the other; the best of each counts.  The ceiling are the products of a step or of a prediction
 * by BLAS's sgemm on one thread, over the number of threads.  One thread is timed by the processor's clock.
 *
 * FAB_PEER_PYTHON names the interpreter of the peer (default /usr/bin/python3).
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/memory.h"
#include "fabayes/fit.h"
#include "fabayes/net.h"
#include "fabayes/predict.h"
#include "la/ops.h"
#include "la/small.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 4000, BATCH = 200, FEATURES = 784, HIDDEN = 400, CLASSES = 10, K = 5, DRAWS = 8 };

static const char *peers = "bench/peers";
static int64_t threads = 1;
static int rounds = 30;
static int missed;

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "bench_large: %s\n", fab_detail());
    exit(1);
}

static void *bytes(int64_t n)
{
    void *p = fab_alloc((size_t)n);
    if (!p) exit(1);
    memset(p, 0, (size_t)n);
    return p;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the peer ----------------------------------------------------------------------------------------- */

static FILE *ask, *told;

static int open_peer(double said[2])
{
    int to[2], from[2];
    char rows[16], cores[16], script[512];
    const char *named = getenv("FAB_PEER_PYTHON"), *python = named ? named : "/usr/bin/python3";
    snprintf(rows, sizeof rows, "%d", ROWS);
    snprintf(cores, sizeof cores, "%lld", (long long)threads);
    snprintf(script, sizeof script, "%s/large.py", peers);
    if (pipe(to) != 0 || pipe(from) != 0) return 0;
    if (fork() == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        setenv("OMP_NUM_THREADS", cores, 1);
        execlp(python, python, script, rows, cores, (char *)NULL);
        _exit(1);
    }
    close(to[0]);
    close(from[1]);
    ask = fdopen(to[1], "w");
    told = fdopen(from[0], "r");
    return ask && told && fscanf(told, "%lf %lf", &said[0], &said[1]) == 2;
}

static double peer_seconds(const char *what)
{
    double s = NAN;
    fprintf(ask, "%s\n", what);
    fflush(ask);
    if (fscanf(told, "%lf", &s) != 1) exit(1);
    return s;
}

/* ---- the network and its rows ------------------------------------------------------------------------- */

static fab_net *net;
static const fab_model *model;
static fab_examples table;
static fab_gauss *q, *point;
static fab_exec exec;

static void wave(double scale, double step, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = scale * sin(step * (double)(i + 1));
}

static void open_network(void)
{
    const fab_net_plan plan = {.layers = "mlp:400,400",
                               .features = FEATURES,
                               .likelihood = FAB_LIKELIHOOD_CATEGORICAL,
                               .classes = CLASSES,
                               .beta = 1,
                               .batch = BATCH};
    double *x = bytes(8 * ROWS * FEATURES), *y = bytes(8 * ROWS);
    exec = (fab_exec){.ops = fab_ops_find("cpu", FAB_F32), .threads = threads};
    must(fab_net_create(&net, &plan, &exec));
    model = fab_net_model(net);
    wave(1, 0.3, ROWS * FEATURES, x);
    for (int64_t i = 0; i < ROWS; i++) y[i] = (double)(i * 7 % 10);
    table = (fab_examples){.x = {x, FAB_F64, ROWS, FEATURES}, .y = y};

    must(fab_gauss_create(&q, FAB_FORM_COVARIANCE, FAB_F32, model->D, K));
    must(fab_gauss_create(&point, FAB_FORM_POINT, FAB_F64, model->D, 0));
    wave(0.05, 0.7, model->D, q->mu);
    wave(0.05, 0.7, model->D, point->mu);
    for (int64_t i = 0; i < model->D * K; i++)
        ((float *)q->F)[i] = (float)(0.001 * sin(1.3 * (double)(i + 1)));
    for (int64_t i = 0; i < model->D; i++) q->psi[i] = 1e-6;
}

/* ---- what is timed ------------------------------------------------------------------------------------ */

/* Seconds of a step of a fit, the best of those that the progress hook marks off. */
typedef struct laps {
    double at, best;
    int64_t done, steps; /* marks seen; steps between two of them */
    int64_t last;        /* where to stop */
} laps;

static int lap_ends(void *ctx, const char *what, int64_t done, int64_t total)
{
    laps *l = ctx;
    const double t = now();
    (void)what;
    (void)total;
    if (done == l->done) return 0;
    const double s = (t - l->at) / (double)((done - l->done) * l->steps);
    if (l->done > 0) l->best = fmin(l->best, s);
    l->at = t;
    l->done = done;
    return done >= l->last;
}

static double fit_seconds(const char *method, const void *settings, size_t size, int64_t steps,
                          int64_t last)
{
    laps l = {.at = now(), .best = INFINITY, .steps = steps, .last = last};
    const fab_gauss *result;
    fab_fit *f;
    must(fab_fit_create(&f, method, settings, size, &(fab_input){.model = model}, &exec));
    must(fab_fit_update(f, &table));
    fab_set_progress(lap_ends, &l);
    const fab_status s = fab_fit_gauss(f, &result);
    fab_set_progress(NULL, NULL);
    if (s != FAB_STOPPED) must(s);
    fab_fit_free(f);
    return l.best;
}

/* Two epochs after the first. */
static double step_seconds(void)
{
    fab_sgd_settings s = fab_sgd_defaults();
    s.batch = BATCH;
    s.epochs = 3;
    s.rate = 1e-4;
    return fit_seconds("sgd", &s, sizeof s, ROWS / BATCH, 3);
}

static double vifa_seconds(void)
{
    fab_vifa_settings s = fab_vifa_defaults();
    s.K = K;
    s.train.batch = BATCH;
    s.train.rate = 1e-5;
    s.train.epochs = 3;
    s.draws = 2;
    s.map_part = s.ramp_part = 0;
    s.optimiser = FAB_VIFA_ADAM;
    return fit_seconds("vifa", &s, sizeof s, 1, ROWS / BATCH);
}

static double logp[ROWS * CLASSES];

/* Log probabilities of all rows. */
static void predict(const fab_gauss *g, int64_t samples)
{
    const fab_gauss *part = g;
    const double weight = 1;
    const fab_mixture mix = {.n = 1, .part = &part, .weight = &weight};
    fab_draws *d;
    must(fab_draws_create(&d, model, &mix, &table.x, NULL, samples, 1, &exec));
    for (int64_t i = 0; i < ROWS; i++) fab_draws_classes(d, i, logp + i * CLASSES);
    fab_draws_free(d);
}

/* The sum of p cos(class). */
static double probabilities(const fab_gauss *g, int64_t samples)
{
    double sum = 0;
    predict(g, samples);
    for (int64_t i = 0; i < ROWS * CLASSES; i++) sum += exp(logp[i]) * cos((double)(i % CLASSES));
    return sum;
}

static double draws_seconds(void)
{
    const double begin = now();
    predict(q, DRAWS);
    return (now() - begin) / DRAWS;
}

static double points_seconds(void)
{
    const double begin = now();
    predict(point, 0);
    return now() - begin;
}

/* ---- the ceiling -------------------------------------------------------------------------------------- */

static float *A, *B, *C; /* large enough for all */

static void product(fab_trans ta, fab_trans tb, int64_t m, int64_t n, int64_t k)
{
    fab_gemm(FAB_F32, ta, tb, m, n, k, 1, A, ta == FAB_T ? m : k, B, tb == FAB_T ? k : n, 0, C, n);
}

static void forward_products(int64_t n)
{
    product(FAB_N, FAB_N, n, HIDDEN, FEATURES);
    product(FAB_N, FAB_N, n, HIDDEN, HIDDEN);
    product(FAB_N, FAB_N, n, CLASSES, HIDDEN);
}

static void backward_products(int64_t n)
{
    product(FAB_N, FAB_T, n, HIDDEN, CLASSES);
    product(FAB_N, FAB_T, n, HIDDEN, HIDDEN);
    product(FAB_T, FAB_N, FEATURES, HIDDEN, n);
    product(FAB_T, FAB_N, HIDDEN, HIDDEN, n);
    product(FAB_T, FAB_N, HIDDEN, CLASSES, n);
}

static double step_products(void)
{
    const double begin = now();
    forward_products(BATCH);
    backward_products(BATCH);
    return (now() - begin) / (double)threads;
}

static double vifa_products(void)
{
    return 2 * step_products();
}

static double predict_products(void)
{
    const double begin = now();
    forward_products(ROWS);
    return (now() - begin) / (double)threads;
}

static void open_products(void)
{
    const int64_t n = (int64_t)ROWS * FEATURES;
    A = bytes(4 * n);
    B = bytes(4 * n);
    C = bytes(4 * n);
    for (int64_t i = 0; i < n; i++) A[i] = (float)sin((double)i), B[i] = (float)cos((double)i);
}

/* ---- all ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *peer;
    double (*ours)(void), (*ceiling)(void);
    double wanted; /* times PyTorch's speed */
} contests[] = {{"step of sgd, adam", "step", step_seconds, step_products, 1.5},
                {"step of vifa, K = 5", "vifa", vifa_seconds, vifa_products, 1.5},
                {"draw, 4000 rows", "draws", draws_seconds, predict_products, 1},
                {"point, 4000 rows", "points", points_seconds, predict_products, 1}};

static int agrees(const double said[2])
{
    double loss;
    must(model->loss(model->self, q->mu, &table, &loss, NULL));
    const double p = probabilities(point, 0), drawn = probabilities(q, DRAWS);
    /* f32 sums of 784 and 400 products on both sides; draws move the mean of 40 000 probabilities by a few percent */
    if (fabs(loss - said[0]) < 1e-5 * (1 + fabs(said[0])) && fabs(p - said[1]) < 1e-5 * ROWS &&
        fabs(drawn - said[1]) < 0.1 * ROWS)
        return 1;
    printf("WRONG: loss %.9g, probabilities %.9g, drawn %.9g; the peer has %.9g, %.9g\n", loss, p,
           drawn, said[0], said[1]);
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            rounds = 3;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoll(argv[++i]);
        else
            peers = argv[i];
    double said[2];
    open_network();
    open_products();
    const int peer_is_there = open_peer(said);
    if (!peer_is_there) printf("PyTorch is not there: nothing to compare with\n");
    if (peer_is_there && !agrees(said)) return 1;
    printf("784-400-400-10, f32, %lld threads, best of %d rounds, ms\n%-20s %8s %8s %8s %8s %8s\n",
           (long long)threads, rounds, "", "ours", "PyTorch", "ratio", "sgemm", "of it");
    for (size_t c = 0; c < sizeof contests / sizeof *contests; c++) {
        double ours = INFINITY, peer = INFINITY, ceiling = INFINITY;
        for (int r = 0; r < rounds; r++) {
            ours = fmin(ours, contests[c].ours());
            if (peer_is_there) peer = fmin(peer, peer_seconds(contests[c].peer));
            for (int i = 0; i < 5; i++) ceiling = fmin(ceiling, contests[c].ceiling());
        }
        const double ratio = peer / ours;
        printf("%-20s %8.2f", contests[c].name, 1e3 * ours);
        if (peer_is_there)
            printf(" %8.2f %8.2f", 1e3 * peer, ratio);
        else
            printf(" %8s %8s", "-", "-");
        printf(" %8.2f %8.2f", 1e3 * ceiling, ceiling / ours);
        if (peer_is_there)
            printf("  wanted %.1f: %s", contests[c].wanted,
                   ratio >= contests[c].wanted ? "PASS" : "MISS");
        printf("\n");
        fflush(stdout);
        if (peer_is_there && ratio < contests[c].wanted) missed = 1;
    }
    return missed;
}
