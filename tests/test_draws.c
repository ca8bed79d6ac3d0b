/* test_draws.c - predictions of any model by draws of theta.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/predict.h"
#include "fabayes/net.h"
#include "files.h"
#include <math.h>

enum { D = 3, N = 5 };

static const double x[N * D] = {0.3, -1.2, 2.385, 1, 0, -0.7, -0.4, 0.9, 0.1, 2, -2, 0.5, 0, 0, 0};

/* A network without hidden layers: theta is D weights and a bias for each class. */
static fab_net *linear_net(fab_likelihood l, int64_t classes, fab_noise noise)
{
    fab_net *net;
    const fab_net_plan p = {.layers = "linear",
                            .features = D,
                            .likelihood = l,
                            .classes = classes,
                            .noise = noise,
                            .beta = 4,
                            .batch = 2};
    assert_int_equal(fab_net_create(&net, &p, NULL), FAB_OK);
    return net;
}

static fab_gauss *point(const fab_model *m, double shift)
{
    fab_gauss *g;
    assert_int_equal(fab_gauss_create(&g, FAB_FORM_POINT, FAB_F64, m->D, 0), FAB_OK);
    for (int64_t i = 0; i < m->D; i++) g->mu[i] = sin(1.0 + (double)i) + shift;
    return g;
}

static fab_draws *draw(const fab_model *m, const fab_gauss *const *part, int64_t parts,
                       int64_t samples)
{
    const double half[] = {0.5, 0.5}, one[] = {1};
    const fab_mixture q = {parts, part, parts == 2 ? half : one};
    const fab_rows rows = {.p = x, .type = FAB_F64, .n = N, .ld = D};
    fab_draws *d;
    assert_int_equal(fab_draws_create(&d, m, &q, &rows, NULL, samples, 7, NULL), FAB_OK);
    return d;
}

static void a_point_needs_no_draws(void **state)
{
    (void)state;
    fab_net *net = linear_net(FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_FIXED);
    const fab_model *m = fab_net_model(net);
    fab_gauss *g = point(m, 0);
    double out[N];
    const fab_rows two = {.p = x, .type = FAB_F64, .n = 2, .ld = D};
    assert_int_equal(m->predict(m->self, g->mu, &two, out), FAB_OK);
    fab_draws *d = draw(m, (const fab_gauss *const *)&g, 1, 0);
    assert_int_equal(d->samples, 1);
    for (int i = 0; i < 2; i++) {
        fab_prediction p;
        fab_draws_predict(d, i, &p);
        assert_true(p.mean == out[i] && fabs(p.sd - 0.5) < 1e-15);
        assert_true(fabs(p.upper - p.mean - 0.5 * 1.6448536269514722) < 1e-10);
        assert_true(fabs(p.mean - p.lower - 0.5 * 1.6448536269514722) < 1e-10);
        const double z = (1 - p.mean) / 0.5;
        assert_true(fabs(fab_draws_logp(d, i, 1) + 0.5 * z * z + 0.5 * log(2 * M_PI * 0.25)) <
                    1e-12);
        fab_draws_interval(d, i, 0.99, &p);
        assert_true(fabs(p.upper - p.mean - 0.5 * 2.5758293035489004) < 1e-9);
        assert_true(fabs(p.mean - p.lower - 0.5 * 2.5758293035489004) < 1e-9);
        assert_true(fabs(fab_draws_cdf(d, i, p.upper) - 0.995) < 1e-9);
    }
    fab_draws_free(d);
    fab_gauss_free(g);
    fab_net_free(net);
}

/* Two Gaussians, more draws than are made at a time: each theta is that of fab_mixture_sample, and classes taken together are
 * those of each alone. */
