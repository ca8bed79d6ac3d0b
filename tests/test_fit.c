/* test_fit.c - the verbs every method goes through: door, order of calls, files.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/settings.h"
#include "fabayes/fit.h"
#include "fabayes/methods.h"
#include "fabayes/gauss.h"
#include "fabayes/net.h"
#include "fit/fit.h"
#include "linear_case.h"

static void methods_know_what_they_fit(void **state)
{
    (void)state;
    fab_glm glm = {.D = 3, .classes = 1, .intercept = 1};
    const fab_model linear = fab_model_linear(&glm);
    const fab_exact_settings s = fab_exact_defaults();
    const fab_ml_settings ml = fab_ml_defaults(1);
    fab_fit *f, *e;
    assert_refused(fab_fit_create(&e, "exact", &s, sizeof s, &(fab_input){.vectors = 3}, NULL),
                   FAB_BAD_ARGUMENT, "exact: this method needs a model, not vectors alone");
    assert_refused(fab_fit_create(&f, "ml", &ml, sizeof ml, &(fab_input){.model = &linear}, NULL),
                   FAB_BAD_ARGUMENT, "ml: this method fits vectors");
    assert_null(e);
    assert_null(f);
}

/* What a method says that it takes is what a fit takes: every likelihood, of linear models and of networks. */
static void likelihoods_can_be_asked_for(void **state)
{
    (void)state;
    int64_t asked = 0, settings[64];
    for (int64_t i = 0; i < fab_method_count(); i++)
        for (int network = 0; network < 2; network++)
            for (int l = 0; l < fab_likelihood_count(); l++) {
                const fab_method *listed = fab_method_at(i),
                                 *m = network ? fab_method_of_networks(listed) : listed;
                const int many = l == FAB_LIKELIHOOD_CATEGORICAL;
                fab_glm glm = {.likelihood = (fab_likelihood)l,
                               .D = 3,
                               .classes = many ? 3 : 1,
                               .intercept = 1,
                               .beta = 1};
                const fab_net_plan plan = {.layers = "dense:2,tanh",
                                           .features = 3,
                                           .batch = 64,
                                           .likelihood = (fab_likelihood)l,
                                           .classes = glm.classes,
                                           .beta = 1};
                fab_net *net = NULL;
                fab_model model = fab_model_linear(&glm);
                fab_fit *f = NULL;
                if (fab_method_takes(m) & FAB_TAKES_VECTORS) {
                    assert_int_equal(fab_method_likelihoods(m), 0);
                    continue;
                }
                if (network && fab_net_create(&net, &plan, NULL) != FAB_OK)
                    continue; /* it has no such output */
                if (network) model = *fab_net_model(net);
                fab_settings_defaults(m->fields, settings);
                if (l == FAB_LIKELIHOOD_GAUSSIAN && !network) /* which laplace does not look for */
                    fab_settings_choose(m->fields, settings, "beta", 2.385);
                const int takes = fab_method_lacks(m, &model) == NULL,
                          fits = fab_fit_create(&f, fab_method_name(listed), settings,
                                                m->fields->size, &(fab_input){.model = &model},
                                                NULL) == FAB_OK;
                if (takes != fits)
                    fail_msg("%s of %s, network %d: says %d, fits %d: %s", fab_method_name(m),
                             fab_likelihood_name((fab_likelihood)l), network, takes, fits,
                             fab_detail());
                if (takes) assert_true(fab_method_likelihoods(m) >> l & 1);
                asked++;
                fab_fit_free(f);
                fab_net_free(net);
            }
    assert_true(asked > 100);
    assert_int_equal(fab_method_likelihoods(fab_method_find("kalman")),
                     1 << FAB_LIKELIHOOD_GAUSSIAN);
    assert_true(
        fab_method_likelihoods(fab_method_find("laplace")) >> FAB_LIKELIHOOD_NEGATIVE_BINOMIAL & 1);
    assert_false(
        fab_method_likelihoods(fab_method_find("rvga")) >> FAB_LIKELIHOOD_NEGATIVE_BINOMIAL & 1);
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    fab_glm glm = {.D = 3, .classes = 1, .intercept = 1};
    const fab_model linear = fab_model_linear(&glm);
    const char *const bad[][2] = {{"alpha", "0"}, {"alpha", "nan"}, {"beta", "-1"}, {"seed", "-1"}};
    const fab_method *m = fab_method_find("exact");
    fab_fit *f;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fab_exact_settings s = fab_exact_defaults();
        if (fab_settings_parse(m->fields, &s, bad[i][0], bad[i][1]) != FAB_OK) continue;
        assert_refused(
            fab_fit_create(&f, "exact", &s, sizeof s, &(fab_input){.model = &linear}, NULL),
            FAB_BAD_ARGUMENT, bad[i][0]);
    }
}

