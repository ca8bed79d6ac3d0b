/* test_map.c - features of a kernel in front of linear models: the Gaussian processes that they are, by dense matrices.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/json.h"
#include "dense.h"
#include "files.h"
#include "table/fold.h"
#include "table/regression.h"

enum { N = 131, MORE = 2400, NEW = 17, D = 2 };

static struct {
    double x[MORE * D], y[MORE], weight[MORE], class[MORE], count[MORE], level[MORE];
    double new[NEW * D], zero[NEW];
} rows;

static void make_rows(void)
{
    for (int64_t i = 0; i < MORE; i++) {
        double *x = rows.x + i * D;
        for (int64_t d = 0; d < D; d++) x[d] = 2.385 * noise(1, i * D + d);
        const double f = sin(1.7 * x[0]) + 0.6 * x[1] * x[1];
        rows.y[i] = f + 0.3 * noise(2, i);
        rows.weight[i] = 1.5 + noise(3, i);
        rows.class[i] = f + noise(4, i) > 0.8;
        rows.level[i] = (f + noise(4, i) > 0.2) + (f + noise(5, i) > 1.4);
        rows.count[i] = floor(exp(f) * (1 + 0.5 * noise(6, i)));
    }
    for (int64_t i = 0; i < NEW * D; i++) rows.new[i] = 2.385 * noise(7, i);
}

static fab_arrays table_of(int64_t n, const double *y)
{
    return (fab_arrays){.n = n, .x = rows.x, .D = D, .y = {.name = "y", .p = y}};
}

static fab_regression *fit(const fab_arrays *a, const fab_plan *p)
{
    fab_regression *r;
    assert_ok(fab_regression_fit(&r, &(fab_data){.arrays = a}, p, NULL));
    return r;
}

static fab_predictions *predict(fab_regression *r, int64_t n, const double *x)
{
    const fab_arrays a = {.n = n, .x = x, .D = D};
    fab_predictions *p;
    assert_ok(fab_regression_predict(r, &(fab_data){.arrays = &a}, NULL, &p));
    return p;
}

static real *reals(int64_t n, const double *x)
{
    real *y = dense_new(n);
    for (int64_t i = 0; i < n; i++) y[i] = x[i];
    return y;
}

/* 1.3 exp(-|x - z|^2 / (2 0.8^2)) + 0.4 */
#define KERNEL "1.3*rbf:l=0.8 + 0.4*const"
static real *kernel(int64_t n, const double *X, int64_t m, const double *Z)
{
    real *K = dense_new(n * m);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double q = 0;
            for (int64_t d = 0; d < D; d++) {
                const double step = X[i * D + d] - Z[j * D + d];
                q += step * step / 0.64;
            }
            K[i * m + j] = 1.3 * exp(-q / 2) + 0.4;
        }
    return K;
}

#define BETA 11.0
#define RAW                                          \
    .no_scale = 1, .settings = (const char *const[]) \
    {                                                \
        "beta=11", NULL                              \
    }

/* ---- the processes that they are ------------------------------------------------------------------------ */

/* The landmarks, as the file has them. */
static int64_t landmarks_of(const fab_regression *r, double *Z, int64_t most)
{
    char *text;
    assert_ok(fab_features_json(r->scaling->features, &text));
    const int64_t n = fab_json_numbers(text, "landmarks", Z, most);
    fab_text_free(text);
    return n / D;
}

/* mean = K*z A^-1 Kzx W y beta, variance of f = k** - K*z Kzz^-1 Kz* + K*z A^-1 Kz*, A = Kzz + beta Kzx W Kxz: the process
 * of covariance q whose predictions have that of k (DTC).  W: the weights.  Kzz has a condition of 1e3 or so; eps times it,
 * times the |y| sqrt(N beta) that the weights of features are made of, leaves 1e-10. */
