/* test_laplace.c - Laplace's approximation against quadruple precision, integrals and equivalent models.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/distance.h"
#include "fabayes/laplace.h"

typedef struct problem {
    fab_glm m;
    int64_t N;
    double *x, *y, *weight, *offset;
    double alpha, intercept_alpha;
    const fab_gauss *prior;
} problem;

static real r_exp(real x)
{
    real sum = 1, term = 1;
    x /= 1048576;
    for (int i = 1; i < 30; i++) sum += term *= x / i;
    for (int i = 0; i < 20; i++) sum *= sum;
    return sum;
}

/* ---- problems --------------------------------------------------------------------------------- */

static double draw_y(const problem *p, double eta, double u, double v)
{
    switch (p->m.likelihood) {
    case FAB_BERNOULLI: return u < 1 / (1 + exp(-eta));
    case FAB_POISSON: return floor(exp(eta) * (0.5 + u) + v);
    case FAB_CATEGORICAL:
        return floor((double)p->m.classes * (u + 0.2 * tanh(eta)) / 1.2 * 0.999 + 0.1 * v);
    default: return eta + u - v;
    }
}

static problem some_problem(fab_likelihood l, int64_t N, int64_t D, uint64_t seed)
{
    problem p = {.m = {.likelihood = l,
                       .D = D,
                       .classes = l == FAB_CATEGORICAL ? 3 : 1,
                       .intercept = 1,
                       .beta = 1},
                 .N = N,
                 .x = doubles(N * D),
                 .y = doubles(N),
                 .alpha = 0.7,
                 .intercept_alpha = 1e-4};
    if (l == FAB_GAUSSIAN) p.m.beta = 2.385;
    fab_random_normal(seed, 1, 0, N * D, FAB_F64, p.x);
    for (int64_t j = 0; j < N; j++) {
        double eta = 0.3;
        for (int64_t i = 0; i < D; i++) eta += p.x[j * D + i] * noise(seed, i) / sqrt((double)D);
        const double u = 0.5 + 0.5 * noise(seed + 1, j), v = 0.5 + 0.5 * noise(seed + 2, j);
        p.y[j] = fmax(0, draw_y(&p, eta, u, v));
        if (l == FAB_CATEGORICAL && p.y[j] > 2) p.y[j] = 2;
    }
    return p;
}

static void add_weights(problem *p)
{
    p->weight = doubles(p->N);
    p->offset = doubles(p->N);
    for (int64_t j = 0; j < p->N; j++) {
        p->weight[j] = 1.5 + noise(5, j);
        p->offset[j] = noise(6, j);
    }
}

static fab_laplace_settings settings_of(const problem *p)
{
    fab_laplace_settings s = fab_laplace_defaults(p->m.D);
    s.likelihood = p->m.likelihood;
    s.classes = p->m.classes;
    s.intercept = p->m.intercept;
    s.alpha = p->alpha;
    if (p->m.likelihood == FAB_GAUSSIAN) s.beta = p->m.beta;
    s.intercept_alpha = p->intercept_alpha;
    return s;
}

static fab_status try_with(fab_infer **f, const char *method, const problem *p,
                           const fab_laplace_settings *s, const fab_exec *x)
{
    const fab_examples e = {
        .x = {p->x, FAB_F64, p->N, p->m.D}, .y = p->y, .weight = p->weight, .offset = p->offset};
    const fab_gauss *q;
    fab_status status = fab_infer_init(f, fab_method_find(method), s, p->prior, x);
    if (status == FAB_OK) status = fab_infer_update(*f, &e);
    if (status == FAB_OK) status = fab_infer_result(*f, &q);
    if (status == FAB_OK) return fab_gauss_check(q);
    fab_infer_free(*f);
    *f = NULL;
    return status;
}

static fab_infer *fitted(const char *method, const problem *p)
{
    const fab_laplace_settings s = settings_of(p);
    fab_infer *f;
    assert_ok(try_with(&f, method, p, &s, NULL));
    return f;
}

static const fab_gauss *posterior_of(fab_infer *f)
{
    const fab_gauss *q;
    assert_ok(fab_infer_result(f, &q));
    return q;
}

static fab_inference report_of(fab_infer *f)
{
    fab_inference r;
    assert_ok(fab_infer_report(f, &r));
    return r;
}

/* ---- the oracle ------------------------------------------------------------------------------- */

