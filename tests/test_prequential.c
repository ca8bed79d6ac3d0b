/* test_prequential.c - the scores of a stream: each row predicted before it is learned.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/random.h"
#include "fabayes/table.h"
#include "files.h"
#include "table/prequential.h"
#include <math.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

/* |a - b| <= tol, in doubles */
static void assert_near(double a, double b, double tol)
{
    if (!(fabs(a - b) <= tol)) fail_msg("%.17g and %.17g, expected within %g", a, b, tol);
}

enum { MOST = 20000, D = 3, N = 300 };

static struct {
    double x[MOST * D], y[MOST], drift[MOST], two[MOST], count[MOST];
    double three[MOST];
} rows;

static void make_rows(void)
{
    double noise[MOST];
    fab_random_normal(11, FAB_PURPOSE_DATA, 1, 0, MOST * D, FAB_F64, rows.x);
    fab_random_normal(11, FAB_PURPOSE_DATA, 2, 0, MOST, FAB_F64, noise);
    for (int i = 0; i < MOST; i++) {
        const double *x = rows.x + i * D;
        const double eta = 1.3 * x[0] - 0.7 * x[1] + 0.25 * x[2];
        rows.y[i] = 40 + 2.385 * (eta + noise[i]);
        rows.drift[i] = 40 + 2.385 * ((i < 1100 ? eta : -eta) + noise[i]);
        rows.two[i] = eta + noise[i] > 0.2;
        rows.three[i] = (eta + noise[i] > 0) + (x[1] + noise[i] > 0.9);
        rows.count[i] = floor(exp(0.4 * (eta + 0.3 * noise[i])) + 0.5);
    }
}

static fab_arrays part_of(const double *y, int64_t from, int64_t n)
{
    return (fab_arrays){.n = n, .x = rows.x + from * D, .D = D, .y = {.name = "y", .p = y + from}};
}

static fab_regression *fit(const double *y, int64_t n, const fab_plan *p, int threads)
{
    const fab_arrays a = part_of(y, 0, n);
    fab_regression *r;
    if (fab_regression_fit(&r, &(fab_data){.arrays = &a}, p, &(fab_exec){.threads = threads}) !=
        FAB_OK)
        fail_msg("%s", fab_detail());
    return r;
}

static fab_stream_scores scores_of(fab_regression *r)
{
    fab_table_report f;
    assert_int_equal(fab_regression_report(r, &f), FAB_OK);
    assert_non_null(f.stream);
    return *f.stream;
}

/* ---- by hand ------------------------------------------------------------------------------------------- */

/* Mean and variance of x . theta under the posterior of the first t rows: A = alpha I + beta X'X, dense. */
static void posterior(int t, double alpha, double beta, double *mu, double *S)
{
    double A[D * D] = {0}, b[D] = {0};
    for (int i = 0; i < D; i++) A[i * D + i] = alpha;
    for (int r = 0; r < t; r++)
        for (int i = 0; i < D; i++) {
            const double *x = rows.x + r * D;
            b[i] += beta * x[i] * rows.y[r];
            for (int j = 0; j < D; j++) A[i * D + j] += beta * x[i] * x[j];
        }
    /* Gauss-Jordan: S = A^-1 */
    for (int i = 0; i < D * D; i++) S[i] = i % (D + 1) == 0;
    for (int k = 0; k < D; k++) {
        const double pivot = A[k * D + k];
        for (int j = 0; j < D; j++) A[k * D + j] /= pivot, S[k * D + j] /= pivot;
        for (int i = 0; i < D; i++) {
            const double by = A[i * D + k];
            for (int j = 0; i != k && j < D; j++)
                A[i * D + j] -= by * A[k * D + j], S[i * D + j] -= by * S[k * D + j];
        }
    }
    for (int i = 0; i < D; i++) {
        mu[i] = 0;
        for (int j = 0; j < D; j++) mu[i] += S[i * D + j] * b[j];
    }
}

