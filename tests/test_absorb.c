/* test_absorb.c - absorb and cut against the textbook EM of factor analysis on dense matrices.
 *
 * For a target S and Sigma = W W' + psi, with beta = W' Sigma^-1 and B = I - beta W + beta S beta':
 *
 *   EM        W' = S beta' B^-1        psi' = diag(S - W' beta S)
 *   expanded  W' = S beta' L'^-1       the same psi',                L L' = B, L lower
 *
 * A step is right to c = 8 (D + K + m + 4) kappa u: row i of W in units of sqrt(S_ii), psi_i in units of
 * S_ii; kappa is the condition of the K x K matrices, u the unit roundoff of F.  An error e in psi_i is one
 * of e S_ii / psi_i in the next step, so each further loop multiplies by the largest S_ii / psi_i.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/gauss.h"
#include "dense.h"
#include "posterior/absorb.h"
#include <errno.h>

enum { D = 29 };

/* ---- heap calls of the whole process, counted --------------------------------------------------- */

#if defined(__GLIBC__) && !defined(FAB_SANITIZED)
#define HEAP_IS_COUNTED 1
static volatile long heap_calls;
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n)
{
    heap_calls++;
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    heap_calls++;
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    heap_calls++;
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    heap_calls++;
    return __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    heap_calls++;
    *p = __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}
#else
#define HEAP_IS_COUNTED 0
static long heap_calls;
#endif

/* ---- the oracle --------------------------------------------------------------------------------- */

/* S = a (F F' + psi) + b X X' for the n rows (columns of X) of x. */
static real *target(const fab_gauss *g, double a, double b, const double *x, int64_t n)
{
    real *S = dense_matrix(g);
    for (int64_t i = 0; i < g->D * g->D; i++) S[i] *= a;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < g->D; i++)
            for (int64_t k = 0; k < g->D; k++) {
                const double u = x[j * g->D + i], v = x[j * g->D + k];
                S[i * g->D + k] += g->type == FAB_F32 ? (real)b * (float)u * (float)v
                                                      : (real)b * u * v;
            }
    return S;
}

typedef struct model {
    int64_t n, K;
    real *W, *psi; /* n x K, n */
} model;

static model model_of(const fab_gauss *g)
{
    model m = {g->D, g->K, dense_F(g), dense_new(g->D)};
    for (int64_t i = 0; i < g->D; i++) m.psi[i] = g->psi[i];
    return m;
}

static real *sigma(const model *m)
{
    real *A = dense_mul(m->n, m->K, m->n, m->W, dense_transpose(m->n, m->K, m->W));
    for (int64_t i = 0; i < m->n; i++) A[i * m->n + i] += m->psi[i];
    return A;
}

static model em_step(const model *m, const real *S, int expand, double floor, int64_t *floored)
{
    const int64_t n = m->n, K = m->K;
    const real *Wt = dense_transpose(n, K, m->W);
    const real *beta = dense_mul(K, n, n, Wt, dense_inverse(n, sigma(m)));
    const real *betat = dense_transpose(K, n, beta), *Sb = dense_mul(n, n, K, S, betat);
    const real *bW = dense_mul(K, n, K, beta, m->W), *bSb = dense_mul(K, n, K, beta, Sb);
    real *B = dense_identity(K);
    for (int64_t i = 0; i < K * K; i++) B[i] += bSb[i] - bW[i];
    const real *EM = dense_mul(n, K, K, Sb, dense_inverse(K, B)), *bS = dense_transpose(n, K, Sb);
    model out = {n, K, NULL, dense_new(n)};
    *floored = 0;
    for (int64_t i = 0; i < n; i++) {
        real psi = S[i * n + i];
        for (int64_t k = 0; k < K; k++) psi -= EM[i * K + k] * bS[k * n + i];
        const real least = floor * S[i * n + i];
        *floored += psi < least;
        out.psi[i] = psi < least ? least : psi;
    }
    const real *Lt = dense_forward(K, n, dense_chol(K, B), bS); /* L^-1 beta S */
    out.W = expand ? dense_transpose(K, n, Lt) : dense_mul(n, K, K, Sb, dense_inverse(K, B));
    return out;
}

/* Twice the part of KL(N(S) || N(Sigma)) that depends on Sigma. */
static real objective(const real *S, const model *m)
{
    const real *A = sigma(m);
    return dense_trace_mul(m->n, dense_inverse(m->n, A), S) + dense_logdet(m->n, A);
}

