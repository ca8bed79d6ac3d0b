/* test_infer.c - the verbs every method of inference goes through: door, order of calls, files.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/fit.h"
#include "fabayes/methods.h"
#include "fabayes/gauss.h"
#include "linear_case.h"

static void methods_know_what_they_fit(void **state)
{
    (void)state;
    const fab_exact_settings s = fab_exact_defaults(3);
    const fab_ml_settings ml = fab_ml_defaults(3, 1);
    fab_infer *f;
    fab_estim *e;
    assert_refused(fab_estim_init(&e, fab_method_find("exact"), &s, NULL), FAB_BAD_ARGUMENT,
                   "exact: this method fits a model");
    assert_refused(fab_infer_init(&f, fab_method_find("ml"), &ml, NULL, NULL), FAB_BAD_ARGUMENT,
                   "ml: this method fits vectors");
    assert_null(e);
    assert_null(f);
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    const char *const bad[][2] = {{"alpha", "0"},     {"alpha", "nan"}, {"beta", "-1"},
                                  {"D", "0"},         {"classes", "0"}, {"likelihood", "cauchy"},
                                  {"intercept", "2"}, {"seed", "-1"}};
    const fab_method *m = fab_method_find("exact");
    fab_infer *f;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fab_exact_settings s = fab_exact_defaults(3);
        if (fab_settings_parse(m->table, &s, bad[i][0], bad[i][1]) != FAB_OK) continue;
        assert_refused(fab_infer_init(&f, m, &s, NULL, NULL), FAB_BAD_ARGUMENT, bad[i][0]);
    }
    fab_exact_settings s = fab_exact_defaults(3);
    s.classes = 2;
    assert_refused(fab_infer_init(&f, m, &s, NULL, NULL), FAB_BAD_ARGUMENT,
                   "expected 1 for a gaussian target");
    s.likelihood = FAB_LIKELIHOOD_CATEGORICAL;
    s.classes = 1;
    assert_refused(fab_infer_init(&f, m, &s, NULL, NULL), FAB_BAD_ARGUMENT, "at least 2");
    s.D = (int64_t)1 << 39;
    s.classes = 1000;
    assert_refused(fab_infer_init(&f, m, &s, NULL, NULL), FAB_BAD_ARGUMENT, "2^40");
}

static void a_prior_must_fit_theta(void **state)
{
    (void)state;
    const fab_exact_settings s = fab_exact_defaults(3);
    const fab_method *m = fab_method_find("exact");
    fab_infer *f;
    fab_gauss *g = some_gauss(FAB_COVARIANCE, FAB_F64, 3, 1, 1, 1),
              *point = some_gauss(FAB_POINT, FAB_F64, 4, 0, 1, 1);
    fab_gauss *right = some_gauss(FAB_COVARIANCE, FAB_F64, 4, 1, 1, 1), *part;
    assert_ok(fab_gauss_create_part(&part, FAB_COVARIANCE, FAB_F64, 4, 0, 9));
    assert_refused(fab_infer_init(&f, m, &s, g, NULL), FAB_BAD_ARGUMENT,
                   "the prior has 3 coordinates, theta has 4");
    assert_refused(fab_infer_init(&f, m, &s, point, NULL), FAB_BAD_ARGUMENT, "a point");
    assert_refused(fab_infer_init(&f, m, &s, part, NULL), FAB_BAD_ARGUMENT, "part of theta");
    right->psi[2] = 0;
    assert_refused(fab_infer_init(&f, m, &s, right, NULL), FAB_BAD_DATA, "exact: prior: ");
    fab_gauss_free(g);
    fab_gauss_free(point);
    fab_gauss_free(right);
    fab_gauss_free(part);
}

static void the_prior_is_copied(void **state)
{
    (void)state;
    problem p = some_problem(20, 3, 5);
    fab_gauss *g = some_gauss(FAB_PRECISION, FAB_F64, 4, 1, 1, 1);
    p.prior = g;
    const truth t = solve(&p);
    fab_infer *f = fitted_with("exact", &p, NULL);
    fab_gauss_free(g);
    assert_true(worst_mean(posterior_of(f), &t) < 1e-11);
    fab_infer_free(f);
}

static void a_batch_method_takes_one_update(void **state)
{
    (void)state;
    const problem p = some_problem(20, 3, 5);
    fab_examples e = examples_of(&p), none = e;
    fab_infer *f = fitted_with("exact", &p, NULL);
    fab_inference r;
    none.x.n = 0;
    assert_ok(fab_infer_update(f, &none));
    assert_refused(fab_infer_update(f, &e), FAB_BAD_ARGUMENT,
                   "exact: a batch method takes its whole table");
    assert_ok(fab_infer_report(f, &r));
    assert_int_equal(r.n, 20);
    fab_infer_free(f);
    fab_infer_free(NULL);
}

static void no_rows_give_no_result(void **state)
{
    (void)state;
    const fab_exact_settings s = fab_exact_defaults(3);
    const fab_gauss *q;
    fab_inference r;
    fab_glm m;
    fab_infer *f;
    assert_ok(fab_infer_init(&f, fab_method_find("exact"), &s, NULL, NULL));
    assert_refused(fab_infer_result(f, &q), FAB_BAD_DATA, "no rows seen");
    assert_refused(fab_infer_report(f, &r), FAB_BAD_DATA, "no rows seen");
    assert_refused(fab_infer_model(f, &m), FAB_BAD_DATA, "no rows seen");
    assert_ptr_equal(fab_infer_method(f), fab_method_find("exact"));
    assert_memory_equal(fab_infer_settings(f), &s, sizeof s);
    fab_infer_free(f);
}

static void a_bad_row_leaves_the_state_as_it_was(void **state)
{
    (void)state;
    problem p = some_problem(20, 3, 5);
    const fab_exact_settings s = settings_of(&p);
    const fab_examples e = examples_of(&p);
    const double before = p.y[7];
    fab_infer *f;
    assert_ok(fab_infer_init(&f, fab_method_find("exact"), &s, NULL, NULL));
    p.y[7] = NAN;
    assert_refused(fab_infer_update(f, &e), FAB_BAD_DATA, "exact: row 7 has y");
    p.y[7] = before;
    assert_ok(fab_infer_update(f, &e));
    posterior_of(f);
    fab_infer_free(f);
}

/* ---- files ------------------------------------------------------------------------------------ */

