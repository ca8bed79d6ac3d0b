/* bench_erm.c - the path of the lasso against scikit-learn and celer.
 *
 *     bench_erm [folder of the peers]          FAB_PEER_PYTHON: a Python that has celer beside scikit-learn
 *
 * 2000 rows, 2000 columns, 100 lambdas from the smallest at which w = 0 down to a hundredth of it, each to a duality gap of 1e-8
 * of the squares of y.  Processor seconds of one thread, of all sides in one run, the best of TIMES: standardised columns in, the
 * path out; ours makes the Gram matrix in that time.  Before a time counts, the conditions of the least are checked on the rows at
 * the end of the path.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "methods/erm/erm.h"
#include <fabayes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 2000, D = 2000, LAMBDAS = 100, TIMES = 3 };
#define TOL   1e-8
#define RATIO 1e-2

static const char *peers = "bench/peers";
static int missed;

typedef struct whole {
    fab_erm_rows r;
    fab_quad q;
    fab_erm_sums sums;
    double *block;
} whole;

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

static void layout(fab_layout *l, void *handle)
{
    whole *w = handle;
    w->r.X = fab_place(l, (int64_t)N * D, sizeof(double));
    w->r.y = fab_place(l, N, sizeof(double));
    w->r.v = fab_place(l, N, sizeof(double));
    w->r.offset = fab_place(l, N, sizeof(double));
    w->q.P = w->q.D = D;
    fab_quad_layout(l, &w->q);
    w->sums.G = fab_place(l, (int64_t)D * D, sizeof(double));
    w->sums.c = fab_place(l, D, sizeof(double));
    w->block = fab_place(l, (int64_t)FAB_ERM_BLOCK * D, sizeof(double));
}

/* Normals, brought to mean 0 and variance 1; so many of them matter. */
static whole *table(int64_t matter, double noise)
{
    whole *w;
    const whole proto = {.r = {.who = "bench", .n = N, .D = D, .P = D, .loss = FAB_LOSS_SQUARED}};
    double *b = calloc(D, sizeof *b);
    must(fab_build((void **)&w, sizeof *w, &proto, layout));
    fab_random_normal(1, FAB_PURPOSE_DATA, 0, 0, (int64_t)N * D, FAB_F64, w->r.X);
    fab_random_normal(1, FAB_PURPOSE_DATA, 1, 0, N, FAB_F64, w->r.y);
    fab_random_normal(1, FAB_PURPOSE_DATA, 2, 0, matter, FAB_F64, b);
    for (int64_t j = 0; j <= D; j++) {
        double mean = 0, square = 0, *x = j < D ? w->r.X + j : w->r.y;
        const int64_t step = j < D ? D : 1;
        if (j == D)
            for (int64_t i = 0; i < N; i++) {
                x[i] *= noise;
                for (int64_t k = 0; k < matter; k++) x[i] += b[k] * w->r.X[i * D + k];
            }
        for (int64_t i = 0; i < N; i++) mean += x[i * step] / N;
        for (int64_t i = 0; i < N; i++) square += (x[i * step] - mean) * (x[i * step] - mean) / N;
        for (int64_t i = 0; i < N; i++) x[i * step] = (x[i * step] - mean) / sqrt(square);
    }
    for (int64_t i = 0; i < N; i++) w->r.v[i] = 1;
    free(b);
    return w;
}

static int64_t path(whole *w)
{
    fab_watch watch = {0};
    double most = 0, before = INFINITY;
    int64_t sweeps, kept = 0;
    must(fab_erm_sum(&w->r, w->r.v, &w->sums, w->block, &watch));
    fab_erm_quad_of(&w->r, &w->sums, &w->q);
    memset(w->q.w, 0, D * sizeof(double));
    w->q.l2 = 0;
    for (int64_t j = 0; j < D; j++) most = fmax(most, fabs(w->q.c[j]));
    for (int l = 0; l < LAMBDAS; l++) {
        double gap;
        int done;
        sweeps = 1000000;
        w->q.l1 = most * pow(RATIO, (double)l / (LAMBDAS - 1));
        must(fab_quad_solve(&w->q, before, TOL * w->q.yy, &sweeps, &gap, &done, &watch, "bench"));
        before = w->q.l1;
        if (!done) missed++;
    }
    for (int64_t j = 0; j < D; j++) kept += w->q.w[j] != 0;
    return kept;
}

/* The gap at the end of the path, from the rows. */
static double gap_of(const whole *w)
{
    double rest = 0, along = 0, most = 0, absolute = 0, *g = calloc(D, sizeof *g);
    for (int64_t i = 0; i < N; i++) {
        const double e = w->r.y[i] - fab_erm_f(&w->r, w->q.w, i);
        rest += e * e / N;
        along += e * w->r.y[i] / N;
        for (int64_t j = 0; j < D; j++) g[j] += e * w->r.X[i * D + j] / N;
    }
    for (int64_t j = 0; j < D; j++) {
        most = fmax(most, fabs(g[j]));
        absolute += fabs(w->q.w[j]);
    }
    free(g);
    const double s = fmin(1, w->q.l1 / most);
    return (0.5 * (1 + s * s) * rest + w->q.l1 * absolute - s * along) / w->q.yy;
}

static int peer(const char *which, const char *file, double *seconds)
{
    char command[512], line[100];
    snprintf(command, sizeof command,
             "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 ${FAB_PEER_PYTHON:-/usr/bin/python3} "
             "%s/lasso.py %s %s %g %g 2>/dev/null",
             peers, which, file, RATIO, TOL);
    FILE *p = popen(command, "r");
    const int got = p && fgets(line, sizeof line, p) ? sscanf(line, "%lf", seconds) : 0;
    if (p) pclose(p);
    return got == 1;
}

static void compare(int64_t matter, double noise)
{
    static const char *const all[] = {"scikit-learn", "celer"};
    whole *w = table(matter, noise);
    double own = INFINITY, best = INFINITY, *both = malloc((size_t)N * (D + 1) * sizeof *both);
    char file[] = "/tmp/bench_erm_XXXXXX";
    int64_t kept = 0;
    if (mkstemp(file) < 0 || !both) exit(1);
    for (int64_t i = 0; i < N; i++) {
        memcpy(both + i * (D + 1), w->r.X + i * D, D * sizeof(double));
        both[i * (D + 1) + D] = w->r.y[i];
    }
    must(fab_npy_write(
        file, &(fab_npy){.data = both, .type = FAB_F64, .ndim = 2, .rows = N, .cols = D + 1}));
    free(both);
    for (int t = 0; t < TIMES; t++) {
        const double begin = processor();
        kept = path(w);
        own = fmin(own, processor() - begin);
    }
    const double gap = gap_of(w);
    if (!(gap <= 1.01 * TOL)) missed++;
    printf("%lld of %d columns matter, noise %g: %.3f s, %lld coefficients at the end, gap %.1e\n",
           (long long)matter, D, noise, own, (long long)kept, gap);
    for (int k = 0; k < 2; k++) {
        double seconds;
        if (!peer(all[k], file, &seconds)) {
            printf("    %-13s not there\n", all[k]);
            continue;
        }
        best = fmin(best, seconds);
        printf("    %-13s %.3f s, ours is %.2f of it\n", all[k], seconds, own / seconds);
    }
    if (isfinite(best)) printf("    goal: at most 0.67 of the better; %.2f\n", own / best);
    remove(file);
    fab_release(w);
}

int main(int argc, char **argv)
{
    if (argc > 1) peers = argv[1];
    compare(20, 1);
    compare(100, 5);
    if (missed) printf("%d ends are not the least: no time counts\n", missed);
    return missed != 0;
}
