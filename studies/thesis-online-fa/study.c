/* study.c - one model, one stream, all methods: the learning curves of [T] Fig. 4.1 and B.1.
 *
 *     study D K LO HI columns|rows SEED ROWS [METHOD]
 *
 * METHOD: that one alone, as it is called in the output.
 *
 * Prints one csv line per method and number of rows: D, K, lo, hi, scaled, seed, rows, method,
 * covariance distance, W2 / D (at the last point), mean log-likelihood of fresh rows (at the last
 * point), seconds spent learning.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/fa_model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1000, FRESH = 1000, MAX_SETTINGS = 512 };

/* A method with settings as text, and where it stands. */
typedef struct learner {
    const char *label, *method, *settings[8]; /* name, value, .. */
    fab_fit *e;
    double seconds;
} learner;

typedef struct job {
    int64_t D, K, T;
    double lo, hi;
    int columns;
    uint64_t seed;
    const char *only; /* the method, or NULL: all */
    fab_gauss *truth;
    double *rows;  /* T x D */
    double *fresh; /* FRESH x D */
} job;

static void begin(learner *l, const job *j)
{
    const fab_fields *fields = fab_method_fields(fab_method_find(l->method));
    double settings[MAX_SETTINGS];
    char number[32];
    fab_settings_defaults(fields, settings);
    snprintf(number, sizeof number, "%lld", (long long)j->K);
    must(fab_settings_parse(fields, settings, "K", number));
    snprintf(number, sizeof number, "%llu", (unsigned long long)j->seed);
    must(fab_settings_parse(fields, settings, "seed", number));
    for (int i = 0; i < 8 && l->settings[i]; i += 2)
        must(fab_settings_parse(fields, settings, l->settings[i], l->settings[i + 1]));
    must(fab_fit_create(&l->e, l->method, settings, fields->size, &(fab_input){.vectors = j->D},
                        &(fab_exec){.threads = 1}));
    l->seconds = 0;
}

/* Mean log density of rows the method has not seen. */
static double score(const fab_gauss *q, const job *j)
{
    fab_solver *s;
    double logp[FRESH], sum = 0;
    must(fab_solver_create(&s, q, &(fab_exec){.threads = 1}));
    must(fab_solver_logpdf(s, &(fab_rows){j->fresh, FAB_F64, FRESH, j->D}, logp));
    fab_solver_free(s);
    for (int i = 0; i < FRESH; i++) sum += logp[i] / FRESH;
    return sum;
}

static void print(const char *label, const fab_gauss *q, const job *j, int64_t n, double seconds)
{
    const fab_exec one = {.threads = 1};
    double distance, w2 = NAN, fresh = NAN;
    must(fab_distance_covariance(q, j->truth, &one, &distance));
    if (n == j->T) must(fab_distance_w2(q, j->truth, &one, &w2));
    if (n == j->T) fresh = score(q, j);
    printf("%lld,%lld,%g,%g,%s,%llu,%lld,%s,%.8g,%.8g,%.10g,%.4g\n", (long long)j->D,
           (long long)j->K, j->lo, j->hi, j->columns ? "columns" : "rows",
           (unsigned long long)j->seed, (long long)n, label, distance, w2 / (double)j->D, fresh,
           seconds);
    fflush(stdout);
}

static void learn(learner *l, const job *j, int64_t from, int64_t to)
{
    const double before = fab_clock();
    must(fab_fit_update(l->e,
                        &(fab_examples){.x = {j->rows + from * j->D, FAB_F64, to - from, j->D}}));
    l->seconds += fab_clock() - before;
}

static void report(learner *l, const job *j, int64_t n)
{
    const fab_gauss *q;
    const double before = fab_clock();
    must(fab_fit_gauss(l->e, &q));
    print(l->label, q, j, n, l->seconds + fab_clock() - before);
}

/* Batch maximum likelihood on the first n rows. */
static void batch(const job *j, int64_t n)
{
    learner l = {.label = "ml", .method = "ml", .settings = {"starts", "1"}};
    begin(&l, j);
    learn(&l, j, 0, n);
    report(&l, j, n);
    fab_fit_free(l.e);
}

static int wanted(const job *j, const char *label)
{
    return !j->only || strcmp(j->only, label) == 0;
}

static void run(const job *j)
{
    static const int64_t points[] = {100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
    learner all[] = {
        {.label = "recursive-em", .method = "recursive-em"},
        {.label = "online-em", .method = "online-em"},
        {.label = "online-em [T]",
         .method = "online-em",
         .settings = {"expand", "false", "start", "orthonormal", "centre", "running"}},
        {.label = "online-sga [T]",
         .method = "online-sga",
         .settings = {"start", "orthonormal", "centre", "running"}},
    };
    const int n_all = (int)(sizeof all / sizeof *all);
    int64_t done = 0;
    for (int i = 0; i < n_all; i++)
        if (wanted(j, all[i].label)) begin(&all[i], j);
    for (size_t p = 0; p < sizeof points / sizeof *points && points[p] <= j->T; p++) {
        for (int i = 0; i < n_all; i++) {
            if (!all[i].e) continue;
            learn(&all[i], j, done, points[p]);
            report(&all[i], j, points[p]);
        }
        done = points[p];
        if (wanted(j, "ml") && done >= 1000 && (done == j->T || done == 1000 || done == 20000))
            batch(j, done);
    }
    for (int i = 0; i < n_all; i++) fab_fit_free(all[i].e);
}

static double *make_rows(const job *j, int64_t first, int64_t n)
{
    double *rows = malloc((size_t)(n * j->D) * sizeof *rows);
    if (!rows) exit(1);
    for (int64_t i = 0; i < n; i += BLOCK)
        fa_model_rows(j->truth, j->seed, first + i, n - i < BLOCK ? n - i : BLOCK, rows + i * j->D);
    return rows;
}

int main(int argc, char **argv)
{
    if (argc != 8 && argc != 9) {
        fprintf(stderr, "usage: study D K LO HI columns|rows SEED ROWS [METHOD]\n");
        return 2;
    }
    job j = {.D = atoll(argv[1]),
             .K = atoll(argv[2]),
             .lo = atof(argv[3]),
             .hi = atof(argv[4]),
             .columns = strcmp(argv[5], "columns") == 0,
             .seed = strtoull(argv[6], NULL, 10),
             .T = atoll(argv[7]),
             .only = argv[8]};
    j.truth = fa_model(j.D, j.K, j.lo, j.hi, j.columns, j.seed);
    j.rows = make_rows(&j, 0, j.T);
    j.fresh = make_rows(&j, 1 << 20, FRESH);
    run(&j);
    free(j.rows);
    free(j.fresh);
    fab_gauss_free(j.truth);
    return 0;
}
