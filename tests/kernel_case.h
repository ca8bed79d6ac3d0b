/* kernel_case.h - kernels by their formulas, for the tests of kernels and processes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef KERNEL_CASE_H
#define KERNEL_CASE_H

#include "dense.h"
#include "fabayes/kernel.h"

/* k(x, z) from the logarithms of its parameters, in the order of the library. */
typedef struct kernel_case {
    const char *text;
    int64_t D;
    double (*value)(const double *t, const double *x, const double *z);
} kernel_case;

static inline double square(double x)
{
    return x * x;
}

/* sum_j ((x_j - z_j) / l_j)^2 over d columns; step: 1, an l for each, or 0 */
static inline double case_q(int64_t d, const double *log_l, int64_t step, const double *x,
                            const double *z)
{
    double q = 0;
    for (int64_t j = 0; j < d; j++) q += square((x[j] - z[j]) / exp(log_l[j * step]));
    return q;
}

static inline double case_dot(int64_t d, const double *x, const double *z)
{
    double s = 0;
    for (int64_t j = 0; j < d; j++) s += x[j] * z[j];
    return s;
}

static inline double by_rbf(double q)
{
    return exp(-q / 2);
}

static inline double by_matern32(double q)
{
    return (1 + sqrt(3 * q)) * exp(-sqrt(3 * q));
}

static inline double by_matern52(double q)
{
    return (1 + sqrt(5 * q) + 5 * q / 3) * exp(-sqrt(5 * q));
}

static inline double by_rq(double q, double a)
{
    return pow(1 + q / (2 * a), -a);
}

static inline double by_wave(double x, double z, double l, double p)
{
    return exp(-2 * square(sin(3.14159265358979323846 * (x - z) / p) / l));
}

static inline double case_rbf(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * by_rbf(case_q(3, t + 1, 0, x, z));
}

static inline double case_rbf_ard(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * by_rbf(case_q(13, t + 1, 1, x, z));
}

static inline double case_rbf_one(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * by_rbf(case_q(1, t + 1, 1, x, z));
}

static inline double case_matern12(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * exp(-sqrt(case_q(3, t + 1, 1, x, z)));
}

static inline double case_matern32(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * by_matern32(case_q(3, t + 1, 1, x, z));
}

static inline double case_matern52(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * by_matern52(case_q(3, t + 1, 0, x, z));
}

static inline double case_matern72(const double *t, const double *x, const double *z)
{
    const double s = sqrt(7 * case_q(3, t + 1, 1, x, z));
    return exp(t[0]) * (1 + s + 2 * s * s / 5 + s * s * s / 15) * exp(-s);
}

static inline double case_rq(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * by_rq(case_q(3, t + 1, 1, x, z), exp(t[4]));
}

static inline double case_periodic(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * by_wave(x[2], z[2], exp(t[1]), exp(t[2])) *
           by_wave(x[0], z[0], exp(t[1]), exp(t[2]));
}

static inline double case_linear(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * case_dot(3, x, z);
}

static inline double case_linear_ard(const double *t, const double *x, const double *z)
{
    double s = 0;
    for (int64_t j = 0; j < 3; j++) s += x[j] * z[j] / exp(2 * t[1 + j]);
    return exp(t[0]) * s;
}

static inline double case_poly(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * pow(case_dot(3, x, z) + exp(t[1]), 3);
}

static inline double case_const(const double *t, const double *x, const double *z)
{
    (void)x, (void)z;
    return exp(t[0]);
}

/* s2, l of rbf, l and p of periodic; s2 of linear */
static inline double case_sum(const double *t, const double *x, const double *z)
{
    return exp(t[0]) * by_rbf(case_q(2, t + 1, 0, x, z)) *
               by_wave(x[1], z[1], exp(t[2]), exp(t[3])) +
           exp(t[4]) * case_dot(2, x, z);
}

