/* test_vga.c - vga against a bound maximised another way, closed forms, and each other.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/fit.h"
#include "fabayes/predict.h"
#include "laplace_case.h"
#include "model/likelihoods/likelihood.h"
#include "model/likelihoods/softmax.h"

static fab_vga_settings vga_settings(const problem *p)
{
    fab_vga_settings s = fab_vga_defaults();
    s.glm.alpha = p->alpha;
    if (p->m.likelihood == FAB_LIKELIHOOD_GAUSSIAN) s.glm.beta = p->m.beta;
    s.glm.intercept_alpha = p->intercept_alpha;
    s.tol = 1e-14;
    return s;
}

static fab_status try_vga(fab_fit **f, const problem *p, const fab_vga_settings *s,
                          const fab_exec *x)
{
    const fab_examples e = {
        .x = {p->x, FAB_F64, p->N, p->m.D}, .y = p->y, .weight = p->weight, .offset = p->offset};
    const fab_gauss *q;
    fab_glm glm = p->m;
    const fab_model m = fab_model_linear(&glm);
    fab_status status =
        fab_fit_create(f, "vga", s, sizeof *s, &(fab_input){.model = &m, .prior = p->prior}, x);
    if (status == FAB_OK) status = fab_fit_update(*f, &e);
    if (status == FAB_OK) status = fab_fit_gauss(*f, &q);
    if (status == FAB_OK) return fab_gauss_check(q);
    fab_fit_free(*f);
    *f = NULL;
    return status;
}

static fab_fit *vga_of(const problem *p, const fab_vga_settings *s)
{
    fab_fit *f;
    if (try_vga(&f, p, s, NULL) != FAB_OK)
        fail_msg("%s, N = %d, D = %d: %s", fab_likelihood_name(p->m.likelihood), (int)p->N,
                 (int)p->m.D, fab_detail());
    return f;
}

static double *covariance_of(const fab_gauss *q)
{
    fab_solver *s;
    double *S = doubles(q->D * q->D);
    assert_ok(fab_solver_create(&s, q, NULL));
    assert_ok(fab_solver_dense(s, S));
    fab_solver_free(s);
    return S;
}

/* ---- the oracle: the bound of one predictor, by plain sums, as a function of mu and the factor of S --------- */

enum { MOST = 8, PARAMETERS = MOST + MOST * (MOST + 1) / 2 };

/* E log p under N(u, v): the trapezoidal rule with steps of 1/10 standard deviation, exact to rounding for these */
static double plain_mean(const fab_glm *m, double y, double u, double v)
{
    double sum = 0, weight = 0;
    for (int k = -100; k <= 100; k++) {
        const double z = k / 10., w = exp(-z * z / 2), eta = u + sqrt(v) * z;
        sum += w * fab_glm_loglik(m, y, &eta, NULL, NULL);
        weight += w;
    }
    return sum / weight;
}

/* v: mu, then the rows of a lower factor whose diagonal is exp */
static double plain_bound(const problem *p, const double *v)
{
    const int P = (int)(p->m.D + p->m.intercept);
    double L[MOST][MOST] = {{0}}, bound = P / 2.;
    const double *mu = v, *at = v + P;
    for (int i = 0; i < P; i++)
        for (int j = 0; j <= i; j++, at++) L[i][j] = i == j ? exp(*at) : *at;
    for (int i = 0; i < P; i++) {
        const double a = i < p->m.D ? p->alpha : p->intercept_alpha;
        bound += log(L[i][i]) + 0.5 * log(a) - 0.5 * a * mu[i] * mu[i];
        for (int j = 0; j <= i; j++) bound -= 0.5 * a * L[i][j] * L[i][j];
    }
    for (int64_t r = 0; r < p->N; r++) {
        double u = p->offset ? p->offset[r] : 0, variance = 0;
        for (int j = 0; j < P; j++) {
            double along = 0;
            for (int i = 0; i < P; i++) along += (i < p->m.D ? p->x[r * p->m.D + i] : 1) * L[i][j];
            u += (j < p->m.D ? p->x[r * p->m.D + j] : 1) * mu[j];
            variance += along * along;
        }
        bound += (p->weight ? p->weight[r] : 1) * plain_mean(&p->m, p->y[r], u, variance);
    }
    return bound;
}

static void plain_gradient(const problem *p, int n, const double *v, double *g)
{
    double w[PARAMETERS];
    memcpy(w, v, sizeof w);
    for (int i = 0; i < n; i++) {
        const double h = 1e-4;
        w[i] = v[i] + h;
        g[i] = plain_bound(p, w);
        w[i] = v[i] - h;
        g[i] = (g[i] - plain_bound(p, w)) / (2 * h);
        w[i] = v[i];
    }
}

