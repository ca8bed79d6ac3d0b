/* test_sobol.c - Sobol's points beside those of another program, and what makes them even.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/sobol.h"
#include "dense.h"
#include <string.h>

/* Points 1, 29 and 54 without a shift, in 64ths, as SciPy's qmc.Sobol has them (which numbers them by a Gray code). */
static void points_are_those_of_the_published_table(void **state)
{
    (void)state;
    static const int at29[32] = {46, 22, 38, 2,  58, 6, 42, 62, 22, 18, 14, 50, 34, 18, 62, 42,
                                 26, 14, 58, 26, 54, 2, 46, 14, 10, 2,  2,  46, 22, 46, 18, 14};
    static const int at54[32] = {27, 9,  5,  27, 17, 51, 43, 19, 7,  43, 33, 37, 5, 23, 39, 63,
                                 19, 59, 35, 41, 29, 37, 3,  9,  51, 55, 19, 57, 1, 39, 55, 41};
    fab_sobol s;
    double u[32];
    fab_sobol_init(&s, 3, FAB_PURPOSE_DATA, 0, 32);
    memset(s.shift, 0, sizeof s.shift);
    fab_sobol_point(&s, 1, u);
    for (int d = 0; d < 32; d++) assert_true(u[d] == 0.5 + 0x1p-33);
    fab_sobol_point(&s, 29, u);
    for (int d = 0; d < 32; d++) assert_true((int)(u[d] * 64) == at29[d]);
    fab_sobol_point(&s, 54, u);
    for (int d = 0; d < 32; d++) assert_true((int)(u[d] * 64) == at54[d]);
}

static void every_slice_has_one_of_the_first_points(void **state)
{
    (void)state;
    enum { D = 32, N = 128 };
    fab_sobol s;
    double u[D];
    char seen[D][N] = {{0}};
    fab_sobol_init(&s, 7, FAB_PURPOSE_START, 5, D);
    for (uint64_t i = 0; i < N; i++) {
        fab_sobol_point(&s, i, u);
        for (int d = 0; d < D; d++) {
            const int slice = (int)(u[d] * N);
            assert_true(u[d] > 0 && u[d] < 1 && !seen[d][slice]);
            seen[d][slice] = 1;
        }
    }
}

/* The first two coordinates are a (0, 6, 2)-net: one point in each box of area 2^-6. */
static void every_box_of_the_first_two_coordinates_has_one(void **state)
{
    (void)state;
    fab_sobol s;
    for (int k = 0; k <= 6; k++) {
        char seen[64] = {0};
        double u[2];
        fab_sobol_init(&s, 11, FAB_PURPOSE_START, 0, 2);
        for (uint64_t i = 0; i < 64; i++) {
            fab_sobol_point(&s, i, u);
            const int box = ((int)(u[0] * (1 << k)) << (6 - k)) + (int)(u[1] * (1 << (6 - k)));
            assert_true(!seen[box]);
            seen[box] = 1;
        }
    }
}

static void seeds_shift_and_more_coordinates_are_random(void **state)
{
    (void)state;
    enum { D = 40 };
    fab_sobol a, b;
    double u[D], v[D], w[3];
    fab_sobol_init(&a, 1, FAB_PURPOSE_START, 0, D);
    fab_sobol_init(&b, 2, FAB_PURPOSE_START, 0, D);
    fab_sobol_point(&a, 5, u);
    fab_sobol_point(&b, 5, v);
    for (int d = 0; d < D; d++) assert_true(u[d] != v[d] && u[d] > 0 && u[d] < 1);
    fab_sobol_point(&a, 6, v);
    for (int d = 0; d < D; d++) assert_true(u[d] != v[d]);
    fab_sobol_init(&b, 1, FAB_PURPOSE_START, 0, 3); /* fewer coordinates: the same numbers */
    fab_sobol_point(&b, 5, w);
    for (int d = 0; d < 3; d++) assert_true(u[d] == w[d]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_those_of_the_published_table),
        cmocka_unit_test(every_slice_has_one_of_the_first_points),
        cmocka_unit_test(every_box_of_the_first_two_coordinates_has_one),
        cmocka_unit_test(seeds_shift_and_more_coordinates_are_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