static void compare_with_dtc(const fab_plan *p, int64_t m)
{
    fab_arrays a = table_of(N, rows.y);
    a.weight = (fab_array){.p = rows.weight};
    double *Z = doubles(m * D);
    fab_regression *r = fit(&a, p);
    assert_int_equal(landmarks_of(r, Z, m * D), m);
    real *Kzz = kernel(m, Z, m, Z), *Kxz = kernel(N, rows.x, m, Z),
         *Ksz = kernel(NEW, rows.new, m, Z), *WK = dense_new(N * m), *A = dense_new(m * m);
    for (int64_t i = 0; i < N * m; i++) WK[i] = BETA * rows.weight[i / m] * Kxz[i];
    const real *KWK = dense_mul(m, N, m, dense_transpose(N, m, Kxz), WK);
    for (int64_t i = 0; i < m * m; i++) A[i] = Kzz[i] + KWK[i];
    const real *inverse = dense_inverse(m, A), *own = dense_inverse(m, Kzz);
    const real *g = dense_mul(m, N, 1, dense_transpose(N, m, WK), reals(N, rows.y));
    const real *mean = dense_mul(NEW, m, 1, Ksz, dense_mul(m, m, 1, inverse, g));
    fab_predictions *got = predict(r, NEW, rows.new);
    for (int64_t i = 0; i < NEW; i++) {
        const real v = 1.7 - dense_quad(m, own, Ksz + i * m) + dense_quad(m, inverse, Ksz + i * m);
        assert_near(got->p[i].mean, mean[i], 1e-8);
        assert_near(got->p[i].sd, r_sqrt(v + 1 / BETA), 1e-8);
    }
    fab_predictions_free(got);
    fab_regression_free(r);
}

static void weights_of_landmarks_are_the_sparse_process(void **state)
{
    (void)state;
    compare_with_dtc(&(fab_plan){.model = "nystrom:" KERNEL ":19", .method = "exact", RAW}, 19);
    compare_with_dtc(&(fab_plan){.model = "nystrom:" KERNEL ":19", .method = "kalman", RAW}, 19);
    compare_with_dtc(&(fab_plan){.model = "nystrom:" KERNEL ":1", .method = "kalman", RAW}, 1);
}

/* All rows are landmarks: that of k itself. */
static void landmarks_at_all_rows_are_the_process(void **state)
{
    (void)state;
    enum { FEW = 23 };
    const fab_arrays a = table_of(FEW, rows.y);
    const char *const methods[] = {"exact", "kalman"};
    real *K = kernel(FEW, rows.x, FEW, rows.x), *Ks = kernel(NEW, rows.new, FEW, rows.x);
    for (int64_t i = 0; i < FEW; i++) K[i * FEW + i] += 1 / BETA;
    const real *inverse = dense_inverse(FEW, K);
    const real *c = dense_mul(FEW, FEW, 1, inverse, reals(FEW, rows.y));
    for (int j = 0; j < 2; j++) {
        fab_regression *r =
            fit(&a, &(fab_plan){.model = "nystrom:" KERNEL ":23", .method = methods[j], RAW});
        fab_predictions *p = predict(r, NEW, rows.new);
        for (int64_t i = 0; i < NEW; i++) {
            const real v = 1.7 - dense_quad(FEW, inverse, Ks + i * FEW);
            assert_near(p->p[i].mean, dense_mul(1, FEW, 1, Ks + i * FEW, c)[0], 1e-8);
            assert_near(p->p[i].sd, r_sqrt(v + 1 / BETA), 1e-8);
        }
        fab_predictions_free(p);
        fab_regression_free(r);
    }
}

/* The ridge of the features themselves, in quadruple precision: mean = phi (phi'phi + 1 / beta)^-1 phi'y. */
static void a_stream_of_features_is_their_ridge(void **state)
{
    (void)state;
    enum { M = 24 };
    const fab_arrays a = table_of(N, rows.y);
    fab_regression *r = fit(
        &a,
        &(fab_plan){.model = "rff:1.3*rbf:l=0.8:24:orthogonal:seed=3", .method = "kalman", RAW});
    double *phi = doubles(N * M), *at = doubles(NEW * M);
    const fab_features *f = r->scaling->features;
    assert_ok(fab_features_apply(f, N, rows.x, D, phi, M, NULL, NULL));
    assert_ok(fab_features_apply(f, NEW, rows.new, D, at, M, NULL, NULL));
    real *P = reals(N * M, phi), *Pt = dense_transpose(N, M, P), *A = dense_mul(M, N, M, Pt, P);
    for (int64_t i = 0; i < M; i++) A[i * M + i] += 1 / BETA;
    const real *inverse = dense_inverse(M, A),
               *w = dense_mul(M, M, 1, inverse, dense_mul(M, N, 1, Pt, reals(N, rows.y))),
               *S = reals(NEW * M, at), *mean = dense_mul(NEW, M, 1, S, w);
    fab_predictions *p = predict(r, NEW, rows.new);
    for (int64_t i = 0; i < NEW; i++) {
        const real v = (1 + dense_quad(M, inverse, S + i * M)) / BETA;
        assert_near(p->p[i].mean, mean[i], 1e-9);
        assert_near(p->p[i].sd, r_sqrt(v), 1e-9);
    }
    fab_predictions_free(p);
    fab_regression_free(r);
}

