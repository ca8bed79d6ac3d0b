/* test_evidence.c - the search for the parameters of a kernel against an evidence in plain loops, on grids and at its end.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "plain.h"
#include "train/evidence.h"

/* log p(y) of s2 exp(-d^2 / (2 l^2)) (one column) and noise, by elimination. */
static double plain_evidence(int64_t n, const double *x, const double *y, const double *weight,
                             double s2, double l, double noise)
{
    double *K = doubles(n * n), *L = doubles(n * n), *b = doubles(n), sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double d = (x[i] - x[j]) / l;
            K[i * n + j] = s2 * exp(-d * d / 2);
            if (i == j) K[i * n + j] += noise / (weight ? weight[i] : 1);
        }
    plain_chol(n, K, L);
    for (int64_t i = 0; i < n; i++) {
        b[i] = y[i];
        for (int64_t j = 0; j < i; j++) b[i] -= L[i * n + j] * b[j];
        b[i] /= L[i * n + i];
        sum -= b[i] * b[i] / 2 + log(L[i * n + i]) + log(2 * M_PI) / 2;
    }
    return sum;
}

typedef struct table {
    int64_t n, D;
    double *x, *y, *weight;
} table;

/* y = sin of the first column, with noise; the others say nothing. */
static table waves(int64_t n, int64_t D, double noise)
{
    table t = {n, D, doubles(n * D), doubles(n), doubles(n)};
    double *e = doubles(n);
    fab_random_normal(5, FAB_PURPOSE_DATA, 0, 0, n * D, FAB_F64, t.x);
    fab_random_normal(5, FAB_PURPOSE_DATA, 1, 0, n, FAB_F64, e);
    fab_random_uniform(5, FAB_PURPOSE_DATA, 2, 0, n, t.weight);
    for (int64_t i = 0; i < n; i++) {
        t.y[i] = sin(2 * t.x[i * D]) + noise * e[i];
        t.weight[i] += 0.5;
    }
    return t;
}

/* A table of few values in each column, as designs have it: many hills. */
static table hills(uint64_t seed)
{
    const int64_t n = 70, D = 4;
    table t = {n, D, doubles(n * D), doubles(n), NULL};
    double *e = doubles(n);
    fab_random_uniform(seed, FAB_PURPOSE_DATA, 3, 0, n * D, t.x);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 4, 0, n, FAB_F64, e);
    for (int64_t i = 0; i < n; i++) {
        double *x = t.x + i * D;
        for (int64_t j = 0; j < D; j++)
            x[j] = floor((double)(2 + 2 * j) * x[j]) / (1 + 2 * (double)j) * 3 - 1.5;
        t.y[i] = sin(3 * x[1]) * x[2] + 0.5 * x[0] + cos(2 * x[3] + x[0]) + 0.05 * e[i];
    }
    return t;
}

static fab_process *process_of(const table *t, const char *text, int64_t threads)
{
    const fab_exec x = {.threads = threads};
    fab_kernel *k;
    fab_process *p;
    assert_ok(fab_kernel_create(&k, text, t->D, NULL));
    assert_ok(fab_process_create(&p, k, t->n, t->x, t->D, t->n, &x));
    fab_kernel_free(k);
    return p;
}

static fab_evidence_report learn(fab_process *p, const table *t, const fab_evidence_plan *plan)
{
    fab_evidence_report r;
    assert_ok(fab_evidence_maximise(p, t->y, NULL, plan, &r, NULL));
    return r;
}

static double value_of(const fab_process *p, int64_t i)
{
    fab_kernel_parameter v;
    fab_kernel_parameter_at(fab_process_kernel(p), i, &v);
    return v.value;
}

/* ---- the maximum ------------------------------------------------------------------------------------- */

