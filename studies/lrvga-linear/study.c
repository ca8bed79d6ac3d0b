/* study.c - Bayesian linear regression in one pass at rank p against the exact posterior: [L] Fig. 2.
 *
 *     study PROBLEM d N SEED P..  prints csv lines: problem, d, N, seed, p, method, KL(fit || exact), the part of
 *                                 it that is in the mean, the KL of the best precision of rank p (at the
 *                                 exact mean), KL over that, seconds
 *
 * x ~ N(0, M' diag(1, 1/2, .., 1/d) M); y = x . theta + N(0, 1); the prior is N(0, I).  PROBLEM `text` is [L] 5.2: x
 * divided by the mean norm, theta ~ N(0, I).  `program` is what its program does: x divided by the norm of the
 * spectrum, which leaves it twice as long, and theta uniform and of length 1.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/fits.h"
#include "../common/inputs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THETA_STREAM = 2, NOISE_STREAM = 3 };

typedef struct problem {
    const char *kind;
    int64_t d, N;
    unsigned long long seed;
    double *x, *y;    /* N x d, N */
    fab_gauss *exact; /* precision form of rank d */
} problem;

static const variant variants[] = {
    {"lrvga (default)", {NULL}},
    {"lrvga, inner_rank = K", {"inner_rank", "K", NULL}},
    {"lrvga, three loops [L]",
     {"inner_rank", "K", "block", "1", "inner", "3", "expand", "false", "gain", "paper", "start",
      "random", NULL}},
};

static const char *const base[] = {"K", "K", "alpha", "1", "beta", "1", NULL};

/* ---- the problem -------------------------------------------------------------------------------- */

static void make_rows(problem *p)
{
    p->x = numbers(p->N * p->d);
    inputs_draw(p->d, p->N, p->seed, p->x);
    if (strcmp(p->kind, "text") == 0)
        inputs_normalise(p->d, p->N, p->x);
    else
        inputs_divide_by_spectrum(p->d, p->N, p->x);
}

/* theta of the problem, d numbers. */
static void draw_theta(const problem *p, double *theta)
{
    double norm2 = 0;
    if (strcmp(p->kind, "text") == 0) {
        fab_random_normal(p->seed, FAB_PURPOSE_DATA, THETA_STREAM, 0, p->d, FAB_F64, theta);
        return;
    }
    fab_random_uniform(p->seed, FAB_PURPOSE_DATA, THETA_STREAM, 0, p->d, theta);
    for (int64_t i = 0; i < p->d; i++) norm2 += pow(2 * theta[i] - 1, 2);
    for (int64_t i = 0; i < p->d; i++) theta[i] = (2 * theta[i] - 1) / sqrt(norm2);
}

static void make_targets(problem *p)
{
    double *theta = numbers(p->d);
    p->y = numbers(p->N);
    draw_theta(p, theta);
    fab_random_normal(p->seed, FAB_PURPOSE_DATA, NOISE_STREAM, 0, p->N, FAB_F64, p->y);
    for (int64_t j = 0; j < p->N; j++)
        for (int64_t i = 0; i < p->d; i++) p->y[j] += p->x[j * p->d + i] * theta[i];
    free(theta);
}

/* Lower L with L L' = X'X, into the F of the exact posterior. */
static void factor(const problem *p, double *L)
{
    const int64_t d = p->d;
    for (int64_t j = 0; j < p->N; j++)
        for (int64_t a = 0; a < d; a++) {
            const double x = p->x[j * d + a], *row = p->x + j * d;
            for (int64_t b = 0; b <= a; b++) L[a * d + b] += x * row[b];
        }
    for (int64_t k = 0; k < d; k++)
        for (int64_t a = k; a < d; a++) {
            double s = L[a * d + k];
            for (int64_t b = 0; b < k; b++) s -= L[a * d + b] * L[k * d + b];
            L[a * d + k] = a == k ? sqrt(fmax(s, 0)) : L[k * d + k] > 1e-12 ? s / L[k * d + k] : 0;
        }
}

/* Precision I + X'X, mean its inverse times X'y. */
static void solve_exactly(problem *p)
{
    const int64_t d = p->d;
    double *b = numbers(d);
    fab_solver *s;
    must(fab_gauss_create(&p->exact, FAB_FORM_PRECISION, FAB_F64, d, d));
    factor(p, p->exact->F);
    for (int64_t j = 0; j < p->N; j++)
        for (int64_t i = 0; i < d; i++) b[i] += p->x[j * d + i] * p->y[j];
    must(fab_solver_create(&s, p->exact, NULL));
    must(fab_solver_times_covariance(s, &(fab_rows){b, FAB_F64, 1, d}, p->exact->mu));
    fab_solver_free(s);
    free(b);
}

/* ---- fits --------------------------------------------------------------------------------------- */

/* KL(fit || exact), and the part of it that comes from the mean. */
static void divergence(const problem *p, const fab_gauss *q, double *kl, double *mean)
{
    fab_gauss *at_mean;
    double rest;
    must(fab_distance_kl(q, p->exact, NULL, kl));
    must(fab_gauss_copy(&at_mean, q, FAB_F64));
    memcpy(at_mean->mu, p->exact->mu, (size_t)p->d * sizeof *q->mu);
    must(fab_distance_kl(at_mean, p->exact, NULL, &rest));
    *mean = *kl - rest;
    fab_gauss_free(at_mean);
}

static void fit(const variant *v, const problem *p, int64_t rank, double best)
{
    const fab_examples e = {.x = {p->x, FAB_F64, p->N, p->d}, .y = p->y};
    const fab_glm model = {
        .likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = p->d, .classes = 1, .beta = 1};
    double seconds, kl, mean;
    const fab_gauss *q;
    fab_fit *f = fit_variant("lrvga", model, base, v, rank, &e, &seconds);
    must(fab_fit_gauss(f, &q));
    divergence(p, q, &kl, &mean);
    printf("%s,%lld,%lld,%llu,%lld,\"%s\",%.6g,%.6g,%.6g,%.4g,%.3g\n", p->kind, (long long)p->d,
           (long long)p->N, p->seed, (long long)rank, v->label, kl, mean, best, kl / best, seconds);
    fflush(stdout);
    fab_fit_free(f);
}

/* KL of the precision of rank `rank` that EM on the exact one finds. */
static double best_of(const problem *p, int64_t rank)
{
    fab_gauss *q;
    double kl;
    must(fab_gauss_cut(&q, p->exact, rank, 1e-7, 20000, NULL));
    must(fab_distance_kl(q, p->exact, NULL, &kl));
    fab_gauss_free(q);
    return kl;
}

static void fit_rank(const problem *p, int64_t rank)
{
    const double best = best_of(p, rank);
    for (size_t k = 0; k < sizeof variants / sizeof *variants; k++)
        fit(&variants[k], p, rank, best);
}

int main(int argc, char **argv)
{
    if (argc < 6) return fprintf(stderr, "usage: study text|program d N SEED P..\n"), 2;
    problem p = {.kind = argv[1],
                 .d = atoll(argv[2]),
                 .N = atoll(argv[3]),
                 .seed = strtoull(argv[4], NULL, 10)};
    make_rows(&p);
    make_targets(&p);
    solve_exactly(&p);
    for (int i = 5; i < argc; i++) fit_rank(&p, atoll(argv[i]));
    fab_gauss_free(p.exact);
    free(p.x);
    free(p.y);
    return 0;
}
