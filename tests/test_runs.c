/* test_runs.c - independent runs of a method: each as it would be alone, mixed, saved, gone on with.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/net.h"
#include "fabayes/gauss.h"
#include "fabayes/settings.h"
#include "fabayes/methods.h"
#include "linear_case.h"

enum { RUNS = 3, SEED = 5 };

typedef struct setting {
    problem p;
    fab_examples e;
    fab_net *net;
    const fab_model *m;
} setting;

static setting *some_setting(void)
{
    setting *s = dense_bytes(sizeof *s);
    const fab_net_plan plan = {.layers = "mlp:4", .features = 3, .classes = 1, .beta = 1};
    s->p = some_problem(30, 3, 4);
    s->e = examples_of(&s->p);
    assert_ok(fab_net_create(&s->net, &plan, NULL));
    s->m = fab_net_model(s->net);
    return s;
}

static fab_vifa_settings vifa_settings(int64_t seed, int64_t runs)
{
    fab_vifa_settings s = fab_vifa_defaults();
    s.K = 2;
    s.train.epochs = 20;
    s.train.seed = seed;
    s.train.runs = runs;
    return s;
}

static fab_fit *open_run(const char *method, const setting *t, const void *s)
{
    fab_fit *f;
    assert_ok(fab_fit_create(&f, method, s, settings_size(method, t->m),
                             &(fab_input){.model = t->m}, NULL));
    assert_ok(fab_fit_update(f, &t->e));
    return f;
}

static void assert_same(const fab_gauss *a, const fab_gauss *b)
{
    assert_int_equal(a->D, b->D);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * sizeof(double));
    assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * sizeof(double));
    assert_memory_equal(a->psi, b->psi, (size_t)a->D * sizeof(double));
}

static void each_run_is_what_it_is_alone(void **state)
{
    (void)state;
    setting *t = some_setting();
    fab_vifa_settings s = vifa_settings(SEED, RUNS);
    fab_fit *all = open_run("vifa", t, &s);
    const fab_gauss *q;
    const fab_mixture *mix;
    assert_ok(fab_fit_result(all, &mix));
    assert_int_equal(mix->n, RUNS);
    assert_ok(fab_mixture_check(mix));
    for (int64_t i = 0; i < RUNS; i++) {
        s = vifa_settings(SEED + i, 1);
        fab_fit *one = open_run("vifa", t, &s);
        const fab_mixture *alone;
        assert_ok(fab_fit_gauss(one, &q));
        assert_same(mix->part[i], q);
        assert_ok(fab_fit_result(one, &alone));
        assert_true(alone->n == 1 && alone->part[0] == q && alone->weight[0] == 1);
        fab_fit_free(one);
    }
    assert_ok(fab_fit_gauss(all, &q));
    assert_ptr_equal(q, mix->part[0]);
    assert_int_equal(((const fab_model_settings *)fab_fit_settings(all))->seed, SEED);
    fab_fit_free(all);
    fab_net_free(t->net);
}

static void an_ensemble_is_a_mixture_of_points(void **state)
{
    (void)state;
    setting *t = some_setting();
    const fab_method *ensemble = fab_method_find("ensemble");
    fab_sgd_settings s;
    fab_posterior *back;
    fab_settings_defaults(ensemble->fields, &s);
    assert_int_equal(s.runs, 5);
    s.epochs = 5;
    fab_fit *f = open_run("ensemble", t, &s);
    assert_ok(fab_fit_save(f, in_folder("e.safetensors"), NULL));
    assert_ok(fab_posterior_load(&back, in_folder("e.safetensors")));
    assert_int_equal(back->mix.n, 5);
    assert_int_equal(back->mix.part[4]->form, FAB_FORM_POINT);
    assert_string_equal(fab_tensors_get(back->file, "method"), "ensemble");
    assert_non_null(fab_tensors_find(back->file, "4.state.theta"));
    assert_true(fab_fit_bytes("ensemble", &s, sizeof s, &(fab_input){.model = t->m}, 30, NULL) >
                5.0 * 8 * 3 * (double)t->m->D);
    fab_posterior_free(back);
    fab_fit_free(f);
    fab_net_free(t->net);
}

static int stop_once(void *ctx, const char *what, int64_t done, int64_t total)
{
    int *calls = ctx;
    (void)what;
    (void)done;
    (void)total;
    return ++*calls == 3; /* in the second run */
}

static void stopped_runs_go_on_to_the_same_bytes(void **state)
{
    (void)state;
    setting *t = some_setting();
    const fab_vifa_settings s = vifa_settings(SEED, RUNS);
    fab_fit *whole = open_run("vifa", t, &s), *half = open_run("vifa", t, &s), *again;
    const fab_mixture *a, *b;
    fab_tensors *file;
    int calls = 0;
    assert_ok(fab_fit_result(whole, &a));
    fab_set_progress(stop_once, &calls);
    assert_int_equal(fab_fit_result(half, &b), FAB_STOPPED);
    fab_set_progress(NULL, NULL);
    assert_ok(fab_fit_checkpoint(half, in_folder("half.safetensors"), NULL));
    assert_ok(fab_tensors_read(&file, in_folder("half.safetensors")));
    assert_ok(fab_fit_load(&again, file, &(fab_input){.model = t->m}, NULL));
    assert_ok(fab_fit_update(again, &t->e));
    assert_ok(fab_fit_result(again, &b));
    for (int64_t i = 0; i < RUNS; i++) assert_same(a->part[i], b->part[i]);
    fab_tensors_free(file);
    fab_fit_free(whole);
    fab_fit_free(half);
    fab_fit_free(again);
    fab_net_free(t->net);
}

static void a_run_that_fails_is_named(void **state)
{
    (void)state;
    setting *t = some_setting();
    fab_vifa_settings s = vifa_settings(SEED, RUNS);
    const fab_mixture *mix;
    s.optimiser = FAB_VIFA_SGD;
    s.train.rate = 1e6;
    fab_fit *f = open_run("vifa", t, &s);
    assert_refused(fab_fit_result(f, &mix), FAB_NUMERIC, "run 1 of 3: vifa: ");
    assert_null(mix);
    fab_fit_free(f);
    s.train.runs = 0;
    assert_refused(fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = t->m}, NULL),
                   FAB_BAD_ARGUMENT, "runs = 0");
    fab_net_free(t->net);
}

static const setting *at_hand;

static fab_status run_and_close(void)
{
    fab_vifa_settings s = vifa_settings(SEED, RUNS);
    fab_fit *f = NULL;
    const fab_mixture *mix;
    s.train.epochs = 1;
    fab_status done =
        fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = at_hand->m}, NULL);
    if (done == FAB_OK) done = fab_fit_update(f, &at_hand->e);
    if (done == FAB_OK) done = fab_fit_result(f, &mix);
    fab_fit_free(f);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    at_hand = some_setting();
    assert_true(fail_every_allocation(run_and_close) >= 3 * RUNS);
    fab_net_free(at_hand->net);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_run_is_what_it_is_alone),          FILES(an_ensemble_is_a_mixture_of_points),
        FILES(stopped_runs_go_on_to_the_same_bytes), TEST(a_run_that_fails_is_named),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
