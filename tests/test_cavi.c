/* test_cavi.c - q(w) q(alpha) q(beta) of linear regression: dense loops, the exact posterior and evidence, odd sizes.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "linear_case.h"
#include "fabayes/fit.h"
#include "base/digamma.h"

static fab_cavi_settings some_settings(void)
{
    fab_cavi_settings s = fab_cavi_defaults();
    s.alpha_shape = 0.7;
    s.alpha_rate = 0.4;
    s.beta_shape = 1.3;
    s.beta_rate = 0.6;
    s.tol = 0;
    s.max_iter = 2000;
    return s;
}

static fab_fit *climbed(const fab_cavi_settings *s, const problem *p)
{
    const fab_examples e = examples_of(p);
    fab_glm glm = glm_of(p);
    const fab_model m = fab_model_linear(&glm);
    const fab_mixture *q;
    fab_fit *f;
    assert_ok(fab_fit_create(&f, "cavi", s, sizeof *s, &(fab_input){.model = &m, .prior = p->prior},
                             NULL));
    assert_ok(fab_fit_update(f, &e));
    assert_ok(fab_fit_result(f, &q));
    return f;
}

static fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

static const double *gamma_of(fab_fit *f, const char *name)
{
    const fab_tensors *t;
    assert_ok(fab_fit_tensors(f, &t));
    const fab_tensor *g = fab_tensors_find(t, name);
    return g ? g->data : NULL;
}

/* E |w|^2 and E |y - Xw - b|^2 under a posterior. */
static void dense_moments(const problem *p, const truth *t, real *w2, real *r2)
{
    *w2 = *r2 = 0;
    for (int64_t i = 0; i < p->D; i++) *w2 += t->mean[i] * t->mean[i] + t->cov[i * t->P + i];
    real *x = dense_new(t->P);
    for (int64_t j = 0; j < p->N; j++) {
        real e = (real)p->y[j] - (p->offset ? p->offset[j] : 0);
        for (int64_t i = 0; i < t->P; i++) {
            x[i] = i < p->D ? p->x[j * p->D + i] : 1;
            e -= x[i] * t->mean[i];
        }
        *r2 += (p->weight ? p->weight[j] : 1) * (e * e + dense_quad(t->P, t->cov, x));
    }
}

static double rows_in(const problem *p)
{
    double W = 0;
    for (int64_t j = 0; j < p->N; j++) W += p->weight ? p->weight[j] : 1;
    return W;
}

static double log_gamma_mean(double shape, double rate, const double *q)
{
    return shape * log(rate) - lgamma(shape) + (shape - 1) * (fab_digamma(q[0]) - log(q[1])) -
           rate * q[0] / q[1];
}

static double entropy(const double *q)
{
    return q[0] - log(q[1]) + lgamma(q[0]) + (1 - q[0]) * fab_digamma(q[0]);
}

/* E log p(y, w, alpha, beta) and the entropies, one after the other. */
static double dense_bound(const problem *p, const truth *t, const fab_cavi_settings *s,
                          const double *qa, const double *qb)
{
    const double log_2pi = log(2 * acos(-1)), D = (double)p->D;
    const double log_a = fab_digamma(qa[0]) - log(qa[1]), log_b = fab_digamma(qb[0]) - log(qb[1]);
    real w2, r2;
    dense_moments(p, t, &w2, &r2);
    return (rows_in(p) * (log_b - log_2pi) - qb[0] / qb[1] * (double)r2) / 2 +
           (D * (log_a - log_2pi) - qa[0] / qa[1] * (double)w2) / 2 +
           log_gamma_mean(s->alpha_shape, s->alpha_rate, qa) +
           log_gamma_mean(s->beta_shape, s->beta_rate, qb) +
           ((double)t->P * (1 + log_2pi) + (double)dense_logdet(t->P, t->cov)) / 2 + entropy(qa) +
           entropy(qb);
}