static void draws_are_those_of_the_mixture(void **state)
{
    (void)state;
    enum { S = 20, C = 3, P = (D + 1) * C };
    fab_net *net = linear_net(FAB_LIKELIHOOD_CATEGORICAL, C, FAB_NOISE_FIXED);
    const fab_model *m = fab_net_model(net);
    fab_gauss *g[2];
    for (int j = 0; j < 2; j++) {
        assert_int_equal(fab_gauss_create(&g[j], FAB_FORM_COVARIANCE, FAB_F64, P, 1), FAB_OK);
        for (int i = 0; i < P; i++) {
            g[j]->mu[i] = sin(1.0 + i + j);
            ((double *)g[j]->F)[i] = 0.3 * cos(i);
            g[j]->psi[i] = 0.2 + 0.1 * j;
        }
    }
    const fab_gauss *const part[] = {g[0], g[1]};
    const double half[] = {0.5, 0.5};
    const fab_mixture q = {2, part, half};
    double theta[S * P], out[N * C], logp[C];
    int64_t from[S], seen[2] = {0};
    assert_int_equal(
        fab_mixture_sample(&q, 7, FAB_PURPOSE_PREDICT, 0, S, FAB_F64, theta, P, from, NULL),
        FAB_OK);
    fab_draws *d = draw(m, part, 2, S);
    const fab_rows rows = {.p = x, .type = FAB_F64, .n = N, .ld = D};
    for (int s = 0; s < S; s++) {
        seen[from[s]]++;
        assert_int_equal(m->predict(m->self, theta + s * P, &rows, out), FAB_OK);
        for (int i = 0; i < N * C; i++) assert_true(d->eta[s * N * C + i] == out[i]);
        assert_true(d->weight[s] == 1.0 / S);
    }
    assert_true(seen[0] > 0 && seen[1] > 0);
    for (int i = 0; i < N; i++) {
        fab_draws_classes(d, i, logp);
        for (int c = 0; c < C; c++) assert_true(logp[c] == fab_draws_logp(d, i, c));
    }
    fab_draws_free(d);
    fab_gauss_free(g[0]);
    fab_gauss_free(g[1]);
    fab_net_free(net);
}

/* A network in f32 rounds rows in f64: once for all draws, and the same as rows that come in f32. */
static void rounded_rows_are_rows_in_f32(void **state)
{
    (void)state;
    enum { S = 9 };
    const fab_exec exec = {.ops = fab_ops_find("cpu", FAB_F32)};
    const fab_net_plan p = {.layers = "mlp:4", .features = D, .classes = 1, .beta = 4, .batch = 2};
    fab_net *net;
    fab_gauss *g;
    fab_draws *d[2];
    float narrow[N * D];
    assert_int_equal(fab_net_create(&net, &p, &exec), FAB_OK);
    const fab_model *m = fab_net_model(net);
    assert_int_equal(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, m->D, 0), FAB_OK);
    for (int64_t i = 0; i < m->D; i++) g->mu[i] = sin(1.0 + (double)i), g->psi[i] = 0.2;
    const fab_gauss *const part[] = {g};
    const double one = 1;
    const fab_mixture q = {1, part, &one};
    for (int i = 0; i < N * D; i++) narrow[i] = (float)x[i];
    const fab_rows rows[] = {{x, FAB_F64, N, D}, {narrow, FAB_F32, N, D}};
    for (int k = 0; k < 2; k++)
        assert_int_equal(fab_draws_create(&d[k], m, &q, &rows[k], NULL, S, 7, NULL), FAB_OK);
    for (int i = 0; i < S * N; i++) assert_true(d[0]->eta[i] == d[1]->eta[i]);
    fab_draws_free(d[0]);
    fab_draws_free(d[1]);
    fab_gauss_free(g);
    fab_net_free(net);
}

static double integrate_crps(const fab_draws *d, int64_t i, double y)
{
    enum { STEPS = 200000 };
    double sum = 0, below = 0;
    const double lo = -20, h = 40.0 / STEPS;
    for (int k = 0; k < STEPS; k++) { /* the mid-point rule for (F(t) - [t > y])^2 */
        const double t = lo + (k + 0.5) * h;
        const double p = exp(fab_draws_logp(d, i, t)) * h;
        const double F = below + p / 2 - (t > y);
        sum += F * F * h;
        below += p;
    }
    return sum;
}