static void scores_are_those_of_a_plain_program(void **state)
{
    (void)state;
    const double alpha = 0.6, beta = 0.17;
    const int at[] = {64, 128, 256, N};
    const fab_plan plan = {.method = "kalman",
                           .no_scale = 1,
                           .no_intercept = 1,
                           .settings = (const char *const[]){"alpha=0.6", "beta=0.17", NULL}};
    fab_regression *r = fit(rows.y, N, &plan, 1);
    const fab_stream_scores s = scores_of(r);
    double all = 0, squares = 0, inside = 0;
    assert_int_equal(s.points, 3);
    assert_string_equal(s.of, "numbers");
    for (int p = 0; p < 3; p++) {
        double mu[D], S[D * D], sum = 0;
        posterior(at[p], alpha, beta, mu, S); /* learned so far */
        for (int i = at[p]; i < at[p + 1]; i++) {
            double eta = 0, v = 1 / beta;
            for (int j = 0; j < D; j++) {
                eta += rows.x[i * D + j] * mu[j];
                for (int k = 0; k < D; k++)
                    v += rows.x[i * D + j] * S[j * D + k] * rows.x[i * D + k];
            }
            const double e = rows.y[i] - eta;
            sum += -0.5 * (log(2 * 3.14159265358979323846 * v) + e * e / v);
            squares += e * e;
            inside += fabs(e) <= 1.6448536269514722 * sqrt(v);
        }
        all += sum;
        const fab_stream_point *point = &s.point[p];
        assert_int_equal(point->seen, at[p]);
        assert_int_equal(point->score.scored, at[p + 1] - at[p]);
        assert_near(point->score.log_density, sum / (at[p + 1] - at[p]), 1e-10 * fabs(sum));
    }
    const int n = N - 64;
    assert_true(s.all.scored == n && s.all.rows == n && s.all.lost == 0);
    assert_near(s.all.log_density, all / n, 1e-10 * fabs(all));
    assert_near(s.all.rmse, sqrt(squares / n), 1e-9);
    assert_near(s.all.coverage90, inside / n, 1e-12);
    assert_true(isnan(s.all.error));
    fab_regression_free(r);
}

/* The same of every target, by a fit of the rows so far and its scores of the next ones. */
static void scores_are_those_of_fits_of_the_rows_so_far(void **state)
{
    (void)state;
    const struct {
        const char *likelihood, *method;
        const double *y;
    } cases[] = {{"gaussian", "lrvga", rows.y},
                 {"bernoulli", "lrvga", rows.two},
                 {"categorical", "rvga", rows.three},
                 {"poisson", "lrvga", rows.count},
                 {"gaussian", "rvga", rows.y}};
    const int at[] = {64, 128, 256, N};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const fab_plan plan = {
            .method = cases[c].method, .likelihood = cases[c].likelihood, .scale_rows = 50};
        fab_regression *r = fit(cases[c].y, N, &plan, 1);
        const fab_stream_scores s = scores_of(r);
        assert_int_equal(s.points, 3);
        for (int p = 0; p < 3; p++) {
            const int n = at[p + 1] - at[p];
            const fab_arrays next = part_of(cases[c].y, at[p], n);
            fab_regression *so_far = fit(cases[c].y, at[p], &plan, 1);
            fab_scores by;
            assert_int_equal(
                fab_regression_score(so_far, &(fab_data){.arrays = &next}, NULL, &by, NULL),
                FAB_OK);
            const fab_stream_score *is = &s.point[p].score;
            assert_int_equal(is->scored, n);
            assert_near(is->log_density, -by.nll, 1e-7 * (1 + by.nll));
            if (cases[c].y == rows.y) {
                assert_near(is->rmse, by.rmse, 1e-8);
                assert_near(is->coverage90, by.coverage90, 1e-12);
            } else if (cases[c].y != rows.count) {
                assert_near(is->error, 1 - by.accuracy, 1e-12);
            }
            fab_regression_free(so_far);
        }
        fab_regression_free(r);
    }
}

static void vectors_are_scored_by_the_gaussian_so_far(void **state)
{
    (void)state;
    static double l[N];
    const int at[] = {64, 256, N}; /* four times the rows */
    const fab_online_em_settings set = fab_online_em_defaults(1);
    const fab_rows all = {.p = rows.x, .type = FAB_F64, .n = N, .ld = D};
    fab_factors *f;
    fab_fa_report r;
    assert_int_equal(
        fab_factors_create(&f,
                           &(fab_factors_plan){
                               .D = D, .method = "online-em", .settings = &set, .size = sizeof set},
                           NULL),
        FAB_OK);
    assert_int_equal(fab_factors_update(f, &all, NULL), FAB_OK);
    assert_int_equal(fab_factors_report(f, &r), FAB_OK);
    assert_non_null(r.stream);
    assert_int_equal(r.stream->points, 3); /* 64, 128, 256 */
    double sum = 0;
    for (int p = 0; p < 2; p++) {
        const fab_rows first = {.p = rows.x, .type = FAB_F64, .n = at[p], .ld = D},
                       next = {.p = rows.x + at[p] * D,
                               .type = FAB_F64,
                               .n = at[p + 1] - at[p],
                               .ld = D};
        fab_fit *g;
        const fab_gauss *q;
        fab_solver *solver;
        assert_int_equal(
            fab_fit_create(&g, "online-em", &set, sizeof set, &(fab_input){.vectors = D}, NULL),
            FAB_OK);
        assert_int_equal(fab_fit_update(g, &(fab_examples){.x = first}), FAB_OK);
        assert_int_equal(fab_fit_gauss(g, &q), FAB_OK);
        assert_int_equal(fab_solver_create(&solver, q, NULL), FAB_OK);
        assert_int_equal(fab_solver_logpdf(solver, &next, l), FAB_OK);
        for (int i = 0; i < next.n; i++) sum += l[i];
        fab_solver_free(solver);
        fab_fit_free(g);
    }
    assert_int_equal(r.stream->all.scored, N - 64);
    assert_near(r.stream->all.log_density, sum / (N - 64), 1e-12 * fabs(sum));
    assert_true(isnan(r.stream->all.rmse));
    fab_factors_free(f);
}