typedef struct truth {
    int64_t P;
    real *gradient, *A, *prior; /* of minus the log posterior, at the theta asked about */
    real value;                 /* minus log p(y | theta), minus log prior but for its constants */
} truth;

/* log p, slopes and curvatures of one row, plainly */
static real row_loglik(const fab_glm *m, double y, const real *eta, real *g, real *h)
{
    const int64_t C = m->classes;
    if (m->likelihood == FAB_GAUSSIAN) {
        const real r = y - eta[0], two_pi = 6.28318530717958647692528676655900577L;
        *g = m->beta * r, *h = m->beta;
        return (r_log(m->beta / two_pi) - m->beta * r * r) / 2;
    }
    if (m->likelihood == FAB_POISSON) {
        real L = y * eta[0] - r_exp(eta[0]);
        for (int64_t k = 2; k <= (int64_t)y; k++) L -= r_log((real)k);
        *g = y - r_exp(eta[0]), *h = r_exp(eta[0]);
        return L;
    }
    if (m->likelihood == FAB_BERNOULLI) {
        const real e = r_exp(-eta[0]), s = 1 / (1 + e);
        *g = y - s, *h = s * (1 - s);
        return y > 0 ? r_log(s) : r_log(1 - s);
    }
    real sum = 0, p[8];
    for (int64_t k = 0; k < C; k++) sum += r_exp(eta[k]);
    for (int64_t k = 0; k < C; k++) p[k] = r_exp(eta[k]) / sum;
    for (int64_t k = 0; k < C; k++) g[k] = (k == (int64_t)y) - p[k];
    for (int64_t k = 0; k < C * C; k++)
        h[k] = (k / C == k % C ? p[k / C] : 0) - p[k / C] * p[k % C];
    return r_log(p[(int64_t)y]);
}

static truth truth_at(const problem *p, const double *theta)
{
    const int64_t D = p->m.D, w = D + p->m.intercept, C = p->m.classes, P = C * w;
    truth t = {.P = P, .gradient = dense_new(P), .prior = dense_new(P * P)};
    for (int64_t i = 0; i < P && !p->prior; i++)
        t.prior[i * P + i] = i % w < D ? p->alpha : p->intercept_alpha;
    if (p->prior) t.prior = dense_precision(p->prior);
    t.A = dense_new(P * P);
    memcpy(t.A, t.prior, (size_t)(P * P) * sizeof *t.A);
    for (int64_t i = 0; i < P; i++)
        for (int64_t k = 0; k < P; k++) {
            const real a = theta[i] - (p->prior ? (real)p->prior->mu[i] : 0),
                       b = theta[k] - (p->prior ? (real)p->prior->mu[k] : 0);
            t.gradient[i] += t.prior[i * P + k] * b;
            t.value += a * t.prior[i * P + k] * b / 2;
        }
    for (int64_t j = 0; j < p->N; j++) {
        real eta[8], g[8], h[64];
        const real weight = p->weight ? p->weight[j] : 1;
        for (int64_t k = 0; k < C; k++) {
            eta[k] = p->offset ? p->offset[j] : 0;
            for (int64_t i = 0; i < w; i++)
                eta[k] += (real)theta[k * w + i] * (i < D ? p->x[j * D + i] : 1);
        }
        t.value -= weight * row_loglik(&p->m, p->y[j], eta, g, h);
        for (int64_t a = 0; a < P; a++) {
            const real xa = a % w < D ? p->x[j * D + a % w] : 1;
            t.gradient[a] -= weight * g[a / w] * xa;
            for (int64_t b = 0; b < P; b++)
                t.A[a * P + b] += weight * h[(a / w) * C + b / w] * xa *
                                  (b % w < D ? p->x[j * D + b % w] : 1);
        }
    }
    return t;
}

/* The Newton step of the oracle from q->mu, in standard deviations: how far the mode is. */
static double distance_to_mode(const problem *p, const fab_gauss *q)
{
    const truth t = truth_at(p, q->mu);
    const real *S = dense_inverse(t.P, t.A), *step = dense_mul(t.P, t.P, 1, S, t.gradient);
    double worst = 0;
    for (int64_t i = 0; i < t.P; i++)
        worst = fmax(worst, (double)r_abs(step[i] / r_sqrt(S[i * t.P + i])));
    return worst;
}