/* What features leave is in a noise that is learned, and is added to every prediction: once is enough. */
static void a_noise_that_is_learned_is_that_of_y(void **state)
{
    (void)state;
    const fab_arrays a = table_of(N, rows.y);
    fab_regression *r =
        fit(&a, &(fab_plan){.model = "nystrom:" KERNEL ":9", .method = "exact", .no_scale = 1});
    fab_table_report report;
    fab_glm m;
    double *phi = doubles(N * 9), *left = doubles(N), mean = 0;
    assert_ok(fab_features_apply(r->scaling->features, N, rows.x, D, phi, 9, left, NULL));
    for (int64_t i = 0; i < N; i++) mean += left[i] / N;
    assert_ok(fab_regression_report(r, &report));
    assert_ok(fab_regression_model(r, &m));
    assert_true(mean > 0);
    const double all = 1 / report.fit.beta;
    assert_near(1 / m.beta, fmax(all - mean, all / 10), 1e-12);
    fab_regression_free(r);
}

/* ---- streams and files ---------------------------------------------------------------------------------- */

static const fab_plan stream = {.model = "nystrom:1.2*rbf:l=0.7:60", .method = "kalman"};

static void same_predictions(fab_regression *a, fab_regression *b)
{
    fab_predictions *p = predict(a, NEW, rows.new), *q = predict(b, NEW, rows.new);
    assert_memory_equal(p->p, q->p, NEW * sizeof *p->p);
    fab_predictions_free(p);
    fab_predictions_free(q);
}

static void a_file_predicts_and_goes_on_as_its_fit(void **state)
{
    (void)state;
    enum { FIRST = 1500 };
    const fab_arrays all = table_of(MORE, rows.y), first = table_of(FIRST, rows.y);
    fab_arrays rest = table_of(MORE - FIRST, rows.y + FIRST);
    rest.x = rows.x + FIRST * D;
    fab_regression *whole = fit(&all, &stream), *part = fit(&first, &stream), *back;
    assert_ok(fab_regression_save(part, in_folder("part")));
    assert_ok(fab_regression_load(&back, in_folder("part"), NULL));
    same_predictions(part, back);
    assert_ok(fab_regression_update(back, &(fab_data){.arrays = &rest}));
    assert_ok(fab_regression_update(part, &(fab_data){.arrays = &rest}));
    same_predictions(part, back);
    same_predictions(part, whole); /* kalman takes row by row */
    fab_regression_free(whole);
    fab_regression_free(part);
    fab_regression_free(back);
}

static int stops_at;
static int stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)total;
    return stops_at > 0 && done >= stops_at;
}

static void a_stream_that_was_stopped_ends_in_the_same_bytes(void **state)
{
    (void)state;
    const fab_arrays a = table_of(MORE, rows.y);
    const fab_data d = {.arrays = &a};
    char one[512], two[512];
    size_t n, m;
    snprintf(one, sizeof one, "%s", in_folder("one"));
    snprintf(two, sizeof two, "%s", in_folder("two"));
    fab_plan p = stream;
    p.checkpoint = 100;
    p.output = one;
    fab_regression *r = fit(&a, &p);
    fab_regression_free(r);
    const fab_exec x = {.progress = stop};
    p.output = two;
    p.resume = 1;
    stops_at = 1700;
    assert_int_equal(fab_regression_fit(&r, &d, &p, &x), FAB_STOPPED);
    stops_at = 0;
    assert_ok(fab_regression_fit(&r, &d, &p, &x));
    fab_regression_free(r);
    char *first = get_bytes(one, &n), *second = get_bytes(two, &m);
    assert_int_equal(n, m);
    assert_memory_equal(first, second, n);
    free(first);
    free(second);
    p.model = "nystrom:1.2*rbf:l=0.7:61";
    assert_refused(fab_regression_fit(&r, &d, &p, NULL), FAB_BAD_FILE,
                   "was made with 60 features of the kernel 1.2*rbf");
    p.model = "rff:1.2*rbf:l=0.7:60";
    assert_refused(fab_regression_fit(&r, &d, &p, NULL), FAB_BAD_FILE,
                   "was made with features of a kernel: nystrom, and this call says rff");
    p.model = NULL;
    assert_refused(fab_regression_fit(&r, &d, &p, NULL), FAB_BAD_FILE, "and this call says");
}