static void two_points_are_a_mixture(void **state)
{
    (void)state;
    fab_net *net = linear_net(FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_LEARNED);
    const fab_model *m = fab_net_model(net);
    fab_gauss *g[2] = {point(m, 0), point(m, 0.4)};
    g[0]->mu[m->D - 1] = log(4);
    g[1]->mu[m->D - 1] = log(9);
    fab_draws *d = draw(m, (const fab_gauss *const *)g, 2, 0);
    fab_prediction p;
    fab_scores s;
    double y[N];
    assert_int_equal(d->samples, 2);
    for (int i = 0; i < N; i++) {
        const double a = d->eta[i], b = d->eta[N + i];
        fab_draws_predict(d, i, &p);
        assert_true(fabs(p.mean - (a + b) / 2) < 1e-14);
        assert_true(fabs(p.sd * p.sd - (0.5 / 4 + 0.5 / 9 + (a - b) * (a - b) / 4)) < 1e-13);
        y[i] = p.upper; /* at its 95 % quantile: inside 95 %, on the edge of 90 % */
    }
    const double want = exp(-2 * pow(0.3 - d->eta[0], 2)) * sqrt(4 / (2 * M_PI)) / 2 +
                        exp(-4.5 * pow(0.3 - d->eta[N], 2)) * sqrt(9 / (2 * M_PI)) / 2;
    assert_true(fabs(fab_draws_logp(d, 0, 0.3) - log(want)) < 1e-13);
    for (int i = 0; i < N; i++) y[i] -= 1e-6;
    assert_int_equal(fab_draws_score(d, y, NULL, &s), FAB_OK);
    assert_true(s.coverage90 == 1 && s.coverage50 == 0 && isnan(s.accuracy));
    for (int i = 0; i < N; i++) y[i] += 2e-6;
    assert_int_equal(fab_draws_score(d, y, NULL, &s), FAB_OK);
    assert_true(s.coverage90 == 0 && s.coverage95 == 1);
    double crps = 0;
    for (int i = 0; i < N; i++) crps += integrate_crps(d, i, y[i]) / N;
    assert_true(fabs(s.crps - crps) < 1e-4); /* half a step of the rule, where F - [t > y] jumps */
    fab_draws_to_units(d, 10, 3);
    fab_prediction q;
    fab_draws_predict(d, N - 1, &q);
    fab_draws_free(d);
    d = draw(m, (const fab_gauss *const *)g, 2, 0);
    fab_draws_predict(d, N - 1, &p);
    assert_true(fabs(q.mean - 10 - 3 * p.mean) < 1e-12 && fabs(q.upper - 10 - 3 * p.upper) < 1e-9);
    fab_draws_free(d);
    fab_gauss_free(g[0]);
    fab_gauss_free(g[1]);
    fab_net_free(net);
}

/* Between its 5 % and 95 % quantile: 0 and 1 but where one of them has that much. */
static void two_classes_have_quantiles_of_0_and_1(void **state)
{
    (void)state;
    fab_net *net = linear_net(FAB_LIKELIHOOD_BERNOULLI, 1, FAB_NOISE_FIXED);
    const fab_model *m = fab_net_model(net);
    int met[3] = {0, 0, 0};
    for (int shift = -6; shift <= 6; shift += 2) {
        fab_gauss *g = point(m, shift);
        fab_draws *d = draw(m, (const fab_gauss *const *)&g, 1, 0);
        for (int i = 0; i < N; i++) {
            fab_prediction p;
            fab_draws_predict(d, i, &p);
            const double chance = 1 / (1 + exp(-d->eta[i]));
            assert_true(fabs(p.mean - chance) < 1e-12);
            assert_true(p.lower == (chance > 0.95) && p.upper == (chance > 0.05));
            met[(chance > 0.05) + (chance > 0.95)] = 1;
        }
        fab_draws_free(d);
        fab_gauss_free(g);
    }
    assert_true(met[0] && met[1] && met[2]);
    fab_net_free(net);
}