/* BFGS upwards, from mu = 0 and S = I. */
static double plain_maximum(const problem *p, double *v)
{
    const int P = (int)(p->m.D + p->m.intercept), n = P + P * (P + 1) / 2;
    static double B[PARAMETERS][PARAMETERS];
    double g[PARAMETERS], next[PARAMETERS], after[PARAMETERS], step[PARAMETERS];
    memset(v, 0, PARAMETERS * sizeof *v);
    memset(B, 0, sizeof B);
    memset(next, 0, sizeof next);
    for (int i = 0; i < n; i++) B[i][i] = 0.01;
    double f = plain_bound(p, v);
    plain_gradient(p, n, v, g);
    for (int k = 0; k < 400; k++) {
        double slope = 0, t = 1, sy = 0, yBy = 0, By[PARAMETERS];
        for (int i = 0; i < n; i++) {
            step[i] = 0;
            for (int j = 0; j < n; j++) step[i] += B[i][j] * g[j];
            slope += step[i] * g[i];
        }
        if (slope < 1e-13) break;
        for (int c = 0; c < 40; c++, t /= 2) {
            for (int i = 0; i < n; i++) next[i] = v[i] + t * step[i];
            if (plain_bound(p, next) > f) break;
        }
        plain_gradient(p, n, next, after);
        for (int i = 0; i < n; i++) { /* s = t step, y = g - after */
            step[i] = next[i] - v[i];
            sy += step[i] * (g[i] - after[i]);
            By[i] = 0;
            for (int j = 0; j < n; j++) By[i] += B[i][j] * (g[j] - after[j]);
        }
        for (int i = 0; i < n; i++) yBy += By[i] * (g[i] - after[i]);
        if (sy > 0)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    B[i][j] += (1 + yBy / sy) * step[i] * step[j] / sy -
                               (By[i] * step[j] + step[i] * By[j]) / sy;
        memcpy(v, next, sizeof next);
        memcpy(g, after, sizeof after);
        f = plain_bound(p, v);
    }
    return f;
}

/* The gradient of the oracle is good to 1e-4^2 of third derivatives, some 1e-7, and its place so to about 1e-5 sd. */
static void q_maximises_the_bound(void **state)
{
    (void)state;
    const fab_likelihood l[] = {FAB_LIKELIHOOD_BERNOULLI, FAB_LIKELIHOOD_POISSON,
                                FAB_LIKELIHOOD_GAUSSIAN};
    for (int k = 0; k < 6; k++) {
        problem p = some_problem(l[k % 3], 17, 2, 3);
        if (k >= 3) add_weights(&p);
        p.intercept_alpha = 0.1;
        const fab_vga_settings s = vga_settings(&p);
        fab_fit *f = vga_of(&p, &s);
        const fab_gauss *q = posterior_of(f);
        double v[PARAMETERS], *S = covariance_of(q);
        const double best = plain_maximum(&p, v);
        assert_true(report_of(f).converged == 1);
        if (!(fabs(report_of(f).log_evidence - best) < 1e-7 * (1 + fabs(best))))
            fail_msg("case %d: bound %.12g, not %.12g", k, report_of(f).log_evidence, best);
        const double *at = v + 3;
        double L[3][3] = {{0}};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j <= i; j++, at++) L[i][j] = i == j ? exp(*at) : *at;
        for (int i = 0; i < 3; i++) {
            const double sd = sqrt(S[i * 3 + i]);
            assert_true(fabs(q->mu[i] - v[i]) < 1e-4 * sd);
            for (int j = 0; j < 3; j++) {
                double want = 0;
                for (int c = 0; c < 3; c++) want += L[i][c] * L[j][c];
                assert_true(fabs(S[i * 3 + j] - want) < 1e-4 * sd * sqrt(S[j * 3 + j]));
            }
        }
        fab_fit_free(f);
    }
}

/* ---- closed forms, and one way against another --------------------------------------------------------------- */

/* log density of log alpha, up to a constant, where 1 / sqrt(alpha) is half-Cauchy of scale 1 / sqrt(mean square of a feature) */
static double half_cauchy(const problem *p, double alpha)
{
    double square = 0;
    for (int64_t i = 0; i < p->N * p->m.D; i++)
        square += p->x[i] * p->x[i] / (double)(p->N * p->m.D);
    return 0.5 * log(alpha) - log(1 + alpha / square);
}

