/* test_gauss.c - the Gaussian and its solver against dense oracles in quadruple precision.
 *
 * The tolerances come from the formulas of solver.c.  With h = M^-1 F' psi^-1 x, M = I + F' psi^-1 F, u
 * the unit roundoff of F's type and kappa the condition of M scaled to a unit diagonal:
 *
 *   s(x)^2 = (u (D + K + 4))^2 kappa sum_i (|x_i| + (|F| |h|)_i)^2 / psi_i
 *
 * bounds the psi^-1/2-norm of what rounding leaves in the residual x - F h and, to second order, what an
 * error in h costs.  Then x' A^-1 x is right to 2 s |x|_{A^-1} + s^2 and A^-1 x to s in the psi^1/2-norm.
 * Above kappa = 1e6 the solver takes the QR, so kappa stops there.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"

enum { N = 67, DRAWS = 20000 }; /* rows: more than the 64 of a batch */

/* ---- what the oracle knows of a Gaussian ------------------------------------------------------- */

typedef struct oracle {
    const fab_gauss *g;
    int64_t D, K;
    double unit;                              /* rounding of F's type */
    real *F, *A, *Ai, *M, *Mi, kappa, logdet; /* logdet of A */
} oracle;

static oracle ask(const fab_gauss *g)
{
    oracle o = {.g = g, .D = g->D, .K = g->K, .unit = unit_of(g->type), .F = dense_F(g)};
    o.A = dense_matrix(g);
    o.Ai = dense_inverse(o.D, o.A);
    real *scaled = dense_new(o.D * o.K + 1);
    for (int64_t d = 0; d < o.D; d++)
        for (int64_t k = 0; k < o.K; k++) scaled[d * o.K + k] = o.F[d * o.K + k] / g->psi[d];
    o.M = dense_mul(o.K, o.D, o.K, dense_transpose(o.D, o.K, o.F), scaled);
    for (int64_t k = 0; k < o.K; k++) o.M[k * o.K + k] += 1;
    o.Mi = o.K ? dense_inverse(o.K, o.M) : NULL;
    o.kappa = dense_kappa(g);
    o.logdet = dense_logdet(o.D, o.A);
    return o;
}

static const real *covariance_of(const oracle *o)
{
    return o->g->form == FAB_FORM_COVARIANCE ? o->A : o->Ai;
}

/* s(x); `extra` more rounding of x itself, in units */
static real residual_bound(const oracle *o, const real *x, real extra)
{
    const int64_t D = o->D, K = o->K;
    real *c = dense_new(K + 1), *h = dense_new(K + 1), sum = 0;
    for (int64_t k = 0; k < K; k++)
        for (int64_t d = 0; d < D; d++) c[k] += o->F[d * K + k] * x[d] / o->g->psi[d];
    for (int64_t k = 0; k < K; k++)
        for (int64_t l = 0; l < K; l++) h[k] += o->Mi[k * K + l] * c[l];
    for (int64_t d = 0; d < D; d++) {
        real size = r_abs(x[d]) + extra;
        for (int64_t k = 0; k < K; k++) size += r_abs(o->F[d * K + k] * h[k]);
        sum += size * size / o->g->psi[d];
    }
    return o->unit * (real)(D + K + 4) * r_sqrt(o->kappa * sum);
}

static real quad_inverse_bound(const oracle *o, const real *x, real extra)
{
    const real s = residual_bound(o, x, extra), q = dense_quad(o->D, o->Ai, x);
    return 2 * r_sqrt(q) * s + s * s + 2 * (real)(o->D + o->K) * o->unit * q;
}

/* |F|' |x| */
static real *absolute_projection(const oracle *o, const real *x)
{
    real *c = dense_new(o->K + 1);
    for (int64_t d = 0; d < o->D; d++)
        for (int64_t k = 0; k < o->K; k++) c[k] += r_abs(o->F[d * o->K + k] * x[d]);
    return c;
}

static real quad_bound(const oracle *o, const real *x, real extra)
{
    real *y = dense_new(o->D), sum = 0;
    for (int64_t d = 0; d < o->D; d++) {
        y[d] = r_abs(x[d]) + extra;
        sum += o->g->psi[d] * y[d] * y[d];
    }
    const real *c = absolute_projection(o, y);
    for (int64_t k = 0; k < o->K; k++) sum += c[k] * c[k];
    return 4 * o->unit * (real)(o->D + o->K + 4) * sum;
}

/* (|A| |x|)_i, with |A| from |F| |F|' */
static real times_bound(const oracle *o, const real *x, const real *c, int64_t i)
{
    real sum = o->g->psi[i] * r_abs(x[i]);
    for (int64_t k = 0; k < o->K; k++) sum += r_abs(o->F[i * o->K + k]) * c[k];
    return 2 * o->unit * (real)(o->D + o->K + 4) * sum;
}

/* ---- points to ask about ----------------------------------------------------------------------- */

/* Rows mu + F h + sqrt(psi) z where the form is a covariance, else mu + z / sqrt(psi). */
static double *some_rows(const fab_gauss *g, int64_t n, int64_t ld, uint64_t seed)
{
    double *x = doubles(n * ld);
    for (int64_t i = 0; i < n * ld; i++) x[i] = NAN; /* between the rows: nobody's */
    for (int64_t j = 0; j < n; j++)
        for (int64_t d = 0; d < g->D; d++) {
            const real z = 2 * noise(seed, j * g->D + d), root = r_sqrt(g->psi[d]);
            real v = g->form == FAB_FORM_COVARIANCE ? root * z : z / root;
            for (int64_t k = 0; k < g->K && g->form == FAB_FORM_COVARIANCE; k++)
                v += F_at(g, d, k) * 2 * noise(seed + 1, j * g->K + k);
            x[j * ld + d] = (double)(g->mu[d] + v);
        }
    return x;
}

