/* test_gp.c - the method gp against exact linear regression, plain Laplace approximations, itself in pieces and its files.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "plain.h"
#include "fabayes/fit.h"
#include "fabayes/predict.h"
#include "fabayes/table.h"
#include "fit/fit.h"
#include "methods/gp/laplace.h"

enum { N = 29, D = 2 };

typedef struct rows {
    int64_t n;
    double *x, *y, *weight, *offset;
} rows;

/* Targets of each likelihood around sin(x_0). */
static rows some_rows(fab_likelihood l, int64_t n)
{
    rows r = {n, doubles(n * D), doubles(n), doubles(n), doubles(n)};
    double *e = doubles(n), *u = doubles(n);
    fab_random_normal(7, FAB_PURPOSE_DATA, 1, 0, n * D, FAB_F64, r.x);
    fab_random_normal(7, FAB_PURPOSE_DATA, 2, 0, n, FAB_F64, e);
    fab_random_uniform(7, FAB_PURPOSE_DATA, 3, 0, n, u);
    fab_random_uniform(7, FAB_PURPOSE_DATA, 4, 0, n, r.weight);
    for (int64_t i = 0; i < n; i++) {
        const double f = 2 * sin(1.5 * r.x[i * D]) + 0.5 * r.x[i * D + 1];
        r.weight[i] += 0.5;
        r.offset[i] = 0.3 * e[i];
        r.y[i] = f + r.offset[i] + 0.3 * e[i];
        if (l == FAB_LIKELIHOOD_BERNOULLI) r.y[i] = u[i] < 1 / (1 + exp(-f - r.offset[i]));
        if (l == FAB_LIKELIHOOD_POISSON) r.y[i] = floor(exp(f / 2 + r.offset[i]) + u[i]);
    }
    return r;
}

static fab_examples part_of(const rows *r, int64_t first, int64_t n)
{
    return (fab_examples){.x = {r->x + first * D, FAB_F64, n, D},
                          .y = r->y + first,
                          .weight = r->weight + first,
                          .offset = r->offset + first};
}

typedef struct setup {
    fab_glm glm;
    fab_kernel *k;
    fab_model model;
} setup;

static void open_setup(setup *s, fab_likelihood l, const char *kernel)
{
    s->glm = (fab_glm){.likelihood = l, .D = D, .classes = 1};
    assert_ok(fab_kernel_create(&s->k, kernel, D, NULL));
    s->model = fab_model_kernel(&s->glm, s->k);
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

/* ---- numbers --------------------------------------------------------------------------------------------- */

/* y = x'c + noise with c ~ N(0, I / alpha) is the process of the kernel x'z / alpha. */
static void a_linear_kernel_is_exact_regression(void **state)
{
    (void)state;
    const rows r = some_rows(FAB_LIKELIHOOD_GAUSSIAN, N);
    const fab_examples e = part_of(&r, 0, N);
    const double alpha = 0.4, beta = 8;
    fab_exact_settings how = fab_exact_defaults();
    fab_gp_settings mine = fab_gp_defaults();
    fab_glm line = {.D = D, .classes = 1};
    const fab_model lines = fab_model_linear(&line);
    setup s;
    fab_fit *f, *g;
    fab_process *p;
    const fab_gauss *q;
    fab_report a, b;
    double eta[N], variance[N], mean[N], v[N];
    how.glm.alpha = alpha;
    how.glm.beta = mine.beta = beta;
    assert_ok(fab_fit_create(&f, "exact", &how, sizeof how, &(fab_input){.model = &lines}, NULL));
    assert_ok(fab_fit_update(f, &e));
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_fit_report(f, &a));
    assert_ok(fab_predict_eta(q, &line, &e.x, NULL, NULL, eta, variance));
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "2.5*linear");
    g = fit_of(&s, &mine, NULL);
    learn(g, &r, 0, N);
    assert_ok(fab_fit_report(g, &b));
    assert_ok(fab_fit_process(g, &p));
    assert_ok(fab_process_predict(p, N, r.x, D, mean, v, NULL));
    double weights =
        0; /* exact counts a row of weight w as w rows; the process as one of less noise */
    for (int64_t i = 0; i < N; i++) {
        assert_true(fabs(eta[i] - mean[i]) < 1e-10);
        assert_true(fabs(variance[i] - v[i]) < 1e-10);
        weights += (r.weight[i] - 1) * log(beta / (2 * M_PI)) / 2 - log(r.weight[i]) / 2;
    }
    assert_true(fabs(a.log_evidence - weights - b.log_evidence) < 1e-9);
    assert_true(fabs(b.beta - beta) < 1e-12);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_kernel_free(s.k);
}

/* ---- a mean alone ------------------------------------------------------------------------------------------ */

/* f at m rows: k (K + lambda / w)^-1 (y - offset), in plain sight. */
static void plain_ridge(const rows *r, const fab_kernel *k, double lambda, int64_t m,
                        const double *z, double *f)
{
    const int64_t n = r->n;
    double *K = doubles(n * n), *Ki = doubles(n * n), *c = doubles(m * n), *a = doubles(n);
    assert_ok(fab_kernel_gram(k, n, r->x, D, K, n, NULL));
    assert_ok(fab_kernel_cross(k, m, z, D, n, r->x, D, c, n, NULL));
    for (int64_t i = 0; i < n; i++) K[i * n + i] += lambda / r->weight[i];
    plain_inverse(n, K, Ki);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[i] += Ki[i * n + j] * (r->y[j] - r->offset[j]);
    plain_mm(0, 0, m, 1, n, c, a, f);
}

