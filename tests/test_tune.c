/* test_tune.c - settings by cross-validation.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/methods.h"
#include "fabayes/exec.h"
#include "fabayes/random.h"
#include "fabayes/data.h"
#include "data/columns/split.h"
#include "fabayes/search.h"
#include "data/source/source.h"
#include "search/trials.h"
#include "files.h"
#include <math.h>

enum { N = 60 };

/* y = 2 a - b + noise of sd 0.5, in csv. */
static fab_dataset *some_table(void)
{
    static char text[N * 80];
    double r[3 * N];
    size_t used = (size_t)snprintf(text, sizeof text, "a,b,y\n");
    fab_random_normal(3, FAB_PURPOSE_DATA, 1, 0, 3 * N, FAB_F64, r);
    for (int i = 0; i < N; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.17g,%.17g,%.17g\n", r[3 * i],
                                 10 * r[3 * i + 1],
                                 7 + 2 * r[3 * i] - r[3 * i + 1] + 0.5 * r[3 * i + 2]);
    fab_source *s;
    fab_dataset *t;
    assert_int_equal(fab_source_open_memory(&s, "rows", text, used, NULL, 1 << 18), FAB_OK);
    assert_int_equal(fab_dataset_read(&t, s, &(fab_columns){.target = "y"}), FAB_OK);
    fab_source_close(s);
    return t;
}

static const fab_recipe linear = {
    .likelihood = FAB_LIKELIHOOD_GAUSSIAN, .standardise = 1, .intercept = 1};

static fab_recipe recipe_of(const char *method, const char *layers)
{
    fab_recipe r = linear;
    r.method = fab_method_find(method);
    r.layers = layers;
    r.samples = 10;
    return r;
}

/* Ridge with two features in plain loops: the mean nll of the test rows. */
static double plain_nll(const fab_dataset *t, const int64_t *train, int64_t n, const int64_t *test,
                        int64_t m, double alpha, double beta)
{
    double mean[3] = {0}, sd[3] = {0}, A[3] = {alpha, 0, alpha}, b[2] = {0}, nll = 0;
    for (int j = 0; j < 3; j++) {
        for (int64_t i = 0; i < n; i++)
            mean[j] += (j < 2 ? t->x[2 * train[i] + j] : t->y[train[i]]) / (double)n;
        for (int64_t i = 0; i < n; i++)
            sd[j] += pow((j < 2 ? t->x[2 * train[i] + j] : t->y[train[i]]) - mean[j], 2) /
                     (double)n;
        sd[j] = sqrt(sd[j]);
    }
    for (int64_t i = 0; i < n; i++) {
        const double u = (t->x[2 * train[i]] - mean[0]) / sd[0],
                     v = (t->x[2 * train[i] + 1] - mean[1]) / sd[1],
                     y = (t->y[train[i]] - mean[2]) / sd[2];
        A[0] += beta * u * u;
        A[1] += beta * u * v;
        A[2] += beta * v * v;
        b[0] += beta * u * y;
        b[1] += beta * v * y;
    }
    const double det = A[0] * A[2] - A[1] * A[1];
    const double S[3] = {A[2] / det, -A[1] / det, A[0] / det};
    const double w0 = S[0] * b[0] + S[1] * b[1], w1 = S[1] * b[0] + S[2] * b[1];
    for (int64_t i = 0; i < m; i++) {
        const double u = (t->x[2 * test[i]] - mean[0]) / sd[0],
                     v = (t->x[2 * test[i] + 1] - mean[1]) / sd[1];
        const double variance =
            (S[0] * u * u + 2 * S[1] * u * v + S[2] * v * v + 1 / beta + 1 / (beta * (double)n)) *
            sd[2] * sd[2];
        const double d = t->y[test[i]] - mean[2] - sd[2] * (w0 * u + w1 * v);
        nll += 0.5 * (log(2 * M_PI * variance) + d * d / variance) / (double)m;
    }
    return nll;
}

