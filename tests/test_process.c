/* test_process.c - Gaussian processes against dense matrices in quadruple precision.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "kernel_case.h"
#include "kernel/process.h"
#include "la/ops.h"

#define LOG_2PI 1.83787706640934548356

/* Rows, a target, weights and noise, and all that a dense matrix says of them. */
typedef struct oracle {
    fab_kernel *k;
    int64_t n, D;
    double *X, *y, *w, noise;
    real *C, *inverse, *a; /* covariance with noise, C^-1, C^-1 y */
    real logdet;
} oracle;

static oracle some_oracle(const char *text, int64_t n, int64_t D, double noise_variance)
{
    oracle o = {.n = n, .D = D, .noise = noise_variance};
    assert_ok(fab_kernel_create(&o.k, text, D, NULL));
    o.X = some_rows(11, n, D);
    o.y = doubles(n);
    o.w = doubles(n);
    for (int64_t i = 0; i < n; i++) {
        o.w[i] = 1.2 + noise(13, i);
        o.y[i] = sin(o.X[i * D]) + 0.3 * noise(12, i);
    }
    return o;
}

static void solve_oracle(oracle *o)
{
    const int64_t n = o->n;
    double *K = doubles(n * n);
    assert_ok(fab_kernel_gram(o->k, n, o->X, o->D, K, n, NULL));
    o->C = dense_new(n * n);
    for (int64_t i = 0; i < n * n; i++) o->C[i] = K[i];
    for (int64_t i = 0; i < n; i++) o->C[i * n + i] += (real)o->noise / o->w[i];
    real *y = dense_new(n);
    for (int64_t i = 0; i < n; i++) y[i] = o->y[i];
    o->inverse = dense_inverse(n, o->C);
    o->a = dense_mul(n, n, 1, o->inverse, y);
    o->logdet = dense_logdet(n, o->C);
}

static fab_process *learned(const oracle *o, int64_t room, const fab_exec *x)
{
    fab_process *p;
    assert_ok(fab_process_create(&p, o->k, o->n, o->X, o->D, room, x));
    assert_ok(fab_process_learn(p, o->y, o->w, o->noise));
    return p;
}

/* ---- evidence, mean, variance --------------------------------------------------------------------------- */

static void compare_evidence(const oracle *o, fab_process *p)
{
    const int64_t n = o->n, size = fab_kernel_size(o->k);
    double lml, g[64], want[64], *M = doubles(n * n);
    real fit = 0, by_noise = 0;
    for (int64_t i = 0; i < n; i++) fit += o->y[i] * o->a[i];
    const real value = -(fit + o->logdet + (real)n * LOG_2PI) / 2;
    assert_ok(fab_process_evidence(p, &lml, NULL));
    assert_near(lml, value, 1e-10 * (1 + r_abs(value)));
    assert_ok(fab_process_evidence(p, &lml, g));
    assert_near(lml, value, 1e-10 * (1 + r_abs(value)));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            M[i * n + j] = (double)((o->a[i] * o->a[j] - o->inverse[i * n + j]) / 2);
        by_noise += (o->a[i] * o->a[i] - o->inverse[i * n + i]) / 2 * o->noise / o->w[i];
    }
    assert_ok(fab_kernel_grad_dot(o->k, n, o->X, o->D, n, o->X, o->D, M, n, want, NULL));
    double top = fabs((double)by_noise);
    for (int64_t i = 0; i < size; i++) top = fmax(top, fabs(want[i]));
    for (int64_t i = 0; i < size; i++) assert_near(g[i], want[i], 1e-10 * (1 + top));
    assert_near(g[size], by_noise, 1e-10 * (1 + top));
}

static void compare_predictions(const oracle *o, fab_process *p, int64_t m)
{
    const int64_t n = o->n, D = o->D;
    double *Z = some_rows(21, m, D), *K = doubles(m * n), *diag = doubles(m), *mean = doubles(m),
           *variance = doubles(m);
    int64_t clipped;
    assert_ok(fab_kernel_cross(o->k, m, Z, D, n, o->X, D, K, n, NULL));
    fab_kernel_diag(o->k, m, Z, D, diag);
    assert_ok(fab_process_predict(p, m, Z, D, mean, NULL, NULL));
    assert_ok(fab_process_predict(p, m, Z, D, mean, variance, &clipped));
    assert_int_equal(clipped, 0);
    for (int64_t i = 0; i < m; i++) {
        real sum = 0, *k = dense_new(n);
        for (int64_t j = 0; j < n; j++) {
            k[j] = K[i * n + j];
            sum += k[j] * o->a[j];
        }
        assert_near(mean[i], sum, 1e-10);
        assert_near(variance[i], diag[i] - dense_quad(n, o->inverse, k), 1e-10 * (1 + diag[i]));
    }
}

