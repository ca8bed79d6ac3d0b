/* bench_net.c - networks: a training step beside PyTorch's, and what example gradients cost.
 *
 *     bench_net [--quick] [--threads N] [PEERS]      PEERS: the folder of net.py
 *
 * Loss and gradient are compared with the peer's before anything is timed.  A step is gradient and Adam.  On one
 * thread both sides are timed by the processor's clock of their process, which waits while others run.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/net.h"
#include "train/optim.h"
#include "la/nn.h"
#include "la/ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *peers = "bench/peers";
static double least_seconds = 3;
static int64_t threads = 1;
static int missed;

typedef struct timing {
    double best, median;
} timing;

typedef struct contest {
    const char *name, *layers;
    int64_t features, classes, batch;
    double wanted; /* times PyTorch's speed */
} contest;

static const contest contests[] = {
    {"energy", "mlp:50", 8, 1, 10, 20},
    {"mlp", "mlp:400,400", 784, 10, 200, 1},
    {"conv", "input:1x28x28,conv:8x5,relu,pool:2,conv:16x5,relu,pool:2,flatten,dense:64,relu", 784,
     10, 200, 1},
};

/* ---- one network at work ------------------------------------------------------------------------------ */

typedef struct work {
    fab_net *net;
    const fab_model *m;
    fab_examples e;
    double *x, *y, *theta, *gradient, loss;
    fab_optim optim;
    void *rows; /* batch x D, or NULL */
    double *gram, *v;
    void *columns; /* D */
} work;

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "bench_net: %s\n", fab_detail());
    exit(1);
}

static void *bytes(int64_t n)
{
    void *p = fab_alloc((size_t)n);
    if (!p) exit(1);
    memset(p, 0, (size_t)n);
    return p;
}

static work open_work(const contest *c)
{
    const fab_exec exec = {.ops = fab_ops_find("cpu", FAB_F32), .threads = threads};
    const fab_net_plan plan = {.layers = c->layers,
                               .features = c->features,
                               .likelihood = c->classes > 1 ? FAB_LIKELIHOOD_CATEGORICAL
                                                            : FAB_LIKELIHOOD_GAUSSIAN,
                               .classes = c->classes,
                               .beta = 1,
                               .batch = c->batch};
    work w = {0};
    must(fab_net_create(&w.net, &plan, &exec));
    w.m = fab_net_model(w.net);
    w.x = bytes(8 * c->batch * c->features);
    w.y = bytes(8 * c->batch);
    w.theta = bytes(8 * w.m->D);
    w.gradient = bytes(8 * w.m->D);
    w.optim = (fab_optim){.kind = FAB_OPTIMISER_ADAM,
                          .momentum = 0.9,
                          .second = 0.999,
                          .epsilon = 1e-8,
                          .n = w.m->D,
                          .threads = (int)threads,
                          .m = bytes(8 * w.m->D),
                          .v = bytes(8 * w.m->D)};
    for (int64_t i = 0; i < c->batch * c->features; i++) w.x[i] = sin(0.3 * (double)(i + 1));
    for (int64_t i = 0; i < c->batch; i++)
        w.y[i] = c->classes > 1 ? (double)(i * 7 % 10) : cos((double)(i + 1));
    for (int64_t d = 0; d < w.m->D; d++) w.theta[d] = 0.05 * sin(0.7 * (double)(d + 1));
    w.e = (fab_examples){.x = {w.x, FAB_F64, c->batch, c->features}, .y = w.y};
    return w;
}

static void close_work(work *w)
{
    void *const all[] = {w->x,       w->y,    w->theta, w->gradient, w->optim.m,
                         w->optim.v, w->rows, w->gram,  w->v,        w->columns};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) fab_release(all[i]);
    fab_net_free(w->net);
}

/* ---- timing ------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now(void)
{
    return threads > 1 ? fab_clock() : (double)clock() / CLOCKS_PER_SEC;
}

static timing time_it(void (*run)(work *), work *w)
{
    enum { MOST = 4096 };
    static double seconds[MOST];
    int n = 0;
    const double end = fab_clock() + least_seconds;
    double begin = now();
    run(w);
    const int repeat = (int)fmax(1, 1e-3 / fmax(now() - begin, 1e-6)); /* the clock ticks in us */
    while ((fab_clock() < end || n < 7) && n < MOST) {
        begin = now();
        for (int r = 0; r < repeat; r++) run(w);
        seconds[n++] = (now() - begin) / repeat;
    }
    qsort(seconds, (size_t)n, sizeof *seconds, by_size);
    return (timing){seconds[0], seconds[n / 2]};
}

static void gradient(work *w)
{
    must(w->m->loss(w->m->self, w->theta, &w->e, &w->loss, w->gradient));
}

static void step(work *w)
{
    gradient(w);
    fab_optim_step(&w->optim, 1e-6, w->gradient, 0, 0, w->theta);
}

/* ---- PyTorch ------------------------------------------------------------------------------------------ */

/* 0: the peer is not there. */
static int ask_peer(const contest *c, double said[3], timing *t)
{
    char command[512];
    snprintf(command, sizeof command,
             "OMP_NUM_THREADS=%lld /usr/bin/python3 %s/net.py %s %lld %lld %g", (long long)threads,
             peers, c->name, (long long)c->batch, (long long)threads, least_seconds);
    FILE *f = popen(command, "r");
    if (!f) return 0;
    const int got =
        fscanf(f, "%lf %lf %lf %lf %lf", &said[0], &said[1], &said[2], &t->best, &t->median);
    pclose(f);
    return got == 5;
}