static void a_fold_is_scaled_by_its_training_rows_alone(void **state)
{
    (void)state;
    fab_dataset *t = some_table();
    const fab_recipe r = recipe_of("exact", NULL);
    fab_exact_settings s = fab_exact_defaults();
    int64_t train[40], test[20];
    fab_fold *f;
    fab_scores got;
    for (int i = 0; i < N; i++)
        if (i % 3)
            train[i - i / 3 - 1] = i;
        else
            test[i / 3] = i;
    s.glm.alpha = 0.7;
    s.glm.beta = 3;
    assert_int_equal(fab_fold_create(&f, &r, t, train, 40, test, 20), FAB_OK);
    assert_int_equal(fab_fold_score(f, &r, &s, NULL, &got), FAB_OK);
    assert_int_equal(got.n, 20);
    assert_true(fabs(got.nll - plain_nll(t, train, 40, test, 20, 0.7, 3)) < 1e-10);
    fab_fold_free(f);
    test[3] = N;
    assert_int_equal(fab_fold_create(&f, &r, t, train, 40, test, 20), FAB_BAD_ARGUMENT);
    assert_detail("row 60", "of 60");
    fab_dataset_free(t);
}

static fab_tune *search(const fab_recipe *r, const void *settings, const fab_dataset *t,
                        const fab_range *range, int64_t ranges, int64_t threads)
{
    const fab_tune_plan p = {
        .trials = 7, .folds = 4, .seed = 5, .threads = threads, .range = range, .ranges = ranges};
    fab_tune *u;
    if (fab_tune_create(&u, r, settings, t, &p) != FAB_OK) fail_msg("%s", fab_detail());
    return u;
}

static void the_best_trial_has_the_least_mean_over_folds(void **state)
{
    (void)state;
    fab_dataset *t = some_table();
    const fab_recipe r = recipe_of("exact", NULL);
    const fab_range range[] = {{"alpha", 1e-3, 1e3, 1}, {"beta", 0.1, 100, 1}};
    fab_exact_settings s = fab_exact_defaults(), chosen;
    fab_tune *u = search(&r, &s, t, range, 2, 1);
    while (!fab_tune_done(u)) assert_int_equal(fab_tune_step(u), FAB_OK);
    fab_split *split;
    int64_t train[N];
    const int64_t *test, best = fab_tune_best(u);
    assert_int_equal(fab_split_folds(&split, N, 4, NULL, 5), FAB_OK);
    for (int64_t i = 0; i < 7; i++) {
        const fab_trial *q = fab_tune_trial(u, i);
        double sum = 0;
        for (int64_t k = 0; k < 4; k++) {
            const int64_t m = fab_split_part(split, k, &test), n = fab_split_rest(split, k, train);
            sum += plain_nll(t, train, n, test, m, q->value[0], q->value[1]) / 4;
        }
        assert_true(fabs(q->nll - sum) < 1e-10 && q->failed == 0 && q->se > 0);
        assert_true(q->value[0] >= 1e-3 && q->value[0] <= 1e3);
        assert_true(fab_tune_trial(u, best)->nll <= q->nll);
    }
    assert_int_equal(fab_tune_settings(u, best, &chosen), FAB_OK);
    assert_true(chosen.glm.alpha == fab_tune_trial(u, best)->value[0]);
    assert_int_equal(fab_tune_settings(u, 7, &chosen), FAB_BAD_ARGUMENT);
    fab_split_free(split);
    fab_tune_free(u);
    fab_dataset_free(t);
}

static void any_number_of_threads_finds_the_same(void **state)
{
    (void)state;
    fab_dataset *t = some_table();
    const fab_recipe r = recipe_of("sgd", "mlp:5");
    fab_sgd_settings s = fab_sgd_defaults();
    s.epochs = 4;
    double nll[7];
    for (int64_t threads = 1; threads <= 4; threads++) {
        fab_tune *u = search(&r, &s, t, NULL, 0, threads);
        while (!fab_tune_done(u)) assert_int_equal(fab_tune_step(u), FAB_OK);
        for (int64_t i = 0; i < 7; i++) {
            if (threads == 1) nll[i] = fab_tune_trial(u, i)->nll;
            assert_true(fab_tune_trial(u, i)->nll == nll[i]);
        }
        fab_tune_free(u);
    }
    fab_dataset_free(t);
}