static void evidence_and_predictions_are_those_of_dense_matrices(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t n, D;
    } cases[] = {
        {"rbf:ard", 29, 3},           {"rbf", 1, 1},
        {"matern32:ard", 13, 13},     {"rbf:ard", 29, 13},
        {"matern52 + linear", 29, 2}, {"rbf*periodic:col=0 + 0.5*rq", 29, 2},
        {"matern12", 150, 1},         {"(rbf:ard + const)*matern:nu=1.7", 131, 2},
        {"poly:m=2 + rbf", 29, 2},    {"rbf:ard*linear:ard:col=1", 257, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oracle o = some_oracle(cases[i].text, cases[i].n, cases[i].D, 0.25);
        solve_oracle(&o);
        fab_process *p = learned(&o, 0, NULL);
        compare_evidence(&o, p);
        compare_predictions(&o, p, 67);
        compare_predictions(&o, p, 1);
        assert_true(fab_process_jitter(p) == 0 && fab_process_noise(p) == 0.25);
        assert_int_equal(fab_process_rows(p), o.n);
        assert_string_equal(fab_kernel_text(fab_process_kernel(p)), cases[i].text);
        fab_process_free(p);
        fab_kernel_free(o.k);
    }
}

/* Columns near a million, whose rows are multiples of 2^-20, so that they have all their digits there as they have near 0; and
 * columns in units of 2^-20, length-scales with them.  Both are the same process: differences of columns about their mean are the
 * same numbers but for rounding of that mean, 1e6 * 2^-53 = 1e-10, which both rows of a pair share. */
static void units_of_a_million_change_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"rbf:ard", "matern52:ard + rq", "rbf*periodic:col=0"};
    enum { WAYS = 3, N = 60, M = 9 };
    for (int64_t D = 3; D <= 13; D += 10)
        for (int t = 0; t < 3; t++) {
            oracle o = some_oracle(texts[t], N, D, 0.25);
            double *X = doubles(N * D), *Z = some_rows(21, M, D), *at = doubles(M * D), lml[WAYS],
                   g[WAYS][64], mean[WAYS][M], variance[WAYS][M], theta[64];
            for (int64_t i = 0; i < N * D; i++) o.X[i] = ldexp(round(ldexp(o.X[i], 20)), -20);
            for (int64_t i = 0; i < M * D; i++) Z[i] = ldexp(round(ldexp(Z[i], 20)), -20);
            const int64_t size = fab_kernel_size(o.k);
            for (int way = 0; way < WAYS; way++) {
                const double shift = way == 1 ? 1e6 : 0, scale = way == 2 ? 0x1p20 : 1;
                for (int64_t i = 0; i < N * D; i++) X[i] = scale * (o.X[i] + shift);
                for (int64_t i = 0; i < M * D; i++) at[i] = scale * (Z[i] + shift);
                fab_kernel_get(o.k, theta);
                for (int64_t i = 0; i < size; i++) {
                    fab_kernel_parameter v;
                    fab_kernel_parameter_at(o.k, i, &v);
                    const int angle = strcmp(v.kernel, "periodic") == 0 && v.name[0] == 'l';
                    if ((v.name[0] == 'l' && !angle) || v.name[0] == 'p') theta[i] += log(scale);
                }
                fab_process *p;
                assert_ok(fab_process_create(&p, o.k, N, X, D, N, NULL));
                assert_ok(fab_process_set(p, theta));
                assert_ok(fab_process_learn(p, o.y, o.w, o.noise));
                assert_ok(fab_process_evidence(p, &lml[way], g[way]));
                assert_ok(fab_process_predict(p, M, at, D, mean[way], variance[way], NULL));
                assert_near(lml[way], lml[0], 1e-10 * (1 + fabs(lml[0])));
                for (int64_t i = 0; i <= size; i++)
                    assert_near(g[way][i], g[0][i], 1e-9 * (1 + fabs(lml[0])));
                for (int64_t i = 0; i < M; i++) {
                    assert_near(mean[way][i], mean[0][i], 1e-10);
                    assert_near(variance[way][i], variance[0][i], 1e-10);
                }
                fab_process_free(p);
            }
            fab_kernel_free(o.k);
        }
}

/* With other parameters and another noise the process is the one that was made so. */
static void parameters_can_be_set_again(void **state)
{
    (void)state;
    oracle o = some_oracle("rbf:ard", 29, 3, 0.25);
    fab_process *p = learned(&o, 0, NULL);
    double t[4] = {0.3, -0.2, 0.7, 0.1}, lml;
    assert_ok(fab_process_set(p, t));
    assert_refused(fab_process_evidence(p, &lml, NULL), FAB_BAD_ARGUMENT,
                   "nothing has been learned since its parameters changed");
    assert_refused(fab_process_predict(p, 1, o.X, 3, &lml, NULL, NULL), FAB_BAD_ARGUMENT,
                   "nothing has been learned");
    o.noise = 0.5;
    assert_ok(fab_kernel_set(o.k, t));
    solve_oracle(&o);
    assert_ok(fab_process_relearn(p, 0.5));
    compare_evidence(&o, p);
    compare_predictions(&o, p, 5);
    fab_process_free(p);
    fab_kernel_free(o.k);
}

