/* test_propose.c - Bayesian optimisation: what is asked, of which trials, and in which order.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/search.h"
#include "files.h"
#include <math.h>
#include <string.h>

static const fab_range plane[] = {{"a", -5, 10}, {"b", 0, 15}};

/* Its least value is 0.397887. */
static double branin(const double *x)
{
    const double t = x[1] - 5.1 / (4 * M_PI * M_PI) * x[0] * x[0] + 5 / M_PI * x[0] - 6;
    return t * t + 10 * (1 - 1 / (8 * M_PI)) * cos(x[0]) + 10;
}

static fab_propose *opened(const fab_propose_plan *p)
{
    fab_propose *o;
    if (fab_propose_create(&o, p) != FAB_OK) fail_msg("%s", fab_detail());
    return o;
}

static fab_propose *of_plane(fab_acquisition a, int64_t seed)
{
    return opened(&(fab_propose_plan){.range = plane, .ranges = 2, .acquisition = a, .seed = seed});
}

static void ask(fab_propose *o, int64_t n, double *x)
{
    if (fab_propose_ask(o, n, x) != FAB_OK) fail_msg("%s", fab_detail());
}

static void tell(fab_propose *o, const double *x, double y)
{
    if (fab_propose_tell(o, x, y) != FAB_OK) fail_msg("%s", fab_detail());
}

/* ---- searching ---------------------------------------------------------------------------------------- */

/* Least values after 30 trials of random search have median 1.2 above the least; after 40 of these searches 0.05 is far. */
static void every_acquisition_finds_the_least_value(void **state)
{
    (void)state;
    for (int a = FAB_ACQUISITION_EI; a <= FAB_ACQUISITION_THOMPSON; a++) {
        fab_propose *o = opened(&(fab_propose_plan){
            .range = plane,
            .ranges = 2,
            .acquisition = (fab_acquisition)a,
            .xi = a == FAB_ACQUISITION_PI ? 0.1 : 0, /* without it PI is greedy: [N] 7.3.1 */
            .seed = 3});
        double x[2], least = INFINITY;
        for (int i = 0; i < 40; i++) {
            ask(o, 1, x);
            assert_true(x[0] >= -5 && x[0] <= 10 && x[1] >= 0 && x[1] <= 15);
            tell(o, x, branin(x));
            least = fmin(least, branin(x));
        }
        if (!(least < 0.397888 + (a == FAB_ACQUISITION_PI ? 0.5 : 0.05)))
            fail_msg("%s: %g", fab_acquisition_name((fab_acquisition)a), least);
        fab_propose_free(o);
    }
}

/* Trials of one run, some of which failed or lie outside: told to another handle they make it ask for the same. */
static void a_handle_told_the_same_trials_answers_alike(void **state)
{
    (void)state;
    enum { TRIALS = 31 };
    fab_propose *lived = of_plane(FAB_ACQUISITION_EI, 7);
    double x[2 * TRIALS], y[TRIALS], more[8], again[8];
    for (int i = 0; i < TRIALS; i++) {
        ask(lived, i % 9 == 4 ? 4 : 1, more); /* points that nobody tries change nothing */
        memcpy(x + 2 * i, more, sizeof *x * 2);
        if (i % 11 == 5) x[2 * i] = 12;
        y[i] = x[2 * i + 1] > 12 || i % 8 == 6 ? NAN : branin(x + 2 * i);
        tell(lived, x + 2 * i, y[i]);
    }
    fab_propose *other = of_plane(FAB_ACQUISITION_EI, 7);
    for (int i = 0; i < TRIALS; i++) tell(other, x + 2 * i, y[i]);
    ask(lived, 3, more);
    ask(other, 3, again);
    assert_memory_equal(more, again, 6 * sizeof *more);
    ask(other, 3, again); /* and once more: an answer is no trial */
    assert_memory_equal(more, again, 6 * sizeof *more);
    fab_propose_free(lived);
    fab_propose_free(other);
}

static void seeds_differ_and_one_seed_does_not(void **state)
{
    (void)state;
    double x[3][2];
    for (int k = 0; k < 3; k++) {
        fab_propose *o = of_plane(FAB_ACQUISITION_EI, k == 2 ? 5 : 4);
        ask(o, 1, x[k]);
        fab_propose_free(o);
    }
    assert_true(x[0][0] == x[1][0] && x[0][1] == x[1][1] && x[0][0] != x[2][0]);
}

