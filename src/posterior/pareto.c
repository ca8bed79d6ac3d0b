/* pareto.c - importance weights and how far they can be trusted: Pareto smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and
 * Gabry, 2024).
 *
 *   of n weights w_s, as logarithms whose largest is 0:
 *   1  the tail: the M = min(n / 5, 3 sqrt n) largest of them, t_j = w - u over the largest u that is not among them
 *   2  the generalised Pareto distribution of t by a mean over profiles of its likelihood (Zhang and Stephens 2009):
 *      of b on a grid of 30 + sqrt M points, k(b) = mean log(1 - b t), weight proportional to exp of
 *      M (log(-b / k(b)) - k(b) - 1);   b = their mean, k = k(b), sigma = -k / b
 *   3  k <- (M k + 10 / 2) / (M + 10): a weak prior at 1/2
 *   4  the j-th smallest of the tail becomes u + the quantile (j - 1/2) / M, at most the largest weight
 *
 * k is 1 over the number of moments that the weights have: below 1/2 their mean has a variance, above 0.7 it takes more draws than
 * anybody has for a mean that can be trusted.  Weights that are all but equal have no tail: k = -infinity.
 *
 * SPDX-License-Identifier: MIT */
#include "posterior/pareto.h"
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/gauss.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST = 5, /* weights in a tail */
    PRIOR = 10 /* weights that the prior of k is worth */
};
#define EQUAL 1e-9 /* logarithms of weights that differ by no more are the same */

static int64_t tail_of(int64_t n)
{
    const double most = fmin(0.2 * (double)n, 3 * sqrt((double)n));
    return (int64_t)ceil(most);
}

static int64_t grid_of(int64_t M)
{
    return 30 + (int64_t)sqrt((double)M);
}

int64_t fab_pareto_doubles(int64_t n)
{
    const int64_t M = tail_of(n) + 1, grid = 2 * grid_of(M);
    return M + (n + M > grid ? n + M : grid); /* the tail; places of it and a copy, or the grid */
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* The number with k smaller ones before it, in a copy that is put into another order. */
static double order_statistic(int64_t n, double *x, int64_t k)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const double pivot = x[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (x[i] < pivot) i++;
            while (x[j] > pivot) j--;
            if (i > j) break;
            const double swapped = x[i];
            x[i++] = x[j];
            x[j--] = swapped;
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else /* between them all are the pivot */
            break;
    }
    return x[k];
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

static double shape_at(int64_t M, const double *t, double b)
{
    double sum = 0;
    for (int64_t j = 0; j < M; j++) sum += log1p(-b * t[j]);
    return sum / (double)M;
}

/* k and *sigma of rising t > 0. */
static double fit(int64_t M, const double *t, double *grid, double *sigma)
{
    const int64_t m = grid_of(M);
    const double quartile = t[(int64_t)(0.25 * (double)M + 0.5) - 1];
    double *b = grid, *l = grid + m, most = -INFINITY, sum = 0, mean = 0;
    for (int64_t i = 0; i < m; i++) {
        b[i] = 1 / t[M - 1] + (1 - sqrt((double)m / ((double)i + 0.5))) / (3 * quartile);
        const double k = shape_at(M, t, b[i]);
        l[i] = (double)M * (log(-b[i] / k) - k - 1);
        most = fmax(most, l[i]);
    }
    for (int64_t i = 0; i < m; i++) {
        const double w = exp(l[i] - most);
        if (!(w > 0)) continue; /* or no number, where b is 0 */
        sum += w;
        mean += w * b[i];
    }
    mean /= sum;
    const double k = shape_at(M, t, mean);
    *sigma = -k / mean;
    return k;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static double quantile(double k, double sigma, double p)
{
    const double e = -log1p(-p);
    return fabs(k) < 1e-12 ? sigma * e : sigma * expm1(k * e) / k;
}

double fab_pareto_smooth_in(int64_t n, double *logw, double *work)
{
    const int64_t room = tail_of(n);
    double *t = work, *rest = work + room + 1, top = -INFINITY, sigma;
    int64_t M = 0;
    for (int64_t s = 0; s < n; s++) top = fmax(top, logw[s]);
    if (room < LEAST || room >= n) return INFINITY;
    memcpy(rest, logw, (size_t)n * sizeof *rest); /* 1 */
    const double below = fmax(order_statistic(n, rest, n - room - 1), top - 700);
    if (top - below <= EQUAL) return -INFINITY;
    for (int64_t s = 0; s < n; s++)
        if (logw[s] > below) t[M++] = logw[s];
    if (M < LEAST) return INFINITY;
    qsort(t, (size_t)M, sizeof *t, rising);
    const double u = exp(below - top), least = t[0];
    for (int64_t j = 0; j < M; j++) t[j] = u * expm1(t[j] - below);
    double k = fit(M, t, rest, &sigma); /* 2 */
    if (!isfinite(k) || !(sigma > 0)) return INFINITY;
    k = ((double)M * k + 0.5 * PRIOR) / (double)(M + PRIOR); /* 3 */
    /* 4: equal weights take the places of equal ones in the order that they stand in */
    int64_t *place = (int64_t *)(void *)rest, found = 0;
    for (int64_t s = 0; s < n; s++)
        if (logw[s] >= least) place[found++] = s;
    for (int64_t i = 1; i < found;
         i++) { /* few, and to be kept in their order where they are equal */
        const int64_t s = place[i];
        int64_t j = i;
        for (; j > 0 && logw[place[j - 1]] > logw[s]; j--) place[j] = place[j - 1];
        place[j] = s;
    }
    for (int64_t j = 0; j < M; j++) {
        const double w = u + quantile(k, sigma, ((double)j + 0.5) / (double)M);
        logw[place[j]] = top + fmin(log(w), 0);
    }
    return k;
}

fab_status fab_pareto_smooth(int64_t n, double *logw, double *k)
{
    double *work;
    if (n < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "pareto: %lld weights", (long long)n);
    for (int64_t s = 0; s < n; s++)
        if (!isfinite(logw[s]))
            return FAB_FAIL(FAB_BAD_DATA, "pareto: the logarithm of weight %lld is %g",
                            (long long)s, logw[s]);
    FAB_TRY(fab_alloc_array((void **)&work, fab_pareto_doubles(n), sizeof *work, "pareto"));
    const double shape = fab_pareto_smooth_in(n, logw, work);
    if (k) *k = shape;
    fab_release(work);
    return FAB_OK;
}

fab_weights fab_weights_of(int64_t n, const double *logw)
{
    double top = -INFINITY, sum = 0, square = 0;
    for (int64_t s = 0; s < n; s++) top = fmax(top, logw[s]);
    for (int64_t s = 0; s < n; s++) sum += exp(logw[s] - top);
    const double mean = sum / (double)n;
    double away = 0;
    for (int64_t s = 0; s < n; s++) {
        const double w = exp(logw[s] - top);
        square += w * w;
        away += (w - mean) * (w - mean);
    }
    return (fab_weights){.log_mean = top + log(mean),
                         .se = n > 1 ? sqrt(away / (double)(n - 1) / (double)n) / mean : NAN,
                         .ess = sum * sum / square};
}