/* ---- slopes ------------------------------------------------------------------------------------------- */

static void slopes_are_those_of_differences(void **state)
{
    (void)state;
    static const char *const texts[] = {"rbf:ard", "matern52", "linear:ard + rbf*poly",
                                        "periodic:col=0*rbf + rq"};
    enum { D = 2 };
    const double h = 1e-3;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        oracle o = some_oracle(texts[t], 29, D, 0.25);
        fab_process *p = learned(&o, 0, NULL);
        double z[D] = {0.3, -0.7}, mean, variance, mean_by[D], variance_by[D], m[4], v[4];
        assert_ok(fab_process_slopes(p, z, &mean, &variance, mean_by, variance_by));
        assert_ok(fab_process_predict(p, 1, z, D, m, v, NULL));
        assert_near(mean, m[0], 1e-12);
        assert_near(variance, v[0], 1e-11);
        for (int d = 0; d < D; d++) {
            double Z[4 * D];
            for (int s = 0; s < 4; s++) {
                memcpy(Z + s * D, z, sizeof z);
                Z[s * D + d] += (s < 2 ? s - 2 : s - 1) * h;
            }
            assert_ok(fab_process_predict(p, 4, Z, D, m, v, NULL));
            /* h^4 / 30 of fifth derivatives, below 10^5; of the variance rounding over h, some 1e-12 / h */
            assert_near(mean_by[d], (m[0] - 8 * m[1] + 8 * m[2] - m[3]) / (12 * h), 1e-8);
            assert_near(variance_by[d], (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h), 1e-8);
        }
        fab_process_free(p);
        fab_kernel_free(o.k);
    }
}

/* ---- rows left out -------------------------------------------------------------------------------------- */

static void a_row_left_out_is_a_process_without_it(void **state)
{
    (void)state;
    enum { N = 150, D = 2 };
    oracle o = some_oracle("rbf:ard + linear", N, D, 0.25);
    fab_process *p = learned(&o, 0, NULL), *rest;
    double *logp = doubles(N), *mean = doubles(N), *variance = doubles(N), *X = doubles(N * D),
           *y = doubles(N), *w = doubles(N);
    assert_ok(fab_process_leave_one_out(p, logp, NULL, NULL));
    assert_ok(fab_process_leave_one_out(p, NULL, mean, variance));
    for (int64_t out = 0; out < N; out += 11) {
        int64_t n = 0;
        for (int64_t i = 0; i < N; i++) {
            if (i == out) continue;
            memcpy(X + n * D, o.X + i * D, D * sizeof *X);
            y[n] = o.y[i], w[n] = o.w[i];
            n++;
        }
        double m, v;
        assert_ok(fab_process_create(&rest, o.k, n, X, D, n, NULL));
        assert_ok(fab_process_learn(rest, y, w, o.noise));
        assert_ok(fab_process_predict(rest, 1, o.X + out * D, D, &m, &v, NULL));
        v += o.noise / o.w[out];
        assert_near(mean[out], m, 1e-10);
        assert_near(variance[out], v, 1e-10);
        assert_near(logp[out], -(LOG_2PI + log(v) + square(o.y[out] - m) / v) / 2, 1e-10);
        fab_process_free(rest);
    }
    fab_process_free(p);
    fab_kernel_free(o.k);
}

/* ---- one row more --------------------------------------------------------------------------------------- */

static void rows_can_be_appended(void **state)
{
    (void)state;
    enum { N = 150, D = 2, M = 9 };
    oracle o = some_oracle("matern52:ard", N, D, 0.25);
    fab_process *all = learned(&o, 0, NULL), *p;
    double *Z = some_rows(23, M, D), m[M], v[M], want_m[M], want_v[M], lml, want, g[8], want_g[8];
    assert_ok(fab_process_predict(all, M, Z, D, want_m, want_v, NULL));
    assert_ok(fab_process_evidence(all, &want, want_g));
    for (int64_t room = 1; room < 2 * N; room *= 6) {
        assert_ok(fab_process_create(&p, o.k, 1, o.X, D, room, NULL));
        assert_ok(fab_process_learn(p, o.y, o.w, o.noise));
        for (int64_t i = 1; i < N; i++) {
            assert_ok(fab_process_append(p, o.X + i * D, o.y[i], o.w[i]));
            if (i == 70 || i == 140) /* which uses the room above L */
                assert_ok(fab_process_evidence(p, &lml, g));
            if (i == 80) fab_process_parts(p, NULL, NULL, NULL, &(const double *){NULL});
        }
        assert_int_equal(fab_process_rows(p), N);
        assert_ok(fab_process_predict(p, M, Z, D, m, v, NULL));
        assert_ok(fab_process_evidence(p, &lml, g));
        assert_near(lml, want, 1e-10);
        for (int i = 0; i < 4; i++) assert_near(g[i], want_g[i], 1e-10 * N);
        for (int i = 0; i < M; i++) {
            assert_near(m[i], want_m[i], 1e-11);
            assert_near(v[i], want_v[i], 1e-11);
        }
        fab_process_free(p);
    }
    fab_process_free(all);
    fab_kernel_free(o.k);
}

