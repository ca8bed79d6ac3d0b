/* test_importance.c - the evidence of models by weighted draws, and rows left out: against closed forms, integrals and plain sums.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/methods.h"
#include "fabayes/net.h"
#include "fabayes/table.h"
#include "files.h"
#include <math.h>

#define LOG_2PI 1.8378770664093454836

enum { N = 29, D = 3 };

static struct {
    double x[N * D], y[N], weight[N];
} rows;
static const char *const names[D] = {"a", "b", "c"};

static void make_rows(void)
{
    double e[N];
    fab_random_normal(7, FAB_PURPOSE_DATA, 1, 0, N * D, FAB_F64, rows.x);
    fab_random_normal(7, FAB_PURPOSE_DATA, 2, 0, N, FAB_F64, e);
    for (int i = 0; i < N; i++) {
        rows.y[i] = 0.4 + rows.x[i * D] - 0.7 * rows.x[i * D + 1] + 0.6 * e[i];
        rows.weight[i] = 1 + i % 3;
    }
}

static fab_arrays table(const double *y)
{
    return (fab_arrays){.n = N, .x = rows.x, .D = D, .name = names, .y = {.name = "y", .p = y}};
}

static fab_regression *fit(const fab_data *d, const fab_plan *p)
{
    fab_regression *r;
    if (fab_regression_fit(&r, d, p, NULL) != FAB_OK) fail_msg("%s", fab_detail());
    return r;
}

static fab_importance *ask(fab_regression *r, const fab_data *d, const fab_importance_plan *how)
{
    fab_importance *e;
    if (fab_regression_importance(r, d, how, &e) != FAB_OK) fail_msg("%s", fab_detail());
    return e;
}

/* ---- weights ------------------------------------------------------------------------------------------ */

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Pareto smoothing written once more, all weights sorted and no room saved: sorted logarithms, smoothed, and k. */
static double plain_pareto(int64_t n, const double *logw, double *sorted)
{
    const int64_t M = (int64_t)ceil(fmin(0.2 * (double)n, 3 * sqrt((double)n))),
                  m = 30 + (int64_t)sqrt((double)M);
    double *t = doubles(M), *b = doubles(m), *l = doubles(m), *profile = doubles(m), mean = 0,
           k = 0;
    memcpy(sorted, logw, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, rising);
    const double top = sorted[n - 1], u = exp(sorted[n - M - 1] - top);
    for (int64_t j = 0; j < M; j++) t[j] = exp(sorted[n - M + j] - top) - u;
    for (int64_t i = 0; i < m; i++) {
        b[i] = 1 / t[M - 1] + (1 - sqrt((double)m / ((double)i + 0.5))) /
                                  (3 * t[(int64_t)floor((double)M / 4 + 0.5) - 1]);
        for (int64_t j = 0; j < M; j++) profile[i] += log1p(-b[i] * t[j]) / (double)M;
        l[i] = (double)M * (log(-b[i] / profile[i]) - profile[i] - 1);
    }
    for (int64_t i = 0; i < m; i++) {
        double share = 0;
        for (int64_t j = 0; j < m; j++) share += exp(l[j] - l[i]);
        mean += b[i] / share;
    }
    for (int64_t j = 0; j < M; j++) k += log1p(-mean * t[j]) / (double)M;
    const double sigma = -k / mean;
    k = ((double)M * k + 5) / ((double)M + 10);
    for (int64_t j = 0; j < M; j++) {
        const double p = ((double)j + 0.5) / (double)M;
        sorted[n - M + j] = fmin(top + log(u + sigma * (pow(1 - p, -k) - 1) / k), top);
    }
    return k;
}

/* n weights whose distribution is Pareto's of shape k, in no order. */
static double *pareto(int64_t n, double k, uint64_t stream)
{
    double *w = doubles(n);
    fab_random_uniform(2385, FAB_PURPOSE_DATA, stream, 0, n, w);
    for (int64_t i = 0; i < n; i++) w[i] = -k * log(w[i]);
    return w;
}

