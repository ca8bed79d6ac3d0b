/* test_vbgmm.c - mixtures of Gaussians by variational Bayes: the exact evidence of one part, dense loops, odd tables.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fa_case.h"
#include "fabayes/fit.h"
#include "base/digamma.h"

enum { D = 3, G = 3, N = 90 };

static double *clouds(int64_t n, int64_t d, double apart)
{
    double *x = doubles(n * d);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = 2.385 + apart * noise(21, i % 3 * d + j) + noise(22, i * d + j) +
                           0.7 * noise(23, i) * (double)(j % 2);
    return x;
}

static fab_fit *opened(int64_t d, int64_t parts, const char *text, const fab_mixture *start,
                       int64_t threads)
{
    fab_fit *f;
    const any_settings s = settings_of("vbgmm", parts, text);
    assert_ok(fab_fit_create(&f, "vbgmm", &s, sizeof(fab_vbgmm_settings),
                             &(fab_input){.vectors = d, .start = start},
                             &(fab_exec){.threads = threads}));
    return f;
}

static fab_fit *fitted(const double *x, const double *weight, int64_t n, int64_t d, int64_t parts,
                       const char *text, const fab_mixture *start, const fab_mixture **q)
{
    fab_fit *f = opened(d, parts, text, start, 2);
    assert_ok(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, n, d}, .weight = weight}));
    assert_ok(fab_fit_result(f, q));
    assert_ok(fab_mixture_check(*q));
    return f;
}

static fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

static double bound_of(const double *x, const double *weight, int64_t n, int64_t d, int64_t parts,
                       const char *text, const fab_mixture *start)
{
    const fab_mixture *q;
    fab_fit *f = fitted(x, weight, n, d, parts, text, start, &q);
    const double bound = report_of(f).log_evidence;
    fab_fit_free(f);
    return bound;
}

/* ---- the prior, by definition ------------------------------------------------------------------------- */

typedef struct prior {
    real *m, *B; /* d, d x d */
    double b, v, a;
} prior;

static prior prior_of(const double *x, const double *weight, int64_t n, int64_t d, int diag,
                      double scatter, double floor)
{
    prior p = {.m = dense_new(d), .B = dense_new(d * d)};
    real total = 0;
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1;
        total += w;
        for (int64_t j = 0; j < d; j++) p.m[j] += (real)w * x[i * d + j];
    }
    for (int64_t j = 0; j < d; j++) p.m[j] /= total;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            for (int64_t l = 0; l < d; l++)
                p.B[j * d + l] += (weight ? weight[i] : 1) * (x[i * d + j] - p.m[j]) *
                                  (x[i * d + l] - p.m[l]);
    for (int64_t j = 0; j < d; j++)
        for (int64_t l = 0; l < d; l++) {
            const real C = p.B[j * d + l];
            p.B[j * d + l] = diag && j != l ? 0 : C / (total - 1);
            if (j == l) p.B[j * d + l] += (real)floor * C / total;
            p.B[j * d + l] *= scatter;
        }
    return p;
}

/* log p(x_1 .. x_n) as the product of the Student densities of each row under those before it. */
static real evidence_one_by_one(const double *x, int64_t n, int64_t d, prior p)
{
    real sum = 0, *m = dense_new(d), *B = dense_new(d * d), *e = dense_new(d);
    memcpy(m, p.m, (size_t)d * sizeof *m);
    memcpy(B, p.B, (size_t)(d * d) * sizeof *B);
    for (int64_t i = 0; i < n; i++) {
        const double b = p.b + (double)i, v = p.v + (double)i, df = v + 1 - (double)d;
        for (int64_t j = 0; j < d; j++) e[j] = x[i * d + j] - m[j];
        const real ratio = b / (b + 1); /* scale of the t: B (b + 1) / (b df) */
        const real q = ratio * dense_quad(d, dense_inverse(d, B), e);
        sum += lgamma((df + (double)d) / 2) - lgamma(df / 2) - (double)d / 2 * log(acos(-1)) -
               (dense_logdet(d, B) - (real)d * r_log(ratio)) / 2 -
               (df + (double)d) / 2 * r_log(1 + q);
        for (int64_t j = 0; j < d; j++)
            for (int64_t l = 0; l < d; l++) B[j * d + l] += ratio * e[j] * e[l];
        for (int64_t j = 0; j < d; j++) m[j] += e[j] / (b + 1);
    }
    return sum;
}