static void threads_change_no_bits(void **state)
{
    (void)state;
    const fab_arrays a = table_of(MORE, rows.y);
    fab_regression *one, *three;
    const fab_data d = {.arrays = &a};
    const fab_plan p = {.model = "rff:1.1*rbf:l=2*matern32:l=2:80", .method = "lrvga"};
    assert_ok(fab_regression_fit(&one, &d, &p, &(fab_exec){.threads = 1}));
    assert_ok(fab_regression_fit(&three, &d, &p, &(fab_exec){.threads = 3}));
    same_predictions(one, three);
    fab_regression_free(one);
    fab_regression_free(three);
}

/* ---- other targets -------------------------------------------------------------------------------------- */

static double nll_of(const char *model, const char *method, const char *likelihood, const double *y)
{
    const fab_arrays a = table_of(400, y);
    const fab_plan p = {.model = model, .method = method, .likelihood = likelihood};
    fab_regression *r = fit(&a, &p);
    fab_scores s;
    assert_ok(fab_regression_score(r, &(fab_data){.arrays = &a}, NULL, &s, NULL));
    fab_regression_free(r);
    return s.nll;
}

/* Each is worth more than a linear model: the curve in the rows is no line. */
static void every_likelihood_and_method_takes_features(void **state)
{
    (void)state;
    static const struct {
        const char *likelihood, *method;
    } all[] = {{"bernoulli", "laplace"},   {"bernoulli", "lrvga"}, {"categorical", "rvga"},
               {"categorical", "laplace"}, {"poisson", "map"},     {"poisson", "rvga"},
               {"gaussian", "ridge"},      {"gaussian", "lrvga"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *l = all[i].likelihood, *m = all[i].method;
        const double *y = strcmp(l, "bernoulli") == 0     ? rows.class
                          : strcmp(l, "categorical") == 0 ? rows.level
                          : strcmp(l, "poisson") == 0     ? rows.count
                                                          : rows.y;
        const double line = nll_of("linear", m, l, y);
        assert_true(nll_of("nystrom:1.5*matern52:l=1:30", m, l, y) < line - 0.02);
        assert_true(nll_of("rff:rbf:60", m, l, y) < line - 0.02);
    }
}

static void words_make_columns_of_the_kernel(void **state)
{
    (void)state;
    static const char *const names[] = {"oak", "elm"};
    static const char *word[N];
    static double y[N];
    for (int64_t i = 0; i < N; i++) {
        word[i] = names[i % 3 == 1];
        y[i] = rows.y[i] + (i % 3 == 1);
    }
    const fab_array street = {.name = "street", .text = word};
    fab_arrays a = table_of(N, y);
    a.column = &street;
    a.columns = 1;
    fab_regression *r =
        fit(&a, &(fab_plan){.model = "nystrom:rbf:col=x0,x1 + matern12:col=street:40"});
    fab_scores s;
    assert_ok(fab_regression_score(r, &(fab_data){.arrays = &a}, NULL, &s, NULL));
    assert_true(s.rmse < 1);
    fab_regression_free(r);
    assert_refused(fab_regression_fit(&r, &(fab_data){.arrays = &a},
                                      &(fab_plan){.model = "nystrom:rbf:col=streat:20"}, NULL),
                   FAB_BAD_DATA, "street");
}

static void a_fold_makes_its_own_features(void **state)
{
    (void)state;
    int64_t train[400], test[100];
    for (int64_t i = 0; i < 400; i++) train[i] = i;
    for (int64_t i = 0; i < 100; i++) test[i] = 400 + i;
    fab_dataset *t;
    fab_fold *f;
    fab_scores s;
    const fab_arrays a = table_of(500, rows.y);
    const fab_recipe what = {.method = fab_method_find("exact"),
                             .likelihood = FAB_LIKELIHOOD_GAUSSIAN,
                             .standardise = 1,
                             .features = "nystrom:rbf:40"};
    fab_exact_settings set = fab_exact_defaults();
    set.glm.alpha = 1;
    assert_ok(fab_dataset_create(&t, &(fab_data){.arrays = &a}));
    assert_ok(fab_fold_create(&f, &what, t, train, 400, test, 100));
    assert_ok(fab_fold_score(f, &what, &set, NULL, &s));
    assert_true(s.rmse < 0.25);
    fab_fold_free(f);
    fab_dataset_free(t);
}

/* ---- what cannot be ------------------------------------------------------------------------------------- */

static void features_have_no_coefficients(void **state)
{
    (void)state;
    const fab_arrays a = table_of(N, rows.y);
    fab_regression *r = fit(&a, &(fab_plan){.model = "rff:rbf:10"});
    double *mean = doubles(11), *sd = doubles(11);
    fab_effect e[11];
    fab_gauss *g;
    char *text;
    fab_profile *profile;
    assert_false(fab_regression_has_coefficients(r));
    assert_refused(fab_regression_coefficients(r, mean, sd), FAB_UNSUPPORTED,
                   "features of a kernel have no coefficients");
    assert_refused(fab_regression_effects(r, NULL, 0.9, e, NULL), FAB_UNSUPPORTED,
                   "features of a kernel have no coefficients");
    assert_refused(fab_regression_gauss(r, &g), FAB_UNSUPPORTED, "features of a kernel have no");
    assert_ok(fab_regression_reference(r, &text));
    assert_null(text);
    assert_ok(fab_regression_profile(r, 9, &profile)); /* what a column does can be told */
    fab_profile_free(profile);
    fab_regression_free(r);
}

static void models_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *model, *method, *words;
    } bad[] = {
        {"rff:rbf", NULL, "expected rff:KERNEL:M"},
        {"rff:rbf:ard", NULL, "expected rff:KERNEL:M"},
        {"rff:rbf:10:seed=x", NULL, "expected rff:KERNEL:M"},
        {"rff:10", NULL, "expected rff:KERNEL:M"},
        {"rff::10", NULL, "expected rff:KERNEL:M"},
        {"nystrom:rbf:10:orthogonal", NULL, "expected nystrom:KERNEL:M"},
        {"nystrom:rbf:0", NULL, "expected nystrom:KERNEL:M"},
        {"nystrom:rfb:10", NULL, "rbf"},
        {"nystrom:rbf:132", NULL, "132 landmarks are more than the 131 first rows"},
        {"rff:rbf:11", NULL, "they come in pairs"},
        {"rff:linear:10", NULL, "is not stationary"},
        {"rff:rbf:10", "vifa", "takes no features of a kernel"},
    };
    const fab_arrays a = table_of(N, rows.y);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fab_regression *r;
        const fab_plan p = {.model = bad[i].model, .method = bad[i].method};
        const fab_status s = fab_regression_fit(&r, &(fab_data){.arrays = &a}, &p, NULL);
        assert_true(s == FAB_BAD_ARGUMENT || s == FAB_BAD_DATA || s == FAB_UNSUPPORTED);
        assert_non_null(strstr(fab_detail(), bad[i].words));
        assert_null(r);
    }
}

