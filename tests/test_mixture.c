/* test_mixture.c - density, draws and moments of mixtures against dense algebra.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/gauss.h"
#include "dense.h"

enum { D = 29, PARTS = 4, N = 67 };

static const double weights[PARTS] = {0.5, 0.125, 0, 0.375};

typedef struct four {
    fab_gauss *g[PARTS];
    const fab_gauss *part[PARTS];
    fab_mixture m;
} four;

/* Both forms, both types, K = 3, 1, 0, 5; nothing depends on the part of weight 0. */
static void make_four(four *f)
{
    f->g[0] = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 3, 120, 1);
    f->g[1] = some_gauss(FAB_FORM_PRECISION, FAB_F64, D, 1, 121, 1);
    f->g[2] = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 0, 122, 1);
    f->g[3] = some_gauss(FAB_FORM_PRECISION, FAB_F64, D, 5, 123, 1);
    for (int j = 0; j < PARTS; j++) f->part[j] = f->g[j];
    f->m = (fab_mixture){PARTS, f->part, weights};
}

static void free_four(four *f)
{
    for (int j = 0; j < PARTS; j++) fab_gauss_free(f->g[j]);
}

static const double log_two_pi = 1.8378770664093454836;

static real log_density(const fab_gauss *g, const double *x)
{
    real *v = dense_new(g->D);
    for (int64_t d = 0; d < g->D; d++) v[d] = (real)x[d] - g->mu[d];
    return -((real)g->D * log_two_pi + dense_logdet(g->D, dense_covariance(g)) +
             dense_quad(g->D, dense_precision(g), v)) /
           2;
}

/* log sum w_j p_j, by the largest */
static real log_mixture(const fab_mixture *m, const double *x)
{
    real term[PARTS], most = -1e300, sum = 0;
    for (int64_t j = 0; j < m->n; j++) {
        term[j] = m->weight[j] > 0 ? log(m->weight[j]) + log_density(m->part[j], x) : (real)-1e300;
        most = r_max(most, term[j]);
    }
    for (int64_t j = 0; j < m->n; j++) sum += exp((double)(term[j] - most));
    return most + log((double)sum);
}

/* A log density is right to c times its terms, c as in test_distance.c. */
static void the_density_is_the_weighted_sum(void **state)
{
    (void)state;
    four f;
    make_four(&f);
    double x[N * D], out[N];
    for (int64_t j = 0; j < N; j++) /* near one part and far from all */
        for (int64_t d = 0; d < D; d++)
            x[j * D + d] = f.g[j % PARTS]->mu[d] + (j < 60 ? 1 : 1e4) * noise(124, j * D + d);
    real kappa = 1;
    for (int j = 0; j < PARTS; j++) kappa = r_max(kappa, dense_kappa(f.g[j]));
    assert_ok(fab_mixture_logpdf(&f.m, &(fab_rows){x, FAB_F64, N, D}, NULL, out));
    for (int64_t j = 0; j < N; j++) {
        const real want = log_mixture(&f.m, x + j * D);
        assert_near(out[j], want, 8 * (D + 10) * kappa * ROUND_F64 * (r_abs(want) + 4 * D));
    }
    const double one = 1;
    double alone[N], logp[N];
    fab_solver *s;
    assert_ok(fab_mixture_logpdf(&(fab_mixture){1, f.part, &one}, &(fab_rows){x, FAB_F64, N, D},
                                 NULL, alone));
    assert_ok(fab_solver_create(&s, f.g[0], NULL));
    assert_ok(fab_solver_logpdf(s, &(fab_rows){x, FAB_F64, N, D}, logp));
    assert_memory_equal(alone, logp, sizeof alone); /* a mixture of one is that one */
    fab_solver_free(s);
    free_four(&f);
}

/* ---- draws ------------------------------------------------------------------------------------- */

/* 40 000 draws: the share of each part within 5.2 standard errors (once in 1e6 for the three), none from
 * the part of weight 0. */
