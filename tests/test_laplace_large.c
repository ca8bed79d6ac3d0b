/* test_laplace_large.c - curvatures that are never formed: products, conjugate gradients, rank K, the estimated
 * evidence.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/gauss.h"
#include "train/mode.h"
#include "la/small.h"
#include "laplace_case.h"
#include "fabayes/predict.h"

/* ---- products --------------------------------------------------------------------------------- */

static fab_objective *objective_of(const problem *p, const fab_examples *e, int dense)
{
    fab_objective *o;
    assert_ok(fab_objective_init(&o, "test", &p->m, e, p->prior, dense, 4, NULL));
    if (!p->prior) fab_objective_diagonal(o, p->alpha, p->intercept_alpha);
    return o;
}

static fab_examples examples_of(const problem *p)
{
    return (fab_examples){
        .x = {p->x, FAB_F64, p->N, p->m.D}, .y = p->y, .weight = p->weight, .offset = p->offset};
}

static void compare_products(const problem *p, int dense, int64_t k)
{
    const int64_t P = fab_glm_size(&p->m);
    double *theta = doubles(P), *V = doubles(P * k), *out = doubles(P * k), *diag = doubles(P);
    const fab_examples e = examples_of(p);
    fab_objective *o = objective_of(p, &e, dense);
    for (int64_t i = 0; i < P; i++) theta[i] = 0.3 * noise(51, i);
    for (int64_t i = 0; i < P * k; i++) V[i] = noise(52, i);
    const truth t = truth_at(p, theta);
    fab_objective_curvature(o, theta);
    assert_ok(fab_objective_times(o, k, V, out));
    assert_ok(fab_objective_diag(o, diag));
    for (int64_t i = 0; i < P; i++) {
        assert_near(diag[i], t.A[i * P + i], 1e-12 * diag[i]);
        for (int64_t c = 0; c < k; c++) {
            real sum = 0, size = 0;
            for (int64_t l = 0; l < P; l++) sum += t.A[i * P + l] * V[l * k + c];
            for (int64_t l = 0; l < P; l++) size += r_abs(t.A[i * P + l] * V[l * k + c]);
            assert_near(out[i * k + c], sum, 1e-12 * (double)size);
        }
    }
    fab_objective_free(o);
}

static void products_are_those_of_the_dense_curvature(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++)
        for (int way = 0; way < 6; way++) {
            problem p =
                some_problem((fab_likelihood)l, 300, l == FAB_LIKELIHOOD_CATEGORICAL ? 4 : 11, 41);
            fab_gauss *g = some_gauss(way % 3 == 1 ? FAB_FORM_PRECISION : FAB_FORM_COVARIANCE,
                                      FAB_F64, fab_glm_size(&p.m), 2, 17, 0.5);
            if (way % 2) add_weights(&p);
            if (way % 3) p.prior = g;
            compare_products(&p, way / 3, way % 2 ? 1 : 4);
            fab_gauss_free(g);
        }
}

/* ---- the mode --------------------------------------------------------------------------------- */

static fab_mode some_mode(int64_t P)
{
    fab_mode m = {.tol = 1e-14, .max_iter = 500};
    double **vectors[] = {&m.theta, &m.gradient, &m.step,      &m.trial,
                          &m.scale, &m.residual, &m.direction, &m.product};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) *vectors[i] = doubles(P);
    m.moves = doubles(FAB_PAIRS * P);
    m.turns = doubles(FAB_PAIRS * P);
    m.A = doubles(P * P);
    m.L = doubles(P * P);
    return m;
}

static void conjugate_gradients_find_the_mode_of_the_factor(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++)
        for (int way = 0; way < 3; way++) {
            problem p =
                some_problem((fab_likelihood)l, 97, l == FAB_LIKELIHOOD_CATEGORICAL ? 5 : 17, 43);
            const int64_t P = fab_glm_size(&p.m);
            fab_gauss *g = some_gauss(way == 1 ? FAB_FORM_PRECISION : FAB_FORM_COVARIANCE, FAB_F64,
                                      P, 2, 17, 0.5);
            if (way) p.prior = g;
            const fab_examples e = examples_of(&p);
            fab_objective *whole = objective_of(&p, &e, 1), *o = objective_of(&p, &e, 0);
            fab_mode a = some_mode(P), b = some_mode(P);
            assert_ok(fab_mode_newton(whole, &a));
            assert_ok(fab_mode_newton_cg(o, &b));
            assert_true(a.converged && b.converged);
            for (int64_t i = 0; i < P; i++)
                assert_near(a.theta[i], b.theta[i], 1e-7 * a.scale[i]); /* standard deviations */
            fab_objective_free(whole);
            fab_objective_free(o);
            fab_gauss_free(g);
        }
}