static void a_file_says_what_it_holds(void **state)
{
    (void)state;
    problem p = some_problem(20, 3, 5);
    fab_posterior *back;
    fab_tensors *more;
    fab_infer *f, *again;
    fab_inference r;
    fab_glm m;
    fab_exact_settings s = fab_exact_defaults(3);
    p.alpha = FAB_AUTO_F64;
    p.beta = FAB_AUTO_F64;
    f = fitted_with("exact", &p, NULL);
    assert_ok(fab_tensors_create(&more));
    assert_ok(fab_tensors_set(more, "scaling", "{}"));
    assert_ok(fab_infer_save(f, in_folder("q.safetensors"), more));
    assert_ok(fab_infer_report(f, &r));
    assert_ok(fab_posterior_load(&back, in_folder("q.safetensors")));
    assert_memory_equal(back->mix.part[0]->mu, posterior_of(f)->mu, 4 * 8);
    assert_string_equal(fab_tensors_get(back->file, "method"), "exact");
    assert_string_equal(fab_tensors_get(back->file, "n"), "20");
    assert_string_equal(fab_tensors_get(back->file, "scaling"), "{}");
    assert_ok(fab_glm_from_json(&m, fab_tensors_get(back->file, "model")));
    assert_true(m.D == 3 && m.intercept == 1 && m.beta == r.beta);
    assert_ok(fab_settings_from_json(fab_method_find("exact")->table, &s,
                                     fab_tensors_get(back->file, "settings")));
    assert_true(s.alpha == r.alpha && s.beta == r.beta); /* the values in force */
    assert_refused(fab_infer_resume(&again, back->file, NULL), FAB_UNSUPPORTED,
                   "batch method and cannot continue");
    assert_null(again);
    fab_posterior_free(back);
    fab_tensors_free(more);
    fab_infer_free(f);
}

static void only_a_saved_stream_of_a_model_resumes(void **state)
{
    (void)state;
    fab_tensors *t;
    fab_infer *f;
    assert_ok(fab_tensors_create(&t));
    assert_refused(fab_infer_resume(&f, t, NULL), FAB_BAD_FILE, "no saved stream");
    assert_ok(fab_tensors_set(t, "method", "online-em"));
    assert_ok(fab_tensors_set(t, "settings", "{}"));
    assert_ok(fab_tensors_set(t, "n", "7"));
    assert_refused(fab_infer_resume(&f, t, NULL), FAB_BAD_FILE, "fits vectors");
    assert_ok(fab_tensors_set(t, "method", "nothing"));
    assert_refused(fab_infer_resume(&f, t, NULL), FAB_BAD_FILE, "is not known");
    fab_tensors_free(t);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(methods_know_what_they_fit),
        TEST(bad_settings_are_refused),
        TEST(a_prior_must_fit_theta),
        TEST(the_prior_is_copied),
        TEST(a_batch_method_takes_one_update),
        TEST(no_rows_give_no_result),
        TEST(a_bad_row_leaves_the_state_as_it_was),
        FILES(a_file_says_what_it_holds),
        TEST(only_a_saved_stream_of_a_model_resumes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