static void draws_come_from_the_parts_by_weight(void **state)
{
    (void)state;
    enum { M = 40000 };
    four f;
    make_four(&f);
    double *x = doubles((int64_t)M * D);
    int64_t *from = dense_bytes(M * sizeof *from), count[PARTS] = {0};
    assert_ok(fab_mixture_sample(&f.m, 29, FAB_PURPOSE_SAMPLE, 0, M, FAB_F64, x, D, from, NULL));
    for (int i = 0; i < M; i++) count[from[i]]++;
    assert_int_equal(count[2], 0);
    for (int j = 0; j < PARTS; j++)
        assert_near((double)count[j] / M, weights[j],
                    5.2 * sqrt(weights[j] * (1 - weights[j]) / M));

    double mean[D], variance[D]; /* and their moments are the mixture's, to 5.5 standard errors */
    assert_ok(fab_mixture_moments(&f.m, NULL, mean, variance));
    for (int64_t d = 0; d < D; d++) {
        double sum = 0, square = 0, fourth = 0;
        for (int64_t i = 0; i < M; i++) {
            const double v = x[i * D + d] - mean[d];
            sum += v / M, square += v * v / M, fourth += v * v * v * v / M;
        }
        assert_near(sum, 0, 5.5 * sqrt(variance[d] / M));
        assert_near(square, variance[d], 5.5 * sqrt((fourth - square * square) / M));
    }
    free_four(&f);
}

static void a_draw_depends_on_seed_and_number_alone(void **state)
{
    (void)state;
    enum { M = 101 };
    four f;
    make_four(&f);
    double x[M * D], y[M * D], one[D];
    int64_t from[M], again[M];
    assert_ok(fab_mixture_sample(&f.m, 29, FAB_PURPOSE_SAMPLE, 7, M, FAB_F64, x, D, from, NULL));
    for (int64_t piece = 1; piece < M; piece = 3 * piece + 1)
        for (int64_t threads = 1; threads <= 4; threads *= 2) {
            const fab_exec e = {.threads = threads};
            for (int64_t i = 0; i < M; i += piece)
                assert_ok(fab_mixture_sample(&f.m, 29, FAB_PURPOSE_SAMPLE, 7 + i,
                                             M - i < piece ? M - i : piece, FAB_F64, y + i * D, D,
                                             piece == 1 ? NULL : again + i, &e));
            assert_memory_equal(x, y, sizeof x);
            if (piece > 1) assert_memory_equal(from, again, sizeof from);
        }
    for (int64_t i = 0; i < M;
         i += 10) { /* a draw of a part is the part's own draw of that number */
        fab_solver *s;
        assert_ok(fab_solver_create(&s, f.g[from[i]], NULL));
        assert_ok(fab_solver_sample(s, 29, FAB_PURPOSE_SAMPLE, 7 + i, 1, FAB_F64, one, D));
        assert_memory_equal(one, x + i * D, sizeof one);
        fab_solver_free(s);
    }
    float z[3 * 31];
    assert_ok(fab_mixture_sample(&f.m, 29, FAB_PURPOSE_SAMPLE, 7, 3, FAB_F32, z, 31, NULL, NULL));
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < D; d++) assert_near(z[i * 31 + d], (float)x[i * D + d], 0);
    free_four(&f);
}

/* ---- moments ----------------------------------------------------------------------------------- */

static void moments_agree_with_dense_algebra(void **state)
{
    (void)state;
    four f;
    make_four(&f);
    double mean[D], variance[D];
    real kappa = 1;
    for (int j = 0; j < PARTS; j++) kappa = r_max(kappa, dense_kappa(f.g[j]));
    assert_ok(fab_mixture_moments(&f.m, NULL, mean, variance));
    const real *S[PARTS];
    for (int j = 0; j < PARTS; j++) S[j] = dense_covariance(f.g[j]);
    for (int64_t d = 0; d < D; d++) {
        real m = 0, v = 0, size = 0;
        for (int j = 0; j < PARTS; j++)
            m += (real)weights[j] * f.g[j]->mu[d], size += fabs(f.g[j]->mu[d]);
        for (int j = 0; j < PARTS; j++) {
            const real off = f.g[j]->mu[d] - m,
                       inverse = f.g[j]->form == FAB_FORM_PRECISION ? 1 / f.g[j]->psi[d] : 0;
            v += weights[j] * (S[j][d * D + d] + off * off);
            size += inverse; /* the variance of a precision form is a difference from 1/psi */
        }
        assert_near(mean[d], m, 8 * ROUND_F64 * size);
        assert_near(variance[d], v, 8 * (D + 10) * kappa * ROUND_F64 * (v + size * size));
    }
    free_four(&f);
}