/* 4000 draws: means of eta within 5 of their standard errors, five of them: false alarm 3e-6. */
static void draws_of_a_gaussian_have_its_moments(void **state)
{
    (void)state;
    enum { S = 4000 };
    fab_net *net = linear_net(FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_FIXED);
    const fab_model *m = fab_net_model(net);
    fab_gauss *g;
    assert_int_equal(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, m->D, 1), FAB_OK);
    for (int64_t i = 0; i < m->D; i++) {
        g->mu[i] = (double)i - 1;
        g->psi[i] = 0.1 + 0.1 * (double)i;
        ((double *)g->F)[i] = 0.3 * (double)(i + 1);
    }
    fab_draws *d = draw(m, (const fab_gauss *const *)&g, 1, S);
    for (int i = 0; i < N; i++) {
        double mean = g->mu[D], along = 1.2, variance = 0.4, sum = 0, square = 0;
        for (int j = 0; j < D; j++) {
            mean += x[i * D + j] * g->mu[j];
            along += x[i * D + j] * 0.3 * (j + 1);
            variance += x[i * D + j] * x[i * D + j] * g->psi[j];
        }
        variance += along * along;
        for (int s = 0; s < S; s++) sum += d->eta[s * N + i] / S;
        for (int s = 0; s < S; s++) square += pow(d->eta[s * N + i] - sum, 2) / S;
        assert_true(fabs(sum - mean) < 5 * sqrt(variance / S));
        assert_true(fabs(square / variance - 1) < 5 * sqrt(2.0 / S));
    }
    fab_draws *fewer = draw(m, (const fab_gauss *const *)&g, 1, 3);
    assert_memory_equal(fewer->eta, d->eta, 3 * N * sizeof(double));
    fab_draws_free(fewer);
    fab_draws_free(d);
    fab_gauss_free(g);
    fab_net_free(net);
}

static void probabilities_of_classes_are_averaged(void **state)
{
    (void)state;
    const fab_likelihood kinds[] = {FAB_LIKELIHOOD_CATEGORICAL, FAB_LIKELIHOOD_BERNOULLI};
    for (int k = 0; k < 2; k++) {
        const int64_t C = k ? 2 : 3;
        fab_net *net = linear_net(kinds[k], k ? 1 : 3, FAB_NOISE_FIXED);
        const fab_model *m = fab_net_model(net);
        fab_gauss *g[2] = {point(m, 0), point(m, 0.4)};
        fab_draws *d = draw(m, (const fab_gauss *const *)g, 2, 0);
        const double y[N] = {0, 1, 1, 0, 1};
        double logp[3], nll = 0;
        fab_scores s;
        for (int i = 0; i < N; i++) {
            double sum = 0;
            fab_draws_classes(d, i, logp);
            for (int64_t c = 0; c < C; c++) sum += exp(logp[c]);
            assert_true(fabs(sum - 1) < 1e-14);
            nll -= logp[(int)y[i]] / N;
        }
        assert_int_equal(fab_draws_score(d, y, NULL, &s), FAB_OK);
        assert_true(fabs(s.nll - nll) < 1e-14 && s.n == N && isnan(s.rmse));
        fab_draws_free(d);
        fab_gauss_free(g[0]);
        fab_gauss_free(g[1]);
        fab_net_free(net);
    }
}

static void counts_have_quantiles_of_the_mixture(void **state)
{
    (void)state;
    fab_net *net = linear_net(FAB_LIKELIHOOD_POISSON, 1, FAB_NOISE_FIXED);
    const fab_model *m = fab_net_model(net);
    fab_gauss *g[2] = {point(m, 0), point(m, 0.4)};
    fab_draws *d = draw(m, (const fab_gauss *const *)g, 2, 0);
    for (int i = 0; i < N; i++) {
        fab_prediction p;
        double below = 0, at = 0;
        fab_draws_predict(d, i, &p);
        assert_true(fabs(p.mean - (exp(d->eta[i]) + exp(d->eta[N + i])) / 2) < 1e-12 * p.mean);
        for (double k = 0; k <= p.upper; k++) {
            at = exp(fab_draws_logp(d, i, k));
            below += at;
        }
        assert_true(below >= 0.95 - 1e-12 && below - at < 0.95);
        assert_true(fabs(fab_draws_cdf(d, i, p.upper) - (below - at / 2)) < 1e-12);
        assert_true(fabs(fab_draws_cdf(d, i, 0) - exp(fab_draws_logp(d, i, 0)) / 2) < 1e-12);
        fab_draws_interval(d, i, 0.5, &p);
        below = 0;
        for (double k = 0; k <= p.upper; k++) {
            if (k == p.lower)
                assert_true(below < 0.25 && below + exp(fab_draws_logp(d, i, k)) >= 0.25 - 1e-12);
            at = exp(fab_draws_logp(d, i, k));
            below += at;
        }
        assert_true(below >= 0.75 - 1e-12 && below - at < 0.75);
    }
    fab_draws_free(d);
    fab_gauss_free(g[0]);
    fab_gauss_free(g[1]);
    fab_net_free(net);
}

