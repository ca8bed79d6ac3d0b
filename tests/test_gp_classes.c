/* test_gp_classes.c - the method gp of several classes against a plain Laplace approximation of all classes at once.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "plain.h"
#include "fabayes/fit.h"
#include "fit/fit.h"
#include "methods/gp/classes.h"
#include "methods/gp/laplace.h"
#include "model/likelihoods/softmax.h"

enum { N = 29, D = 2 };

typedef struct rows {
    int64_t n, C;
    double *x, *y, *weight, *offset;
} rows;

/* Classes of a softmax of three curves. */
static rows some_rows(int64_t n, int64_t C)
{
    rows r = {n, C, doubles(n * D), doubles(n), doubles(n), doubles(n)};
    double *u = doubles(n);
    fab_random_normal(17, FAB_PURPOSE_DATA, 1, 0, n * D, FAB_F64, r.x);
    fab_random_uniform(17, FAB_PURPOSE_DATA, 2, 0, n, u);
    fab_random_uniform(17, FAB_PURPOSE_DATA, 3, 0, n, r.weight);
    fab_random_normal(17, FAB_PURPOSE_DATA, 4, 0, n, FAB_F64, r.offset);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0, at = 0;
        r.weight[i] += 0.4;
        for (int64_t c = 0; c < C; c++) sum += exp(2 * sin(1.3 * r.x[i * D] + 2.1 * (double)c));
        r.y[i] = (double)(C - 1);
        for (int64_t c = C - 1; c >= 0; c--) {
            at += exp(2 * sin(1.3 * r.x[i * D] + 2.1 * (double)c)) / sum;
            if (u[i] < at) {
                r.y[i] = (double)c;
                break;
            }
        }
    }
    for (int64_t c = 0; c < C; c++) r.y[c] = (double)c; /* each is there */
    return r;
}

static fab_evidence_rows evidence_of(const rows *r)
{
    return (fab_evidence_rows){r->n, r->x, r->y, r->weight, r->offset};
}

static fab_kernel *kernel_of(const char *text)
{
    fab_kernel *k;
    assert_ok(fab_kernel_create(&k, text, D, NULL));
    return k;
}

/* ---- a plain Laplace approximation ------------------------------------------------------------------------- */

/* log q(y) with all C n predictors as one vector, K^-1 (+ W) dense; f: C x n.  A: K^-1 + W at the mode, (C n)^2. */
static double plain_laplace(const rows *r, const double *K, double *f, double *A)
{
    const int64_t n = r->n, C = r->C, all = C * n;
    double *Ki = doubles(n * n), *S = doubles(all * all), *L = doubles(all * all),
           *b = doubles(all), *p = doubles(C), logp = 0, quad = 0, det = 0;
    plain_inverse(n, K, Ki);
    memset(f, 0, (size_t)all * sizeof *f);
    for (int step = 0; step < 40; step++) {
        logp = 0;
        memset(A, 0, (size_t)(all * all) * sizeof *A);
        for (int64_t c = 0; c < C; c++)
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) A[(c * n + i) * all + c * n + j] = Ki[i * n + j];
        for (int64_t i = 0; i < n; i++) {
            const double w = r->weight[i];
            double sum = 0;
            for (int64_t c = 0; c < C; c++) sum += p[c] = exp(f[c * n + i]);
            logp += w * log(p[(int64_t)r->y[i]] / sum);
            for (int64_t c = 0; c < C; c++) p[c] /= sum;
            for (int64_t c = 0; c < C; c++) {
                b[c * n + i] = w * ((r->y[i] == (double)c) - p[c]);
                for (int64_t d = 0; d < C; d++) {
                    const double W = w * ((c == d) * p[c] - p[c] * p[d]);
                    A[(c * n + i) * all + d * n + i] += W;
                    b[c * n + i] += W * f[d * n + i];
                }
            }
        }
        plain_inverse(all, A, S);
        plain_mm(0, 0, all, 1, all, S, b, f);
    }
    for (int64_t c = 0; c < C; c++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) quad += f[c * n + i] * Ki[i * n + j] * f[c * n + j];
    plain_chol(all, A, L);
    for (int64_t i = 0; i < all; i++) det += log(L[i * all + i]);
    plain_chol(n, K, L);
    for (int64_t i = 0; i < n; i++) det += (double)C * log(L[i * n + i]);
    return logp - quad / 2 - det;
}