static void a_gaussian_target_has_its_exact_posterior_and_evidence(void **state)
{
    (void)state;
    for (int D = 7; D >= 1;
         D -= 3) { /* of 8 coordinates no array has a gap behind it; and of one */
        const int P = D > 1 ? D + 1 : 1;
        problem p = some_problem(FAB_LIKELIHOOD_GAUSSIAN, 29, D, 1);
        p.m.intercept = D > 1;
        const fab_vga_settings s = vga_settings(&p);
        fab_fit *f = vga_of(&p, &s), *e = fitted("laplace", &p); /* exact for a gaussian target */
        const double *mu = posterior_of(f)->mu, *want = posterior_of(e)->mu;
        double *S = covariance_of(posterior_of(f)), *T = covariance_of(posterior_of(e));
        for (int i = 0; i < P * P; i++) assert_true(fabs(S[i] - T[i]) < 1e-12);
        for (int i = 0; i < P; i++) assert_true(fabs(mu[i] - want[i]) < 1e-6 * sqrt(S[i * P + i]));
        assert_true(fabs(report_of(f).log_evidence - report_of(e).log_evidence) < 1e-10);
        fab_fit_free(f);
        fab_fit_free(e);
    }
    problem p = some_problem(FAB_LIKELIHOOD_GAUSSIAN, 29, 4, 1);
    fab_fit *f;
    fab_vga_settings a = fab_vga_defaults(); /* alpha and beta by the bound: a hilltop of it */
    a.tol = 1e-12;
    f = vga_of(&p, &a);
    const fab_report r = report_of(f);
    assert_true(r.converged == 1 && r.beta > 0.5 && r.beta < 50);
    a = fab_vga_defaults(); /* alpha given: beta is chosen all the same */
    a.glm.alpha = r.alpha;
    fab_fit *b = vga_of(&p, &a);
    assert_true(fabs(report_of(b).beta / r.beta - 1) < 0.05);
    fab_fit_free(b);
    for (int k = -1; k <= 1; k += 2) {
        a = fab_vga_defaults();
        a.glm.alpha = r.alpha;
        a.glm.beta = r.beta * (1 + 0.2 * k);
        fab_fit *g = vga_of(&p, &a);
        assert_true(report_of(g).log_evidence < r.log_evidence);
        fab_fit_free(g);
        a.glm.alpha = r.alpha * (1 + 0.2 * k);
        a.glm.beta = r.beta;
        g = vga_of(&p, &a);
        assert_true(report_of(g).log_evidence + half_cauchy(&p, a.glm.alpha) <
                    r.log_evidence + half_cauchy(&p, r.alpha));
        fab_fit_free(g);
    }
    fab_fit_free(f);
}

/* N(0, 1/alpha) of one coefficient: log of the integral, by 20001 nodes */
static void the_bound_is_below_the_evidence_and_near_it(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 11, 1, 5);
    p.m.intercept = 0;
    const fab_vga_settings s = vga_settings(&p);
    fab_fit *f = vga_of(&p, &s);
    double sum = 0;
    for (int k = -10000; k <= 10000; k++) {
        const double theta = k / 500., h = 1 / 500.;
        double logp = 0.5 * log(p.alpha / (2 * M_PI)) - 0.5 * p.alpha * theta * theta;
        for (int64_t j = 0; j < p.N; j++) {
            const double eta = theta * p.x[j];
            logp += fab_glm_loglik(&p.m, p.y[j], &eta, NULL, NULL);
        }
        sum += h * exp(logp);
    }
    const double gap = log(sum) - report_of(f).log_evidence;
    assert_true(gap > 0 && gap < 0.02);
    fab_fit_free(f);
}

/* theta_1 - theta_0 of two classes has the prior precision alpha / 2.  4096 pairs of nodes are good to 1e-4. */
static void two_classes_are_a_bernoulli_target(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 40, 2, 7), c = p;
    c.m.likelihood = FAB_LIKELIHOOD_CATEGORICAL;
    c.m.classes = 2;
    c.alpha = 2 * p.alpha;
    c.intercept_alpha = 2 * p.intercept_alpha;
    const fab_vga_settings s = vga_settings(&p);
    fab_vga_settings t = vga_settings(&c);
    t.nodes = 4096;
    t.tol = 1e-10;
    fab_fit *f = vga_of(&p, &s), *g = vga_of(&c, &t);
    const fab_gauss *a = posterior_of(f), *b = posterior_of(g);
    double *S = covariance_of(a), *T = covariance_of(b);
    for (int i = 0; i < 3; i++) {
        const double sd = sqrt(S[i * 4]), difference = b->mu[3 + i] - b->mu[i];
        const double variance = T[i * 7] + T[(i + 3) * 7] - 2 * T[i * 6 + i + 3];
        assert_true(fabs(difference - a->mu[i]) < 1e-3 * sd);
        assert_true(fabs(sqrt(variance) - sd) < 1e-3 * sd);
    }
    assert_true(fabs(report_of(f).log_evidence - report_of(g).log_evidence) < 1e-2);
    fab_fit_free(f);
    fab_fit_free(g);
}

/* The rule of the nodes against 400 x 400 plain nodes in the plane, three classes; the table of softmax.c has .001 for
 * probabilities by 512 pairs, at a standard deviation of 3. */
