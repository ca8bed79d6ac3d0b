/* study.c - factor analysis of a sample covariance, one vector at a time: [L] Fig. 1 and Table 1.
 *
 *     study random D SEED            the synthetic problem: W ~ N(0, 1), psi ~ U(0, 1), p = 10, 10 000 rows
 *     study file NAME P FILE         rows of a libsvm file, divided by their mean norm
 *     study memory D K               time and memory of one vector at a time
 *
 * Prints csv lines: problem, D, p, N, seed, method, KL(fit || sample), KL(sample || fit), seconds.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/fa_model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_SETTINGS = 512, SAMPLE_SIZE = 10000, RANK = 10 };

typedef struct problem {
    const char *name;
    int64_t D, N, p;
    unsigned long long seed;
    double *rows;      /* N x D */
    fab_gauss *sample; /* the sample covariance X'X/N, exactly: psi tiny, F = X' / sqrt(N) */
} problem;

typedef struct variant {
    const char *label, *method, *settings[16];
} variant;

static const variant variants[] = {
    {"recursive-em, one loop [L]",
     "recursive-em",
     {"block", "1", "inner", "1", "expand", "false", "start", "random", "centre", "none"}},
    {"recursive-em, three loops [L]",
     "recursive-em",
     {"block", "1", "inner", "3", "expand", "false", "start", "random", "centre", "none"}},
    {"recursive-em, three loops, expanded",
     "recursive-em",
     {"block", "1", "inner", "3", "expand", "true", "start", "random", "centre", "none"}},
    {"recursive-em (default)", "recursive-em", {"centre", "none"}},
    {"stochastic-em [L]", "stochastic-em", {NULL}},
    {"ml", "ml", {NULL}},
};

/* ---- problems --------------------------------------------------------------------------------- */

/* Divide by the mean norm of the rows, as the authors do. */
static void normalise(problem *p)
{
    double mean = 0;
    for (int64_t j = 0; j < p->N; j++) {
        double norm2 = 0;
        for (int64_t i = 0; i < p->D; i++) norm2 += p->rows[j * p->D + i] * p->rows[j * p->D + i];
        mean += sqrt(norm2) / (double)p->N;
    }
    for (int64_t i = 0; i < p->N * p->D; i++) p->rows[i] /= mean;
}

static problem make_random(int64_t D, unsigned long long seed)
{
    problem p = {.name = "random", .D = D, .N = SAMPLE_SIZE, .p = RANK, .seed = seed};
    fab_gauss *truth;
    must(fab_gauss_create(&truth, FAB_FORM_COVARIANCE, FAB_F64, D, RANK));
    fab_random_normal(seed, FAB_PURPOSE_DATA, 1 << 30, 0, D * RANK, FAB_F64, truth->F);
    fab_random_uniform(seed, FAB_PURPOSE_DATA, (1 << 30) + 1, 0, D, truth->psi);
    p.rows = numbers(p.N * D);
    fa_model_rows(truth, seed, 0, p.N, p.rows);
    fab_gauss_free(truth);
    normalise(&p);
    return p;
}

static problem make_file(const char *name, int64_t rank, const char *path)
{
    fab_source *s;
    must(fab_source_open(&s, path, NULL));
    const int64_t columns = fab_source_columns(s), room = 100000;
    problem p = {.name = name, .D = columns - 1, .p = rank};
    double *all = numbers(room * columns);
    int64_t got;
    do {
        must(fab_source_next(s, room - p.N, all + p.N * columns, &got));
        p.N += got;
    } while (got > 0 && p.N < room);
    fab_source_close(s);
    p.rows = numbers(p.N * p.D);
    for (int64_t j = 0; j < p.N; j++) /* column 0 is the label */
        memcpy(p.rows + j * p.D, all + j * columns + 1, (size_t)p.D * sizeof *all);
    free(all);
    normalise(&p);
    return p;
}

/* ---- fits ------------------------------------------------------------------------------------- */

static fab_fit *begin(const variant *v, const problem *p)
{
    const fab_fields *fields = fab_method_fields(fab_method_find(v->method));
    double settings[MAX_SETTINGS];
    char number[32];
    fab_fit *e;
    fab_settings_defaults(fields, settings);
    snprintf(number, sizeof number, "%lld", (long long)p->p);
    must(fab_settings_parse(fields, settings, "K", number));
    for (int i = 0; i < 16 && v->settings[i]; i += 2)
        must(fab_settings_parse(fields, settings, v->settings[i], v->settings[i + 1]));
    if (strcmp(v->method, "recursive-em") == 0 && strcmp(v->label, "recursive-em (default)") != 0)
        must(fab_settings_parse(fields, settings, "inner_rank", number));
    must(fab_fit_create(&e, v->method, settings, fields->size, &(fab_input){.vectors = p->D},
                        &(fab_exec){.threads = 1}));
    return e;
}