static void smoothing_is_that_of_its_definition(void **state)
{
    (void)state;
    static const int64_t sizes[] = {29, 100, 1000, 4001};
    for (int s = 0; s < 4; s++)
        for (int j = 1; j < 5; j++) {
            const int64_t n = sizes[s];
            double *w = pareto(n, 0.3 * j, 10 * (uint64_t)s + (uint64_t)j), *want = doubles(n), k;
            for (int64_t i = 0; i < n; i++)
                w[i] += 1000; /* what is common to all does not matter */
            const double plain = plain_pareto(n, w, want);
            assert_ok(fab_pareto_smooth(n, w, &k));
            assert_near(k, plain, 1e-9);
            qsort(w, (size_t)n, sizeof *w, rising);
            for (int64_t i = 0; i < n; i++) assert_near(w[i], want[i], 1e-9);
        }
}

/* The estimate has a standard deviation of (1 + k) / sqrt(M), M = 3 sqrt(n), and is drawn to 1/2 by 10 of M + 10 weights: five standard
 * deviations, chance of a false alarm 1e-6 for each of four. */
static void k_is_the_shape_of_the_tail(void **state)
{
    (void)state;
    const int64_t n = 100000;
    const double M = 3 * sqrt((double)n);
    for (int j = 0; j < 4; j++) {
        const double shape = 0.1 + 0.3 * j;
        double *w = pareto(n, shape, 100 + (uint64_t)j), k;
        assert_ok(fab_pareto_smooth(n, w, &k));
        assert_near(k, (M * shape + 5) / (M + 10), 5 * (1 + shape) / sqrt(M));
    }
}

static void order_ties_and_few_weights_have_a_meaning(void **state)
{
    (void)state;
    double equal[200], two[300], three[3] = {1, 2, 3}, bad[2] = {0, NAN}, k;
    for (int i = 0; i < 200; i++) equal[i] = 2.385 + 1e-13 * i;
    assert_ok(fab_pareto_smooth(200, equal, &k));
    assert_true(k == -INFINITY);
    assert_near(equal[199], 2.385, 1e-10);
    for (int i = 0; i < 300; i++)
        two[i] = i % 7 == 0; /* 43 of the larger kind, of which 52 would be the tail */
    assert_ok(fab_pareto_smooth(300, two, &k));
    for (int i = 0; i < 300; i++) assert_true(isfinite(two[i]) && two[i] <= 1);
    assert_ok(fab_pareto_smooth(3, three, &k));
    assert_true(k == INFINITY && three[2] == 3);
    assert_refused(fab_pareto_smooth(0, bad, &k), FAB_BAD_ARGUMENT, "0 weights");
    assert_refused(fab_pareto_smooth(2, bad, &k), FAB_BAD_DATA, "weight 1 is nan");
}

/* ---- linear models ------------------------------------------------------------------------------------ */

/* log N(y; 0, X X' / alpha + 1 1' / intercept + diag(1 / (beta w))) and, of each row, its log density given all others. */
static double closed_form(const double *x, const double *y, const double *w, double alpha,
                          double intercept, double beta, double *elpd)
{
    real *S = dense_new(N * N);
    double power = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            real dot = 0;
            for (int d = 0; d < D; d++) dot += (real)x[i * D + d] * x[j * D + d];
            S[i * N + j] = dot / alpha + (intercept > 0 ? 1 / (real)intercept : 0) +
                           (i == j ? 1 / ((real)beta * (w ? w[i] : 1)) : 0);
        }
    real *P = dense_inverse(N, S), quad = 0;
    for (int i = 0; i < N; i++) {
        real Py = 0;
        for (int j = 0; j < N; j++) Py += P[i * N + j] * y[j];
        quad += y[i] * Py;
        if (!elpd) continue;
        const double v = (double)(1 / P[i * N + i]), r = (double)(Py / P[i * N + i]);
        elpd[i] = -0.5 * (LOG_2PI + log(v) + r * r / v);
    }
    /* a weight counts the row so many times: it has the powers of its density, and not the density of one row of less noise */
    for (int i = 0; w && i < N; i++)
        power += (w[i] - 1) / 2 * (log(beta) - LOG_2PI) - log(w[i]) / 2;
    return (double)(-(N * (real)LOG_2PI + dense_logdet(N, S) + quad) / 2) + power;
}