static fab_status all_calls(void)
{
    const fab_arrays a = table_of(40, rows.y);
    const fab_exec x = {.threads = 1};
    fab_map_plan p = {0};
    fab_map_report report;
    double most;
    fab_dataset *t = NULL;
    fab_scaling *k = NULL, *back = NULL;
    char *text = NULL;
    fab_status s = fab_dataset_create(&t, &(fab_data){.arrays = &a});
    if (s == FAB_OK) s = fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1);
    if (s == FAB_OK) s = fab_map_read(&p, "nystrom:1.3*rbf:l=1:5");
    if (s == FAB_OK)
        s = fab_map_build(&p, k, t, FAB_LIKELIHOOD_GAUSSIAN, 1000, 1, &report, &most, &x);
    if (s == FAB_OK) s = fab_scaling_apply_on(k, t, &x);
    if (s == FAB_OK) s = fab_scaling_json(k, &text);
    if (s == FAB_OK) s = fab_scaling_from_json(&back, text);
    fab_text_free(text);
    fab_scaling_free(back);
    fab_scaling_free(k);
    fab_map_close(&p);
    fab_dataset_free(t);
    return s;
}

static void an_allocation_that_fails_is_said_and_leaves_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(all_calls) >= 50);
}

static int open_folder(void **state)
{
    make_rows();
    return make_folder(state);
}

static int close_folder(void **state)
{
    dense_release(state);
    return remove_folder(state);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(weights_of_landmarks_are_the_sparse_process),
        TEST(landmarks_at_all_rows_are_the_process),
        TEST(a_stream_of_features_is_their_ridge),
        TEST(a_noise_that_is_learned_is_that_of_y),
        TEST(a_file_predicts_and_goes_on_as_its_fit),
        TEST(a_stream_that_was_stopped_ends_in_the_same_bytes),
        TEST(threads_change_no_bits),
        TEST(every_likelihood_and_method_takes_features),
        TEST(words_make_columns_of_the_kernel),
        TEST(a_fold_makes_its_own_features),
        TEST(features_have_no_coefficients),
        TEST(models_that_cannot_be_are_refused),
        TEST(an_allocation_that_fails_is_said_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
