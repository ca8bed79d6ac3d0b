/* test_sgd.c - training of any model: modes that are known in closed form, callbacks, stops and failures.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/rows.h"
#include "fabayes/data.h"
#include "fabayes/net.h"
#include "fabayes/gauss.h"
#include "fabayes/settings.h"
#include "fabayes/methods.h"
#include "train/minibatch.h"
#include "train/optim.h"
#include "linear_case.h"

static fab_net *net_for(const char *layers, int64_t features, double beta, fab_noise noise_kind)
{
    const fab_net_plan p = {.layers = layers,
                            .features = features,
                            .classes = 1,
                            .beta = beta,
                            .noise = noise_kind,
                            .batch = 64};
    fab_net *net;
    assert_ok(fab_net_create(&net, &p, NULL));
    return net;
}

static fab_fit *open_run(const fab_model *m, const fab_sgd_settings *s, const fab_gauss *prior,
                         const fab_examples *e)
{
    fab_fit *f;
    assert_ok(
        fab_fit_create(&f, "sgd", s, sizeof *s, &(fab_input){.model = m, .prior = prior}, NULL));
    assert_ok(fab_fit_update(f, e));
    return f;
}

static const fab_gauss *result_of(fab_fit *f)
{
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(f, &q));
    assert_int_equal(q->form, FAB_FORM_POINT);
    return q;
}

/* ---- the mode ----------------------------------------------------------------------------------------- */

/* A linear network of a gaussian target is a linear model, whose mode is known. */
static void a_linear_network_finds_the_exact_mode(void **state)
{
    (void)state;
    static const fab_optimiser kinds[] = {FAB_OPTIMISER_SGD, FAB_OPTIMISER_NESTEROV,
                                          FAB_OPTIMISER_ADAM};
    static const double rates[] = {0.02, 0.005, 0.05};
    problem p = some_problem(60, 4, 5);
    add_weights(&p, 9);
    fab_gauss *prior = some_gauss(FAB_FORM_PRECISION, FAB_F64, 5, 1, 1, 1);
    p.prior = prior;
    const truth t = solve(&p);
    const fab_examples e = examples_of(&p);
    for (int k = 0; k < 3; k++) {
        fab_net *net = net_for("linear", 4, p.beta, FAB_NOISE_FIXED);
        fab_sgd_settings s = fab_sgd_defaults();
        s.optimiser = kinds[k];
        s.rate = rates[k];
        s.epochs = 4000;
        s.batch = 60; /* all rows: the gradient has no noise */
        fab_fit *f = open_run(fab_net_model(net), &s, prior, &e);
        const fab_gauss *q = result_of(f);
        for (int64_t d = 0; d < 5; d++) assert_true(fabs(q->mu[d] - (double)t.mean[d]) < 1e-6);
        fab_fit_free(f);
        fab_net_free(net);
    }
    fab_gauss_free(prior);
}

/* At the mode of a model with its own noise: |r|^2 / N = 1 / beta. */
static void a_learned_noise_is_that_of_the_residuals(void **state)
{
    (void)state;
    const problem p = some_problem(80, 3, 6);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_for("linear", 3, 1, FAB_NOISE_LEARNED);
    fab_sgd_settings s = fab_sgd_defaults();
    s.epochs = 4000;
    s.batch = 80;
    s.rate = 0.05;
    const fab_model *m = fab_net_model(net);
    fab_fit *f = open_run(m, &s, NULL, &e);
    const fab_gauss *q = result_of(f);
    double eta[80], sum = 0;
    fab_report r;
    fab_rows part = e.x;
    part.n = 64;
    assert_ok(m->predict(m->self, q->mu, &part, eta));
    part = (fab_rows){p.x + 64 * 3, FAB_F64, 16, 3};
    assert_ok(m->predict(m->self, q->mu, &part, eta + 64));
    for (int i = 0; i < 80; i++) sum += (p.y[i] - eta[i]) * (p.y[i] - eta[i]) / 80;
    assert_ok(fab_fit_report(f, &r));
    assert_true(fabs(r.beta * sum - 1) < 1e-6);
    assert_int_equal(r.iterations, 4000);
    assert_true(r.loss < 2);
    fab_fit_free(f);
    fab_net_free(net);
}