static void no_place_of_a_grid_has_a_higher_evidence(void **state)
{
    (void)state;
    const table t = waves(29, 1, 0.3);
    fab_process *p = process_of(&t, "rbf", 1);
    for (int weighted = 0; weighted < 2; weighted++) {
        const double *w = weighted ? t.weight : NULL;
        fab_evidence_report r;
        assert_ok(fab_evidence_maximise(p, t.y, w, NULL, &r, NULL));
        const double s2 = value_of(p, 0), l = value_of(p, 1), noise = fab_process_noise(p);
        const double here = plain_evidence(t.n, t.x, t.y, w, s2, l, noise);
        assert_true(fabs(r.lml - here) < 1e-10 * (1 + fabs(here)));
        for (double a = -4; a <= 4; a += 0.5)
            for (double b = -3; b <= 3; b += 0.25)
                for (double c = -6; c <= 2; c += 0.5)
                    assert_true(plain_evidence(t.n, t.x, t.y, w, exp(a), exp(b), exp(c)) <=
                                r.lml + 1e-6);
        assert_int_equal(r.converged, 1);
        assert_int_equal(r.at_bound, 0);
        assert_int_equal(r.rows, t.n);
    }
    fab_process_free(p);
}

/* y in steps, as tables have it, and a third of the rows twice: the noise is that of the rows once, and not none. */
static void rows_that_are_there_twice_are_searched_once(void **state)
{
    (void)state;
    const int64_t n = 60;
    const table t = waves(2 * n, 2, 0.3);
    table once = t;
    once.n = n;
    for (int64_t i = 0; i < n; i++) t.y[i] = round(4 * t.y[i]) / 4;
    for (int64_t i = n; i < n + n / 3; i++) {
        memcpy(t.x + i * 2, t.x + (i - n) * 2, 2 * sizeof *t.x);
        t.y[i] = t.y[i - n];
    }
    for (int64_t i = n + n / 3; i < 2 * n; i++) t.y[i] = 0; /* none of these */
    table twice = t;
    twice.n = n + n / 3;
    fab_process *a = process_of(&once, "rbf:ard", 1), *b = process_of(&twice, "rbf:ard", 1);
    const fab_evidence_report of_once = learn(a, &once, NULL), of_twice = learn(b, &twice, NULL);
    assert_int_equal(of_once.repeats, 0);
    assert_int_equal(of_twice.repeats, n / 3);
    assert_int_equal(of_twice.rows, n);
    assert_int_equal(of_twice.noise_at_bound, 0);
    /* A relative change of 1e-9 of some 50 nats ends a search: places differ by its root where the curvature is 1; the
     * second column says nothing, and its length-scale is anywhere far away. */
    assert_true(fabs(log(fab_process_noise(b) / fab_process_noise(a))) < 1e-3);
    for (int64_t i = 0; i < 2; i++) assert_true(fabs(log(value_of(b, i) / value_of(a, i))) < 1e-3);
    assert_true(fab_process_noise(b) > 0.01);
    fab_process_free(a);
    fab_process_free(b);
}

/* A search that ends by a change of 1e-9 relative leaves a slope g with g^2 / curvature about that; curvatures by logarithms are
 * of the size of the rows. */
static void the_gradient_at_the_end_is_nothing(void **state)
{
    (void)state;
    const table t = waves(60, 2, 0.3);
    const char *const kernel[] = {"rbf:ard", "matern32 + linear", "rq*const", "2*matern52:l=0.7"};
    for (int i = 0; i < 4; i++) {
        fab_process *p = process_of(&t, kernel[i], 1);
        const fab_evidence_report r = learn(p, &t, NULL);
        const int64_t size = fab_kernel_size(fab_process_kernel(p));
        double lml, *g = doubles(size + 1);
        assert_ok(fab_process_evidence(p, &lml, g));
        assert_true(fabs(lml - r.lml) <= 1e-12 * fabs(lml));
        for (int64_t k = 0; k <= size; k++) {
            fab_kernel_parameter v = {.lo = 0, .hi = INFINITY, .value = 1};
            if (k < size) fab_kernel_parameter_at(fab_process_kernel(p), k, &v);
            const int inside = v.value > 1.001 * v.lo && v.value < v.hi / 1.001;
            if (!v.fixed && inside) assert_true(fabs(g[k]) < 0.02);
        }
        fab_process_free(p);
    }
}

