/* study.c - what the kernels of [N] 4.3 are like: draws, how often they cross zero, and their limits.
 *
 *     study draws [DRAWS.csv]     three functions of each kernel on a grid, into DRAWS.csv: kernel, x, f1, f2, f3; prints kernel, crossings,
 *                                 rice, error: mean number of zeros on [-3, 3] of 2000 functions, what S. O. Rice's formula says of the
 *                                 kernel, and the standard error; exit status 1: they differ by more than 5 of these
 *     study limit                 prints kernel, parameter, distance, times: the largest difference from rbf over all distances, of Matern
 *                                 kernels as nu grows and of rq as a grows, and parameter times distance; exit status 1: it does not fall,
 *                                 or that product does not end at its limit
 *
 * Functions are drawn as sum_j phi_j(x) e_j with the landmark features of the grid itself: phi(x)' phi(z) = k(x, z) there, and no
 * number on the diagonal is needed, however smooth the kernel.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/study.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRID = 601, SHOWN = 3, DRAWS = 2000 };
#define FROM -3.0
#define TO   3.0

static const double pi = 3.14159265358979323846;

/* curvature: -k''(0) of the correlation; 0: not stationary, or it has none (infinitely many zeros). */
typedef struct curve {
    const char *text;
    double curvature;
} curve;

static const curve curves[] = {
    {"1*rbf:l=1", 1},
    {"1*matern12:l=1", 0},
    {"1*matern32:l=1", 3},
    {"1*matern52:l=1", 5. / 3},
    {"1*matern:nu=3.7:l=1", 3.7 / 2.7}, /* nu / (nu - 1) */
    {"1*rq:l=1:a=0.5", 1},
    {"1*periodic:l=1:p=2", 9.86960440108935862}, /* (2 pi / p)^2 / l^2 */
    {"1*linear", 0},
    {"1*poly:m=3:c=1", 0},
    {"1*rbf:l=1*periodic:l=1:p=1", 1 + 4 * 9.86960440108935862},
    {"1*rbf:l=0.3 + 4*linear", 0},
};
enum { CURVES = sizeof curves / sizeof *curves };

static fab_kernel *kernel_of(const char *text)
{
    fab_kernel *k;
    must(fab_kernel_create(&k, text, 1, NULL));
    return k;
}

/* Landmark features of the grid: GRID x *m. */
static double *features_of(const fab_kernel *k, const double *x, int64_t *m)
{
    fab_features *f;
    must(fab_features_nystrom(&f, k, GRID, GRID, x, 1, NULL));
    *m = fab_features_size(f);
    double *phi = numbers(GRID * *m);
    must(fab_features_apply(f, GRID, x, 1, phi, *m, NULL, NULL));
    fab_features_free(f);
    return phi;
}

static int zeros_of(const double *f)
{
    int zeros = 0;
    for (int i = 1; i < GRID; i++) zeros += (f[i] > 0) != (f[i - 1] > 0);
    return zeros;
}

static int draw_one(const curve *c, uint64_t stream, FILE *out)
{
    double x[GRID], sum = 0, squares = 0, *first = numbers(SHOWN * GRID);
    int64_t m;
    for (int i = 0; i < GRID; i++) x[i] = FROM + (TO - FROM) * i / (GRID - 1);
    fab_kernel *k = kernel_of(c->text);
    double *phi = features_of(k, x, &m), *e = numbers(m), f[GRID];
    for (int d = 0; d < DRAWS; d++) {
        fab_random_normal(1, FAB_PURPOSE_DATA, stream, (uint64_t)(d * GRID), m, FAB_F64, e);
        for (int i = 0; i < GRID; i++) {
            f[i] = 0;
            for (int64_t j = 0; j < m; j++) f[i] += phi[i * m + j] * e[j];
        }
        if (d < SHOWN) memcpy(first + d * GRID, f, sizeof f);
        const int zeros = zeros_of(f);
        sum += zeros;
        squares += (double)zeros * zeros;
    }
    for (int i = 0; i < GRID && out; i += 2)
        fprintf(out, "%s,%.4g,%.6g,%.6g,%.6g\n", c->text, x[i], first[i], first[GRID + i],
                first[2 * GRID + i]);
    const double mean = sum / DRAWS, sd = sqrt(squares / DRAWS - mean * mean);
    const double rice = c->curvature > 0 ? (TO - FROM) * sqrt(c->curvature) / pi : NAN;
    const double error = sd / sqrt(DRAWS);
    printf("%s,%.4f,%.4f,%.4f\n", c->text, mean, rice, error);
    free(phi);
    free(e);
    free(first);
    fab_kernel_free(k);
    return c->curvature > 0 && fabs(mean - rice) > 5 * error;
}