static real *deviation(const oracle *o, const double *row)
{
    real *x = dense_new(o->D);
    for (int64_t d = 0; d < o->D; d++) x[d] = (real)row[d] - o->g->mu[d];
    return x;
}

/* Rounding of row - mu, in units of the type: |row| + |mu| in doubles, beside |x| in the type. */
static real rounding_of(const oracle *o, const double *row)
{
    real most = 0;
    for (int64_t d = 0; d < o->D; d++) most = r_max(most, fabs(row[d]) + fabs(o->g->mu[d]));
    return most * ROUND_F64 / o->unit;
}

/* ---- one Gaussian, every verb ------------------------------------------------------------------ */

static const double log_two_pi = 1.8378770664093454836;

static real logdet_bound(const oracle *o)
{
    real logs = r_abs(o->logdet);
    for (int64_t d = 0; d < o->D; d++) logs += 2 * fabs(log(o->g->psi[d])) + 1;
    return 4 * (real)(o->D + o->K + 4) * (ROUND_F64 * logs + (real)o->K * o->unit * o->kappa);
}

static void check_determinant(const oracle *o, const fab_solver *s)
{
    double logdet, entropy;
    const real want = o->logdet * (o->g->form == FAB_FORM_COVARIANCE ? 1 : -1);
    assert_ok(fab_solver_logdet(s, &logdet));
    assert_ok(fab_solver_entropy(s, &entropy));
    assert_near(logdet, want, logdet_bound(o));
    assert_near(entropy, ((real)o->D * (1 + log_two_pi) + want) / 2, logdet_bound(o));
}

static void check_density(const oracle *o, fab_solver *s, const double *x, int64_t ld)
{
    const fab_rows rows = {x, FAB_F64, N, ld};
    const real *P = o->g->form == FAB_FORM_COVARIANCE ? o->Ai : o->A;
    const real logdet = o->logdet * (o->g->form == FAB_FORM_COVARIANCE ? 1 : -1);
    double q[N], logp[N], one;
    assert_ok(fab_solver_mahalanobis(s, &rows, q));
    assert_ok(fab_solver_logpdf(s, &rows, logp));
    for (int64_t j = 0; j < N; j++) {
        const real *v = deviation(o, x + j * ld), extra = rounding_of(o, x + j * ld);
        const real want = dense_quad(o->D, P, v);
        const real tol = o->g->form == FAB_FORM_COVARIANCE ? quad_inverse_bound(o, v, extra)
                                                           : quad_bound(o, v, extra);
        assert_near(q[j], want, tol);
        assert_near(logp[j], -((real)o->D * log_two_pi + logdet + want) / 2, tol + logdet_bound(o));
        assert_ok(fab_solver_mahalanobis(s, &(fab_rows){x + j * ld, FAB_F64, 1, ld}, &one));
        assert_near(one, want, tol);
    }
}

/* out = A^-1 x or A x for one row */
static void check_product(const oracle *o, const double *x, const double *out, int inverse)
{
    const int64_t D = o->D;
    real *v = dense_new(D), far = 0;
    for (int64_t d = 0; d < D; d++) v[d] = x[d];
    const real *want = dense_mul(D, D, 1, inverse ? o->Ai : o->A, v),
               *c = absolute_projection(o, v);
    for (int64_t d = 0; d < D; d++) {
        const real off = out[d] - want[d];
        if (!inverse) assert_near(out[d], want[d], times_bound(o, v, c, d));
        far += off * off * o->g->psi[d];
    }
    if (inverse) assert_near(r_sqrt(far), 0, 2 * residual_bound(o, v, 0));
}

static void check_products(const oracle *o, fab_solver *s)
{
    const int64_t D = o->D;
    double *x = doubles(N * D), *S = doubles(N * D), *P = doubles(N * D);
    const int covariance = o->g->form == FAB_FORM_COVARIANCE;
    for (int64_t i = 0; i < N * D; i++) x[i] = noise(11, i);
    assert_ok(fab_solver_times_covariance(s, &(fab_rows){x, FAB_F64, N, D}, S));
    assert_ok(fab_solver_times_precision(s, &(fab_rows){x, FAB_F64, N, D}, P));
    for (int64_t j = 0; j < N; j++) {
        check_product(o, x + j * D, S + j * D, !covariance);
        check_product(o, x + j * D, P + j * D, covariance);
    }
}

/* Variances and the dense covariance. */
static void check_covariance(const oracle *o, fab_solver *s)
{
    const int64_t D = o->D, K = o->K;
    const int covariance = o->g->form == FAB_FORM_COVARIANCE;
    double *v = doubles(D), *S = doubles(D * D);
    const real *want = covariance_of(o);
    assert_ok(fab_solver_variances(s, v));
    assert_ok(fab_solver_dense(s, S));
    real *bound = dense_new(D), **unit_vector = dense_bytes((size_t)D * sizeof(real *));
    for (int64_t i = 0; i < D; i++) {
        unit_vector[i] = dense_new(D);
        unit_vector[i][i] = 1;
        if (!covariance) bound[i] = residual_bound(o, unit_vector[i], 0);
    }
    for (int64_t i = 0; i < D; i++) {
        const real w = 1 / (real)o->g->psi[i], l = 1 - o->Ai[i * D + i] / w; /* the leverage */
        const real tol =
            covariance   ? (real)(K + 4) * o->unit * o->A[i * D + i]
            : l < 0.9985 ? 4 * (real)(D + K + 4) * o->unit * o->kappa * w
                         : quad_inverse_bound(o, unit_vector[i], 0) +
                               (l < 0.9995 ? 4 * (real)(D + K + 4) * o->unit * o->kappa * w : 0);
        assert_near(v[i], want[i * D + i], tol);
        const real *c = absolute_projection(o, unit_vector[i]);
        for (int64_t j = 0; j < D; j++) {
            const real entry = covariance ? 2 * times_bound(o, unit_vector[i], c, j)
                                          : bound[i] / r_sqrt(o->g->psi[j]) +
                                                bound[j] / r_sqrt(o->g->psi[i]);
            assert_near(S[i * D + j], want[i * D + j], entry);
            assert_near(S[i * D + j], S[j * D + i], 0);
        }
    }
}