/* ---- rank K ----------------------------------------------------------------------------------- */

static fab_fit *fitted_rank(const problem *p, int64_t K, const fab_exec *x)
{
    fab_laplace_settings s = settings_of(p);
    fab_fit *f;
    s.K = K;
    assert_ok(try_with(&f, "laplace", p, &s, x));
    return f;
}

static void few_rows_are_kept_whole(void **state)
{
    (void)state;
    const problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 9, 29, 25);
    fab_fit *f = fitted_rank(&p, 12, NULL);
    const fab_gauss *q = posterior_of(f);
    assert_int_equal(q->form, FAB_FORM_PRECISION);
    assert_int_equal(q->K, 9);
    const truth t = truth_at(&p, q->mu);
    assert_near(dense_norm(900, dense_minus(900, dense_matrix(q), t.A)) / dense_norm(900, t.A), 0,
                1e-12);
    fab_fit_free(f);
}

/* Nearer with a higher rank, and the diagonal of the precision is kept. */
static void a_higher_rank_is_nearer(void **state)
{
    (void)state;
    const problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 400, 29, 27);
    fab_fit *full = fitted("laplace", &p);
    double before = INFINITY, kl;
    for (int64_t K = 2; K < 30; K += 9) {
        fab_fit *f = fitted_rank(&p, K, NULL);
        const fab_gauss *q = posterior_of(f);
        assert_int_equal(q->K, K);
        assert_ok(fab_distance_kl(q, posterior_of(full), NULL, &kl));
        assert_true(kl < before && kl < 5);
        before = kl;
        fab_fit_free(f);
    }
    fab_fit_free(full);
}

static void many_coordinates_with_few_rows_are_kept_whole(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 30, FAB_LAPLACE_MAX + 100, 29);
    fab_laplace_settings s = settings_of(&p);
    fab_fit *f;
    s.K = 40;
    p.alpha = s.train.alpha = 1;
    assert_ok(try_with(&f, "laplace", &p, &s, NULL));
    const fab_gauss *q = posterior_of(f);
    assert_true(largest_gradient(&p, q->mu) <
                1e-6); /* precisions are at least 1, but for the intercept's */
    assert_int_equal(q->K, 30);
    fab_fit_free(f);
}

static void map_of_many_coordinates_is_a_mode_for_every_likelihood(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++) {
        problem p =
            some_problem((fab_likelihood)l, 30, l == FAB_LIKELIHOOD_CATEGORICAL ? 700 : 2100, 29);
        p.intercept_alpha = 1;
        fab_fit *f = fitted("map", &p);
        assert_int_equal(report_of(f).converged, 1);
        assert_true(largest_gradient(&p, posterior_of(f)->mu) <
                    1e-6); /* precisions are at least 0.7 */
        fab_fit_free(f);
    }
}

/* The product form of the prior: with the data or with alpha, the same mode. */
static void a_given_prior_has_no_limit_of_size(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 30, 2100, 29), plain = p;
    fab_gauss *g = NULL;
    assert_ok(fab_gauss_create(&g, FAB_FORM_PRECISION, FAB_F64, 2101, 0));
    for (int i = 0; i < 2101; i++) g->psi[i] = i < 2100 ? p.alpha : p.intercept_alpha;
    p.prior = g;
    fab_fit *f = fitted("laplace", &p), *h = fitted("laplace", &plain);
    const fab_gauss *q = posterior_of(f), *r = posterior_of(h);
    for (int i = 0; i < 2101; i++) assert_near(q->mu[i], r->mu[i], 1e-7);
    assert_true(isnan(report_of(f).log_evidence) && isfinite(report_of(h).log_evidence));
    fab_fit_free(f);
    fab_fit_free(h);
    fab_gauss_free(g);
}