static void the_mean_of_log_softmax_is_its_integral(void **state)
{
    (void)state;
    const double V[9] = {2.385, 0.3, -0.4, 0.3, 1.1, 0.2, -0.4, 0.2, 0.7}, m[3] = {0.5, -1, 1.2};
    const fab_glm glm = {FAB_LIKELIHOOD_CATEGORICAL, 1, 3, 0, 1};
    fab_softmax_mean *s;
    double g[3], H[9], want = 0, wg[3] = {0}, wH[9] = {0}, weight = 0, L[9];
    memcpy(L, V, sizeof L); /* Cholesky */
    for (int j = 0; j < 3; j++) {
        for (int k = 0; k < j; k++)
            for (int i = j; i < 3; i++) L[i * 3 + j] -= L[i * 3 + k] * L[j * 3 + k];
        const double d = sqrt(L[j * 3 + j]);
        for (int i = j; i < 3; i++) L[i * 3 + j] /= d;
    }
    for (int a = -30; a <= 30; a++)
        for (int b = -30; b <= 30; b++)
            for (int c = -30; c <= 30; c++) {
                const double z[3] = {a / 5., b / 5., c / 5.},
                             w = exp(-0.5 * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2]));
                double eta[3], slope[3], h[9];
                for (int i = 0; i < 3; i++) {
                    eta[i] = m[i];
                    for (int j = 0; j <= i; j++) eta[i] += L[i * 3 + j] * z[j];
                }
                want += w * fab_glm_loglik(&glm, 1, eta, slope, h);
                for (int i = 0; i < 3; i++) wg[i] += w * slope[i];
                for (int i = 0; i < 9; i++) wH[i] += w * h[i];
                weight += w;
            }
    assert_ok(fab_softmax_mean_init(&s, 3, 512));
    assert_true(fabs(fab_softmax_mean_at(s, 1, m, V, g, H) - want / weight) < 2e-3);
    for (int i = 0; i < 3; i++) assert_true(fabs(g[i] - wg[i] / weight) < 2e-3);
    for (int i = 0; i < 9; i++) assert_true(fabs(H[i] - wH[i] / weight) < 2e-3);
    fab_softmax_mean_free(s);
}

static void same_gauss(fab_fit *f, fab_fit *g, double tol)
{
    const fab_gauss *a = posterior_of(f), *b = posterior_of(g);
    double *S = covariance_of(a), *T = covariance_of(b);
    const int64_t D = a->D;
    for (int64_t i = 0; i < D; i++) {
        assert_true(fabs(a->mu[i] - b->mu[i]) <= tol * sqrt(S[i * D + i]));
        for (int64_t j = 0; j < D; j++)
            assert_true(fabs(S[i * D + j] - T[i * D + j]) <=
                        tol * sqrt(S[i * D + i] * S[j * D + j]));
    }
}