static void adamw_shrinks_beside_the_optimiser(void **state)
{
    (void)state;
    double m[2] = {0}, v[2] = {0}, theta[2] = {1, 1}, g[2] = {0.5, -0.25};
    fab_optim o = {.kind = FAB_OPTIMISER_ADAMW,
                   .momentum = 0.9,
                   .second = 0.999,
                   .epsilon = 1e-300,
                   .n = 2,
                   .threads = 1,
                   .m = m,
                   .v = v};
    fab_optim_step(&o, 0.1, g, 0.3, 1, theta);
    assert_true(fabs(theta[0] - (1 - 0.1 * 0.3 - 0.1)) < 1e-14); /* a first step has size `rate` */
    assert_true(fabs(theta[1] - (1 + 0.1)) < 1e-14);
}

static void schedules_are_what_they_say(void **state)
{
    (void)state;
    fab_rates r = {FAB_SCHEDULE_CONSTANT, 2, 0.1, 0.4, 0.25};
    assert_true(fab_rate_at(&r, 0.9) == 2);
    r.schedule = FAB_SCHEDULE_STEPS;
    assert_true(fab_rate_at(&r, 0.39) == 2 && fabs(fab_rate_at(&r, 0.81) - 0.02) < 1e-15);
    r.schedule = FAB_SCHEDULE_COSINE;
    assert_true(fab_rate_at(&r, 0) == 2 && fabs(fab_rate_at(&r, 0.5) - 1) < 1e-15);
    r.schedule = FAB_SCHEDULE_ONE_CYCLE;
    assert_true(fab_rate_at(&r, 0.125) == 1 && fab_rate_at(&r, 0.25) == 2 &&
                fab_rate_at(&r, 0.999999) < 1e-9);
}

static void clipping_keeps_the_direction(void **state)
{
    (void)state;
    double g[2] = {3, -4};
    fab_clip(2, 10, 5, g);
    assert_true(g[0] == 3);
    fab_clip(2, 1, 5, g);
    assert_true(fabs(g[0] - 0.6) < 1e-15 && fabs(g[1] + 0.8) < 1e-15);
}

/* ---- batches ------------------------------------------------------------------------------------------ */

/* A caller's test rows and the rows a method holds out, with one seed: 100 of 400 each.  Two that have nothing to do with
 * one another share 25 +- 3.75 rows (hypergeometric); 6 sd: false alarms at 2e-9 by the normal limit.  Before each had a
 * purpose they were the same rows. */
static void rows_held_out_are_not_those_of_a_callers_split(void **state)
{
    (void)state;
    enum { ROWS = 400, TESTED = 100 };
    double x[ROWS], y[ROWS] = {0};
    for (int i = 0; i < ROWS; i++) x[i] = i;
    const fab_examples all = {.x = {x, FAB_F64, ROWS, 1}, .y = y};
    const int64_t *tested;
    int64_t shared = 0;
    fab_minibatch *b;
    fab_split *s;
    assert_ok(fab_split_test(&s, ROWS, 0.25, NULL, 3));
    assert_ok(fab_minibatch_init(&b, "test", &all, FAB_F64, 1, TESTED, 0.25, 3));
    const fab_examples held = fab_minibatch_held(b, 0);
    assert_int_equal(fab_split_part(s, 1, &tested), TESTED);
    assert_int_equal(held.x.n, TESTED);
    for (int i = 0; i < TESTED; i++)
        for (int j = 0; j < TESTED; j++)
            shared += ((const double *)held.x.p)[i] == (double)tested[j];
    assert_true(shared > 25 - 23 && shared < 25 + 23);
    fab_minibatch_free(b);
    fab_split_free(s);
}

