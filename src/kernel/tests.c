/* tests.c - two samples compared (MMD) and two vectors tested for independence (HSIC) by kernels, [N] 4.7.
 *
 * MMD of n rows x and m rows y, N = n + m rows z in all; K: their matrix without its diagonal; a: N marks, 1 for an x:
 *
 *   1  A = a'K a, r = K 1, t = 1'r
 *      statistic = A / (n (n-1)) + (t - 2 a'r + A) / (m (m-1)) - 2 (a'r - A) / (n m)
 *   2  the same for marks in random orders, column b of a matrix: A_b = sum_ij a_ib K_ij a_jb, K in blocks of rows, columns from
 *      the block on: half of it is computed, and none of it is kept
 *
 * HSIC of n pairs, K and L their matrices:
 *
 *   3  biased = tr(K H L H) / n^2, H = I - 1 1'/n
 *   4  U_ij = K_ij - (r_i + r_j) / (n-2) + t / ((n-1) (n-2)) for i != j, 0 for i = j; r = (K less its diagonal) 1, t = 1'r
 *      statistic = 2 sum_(i > j) U_ij L_ij / (n (n-3)): unbiased, for U is orthogonal to all that L has by row (Szekely and Rizzo 2014)
 *   5  the same for random orders o of the y: L at (o_i, o_j)
 *   6  p_gamma: n biased is about Gamma with mean and variance under independence (Gretton and others 2007)
 *
 * SPDX-License-Identifier: MIT */
#include "base/chi_square.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "fabayes/kernel.h"
#include "la/ops.h"
#include "la/small.h"
#include "la/threads.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 256,    /* of K at a time */
    MARKS = 256,   /* orders at a time */
    TASK = 32,     /* of them, a thread's */
    NEAREST = 1000 /* rows of the median */
};
/* Statistics that differ by less are equal: what the order of sums leaves. */
#define ROUNDING 1e-12

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static fab_status check_size(const char *what, int64_t n, int64_t at_least, int64_t permutations)
{
    if (n < at_least)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: %lld row%s, and it needs at least %lld", what,
                        (long long)n, n == 1 ? "" : "s", (long long)at_least);
    if (permutations < 0 || permutations > INT64_C(1) << 30)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: permutations = %lld, expected a number from 0 to 2^30", what,
                        (long long)permutations);
    return FAB_OK;
}

/* Rows n x D behind one another. */
static void gather(double *to, int64_t n, int64_t D, const double *X, int64_t ldx)
{
    for (int64_t i = 0; i < n; i++) memcpy(to + i * D, X + i * ldx, (size_t)D * sizeof *to);
}

/* p from the statistics of all orders, the given one first. */
static void set_p(fab_kernel_test *t, const double *value, int64_t permutations, double scale)
{
    t->permutations = permutations;
    t->as_large = 0;
    for (int64_t b = 1; b <= permutations; b++)
        t->as_large += value[b] >= value[0] - ROUNDING * scale;
    t->p = permutations ? (1 + (double)t->as_large) / (1 + (double)permutations) : NAN;
}

/* ---- MMD ---------------------------------------------------------------------------------------------- */

typedef struct samples {
    const fab_kernel *k;
    int64_t n, m, N, D, orders; /* orders: with the given one */
    uint64_t seed;
    fab_run run;

    double *Z;        /* N x D */
    double *K;        /* ROWS x N, row-major: rows of the block, columns from its first row on */
    double *r, *diag; /* N */
    double *marks;    /* N x MARKS, one order's after the other's */
    double *product;  /* ROWS x MARKS */
    double *A, *ar;   /* orders: a'K a over 2, a'r */
    int64_t *order;   /* N */

    int64_t first, rows; /* the block at hand */
    int64_t now;         /* columns of `marks` that count */
} samples;

static void layout_samples(fab_layout *l, void *handle)
{
    samples *s = handle;
    const int64_t now = least(s->orders, MARKS), rows = least(s->N, ROWS);
    s->Z = fab_place(l, s->N * s->D, sizeof(double));
    s->K = fab_place(l, rows * s->N, sizeof(double));
    s->r = fab_place(l, s->N, sizeof(double));
    s->diag = fab_place(l, s->N, sizeof(double));
    s->marks = fab_place(l, s->N * now, sizeof(double));
    s->product = fab_place(l, rows * now, sizeof(double));
    s->A = fab_place(l, s->orders, sizeof(double));
    s->ar = fab_place(l, s->orders, sizeof(double));
    s->order = fab_place(l, s->N, sizeof(int64_t));
}