static void check_solver(const oracle *o, const fab_exec *x)
{
    fab_solver *s;
    const fab_gauss *g = o->g;
    const int64_t ld = g->D + 2;
    assert_ok(fab_solver_create(&s, g, x));
    check_determinant(o, s);
    check_density(o, s, some_rows(g, N, ld, 77), ld);
    check_products(o, s);
    check_covariance(o, s);
    fab_solver_free(s);
}

/* The marginal of every `step`-th coordinate, in the same form. */
static void check_marginal(const oracle *o, int64_t step, const fab_exec *x)
{
    const fab_gauss *g = o->g;
    const int64_t D = g->D, n = (D + step - 1) / step;
    int64_t *index = dense_bytes((size_t)n * sizeof *index);
    for (int64_t i = 0; i < n; i++) index[i] = i * step;
    fab_gauss *m;
    assert_ok(fab_gauss_marginal(&m, g, index, n, x));
    assert_ok(fab_gauss_check(m));
    assert_true(m->form == g->form && m->type == g->type && m->D == n && m->K == g->K);
    const real *S = covariance_of(o);
    real *part = dense_new(n * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) part[i * n + j] = S[index[i] * D + index[j]];
    const real *want = g->form == FAB_FORM_COVARIANCE ? part : dense_inverse(n, part),
               *got = dense_matrix(m);
    for (int64_t i = 0; i < n; i++) {
        assert_near(m->mu[i], g->mu[index[i]], 0);
        assert_near(m->psi[i], g->psi[index[i]], 0);
        for (int64_t j = 0; j < n; j++) {
            const real size = r_sqrt((want[i * n + i] - m->psi[i]) * (want[j * n + j] - m->psi[j]));
            const real tol = g->form == FAB_FORM_COVARIANCE
                                 ? 0
                                 : 4 * (real)(D + g->K + 4) * o->unit * o->kappa * size;
            assert_near(got[i * n + j], want[i * n + j], tol + 1e-30 * r_abs(want[i * n + j]));
        }
    }
    fab_gauss_free(m);
}

/* ---- many Gaussians ---------------------------------------------------------------------------- */

typedef void check_fn(const oracle *o, const fab_exec *x);

/* Every backend there is, for F in `type`. */
static void on_every_backend(check_fn *check, const fab_gauss *g)
{
    const char *const backend[] = {"ref", "cpu"};
    const oracle o = ask(g);
    for (int b = 0; b < 2; b++) {
        const fab_exec x = {.ops = fab_ops_find(backend[b], g->type), .threads = 1};
        if (x.ops) check(&o, &x);
    }
}

static void check_all(const oracle *o, const fab_exec *x)
{
    check_solver(o, x);
    check_marginal(o, 1, x);
    check_marginal(o, 3, x);
}

static void every_verb_agrees_with_dense_algebra(void **state)
{
    (void)state;
    const int64_t ranks[] = {0, 1, 3, 29};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int type = FAB_F64; type <= FAB_F32; type++)
            for (int k = 0; k < 4; k++) {
                fab_gauss *g = some_gauss((fab_form)form, (fab_dtype)type, 29, ranks[k], 5, 1);
                on_every_backend(check_all, g);
                fab_gauss_free(g);
                dense_release(NULL);
            }
}

static void other_shapes_agree_too(void **state)
{
    (void)state;
    const int64_t shape[][2] = {{1, 0}, {1, 1}, {1, 4}, {2, 1}, {7, 11}, {3, 3}, {67, 5}};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int type = FAB_F64; type <= FAB_F32; type++)
            for (int i = 0; i < 7; i++) {
                fab_gauss *g =
                    some_gauss((fab_form)form, (fab_dtype)type, shape[i][0], shape[i][1], 6, 1);
                on_every_backend(check_all, g);
                fab_gauss_free(g);
                dense_release(NULL);
            }
}

static void extreme_scales_agree_too(void **state)
{
    (void)state;
    const double scale[2][2] = {{1e-150, 1e150}, {1e-15, 1e15}};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int type = FAB_F64; type <= FAB_F32; type++)
            for (int i = 0; i < 2; i++) {
                fab_gauss *g =
                    some_gauss((fab_form)form, (fab_dtype)type, 29, 3, 7, scale[type][i]);
                on_every_backend(check_all, g);
                fab_gauss_free(g);
                dense_release(NULL);
            }
}

/* psi from 1e-6 to 1e6, in no order. */
static void a_spread_of_1e12_in_psi_agrees_too(void **state)
{
    (void)state;
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int64_t K = 1; K <= 29; K += 14) {
            fab_gauss *g = some_gauss((fab_form)form, FAB_F64, 29, K, 8, 1);
            for (int64_t d = 0; d < 29; d++)
                g->psi[d] = pow(10, -6 + 12 * (double)(d * 11 % 29) / 28);
            on_every_backend(check_all, g);
            fab_gauss_free(g);
            dense_release(NULL);
        }
}

/* psi far below F F': Woodbury's difference of large numbers would have no digits left. */
static void noise_far_below_the_signal_is_not_lost(void **state)
{
    (void)state;
    const double ratio[] = {1e-8, 1e-12, 1e-14, 1e-16};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int i = 0; i < 4; i++)
            for (int64_t K = 1; K <= 29; K += 14) {
                fab_gauss *g = some_gauss((fab_form)form, FAB_F64, 29, K, 9, 1);
                for (int64_t d = 0; d < 29; d++) g->psi[d] *= ratio[i];
                on_every_backend(check_solver, g);
                fab_gauss_free(g);
                dense_release(NULL);
            }
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++) {
        fab_gauss *g = some_gauss((fab_form)form, FAB_F32, 29, 3, 9, 1);
        for (int64_t d = 0; d < 29; d++) g->psi[d] *= 1e-6;
        on_every_backend(check_solver, g);
        fab_gauss_free(g);
    }
}