static void bad_models_are_refused(void **state)
{
    (void)state;
    fab_glm glm = {.D = 3, .classes = 2, .intercept = 1};
    fab_model m = fab_model_linear(&glm);
    fab_fit *f;
    assert_refused(fab_fit_create(&f, "exact", NULL, 0, &(fab_input){.model = &m}, NULL),
                   FAB_BAD_ARGUMENT, "expected 1 for a gaussian target");
    glm = (fab_glm){.likelihood = FAB_LIKELIHOOD_CATEGORICAL, .D = 3, .classes = 1, .intercept = 1};
    m = fab_model_linear(&glm);
    assert_refused(fab_fit_create(&f, "lrvga", NULL, 0, &(fab_input){.model = &m}, NULL),
                   FAB_BAD_ARGUMENT, "at least 2");
    glm.D = (int64_t)1 << 39;
    glm.classes = 1000;
    m = fab_model_linear(&glm);
    assert_refused(fab_fit_create(&f, "lrvga", NULL, 0, &(fab_input){.model = &m}, NULL),
                   FAB_BAD_ARGUMENT, "2^40");
    assert_refused(fab_fit_create(&f, "laplac", NULL, 0, &(fab_input){.model = &m}, NULL),
                   FAB_BAD_ARGUMENT, "did you mean 'laplace'");
    assert_refused(fab_fit_create(&f, "exact", NULL, 0, &(fab_input){0}, NULL), FAB_BAD_ARGUMENT,
                   "nothing to fit");
    assert_null(f);
}

/* A caller compiled against a longer struct is newer than the library; a shorter one is older. */
static void settings_of_another_size_are_known(void **state)
{
    (void)state;
    struct {
        fab_exact_settings s;
        int64_t later;
    } longer = {.s = fab_exact_defaults()};
    fab_glm glm = {.D = 3, .classes = 1, .intercept = 1};
    const fab_model m = fab_model_linear(&glm);
    const fab_input in = {.model = &m};
    fab_exact_settings s = fab_exact_defaults();
    fab_fit *f;
    s.glm.alpha = 2.385;
    s.glm.seed = 77;
    assert_refused(fab_fit_create(&f, "exact", &longer, sizeof longer, &in, NULL), FAB_BAD_ARGUMENT,
                   "exact: settings of");
    assert_refused(fab_fit_create(&f, "exact", &s, 7, &in, NULL), FAB_BAD_ARGUMENT, "of 7 bytes");
    assert_ok(fab_fit_create(&f, "exact", &s, sizeof s.glm.alpha, &in, NULL));
    const fab_exact_settings *own = fab_fit_settings(f);
    assert_true(own->glm.alpha == 2.385 && own->glm.seed == fab_exact_defaults().glm.seed);
    fab_fit_free(f);
}

/* A program that was compiled with a shorter struct keeps the bytes behind it. */
static void defaults_fill_no_more_than_the_caller_has(void **state)
{
    (void)state;
    for (int64_t i = 0; i < fab_method_count(); i++) {
        const fab_method *m = fab_method_at(i);
        const size_t size = m->fields->size;
        int64_t whole[64], part[64];
        assert_true(size <= sizeof whole);
        fab_method_defaults(m->name, whole, size);
        for (size_t have = 0; have <= size; have += 8) {
            memset(part, 0x5A, sizeof part);
            fab_method_defaults(m->name, part, have);
            assert_memory_equal(part, whole, have);
            for (size_t k = have / 8; k < 64; k++) assert_int_equal(part[k], 0x5A5A5A5A5A5A5A5A);
        }
    }
    const fab_laplace_settings s = fab_laplace_defaults(); /* one struct, two tables */
    assert_true(s.max_iter > 0 && s.rounds > 0);
    int64_t none = 1;
    fab_method_defaults("no-such-method", &none, sizeof none);
    assert_int_equal(none, 0);
}

