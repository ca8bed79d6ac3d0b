/* study.c - vifa on synthetic data in two dimensions: [T] section 5.2.1, Table 5.1 and Fig. 5.1.
 *
 *     study SEEDS [DENSITY]   prints csv lines (vifa_linear.h) for seeds 1 .. SEEDS; writes the two densities of the
 *                             first seed, on a grid, into the file DENSITY
 *
 * 1000 rows x ~ N(0, [1 .5; .5 1]); theta ~ N(0, 100 I); y = x . theta + N(0, 10); K = 1.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/synthetic.h"
#include "../common/vifa_linear.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = SYNTHETIC_ROWS, GRID = 101 };

static const variant variants[] = {
    {"[T]", {"start",    "zero",     "start_sd", "1",    "start_F", "0.1",    "draws",     "10",
             "pairs",    "false",    "batch",    "100",  "entropy", "closed", "optimiser", "sgd",
             "schedule", "constant", "rate",     "0.01", "rate_F",  "0.01",   "rate_psi",  "1",
             "clip",     "10",       "epochs",   "5000", NULL}},
    {"default", {NULL}},
    {"natural",
     {"optimiser", "natural", "batch", "N", "draws", "10", "shared", "true", "rate", "0.5",
      "rate_psi", "2", "start_sd", "0.3", "start_F", "1", "epochs", "500", NULL}},
};
enum { VARIANTS = sizeof variants / sizeof *variants, DEFAULT = 1 };

/* log density of p and q on a grid of four standard deviations around p. */
static void write_density(const char *path, const fab_gauss *p, const fab_gauss *q)
{
    FILE *out = fopen(path, "w");
    double variance[2], point[2], logp[2];
    fab_solver *s[2];
    if (!out) exit(1);
    must(fab_solver_create(&s[0], p, NULL));
    must(fab_solver_create(&s[1], q, NULL));
    must(fab_solver_variances(s[0], variance));
    for (int i = 0; i < GRID * GRID; i++) {
        point[0] = p->mu[0] + sqrt(variance[0]) * (8.0 * (i / GRID) / (GRID - 1) - 4);
        point[1] = p->mu[1] + sqrt(variance[1]) * (8.0 * (i % GRID) / (GRID - 1) - 4);
        const fab_rows row = {point, FAB_F64, 1, 2};
        for (int j = 0; j < 2; j++) must(fab_solver_logpdf(s[j], &row, &logp[j]));
        fprintf(out, "%.6g %.6g %.6g %.6g\n%s", point[0], point[1], exp(logp[0]), exp(logp[1]),
                i % GRID == GRID - 1 ? "\n" : "");
    }
    fab_solver_free(s[0]);
    fab_solver_free(s[1]);
    fclose(out);
}

static void one_seed(int64_t seed, const char *density)
{
    double *x = numbers(2 * ROWS), *y = numbers(ROWS), *scaled = numbers(ROWS);
    synthetic_rows((uint64_t)seed, x, y);
    linear_case c = {.D = 2, .K = 1, .alpha = SYNTHETIC_ALPHA, .beta = SYNTHETIC_BETA};
    c.e = (fab_examples){.x = {x, FAB_F64, ROWS, 2}, .y = y};
    linear_case_solve(&c);
    linear_case own = linear_case_scaled(&c, scaled);
    for (int v = 0; v < VARIANTS; v++) {
        const linear_case *p = v == DEFAULT ? &own : &c;
        fab_gauss *q;
        linear_case_run(p, "synthetic", seed, &variants[v], &q);
        if (density && seed == 1 && v == DEFAULT) write_density(density, own.posterior, q);
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
    if (argc < 2) return fprintf(stderr, "usage: study SEEDS [DENSITY]\n"), 2;
    for (int64_t seed = 1; seed <= atoll(argv[1]); seed++)
        one_seed(seed, argc > 2 ? argv[2] : NULL);
    return 0;
}