/* Of two kinds of numbers: the bound with one part, and this product. */
static void one_part_is_the_exact_evidence(void **state)
{
    (void)state;
    const double *x = clouds(N, D, 2);
    const double full =
        bound_of(x, NULL, N, D, 1, "mean_precision=0.3 freedom=4.5 scatter=2", NULL);
    prior p = prior_of(x, NULL, N, D, 0, 2, 1e-6);
    p.b = 0.3, p.v = 4.5;
    real want = evidence_one_by_one(x, N, D, p);
    assert_near(full, want, 1e-12 * fabs((double)want));

    const double diag = bound_of(x, NULL, N, D, 1,
                                 "covariance=diag mean_precision=0.3 freedom=1.7 scatter=2", NULL);
    want = 0;
    p = prior_of(x, NULL, N, D, 1, 2, 1e-6);
    for (int64_t j = 0; j < D; j++) {
        double *column = doubles(N);
        for (int64_t i = 0; i < N; i++) column[i] = x[i * D + j];
        prior one = {.m = p.m + j, .B = &p.B[j * D + j], .b = 0.3, .v = 1.7};
        want += evidence_one_by_one(column, N, 1, one);
    }
    assert_near(diag, want, 1e-12 * fabs((double)want));
}

/* Means of 1e4 standard deviations, 29 columns, few rows: the same to 1e-9. */
static void far_means_and_few_rows_keep_the_evidence(void **state)
{
    (void)state;
    enum { WIDE = 29, FEW = 17 };
    double *x = doubles(FEW * WIDE);
    memcpy(x, clouds(FEW, WIDE, 1), FEW * WIDE * sizeof *x);
    for (int64_t i = 0; i < FEW * WIDE; i++) x[i] += 1e4;
    const double got =
        bound_of(x, NULL, FEW, WIDE, 1, "floor=0.01 scatter=1 mean_precision=1", NULL);
    prior p = prior_of(x, NULL, FEW, WIDE, 0, 1, 0.01);
    p.b = 1, p.v = WIDE;
    const real want = evidence_one_by_one(x, FEW, WIDE, p);
    assert_near(got, want, 1e-9 * fabs((double)want));
}

/* ---- dense loops -------------------------------------------------------------------------------------- */

static double digamma_by_recurrence(double x)
{
    real below = 0;
    for (; x < 1000; x++) below += 1 / (real)x;
    return (double)(r_log(x) - 0.5 / (real)x - 1 / (12 * (real)x * x) +
                    1 / (120 * (real)x * x * x * x) - below);
}

static void digammas_are_those_of_the_recurrence(void **state)
{
    (void)state;
    for (double x = 1e-6; x < 2000; x *= 1.37) {
        const double want = digamma_by_recurrence(x);
        assert_near(fab_digamma(x), want, 4e-15 * (1 + fabs(want)));
    }
    assert_near(fab_digamma(1), -0.57721566490153286061, 1e-15);
}

typedef struct factor { /* q of one part */
    real *m, *B;
    double a, b, v;
} factor;