/* F with F F' = X'X / N (Cholesky, zero columns where the pivot vanishes), psi = 1e-12 of the mean
 * variance: [L] adds 1e-12 I to rows of mean norm 1. */
static fab_gauss *sample_covariance(const problem *p)
{
    const int64_t D = p->D;
    fab_gauss *g;
    must(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, D, D));
    double *L = g->F, trace = 0;
    for (int64_t j = 0; j < p->N; j++)
        for (int64_t a = 0; a < D; a++) {
            const double x = p->rows[j * D + a] / (double)p->N;
            for (int64_t b = 0; b <= a && x != 0; b++) L[a * D + b] += x * p->rows[j * D + b];
        }
    for (int64_t a = 0; a < D; a++) trace += L[a * D + a];
    for (int64_t k = 0; k < D; k++) {
        for (int64_t a = k; a < D; a++) {
            double s = L[a * D + k];
            for (int64_t b = 0; b < k; b++) s -= L[a * D + b] * L[k * D + b];
            L[a * D + k] = s;
        }
        const double pivot = L[k * D + k],
                     root = pivot > 1e-14 * trace / (double)D ? sqrt(pivot) : 0;
        for (int64_t a = k; a < D; a++) L[a * D + k] = root > 0 ? L[a * D + k] / root : 0;
    }
    for (int64_t i = 0; i < D; i++) g->psi[i] = 1e-12 * trace / (double)D;
    return g;
}

static void fit(const variant *v, const problem *p)
{
    const fab_gauss *q;
    fab_gauss *centred;
    double forward, backward;
    fab_fit *e = begin(v, p);
    const double before = fab_clock();
    must(fab_fit_update(e, &(fab_examples){.x = {p->rows, FAB_F64, p->N, p->D}}));
    must(fab_fit_gauss(e, &q));
    const double seconds = fab_clock() - before;
    must(fab_gauss_copy(&centred, q, FAB_F64)); /* covariances alone are compared */
    memset(centred->mu, 0, (size_t)p->D * sizeof *centred->mu);
    must(fab_distance_kl(centred, p->sample, NULL, &forward));
    must(fab_distance_kl(p->sample, centred, NULL, &backward));
    printf("%s,%lld,%lld,%lld,%llu,\"%s\",%.6g,%.6g,%.4g\n", p->name, (long long)p->D,
           (long long)p->p, (long long)p->N, p->seed, v->label, forward, backward, seconds);
    fflush(stdout);
    fab_gauss_free(centred);
    fab_fit_free(e);
}

static void fit_all(problem p)
{
    p.sample = sample_covariance(&p);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) fit(&variants[i], &p);
    fab_gauss_free(p.sample);
    free(p.rows);
}

/* ---- time and memory -------------------------------------------------------------------------- */

static void memory(int64_t D, int64_t K)
{
    enum { VECTORS = 5 };
    problem p = {.name = "memory", .D = D, .N = VECTORS, .p = K};
    double *row = numbers(D);
    for (int i = 0; i < 2; i++) { /* one loop, three loops */
        fab_fit *e = begin(&variants[i], &p);
        double best = INFINITY;
        for (int t = 0; t < VECTORS; t++) {
            fab_random_normal(1, FAB_PURPOSE_DATA, (uint64_t)t, 0, D, FAB_F64, row);
            const double before = fab_clock();
            must(fab_fit_update(e, &(fab_examples){.x = {row, FAB_F64, 1, D}}));
            if (t > 0) best = fmin(best, fab_clock() - before);
        }
        struct rusage use;
        getrusage(RUSAGE_SELF, &use);
        printf("memory,%lld,%lld,%d,0,\"%s\",%.4g s a vector,%.4g GB at most,%.4g GB of state D (2 "
               "K + 4)\n",
               (long long)D, (long long)K, VECTORS, variants[i].label, best,
               (double)use.ru_maxrss / 1e6, 8e-9 * (double)D * (double)(2 * K + 4));
        fab_fit_free(e);
    }
    free(row);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "random") == 0)
        fit_all(make_random(atoll(argv[2]), strtoull(argv[3], NULL, 10)));
    else if (argc == 5 && strcmp(argv[1], "file") == 0)
        fit_all(make_file(argv[2], atoll(argv[3]), argv[4]));
    else if (argc == 4 && strcmp(argv[1], "memory") == 0)
        memory(atoll(argv[2]), atoll(argv[3]));
    else
        return fprintf(stderr, "usage: study random D SEED | file NAME P FILE | memory D K\n"), 2;
    return 0;
}