/* ---- which rows ---------------------------------------------------------------------------------------- */

static void a_long_stream_is_sampled_and_each_row_stands_for_its_share(void **state)
{
    (void)state;
    fab_regression *r = fit(rows.y, MOST, &(fab_plan){.method = "kalman"}, 1);
    const fab_stream_scores s = scores_of(r);
    int64_t scored = 0, stands = 0;
    for (int64_t i = 64; i < MOST; i++) {
        int64_t stride = 1;
        while (2 * stride <= i / 4096) stride *= 2;
        if (i % stride) continue;
        scored++;
        stands += stride;
    }
    assert_true(scored < MOST - 64);
    assert_int_equal(s.all.scored, scored);
    assert_int_equal(s.all.rows, stands);
    assert_true(llabs(stands - (MOST - 64)) < 8);
    assert_near(s.all.rmse, 2.385, 0.1); /* 6 standard errors of 10000 rows and more */
    assert_near(s.all.coverage90, 0.9, 0.02);
    assert_true(s.recent.rows >= s.all.rows / 10 && s.recent.rows < s.all.rows);
    assert_int_equal(s.worse, 0);
    fab_regression_free(r);
}

static void a_stream_that_drifts_is_told(void **state)
{
    (void)state;
    fab_regression *r = fit(rows.drift, 2000, &(fab_plan){.method = "kalman"}, 1);
    const fab_stream_scores s = scores_of(r);
    assert_int_equal(s.worse, 1);
    assert_true(s.recent.log_density < s.first.log_density - 0.5);
    fab_regression_free(r);
}

