/* study.c - Gaussian process regression of [N] 6.2 and 6.3: bands, the evidence and its optima, ARD switching columns off.
 *
 *     study bands [BANDS.csv]         three kernels at 12 rows of a function: x, f, then mean, lower, upper and a draw of each on a grid, after
 *                                     a block with the rows; prints kernel, lml, noise, rmse: noise sd as found (0.1 is true), rmse on the grid
 *     study evidence SETS [GRID.csv]  SETS tables of 7 rows of one process: how many have two optima of the evidence by length-scale and
 *                                     noise, and how many searches of one start and of the default starts end below the best of a grid;
 *                                     GRID.csv: the evidence of the first such table: l, noise sd, lml.  Exit status 1: searches by
 *                                     default end below more than a tenth as often
 *     study ard SEEDS [MOST]          10 columns of which 3 matter, by rows (up to MOST): median length-scale of these and of the others, the
 *                                     share of others that are switched off (l above 10 standard deviations of its column), and test rmse
 *                                     with ard, with one length-scale, and with the 3 columns alone
 *
 * SPDX-License-Identifier: MIT */
#include "../common/study.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- fits ----------------------------------------------------------------------------------------- */

typedef struct table {
    int64_t n, D;
    double *x, *y;
} table;

/* The process of a table with parameters that the method gp finds; starts 0: its default. */
static fab_process *fit(const char *text, const table *t, int64_t starts, double *lml,
                        double *noise)
{
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = t->D, .classes = 1, .beta = 1};
    const fab_examples rows = {.x = {t->x, FAB_F64, t->n, t->D}, .y = t->y};
    fab_gp_settings how = fab_gp_defaults();
    fab_kernel *k;
    fab_fit *f;
    fab_process *p;
    const fab_gauss *q;
    fab_report r;
    if (starts) how.starts = starts;
    must(fab_kernel_create(&k, text, t->D, NULL));
    const fab_model model = fab_model_kernel(&glm, k);
    must(fab_fit_create(&f, "gp", &how, sizeof how, &(fab_input){.model = &model}, NULL));
    must(fab_fit_update(f, &rows));
    must(fab_fit_gauss(f, &q));
    must(fab_fit_report(f, &r));
    *lml = r.log_evidence;
    *noise = 1 / r.beta;
    must(fab_kernel_set(k, q->mu));
    must(fab_process_create(&p, k, t->n, t->x, t->D, t->n, NULL));
    must(fab_process_learn(p, t->y, NULL, *noise));
    fab_fit_free(f);
    fab_kernel_free(k);
    return p;
}

/* ---- bands ---------------------------------------------------------------------------------------- */

static double truth(double x)
{
    return sin(2 * x) + 0.3 * x;
}

static int bands(const char *path)
{
    enum { N = 12, GRID = 241, KERNELS = 3 };
    static const char *const kernels[KERNELS] = {"rbf", "matern32", "rbf + linear"};
    double x[N], y[N], e[N], u[N], at[GRID], mean[KERNELS][GRID], sd[KERNELS][GRID],
        draw[KERNELS][GRID];
    FILE *out = path ? fopen(path, "w") : NULL;
    fab_random_normal(1, FAB_PURPOSE_DATA, 1, 0, N, FAB_F64, e);
    fab_random_uniform(1, FAB_PURPOSE_DATA, 2, 0, N, u);
    for (int i = 0; i < N; i++) {
        x[i] = i < 8 ? -4 + 4 * u[i] : 2 + 2 * u[i]; /* nothing between 0 and 2 */
        y[i] = truth(x[i]) + 0.1 * e[i];
        if (out) fprintf(out, "%.6g,%.6g\n", x[i], y[i]);
    }
    const table t = {N, 1, x, y};
    for (int i = 0; i < GRID; i++) at[i] = -6 + 12.0 * i / (GRID - 1);
    printf("kernel,lml,noise,rmse\n");
    for (int k = 0; k < KERNELS; k++) {
        double lml, noise, sum = 0;
        fab_process *p = fit(kernels[k], &t, 0, &lml, &noise);
        must(fab_process_predict(p, GRID, at, 1, mean[k], sd[k], NULL));
        must(fab_process_draw(p, GRID, at, 1, 3, FAB_PURPOSE_SAMPLE, 0, 1, draw[k], GRID));
        for (int i = 0; i < GRID; i++) {
            sd[k][i] = sqrt(sd[k][i]);
            sum += pow(mean[k][i] - truth(at[i]), 2);
        }
        printf("%s,%.3f,%.4f,%.4f\n", kernels[k], lml, sqrt(noise), sqrt(sum / GRID));
        fab_process_free(p);
    }
    if (!out) return 0;
    fprintf(out, "\n\n");
    for (int i = 0; i < GRID; i++) {
        fprintf(out, "%.6g,%.6g", at[i], truth(at[i]));
        for (int k = 0; k < KERNELS; k++)
            fprintf(out, ",%.6g,%.6g,%.6g,%.6g", mean[k][i], mean[k][i] - 1.645 * sd[k][i],
                    mean[k][i] + 1.645 * sd[k][i], draw[k][i]);
        fprintf(out, "\n");
    }
    fclose(out);
    return 0;
}