/* W is known up to a turn: psi and W W', in units of the diagonal of S.  Rows of W / sqrt(S_ii) are at most 1 long, so an
 * error of tol in each element moves W W' by at most 2 K^1/2 tol. */
static void check_model(const fab_gauss *g, const model *want, const real *S, real tol)
{
    const int64_t n = want->n, K = want->K;
    for (int64_t i = 0; i < n; i++) {
        assert_near(g->psi[i] / S[i * n + i], want->psi[i] / S[i * n + i], tol);
        for (int64_t j = 0; j <= i; j++) {
            const real size = r_sqrt(S[i * n + i]) * r_sqrt(S[j * n + j]);
            real got = 0, wanted = 0;
            for (int64_t k = 0; k < K; k++) {
                got += (real)F_at(g, i, k) * F_at(g, j, k);
                wanted += want->W[i * K + k] * want->W[j * K + k];
            }
            assert_near(got / size, wanted / size, 2 * r_sqrt((real)K) * tol);
        }
    }
}

static real tolerance(const fab_gauss *g, const real *S, int64_t m, int64_t loops)
{
    real worst = 1, c = 8 * (real)(g->D + g->K + m + 4) * dense_kappa(g) * unit_of(g->type);
    for (int64_t i = 0; i < g->D; i++) worst = r_max(worst, S[i * g->D + i] / g->psi[i]);
    for (int64_t l = 1; l < loops; l++) c *= worst;
    return c;
}

static double *some_columns(int64_t n, int64_t rows, double scale)
{
    double *x = doubles(n * rows + 1);
    for (int64_t i = 0; i < n * rows; i++) x[i] = 1.3 * noise(90, i) * scale;
    return x;
}

static fab_absorb_settings settings(int64_t inner, int64_t expand)
{
    fab_absorb_settings s = fab_absorb_defaults();
    s.inner = inner;
    s.expand = expand;
    return s;
}

/* ---- EM ----------------------------------------------------------------------------------------- */

static void check_absorb(fab_gauss *g, double a, double b, const double *x, int64_t m,
                         const fab_absorb_settings *set, const fab_exec *exec)
{
    const real *S = target(g, a, b, x, m);
    const real tol = tolerance(g, S, m, set->inner);
    model want = model_of(g);
    int64_t floored = 0;
    for (int64_t l = 0; l < set->inner; l++)
        want = em_step(&want, S, set->expand != 0, set->psi_min, &floored);
    fab_absorb *ab;
    double *mu = doubles(g->D);
    memcpy(mu, g->mu, (size_t)g->D * sizeof *mu);
    assert_ok(fab_absorb_create(&ab, g->D, g->K, m ? m : 1, set, sizeof *set, exec));
    assert_ok(fab_absorb_update(ab, g, a, b, &(fab_rows){x, FAB_F64, m, g->D}));
    check_model(g, &want, S, tol);
    assert_int_equal(fab_absorb_floored(ab), floored);
    assert_memory_equal(mu, g->mu, (size_t)g->D * sizeof *mu);
    fab_absorb_free(ab);
}

static void a_step_is_the_dense_step(void **state)
{
    (void)state;
    const int64_t shape[][3] = {{29, 3, 7},  {29, 1, 1}, {29, 5, 40}, {1, 1, 1},
                                {29, 29, 3}, {3, 5, 2},  {29, 3, 0}};
    const char *const backend[] = {"ref", "cpu"};
    for (int i = 0; i < 7; i++)
        for (int expand = 0; expand < 2; expand++)
            for (int type = FAB_F64; type <= FAB_F32; type++)
                for (int e = 0; e < 2; e++) {
                    const fab_exec x = {.ops = fab_ops_find(backend[e], (fab_dtype)type),
                                        .threads = 1};
                    const int64_t n = shape[i][0], K = shape[i][1], m = shape[i][2];
                    const fab_absorb_settings one = settings(1, expand),
                                              three = settings(3, expand);
                    if (!x.ops) continue;
                    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, (fab_dtype)type, n, K, 91, 1);
                    check_absorb(g, 0.9, m ? 0.2 : 0, some_columns(m, n, 1), m, &one, &x);
                    fab_gauss_free(g);
                    g = some_gauss(FAB_FORM_PRECISION, (fab_dtype)type, n, K, 92, 1);
                    check_absorb(g, 1, m ? 0.7 : 0, some_columns(m, n, 1), m, &three, &x);
                    fab_gauss_free(g);
                    dense_release(NULL);
                }
}

