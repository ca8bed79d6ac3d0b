/* study.c - how far slang stands from the best Gaussian, on logistic regressions ([T]'s reference [20], Table 1).
 *
 *     study_slang_logistic SHIFT ALPHA BATCH EPOCHS RATE DECAY SPLIT FILE [FILE]
 *
 * reads the libsvm FILEs as one table, x -> 2 x - 1 when SHIFT is 1, takes half of its rows (SPLIT 0: all), fits the
 * full Gaussian by dense variational optimisation and then slang at rank 1, 2, 5, 10 (0: vogn).  Prints for each
 *
 *     K, (KL(a || b) + KL(b || a)) / 2, seconds
 *
 * The best Gaussian N(mu, S^-1) solves, with eta_i ~ N(x_i . mu, x_i' S^-1 x_i),
 *   1  S = alpha + sum E[sigma'(eta_i)] x_i x_i'
 *   2  0 = alpha mu + sum (E[sigma(eta_i)] - y_i) x_i
 * and is found by Newton steps on 2 with the S of 1, both damped by half.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 199309L
#include "../common/study.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct problem {
    int64_t N, D;  /* rows; coordinates, the constant last */
    double *x, *y; /* N x D with a constant 1, N */
    double alpha;
} problem;

/* ---- data ----------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 40000 };

/* The rows of a file behind those of p. */
static void read_file(problem *p, const char *path, int64_t features, int shift)
{
    const fab_source_options o = {.format = FAB_FORMAT_LIBSVM, .features = features};
    double *row = numbers(features + 1);
    fab_source *s;
    int64_t got;
    must(fab_source_open(&s, path, &o));
    for (;;) {
        must(fab_source_next(s, 1, row, &got));
        if (got == 0 || p->N == MOST_ROWS) break;
        double *x = p->x + p->N * p->D;
        for (int64_t i = 0; i < features; i++) x[i] = shift ? 2 * row[i + 1] - 1 : row[i + 1];
        x[features] = 1;
        p->y[p->N++] = row[0];
    }
    fab_source_close(s);
    free(row);
}

static int64_t features_of(const char *path)
{
    fab_source *s;
    must(fab_source_open(&s, path, &(fab_source_options){.format = FAB_FORMAT_LIBSVM}));
    const int64_t columns = fab_source_columns(s);
    fab_source_close(s);
    return columns - 1;
}

/* The larger label is 1, the other 0. */
static void recode(problem *p)
{
    double top = -INFINITY;
    for (int64_t j = 0; j < p->N; j++) top = fmax(top, p->y[j]);
    for (int64_t j = 0; j < p->N; j++) p->y[j] = p->y[j] == top;
}

/* Keep a random half. */
static void halve(problem *p, uint64_t seed)
{
    fab_split *split;
    const int64_t *rows;
    must(fab_split_test(&split, p->N, 0.5, NULL, seed));
    const int64_t n = fab_split_part(split, 0, &rows);
    for (int64_t j = 0; j < n; j++) { /* rising: a row moves down or stays */
        memmove(p->x + j * p->D, p->x + rows[j] * p->D, (size_t)p->D * sizeof *p->x);
        p->y[j] = p->y[rows[j]];
    }
    p->N = n;
    fab_split_free(split);
}

static problem read_problem(char **files, int count, int shift, double alpha, uint64_t split)
{
    const int64_t features = features_of(files[0]);
    problem p = {.D = features + 1, .alpha = alpha};
    p.x = numbers(MOST_ROWS * p.D);
    p.y = numbers(MOST_ROWS);
    for (int i = 0; i < count; i++) read_file(&p, files[i], features, shift);
    recode(&p);
    if (split) halve(&p, split);
    return p;
}

/* ---- the full Gaussian ------------------------------------------------------------------------------ */

enum { MOST_LOOPS = 2000 };
static const double SETTLED = 1e-6; /* change of S and of mu, relative to S */

/* E sigma(eta), E sigma'(eta), eta ~ N(m, v), by the trapezoid rule: sigma is analytic up to i pi. */
static void moments(double m, double v, double *mean, double *slope)
{
    const double s = sqrt(v), reach = 9, h = fmin(0.5, s > 0 ? 0.8 / s : 0.5);
    double a = 0, b = 0, weights = 0;
    for (int64_t k = (int64_t)ceil(-reach / h); (double)k * h <= reach; k++) {
        const double z = (double)k * h, w = exp(-z * z / 2), p = 1 / (1 + exp(-(m + s * z)));
        a += w * p;
        b += w * p * (1 - p);
        weights += w;
    }
    *mean = a / weights;
    *slope = b / weights;
}

/* S = L L', in the lower triangle. */
static void factor(int64_t D, const double *S, double *L)
{
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = j; i < D; i++) {
            double sum = S[i * D + j];
            for (int64_t k = 0; k < j; k++) sum -= L[i * D + k] * L[j * D + k];
            L[i * D + j] = i == j ? sqrt(sum) : sum / L[j * D + j];
        }
}

/* x <- L^-1 x;  and with `back` L'^-1 of it. */
static void solve(int64_t D, const double *L, int back, double *x)
{
    for (int64_t i = 0; i < D; i++) {
        for (int64_t k = 0; k < i; k++) x[i] -= L[i * D + k] * x[k];
        x[i] /= L[i * D + i];
    }
    for (int64_t i = D - 1; back && i >= 0; i--) {
        for (int64_t k = i + 1; k < D; k++) x[i] -= L[k * D + i] * x[k];
        x[i] /= L[i * D + i];
    }
}

