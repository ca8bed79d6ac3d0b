/* test_scatter.c - the scatter matrix against plain loops in quadruple precision.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "la/scatter.h"

typedef struct scatter {
    double *S, *sum;
} scatter;

static scatter run(int narrow, const fab_rows *x, int64_t D, const double *c, int64_t threads)
{
    const fab_exec exec = {.threads = threads};
    fab_run r;
    scatter s = {doubles(D * D), doubles(D)};
    assert_ok(fab_run_init(&r, &exec, FAB_F64));
    const int before = fab_blas_enter();
    fab_scatter(&r, narrow, x, NULL, D, c, s.S, s.sum, doubles(fab_scatter_work(D)));
    fab_blas_leave(before);
    return s;
}

static const void *numbers(fab_dtype type, int64_t n)
{
    double *x = doubles(n);
    float *y = dense_bytes((size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) x[i] = 2.385 * noise(3, i) + 7, y[i] = (float)x[i];
    return type == FAB_F32 ? (const void *)y : x;
}

static double element(const fab_rows *x, int64_t at)
{
    return x->type == FAB_F32 ? (double)((const float *)x->p)[at] : ((const double *)x->p)[at];
}

/* Sums of N products of numbers rounded once each: (N + 2) u times the sum of the moduli.  Of floats at most 512 are added as
 * such, and the sum of rows has them rounded once. */
static void compare_as(int narrow, fab_dtype type, int64_t D, int64_t N, int64_t gap)
{
    const double block = N < FAB_BLOCK_ROWS ? (double)N : FAB_BLOCK_ROWS, u = narrow ? 0x1p-24 : 0;

    const fab_rows x = {numbers(type, N * (D + gap)), type, N, D + gap};
    double *c = doubles(D);
    for (int64_t i = 0; i < D; i++) c[i] = 7 + 0.3 * noise(4, i);
    const scatter s = run(narrow, &x, D, c, 0);
    for (int64_t i = 0; i < D; i++) {
        real sum = 0, moduli = 0;
        for (int64_t j = 0; j < N; j++) {
            const real d = element(&x, j * x.ld + i) - (real)c[i];
            sum += d;
            moduli += r_abs(d);
        }
        assert_near(s.sum[i], sum, ((double)(N + 2) * ROUND_F64 + u) * moduli);
        for (int64_t l = 0; l < D; l++) {
            real product = 0, size = 0;
            for (int64_t j = 0; j < N; j++) {
                const real a = element(&x, j * x.ld + i) - (real)c[i];
                const real b = element(&x, j * x.ld + l) - (real)c[l];
                product += a * b;
                size += r_abs(a * b);
            }
            assert_near(s.S[i + l * D], product,
                        ((double)(N + 4) * ROUND_F64 + (block + 4) * u) * size);
            assert_true(s.S[i + l * D] == s.S[l + i * D]);
        }
    }
}

static void compare(fab_dtype type, int64_t D, int64_t N, int64_t gap)
{
    compare_as(0, type, D, N, gap);
    if (D >= 256) compare_as(1, type, D, N, gap); /* few columns are never rounded */
}

static void scatter_is_the_sum_of_outer_products(void **state)
{
    (void)state;
    const int64_t D[] = {1, 2, 29, 96, 97}, N[] = {1, 2, 31, 33, 7};
    for (int i = 0; i < 5; i++)
        for (int64_t gap = 0; gap < 4; gap += 3) {
            compare(FAB_F64, D[i], N[i], gap);
            compare(FAB_F32, D[i], N[i], gap);
        }
    compare(FAB_F64, 5, 2385, 2); /* three panels, the last one short */
    compare(FAB_F32, 3, 1024, 0);
    compare(FAB_F64, 3, 1025, 0);
    compare(FAB_F64, 199, 5, 0); /* three strips */
    compare(FAB_F32, 256, 29, 1);
    compare(FAB_F64, 259, 519, 0); /* two blocks of floats */
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    enum { D = 301, N = 2385 };
    for (int type = FAB_F64; type <= FAB_F32; type++) {
        const fab_rows x = {numbers((fab_dtype)type, N * D), (fab_dtype)type, N, D};
        const double *c = doubles(D);
        const scatter one = run(type == FAB_F32, &x, D, c, 1);
        for (int64_t threads = 2; threads <= 14; threads += 4) {
            const scatter more = run(type == FAB_F32, &x, D, c, threads);
            assert_memory_equal(more.S, one.S, D * D * sizeof *one.S);
            assert_memory_equal(more.sum, one.sum, D * sizeof *one.sum);
        }
    }
}

/* Numbers rounded once and at most 512 products added in floats; very few rows stay doubles. */
static void strips_of_floats_agree_with_those_of_doubles(void **state)
{
    (void)state;
    enum { D = 301 };
    const int64_t N[] = {29, 97, 1025};
    const int64_t count = fab_strips_count(D);
    for (int i = 0; i < 3; i++) {
        double *X = doubles(N[i] * D), *A = doubles(count), *B = doubles(count),
               *C = doubles(count);
        double *Y = doubles(N[i] * D), *size = doubles(count), *Z = doubles(N[i] * D);
        fab_run r;
        assert_ok(fab_run_init(&r, NULL, FAB_F64));
        for (int64_t e = 0; e < N[i] * D; e++) X[e] = 2.385 * noise(5, e);
        for (int64_t e = 0; e < N[i] * D; e++) Y[e] = Z[e] = X[e];
        for (int64_t e = 0; e < count; e++) A[e] = B[e] = C[e] = 0.5, size[e] = 0;
        fab_strips_add(&r, D, N[i], X, A);
        fab_strips_add_floats(&r, D, N[i], Y, B);
        r.threads = 3;
        fab_strips_add_floats(&r, D, N[i], Z, C);
        assert_memory_equal(B, C, (size_t)count * sizeof *B);
        for (int64_t e = 0; e < N[i] * D; e++) X[e] = fabs(X[e]);
        fab_strips_add(&r, D, N[i], X, size);
        const double block = N[i] < FAB_BLOCK_ROWS ? (double)N[i] : FAB_BLOCK_ROWS;
        double most = 0;
        for (int64_t e = 0; e < count; e++) {
            assert_near(B[e], A[e], (block + 4) * 0x1p-24 * size[e]);
            most = fmax(most, fabs(B[e] - A[e]));
        }
        assert_true((most > 0) == (N[i] > 29));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scatter_is_the_sum_of_outer_products),
        TEST(any_number_of_threads_gives_the_same_bytes),
        TEST(strips_of_floats_agree_with_those_of_doubles),
    };
    return cmocka_run_group_tests_name("scatter", tests, NULL, NULL);
}