/* Each q is what the others make it, and the bound is the sum of its expectations. */
static void factors_and_bound_are_those_of_dense_loops(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{97, 5}, {12, 5}, {5, 5}, {4, 7}, {3, 29}, {40, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 4; way++) {
            problem p = some_problem(sizes[i][0], sizes[i][1], 3 + i);
            const fab_cavi_settings s = some_settings();
            p.intercept = way & 1;
            if (way & 2) add_weights(&p, 7);
            fab_fit *f = climbed(&s, &p);
            const fab_report r = report_of(f);
            const double *qa = gamma_of(f, "q_alpha"), *qb = gamma_of(f, "q_beta");
            p.alpha = r.alpha;
            p.beta = r.beta;
            const truth t = solve(&p);
            const fab_gauss *q = posterior_of(f);
            real w2, r2;
            dense_moments(&p, &t, &w2, &r2);
            for (int64_t j = 0; j < t.P; j++)
                assert_near(q->mu[j], t.mean[j], 1e-10 * (double)dense_norm(t.P, t.mean));
            assert_near(covariance_error(q, &t), 0, 1e-10);
            assert_near(qa[0], 0.7 + (double)p.D / 2, 1e-12);
            assert_near(qb[0], 1.3 + rows_in(&p) / 2, 1e-12 * rows_in(&p));
            assert_near(qa[1], 0.4 + (double)w2 / 2, 1e-9 * qa[1]);
            assert_near(qb[1], 0.6 + (double)r2 / 2, 1e-9 * qb[1]);
            assert_near(r.alpha, qa[0] / qa[1], 1e-12 * r.alpha);
            const double want = dense_bound(&p, &t, &s, qa, qb);
            assert_near(r.log_evidence, want, 1e-10 * (1 + fabs(want)));
            fab_fit_free(f);
        }
}

static void with_both_precisions_given_it_is_exact(void **state)
{
    (void)state;
    problem p = some_problem(40, 7, 5);
    fab_cavi_settings s = fab_cavi_defaults();
    s.glm.alpha = p.alpha;
    s.glm.beta = p.beta;
    fab_fit *f = climbed(&s, &p), *g = fitted_with("exact", &p, NULL);
    const fab_gauss *a = posterior_of(f), *b = posterior_of(g);
    assert_true(report_of(f).log_evidence == report_of(g).log_evidence);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * sizeof *a->mu);
    assert_null(gamma_of(f, "q_alpha"));
    assert_null(gamma_of(f, "q_beta"));
    fab_fit_free(f);
    fab_fit_free(g);
}

static void the_bound_never_falls(void **state)
{
    (void)state;
    const problem p = some_problem(11, 9, 4);
    double before = -INFINITY;
    for (int most = 1; most < 60; most++) {
        fab_cavi_settings s = some_settings();
        s.max_iter = most;
        fab_fit *f = climbed(&s, &p);
        const double now = report_of(f).log_evidence;
        assert_true(now >= before - 1e-12 * fabs(now));
        before = now;
        fab_fit_free(f);
    }
}

/* ---- mean and precision of a normal ------------------------------------------------------------------- */

/* n numbers, and a column of 1 whose coefficient is the mean: N(0, 1 / alpha). */
static problem numbers(int64_t n)
{
    problem p = {.N = n, .D = 1, .x = doubles(n), .y = doubles(n), .alpha = 0.3};
    for (int64_t i = 0; i < n; i++) {
        p.x[i] = 1;
        p.y[i] = 2.385 + 1.4 * noise(3, i);
    }
    return p;
}

/* log of the integral of p(beta) N(y; 0, I / beta + 11' / alpha) over log beta, by the trapezoid rule. */
static double exact_evidence(const problem *p, double shape, double rate)
{
    const double n = (double)p->N, h = 1e-3, log_2pi = log(2 * acos(-1));
    double sum = 0, y2 = 0, top = -INFINITY, total = 0, *l = doubles(24001);
    for (int64_t i = 0; i < p->N; i++) sum += p->y[i], y2 += p->y[i] * p->y[i];
    for (int k = 0; k <= 24000; k++) {
        const double log_b = -12 + h * k, b = exp(log_b), c = p->alpha + n * b;
        l[k] = shape * log(rate) - lgamma(shape) + shape * log_b - rate * b +
               (n * (log_b - log_2pi) + log(p->alpha / c) - b * y2 + b * b * sum * sum / c) / 2;
        top = fmax(top, l[k]);
    }
    for (int k = 0; k <= 24000; k++) total += exp(l[k] - top);
    return top + log(h * total);
}

