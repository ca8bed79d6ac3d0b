/* test_kernel_tests.c - two samples and two vectors compared by kernels: against sums over all pairs and exact enumeration.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "kernel_case.h"

enum { D = 3, MOST = 700 };

static void fill(double *x, int64_t n, int64_t d, uint64_t stream)
{
    fab_random_normal(2385, FAB_PURPOSE_DATA, stream, 0, n * d, FAB_F64, x);
}

static fab_kernel *kernel_of(const char *text, int64_t d)
{
    fab_kernel *k;
    assert_int_equal(fab_kernel_create(&k, text, d, NULL), FAB_OK);
    return k;
}

static double *gram(const fab_kernel *k, int64_t n, const double *x, int64_t d)
{
    double *K = malloc((size_t)(n * n) * sizeof *K);
    assert_int_equal(fab_kernel_gram(k, n, x, d, K, n, NULL), FAB_OK);
    return K;
}

/* ---- MMD ---------------------------------------------------------------------------------------------- */

/* Of the rows marked 1 and 0, by the definition. */
static double plain_mmd(const double *K, int64_t N, const int *mark, int unbiased)
{
    double xx = 0, yy = 0, xy = 0, n = 0, m = 0;
    for (int64_t i = 0; i < N; i++) *(mark[i] ? &n : &m) += 1;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) {
            if (unbiased && i == j) continue;
            if (mark[i] != mark[j])
                xy += K[i * N + j] / 2;
            else
                *(mark[i] ? &xx : &yy) += K[i * N + j];
        }
    return unbiased ? xx / (n * (n - 1)) + yy / (m * (m - 1)) - 2 * xy / (n * m)
                    : xx / (n * n) + yy / (m * m) - 2 * xy / (n * m);
}

static void mmd_is_the_sum_over_all_pairs(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{2, 2}, {3, 40}, {255, 2}, {256, 256}, {300, 257}};
    static const char *const texts[] = {"rbf:l=1.3", "matern32", "rq + 0.5*linear"};
    static double z[MOST * D];
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        const int64_t n = sizes[c][0], m = sizes[c][1], N = n + m;
        fill(z, N, D, c);
        int mark[MOST];
        for (int64_t i = 0; i < N; i++) mark[i] = i < n;
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            fab_kernel *k = kernel_of(texts[t], D);
            fab_kernel_test r;
            double *K = gram(k, N, z, D), largest = 0;
            for (int64_t i = 0; i < N; i++) largest = fmax(largest, K[i * N + i]);
            assert_int_equal(fab_kernel_mmd(&r, k, n, z, D, m, z + n * D, D, 0, 1, NULL), FAB_OK);
            /* sums of N^2 numbers: N roundings of the largest */
            assert_true(fabs(r.statistic - plain_mmd(K, N, mark, 1)) < 1e-12 * largest);
            assert_true(fabs(r.biased - plain_mmd(K, N, mark, 0)) < 1e-12 * largest);
            assert_true(isnan(r.p) && isnan(r.p_gamma));
            free(K);
            fab_kernel_free(k);
        }
    }
}

/* 4 + 4 rows: 70 ways to mark them, each as likely. */
static void p_of_mmd_is_that_of_all_orders(void **state)
{
    (void)state;
    enum { N = 8, B = 20000 };
    double z[N * D], as_large = 0, all = 0;
    fill(z, N, D, 50);
    for (int i = 0; i < 4 * D; i++) z[i] += 0.4;
    fab_kernel *k = kernel_of("rbf", D);
    double *K = gram(k, N, z, D);
    const int given[N] = {1, 1, 1, 1};
    const double statistic = plain_mmd(K, N, given, 1);
    for (int set = 0; set < 1 << N; set++) {
        int mark[N], marks = 0;
        for (int i = 0; i < N; i++) marks += mark[i] = set >> i & 1;
        if (marks != 4) continue;
        all++;
        as_large += plain_mmd(K, N, mark, 1) >= statistic - 1e-12;
    }
    const double p = as_large / all;
    assert_true(p > 0.02 && p < 0.9);
    fab_kernel_test r;
    assert_int_equal(fab_kernel_mmd(&r, k, 4, z, D, 4, z + 4 * D, D, B, 7, NULL), FAB_OK);
    /* a fixed seed; by chance one seed in 16000 would be beyond 4 standard errors */
    assert_true(fabs(r.p - p) < 4 * sqrt(p * (1 - p) / B) + 1. / B);
    assert_int_equal(r.permutations, B);
    assert_true(r.p == (1 + (double)r.as_large) / (1 + B));
    free(K);
    fab_kernel_free(k);
}