static int agrees(const contest *c, const double said[3])
{
    work w = open_work(c);
    double dot[2] = {0, 0}, size = 0;
    gradient(&w);
    for (int64_t d = 0; d < w.m->D; d++) {
        dot[0] += w.gradient[d] * cos(0.1 * (double)(d + 1));
        dot[1] += w.gradient[d] * cos(0.2 * (double)(d + 1));
        size += w.gradient[d] * w.gradient[d];
    }
    const double constant = c->classes > 1 ? 0 : 0.91893853320467274178; /* log(2 pi) / 2 */
    const double tol = 1e-4 * sqrt(size * (double)w.m->D); /* f32 sums on both sides */
    const int same = fabs(w.loss - constant - said[0]) < 1e-5 * (1 + fabs(said[0])) &&
                     fabs(dot[0] - said[1]) < tol && fabs(dot[1] - said[2]) < tol;
    if (!same)
        printf("%s: loss %.9g, gradient %.6g %.6g; the peer has %.9g, %.6g %.6g\n", c->name,
               w.loss - constant, dot[0], dot[1], said[0], said[1], said[2]);
    close_work(&w);
    return same;
}

static void beside_peer(const contest *c)
{
    double said[3];
    timing peer, ours;
    if (!ask_peer(c, said, &peer)) {
        printf("%-8s PyTorch is not there: nothing to compare with\n", c->name);
        return;
    }
    if (!agrees(c, said)) {
        printf("%-8s WRONG: not timed\n", c->name);
        missed = 1;
        return;
    }
    work w = open_work(c);
    ours = time_it(step, &w);
    const double ratio = peer.best / ours.best;
    printf("%-8s %8lld %6lld %10.1f %10.1f %10.1f %10.1f %8.2f %8.2f  wanted %.0f: %s\n", c->name,
           (long long)w.m->D, (long long)c->batch, 1e6 * ours.best, 1e6 * ours.median,
           1e6 * peer.best, 1e6 * peer.median, ratio, peer.median / ours.median, c->wanted,
           ratio >= c->wanted ? "PASS" : "MISS");
    if (ratio < c->wanted) missed = 1;
    close_work(&w);
}

/* ---- example gradients -------------------------------------------------------------------------------- */

static void examples(work *w)
{
    must(w->m->examples(w->m->self, w->theta, &w->e));
}

static void rows(work *w)
{
    w->m->rows(w->m->self, w->rows, w->m->D);
}

static void gram(work *w)
{
    w->m->gram(w->m->self, w->gram);
}

static void squares(work *w)
{
    w->m->squares(w->m->self, w->gradient);
}

static void combine(work *w)
{
    w->m->combine(w->m->self, 1, w->v, w->columns);
}

static void project(work *w)
{
    w->m->project(w->m->self, 1, w->columns, w->v);
}

/* Bytes a second of a = b + s c. */
static double triad(int64_t n)
{
    double *a = bytes(8 * n), *b = bytes(8 * n), *c = bytes(8 * n), best = 1e9;
    for (int r = 0; r < 10; r++) {
        const double begin = now();
        for (int64_t i = 0; i < n; i++) a[i] = b[i] + 3 * c[i];
        const double s = now() - begin;
        if (s < best && a[n / 2] < 1) best = s;
    }
    fab_release(a);
    fab_release(b);
    fab_release(c);
    return 24 * (double)n / best;
}

/* Rows against the memory they fill, products against the summed gradient; without the passes they share. */
static void example_costs(const contest *c)
{
    static const struct {
        const char *name;
        void (*run)(work *);
    } products[] = {
        {"gram", gram}, {"squares", squares}, {"combine", combine}, {"project", project}};
    work w = open_work(c);
    const double filled = 4 * (double)c->batch * (double)w.m->D, ceiling = triad(1 << 24);
    w.rows = bytes((int64_t)filled);
    w.gram = bytes(8 * c->batch * c->batch);
    w.v = bytes(8 * c->batch);
    w.columns = bytes(8 * w.m->D);
    for (int64_t i = 0; i < c->batch; i++) w.v[i] = 1;
    const double sum = time_it(gradient, &w).best;
    examples(&w);
    const double all = time_it(rows, &w).best, part = filled / all / ceiling;
    printf("\n%s, batch %lld: rows %.1f ms, %.1f GB/s, %.2f of triad; wanted 0.60: %s\n", c->name,
           (long long)c->batch, 1e3 * all, 1e-9 * filled / all, part,
           part >= 0.6 ? "PASS" : "MISS");
    if (part < 0.6) missed = 1;
    const double pass = time_it(examples, &w).best;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const double t = pass + time_it(products[i].run, &w).best;
        printf("  %-8s %8.2f ms with its passes, %.2f of the summed gradient; wanted 2: %s\n",
               products[i].name, 1e3 * t, t / sum, t <= 2 * sum ? "PASS" : "MISS");
        if (t > 2 * sum) missed = 1;
    }
    close_work(&w);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            least_seconds = 0.3;
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoll(argv[++i]);
        else
            peers = argv[i];
    printf("f32, %lld threads\n%-8s %8s %6s %10s %10s %10s %10s %8s %8s\n", (long long)threads, "",
           "D", "batch", "best us", "median", "PyTorch us", "median", "ratio", "median");
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++) beside_peer(&contests[i]);
    example_costs(&contests[1]);
    return missed;
}
