/* study.c - a long stream at D = 4 through one method: are its numbers finite, does its memory stay, does it end where the moments of
 * all rows say?
 *
 *     study_long_streams METHOD ROWS FILE [EVERY]
 *
 * Rows come from a generator with an address for each, so that nothing but FILE is needed to go on: the fit, and the sums of what it
 * has seen, saved every EVERY rows (default 1e7).  One line at the end:
 *
 *     method,rows,seconds,rows_per_s,rss_1e6_kb,rss_end_kb,mean_error,spread_error
 *
 * Vectors: x = mu + f z + sqrt(psi) e.  mean_error: the largest |mu - batch mean| in standard deviations; spread_error: the largest
 * relative error of the fitted variances of the coordinates against those of all rows.
 * Linear models: y = x . w + e / 2; mean_error: the largest |w - least squares| in standard errors of the latter; spread_error: of the
 * posterior's standard deviations relative to these.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/study.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { D = 4, DRAWS = D + 1, BLOCK = 4096, PAIRS = D * (D + 1) / 2 };

static const double mean[D] = {2.385, -1e3, 0, 7}, f[D] = {1, -0.5, 0.25, 2},
                    psi[D] = {0.5, 1, 2, 0.25}, weight[D] = {1, -2, 0.5, 0};

/* Sums over all rows, each block added in long double. */
typedef struct sums {
    long double x[D], xx[PAIRS], y[D], yy; /* of x - mean, their products, and with y */
    int64_t n, rss;
    double seconds;
} sums;

static int is_linear(const char *method)
{
    return strcmp(method, "kalman") == 0 || strcmp(method, "rvga") == 0 ||
           strcmp(method, "lrvga") == 0;
}

/* Rows first .. first + n - 1. */
static void draw(int linear, int64_t first, int64_t n, double *x, double *y, sums *s)
{
    static double e[BLOCK * DRAWS];
    double sx[D] = {0}, sxx[PAIRS] = {0}, sy[D] = {0}, syy = 0;
    fab_random_normal(14, FAB_PURPOSE_DATA, 1, (uint64_t)(first * DRAWS), n * DRAWS, FAB_F64, e);
    for (int64_t i = 0; i < n; i++) {
        const double *r = e + i * DRAWS;
        double d[D], t = 0.5 * r[D];
        for (int j = 0; j < D; j++) {
            d[j] = linear ? r[j] : f[j] * r[D] + sqrt(psi[j]) * r[j];
            x[i * D + j] = linear ? d[j] : mean[j] + d[j];
            t += weight[j] * d[j];
        }
        if (linear) y[i] = t;
        syy += t * t;
        for (int j = 0, k = 0; j < D; j++) {
            sx[j] += d[j];
            sy[j] += d[j] * t;
            for (int l = 0; l <= j; l++) sxx[k++] += d[j] * d[l];
        }
    }
    for (int j = 0; j < D; j++) s->x[j] += sx[j];
    for (int j = 0; j < D; j++) s->y[j] += sy[j];
    for (int k = 0; k < PAIRS; k++) s->xx[k] += sxx[k];
    s->yy += syy;
    s->n += n;
}

static int64_t memory_kb(void)
{
    char line[128];
    int64_t kb = 0;
    FILE *s = fopen("/proc/self/status", "r");
    while (s && fgets(line, sizeof line, s))
        if (sscanf(line, "VmRSS: %lld", (long long *)&kb) == 1) break;
    if (s) fclose(s);
    return kb;
}

/* ---- the fit ------------------------------------------------------------------------------------------ */

static fab_fit *begin(const char *method, const fab_model *m, const fab_exec *x)
{
    fab_fit *fit;
    const fab_method *what = fab_method_find(method);
    if (!what) fprintf(stderr, "there is no method %s\n", method), exit(2);
    const fab_fields *t = fab_method_fields(what);
    void *settings = calloc(1, t->size);
    fab_settings_defaults(t, settings);
    if (fab_settings_find(t, "K")) must(fab_settings_parse(t, settings, "K", "1"));
    must(fab_fit_create(&fit, method, settings, t->size,
                        is_linear(method) ? &(fab_input){.model = m} : &(fab_input){.vectors = D},
                        x));
    free(settings);
    return fit;
}

static void save(fab_fit *fit, const sums *s, const char *file)
{
    char name[512];
    FILE *stream;
    fab_output *o;
    must(fab_fit_save(fit, file, NULL));
    snprintf(name, sizeof name, "%s.sums", file);
    must(fab_output_open(&o, name, &stream));
    fwrite(s, sizeof *s, 1, stream);
    must(fab_output_close(o, 1));
}