/* Never more room than an eighth above the rows and 16: a factor of n^2 numbers stands beside one of 1.3 n^2 for a moment. */
static void a_process_that_grows_has_little_more_room_than_rows(void **state)
{
    (void)state;
    enum { N = 150 };
    oracle o = some_oracle("rbf", N, 1, 0.25);
    fab_process *p;
    assert_ok(fab_process_create(&p, o.k, 1, o.X, 1, 1, NULL));
    assert_ok(fab_process_learn(p, o.y, o.w, o.noise));
    for (int64_t i = 1; i < N; i++) {
        assert_ok(fab_process_append(p, o.X + i, o.y[i], o.w[i]));
        assert_true(p->m->room <= i + i / 8 + 16);
    }
    fab_process_free(p);
    fab_kernel_free(o.k);
}

static void a_row_that_cannot_be_appended_changes_nothing(void **state)
{
    (void)state;
    enum { N = 5, D = 1 };
    oracle o = some_oracle("rbf", N, D, 0);
    fab_process *p = learned(&o, N, NULL);
    double before, after, bad = NAN, other = 9.5, slope[3], again[3], a_was[N], huge[N];
    const double *a;
    fab_process_parts(p, NULL, &a, NULL, &(const double *){NULL}); /* rows of L closed up */
    memcpy(a_was, a, sizeof a_was);
    assert_ok(fab_process_evidence(p, &before, slope));
    assert_refused(fab_process_append(p, o.X + 2, 1, 1), FAB_NUMERIC,
                   "it is a row that is there already");
    assert_refused(fab_process_append(p, &bad, 1, 1), FAB_BAD_DATA, "row 0, column 0 is nan");
    assert_refused(fab_process_append(p, o.X, NAN, 1), FAB_BAD_DATA, "y of row 5 is nan");
    assert_refused(fab_process_append(p, o.X, 1, 0), FAB_BAD_DATA, "the weight of row 5 is 0");
    assert_refused(fab_process_append(p, &other, 1e160, 1), FAB_BAD_DATA, "no finite number");
    assert_refused(fab_process_append(p, &other, 1e308, 1), FAB_BAD_DATA, "no finite number");
    assert_ok(fab_process_evidence(p, &after, again));
    assert_true(before == after && fab_process_rows(p) == N);
    for (int i = 0; i < 3; i++) assert_true(slope[i] == again[i]);
    fab_process_parts(p, NULL, &a, NULL, NULL);
    assert_memory_equal(a, a_was, sizeof a_was);
    fab_process_free(p);
    assert_ok(fab_process_create(&p, o.k, N, o.X, D, N, NULL));
    for (int i = 0; i < N; i++) huge[i] = 1e160;
    assert_refused(fab_process_learn(p, huge, NULL, 1), FAB_NUMERIC, "y is too far from 0");
    fab_process_free(p);
    fab_kernel_free(o.k);
}

/* ---- parts -------------------------------------------------------------------------------------------- */

static void parts_make_the_same_process(void **state)
{
    (void)state;
    enum { N = 150, D = 2, M = 9 };
    oracle o = some_oracle("rbf:ard", N, D, 0.25);
    solve_oracle(&o);
    fab_process *p = learned(&o, 2 * N, NULL), *again;
    const double *X, *a, *s, *L;
    double *Z = some_rows(23, M, D), m[M], v[M], want_m[M], want_v[M], lml;
    assert_ok(fab_process_evidence(p, &lml, want_v));
    assert_ok(fab_process_predict(p, M, Z, D, want_m, want_v, NULL));
    fab_process_parts(p, &X, &a, &s, &L);
    assert_memory_equal(X, o.X, N * D * sizeof *X);
    assert_null(s);
    for (int64_t i = 0; i < N; i++) {
        assert_near(a[i], o.a[i], 1e-10);
        for (int64_t j = 0; j < N; j++) {
            real sum = 0;
            for (int64_t k = 0; k < N; k++) sum += (real)L[i * N + k] * L[j * N + k];
            assert_near(sum, o.C[i * N + j], 1e-13);
            assert_true(j <= i || L[i * N + j] == 0);
        }
    }
    assert_ok(fab_process_of_parts(&again, o.k, N, X, a, s, L, NULL));
    fab_process_free(p);
    assert_ok(fab_process_predict(again, M, Z, D, m, v, NULL));
    assert_memory_equal(m, want_m, sizeof m);
    assert_memory_equal(v, want_v, sizeof v);
    assert_refused(fab_process_append(again, Z, 1, 1), FAB_BAD_ARGUMENT, "no y is known");
    assert_refused(fab_process_evidence(again, &lml, NULL), FAB_BAD_ARGUMENT, "no y is known");
    assert_refused(fab_process_relearn(again, 1), FAB_BAD_ARGUMENT, "no y is known");
    fab_process_free(again);
    fab_kernel_free(o.k);
}