static void extreme_scales_agree_too(void **state)
{
    (void)state;
    const double scale[] = {1e-150, 1e150, 1e-15, 1e15};
    for (int i = 0; i < 4; i++)
        for (int expand = 0; expand < 2; expand++) {
            const fab_dtype type = i < 2 ? FAB_F64 : FAB_F32;
            const fab_exec x = {.ops = fab_ops_find("cpu", type)};
            const fab_absorb_settings set = settings(2, expand);
            fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, type, D, 3, 93, scale[i]);
            check_absorb(g, 0.9, 0.2, some_columns(7, D, scale[i]), 7, &set, &x);
            fab_gauss_free(g);
        }
}

/* Loops bring the model nearer to the target, never farther. */
static void the_likelihood_never_falls(void **state)
{
    (void)state;
    const double *x = some_columns(11, D, 3);
    for (int expand = 0; expand < 2; expand++) {
        real before = 0;
        for (int64_t inner = 1; inner < 9; inner++) {
            fab_absorb *ab;
            const fab_absorb_settings set = settings(inner, expand);
            fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 3, 94, 1);
            const real *S = target(g, 0.8, 0.4, x, 11);
            const model start = model_of(g);
            assert_ok(fab_absorb_create(&ab, D, 3, 11, &set, sizeof set, NULL));
            assert_ok(fab_absorb_update(ab, g, 0.8, 0.4, &(fab_rows){x, FAB_F64, 11, D}));
            const model end = model_of(g);
            const real now = objective(S, &end);
            assert_true(now < (inner == 1 ? objective(S, &start) : before));
            before = now;
            fab_absorb_free(ab);
            fab_gauss_free(g);
        }
        dense_release(NULL);
        x = some_columns(11, D, 3);
    }
}

/* S is what the model already says: EM has nothing to do. */
static void nothing_absorbed_changes_nothing(void **state)
{
    (void)state;
    for (int expand = 0; expand < 2; expand++) {
        fab_absorb *ab;
        const fab_absorb_settings set = settings(3, expand);
        fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 3, 95, 1);
        const real *S = target(g, 1, 0, NULL, 0), tol = tolerance(g, S, 0, 3);
        assert_ok(fab_absorb_create(&ab, D, 3, 1, &set, sizeof set, NULL));
        assert_ok(fab_absorb_update(ab, g, 1, 0, &(fab_rows){NULL, FAB_F64, 0, D}));
        const real *A = dense_matrix(g);
        for (int64_t i = 0; i < D * D; i++)
            assert_near(A[i], S[i], 4 * tol * r_sqrt(S[i / D * (D + 1)] * S[i % D * (D + 1)]));
        fab_absorb_free(ab);
        fab_gauss_free(g);
    }
}

static void the_floor_acts_and_is_counted(void **state)
{
    (void)state;
    for (int64_t inner = 1; inner <= 2; inner++) {
        fab_absorb_settings set = settings(inner, 1);
        set.psi_min = 0.3;
        fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 3, 96, 1);
        const double *x = some_columns(7, D, 1);
        const real *S = target(g, 0.9, 0.2, x, 7);
        model want = model_of(g);
        int64_t floored = 0;
        for (int64_t l = 0; l < inner; l++) want = em_step(&want, S, 1, 0.3, &floored);
        assert_true(floored > 3 && floored < D); /* it acts here, and not everywhere */
        check_absorb(g, 0.9, 0.2, x, 7, &set, NULL);
        fab_gauss_free(g);
    }
}

/* ---- the eigen cut ------------------------------------------------------------------------------ */