/* Losses in other units, by a power of two, and gains that are their negatives ask for the same bits. */
static void units_and_signs_of_the_numbers_do_not_matter(void **state)
{
    (void)state;
    fab_propose *loss = of_plane(FAB_ACQUISITION_EI, 1), *wide = of_plane(FAB_ACQUISITION_EI, 1);
    fab_propose *gain =
        opened(&(fab_propose_plan){.range = plane, .ranges = 2, .maximise = 1, .seed = 1});
    for (int i = 0; i < 15; i++) {
        double x[2], u[2], v[2];
        ask(loss, 1, x);
        ask(wide, 1, u);
        ask(gain, 1, v);
        assert_memory_equal(x, u, sizeof x);
        assert_memory_equal(x, v, sizeof x);
        tell(loss, x, branin(x));
        tell(wide, x, 0x1p40 * branin(x));
        tell(gain, x, -branin(x));
    }
    assert_int_equal(fab_propose_best(loss), fab_propose_best(gain));
    fab_propose_free(loss);
    fab_propose_free(wide);
    fab_propose_free(gain);
}

/* 30 trials with noise of sd 1 at 7 places of a parabola: the best number told is the luckiest, the best place is in its middle. */
static void under_noise_the_best_is_where_the_mean_is(void **state)
{
    (void)state;
    const fab_range line[] = {{"x", -3, 3}};
    fab_propose *o = opened(&(fab_propose_plan){.range = line, .ranges = 1});
    double e[70], x;
    fab_random_normal(5, FAB_PURPOSE_DATA, 0, 0, 70, FAB_F64, e);
    for (int i = 0; i < 70; i++) {
        x = -3 + i % 7 + 0.001 * i;
        if (x > 3) x = 3;
        tell(o, &x, x * x + e[i]);
    }
    ask(o, 1, &x);
    const int64_t best = fab_propose_best(o);
    assert_int_equal(best % 7, 3);
    fab_propose_report r;
    fab_propose_report_of(o, &r);
    assert_true(r.modelled && r.noise > 0.01 && r.noise < 1); /* of variance about 14 */
    fab_propose_free(o);
}

/* Where nothing is random the process goes through the trials, and the point asked for is better than any other. */
static void the_point_asked_for_has_the_largest_acquisition(void **state)
{
    (void)state;
    for (int a = FAB_ACQUISITION_EI; a <= FAB_ACQUISITION_UCB; a++) {
        fab_propose *o = of_plane((fab_acquisition)a, 3);
        double x[2], y, median, lower, upper, top, here;
        for (int i = 0; i < 17; i++) {
            ask(o, 1, x);
            tell(o, x, branin(x));
        }
        ask(o, 1, x);
        assert_int_equal(fab_propose_look(o, 1, x, &median, &lower, &upper, &top), FAB_OK);
        assert_true(lower < median && median < upper);
        for (uint64_t i = 0; i < 3000; i++) {
            fab_random_uniform(9, FAB_PURPOSE_DATA, 0, 2 * i, 2, x);
            x[0] = -5 + 15 * x[0];
            x[1] = 15 * x[1];
            assert_int_equal(fab_propose_look(o, 1, x, &median, &lower, &upper, &here), FAB_OK);
            /* log PI of a sure gain is 0, and a climb ends where an acquisition changes by 1e-7 */
            if (!(here <= top + 1e-3 * fabs(top) + 1e-7))
                fail_msg("%s: %g at %g %g is above %g", fab_acquisition_name((fab_acquisition)a),
                         here, x[0], x[1], top);
        }
        for (int64_t i = 0; i < 17; i++) {
            const double *z = fab_propose_trial(o, i, &y);
            assert_int_equal(fab_propose_look(o, 1, z, &median, &lower, &upper, NULL), FAB_OK);
            assert_true(fabs(median - y) < 0.02 * (1 + fabs(y)) && lower <= upper);
        }
        assert_null(fab_propose_trial(o, 17, &y));
        fab_propose_free(o);
    }
    fab_propose *o = of_plane(FAB_ACQUISITION_EI, 3);
    double x[2];
    ask(o, 1, x);
    assert_int_equal(fab_propose_look(o, 1, x, x, x, x, NULL), FAB_BAD_ARGUMENT);
    assert_detail("no process", "");
    fab_propose_free(o);
}

/* ---- batches ------------------------------------------------------------------------------------------ */