/* By how much each row is missed by a fit to the others: the weighted mean of its square. */
static double plain_missed(const rows *r, const fab_kernel *k, double lambda)
{
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < r->n; i++) {
        rows others = {r->n - 1, doubles(r->n * D), doubles(r->n), doubles(r->n), doubles(r->n)};
        double f;
        for (int64_t j = 0, at = 0; j < r->n; j++) {
            if (j == i) continue;
            memcpy(others.x + at * D, r->x + j * D, D * sizeof(double));
            others.y[at] = r->y[j];
            others.weight[at] = r->weight[j];
            others.offset[at++] = r->offset[j];
        }
        plain_ridge(&others, k, lambda, 1, r->x + i * D, &f);
        sum += r->weight[i] * pow(r->y[i] - r->offset[i] - f, 2);
        weights += r->weight[i];
    }
    return sum / weights;
}

static fab_fit *ridge_of(const setup *s, const fab_kernel_ridge_settings *how, const rows *r)
{
    fab_fit *f;
    assert_ok(fab_fit_create(&f, "kernel-ridge", how, sizeof *how, &(fab_input){.model = &s->model},
                             NULL));
    learn(f, r, 0, r->n);
    return f;
}

static void kernel_ridge_is_ridge_in_the_norm_of_the_kernel(void **state)
{
    (void)state;
    const rows r = some_rows(FAB_LIKELIHOOD_GAUSSIAN, N);
    fab_kernel_ridge_settings how = fab_kernel_ridge_defaults();
    double want[N], mean[N], variance[N];
    fab_report report;
    fab_process *p;
    setup s;
    how.lambda = 0.2;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "1.5*matern32:l=0.9 + 0.5*const");
    fab_fit *f = ridge_of(&s, &how, &r);
    assert_ok(fab_fit_process(f, &p));
    assert_ok(fab_process_predict(p, N, r.x, D, mean, variance, NULL));
    plain_ridge(&r, s.k, 0.2, N, r.x, want);
    for (int64_t i = 0; i < N; i++) {
        assert_true(fabs(mean[i] - want[i]) < 1e-11);
        assert_true(variance[i] == 0);
    }
    assert_ok(fab_fit_report(f, &report));
    assert_true(fabs(1 / report.beta - plain_missed(&r, s.k, 0.2)) < 1e-11);
    double draw[N];
    assert_refused(fab_process_draw(p, N, r.x, D, 1, FAB_PURPOSE_SAMPLE, 0, 1, draw, N),
                   FAB_UNSUPPORTED, "its factor was left out");
    fab_fit_free(f);
    fab_kernel_free(s.k);
}

/* The minimum on a grid of hundredths in log lambda is not below what is found by more than the grid misses. */
static void lambda_by_rows_misses_them_least(void **state)
{
    (void)state;
    enum { FEW = 17 };
    const rows r = some_rows(FAB_LIKELIHOOD_GAUSSIAN, FEW);
    fab_kernel_ridge_settings how = fab_kernel_ridge_defaults();
    double least = INFINITY;
    fab_report report;
    setup s;
    how.choose = FAB_RIDGE_ROWS;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "1.5*rbf:l=0.9");
    fab_fit *f = ridge_of(&s, &how, &r);
    assert_ok(fab_fit_report(f, &report));
    for (double u = -8; u < 4; u += 0.05) least = fmin(least, plain_missed(&r, s.k, exp(u)));
    assert_true(1 / report.beta < least * (1 + 1e-9));
    fab_fit_free(f);
    fab_kernel_free(s.k);
}

static void a_mean_alone_is_that_of_the_process_and_goes_on_from_its_file(void **state)
{
    (void)state;
    const rows r = some_rows(FAB_LIKELIHOOD_GAUSSIAN, N);
    fab_gp_settings how = fab_gp_defaults();
    double mean[2][N];
    fab_process *p;
    fab_tensors *file;
    fab_fit *g;
    void *bytes;
    size_t size;
    setup s;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf + const");
    fab_fit *whole = fit_of(&s, &how, NULL);
    how.mean_only = 1;
    fab_fit *f = fit_of(&s, &how, NULL);
    learn(whole, &r, 0, 20);
    learn(f, &r, 0, 20);
    assert_ok(fab_fit_pack(f, 0, NULL, &bytes, &size));
    assert_true(size < 20 * 20 * sizeof(double) + 1200);
    assert_ok(fab_tensors_parse(&file, "packed", bytes, size));
    assert_null(fab_tensors_find(file, "L"));
    assert_ok(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL));
    learn(whole, &r, 20, N - 20);
    learn(g, &r, 20, N - 20);
    assert_ok(fab_fit_process(whole, &p));
    assert_ok(fab_process_predict(p, N, r.x, D, mean[0], NULL, NULL));
    assert_ok(fab_fit_process(g, &p));
    assert_ok(fab_process_predict(p, N, r.x, D, mean[1], NULL, NULL));
    for (int64_t i = 0; i < N; i++) assert_true(fabs(mean[0][i] - mean[1][i]) < 1e-9);
    fab_fit_free(whole);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_tensors_free(file);
    fab_bytes_free(bytes);
    fab_kernel_free(s.k);
    open_setup(&s, FAB_LIKELIHOOD_BERNOULLI, "rbf");
    assert_int_equal(
        fab_fit_create(&f, "gp", &how, sizeof how, &(fab_input){.model = &s.model}, NULL),
        FAB_UNSUPPORTED);
    assert_detail("a mean alone", "bernoulli");
    fab_kernel_free(s.k);
}