static void check_eigen(fab_form form, fab_dtype type, int64_t n, int64_t K, int64_t m)
{
    const double a = 0.9, b = 0.3, *x = some_columns(m, n, 1);
    fab_gauss *g = some_gauss(form, type, n, K, 97, 1);
    const real *S = target(g, a, b, x, m), *F = dense_F(g);
    const int64_t R = K + m;
    real *Y = dense_new(n * R), *Z = dense_new(n * R), *w = dense_new(R), *V = dense_new(R * R),
         *VK = dense_new(R * K);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < R; j++) {
            const double v = j < K ? 0 : x[(j - K) * n + i];
            Y[i * R + j] = j < K ? r_sqrt(a) * F[i * K + j]
                                 : r_sqrt(b) * (type == FAB_F32 ? (real)(float)v : (real)v);
            Z[i * R + j] = Y[i * R + j] / r_sqrt(a * (real)g->psi[i]);
        }
    dense_eig(R, dense_mul(R, n, R, dense_transpose(n, R, Z), Z), w, V);
    for (int64_t j = 0; j < R; j++)
        for (int64_t k = 0; k < K; k++) VK[j * K + k] = V[j * R + k];
    model want = {n, K, dense_mul(n, R, K, Y, VK), dense_new(n)};
    for (int64_t i = 0; i < n; i++) {
        want.psi[i] = S[i * n + i];
        for (int64_t k = 0; k < K; k++) want.psi[i] -= want.W[i * K + k] * want.W[i * K + k];
    }
    const real gap = K < n ? w[K - 1] - w[K] : w[0]; /* what is lost beside what is kept */
    const real tol = 8 * (real)(n + R + 4) * unit_of(type) * w[0] / gap;
    fab_absorb_settings set = fab_absorb_defaults();
    set.cut = FAB_CUT_EIGEN;
    fab_absorb *ab;
    const fab_exec exec = {.ops = fab_ops_find("cpu", type)};
    assert_ok(fab_absorb_create(&ab, n, K, m, &set, sizeof set, &exec));
    assert_ok(fab_absorb_update(ab, g, a, b, &(fab_rows){x, FAB_F64, m, n}));
    const real *A = dense_matrix(g), *B = sigma(&want);
    for (int64_t i = 0; i < n; i++) {
        assert_near(g->psi[i] / S[i * n + i], want.psi[i] / S[i * n + i], tol);
        for (int64_t j = 0; j < n; j++) {
            const real size = r_sqrt(S[i * n + i] * S[j * n + j]);
            assert_near(A[i * n + j] / size, B[i * n + j] / size, tol);
            if (K >= n)
                assert_near(A[i * n + j] / size, S[i * n + j] / size, tol); /* nothing is cut off */
        }
    }
    fab_absorb_free(ab);
    fab_gauss_free(g);
}

static void the_eigen_cut_is_the_dense_one(void **state)
{
    (void)state;
    for (int type = FAB_F64; type <= FAB_F32; type++) {
        check_eigen(FAB_FORM_PRECISION, (fab_dtype)type, D, 3, 7);
        check_eigen(FAB_FORM_COVARIANCE, (fab_dtype)type, D, 1, 40);
        check_eigen(FAB_FORM_PRECISION, (fab_dtype)type, 1, 1, 1);
    }
}

static void the_eigen_cut_is_exact_when_nothing_is_cut_off(void **state)
{
    (void)state;
    check_eigen(FAB_FORM_PRECISION, FAB_F64, D, D, 7);
    check_eigen(FAB_FORM_PRECISION, FAB_F64, 5, 8, 3);
    check_eigen(FAB_FORM_PRECISION, FAB_F32, 5, 5, 3);
}

/* ---- refusals ----------------------------------------------------------------------------------- */