static void a_prior_must_fit_theta(void **state)
{
    (void)state;
    fab_glm glm = {.D = 3, .classes = 1, .intercept = 1};
    const fab_model linear = fab_model_linear(&glm);
    const fab_exact_settings s = fab_exact_defaults();
    fab_fit *f;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 3, 1, 1, 1),
              *point = some_gauss(FAB_FORM_POINT, FAB_F64, 4, 0, 1, 1);
    fab_gauss *right = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 4, 1, 1, 1), *part;
    assert_ok(fab_gauss_create_part(&part, FAB_FORM_COVARIANCE, FAB_F64, 4, 0, 9));
    assert_refused(
        fab_fit_create(&f, "exact", &s, sizeof s, &(fab_input){.model = &linear, .prior = g}, NULL),
        FAB_BAD_ARGUMENT, "the prior has 3 coordinates, theta has 4");
    assert_refused(fab_fit_create(&f, "exact", &s, sizeof s,
                                  &(fab_input){.model = &linear, .prior = point}, NULL),
                   FAB_BAD_ARGUMENT, "a point");
    assert_refused(fab_fit_create(&f, "exact", &s, sizeof s,
                                  &(fab_input){.model = &linear, .prior = part}, NULL),
                   FAB_BAD_ARGUMENT, "part of theta");
    right->psi[2] = 0;
    assert_refused(fab_fit_create(&f, "exact", &s, sizeof s,
                                  &(fab_input){.model = &linear, .prior = right}, NULL),
                   FAB_BAD_DATA, "exact: prior: ");
    fab_gauss_free(g);
    fab_gauss_free(point);
    fab_gauss_free(right);
    fab_gauss_free(part);
}

static void the_prior_is_copied(void **state)
{
    (void)state;
    problem p = some_problem(20, 3, 5);
    fab_gauss *g = some_gauss(FAB_FORM_PRECISION, FAB_F64, 4, 1, 1, 1);
    p.prior = g;
    const truth t = solve(&p);
    fab_fit *f = fitted_with("exact", &p, NULL);
    fab_gauss_free(g);
    assert_true(worst_mean(posterior_of(f), &t) < 1e-11);
    fab_fit_free(f);
}

static void a_batch_method_takes_one_update(void **state)
{
    (void)state;
    const problem p = some_problem(20, 3, 5);
    fab_examples e = examples_of(&p), none = e;
    fab_fit *f = fitted_with("exact", &p, NULL);
    fab_report r;
    none.x.n = 0;
    assert_ok(fab_fit_update(f, &none));
    assert_refused(fab_fit_update(f, &e), FAB_BAD_ARGUMENT,
                   "exact: a batch method takes its whole table");
    assert_ok(fab_fit_report(f, &r));
    assert_int_equal(r.n, 20);
    fab_fit_free(f);
    fab_fit_free(NULL);
}

static void assert_same_bits(const fab_gauss *a, const fab_gauss *b)
{
    const size_t size = a->type == FAB_F32 ? sizeof(float) : sizeof(double);
    assert_int_equal(a->D, b->D);
    assert_int_equal(a->K, b->K);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * sizeof *a->mu);
    if (a->form != FAB_FORM_POINT)
        assert_memory_equal(a->psi, b->psi, (size_t)a->D * sizeof *a->psi);
    if (a->K) assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * size);
}