static void the_evidence_of_a_linear_model_is_exact(void **state)
{
    (void)state;
    static const char *const set[] = {"alpha=0.7", "beta=2.5", "intercept_alpha=0.3", NULL};
    const fab_importance_plan how = {.samples = 500, .no_rows = 1};
    for (int intercept = 0; intercept <= 1; intercept++)
        for (int weighted = 0; weighted <= 1; weighted++) {
            fab_arrays a = table(rows.y);
            if (weighted) a.weight = (fab_array){.name = "w", .p = rows.weight};
            const fab_data d = {.arrays = &a};
            const fab_plan p = {
                .method = "vga", .settings = set, .no_scale = 1, .no_intercept = !intercept};
            fab_regression *r = fit(&d, &p);
            fab_importance *e = ask(r, &d, &how);
            const double want = closed_form(rows.x, rows.y, weighted ? rows.weight : NULL, 0.7,
                                            intercept ? 0.3 : 0, 2.5, NULL);
            assert_near(e->log_evidence, want, 1e-8 * (1 + fabs(want)));
            assert_true(e->se < 1e-8);
            assert_true(e->k < 0);
            assert_near(e->ess, 500, 1e-3);
            assert_int_equal(e->n, N);
            assert_near(e->alpha, 0.7, 0);
            assert_near(e->intercept_alpha, intercept ? 0.3 : 0, 0);
            fab_importance_free(e);
            fab_regression_free(r);
        }
}

/* In the units of the fit the closed form, less log scale a row; exact has a flat intercept in the place of which the proper one counts. */
static void the_evidence_is_in_the_units_of_the_table(void **state)
{
    (void)state;
    static const char *const set[] = {"alpha=0.7", "beta=2.5", NULL};
    double y[N], z[N], x[N * D], mean = 0, square = 0;
    for (int i = 0; i < N; i++) y[i] = 1000 + 50 * rows.y[i], mean += y[i] / N;
    for (int i = 0; i < N; i++) square += (y[i] - mean) * (y[i] - mean) / N;
    for (int i = 0; i < N; i++) z[i] = (y[i] - mean) / sqrt(square);
    for (int c = 0; c < D; c++) {
        double m = 0, s = 0;
        for (int i = 0; i < N; i++) m += rows.x[i * D + c] / N;
        for (int i = 0; i < N; i++) s += (rows.x[i * D + c] - m) * (rows.x[i * D + c] - m) / N;
        for (int i = 0; i < N; i++) x[i * D + c] = (rows.x[i * D + c] - m) / sqrt(s);
    }
    const fab_arrays a = table(y);
    const fab_data d = {.arrays = &a};
    const fab_plan p = {.method = "exact", .settings = set};
    fab_regression *r = fit(&d, &p);
    fab_importance *e = ask(r, &d, &(fab_importance_plan){.no_rows = 1});
    const double want = closed_form(x, z, NULL, 0.7, 1e-4, 2.5, NULL) - N * log(sqrt(square));
    /* the flat prior's posterior is wider by a factor of 1 + 1e-4 / (beta N): its draws differ by that */
    assert_near(e->log_evidence, want, 1e-4);
    fab_importance_free(e);
    fab_regression_free(r);
}

/* Two of three standard errors hold: chance of a false alarm by the number of rows 1e-9; no row beyond six of its own. */
static void rows_left_out_are_those_of_the_closed_form(void **state)
{
    (void)state;
    static const char *const set[] = {"alpha=0.7", "beta=2.5", "intercept_alpha=0.3", NULL};
    double want[N], total = 0;
    const fab_arrays a = table(rows.y);
    const fab_data d = {.arrays = &a};
    const fab_plan p = {.method = "vga", .settings = set, .no_scale = 1};
    fab_regression *r = fit(&d, &p);
    closed_form(rows.x, rows.y, NULL, 0.7, 0.3, 2.5, want);
    fab_importance *e = ask(r, &d, &(fab_importance_plan){.samples = 40000});
    for (int i = 0; i < N; i++) {
        total += want[i];
        assert_true(e->row_k[i] < 0.7);
        assert_near(e->row_elpd[i], want[i], 0.03);
    }
    assert_near(e->elpd, total, 0.1);
    assert_int_equal(e->bad, 0);
    assert_true(e->p_loo > 2 && e->p_loo < 6); /* four coefficients */
    fab_importance_free(e);
    fab_regression_free(r);
}