static void what_is_recalled_is_not_run_again(void **state)
{
    (void)state;
    fab_dataset *t = some_table();
    const fab_recipe r = recipe_of("exact", NULL);
    const fab_range range[] = {{"alpha", 1e-3, 1e3, 1}};
    const fab_exact_settings s = fab_exact_defaults();
    fab_tune *u = search(&r, &s, t, range, 1, 1);
    for (int64_t i = 0; i < 7; i++)
        if (i != 3) assert_int_equal(fab_tune_recall(u, i, 10 + (double)i, 1, 0, 0), FAB_OK);
    assert_false(fab_tune_done(u));
    assert_int_equal(fab_tune_step(u), FAB_OK);
    assert_true(fab_tune_done(u) && fab_tune_best(u) == 3);
    assert_true(fab_tune_trial(u, 6)->nll == 16);
    fab_tune_free(u);
    fab_dataset_free(t);
}

static void a_table_of_trials_reads_back_and_others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *words;
    } bad[] = {
        {"7,%s,1,1,0,0", "line 2"},      {"-1,%s,1,1,0,0", "line 2"},
        {"1e300,%s,1,1,0,0", "line 2"},  {"0,%s,nan,1,0,0", "line 2"},
        {"0,%s,inf,1,0,0", "line 2"},    {"0,%s,1,-1,0,0", "line 2"},
        {"0,%s,1,1,1e300,0", "line 2"},  {"0,%s,1,1,0.5,0", "line 2"},
        {"0,%s,1,1,0,inf", "line 2"},    {"0,%s,1,1,0", "line 2"},
        {"0,%s,1,1,0,0,0", "line 2"},    {"0,2.385,1,1,0,0", "line 2"},
        {"0,%s,1,1,0,0\n\n0", "line 3"},
    };
    fab_dataset *t = some_table();
    const fab_recipe r = recipe_of("exact", NULL);
    const fab_range range[] = {{"alpha", 1e-3, 1e3, 1}};
    const fab_exact_settings s = fab_exact_defaults();
    fab_tune *u = search(&r, &s, t, range, 1, 2), *v = search(&r, &s, t, range, 1, 2);
    char alpha[32], text[256];
    size_t n;
    assert_int_equal(fab_tune_step(u), FAB_OK); /* trials 0 and 1 */
    assert_int_equal(fab_tune_recall(u, 5, 0, 0, 2, 0.25), FAB_OK);
    assert_int_equal(fab_tune_write(u, in_folder("t.csv")), FAB_OK);
    assert_int_equal(fab_tune_read(v, in_folder("t.csv")), FAB_OK);
    for (int64_t i = 0; i < 7; i++) {
        const fab_trial *a = fab_tune_trial(u, i), *b = fab_tune_trial(v, i);
        assert_true(a->done == (i < 2 || i == 5) && b->done == a->done && b->failed == a->failed);
        if (a->done) assert_true(a->nll == b->nll && a->se == b->se);
    }
    assert_true(strlen(fab_tune_trial(v, 5)->why) > 10);
    char *first = get_bytes(in_folder("t.csv"), &n);
    assert_int_equal(fab_tune_write(v, in_folder("t.csv")), FAB_OK);
    char *second = get_bytes(in_folder("t.csv"), &n);
    assert_memory_equal(first, second, strcspn(second, "\n") + 20);
    fab_tune_free(v);

    v = search(&r, &s, t, range, 1, 1);
    snprintf(alpha, sizeof alpha, "%.17g", fab_tune_trial(v, 0)->value[0]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        n = (size_t)snprintf(text, sizeof text, "trial,alpha,nll,se,failed,seconds\n");
        snprintf(text + n, sizeof text - n, bad[i].line, alpha);
        assert_int_equal(fab_tune_parse(v, "bad.csv", text, strlen(text)), FAB_BAD_FILE);
        assert_detail("bad.csv", bad[i].words);
    }
    n = (size_t)snprintf(text, sizeof text,
                         "trial,alpha,nll,se,failed,seconds\r\n0,%s,1,0.5,0,0\r\n", alpha);
    assert_int_equal(fab_tune_parse(v, "good.csv", text, n), FAB_OK);
    assert_true(fab_tune_trial(v, 0)->done && fab_tune_trial(v, 0)->se == 0.5);
    assert_int_equal(fab_tune_parse(v, "bad.csv", text, n + 1), FAB_BAD_FILE);
    assert_detail("bad.csv", "is zero");
    assert_int_equal(fab_tune_parse(v, "bad.csv", "trial,beta,nll,se,failed,seconds\n", 33),
                     FAB_BAD_FILE);
    assert_detail("beta", "alpha");
    assert_int_equal(fab_tune_parse(v, "bad.csv", "", 0), FAB_BAD_FILE);
    assert_int_equal(fab_tune_read(v, in_folder("no.csv")), FAB_OK);
    assert_int_equal(fab_tune_read(v, folder), FAB_BAD_FILE);
    assert_int_equal(fab_tune_write(v, in_folder("no/t.csv")), FAB_BAD_FILE);
    fab_tune_free(u);
    fab_tune_free(v);
    fab_dataset_free(t);
    free(first);
    free(second);
}

