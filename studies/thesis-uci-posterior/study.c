/* study.c - vifa at rank 3 of linear regressions on UCI sets: [T] section 5.2.2, Table B.6, Figs 5.2, 5.3, B.4, B.5.
 *
 *     study NAME FILE TARGET FEATURES SEEDS RATE EPOCHS [PICTURE]
 *
 * FILE is a table without header, FEATURES its columns, separated by commas.  Half of the rows, drawn by the seed; features
 * standardised, the target centred; alpha and beta by the evidence.  RATE and EPOCHS are [T]'s for this set.  Prints csv lines
 * (vifa_linear.h); writes means, variances and covariances of the first seed into the file PICTURE.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/vifa_linear.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 3, SPLIT_STREAM = 1, MOST_FEATURES = 64, MOST_ROWS = 20000, OURS = 2, DEFAULT = 0 };

static const char *const paper[] = {
    "start",    "zero",     "start_sd", "1",   "start_F", "0.1",    "draws",     "10",
    "pairs",    "false",    "batch",    "100", "entropy", "closed", "optimiser", "sgd",
    "schedule", "constant", "rate_psi", "1",   "clip",    "10",     NULL};
static const variant ours[] = {
    {"default", {NULL}},
    {"natural",
     {"optimiser", "natural", "batch", "N", "draws", "10", "shared", "true", "rate", "0.5",
      "rate_psi", "2", "start_sd", "0.3", "start_F", "1", "epochs", "750", NULL}},
};

typedef struct table {
    int64_t rows, columns, target, D, feature[MOST_FEATURES];
    double *cells;
} table;

static table read_table(const char *path, int64_t target, char *features)
{
    table t = {.target = target};
    fab_source *s;
    must(fab_source_open(&s, path, NULL));
    t.columns = fab_source_columns(s);
    t.cells = numbers(MOST_ROWS * t.columns);
    for (int64_t got = 1; got > 0 && t.rows < MOST_ROWS; t.rows += got)
        must(fab_source_next(s, MOST_ROWS - t.rows, t.cells + t.rows * t.columns, &got));
    fab_source_close(s);
    for (char *w = strtok(features, ","); w && t.D < MOST_FEATURES; w = strtok(NULL, ","))
        t.feature[t.D++] = atoll(w);
    return t;
}

/* Bring every `step`-th number to mean 0 and, unless `centre_only`, to standard deviation 1. */
static void standardise(int64_t n, int64_t step, int centre_only, double *x)
{
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += x[i * step] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        x[i * step] -= mean;
        square += x[i * step] * x[i * step] / (double)n;
    }
    for (int64_t i = 0; i < n && !centre_only; i++) x[i * step] /= sqrt(square);
}

static void take_half(const table *t, uint64_t seed, int64_t n, double *x, double *y)
{
    int64_t *order = malloc((size_t)t->rows * sizeof *order);
    if (!order) exit(1);
    fab_random_shuffle(seed, FAB_PURPOSE_SPLIT, SPLIT_STREAM, t->rows, order);
    for (int64_t i = 0; i < n; i++) {
        const double *row = t->cells + order[i] * t->columns;
        for (int64_t d = 0; d < t->D; d++) x[i * t->D + d] = row[t->feature[d]];
        y[i] = row[t->target];
    }
    for (int64_t d = 0; d < t->D; d++) standardise(n, t->D, 0, x + d);
    standardise(n, 1, 1, y);
    free(order);
}

/* Covariances with the diagonal left out, as a matrix. */
static void write_matrix(FILE *out, const fab_gauss *q)
{
    double *S = numbers(q->D * q->D);
    fab_solver *s;
    must(fab_solver_create(&s, q, NULL));
    must(fab_solver_dense(s, S));
    for (int64_t i = 0; i < q->D * q->D; i++)
        fprintf(out, "%.6g%s", i % (q->D + 1) == 0 ? 0 : S[i], i % q->D == q->D - 1 ? "\n" : " ");
    fprintf(out, "\n\n");
    fab_solver_free(s);
    free(S);
}

static void write_picture(const char *path, const fab_gauss *p, const fab_gauss *q)
{
    double *vp = numbers(p->D), *vq = numbers(p->D);
    FILE *out = fopen(path, "w");
    fab_solver *s;
    if (!out) exit(1);
    must(fab_solver_create(&s, p, NULL));
    must(fab_solver_variances(s, vp));
    fab_solver_free(s);
    must(fab_solver_create(&s, q, NULL));
    must(fab_solver_variances(s, vq));
    fab_solver_free(s);
    for (int64_t d = 0; d < p->D; d++)
        fprintf(out, "%.6g %.6g %.6g %.6g\n", p->mu[d], q->mu[d], vp[d], vq[d]);
    fprintf(out, "\n\n");
    write_matrix(out, p);
    write_matrix(out, q);
    fclose(out);
    free(vp);
    free(vq);
}

static void one_seed(const table *t, const char *name, int64_t seed, const variant *theirs,
                     const char *picture)
{
    const int64_t n = t->rows / 2;
    double *x = numbers(n * t->D), *y = numbers(n), *scaled = numbers(n);
    take_half(t, (uint64_t)seed, n, x, y);
    linear_case c = {.D = t->D, .K = RANK};
    c.e = (fab_examples){.x = {x, FAB_F64, n, t->D}, .y = y};
    linear_case_solve(&c);
    linear_case own = linear_case_scaled(&c, scaled);
    linear_case_run(&c, name, seed, theirs, NULL);
    for (int v = 0; v < OURS; v++) {
        fab_gauss *q;
        linear_case_run(v == DEFAULT ? &own : &c, name, seed, &ours[v], &q);
        if (picture && seed == 1 && v == DEFAULT) write_picture(picture, own.posterior, q);
        fab_gauss_free(q);
    }
    linear_case_free(&own);
    linear_case_free(&c);
    free(scaled);
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    if (argc < 8)
        return fprintf(stderr,
                       "usage: study NAME FILE TARGET FEATURES SEEDS RATE EPOCHS [PICTURE]\n"),
               2;
    table t = read_table(argv[2], atoll(argv[3]), argv[4]);
    variant theirs = {.label = "[T]"};
    int n = 0;
    for (; paper[n]; n++) theirs.settings[n] = paper[n];
    const char *const own[] = {"rate", argv[6], "epochs", argv[7]};
    for (int i = 0; i < 4; i++) theirs.settings[n++] = own[i];
    for (int64_t seed = 1; seed <= atoll(argv[5]); seed++)
        one_seed(&t, argv[1], seed, &theirs, argc > 8 ? argv[8] : NULL);
    free(t.cells);
    return 0;
}