/* ---- the evidence --------------------------------------------------------------------------------- */

enum { ROWS = 7, STEPS = 61 };

static double length_at(int i)
{
    return 0.05 * pow(400, (double)i / (STEPS - 1)); /* to 20 */
}

static double sd_at(int j)
{
    return 0.02 * pow(150, (double)j / (STEPS - 1)); /* to 3 */
}

/* Table s: f from 1*rbf:l=1 at 7 places in [-4, 4], noise of sd 0.3. */
static table draw_table(uint64_t s)
{
    table t = {ROWS, 1, numbers(ROWS), numbers(ROWS)};
    double e[2 * ROWS], phi[ROWS * ROWS];
    fab_kernel *k;
    fab_features *f;
    fab_random_uniform(s, FAB_PURPOSE_DATA, 1, 0, ROWS, t.x);
    fab_random_normal(s, FAB_PURPOSE_DATA, 2, 0, 2 * ROWS, FAB_F64, e);
    for (int i = 0; i < ROWS; i++) t.x[i] = -4 + 8 * t.x[i];
    must(fab_kernel_create(&k, "1*rbf:l=1", 1, NULL));
    must(fab_features_nystrom(&f, k, ROWS, ROWS, t.x, 1, NULL));
    const int64_t m = fab_features_size(f);
    must(fab_features_apply(f, ROWS, t.x, 1, phi, m, NULL, NULL));
    for (int i = 0; i < ROWS; i++) {
        t.y[i] = 0.3 * e[ROWS + i];
        for (int64_t j = 0; j < m; j++) t.y[i] += phi[i * m + j] * e[j];
    }
    fab_features_free(f);
    fab_kernel_free(k);
    return t;
}

static void fill(const table *t, double lml[STEPS][STEPS])
{
    fab_kernel *k;
    fab_process *p;
    must(fab_kernel_create(&k, "1*rbf", 1, NULL));
    must(fab_process_create(&p, k, t->n, t->x, 1, t->n, NULL));
    for (int i = 0; i < STEPS; i++) {
        const double theta[2] = {0, log(length_at(i))};
        must(fab_process_set(p, theta));
        for (int j = 0; j < STEPS; j++) {
            must(fab_process_learn(p, t->y, NULL, sd_at(j) * sd_at(j)));
            must(fab_process_evidence(p, &lml[i][j], NULL));
        }
    }
    fab_process_free(p);
    fab_kernel_free(k);
}

/* Inside of the grid, and above its eight neighbours. */
static int is_top(double lml[STEPS][STEPS], int i, int j)
{
    if (i == 0 || j == 0 || i == STEPS - 1 || j == STEPS - 1) return 0;
    for (int a = -1; a <= 1; a++)
        for (int b = -1; b <= 1; b++)
            if ((a || b) && lml[i + a][j + b] >= lml[i][j]) return 0;
    return 1;
}

/* How many of these; the best of all points. */
static int optima_of(double lml[STEPS][STEPS], double *best)
{
    int found = 0;
    *best = -INFINITY;
    for (int i = 0; i < STEPS; i++)
        for (int j = 0; j < STEPS; j++) {
            *best = fmax(*best, lml[i][j]);
            found += is_top(lml, i, j);
        }
    return found;
}

static void show(double lml[STEPS][STEPS], const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out) return;
    for (int i = 0; i < STEPS; i++) {
        for (int j = 0; j < STEPS; j++)
            fprintf(out, "%.5g,%.5g,%.6g\n", length_at(i), sd_at(j), lml[i][j]);
        fprintf(out, "\n");
    }
    fclose(out);
}

