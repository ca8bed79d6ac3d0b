/* test_normals.c - normal numbers by address: the reference's values, any split, any instruction set, and
 * a normal law.
 *
 * Statistical tests use fixed seeds: they pass or fail for good.  Each statistic is held to 5 standard
 * deviations, a false alarm of 6e-7 each; with less than 200 of them, 1e-4 for the file.
 *
 * SPDX-License-Identifier: MIT */
#include "base/random_ref.h"
#include "la_case.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N = 1 << 20 };

static void reference(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t index0,
                      int64_t n, fab_dtype type, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        const uint64_t index = index0 + (uint64_t)i;
        uint32_t bits[4];
        double pair[2];
        float quad[4];
        fab_random_bits(seed, purpose, stream, index / (type == FAB_F64 ? 2 : 4), bits);
        fab_normal_pair_f64(bits, pair);
        fab_normal_quad_f32(bits, quad);
        out[i] = type == FAB_F64 ? pair[index % 2] : (double)quad[index % 4];
    }
}

static double *draw(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t index0, int64_t n,
                    fab_dtype type)
{
    double *v = la_doubles(n);
    float *f = fab_alloc((size_t)n * sizeof *f);
    fab_random_normal(seed, purpose, stream, index0, n, type,
                      type == FAB_F64 ? (void *)v : (void *)f);
    for (int64_t i = 0; i < n && type == FAB_F32; i++) v[i] = (double)f[i];
    fab_release(f);
    return v;
}

/* The reference's angle 2 pi u is rounded: 7 * eps absolute, times a radius below 8.6; ours adds a few. */
static void values_are_the_references_on_every_instruction_set(void **state)
{
    (void)state;
    static const uint64_t starts[] = {0, 1, 3, 0xfffffffeu, 0x1fffffff3u, UINT64_C(1) << 40};
    double *expected = la_doubles(5003);
    for (int which = 0; fab_isa_available(which); which++)
        for (int type = FAB_F64; type <= FAB_F32; type++)
            for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
                fab_isa_force(fab_isa_available(which));
                double *v = draw(UINT64_C(0x123456789abcdef0), (fab_purpose)0xabcd,
                                 UINT64_C(0xfedcba9876543210), starts[s], 5003, (fab_dtype)type);
                reference(UINT64_C(0x123456789abcdef0), (fab_purpose)0xabcd,
                          UINT64_C(0xfedcba9876543210), starts[s], 5003, (fab_dtype)type, expected);
                assert_true(la_distance(5003, v, expected) <= 64 * la_eps((fab_dtype)type));
                fab_release(v);
            }
    fab_isa_force(NULL);
    fab_release(expected);
}

static void split_equals_whole(void **state)
{
    (void)state;
    for (int type = FAB_F64; type <= FAB_F32; type++) {
        double *whole = draw(7, FAB_PURPOSE_DATA, 8, 5, 1000, (fab_dtype)type);
        for (int64_t cut = 1; cut < 80; cut++) {
            double *a = draw(7, FAB_PURPOSE_DATA, 8, 5, cut, (fab_dtype)type),
                   *b =
                       draw(7, FAB_PURPOSE_DATA, 8, 5 + (uint64_t)cut, 1000 - cut, (fab_dtype)type);
            assert_memory_equal(a, whole, (size_t)cut * sizeof *a);
            assert_memory_equal(b, whole + cut, (size_t)(1000 - cut) * sizeof *b);
            fab_release(a), fab_release(b);
        }
        fab_release(whole);
    }
}

static void randn_is_the_same_for_any_thread_count_and_layout(void **state)
{
    (void)state;
    const int64_t n = 30011, k = 7;
    for (int type = FAB_F64; type <= FAB_F32; type++) {
        double *whole = draw(3, FAB_PURPOSE_START, 4, 0, n * k, (fab_dtype)type);
        for (int threads = 1; threads <= 4; threads++) {
            fab_run r = la_run(fab_ops_find("cpu", (fab_dtype)type), threads);
            la_lend(&r, n, k, k);
            fab_long A = la_view((fab_dtype)type, threads % 2 ? BY_ROWS : BY_COLUMNS, n, k);
            r.ops->randn(&r, 3, FAB_PURPOSE_START, 4, &A);
            double *v = la_values(r.ops, &A);
            assert_memory_equal(v, whole, (size_t)(n * k) * sizeof *v);
            fab_release(v), fab_release(A.p), fab_release(r.work);
        }
        fab_release(whole);
    }
}