/* Falls with K, and little is left when K is all but P. */
static void expect_nearer(const problem *p, double left)
{
    const int64_t P = fab_glm_size(&p->m);
    fab_fit *full = fitted("laplace", p);
    double before = INFINITY, kl = 0;
    for (int64_t K = 2; K < P; K += (P - 3) / 2) {
        fab_fit *f = fitted_rank(p, K, NULL);
        assert_ok(fab_distance_kl(posterior_of(f), posterior_of(full), NULL, &kl));
        assert_true(kl < before);
        before = kl;
        fab_fit_free(f);
    }
    assert_true(kl < left);
    fab_fit_free(full);
}

static void classes_and_given_priors_are_cut_to_rank_k(void **state)
{
    (void)state;
    for (int l = 1; l < 4; l += 2)
        for (int way = 0; way < 3; way++) {
            problem p =
                some_problem((fab_likelihood)l, 300, l == FAB_LIKELIHOOD_CATEGORICAL ? 6 : 20, 45);
            fab_gauss *g = some_gauss(way == 1 ? FAB_FORM_PRECISION : FAB_FORM_COVARIANCE, FAB_F64,
                                      fab_glm_size(&p.m), 2, 17, 0.5);
            if (way) p.prior = g;
            expect_nearer(&p, 0.05);
            fab_gauss_free(g);
        }
}

/* ---- the evidence ----------------------------------------------------------------------------- */

/* log det A - log det A0 at theta by the N x N matrix I + R, R = h^1/2 x A0^-1 x' h^1/2, and the sum of the
 * squared logarithms of its eigenvalues. */
static double dual_logdet(const problem *p, const double *theta, double *squares)
{
    const int64_t N = p->N, D = p->m.D;
    double *R = doubles(N * N), *h = doubles(N), *w = doubles(N), *work = doubles(fab_eig_work(N)),
           sum = 0;
    for (int64_t j = 0; j < N; j++) {
        double eta = theta[D], slope;
        for (int64_t i = 0; i < D; i++) eta += theta[i] * p->x[j * D + i];
        fab_glm_loglik(&p->m, p->y[j], &eta, &slope, h + j);
    }
    for (int64_t j = 0; j < N; j++)
        for (int64_t l = 0; l < N; l++) {
            double dot = 1 / p->intercept_alpha;
            for (int64_t i = 0; i < D; i++) dot += p->x[j * D + i] * p->x[l * D + i] / p->alpha;
            R[j + l * N] = sqrt(h[j] * h[l]) * dot + (j == l);
        }
    assert_ok(fab_eig(N, R, w, work));
    *squares = 0;
    for (int64_t j = 0; j < N; j++) {
        sum += log(w[j]);
        *squares += log(w[j]) * log(w[j]);
    }
    return sum;
}

/* The evidence by the dual form at the mode for p->alpha. */
static double dual_evidence(const problem *p, double *squares)
{
    fab_fit *f = fitted("map", p);
    const double *theta = posterior_of(f)->mu, half = -0.5 * dual_logdet(p, theta, squares);
    double value = half;
    for (int64_t i = 0; i < p->m.D; i++) value -= p->alpha * theta[i] * theta[i] / 2;
    value -= p->intercept_alpha * theta[p->m.D] * theta[p->m.D] / 2;
    for (int64_t j = 0; j < p->N; j++) {
        double eta = theta[p->m.D];
        for (int64_t i = 0; i < p->m.D; i++) eta += theta[i] * p->x[j * p->m.D + i];
        value += fab_glm_loglik(&p->m, p->y[j], &eta, NULL, NULL);
    }
    fab_fit_free(f);
    return value;
}

/* A probe of random signs has variance at most 2 |log B|^2; four standard errors of 8 of them, half of it in the
 * evidence, fail once in 16 000 seeds. */
static void the_evidence_of_many_coordinates_is_estimated(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 120, 2100, 47);
    double squares;
    p.alpha = 50;
    fab_fit *f = fitted("laplace", &p);
    const double truth_value = dual_evidence(&p, &squares);
    assert_near(report_of(f).log_evidence, truth_value, 0.5 * 4 * sqrt(2 * squares / 8));
    fab_fit_free(f);
}