static void points_of_a_batch_keep_apart(void **state)
{
    (void)state;
    for (int a = FAB_ACQUISITION_EI; a <= FAB_ACQUISITION_THOMPSON; a++) {
        fab_propose *o = of_plane((fab_acquisition)a, 2);
        double x[24], one[2];
        ask(o, 12, x); /* Sobol's */
        for (int i = 0; i < 12; i++) tell(o, x + 2 * i, branin(x + 2 * i));
        ask(o, 1, one);
        ask(o, 6, x);
        assert_memory_equal(x, one, sizeof one);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < i; j++)
                assert_true(hypot(x[2 * i] - x[2 * j], x[2 * i + 1] - x[2 * j + 1]) > 1e-4);
        fab_propose_free(o);
    }
}

/* ---- trials that failed, or lie elsewhere ------------------------------------------------------------- */

/* A loss that falls to the right, where every trial beyond 0.6 fails: without a reason to keep away all trials would go there. */
static void failed_trials_are_kept_away_from(void **state)
{
    (void)state;
    const fab_range line[] = {{"x", 0, 1}};
    fab_propose *o = opened(&(fab_propose_plan){.range = line, .ranges = 1});
    int failed = 0;
    double x;
    for (int i = 0; i < 30; i++) {
        ask(o, 1, &x);
        tell(o, &x, x > 0.6 ? NAN : -x);
        failed += x > 0.6;
    }
    assert_true(failed >= 1 && failed <= 12);
    fab_propose_report r;
    fab_propose_report_of(o, &r);
    assert_int_equal(r.failed, failed);
    assert_int_equal(r.trials, 30);
    assert_true(fab_propose_best(o) >= 0);
    fab_propose_free(o);
}

static void where_all_failed_the_points_go_on(void **state)
{
    (void)state;
    fab_propose *o = of_plane(FAB_ACQUISITION_EI, 0);
    double x[40];
    for (int i = 0; i < 20; i++) {
        ask(o, 1, x + 2 * i);
        for (int j = 0; j < i; j++)
            assert_true(x[2 * j] != x[2 * i] || x[2 * j + 1] != x[2 * i + 1]);
        tell(o, x + 2 * i, i % 2 ? NAN : INFINITY);
    }
    assert_int_equal(fab_propose_best(o), -1);
    fab_propose_free(o);
}

static void one_number_everywhere_says_nothing(void **state)
{
    (void)state;
    fab_propose *o = of_plane(FAB_ACQUISITION_EI, 0);
    fab_propose_report r;
    double x[2];
    for (int i = 0; i < 12; i++) {
        ask(o, 1, x);
        tell(o, x, 2.385);
    }
    ask(o, 1, x);
    fab_propose_report_of(o, &r);
    assert_int_equal(r.modelled, 0);
    assert_int_equal(fab_propose_best(o), 0);
    fab_propose_free(o);
}

static void trials_outside_are_learned_from_and_never_the_best(void **state)
{
    (void)state;
    const fab_range line[] = {{"x", 0, 1}};
    fab_propose *o = opened(&(fab_propose_plan){.range = line, .ranges = 1}),
                *without = opened(&(fab_propose_plan){.range = line, .ranges = 1});
    for (int i = 0; i <= 12; i++) {
        const double x = i / 10.0;
        tell(o, &x, -x * x);
        if (i <= 10) tell(without, &x, -x * x);
    }
    double x, y;
    ask(o, 1, &x);
    ask(without, 1, &y);
    fab_propose_report r;
    fab_propose_report_of(o, &r);
    assert_int_equal(r.outside, 2);
    assert_int_equal(fab_propose_best(o), 10);
    assert_true(x >= 0 && x <= 1 && x != y);
    fab_propose_free(o);
    fab_propose_free(without);
}

/* ---- odd ranges --------------------------------------------------------------------------------------- */

static void whole_numbers_are_tried_once_each_while_there_are_others(void **state)
{
    (void)state;
    const fab_range grid[] = {{"a", 1, 3, 0, 1}, {"b", 0.5, 4.5, 1, 1}};
    for (int a = FAB_ACQUISITION_EI; a <= FAB_ACQUISITION_THOMPSON; a++) {
        fab_propose *o = opened(&(fab_propose_plan){
            .range = grid, .ranges = 2, .acquisition = (fab_acquisition)a, .seed = 2});
        int seen[4][5] = {{0}};
        double x[2];
        for (int i = 0; i < 14; i++) {
            ask(o, 1, x);
            const int u = (int)x[0], v = (int)x[1];
            assert_true(u == x[0] && v == x[1] && u >= 1 && u <= 3 && v >= 1 && v <= 4);
            if (i < 12) assert_int_equal(seen[u][v]++, 0);
            tell(o, x, hypot(u - 2, v - 3));
        }
        fab_propose_free(o);
    }
}