/* Laplace's form: B = I + S K S, variance k(z, z) - k' S B^-1 S k, mean k'a. */
static void a_process_of_other_likelihoods_has_roots_of_curvature(void **state)
{
    (void)state;
    enum { N = 29, D = 2, M = 5 };
    oracle o = some_oracle("rbf:ard", N, D, 0.25);
    double K[N * N], L[N * N] = {0}, s[N], a[N], *Z = some_rows(23, M, D), C[M * N], m[M], v[M],
                           mean, variance, by[D], variance_by[D];
    assert_ok(fab_kernel_gram(o.k, N, o.X, D, K, N, NULL));
    assert_ok(fab_kernel_cross(o.k, M, Z, D, N, o.X, D, C, N, NULL));
    real *B = dense_new(N * N);
    for (int64_t i = 0; i < N; i++) s[i] = 0.7 + 0.5 * noise(31, i), a[i] = noise(32, i);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) B[i * N + j] = (i == j) + (real)s[i] * K[i * N + j] * s[j];
    const real *root = dense_chol(N, B), *inverse = dense_inverse(N, B);
    for (int64_t i = 0; i < N * N; i++) L[i] = (double)root[i];
    fab_process *p;
    assert_ok(fab_process_of_parts(&p, o.k, N, o.X, a, s, L, NULL));
    assert_ok(fab_process_predict(p, M, Z, D, m, v, NULL));
    for (int64_t i = 0; i < M; i++) {
        real *k = dense_new(N), sum = 0;
        for (int64_t j = 0; j < N; j++) k[j] = (real)s[j] * C[i * N + j];
        for (int64_t j = 0; j < N; j++) sum += (real)a[j] * C[i * N + j];
        assert_near(m[i], sum, 1e-13);
        assert_near(v[i], 1 - dense_quad(N, inverse, k), 1e-13);
        assert_ok(fab_process_slopes(p, Z + i * D, &mean, &variance, by, variance_by));
        assert_near(mean, m[i], 1e-13);
        assert_near(variance, v[i], 1e-13);
        for (
            int d = 0; d < D;
            d++) { /* differences over two points: h^2 / 6 of third derivatives, and rounding over h */
            double two[2 * D], dm[2], dv[2];
            memcpy(two, Z + i * D, D * sizeof *two);
            memcpy(two + D, Z + i * D, D * sizeof *two);
            two[d] += 1e-5;
            two[D + d] -= 1e-5;
            assert_ok(fab_process_predict(p, 2, two, D, dm, dv, NULL));
            assert_near(by[d], (dm[0] - dm[1]) / 2e-5, 1e-8);
            assert_near(variance_by[d], (dv[0] - dv[1]) / 2e-5, 1e-8);
        }
    }
    fab_process_free(p);
    fab_kernel_free(o.k);
}

/* ---- draws -------------------------------------------------------------------------------------------- */

/* Sums of squares of J draws along C^-1 (chi-square of J M), and each covariance by its own deviation: M (M + 1) / 2 + M + 1
 * numbers within 6 standard deviations, a false alarm in 10^7 seeds. */