static void points_have_moments_and_draws_but_no_density(void **state)
{
    (void)state;
    const fab_gauss *part[2];
    fab_gauss *g[2];
    const double half[] = {0.25, 0.75};
    double mean[D], variance[D], x[8 * D];
    int64_t from[8];
    for (int j = 0; j < 2; j++)
        part[j] = g[j] = some_gauss(FAB_FORM_POINT, FAB_F64, D, 0, 125 + (uint64_t)j, 1);
    const fab_mixture m = {2, part, half};
    assert_ok(fab_mixture_moments(&m, NULL, mean, variance));
    for (int d = 0; d < D; d++) {
        const double gap = g[0]->mu[d] - g[1]->mu[d];
        assert_near(mean[d], 0.25 * g[0]->mu[d] + 0.75 * g[1]->mu[d], 16 * ROUND_F64);
        assert_near(variance[d], 0.1875 * gap * gap, 64 * ROUND_F64 * (1 + gap * gap));
    }
    assert_ok(fab_mixture_sample(&m, 1, FAB_PURPOSE_SAMPLE, 0, 8, FAB_F64, x, D, from, NULL));
    for (int i = 0; i < 8; i++) assert_memory_equal(x + i * D, g[from[i]]->mu, D * sizeof *x);
    assert_refused(fab_mixture_logpdf(&m, &(fab_rows){x, FAB_F64, 1, D}, NULL, mean),
                   FAB_UNSUPPORTED, "a point has no density");
    for (int j = 0; j < 2; j++) fab_gauss_free(g[j]);
}

/* ---- refusals ---------------------------------------------------------------------------------- */

/* Of single Gaussians KL has a closed form; 5 standard errors fail once in two million seeds. */
static void kl_by_draws_is_kl(void **state)
{
    (void)state;
    fab_gauss *a = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 7, 2, 3, 1),
              *b = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 7, 0, 4, 1);
    const fab_gauss *const pa[] = {a, a}, *const pb[] = {b};
    const double half[] = {0.5, 0.5}, one = 1;
    const fab_mixture ma = {2, pa, half}, mb = {1, pb, &one};
    double want, got, se, before = INFINITY;
    assert_ok(fab_distance_kl(a, b, NULL, &want));
    for (int64_t n = 1000; n <= 16000; n *= 4) {
        assert_ok(fab_mixture_kl(&ma, &mb, 3, n, NULL, &got, &se));
        assert_near(got, want, 5 * se);
        assert_true(se < before);
        before = se;
    }
    assert_ok(fab_mixture_kl(&ma, &ma, 3, 700, NULL, &got, &se));
    assert_true(got == 0 && se == 0);
    assert_refused(fab_mixture_kl(&ma, &mb, 3, 1, NULL, &got, &se), FAB_BAD_ARGUMENT,
                   "expected at least 2");
    fab_gauss_free(a);
    fab_gauss_free(b);
}

static void parts_are_matched_by_their_means(void **state)
{
    (void)state;
    fab_gauss *g[3];
    for (int i = 0; i < 3; i++) {
        g[i] = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 4, 1, 5, 1);
        g[i]->mu[0] += 10 * i;
    }
    const fab_gauss *const pa[] = {g[0], g[1], g[2]}, *const pb[] = {g[2], g[0]};
    const double a3[] = {0.2, 0.3, 0.5}, b2[] = {0.6, 0.4};
    const fab_mixture a = {3, pa, a3}, b = {2, pb, b2};
    int64_t match[3];
    double far[3];
    assert_ok(fab_mixture_match(&a, &b, NULL, match, far));
    assert_true(match[0] == 1 && match[1] == -1 && match[2] == 0);
    assert_true(far[0] == 0 && far[1] != far[1] && far[2] == 0);
    assert_ok(fab_mixture_match(&b, &a, NULL, match, NULL));
    assert_true(match[0] == 2 && match[1] == 0);
    for (int i = 0; i < 3; i++) fab_gauss_free(g[i]);
}