static const int64_t some_classes[] = {2, 3, 5};

static void mode_evidence_and_covariances_are_those_of_plain_laplace(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        const int64_t C = some_classes[which], all = C * N, m = 7;
        const rows r = some_rows(N, C);
        const fab_evidence_rows e = evidence_of(&r);
        fab_glm glm = {.likelihood = FAB_LIKELIHOOD_CATEGORICAL, .D = D, .classes = C};
        fab_kernel *k = kernel_of("1.7*matern12:l=0.8 + 0.3*linear");
        double *K = doubles(N * N), *Ki = doubles(N * N), *f = doubles(all),
               *A = doubles(all * all), *Ai = doubles(all * all), *z = doubles(m * D),
               *k1 = doubles(m * N), *k2 = doubles(m * m), *t = doubles(N), theta[8], lml;
        void *self;
        fab_class_process *p;
        assert_ok(fab_gp_classes.create(&self, &glm, k, &e, NULL));
        fab_kernel_get(k, theta);
        assert_ok(fab_gp_classes.at(self, theta, 0, &lml, NULL));
        assert_ok(fab_kernel_gram(k, N, r.x, D, K, N, NULL));
        const double truth = plain_laplace(&r, K, f, A);
        assert_true(fabs(lml - truth) < 1e-9 * (1 + fabs(truth)));
        assert_ok(fab_gp_classes_process(self, &p));
        fab_gp_classes.close(self);
        double *mean = doubles(N * C), *S = doubles(m * C * C);
        assert_ok(fab_class_process_predict(p, N, r.x, D, mean, NULL));
        for (int64_t i = 0; i < N; i++)
            for (int64_t c = 0; c < C; c++)
                assert_true(fabs(mean[i * C + c] - f[c * N + i]) < 1e-9);
        /* cov(f*) = k** - k* K^-1 (K - A^-1) K^-1 k*' */
        for (int64_t i = 0; i < m * D; i++) z[i] = 0.9 * r.x[i] + 0.2;
        assert_ok(fab_class_process_predict(p, m, z, D, mean, S));
        assert_ok(fab_kernel_cross(k, m, z, D, N, r.x, D, k1, N, NULL));
        assert_ok(fab_kernel_gram(k, m, z, D, k2, m, NULL));
        plain_inverse(N, K, Ki);
        plain_inverse(all, A, Ai);
        for (int64_t i = 0; i < m; i++) {
            plain_mm(0, 0, N, 1, N, Ki, k1 + i * N, t);
            for (int64_t c = 0; c < C; c++)
                for (int64_t d = 0; d < C; d++) {
                    double want = 0;
                    for (int64_t u = 0; u < N && c == d; u++) want -= k1[i * N + u] * t[u];
                    if (c == d) want += k2[i * m + i];
                    for (int64_t u = 0; u < N; u++)
                        for (int64_t v = 0; v < N; v++)
                            want += t[u] * Ai[(c * N + u) * all + d * N + v] * t[v];
                    assert_true(fabs(S[(i * C + c) * C + d] - want) < 1e-9);
                }
        }
        fab_class_process_free(p);
        fab_kernel_free(k);
    }
}