static int draws(const char *path)
{
    FILE *out = path ? fopen(path, "w") : NULL;
    int wrong = 0;
    printf("kernel,crossings,rice,error\n");
    for (int i = 0; i < CURVES; i++) wrong |= draw_one(&curves[i], (uint64_t)i + 1, out);
    if (out) fclose(out);
    return wrong;
}

/* To first order in 1 / nu a Matern kernel is exp(-q/2) (1 + (q^2/8 - q/2) / nu), rq exp(-q/2) (1 + q^2/8 / a): the largest
 * differences are (sqrt 2 - 1) exp(sqrt 2 - 2) / nu at q = 4 - 2 sqrt 2 and 2 exp(-2) / a at q = 4. */
#define MATERN   0.23057
#define RATIONAL 0.27067

/* The largest |k - rbf| of both kernels with l = 1 over distances up to 8. */
static double distance_from_rbf(const char *text)
{
    enum { STEPS = 801 };
    double x[STEPS], zero = 0, a[STEPS], b[STEPS], top = 0;
    for (int i = 0; i < STEPS; i++) x[i] = 0.01 * i;
    fab_kernel *k = kernel_of(text), *rbf = kernel_of("1*rbf:l=1");
    must(fab_kernel_cross(k, 1, &zero, 1, STEPS, x, 1, a, STEPS, NULL));
    must(fab_kernel_cross(rbf, 1, &zero, 1, STEPS, x, 1, b, STEPS, NULL));
    for (int i = 0; i < STEPS; i++) top = fmax(top, fabs(a[i] - b[i]));
    fab_kernel_free(k);
    fab_kernel_free(rbf);
    return top;
}

static int limit(void)
{
    static const double nu[] = {0.5, 1, 1.5, 2.5, 3.5, 5, 7.5, 10, 20, 50, 100},
                        a[] = {0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000};
    char text[64];
    double before = INFINITY, times = 0;
    int wrong = 0;
    printf("kernel,parameter,distance,times\n");
    for (size_t i = 0; i < sizeof nu / sizeof *nu; i++) {
        snprintf(text, sizeof text, "1*matern:nu=%g:l=1", nu[i]);
        const double far = distance_from_rbf(text);
        printf("matern,%g,%.4g,%.4g\n", nu[i], far, nu[i] * far);
        wrong |= !(far < before);
        before = far;
        times = nu[i] * far;
    }
    wrong |= fabs(times - MATERN) > 0.01 * MATERN;
    before = INFINITY;
    for (size_t i = 0; i < sizeof a / sizeof *a; i++) {
        snprintf(text, sizeof text, "1*rq:l=1:a=%g", a[i]);
        const double far = distance_from_rbf(text);
        printf("rq,%g,%.4g,%.4g\n", a[i], far, a[i] * far);
        wrong |= !(far < before);
        before = far;
        times = a[i] * far;
    }
    return wrong | (fabs(times - RATIONAL) > 0.01 * RATIONAL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "draws") == 0) return draws(argc > 2 ? argv[2] : NULL);
    if (argc > 1 && strcmp(argv[1], "limit") == 0) return limit();
    return fprintf(stderr, "usage: study draws [DRAWS.csv] | study limit\n"), 2;
}