/* Five rows at one place and a noise of next to nothing: what was added is the noise of predictions. */
static void a_jitter_is_noise_of_predictions(void **state)
{
    (void)state;
    rows r = some_rows(FAB_LIKELIHOOD_GAUSSIAN, 9);
    fab_gp_settings how = fab_gp_defaults();
    fab_report report;
    fab_process *p;
    setup s;
    for (int64_t i = 1; i < 5; i++) memcpy(r.x + i * D, r.x, D * sizeof *r.x);
    how.beta = 1e30;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "4*rbf:l=1");
    fab_fit *f = fit_of(&s, &how, NULL);
    learn(f, &r, 0, 9);
    assert_ok(fab_fit_process(f, &p));
    assert_ok(fab_fit_report(f, &report));
    assert_true(fab_process_jitter(p) > 1e-10);
    assert_true(fabs(report.beta * fab_process_jitter(p) - 1) < 1e-12);
    fab_fit_free(f);
    fab_kernel_free(s.k);
}

/* ---- parameters that are averaged over --------------------------------------------------------------------- */

static const double log_2pi = 1.83787706640934548356;

/* log p(y) at u: the logarithms of the kernel's parameters and of the noise. */
static double plain_evidence(const rows *r, const fab_kernel *k, const double *u)
{
    const int64_t n = r->n;
    double *K = doubles(n * n), *L = doubles(n * n), *b = doubles(n), sum = 0;
    fab_kernel *at;
    assert_ok(fab_kernel_copy(&at, k));
    assert_ok(fab_kernel_set(at, u));
    assert_ok(fab_kernel_gram(at, n, r->x, D, K, n, NULL));
    for (int64_t i = 0; i < n; i++) K[i * n + i] += exp(u[fab_kernel_size(k)]) / r->weight[i];
    plain_chol(n, K, L);
    for (int64_t i = 0; i < n; i++) {
        b[i] = r->y[i] - r->offset[i];
        for (int64_t j = 0; j < i; j++) b[i] -= L[i * n + j] * b[j];
        b[i] /= L[i * n + i];
        sum += b[i] * b[i] / 2 + log(L[i * n + i]) + log_2pi / 2;
    }
    fab_kernel_free(at);
    return -sum;
}

/* Its second derivative, by differences of second order: P x P. */
static void plain_curvature(const rows *r, const fab_kernel *k, const double *u, int64_t P,
                            double *H)
{
    const double h = 2e-3;
    double at[8];
    for (int64_t i = 0; i < P; i++)
        for (int64_t j = 0; j < P; j++) {
            double sum = 0;
            for (int s = 0; s < 4; s++) {
                memcpy(at, u, (size_t)P * sizeof *at);
                at[i] += s & 1 ? h : -h;
                at[j] += s & 2 ? h : -h;
                sum += (s == 0 || s == 3 ? 1 : -1) * plain_evidence(r, k, at);
            }
            H[i * P + j] = -sum / (4 * h * h);
        }
}

/* Were the evidence a Gaussian, the weights of the places would be 1 in all and their covariance H^-1. */
static void the_places_of_laplace_have_the_moments_of_the_evidence(void **state)
{
    (void)state;
    enum { P = 3 };
    const rows r = some_rows(FAB_LIKELIHOOD_GAUSSIAN, N);
    fab_gp_settings how = fab_gp_defaults();
    double H[P * P], C[P * P] = {0}, product[P * P], all = 0, sum = 0;
    fab_process_places places;
    fab_process *p;
    setup s;
    how.average = FAB_AVERAGE_LAPLACE;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf");
    fab_fit *f = fit_of(&s, &how, NULL);
    learn(f, &r, 0, N);
    assert_ok(fab_fit_process(f, &p));
    assert_ok(fab_fit_places(f, &places));
    assert_int_equal(places.n, 5);
    assert_ptr_equal(places.p[0], p);
    const double around = P * 1.1 * 1.1 / 2;
    double u[5][P], lml[5], base[5];
    for (int i = 0; i < 5; i++) {
        fab_kernel_get(fab_process_kernel(places.p[i]), u[i]);
        u[i][P - 1] = log(fab_process_noise(places.p[i]));
        lml[i] = plain_evidence(&r, s.k, u[i]);
        base[i] = i ? 1 / (4 * 1.1 * 1.1) : 1 - 1 / (1.1 * 1.1);
        sum += base[i];
        for (int a = 0; a < P; a++)
            for (int b = 0; b < P; b++)
                C[a * P + b] += base[i] * (u[i][a] - u[0][a]) * (u[i][b] - u[0][b]);
        all += base[i] * exp(lml[i] - lml[0] + (i ? around : 0));
    }
    assert_true(fabs(sum - 1) < 1e-12);
    plain_curvature(&r, s.k, u[0], P, H);
    plain_mm(0, 0, P, P, P, H, C, product);
    for (int i = 0; i < P * P; i++) assert_true(fabs(product[i] - (i % (P + 1) == 0)) < 1e-3);
    for (int i = 0; i < 5; i++)
        assert_true(fabs(places.weight[i] -
                         base[i] * exp(lml[i] - lml[0] + (i ? around : 0)) / all) < 1e-9);
    fab_fit_free(f);
    fab_kernel_free(s.k);
}

/* Eight rows that are a slow curve with noise or a quick one without: the evidences of both differ by less than a tenth. */
static rows two_readings(void)
{
    static const double x[] = {-5.7, -5.5, -5.4, -4.6, -4.0, 0.9, 1.2, 5.7},
                        y[] = {-0.9, -1.2, -0.8, 0.05, -0.5, 1.0, 1.6, 0.7};
    rows r = {8, doubles(16), doubles(8), doubles(8), doubles(8)};
    for (int64_t i = 0; i < 8; i++) {
        r.x[i * D] = x[i];
        r.y[i] = y[i];
        r.weight[i] = 1;
    }
    return r;
}