static void a_weight_of_two_is_a_row_twice(void **state)
{
    (void)state;
    const fab_likelihood l[] = {FAB_LIKELIHOOD_BERNOULLI, FAB_LIKELIHOOD_CATEGORICAL};
    for (int k = 0; k < 2; k++) {
        problem p = some_problem(l[k], 20, 2, 11), twice = p;
        p.weight = doubles(20);
        twice.N = 25;
        twice.x = doubles(50);
        twice.y = doubles(25);
        for (int j = 0; j < 20; j++) p.weight[j] = j < 5 ? 2 : 1;
        for (int j = 0; j < 25; j++) {
            memcpy(twice.x + 2 * j, p.x + 2 * (j % 20), 2 * sizeof(double));
            twice.y[j] = p.y[j % 20];
        }
        const fab_vga_settings s = vga_settings(&p);
        fab_fit *f = vga_of(&p, &s), *g = vga_of(&twice, &s);
        same_gauss(f, g, 1e-5);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

/* Whatever is chosen: alpha, beta, where the steps end, the temperature of classes that are clear.  Both fits take the same
 * steps but for rounding, and each ends within 1.5e-4 standard deviations. */
static void weights_count_as_rows_do(void **state)
{
    (void)state;
    enum { N = 60, D = 3 };
    const fab_likelihood l[] = {FAB_LIKELIHOOD_BERNOULLI, FAB_LIKELIHOOD_POISSON,
                                FAB_LIKELIHOOD_GAUSSIAN, FAB_LIKELIHOOD_CATEGORICAL,
                                FAB_LIKELIHOOD_BERNOULLI};
    for (int k = 0; k < 5; k++) {
        problem p = some_problem(l[k], N, D, 7), many = p;
        for (int j = 0; j < N && k == 4; j++) {
            p.y[j] = p.x[j * D] > 0;
            p.x[j * D] += p.y[j] != 0 ? 0.2 : -0.2;
        }
        p.weight = doubles(N);
        many.x = doubles(3 * N * D);
        many.y = doubles(3 * N);
        many.N = 0;
        for (int j = 0; j < N; j++) {
            p.weight[j] = 1 + j % 3;
            for (int i = 0; i <= j % 3; i++, many.N++) {
                memcpy(many.x + many.N * D, p.x + j * D, D * sizeof(double));
                many.y[many.N] = p.y[j];
            }
        }
        const fab_vga_settings s = fab_vga_defaults();
        fab_fit *f = vga_of(&p, &s), *g = vga_of(&many, &s);
        assert_true(report_of(f).temperature == report_of(g).temperature);
        assert_true((report_of(f).temperature < 1) == (k == 4));
        if (k < 4) same_gauss(f, g, 3e-4); /* else alpha comes to rest on a flat bound */
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

static void a_given_prior_is_the_plain_one_when_it_says_the_same(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 25, 3, 2), given = p;
    fab_gauss *prior;
    assert_ok(fab_gauss_create(&prior, FAB_FORM_COVARIANCE, FAB_F64, 4, 0));
    for (int i = 0; i < 4; i++) {
        prior->mu[i] = 0;
        prior->psi[i] = 1 / (i < 3 ? p.alpha : p.intercept_alpha);
    }
    given.prior = prior;
    const fab_vga_settings s = vga_settings(&p);
    fab_fit *f = vga_of(&p, &s), *g = vga_of(&given, &s);
    same_gauss(f, g, 1e-6);
    assert_true(fabs(report_of(f).log_evidence - report_of(g).log_evidence) < 1e-8);
    assert_true(isnan(report_of(g).alpha));
    fab_fit_free(f);
    fab_fit_free(g);
    fab_gauss_free(prior);
}

/* ---- fewer rows than features ---------------------------------------------------------------------------------- */

/* A given prior keeps all coordinates: that is the way without the rows' own. */
static void few_rows_have_the_same_posterior_in_their_own_coordinates(void **state)
{
    (void)state;
    const fab_likelihood l[] = {FAB_LIKELIHOOD_BERNOULLI, FAB_LIKELIHOOD_CATEGORICAL,
                                FAB_LIKELIHOOD_POISSON, FAB_LIKELIHOOD_GAUSSIAN};
    for (int k = 0; k < 8; k++) {
        problem p = some_problem(l[k % 4], 9, 14, 3), given;
        if (k >= 4) add_weights(&p);
        const int64_t P = p.m.classes * 15;
        fab_gauss *prior;
        assert_ok(fab_gauss_create(&prior, FAB_FORM_COVARIANCE, FAB_F64, P, 0));
        given = p;
        given.prior = prior;
        const int several =
            l[k % 4] ==
            FAB_LIKELIHOOD_CATEGORICAL; /* ends as near as nodes can tell: by its path */
        for (int own = 0; own < 2 - several; own++) { /* alpha given, or chosen by the rows */
            fab_vga_settings s = vga_settings(&p);
            if (several) s.tol = 1e-10;
            if (own) s.glm.alpha = FAB_AUTO_F64;
            s.temperature = 1;
            fab_fit *f = vga_of(&p, &s);
            for (int64_t i = 0; i < P; i++) {
                prior->mu[i] = 0;
                prior->psi[i] = 1 / (i % 15 < 14 ? report_of(f).alpha : p.intercept_alpha);
            }
            fab_fit *g = vga_of(&given, &s);
            assert_true(posterior_of(f)->form == FAB_FORM_PRECISION);
            assert_true(posterior_of(g)->form == FAB_FORM_COVARIANCE);
            same_gauss(f, g, 1e-5);
            const double bound = report_of(g).log_evidence;
            assert_true(fabs(report_of(f).log_evidence - bound) < 1e-7 * (1 + fabs(bound)));
            fab_fit_free(f);
            fab_fit_free(g);
        }
        fab_gauss_free(prior);
    }
}

/* Each row twice at half its weight: more rows than features, and the same posterior, at any temperature. */
static void few_rows_are_what_more_rows_of_less_weight_are(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 9, 14, 3), halves = p;
        halves.N = 18;
        halves.x = doubles(18 * 14);
        halves.y = doubles(18);
        halves.weight = doubles(18);
        for (int j = 0; j < 18; j++) {
            memcpy(halves.x + 14 * j, p.x + 14 * (j % 9), 14 * sizeof(double));
            halves.y[j] = p.y[j % 9];
            halves.weight[j] = 0.5;
        }
        fab_vga_settings s = vga_settings(&p);
        if (k == 1) s.temperature = 0.0625;
        fab_fit *f = vga_of(&p, &s), *g = vga_of(&halves, &s);
        assert_true(posterior_of(f)->form == FAB_FORM_PRECISION);
        assert_true(posterior_of(g)->form == FAB_FORM_COVARIANCE);
        same_gauss(f, g, 1e-6);
        const double bound = report_of(g).log_evidence;
        assert_true(fabs(report_of(f).log_evidence - bound) < 1e-7 * (1 + fabs(bound)));
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

/* Rank K of 9 rows: all of them, or near. */
static void few_rows_are_cut_to_rank_K(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 9, 14, 3);
    fab_vga_settings s = vga_settings(&p);
    fab_fit *full = vga_of(&p, &s);
    assert_true(posterior_of(full)->K == 9);
    s.K = 6;
    fab_fit *f = vga_of(&p, &s);
    const fab_gauss *q = posterior_of(f);
    double *S = covariance_of(q), *T = covariance_of(posterior_of(full));
    assert_true(q->K == 6 && q->form == FAB_FORM_PRECISION);
    for (int i = 0; i < 15; i++) {
        assert_true(fabs(q->mu[i] - posterior_of(full)->mu[i]) < 1e-12);
        assert_true(fabs(S[i * 16] / T[i * 16] - 1) < 0.5);
    }
    fab_fit_free(f);
    fab_fit_free(full);
}

static fab_status fit_few(void)
{
    static problem p;
    if (!p.x) p = some_problem(FAB_LIKELIHOOD_CATEGORICAL, 5, 7, 1);
    fab_vga_settings s = fab_vga_defaults();
    fab_fit *f;
    s.K = 3;
    const fab_status status = try_vga(&f, &p, &s, NULL);
    fab_fit_free(f);
    return status;
}

/* ---- temperature ---------------------------------------------------------------------------------------------- */

/* Likelihood and prior to the power 1/T: rows of weight 1/T and precisions over T. */
static void a_colder_posterior_is_that_of_heavier_rows(void **state)
{
    (void)state;
    const fab_likelihood l[] = {FAB_LIKELIHOOD_BERNOULLI, FAB_LIKELIHOOD_CATEGORICAL};
    for (int k = 0; k < 4; k++) { /* in the end of fewer rows than features */
        problem p = some_problem(l[k % 2], 40, k < 2 ? 3 : 45, 5), heavy = p;
        fab_vga_settings s = vga_settings(&p), t = s;
        fab_fit *warm = vga_of(&p, &s);
        s.temperature = 0.25;
        fab_fit *cold = vga_of(&p, &s);
        heavy.weight = doubles(40);
        for (int j = 0; j < 40; j++) heavy.weight[j] = 4;
        t.glm.alpha *= 4;
        t.glm.intercept_alpha *= 4;
        fab_fit *same = vga_of(&heavy, &t);
        same_gauss(cold, same, 1e-5);
        assert_true(report_of(cold).temperature == 0.25 && report_of(cold).alpha == p.alpha);
        /* the bound is that of the model itself, which the warm Gaussian is the highest of */
        assert_true(report_of(cold).log_evidence < report_of(warm).log_evidence);
        if (k < 2) assert_true(report_of(cold).log_evidence > report_of(warm).log_evidence - 5);
        assert_true(report_of(warm).temperature == 1); /* alpha is given */
        fab_fit_free(warm);
        fab_fit_free(cold);
        fab_fit_free(same);
    }
}

/* 150 rows to learn from and 500 to score; clear: the classes are those of a plane without error, else they are drawn. */
static double temperature_of(int clear, uint64_t seed, double *nll, double *nll_warm)
{
    enum { N = 150, TEST = 500, D = 8 };
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, N + TEST, D, seed);
    double u[N + TEST], eta[TEST], v[TEST];
    fab_random_uniform(seed, FAB_PURPOSE_DATA, 9, 0, N + TEST, u);
    for (int j = 0; j < N + TEST; j++) {
        double at = 0;
        for (int i = 0; i < D; i++) at += p.x[j * D + i] * (i < 2 ? 1 : 0.2);
        p.y[j] = clear ? at > 0 : u[j] < 1 / (1 + exp(-at));
        for (int i = 0; i < D && clear; i++) /* and far from it */
            p.x[j * D + i] += (at > 0 ? 1 : -1) * (i < 2 ? 1 : 0.2);
    }
    p.N = N;
    fab_vga_settings s = fab_vga_defaults();
    double T = 0;
    for (int warm = 0; warm < 2; warm++) {
        fab_scores score;
        const fab_rows x = {p.x + N * D, FAB_F64, TEST, D};
        if (warm) s.temperature = 1;
        fab_fit *f = vga_of(&p, &s);
        assert_ok(fab_predict_eta(posterior_of(f), &p.m, &x, NULL, NULL, eta, v));
        assert_ok(fab_score(&p.m, TEST, eta, v, p.y + N, NULL, &score));
        *(warm ? nll_warm : nll) = score.nll;
        if (!warm) T = report_of(f).temperature;
        if (warm) assert_true(report_of(f).temperature == 1);
        fab_fit_free(f);
    }
    return T;
}

/* Where classes are clear a narrower Gaussian predicts better, and is taken.  Where they are not, the posterior stays. */
static void the_temperature_is_that_of_rows_left_out(void **state)
{
    (void)state;
    double nll, warm;
    assert_true(temperature_of(1, 11, &nll, &warm) < 1);
    assert_true(nll < 0.9 * warm);
    for (uint64_t seed = 11; seed <= 20; seed++) {
        assert_true(temperature_of(0, seed, &nll, &warm) == 1);
        assert_true(nll == warm);
    }
}

/* Coefficients of 40 tables of 60 rows whose classes are drawn, N(0, s^2) themselves: how many 90 % intervals have them. */
static double coverage(double s, int *cold)
{
    enum { TABLES = 40, N = 60, D = 4 };
    int inside = 0;
    *cold = 0;
    for (uint64_t seed = 1; seed <= TABLES; seed++) {
        problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, N, D, seed);
        double theta[D], u[N];
        fab_random_normal(seed, FAB_PURPOSE_DATA, 8, 0, D, FAB_F64, theta);
        fab_random_uniform(seed, FAB_PURPOSE_DATA, 9, 0, N, u);
        for (int j = 0; j < N; j++) {
            double eta = 0;
            for (int i = 0; i < D; i++) eta += s * theta[i] * p.x[j * D + i];
            p.y[j] = u[j] < 1 / (1 + exp(-eta));
        }
        const fab_vga_settings settings = fab_vga_defaults();
        fab_fit *f = vga_of(&p, &settings);
        const double *S = covariance_of(posterior_of(f)), *mu = posterior_of(f)->mu;
        for (int i = 0; i < D; i++)
            inside += fabs(s * theta[i] - mu[i]) < 1.6449 * sqrt(S[i * (D + 1) + i]);
        *cold += report_of(f).temperature < 1;
        fab_fit_free(f);
    }
    return (double)inside / (TABLES * D);
}