/* A part's q after its rows have these weights. */
static factor factor_of(const double *x, int64_t n, int64_t d, const real *r, int64_t g,
                        const double *weight, const prior *p, int diag)
{
    factor f = {.m = dense_new(d), .B = dense_new(d * d)};
    real rows = 0, *mean = dense_new(d);
    for (int64_t i = 0; i < n; i++) rows += r[i * G + g] * weight[i];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) mean[j] += r[i * G + g] * weight[i] * x[i * d + j] / rows;
    const real pull = p->b * rows / (p->b + rows);
    for (int64_t j = 0; j < d; j++) f.m[j] = (p->b * p->m[j] + rows * mean[j]) / (p->b + rows);
    for (int64_t j = 0; j < d; j++)
        for (int64_t l = 0; l < d; l++) {
            if (diag && j != l) continue;
            real *B = &f.B[j * d + l];
            *B = p->B[j * d + l] + pull * (mean[j] - p->m[j]) * (mean[l] - p->m[l]);
            for (int64_t i = 0; i < n; i++)
                *B += r[i * G + g] * weight[i] * (x[i * d + j] - mean[j]) *
                      (x[i * d + l] - mean[l]);
        }
    f.a = p->a + (double)rows;
    f.b = p->b + (double)rows;
    f.v = p->v + (double)rows;
    return f;
}

static double mean_log_det(const factor *f, int64_t d, int diag)
{
    double sum = (double)d * log(2) - (double)dense_logdet(d, f->B);
    for (int64_t j = 0; j < d; j++)
        sum += digamma_by_recurrence((f->v - (diag ? 0 : (double)j)) / 2);
    return sum;
}

static double log_wishart_norm(double v, const real *B, int64_t d, int diag)
{
    double sum = v * (double)d / 2 * log(2) - v / 2 * (double)dense_logdet(d, B);
    for (int64_t j = 0; j < d; j++) sum += lgamma((v - (diag ? 0 : (double)j)) / 2);
    return sum + (diag ? 0 : (double)(d * (d - 1)) / 4 * log(acos(-1)));
}

/* The seven expectations of (10.71) to (10.77) in Bishop's book, with q(z) in r. */
static double dense_bound(const double *x, int64_t n, int64_t d, const real *r,
                          const double *weight, const factor *f, const prior *p, int diag)
{
    double all = 0, sum = lgamma(G * p->a) - G * lgamma(p->a);
    const double log_2pi = log(2 * acos(-1)), dim = (double)d;
    for (int g = 0; g < G; g++) all += f[g].a;
    sum -= lgamma(all);
    for (int g = 0; g < G; g++) {
        const double log_w = digamma_by_recurrence(f[g].a) - digamma_by_recurrence(all);
        const double log_det = mean_log_det(&f[g], d, diag);
        const real *inverse = dense_inverse(d, f[g].B);
        real *e = dense_new(d);
        for (int64_t i = 0; i < n; i++) {
            const double w = (double)r[i * G + g] * weight[i];
            if (!(w > 0)) continue;
            for (int64_t j = 0; j < d; j++) e[j] = x[i * d + j] - f[g].m[j];
            sum += w *
                   (log_det - dim / f[g].b - f[g].v * (double)dense_quad(d, inverse, e) -
                    dim * log_2pi) /
                   2;                                       /* E log p(x | z, mu, L) */
            sum += w * (log_w - log((double)r[i * G + g])); /* E log p(z | w) - E log q(z) */
        }
        sum += (p->a - 1) * log_w;                    /* E log p(w) */
        sum -= (f[g].a - 1) * log_w - lgamma(f[g].a); /* E log q(w) */
        for (int64_t j = 0; j < d; j++) e[j] = f[g].m[j] - p->m[j];
        const double far = (double)dense_quad(d, inverse, e), v = f[g].v;
        sum += (dim * log(p->b) - dim * p->b / f[g].b - p->b * v * far) / 2; /* E log p(mu, L) */
        sum += (p->v - (diag ? 2 : dim + 1)) / 2 * log_det -
               v * (double)dense_trace_mul(d, p->B, inverse) / 2 -
               log_wishart_norm(p->v, p->B, d, diag);
        sum -= dim / 2 * (log(f[g].b) - 1); /* E log q(mu, L) */
        sum -= (v - (diag ? 2 : dim + 1)) / 2 * log_det - v * dim / 2 -
               log_wishart_norm(v, f[g].B, d, diag);
    }
    return sum;
}