static void an_epoch_takes_every_row_once_and_no_row_held_out(void **state)
{
    (void)state;
    enum { N = 53 };
    double x[N], y[N];
    int seen[N] = {0};
    for (int i = 0; i < N; i++) x[i] = y[i] = i;
    const fab_examples all = {.x = {x, FAB_F64, N, 1}, .y = y};
    fab_minibatch *b;
    assert_ok(fab_minibatch_init(&b, "test", &all, FAB_F64, 1, 10, 0.2, 3));
    assert_int_equal(fab_minibatch_rows(b), 42);
    for (int64_t i = 0; i < fab_minibatch_steps(b); i++) {
        const fab_examples e = fab_minibatch_get(b, 7, i);
        for (int64_t j = 0; j < e.x.n; j++) {
            assert_true(((const double *)e.x.p)[j] == e.y[j]);
            seen[(int)e.y[j]]++;
        }
    }
    for (int64_t first = 0; first < 11; first += 10) {
        const fab_examples e = fab_minibatch_held(b, first);
        for (int64_t j = 0; j < e.x.n; j++) seen[(int)e.y[j]]++;
    }
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    assert_int_equal(fab_minibatch_held(b, 11).x.n, 0);
    fab_minibatch_free(b);
    assert_refused(fab_minibatch_init(&b, "test", &(fab_examples){.x = {x, FAB_F64, 1, 1}, .y = y},
                                      FAB_F64, 1, 1, 0.9, 1),
                   FAB_BAD_DATA, "leaves none of 1 rows");
}

static void batches_in_f32_are_the_rows_rounded(void **state)
{
    (void)state;
    enum { N = 7, D = 3 };
    double x[2 * N * D], y[N], value[2] = {0.1, 0.7};
    int64_t start[N + 1] = {0, 1, 2, 2, 2, 2, 2, 2};
    const int32_t index[2] = {2, 0};
    for (int i = 0; i < 2 * N * D; i++) x[i] = sin(i);
    for (int i = 0; i < N; i++) y[i] = i;
    const fab_rows forms[] = {
        {.p = x, .type = FAB_F64, .n = N, .ld = D},
        {.p = x, .type = FAB_F64, .n = N, .ld = 2 * D, .stride = 2},
        {.p = value, .type = FAB_F64, .n = N, .start = start, .index = index}};
    for (int k = 0; k < 3; k++) {
        const fab_examples all = {.x = forms[k], .y = y};
        fab_minibatch *b;
        double row[D];
        assert_ok(fab_minibatch_init(&b, "test", &all, FAB_F32, D, N, 0, 3));
        const fab_examples e = fab_minibatch_get(b, 0, 0);
        assert_true(e.x.type == FAB_F32 && e.x.n == N);
        for (int j = 0; j < N; j++) {
            fab_rows_get(&forms[k], (int64_t)e.y[j], D, row);
            for (int d = 0; d < D; d++)
                assert_true(((const float *)e.x.p)[j * D + d] == (float)row[d]);
        }
        fab_minibatch_free(b);
    }
}

/* ---- a model of one's own ----------------------------------------------------------------------------- */

/* y = a exp(b x): two coordinates and nothing else. */
static fab_status growth(void *self, const double *theta, const fab_examples *e, double *loss,
                         double *gradient)
{
    const double n = (double)e->x.n;
    *loss = 0;
    ++*(int *)self;
    if (gradient) gradient[0] = gradient[1] = 0;
    for (int64_t i = 0; i < e->x.n; i++) {
        const double x = ((const double *)e->x.p)[i * e->x.ld], grown = exp(theta[1] * x),
                     r = e->y[i] - theta[0] * grown;
        *loss += 0.5 * r * r / n;
        if (!gradient) continue;
        gradient[0] -= r * grown / n;
        gradient[1] -= r * theta[0] * grown * x / n;
    }
    return FAB_OK;
}

static void any_function_with_a_gradient_is_a_model(void **state)
{
    (void)state;
    enum { N = 40 };
    double x[N], y[N];
    int calls = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (double)i / N;
        y[i] = 1.3 * exp(-0.7 * x[i]);
    }
    const fab_examples e = {.x = {x, FAB_F64, N, 1}, .y = y};
    const fab_model m = {
        .D = 2, .head = {.D = 1, .classes = 1, .beta = 1}, .self = &calls, .loss = growth};
    fab_sgd_settings s = fab_sgd_defaults();
    s.alpha = 1e-9;
    s.epochs = 3000;
    fab_fit *f = open_run(&m, &s, NULL, &e);
    const fab_gauss *q = result_of(f);
    assert_true(fabs(q->mu[0] - 1.3) < 1e-6 && fabs(q->mu[1] + 0.7) < 1e-6);
    assert_int_equal(calls, 3000 * 2);
    fab_fit_free(f);
}