/* A rate of 1e200 explodes: the trial fails, says why, and the others go on. */
static void a_trial_that_fails_is_no_candidate(void **state)
{
    (void)state;
    fab_dataset *t = some_table();
    const fab_recipe r = recipe_of("sgd", "mlp:5");
    const fab_range range[] = {{"rate", 1e-3, 1e280, 1}};
    fab_sgd_settings s = fab_sgd_defaults();
    s.epochs = 3;
    s.optimiser = FAB_OPTIMISER_SGD;
    fab_tune *u = search(&r, &s, t, range, 1, 2);
    int64_t failed = 0;
    while (!fab_tune_done(u)) assert_int_equal(fab_tune_step(u), FAB_OK);
    for (int64_t i = 0; i < 7; i++) {
        const fab_trial *q = fab_tune_trial(u, i);
        failed += q->failed > 0;
        if (q->failed) assert_true(isinf(q->nll) && strlen(q->why) > 10);
    }
    assert_true(failed >= 3);
    fab_tune_free(u);
    fab_dataset_free(t);
}

static int stop_at_once(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return 1;
}

static void a_stop_leaves_the_trials_undone(void **state)
{
    (void)state;
    fab_dataset *t = some_table();
    const fab_recipe r = recipe_of("sgd", "mlp:5");
    const fab_sgd_settings s = fab_sgd_defaults();
    fab_tune *u = search(&r, &s, t, NULL, 0, 2);
    fab_set_progress(stop_at_once, NULL);
    assert_int_equal(fab_tune_step(u), FAB_STOPPED);
    fab_set_progress(NULL, NULL);
    assert_int_equal(fab_tune_trial(u, 0)->done, 0);
    assert_int_equal(fab_tune_best(u), -1);
    assert_int_equal(fab_tune_step(u), FAB_OK);
    assert_int_equal(fab_tune_trial(u, 0)->done, 1);
    fab_tune_free(u);
    fab_dataset_free(t);
}

static void impossible_searches_are_refused(void **state)
{
    (void)state;
    fab_dataset *t = some_table();
    const fab_recipe r = recipe_of("exact", NULL), net = recipe_of("exact", "mlp:5");
    const fab_exact_settings s = fab_exact_defaults();
    const fab_range bad[] = {{"alfa", 1, 2, 0}, {"alpha", 2, 1, 0}, {"alpha", -1, 2, 1}};
    fab_tune *u;
    for (int i = 0; i < 3; i++) {
        const fab_tune_plan p = {.trials = 3, .folds = 3, .range = &bad[i], .ranges = 1};
        assert_int_equal(fab_tune_create(&u, &r, &s, t, &p), FAB_BAD_ARGUMENT);
        assert_detail(bad[i].name, "tune");
        assert_null(u);
    }
    const fab_tune_plan few = {.trials = 3, .folds = 1}, none = {.trials = 3, .folds = 3};
    assert_int_equal(fab_tune_create(&u, &r, &s, t, &few), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_tune_create(&u, &r, &s, t, &none), FAB_BAD_ARGUMENT);
    assert_detail("exact", "proposes no settings");
    assert_int_equal(fab_tune_create(&u, &net, &s, t, &none), FAB_BAD_ARGUMENT);
    assert_detail("exact", "linear models");
    fab_dataset_free(t);
}