/* A mixed search: the best of 40 trials has the right whole number and is near in the other column. */
static void whole_numbers_and_others_are_searched_together(void **state)
{
    (void)state;
    const fab_range mixed[] = {{"rate", 1e-4, 1, 1}, {"layers", 1, 40, 0, 1}};
    fab_propose *o = opened(&(fab_propose_plan){.range = mixed, .ranges = 2, .seed = 1});
    double x[2], least = INFINITY;
    for (int i = 0; i < 40; i++) {
        ask(o, 1, x);
        assert_true(x[1] == nearbyint(x[1]) && x[0] >= 1e-4 && x[0] <= 1);
        const double y = pow(log10(x[0]) + 2, 2) + pow((x[1] - 17) / 10, 2);
        tell(o, x, y);
        least = fmin(least, y);
    }
    if (!(least < 1e-3)) fail_msg("%g", least); /* 1e-2: the neighbours of 17 */
    fab_propose_free(o);
}

static void a_range_of_one_point_stays_there(void **state)
{
    (void)state;
    const fab_range some[] = {{"a", 2.385, 2.385}, {"b", 0, 1}, {"c", 2.2, 3.9, 0, 1}},
                    none[] = {{"a", 5, 5}};
    fab_propose *o = opened(&(fab_propose_plan){.range = some, .ranges = 3});
    double x[3];
    for (int i = 0; i < 12; i++) {
        ask(o, 1, x);
        assert_true(x[0] == 2.385 && x[2] == 3 && x[1] >= 0 && x[1] <= 1);
        tell(o, x, pow(x[1] - 0.3, 2));
    }
    const double elsewhere[] = {2, 0.3, 3};
    fab_propose_report r;
    tell(o, elsewhere, -100);
    ask(o, 1, x);
    fab_propose_report_of(o, &r);
    assert_int_equal(r.elsewhere, 1);
    assert_true(fab_propose_best(o) < 12);
    fab_propose_free(o);
    o = opened(&(fab_propose_plan){.range = none, .ranges = 1});
    for (int i = 0; i < 9; i++) {
        ask(o, 1, x);
        assert_true(x[0] == 5);
        tell(o, x, i);
    }
    assert_int_equal(fab_propose_best(o), 0);
    fab_propose_free(o);
}

/* The same point again and again, with one number or with several: what a person may tell. */
static void repeated_trials_are_taken(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        fab_propose *o = of_plane(FAB_ACQUISITION_EI, 0);
        double x[2];
        for (int i = 0; i < 25; i++) {
            if (i % 3 == 0) ask(o, 1, x);
            tell(o, x, branin(x) + noisy * (i % 3));
        }
        ask(o, 2, (double[4]){0});
        fab_propose_free(o);
    }
}

static void a_search_of_forty_columns_goes_past_sobols_table(void **state)
{
    (void)state;
    fab_range wide[40];
    double x[40];
    for (int j = 0; j < 40; j++) wide[j] = (fab_range){"x", -1, 1};
    fab_propose *o = opened(&(fab_propose_plan){.range = wide, .ranges = 40, .starts = 5});
    for (int i = 0; i < 8; i++) {
        double y = 0;
        ask(o, 1, x);
        for (int j = 0; j < 40; j++) y += x[j] * x[j];
        tell(o, x, y);
    }
    fab_propose_free(o);
}

/* ---- what is refused ---------------------------------------------------------------------------------- */