/* y and offset of a row of weight 0 may be anything; the network has its start from all rows that are there. */
static void examples_of_weight_0_are_absent(void **state)
{
    (void)state;
    enum { N = 40, D = 3 };
    static const struct {
        const char *name;
        fab_likelihood likelihood;
        int network;
    } all[] = {
        {"exact", FAB_LIKELIHOOD_GAUSSIAN, 0},      {"ridge", FAB_LIKELIHOOD_GAUSSIAN, 0},
        {"spike-slab", FAB_LIKELIHOOD_GAUSSIAN, 0}, {"laplace", FAB_LIKELIHOOD_POISSON, 0},
        {"vga", FAB_LIKELIHOOD_BERNOULLI, 0},       {"rvga", FAB_LIKELIHOOD_POISSON, 0},
        {"lrvga", FAB_LIKELIHOOD_BERNOULLI, 0},     {"sgd", FAB_LIKELIHOOD_GAUSSIAN, 1},
        {"vifa", FAB_LIKELIHOOD_BERNOULLI, 1},      {"lrvga", FAB_LIKELIHOOD_GAUSSIAN, 1},
        {"ensemble", FAB_LIKELIHOOD_GAUSSIAN, 1},   {"lasso", FAB_LIKELIHOOD_GAUSSIAN, 0},
        {"erm", FAB_LIKELIHOOD_BERNOULLI, 0},       {"quantile", FAB_LIKELIHOOD_GAUSSIAN, 0}};
    problem p = some_problem(N, D, 4), q = p;
    add_weights(&p, 9);
    q.x = doubles(N * D), q.y = doubles(N), q.weight = doubles(N), q.offset = doubles(N), q.N = 0;
    for (size_t m = 0; m < sizeof all / sizeof *all; m++) {
        fab_glm glm = {.likelihood = all[m].likelihood, .D = D, .classes = 1, .intercept = 1};
        const fab_net_plan plan = {.layers = "dense:4,tanh",
                                   .features = D,
                                   .batch = 8,
                                   .likelihood = all[m].likelihood,
                                   .classes = 1,
                                   .beta = 1};
        fab_net *net = NULL;
        fab_model model = fab_model_linear(&glm);
        if (all[m].network) {
            assert_ok(fab_net_create(&net, &plan, NULL));
            model = *fab_net_model(net);
        }
        q.N = 0;
        for (int64_t j = 0; j < N; j++) {
            const int there = j % 4 != 2 && j < N - 3;
            p.y[j] = all[m].likelihood == FAB_LIKELIHOOD_GAUSSIAN ? p.x[j * D] + noise(3, j)
                                                                  : (double)(j % 2);
            p.weight[j] = there ? 1 + 0.5 * (double)(j % 3) : 0;
            if (!there) p.y[j] = -7;
            if (!there) continue;
            memcpy(q.x + q.N * D, p.x + j * D, D * sizeof *q.x);
            q.y[q.N] = p.y[j];
            q.weight[q.N] = p.weight[j];
            q.offset[q.N++] = p.offset[j];
        }
        fab_fit *f[2];
        const fab_mixture *r[2];
        for (int k = 0; k < 2; k++) {
            const fab_examples e = examples_of(k ? &q : &p);
            assert_ok(
                fab_fit_create(&f[k], all[m].name, NULL, 0, &(fab_input){.model = &model}, NULL));
            if (fab_fit_update(f[k], &e) != FAB_OK || fab_fit_result(f[k], &r[k]) != FAB_OK)
                fail_msg("%s: %s", all[m].name, fab_detail());
            assert_int_equal(fab_fit_rows(f[k]), q.N);
        }
        assert_int_equal(r[0]->n, r[1]->n);
        for (int64_t i = 0; i < r[0]->n; i++) assert_same_bits(r[0]->part[i], r[1]->part[i]);
        fab_fit_free(f[0]);
        fab_fit_free(f[1]);
        fab_net_free(net);
    }
}

static void no_rows_give_no_result(void **state)
{
    (void)state;
    fab_glm glm = {.D = 3, .classes = 1, .intercept = 1};
    const fab_model linear = fab_model_linear(&glm);
    const fab_exact_settings s = fab_exact_defaults();
    const fab_gauss *q;
    fab_report r;
    fab_glm m;
    fab_fit *f;
    assert_ok(fab_fit_create(&f, "exact", &s, sizeof s, &(fab_input){.model = &linear}, NULL));
    assert_refused(fab_fit_gauss(f, &q), FAB_BAD_DATA, "no rows seen");
    assert_refused(fab_fit_report(f, &r), FAB_BAD_DATA, "no rows seen");
    assert_refused(fab_fit_glm(f, &m), FAB_BAD_DATA, "no rows seen");
    assert_ptr_equal(fab_fit_method(f), fab_method_find("exact"));
    assert_memory_equal(fab_fit_settings(f), &s, sizeof s);
    fab_fit_free(f);
}