/* The distance of F h + sqrt(psi) z has, at psi = 1e-16, the part of z off the columns of F: 5 digits. */
static void a_mahalanobis_distance_of_29_stays_29(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 29, 3, 10, 1);
    fab_solver *s;
    double q;
    for (int64_t d = 0; d < 29; d++) {
        g->psi[d] = 1e-16;
        g->mu[d] = 0;
        for (int64_t k = 0; k < 3; k++) F_put(g, d, k, 2 * F_at(g, d, k));
    }
    double x[29];
    const oracle o = ask(g);
    for (int64_t d = 0; d < 29; d++)
        x[d] = F_at(g, d, 0) - 0.5 * F_at(g, d, 1) + 2 * F_at(g, d, 2) + 1e-8 * noise(12, d);
    const real want = dense_quad(29, o.Ai, deviation(&o, x));
    assert_ok(fab_solver_create(&s, g, NULL));
    assert_ok(fab_solver_mahalanobis(s, &(fab_rows){x, FAB_F64, 1, 29}, &q));
    assert_true(want > 5 && want < 60);
    assert_near(q, want, 1e-3 * want);
    fab_solver_free(s);
    fab_gauss_free(g);
}

static void duplicated_columns_are_no_trouble(void **state)
{
    (void)state;
    const double ratio[] = {1, 1e-8, 1e-16};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int i = 0; i < 3; i++) {
            fab_gauss *g = some_gauss((fab_form)form, FAB_F64, 29, 5, 13, 1);
            for (int64_t d = 0; d < 29; d++) {
                g->psi[d] *= ratio[i];
                F_put(g, d, 3, F_at(g, d, 1));
                F_put(g, d, 4, -2 * F_at(g, d, 0));
            }
            on_every_backend(check_all, g);
            fab_gauss_free(g);
            dense_release(NULL);
        }
}

static void constant_and_zero_columns_are_no_trouble(void **state)
{
    (void)state;
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++) {
        fab_gauss *g = some_gauss((fab_form)form, FAB_F64, 29, 3, 14, 1);
        for (int64_t d = 0; d < 29; d++) {
            F_put(g, d, 0, 0);
            F_put(g, d, 1, 2.385);
        }
        on_every_backend(check_all, g);
        fab_gauss_free(g);
    }
}

static void rows_of_either_type_say_the_same(void **state)
{
    (void)state;
    for (int type = FAB_F64; type <= FAB_F32; type++) {
        fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, (fab_dtype)type, 29, 3, 15, 1);
        fab_solver *s;
        float x[5 * 30];
        double y[5 * 31], a[5], b[5];
        for (int j = 0; j < 5; j++)
            for (int d = 0; d < 29; d++)
                y[j * 31 + d] = x[j * 30 + d] = (float)noise(16, j * 29 + d);
        assert_ok(fab_solver_create(&s, g, NULL));
        assert_ok(fab_solver_logpdf(s, &(fab_rows){x, FAB_F32, 5, 30}, a));
        assert_ok(fab_solver_logpdf(s, &(fab_rows){y, FAB_F64, 5, 31}, b));
        assert_memory_equal(a, b, sizeof a);
        assert_ok(
            fab_solver_logpdf(s, &(fab_rows){NULL, FAB_F64, 0, 29}, NULL)); /* no rows, no work */
        fab_solver_free(s);
        fab_gauss_free(g);
    }
}

/* ---- draws ------------------------------------------------------------------------------------- */

/* Draws whitened by the oracle's Cholesky factor are standard normal: the means and the 435 entries of
 * their second moments, 464 statistics, each within 5.5 standard errors; a false alarm once in 50 000
 * seeds. */
static void check_draws(const fab_gauss *g, const fab_exec *x)
{
    enum { D = 29 };
    fab_solver *s;
    double *draws = doubles((int64_t)DRAWS * D), mean[D] = {0}, square[D][D] = {{0}}, Li[D][D];
    assert_ok(fab_solver_create(&s, g, x));
    assert_ok(fab_solver_sample(s, 2385, FAB_PURPOSE_SAMPLE, 0, DRAWS, FAB_F64, draws, D));
    fab_solver_free(s);
    const real *L = dense_forward(D, D, dense_chol(D, dense_covariance(g)), dense_identity(D));
    for (int i = 0; i < D * D; i++) Li[i / D][i % D] = (double)L[i];
    for (int64_t n = 0; n < DRAWS; n++) {
        double z[D] = {0};
        for (int i = 0; i < D; i++)
            for (int j = 0; j <= i; j++) z[i] += Li[i][j] * (draws[n * D + j] - g->mu[j]);
        for (int i = 0; i < D; i++) {
            mean[i] += z[i] / DRAWS;
            for (int j = 0; j <= i; j++) square[i][j] += z[i] * z[j] / DRAWS;
        }
    }
    for (int i = 0; i < D; i++) {
        assert_near(mean[i], 0, 5.5 / sqrt(DRAWS));
        for (int j = 0; j <= i; j++)
            assert_near(square[i][j], i == j, 5.5 * sqrt((i == j) + 1.0) / sqrt(DRAWS));
    }
}

static void the_covariance_of_draws_is_right(void **state)
{
    (void)state;
    const int64_t ranks[] = {0, 1, 3, 29};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int k = 0; k < 4; k++) {
            fab_gauss *g =
                some_gauss((fab_form)form, k == 2 ? FAB_F32 : FAB_F64, 29, ranks[k], 17, 1);
            check_draws(g, NULL);
            fab_gauss_free(g);
            dense_release(NULL);
        }
}

