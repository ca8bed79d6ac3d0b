/* test_random.c - the purpose of random numbers: no two of them share any, each has the right law, and a method does
 * not mind being given the seed of its rows.
 *
 * Statistical tests use fixed seeds: they pass or fail for good.  How often a right program would fail one at
 * another seed stands beside it; 2e-4 for the whole file.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fa_case.h"

/* ---- no number twice ----------------------------------------------------------------------------- */

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* n halves of blocks, of which no two should agree. */
static void assert_all_differ(uint64_t *half, int64_t n)
{
    qsort(half, (size_t)n, sizeof *half, compare_u64);
    for (int64_t i = 1; i < n; i++)
        if (half[i] == half[i - 1]) fail_msg("%016llx is there twice", (unsigned long long)half[i]);
}

/* A sum or exclusive or of seed, purpose, stream or block would give one number to several of these addresses, which
 * differ by little: 12 purposes, 14 seeds, 50 streams and 64 blocks make 1.08e6 halves of 64 bits.  Two of them
 * agree by chance with probability n^2 / 2 / 2^64 = 3e-8. */
static void neighbouring_addresses_share_no_number(void **state)
{
    (void)state;
    enum { SEEDS = 14, STREAMS = 50, BLOCKS = 64, N = 2 * FAB_PURPOSES * SEEDS * STREAMS * BLOCKS };
    uint64_t *half = dense_bytes(N * sizeof *half);
    int64_t n = 0;
    for (int purpose = 0; purpose < FAB_PURPOSES; purpose++)
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            for (uint64_t stream = 0; stream < STREAMS; stream++)
                for (uint64_t block = 0; block < BLOCKS; block++) {
                    uint32_t b[4];
                    fab_random_bits(seed, (fab_purpose)purpose, stream, block, b);
                    half[n++] = (uint64_t)b[1] << 32 | b[0];
                    half[n++] = (uint64_t)b[3] << 32 | b[2];
                }
    assert_int_equal(n, N);
    assert_all_differ(half, N);
}

/* The same where the parts of an address are powers of two, and so the most likely to run into each other's
 * bits: 12 purposes, 65 seeds, 65 streams, 49 blocks, 5e6 halves; by chance with probability 7e-7. */
static void powers_of_two_share_no_number(void **state)
{
    (void)state;
    enum { POWERS = 65, BLOCKS = 49, N = 2 * FAB_PURPOSES * POWERS * POWERS * BLOCKS };
    uint64_t *half = dense_bytes(N * sizeof *half), part[POWERS] = {0};
    int64_t n = 0;
    for (int i = 1; i < POWERS; i++) part[i] = (uint64_t)1 << (i - 1);
    for (int purpose = 0; purpose < FAB_PURPOSES; purpose++)
        for (int i = 0; i < POWERS; i++)
            for (int j = 0; j < POWERS; j++)
                for (int k = 0; k < BLOCKS; k++) {
                    uint32_t b[4];
                    fab_random_bits(part[i], (fab_purpose)purpose, part[j], part[k], b);
                    half[n++] = (uint64_t)b[1] << 32 | b[0];
                    half[n++] = (uint64_t)b[3] << 32 | b[2];
                }
    assert_int_equal(n, N);
    assert_all_differ(half, N);
}

/* Blocks are counted modulo 2^48: one beyond the last is the first of its own purpose, not one of the next. */
static void the_last_block_is_followed_by_the_first(void **state)
{
    (void)state;
    const uint64_t end = (uint64_t)1 << 49; /* in doubles */
    double across[8], first[4];
    for (int purpose = 0; purpose < FAB_PURPOSES; purpose++)
        for (int normal = 0; normal < 2; normal++) {
            const fab_purpose p = (fab_purpose)purpose;
            if (normal) {
                fab_random_normal(3, p, 5, end - 4, 8, FAB_F64, across);
                fab_random_normal(3, p, 5, 0, 4, FAB_F64, first);
            } else {
                fab_random_uniform(3, p, 5, end - 4, 8, across);
                fab_random_uniform(3, p, 5, 0, 4, first);
            }
            assert_memory_equal(across + 4, first, sizeof first);
        }
}

/* ---- the law of each ------------------------------------------------------------------------------- */

enum { MANY = 100000, CELLS = 100 };

/* Chi-square of 100 equally likely cells; above 191.6 once in 1e7 (99 degrees, by Wilson and Hilferty). */
static double chi_square(const double *u)
{
    int count[CELLS] = {0};
    double chi = 0;
    for (int i = 0; i < MANY; i++) count[(int)(u[i] * CELLS)]++;
    for (int c = 0; c < CELLS; c++) chi += pow(count[c] - MANY / CELLS, 2) / (MANY / CELLS);
    return chi;
}