/* With alpha found from four coefficients 90 % intervals have .87 of them in the long run (400 tables of 50 rows: .872, and .934
 * where all are 0); of 40 tables at least .78, three standard errors less.  Where classes overlap no table is colder than
 * its posterior. */
static void intervals_cover_where_classes_overlap(void **state)
{
    (void)state;
    int cold;
    const double spread[] = {0, 0.5, 1};
    for (int k = 0; k < 3; k++) {
        const double covered = coverage(spread[k], &cold);
        if (!(covered > 0.78 && cold == 0))
            fail_msg("sd %g: %.3f of the intervals, %d tables below T = 1", spread[k], covered,
                     cold);
    }
}

/* ---- odd data ------------------------------------------------------------------------------------------------- */

static void separated_classes_are_told_apart(void **state)
{
    (void)state;
    for (int classes = 2; classes <= 3; classes++) {
        problem p = some_problem(
            classes == 2 ? FAB_LIKELIHOOD_BERNOULLI : FAB_LIKELIHOOD_CATEGORICAL, 30, 2, 4);
        for (int j = 0; j < 30; j++) {
            const double at = 2 * M_PI * (j % classes) / classes;
            p.y[j] = j % classes;
            p.x[2 * j] = 3 * cos(at) + 0.3 * p.x[2 * j];
            p.x[2 * j + 1] = 3 * sin(at) + 0.3 * p.x[2 * j + 1];
        }
        const fab_vga_settings s = fab_vga_defaults();
        fab_fit *f = vga_of(&p, &s);
        const fab_rows x = {p.x, FAB_F64, 30, 2};
        double logp[90], eta[30], v[30];
        fab_scores score;
        assert_true(report_of(f).converged == 1);
        assert_true(report_of(f).alpha > 1e-3); /* the hyper-prior holds it */
        if (classes == 2) {
            assert_ok(fab_predict_eta(posterior_of(f), &p.m, &x, NULL, NULL, eta, v));
            assert_ok(fab_score(&p.m, 30, eta, v, p.y, NULL, &score));
        } else {
            assert_ok(fab_predict_classes(posterior_of(f), &p.m, &x, NULL, 0, 0, NULL, logp));
            assert_ok(fab_score_classes(3, 30, logp, p.y, NULL, &score));
        }
        assert_true(score.accuracy == 1 && score.nll < 0.1);
        fab_fit_free(f);
    }
}