static fab_fit *go_on(sums *s, const char *file, const fab_exec *x)
{
    char name[512];
    fab_tensors *t;
    fab_fit *fit;
    snprintf(name, sizeof name, "%s.sums", file);
    FILE *stream = fopen(name, "rb");
    const int whole = stream && fread(s, sizeof *s, 1, stream) == 1;
    if (stream) fclose(stream);
    must(fab_tensors_read(&t, file));
    must(fab_fit_load(&fit, t, NULL, x));
    fab_tensors_free(t);
    if (!whole || fab_fit_rows(fit) != s->n)
        fprintf(stderr, "%s and %s are not of one moment: remove both\n", file, name), exit(1);
    return fit;
}

/* ---- what it should be ---------------------------------------------------------------------------------- */

static void variances(const fab_gauss *q, double *out)
{
    fab_solver *s;
    must(fab_solver_create(&s, q, NULL));
    must(fab_solver_variances(s, out));
    fab_solver_free(s);
}

static double pair(const sums *s, int j, int l)
{
    return (double)(s->xx[j >= l ? j * (j + 1) / 2 + l : l * (l + 1) / 2 + j] / s->n);
}

static void vectors_errors(const fab_gauss *q, const sums *s, double *at, double *spread)
{
    double variance[D];
    variances(q, variance);
    for (int j = 0; j < D; j++) {
        const double m = (double)(s->x[j] / s->n), v = pair(s, j, j) - m * m;
        *at = fmax(*at, fabs(q->mu[j] - mean[j] - m) / sqrt(v));
        *spread = fmax(*spread, fabs(variance[j] / v - 1));
    }
}

/* Least squares by elimination: A w = b with A = X'X / n, the diagonal of its inverse, and the noise that is left. */
static void linear_errors(const fab_gauss *q, const sums *s, double *at, double *spread)
{
    double a[D][2 * D + 1], variance[D];
    for (int j = 0; j < D; j++) {
        for (int l = 0; l < D; l++) a[j][l] = pair(s, j, l), a[j][D + l] = j == l;
        a[j][2 * D] = (double)(s->y[j] / s->n);
    }
    for (int p = 0; p < D; p++)
        for (int j = 0; j < D; j++) {
            const double r = a[j][p] / a[p][p];
            for (int l = 0; l <= 2 * D && j != p; l++) a[j][l] -= r * a[p][l];
        }
    variances(q, variance);
    double noise = (double)(s->yy / s->n);
    for (int j = 0; j < D; j++) noise -= a[j][2 * D] / a[j][j] * (double)(s->y[j] / s->n);
    for (int j = 0; j < D; j++) {
        const double w = a[j][2 * D] / a[j][j];
        const double sd = sqrt(a[j][D + j] / a[j][j] * noise / (double)s->n);
        *at = fmax(*at, fabs(q->mu[j] - w) / sd);
        *spread = fmax(*spread, fabs(sqrt(variance[j]) / sd - 1));
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) return fprintf(stderr, "usage: study_long_streams METHOD ROWS FILE [EVERY]\n"), 2;
    const char *method = argv[1], *file = argv[3];
    const int64_t rows = (int64_t)strtod(argv[2], NULL),
                  every = argc > 4 ? (int64_t)strtod(argv[4], NULL) : 10000000;
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = D, .classes = 1, .beta = 4};
    const fab_model m = fab_model_linear(&glm);
    const fab_exec x = {.threads = 1};
    static double row[BLOCK * D], y[BLOCK];
    sums s;
    memset(&s, 0, sizeof s);
    fab_fit *fit = access(file, R_OK) == 0 ? go_on(&s, file, &x) : begin(method, &m, &x);
    double start = fab_clock();
    while (s.n < rows) {
        const int64_t first = s.n, n = rows - first < BLOCK ? rows - first : BLOCK;
        draw(is_linear(method), first, n, row, y, &s);
        must(fab_fit_update(fit, &(fab_examples){.x = {.p = row, .type = FAB_F64, .n = n, .ld = D},
                                                 .y = is_linear(method) ? y : NULL}));
        if (first < 1000000 && s.n >= 1000000) {
            /* What saving takes is there from now on: the heap has the buffers of the second, 4 MB, that were maps of
             * their own in the first (glibc, once one was given back). */
            for (int twice = 0; twice < 2; twice++) save(fit, &s, file);
            s.rss = memory_kb();
        }
        if (s.n / every != first / every || s.n == rows) {
            const double now = fab_clock();
            s.seconds += now - start;
            start = now;
            save(fit, &s, file);
        }
    }
    const fab_gauss *q;
    double at = 0, spread = 0;
    must(fab_fit_gauss(fit, &q));
    if (is_linear(method))
        linear_errors(q, &s, &at, &spread);
    else
        vectors_errors(q, &s, &at, &spread);
    printf("%s,%lld,%.0f,%.3g,%lld,%lld,%.3g,%.3g\n", method, (long long)s.n, s.seconds,
           (double)s.n / s.seconds, (long long)s.rss, (long long)memory_kb(), at, spread);
    fab_fit_free(fit);
    return !(isfinite(at) && isfinite(spread));
}