/* 1000 proposals that are 1.4 times too wide.  Of honest standard errors .0455 of the z are beyond 2 and .0027 beyond 3, with standard
 * errors of .0066 and .0017: .03 is more than four of them, and a mean of .15 more than four of 1 / sqrt(1000). */
static void standard_errors_are_honest(void **state)
{
    (void)state;
    static const char *const set[] = {"alpha=0.7", "beta=2.5", "intercept_alpha=0.3", NULL};
    enum { TIMES = 1000 };
    const fab_arrays a = table(rows.y);
    const fab_data d = {.arrays = &a};
    const fab_plan p = {.method = "vga", .settings = set, .no_scale = 1};
    fab_regression *r = fit(&d, &p);
    const double want = closed_form(rows.x, rows.y, NULL, 0.7, 0.3, 2.5, NULL);
    double two = 0, three = 0, mean = 0, square = 0;
    for (int i = 0; i < TIMES; i++) {
        const fab_importance_plan how = {
            .samples = 400, .seed = i, .wider = 1.4, .nu = i % 2 ? 7 : 0, .no_rows = 1};
        fab_importance *e = ask(r, &d, &how);
        const double z = (e->log_evidence - want) / e->se;
        two += (fabs(z) > 2) / (double)TIMES;
        three += (fabs(z) > 3) / (double)TIMES;
        mean += z / TIMES;
        square += z * z / TIMES;
        fab_importance_free(e);
    }
    assert_near(two, 0.0455, 0.03);
    assert_near(three, 0.0027, 0.03);
    assert_near(mean, 0, 0.15);
    assert_near(square, 1, 0.2);
    fab_regression_free(r);
}

/* ---- other likelihoods -------------------------------------------------------------------------------- */

/* One coefficient, no intercept: the integral over it by the trapezoidal rule on +-30 standard deviations of the prior, which for a smooth
 * integrand that vanishes at both ends is exact to rounding. */
static void the_evidence_of_one_coefficient_is_its_integral(void **state)
{
    (void)state;
    static const char *const likelihoods[] = {"bernoulli", "poisson"},
                             *const methods[] = {"laplace", "vga", "lrvga"},
                             *const set[] = {"alpha=0.5", NULL};
    double y[2][N];
    for (int i = 0; i < N; i++) {
        y[0][i] = rows.x[i * D] + rows.y[i] > 0;
        y[1][i] = floor(exp(0.5 * rows.x[i * D]) + (i % 3) * 0.7);
    }
    for (int l = 0; l < 2; l++) {
        const fab_glm g = {.likelihood = l ? FAB_LIKELIHOOD_POISSON : FAB_LIKELIHOOD_BERNOULLI,
                           .D = 1,
                           .classes = 1,
                           .beta = 1};
        double top = -INFINITY, sum = 0, value[6001];
        for (int k = 0; k <= 6000; k++) {
            const double t = -42.0 + 0.014 * k;
            value[k] = (log(0.5) - LOG_2PI - 0.5 * t * t) / 2;
            for (int i = 0; i < N; i++) {
                const double eta = t * rows.x[i * D];
                value[k] += fab_glm_loglik(&g, y[l][i], &eta, NULL, NULL);
            }
            top = fmax(top, value[k]);
        }
        for (int k = 0; k <= 6000; k++) sum += 0.014 * exp(value[k] - top);
        const double want = top + log(sum);
        for (int m = 0; m < 3; m++) {
            const fab_arrays a = {
                .n = N, .x = rows.x, .D = 1, .row_stride = D, .y = {.name = "y", .p = y[l]}};
            const fab_data d = {.arrays = &a};
            const fab_plan p = {.method = methods[m],
                                .likelihood = likelihoods[l],
                                .settings = set,
                                .no_scale = 1,
                                .no_intercept = 1};
            fab_regression *r = fit(&d, &p);
            fab_importance *e = ask(r, &d, &(fab_importance_plan){.samples = 20000, .no_rows = 1});
            assert_true(e->k < 0.7 && e->se < 0.02);
            assert_near(e->log_evidence, want,
                        4 * e->se + 1e-12); /* false alarm 6e-5 for each of six */
            fab_importance_free(e);
            fab_regression_free(r);
        }
    }
}