static void odd_sizes_and_odd_targets_fit(void **state)
{
    (void)state;
    const fab_likelihood l[] = {FAB_LIKELIHOOD_BERNOULLI, FAB_LIKELIHOOD_POISSON,
                                FAB_LIKELIHOOD_CATEGORICAL, FAB_LIKELIHOOD_GAUSSIAN};
    const int64_t sizes[][2] = {{5, 29}, {1, 1}, {40, 1}, {3, 3}}; /* N < D first */
    for (int k = 0; k < 16; k++) {
        problem p = some_problem(l[k % 4], sizes[k / 4][0], sizes[k / 4][1], 9);
        const fab_vga_settings s = fab_vga_defaults();
        fab_fit *f = vga_of(&p, &s);
        assert_true(isfinite(report_of(f).log_evidence));
        fab_fit_free(f);
    }
    for (int k = 0; k < 3; k++) { /* one class only; no count at all */
        problem p = some_problem(l[k], 20, 3, 9);
        for (int j = 0; j < 20; j++) p.y[j] = 0;
        const fab_vga_settings s = fab_vga_defaults();
        fab_fit *f = vga_of(&p, &s);
        assert_true(isfinite(report_of(f).log_evidence) && posterior_of(f)->mu[3] < 200);
        fab_fit_free(f);
    }
}