static void what_is_no_mixture_is_refused(void **state)
{
    (void)state;
    four f;
    make_four(&f);
    double out[D], x[D] = {0};
    const double wrong[][PARTS] = {{0.5, 0.5, 0.1, -0.1},
                                   {0.5, 0.5, NAN, 0},
                                   {0.5, 0.25, 0, 0},
                                   {0.25, 0.25, 0.25, 0.25 + 2e-9},
                                   {INFINITY, 0, 0, 0}};
    const char *const words[] = {"weight 3 is -0.1", "weight 2 is nan", "sum to 0.75",
                                 "sum to 1.000000002", "sum to inf"};
    for (int i = 0; i < 5; i++) {
        const fab_mixture m = {PARTS, f.part, wrong[i]};
        assert_refused(fab_mixture_check(&m), FAB_BAD_DATA, words[i]);
        assert_refused(fab_mixture_moments(&m, NULL, out, out), FAB_BAD_DATA, words[i]);
        assert_refused(
            fab_mixture_sample(&m, 1, FAB_PURPOSE_SAMPLE, 0, 1, FAB_F64, out, D, NULL, NULL),
            FAB_BAD_DATA, words[i]);
        assert_refused(fab_mixture_logpdf(&m, &(fab_rows){x, FAB_F64, 1, D}, NULL, out),
                       FAB_BAD_DATA, words[i]);
    }
    const double close[] = {0.25, 0.25, 0.25, 0.25 + 1e-10};
    assert_ok(fab_mixture_check(&(fab_mixture){PARTS, f.part, close}));
    assert_refused(fab_mixture_check(&(fab_mixture){0, f.part, weights}), FAB_BAD_DATA, "0 parts");
    fab_gauss *longer = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D + 1, 1, 127, 1), *part;
    assert_ok(fab_gauss_create_part(&part, FAB_FORM_COVARIANCE, FAB_F64, D, 1, 40));
    f.part[3] = longer;
    assert_refused(fab_mixture_check(&f.m), FAB_BAD_DATA, "part 3 has D = 30");
    f.part[3] = part;
    assert_refused(fab_mixture_check(&f.m), FAB_BAD_DATA, "theta of 40");
    f.part[3] = f.g[3];
    assert_refused(
        fab_mixture_sample(&f.m, 1, FAB_PURPOSE_SAMPLE, -1, 1, FAB_F64, out, D, NULL, NULL),
        FAB_BAD_ARGUMENT, "number -1");
    assert_refused(
        fab_mixture_sample(&f.m, 1, FAB_PURPOSE_SAMPLE, 0, -1, FAB_F64, out, D, NULL, NULL),
        FAB_BAD_ARGUMENT, "-1 draws");
    assert_refused(
        fab_mixture_sample(&f.m, 1, FAB_PURPOSE_SAMPLE, INT64_MAX, 1, FAB_F64, out, D, NULL, NULL),
        FAB_BAD_ARGUMENT, "draws");
    assert_refused(
        fab_mixture_sample(&f.m, 1, FAB_PURPOSE_SAMPLE, 0, 1, FAB_F64, out, D - 1, NULL, NULL),
        FAB_BAD_ARGUMENT, "28 apart");
    assert_refused(fab_mixture_logpdf(&f.m, &(fab_rows){x, FAB_F64, -1, D}, NULL, out),
                   FAB_BAD_ARGUMENT, "-1 rows");
    assert_refused(fab_mixture_logpdf(&f.m, &(fab_rows){x, FAB_F64, 1, D - 1}, NULL, out),
                   FAB_BAD_ARGUMENT, "28 apart");
    x[5] = NAN;
    assert_refused(fab_mixture_logpdf(&f.m, &(fab_rows){x, FAB_F64, 1, D}, NULL, out), FAB_BAD_DATA,
                   "column 5");
    fab_gauss_free(longer);
    fab_gauss_free(part);
    free_four(&f);
}