/* The weights of draws of a mixture by what the public functions say of each: classes of a network, two runs. */
static void weights_are_those_of_their_parts(void **state)
{
    (void)state;
    static const char *const set[] = {"runs=2", "epochs=20", "alpha=0.8", NULL};
    enum { S = 300 };
    int32_t kind[N];
    static const char *const kinds[] = {"a", "b", "c"};
    for (int i = 0; i < N; i++) kind[i] = rows.y[i] > 1 ? 2 : rows.y[i] > 0;
    fab_arrays a = table(NULL);
    a.y = (fab_array){.name = "kind", .code = kind, .word = kinds, .words = 3};
    const fab_data d = {.arrays = &a};
    const fab_plan p = {.model = "mlp:4", .method = "vifa", .settings = set, .no_scale = 1};
    fab_regression *r = fit(&d, &p);
    const fab_importance_plan how = {.samples = S, .wider = 1 + 1e-15, .no_rows = 1, .seed = 3};
    fab_importance *e = ask(r, &d, &how);
    void *bytes;
    size_t size;
    fab_posterior *q;
    fab_net *net;
    assert_ok(fab_regression_pack(r, &bytes, &size));
    assert_ok(fab_posterior_parse(&q, "q", bytes, size));
    assert_int_equal(q->mix.n, 2);
    assert_ok(fab_net_from_json(&net, fab_tensors_get(q->file, "model"), 0, NULL));
    const fab_model *m = fab_net_model(net);
    double *theta = doubles(S * m->D), *logw = doubles(S), y[N], top = -INFINITY, sum = 0, k;
    const fab_rows draws = {.p = theta, .type = FAB_F64, .n = S, .ld = m->D};
    for (int i = 0; i < N; i++) y[i] = kind[i];
    assert_ok(fab_mixture_sample(&q->mix, 3, FAB_PURPOSE_EVIDENCE, 0, S, FAB_F64, theta, m->D, NULL,
                                 NULL));
    assert_ok(fab_mixture_logpdf(&q->mix, &draws, NULL, logw));
    for (int s = 0; s < S; s++) {
        const fab_examples rows_of = {
            {.p = rows.x, .type = FAB_F64, .n = N, .ld = D}, y, NULL, NULL};
        double loss, prior = 0;
        assert_ok(m->loss(m->self, theta + s * m->D, &rows_of, &loss, NULL));
        for (int64_t i = 0; i < m->D; i++)
            prior += (log(0.8) - LOG_2PI - 0.8 * theta[s * m->D + i] * theta[s * m->D + i]) / 2;
        logw[s] = prior - N * loss - logw[s];
    }
    assert_ok(fab_pareto_smooth(S, logw, &k));
    for (int s = 0; s < S; s++) top = fmax(top, logw[s]);
    for (int s = 0; s < S; s++) sum += exp(logw[s] - top) / S;
    assert_near(e->log_evidence, top + log(sum), 1e-6);
    assert_near(e->k, k, 1e-6);
    fab_net_free(net);
    fab_posterior_free(q);
    fab_bytes_free(bytes);
    fab_importance_free(e);
    fab_regression_free(r);
}

/* ---- the rest ----------------------------------------------------------------------------------------- */

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const char *const set[] = {"alpha=0.7", NULL};
    double y[N];
    for (int i = 0; i < N; i++) y[i] = rows.y[i] > 0.4;
    fab_arrays a = table(y);
    const fab_data d = {.arrays = &a};
    const fab_plan p = {.likelihood = "bernoulli", .method = "laplace", .settings = set};
    fab_importance *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        const fab_exec x = {.threads = threads};
        fab_regression *r;
        assert_ok(fab_regression_fit(&r, &d, &p, &x));
        fab_importance *e = ask(r, &d, &(fab_importance_plan){.samples = 1000});
        if (!first) first = e;
        assert_memory_equal(&e->log_evidence, &first->log_evidence, sizeof(double));
        assert_memory_equal(&e->elpd, &first->elpd, sizeof(double));
        assert_memory_equal(e->row_k, first->row_k, N * sizeof(double));
        if (e != first) fab_importance_free(e);
        fab_regression_free(r);
    }
    fab_importance_free(first);
}