/* Uniforms and normals of each purpose: chi-square as above, the first four moments of the normals within 5.5
 * standard errors (once in 2.6e7).  12 purposes x 6 statistics: a false alarm once in 1e5. */
static void each_purpose_has_the_right_law(void **state)
{
    (void)state;
    static const double mean[] = {0, 1, 0, 3}, variance[] = {1, 2, 15, 96}; /* of z^p */
    double *u = doubles(MANY), *z = doubles(MANY);
    for (int purpose = 0; purpose < FAB_PURPOSES; purpose++) {
        fab_random_uniform(2385, (fab_purpose)purpose, 29, 1, MANY, u);
        fab_random_normal(2385, (fab_purpose)purpose, 30, 1, MANY, FAB_F64, z);
        assert_true(chi_square(u) < 191.6);
        for (int p = 1; p <= 4; p++) {
            double sum = 0;
            for (int i = 0; i < MANY; i++) sum += pow(z[i], p);
            assert_near(sum / MANY, mean[p - 1], 5.5 * sqrt(variance[p - 1] / MANY));
        }
        for (int i = 0; i < MANY; i++) u[i] = fmin(erfc(-z[i] / sqrt(2)) / 2, 1 - 1e-16);
        assert_true(chi_square(u) < 191.6);
    }
}

/* The same place in the streams of two purposes: 66 pairs, a correlation of more than 5.5 / sqrt(n) in one of them
 * once in 4e5. */
static void purposes_are_not_correlated(void **state)
{
    (void)state;
    double *z = doubles((int64_t)FAB_PURPOSES * MANY);
    for (int a = 0; a < FAB_PURPOSES; a++) {
        fab_random_normal(7, (fab_purpose)a, 1, 0, MANY, FAB_F64, z + a * MANY);
        for (int b = 0; b < a; b++) {
            double sum = 0;
            for (int i = 0; i < MANY; i++) sum += z[a * MANY + i] * z[b * MANY + i];
            assert_near(sum / MANY, 0, 5.5 / sqrt(MANY));
        }
    }
}

/* ---- a method and its rows ------------------------------------------------------------------------- */

enum { D = 200, K = 10, ROWS = 2000, SETS = 20 };

/* Error of the covariance that online-em, as [T] has it, learns with this seed. */
static double error_of(const fab_gauss *truth, const fab_rows *rows, int seed)
{
    char text[128];
    double distance;
    snprintf(text, sizeof text, "expand=false start=orthonormal centre=running seed=%d", seed);
    fab_gauss *q = fa_fit("online-em", K, text, NULL, rows, NULL);
    assert_ok(fab_distance_covariance(q, truth, NULL, &distance));
    fab_gauss_free(q);
    return distance;
}

/* How much worse a method does with the seed of its rows than with another: log ratios of the errors over SETS data
 * sets, their mean over its standard error (t of SETS - 1 = 19 degrees). */
static double harm_of_the_same_seed(fab_purpose purpose)
{
    double sum = 0, square = 0, *x = doubles(ROWS * D);
    for (int set = 1; set <= SETS; set++) {
        fab_solver *s;
        fab_gauss *truth = fa_model(D, K, 1, 100, (uint64_t)set);
        assert_ok(fab_solver_create(&s, truth, NULL));
        assert_ok(fab_solver_sample(s, (uint64_t)set, purpose, 0, ROWS, FAB_F64, x, D));
        fab_solver_free(s);
        const fab_rows rows = rows_of(x, 0, ROWS, D);
        const double log_ratio =
            log(error_of(truth, &rows, set) / error_of(truth, &rows, set + 1000));
        sum += log_ratio / SETS;
        square += log_ratio * log_ratio / SETS;
        fab_gauss_free(truth);
    }
    return sum / sqrt((square - sum * sum) / (SETS - 1));
}

/* |t| > 4.7 comes by chance once in 6000.  That the test would see the fault: rows made of the numbers of the start. */
static void a_method_may_have_the_seed_of_its_rows(void **state)
{
    (void)state;
    const double apart = harm_of_the_same_seed(FAB_PURPOSE_DATA),
                 shared = harm_of_the_same_seed(FAB_PURPOSE_START);
    assert_true(fabs(apart) < 4.7);
    assert_true(shared > 4.7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbouring_addresses_share_no_number),
        cmocka_unit_test(powers_of_two_share_no_number),
        cmocka_unit_test(the_last_block_is_followed_by_the_first),
        cmocka_unit_test(each_purpose_has_the_right_law),
        cmocka_unit_test(purposes_are_not_correlated),
        cmocka_unit_test(a_method_may_have_the_seed_of_its_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