static void two_ends_of_near_equal_evidence_share_the_weight(void **state)
{
    (void)state;
    const rows r = two_readings();
    fab_gp_settings how = fab_gp_defaults();
    fab_process_places places;
    double u[2][3], lml[2];
    setup s;
    how.average = FAB_AVERAGE_STARTS;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf:col=0");
    fab_fit *f = fit_of(&s, &how, NULL);
    learn(f, &r, 0, 8);
    assert_ok(fab_fit_places(f, &places));
    assert_int_equal(places.n, 2);
    for (int i = 0; i < 2; i++) {
        fab_kernel_get(fab_process_kernel(places.p[i]), u[i]);
        u[i][2] = log(fab_process_noise(places.p[i]));
        lml[i] = plain_evidence(&r, s.k, u[i]);
    }
    if (!(fabs(lml[0] - lml[1]) < 0.1))
        fail_msg("%g and %g at %g %g %g, %g %g %g", lml[0], lml[1], u[0][0], u[0][1], u[0][2],
                 u[1][0], u[1][1], u[1][2]);
    assert_true(fabs(u[0][1] - u[1][1]) > 0.5); /* length-scales */
    assert_true(fabs(places.weight[0] - 1 / (1 + exp(lml[1] - lml[0]))) < 1e-9);
    assert_true(fabs(places.weight[0] + places.weight[1] - 1) < 1e-12);
    fab_fit_free(f);
    how.average = FAB_AVERAGE_NONE;
    f = fit_of(&s, &how, NULL);
    learn(f, &r, 0, 8);
    assert_ok(fab_fit_places(f, &places));
    assert_int_equal(places.n, 0);
    fab_fit_free(f);
    fab_kernel_free(s.k);
}

static void places_of_a_file_go_on_with_the_same_bits(void **state)
{
    (void)state;
    const rows r = some_rows(FAB_LIKELIHOOD_GAUSSIAN, N);
    fab_gp_settings how = fab_gp_defaults();
    fab_process_places a, b;
    fab_tensors *file;
    fab_fit *g;
    void *bytes;
    size_t size;
    double mean[2][N];
    setup s;
    how.average = FAB_AVERAGE_LAPLACE;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf");
    fab_fit *f = fit_of(&s, &how, NULL);
    learn(f, &r, 0, 20);
    assert_ok(fab_fit_pack(f, 0, NULL, &bytes, &size));
    assert_ok(fab_tensors_parse(&file, "packed", bytes, size));
    assert_ok(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL));
    learn(f, &r, 20, N - 20);
    learn(g, &r, 20, N - 20);
    assert_ok(fab_fit_places(f, &a));
    assert_ok(fab_fit_places(g, &b));
    assert_true(a.n == 5 && b.n == 5);
    for (int i = 0; i < 5; i++) {
        assert_true(a.weight[i] == b.weight[i]);
        assert_ok(fab_process_predict(a.p[i], N, r.x, D, mean[0], NULL, NULL));
        assert_ok(fab_process_predict(b.p[i], N, r.x, D, mean[1], NULL, NULL));
        assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    }
    fab_fit_free(f);
    fab_fit_free(g);
    *(double *)fab_tensors_find(file, "places.theta")->data = NAN;
    assert_refused(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL), FAB_BAD_FILE,
                   "places.theta: row 0, column 0 is nan");
    fab_tensors_free(file);
    fab_bytes_free(bytes);
    fab_kernel_free(s.k);
    open_setup(&s, FAB_LIKELIHOOD_POISSON, "rbf");
    assert_int_equal(
        fab_fit_create(&f, "gp", &how, sizeof how, &(fab_input){.model = &s.model}, NULL),
        FAB_UNSUPPORTED);
    assert_detail("average over parameters", "poisson");
    fab_kernel_free(s.k);
}