static void a_bad_row_leaves_the_state_as_it_was(void **state)
{
    (void)state;
    problem p = some_problem(20, 3, 5);
    const fab_exact_settings s = settings_of(&p);
    const fab_examples e = examples_of(&p);
    const double before = p.y[7];
    fab_glm glm = glm_of(&p);
    const fab_model linear = fab_model_linear(&glm);
    fab_fit *f;
    assert_ok(fab_fit_create(&f, "exact", &s, sizeof s, &(fab_input){.model = &linear}, NULL));
    p.y[7] = NAN;
    assert_refused(fab_fit_update(f, &e), FAB_BAD_DATA, "exact: row 7 has y");
    p.y[7] = before;
    assert_ok(fab_fit_update(f, &e));
    posterior_of(f);
    fab_fit_free(f);
}

/* ---- files ------------------------------------------------------------------------------------ */

static void a_file_says_what_it_holds(void **state)
{
    (void)state;
    problem p = some_problem(20, 3, 5);
    fab_posterior *back;
    fab_tensors *more;
    fab_fit *f, *again;
    fab_report r;
    fab_glm m;
    fab_exact_settings s = fab_exact_defaults();
    p.alpha = FAB_AUTO_F64;
    p.beta = FAB_AUTO_F64;
    f = fitted_with("exact", &p, NULL);
    assert_ok(fab_tensors_create(&more));
    assert_ok(fab_tensors_set(more, "scaling", "{}"));
    assert_ok(fab_fit_save(f, in_folder("q.safetensors"), more));
    assert_ok(fab_fit_report(f, &r));
    assert_ok(fab_posterior_load(&back, in_folder("q.safetensors")));
    assert_memory_equal(back->mix.part[0]->mu, posterior_of(f)->mu, 4 * 8);
    assert_string_equal(fab_tensors_get(back->file, "method"), "exact");
    assert_string_equal(fab_tensors_get(back->file, "n"), "20");
    assert_string_equal(fab_tensors_get(back->file, "scaling"), "{}");
    assert_ok(fab_glm_from_json(&m, fab_tensors_get(back->file, "model")));
    assert_true(m.D == 3 && m.intercept == 1 && m.beta == r.beta);
    assert_ok(fab_settings_from_json(fab_method_find("exact")->fields, &s,
                                     fab_tensors_get(back->file, "settings")));
    assert_true(s.glm.alpha == r.alpha && s.glm.beta == r.beta); /* the values in force */
    assert_refused(fab_fit_load(&again, back->file, NULL, NULL), FAB_UNSUPPORTED,
                   "batch method and cannot continue");
    assert_null(again);
    fab_posterior_free(back);
    fab_tensors_free(more);
    fab_fit_free(f);
}

static void few_methods_have_more_than_a_gaussian(void **state)
{
    (void)state;
    const fab_tensors *t;
    problem p = some_problem(20, 3, 5);
    const fab_examples e = examples_of(&p);
    fab_fit *f = fitted_with("exact", &p, NULL);
    assert_ok(fab_fit_tensors(f, &t));
    assert_int_equal(fab_tensors_count(t), 0);
    fab_fit_free(f);
    f = fitted_with("kalman", &p, NULL);
    assert_ok(fab_fit_tensors(f, &t));
    assert_ok(fab_fit_update(f, &e));
    assert_ok(fab_fit_tensors(f, &t)); /* those of the update before are gone */
    assert_int_equal(fab_tensors_count(t), 0);
    fab_fit_free(f);
}

static void only_a_saved_stream_goes_on(void **state)
{
    (void)state;
    fab_tensors *t;
    fab_fit *f;
    assert_ok(fab_tensors_create(&t));
    assert_refused(fab_fit_load(&f, t, NULL, NULL), FAB_BAD_FILE, "no saved fit");
    assert_ok(fab_tensors_set(t, "method", "online-em"));
    assert_ok(fab_tensors_set(t, "settings", "{}"));
    assert_ok(fab_tensors_set(t, "n", "7"));
    assert_refused(fab_fit_load(&f, t, NULL, NULL), FAB_BAD_FILE, "tensor 'mu' is absent");
    assert_ok(fab_tensors_set(t, "method", "nothing"));
    assert_refused(fab_fit_load(&f, t, NULL, NULL), FAB_BAD_FILE, "is not known");
    fab_tensors_free(t);
}