static fab_status outputs_of_nothing(void *self, const double *theta, const fab_rows *x,
                                     double *out)
{
    (void)self;
    (void)theta;
    (void)x;
    (void)out;
    return FAB_OK;
}

static void bad_models_are_refused(void **state)
{
    (void)state;
    const fab_method *sgd = fab_method_find("sgd");
    const fab_model good = {.D = 2, .head = {.D = 1, .classes = 1, .beta = 1}, .loss = growth};
    fab_sgd_settings s = fab_sgd_defaults();
    fab_exact_settings exact = fab_exact_defaults();
    fab_fit *f;
    fab_model m = good;
    m.D = 0;
    assert_refused(
        fab_fit_create(&f, fab_method_name(sgd), &s, sizeof s, &(fab_input){.model = &m}, NULL),
        FAB_BAD_ARGUMENT, "D = 0");
    m = good, m.loss = NULL;
    assert_refused(
        fab_fit_create(&f, fab_method_name(sgd), &s, sizeof s, &(fab_input){.model = &m}, NULL),
        FAB_BAD_ARGUMENT, "needs a model with a loss");
    m = good, m.predict = outputs_of_nothing;
    assert_refused(
        fab_fit_create(&f, fab_method_name(sgd), &s, sizeof s, &(fab_input){.model = &m}, NULL),
        FAB_BAD_ARGUMENT, "0 outputs of batches of 0 rows");
    m = good, m.head.classes = 2;
    assert_refused(
        fab_fit_create(&f, fab_method_name(sgd), &s, sizeof s, &(fab_input){.model = &m}, NULL),
        FAB_BAD_ARGUMENT, "expected 1 for a gaussian");
    assert_refused(
        fab_fit_create(&f, "exact", &exact, sizeof exact, &(fab_input){.model = &good}, NULL),
        FAB_BAD_ARGUMENT, "needs a model with a linear predictor");
    assert_refused(
        fab_fit_create(&f, fab_method_name(sgd), &s, sizeof s, &(fab_input){.vectors = 2}, NULL),
        FAB_BAD_ARGUMENT, "needs a model, not vectors");
    s.beta = 3;
    assert_refused(
        fab_fit_create(&f, fab_method_name(sgd), &s, sizeof s, &(fab_input){.model = &good}, NULL),
        FAB_BAD_ARGUMENT, "beta = 3 cannot be fixed");
    s.beta = FAB_AUTO_F64, s.rate = NAN;
    assert_refused(
        fab_fit_create(&f, fab_method_name(sgd), &s, sizeof s, &(fab_input){.model = &good}, NULL),
        FAB_BAD_ARGUMENT, "rate");
    assert_null(f);
}

static void a_beta_among_the_settings_is_held(void **state)
{
    (void)state;
    fab_net *fixed = net_for("mlp:3", 2, 1, FAB_NOISE_FIXED),
            *learned = net_for("mlp:3", 2, 1, FAB_NOISE_LEARNED);
    fab_sgd_settings s = fab_sgd_defaults();
    fab_fit *f;
    s.beta = 4;
    assert_ok(
        fab_fit_create(&f, "sgd", &s, sizeof s, &(fab_input){.model = fab_net_model(fixed)}, NULL));
    assert_true(fab_net_model(fixed)->head.beta == 4);
    fab_fit_free(f);
    assert_refused(fab_fit_create(&f, "sgd", &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(learned)}, NULL),
                   FAB_BAD_ARGUMENT, "not a fixed number");
    fab_net_free(fixed);
    fab_net_free(learned);
}

/* ---- stops, failures, files --------------------------------------------------------------------------- */