static void compare(const problem *p, double tol)
{
    fab_infer *f = fitted("laplace", p);
    const fab_gauss *q = posterior_of(f);
    const truth t = truth_at(p, q->mu);
    const int64_t n = t.P * t.P;
    const real *S = dense_inverse(t.P, t.A);
    const fab_inference r = report_of(f);
    assert_int_equal(r.converged, 1);
    assert_near(distance_to_mode(p, q), 0, tol);
    assert_near(dense_norm(n, dense_minus(n, dense_covariance(q), S)) / dense_norm(n, S), 0, tol);
    assert_near(r.log_evidence, (dense_logdet(t.P, t.prior) - dense_logdet(t.P, t.A)) / 2 - t.value,
                tol * (1 + fabs(r.log_evidence)));
    fab_infer_free(f);
}

/* ---- the posterior ---------------------------------------------------------------------------- */

static void mode_curvature_and_evidence_are_right(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++)
        for (int way = 0; way < 4; way++) {
            problem p = some_problem((fab_likelihood)l, 97, l == FAB_CATEGORICAL ? 4 : 11, 3);
            p.m.intercept = way & 1;
            if (way & 2) add_weights(&p);
            compare(&p, 1e-10);
        }
}

static void odd_sizes_fit(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{1, 1}, {2, 1}, {300, 1}, {5, 11}, {1, 11}, {513, 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int l = 0; l < 4; l++) {
            const problem p = some_problem((fab_likelihood)l, sizes[i][0], sizes[i][1], 5);
            compare(&p, 1e-9);
        }
}

static void a_given_prior_takes_the_place_of_alpha(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++)
        for (int form = 0; form < 2; form++) {
            problem p = some_problem((fab_likelihood)l, 40, 3, 7);
            fab_gauss *g = some_gauss((fab_form)form, FAB_F64, fab_glm_size(&p.m), 2, 17, 0.5);
            p.prior = g;
            compare(&p, 1e-10);
            fab_gauss_free(g);
        }
}

/* A weight of 3 is a row given three times. */
static void weights_repeat_rows(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++) {
        problem p = some_problem((fab_likelihood)l, 20, 2, 9), many = p;
        p.weight = doubles(20);
        many.N = 60, many.x = doubles(120), many.y = doubles(60);
        for (int64_t j = 0; j < 60; j++) {
            p.weight[j / 3] = 3;
            many.y[j] = p.y[j / 3];
            memcpy(many.x + 2 * j, p.x + 2 * (j / 3), 16);
        }
        fab_infer *f = fitted("laplace", &p), *g = fitted("laplace", &many);
        for (int64_t i = 0; i < fab_glm_size(&p.m); i++)
            assert_near(posterior_of(f)->mu[i], posterior_of(g)->mu[i], 1e-9);
        fab_infer_free(f);
        fab_infer_free(g);
    }
}

/* Two classes, each with precision alpha: the difference of their coefficients has alpha / 2. */
static void two_classes_are_a_logistic_model(void **state)
{
    (void)state;
    problem two = some_problem(FAB_BERNOULLI, 60, 3, 11), c = two;
    c.m.likelihood = FAB_CATEGORICAL;
    c.m.classes = 2;
    two.alpha = c.alpha / 2;
    two.intercept_alpha = c.intercept_alpha / 2;
    fab_infer *f = fitted("laplace", &two), *g = fitted("laplace", &c);
    const double *a = posterior_of(f)->mu, *b = posterior_of(g)->mu;
    for (int64_t i = 0; i < 4; i++) assert_near(a[i], b[4 + i] - b[i], 1e-8);
    assert_near(report_of(f).log_evidence, report_of(g).log_evidence, 1e-9);
    fab_infer_free(f);
    fab_infer_free(g);
}

/* ---- the evidence ----------------------------------------------------------------------------- */

/* log of the integral over one coefficient, by the trapezoid rule */
static double integrated(const problem *p, const fab_gauss *q, double sd)
{
    const int steps = 300;
    double sum = 0, top = 0;
    for (int i = -steps; i <= steps; i++) {
        const double theta = q->mu[0] + 12 * sd * i / steps,
                     at = (double)-truth_at(p, &theta).value;
        if (i == -steps) top = (double)-truth_at(p, q->mu).value;
        sum += exp(at - top);
    }
    return top + log(sum * 12 * sd / steps) + 0.5 * log(p->alpha / 6.283185307179586);
}