/* The textbook's two updates, and the evidence by quadrature: a bound, whose gap goes as 1 / n. */
static void a_mean_and_a_precision_are_found(void **state)
{
    (void)state;
    double gap[3];
    for (int i = 0; i < 3; i++) {
        const int64_t n = i == 0 ? 5 : i == 1 ? 50 : 500;
        const problem p = numbers(n);
        fab_cavi_settings s = some_settings();
        s.glm.alpha = p.alpha;
        double b = 1, m = 0, v = 0, rate = 0, sum = 0;
        for (int64_t j = 0; j < n; j++) sum += p.y[j];
        for (int round = 0; round < 2000; round++) {
            v = 1 / (p.alpha + b * (double)n);
            m = b * sum * v;
            rate = 2 * s.beta_rate;
            for (int64_t j = 0; j < n; j++) rate += (p.y[j] - m) * (p.y[j] - m) + v;
            b = (2 * s.beta_shape + (double)n) / rate;
        }
        fab_fit *f = climbed(&s, &p);
        assert_near(posterior_of(f)->mu[0], m, 1e-12);
        assert_near(dense_covariance(posterior_of(f))[0], v, 1e-12);
        assert_near(gamma_of(f, "q_beta")[1], rate / 2, 1e-11 * rate);
        gap[i] = exact_evidence(&p, s.beta_shape, s.beta_rate) - report_of(f).log_evidence;
        assert_true(gap[i] > 0);
        fab_fit_free(f);
    }
    assert_true(gap[1] < 0.2 * gap[0] && gap[2] < 0.2 * gap[1] && gap[0] < 0.2);
}

/* ---- a prior that is given, refusals ------------------------------------------------------------------ */

static void a_given_prior_leaves_q_of_beta(void **state)
{
    (void)state;
    problem p = some_problem(60, 4, 5);
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 5, 2, 17, 1);
    const fab_cavi_settings s = some_settings();
    p.prior = g;
    fab_fit *f = climbed(&s, &p);
    const double *qb = gamma_of(f, "q_beta");
    assert_null(gamma_of(f, "q_alpha"));
    p.beta = report_of(f).beta;
    const truth t = solve(&p);
    real w2, r2;
    dense_moments(&p, &t, &w2, &r2);
    assert_near(qb[1], 0.6 + (double)r2 / 2, 1e-9 * qb[1]);
    assert_near(covariance_error(posterior_of(f), &t), 0, 1e-10);
    fab_fit_free(f);
    fab_gauss_free(g);
}

/* Vague priors: near the largest evidence, whose alpha and beta exact takes. */
static void defaults_are_near_the_evidence(void **state)
{
    (void)state;
    problem p = some_problem(400, 5, 9);
    const fab_cavi_settings s = fab_cavi_defaults();
    fab_fit *f = climbed(&s, &p);
    p.alpha = p.beta = FAB_AUTO_F64;
    fab_fit *g = fitted_with("exact", &p, NULL);
    posterior_of(g);
    assert_int_equal(report_of(f).converged, 1);
    assert_near(report_of(f).beta, report_of(g).beta, 0.01 * report_of(g).beta);
    assert_near(report_of(f).alpha, report_of(g).alpha, 0.1 * report_of(g).alpha);
    fab_fit_free(f);
    fab_fit_free(g);
}

static void other_targets_are_refused(void **state)
{
    (void)state;
    const fab_cavi_settings s = fab_cavi_defaults();
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = 3, .classes = 1};
    const fab_model m = fab_model_linear(&glm);
    fab_fit *f;
    assert_refused(fab_fit_create(&f, "cavi", &s, sizeof s, &(fab_input){.model = &m}, NULL),
                   FAB_UNSUPPORTED, "cavi: ");
}

static const problem *problem_now;

static fab_status fit_once(void)
{
    const fab_cavi_settings s = fab_cavi_defaults();
    const fab_examples e = examples_of(problem_now);
    fab_glm glm = glm_of(problem_now);
    const fab_model m = fab_model_linear(&glm);
    const fab_mixture *q;
    fab_fit *f;
    fab_status done = fab_fit_create(&f, "cavi", &s, sizeof s, &(fab_input){.model = &m}, NULL);
    if (done == FAB_OK) done = fab_fit_update(f, &e);
    if (done == FAB_OK) done = fab_fit_result(f, &q);
    fab_fit_free(f);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    const problem tall = some_problem(30, 4, 2), wide = some_problem(4, 9, 2);
    problem_now = &tall;
    assert_true(fail_every_allocation(fit_once) >= 4);
    problem_now = &wide;
    assert_true(fail_every_allocation(fit_once) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(factors_and_bound_are_those_of_dense_loops),
        TEST(with_both_precisions_given_it_is_exact),
        TEST(the_bound_never_falls),
        TEST(a_mean_and_a_precision_are_found),
        TEST(a_given_prior_leaves_q_of_beta),
        TEST(defaults_are_near_the_evidence),
        TEST(other_targets_are_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