static void dense_shares(const double *x, int64_t n, int64_t d, const factor *f, int diag, real *r)
{
    double all = 0, l[G];
    for (int g = 0; g < G; g++) all += f[g].a;
    for (int64_t i = 0; i < n; i++) {
        double top = -INFINITY;
        real sum = 0, *e = dense_new(d);
        for (int g = 0; g < G; g++) {
            for (int64_t j = 0; j < d; j++) e[j] = x[i * d + j] - f[g].m[j];
            const double q = (double)dense_quad(d, dense_inverse(d, f[g].B), e);
            l[g] = digamma_by_recurrence(f[g].a) - digamma_by_recurrence(all) +
                   (mean_log_det(&f[g], d, diag) - (double)d / f[g].b - f[g].v * q) / 2;
            top = fmax(top, l[g]);
        }
        for (int g = 0; g < G; g++) sum += r[i * G + g] = exp(l[g] - top);
        for (int g = 0; g < G; g++) r[i * G + g] /= sum;
    }
}

/* The first rows as parts, of some width. */
static fab_mixture first_rows(const double *x)
{
    static double weight[] = {0.2, 0.3, 0.5}, width[] = {2.5, 1.5, 3.5};
    fab_gauss *all = dense_bytes(G * sizeof *all);
    const fab_gauss **part = dense_bytes(G * sizeof *part);
    for (int k = 0; k < G; k++) {
        all[k] = (fab_gauss){.form = FAB_FORM_COVARIANCE, .D = D, .psi = width};
        all[k].mu = doubles(D);
        memcpy(all[k].mu, x + k * D, D * sizeof *x);
        part[k] = &all[k];
    }
    return (fab_mixture){G, part, weight};
}

static void steps_and_bound_are_those_of_dense_loops(void **state)
{
    (void)state;
    const double *x = clouds(N, D, 1.5);
    double *weight = doubles(N);
    for (int64_t i = 0; i < N; i++) weight[i] = 1.5 + 0.2 * noise(8, i);
    const fab_mixture start = first_rows(x), *q;
    for (int diag = 0; diag < 2; diag++) {
        prior p = prior_of(x, weight, N, D, diag, 0.8, 1e-6);
        p.a = 0.7, p.b = 0.5, p.v = 3.7;
        real *r = dense_new(N * G);
        factor f[G];
        for (int64_t i = 0; i < N; i++) { /* Bayes' rule under the start */
            real sum = 0;
            for (int g = 0; g < G; g++) {
                double far = 0;
                for (int j = 0; j < D; j++) {
                    const double e = x[i * D + j] - start.part[g]->mu[j];
                    far += e * e / start.part[g]->psi[j];
                }
                sum += r[i * G + g] = start.weight[g] * exp(-far / 2);
            }
            for (int g = 0; g < G; g++) r[i * G + g] /= sum;
        }
        for (int64_t steps = 0; steps <= 6; steps++) {
            char text[160];
            for (int g = 0; g < G; g++) f[g] = factor_of(x, N, D, r, g, weight, &p, diag);
            dense_shares(x, N, D, f, diag, r);
            if (steps != 1 && steps != 6) continue;
            snprintf(text, sizeof text,
                     "covariance=%s concentration=0.7 mean_precision=0.5 freedom=3.7 scatter=0.8 "
                     "tol=0 max_iter=%d",
                     diag ? "diag" : "full", (int)steps);
            fab_fit *fit = fitted(x, weight, N, D, G, text, &start, &q);
            const double want = dense_bound(x, N, D, r, weight, f, &p, diag);
            double all = 0;
            assert_int_equal(report_of(fit).iterations, steps);
            assert_near(report_of(fit).log_evidence, want, 1e-12 * fabs(want));
            for (int g = 0; g < G; g++) all += f[g].a;
            assert_int_equal(q->n, G);
            for (int g = 0; g < G; g++) {
                const real *S = dense_covariance(q->part[g]);
                assert_near(q->weight[g], f[g].a / all, 1e-12);
                for (int j = 0; j < D; j++) assert_near(q->part[g]->mu[j], f[g].m[j], 1e-12);
                for (int j = 0; j < D * D; j++) assert_near(S[j], f[g].B[j] / f[g].v, 1e-12);
            }
            fab_fit_free(fit);
        }
    }
}