/* ---- allocations ------------------------------------------------------------------------------- */

static const fab_mixture *given;
static double x_now[3 * D], out_now[3 * D], more_now[D];

static fab_status logpdf_now(void)
{
    return fab_mixture_logpdf(given, &(fab_rows){x_now, FAB_F64, 3, D}, NULL, out_now);
}

static fab_status sample_now(void)
{
    return fab_mixture_sample(given, 1, FAB_PURPOSE_SAMPLE, 0, 3, FAB_F64, out_now, D, NULL, NULL);
}

static fab_status moments_now(void)
{
    return fab_mixture_moments(given, NULL, out_now, more_now);
}

/* Finite, and valid as a file, but a variance is not: no range is given rather than an infinite one. */
static void ranges_are_finite_or_refused(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 2, 124, 1);
    const double all = 1;
    const fab_gauss *part = g;
    const fab_mixture m = {1, &part, &all};
    fab_ranges r;
    assert_int_equal(fab_mixture_ranges(&m, NULL, &r), FAB_OK);
    assert_true(isfinite(r.mean_lo) && isfinite(r.mean_hi) && r.sd_lo > 0 && isfinite(r.sd_hi));
    ((double *)g->F)[2 * 7] = 1e200;
    assert_int_equal(fab_mixture_ranges(&m, NULL, &r), FAB_NUMERIC);
    assert_non_null(strstr(fab_detail(), "coordinate 7 has mean"));
    fab_gauss_free(g);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    four f;
    make_four(&f);
    given = &f.m;
    assert_true(fail_every_allocation(logpdf_now) > PARTS);
    assert_true(fail_every_allocation(sample_now) > PARTS);
    assert_true(fail_every_allocation(moments_now) > PARTS);
    free_four(&f);
}

/* Means 0, 2 and 2 again, and a row in the middle: the first of equal ones. */
static void the_nearest_mean_is_the_first_of_equal_ones(void **state)
{
    (void)state;
    double mu[] = {0, 2, 2};
    const double w[] = {0.2, 0.3, 0.5};
    const float x[] = {-1, 0.5f, 1, 1.5f, 7};
    const int64_t want[] = {0, 0, 0, 1, 1};
    const double squares[] = {1, 0.25, 1, 0.25, 25};
    fab_gauss part[3];
    const fab_gauss *const all[] = {part, part + 1, part + 2};
    const fab_mixture m = {3, all, w};
    const fab_rows rows = {.p = x, .type = FAB_F32, .n = 5, .ld = 1};
    int64_t label[5];
    double square[5];
    for (int k = 0; k < 3; k++) part[k] = (fab_gauss){.form = FAB_FORM_POINT, .D = 1, .mu = mu + k};
    assert_ok(fab_mixture_nearest(&m, &rows, NULL, label, square));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(label[i], want[i]);
        assert_near(square[i], squares[i], 1e-15);
    }
    assert_ok(fab_mixture_nearest(&m, &rows, NULL, label, NULL));
}

/* The axes of a dense correlation matrix: R v = l v holds for what is given, u has variance l, the shares are the largest and what is
 * left has less; the parts on the axes have the moments of their own.  Errors of l are of second order in those of v. */