/* Mean and covariance of y at all rows of a mixture of processes: E m, and E (C + noise I) + cov m. */
static void joint_moments_of_an_average_are_those_of_the_mixture(void **state)
{
    (void)state;
    enum { M = 5 };
    const rows r = some_rows(FAB_LIKELIHOOD_GAUSSIAN, N);
    static const char *const settings[] = {"average=laplace", NULL};
    const fab_arrays a = {.n = N,
                          .x = r.x,
                          .D = D,
                          .row_stride = D,
                          .column_stride = 1,
                          .y = {.name = "y", .p = r.y}},
                     some = {.n = M, .x = r.x, .D = D, .row_stride = D, .column_stride = 1};
    fab_regression *fit;
    fab_predictions *said;
    fab_tensors *file;
    void *bytes;
    size_t size;
    double *mean, *covariance, *K = doubles(N * N), *C = doubles(N * N), *k = doubles(N * M),
                               *v = doubles(N * M), want[M] = {0}, wide[M * M] = {0};
    int64_t n;
    assert_ok(fab_regression_fit(
        &fit, &(fab_data){.arrays = &a, .columns = {.target = "y"}},
        &(fab_plan){.model = "gp:rbf", .no_scale = 1, .settings = settings}, NULL));
    assert_ok(fab_regression_joint(fit, &(fab_data){.arrays = &some}, &mean, &covariance, &n));
    assert_int_equal(n, M);
    assert_ok(fab_regression_predict(fit, &(fab_data){.arrays = &some}, NULL, &said));
    assert_ok(fab_regression_pack(fit, &bytes, &size));
    assert_ok(fab_tensors_parse(&file, "packed", bytes, size));
    const fab_tensor *theta = fab_tensors_find(file, "places.theta"),
                     *weight = fab_tensors_find(file, "places.weight"),
                     *X = fab_tensors_find(file, "X"), *y = fab_tensors_find(file, "y");
    assert_true(theta && weight && X && y && theta->shape[0] == 5 && theta->shape[1] == 3);
    for (int place = 0; place < 5; place++) {
        const double *u = (const double *)theta->data + 3 * place, *x = X->data, *t = y->data,
                     w = ((const double *)weight->data)[place], s2 = exp(u[0]), l2 = exp(2 * u[1]),
                     noise = exp(u[2]);
        double m[M] = {0};
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < N; j++) {
                const double q = pow(x[i * D] - x[j * D], 2) + pow(x[i * D + 1] - x[j * D + 1], 2);
                K[i * N + j] = s2 * exp(-q / (2 * l2));
            }
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < M; j++) k[i * M + j] = K[i * N + j];
        for (int64_t i = 0; i < N; i++) K[i * N + i] += noise;
        plain_inverse(N, K, C);
        plain_mm(0, 0, N, M, N, C, k, v);
        for (int64_t j = 0; j < M; j++)
            for (int64_t i = 0; i < N; i++) m[j] += v[i * M + j] * t[i];
        for (int64_t i = 0; i < M; i++) {
            want[i] += w * m[i];
            for (int64_t j = 0; j < M; j++) {
                double c = K[i * N + j] + m[i] * m[j]; /* the rows are the first of the table */
                for (int64_t b = 0; b < N; b++) c -= k[b * M + i] * v[b * M + j];
                wide[i * M + j] += w * c;
            }
        }
    }
    for (int i = 0; i < M; i++) {
        assert_true(fabs(mean[i] - want[i]) < 1e-9);
        assert_true(fabs(said->p[i].mean - mean[i]) < 1e-12);
        assert_true(fabs(pow(said->p[i].sd, 2) - covariance[i * (M + 1)]) < 1e-12);
        for (int j = 0; j < M; j++)
            assert_true(fabs(covariance[i * M + j] - (wide[i * M + j] - want[i] * want[j])) < 1e-9);
    }
    fab_release(mean);
    fab_release(covariance);
    fab_predictions_free(said);
    fab_tensors_free(file);
    fab_bytes_free(bytes);
    fab_regression_free(fit);
}

/* ---- other likelihoods ------------------------------------------------------------------------------------- */

/* log q(y) with K^-1 in plain sight: the mode by Newton's method in f, and the determinant of K^-1 + W. */
static double plain_laplace(const fab_glm *m, const rows *r, const double *K, double *f)
{
    const int64_t n = r->n;
    double *Ki = doubles(n * n), *A = doubles(n * n), *S = doubles(n * n), *L = doubles(n * n),
           *b = doubles(n), logp = 0, quad = 0, det = 0;
    plain_inverse(n, K, Ki);
    memset(f, 0, (size_t)n * sizeof *f);
    for (int step = 0; step < 60; step++) {
        logp = 0;
        memcpy(A, Ki, (size_t)(n * n) * sizeof *A);
        for (int64_t i = 0; i < n; i++) {
            const double eta = f[i] + r->offset[i];
            double g, c;
            logp += r->weight[i] * fab_glm_loglik(m, r->y[i], &eta, &g, &c);
            A[i * n + i] += r->weight[i] * c;
            b[i] = r->weight[i] * (c * f[i] + g);
        }
        plain_inverse(n, A, S);
        plain_mm(0, 0, n, 1, n, S, b, f);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) quad += f[i] * Ki[i * n + j] * f[j];
    plain_chol(n, A, L);
    for (int64_t i = 0; i < n; i++) det += log(L[i * n + i]);
    plain_chol(n, K, L);
    for (int64_t i = 0; i < n; i++) det += log(L[i * n + i]);
    return logp - quad / 2 - det;
}

static const fab_likelihood others[] = {FAB_LIKELIHOOD_BERNOULLI, FAB_LIKELIHOOD_POISSON};

static void mode_and_evidence_are_those_of_plain_laplace(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) { /* with an offset, and without */
        const int l = way % 2;
        const rows r = some_rows(others[l], N);
        const fab_evidence_rows e = {N, r.x, r.y, r.weight, way < 2 ? r.offset : NULL};
        if (!e.offset) memset(r.offset, 0, N * sizeof *r.offset);
        double K[N * N], f[N], mean[N], theta[8], lml;
        setup s;
        void *self;
        fab_process *p;
        open_setup(&s, others[l], "1.7*matern12:l=0.8 + 0.3*linear");
        assert_ok(fab_gp_laplace.create(&self, &s.glm, s.k, &e, NULL));
        fab_kernel_get(s.k, theta);
        assert_ok(fab_gp_laplace.at(self, theta, 0, &lml, NULL));
        assert_ok(fab_kernel_gram(s.k, N, r.x, D, K, N, NULL));
        const double truth = plain_laplace(&s.glm, &r, K, f);
        assert_true(fabs(lml - truth) < 1e-9 * (1 + fabs(truth)));
        assert_ok(fab_gp_laplace_process(self, &p));
        assert_ok(fab_process_predict(p, N, r.x, D, mean, NULL, NULL));
        for (int64_t i = 0; i < N; i++) assert_true(fabs(mean[i] - f[i]) < 1e-9);
        fab_process_free(p);
        fab_gp_laplace.close(self);
        fab_kernel_free(s.k);
    }
}

/* p(y = 1) of two classes by sums over f, 16 standard deviations of it in steps of a 64th (the trapezoid rule of an analytic integrand
 * whose poles are pi / sd away: below 1e-12 for sd < 10), where offsets make some rows all but certain and weights are from .001 to
 * 1000.  The mode is one: f = K g(f). */