/* Four central differences of step h: h^4 and rounding / h, below 1e-9 each. */
static void the_gradient_is_that_of_plain_laplace(void **state)
{
    (void)state;
    enum { FEW = 13 };
    const double h = 1e-2, by[] = {1.0 / 12, -2.0 / 3, 2.0 / 3, -1.0 / 12}, at[] = {-2, -1, 1, 2};
    const int64_t C = 3;
    const rows r = some_rows(FEW, C);
    const fab_evidence_rows e = evidence_of(&r);
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_CATEGORICAL, .D = D, .classes = C};
    fab_kernel *k = kernel_of("rbf:ard + matern12");
    const int64_t size = fab_kernel_size(k);
    double *K = doubles(FEW * FEW), *f = doubles(C * FEW), *A = doubles(C * FEW * C * FEW),
           theta[8], g[8], lml;
    void *self;
    assert_true(size < 8);
    fab_kernel_get(k, theta);
    for (int64_t i = 0; i < size; i++) theta[i] += 0.3 * (double)(i % 3 - 1);
    assert_ok(fab_gp_classes.create(&self, &glm, k, &e, NULL));
    assert_ok(fab_gp_classes.at(self, theta, 0, &lml, g));
    for (int64_t i = 0; i < size; i++) {
        const double was = theta[i];
        double slope = 0, coarse = 0;
        for (int which = 0; which < 4; which++)
            for (int twice = 0; twice < 2; twice++) {
                theta[i] = was + at[which] * h / (1 + twice);
                assert_ok(fab_kernel_set(k, theta));
                assert_ok(fab_kernel_gram(k, FEW, r.x, D, K, FEW, NULL));
                const double value = by[which] * plain_laplace(&r, K, f, A) / h;
                if (twice)
                    slope += 2 * value;
                else
                    coarse += value;
            }
        slope += (slope - coarse) / 15; /* Richardson */
        theta[i] = was;
        if (!(fabs(g[i] - slope) < 1e-8 * (1 + fabs(slope))))
            fail_msg("parameter %lld: %.12g, expected %.12g", (long long)i, g[i], slope);
    }
    fab_gp_classes.close(self);
    fab_kernel_free(k);
}

/* f_1 - f_0 of two classes is one process with twice the kernel. */
static void two_classes_are_one_process_of_twice_the_kernel(void **state)
{
    (void)state;
    const rows r = some_rows(N, 2);
    fab_evidence_rows e = evidence_of(&r);
    e.offset = NULL; /* softmax does not see one that both classes have */
    fab_glm several = {.likelihood = FAB_LIKELIHOOD_CATEGORICAL, .D = D, .classes = 2},
            one = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = D, .classes = 1};
    fab_kernel *k = kernel_of("3*rbf:l=0.9"), *k2 = kernel_of("6*rbf:l=0.9");
    double theta[4], theta2[4], a, b;
    void *left, *right;
    fab_kernel_get(k, theta);
    fab_kernel_get(k2, theta2);
    assert_ok(fab_gp_classes.create(&left, &several, k, &e, NULL));
    assert_ok(fab_gp_laplace.create(&right, &one, k2, &e, NULL));
    double g[4], g2[4];
    assert_ok(fab_gp_classes.at(left, theta, 0, &a, g));
    assert_ok(fab_gp_laplace.at(right, theta2, 0, &b, g2));
    assert_true(fabs(a - b) < 1e-10 * (1 + fabs(b)));
    for (int i = 0; i < 2; i++) assert_true(fabs(g[i] - g2[i]) < 1e-8 * (1 + fabs(g2[i])));
    fab_gp_classes.close(left);
    fab_gp_laplace.close(right);
    fab_kernel_free(k);
    fab_kernel_free(k2);
}

/* A variance as small as that a row says nothing; one as large that all are certain; far lengths. */
static void extreme_parameters_have_a_mode(void **state)
{
    (void)state;
    const rows r = some_rows(N, 3);
    const fab_evidence_rows e = evidence_of(&r);
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_CATEGORICAL, .D = D, .classes = 3};
    fab_kernel *k = kernel_of("rbf");
    void *self;
    assert_ok(fab_gp_classes.create(&self, &glm, k, &e, NULL));
    for (double a = -20; a <= 12; a += 4)
        for (double b = -6; b <= 6; b += 4) {
            const double theta[] = {a, b};
            double lml, g[2];
            assert_ok(fab_gp_classes.at(self, theta, 0, &lml, g));
            assert_true(isfinite(lml) && isfinite(g[0]) && isfinite(g[1]));
        }
    fab_gp_classes.close(self);
    fab_kernel_free(k);
}

/* ---- the integral ------------------------------------------------------------------------------------------ */

/* E softmax of independent predictors: with noise of Gumbel's added, each class has the largest with its probability, so that
 * p_k is the integral of the density of its maximum times the others' distribution functions, all of them single integrals. */