static void the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    static double z[MOST * D];
    fill(z, MOST, D, 60);
    fab_kernel *k = kernel_of("rbf", D), *l = kernel_of("matern52:ard", D);
    fab_kernel_test a[3], b[3];
    memset(a, 0, sizeof a); /* of padding too */
    memset(b, 0, sizeof b);
    for (int i = 0; i < 3; i++) {
        const fab_exec x = {.threads = 1 + i};
        assert_int_equal(fab_kernel_mmd(&a[i], k, 300, z, D, 400, z + 300 * D, D, 300, 3, &x),
                         FAB_OK);
        assert_int_equal(fab_kernel_hsic(&b[i], k, z, D, l, z + 300 * D, D, 300, 50, 3, &x),
                         FAB_OK);
        assert_memory_equal(&a[i].statistic, &a[0].statistic, sizeof(double));
        assert_memory_equal(&b[i].statistic, &b[0].statistic, sizeof(double));
        assert_memory_equal(&b[i].p_gamma, &b[0].p_gamma, sizeof(double));
        assert_true(a[i].as_large == a[0].as_large && b[i].as_large == b[0].as_large);
    }
    fab_kernel_free(l);
    fab_kernel_free(k);
}

static void the_witness_is_where_there_is_more_of_one_sample(void **state)
{
    (void)state;
    enum { N = 300 };
    static double x[N], y[N];
    double at[2] = {1, -1}, w[2], mean_x[2] = {0}, mean_y[2] = {0};
    fill(x, N, 1, 70);
    fill(y, N, 1, 71);
    for (int i = 0; i < N; i++) x[i] += 1;
    for (int i = 0; i < N; i++) y[i] -= 1;
    fab_kernel *k = kernel_of("rbf:l=0.5", 1);
    assert_int_equal(fab_kernel_witness(k, N, x, 1, N, y, 1, 2, at, 1, w, NULL), FAB_OK);
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < N; i++) {
            mean_x[t] += exp(-2 * (at[t] - x[i]) * (at[t] - x[i])) / N;
            mean_y[t] += exp(-2 * (at[t] - y[i]) * (at[t] - y[i])) / N;
        }
    for (int t = 0; t < 2; t++) assert_true(fabs(w[t] - (mean_x[t] - mean_y[t])) < 1e-13);
    assert_true(w[0] > 0.1 && w[1] < -0.1);
    fab_kernel_free(k);
}

/* ---- HSIC --------------------------------------------------------------------------------------------- */

/* tr(K H L H) / n^2, matrices multiplied out. */
static double plain_biased(const double *K, const double *L, int64_t n)
{
    double *A = calloc((size_t)(n * n), sizeof *A), sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++)
                A[i * n + j] += K[i * n + k] * ((k == j) - 1. / (double)n);
    double *B = calloc((size_t)(n * n), sizeof *B);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++)
                B[i * n + j] += L[i * n + k] * ((k == j) - 1. / (double)n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) sum += A[i * n + j] * B[j * n + i];
    free(A);
    free(B);
    return sum / (double)(n * n);
}

/* Song and others (2012): sums over matrices without their diagonals; order: of L. */
static double plain_unbiased(const double *K, const double *L, int64_t n, const int *o)
{
    double tr = 0, k1 = 0, l1 = 0, kl = 0;
    for (int64_t i = 0; i < n; i++) {
        double rk = 0, rl = 0;
        for (int64_t j = 0; j < n; j++) {
            if (i == j) continue;
            tr += K[i * n + j] * L[o[i] * n + o[j]];
            rk += K[i * n + j];
            rl += L[o[i] * n + o[j]];
        }
        k1 += rk;
        l1 += rl;
        kl += rk * rl;
    }
    const double N = (double)n;
    return (tr + k1 * l1 / ((N - 1) * (N - 2)) - 2 * kl / (N - 2)) / (N * (N - 3));
}