/* s2, l of rbf, l and a of rq, c of poly; s2 of linear; s2 and l of matern32 */
static inline double case_shared(const double *t, const double *x, const double *z)
{
    const double both = by_rq(case_q(2, t + 2, 0, x, z), exp(t[3])) *
                        square(case_dot(2, x, z) + exp(t[4]));
    return exp(t[0]) * by_rbf(case_q(2, t + 1, 0, x, z)) * both +
           exp(t[5]) * case_dot(2, x, z) * both +
           exp(t[6]) * by_matern32(case_q(2, t + 7, 0, x, z));
}

/* Four leaves in one term, on columns of their own: rbf of 2 and 0, matern52 of all, rq of 1, linear of all. */
static inline double case_four(const double *t, const double *x, const double *z)
{
    const double q = square((x[2] - z[2]) / exp(t[1])) + square((x[0] - z[0]) / exp(t[2]));
    return exp(t[0]) * by_rbf(q) * by_matern52(case_q(3, t + 3, 0, x, z)) *
           by_rq(case_q(1, t + 4, 0, x + 1, z + 1), exp(t[5])) * case_dot(3, x, z);
}

static const kernel_case kernel_cases[] = {
    {"rbf", 3, case_rbf},
    {"rbf:ard", 13, case_rbf_ard},
    {"rbf:ard", 1, case_rbf_one},
    {"matern12:ard", 3, case_matern12},
    {"exponential:ard", 3, case_matern12},
    {"matern32:ard", 3, case_matern32},
    {"matern52", 3, case_matern52},
    {"matern:nu=0.5:ard", 3, case_matern12},
    {"matern:nu=1.5:ard", 3, case_matern32},
    {"matern:nu=2.5", 3, case_matern52},
    {"matern:nu=3.5:ard", 3, case_matern72},
    {"rq:ard", 3, case_rq},
    {"periodic:col=2,0", 3, case_periodic},
    {"linear", 3, case_linear},
    {"linear:ard", 3, case_linear_ard},
    {"poly:m=3", 3, case_poly},
    {"const", 2, case_const},
    {"rbf*periodic:col=1 + linear", 2, case_sum},
    {"(rbf + linear)*rq*poly + 2.5*matern32", 2, case_shared},
    {"rbf:ard:col=2,0*matern52*rq:col=1*linear", 3, case_four},
};
enum { KERNEL_CASES = sizeof kernel_cases / sizeof *kernel_cases };

/* n rows of D numbers of size 2.385, different for each seed. */
static inline double *some_rows(uint64_t seed, int64_t n, int64_t D)
{
    double *X = doubles(n * D);
    for (int64_t i = 0; i < n * D; i++) X[i] = 2.385 * noise(seed, i);
    return X;
}

/* A kernel with parameters that are none of its starts, and their logarithms. */
static inline fab_kernel *some_kernel(const kernel_case *c, double **theta)
{
    fab_kernel *k;
    assert_ok(fab_kernel_create(&k, c->text, c->D, NULL));
    double *t = doubles(fab_kernel_size(k));
    fab_kernel_get(k, t);
    for (int64_t i = 0; i < fab_kernel_size(k); i++) t[i] += 0.3 * noise(17, i);
    assert_ok(fab_kernel_set(k, t));
    if (theta) *theta = t;
    return k;
}

/* dk/dt_i, by differences over four points: the error is h^4 / 30 of the fifth derivative, and that of rounding 3 u / h */
static inline double case_slope(const kernel_case *c, const double *t, int64_t size, int64_t i,
                                const double *x, const double *z)
{
    const double h = 1e-4;
    double moved[64], d[4];
    memcpy(moved, t, (size_t)size * sizeof *t);
    for (int s = 0; s < 4; s++) {
        moved[i] = t[i] + (s < 2 ? s - 2 : s - 1) * h;
        d[s] = c->value(moved, x, z);
    }
    return (d[0] - 8 * d[1] + 8 * d[2] - d[3]) / (12 * h);
}

#endif