/* The likeliest normal around one network's predictions has the variance of its errors. */
static void noise_is_the_error_of_rows_left_out(void **state)
{
    const fab_exec two = {.threads = 2};
    (void)state;
    fab_dataset *t = some_table();
    fab_recipe r = recipe_of("sgd", "linear");
    fab_sgd_settings s = fab_sgd_defaults();
    fab_split *split;
    double scale, density, squares = 0;
    r.noise = FAB_NOISE_LEARNED;
    s.epochs = 20;
    assert_int_equal(fab_split_folds_for(FAB_PURPOSE_FOLDS, &split, N, 4, NULL, 9), FAB_OK);
    for (int64_t k = 0; k < 4; k++) {
        int64_t train[N];
        const int64_t *test, m = fab_split_part(split, k, &test),
                             n = fab_split_rest(split, k, train);
        fab_fold *f;
        fab_scores scores;
        assert_int_equal(fab_fold_create(&f, &r, t, train, n, test, m), FAB_OK);
        assert_int_equal(fab_fold_score(f, &r, &s, NULL, &scores), FAB_OK);
        squares += (double)m * scores.rmse * scores.rmse / N;
        fab_fold_free(f);
    }
    assert_int_equal(fab_recipe_noise(&r, &s, t, 4, 9, &two, &scale, &density), FAB_OK);
    assert_true(fabs(scale / sqrt(squares) - 1) < 1e-3); /* where the search ends */
    assert_true(fabs(density + 0.5 * (log(2 * M_PI * squares) + 1)) < 1e-6);
    s.rate = 1e200;
    s.optimiser = FAB_OPTIMISER_SGD;
    assert_int_equal(fab_recipe_noise(&r, &s, t, 4, 9, &two, &scale, &density), FAB_NUMERIC);
    assert_detail("fold 0", "rate");
    r.likelihood = FAB_LIKELIHOOD_POISSON;
    assert_int_equal(fab_recipe_noise(&r, &s, t, 4, 9, &two, &scale, &density), FAB_BAD_ARGUMENT);
    fab_split_free(split);
    fab_dataset_free(t);
}

/* ---- by bayes ------------------------------------------------------------------------------------------- */

static fab_tune *bayes(const fab_dataset *t, int64_t threads, int64_t batch)
{
    static const fab_range range[] = {{"rate", 1e-4, 1, 1}, {"epochs", 1, 6}};
    const fab_recipe r = recipe_of("sgd", "mlp:5");
    const fab_sgd_settings s = fab_sgd_defaults();
    const fab_tune_plan p = {.trials = 14,
                             .folds = 3,
                             .seed = 5,
                             .threads = threads,
                             .range = range,
                             .ranges = 2,
                             .search = FAB_SEARCH_BAYES,
                             .at_once = batch};
    fab_tune *u;
    if (fab_tune_create(&u, &r, &s, t, &p) != FAB_OK) fail_msg("%s", fab_detail());
    return u;
}

/* A search that is driven from outside with the same numbers asks for the same trials. */
static void bayes_tries_what_is_proposed(void **state)
{
    (void)state;
    static const fab_range range[] = {{"rate", 1e-4, 1, 1}, {"epochs", 1, 6, 0, 1}};
    fab_dataset *t = some_table();
    fab_tune *u = bayes(t, 2, 0);
    fab_propose *o;
    double x[2];
    assert_int_equal(
        fab_propose_create(&o, &(fab_propose_plan){.range = range, .ranges = 2, .seed = 5}),
        FAB_OK);
    while (!fab_tune_done(u)) assert_int_equal(fab_tune_step(u), FAB_OK);
    for (int64_t i = 0; i < 14; i++) {
        const fab_trial *r = fab_tune_trial(u, i);
        assert_int_equal(fab_propose_ask(o, 1, x), FAB_OK);
        assert_memory_equal(x, r->value, sizeof x);
        assert_true(x[1] == nearbyint(x[1]));
        assert_int_equal(fab_propose_tell(o, x, r->nll), FAB_OK);
    }
    fab_propose_free(o);
    fab_tune_free(u);
    fab_dataset_free(t);
}