static void hsic_is_what_matrices_say(void **state)
{
    (void)state;
    static const int64_t sizes[] = {4, 5, 6, 33, 90};
    static double x[90 * D], y[90 * 2];
    int order[90];
    for (int i = 0; i < 90; i++) order[i] = i;
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        const int64_t n = sizes[c];
        fill(x, n, D, 100 + c);
        fill(y, n, 2, 200 + c);
        for (int64_t i = 0; i < n; i++) y[2 * i] += x[D * i] * x[D * i];
        fab_kernel *k = kernel_of("rbf:l=1.7", D), *l = kernel_of("2*matern52 + linear", 2);
        double *K = gram(k, n, x, D), *L = gram(l, n, y, 2), most = 0;
        for (int64_t i = 0; i < n; i++) most = fmax(most, L[i * n + i]);
        fab_kernel_test r;
        assert_int_equal(fab_kernel_hsic(&r, k, x, D, l, y, 2, n, 0, 1, NULL), FAB_OK);
        assert_true(fabs(r.biased - plain_biased(K, L, n)) < 1e-12 * most);
        assert_true(fabs(r.statistic - plain_unbiased(K, L, n, order)) < 1e-12 * most);
        assert_true(isnan(r.p_gamma) == (n < 6));
        free(K);
        free(L);
        fab_kernel_free(k);
        fab_kernel_free(l);
    }
}

static void p_of_hsic_is_that_of_all_orders(void **state)
{
    (void)state;
    enum { N = 6, ALL = 720, B = 20000 };
    double x[N], y[N], value[ALL];
    int o[N] = {0, 1, 2, 3, 4, 5}, turn[N] = {0}, count = 0;
    fill(x, N, 1, 300);
    fill(y, N, 1, 301);
    for (int i = 0; i < N; i++) y[i] += x[i];
    fab_kernel *k = kernel_of("rbf", 1);
    double *K = gram(k, N, x, 1), *L = gram(k, N, y, 1);
    value[count++] = plain_unbiased(K, L, N, o);
    for (int i = 1; i < N;) { /* Heap's way through all orders */
        if (turn[i] >= i) {
            turn[i++] = 0;
            continue;
        }
        const int j = i % 2 ? turn[i] : 0, was = o[j];
        o[j] = o[i];
        o[i] = was;
        value[count++] = plain_unbiased(K, L, N, o);
        turn[i]++;
        i = 1;
    }
    assert_int_equal(count, ALL);
    double as_large = 0;
    for (int i = 0; i < ALL; i++) as_large += value[i] >= value[0] - 1e-12;
    const double p = as_large / ALL;
    assert_true(p > 0.005 && p < 0.9);
    fab_kernel_test r;
    assert_int_equal(fab_kernel_hsic(&r, k, x, 1, k, y, 1, N, B, 11, NULL), FAB_OK);
    assert_true(fabs(r.p - p) < 4 * sqrt(p * (1 - p) / B) + 1. / B); /* as for MMD */
    free(K);
    free(L);
    fab_kernel_free(k);
}

/* ---- levels ------------------------------------------------------------------------------------------- */

/* Pairs of samples of one distribution are rejected at .05 as often as that: 2000 of each, seeds fixed. */
static void five_in_a_hundred_are_rejected_where_nothing_is_there(void **state)
{
    (void)state;
    enum { PAIRS = 2000, N = 24, B = 99 };
    int mmd = 0, hsic = 0, gamma = 0;
    fab_kernel *k = kernel_of("rbf:l=1.4", 2);
    for (int pair = 0; pair < PAIRS; pair++) {
        double x[2 * N], y[2 * N];
        fab_kernel_test r;
        fill(x, N, 2, 1000 + 2 * (uint64_t)pair);
        fill(y, N, 2, 1001 + 2 * (uint64_t)pair);
        const fab_exec alone = {.threads = 1};
        assert_int_equal(fab_kernel_mmd(&r, k, N, x, 2, N, y, 2, B, (uint64_t)pair, &alone),
                         FAB_OK);
        mmd += r.p <= 0.05;
        assert_int_equal(fab_kernel_hsic(&r, k, x, 2, k, y, 2, N, B, (uint64_t)pair, &alone),
                         FAB_OK);
        hsic += r.p <= 0.05;
        gamma += r.p_gamma <= 0.05;
    }
    print_message("rejected at .05: mmd %.4f, hsic %.4f, by Gamma %.4f\n", mmd / (double)PAIRS,
                  hsic / (double)PAIRS, gamma / (double)PAIRS);
    /* standard error .0049: 3.5 to 6.5 % are 3 of them */
    assert_true(mmd >= 70 && mmd <= 130);
    assert_true(hsic >= 70 && hsic <= 130);
    assert_true(gamma >= 40 &&
                gamma <=
                    160); /* the Gamma distribution is an approximation, at 24 rows a rough one */
    fab_kernel_free(k);
}