static void given_parameters_stay_and_need_no_search(void **state)
{
    (void)state;
    const table t = waves(17, 1, 0.3);
    fab_process *p = process_of(&t, "2.385*rbf:l=0.7", 1);
    const fab_evidence_plan plan = {.noise = 0.09};
    const fab_evidence_report r = learn(p, &t, &plan);
    const double here = plain_evidence(t.n, t.x, t.y, NULL, 2.385, 0.7, 0.09);
    assert_int_equal(r.evaluations, 0);
    assert_true(fabs(r.lml - here) < 1e-12 * (1 + fabs(here)));
    assert_true(fabs(fab_process_noise(p) - 0.09) < 1e-16);
    fab_process_free(p);
    p = process_of(&t, "rbf:l=0.7", 1);
    learn(p, &t, &plan);
    assert_true(fabs(value_of(p, 1) - 0.7) < 1e-15); /* through its logarithm */
    assert_true(fabs(fab_process_noise(p) - 0.09) < 1e-16);
    fab_process_free(p);
}

static void a_column_that_says_nothing_is_switched_off(void **state)
{
    (void)state;
    const table t = waves(80, 2, 0.1);
    fab_process *p = process_of(&t, "rbf:ard", 1);
    learn(p, &t, NULL);
    assert_true(value_of(p, 2) > 10 * value_of(p, 1));
    fab_process_free(p);
}

static void a_bound_is_told_where_the_search_ends_there(void **state)
{
    (void)state;
    const table t = waves(40, 1, 0.3);
    fab_process *p = process_of(&t, "rbf", 1);
    const fab_evidence_plan plan = {.noise_lo = 0.5, .noise_hi = 2};
    const fab_evidence_report r = learn(p, &t, &plan);
    assert_int_equal(r.at_bound, 1);
    assert_int_equal(r.noise_at_bound, 1);
    assert_true(fabs(fab_process_noise(p) - 0.5) < 1e-6);
    fab_process_free(p);
}

/* Few rows that a slow wave with much noise explains, or a fast one without. */
static void ends_that_differ_are_counted(void **state)
{
    (void)state;
    table t = {8, 1, doubles(8), doubles(8), NULL};
    const double x[] = {-5.7, -5.5, -5.4, -4.6, -4.0, 0.9, 1.2, 5.7};
    const double y[] = {-0.9, -1.2, -0.8, 0.3, -0.5, 1.0, 1.6, 0.7};
    memcpy(t.x, x, sizeof x);
    memcpy(t.y, y, sizeof y);
    fab_process *p = process_of(&t, "rbf", 1);
    const fab_evidence_report r = learn(p, &t, NULL);
    int64_t hills = 0; /* of the profile over l, on a grid */
    double before[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (double b = -2; b <= 3; b += 0.2) {
        before[0] = before[1], before[1] = before[2], before[2] = -INFINITY;
        for (double a = -3; a <= 2; a += 0.25)
            for (double c = -7; c <= 1; c += 0.25)
                before[2] = fmax(before[2], plain_evidence(8, x, y, NULL, exp(a), exp(b), exp(c)));
        hills += before[1] > before[0] && before[1] > before[2];
    }
    assert_true(hills >= 2);
    assert_true(r.optima >= 2);
    assert_true(r.second < r.lml);
    fab_process_free(p);
}

/* Seven rows of a process with l = 1 and noise of sd 0.3. */
static table few_rows(uint64_t seed)
{
    table t = {7, 1, doubles(7), doubles(7), NULL};
    double e[14], phi[49];
    fab_kernel *k;
    fab_features *f;
    fab_random_uniform(seed, FAB_PURPOSE_DATA, 1, 0, 7, t.x);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 2, 0, 14, FAB_F64, e);
    for (int i = 0; i < 7; i++) t.x[i] = -4 + 8 * t.x[i];
    assert_ok(fab_kernel_create(&k, "1*rbf:l=1", 1, NULL));
    assert_ok(fab_features_nystrom(&f, k, 7, 7, t.x, 1, NULL));
    const int64_t m = fab_features_size(f);
    assert_ok(fab_features_apply(f, 7, t.x, 1, phi, m, NULL, NULL));
    for (int i = 0; i < 7; i++) {
        t.y[i] = 0.3 * e[7 + i];
        for (int64_t j = 0; j < m; j++) t.y[i] += phi[i * m + j] * e[j];
    }
    fab_features_free(f);
    fab_kernel_free(k);
    return t;
}