static void a_failure_leaves_the_gaussian_as_it_was(void **state)
{
    (void)state;
    for (int cut = FAB_CUT_EM; cut <= FAB_CUT_EIGEN; cut++)
        for (int64_t inner = 1; inner <= 3; inner += 2) {
            fab_absorb *ab;
            fab_absorb_settings set = settings(inner, 1);
            set.cut = cut;
            fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 3, 98, 1), *before;
            fab_gauss *wide = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 4, 98, 1);
            fab_gauss *longer = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D + 1, 3, 98, 1);
            fab_gauss *single = some_gauss(FAB_FORM_COVARIANCE, FAB_F32, D, 3, 98, 1);
            fab_gauss *point = some_gauss(FAB_FORM_POINT, FAB_F64, D, 0, 98, 1);
            double *x = some_columns(7, D, 1), *nan = some_columns(7, D, 1),
                   *huge = some_columns(7, D, 1e200);
            nan[3 * D + 5] = NAN;
            const fab_rows rows = {x, FAB_F64, 7, D}, bad = {nan, FAB_F64, 7, D},
                           many = {x, FAB_F64, 8, D};
            const fab_rows narrow = {x, FAB_F64, 7, D - 1}, far = {huge, FAB_F64, 7, D};
            assert_ok(fab_gauss_copy(&before, g, FAB_F64));
            assert_ok(fab_absorb_create(&ab, D, 3, 7, &set, sizeof set, NULL));
            assert_refused(fab_absorb_update(ab, g, 1, 1, &bad), FAB_BAD_DATA,
                           "absorb: row 3, column 5");
            assert_refused(fab_absorb_update(ab, g, 1, 1, &many), FAB_BAD_ARGUMENT,
                           "8 columns, made for up to 7");
            assert_refused(fab_absorb_update(ab, g, 1, 1, &narrow), FAB_BAD_ARGUMENT, "28 apart");
            assert_int_equal(fab_absorb_update(ab, g, 1, 1, &far), FAB_NUMERIC);
            assert_refused(fab_absorb_update(ab, wide, 1, 1, &rows), FAB_BAD_ARGUMENT, "K = 4");
            assert_refused(fab_absorb_update(ab, longer, 1, 1, &rows), FAB_BAD_ARGUMENT, "D = 30");
            assert_refused(fab_absorb_update(ab, single, 1, 1, &rows), FAB_BAD_ARGUMENT, "f32");
            assert_refused(fab_absorb_update(ab, point, 1, 1, &rows), FAB_BAD_ARGUMENT, "point");
            const double wrong[][2] = {{0, 1},  {-1, 1},  {NAN, 1},     {INFINITY, 1},
                                       {1, -1}, {1, NAN}, {1, INFINITY}};
            for (int i = 0; i < 7; i++)
                assert_refused(fab_absorb_update(ab, g, wrong[i][0], wrong[i][1], &rows),
                               FAB_BAD_ARGUMENT, "absorb: weights");
            assert_memory_equal(g->mu, before->mu, D * sizeof(double));
            assert_memory_equal(g->psi, before->psi, D * sizeof(double));
            assert_memory_equal(g->F, before->F, 3 * D * sizeof(double));
            assert_ok(fab_absorb_update(ab, g, 1, 1, &rows)); /* and the handle is still good */
            assert_ok(fab_gauss_check(g));
            fab_absorb_free(ab);
            fab_gauss *all[] = {g, before, wide, longer, single, point};
            for (int i = 0; i < 6; i++) fab_gauss_free(all[i]);
        }
}

static void impossible_sizes_and_settings_are_refused(void **state)
{
    (void)state;
    fab_absorb *ab = (fab_absorb *)1;
    const int64_t wrong[][3] = {{0, 3, 7}, {29, 0, 7}, {29, 3, 0}, {-1, 3, 7}};
    for (int i = 0; i < 4; i++) {
        assert_refused(fab_absorb_create(&ab, wrong[i][0], wrong[i][1], wrong[i][2], NULL, 0, NULL),
                       FAB_BAD_ARGUMENT, "absorb: D = ");
        assert_null(ab);
    }
    const int64_t vast[][3] = {{INT64_MAX, 3, 7},
                               {29, INT64_MAX, 7},
                               {29, 3, INT64_MAX},
                               {(int64_t)1 << 40, 65536, 1 << 20}};
    for (int i = 0; i < 4; i++) {
        const fab_status s =
            fab_absorb_create(&ab, vast[i][0], vast[i][1], vast[i][2], NULL, 0, NULL);
        assert_true(s == FAB_BAD_ARGUMENT || s == FAB_NO_MEMORY);
        assert_null(ab);
    }
    fab_absorb_settings set = settings(0, 1);
    assert_refused(fab_absorb_create(&ab, D, 3, 7, &set, sizeof set, NULL), FAB_BAD_ARGUMENT,
                   "absorb: inner = 0");
    set = settings(1, 2);
    assert_refused(fab_absorb_create(&ab, D, 3, 7, &set, sizeof set, NULL), FAB_BAD_ARGUMENT,
                   "absorb: expand");
    set = settings(1, 1);
    set.psi_min = NAN;
    assert_refused(fab_absorb_create(&ab, D, 3, 7, &set, sizeof set, NULL), FAB_BAD_ARGUMENT,
                   "absorb: psi_min");
    set = settings(1, 1);
    assert_refused(fab_absorb_create(&ab, D, 3, 7, &set, sizeof set + 8, NULL), FAB_BAD_ARGUMENT,
                   "absorb: settings of 40 bytes");
    set.psi_min = NAN; /* which a caller with three members does not have */
    assert_ok(fab_absorb_create(&ab, D, 3, 7, &set, sizeof set - 8, NULL));
    fab_absorb_free(ab);
    fab_absorb_free(NULL);
}