static void probabilities_of_extreme_rows_are_integrals(void **state)
{
    (void)state;
    rows r = some_rows(FAB_LIKELIHOOD_BERNOULLI, N);
    for (int64_t i = 0; i < N; i++) {
        r.weight[i] = pow(10, (double)(i % 7) - 3);
        r.offset[i] = i % 5 == 0 ? 25 : (i % 5 == 1 ? -25 : (double)(i % 5) - 3);
    }
    const fab_evidence_rows e = {N, r.x, r.y, r.weight, r.offset};
    enum { M = 12 };
    double K[N * N], W[N], g[N], f[N], theta[8], lml, mean[M], variance[M], z[M * D], *A, *S;
    setup s;
    void *self;
    fab_process *p;
    open_setup(&s, FAB_LIKELIHOOD_BERNOULLI, "9*matern12:l=0.8");
    assert_ok(fab_gp_laplace.create(&self, &s.glm, s.k, &e, NULL));
    fab_kernel_get(s.k, theta);
    assert_ok(fab_gp_laplace.at(self, theta, 0, &lml, NULL));
    assert_ok(fab_gp_laplace_process(self, &p));
    assert_ok(fab_process_predict(p, N, r.x, D, f, NULL, NULL));
    assert_ok(fab_kernel_gram(s.k, N, r.x, D, K, N, NULL));
    for (int64_t i = 0; i < N; i++) {
        const double eta = f[i] + r.offset[i], y = 1 / (1 + exp(-eta));
        g[i] = r.weight[i] * (r.y[i] - y);
        W[i] = r.weight[i] * y / (1 + exp(eta));
    }
    for (int64_t i = 0; i < N; i++) {
        double sum = 0, grow = 1;
        for (int64_t j = 0; j < N; j++) {
            sum += K[i * N + j] * g[j];
            grow += K[i * N + j] * W[j];
        }
        assert_true(fabs(sum - f[i]) < 1e-9 * grow); /* an error of f, times I + K W */
    }
    A = doubles(N * N); /* I + W K, whose inverse times W is that of K + W^-1 */
    S = doubles(N * N);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) A[i * N + j] = (i == j) + W[i] * K[i * N + j];
    plain_inverse(N, A, S);
    for (int64_t i = 0; i < M * D; i++) z[i] = 0.37 * (double)(i % 7) - 1.1 + 0.05 * (double)i;
    assert_ok(fab_process_predict(p, M, z, D, mean, variance, NULL));
    for (int m = 0; m < M; m++) {
        static const double offsets[] = {0, 3, -3, 30, -30, 400};
        double k[N], mu = 0, v = 9;
        for (int64_t i = 0; i < N; i++) {
            const double d = hypot(r.x[i * D] - z[m * D], r.x[i * D + 1] - z[m * D + 1]);
            k[i] = 9 * exp(-d / 0.8);
            mu += k[i] * g[i];
        }
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < N; j++) v -= k[i] * S[i * N + j] * W[j] * k[j];
        for (int o = 0; o < 6; o++) {
            double want = 0, rest = 0, all = 0;
            fab_prediction said;
            for (int t = -1024; t <= 1024; t++) {
                const double x = t / 64.0, w = exp(-x * x / 2), eta = mu + offsets[o] + sqrt(v) * x;
                all += w;
                want += w / (1 + exp(-eta));
                rest += w / (1 + exp(eta));
            }
            fab_predict_y(&s.glm, mean[m] + offsets[o], variance[m], &said);
            assert_true(fabs(said.mean - want / all) < 1e-8);
            assert_true(fabs(fab_predict_logp(&s.glm, mean[m] + offsets[o], variance[m], 0) -
                             log(rest / all)) < 1e-8 * (1 + fabs(log(rest / all))));
        }
    }
    fab_process_free(p);
    fab_gp_laplace.close(self);
    fab_kernel_free(s.k);
}

/* Central differences of step h: h^2 and rounding / h, 1e-9 each; parameters of the size of 1. */
static void the_gradient_has_the_implicit_terms(void **state)
{
    (void)state;
    const double h = 3e-5;
    for (int l = 0; l < 2; l++) {
        const rows r = some_rows(others[l], N);
        const fab_evidence_rows e = {N, r.x, r.y, r.weight, r.offset};
        double theta[8], g[8], up, down;
        setup s;
        void *self;
        open_setup(&s, others[l], "rbf:ard + rq*const");
        const int64_t size = fab_kernel_size(s.k);
        assert_ok(fab_gp_laplace.create(&self, &s.glm, s.k, &e, NULL));
        fab_kernel_get(s.k, theta);
        assert_true(size < 8);
        for (int64_t i = 0; i < size; i++) theta[i] += 0.3 * (double)(i % 3 - 1);
        assert_ok(fab_gp_laplace.at(self, theta, 0, &up, g));
        for (int64_t i = 0; i < size; i++) {
            const double at = theta[i];
            theta[i] = at + h;
            assert_ok(fab_gp_laplace.at(self, theta, 0, &up, NULL));
            theta[i] = at - h;
            assert_ok(fab_gp_laplace.at(self, theta, 0, &down, NULL));
            theta[i] = at;
            assert_true(fabs(g[i] - (up - down) / (2 * h)) < 2e-8);
        }
        fab_gp_laplace.close(self);
        fab_kernel_free(s.k);
    }
}

/* Of a variance as small as that a row says nothing; of one as large that all are certain. */
static void extreme_parameters_have_a_mode(void **state)
{
    (void)state;
    for (int l = 0; l < 2; l++) {
        const rows r = some_rows(others[l], N);
        const fab_evidence_rows e = {N, r.x, r.y, r.weight, r.offset};
        setup s;
        void *self;
        open_setup(&s, others[l], "rbf");
        assert_ok(fab_gp_laplace.create(&self, &s.glm, s.k, &e, NULL));
        for (double a = -20; a <= 12; a += 4)
            for (double b = -6; b <= 6; b += 4) {
                const double theta[] = {a, b};
                double lml, g[2];
                assert_ok(fab_gp_laplace.at(self, theta, 0, &lml, g));
                assert_true(isfinite(lml) && isfinite(g[0]) && isfinite(g[1]));
            }
        fab_gp_laplace.close(self);
        fab_kernel_free(s.k);
    }
}