static void a_run_that_explodes_says_where_and_keeps_theta(void **state)
{
    (void)state;
    const problem p = some_problem(50, 3, 4);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_for("mlp:9", 3, 1, FAB_NOISE_FIXED);
    fab_sgd_settings s = fab_sgd_defaults();
    const fab_gauss *q;
    fab_posterior *back;
    s.optimiser = FAB_OPTIMISER_SGD;
    s.rate = 1e6;
    fab_fit *f = open_run(fab_net_model(net), &s, NULL, &e);
    assert_refused(fab_fit_gauss(f, &q), FAB_NUMERIC, "lower rate (now 1e+06)");
    assert_non_null(strstr(fab_detail(), "at step "));
    assert_ok(fab_fit_checkpoint(f, in_folder("q.safetensors"), NULL));
    assert_ok(
        fab_posterior_load(&back, in_folder("q.safetensors"))); /* refuses what is not finite */
    fab_posterior_free(back);
    fab_fit_free(f);
    fab_net_free(net);
}

static int stop_at(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)total;
    assert_non_null(strstr(what, "sgd: loss "));
    return done == *(const int64_t *)ctx;
}

static void a_stopped_run_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    const problem p = some_problem(50, 3, 4);
    const fab_examples e = examples_of(&p);
    const int64_t stop = 7;
    for (int k = 0; k < 4; k++) {
        fab_net *net = net_for("dense:9,relu,dropout:0.2", 3, 1, FAB_NOISE_LEARNED);
        const fab_model *m = fab_net_model(net);
        fab_sgd_settings s = fab_sgd_defaults();
        const fab_gauss *q;
        fab_tensors *file;
        fab_fit *again;
        s.optimiser = k;
        s.rate = 0.01;
        s.epochs = 20;
        s.held_out = k % 2 ? 0.2 : 0;
        fab_fit *whole = open_run(m, &s, NULL, &e), *half = open_run(m, &s, NULL, &e);
        result_of(whole);
        fab_set_progress(stop_at, (void *)(uintptr_t)&stop);
        assert_int_equal(fab_fit_gauss(half, &q), FAB_STOPPED);
        fab_set_progress(NULL, NULL);
        assert_ok(fab_fit_checkpoint(half, in_folder("half.safetensors"), NULL));
        assert_ok(fab_tensors_read(&file, in_folder("half.safetensors")));
        assert_ok(fab_fit_load(&again, file, &(fab_input){.model = m}, NULL));
        assert_ok(fab_fit_update(again, &e));
        assert_memory_equal(result_of(again)->mu, result_of(whole)->mu, (size_t)m->D * 8);
        assert_memory_equal(result_of(half)->mu, result_of(whole)->mu, (size_t)m->D * 8);
        fab_tensors_free(file);
        fab_fit_free(whole);
        fab_fit_free(half);
        fab_fit_free(again);
        fab_net_free(net);
    }
}

static void held_out_rows_stop_a_run_that_learns_noise(void **state)
{
    (void)state;
    problem p = some_problem(60, 5, 4);
    for (int i = 0; i < 60; i++) p.y[i] = noise(77, i); /* nothing to learn */
    const fab_examples e = examples_of(&p);
    fab_net *net = net_for("mlp:40", 5, 1, FAB_NOISE_FIXED);
    fab_sgd_settings s = fab_sgd_defaults();
    fab_report r;
    s.held_out = 0.3;
    s.patience = 5;
    s.epochs = 1000;
    fab_fit *f = open_run(fab_net_model(net), &s, NULL, &e);
    result_of(f);
    assert_ok(fab_fit_report(f, &r));
    assert_true(r.iterations < 500 && r.converged == 1);
    assert_true(isfinite(r.held_out));
    fab_fit_free(f);
    fab_net_free(net);
}

