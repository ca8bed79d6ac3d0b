/* test_hard_runs.c - the methods for networks on runs and data that go wrong: each stops with a sentence and keeps a
 * valid state, or works.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/fail.h"
#include "fabayes/fit.h"
#include "fabayes/net.h"
#include "fabayes/gauss.h"
#include "linear_case.h"

enum { FEATURES = 2, D = 13, N = 24, ROOM = 64 };

/* ---- the runs ------------------------------------------------------------------------------------------ */

static const char *const methods[] = {
    "sgd", "ensemble", "swa", "swag", "multiswag", "iterate-averaging", "slang", "vogn", "laplace"};
enum { METHODS = sizeof methods / sizeof *methods };

typedef struct setting {
    const char *name, *value;
} setting;

/* What a short run of any of them is made of; a method takes those it has. */
static const setting quick[] = {{"epochs", "6"}, {"batch", "8"}, {"average", "6"},
                                {"every", "2"},  {"K", "3"},     {"again", "2"}};

/* A model in which something breaks: the gradients of call `nan_at` are NaN, 0: none. */
static struct {
    fab_model inner;
    int64_t calls, nan_at;
} broken;

static void maybe_nan(double *gradient)
{
    if (++broken.calls == broken.nan_at) gradient[D / 2] = NAN;
}

static fab_status broken_loss(void *self, const double *theta, const fab_examples *e, double *loss,
                              double *gradient)
{
    const fab_status s = broken.inner.loss(self, theta, e, loss, gradient);
    if (gradient) maybe_nan(gradient);
    return s;
}

static void broken_combine(void *self, int64_t k, const double *V, void *out)
{
    broken.inner.combine(self, k, V, out);
    if (k == 1) maybe_nan(out);
}

typedef struct run {
    int64_t settings[ROOM];
    const fab_method *method;
    fab_net *net;
    fab_model m;
    problem p;
} run;

static int has(const run *r, const char *name)
{
    return fab_settings_find(r->method->fields, name) != NULL;
}

/* A quick run with one setting more, where the method has it. */
static run run_of(const char *method, const setting *more)
{
    run r = {.method = fab_method_of_networks(fab_method_find(method)),
             .p = some_problem(N, FEATURES, 5)};
    const fab_net_plan plan = {
        .layers = "mlp:3", .features = FEATURES, .classes = 1, .beta = 2.385, .batch = 8};
    assert_ok(fab_net_create(&r.net, &plan, NULL));
    r.m = broken.inner = *fab_net_model(r.net);
    assert_int_equal(r.m.D, D);
    broken.calls = broken.nan_at = 0;
    r.m.loss = broken_loss;
    r.m.combine = broken_combine;
    assert_true(r.method->fields->size <= sizeof r.settings);
    fab_settings_defaults(r.method->fields, r.settings);
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++)
        if (has(&r, quick[i].name))
            assert_ok(
                fab_settings_parse(r.method->fields, r.settings, quick[i].name, quick[i].value));
    if (more) assert_ok(fab_settings_parse(r.method->fields, r.settings, more->name, more->value));
    return r;
}

/* The run until its end or failure, and the handle. */
static fab_status result_of(run *r, fab_fit **f)
{
    const fab_examples e = examples_of(&r->p);
    const fab_mixture *mix;
    FAB_TRY(fab_fit_create(f, fab_method_name(r->method), r->settings, r->method->fields->size,
                           &(fab_input){.model = &r->m}, NULL));
    assert_ok(fab_fit_update(*f, &e));
    FAB_TRY(fab_fit_result(*f, &mix));
    assert_ok(fab_mixture_check(mix));
    return FAB_OK;
}

static void close_run(run *r, fab_fit *f)
{
    fab_fit_free(f);
    fab_net_free(r->net);
}

/* The state after a failure can be written and read back: a reader refuses what is not finite. */
static void assert_valid(fab_fit *f)
{
    fab_posterior *back;
    assert_ok(fab_fit_checkpoint(f, in_folder("q.safetensors"), NULL));
    assert_ok(fab_posterior_load(&back, in_folder("q.safetensors")));
    fab_posterior_free(back);
}

static void assert_works(run *r)
{
    fab_fit *f = NULL;
    const fab_status s = result_of(r, &f);
    if (s != FAB_OK) fail_msg("%s: %s", r->method->name, fab_detail());
    close_run(r, f);
}

static void assert_stops(run *r, const char *first, const char *second)
{
    fab_fit *f = NULL;
    assert_int_equal(result_of(r, &f), FAB_NUMERIC);
    if (!strstr(fab_detail(), first) || !strstr(fab_detail(), second))
        fail_msg("%s says '%s', expected '%s' and '%s'", r->method->name, fab_detail(), first,
                 second);
    assert_valid(f);
    close_run(r, f);
}