/* Rows first .. first + rows - 1 of K, columns from `first` on, of which those above the diagonal count: the others are 0. */
static fab_status block_of(samples *s)
{
    const int64_t wide = s->N - s->first;
    const fab_exec x = fab_watch_exec(&s->run.watch, (fab_exec){.threads = s->run.threads});
    const double *from = s->Z + s->first * s->D;
    FAB_TRY(fab_kernel_cross(s->k, s->rows, from, s->D, wide, from, s->D, s->K, wide, &x));
    for (int64_t i = 0; i < s->rows; i++)
        memset(s->K + i * wide, 0, (size_t)(i + 1) * sizeof *s->K);
    return FAB_OK;
}

static void add_sums(samples *s)
{
    const int64_t wide = s->N - s->first;
    for (int64_t i = 0; i < s->rows; i++) {
        double sum = 0;
        for (int64_t j = i + 1; j < wide; j++) {
            sum += s->K[i * wide + j];
            s->r[s->first + j] += s->K[i * wide + j];
        }
        s->r[s->first + i] += sum;
    }
}

/* 2  a task: TASK columns of `marks` */
static void add_products(void *ctx, int64_t task, int thread)
{
    samples *s = ctx;
    (void)thread;
    const int64_t wide = s->N - s->first, at = task * TASK, count = least(TASK, s->now - at);
    double *C = s->product + at * s->rows; /* rows x count, row-major */
    fab_gemm(FAB_F64, FAB_N, FAB_T, s->rows, count, wide, 1, s->K, wide,
             s->marks + at * s->N + s->first, s->N, 0, C, count);
    for (int64_t b = 0; b < count; b++) {
        const double *a = s->marks + (at + b) * s->N + s->first;
        double sum = 0;
        for (int64_t i = 0; i < s->rows; i++) sum += a[i] * C[i * count + b];
        s->A[at + b] += sum;
    }
}

/* Marks of the orders from number `from` on; order 0 is the given one. */
static void set_marks(samples *s, int64_t from)
{
    memset(s->marks, 0, (size_t)(s->N * s->now) * sizeof *s->marks);
    for (int64_t b = 0; b < s->now; b++) {
        double *a = s->marks + b * s->N;
        for (int64_t i = 0; i < s->N; i++) s->order[i] = i;
        if (from + b > 0)
            fab_random_shuffle(s->seed, FAB_PURPOSE_PERMUTE, (uint64_t)(from + b), s->N, s->order);
        for (int64_t i = 0; i < s->n; i++) a[s->order[i]] = 1;
    }
}

static fab_status all_orders(samples *s)
{
    double *A = s->A;
    for (int64_t from = 0; from < s->orders; from += MARKS) {
        s->now = least(MARKS, s->orders - from);
        set_marks(s, from);
        s->A = A + from;
        for (s->first = 0; s->first < s->N; s->first += ROWS) {
            const int64_t wide = s->N - s->first;
            s->rows = least(ROWS, wide);
            fab_status status = block_of(s);
            if (status == FAB_OK && from == 0) add_sums(s);
            if (status == FAB_OK) {
                fab_parallel(s->run.threads, (s->now + TASK - 1) / TASK, add_products, s);
                status = fab_watch_work(&s->run.watch, (double)(s->rows * wide * s->now), "mmd",
                                        from, s->orders);
            }
            if (status != FAB_OK) {
                s->A = A;
                return status;
            }
        }
        s->A = A;
        for (int64_t b = 0; b < s->now; b++) { /* r is whole behind the first round */
            const double *a = s->marks + b * s->N;
            double sum = 0;
            for (int64_t i = 0; i < s->N; i++) sum += a[i] * s->r[i];
            s->ar[from + b] = sum;
        }
    }
    return FAB_OK;
}