/* One damped step; the largest relative change of a diagonal of S, and of mu in standard deviations. */
static double full_step(const problem *p, double *mu, double *S, double *L)
{
    const int64_t D = p->D;
    double *next = numbers(D * D), *g = numbers(D), *u = numbers(D), change = 0;
    factor(D, S, L);
    for (int64_t i = 0; i < D; i++) next[i * (D + 1)] = p->alpha;
    for (int64_t i = 0; i < D; i++) g[i] = p->alpha * mu[i];
    for (int64_t j = 0; j < p->N; j++) {
        const double *x = p->x + j * D;
        double m = 0, v = 0, mean, slope;
        memcpy(u, x, (size_t)D * sizeof *u);
        solve(D, L, 0, u);
        for (int64_t i = 0; i < D; i++) m += x[i] * mu[i], v += u[i] * u[i];
        moments(m, v, &mean, &slope);
        for (int64_t i = 0; i < D; i++) {
            g[i] += (mean - p->y[j]) * x[i];
            for (int64_t k = 0; k <= i; k++) next[i * D + k] += slope * x[i] * x[k]; /* 1 */
        }
    }
    for (int64_t i = 0; i < D; i++) {
        change = fmax(change, fabs(next[i * (D + 1)] / S[i * (D + 1)] - 1));
        for (int64_t k = 0; k <= i; k++) S[i * D + k] += (next[i * D + k] - S[i * D + k]) / 2;
    }
    factor(D, S, L);
    solve(D, L, 1, g);
    for (int64_t i = 0; i < D; i++) { /* 2 */
        mu[i] -= g[i] / 2;
        change = fmax(change, fabs(g[i]) * sqrt(S[i * (D + 1)]));
    }
    free(next);
    free(g);
    free(u);
    return change;
}

/* Gives the Gaussian: fab_gauss_free. */
static fab_gauss *full_gaussian(const problem *p)
{
    const int64_t D = p->D;
    double *mu = numbers(D), *S = numbers(D * D), *L = numbers(D * D), *V = numbers(D * D);
    fab_gauss *q;
    int loops = 0;
    for (int64_t i = 0; i < D; i++) { /* as if every row had slope 1/4 */
        S[i * (D + 1)] = p->alpha;
        for (int64_t j = 0; j < p->N; j++) S[i * (D + 1)] += p->x[j * D + i] * p->x[j * D + i] / 4;
    }
    while (full_step(p, mu, S, L) > SETTLED && loops < MOST_LOOPS) loops++;
    if (loops == MOST_LOOPS) fprintf(stderr, "the full Gaussian has not settled\n");
    for (int64_t i = 0; i < D; i++) {
        V[i * (D + 1)] = 1;
        solve(D, L, 1, V + i * D);
    }
    must(fab_gauss_from_dense(&q, D, V));
    memcpy(q->mu, mu, (size_t)D * sizeof *mu);
    free(mu);
    free(S);
    free(L);
    free(V);
    return q;
}

/* ---- slang ------------------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double distance(const fab_gauss *a, const fab_gauss *b)
{
    double ab, ba;
    must(fab_distance_kl(a, b, NULL, &ab));
    must(fab_distance_kl(b, a, NULL, &ba));
    return (ab + ba) / 2;
}

static fab_slang_settings settings_of(const problem *p, int64_t K, char **argv)
{
    fab_slang_settings s = fab_slang_defaults();
    s.vogn.train.alpha = p->alpha;
    s.vogn.train.batch = atoll(argv[3]);
    s.vogn.train.epochs = atoll(argv[4]);
    s.vogn.train.rate = s.vogn.rate_precision = atof(argv[5]);
    s.vogn.decay = atof(argv[6]);
    s.vogn.train.seed = 1 + atoll(argv[7]);
    if (K) s.K = K;
    return s;
}

static void run(const problem *p, const fab_gauss *best, int64_t K, char **argv)
{
    const fab_exec x = {.threads = 1};
    const fab_slang_settings s = settings_of(p, K, argv);
    const fab_net_plan plan = {.layers = "linear",
                               .features = p->D - 1,
                               .likelihood = FAB_LIKELIHOOD_BERNOULLI,
                               .classes = 1,
                               .batch = s.vogn.train.batch};
    const fab_examples e = {.x = {p->x, FAB_F64, p->N, p->D}, .y = p->y};
    const double before = now();
    const fab_gauss *q;
    fab_fit *f;
    fab_net *net;
    must(fab_net_create(&net, &plan, &x));
    const fab_input in = {.model = fab_net_model(net)};
    if (K)
        must(fab_fit_create(&f, "slang", &s, sizeof s, &in, &x));
    else
        must(fab_fit_create(&f, "vogn", &s.vogn, sizeof s.vogn, &in, &x));
    must(fab_fit_update(f, &e));
    must(fab_fit_gauss(f, &q));
    printf("%lld,%.6g,%.3g\n", (long long)K, distance(q, best), now() - before);
    fab_fit_free(f);
    fab_net_free(net);
}

int main(int argc, char **argv)
{
    static const int64_t ranks[] = {0, 1, 2, 5, 10};
    if (argc < 9) {
        fprintf(stderr, "usage: %s SHIFT ALPHA BATCH EPOCHS RATE DECAY SPLIT FILE [FILE]\n",
                argv[0]);
        return 2;
    }
    problem p =
        read_problem(argv + 8, argc - 8, atoi(argv[1]), atof(argv[2]), (uint64_t)atoll(argv[7]));
    fab_gauss *best = full_gaussian(&p);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) run(&p, best, ranks[i], argv);
    fab_gauss_free(best);
    free(p.x);
    free(p.y);
    return 0;
}