static void what_does_not_belong_together_is_refused(void **state)
{
    (void)state;
    fab_net *net = linear_net(FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_FIXED);
    const fab_model *m = fab_net_model(net);
    const double one[] = {1};
    const fab_rows rows = {.p = x, .type = FAB_F64, .n = N, .ld = D};
    fab_gauss *g;
    fab_draws *d;
    assert_int_equal(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, m->D + 1, 0), FAB_OK);
    const fab_mixture wrong = {1, (const fab_gauss *const *)&g, one};
    assert_int_equal(fab_draws_create(&d, m, &wrong, &rows, NULL, 9, 1, NULL), FAB_BAD_ARGUMENT);
    assert_detail("5 coordinates", "4");
    assert_null(d);
    fab_gauss_free(g);
    assert_int_equal(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, m->D, 0), FAB_OK);
    const fab_mixture right = {1, (const fab_gauss *const *)&g, one};
    assert_int_equal(fab_draws_create(&d, m, &right, &rows, NULL, 0, 1, NULL), FAB_BAD_ARGUMENT);
    assert_detail("0 samples", "at least 1");
    fab_gauss_free(g);
    fab_net_free(net);
}

static void tails_of_student_are_in_densities_quantiles_and_scores(void **state)
{
    (void)state;
    const fab_net_plan plan = {
        .layers = "linear", .features = D, .classes = 1, .beta = 4, .nu = 4, .batch = 2};
    fab_net *net;
    assert_int_equal(fab_net_create(&net, &plan, NULL), FAB_OK);
    const fab_model *m = fab_net_model(net);
    fab_gauss *g[2] = {point(m, 0), point(m, 0.4)};
    fab_draws *d = draw(m, (const fab_gauss *const *)g, 2, 0);
    fab_prediction p;
    fab_scores s;
    double y[N], sum = 0;
    for (int i = 0; i < N; i++) {
        const double a = d->eta[i], b = d->eta[N + i];
        fab_draws_predict(d, i, &p);
        assert_true(fabs(p.sd * p.sd - (2.0 / 4 + (a - b) * (a - b) / 4)) < 1e-13);
        y[i] = p.upper * (1 - 1e-9); /* just inside 90 % */
        sum += integrate_crps(d, i, y[i]) / N;
    }
    const double z = 2 * (0.3 - d->eta[0]),
                 v = 2 * (0.3 - d->eta[N]); /* t of 4: 3/8 (1 + t^2/4)^-5/2 */
    const double want = 2 * 3.0 / 8 * (pow(1 + z * z / 4, -2.5) + pow(1 + v * v / 4, -2.5)) / 2;
    assert_true(fabs(fab_draws_logp(d, 0, 0.3) - log(want)) < 1e-10);
    assert_int_equal(fab_draws_score(d, y, NULL, &s), FAB_OK);
    assert_true(fabs(s.crps - sum) < 1e-4 * sum); /* what is integrated ends at +-20 */
    assert_true(s.coverage90 == 1 && s.coverage50 == 0);
    fab_draws_free(d);
    fab_gauss_free(g[0]);
    fab_gauss_free(g[1]);
    fab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_needs_no_draws),
        cmocka_unit_test(draws_are_those_of_the_mixture),
        cmocka_unit_test(rounded_rows_are_rows_in_f32),
        cmocka_unit_test(two_points_are_a_mixture),
        cmocka_unit_test(two_classes_have_quantiles_of_0_and_1),
        cmocka_unit_test(draws_of_a_gaussian_have_its_moments),
        cmocka_unit_test(probabilities_of_classes_are_averaged),
        cmocka_unit_test(counts_have_quantiles_of_the_mixture),
        cmocka_unit_test(tails_of_student_are_in_densities_quantiles_and_scores),
        cmocka_unit_test(what_does_not_belong_together_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