/* 1  from a'K a, a'r and t, of pairs (n (n-1) of them, or with their diagonals n^2) */
static double mmd_of(double A, double ar, double t, double xx, double yy, double xy)
{
    return A / xx + (t - 2 * ar + A) / yy - 2 * (ar - A) / xy;
}

static fab_status compare(samples *s, fab_kernel_test *t)
{
    const double n = (double)s->n, m = (double)s->m;
    double total = 0, of_x = 0, of_y = 0, largest = 0;
    fab_kernel_diag(s->k, s->N, s->Z, s->D, s->diag);
    const int before = fab_blas_enter();
    const fab_status status = all_orders(s);
    fab_blas_leave(before);
    FAB_TRY(status);
    for (int64_t i = 0; i < s->N; i++) {
        total += s->r[i];
        *(i < s->n ? &of_x : &of_y) += s->diag[i];
        largest = fmax(largest, s->diag[i]);
    }
    const double A = 2 * s->A[0], xy = s->ar[0] - A;
    t->biased = (A + of_x) / (n * n) + (total - 2 * s->ar[0] + A + of_y) / (m * m) -
                2 * xy / (n * m);
    for (int64_t b = 0; b < s->orders; b++)
        s->A[b] = mmd_of(2 * s->A[b], s->ar[b], total, n * (n - 1), m * (m - 1), n * m);
    t->statistic = s->A[0];
    t->p_gamma = NAN;
    if (!isfinite(t->statistic))
        return FAB_FAIL(FAB_NUMERIC, "mmd: the kernel gives numbers that are not finite");
    set_p(t, s->A, s->orders - 1, largest);
    return FAB_OK;
}

/* The smaller sample is marked: of the larger one's pairs, t - 2 a'r + A, little cancels then. */
static fab_status open_samples(samples **s, const fab_kernel *k, int64_t n, const double *X,
                               int64_t ldx, int64_t m, const double *Y, int64_t ldy,
                               int64_t permutations, uint64_t seed, const fab_exec *x)
{
    const int swap = m < n;
    samples proto = {.k = k,
                     .n = swap ? m : n,
                     .m = swap ? n : m,
                     .N = n + m,
                     .D = fab_kernel_columns(k),
                     .orders = permutations + 1,
                     .seed = seed};
    FAB_TRY(fab_run_init(&proto.run, x, FAB_F64));
    FAB_TRY(fab_build((void **)s, sizeof proto, &proto, layout_samples));
    double *behind = (*s)->Z + (*s)->n * (*s)->D;
    gather(swap ? behind : (*s)->Z, n, (*s)->D, X, ldx);
    gather(swap ? (*s)->Z : behind, m, (*s)->D, Y, ldy);
    return FAB_OK;
}

fab_status fab_kernel_mmd(fab_kernel_test *t, const fab_kernel *k, int64_t n, const double *X,
                          int64_t ldx, int64_t m, const double *Y, int64_t ldy,
                          int64_t permutations, uint64_t seed, const fab_exec *x)
{
    samples *s;
    *t = (fab_kernel_test){0};
    FAB_TRY(check_size("mmd", least(n, m), 2, permutations));
    FAB_TRY(open_samples(&s, k, n, X, ldx, m, Y, ldy, permutations, seed, x));
    const fab_status status = compare(s, t);
    fab_release(s);
    return status;
}

fab_status fab_kernel_witness(const fab_kernel *k, int64_t n, const double *X, int64_t ldx,
                              int64_t m, const double *Y, int64_t ldy, int64_t count,
                              const double *Z, int64_t ldz, double *out, const fab_exec *x)
{
    const int64_t wide = n > m ? n : m;
    double *K;
    FAB_TRY(check_size("witness", least(n, m), 1, 0));
    FAB_TRY(fab_alloc_array((void **)&K, ROWS * wide, sizeof(double), "the witness function"));
    fab_status s = FAB_OK;
    for (int64_t first = 0; first < count && s == FAB_OK; first += ROWS) {
        const int64_t rows = least(ROWS, count - first);
        memset(out + first, 0, (size_t)rows * sizeof *out);
        for (int side = 0; side < 2 && s == FAB_OK; side++) {
            const int64_t of = side ? m : n;
            s = fab_kernel_cross(k, rows, Z + first * ldz, ldz, of, side ? Y : X, side ? ldy : ldx,
                                 K, of, x);
            for (int64_t i = 0; i < rows && s == FAB_OK; i++) {
                double sum = 0;
                for (int64_t j = 0; j < of; j++) sum += K[i * of + j];
                out[first + i] += (side ? -sum : sum) / (double)of;
            }
        }
    }
    fab_release(K);
    return s;
}