/* Exact for a gaussian target; for 60 rows of the others its error is of order 1/N. */
static void the_evidence_is_near_the_integral(void **state)
{
    (void)state;
    for (int l = 0; l < 3; l++) {
        problem p = some_problem((fab_likelihood)l, 60, 1, 13);
        p.m.intercept = 0;
        fab_infer *f = fitted("laplace", &p);
        const fab_gauss *q = posterior_of(f);
        const double sd = sqrt((double)dense_covariance(q)[0]),
                     off = report_of(f).log_evidence - integrated(&p, q, sd);
        assert_true(fabs(off) < (l == FAB_GAUSSIAN ? 1e-10 : 0.05));
        fab_infer_free(f);
    }
}

static void alpha_is_at_the_top_of_the_evidence(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++) {
        problem p = some_problem((fab_likelihood)l, 200, 3, 15);
        p.alpha = FAB_AUTO_F64;
        fab_infer *f = fitted("laplace", &p);
        const fab_inference best = report_of(f);
        fab_infer_free(f);
        for (int k = -3; k <= 3; k++) {
            p.alpha = best.alpha * exp(k * 0.7);
            f = fitted("laplace", &p);
            assert_true(report_of(f).log_evidence <= best.log_evidence + 1e-8);
            fab_infer_free(f);
        }
    }
}

/* ---- odd data --------------------------------------------------------------------------------- */

static void separable_data_have_a_finite_mode(void **state)
{
    (void)state;
    problem p = some_problem(FAB_BERNOULLI, 40, 2, 19);
    for (int64_t j = 0; j < 40; j++) p.y[j] = p.x[2 * j] > 0;
    const double alpha[] = {1, 1e-6, FAB_AUTO_F64};
    for (int i = 0; i < 3; i++) {
        p.alpha = alpha[i];
        if (i < 2) compare(&p, 1e-6);
        fab_infer_free(fitted("laplace", &p));
    }
}

static void one_class_alone_fits(void **state)
{
    (void)state;
    for (int y = 0; y < 2; y++)
        for (int automatic = 0; automatic < 2; automatic++) {
            problem p = some_problem(FAB_BERNOULLI, 40, 2, 19);
            for (int64_t j = 0; j < 40; j++) p.y[j] = y;
            if (!automatic) compare(&p, 1e-8);
            if (automatic) p.alpha = FAB_AUTO_F64;
            fab_infer *f = fitted("laplace", &p);
            assert_true((posterior_of(f)->mu[2] > 0) == y);
            fab_infer_free(f);
        }
}

/* Gradients of rows at 1e9 are good to 1e9 * 4e-16 each, standard deviations are 1e-5: 1e-2 of 1e-5 is little. */
static void counts_of_a_billion_fit(void **state)
{
    (void)state;
    for (int64_t intercept = 0; intercept < 2; intercept++) {
        problem p = some_problem(FAB_POISSON, 40, 2, 21);
        p.m.intercept = intercept;
        for (int64_t j = 0; j < 40; j++) {
            if (!intercept) p.x[2 * j] = 1;
            p.y[j] = floor(1e9 * exp(0.3 * p.x[2 * j + 1]));
        }
        fab_infer *f = fitted("laplace", &p);
        const fab_gauss *q = posterior_of(f);
        assert_near(q->mu[1], 0.3, 1e-6);
        assert_int_equal(report_of(f).converged, 1);
        fab_infer_free(f);
        p.alpha = FAB_AUTO_F64;
        fab_infer_free(fitted("laplace", &p));
    }
}

static void columns_of_any_scale_fit(void **state)
{
    (void)state;
    for (int l = 0; l < 3; l++) {
        problem p = some_problem((fab_likelihood)l, 40, 3, 23);
        for (int64_t j = 0; j < 40; j++) {
            p.x[3 * j] *= 1e-12;
            if (l == FAB_BERNOULLI) p.x[3 * j + 1] *= 1e12;
            p.x[3 * j + 2] = 0;
        }
        compare(&p, 1e-6);
        p.alpha = FAB_AUTO_F64;
        fab_infer_free(fitted("laplace", &p));
    }
}

/* ---- rank K ----------------------------------------------------------------------------------- */

