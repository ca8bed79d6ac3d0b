/* study.c - Bayesian optimisation of test functions, and the figure of the notes.
 *
 *     study regret SEEDS [CURVES.csv [FUNCTION [BY]]]
 *                                         prints function, by, evaluations, median and quartiles of regret over seeds 0 .. SEEDS - 1,
 *                                         and the seconds of a question at the last of them; each trial into CURVES.csv
 *     study figure [BANDS.csv]            [N] Figure 7.1: after 10 and 20 evaluations of a toy function; exit status 1: its hill was missed
 *     study time                          CPU seconds of one question at 50 trials of hartmann6, theta sought
 *
 * SPDX-License-Identifier: MIT */
#include "../common/study.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 6, TRIALS = 50 };

static const double pi = 3.14159265358979323846;

/* ---- functions ---------------------------------------------------------------------------------- */

static double branin(const double *x)
{
    const double t = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
    return t * t + 10 * (1 - 1 / (8 * pi)) * cos(x[0]) + 10;
}

static double hartmann6(const double *x)
{
    static const double A[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {0.05, 10, 17, 0.1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, 0.05, 10, 0.1, 14}},
                        P[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                                   {2329, 4135, 8307, 3736, 1004, 9991},
                                   {2348, 1451, 3522, 2883, 3047, 6650},
                                   {4047, 8828, 8732, 5743, 1091, 381}},
                        c[4] = {1, 1.2, 3, 3.2};
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        double q = 0;
        for (int j = 0; j < 6; j++) q += A[i][j] * pow(x[j] - P[i][j] / 1e4, 2);
        sum -= c[i] * exp(-q);
    }
    return sum;
}

static double goldstein_price(const double *x)
{
    const double a = x[0], b = x[1];
    return (1 + pow(a + b + 1, 2) * (19 - 14 * a + 3 * a * a - 14 * b + 6 * a * b + 3 * b * b)) *
           (30 +
            pow(2 * a - 3 * b, 2) * (18 - 32 * a + 12 * a * a + 48 * b - 36 * a * b + 27 * b * b));
}

static double levy4(const double *x)
{
    double w[4], sum;
    for (int i = 0; i < 4; i++) w[i] = 1 + (x[i] - 1) / 4;
    sum = pow(sin(pi * w[0]), 2) + pow(w[3] - 1, 2) * (1 + pow(sin(2 * pi * w[3]), 2));
    for (int i = 0; i < 3; i++) sum += pow(w[i] - 1, 2) * (1 + 10 * pow(sin(pi * w[i] + 1), 2));
    return sum;
}

typedef struct function {
    const char *name;
    double (*at)(const double *x);
    int64_t D, look[2]; /* evaluations at which regret is read */
    double lo[MOST], hi[MOST], least;
} function;