static void draws_have_the_joint_distribution(void **state)
{
    (void)state;
    enum { N = 29, D = 2, M = 6, J = 20000 };
    oracle o = some_oracle("rbf:ard", N, D, 0.25);
    solve_oracle(&o);
    fab_process *p = learned(&o, 0, NULL);
    double *Z = some_rows(23, M, D), K[M * N], G[M * M], mean[M], *out = doubles(J * (M + 1)),
           *part = doubles(3 * M);
    assert_ok(fab_process_predict(p, M, Z, D, mean, NULL, NULL));
    assert_ok(fab_kernel_cross(o.k, M, Z, D, N, o.X, D, K, N, NULL));
    assert_ok(fab_kernel_gram(o.k, M, Z, D, G, M, NULL));
    real *C = dense_new(M * M);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < M; j++) {
            C[i * M + j] = G[i * M + j];
            for (int64_t a = 0; a < N; a++)
                for (int64_t b = 0; b < N; b++)
                    C[i * M + j] -= K[i * N + a] * o.inverse[a * N + b] * K[j * N + b];
        }
    double middle[M], joint[M * (M + 1)];
    assert_ok(fab_process_joint(p, M, Z, D, middle, joint, M + 1));
    for (int64_t i = 0; i < M * M; i++)
        assert_near(joint[i / M * (M + 1) + i % M], (double)C[i], 1e-12);
    for (int64_t i = 0; i < M; i++) assert_near(middle[i], mean[i], 1e-13);
    assert_ok(fab_process_draw(p, M, Z, D, 5, FAB_PURPOSE_SAMPLE, 0, J, out, M + 1));
    assert_ok(fab_process_draw(p, M, Z, D, 5, FAB_PURPOSE_SAMPLE, 77, 3, part, M));
    for (int64_t j = 0; j < 3; j++)
        assert_memory_equal(part + j * M, out + (77 + j) * (M + 1), M * sizeof *part);
    const real *inverse = dense_inverse(M, C);
    double squares = 0, sum[M] = {0}, product[M * M] = {0};
    for (int64_t j = 0; j < J; j++) {
        real d[M];
        for (int64_t i = 0; i < M; i++) {
            d[i] = out[j * (M + 1) + i] - (real)mean[i];
            sum[i] += (double)d[i];
            for (int64_t l = 0; l <= i; l++) product[i * M + l] += (double)(d[i] * d[l]);
        }
        squares += (double)dense_quad(M, inverse, d);
    }
    assert_near(squares, J * M, 6 * sqrt(2.0 * J * M));
    for (int64_t i = 0; i < M; i++) {
        const double own = (double)C[i * M + i];
        assert_near(sum[i], 0, 6 * sqrt(J * own));
        for (int64_t l = 0; l <= i; l++) {
            const double c = (double)C[i * M + l], other = (double)C[l * M + l];
            assert_near(product[i * M + l], J * c, 6 * sqrt(J * (own * other + c * c)));
        }
    }
    fab_process_free(p);
    fab_kernel_free(o.k);
}

/* Without noise f is known at the rows: a covariance of rank 0 or 1, which needs nothing on its diagonal. */
static void draws_pass_through_what_is_known(void **state)
{
    (void)state;
    enum { N = 5, D = 1, J = 3 };
    oracle o = some_oracle("matern32", N, D, 0);
    fab_process *p = learned(&o, 0, NULL);
    double Z[N + 2], out[J * (N + 2)];
    memcpy(Z, o.X, N * sizeof *Z);
    Z[N] = Z[N + 1] = 9;
    assert_ok(fab_process_draw(p, N + 2, Z, D, 5, FAB_PURPOSE_SAMPLE, 0, J, out, N + 2));
    for (int j = 0; j < J; j++) {
        for (int i = 0; i < N; i++) assert_near(out[j * (N + 2) + i], o.y[i], 1e-6); /* root of u */
        assert_near(out[j * (N + 2) + N], out[j * (N + 2) + N + 1], 1e-6);
    }
    assert_true(fabs(out[N] - out[2 * N + 2]) > 1e-3);
    fab_process_free(p);
    fab_kernel_free(o.k);
}

/* ---- calibration -------------------------------------------------------------------------------------- */

/* 4000 functions drawn from the kernel, each learned at 20 rows with noise, and its value at one more: 90 % intervals cover it in
 * 90 %, give or take 0.47 %: a false alarm beyond 2 % in 50,000 seeds. */
static void intervals_cover_draws_of_the_kernel(void **state)
{
    (void)state;
    enum { N = 20, D = 2, J = 4000 };
    oracle o = some_oracle("rbf:ard:l=1.5", N, D, 0.25);
    double *X = doubles((N + 1) * D), K[(N + 1) * (N + 1)], e[2 * N + 1], y[N], mean, variance;
    const double z[D] = {0.2, -0.4};
    memcpy(X, o.X, N * D * sizeof *X);
    memcpy(X + N * D, z, sizeof z);
    assert_ok(fab_kernel_gram(o.k, N + 1, X, D, K, N + 1, NULL));
    real *C = dense_new((N + 1) * (N + 1));
    for (int64_t i = 0; i < (N + 1) * (N + 1); i++) C[i] = K[i];
    for (int64_t i = 0; i <= N; i++) C[i * (N + 2)] += 1e-12;
    const real *L = dense_chol(N + 1, C);
    fab_process *p = learned(&o, N, NULL);
    int64_t covered = 0;
    for (int64_t j = 0; j < J; j++) {
        double f = 0;
        fab_random_normal(3, FAB_PURPOSE_DATA, (uint64_t)j, 0, 2 * N + 1, FAB_F64, e);
        for (int64_t i = 0; i <= N; i++) {
            f = 0;
            for (int64_t l = 0; l <= i; l++) f += (double)L[i * (N + 1) + l] * e[l];
            if (i < N) y[i] = f + sqrt(o.noise / o.w[i]) * e[N + 1 + i];
        }
        assert_ok(fab_process_learn(p, y, o.w, o.noise));
        assert_ok(fab_process_predict(p, 1, z, D, &mean, &variance, NULL));
        covered += fabs(f - mean) < 1.6448536269514722 * sqrt(variance);
    }
    assert_near((double)covered / J, 0.9, 0.02);
    fab_process_free(p);
    fab_kernel_free(o.k);
}