static void alpha_of_many_coordinates_is_near_the_top_of_the_evidence(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 120, 2100, 49);
    double squares;
    for (int64_t j = 0; j < p.N; j++) p.y[j] = p.x[j * 2100] + p.x[j * 2100 + 1] > 0;
    for (int64_t j = 0; j < p.N; j++) p.x[j * 2100] *= 5, p.x[j * 2100 + 1] *= 5;
    p.alpha = FAB_AUTO_F64;
    fab_fit *f = fitted("laplace", &p);
    const double alpha = report_of(f).alpha;
    fab_fit_free(f);
    p.alpha = alpha;
    const double best = dual_evidence(&p, &squares);
    for (int way = -1; way <= 1; way += 2) {
        p.alpha = alpha * exp(way * 0.7);
        assert_true(dual_evidence(&p, &squares) < best);
    }
}

/* ---- temperature ------------------------------------------------------------------------------------- */

typedef struct cooled {
    double T, nll, variance; /* of new rows; of their predictors, in the mean */
} cooled;

/* 200 rows to learn from and 500 to score; clear: the classes are those of a plane without error, else they are drawn. */
static cooled predicted(const char *method, int clear, uint64_t seed, int64_t K, double temperature)
{
    enum { N = 200, TEST = 500, D = 29 };
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, N + TEST, D, seed);
    double u[N + TEST], eta[TEST], v[TEST];
    fab_random_uniform(seed, FAB_PURPOSE_DATA, 9, 0, N + TEST, u);
    for (int j = 0; j < N + TEST; j++) {
        double at = 0;
        for (int i = 0; i < D; i++) at += p.x[j * D + i] * (i < 2 ? 1 : 0.2);
        p.y[j] = clear ? at > 0 : u[j] < 1 / (1 + exp(-at / 2));
        for (int i = 0; i < D && clear; i++) /* and far from it */
            p.x[j * D + i] += (at > 0 ? 1 : -1) * (i < 2 ? 1 : 0.2);
    }
    p.N = N;
    p.alpha = FAB_AUTO_F64;
    fab_laplace_settings s = settings_of(&p);
    s.K = K;
    s.temperature = temperature;
    fab_fit *f;
    fab_scores score;
    const fab_rows x = {p.x + N * D, FAB_F64, TEST, D};
    assert_ok(try_with(&f, method, &p, &s, NULL));
    assert_ok(fab_predict_eta(posterior_of(f), &p.m, &x, NULL, NULL, eta, v));
    assert_ok(fab_score(&p.m, TEST, eta, v, p.y + N, NULL, &score));
    cooled c = {report_of(f).temperature, score.nll, 0};
    for (int j = 0; j < TEST; j++) c.variance += v[j] / TEST;
    fab_fit_free(f);
    return c;
}

/* Laplace's Gaussian of classes that separate is too wide, at any rank: rows left out say so. */
static void classes_that_separate_are_predicted_as_well_as_by_the_mode(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const int64_t K = k ? 3 : FAB_AUTO_I64;
        const cooled q = predicted("laplace", 1, 11, K, FAB_AUTO_F64),
                     wide = predicted("laplace", 1, 11, K, 1),
                     mode = predicted("map", 1, 11, FAB_AUTO_I64, FAB_AUTO_F64);
        assert_true(q.T < 1 && wide.T == 1);
        assert_true(q.nll < mode.nll + 0.01);
        assert_true(q.nll < wide.nll);
        assert_near(q.variance, q.T * wide.variance, 1e-6 * wide.variance);
    }
}