static fab_infer *fitted_rank(const problem *p, int64_t K, const fab_exec *x)
{
    fab_laplace_settings s = settings_of(p);
    fab_infer *f;
    s.K = K;
    assert_ok(try_with(&f, "laplace", p, &s, x));
    return f;
}

static void few_rows_are_kept_whole(void **state)
{
    (void)state;
    const problem p = some_problem(FAB_BERNOULLI, 9, 29, 25);
    fab_infer *f = fitted_rank(&p, 12, NULL);
    const fab_gauss *q = posterior_of(f);
    assert_int_equal(q->form, FAB_PRECISION);
    assert_int_equal(q->K, 9);
    const truth t = truth_at(&p, q->mu);
    assert_near(dense_norm(900, dense_minus(900, dense_matrix(q), t.A)) / dense_norm(900, t.A), 0,
                1e-12);
    fab_infer_free(f);
}

/* Nearer with a higher rank, and the diagonal of the precision is kept. */
static void a_higher_rank_is_nearer(void **state)
{
    (void)state;
    const problem p = some_problem(FAB_BERNOULLI, 400, 29, 27);
    fab_infer *full = fitted("laplace", &p);
    double before = INFINITY, kl;
    for (int64_t K = 2; K < 30; K += 9) {
        fab_infer *f = fitted_rank(&p, K, NULL);
        const fab_gauss *q = posterior_of(f);
        assert_int_equal(q->K, K);
        assert_ok(fab_distance_kl(q, posterior_of(full), NULL, &kl));
        assert_true(kl < before && kl < 5);
        before = kl;
        fab_infer_free(f);
    }
    fab_infer_free(full);
}

/* The gradient of the log posterior in doubles, for models too large for the oracle. */
static double largest_gradient(const problem *p, const double *theta)
{
    const int64_t D = p->m.D, w = D + p->m.intercept, C = p->m.classes;
    double *g = doubles(C * w), worst = 0;
    for (int64_t i = 0; i < C * w; i++)
        g[i] = theta[i] * (i % w < D ? p->alpha : p->intercept_alpha);
    for (int64_t j = 0; j < p->N; j++) {
        double eta[8] = {0}, slope[8];
        for (int64_t i = 0; i < C * w; i++)
            eta[i / w] += theta[i] * (i % w < D ? p->x[j * D + i % w] : 1);
        fab_glm_loglik(&p->m, p->y[j], eta, slope, NULL);
        for (int64_t i = 0; i < C * w; i++)
            g[i] -= slope[i / w] * (i % w < D ? p->x[j * D + i % w] : 1);
    }
    for (int64_t i = 0; i < C * w; i++) worst = fmax(worst, fabs(g[i]));
    return worst;
}

static void many_coordinates_go_by_lbfgs(void **state)
{
    (void)state;
    problem p = some_problem(FAB_BERNOULLI, 30, FAB_LAPLACE_MAX + 100, 29);
    fab_laplace_settings s = settings_of(&p);
    fab_infer *f;
    s.K = 40;
    p.alpha = s.alpha = 1;
    assert_ok(try_with(&f, "laplace", &p, &s, NULL));
    const fab_gauss *q = posterior_of(f);
    assert_true(largest_gradient(&p, q->mu) <
                1e-3); /* precisions are at least 1, but for the intercept's */
    assert_int_equal(q->K, 30);
    fab_infer_free(f);
    s.alpha = FAB_AUTO_F64;
    assert_refused(try_with(&f, "laplace", &p, &s, NULL), FAB_UNSUPPORTED, "alpha must be given");
    s.alpha = 1, s.likelihood = FAB_CATEGORICAL, s.classes = 3;
    assert_refused(try_with(&f, "laplace", &p, &s, NULL), FAB_UNSUPPORTED, "categorical");
}

static void map_goes_by_lbfgs_for_every_likelihood(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++) {
        problem p = some_problem((fab_likelihood)l, 30, l == FAB_CATEGORICAL ? 700 : 2100, 29);
        p.intercept_alpha = 1;
        fab_infer *f = fitted("map", &p);
        assert_int_equal(report_of(f).converged, 1);
        assert_true(largest_gradient(&p, posterior_of(f)->mu) <
                    1e-3); /* precisions are at least 0.7 */
        fab_infer_free(f);
    }
}

/* ---- the method ------------------------------------------------------------------------------- */

