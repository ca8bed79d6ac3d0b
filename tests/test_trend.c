/* test_trend.c - does a training run say that its loss still fell at its end?
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/fit.h"
#include "fabayes/random.h"
#include "train/trend.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* |a - b| <= tol, in doubles */
static void assert_near(double a, double b, double tol)
{
    if (!(fabs(a - b) <= tol)) fail_msg("%.17g and %.17g, expected within %g", a, b, tol);
}

enum { STEPS = 1000 };

/* A loss that falls by `fall` from one tenth to the next, with noise of this sd, over so many epochs. */
static fab_report report_of(double fall, double sd, int64_t epochs)
{
    static double z[STEPS];
    fab_trend t = {0};
    fab_report r = {0};
    fab_random_normal(7, FAB_PURPOSE_DATA, 0, 0, STEPS, FAB_F64, z);
    for (int i = 0; i < STEPS; i++) {
        const double part = (double)i / STEPS;
        fab_trend_add(&t, part, epochs, 3 - 10 * fall * part + sd * z[i]);
    }
    fab_trend_report(&t, &r);
    return r;
}

static void a_fall_is_measured_from_tenth_to_tenth(void **state)
{
    (void)state;
    fab_report r = report_of(0.2385, 0, 50);
    assert_int_equal(r.converged, 0);
    assert_near(r.gain, 0.2385, 1e-12 * STEPS);
    r = report_of(0.02, 0, 50); /* not worth more steps */
    assert_int_equal(r.converged, 1);
    assert_near(r.gain, 0.02, 1e-12 * STEPS);
    r = report_of(-0.3, 0, 50); /* a loss that rises, as that of a bound may */
    assert_int_equal(r.converged, 1);
    r = report_of(0.06, 5, 50); /* within its noise: se 5 sqrt(2 / 100) = 0.7 */
    assert_int_equal(r.converged, 1);
    r = report_of(2.0, 5, 50); /* 2.8 of it, and of this seed */
    assert_int_equal(r.converged, 0);
}

static void a_short_run_is_unfinished_or_not_known(void **state)
{
    (void)state;
    fab_report r = report_of(0.02, 0, 9); /* 0.09 from half to half */
    assert_int_equal(r.converged, 0);
    assert_near(r.gain, 4.5 * 0.02, 1e-12 * STEPS);
    r = report_of(0.002, 0, 9);
    assert_int_equal(r.converged, -1);
    fab_trend t = {0};
    fab_trend_add(&t, 0, 1, 3.0); /* one step */
    fab_trend_report(&t, &r);
    assert_int_equal(r.converged, -1);
    assert_true(isnan(r.gain));
}

/* ---- methods ------------------------------------------------------------------------------------------- */

enum { N = 1000, D = 4 };

static fab_report trained(const char *method, int64_t epochs)
{
    static double x[N * D], y[N], noise[N];
    fab_random_normal(5, FAB_PURPOSE_DATA, 1, 0, N * D, FAB_F64, x);
    fab_random_normal(5, FAB_PURPOSE_DATA, 2, 0, N, FAB_F64, noise);
    for (int i = 0; i < N; i++) y[i] = 2.0 * x[i * D] - 1.5 * x[i * D + 1] + 0.3 * noise[i];
    fab_glm head = {
        .likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = D, .classes = 1, .intercept = 1, .beta = 1};
    const fab_model m = fab_model_linear(&head);
    const fab_method *f = fab_method_find(method);
    _Alignas(double) char settings[1024];
    char text[32];
    fab_settings_defaults(fab_method_fields(f), settings);
    snprintf(text, sizeof text, "%lld", (long long)epochs);
    if (epochs)
        assert_int_equal(fab_settings_parse(fab_method_fields(f), settings, "epochs", text),
                         FAB_OK);
    fab_fit *fit;
    fab_report r;
    if (fab_fit_create(&fit, method, settings, fab_method_fields(f)->size,
                       &(fab_input){.model = &m}, NULL) != FAB_OK)
        fail_msg("%s", fab_detail());
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = N, .ld = D}, .y = y};
    assert_int_equal(fab_fit_update(fit, &e), FAB_OK);
    if (fab_fit_report(fit, &r) != FAB_OK) fail_msg("%s", fab_detail());
    fab_fit_free(fit);
    return r;
}

static void a_method_says_when_it_was_stopped_too_early(void **state)
{
    (void)state;
    const char *const method[] = {"sgd",  "ensemble",  "swa",   "swag",
                                  "vifa", "meanfield", "slang", "vogn"};
    enum { STEEP = 4 }; /* from vifa on */
    for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
        const fab_report early = trained(method[i], 2), whole = trained(method[i], 0);
        /* natural gradients may be there after 2 epochs of a linear model: but nobody says so */
        const int may_be_there = i >= STEEP;
        if (early.converged != 0 && !(may_be_there && early.converged == -1))
            fail_msg("%s: %lld after 2 epochs, a gain of %g", method[i], (long long)early.converged,
                     early.gain);
        if (whole.converged != 1)
            fail_msg("%s: %lld after all, a gain of %g", method[i], (long long)whole.converged,
                     whole.gain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fall_is_measured_from_tenth_to_tenth),
        cmocka_unit_test(a_short_run_is_unfinished_or_not_known),
        cmocka_unit_test(a_method_says_when_it_was_stopped_too_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