static void plain_softmax_by(double h, double e, int64_t C, const double *mean, const double *sd,
                             double *p)
{
    enum { MOST_CLASSES = 16, MOST_Z = 256 };
    double high = mean[0], low = mean[0], w[MOST_Z], up[MOST_CLASSES][MOST_Z], all = 0;
    double F[MOST_CLASSES], g[MOST_CLASSES];
    int64_t zs = 0;
    for (double z = -8; z < 8 + e / 2; z += e, zs++) {
        assert_true(zs < MOST_Z && C <= MOST_CLASSES);
        w[zs] = exp(-z * z / 2);
        all += w[zs];
        for (int64_t c = 0; c < C; c++) up[c][zs] = exp(sd[c] * z);
    }
    for (int64_t c = 0; c < C; c++) {
        high = fmax(high, mean[c] + 9 * sd[c] + 40);
        low = fmin(low, mean[c] - 9 * sd[c] - 6);
    }
    memset(p, 0, (size_t)C * sizeof *p);
    for (double t = low; t < high; t += h) {
        for (int64_t c = 0; c < C; c++) {
            const double at = exp(mean[c] - t);
            F[c] = g[c] = 0;
            for (int64_t i = 0; i < zs; i++) {
                const double a = at * up[c][i]; /* exp(-(t - mean - sd z)) */
                if (a > 700) break;             /* and those behind it are larger */
                const double f = a < 1e-17 ? 1 : exp(-a);
                F[c] += w[i] * f;
                g[c] += w[i] * a * f;
            }
            F[c] /= all;
            g[c] /= all;
        }
        for (int64_t c = 0; c < C; c++) {
            double others = h * g[c];
            for (int64_t d = 0; d < C; d++) others *= d == c ? 1 : F[d];
            p[c] += others;
        }
    }
}

/* Both are sums of analytic functions in even steps, whose errors fall as exp(-pi^2 / h) = 1e-17 and, for a standard deviation of at
 * most 3.9, exp(-pi^2 / (3.9 e)) = 2e-14. */
static void plain_softmax(int64_t C, const double *mean, const double *sd, double *p)
{
    plain_softmax_by(0.25, 0.08, C, mean, sd, p);
}

/* The table of softmax.c. */
static const struct {
    int64_t C;
    double sd, error;
} rule[] = {{2, 0.3, 1e-9}, {2, 1, 1e-9},   {2, 3, 1e-9},   {3, 0.3, 1e-8},  {3, 1, 1e-8},
            {3, 3, 1e-8},   {4, 0.3, 2e-8}, {4, 1, 2e-8},   {4, 3, 2e-8},    {5, 0.3, 1e-6},
            {5, 1, 1e-8},   {5, 3, 1e-8},   {6, 0.3, 1e-8}, {6, 1, 2e-8},    {6, 3, 1e-8},
            {8, 0.3, 1e-8}, {8, 1, 2e-8},   {8, 3, 1e-8},   {10, 0.3, 1e-8}, {10, 1, 2e-8},
            {10, 3, 1e-8}};

/* Predictors that are correlated: independent ones and two random directions, whose integrals are sums in steps that move no
 * predictor by more than its scale and some (0.3 of a standard deviation, over the length of the direction), the single ones in steps
 * of 0.3. */