/* Draws 5 .. 5 + n - 1 in pieces of `piece`, as bytes. */
static double *in_pieces(const fab_gauss *g, int64_t n, int64_t piece, const fab_exec *x)
{
    fab_solver *s;
    double *out = doubles(n * g->D);
    assert_ok(fab_solver_create(&s, g, x));
    for (int64_t j = 0; j < n; j += piece)
        assert_ok(fab_solver_sample(s, 29, FAB_PURPOSE_SAMPLE, 5 + j, n - j < piece ? n - j : piece,
                                    FAB_F64, out + j * g->D, g->D));
    fab_solver_free(s);
    return out;
}

static void a_draw_has_the_same_bytes_whichever_call_makes_it(void **state)
{
    (void)state;
    const int64_t shape[][2] = {{29, 3}, {29, 0}, {1, 1}, {517, 130}};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int type = FAB_F64; type <= FAB_F32; type++)
            for (int i = 0; i < 4; i++) {
                const int64_t n = 101, D = shape[i][0];
                fab_gauss *g = some_gauss((fab_form)form, (fab_dtype)type, D, shape[i][1], 18, 1);
                const double *whole = in_pieces(g, n, n, NULL);
                for (int64_t piece = 1; piece < n; piece = 2 * piece + 1)
                    assert_memory_equal(whole, in_pieces(g, n, piece, NULL),
                                        (size_t)(n * D) * sizeof *whole);
                for (int64_t threads = 1; threads <= 4; threads *= 2)
                    assert_memory_equal(whole, in_pieces(g, n, 13, &(fab_exec){.threads = threads}),
                                        (size_t)(n * D) * sizeof *whole);
                fab_gauss_free(g);
                dense_release(NULL);
            }
}

/* Large enough for several blocks of rows and several threads. */
static void the_number_of_threads_changes_no_byte(void **state)
{
    (void)state;
    enum { D = 20011, K = 9, M = 3 };
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int type = FAB_F64; type <= FAB_F32; type++) {
            fab_gauss *g = some_gauss((fab_form)form, (fab_dtype)type, D, K, 19, 1);
            double *x = doubles(M * D), *first = doubles(5 * M * D), *out = doubles(5 * M * D);
            for (int64_t i = 0; i < M * D; i++) x[i] = noise(20, i);
            const fab_rows rows = {x, FAB_F64, M, D};
            for (int64_t threads = 1; threads <= 4; threads *= 2) {
                fab_solver *s;
                assert_ok(fab_solver_create(&s, g, &(fab_exec){.threads = threads}));
                assert_ok(fab_solver_sample(s, 29, FAB_PURPOSE_SAMPLE, 3, M, FAB_F64, out, D));
                assert_ok(fab_solver_times_covariance(s, &rows, out + M * D));
                assert_ok(fab_solver_times_precision(s, &rows, out + 2 * M * D));
                assert_ok(fab_solver_variances(s, out + 3 * M * D));
                assert_ok(fab_solver_logpdf(s, &rows, out + 4 * M * D));
                assert_ok(fab_solver_logdet(s, out + 4 * M * D + M));
                fab_solver_free(s);
                if (threads == 1) memcpy(first, out, 5 * M * D * sizeof *out);
                assert_memory_equal(first, out, 5 * M * D * sizeof *out);
            }
            fab_gauss_free(g);
            dense_release(NULL);
        }
}

static void other_seeds_give_other_draws(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 29, 3, 21, 1);
    fab_solver *s;
    double a[58], b[29];
    assert_ok(fab_solver_create(&s, g, NULL));
    assert_ok(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, 0, 2, FAB_F64, a, 29));
    assert_ok(fab_solver_sample(s, 2, FAB_PURPOSE_SAMPLE, 0, 1, FAB_F64, b, 29));
    for (int d = 0; d < 29; d++) assert_true(fabs(a[d] - b[d]) > 0 && fabs(a[d] - a[29 + d]) > 0);
    fab_solver_free(s);
    fab_gauss_free(g);
}

static void f32_draws_are_f64_draws_rounded(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_PRECISION, FAB_F64, 29, 3, 22, 1);
    fab_solver *s;
    double a[7 * 29];
    float b[7 * 31];
    for (int i = 0; i < 7 * 31; i++) b[i] = 2.385f;
    assert_ok(fab_solver_create(&s, g, NULL));
    assert_ok(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, 3, 7, FAB_F64, a, 29));
    assert_ok(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, 3, 7, FAB_F32, b, 31));
    for (int j = 0; j < 7; j++)
        for (int d = 0; d < 31; d++)
            assert_near(b[j * 31 + d], d < 29 ? (float)a[j * 29 + d] : 2.385f, 0);
    fab_solver_free(s);
    fab_gauss_free(g);
}

/* ---- points and parts -------------------------------------------------------------------------- */

static void a_point_is_drawn_and_has_no_density(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_POINT, FAB_F64, 29, 0, 23, 1), *m;
    fab_solver *s;
    double x[3 * 29], out[29 * 29];
    const fab_rows rows = {g->mu, FAB_F64, 1, 29};
    const int64_t index[] = {2, 3, 5};
    assert_null(g->psi);
    assert_ok(fab_solver_create(&s, g, NULL));
    assert_ok(fab_solver_sample(s, 7, FAB_PURPOSE_SAMPLE, 2, 3, FAB_F64, x, 29));
    for (int j = 0; j < 3; j++) assert_memory_equal(x + j * 29, g->mu, sizeof x / 3);
    assert_refused(fab_solver_logpdf(s, &rows, out), FAB_UNSUPPORTED, "a point has no density");
    assert_refused(fab_solver_mahalanobis(s, &rows, out), FAB_UNSUPPORTED, "a point has no");
    assert_refused(fab_solver_logdet(s, out), FAB_UNSUPPORTED, "a point has no");
    assert_refused(fab_solver_entropy(s, out), FAB_UNSUPPORTED, "a point has no entropy");
    assert_refused(fab_solver_variances(s, out), FAB_UNSUPPORTED, "a point has no variance");
    assert_refused(fab_solver_dense(s, out), FAB_UNSUPPORTED, "a point has no covariance");
    assert_refused(fab_solver_times_covariance(s, &rows, out), FAB_UNSUPPORTED, "a point has no");
    assert_refused(fab_solver_times_precision(s, &rows, out), FAB_UNSUPPORTED, "a point has no");
    fab_solver_free(s);
    assert_ok(fab_gauss_marginal(&m, g, index, 3, NULL));
    for (int i = 0; i < 3; i++) assert_near(m->mu[i], g->mu[index[i]], 0);
    fab_gauss_free(m);
    fab_gauss_free(g);
}