static const function functions[] = {
    {"branin", branin, 2, {20, 30}, {-5, 0}, {10, 15}, 0.39788735772973816},
    {"hartmann6", hartmann6, 6, {30, 50}, {0}, {1, 1, 1, 1, 1, 1}, -3.3223680114155147},
    {"goldstein-price", goldstein_price, 2, {20, 30}, {-2, -2}, {2, 2}, 3},
    {"levy4", levy4, 4, {30, 50}, {-10, -10, -10, -10}, {10, 10, 10, 10}, 0},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- searches ----------------------------------------------------------------------------------- */

typedef struct way {
    const char *name;
    int random;
    fab_acquisition acquisition;
} way;

static const way ways[] = {{"random", 1, FAB_ACQUISITION_EI},
                           {"ei", 0, FAB_ACQUISITION_EI},
                           {"pi", 0, FAB_ACQUISITION_PI},
                           {"ucb", 0, FAB_ACQUISITION_UCB},
                           {"thompson", 0, FAB_ACQUISITION_THOMPSON}};

static fab_propose *open_search(const function *f, const way *w, int64_t seed)
{
    static const char *const names[MOST] = {"x0", "x1", "x2", "x3", "x4", "x5"};
    fab_range range[MOST];
    fab_propose *o;
    for (int64_t j = 0; j < f->D; j++)
        range[j] = (fab_range){.name = names[j], .lo = f->lo[j], .hi = f->hi[j]};
    must(fab_propose_create(
        &o, &(fab_propose_plan){
                .range = range, .ranges = f->D, .acquisition = w->acquisition, .seed = seed}));
    return o;
}

/* The best so far after each trial, and the seconds of each question. */
static void run(const function *f, const way *w, int64_t seed, double *best, double *seconds)
{
    fab_propose *o = open_search(f, w, seed);
    double x[MOST], least = INFINITY;
    for (int64_t i = 0; i < f->look[1]; i++) {
        const double start = fab_clock();
        if (w->random) {
            fab_random_uniform((uint64_t)seed, FAB_PURPOSE_SEARCH, 0, (uint64_t)(i * MOST), f->D,
                               x);
            for (int64_t j = 0; j < f->D; j++) x[j] = f->lo[j] + x[j] * (f->hi[j] - f->lo[j]);
        } else {
            must(fab_propose_ask(o, 1, x));
        }
        seconds[i] = fab_clock() - start;
        const double y = f->at(x);
        must(fab_propose_tell(o, x, y));
        least = fmin(least, y);
        best[i] = least - f->least;
    }
    fab_propose_free(o);
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The quantile p of n numbers, between neighbours where it falls there. */
static double quantile(double *x, int64_t n, double p)
{
    qsort(x, (size_t)n, sizeof *x, rising);
    const double at = p * (double)(n - 1);
    const int64_t i = (int64_t)at, j = i + 1 < n ? i + 1 : i;
    return x[i] + (at - (double)i) * (x[j] - x[i]);
}

static void say(const function *f, const way *w, int64_t seeds, const double *best,
                const double *seconds)
{
    double *x = numbers(seeds), *t = numbers(seeds);
    for (int k = 0; k < 2; k++) {
        for (int64_t s = 0; s < seeds; s++) {
            x[s] = best[s * TRIALS + f->look[k] - 1];
            t[s] = seconds[s * TRIALS + f->look[k] - 1];
        }
        const double median = quantile(x, seeds, 0.5);
        printf("%s,%s,%lld,%.4g,%.4g,%.4g,%.4f\n", f->name, w->name, (long long)f->look[k], median,
               quantile(x, seeds, 0.25), quantile(x, seeds, 0.75), quantile(t, seeds, 0.5));
    }
    fflush(stdout);
    free(x);
    free(t);
}

static int regret(int64_t seeds, const char *path, const char *only, const char *by)
{
    FILE *out = path ? fopen(path, "w") : NULL;
    double *best = numbers(seeds * TRIALS), *seconds = numbers(seeds * TRIALS);
    if (out) fprintf(out, "function,by,seed,trial,regret,seconds\n");
    for (int i = 0; i < FUNCTIONS; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            const function *f = &functions[i];
            if (only && strcmp(only, f->name) != 0) continue;
            if (by && strcmp(by, ways[k].name) != 0) continue;
            for (int64_t s = 0; s < seeds; s++) {
                double *b = best + s * TRIALS, *t = seconds + s * TRIALS;
                run(f, &ways[k], s, b, t);
                for (int64_t j = 0; j < f->look[1] && out; j++)
                    fprintf(out, "%s,%s,%lld,%lld,%.6g,%.4f\n", f->name, ways[k].name, (long long)s,
                            (long long)j + 1, b[j], t[j]);
            }
            say(f, &ways[k], seeds, best, seconds);
        }
    if (out) fclose(out);
    free(best);
    free(seconds);
    return 0;
}

/* ---- how long a question takes -------------------------------------------------------------------- */

static int how_long(void)
{
    enum { REPEATS = 7 };
    double x[TRIALS * MOST], t[REPEATS];
    const function *f = &functions[1];
    for (int r = 0; r < REPEATS; r++) {
        fab_propose *o = open_search(f, &ways[1], r);
        for (int64_t i = 0; i < TRIALS; i++) {
            fab_random_uniform((uint64_t)r, FAB_PURPOSE_DATA, 0, (uint64_t)(i * MOST), MOST, x);
            must(fab_propose_tell(o, x, f->at(x)));
        }
        const clock_t start = clock();
        must(fab_propose_ask(o, 1, x));
        t[r] = (double)(clock() - start) / CLOCKS_PER_SEC;
        fab_propose_free(o);
    }
    printf("ask,hartmann6,50 trials,%.4f\n", quantile(t, REPEATS, 0.5));
    return 0;
}

/* ---- the figure of the notes ---------------------------------------------------------------------- */

/* [N] (7.1), to be made large: 0.136772 at 4.07959; its second hill is -0.376 at -3.615. */
static double toy(double x)
{
    return x / 15 - x * x / 50 - (x == 0 ? 1 : sin(x) / x);
}

/* After 10 and 20 evaluations with noise of sd 0.01: the evaluations, then x, f, median, 5 %, 95 %, log EI on a grid; blank lines
 * between.  Prints trial, x and f there of the best evaluation.  1: the search is not at the largest hill. */
static int figure(const char *path)
{
    enum { GRID = 401, LAST = 20 };
    const fab_range range[] = {{.name = "x", .lo = -5, .hi = 5}};
    FILE *out = path ? fopen(path, "w") : NULL;
    double e[LAST], x, y, best_x = 0;
    fab_propose *o;
    must(fab_propose_create(
        &o, &(fab_propose_plan){.range = range, .ranges = 1, .maximise = 1, .seed = 1}));
    fab_random_normal(1, FAB_PURPOSE_DATA, 1, 0, LAST, FAB_F64, e);
    for (int i = 0; i <= LAST; i++) {
        must(fab_propose_ask(o, 1, &x));
        if (i == 10 || i == LAST) {
            for (int64_t k = 0; k < i && out; k++)
                fprintf(out, "%.6g,%.6g\n", *fab_propose_trial(o, k, &y), y);
            if (out) fprintf(out, "\n\n");
            for (int k = 0; k < GRID && out; k++) {
                const double at = -5 + 10.0 * k / (GRID - 1);
                double median, lower, upper, log_ei;
                must(fab_propose_look(o, 1, &at, &median, &lower, &upper, &log_ei));
                fprintf(out, "%.6g,%.6g,%.6g,%.6g,%.6g,%.6g\n", at, toy(at), median, lower, upper,
                        log_ei);
            }
            if (out) fprintf(out, "\n\n");
            best_x = *fab_propose_trial(o, fab_propose_best(o), &y);
            printf("toy,ei,%d,%.5f,%.6f\n", i, best_x, toy(best_x));
        }
        if (i < LAST) must(fab_propose_tell(o, &x, toy(x) + 0.01 * e[i]));
    }
    if (out) fclose(out);
    fab_propose_free(o);
    return toy(best_x) < 0.136772 - 0.005;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "regret") == 0)
        return regret(atoll(argv[2]), argc > 3 && strcmp(argv[3], "-") != 0 ? argv[3] : NULL,
                      argc > 4 ? argv[4] : NULL, argc > 5 ? argv[5] : NULL);
    if (argc > 1 && strcmp(argv[1], "figure") == 0) return figure(argc > 2 ? argv[2] : NULL);
    if (argc > 1 && strcmp(argv[1], "time") == 0) return how_long();
    return fprintf(
               stderr,
               "usage: study regret SEEDS [CURVES.csv] | study figure BANDS.csv | study time\n"),
           2;
}