/* ---- bytes -------------------------------------------------------------------------------------- */

static void update_does_not_allocate(void **state)
{
    (void)state;
    for (int cut = FAB_CUT_EM; cut <= FAB_CUT_EIGEN; cut++)
        for (int64_t threads = 1; threads <= 2; threads++) {
            fab_absorb *ab;
            fab_absorb_settings set = fab_absorb_defaults();
            set.cut = cut;
            fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 5003, 9, 99, 1);
            const double *x = some_columns(7, 5003, 1);
            const fab_rows rows = {x, FAB_F64, 7, 5003};
            const fab_exec exec = {.threads = threads};
            fab_set_allocator(counted_alloc, counted_release);
            alloc_fails_at = 0;
            assert_ok(fab_absorb_create(&ab, 5003, 9, 7, &set, sizeof set, &exec));
            assert_ok(fab_absorb_update(ab, g, 0.9, 0.1, &rows)); /* the first makes the threads */
            alloc_calls = 0;
            const long before = heap_calls;
            for (int i = 0; i < 3; i++)
                assert_int_equal(fab_absorb_update(ab, g, 0.9, 0.1, &rows), FAB_OK);
            const long after = heap_calls;
            assert_int_equal(alloc_calls, 0);
            assert_int_equal(after - before, 0);
            fab_absorb_free(ab);
            fab_set_allocator(NULL, NULL);
            fab_gauss_free(g);
        }
    if (HEAP_IS_COUNTED) {
        const long before = heap_calls;
        void *volatile seen = malloc(29); /* not to be optimised away */
        free(seen);
        assert_true(heap_calls > before);
    }
}

static void the_number_of_threads_changes_no_byte(void **state)
{
    (void)state;
    enum { N = 20011, K = 9, M = 5 };
    for (int cut = FAB_CUT_EM; cut <= FAB_CUT_EIGEN; cut++)
        for (int type = FAB_F64; type <= FAB_F32; type++) {
            fab_gauss *first = NULL;
            const double *x = some_columns(M, N, 1);
            for (int64_t threads = 1; threads <= 4; threads *= 2) {
                fab_absorb *ab;
                fab_absorb_settings set = fab_absorb_defaults();
                set.cut = cut;
                fab_gauss *g = some_gauss(FAB_FORM_PRECISION, (fab_dtype)type, N, K, 100, 1);
                const fab_exec exec = {.ops = fab_ops_find("cpu", (fab_dtype)type),
                                       .threads = threads};
                assert_ok(fab_absorb_create(&ab, N, K, M, &set, sizeof set, &exec));
                for (int i = 0; i < 2; i++)
                    assert_ok(fab_absorb_update(ab, g, 0.9, 0.1, &(fab_rows){x, FAB_F64, M, N}));
                fab_absorb_free(ab);
                if (!first) {
                    first = g;
                    continue;
                }
                assert_memory_equal(first->psi, g->psi, N * sizeof(double));
                assert_memory_equal(first->F, g->F,
                                    N * K * (type == FAB_F32 ? sizeof(float) : sizeof(double)));
                fab_gauss_free(g);
            }
            fab_gauss_free(first);
        }
}

/* Rows of either type, and columns made in place, are the same columns. */
static void columns_arrive_by_any_door(void **state)
{
    (void)state;
    fab_gauss *g[3];
    float x[7 * 31];
    double y[7 * D];
    for (int j = 0; j < 7; j++)
        for (int i = 0; i < D; i++) y[j * D + i] = x[j * 31 + i] = (float)noise(101, j * D + i);
    for (int i = 0; i < 3; i++) {
        fab_absorb *ab;
        g[i] = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 3, 102, 1);
        assert_ok(fab_absorb_create(&ab, D, 3, 7, NULL, 0, NULL));
        if (i == 0)
            assert_ok(fab_absorb_update(ab, g[i], 0.9, 0.1, &(fab_rows){x, FAB_F32, 7, 31}));
        if (i == 1) assert_ok(fab_absorb_update(ab, g[i], 0.9, 0.1, &(fab_rows){y, FAB_F64, 7, D}));
        if (i == 2) {
            memcpy(fab_absorb_columns(ab), y, sizeof y);
            assert_ok(fab_absorb_loaded(ab, g[i], 0.9, 0.1, 7));
        }
        fab_absorb_free(ab);
        assert_memory_equal(g[0]->F, g[i]->F, 3 * D * sizeof(double));
        assert_memory_equal(g[0]->psi, g[i]->psi, D * sizeof(double));
    }
    for (int i = 0; i < 3; i++) fab_gauss_free(g[i]);
}