static void correlated_classes_are_integrals_over_what_they_share(void **state)
{
    (void)state;
    static const struct {
        int64_t C;
        double sd, u, v;
    } cases[] = {{6, 0.5, 0.6, 0.3}, {6, 1.5, 1.2, 0.4}, {7, 1, 2, 0.1}, {6, 2.5, 0.5, 0.5}};
    for (size_t which = 0; which < sizeof cases / sizeof *cases; which++) {
        const int64_t C = cases[which].C;
        double mean[8], sd[8], u[8], v[8], S[64], p[8], m[8], want[8] = {0}, all = 0, logp[8];
        fab_softmax *s;
        fab_random_normal(33, FAB_PURPOSE_DATA, 4 * which, 0, C, FAB_F64, mean);
        fab_random_normal(33, FAB_PURPOSE_DATA, 4 * which + 1, 0, C, FAB_F64, u);
        fab_random_normal(33, FAB_PURPOSE_DATA, 4 * which + 2, 0, C, FAB_F64, v);
        fab_random_uniform(33, FAB_PURPOSE_DATA, 4 * which + 3, 0, C, sd);
        for (int64_t c = 0; c < C; c++) sd[c] = cases[which].sd * (0.5 + sd[c]);
        for (int64_t c = 0; c < C; c++)
            for (int64_t d = 0; d < C; d++)
                S[c * C + d] = cases[which].u * cases[which].u * u[c] * u[d] +
                               cases[which].v * cases[which].v * v[c] * v[d] +
                               (c == d ? sd[c] * sd[c] : 0) + 0.7;
        const double h = 0.3 / fmax(0.75, cases[which].u), k = 0.4;
        for (double y = -6.5; y < 6.5; y += h)
            for (double z = -6.5; z < 6.5; z += k) {
                const double w = exp(-(y * y + z * z) / 2);
                if (y * y + z * z > 40) continue;
                for (int64_t c = 0; c < C; c++)
                    m[c] = mean[c] + y * cases[which].u * u[c] + z * cases[which].v * v[c];
                plain_softmax_by(0.3, 0.3, C, m, sd, p);
                for (int64_t c = 0; c < C; c++) want[c] += w * p[c];
                all += w;
            }
        double most = 0;
        assert_ok(fab_softmax_init_fine(&s, C));
        assert_ok(fab_softmax_logp(s, 0, mean, S, logp));
        for (int64_t c = 0; c < C; c++) most = fmax(most, fabs(exp(logp[c]) - want[c] / all));
        print_message("%lld correlated classes, standard deviation %g: %.1e\n", (long long)C,
                      cases[which].sd, most);
        assert_true(most < 1e-6);
        fab_softmax_free(s);
    }
}

static void the_fine_rule_is_as_fine_as_it_says(void **state)
{
    (void)state;
    for (size_t which = 0; which < sizeof rule / sizeof *rule; which++) {
        const int64_t C = rule[which].C;
        fab_softmax *s;
        double mean[16], sd[16], S[256] = {0}, p[16], logp[16], most = 0;
        assert_ok(fab_softmax_init_fine(&s, C));
        for (uint64_t repeat = 0; repeat < 4; repeat++) {
            double sum = 0;
            fab_random_normal(31, FAB_PURPOSE_DATA, 10 * which + repeat, 0, C, FAB_F64, mean);
            fab_random_uniform(32, FAB_PURPOSE_DATA, 10 * which + repeat, 0, C, sd);
            for (int64_t c = 0; c < C; c++) {
                mean[c] *= 1.5;
                sd[c] = rule[which].sd * (0.5 + 0.8 * sd[c]);
                for (int64_t d = 0; d < C; d++) S[c * C + d] = 2.5; /* common: is not seen */
                S[c * C + c] += sd[c] * sd[c];
            }
            plain_softmax(C, mean, sd, p);
            assert_ok(fab_softmax_logp(s, 0, mean, S, logp));
            for (int64_t c = 0; c < C; c++) {
                most = fmax(most, fabs(exp(logp[c]) - p[c]));
                sum += exp(logp[c]);
            }
            assert_true(fabs(sum - 1) < 1e-12);
        }
        print_message("%lld classes, standard deviation %g: %.1e\n", (long long)C, rule[which].sd,
                      most);
        assert_true(most < rule[which].error);
        fab_softmax_free(s);
    }
}

/* ---- the method -------------------------------------------------------------------------------------------- */

typedef struct setup {
    fab_glm glm;
    fab_kernel *k;
    fab_model model;
} setup;

static void open_setup(setup *s, int64_t C, const char *kernel)
{
    s->glm = (fab_glm){.likelihood = FAB_LIKELIHOOD_CATEGORICAL, .D = D, .classes = C};
    s->k = kernel_of(kernel);
    s->model = fab_model_kernel(&s->glm, s->k);
}

static fab_examples part_of(const rows *r, int64_t first, int64_t n)
{
    return (fab_examples){.x = {r->x + first * D, FAB_F64, n, D},
                          .y = r->y + first,
                          .weight = r->weight + first,
                          .offset = r->offset + first};
}