/* ---- rows that come later, files --------------------------------------------------------------------------- */

static const struct {
    fab_likelihood l;
    const char *kernel;
} cases[] = {{FAB_LIKELIHOOD_GAUSSIAN, "1.5*matern32:l=0.9 + const"},
             {FAB_LIKELIHOOD_BERNOULLI, "1.5*matern32:l=0.9 + const"},
             {FAB_LIKELIHOOD_POISSON, "1.5*matern32:l=0.9 + const"}};

static void same_process(fab_fit *f, fab_fit *g, const rows *r, double tolerance)
{
    fab_process *p, *q;
    double mean[2][N], variance[2][N];
    assert_ok(fab_fit_process(f, &p));
    assert_ok(fab_fit_process(g, &q));
    assert_ok(fab_process_predict(p, r->n, r->x, D, mean[0], variance[0], NULL));
    assert_ok(fab_process_predict(q, r->n, r->x, D, mean[1], variance[1], NULL));
    for (int64_t i = 0; i < r->n; i++) {
        assert_true(fabs(mean[0][i] - mean[1][i]) <= tolerance);
        assert_true(fabs(variance[0][i] - variance[1][i]) <= tolerance);
    }
}

/* All parameters given, so that both find the same. */
static void rows_that_are_appended_are_as_if_they_had_been_there(void **state)
{
    (void)state;
    fab_gp_settings how = fab_gp_defaults();
    for (int c = 0; c < 3; c++) {
        const rows r = some_rows(cases[c].l, N);
        setup s;
        fab_report a, b;
        if (c == 0) how.beta = 9;
        open_setup(&s, cases[c].l, "1.5*matern32:l=0.9 + 0.5*const");
        fab_fit *whole = fit_of(&s, &how, NULL), *parts = fit_of(&s, &how, NULL);
        learn(whole, &r, 0, N);
        learn(parts, &r, 0, 7);
        learn(parts, &r, 7, 1);
        learn(parts, &r, 8, N - 8);
        same_process(whole, parts, &r, 1e-11);
        assert_ok(fab_fit_report(whole, &a));
        assert_ok(fab_fit_report(parts, &b));
        assert_int_equal(b.n, N);
        assert_true(fabs(a.log_evidence - b.log_evidence) < 1e-10);
        fab_fit_free(whole);
        fab_fit_free(parts);
        fab_kernel_free(s.k);
        how = fab_gp_defaults();
    }
}

static void a_file_goes_on_where_the_fit_was(void **state)
{
    (void)state;
    for (int c = 0; c < 3; c++) {
        const rows r = some_rows(cases[c].l, N);
        setup s;
        fab_fit *g;
        fab_tensors *file;
        void *bytes;
        size_t size;
        open_setup(&s, cases[c].l, cases[c].kernel);
        fab_fit *f = fit_of(&s, NULL, NULL);
        learn(f, &r, 0, 20);
        assert_ok(fab_fit_pack(f, 0, NULL, &bytes, &size));
        assert_ok(fab_tensors_parse(&file, "packed", bytes, size));
        assert_ok(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL));
        assert_int_equal(fab_fit_rows(g), 20);
        same_process(f, g, &r, 1e-11);
        learn(f, &r, 20, N - 20);
        learn(g, &r, 20, N - 20);
        same_process(f, g, &r, 1e-11);
        fab_fit_free(f);
        fab_fit_free(g);
        const double worst[] = {NAN, 0, -1};
        if (cases[c].l == FAB_LIKELIHOOD_GAUSSIAN) {
            double *centre = (double *)fab_tensors_find(file, "centre")->data;
            const double was = *centre;
            *centre = INFINITY;
            assert_refused(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL),
                           FAB_BAD_FILE, "the centre of its rows");
            *centre = was;
        }
        for (int i = 0; i < 3 && cases[c].l == FAB_LIKELIHOOD_GAUSSIAN; i++) {
            *(double *)fab_tensors_find(file, "L")->data = worst[i];
            assert_refused(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL),
                           FAB_BAD_FILE, "its factor has");
        }
        if (cases[c].l != FAB_LIKELIHOOD_GAUSSIAN) {
            double *y = (double *)fab_tensors_find(file, "y")->data;
            y[3] = -1;
            assert_refused(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL),
                           FAB_BAD_FILE, "row 3 has y = -1");
        }
        fab_tensors_free(file);
        fab_bytes_free(bytes);
        fab_kernel_free(s.k);
    }
}