static void rank_K_is_near_and_full_rank_is_exact(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 60, 5, 6);
    fab_vga_settings s = vga_settings(&p);
    fab_fit *full = vga_of(&p, &s);
    for (int64_t K = 1; K <= 6; K += 5) {
        s.K = K;
        fab_fit *f = vga_of(&p, &s);
        const fab_gauss *q = posterior_of(f);
        assert_true(q->K == K);
        assert_true(q->form == (K < 6 ? FAB_FORM_PRECISION : FAB_FORM_COVARIANCE));
        double *S = covariance_of(q), *T = covariance_of(posterior_of(full));
        for (int i = 0; i < 6; i++) {
            assert_true(fabs(q->mu[i] - posterior_of(full)->mu[i]) < 1e-12);
            assert_true(fabs(S[i * 7] / T[i * 7] - 1) < (K < 6 ? 0.5 : 1e-12));
        }
        fab_fit_free(f);
    }
    fab_fit_free(full);
}

/* Steps for L that are not relaxed, or by too much, swing around their end: they take hundreds, these at most 52. */
static void steps_end_soon(void **state)
{
    (void)state;
    for (int l = 1; l < 4; l++)
        for (int seed = 1; seed < 6; seed++) {
            problem p = some_problem((fab_likelihood)l, seed % 2 ? 300 : 40, 8, (uint64_t)seed);
            p.alpha = 1e-3;
            const fab_vga_settings s = vga_settings(&p);
            fab_fit *f = vga_of(&p, &s);
            const fab_report r = report_of(f);
            assert_true(r.converged && r.iterations <= 80);
            fab_fit_free(f);
        }
}

static void what_it_cannot_do_is_refused(void **state)
{
    (void)state;
    problem p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 2000, 2000, 6);
    fab_vga_settings s = fab_vga_defaults();
    fab_fit *f;
    assert_refused(try_vga(&f, &p, &s, NULL), FAB_UNSUPPORTED, "2001 coordinates, expected");
    p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 2000, 2001, 6);
    assert_refused(try_vga(&f, &p, &s, NULL), FAB_UNSUPPORTED,
                   "2001 coordinates, as many features as rows, expected");
    p = some_problem(FAB_LIKELIHOOD_GAUSSIAN, 9, 2, 6);
    p.m.nu = 5;
    assert_refused(try_vga(&f, &p, &s, NULL), FAB_UNSUPPORTED, "Student's t");
    p = some_problem(FAB_LIKELIHOOD_BERNOULLI, 9, 2, 6);
    memset(p.x, 0, 18 * sizeof(double));
    assert_refused(try_vga(&f, &p, &s, NULL), FAB_BAD_DATA, "give alpha");
    s.glm.alpha = 1;
    assert_ok(try_vga(&f, &p, &s, NULL));
    p.prior = posterior_of(f);
    s.temperature = 0.5;
    fab_fit *g;
    assert_refused(try_vga(&g, &p, &s, NULL), FAB_UNSUPPORTED, "temperature = 0.5");
    fab_fit_free(f);
}

static fab_status fit_once(void)
{
    static problem p;
    if (!p.x) p = some_problem(FAB_LIKELIHOOD_CATEGORICAL, 12, 2, 1);
    fab_vga_settings s = fab_vga_defaults();
    fab_fit *f;
    s.K = 2;
    const fab_status status = try_vga(&f, &p, &s, NULL);
    fab_fit_free(f);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_ok(fit_once());
    assert_true(fail_every_allocation(fit_once) >= 5);
    assert_ok(fit_few());
    assert_true(fail_every_allocation(fit_few) >= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(q_maximises_the_bound),
        TEST(a_gaussian_target_has_its_exact_posterior_and_evidence),
        TEST(the_bound_is_below_the_evidence_and_near_it),
        TEST(two_classes_are_a_bernoulli_target),
        TEST(the_mean_of_log_softmax_is_its_integral),
        TEST(a_weight_of_two_is_a_row_twice),
        TEST(weights_count_as_rows_do),
        TEST(a_given_prior_is_the_plain_one_when_it_says_the_same),
        TEST(few_rows_have_the_same_posterior_in_their_own_coordinates),
        TEST(few_rows_are_what_more_rows_of_less_weight_are),
        TEST(few_rows_are_cut_to_rank_K),
        TEST(a_colder_posterior_is_that_of_heavier_rows),
        TEST(the_temperature_is_that_of_rows_left_out),
        TEST(intervals_cover_where_classes_overlap),
        TEST(separated_classes_are_told_apart),
        TEST(odd_sizes_and_odd_targets_fit),
        TEST(rank_K_is_near_and_full_rank_is_exact),
        TEST(steps_end_soon),
        TEST(what_it_cannot_do_is_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