static void the_bound_never_falls(void **state)
{
    (void)state;
    const double *x = clouds(N, D, 0.5);
    const fab_mixture start = first_rows(x);
    for (int diag = 0; diag < 2; diag++) {
        double before = -INFINITY;
        for (int steps = 1; steps < 60; steps += 1 + steps / 8) {
            char text[80];
            snprintf(text, sizeof text, "covariance=%s tol=0 max_iter=%d", diag ? "diag" : "full",
                     steps);
            const double now = bound_of(x, NULL, N, D, G, text, &start);
            assert_true(now >= before - 1e-12 * fabs(now));
            before = now;
        }
    }
}

/* ---- parts that die ----------------------------------------------------------------------------------- */

static void parts_without_rows_leave_the_result(void **state)
{
    (void)state;
    double *x = doubles(N * D);
    memcpy(x, clouds(N, D, 0), N * D * sizeof *x);
    for (int64_t i = 0; i < N; i++) x[i * D + i % 3] += 40;
    const fab_mixture *q;
    const fab_tensors *t;
    fab_fit *f = fitted(x, NULL, N, D, 9, "concentration=0.01", NULL, &q);
    double all = 0, *l = doubles(N);
    real mean = 0, rows = 0;
    assert_int_equal(q->n, 3);
    for (int64_t g = 0; g < q->n; g++) {
        all += q->weight[g];
        assert_near(q->weight[g], 1.0 / 3, 1e-3);
    }
    assert_near(all, 1, 1e-14);
    assert_ok(fab_fit_tensors(f, &t));
    const fab_tensor *counts = fab_tensors_find(t, "counts");
    assert_int_equal(counts->shape[0], 3);
    for (int64_t g = 0; g < 3; g++) rows += ((const double *)counts->data)[g];
    assert_near(rows, N, 1e-6);
    assert_ok(fab_mixture_logpdf(q, &(fab_rows){x, FAB_F64, N, D}, NULL, l));
    for (int64_t i = 0; i < N; i++) mean += l[i] / N;
    assert_near(report_of(f).loglik_mean, mean, 1e-10);
    fab_fit_free(f);
}

static double scatter_of(fab_fit *f)
{
    const fab_tensors *t;
    assert_ok(fab_fit_tensors(f, &t));
    return *(const double *)fab_tensors_find(t, "prior_scatter")->data;
}

/* One part: the evidence as a function of the scatter is flat there, and lower beside it. */
static void a_scatter_that_nobody_gives_has_the_largest_evidence(void **state)
{
    (void)state;
    const double *x = clouds(N, D, 3);
    for (int diag = 0; diag < 2; diag++) {
        const char *kind = diag ? "diag" : "full";
        char text[3][80];
        const fab_mixture *q;
        snprintf(text[0], sizeof text[0], "covariance=%s tol=1e-13", kind);
        fab_fit *f = fitted(x, NULL, N, D, 1, text[0], NULL, &q);
        const double c = scatter_of(f), top = report_of(f).log_evidence;
        for (int side = 0; side < 3; side++)
            snprintf(text[side], sizeof text[side], "covariance=%s scatter=%.17g", kind,
                     c * (1 + 0.001 * (side - 1)));
        const double low = bound_of(x, NULL, N, D, 1, text[0], NULL),
                     high = bound_of(x, NULL, N, D, 1, text[2], NULL);
        assert_near(bound_of(x, NULL, N, D, 1, text[1], NULL), top, 1e-10);
        assert_true(low < top && high < top);
        assert_near(high - low, 0,
                    0.01 * (2 * top - low - high) + 1e-9); /* a step of third order */
        fab_fit_free(f);
    }
}