static void rows_of_weight_0_are_absent_and_sparse_rows_are_rows(void **state)
{
    (void)state;
    for (int c = 0; c < 3; c++) {
        rows r = some_rows(cases[c].l, N);
        int64_t start[N + 1];
        int32_t index[N * D];
        setup s;
        for (int64_t i = 0; i <= N; i++) start[i] = i * D;
        for (int32_t i = 0; i < N * D; i++) index[i] = i % D;
        open_setup(&s, cases[c].l, cases[c].kernel);
        fab_fit *dense = fit_of(&s, NULL, NULL), *sparse = fit_of(&s, NULL, NULL);
        learn(dense, &r, 0, 20);
        for (int64_t i = 20; i < N; i++) r.weight[i] = 0;
        fab_examples e = part_of(&r, 0, N);
        e.x.start = start;
        e.x.index = index;
        const fab_gauss *q;
        assert_ok(fab_fit_update(sparse, &e));
        assert_ok(fab_fit_gauss(sparse, &q));
        assert_int_equal(fab_fit_rows(sparse), 20);
        same_process(dense, sparse, &r, 0);
        fab_fit_free(dense);
        fab_fit_free(sparse);
        fab_kernel_free(s.k);
    }
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for (int c = 0; c < 3; c++) {
        const rows r = some_rows(cases[c].l, N);
        setup s;
        open_setup(&s, cases[c].l, "rbf:ard");
        fab_fit *one = fit_of(&s, NULL, &(fab_exec){.threads = 1}),
                *three = fit_of(&s, NULL, &(fab_exec){.threads = 3});
        learn(one, &r, 0, N);
        learn(three, &r, 0, N);
        same_process(one, three, &r, 0);
        fab_fit_free(one);
        fab_fit_free(three);
        fab_kernel_free(s.k);
    }
}

/* ---- what cannot be ------------------------------------------------------------------------------------------ */

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const rows r = some_rows(FAB_LIKELIHOOD_GAUSSIAN, N);
    const fab_examples e = part_of(&r, 0, N), few = part_of(&r, 0, 3);
    fab_gp_settings how = fab_gp_defaults();
    setup s;
    fab_fit *f;
    fab_gauss *prior;
    how.exact_limit = 20;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf");
    f = fit_of(&s, &how, NULL);
    assert_int_equal(fab_fit_update(f, &e), FAB_UNSUPPORTED);
    assert_detail("29 rows", "exact_limit = 20");
    assert_ok(fab_fit_update(f, &few));
    assert_int_equal(fab_fit_update(f, &few), FAB_BAD_ARGUMENT);
    assert_detail("after the result", "none yet");
    fab_fit_free(f);
    assert_ok(fab_gauss_create(&prior, FAB_FORM_COVARIANCE, FAB_F64, s.model.D, 0));
    fab_input in = {.model = &s.model, .prior = prior};
    assert_int_equal(fab_fit_create(&f, "gp", NULL, 0, &in, NULL), FAB_UNSUPPORTED);
    in.prior = NULL;
    assert_int_equal(fab_fit_create(&f, "exact", NULL, 0, &in, NULL), FAB_BAD_ARGUMENT);
    assert_detail("exact", "Gaussian process");
    assert_int_equal(fab_fit_create(&f, "sgd", NULL, 0, &in, NULL), FAB_BAD_ARGUMENT);
    fab_glm line = {.D = D, .classes = 1};
    const fab_model lines = fab_model_linear(&line);
    in.model = &lines;
    assert_int_equal(fab_fit_create(&f, "gp", NULL, 0, &in, NULL), FAB_BAD_ARGUMENT);
    assert_detail("gp", "kernel");
    s.model.head.nu = 4;
    in.model = &s.model;
    assert_int_equal(fab_fit_create(&f, "gp", NULL, 0, &in, NULL), FAB_UNSUPPORTED);
    fab_gauss_free(prior);
    fab_kernel_free(s.k);
    open_setup(&s, FAB_LIKELIHOOD_BERNOULLI, "rbf");
    how = fab_gp_defaults();
    how.beta = 3;
    in.model = &s.model;
    assert_int_equal(fab_fit_create(&f, "gp", &how, sizeof how, &in, NULL), FAB_BAD_ARGUMENT);
    assert_detail("beta", "bernoulli");
    fab_kernel_free(s.k);
}

static rows small;
static setup kept;
static int64_t averaged;

static fab_status fit_small(void)
{
    fab_gp_settings how = fab_gp_defaults();
    const fab_examples e = part_of(&small, 0, 12), more = part_of(&small, 12, 2);
    const fab_gauss *q;
    fab_fit *f;
    how.starts = 1;
    how.average = averaged;
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
    for (int c = 0; c < 3; c++) {
        small = some_rows(cases[c].l, 14);
        open_setup(&kept, cases[c].l, "rbf");
        assert_true(fail_every_allocation(fit_small) > 5);
        fab_kernel_free(kept.k);
    }
    averaged = FAB_AVERAGE_LAPLACE;
    small = some_rows(FAB_LIKELIHOOD_GAUSSIAN, 14);
    open_setup(&kept, FAB_LIKELIHOOD_GAUSSIAN, "rbf");
    assert_true(fail_every_allocation(fit_small) > 5);
    fab_kernel_free(kept.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_linear_kernel_is_exact_regression),
        TEST(kernel_ridge_is_ridge_in_the_norm_of_the_kernel),
        TEST(lambda_by_rows_misses_them_least),
        TEST(a_mean_alone_is_that_of_the_process_and_goes_on_from_its_file),
        TEST(a_jitter_is_noise_of_predictions),
        TEST(the_places_of_laplace_have_the_moments_of_the_evidence),
        TEST(two_ends_of_near_equal_evidence_share_the_weight),
        TEST(places_of_a_file_go_on_with_the_same_bits),
        TEST(joint_moments_of_an_average_are_those_of_the_mixture),
        TEST(mode_and_evidence_are_those_of_plain_laplace),
        TEST(probabilities_of_extreme_rows_are_integrals),
        TEST(the_gradient_has_the_implicit_terms),
        TEST(extreme_parameters_have_a_mode),
        TEST(rows_that_are_appended_are_as_if_they_had_been_there),
        TEST(a_file_goes_on_where_the_fit_was),
        TEST(rows_of_weight_0_are_absent_and_sparse_rows_are_rows),
        TEST(any_number_of_threads_gives_the_same_bits),
        TEST(what_cannot_be_is_refused),
        TEST(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
