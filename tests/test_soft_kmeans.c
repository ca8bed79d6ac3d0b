/* test_soft_kmeans.c - EM of spheres of one width: plain loops, likelihood, far rows, threads.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/fit.h"

enum { D = 4, G = 3, N = 400 };

static const double *clouds(double apart)
{
    double *x = doubles(N * D);
    for (int64_t i = 0; i < N; i++)
        for (int64_t d = 0; d < D; d++)
            x[i * D + d] = apart * noise(11, i % G * D + d) + noise(12, i * D + d);
    return x;
}

static fab_fit *fitted(const fab_soft_kmeans_settings *s, const double *x, const fab_mixture *start,
                       const double *weight, int64_t threads)
{
    fab_fit *f;
    const fab_mixture *q;
    assert_ok(fab_fit_create(&f, "soft-kmeans", s, sizeof *s,
                             &(fab_input){.vectors = D, .start = start},
                             &(fab_exec){.threads = threads}));
    assert_ok(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, N, D}, .weight = weight}));
    assert_ok(fab_fit_result(f, &q));
    return f;
}

static fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

static fab_mixture first_rows(const double *x)
{
    static double weight[] = {0.2, 0.3, 0.5}, one[] = {1, 1, 1, 1};
    fab_gauss *all = dense_bytes(G * sizeof *all);
    const fab_gauss **part = dense_bytes(G * sizeof *part);
    for (int k = 0; k < G; k++) {
        all[k] = (fab_gauss){.form = FAB_FORM_COVARIANCE, .D = D, .psi = one};
        all[k].mu = doubles(D);
        memcpy(all[k].mu, x + k * D, D * sizeof *x);
        part[k] = &all[k];
    }
    return (fab_mixture){G, part, weight};
}

/* (9.20), (9.21) in quadruple precision but for the exponential, which is that of doubles. */
static void steps_are_those_of_plain_loops(void **state)
{
    (void)state;
    const double *x = clouds(1.5);
    double *weight = doubles(N);
    for (int64_t i = 0; i < N; i++) weight[i] = 1.5 + noise(8, i);
    const fab_mixture start = first_rows(x), *q;
    fab_soft_kmeans_settings s = fab_soft_kmeans_defaults(G);
    s.sigma = 0.7;
    s.tol = 0;
    for (s.max_iter = 1; s.max_iter < 8; s.max_iter += 3) {
        real mu[G][D], pi[G], loglik = 0, n = 0;
        for (int k = 0; k < G; k++) {
            pi[k] = start.weight[k];
            for (int d = 0; d < D; d++) mu[k][d] = x[k * D + d];
        }
        for (int64_t step = 0; step < s.max_iter; step++) {
            real sum[G][D] = {{0}}, count[G] = {0};
            loglik = n = 0;
            for (int64_t i = 0; i < N; i++) {
                double p[G];
                real all = 0;
                for (int k = 0; k < G; k++) {
                    real square = 0;
                    for (int d = 0; d < D; d++)
                        square += (x[i * D + d] - mu[k][d]) * (x[i * D + d] - mu[k][d]);
                    p[k] = (double)pi[k] * exp(-(double)square / (2 * 0.49));
                    all += p[k];
                }
                for (int k = 0; k < G; k++) {
                    count[k] += weight[i] * p[k] / all;
                    for (int d = 0; d < D; d++) sum[k][d] += weight[i] * p[k] / all * x[i * D + d];
                }
                loglik += weight[i] * (log((double)all) - D / 2.0 * log(2 * acos(-1) * 0.49));
                n += weight[i];
            }
            for (int k = 0; k < G; k++) {
                pi[k] = count[k] / n;
                for (int d = 0; d < D; d++) mu[k][d] = sum[k][d] / count[k];
            }
        }
        fab_fit *f = fitted(&s, x, &start, weight, 2);
        assert_ok(fab_fit_result(f, &q));
        for (int k = 0; k < G; k++) {
            assert_near(q->weight[k], pi[k], 1e-12);
            assert_near(q->part[k]->psi[2], 0.49, 1e-15);
            for (int d = 0; d < D; d++) assert_near(q->part[k]->mu[d], mu[k][d], 1e-12);
        }
        assert_near(report_of(f).loglik_mean, loglik / n, 1e-12);
        fab_fit_free(f);
    }
}

static void the_likelihood_never_falls(void **state)
{
    (void)state;
    const double *x = clouds(0.5);
    const fab_mixture start = first_rows(x);
    double before = -INFINITY;
    for (int64_t most = 1; most < 40; most++) {
        fab_soft_kmeans_settings s = fab_soft_kmeans_defaults(G);
        s.sigma = 0.6;
        s.tol = 0;
        s.max_iter = most;
        fab_fit *f = fitted(&s, x, &start, NULL, 1);
        assert_true(report_of(f).loglik_mean >= before - 1e-13);
        before = report_of(f).loglik_mean;
        fab_fit_free(f);
    }
}