/* A method that finds two clusters at once, and one so far. */
static fab_status lend_clusters(void *handle, const fab_mixture **q)
{
    *q = handle;
    return FAB_OK;
}

static fab_status lend_first(void *handle, const fab_mixture **q)
{
    static const double one = 1;
    static fab_mixture first;
    const fab_mixture *all = handle;
    first = (fab_mixture){1, all->part, &one};
    *q = &first;
    return FAB_OK;
}

static fab_status report_nothing(void *handle, fab_report *r)
{
    (void)handle;
    *r = (fab_report){.converged = 1};
    return FAB_OK;
}

static void a_method_may_end_in_clusters(void **state)
{
    (void)state;
    static const fab_field field[] = {{.name = "G", .type = FAB_I64, .hi = 9}};
    static const fab_fields fields = {"clusters", field, 1, sizeof(int64_t)};
    const fab_method m = {.name = "clusters",
                          .takes = FAB_TAKES_VECTORS,
                          .fields = &fields,
                          .mixture = lend_clusters,
                          .mixture_so_far = lend_first,
                          .report = report_nothing};
    fab_gauss *a = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 3, 0, 1, 1),
              *b = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 3, 2, 2, 1);
    const fab_gauss *const part[] = {a, b};
    double weight[] = {0.25, 0.75};
    fab_mixture two = {2, part, weight};
    void *handle[] = {&two};
    int64_t G = 2;
    fab_fit f = {.m = &m, .settings = &G, .vectors = 3, .all = 3, .n = 8, .runs = 1};
    f.handle = handle;
    const fab_mixture *q;
    const fab_gauss *first;
    fab_posterior *p;
    void *bytes;
    size_t size;
    assert_true(fab_method_clusters(&m));
    assert_ok(fab_fit_pack(&f, 1, NULL, &bytes, &size)); /* so far */
    assert_ok(fab_posterior_parse(&p, "bytes", bytes, size));
    assert_int_equal(p->mix.n, 1);
    fab_posterior_free(p);
    fab_bytes_free(bytes);
    assert_ok(fab_fit_result(&f, &q));
    assert_int_equal(q->n, 2);
    assert_true(q->weight[1] == 0.75 && q->part[1]->K == 2 && q->part[0]->K == 0);
    assert_ok(fab_fit_gauss(&f, &first));
    assert_ptr_equal(first, a);
    assert_ok(fab_fit_pack(&f, 0, NULL, &bytes, &size));
    assert_ok(fab_posterior_parse(&p, "bytes", bytes, size));
    assert_int_equal(p->mix.n, 2);
    assert_true(p->mix.weight[0] == 0.25 && p->mix.part[1]->mu[2] == b->mu[2]);
    fab_posterior_free(p);
    fab_bytes_free(bytes);
    weight[1] = 0.7; /* what is no mixture goes no further */
    f.ready = 0;
    assert_refused(fab_fit_result(&f, &q), FAB_BAD_DATA, "sum to 0.95");
    fab_tensors_free(f.tensors);
    fab_gauss_free(a);
    fab_gauss_free(b);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(methods_know_what_they_fit),
        TEST(likelihoods_can_be_asked_for),
        TEST(few_methods_have_more_than_a_gaussian),
        TEST(bad_settings_are_refused),
        TEST(bad_models_are_refused),
        TEST(settings_of_another_size_are_known),
        TEST(defaults_fill_no_more_than_the_caller_has),
        TEST(a_prior_must_fit_theta),
        TEST(the_prior_is_copied),
        TEST(a_batch_method_takes_one_update),
        TEST(examples_of_weight_0_are_absent),
        TEST(no_rows_give_no_result),
        TEST(a_bad_row_leaves_the_state_as_it_was),
        FILES(a_file_says_what_it_holds),
        TEST(only_a_saved_stream_goes_on),
        TEST(a_method_may_end_in_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