static fab_fit *fit_of(const setup *s, const fab_gp_settings *how, const fab_exec *x)
{
    fab_fit *f;
    assert_ok(
        fab_fit_create(&f, "gp", how, how ? sizeof *how : 0, &(fab_input){.model = &s->model}, x));
    return f;
}

static void learn(fab_fit *f, const rows *r, int64_t first, int64_t n)
{
    const fab_examples e = part_of(r, first, n);
    const fab_gauss *q;
    assert_ok(fab_fit_update(f, &e));
    assert_ok(fab_fit_gauss(f, &q));
}

static void same_process(fab_fit *f, fab_fit *g, const rows *r, double tolerance)
{
    const int64_t C = r->C;
    fab_class_process *p, *q;
    double *mean = doubles(2 * r->n * C), *S = doubles(2 * r->n * C * C);
    assert_ok(fab_fit_classes(f, &p));
    assert_ok(fab_fit_classes(g, &q));
    assert_ok(fab_class_process_predict(p, r->n, r->x, D, mean, S));
    assert_ok(fab_class_process_predict(q, r->n, r->x, D, mean + r->n * C, S + r->n * C * C));
    for (int64_t i = 0; i < r->n * C; i++)
        assert_true(fabs(mean[i] - mean[r->n * C + i]) <= tolerance);
    for (int64_t i = 0; i < r->n * C * C; i++)
        assert_true(fabs(S[i] - S[r->n * C * C + i]) <= tolerance);
}

static void rows_that_are_appended_are_as_if_they_had_been_there(void **state)
{
    (void)state;
    const rows r = some_rows(N, 3);
    setup s;
    fab_report a, b;
    open_setup(&s, 3, "1.5*matern32:l=0.9 + 0.5*const");
    fab_fit *whole = fit_of(&s, NULL, NULL), *parts = fit_of(&s, NULL, NULL);
    learn(whole, &r, 0, N);
    learn(parts, &r, 0, 11);
    learn(parts, &r, 11, N - 11);
    same_process(whole, parts, &r, 1e-11);
    assert_ok(fab_fit_report(whole, &a));
    assert_ok(fab_fit_report(parts, &b));
    assert_true(fabs(a.log_evidence - b.log_evidence) < 1e-10);
    fab_fit_free(whole);
    fab_fit_free(parts);
    fab_kernel_free(s.k);
}

static void a_file_goes_on_where_the_fit_was(void **state)
{
    (void)state;
    const rows r = some_rows(N, 3);
    setup s;
    fab_fit *g;
    fab_tensors *file;
    void *bytes;
    size_t size;
    open_setup(&s, 3, "rbf + const");
    fab_fit *f = fit_of(&s, NULL, NULL);
    learn(f, &r, 0, 20);
    assert_ok(fab_fit_pack(f, 0, NULL, &bytes, &size));
    assert_ok(fab_tensors_parse(&file, "packed", bytes, size));
    assert_ok(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL));
    same_process(f, g, &r, 1e-10);
    learn(f, &r, 20, N - 20);
    learn(g, &r, 20, N - 20);
    same_process(f, g, &r, 1e-10);
    fab_fit_free(f);
    fab_fit_free(g);
    ((double *)fab_tensors_find(file, "y")->data)[3] = 3;
    assert_refused(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL), FAB_BAD_FILE,
                   "row 3 has y = 3");
    fab_tensors_free(file);
    fab_bytes_free(bytes);
    fab_kernel_free(s.k);
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    const rows r = some_rows(N, 4);
    setup s;
    open_setup(&s, 4, "rbf:ard");
    fab_fit *one = fit_of(&s, NULL, &(fab_exec){.threads = 1}),
            *three = fit_of(&s, NULL, &(fab_exec){.threads = 3});
    learn(one, &r, 0, N);
    learn(three, &r, 0, N);
    same_process(one, three, &r, 0);
    fab_fit_free(one);
    fab_fit_free(three);
    fab_kernel_free(s.k);
}