/* ---- what is singular ------------------------------------------------------------------------------------ */

static void rows_that_are_the_same_without_noise_get_a_jitter_that_is_said(void **state)
{
    (void)state;
    enum { N = 4 };
    static const double X[N] = {0.3, 1.2, 1.2, 2.385}, y[N] = {1, 2, 2, 0};
    fab_kernel *k;
    fab_process *p;
    double mean[N], variance[N];
    assert_ok(fab_kernel_create(&k, "4*rbf", 1, NULL));
    assert_ok(fab_process_create(&p, k, N, X, 1, N, NULL));
    assert_ok(fab_process_learn(p, y, NULL, 0));
    assert_near(fab_process_jitter(p), 4e-10, 1e-15);
    assert_ok(fab_process_predict(p, N, X, 1, mean, variance, NULL));
    for (int i = 0; i < N; i++) {
        assert_near(mean[i], y[i], 1e-5);
        assert_true(variance[i] >= 0 && variance[i] < 1e-8);
    }
    assert_ok(fab_process_relearn(p, 0.01));
    assert_true(fab_process_jitter(p) == 0);
    fab_process_free(p);
    fab_kernel_free(k);
}

static void a_kernel_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    static const double X[2] = {1e100, 2e100}, y[2] = {1, 2};
    fab_kernel *k;
    fab_process *p;
    double lml;
    assert_ok(fab_kernel_create(&k, "poly:m=9", 1, NULL));
    assert_ok(fab_process_create(&p, k, 2, X, 1, 0, NULL));
    assert_refused(fab_process_learn(p, y, NULL, 1), FAB_NUMERIC,
                   "the kernel 'poly:m=9' is not finite at these rows");
    assert_refused(fab_process_evidence(p, &lml, NULL), FAB_BAD_ARGUMENT, "nothing has been");
    fab_process_free(p);
    fab_kernel_free(k);
}

static void what_is_no_data_is_refused(void **state)
{
    (void)state;
    static const double X[4] = {1, 2, 3, INFINITY}, y[2] = {1, 2}, bad[2] = {1, NAN},
                        w[2] = {1, -1};
    fab_kernel *k;
    fab_process *p;
    double out[2];
    assert_ok(fab_kernel_create(&k, "rbf", 2, NULL));
    assert_refused(fab_process_create(&p, k, 2, X, 2, 2, NULL), FAB_BAD_DATA,
                   "row 1, column 1 is inf");
    assert_null(p);
    assert_refused(fab_process_create(&p, k, 0, X, 2, 2, NULL), FAB_BAD_ARGUMENT, "0 rows");
    assert_ok(fab_process_create(&p, k, 2, X, 1, 2, NULL)); /* rows that overlap are rows */
    assert_refused(fab_process_relearn(p, 1), FAB_BAD_ARGUMENT, "no y is known");
    assert_refused(fab_process_predict(p, 1, X, 2, out, NULL, NULL), FAB_BAD_ARGUMENT, "no y");
    assert_refused(fab_process_learn(p, bad, NULL, 1), FAB_BAD_DATA, "y of row 1 is nan");
    assert_refused(fab_process_learn(p, y, w, 1), FAB_BAD_DATA, "the weight of row 1 is -1");
    assert_refused(fab_process_learn(p, y, NULL, -1), FAB_BAD_ARGUMENT, "noise = -1");
    assert_refused(fab_process_learn(p, y, NULL, NAN), FAB_BAD_ARGUMENT, "noise = nan");
    assert_ok(fab_process_learn(p, y, NULL, 1));
    assert_refused(fab_process_predict(p, 1, X + 2, 2, out, NULL, NULL), FAB_BAD_DATA, "is inf");
    fab_process_free(p);
    fab_kernel_free(k);
}

/* ---- bits, memory, stops --------------------------------------------------------------------------------- */

