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
            assert_ok(fab_score(&m, N, eta, v, p.y, NULL, &theirs));
            assert_ok(fab_draws_score(d, p.y, NULL, &ours));
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

static void an_offset_is_added_to_every_output(void **state)
{
    (void)state;
    enum { C = 3 };
    static const double one = 1;
    double offset[N];
    problem p = some_problem(N, D, 5);
    const fab_rows x = {p.x, FAB_F64, N, D};
    for (int64_t i = 0; i < N; i++) offset[i] = 2.385 * noise(3, i);
    for (int kind = 0; kind < 2; kind++) {
        const int64_t classes = kind ? C : 1;
        fab_net *net = net_of("mlp:5", kind ? FAB_LIKELIHOOD_CATEGORICAL : FAB_LIKELIHOOD_POISSON,
                              classes, FAB_NOISE_FIXED);
        const fab_model *m = fab_net_model(net);
        fab_gauss *q = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, m->D, 2, 1, 0.1);
        const fab_gauss *const part[] = {q};
        const fab_mixture mix = {1, part, &one};
        fab_draws *a = linearise(net, q, &p), *b;
        assert_ok(fab_draws_linearise(&b, m, &mix, &x, offset, NULL));
        for (int64_t i = 0; i < N * classes; i++)
            assert_true(fabs(b->eta[i] - a->eta[i] - offset[i / classes]) <
                        1e-14 * (1 + fabs(b->eta[i])));
        assert_memory_equal(a->variance, b->variance, N * sizeof(double));
        fab_draws_free(a);
        fab_draws_free(b);
        fab_gauss_free(q);
        fab_net_free(net);
    }
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
    assert_ok(fab_draws_score(d, p.y, NULL, &s));
    fab_draws_predict(d, 2, &before);
    fab_draws_to_units(d, 100, 3);
    for (int64_t i = 0; i < N; i++) p.y[i] = 100 + 3 * p.y[i];
    assert_ok(fab_draws_score(d, p.y, NULL, &t));
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

/* ---- without the Jacobian ------------------------------------------------------------------------------- */

static fab_status refuse(void *self, const double *theta, const fab_rows *x, void *J, int64_t ld)
{
    (void)self, (void)theta, (void)x, (void)J, (void)ld;
    return FAB_UNSUPPORTED;
}

/* A Gaussian over the last layer, or over all weights. */
static fab_gauss *over(const fab_model *m, fab_form form, fab_dtype type, int64_t K, int last,
                       double scale)
{
    const int64_t size = last ? m->last : m->D;
    fab_gauss *g = some_gauss(form, type, size, K, 1, 1), *part;
    for (int64_t i = 0; i < size * K; i++) F_put(g, i / K, i % K, scale * F_at(g, i / K, i % K));
    if (!last) return g;
    assert_ok(fab_gauss_create_part(&part, form, type, size, K, m->D));
    for (int64_t d = 0; d < m->D; d++) part->theta[d] = 0.7 * noise(9, d);
    for (int64_t d = 0; d < size; d++) {
        part->index[d] = m->D - m->free - size + d;
        part->mu[d] = g->mu[d];
        part->psi[d] = g->psi[d];
        for (int64_t k = 0; k < K; k++) F_put(part, d, k, F_at(g, d, k));
    }
    fab_gauss_free(g);
    return part;
}

/* Of one part, and of two that differ in K. */
static fab_draws *linearise_model(const fab_model *m, const fab_gauss *const *part,
                                  const problem *p)
{
    static const double weight[] = {0.4, 0.6};
    const fab_mixture mix = {2, part, weight};
    const fab_rows x = {p->x, FAB_F64, N, D};
    fab_draws *d;
    assert_ok(fab_draws_linearise(&d, m, &mix, &x, NULL, NULL));
    return d;
}