/* Draws of all classes have the means and the covariances of the predictions: 4000 of them, at five standard errors. */
static void draws_have_the_moments_of_predictions(void **state)
{
    (void)state;
    enum { DRAWS = 4000, M = 3, C = 3, ALL = M * C };
    const rows r = some_rows(N, C);
    setup s;
    fab_class_process *p;
    double *out = doubles(DRAWS * ALL), mean[ALL], S[M * C * C];
    open_setup(&s, C, "2*rbf:l=1");
    fab_fit *f = fit_of(&s, NULL, NULL);
    learn(f, &r, 0, N);
    assert_ok(fab_fit_classes(f, &p));
    assert_ok(fab_class_process_predict(p, M, r.x, D, mean, S));
    assert_ok(fab_class_process_draw(p, M, r.x, D, 3, FAB_PURPOSE_SAMPLE, 0, DRAWS, out, ALL));
    for (int64_t i = 0; i < M; i++)
        for (int64_t c = 0; c < C; c++) {
            const double vc = S[(i * C + c) * C + c];
            double sum = 0;
            for (int64_t j = 0; j < DRAWS; j++) sum += out[j * ALL + i * C + c] / DRAWS;
            assert_true(fabs(sum - mean[i * C + c]) < 5 * sqrt(vc / DRAWS));
            for (int64_t d = 0; d < C; d++) {
                const double want = S[(i * C + c) * C + d], vd = S[(i * C + d) * C + d];
                double cov = 0;
                for (int64_t j = 0; j < DRAWS; j++)
                    cov += (out[j * ALL + i * C + c] - mean[i * C + c]) *
                           (out[j * ALL + i * C + d] - mean[i * C + d]) / DRAWS;
                assert_true(fabs(cov - want) < 5 * sqrt((vc * vd + want * want) / DRAWS));
            }
        }
    fab_fit_free(f);
    fab_kernel_free(s.k);
}

static void too_many_rows_are_refused_with_the_memory_they_need(void **state)
{
    (void)state;
    const rows r = some_rows(N, 3);
    const fab_examples e = part_of(&r, 0, N);
    fab_gp_settings how = fab_gp_defaults();
    setup s;
    how.exact_limit = 40; /* as many numbers; of three classes sqrt(1/2) of it */
    open_setup(&s, 3, "rbf");
    fab_fit *f = fit_of(&s, &how, NULL);
    assert_refused(fab_fit_update(f, &e), FAB_UNSUPPORTED, "29 rows of 3 classes");
    assert_detail("at most 28", "GB");
    fab_fit_free(f);
    fab_kernel_free(s.k);
}

static rows small;
static setup kept;

static fab_status fit_small(void)
{
    fab_gp_settings how = fab_gp_defaults();
    const fab_examples e = part_of(&small, 0, 12), more = part_of(&small, 12, 2);
    const fab_gauss *q;
    fab_fit *f;
    how.starts = 1;
    fab_status s = fab_fit_create(&f, "gp", &how, sizeof how, &(fab_input){.model = &kept.model},
                                  &(fab_exec){.threads = 1});
    if (s == FAB_OK) s = fab_fit_update(f, &e);
    if (s == FAB_OK) s = fab_fit_gauss(f, &q);
    if (s == FAB_OK) s = fab_fit_update(f, &more);
    if (s == FAB_OK) s = fab_fit_gauss(f, &q);
    fab_fit_free(f);
    return s;
}

static void failing_allocations_are_reported(void **state)
{
    (void)state;
    small = some_rows(14, 3);
    open_setup(&kept, 3, "rbf");
    assert_true(fail_every_allocation(fit_small) > 5);
    fab_kernel_free(kept.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mode_evidence_and_covariances_are_those_of_plain_laplace),
        TEST(the_gradient_is_that_of_plain_laplace),
        TEST(two_classes_are_one_process_of_twice_the_kernel),
        TEST(extreme_parameters_have_a_mode),
        TEST(the_fine_rule_is_as_fine_as_it_says),
        TEST(correlated_classes_are_integrals_over_what_they_share),
        TEST(rows_that_are_appended_are_as_if_they_had_been_there),
        TEST(a_file_goes_on_where_the_fit_was),
        TEST(any_number_of_threads_gives_the_same_bits),
        TEST(draws_have_the_moments_of_predictions),
        TEST(too_many_rows_are_refused_with_the_memory_they_need),
        TEST(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