static void impossible_plans_and_trials_are_refused(void **state)
{
    (void)state;
    const fab_range turned[] = {{"rate", 2, 1}}, logs[] = {{"rate", 0, 1, 1}},
                    gap[] = {{"layers", 1.2, 1.8, 0, 1}}, endless[] = {{"rate", 0, INFINITY}},
                    rate[] = {{"rate", 1e-3, 1, 1}};
    fab_propose *o;
    assert_int_equal(fab_propose_create(&o, &(fab_propose_plan){.range = turned, .ranges = 1}),
                     FAB_BAD_ARGUMENT);
    assert_detail("rate = 2:1", "is not a range");
    assert_null(o);
    assert_int_equal(fab_propose_create(&o, &(fab_propose_plan){.range = logs, .ranges = 1}),
                     FAB_BAD_ARGUMENT);
    assert_detail("rate = 0:1:log", "");
    assert_int_equal(fab_propose_create(&o, &(fab_propose_plan){.range = gap, .ranges = 1}),
                     FAB_BAD_ARGUMENT);
    assert_detail("layers = 1.2:1.8", "no whole number");
    assert_int_equal(fab_propose_create(&o, &(fab_propose_plan){.range = endless, .ranges = 1}),
                     FAB_BAD_ARGUMENT);
    assert_int_equal(fab_propose_create(&o, &(fab_propose_plan){.ranges = 0}), FAB_BAD_ARGUMENT);
    assert_int_equal(
        fab_propose_create(&o, &(fab_propose_plan){.range = rate, .ranges = 1, .xi = NAN}),
        FAB_BAD_ARGUMENT);
    o = opened(&(fab_propose_plan){.range = rate, .ranges = 1});
    double x = NAN;
    assert_int_equal(fab_propose_tell(o, &x, 1), FAB_BAD_ARGUMENT);
    assert_detail("trial 0 has rate = nan", "");
    x = -1;
    assert_int_equal(fab_propose_tell(o, &x, 1), FAB_BAD_ARGUMENT);
    assert_detail("rate = -1", "logarithm");
    assert_int_equal(fab_propose_ask(o, 0, &x), FAB_BAD_ARGUMENT);
    assert_detail("0 points", "");
    fab_propose_free(o);
    fab_propose_free(NULL);
    assert_null(fab_acquisition_name((fab_acquisition)9));
}

static int stop_at_once(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return 1;
}

static void a_search_that_was_stopped_goes_on(void **state)
{
    (void)state;
    fab_propose *o = of_plane(FAB_ACQUISITION_EI, 6), *other = of_plane(FAB_ACQUISITION_EI, 6);
    double x[2], y[2];
    for (int i = 0; i < 25; i++) {
        fab_set_progress(stop_at_once, NULL);
        assert_int_equal(fab_propose_ask(o, 1, x), FAB_STOPPED);
        fab_set_progress(NULL, NULL);
        ask(o, 1, x);
        ask(other, 1, y);
        assert_memory_equal(x, y, sizeof x);
        tell(o, x, branin(x));
        tell(other, x, branin(x));
    }
    fab_propose_free(o);
    fab_propose_free(other);
}

static fab_status search_once(void)
{
    fab_propose *o;
    double x[4];
    fab_status s = fab_propose_create(&o, &(fab_propose_plan){.range = plane, .ranges = 2});
    for (int i = 0; i < 19 && s == FAB_OK; i++) {
        const double at[] = {-5 + i % 5 * 3.1, i * 0.7};
        s = fab_propose_tell(o, at, branin(at));
        if (s == FAB_OK && i > 15) s = fab_propose_ask(o, 2, x);
    }
    fab_propose_free(o);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(search_once) >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_acquisition_finds_the_least_value),
        cmocka_unit_test(a_handle_told_the_same_trials_answers_alike),
        cmocka_unit_test(seeds_differ_and_one_seed_does_not),
        cmocka_unit_test(units_and_signs_of_the_numbers_do_not_matter),
        cmocka_unit_test(under_noise_the_best_is_where_the_mean_is),
        cmocka_unit_test(the_point_asked_for_has_the_largest_acquisition),
        cmocka_unit_test(points_of_a_batch_keep_apart),
        cmocka_unit_test(failed_trials_are_kept_away_from),
        cmocka_unit_test(where_all_failed_the_points_go_on),
        cmocka_unit_test(one_number_everywhere_says_nothing),
        cmocka_unit_test(trials_outside_are_learned_from_and_never_the_best),
        cmocka_unit_test(whole_numbers_are_tried_once_each_while_there_are_others),
        cmocka_unit_test(whole_numbers_and_others_are_searched_together),
        cmocka_unit_test(a_range_of_one_point_stays_there),
        cmocka_unit_test(repeated_trials_are_taken),
        cmocka_unit_test(a_search_of_forty_columns_goes_past_sobols_table),
        cmocka_unit_test(impossible_plans_and_trials_are_refused),
        cmocka_unit_test(a_search_that_was_stopped_goes_on),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