/* Six classes of 40 columns, 200 rows to learn from: NLL of 1000 new rows. */
static double several_predicted(uint64_t seed, double temperature)
{
    enum { N = 200, TEST = 1000, D = 40, C = 6 };
    problem p = some_problem(FAB_LIKELIHOOD_GAUSSIAN, N + TEST, D, seed);
    double *u = doubles((N + TEST) * C), *slope = doubles(D * C), *logp = doubles(TEST * C);
    fab_random_uniform(seed, FAB_PURPOSE_DATA, 9, 0, (N + TEST) * C, u);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 10, 0, D * C, FAB_F64, slope);
    for (int j = 0; j < N + TEST; j++) { /* the largest eta + Gumbel's noise is a draw of softmax */
        double most = -INFINITY;
        for (int c = 0; c < C; c++) {
            double at = -log(-log(u[j * C + c]));
            for (int i = 0; i < D; i++) at += 6 / sqrt(D) * slope[i * C + c] * p.x[j * D + i];
            if (at > most) p.y[j] = c;
            most = fmax(most, at);
        }
    }
    p.m.likelihood = FAB_LIKELIHOOD_CATEGORICAL;
    p.m.classes = C;
    p.N = N;
    p.alpha = FAB_AUTO_F64;
    fab_laplace_settings s = settings_of(&p);
    s.temperature = temperature;
    fab_fit *f;
    fab_scores score;
    const fab_rows x = {p.x + N * D, FAB_F64, TEST, D};
    assert_ok(try_with(&f, "laplace", &p, &s, NULL));
    assert_ok(fab_predict_classes(posterior_of(f), &p.m, &x, NULL, 0, 0, NULL, logp));
    assert_ok(fab_score_classes(C, TEST, logp, p.y + N, NULL, &score));
    fab_fit_free(f);
    return score.nll;
}

/* Rows that are hard to predict narrow the Gaussian that has seen them: by it T would fall too far, behind where it began. */
static void classes_that_nearly_separate_are_not_cooled_too_far(void **state)
{
    (void)state;
    enum { SEEDS = 4 };
    double found = 0, wide = 0, cold = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        found += several_predicted(seed, FAB_AUTO_F64) / SEEDS;
        wide += several_predicted(seed, 1) / SEEDS;
        cold += several_predicted(seed, 1e-4) / SEEDS;
    }
    if (!(found < wide && found < cold)) fail_msg("%.4f; %.4f, %.4f", found, wide, cold);
}

static void classes_that_overlap_keep_the_posterior(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 20; seed++)
        assert_true(predicted("laplace", 0, seed, FAB_AUTO_I64, FAB_AUTO_F64).T == 1);
}

/* ---- the method ------------------------------------------------------------------------------- */

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    const problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 400, 29, 33);
    const fab_exec one = {.threads = 1}, four = {.threads = 4};
    for (int64_t K = 5; K <= 30; K += 25) {
        fab_fit *f = fitted_rank(&p, K, &one), *g = fitted_rank(&p, K, &four);
        const fab_gauss *a = posterior_of(f), *b = posterior_of(g);
        assert_memory_equal(a->mu, b->mu, 30 * 8);
        assert_memory_equal(a->psi, b->psi, 30 * 8);
        assert_memory_equal(a->F, b->F, (size_t)(30 * a->K) * 8);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

static void map_takes_two_hundred_thousand_coordinates(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_POISSON, 10, 200000, 53);
    fab_fit *f = fitted("map", &p);
    assert_int_equal(report_of(f).converged, 1);
    assert_true(largest_gradient(&p, posterior_of(f)->mu) < 1e-6);
    fab_fit_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(products_are_those_of_the_dense_curvature),
        TEST(conjugate_gradients_find_the_mode_of_the_factor),
        TEST(few_rows_are_kept_whole),
        TEST(a_higher_rank_is_nearer),
        TEST(many_coordinates_with_few_rows_are_kept_whole),
        TEST(map_of_many_coordinates_is_a_mode_for_every_likelihood),
        TEST(a_given_prior_has_no_limit_of_size),
        TEST(classes_and_given_priors_are_cut_to_rank_k),
        TEST(the_evidence_of_many_coordinates_is_estimated),
        TEST(alpha_of_many_coordinates_is_near_the_top_of_the_evidence),
        TEST(classes_that_separate_are_predicted_as_well_as_by_the_mode),
        TEST(classes_that_nearly_separate_are_not_cooled_too_far),
        TEST(classes_that_overlap_keep_the_posterior),
        TEST(any_number_of_threads_gives_the_same_bytes),
        TEST(map_takes_two_hundred_thousand_coordinates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