static void a_saved_network_is_built_again_from_its_file(void **state)
{
    (void)state;
    const problem p = some_problem(50, 3, 4);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_for("mlp:9:tanh", 3, 2, FAB_NOISE_FIXED), *back;
    fab_sgd_settings s = fab_sgd_defaults();
    fab_posterior *file;
    double a[50], b[50];
    s.epochs = 3;
    fab_fit *f = open_run(fab_net_model(net), &s, NULL, &e);
    assert_ok(fab_fit_save(f, in_folder("net.safetensors"), NULL));
    assert_ok(fab_posterior_load(&file, in_folder("net.safetensors")));
    assert_string_equal(fab_tensors_get(file->file, "method"), "sgd");
    assert_ok(fab_net_from_json(&back, fab_tensors_get(file->file, "model"), 64, NULL));
    const fab_model *m = fab_net_model(net), *n = fab_net_model(back);
    assert_true(n->head.beta == 2);
    assert_ok(m->predict(m->self, result_of(f)->mu, &e.x, a));
    assert_ok(n->predict(n->self, file->mix.part[0]->mu, &e.x, b));
    assert_memory_equal(a, b, sizeof a);
    assert_true(fab_fit_bytes("sgd", &s, sizeof s, &(fab_input){.model = m}, 50, NULL) >
                8.0 * 6 * (double)m->D);
    fab_posterior_free(file);
    fab_fit_free(f);
    fab_net_free(net);
    fab_net_free(back);
}

static void foreign_files_do_not_resume(void **state)
{
    (void)state;
    fab_net *net = net_for("mlp:9", 3, 2, FAB_NOISE_FIXED);
    fab_tensors *t;
    fab_fit *f;
    assert_ok(fab_tensors_create(&t));
    assert_refused(fab_fit_load(&f, t, &(fab_input){.model = fab_net_model(net)}, NULL),
                   FAB_BAD_FILE, "no saved fit");
    assert_ok(fab_tensors_set(t, "method", "sgd"));
    assert_ok(fab_tensors_set(t, "settings", "{}"));
    assert_ok(fab_tensors_set(t, "n", "7"));
    assert_refused(fab_fit_load(&f, t, &(fab_input){.model = fab_net_model(net)}, NULL),
                   FAB_BAD_FILE, "no tensor 'state.theta'");
    assert_null(f);
    fab_tensors_free(t);
    fab_net_free(net);
}

static fab_status train_and_close(void)
{
    static double x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {1, 0, 1, 0, 1, 0};
    const fab_examples e = {.x = {x, FAB_F64, 6, 1}, .y = y};
    int calls = 0;
    const fab_model m = {
        .D = 2, .head = {.D = 1, .classes = 1, .beta = 1}, .self = &calls, .loss = growth};
    fab_sgd_settings s = fab_sgd_defaults();
    const fab_gauss *q;
    fab_gauss *prior = NULL;
    fab_fit *f = NULL;
    s.epochs = 2;
    fab_status done = fab_gauss_create(&prior, FAB_FORM_PRECISION, FAB_F64, 2, 0);
    if (done == FAB_OK)
        done = fab_fit_create(&f, "sgd", &s, sizeof s, &(fab_input){.model = &m, .prior = prior},
                              NULL);
    if (done == FAB_OK) done = fab_fit_update(f, &e);
    if (done == FAB_OK) done = fab_fit_gauss(f, &q);
    fab_fit_free(f);
    fab_gauss_free(prior);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(train_and_close) >= 6);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_linear_network_finds_the_exact_mode),
        TEST(a_learned_noise_is_that_of_the_residuals),
        TEST(adamw_shrinks_beside_the_optimiser),
        TEST(schedules_are_what_they_say),
        TEST(clipping_keeps_the_direction),
        TEST(batches_in_f32_are_the_rows_rounded),
        TEST(an_epoch_takes_every_row_once_and_no_row_held_out),
        TEST(rows_held_out_are_not_those_of_a_callers_split),
        TEST(any_function_with_a_gradient_is_a_model),
        TEST(bad_models_are_refused),
        TEST(a_beta_among_the_settings_is_held),
        FILES(a_run_that_explodes_says_where_and_keeps_theta),
        FILES(a_stopped_run_goes_on_to_the_same_bytes),
        TEST(held_out_rows_stop_a_run_that_learns_noise),
        FILES(a_saved_network_is_built_again_from_its_file),
        FILES(foreign_files_do_not_resume),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