/* A tail word at either end of its range must not give an infinity or a NaN. */
static void every_number_is_finite(void **state)
{
    (void)state;
    for (int type = FAB_F64; type <= FAB_F32; type++)
        for (uint64_t stream = 0; stream < 8; stream++) {
            double *v = draw(11, FAB_PURPOSE_DATA, stream, 0, N, (fab_dtype)type);
            for (int64_t i = 0; i < N; i++) assert_true(fabs(v[i]) < 9);
            fab_release(v);
        }
}

/* ---- the law ------------------------------------------------------------------------------------- */

static void assert_within_5_sigma(double found, double expected, double sigma)
{
    if (!(fabs(found - expected) <= 5 * sigma))
        fail_msg("%g is %.1f sigma from %g", found, fabs(found - expected) / sigma, expected);
}

static void moments_are_those_of_a_normal_law(void **state)
{
    (void)state;
    /* variance of x^p is E x^2p - (E x^p)^2, and E x^2p = (2p - 1)!! */
    static const double mean[] = {0, 1, 0, 3, 0, 15}, variance[] = {1, 2, 15, 96, 945, 10170};
    for (int type = FAB_F64; type <= FAB_F32; type++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            double *v = draw(seed, FAB_PURPOSE_DATA, 1, 0, N, (fab_dtype)type);
            for (int p = 1; p <= 6; p++) {
                double sum = 0;
                for (int64_t i = 0; i < N; i++) sum += pow(v[i], p);
                assert_within_5_sigma(sum / N, mean[p - 1], sqrt(variance[p - 1] / N));
            }
            fab_release(v);
        }
}

static void tails_have_their_share(void **state)
{
    (void)state;
    static const double at[] = {1, 2, 3, 4};
    for (int type = FAB_F64; type <= FAB_F32; type++)
        for (int t = 0; t < 4; t++) {
            const double p = erfc(at[t] / sqrt(2)), count = 8.0 * N;
            double beyond = 0;
            for (uint64_t stream = 0; stream < 8; stream++) {
                double *v = draw(21, FAB_PURPOSE_DATA, stream, 0, N, (fab_dtype)type);
                for (int64_t i = 0; i < N; i++) beyond += fabs(v[i]) > at[t];
                fab_release(v);
            }
            assert_within_5_sigma(beyond, count * p, sqrt(count * p * (1 - p)));
        }
}

static double correlation(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum / (double)n;
}

static double correlation_of_squares(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] * a[i] - 1) * (b[i] * b[i] - 1) / 2;
    return sum / (double)n;
}

static void neighbours_are_not_correlated(void **state)
{
    (void)state;
    for (int type = FAB_F64; type <= FAB_F32; type++) {
        double *v = draw(31, FAB_PURPOSE_DATA, 5, 0, N, (fab_dtype)type);
        double *stream = draw(31, FAB_PURPOSE_DATA, 6, 0, N, (fab_dtype)type),
               *seed = draw(32, FAB_PURPOSE_DATA, 5, 0, N, (fab_dtype)type);
        const double sigma = 1 / sqrt((double)N);
        for (int lag = 1; lag <= 8; lag++) {
            assert_within_5_sigma(correlation(v, v + lag, N - lag), 0, sigma);
            assert_within_5_sigma(correlation_of_squares(v, v + lag, N - lag), 0, sigma);
        }
        assert_within_5_sigma(correlation(v, stream, N), 0, sigma);
        assert_within_5_sigma(correlation(v, seed, N), 0, sigma);
        assert_within_5_sigma(correlation_of_squares(v, stream, N), 0, sigma);
        assert_within_5_sigma(correlation_of_squares(v, seed, N), 0, sigma);
        fab_release(v), fab_release(stream), fab_release(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_the_references_on_every_instruction_set),
        cmocka_unit_test(split_equals_whole),
        cmocka_unit_test(randn_is_the_same_for_any_thread_count_and_layout),
        cmocka_unit_test(every_number_is_finite),
        cmocka_unit_test(moments_are_those_of_a_normal_law),
        cmocka_unit_test(tails_have_their_share),
        cmocka_unit_test(neighbours_are_not_correlated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
