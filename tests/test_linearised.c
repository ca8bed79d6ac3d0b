/* test_linearised.c - predictions of any model from the slope of its outputs.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/predict.h"
#include "fabayes/net.h"
#include "linear_case.h"

enum { N = 23, D = 3 };

static fab_net *net_of(const char *layers, fab_likelihood l, int64_t classes, fab_noise kind)
{
    const fab_net_plan p = {.layers = layers,
                            .features = D,
                            .likelihood = l,
                            .classes = classes,
                            .noise = kind,
                            .beta = 2.385,
                            .batch = 7};
    fab_net *net;
    assert_ok(fab_net_create(&net, &p, NULL));
    return net;
}

static fab_draws *linearise(const fab_net *net, const fab_gauss *q, const problem *p)
{
    static const double one = 1;
    const fab_gauss *const part[] = {q};
    const fab_mixture mix = {1, part, &one};
    const fab_rows x = {p->x, FAB_F64, N, D};
    fab_draws *d;
    assert_ok(fab_draws_linearise(&d, fab_net_model(net), &mix, &x, NULL, NULL));
    return d;
}

static void same_scores(const fab_scores *a, const fab_scores *b, double tol)
{
    const double *u = &a->nll, *v = &b->nll;
    for (size_t i = 0; i < (sizeof *a - offsetof(fab_scores, nll)) / sizeof *u; i++)
        assert_true((isnan(u[i]) && isnan(v[i])) || fabs(u[i] - v[i]) <= tol * (1 + fabs(v[i])));
}

/* A linear network is a linear model: the same eta, variance, prediction and score. */
static void linear_models_are_exact(void **state)
{
    (void)state;
    static const fab_likelihood kinds[] = {FAB_LIKELIHOOD_GAUSSIAN, FAB_LIKELIHOOD_BERNOULLI,
                                           FAB_LIKELIHOOD_POISSON};
    for (int k = 0; k < 3; k++)
        for (int form = 0; form < 3; form++) {
            problem p = some_problem(N, D, 5);
            fab_gauss *q = some_gauss((fab_form)form, FAB_F64, D + 1, form == 2 ? 0 : 2, 1, 1);
            fab_net *net = net_of("linear", kinds[k], 1, FAB_NOISE_FIXED);
            const fab_glm m = {kinds[k], D, 1, 1, k == 0 ? 2.385 : 1};
            const fab_rows x = {p.x, FAB_F64, N, D};
            double eta[N], v[N];
            fab_scores ours, theirs;
            fab_prediction a, b;
            for (int64_t d = 0; d <= D; d++) q->mu[d] *= 0.2;
            for (int64_t i = 0; i < N && k > 0; i++) p.y[i] = k == 1 ? p.y[i] > 0 : (double)(i % 4);
            assert_ok(fab_predict_eta(q, &m, &x, NULL, NULL, eta, v));
            fab_draws *d = linearise(net, q, &p);
            assert_ok(fab_score(&m, N, eta, v, p.y, &theirs));
            assert_ok(fab_draws_score(d, p.y, &ours));
            same_scores(&ours, &theirs, 1e-9);
            fab_draws_predict(d, 4, &a);
            fab_predict_y(&m, eta[4], v[4], &b);
            assert_true(fabs(a.mean - b.mean) < 1e-11 * (1 + b.mean));
            assert_true(fabs(a.sd - b.sd) < 1e-11 * (1 + b.sd));
            assert_true(fabs(a.upper - b.upper) < 1e-10 * (1 + fabs(b.upper)));
            fab_draws_free(d);
            fab_net_free(net);
            fab_gauss_free(q);
        }
}

static void classes_are_those_of_a_categorical_model(void **state)
{
    (void)state;
    enum { C = 3 };
    const problem p = some_problem(N, D, 5);
    fab_gauss *glm = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, C * (D + 1), 2, 1, 1),
              *q = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, C * (D + 1), 2, 1, 1);
    for (int64_t o = 0; o < C; o++) /* a network keeps its weights by input, a GLM by class */
        for (int64_t d = 0; d <= D; d++) {
            const int64_t from = o * (D + 1) + d, to = d * C + o;
            q->mu[to] = glm->mu[from];
            q->psi[to] = glm->psi[from];
            for (int64_t k = 0; k < 2; k++) F_put(q, to, k, F_at(glm, from, k));
        }
    fab_net *net = net_of("linear", FAB_LIKELIHOOD_CATEGORICAL, C, FAB_NOISE_FIXED);
    const fab_glm m = {FAB_LIKELIHOOD_CATEGORICAL, D, C, 1, 1};
    const fab_rows x = {p.x, FAB_F64, N, D};
    double want[N * C], logp[C];
    assert_ok(fab_predict_classes(glm, &m, &x, NULL, 0, 0, NULL, want));
    fab_draws *d = linearise(net, q, &p);
    for (int64_t i = 0; i < N; i++) {
        fab_draws_classes(d, i, logp);
        for (int64_t o = 0; o < C; o++) assert_true(fabs(logp[o] - want[i * C + o]) < 1e-9);
    }
    fab_draws_free(d);
    fab_net_free(net);
    fab_gauss_free(glm);
    fab_gauss_free(q);
}