/* ---- what goes wrong --------------------------------------------------------------------------------------- */

static void a_rate_that_explodes_is_named_with_its_step(void **state)
{
    (void)state;
    const setting rates[] = {{"rate", "1e200"}, {"swag_rate", "1e200"}};
    for (int i = 0; i < METHODS; i++)
        for (int k = 0; k < 2; k++) {
            char sentence[64];
            if (!fab_settings_find(fab_method_find(methods[i])->fields, rates[k].name)) continue;
            run r = run_of(methods[i], &rates[k]);
            snprintf(sentence, sizeof sentence, "lower %s (now 1e+200)", rates[k].name);
            assert_stops(&r, "at step ", sentence);
        }
}

static void gradients_that_are_not_numbers_are_named_with_their_step(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++)
        for (int late = 0; late < 2; late++) {
            run r = run_of(methods[i], NULL);
            broken.nan_at = late ? 8 : 2;
            assert_stops(&r, late ? "nan at step 8 (epoch 3)" : "nan at step 2 (epoch 1)",
                         "lower rate (now ");
        }
}

static void gradients_break_in_the_averaged_epochs_too(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        run r = run_of(methods[i], NULL);
        broken.nan_at = 29; /* 18 steps of training, then the fourth epoch */
        if (has(&r, "swag_rate"))
            assert_stops(&r, "nan at step 29 (epoch 10)", "lower swag_rate (now ");
        else
            fab_net_free(r.net);
    }
}

static void a_constant_target_is_no_trouble(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        run r = run_of(methods[i], NULL);
        for (int64_t j = 0; j < N; j++) r.p.y[j] = 2.385;
        assert_works(&r);
    }
}

static void one_row_is_enough(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        run r = run_of(methods[i], NULL);
        r.p.N = 1;
        assert_works(&r);
    }
}

static void more_columns_than_coordinates_are_refused(void **state)
{
    (void)state;
    const setting columns = {"K", "14"};
    for (int i = 0; i < METHODS; i++) {
        fab_fit *f = NULL;
        if (!fab_settings_find(fab_method_find(methods[i])->fields, "K")) continue;
        run r = run_of(methods[i], &columns);
        assert_refused(result_of(&r, &f), FAB_BAD_ARGUMENT,
                       "K = 14 columns for D = 13 coordinates, expected K <= D");
        close_run(&r, f);
    }
}

/* Squares of gradients and of moves are 0 in double: variances stand at a floor, or at the prior. */
static void numbers_whose_squares_vanish_are_no_trouble(void **state)
{
    (void)state;
    const setting small = {"rate", "1e-170"};
    for (int i = 0; i < METHODS; i++) {
        run r = run_of(methods[i], &small);
        if (has(&r, "swag_rate"))
            assert_ok(fab_settings_parse(r.method->fields, r.settings, "swag_rate", "1e-170"));
        for (int64_t j = 0; j < N; j++) r.p.y[j] *= 1e-170;
        for (int64_t j = 0; j < N * FEATURES; j++) r.p.x[j] *= 1e-170;
        assert_works(&r);
    }
}

static void a_precision_that_leaves_the_numbers_is_named(void **state)
{
    (void)state;
    const setting starts[] = {{"start", "1e-300"}, {"start", "1e300"}};
    for (int i = 0; i < METHODS; i++) {
        if (!fab_settings_find(fab_method_find(methods[i])->fields, "start")) continue;
        run wide = run_of(methods[i], &starts[0]);
        assert_stops(&wide, "at step 1 ", "raise start");
        run narrow = run_of(methods[i], &starts[1]);
        assert_stops(&narrow, "the square of the precision is inf at step 1 ", "lower rate");
    }
}

static void targets_beyond_the_numbers_are_named(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        run r = run_of(methods[i], NULL);
        for (int64_t j = 0; j < N; j++) r.p.y[j] *= 1e200;
        assert_stops(&r, "the loss is inf at step 1 ", "lower rate (now ");
    }
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES(a_rate_that_explodes_is_named_with_its_step),
        FILES(gradients_that_are_not_numbers_are_named_with_their_step),
        FILES(gradients_break_in_the_averaged_epochs_too),
        TEST(a_constant_target_is_no_trouble),
        TEST(one_row_is_enough),
        TEST(more_columns_than_coordinates_are_refused),
        TEST(numbers_whose_squares_vanish_are_no_trouble),
        FILES(a_precision_that_leaves_the_numbers_is_named),
        FILES(targets_beyond_the_numbers_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