static int evidence(uint64_t sets, const char *path)
{
    static double lml[STEPS][STEPS];
    const double slack =
        1e-3; /* nats that a search may end below the best of the grid, which is none of its points */
    int several = 0, missed[2] = {0};
    for (uint64_t s = 1; s <= sets; s++) {
        const table t = draw_table(s);
        double best, found, noise;
        fill(&t, lml);
        const int optima = optima_of(lml, &best);
        if (optima > 1 && several++ == 0) {
            if (path) show(lml, path);
            printf("first,%llu,,\n", (unsigned long long)s);
            for (int i = 0; i < STEPS; i++)
                for (int j = 0; j < STEPS; j++)
                    if (is_top(lml, i, j))
                        printf("optimum,%.3f,%.3f,%.4f\n", length_at(i), sd_at(j), lml[i][j]);
        }
        for (int k = 0; k < 2; k++) {
            fab_process *p = fit("1*rbf", &t, k == 0, &found, &noise);
            missed[k] += found < best - slack;
            if (several == 1 && optima > 1) {
                double theta[2];
                fab_kernel_get(fab_process_kernel(p), theta);
                printf("%s,%.3f,%.3f,%.4f\n", k == 0 ? "one start" : "default", exp(theta[1]),
                       sqrt(noise), found);
            }
            fab_process_free(p);
        }
        free(t.x);
        free(t.y);
    }
    printf("tables,%llu,,\nseveral optima,%d,,\none start below,%d,,\ndefault below,%d,,\n",
           (unsigned long long)sets, several, missed[0], missed[1]);
    return 10 * missed[1] > missed[0];
}

/* ---- ARD ------------------------------------------------------------------------------------------ */

enum { COLUMNS = 10, MATTER = 3, TEST = 500 };

static table columns_of(uint64_t seed, int64_t first, int64_t n, double noise)
{
    table t = {n, COLUMNS, numbers(n * COLUMNS), numbers(n)};
    fab_random_normal(seed, FAB_PURPOSE_DATA, 5, (uint64_t)(first * COLUMNS), n * COLUMNS, FAB_F64,
                      t.x);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 6, (uint64_t)first, n, FAB_F64, t.y);
    for (int64_t i = 0; i < n; i++) {
        const double *x = t.x + i * COLUMNS;
        t.y[i] = noise * t.y[i] + sin(2 * x[0]) + 0.5 * x[1] * x[1] - 0.5 + 0.7 * x[2];
    }
    return t;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, rising);
    return 0.5 * (x[(n - 1) / 2] + x[n / 2]);
}

static int ard(int64_t seeds, int64_t most)
{
    static const char *const kernels[] = {"rbf:ard", "rbf", "rbf:ard:col=0,1,2"};
    static const int64_t sizes[] = {30, 50, 100, 200};
    double *those = numbers(seeds * MATTER), *others = numbers(seeds * (COLUMNS - MATTER)),
           *error[3];
    for (int k = 0; k < 3; k++) error[k] = numbers(seeds);
    printf("rows,l of 3,l of others,switched off,rmse ard,rmse one l,rmse 3 columns\n");
    for (size_t a = 0; a < sizeof sizes / sizeof *sizes && sizes[a] <= most; a++) {
        int64_t off = 0;
        for (int64_t s = 0; s < seeds; s++) {
            const table t = columns_of((uint64_t)s + 1, 0, sizes[a], 0.2),
                        new = columns_of((uint64_t)s + 1, 1000, TEST, 0);
            for (int k = 0; k < 3; k++) {
                double lml, noise, mean[TEST], theta[1 + COLUMNS], sum = 0;
                fab_process *p = fit(kernels[k], &t, 0, &lml, &noise);
                must(fab_process_predict(p, TEST, new.x, COLUMNS, mean, NULL, NULL));
                for (int i = 0; i < TEST; i++) sum += pow(mean[i] - new.y[i], 2);
                error[k][s] = sqrt(sum / TEST);
                if (k == 0) {
                    fab_kernel_get(fab_process_kernel(p), theta);
                    for (int d = 0; d < COLUMNS; d++) {
                        const double l = exp(theta[1 + d]);
                        if (d < MATTER)
                            those[s * MATTER + d] = l;
                        else
                            others[s * (COLUMNS - MATTER) + d - MATTER] = l;
                        off += d >= MATTER && l > 10;
                    }
                }
                fab_process_free(p);
            }
            free(t.x), free(t.y), free(new.x), free(new.y);
        }
        printf("%lld,%.3g,%.3g,%.3g,%.3f,%.3f,%.3f\n", (long long)sizes[a],
               median(those, seeds * MATTER), median(others, seeds * (COLUMNS - MATTER)),
               (double)off / (double)(seeds * (COLUMNS - MATTER)), median(error[0], seeds),
               median(error[1], seeds), median(error[2], seeds));
        fflush(stdout);
    }
    free(those);
    free(others);
    for (int k = 0; k < 3; k++) free(error[k]);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "bands") == 0) return bands(argc > 2 ? argv[2] : NULL);
    if (strcmp(what, "evidence") == 0 && argc > 2)
        return evidence((uint64_t)atoll(argv[2]), argc > 3 ? argv[3] : NULL);
    if (strcmp(what, "ard") == 0 && argc > 2)
        return ard(atoll(argv[2]), argc > 3 ? atoll(argv[3]) : INT64_MAX);
    return fprintf(stderr, "usage: study bands [BANDS.csv] | study evidence SETS [GRID.csv] | "
                           "study ard SEEDS [MOST]\n"),
           2;
}