static void any_number_of_threads_and_a_table_give_the_same_trials(void **state)
{
    (void)state;
    fab_dataset *t = some_table();
    for (int64_t batch = 1; batch <= 3; batch += 2) {
        fab_tune *whole = bayes(t, 1, batch), *part = bayes(t, 3, batch), *rest;
        while (!fab_tune_done(whole)) assert_int_equal(fab_tune_step(whole), FAB_OK);
        for (int k = 0; k < 3; k++) assert_int_equal(fab_tune_step(part), FAB_OK);
        assert_int_equal(fab_tune_trial(part, 3 * batch - 1)->done, 1);
        assert_int_equal(fab_tune_trial(part, 3 * batch)->done, 0);
        assert_int_equal(fab_tune_write(part, in_folder("t.csv")), FAB_OK);
        rest = bayes(t, 2, batch);
        assert_int_equal(fab_tune_read(rest, in_folder("t.csv")), FAB_OK);
        while (!fab_tune_done(rest)) assert_int_equal(fab_tune_step(rest), FAB_OK);
        for (int64_t i = 0; i < 14; i++) {
            const fab_trial *a = fab_tune_trial(whole, i), *b = fab_tune_trial(rest, i);
            assert_memory_equal(a->value, b->value, 2 * sizeof(double));
            assert_true(a->nll == b->nll);
        }
        fab_tune_free(whole);
        fab_tune_free(part);
        fab_tune_free(rest);
    }
    fab_dataset_free(t);
}

static void bayes_refuses_trials_outside_of_its_ranges(void **state)
{
    (void)state;
    fab_dataset *t = some_table();
    fab_tune *u = bayes(t, 1, 1), *random;
    const double good[] = {0.01, 3}, far[] = {2, 3}, half[] = {0.01, 2.5};
    assert_int_equal(fab_tune_place(u, 0, good), FAB_OK);
    assert_int_equal(fab_tune_recall(u, 0, 1.5, 0.1, 0, 0), FAB_OK);
    assert_true(fab_tune_trial(u, 0)->value[1] == 3);
    assert_int_equal(fab_tune_place(u, 1, far), FAB_BAD_ARGUMENT);
    assert_detail("rate = 2", "range");
    assert_int_equal(fab_tune_place(u, 1, half), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_tune_place(u, 14, good), FAB_BAD_ARGUMENT);
    const char table[] = "trial,rate,epochs,nll,se,failed,seconds\n1,0.5,2,1,0.1,0,0\n",
               bad[] = "trial,rate,epochs,nll,se,failed,seconds\n1,0.5,2.5,1,0.1,0,0\n";
    assert_int_equal(fab_tune_parse(u, "t.csv", table, strlen(table)), FAB_OK);
    assert_int_equal(fab_tune_parse(u, "t.csv", bad, strlen(bad)), FAB_BAD_FILE);
    assert_detail("t.csv", "line 2");
    const fab_recipe r = recipe_of("exact", NULL);
    const fab_range range[] = {{"alpha", 1e-3, 1e3, 1}};
    const fab_exact_settings s = fab_exact_defaults();
    random = search(&r, &s, t, range, 1, 1);
    assert_int_equal(fab_tune_place(random, 0, good), FAB_BAD_ARGUMENT);
    fab_tune *none;
    const fab_tune_plan p = {.trials = 3,
                             .folds = 2,
                             .range = range,
                             .ranges = 1,
                             .search = FAB_SEARCH_BAYES,
                             .at_once = 4};
    assert_int_equal(fab_tune_create(&none, &r, &s, t, &p), FAB_BAD_ARGUMENT);
    assert_detail("4 trials at a time", "at most 3");
    fab_tune_free(random);
    fab_tune_free(u);
    fab_dataset_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fold_is_scaled_by_its_training_rows_alone),
        cmocka_unit_test(the_best_trial_has_the_least_mean_over_folds),
        cmocka_unit_test(any_number_of_threads_finds_the_same),
        cmocka_unit_test(what_is_recalled_is_not_run_again),
        cmocka_unit_test_setup_teardown(a_table_of_trials_reads_back_and_others_are_refused,
                                        make_folder, remove_folder),
        cmocka_unit_test(a_trial_that_fails_is_no_candidate),
        cmocka_unit_test(a_stop_leaves_the_trials_undone),
        cmocka_unit_test(impossible_searches_are_refused),
        cmocka_unit_test(bayes_tries_what_is_proposed),
        cmocka_unit_test_setup_teardown(any_number_of_threads_and_a_table_give_the_same_trials,
                                        make_folder, remove_folder),
        cmocka_unit_test(bayes_refuses_trials_outside_of_its_ranges),
        cmocka_unit_test(noise_is_the_error_of_rows_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