static void bits_do_not_depend_on_threads_or_company(void **state)
{
    (void)state;
    enum { N = 401, D = 3, M = 150 };
    oracle o = some_oracle("rbf:ard + matern32*linear", N, D, 0.25);
    double *Z = some_rows(23, M, D), *first[3] = {0};
    for (int64_t threads = 1; threads <= 3; threads++) {
        const fab_exec x = {.threads = threads};
        fab_process *p = learned(&o, N + 7 * threads, &x);
        double *m = doubles(M), *v = doubles(M), *g = doubles(16), *out = doubles(2 * M);
        assert_ok(fab_process_predict(p, M, Z, D, m, v, NULL));
        assert_ok(fab_process_evidence(p, &g[15], g));
        assert_ok(fab_process_draw(p, 20, Z, D, 5, FAB_PURPOSE_SAMPLE, 0, 2, out, 20));
        if (threads == 1) first[0] = m, first[1] = v, first[2] = g;
        assert_memory_equal(m, first[0], M * sizeof *m);
        assert_memory_equal(v, first[1], M * sizeof *m);
        assert_memory_equal(g, first[2], 16 * sizeof *m);
        for (int64_t c = 1; c < 70; c += 4) {
            double *m1 = doubles(c), *v1 = doubles(c);
            assert_ok(fab_process_predict(p, c, Z + c * D, D, m1, v1, NULL));
            assert_memory_equal(m1, m + c, (size_t)c * sizeof *m);
            assert_memory_equal(v1, v + c, (size_t)c * sizeof *m);
        }
        fab_process_free(p);
    }
    fab_kernel_free(o.k);
}

static fab_status all_calls(void)
{
    enum { N = 5, D = 2 };
    static double X[N * D] = {0, 1, 2, 3, 5, 4, 3, 3, 1, 2}, y[N] = {1, 2, 3, 1, 2}, out[N];
    fab_kernel *k;
    fab_process *p = NULL;
    double lml, before, g[8];
    fab_status s = fab_kernel_create(&k, "rbf:ard + linear", D, NULL);
    if (s == FAB_OK) s = fab_process_create(&p, k, N - 1, X, D, 0, NULL);
    if (s == FAB_OK) s = fab_process_learn(p, y, NULL, 0.1);
    if (s == FAB_OK) s = fab_process_evidence(p, &before, g);
    if (s == FAB_OK) s = fab_process_append(p, X + (N - 1) * D, y[N - 1], 1);
    if (s != FAB_OK && p && fab_process_rows(p) == N - 1 &&
        fab_process_evidence(p, &lml, NULL) == FAB_OK)
        assert_true(lml == before); /* it stands as before */
    if (s == FAB_OK) s = fab_process_draw(p, N, X, D, 3, FAB_PURPOSE_SAMPLE, 0, 1, out, N);
    fab_process_free(p);
    fab_kernel_free(k);
    return s;
}

static void an_allocation_that_fails_is_said_and_leaves_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(all_calls) >= 10);
}

static int stop_at(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    return --*(int *)ctx == 0;
}

/* Stopped at any question, it learns when it is asked again. */
static void learning_can_be_stopped(void **state)
{
    (void)state;
    enum { N = 1000, D = 2 };
    int calls = 0;
    const fab_exec x = {.progress = stop_at, .progress_ctx = &calls};
    oracle o = some_oracle("rbf:ard", N, D, 0.25);
    fab_process *p;
    double lml, want, g[4];
    assert_ok(fab_process_create(&p, o.k, N, o.X, D, N, &x));
    calls = 1;
    assert_int_equal(fab_process_learn(p, o.y, o.w, o.noise), FAB_STOPPED);
    assert_refused(fab_process_evidence(p, &lml, NULL), FAB_BAD_ARGUMENT, "nothing has been");
    calls = 0;
    assert_ok(fab_process_relearn(p, o.noise));
    assert_true(calls < -1); /* it was asked more than once */
    assert_ok(fab_process_evidence(p, &want, NULL));
    calls = 1;
    const fab_status s = fab_process_evidence(p, &lml, g);
    assert_true(s == FAB_STOPPED || (s == FAB_OK && calls == 1)); /* or it was not asked */
    calls = 0;
    assert_ok(fab_process_evidence(p, &lml, g));
    assert_true(lml == want);
    fab_process_free(p);
    fab_kernel_free(o.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(evidence_and_predictions_are_those_of_dense_matrices),
        TEST(units_of_a_million_change_nothing),
        TEST(parameters_can_be_set_again),
        TEST(slopes_are_those_of_differences),
        TEST(a_row_left_out_is_a_process_without_it),
        TEST(rows_can_be_appended),
        TEST(a_process_that_grows_has_little_more_room_than_rows),
        TEST(a_row_that_cannot_be_appended_changes_nothing),
        TEST(parts_make_the_same_process),
        TEST(a_process_of_other_likelihoods_has_roots_of_curvature),
        TEST(draws_have_the_joint_distribution),
        TEST(draws_pass_through_what_is_known),
        TEST(intervals_cover_draws_of_the_kernel),
        TEST(rows_that_are_the_same_without_noise_get_a_jitter_that_is_said),
        TEST(a_kernel_that_is_not_finite_is_refused),
        TEST(what_is_no_data_is_refused),
        TEST(bits_do_not_depend_on_threads_or_company),
        TEST(an_allocation_that_fails_is_said_and_leaves_nothing),
        TEST(learning_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