static void a_draw_over_part_of_theta_leaves_the_rest_in_place(void **state)
{
    (void)state;
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_POINT; form++) {
        fab_gauss *part,
            *all = some_gauss((fab_form)form, FAB_F64, 29, form == FAB_FORM_POINT ? 0 : 3, 24, 1);
        assert_ok(fab_gauss_create_part(&part, (fab_form)form, FAB_F64, 29, all->K, 67));
        memcpy(part->mu, all->mu, 29 * sizeof(double));
        if (all->psi) memcpy(part->psi, all->psi, 29 * sizeof(double));
        if (all->K) memcpy(part->F, all->F, 29 * 3 * sizeof(double));
        for (int64_t i = 0; i < 67; i++) part->theta[i] = 100 + (double)i;
        for (int64_t i = 0; i < 29; i++) part->index[i] = 2 * i + 1;
        assert_ok(fab_gauss_check(part));
        fab_solver *s, *t;
        double x[9 * 70], y[9 * 29];
        assert_ok(fab_solver_create(&s, part, NULL));
        assert_ok(fab_solver_create(&t, all, NULL));
        assert_ok(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, 3, 9, FAB_F64, x, 70));
        assert_ok(fab_solver_sample(t, 1, FAB_PURPOSE_SAMPLE, 3, 9, FAB_F64, y, 29));
        for (int64_t j = 0; j < 9; j++)
            for (int64_t i = 0; i < 67; i++) {
                const int64_t d = i / 2;
                assert_near(x[j * 70 + i], i % 2 && d < 29 ? y[j * 29 + d] : 100 + (double)i, 0);
            }
        assert_refused(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, 0, 1, FAB_F64, x, 66),
                       FAB_BAD_ARGUMENT, "length 67");
        fab_solver_free(s);
        fab_solver_free(t);
        fab_gauss_free(part);
        fab_gauss_free(all);
    }
}

static void forms_have_names(void **state)
{
    (void)state;
    assert_string_equal(fab_form_name(FAB_FORM_COVARIANCE), "covariance");
    assert_string_equal(fab_form_name(FAB_FORM_PRECISION), "precision");
    assert_string_equal(fab_form_name(FAB_FORM_POINT), "point");
    assert_string_equal(fab_form_name((fab_form)7), "unknown");
}

/* ---- copies ------------------------------------------------------------------------------------ */

static void a_copy_is_equal_and_separate(void **state)
{
    (void)state;
    fab_gauss *g, *c;
    assert_ok(fab_gauss_create_part(&g, FAB_FORM_PRECISION, FAB_F32, 29, 3, 40));
    for (int64_t i = 0; i < 29 * 3; i++) ((float *)g->F)[i] = (float)noise(25, i);
    for (int64_t i = 0; i < 29; i++) g->mu[i] = noise(26, i), g->index[i] = i + 5;
    for (int64_t i = 0; i < 40; i++) g->theta[i] = noise(27, i);
    for (int type = FAB_F64; type <= FAB_F32; type++) {
        assert_ok(fab_gauss_copy(&c, g, (fab_dtype)type));
        assert_true(c->form == g->form && c->type == (fab_dtype)type && c->D == 29 && c->K == 3 &&
                    c->total == 40);
        assert_memory_equal(c->mu, g->mu, 29 * sizeof(double));
        assert_memory_equal(c->psi, g->psi, 29 * sizeof(double));
        assert_memory_equal(c->theta, g->theta, 40 * sizeof(double));
        assert_memory_equal(c->index, g->index, 29 * sizeof(int64_t));
        for (int64_t d = 0; d < 29; d++)
            for (int64_t k = 0; k < 3; k++) assert_near(F_at(c, d, k), F_at(g, d, k), 0);
        c->mu[0] = 99;
        assert_true(g->mu[0] < 2);
        fab_gauss_free(c);
    }
    fab_gauss_free(g);
    fab_gauss_free(NULL);
    fab_solver_free(NULL);
}

static void a_dense_covariance_comes_back(void **state)
{
    (void)state;
    enum { D = 7 };
    double S[D * D], back[D * D];
    fab_gauss *g;
    fab_solver *s;
    for (int i = 0; i < D; i++) /* exp(-|i - j|) in units of 10^i */
        for (int j = 0; j < D; j++) S[i * D + j] = pow(10, i + j - D) * exp(-abs(i - j));
    assert_int_equal(fab_gauss_from_dense(&g, D, S), FAB_OK);
    assert_int_equal(g->K, D);
    assert_int_equal(fab_solver_create(&s, g, NULL), FAB_OK);
    assert_int_equal(fab_solver_dense(s, back), FAB_OK);
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            const double unit = sqrt(S[i * D + i] * S[j * D + j]);
            assert_true(fabs(back[i * D + j] - S[i * D + j]) <= 100 * D * ROUND_F64 * unit);
        }
    fab_solver_free(s);
    fab_gauss_free(g);
    S[0] = -1;
    assert_int_equal(fab_gauss_from_dense(&g, D, S), FAB_NUMERIC);
    assert_null(g);
    assert_int_equal(fab_gauss_from_dense(&g, FAB_DENSE_MAX + 1, S), FAB_UNSUPPORTED);
}

