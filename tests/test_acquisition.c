/* test_acquisition.c - logarithms of expected improvement and of its probability, far down into both tails.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "search/acquisition.h"
#include "dense.h"
#include <math.h>

/* Of gamma: log(gamma Phi + phi), its slope, log Phi and its slope, in 200 digits by mpmath. */
static const double exact[][5] = {
    {-10000.0, -50000019.339619307, 10000.000199999994, -50000010.129278915, 10000.000099999998},
    {-1000.0, -500014.73445209116, 1000.001999994, -500007.82669481218, 1000.000999998},
    {-100.0, -5010.1295788002498, 100.01999400419587, -5005.5242086942051, 100.00999800099926},
    {-37.5, -711.29474844751272, 37.553220117980275, -707.66898931750719, 37.526628874883654},
    {-20.0, -206.9178385094251, 20.099262811101282, -203.91715537109726, 20.049753068527851},
    {-10.125, -56.8350898764641, 10.317111084876356, -54.501286089235429, 10.221926357753953},
    {-9.875, -54.28649191314086, 10.071707903822392, -51.976761617631261, 9.9742880263753958},
    {-5.0, -16.74430116266099, 5.3618162412880885, -15.064998393988726, 5.1865039671258421},
    {-2.385, -5.8618559031992018, 3.0005937557940685, -4.7630457155163712, 2.7182673735219991},
    {-1.0, -2.4851210257126413, 1.9042712333296918, -1.8410216450092635, 1.5251352761609812},
    {-0.25, -1.2505589553352224, 1.4014356710866813, -0.91306176481113506, 0.96355397941640391},
    {0.0, -0.91893853320467274, 1.2533141373155003, -0.69314718055994531, 0.79788456080286536},
    {0.75, -0.12650820689195298, 0.87766872761255761, -0.25699426683836524, 0.38938205673592702},
    {3.0, 1.0987396653277078, 0.33284096845179524, -0.0013508099647481938, 0.0044378390421256638},
    {10.0, 2.3025850929940457, 0.1, -7.6198530241605261e-24, 7.6945986267064193e-23},
    {1000.0, 6.9077552789821371, 0.001, 0.0, 0.0},
};

enum { CASES = sizeof exact / sizeof *exact };

/* exp(x^2 / 2) multiplies the rounding of x^2 / 2 <= 50 and 1 - x R(x) ~ 1/x^2 what is left by 100: 50 * 100 * 2.2e-16. */
static const double tolerance = 1.2e-12;

static int near(double got, double want)
{
    return fabs(got - want) <= tolerance * fmax(fabs(want), 1e-300) || fabs(got - want) < 1e-300;
}

static void logarithms_are_right_down_to_minus_ten_thousand(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        double slope;
        const double improvement = fab_log_improvement(exact[i][0], &slope);
        if (!near(improvement, exact[i][1]) || !near(slope, exact[i][2]))
            fail_msg("gamma %g: improvement %.17g, slope %.17g", exact[i][0], improvement, slope);
        const double probability = fab_log_probability(exact[i][0], &slope);
        if (!near(probability, exact[i][3]) || !near(slope, exact[i][4]))
            fail_msg("gamma %g: probability %.17g, slope %.17g", exact[i][0], probability, slope);
    }
}

/* Both formulas meet at -1 and at -10: steps of 1e-6 there change the value by the slope. */
static void nothing_jumps_where_the_formula_changes(void **state)
{
    (void)state;
    static const double at[] = {-1, -10};
    for (int i = 0; i < 2; i++) {
        const double h = 1e-6;
        double slope, other;
        const double above = fab_log_improvement(at[i] + h, &slope),
                     below = fab_log_improvement(at[i] - h, &other);
        assert_true(fabs((above - below) / (2 * h) - slope) < 1e-4);
        assert_true(fabs(slope - other) < 1e-4);
        const double P = fab_log_probability(at[i] + h, &slope),
                     Q = fab_log_probability(at[i] - h, &other);
        assert_true(fabs((P - Q) / (2 * h) - slope) < 1e-4 && fabs(slope - other) < 1e-4);
    }
}

/* E max(0, f - best - xi), by the trapezoid rule over 40 sd. */
static double plain_ei(double mean, double sd, double best)
{
    enum { STEPS = 200000 };
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double z = -20 + 40.0 * i / STEPS, f = mean + sd * z;
        if (f > best) sum += (f - best) * exp(-z * z / 2);
    }
    return sum * 40 / STEPS / sqrt(2 * M_PI);
}

static void values_are_those_of_the_definition(void **state)
{
    (void)state;
    static const double mean[] = {0.3, -2.385, 1.7}, sd[] = {0.5, 1.3, 0.2};
    double by_mean, by_sd;
    for (int i = 0; i < 3; i++) {
        fab_promise p = {.kind = FAB_ACQUISITION_EI, .best = 0.9, .xi = 0.1, .beta = 2};
        assert_true(fabs(exp(fab_promise_at(&p, mean[i], sd[i], &by_mean, &by_sd)) -
                         plain_ei(mean[i], sd[i], 1.0)) < 1e-8);
        p.kind = FAB_ACQUISITION_PI;
        assert_true(fabs(exp(fab_promise_at(&p, mean[i], sd[i], &by_mean, &by_sd)) -
                         0.5 * erfc((1 - mean[i]) / sd[i] / sqrt(2))) < 1e-14);
        p.kind = FAB_ACQUISITION_UCB;
        assert_true(fab_promise_at(&p, mean[i], sd[i], &by_mean, &by_sd) == mean[i] + 2 * sd[i]);
    }
}

static void slopes_are_those_of_differences(void **state)
{
    (void)state;
    for (int kind = FAB_ACQUISITION_EI; kind <= FAB_ACQUISITION_UCB; kind++)
        for (double mean = -30; mean < 3; mean += 2.385) {
            const fab_promise p = {.kind = (fab_acquisition)kind, .best = 0.2, .beta = 1.5};
            const double h = 1e-5, sd = 0.7;
            double m, s, u, v;
            fab_promise_at(&p, mean, sd, &m, &s);
            const double dm = (fab_promise_at(&p, mean + h, sd, &u, &v) -
                               fab_promise_at(&p, mean - h, sd, &u, &v)) /
                              (2 * h),
                         ds = (fab_promise_at(&p, mean, sd + h, &u, &v) -
                               fab_promise_at(&p, mean, sd - h, &u, &v)) /
                              (2 * h);
            assert_true(fabs(m - dm) < 1e-6 * (1 + fabs(dm)));
            assert_true(fabs(s - ds) < 1e-6 * (1 + fabs(ds)));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_are_right_down_to_minus_ten_thousand),
        cmocka_unit_test(nothing_jumps_where_the_formula_changes),
        cmocka_unit_test(values_are_those_of_the_definition),
        cmocka_unit_test(slopes_are_those_of_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