/* The likelihood that it reports is that of the mixture that it gives, once it has converged. */
static void its_likelihood_is_that_of_its_mixture(void **state)
{
    (void)state;
    const double *x = clouds(2);
    const fab_soft_kmeans_settings s = fab_soft_kmeans_defaults(G);
    fab_fit *f = fitted(&s, x, NULL, NULL, 2);
    const fab_mixture *q;
    double *logp = doubles(N);
    real mean = 0;
    assert_ok(fab_fit_result(f, &q));
    assert_ok(fab_mixture_logpdf(q, &(fab_rows){x, FAB_F64, N, D}, NULL, logp));
    for (int64_t i = 0; i < N; i++) mean += logp[i] / N;
    assert_int_equal(report_of(f).converged, 1);
    assert_near(report_of(f).loglik_mean, mean, 1e-7); /* tol, and what later steps would gain */
    fab_fit_free(f);
}

/* A row 1e6 widths away from all still has weights that sum to 1, and a narrow sigma is that of kmeans. */
static void far_rows_and_a_narrow_width_are_no_trouble(void **state)
{
    (void)state;
    double *x = doubles(N * D);
    memcpy(x, clouds(6), N * D * sizeof *x);
    const fab_mixture start = first_rows(x), *q, *r;
    fab_soft_kmeans_settings s = fab_soft_kmeans_defaults(G);
    const fab_kmeans_settings hard = fab_kmeans_defaults(G);
    fab_fit *g;
    s.sigma = 1e-4;
    fab_fit *f = fitted(&s, x, &start, NULL, 1);
    assert_ok(fab_fit_create(&g, "kmeans", &hard, sizeof hard,
                             &(fab_input){.vectors = D, .start = &start}, NULL));
    assert_ok(fab_fit_update(g, &(fab_examples){.x = {x, FAB_F64, N, D}}));
    assert_ok(fab_fit_result(f, &q));
    assert_ok(fab_fit_result(g, &r));
    for (int k = 0; k < G; k++) {
        assert_near(q->weight[k], r->weight[k], 1e-15);
        for (int d = 0; d < D; d++) assert_near(q->part[k]->mu[d], r->part[k]->mu[d], 1e-13);
    }
    fab_fit_free(f);
    fab_fit_free(g);
    x[7] = 1e6;
    f = fitted(&s, x, &start, NULL, 1);
    assert_ok(fab_fit_result(f, &q));
    real all = 0;
    for (int k = 0; k < G; k++) all += q->weight[k];
    assert_near(all, 1, 1e-14);
    fab_fit_free(f);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    const double *x = clouds(1);
    const fab_soft_kmeans_settings s = fab_soft_kmeans_defaults(G);
    fab_fit *f = fitted(&s, x, NULL, NULL, 1), *g = fitted(&s, x, NULL, NULL, 7);
    void *a, *b;
    size_t m, n;
    assert_ok(fab_fit_pack(f, 0, NULL, &a, &m));
    assert_ok(fab_fit_pack(g, 0, NULL, &b, &n));
    assert_int_equal(m, n);
    assert_memory_equal(a, b, m);
    fab_bytes_free(a);
    fab_bytes_free(b);
    fab_fit_free(f);
    fab_fit_free(g);
}

static void a_start_needs_a_width(void **state)
{
    (void)state;
    const double *x = clouds(1);
    const fab_mixture start = first_rows(x);
    const fab_soft_kmeans_settings s = fab_soft_kmeans_defaults(G);
    fab_fit *f;
    assert_refused(fab_fit_create(&f, "soft-kmeans", &s, sizeof s,
                                  &(fab_input){.vectors = D, .start = &start}, NULL),
                   FAB_BAD_ARGUMENT, "expected sigma too");
}

static const double *rows_now;

static fab_status fit_once(void)
{
    const fab_soft_kmeans_settings s = fab_soft_kmeans_defaults(G);
    const fab_mixture *q;
    fab_fit *f;
    fab_status done =
        fab_fit_create(&f, "soft-kmeans", &s, sizeof s, &(fab_input){.vectors = D}, NULL);
    if (done == FAB_OK) done = fab_fit_update(f, &(fab_examples){.x = {rows_now, FAB_F64, 50, D}});
    if (done == FAB_OK) done = fab_fit_result(f, &q);
    fab_fit_free(f);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    rows_now = clouds(3);
    assert_true(fail_every_allocation(fit_once) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(steps_are_those_of_plain_loops),
        TEST(the_likelihood_never_falls),
        TEST(its_likelihood_is_that_of_its_mixture),
        TEST(far_rows_and_a_narrow_width_are_no_trouble),
        TEST(threads_do_not_matter),
        TEST(a_start_needs_a_width),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
