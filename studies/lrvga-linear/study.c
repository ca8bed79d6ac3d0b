/* study.c - Bayesian linear regression in one pass at rank p against the exact posterior: [L] Fig. 2.
 *
 *     study d N SEED P..          prints csv lines: d, N, seed, p, method, KL(fit || exact), the part of
 *                                 it that is in the mean, the KL of the best precision of rank p (at the
 *                                 exact mean), KL over that, seconds
 *
 * x ~ N(0, M' diag(1, 1/2, .., 1/d) M), divided by the mean norm; y = x . theta + N(0, 1), theta ~ N(0, I),
 * which is the prior too ([L] 5.2).  STUDY_SETTINGS="name value .." adds a line with those settings.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/fa_model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SETTINGS = 512, MAX_WORDS = 32 };

typedef struct problem {
    int64_t d, N;
    unsigned long long seed;
    double *x, *y;    /* N x d, N */
    fab_gauss *exact; /* precision form of rank d */
} problem;

typedef struct variant {
    const char *label, *settings[MAX_WORDS];
} variant;

static const variant variants[] = {
    {"lrvga (default)", {NULL}},
    {"lrvga, inner_rank = K", {"inner_rank", "K", NULL}},
    {"lrvga, three loops [L]",
     {"inner_rank", "K", "block", "1", "inner", "3", "expand", "false", "gain", "paper", "start",
      "random", NULL}},
};

static double *numbers(int64_t n)
{
    double *p = calloc((size_t)n, sizeof *p);
    if (!p) exit(1);
    return p;
}

/* ---- the problem -------------------------------------------------------------------------------- */

/* Rows times a uniform orthogonal matrix: reflections that send e_k to a random direction of e_k .. e_d. */
static void rotate(const problem *p, double *x)
{
    double *v = numbers(p->d);
    for (int64_t k = 0; k < p->d; k++) {
        double norm2 = 0;
        fab_random_normal(p->seed, 1000 + (uint64_t)k, 0, p->d - k, FAB_F64, v);
        for (int64_t i = 0; i < p->d - k; i++) norm2 += v[i] * v[i];
        v[0] += copysign(sqrt(norm2), v[0]);
        norm2 = 2 * sqrt(norm2) * fabs(v[0]);
        for (int64_t j = 0; j < p->N; j++) {
            double *row = x + j * p->d + k, dot = 0;
            for (int64_t i = 0; i < p->d - k; i++) dot += row[i] * v[i];
            for (int64_t i = 0; i < p->d - k; i++) row[i] -= 2 * dot / norm2 * v[i];
        }
    }
    free(v);
}

static void make_rows(problem *p)
{
    double mean = 0;
    p->x = numbers(p->N * p->d);
    fab_random_normal(p->seed, 1, 0, p->N * p->d, FAB_F64, p->x);
    for (int64_t j = 0; j < p->N; j++)
        for (int64_t i = 0; i < p->d; i++) p->x[j * p->d + i] /= sqrt((double)(i + 1));
    rotate(p, p->x);
    for (int64_t j = 0; j < p->N; j++) {
        double norm2 = 0;
        for (int64_t i = 0; i < p->d; i++) norm2 += p->x[j * p->d + i] * p->x[j * p->d + i];
        mean += sqrt(norm2) / (double)p->N;
    }
    for (int64_t i = 0; i < p->N * p->d; i++) p->x[i] /= mean;
}

static void make_targets(problem *p)
{
    double *theta = numbers(p->d);
    p->y = numbers(p->N);
    fab_random_normal(p->seed, 2, 0, p->d, FAB_F64, theta);
    fab_random_normal(p->seed, 3, 0, p->N, FAB_F64, p->y);
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
    must(fab_gauss_create(&p->exact, FAB_PRECISION, FAB_F64, d, d));
    factor(p, p->exact->F);
    for (int64_t j = 0; j < p->N; j++)
        for (int64_t i = 0; i < d; i++) b[i] += p->x[j * d + i] * p->y[j];
    must(fab_solver_init(&s, p->exact, NULL));
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

static void set(const fab_method *m, void *settings, const char *name, const char *value,
                int64_t rank)
{
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)rank);
    must(fab_settings_parse(m->table, settings, name, strcmp(value, "K") == 0 ? number : value));
}

static void fit(const variant *v, const problem *p, int64_t rank, double best)
{
    const fab_method *m = fab_method_find("lrvga");
    double settings[MAX_SETTINGS], kl, mean;
    const fab_gauss *q;
    fab_infer *f;
    fab_settings_defaults(m->table, settings);
    set(m, settings, "D", "K", p->d);
    set(m, settings, "K", "K", rank);
    set(m, settings, "intercept", "false", 0);
    set(m, settings, "alpha", "1", 0);
    set(m, settings, "beta", "1", 0);
    for (int i = 0; i + 1 < MAX_WORDS && v->settings[i]; i += 2)
        set(m, settings, v->settings[i], v->settings[i + 1], rank);
    must(fab_infer_init(&f, m, settings, NULL, &(fab_exec){.threads = 1}));
    const double before = fab_clock();
    must(fab_infer_update(f, &(fab_examples){.x = {p->x, FAB_F64, p->N, p->d}, .y = p->y}));
    must(fab_infer_result(f, &q));
    const double seconds = fab_clock() - before;
    divergence(p, q, &kl, &mean);
    printf("%lld,%lld,%llu,%lld,\"%s\",%.6g,%.6g,%.6g,%.4g,%.3g\n", (long long)p->d,
           (long long)p->N, p->seed, (long long)rank, v->label, kl, mean, best, kl / best, seconds);
    fflush(stdout);
    fab_infer_free(f);
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

/* A line with the settings of the environment. */
static void fit_custom(const problem *p, int64_t rank, double best)
{
    char words[1024];
    variant v = {.label = "custom"};
    const char *text = getenv("STUDY_SETTINGS");
    if (!text) return;
    snprintf(words, sizeof words, "%s", text);
    int n = 0;
    for (char *w = strtok(words, " "); w && n < MAX_WORDS - 1; w = strtok(NULL, " "))
        v.settings[n++] = w;
    fit(&v, p, rank, best);
}

int main(int argc, char **argv)
{
    if (argc < 5) return fprintf(stderr, "usage: study d N SEED P..\n"), 2;
    problem p = {.d = atoll(argv[1]), .N = atoll(argv[2]), .seed = strtoull(argv[3], NULL, 10)};
    make_rows(&p);
    make_targets(&p);
    solve_exactly(&p);
    for (int i = 4; i < argc; i++) {
        const int64_t rank = atoll(argv[i]);
        const double best = best_of(&p, rank);
        for (size_t k = 0; k < sizeof variants / sizeof *variants; k++)
            if (!getenv("STUDY_SETTINGS")) fit(&variants[k], &p, rank, best);
        fit_custom(&p, rank, best);
    }
    fab_gauss_free(p.exact);
    free(p.x);
    free(p.y);
    return 0;
}