static void few_rows_have_no_scores(void **state)
{
    (void)state;
    fab_regression *r = fit(rows.y, 64, &(fab_plan){.method = "kalman"}, 1);
    const fab_stream_scores s = scores_of(r);
    assert_true(s.points == 0 && s.all.scored == 0 && s.from == 64 && s.worse == 0);
    assert_true(isnan(s.all.log_density) && isnan(s.recent.rmse) && isnan(s.first.coverage90));
    fab_regression_free(r);
    r = fit(rows.y, N, &(fab_plan){.method = "exact"}, 1);
    fab_table_report f;
    assert_int_equal(fab_regression_report(r, &f), FAB_OK);
    assert_null(f.stream); /* no stream */
    fab_regression_free(r);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static char *saved(const double *y, const fab_plan *p, int threads, const char *name, size_t *size)
{
    fab_regression *r = fit(y, 3000, p, threads);
    assert_int_equal(fab_regression_save(r, in_folder(name)), FAB_OK);
    fab_regression_free(r);
    return get_bytes(in_folder(name), size);
}

static int64_t stop_after;

static int stop_there(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return stop_after > 0 && --stop_after == 0;
}

static void threads_pieces_and_a_stop_change_no_byte(void **state)
{
    (void)state;
    const struct {
        const char *method;
        const double *y;
        const char *likelihood;
    } cases[] = {
        {"lrvga", rows.y, NULL}, {"rvga", rows.three, "categorical"}, {"rvga", rows.two, NULL}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t n, m;
        fab_plan plan = {.method = cases[c].method, .likelihood = cases[c].likelihood};
        char *one = saved(cases[c].y, &plan, 1, "one", &n), *three;
        three = saved(cases[c].y, &plan, 3, "three", &m);
        assert_true(n == m && memcmp(one, three, n) == 0);
        free(three);
        /* a save every 777 rows, a stop on the way, and on from there */
        char out[512];
        snprintf(out, sizeof out, "%s", in_folder("out"));
        plan.output = out;
        plan.checkpoint = 777;
        plan.resume = 1;
        const fab_arrays a = part_of(cases[c].y, 0, 3000);
        fab_regression *r;
        fab_status s = FAB_STOPPED;
        int stops = -1;
        remove(out);
        for (int tries = 0; s == FAB_STOPPED && tries < 9; tries++) {
            stop_after = tries < 4 ? 3 + 2 * tries : 0;
            s = fab_regression_fit(&r, &(fab_data){.arrays = &a}, &plan,
                                   &(fab_exec){.threads = 1, .progress = stop_there});
            if (s == FAB_OK) fab_regression_free(r);
            stops++;
        }
        if (s != FAB_OK) fail_msg("%s", fab_detail());
        assert_true(stops > 0);
        char *again = get_bytes(out, &m);
        assert_true(n == m && memcmp(one, again, n) == 0);
        free(again);
        free(one);
    }
}

static void an_update_goes_on_with_the_curve(void **state)
{
    (void)state;
    const fab_arrays rest = part_of(rows.y, 200, 150);
    fab_regression *r = fit(rows.y, 200, &(fab_plan){.method = "kalman"}, 1);
    const fab_stream_scores before = scores_of(r);
    const double first = before.point[0].score.log_density;
    assert_int_equal(fab_regression_save(r, in_folder("q")), FAB_OK);
    fab_regression_free(r);
    assert_int_equal(fab_regression_load(&r, in_folder("q"), NULL), FAB_OK);
    fab_scores by;
    assert_int_equal(fab_regression_score(r, &(fab_data){.arrays = &rest}, NULL, &by, NULL),
                     FAB_OK);
    assert_int_equal(fab_regression_update(r, &(fab_data){.arrays = &rest}), FAB_OK);
    fab_stream_scores s = scores_of(r);
    assert_int_equal(s.points, 3);
    assert_true(s.all.scored == 350 - 64 && s.call.scored == 150);
    assert_near(s.point[0].score.log_density, first, 0);
    assert_near(s.call.log_density, -by.nll, 1e-9 * (1 + by.nll)); /* by the file's Gaussian */
    assert_near(s.call.rmse, by.rmse, 1e-9);
    assert_int_equal(fab_regression_save(r, in_folder("q")), FAB_OK);
    fab_regression_free(r);

    /* what a file says */
    fab_tensors *t;
    fab_stream_scores *read;
    assert_int_equal(fab_tensors_read(&t, in_folder("q")), FAB_OK);
    assert_int_equal(fab_stream_scores_read(&read, t), FAB_OK);
    assert_non_null(read);
    assert_true(read->points == 3 && read->all.scored == 350 - 64 && read->call.scored == 0);
    fab_stream_scores_free(read);
    fab_tensors_free(t);
}

static void a_curve_that_cannot_be_is_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "{}",
        "{\"of\": \"words\", \"seen\": []}",
        "{\"of\": \"numbers\", \"seen\": [64], \"rows\": []}",
        "{\"of\": \"numbers\", \"seen\": [64, 64], \"rows\": [1, 1], \"scored\": [1, 1], \"lost\": "
        "[0, 0], "
        "\"density\": [0, 0], \"square\": [0, 0], \"error\": [0, 0], \"covered\": [0, 0]}",
        "{\"of\": \"numbers\", \"seen\": [64], \"rows\": [1], \"scored\": [2], \"lost\": [0], "
        "\"density\": [0], \"square\": [0], \"error\": [0], \"covered\": [0]}",
        "{\"of\": \"numbers\", \"seen\": [64], \"rows\": [-1], \"scored\": [-2], \"lost\": [0], "
        "\"density\": [0], \"square\": [0], \"error\": [0], \"covered\": [0]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fab_tensors *t;
        fab_stream_scores *s;
        assert_int_equal(fab_tensors_create(&t), FAB_OK);
        assert_int_equal(fab_tensors_set(t, "scores", wrong[i]), FAB_OK);
        assert_int_equal(fab_stream_scores_read(&s, t), FAB_BAD_FILE);
        assert_null(s);
        fab_tensors_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scores_are_those_of_a_plain_program),
        TEST(scores_are_those_of_fits_of_the_rows_so_far),
        TEST(vectors_are_scored_by_the_gaussian_so_far),
        TEST(a_long_stream_is_sampled_and_each_row_stands_for_its_share),
        TEST(a_stream_that_drifts_is_told),
        TEST(few_rows_have_no_scores),
        TEST(threads_pieces_and_a_stop_change_no_byte),
        TEST(an_update_goes_on_with_the_curve),
        TEST(a_curve_that_cannot_be_is_refused),
    };
    make_rows();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