static void the_same_without_the_Jacobian(void **state)
{
    (void)state;
    enum { C = 4 };
    const problem p = some_problem(N, D, 5);
    for (int k = 0; k < 48; k++) {
        const int last = k & 1, classes = k & 2, single = k & 4, precision = k & 8;
        const double scale = k < 16 ? 1
                             : k < 32
                                 ? 30
                                 : 1e5; /* F beside psi: 1e5 leaves no digits to a difference */
        const int64_t K = last ? 3 : 0;
        fab_net *net = net_of("mlp:6,5:tanh",
                              classes ? FAB_LIKELIHOOD_CATEGORICAL : FAB_LIKELIHOOD_GAUSSIAN,
                              classes ? C : 1, classes ? FAB_NOISE_FIXED : (fab_noise)(k / 16));
        const fab_model *m = fab_net_model(net);
        fab_model slow = *m;
        const fab_form form = precision ? FAB_FORM_PRECISION : FAB_FORM_COVARIANCE;
        const fab_dtype type = single ? FAB_F32 : FAB_F64;
        const double bend = precision || scale < 2 ? scale : 1,
                     tol = single
                               ? 1e-5
                               : 1e-8; /* the solver of the slow way is in single precision too */
        fab_gauss *const q[] = {over(m, form, type, K, last, bend),
                                over(m, form, type, last ? 2 : 0, last, bend)};
        const fab_gauss *const part[] = {q[0], q[1]};
        slow.features = NULL, slow.covariances = NULL;
        fab_model fast = *m;
        fast.jacobian = refuse;
        fab_draws *a = linearise_model(&fast, part, &p), *b = linearise_model(&slow, part, &p);
        for (int64_t i = 0; i < N; i++) {
            double u[C], v[C];
            fab_prediction s, t;
            if (classes) {
                fab_draws_classes(a, i, u);
                fab_draws_classes(b, i, v);
                for (int64_t o = 0; o < C; o++)
                    assert_true(fabs(u[o] - v[o]) < tol * (1 + fabs(v[o])));
                continue;
            }
            fab_draws_predict(a, i, &s);
            fab_draws_predict(b, i, &t);
            assert_true(fabs(s.mean - t.mean) < 1e-10 * (1 + fabs(t.mean)));
            assert_true(fabs(s.sd / t.sd - 1) < tol);
        }
        fab_draws_free(a);
        fab_draws_free(b);
        fab_gauss_free(q[0]);
        fab_gauss_free(q[1]);
        fab_net_free(net);
    }
}

/* Precision 1e10 in every direction of the last layer, written as 1 plus columns, and next to no noise: the difference of 2a has no
 * digits left.  The solver keeps what a condition of 1e10 leaves over 6 columns. */
static void variances_far_below_those_of_psi_keep_their_digits(void **state)
{
    (void)state;
    const problem p = some_problem(N, D, 5);
    const fab_net_plan plan = {.layers = "mlp:6,5:tanh", .features = D, .classes = 1, .beta = 1e18};
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, NULL));
    const fab_model *m = fab_net_model(net);
    fab_model slow = *m;
    fab_gauss *q = over(m, FAB_FORM_PRECISION, FAB_F64, m->last, 1, 1e5);
    const fab_gauss *const part[] = {q, q};
    slow.features = NULL;
    fab_draws *a = linearise_model(m, part, &p), *b = linearise_model(&slow, part, &p);
    for (int64_t i = 0; i < N; i++) {
        fab_prediction s, t;
        fab_draws_predict(a, i, &s);
        fab_draws_predict(b, i, &t);
        assert_true(t.sd < 1e-3 && fabs(s.sd / t.sd - 1) < 6 * 1e10 * 0x1p-52);
    }
    fab_draws_free(a);
    fab_draws_free(b);
    fab_gauss_free(q);
    fab_net_free(net);
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
        TEST(an_offset_is_added_to_every_output),
        TEST(parts_of_a_mixture_keep_their_weights_and_units),
        TEST(a_gaussian_over_part_of_theta_spreads_that_part),
        TEST(the_same_without_the_Jacobian),
        TEST(variances_far_below_those_of_psi_keep_their_digits),
        TEST(heavy_tails_are_folded_with_the_spread),
        TEST(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