static void models_are_compared_on_the_same_rows(void **state)
{
    (void)state;
    fab_importance a = {.n = 5, .weight = 5, .log_evidence = -10},
                   b = {.n = 5, .weight = 5, .log_evidence = -10 - log(3)}, c = {.n = 4};
    const fab_importance *both[] = {&b, &a}, *odd[] = {&a, &c};
    double p[2];
    int64_t best;
    assert_ok(fab_importance_compare(2, both, p, &best));
    assert_int_equal(best, 1);
    assert_near(p[1], 0.75, 1e-15);
    assert_near(p[0], 0.25, 1e-15);
    assert_refused(fab_importance_compare(2, odd, p, &best), FAB_BAD_ARGUMENT, "on the same rows");
}

static void refuse(const fab_plan *p, const double *y, const char *words)
{
    const fab_arrays a = table(y);
    const fab_data d = {.arrays = &a};
    fab_regression *r = fit(&d, p);
    fab_importance *e;
    assert_refused(fab_regression_importance(r, &d, NULL, &e), FAB_UNSUPPORTED, words);
    assert_null(e);
    fab_regression_free(r);
}

static void what_has_no_evidence_is_refused(void **state)
{
    (void)state;
    static const char *const short_net[] = {"epochs=3", "runs=1", NULL}, *const beta[] = {"beta=2",
                                                                                          NULL};
    refuse(&(fab_plan){.method = "ridge"}, rows.y, "is a point");
    refuse(&(fab_plan){.method = "spike-slab"}, rows.y, "sparse prior");
    refuse(&(fab_plan){.model = "gp:rbf"}, rows.y, "Gaussian process");
    refuse(&(fab_plan){.model = "nystrom:rbf:5", .method = "exact"}, rows.y,
           "features of a kernel");
    refuse(&(fab_plan){.model = "mlp:3", .method = "vifa", .settings = short_net}, rows.y,
           "learned the noise");
    fab_gauss *prior;
    assert_ok(fab_gauss_create(&prior, FAB_FORM_COVARIANCE, FAB_F64, D + 1, 0));
    refuse(&(fab_plan){.method = "exact", .settings = beta, .no_scale = 1, .prior_gauss = prior},
           rows.y, "alpha");
    fab_gauss_free(prior);
    const fab_arrays a = table(rows.y);
    const fab_data d = {.arrays = &a};
    fab_regression *r = fit(&d, &(fab_plan){.method = "exact"});
    fab_importance *e;
    assert_refused(fab_regression_importance(r, &d, &(fab_importance_plan){.samples = 5}, &e),
                   FAB_BAD_ARGUMENT, "samples = 5");
    assert_refused(fab_regression_importance(r, &d, &(fab_importance_plan){.wider = NAN}, &e),
                   FAB_BAD_ARGUMENT, "wider = nan");
    assert_refused(fab_regression_importance(r, &d, &(fab_importance_plan){.nu = -1}, &e),
                   FAB_BAD_ARGUMENT, "nu = -1");
    fab_regression_free(r);
}

static int setup(void **state)
{
    (void)state;
    make_rows();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(smoothing_is_that_of_its_definition),
        TEST(k_is_the_shape_of_the_tail),
        TEST(order_ties_and_few_weights_have_a_meaning),
        TEST(the_evidence_of_a_linear_model_is_exact),
        TEST(the_evidence_is_in_the_units_of_the_table),
        TEST(rows_left_out_are_those_of_the_closed_form),
        TEST(standard_errors_are_honest),
        TEST(the_evidence_of_one_coefficient_is_its_integral),
        TEST(weights_are_those_of_their_parts),
        TEST(bits_do_not_depend_on_threads),
        TEST(models_are_compared_on_the_same_rows),
        TEST(what_has_no_evidence_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