/* Two thirds of the rows alike, one column: a part around them alone would have the prior at 0. */
static void rows_that_are_alike_stop_the_scatter_at_its_floor(void **state)
{
    (void)state;
    double *x = doubles(N);
    memcpy(x, clouds(N, 1, 3), N * sizeof *x);
    for (int64_t i = 0; i < 2 * N / 3; i++) x[i] = 4;
    const fab_mixture *q;
    fab_fit *f = fitted(x, NULL, N, 1, 2, "", NULL, &q);
    assert_near(scatter_of(f), 1e-4, 1e-18);
    assert_true(report_of(f).floored > 0 && report_of(f).converged == 1);
    fab_fit_free(f);
    f = fitted(x, NULL, N, 1, 2, "scatter=1", NULL, &q);
    assert_int_equal(report_of(f).floored, 0);
    fab_fit_free(f);
}

/* ---- what must not matter ----------------------------------------------------------------------------- */

static void one_column_is_the_same_full_or_diagonal(void **state)
{
    (void)state;
    const double *x = clouds(N, 1, 4);
    assert_near(bound_of(x, NULL, N, 1, 4, "covariance=full", NULL),
                bound_of(x, NULL, N, 1, 4, "covariance=diag", NULL), 1e-9);
}

/* Units shift the bound by their Jacobian. */
static void units_do_not_matter(void **state)
{
    (void)state;
    const double *x = clouds(N, D, 3), unit[D] = {1e5, 2.385, 1e-4};
    double *y = doubles(N * D), jacobian = 0;
    for (int64_t i = 0; i < N * D; i++) y[i] = unit[i % D] * x[i] + 5;
    for (int j = 0; j < D; j++) jacobian += log(unit[j]);
    for (int diag = 0; diag < 2; diag++) {
        const char *text = diag ? "covariance=diag" : "";
        const double a = bound_of(x, NULL, N, D, G, text, NULL);
        assert_near(bound_of(y, NULL, N, D, G, text, NULL), a - N * jacobian, 1e-7 * fabs(a));
    }
}

static void a_weight_of_two_is_two_rows(void **state)
{
    (void)state;
    const double *x = clouds(N, D, 1);
    const fab_mixture start = first_rows(x);
    double *twice = doubles(N * D), *weight = doubles(N / 2);
    for (int64_t i = 0; i < N / 2; i++) {
        weight[i] = 2;
        memcpy(twice + 2 * i * D, x + i * D, D * sizeof *x);
        memcpy(twice + (2 * i + 1) * D, x + i * D, D * sizeof *x);
    }
    const double a = bound_of(x, weight, N / 2, D, G, "", &start);
    assert_near(bound_of(twice, NULL, N, D, G, "", &start), a, 1e-10 * fabs(a));
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    const double *x = clouds(N, D, 1);
    void *bytes[2];
    size_t size[2];
    for (int b = 0; b < 2; b++) {
        const fab_mixture *q;
        fab_fit *f = opened(D, 5, "", NULL, b ? 7 : 1);
        assert_ok(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, N, D}}));
        assert_ok(fab_fit_result(f, &q));
        assert_ok(fab_fit_pack(f, 0, NULL, &bytes[b], &size[b]));
        fab_fit_free(f);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    fab_bytes_free(bytes[0]);
    fab_bytes_free(bytes[1]);
}

/* ---- odd tables, refusals ----------------------------------------------------------------------------- */