/* ---- cut ---------------------------------------------------------------------------------------- */

static void a_cut_is_a_fixed_point_of_em(void **state)
{
    (void)state;
    const int64_t rank[][2] = {{7, 3}, {5, 1}, {40, 2}};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int i = 0; i < 3; i++) {
            const double tol = 1e-8;
            fab_gauss *g = some_gauss((fab_form)form, FAB_F64, D, rank[i][0], 103, 1), *c;
            assert_ok(fab_gauss_cut(&c, g, rank[i][1], tol, 100000, NULL));
            assert_true(c->form == g->form && c->type == FAB_F64 && c->D == D &&
                        c->K == rank[i][1]);
            assert_memory_equal(c->mu, g->mu, D * sizeof(double));
            const real *S = dense_matrix(g);
            const model now = model_of(c);
            int64_t floored;
            const model next = em_step(&now, S, 1, 0, &floored);
            real sum = 0;
            for (int64_t d = 0; d < D; d++) {
                const real change = next.psi[d] / now.psi[d] - 1;
                sum += change * change / D;
            }
            assert_near(r_sqrt(sum), 0, 1.01 * tol); /* EM's steps shrink */
            assert_int_equal(floored, 0);
            fab_gauss_free(c);
            fab_gauss_free(g);
        }
}

/* Some maxima lie at psi = 0, where EM's steps shrink like 1/t: max_iter ends it, with a valid result. */
static void a_cut_towards_psi_0_ends_in_time(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 40, 103, 1), *c;
    assert_ok(fab_gauss_cut(&c, g, 4, 1e-12, 300, NULL));
    assert_ok(fab_gauss_check(c));
    double least = INFINITY;
    for (int64_t d = 0; d < D; d++) least = fmin(least, c->psi[d]);
    assert_true(least < 4); /* it is such a case */
    fab_gauss_free(c);
    fab_gauss_free(g);
}

static void a_cut_that_cuts_nothing_is_exact(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 5, 104, 1), *c;
    assert_ok(fab_gauss_cut(&c, g, 5, 1e-6, 100, NULL)); /* K is the rank: a copy */
    assert_memory_equal(c->F, g->F, 5 * D * sizeof(double));
    assert_memory_equal(c->psi, g->psi, D * sizeof(double));
    fab_gauss_free(c);
    for (int64_t d = 0; d < D; d++) { /* five columns of rank 3 */
        F_put(g, d, 3, 2 * F_at(g, d, 0) - F_at(g, d, 1));
        F_put(g, d, 4, 0);
    }
    const real *S = dense_matrix(g), tol = 64 * (D + 9) * ROUND_F64 * 100;
    assert_ok(fab_gauss_cut(&c, g, 3, 1e-15, 10000, NULL));
    const real *A = dense_matrix(c);
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < D; j++)
            assert_near(A[i * D + j], S[i * D + j], tol * r_sqrt(S[i * D + i] * S[j * D + j]));
    fab_gauss_free(c);
    fab_gauss_free(g);
}

static void a_cut_of_f32_and_of_part_of_theta_keeps_what_it_has(void **state)
{
    (void)state;
    fab_gauss *g, *c;
    assert_ok(fab_gauss_create_part(&g, FAB_FORM_PRECISION, FAB_F32, D, 5, 40));
    for (int64_t i = 0; i < 5 * D; i++) ((float *)g->F)[i] = (float)noise(105, i);
    for (int64_t i = 0; i < D; i++) g->index[i] = i + 7, g->mu[i] = noise(106, i);
    for (int64_t i = 0; i < 40; i++) g->theta[i] = noise(107, i);
    assert_ok(fab_gauss_cut(&c, g, 2, 1e-4, 1000, NULL));
    assert_ok(fab_gauss_check(c));
    assert_true(c->type == FAB_F32 && c->form == FAB_FORM_PRECISION && c->total == 40);
    assert_memory_equal(c->index, g->index, D * sizeof(int64_t));
    assert_memory_equal(c->theta, g->theta, 40 * sizeof(double));
    assert_memory_equal(c->mu, g->mu, D * sizeof(double));
    const real *A = dense_matrix(c), *S = dense_matrix(g);
    for (int64_t i = 0; i < D; i++)
        assert_near(A[i * (D + 1)], S[i * (D + 1)],
                    32 * ROUND_F32 * S[i * (D + 1)]); /* EM keeps the diagonal */
    fab_gauss_free(c);
    fab_gauss_free(g);
}