static void parts_of_a_mixture_keep_their_weights_and_units(void **state)
{
    (void)state;
    problem p = some_problem(N, D, 5);
    fab_net *net = net_of("mlp:5", FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_LEARNED);
    const fab_model *m = fab_net_model(net);
    fab_gauss *q = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, m->D, 1, 1, 1),
              *r = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, m->D, 1, 2, 1);
    const fab_gauss *const part[] = {q, r};
    const fab_mixture mix = {2, part, (const double[]){0.25, 0.75}};
    const fab_rows x = {p.x, FAB_F64, N, D};
    fab_draws *d, *a = linearise(net, q, &p), *b = linearise(net, r, &p);
    fab_prediction before, after;
    fab_scores s, t;
    assert_ok(fab_draws_linearise(&d, m, &mix, &x, NULL, NULL));
    for (int64_t i = 0; i < N; i++)
        assert_true(fabs(exp(fab_draws_logp(d, i, 0.3)) - 0.25 * exp(fab_draws_logp(a, i, 0.3)) -
                         0.75 * exp(fab_draws_logp(b, i, 0.3))) < 1e-13);
    assert_ok(fab_draws_score(d, p.y, &s));
    fab_draws_predict(d, 2, &before);
    fab_draws_to_units(d, 100, 3);
    for (int64_t i = 0; i < N; i++) p.y[i] = 100 + 3 * p.y[i];
    assert_ok(fab_draws_score(d, p.y, &t));
    fab_draws_predict(d, 2, &after);
    assert_true(fabs(t.rmse - 3 * s.rmse) < 1e-12 && fabs(t.crps - 3 * s.crps) < 1e-11);
    assert_true(fabs(t.nll - s.nll - log(3)) < 1e-12 && s.coverage90 == t.coverage90);
    assert_true(fabs(after.lower - 100 - 3 * before.lower) < 1e-8);
    fab_draws_free(d);
    fab_draws_free(a);
    fab_draws_free(b);
    fab_net_free(net);
    fab_gauss_free(q);
    fab_gauss_free(r);
}

/* Over the last layer only: what is certain adds no variance. */
static void a_gaussian_over_part_of_theta_spreads_that_part(void **state)
{
    (void)state;
    const problem p = some_problem(N, D, 5);
    fab_net *net = net_of("mlp:5", FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_FIXED);
    const fab_model *m = fab_net_model(net);
    fab_gauss *part, *whole = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, m->D, 0, 1, 1);
    assert_ok(fab_gauss_create_part(&part, FAB_FORM_COVARIANCE, FAB_F64, 6, 0, m->D));
    for (int64_t d = 0; d < m->D; d++) {
        const int last = d >= m->D - 6;
        part->theta[d] = whole->mu[d];
        whole->psi[d] = last ? 0.3 : 1e-300;
        if (!last) continue;
        part->index[d - m->D + 6] = d;
        part->mu[d - m->D + 6] = whole->mu[d];
        part->psi[d - m->D + 6] = 0.3;
    }
    fab_draws *a = linearise(net, part, &p), *b = linearise(net, whole, &p);
    for (int64_t i = 0; i < N; i++) {
        fab_prediction u, v;
        fab_draws_predict(a, i, &u);
        fab_draws_predict(b, i, &v);
        assert_true(fabs(u.mean - v.mean) < 1e-12 && fabs(u.sd - v.sd) < 1e-12);
        assert_true(u.sd > 1 / sqrt(2.385) + 1e-3);
    }
    fab_draws_free(a);
    fab_draws_free(b);
    fab_net_free(net);
    fab_gauss_free(part);
    fab_gauss_free(whole);
}

/* A linear model: eta is normal, and y is eta plus a t: their convolution by the mid-point rule. */
static void heavy_tails_are_folded_with_the_spread(void **state)
{
    (void)state;
    enum { STEPS = 4000 };
    const fab_net_plan plan = {
        .layers = "linear", .features = D, .classes = 1, .beta = 2, .nu = 3, .batch = 7};
    const problem p = some_problem(N, D, 5);
    const fab_glm head = {
        .likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = D, .classes = 1, .beta = 2, .nu = 3};
    fab_gauss *q = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D + 1, 2, 1, 1);
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, NULL));
    fab_draws *d = linearise(net, q, &p);
    for (int64_t i = 0; i < N; i++) {
        const double mean = d->eta[i], sd = sqrt(d->variance[i]), h = 16.0 / STEPS;
        double sum = 0;
        for (int k = 0; k < STEPS; k++) {
            const double z = -8 + (k + 0.5) * h, eta = mean + sd * z;
            sum += h * exp(-z * z / 2 + fab_glm_loglik(&head, p.y[i], &eta, NULL, NULL));
        }
        assert_true(fabs(fab_draws_logp(d, i, p.y[i]) - log(sum / sqrt(2 * M_PI))) < 1e-8);
    }
    fab_draws_free(d);
    fab_net_free(net);
    fab_gauss_free(q);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const problem p = some_problem(N, D, 5);
    const fab_rows x = {p.x, FAB_F64, N, D};
    fab_net *net = net_of("linear", FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_FIXED);
    fab_gauss *q = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D + 1, 1, 1, 1);
    const fab_gauss *const part[] = {q};
    const fab_mixture mix = {1, part, (const double[]){1}};
    fab_model m = *fab_net_model(net);
    fab_draws *d;
    p.x[5] = NAN;
    assert_refused(fab_draws_linearise(&d, &m, &mix, &x, NULL, NULL), FAB_BAD_DATA, "row 1");
    p.x[5] = 0;
    m.jacobian = NULL;
    assert_refused(fab_draws_linearise(&d, &m, &mix, &x, NULL, NULL), FAB_UNSUPPORTED,
                   "no function `jacobian`");
    assert_null(d);
    fab_net_free(net);
    fab_gauss_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(linear_models_are_exact),
        TEST(classes_are_those_of_a_categorical_model),
        TEST(parts_of_a_mixture_keep_their_weights_and_units),
        TEST(a_gaussian_over_part_of_theta_spreads_that_part),
        TEST(heavy_tails_are_folded_with_the_spread),
        TEST(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