/* ---- HSIC --------------------------------------------------------------------------------------------- */

typedef struct joint {
    int64_t n, orders;
    uint64_t seed;
    fab_run run;
    double *K, *L;     /* n x n; K becomes U */
    double *r, *s, *d; /* n: sums of rows, of K and of L; a diagonal */
    double *value;     /* orders */
    int64_t *order;    /* threads x n */
    int64_t first;     /* order of this round */
} joint;

static void layout_joint(fab_layout *l, void *handle)
{
    joint *j = handle;
    j->K = fab_place(l, j->n * j->n, sizeof(double));
    j->L = fab_place(l, j->n * j->n, sizeof(double));
    j->r = fab_place(l, j->n, sizeof(double));
    j->s = fab_place(l, j->n, sizeof(double));
    j->d = fab_place(l, j->n, sizeof(double));
    j->value = fab_place(l, j->orders, sizeof(double));
    j->order = fab_place(l, j->run.threads * j->n, sizeof(int64_t));
}

/* Sums of the rows of K without its diagonal, their sum; the sum of the diagonal. */
static double sums_of(int64_t n, const double *K, double *r, double *diagonal)
{
    double total = 0;
    *diagonal = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += j == i ? 0 : K[i * n + j];
        r[i] = sum;
        total += sum;
        *diagonal += K[i * n + i];
    }
    return total;
}

/* 3 and 6  from K and L as they are */
static void set_biased(const joint *j, fab_kernel_test *t, double of_k, double dk, double of_l,
                       double dl)
{
    const int64_t n = j->n;
    const double N = (double)n, all_k = (of_k + dk) / N, all_l = (of_l + dl) / N;
    double sum = 0, squares = 0;
    for (int64_t a = 0; a < n; a++) {
        const double ka = (j->r[a] + j->K[a * n + a]) / N, la = (j->s[a] + j->L[a * n + a]) / N;
        for (int64_t b = 0; b < n; b++) {
            const double kc = j->K[a * n + b] - ka - (j->r[b] + j->K[b * n + b]) / N + all_k / N,
                         lc = j->L[a * n + b] - la - (j->s[b] + j->L[b * n + b]) / N + all_l / N;
            sum += kc * lc;
            if (a != b) squares += kc * lc * kc * lc;
        }
    }
    t->biased = sum / (N * N);
    t->p_gamma = NAN;
    if (n < 6) return;
    const double pairs = N * (N - 1);
    const double mean = (dk / N - of_k / pairs) * (dl / N - of_l / pairs) / N;
    const double variance = 2 * (N - 4) * (N - 5) / (pairs * (N - 2) * (N - 3)) * squares / pairs;
    if (mean > 0 && variance > 0)
        t->p_gamma = fab_chi_square_above(2 * mean * mean / variance,
                                          2 * fmax(t->biased, 0) * mean / variance);
}

/* 5  orders first + task */
static void permuted(void *ctx, int64_t task, int thread)
{
    joint *j = ctx;
    const int64_t n = j->n, b = j->first + task;
    int64_t *o = j->order + thread * n;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) o[i] = i;
    if (b > 0) fab_random_shuffle(j->seed, FAB_PURPOSE_PERMUTE, (uint64_t)b, n, o);
    for (int64_t i = 1; i < n; i++) {
        const double *U = j->K + i * n, *L = j->L + o[i] * n;
        double even = 0, odd = 0; /* two chains of additions */
        int64_t c = 0;
        for (; c + 1 < i; c += 2) {
            even += U[c] * L[o[c]];
            odd += U[c + 1] * L[o[c + 1]];
        }
        if (c < i) even += U[c] * L[o[c]];
        sum += even + odd;
    }
    j->value[b] = 2 * sum / ((double)n * ((double)n - 3));
}