static void map_is_the_mean_of_laplace(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++) {
        const problem p = some_problem((fab_likelihood)l, 40, 3, 31);
        fab_infer *f = fitted("laplace", &p), *g = fitted("map", &p);
        assert_int_equal(posterior_of(g)->form, FAB_POINT);
        assert_memory_equal(posterior_of(f)->mu, posterior_of(g)->mu,
                            (size_t)fab_glm_size(&p.m) * 8);
        fab_infer_free(f);
        fab_infer_free(g);
    }
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    const problem p = some_problem(FAB_BERNOULLI, 400, 29, 33);
    const fab_exec one = {.threads = 1}, four = {.threads = 4};
    for (int64_t K = 5; K <= 30; K += 25) {
        fab_infer *f = fitted_rank(&p, K, &one), *g = fitted_rank(&p, K, &four);
        const fab_gauss *a = posterior_of(f), *b = posterior_of(g);
        assert_memory_equal(a->mu, b->mu, 30 * 8);
        assert_memory_equal(a->psi, b->psi, 30 * 8);
        assert_memory_equal(a->F, b->F, (size_t)(30 * a->K) * 8);
        fab_infer_free(f);
        fab_infer_free(g);
    }
}

static void what_is_not_offered_is_said(void **state)
{
    (void)state;
    problem p = some_problem(FAB_GAUSSIAN, 20, 3, 35);
    fab_laplace_settings s = settings_of(&p);
    fab_infer *f;
    s.beta = FAB_AUTO_F64;
    assert_refused(try_with(&f, "laplace", &p, &s, NULL), FAB_UNSUPPORTED, "exact finds it");
    s = settings_of(&p);
    s.alpha = FAB_AUTO_F64;
    memset(p.x, 0, 60 * 8);
    assert_refused(try_with(&f, "laplace", &p, &s, NULL), FAB_BAD_DATA, "give alpha");
    fab_gauss *g = some_gauss(FAB_PRECISION, FAB_F64, 4, 1, 1, 1);
    s = settings_of(&p);
    s.K = 2;
    p.prior = g;
    assert_refused(try_with(&f, "laplace", &p, &s, NULL), FAB_UNSUPPORTED,
                   "rank K with a given prior");
    fab_gauss_free(g);
}

static int64_t rank_now;
static const fab_gauss *prior_now;

static fab_status fit_once(void)
{
    static double x[60 * 5], y[60];
    fab_random_normal(5, 5, 0, 60 * 5, FAB_F64, x);
    for (int j = 0; j < 60; j++) y[j] = x[5 * j] + x[5 * j + 1] > 0.3;
    const problem p = {
        .m = {.likelihood = FAB_BERNOULLI, .D = 5, .classes = 1, .intercept = 1, .beta = 1},
        .N = 60,
        .x = x,
        .y = y,
        .alpha = 1,
        .intercept_alpha = 1,
        .prior = prior_now};
    fab_laplace_settings s = settings_of(&p);
    fab_infer *f;
    s.K = rank_now;
    const fab_status status = try_with(&f, "laplace", &p, &s, NULL);
    fab_infer_free(f);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_COVARIANCE, FAB_F64, 6, 2, 17, 1);
    for (rank_now = 2; rank_now <= 6; rank_now += 4)
        assert_true(fail_every_allocation(fit_once) >= 5);
    prior_now = g;
    rank_now = 6;
    assert_true(fail_every_allocation(fit_once) >= 5);
    fab_gauss_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mode_curvature_and_evidence_are_right),
        TEST(odd_sizes_fit),
        TEST(a_given_prior_takes_the_place_of_alpha),
        TEST(weights_repeat_rows),
        TEST(two_classes_are_a_logistic_model),
        TEST(the_evidence_is_near_the_integral),
        TEST(alpha_is_at_the_top_of_the_evidence),
        TEST(separable_data_have_a_finite_mode),
        TEST(one_class_alone_fits),
        TEST(counts_of_a_billion_fit),
        TEST(columns_of_any_scale_fit),
        TEST(few_rows_are_kept_whole),
        TEST(a_higher_rank_is_nearer),
        TEST(many_coordinates_go_by_lbfgs),
        TEST(map_goes_by_lbfgs_for_every_likelihood),
        TEST(map_is_the_mean_of_laplace),
        TEST(any_number_of_threads_gives_the_same_bytes),
        TEST(what_is_not_offered_is_said),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