/* Of these tables all but the first five are explained best by a function that is all but constant, with much noise. */
static void long_lengths_are_looked_at(void **state)
{
    (void)state;
    static const uint64_t seed[] = {1,   2,   3,   4,   5,   134, 228, 372,
                                    391, 470, 508, 519, 807, 893, 940};
    for (size_t i = 0; i < sizeof seed / sizeof *seed; i++) {
        const table t = few_rows(seed[i]);
        double best = -INFINITY;
        fab_process *p = process_of(&t, "1*rbf", 1);
        const fab_evidence_report r = learn(p, &t, NULL);
        for (double l = 0.05; l < 200; l *= 1.15)
            for (double sd = 0.02; sd < 3; sd *= 1.1)
                best = fmax(best, plain_evidence(7, t.x, t.y, NULL, 1, l, sd * sd));
        assert_true(r.lml >= best - 1e-6 * fabs(best));
        fab_process_free(p);
    }
}

/* What a sum can be with all its terms but one next to nothing is as good as the kernel without that one, up to what the least
 * variance, 1e-6, still costs: half the trace of 1e-6 K / noise, at most. */
static void a_sum_ends_no_lower_than_its_parts(void **state)
{
    (void)state;
    static const char *const sum[][4] = {
        {"rbf:ard + linear", "rbf:ard", "linear"},
        {"matern12:ard + periodic:col=0", "matern12:ard", "periodic:col=0"},
        {"rbf + linear + periodic:col=0", "rbf + periodic:col=0", "linear + periodic:col=0",
         "rbf + linear"}};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const table t = hills(seed);
        for (int k = 0; k < 3; k++) {
            fab_process *p = process_of(&t, sum[k][0], 1);
            const double lml = learn(p, &t, NULL).lml;
            fab_process_free(p);
            for (int part = 1; part < 4 && sum[k][part]; part++) {
                p = process_of(&t, sum[k][part], 1);
                const double alone = learn(p, &t, NULL).lml, noise = fab_process_noise(p);
                double largest = 0;
                for (int64_t i = 0; i < t.n; i++)
                    for (int64_t j = 0; j < t.D; j++)
                        largest = fmax(largest, pow(t.x[i * t.D + j], 2));
                const double cost = 0.5e-6 * (double)t.n * (1 + (double)t.D * largest) / noise;
                assert_true(lml >= alone - cost - 1e-6 * fabs(alone));
                fab_process_free(p);
            }
        }
    }
}

/* ---- many rows, few rows ------------------------------------------------------------------------------- */

static void all_rows_are_learned_where_some_are_searched(void **state)
{
    (void)state;
    const table t = waves(300, 1, 0.3);
    fab_process *p = process_of(&t, "rbf", 1);
    const fab_evidence_plan plan = {.rows = 100, .seed = 3};
    const fab_evidence_report r = learn(p, &t, &plan);
    const double s2 = value_of(p, 0), l = value_of(p, 1), noise = fab_process_noise(p);
    const double here = plain_evidence(t.n, t.x, t.y, NULL, s2, l, noise);
    assert_int_equal(r.rows, 100);
    assert_true(fabs(r.lml - here) < 1e-9 * (1 + fabs(here)));
    assert_true(noise > 0.06 && noise < 0.13); /* 0.09 of 100 rows, -+ 2.4 standard errors */
    fab_process_free(p);
}