static fab_status test_joint(joint *j, fab_kernel_test *t)
{
    const int64_t n = j->n;
    const double N = (double)n;
    double dk, dl;
    const double of_k = sums_of(n, j->K, j->r, &dk), of_l = sums_of(n, j->L, j->s, &dl);
    if (!isfinite(of_k + of_l + dk + dl))
        return FAB_FAIL(FAB_NUMERIC, "hsic: a kernel gives numbers that are not finite");
    set_biased(j, t, of_k, dk, of_l, dl);
    for (int64_t a = 0; a < n; a++) /* 4 */
        for (int64_t b = 0; b < n; b++)
            j->K[a * n + b] = a == b ? 0
                                     : j->K[a * n + b] - (j->r[a] + j->r[b]) / (N - 2) +
                                           of_k / ((N - 1) * (N - 2));
    const int64_t round = 4 * (int64_t)j->run.threads;
    for (j->first = 0; j->first < j->orders; j->first += round) {
        const int64_t some = least(round, j->orders - j->first);
        fab_parallel(j->run.threads, some, permuted, j);
        FAB_TRY(fab_watch_work(&j->run.watch, (double)some * N * N, "hsic", j->first + some,
                               j->orders));
    }
    t->statistic = j->value[0];
    set_p(t, j->value, j->orders - 1, dk / N * (dl / N));
    return FAB_OK;
}

fab_status fab_kernel_hsic(fab_kernel_test *t, const fab_kernel *k, const double *X, int64_t ldx,
                           const fab_kernel *l, const double *Y, int64_t ldy, int64_t n,
                           int64_t permutations, uint64_t seed, const fab_exec *x)
{
    FAB_TRY(check_size("hsic", n, 4, permutations));
    joint proto = {.n = n, .orders = permutations + 1, .seed = seed}, *j;
    *t = (fab_kernel_test){0};
    FAB_TRY(fab_run_init(&proto.run, x, FAB_F64));
    fab_status s = fab_build((void **)&j, sizeof proto, &proto, layout_joint);
    if (s != FAB_OK)
        return fab_prefix(s, "hsic: two matrices of %lld x %lld numbers: ", (long long)n,
                          (long long)n);
    const fab_exec within = fab_watch_exec(&j->run.watch, (fab_exec){.threads = j->run.threads});
    s = fab_kernel_gram(k, n, X, ldx, j->K, n, &within);
    if (s == FAB_OK) s = fab_kernel_gram(l, n, Y, ldy, j->L, n, &within);
    if (s == FAB_OK) s = test_joint(j, t);
    fab_release(j);
    return s;
}

/* ---- a length-scale ----------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

fab_status fab_kernel_median(double *distance, int64_t n, int64_t D, const double *X, int64_t ldx,
                             uint64_t seed)
{
    const int64_t some = least(n, NEAREST), pairs = some * (some - 1) / 2;
    double *d;
    int64_t *order, count = 0, none = 0;
    *distance = 0;
    if (n < 2) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&order, n, sizeof *order, "the median distance"));
    fab_status s = fab_alloc_array((void **)&d, pairs, sizeof *d, "the median distance");
    if (s == FAB_OK) {
        for (int64_t i = 0; i < n; i++) order[i] = i;
        if (some < n) fab_random_shuffle(seed, FAB_PURPOSE_PERMUTE, 0, n, order);
        for (int64_t i = 0; i < some; i++)
            for (int64_t j = 0; j < i; j++) {
                const double *a = X + order[i] * ldx, *b = X + order[j] * ldx;
                double sum = 0;
                for (int64_t c = 0; c < D; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
                d[count++] = sqrt(sum);
            }
        qsort(d, (size_t)pairs, sizeof *d, by_size);
        while (none < pairs && d[none] == 0) none++;
        if (d[pairs / 2] > 0)
            *distance = pairs % 2 ? d[pairs / 2] : (d[pairs / 2 - 1] + d[pairs / 2]) / 2;
        else if (none < pairs)
            *distance = d[none + (pairs - none) / 2];
        fab_release(d);
    }
    fab_release(order);
    return s;
}