static void what_differs_and_what_depends_is_found(void **state)
{
    (void)state;
    enum { N = 100 };
    static double x[N], y[N];
    fab_kernel_test r;
    double l;
    fill(x, N, 1, 400);
    fill(y, N, 1, 401);
    for (int i = 0; i < N; i++) y[i] *= 2; /* another width, the same mean */
    fab_kernel *k = kernel_of("rbf", 1);
    assert_int_equal(fab_kernel_mmd(&r, k, N, x, 1, N, y, 1, 999, 1, NULL), FAB_OK);
    assert_true(r.p == 0.001 && r.statistic > 0.01);
    for (int i = 0; i < N; i++) y[i] = x[i] * x[i]; /* without correlation */
    assert_int_equal(fab_kernel_hsic(&r, k, x, 1, k, y, 1, N, 999, 1, NULL), FAB_OK);
    assert_true(r.p == 0.001 && r.p_gamma < 1e-6);
    assert_int_equal(fab_kernel_median(&l, N, 1, x, 1, 1), FAB_OK);
    assert_true(l > 0.8 && l < 1.1); /* of N(0, 1): sqrt(2) .6745 = .954 */
    fab_kernel_free(k);
}

/* ---- refusals ----------------------------------------------------------------------------------------- */

static void too_few_rows_are_refused_with_a_sentence(void **state)
{
    (void)state;
    double x[8 * D];
    fab_kernel_test r;
    double w;
    fill(x, 8, D, 500);
    fab_kernel *k = kernel_of("rbf", D);
    assert_int_equal(fab_kernel_mmd(&r, k, 1, x, D, 5, x, D, 10, 1, NULL), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "mmd: 1 row, and it needs at least 2");
    assert_int_equal(fab_kernel_hsic(&r, k, x, D, k, x, D, 3, 10, 1, NULL), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "hsic: 3 rows, and it needs at least 4");
    assert_int_equal(fab_kernel_hsic(&r, k, x, D, k, x, D, 8, -1, 1, NULL), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_kernel_witness(k, 0, x, D, 8, x, D, 1, x, D, &w, NULL), FAB_BAD_ARGUMENT);
    fab_kernel_free(k);
}

static void rows_that_are_all_alike_have_no_distance(void **state)
{
    (void)state;
    double x[6] = {3, 3, 3, 3, 3, 3}, l = -1;
    assert_int_equal(fab_kernel_median(&l, 6, 1, x, 1, 1), FAB_OK);
    assert_true(l == 0);
    x[5] = 5; /* the median is 0, of what is not 0 it is 2 */
    assert_int_equal(fab_kernel_median(&l, 6, 1, x, 1, 1), FAB_OK);
    assert_true(l == 2);
}

static int stop_now(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return 1;
}

static void a_test_can_be_stopped(void **state)
{
    (void)state;
    static double x[MOST * D];
    fab_kernel_test r;
    fill(x, MOST, D, 600);
    fab_kernel *k = kernel_of("rbf", D);
    const fab_exec e = {.threads = 1, .progress = stop_now};
    assert_int_equal(fab_kernel_mmd(&r, k, 350, x, D, 350, x + 350 * D, D, 1000, 1, &e),
                     FAB_STOPPED);
    assert_int_equal(fab_kernel_hsic(&r, k, x, D, k, x, D, MOST, 1000, 1, &e), FAB_STOPPED);
    fab_kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mmd_is_the_sum_over_all_pairs),
        cmocka_unit_test(p_of_mmd_is_that_of_all_orders),
        cmocka_unit_test(the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(the_witness_is_where_there_is_more_of_one_sample),
        cmocka_unit_test(hsic_is_what_matrices_say),
        cmocka_unit_test(p_of_hsic_is_that_of_all_orders),
        cmocka_unit_test(five_in_a_hundred_are_rejected_where_nothing_is_there),
        cmocka_unit_test(what_differs_and_what_depends_is_found),
        cmocka_unit_test(too_few_rows_are_refused_with_a_sentence),
        cmocka_unit_test(rows_that_are_all_alike_have_no_distance),
        cmocka_unit_test(a_test_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