static void any_number_of_threads_ends_in_the_same_bits(void **state)
{
    (void)state;
    const table t = waves(150, 3, 0.3);
    double theta[3][5];
    for (int64_t threads = 1; threads <= 3; threads++) {
        const fab_exec x = {.threads = threads};
        fab_process *p = process_of(&t, "rbf:ard", threads);
        fab_evidence_report r;
        assert_ok(fab_evidence_maximise(p, t.y, NULL, NULL, &r, &x));
        fab_kernel_get(fab_process_kernel(p), theta[threads - 1]);
        theta[threads - 1][4] = r.lml;
        assert_memory_equal(theta[threads - 1], theta[0], sizeof theta[0]);
        fab_process_free(p);
    }
}

static void odd_tables_have_a_maximum(void **state)
{
    (void)state;
    table one = {1, 1, doubles(1), doubles(1), NULL};
    one.y[0] = 2.385;
    fab_process *p = process_of(&one, "rbf", 1);
    assert_true(isfinite(learn(p, &one, NULL).lml));
    fab_process_free(p);

    table zeros = {12, 1, doubles(12), doubles(12), NULL}; /* y = 0, and every row alike */
    p = process_of(&zeros, "matern12", 1);
    assert_true(isfinite(learn(p, &zeros, NULL).lml));
    fab_process_free(p);

    table twice = waves(40, 1, 0.3); /* each row two times */
    for (int64_t i = 0; i < 20; i++) twice.x[20 + i] = twice.x[i];
    p = process_of(&twice, "rbf", 1);
    assert_true(isfinite(learn(p, &twice, NULL).lml));
    fab_process_free(p);

    table large = waves(40, 1, 0.3);
    for (int64_t i = 0; i < 40; i++) large.y[i] *= 1e200;
    p = process_of(&large, "rbf", 1);
    assert_int_equal(fab_evidence_maximise(p, large.y, NULL, NULL, NULL, NULL), FAB_BAD_DATA);
    fab_process_free(p);
}

/* ---- ended before its end -------------------------------------------------------------------------------- */

static int stop_later(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    return --*(int *)ctx <= 0;
}

static void a_stop_is_heard(void **state)
{
    (void)state;
    const table t = waves(60, 1, 0.3);
    for (int at = 1; at < 100; at += 33) {
        int left = at;
        const fab_exec x = {.threads = 1, .progress = stop_later, .progress_ctx = &left};
        fab_process *p = process_of(&t, "rbf", 1);
        assert_int_equal(fab_evidence_maximise(p, t.y, NULL, NULL, NULL, &x), FAB_STOPPED);
        learn(p, &t, NULL); /* and it can be learned still */
        fab_process_free(p);
    }
}

static table small;

static fab_status learn_small(void)
{
    const fab_evidence_plan plan = {.starts = 2, .rows = 20};
    const fab_exec x = {.threads = 1};
    fab_kernel *k;
    fab_process *p = NULL;
    fab_status s = fab_kernel_create(&k, "rbf", 1, NULL);
    if (s != FAB_OK) return s;
    s = fab_process_create(&p, k, small.n, small.x, 1, small.n, &x);
    if (s == FAB_OK) s = fab_evidence_maximise(p, small.y, NULL, &plan, NULL, &x);
    fab_process_free(p);
    fab_kernel_free(k);
    return s;
}

static void failing_allocations_are_reported(void **state)
{
    (void)state;
    small = waves(25, 1, 0.3);
    assert_true(fail_every_allocation(learn_small) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_place_of_a_grid_has_a_higher_evidence),
        TEST(rows_that_are_there_twice_are_searched_once),
        TEST(the_gradient_at_the_end_is_nothing),
        TEST(given_parameters_stay_and_need_no_search),
        TEST(a_column_that_says_nothing_is_switched_off),
        TEST(a_bound_is_told_where_the_search_ends_there),
        TEST(ends_that_differ_are_counted),
        TEST(long_lengths_are_looked_at),
        TEST(a_sum_ends_no_lower_than_its_parts),
        TEST(all_rows_are_learned_where_some_are_searched),
        TEST(any_number_of_threads_ends_in_the_same_bits),
        TEST(odd_tables_have_a_maximum),
        TEST(a_stop_is_heard),
        TEST(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