/* A column that is constant, one that follows from others, rows that are alike: a prior of full rank, and an answer. */
static void tables_of_less_than_full_rank_are_fitted(void **state)
{
    (void)state;
    double *x = doubles(N * D);
    memcpy(x, clouds(N, D, 3), N * D * sizeof *x);
    for (int64_t i = 0; i < N; i++) {
        x[i * D + 1] = 7;
        x[i * D + 2] = 2 * x[i * D] - 1;
    }
    for (int64_t i = 0; i < 30; i++) memcpy(x + i * D, x, D * sizeof *x);
    for (int diag = 0; diag < 2; diag++) {
        const fab_mixture *q;
        fab_fit *f = fitted(x, NULL, N, D, 4, diag ? "covariance=diag" : "", NULL, &q);
        const fab_report r = report_of(f);
        assert_true(isfinite(r.log_evidence) && isfinite(r.loglik_mean));
        fab_fit_free(f);
    }
}

static void bad_input_gets_a_sentence(void **state)
{
    (void)state;
    const double *x = clouds(N, D, 1);
    const fab_mixture start = first_rows(x), *q;
    any_settings s = settings_of("vbgmm", 3, "freedom=2");
    fab_fit *f;
    assert_refused(fab_fit_create(&f, "vbgmm", &s, sizeof(fab_vbgmm_settings),
                                  &(fab_input){.vectors = D}, NULL),
                   FAB_BAD_ARGUMENT, "freedom = 2, expected more than 2");
    s = settings_of("vbgmm", 3, "");
    assert_refused(fab_fit_create(&f, "vbgmm", &s, sizeof(fab_vbgmm_settings),
                                  &(fab_input){.vectors = FAB_DENSE_MAX + 1}, NULL),
                   FAB_UNSUPPORTED, "covariance=diag has no such limit");
    s = settings_of("vbgmm", 4, "");
    assert_refused(fab_fit_create(&f, "vbgmm", &s, sizeof(fab_vbgmm_settings),
                                  &(fab_input){.vectors = D, .start = &start}, NULL),
                   FAB_BAD_ARGUMENT, "the start has 3 parts, expected 4");
    f = opened(D, 4, "", NULL, 1);
    assert_refused(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, 3, D}}), FAB_BAD_DATA,
                   "G = 4 parts for 3 rows");
    fab_fit_free(f);
    double *same = doubles(N * D);
    f = opened(D, 2, "", NULL, 1);
    assert_ok(fab_fit_update(f, &(fab_examples){.x = {same, FAB_F64, N, D}}));
    assert_refused(fab_fit_result(f, &q), FAB_BAD_DATA, "every column is constant");
    fab_fit_free(f);
}

static const double *rows_now;
static const char *text_now;

static fab_status fit_once(void)
{
    const any_settings s = settings_of("vbgmm", 3, text_now);
    const fab_mixture *q;
    fab_fit *f;
    fab_status done = fab_fit_create(&f, "vbgmm", &s, sizeof(fab_vbgmm_settings),
                                     &(fab_input){.vectors = D}, NULL);
    if (done == FAB_OK) done = fab_fit_update(f, &(fab_examples){.x = {rows_now, FAB_F64, 50, D}});
    if (done == FAB_OK) done = fab_fit_result(f, &q);
    fab_fit_free(f);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    rows_now = clouds(N, D, 3);
    text_now = "restarts=2";
    assert_true(fail_every_allocation(fit_once) >= 8);
    text_now = "covariance=diag restarts=2";
    assert_true(fail_every_allocation(fit_once) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_part_is_the_exact_evidence),
        TEST(far_means_and_few_rows_keep_the_evidence),
        TEST(digammas_are_those_of_the_recurrence),
        TEST(steps_and_bound_are_those_of_dense_loops),
        TEST(the_bound_never_falls),
        TEST(parts_without_rows_leave_the_result),
        TEST(a_scatter_that_nobody_gives_has_the_largest_evidence),
        TEST(rows_that_are_alike_stop_the_scatter_at_its_floor),
        TEST(one_column_is_the_same_full_or_diagonal),
        TEST(units_do_not_matter),
        TEST(a_weight_of_two_is_two_rows),
        TEST(threads_do_not_matter),
        TEST(tables_of_less_than_full_rank_are_fitted),
        TEST(bad_input_gets_a_sentence),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