static void a_copy_that_does_not_fit_f32_is_refused(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 29, 3, 28, 1), *c = (fab_gauss *)1;
    F_put(g, 7, 2, -1e39);
    assert_refused(fab_gauss_copy(&c, g, FAB_F32), FAB_BAD_DATA, "F[7][2] = -1e+39");
    assert_null(c);
    fab_gauss_free(g);
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    fab_gauss *g = (fab_gauss *)1;
    assert_refused(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, 0, 3), FAB_BAD_ARGUMENT,
                   "D = 0");
    assert_null(g);
    assert_refused(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, 29, -1), FAB_BAD_ARGUMENT,
                   "K = -1");
    assert_refused(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, 29, 70000), FAB_BAD_ARGUMENT,
                   "K = 70000");
    assert_refused(fab_gauss_create(&g, FAB_FORM_POINT, FAB_F64, 29, 1), FAB_BAD_ARGUMENT,
                   "a point has K = 0");
    assert_refused(fab_gauss_create(&g, (fab_form)7, FAB_F64, 29, 1), FAB_BAD_ARGUMENT, "form 7");
    assert_refused(fab_gauss_create(&g, FAB_FORM_PRECISION, FAB_I64, 29, 1), FAB_BAD_ARGUMENT,
                   "i64");
    assert_refused(fab_gauss_create_part(&g, FAB_FORM_PRECISION, FAB_F64, 29, 1, 28),
                   FAB_BAD_ARGUMENT, "theta of 28");
    assert_refused(fab_gauss_create_part(&g, FAB_FORM_PRECISION, FAB_F64, 29, 1, -1),
                   FAB_BAD_ARGUMENT, "theta of -1");
    assert_int_equal(fab_gauss_create(&g, FAB_FORM_PRECISION, FAB_F64, (int64_t)1 << 40, 65536),
                     FAB_NO_MEMORY);
    assert_int_equal(fab_gauss_create_part(&g, FAB_FORM_PRECISION, FAB_F64, 29, 1, INT64_MAX),
                     FAB_NO_MEMORY);
    assert_null(g);
}

static void a_bad_number_is_named(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++)
        for (int type = FAB_F64; type <= FAB_F32; type++) {
            fab_solver *s = (fab_solver *)1;
            fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, (fab_dtype)type, 29, 3, 30, 1);
            const double mu = g->mu[4], psi = g->psi[5], f = F_at(g, 6, 2);
            g->mu[4] = bad[i];
            assert_refused(fab_solver_create(&s, g, NULL), FAB_BAD_DATA, "mu[4] = ");
            assert_null(s);
            g->mu[4] = mu, g->psi[5] = bad[i];
            assert_refused(fab_gauss_check(g), FAB_BAD_DATA, "psi[5] = ");
            g->psi[5] = psi;
            F_put(g, 6, 2, bad[i]);
            assert_refused(fab_gauss_check(g), FAB_BAD_DATA, "F[6][2] = ");
            F_put(g, 6, 2, f);
            assert_ok(fab_gauss_check(g));
            fab_gauss_free(g);
        }
    fab_gauss *g = some_gauss(FAB_FORM_PRECISION, FAB_F64, 29, 3, 31, 1);
    g->psi[28] = 0;
    assert_refused(fab_gauss_check(g), FAB_BAD_DATA, "psi[28] = 0");
    g->psi[28] = -2.385;
    assert_refused(fab_gauss_check(g), FAB_BAD_DATA, "psi[28] = -2.385");
    g->psi[28] = 1;
    double *psi = g->psi;
    g->psi = NULL;
    assert_refused(fab_gauss_check(g), FAB_BAD_ARGUMENT, "psi");
    g->psi = psi;
    void *F = g->F;
    g->F = NULL;
    assert_refused(fab_gauss_check(g), FAB_BAD_ARGUMENT, "F");
    g->F = F;
    fab_gauss_free(g);
}

static void a_bad_index_is_named(void **state)
{
    (void)state;
    fab_gauss *g;
    assert_ok(fab_gauss_create_part(&g, FAB_FORM_COVARIANCE, FAB_F64, 5, 1, 9));
    assert_ok(fab_gauss_check(g));
    const int64_t bad[][5] = {{0, 1, 1, 3, 4}, {-1, 1, 2, 3, 4}, {0, 1, 2, 3, 9}, {0, 2, 1, 3, 4}};
    for (int i = 0; i < 4; i++) {
        memcpy(g->index, bad[i], sizeof bad[i]);
        assert_refused(fab_gauss_check(g), FAB_BAD_DATA, "index[");
    }
    memcpy(g->index, (int64_t[]){0, 1, 2, 3, 8}, 5 * sizeof(int64_t));
    g->theta[7] = NAN;
    assert_refused(fab_gauss_check(g), FAB_BAD_DATA, "theta[7]");
    g->theta[7] = 0;
    fab_gauss *m = (fab_gauss *)1;
    assert_refused(fab_gauss_marginal(&m, g, (int64_t[]){1, 1}, 2, NULL), FAB_BAD_ARGUMENT,
                   "marginal: index[1]");
    assert_null(m);
    assert_refused(fab_gauss_marginal(&m, g, (int64_t[]){1, 5}, 2, NULL), FAB_BAD_ARGUMENT,
                   "marginal: index[1]");
    assert_refused(fab_gauss_marginal(&m, g, NULL, 0, NULL), FAB_BAD_ARGUMENT, "marginal: ");
    fab_gauss_free(g);
}

