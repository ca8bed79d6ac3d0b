/* test_student.c - Student's t beside its closed forms.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/student.h"
#include "dense.h"
#include <math.h>

static const double places[] = {-1e4, -300, -20, -3, -1, -0.1, 0, 1e-8, 0.4, 1.7, 8, 45, 1e3};
enum { PLACES = sizeof places / sizeof *places };

static double cauchy(double t)
{
    return t < 0 ? atan(-1 / t) / M_PI : 0.5 + atan(t) / M_PI;
}

static double two(double t)
{
    const double root = sqrt(2 + t * t);
    return t < 0 ? 1 / (root * (root - t)) : 1 - 1 / (root * (root + t));
}

/* 1/2 + 3/8 s (1 - s^2 / 12), s = 2 t / sqrt(4 + t^2), 1 - .. in the tail: good to 1e-16 absolute */
static double four(double t)
{
    const double s = 2 * t / sqrt(4 + t * t);
    return 0.5 + 3.0 / 8 * s * (1 - s * s / 12);
}

static void distribution_functions_are_the_closed_ones(void **state)
{
    (void)state;
    for (int i = 0; i < PLACES; i++) {
        const double t = places[i];
        assert_true(fabs(fab_student_cdf(1, t) / cauchy(t) - 1) < 1e-11);
        assert_true(fabs(fab_student_cdf(2, t) / two(t) - 1) < 1e-11);
        assert_true(fabs(fab_student_cdf(4, t) - four(t)) < 1e-12);
        assert_true(fabs(fab_student_cdf(1e6, t) - 0.5 * erfc(-t / sqrt(2))) < 1e-6);
        assert_true(fabs(fab_student_cdf(5.5, t) + fab_student_cdf(5.5, -t) - 1) < 1e-14);
    }
}

static void tops_are_the_closed_ones(void **state)
{
    (void)state;
    assert_true(fabs(fab_student_log_top(1) + log(M_PI)) < 1e-10);
    assert_true(fabs(fab_student_log_top(2) + log(2 * sqrt(2))) < 1e-10);
    assert_true(fabs(fab_student_log_top(4) + log(8.0 / 3)) < 1e-10);
    assert_true(fabs(fab_student_log_top(1e6) + 0.5 * log(2 * M_PI)) < 1e-6);
}

/* Far out too: that is where the tails are. */
static void its_normals_have_its_density(void **state)
{
    (void)state;
    static const double nus[] = {2.001, 3, 6, 50, 1e4, 1e6};
    double precision[FAB_STUDENT_NORMALS], weight[FAB_STUDENT_NORMALS];
    for (int k = 0; k < 6; k++) {
        const double nu = nus[k];
        fab_student_normals(nu, precision, weight);
        for (double t = 0; t < 500; t = 1.5 * t + 0.1) {
            const double want = fab_student_log_top(nu) - (nu + 1) / 2 * log1p(t * t / nu);
            double sum = 0;
            for (int j = 0; j < FAB_STUDENT_NORMALS; j++)
                sum += weight[j] * sqrt(precision[j] / (2 * M_PI)) * exp(-precision[j] * t * t / 2);
            if (want < -18)
                break; /* what lies beyond the edges of the rule, exp(-30), begins to be missed */
            assert_true(fabs(log(sum) - want) < 1e-5);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(distribution_functions_are_the_closed_ones),
        TEST(tops_are_the_closed_ones),
        TEST(its_normals_have_its_density),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