static void impossible_cuts_are_refused(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 5, 108, 1), *c = (fab_gauss *)1;
    assert_refused(fab_gauss_cut(&c, g, 0, 1e-6, 10, NULL), FAB_BAD_ARGUMENT,
                   "cut: K = 0 is outside [1, 5]");
    assert_null(c);
    assert_refused(fab_gauss_cut(&c, g, 6, 1e-6, 10, NULL), FAB_BAD_ARGUMENT, "cut: K = 6");
    assert_refused(fab_gauss_cut(&c, g, 2, NAN, 10, NULL), FAB_BAD_ARGUMENT, "cut: tol = nan");
    assert_refused(fab_gauss_cut(&c, g, 2, 0, 10, NULL), FAB_BAD_ARGUMENT, "cut: tol = 0");
    assert_refused(fab_gauss_cut(&c, g, 2, 1e-6, 0, NULL), FAB_BAD_ARGUMENT, "max_iter = 0");
    g->psi[3] = -1;
    assert_refused(fab_gauss_cut(&c, g, 2, 1e-6, 10, NULL), FAB_BAD_DATA, "psi[3]");
    fab_gauss_free(g);
    g = some_gauss(FAB_FORM_POINT, FAB_F64, D, 0, 109, 1);
    assert_refused(fab_gauss_cut(&c, g, 1, 1e-6, 10, NULL), FAB_BAD_ARGUMENT, "cut: ");
    fab_gauss_free(g);
}

/* ---- allocations -------------------------------------------------------------------------------- */

static const fab_gauss *given;
static int64_t cut_now;

static fab_status init_now(void)
{
    fab_absorb *ab = (fab_absorb *)1;
    fab_absorb_settings set = fab_absorb_defaults();
    set.cut = cut_now;
    const fab_status s = fab_absorb_create(&ab, D, 3, 7, &set, sizeof set, NULL);
    assert_int_equal(s == FAB_OK, ab != NULL);
    fab_absorb_free(ab);
    return s;
}

static fab_status gauss_cut_now(void)
{
    fab_gauss *c = (fab_gauss *)1;
    const fab_status s = fab_gauss_cut(&c, given, cut_now, 1e-3, 10, NULL);
    assert_int_equal(s == FAB_OK, c != NULL);
    fab_gauss_free(c);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 5, 110, 1);
    given = g;
    for (cut_now = FAB_CUT_EM; cut_now <= FAB_CUT_EIGEN; cut_now++)
        assert_true(fail_every_allocation(init_now) >= 1);
    cut_now = 2;
    assert_true(fail_every_allocation(gauss_cut_now) >= 2);
    cut_now = 5;
    assert_true(fail_every_allocation(gauss_cut_now) >= 1);
    fab_gauss_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_step_is_the_dense_step),
        TEST(extreme_scales_agree_too),
        TEST(the_likelihood_never_falls),
        TEST(nothing_absorbed_changes_nothing),
        TEST(the_floor_acts_and_is_counted),
        TEST(the_eigen_cut_is_the_dense_one),
        TEST(the_eigen_cut_is_exact_when_nothing_is_cut_off),
        TEST(a_failure_leaves_the_gaussian_as_it_was),
        TEST(impossible_sizes_and_settings_are_refused),
        TEST(update_does_not_allocate),
        TEST(the_number_of_threads_changes_no_byte),
        TEST(columns_arrive_by_any_door),
        TEST(a_cut_is_a_fixed_point_of_em),
        TEST(a_cut_towards_psi_0_ends_in_time),
        TEST(a_cut_that_cuts_nothing_is_exact),
        TEST(a_cut_of_f32_and_of_part_of_theta_keeps_what_it_has),
        TEST(impossible_cuts_are_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