static void bad_rows_are_refused_with_row_and_column(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 29, 3, 32, 1);
    fab_solver *s;
    double x[70 * 29], out[70 * 29];
    for (int i = 0; i < 70 * 29; i++) x[i] = noise(33, i);
    x[66 * 29 + 11] = NAN;
    const fab_rows rows = {x, FAB_F64, 70, 29}, narrow = {x, FAB_F64, 2, 28},
                   ints = {x, FAB_I64, 2, 29};
    assert_ok(fab_solver_create(&s, g, NULL));
    assert_refused(fab_solver_logpdf(s, &rows, out), FAB_BAD_DATA, "row 66, column 11 is nan");
    assert_refused(fab_solver_mahalanobis(s, &rows, out), FAB_BAD_DATA, "row 66, column 11");
    assert_refused(fab_solver_times_covariance(s, &rows, out), FAB_BAD_DATA, "row 66, column 11");
    assert_refused(fab_solver_times_precision(s, &rows, out), FAB_BAD_DATA, "row 66, column 11");
    assert_refused(fab_solver_logpdf(s, &narrow, out), FAB_BAD_ARGUMENT, "28 apart");
    assert_refused(fab_solver_logpdf(s, &ints, out), FAB_BAD_ARGUMENT, "i64");
    assert_refused(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, 0, 2, FAB_F64, out, 28),
                   FAB_BAD_ARGUMENT, "28 apart");
    assert_refused(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, -1, 2, FAB_F64, out, 29),
                   FAB_BAD_ARGUMENT, "from number -1");
    assert_refused(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, 0, -2, FAB_F64, out, 29),
                   FAB_BAD_ARGUMENT, "-2 draws");
    assert_refused(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, 0, 2, FAB_I64, out, 29),
                   FAB_BAD_ARGUMENT, "sample: ");
    assert_refused(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, INT64_MAX, 2, FAB_F64, out, 29),
                   FAB_BAD_ARGUMENT, "sample: ");
    assert_ok(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, INT64_MAX - 2, 2, FAB_F64, out, 29));
    fab_solver_free(s);
    fab_gauss_free(g);
    assert_ok(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, FAB_DENSE_MAX + 1, 1));
    assert_ok(fab_solver_create(&s, g, NULL));
    assert_refused(fab_solver_dense(s, out), FAB_UNSUPPORTED, "up to D = 2000, not 2001");
    fab_solver_free(s);
    fab_gauss_free(g);
}

/* ---- allocations ------------------------------------------------------------------------------- */

static fab_form form_now;

static fab_status make_and_use(void)
{
    fab_gauss *g = NULL, *c = NULL, *m = NULL;
    fab_solver *s = NULL;
    const int64_t index[] = {1, 4, 28};
    fab_status status = fab_gauss_create_part(&g, form_now, FAB_F64, 29, 3, 40);
    assert_int_equal(status == FAB_OK, g != NULL);
    if (status == FAB_OK) {
        for (int64_t i = 0; i < 29 * 3; i++) ((double *)g->F)[i] = noise(34, i);
        c = (fab_gauss *)1;
        status = fab_gauss_copy(&c, g, FAB_F32);
        assert_int_equal(status == FAB_OK, c != NULL);
    }
    if (status == FAB_OK) {
        s = (fab_solver *)1;
        status = fab_solver_create(&s, g, NULL);
        assert_int_equal(status == FAB_OK, s != NULL);
    }
    if (status == FAB_OK) {
        m = (fab_gauss *)1;
        status = fab_gauss_marginal(&m, g, index, 3, NULL);
        assert_int_equal(status == FAB_OK, m != NULL);
    }
    fab_gauss_free(m);
    fab_solver_free(s);
    fab_gauss_free(c);
    fab_gauss_free(g);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++) {
        form_now = (fab_form)form;
        assert_true(fail_every_allocation(make_and_use) >= 4);
    }
}

static void a_solver_does_not_allocate_after_init(void **state)
{
    (void)state;
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++) {
        fab_gauss *g = some_gauss((fab_form)form, FAB_F64, 29, 3, 35, 1);
        fab_solver *s;
        double *x = doubles(70 * 29), *out = doubles(70 * 29);
        const fab_rows rows = {x, FAB_F64, 70, 29};
        fab_set_allocator(counted_alloc, counted_release);
        alloc_fails_at = 0;
        assert_ok(fab_solver_create(&s, g, NULL));
        alloc_calls = 0;
        assert_ok(fab_solver_logpdf(s, &rows, out));
        assert_ok(fab_solver_times_covariance(s, &rows, out));
        assert_ok(fab_solver_times_precision(s, &rows, out));
        assert_ok(fab_solver_variances(s, out));
        assert_ok(fab_solver_dense(s, out));
        assert_ok(fab_solver_sample(s, 1, FAB_PURPOSE_SAMPLE, 0, 70, FAB_F64, out, 29));
        assert_int_equal(alloc_calls, 0);
        fab_solver_free(s);
        fab_set_allocator(NULL, NULL);
        fab_gauss_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_verb_agrees_with_dense_algebra),
        TEST(other_shapes_agree_too),
        TEST(extreme_scales_agree_too),
        TEST(a_spread_of_1e12_in_psi_agrees_too),
        TEST(noise_far_below_the_signal_is_not_lost),
        TEST(a_mahalanobis_distance_of_29_stays_29),
        TEST(duplicated_columns_are_no_trouble),
        TEST(constant_and_zero_columns_are_no_trouble),
        TEST(rows_of_either_type_say_the_same),
        TEST(the_covariance_of_draws_is_right),
        TEST(a_draw_has_the_same_bytes_whichever_call_makes_it),
        TEST(the_number_of_threads_changes_no_byte),
        TEST(other_seeds_give_other_draws),
        TEST(f32_draws_are_f64_draws_rounded),
        TEST(a_point_is_drawn_and_has_no_density),
        TEST(a_draw_over_part_of_theta_leaves_the_rest_in_place),
        TEST(forms_have_names),
        TEST(a_copy_is_equal_and_separate),
        TEST(a_dense_covariance_comes_back),
        TEST(a_copy_that_does_not_fit_f32_is_refused),
        TEST(impossible_shapes_are_refused),
        TEST(a_bad_number_is_named),
        TEST(a_bad_index_is_named),
        TEST(bad_rows_are_refused_with_row_and_column),
        TEST(every_failed_allocation_is_reported),
        TEST(a_solver_does_not_allocate_after_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