static void axes_are_those_of_the_dense_correlations(void **state)
{
    enum { K = 3 };
    (void)state;
    const double w[] = {0.5, 0.125, 0.375};
    fab_gauss *own[] = {some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 3, 130, 1),
                        some_gauss(FAB_FORM_COVARIANCE, FAB_F32, D, 0, 131, 1),
                        some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 5, 132, 1)};
    const fab_gauss *const part[] = {own[0], own[1], own[2]};
    const fab_mixture m = {3, part, w};
    double centre[D], axis[K * D], share[K], mean[K], S[K * K], between[K * K] = {0}, sum[K] = {0};
    assert_ok(fab_mixture_axes(&m, K, NULL, centre, axis, share));
    real *C = dense_new(D * D), trace = 0;
    for (int g = 0; g < 3; g++) {
        const real *Cg = dense_covariance(own[g]);
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++)
                C[i * D + j] += (real)w[g] *
                                (Cg[i * D + j] + ((real)own[g]->mu[i] - centre[i]) *
                                                     ((real)own[g]->mu[j] - centre[j]));
    }
    for (int k = 0; k < K; k++) {
        double l = share[k] * D, most = 0;
        for (int i = 0; i < D; i++) { /* C a = l diag(C) a, with a = v / s */
            real Ca = 0;
            for (int j = 0; j < D; j++) Ca += C[i * D + j] * axis[k * D + j];
            assert_near((double)(Ca / C[i * D + i]), l * axis[k * D + i], 1e-4 * l);
            if (fabs(axis[k * D + i]) * sqrt((double)C[i * D + i]) > fabs(most))
                most = axis[k * D + i] * sqrt((double)C[i * D + i]);
        }
        assert_true(most > 0);
        if (k) assert_true(share[k] <= share[k - 1]);
        trace += share[k];
    }
    assert_true(trace < 1);
    for (int g = 0; g < 3; g++) {
        fab_gauss_on_axes(own[g], K, centre, axis, mean, S);
        for (int a = 0; a < K; a++) {
            sum[a] += w[g] * mean[a];
            for (int b = 0; b < K; b++)
                between[a * K + b] += w[g] * (S[a * K + b] + mean[a] * mean[b]);
        }
    }
    double z[3 * D], m1[D], v1[D], x[9], y[9]; /* what is drawn */
    assert_ok(fab_mixture_standings(&m, NULL, z));
    assert_ok(fab_mixture_moments(&m, NULL, m1, v1));
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < D; i++)
            assert_near(z[g * D + i], (own[g]->mu[i] - m1[i]) / sqrt(v1[i]), 1e-13);
    fab_gauss_on_axes(own[0], 2, centre, axis, mean, S);
    fab_gauss_outline(2, mean, S, 2.5, 9, x, y);
    for (int i = 0; i < 9; i++) { /* all are 2.5 standard deviations away */
        const double u = x[i] - mean[0], v = y[i] - mean[1], det = S[0] * S[3] - S[1] * S[2];
        assert_near((S[3] * u * u - 2 * S[1] * u * v + S[0] * v * v) / det, 6.25, 1e-10);
    }
    fab_gauss_outline(1, mean, S, 4, 9, x, y);
    assert_near(x[8] - x[0], 8 * sqrt(S[0]), 1e-12);
    assert_near(y[4] * sqrt(2 * 3.14159265358979323846 * S[0]), 1, 1e-12);
    for (int a = 0; a < K; a++) {
        assert_near(sum[a], 0, 1e-12);
        for (int b = 0; b < K; b++)
            assert_near(between[a * K + b], a == b ? share[a] * D : 0, 1e-10 * D);
    }
    assert_refused(fab_mixture_axes(&m, D + 1, NULL, centre, axis, share), FAB_BAD_ARGUMENT,
                   "30 of them");
    for (int g = 0; g < 3; g++) fab_gauss_free(own[g]);
    four f;
    make_four(&f);
    assert_refused(fab_mixture_axes(&f.m, 1, NULL, centre, axis, share), FAB_UNSUPPORTED, "part 1");
    free_four(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_density_is_the_weighted_sum),
        TEST(the_nearest_mean_is_the_first_of_equal_ones),
        TEST(axes_are_those_of_the_dense_correlations),
        TEST(draws_come_from_the_parts_by_weight),
        TEST(a_draw_depends_on_seed_and_number_alone),
        TEST(moments_agree_with_dense_algebra),
        TEST(points_have_moments_and_draws_but_no_density),
        TEST(kl_by_draws_is_kl),
        TEST(parts_are_matched_by_their_means),
        TEST(what_is_no_mixture_is_refused),
        TEST(ranges_are_finite_or_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
