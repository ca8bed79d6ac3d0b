/* dense.h - dense oracles in plain loops, in quadruple precision, independent of src/la.
 *
 * Matrices are row-major and live until the test ends (dense_release).  With 113 bits an oracle of a
 * matrix of condition 1e20 still has 14 digits: it decides, where doubles cancel.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_DENSE_H
#define FAB_TESTS_DENSE_H

#include "fabayes/gauss.h"
#include "fabayes/random.h"
#include "files.h"
#include <float.h>
#include <math.h>

#if LDBL_MANT_DIG >= 106
typedef long double real;
#else
__extension__ typedef __float128 real;
#endif

#define ROUND_F64 0x1p-53 /* unit roundoff */
#define ROUND_F32 0x1p-24
#define TEST(f)   cmocka_unit_test_teardown(f, dense_release)

#ifdef FAB_SANITIZED /* a request beyond memory is answered NULL, as it is without sanitizers */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif

static inline double unit_of(fab_dtype type)
{
    return type == FAB_F32 ? ROUND_F32 : ROUND_F64;
}

/* ---- memory that lives until the test ends ----------------------------------------------------- */

static struct block {
    struct block *next;
    real pad;
} * dense_blocks;

static inline void *dense_bytes(size_t bytes)
{
    struct block *b = calloc(1, sizeof *b + bytes);
    assert_non_null(b);
    b->next = dense_blocks;
    dense_blocks = b;
    return b + 1;
}

static inline real *dense_new(int64_t n)
{
    return dense_bytes((size_t)n * sizeof(real));
}

static inline double *doubles(int64_t n)
{
    return dense_bytes((size_t)n * sizeof(double));
}

static inline int dense_release(void **state)
{
    (void)state;
    while (dense_blocks) {
        struct block *next = dense_blocks->next;
        free(dense_blocks);
        dense_blocks = next;
    }
    return 0;
}

/* ---- scalars ----------------------------------------------------------------------------------- */

static inline real r_abs(real a)
{
    return a < 0 ? -a : a;
}

static inline real r_max(real a, real b)
{
    return a > b ? a : b;
}

/* Newton's steps from the nearest double; scaled, so that 1e-600 has a root too. */
static inline real r_sqrt(real a)
{
    if (!(a > 0)) return 0;
    real unit = 1;
    for (; a > 1e200; a /= 0x1p400) unit *= 0x1p200;
    for (; a < 1e-200; a *= 0x1p400) unit /= 0x1p200;
    real x = sqrt((double)a);
    for (int i = 0; i < 3; i++) x = (x + a / x) / 2;
    return x * unit;
}

/* The logarithm by one Newton step on exp, whose series is short for a small argument. */
static inline real r_log(real a)
{
    int shift = 0;
    for (; a > 1e200; a /= 0x1p400) shift += 400;
    for (; a < 1e-200; a *= 0x1p400) shift -= 400;
    const double guess = log((double)a);
    real e = 1, term = 1, x = guess; /* exp(guess) = exp(guess / 1024)^1024 */
    x /= 1024;
    for (int i = 1; i < 40; i++) e += term *= x / i;
    for (int i = 0; i < 10; i++) e *= e;
    const real d = (a - e) / e; /* log(1 + d) */
    real ln2 = 0, power = 1;
    for (int i = 1; i < 120; i++) ln2 += (power /= 2) / i;
    return guess + d - d * d / 2 + d * d * d / 3 + shift * ln2;
}

/* ---- matrices ---------------------------------------------------------------------------------- */

/* A (n x k) B (k x m) */
static inline real *dense_mul(int64_t n, int64_t k, int64_t m, const real *A, const real *B)
{
    real *C = dense_new(n * m);
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < m; j++) C[i * m + j] += A[i * k + l] * B[l * m + j];
    return C;
}

static inline real *dense_transpose(int64_t n, int64_t m, const real *A)
{
    real *B = dense_new(n * m);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) B[j * n + i] = A[i * m + j];
    return B;
}

static inline real *dense_identity(int64_t n)
{
    real *A = dense_new(n * n);
    for (int64_t i = 0; i < n; i++) A[i * n + i] = 1;
    return A;
}

/* L of A = L L', lower. */
static inline real *dense_chol(int64_t n, const real *A)
{
    real *L = dense_new(n * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            real s = A[i * n + j];
            for (int64_t k = 0; k < j; k++) s -= L[i * n + k] * L[j * n + k];
            if (i == j) assert_true(s > 0);
            L[i * n + j] = i == j ? r_sqrt(s) : s / L[j * n + j];
        }
    return L;
}

/* L^-1 B for n x m B. */
static inline real *dense_forward(int64_t n, int64_t m, const real *L, const real *B)
{
    real *X = dense_new(n * m);
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < n; i++) {
            real s = B[i * m + j];
            for (int64_t k = 0; k < i; k++) s -= L[i * n + k] * X[k * m + j];
            X[i * m + j] = s / L[i * n + i];
        }
    return X;
}

static inline real *dense_inverse(int64_t n, const real *A)
{
    const real *Y = dense_forward(n, n, dense_chol(n, A), dense_identity(n));
    return dense_mul(n, n, n, dense_transpose(n, n, Y), Y);
}

static inline real dense_logdet(int64_t n, const real *A)
{
    const real *L = dense_chol(n, A);
    real s = 0;
    for (int64_t i = 0; i < n; i++) s += 2 * r_log(L[i * n + i]);
    return s;
}

/* sqrt(sum A^2) */
static inline real dense_norm(int64_t count, const real *A)
{
    real top = 0, s = 0;
    for (int64_t i = 0; i < count; i++) top = r_max(top, r_abs(A[i]));
    for (int64_t i = 0; i < count && top > 0; i++) s += A[i] / top * (A[i] / top);
    return top * r_sqrt(s);
}

static inline real *dense_minus(int64_t count, const real *A, const real *B)
{
    real *C = dense_new(count);
    for (int64_t i = 0; i < count; i++) C[i] = A[i] - B[i];
    return C;
}

static inline real dense_trace_mul(int64_t n, const real *A, const real *B)
{
    real s = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) s += A[i * n + j] * B[j * n + i];
    return s;
}

static inline real dense_quad(int64_t n, const real *A, const real *x)
{
    real s = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) s += x[i] * A[i * n + j] * x[j];
    return s;
}

/* Jacobi: A = V diag(w) V', w descending, eigenvectors in the columns of V. */
static inline void dense_eig(int64_t n, const real *A0, real *w, real *V)
{
    real *A = dense_new(n * n);
    memcpy(A, A0, (size_t)(n * n) * sizeof *A);
    memcpy(V, dense_identity(n), (size_t)(n * n) * sizeof *V);
    int turned = 1;
    for (int sweep = 0; sweep < 60 && turned; sweep++) {
        turned = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                const real off = A[p * n + q];
                if (!(off * off > 1e-66 * r_abs(A[p * n + p] * A[q * n + q]))) continue;
                turned = 1;
                const real t0 = (A[q * n + q] - A[p * n + p]) / (2 * off);
                const real t = (t0 < 0 ? -1 : 1) / (r_abs(t0) + r_sqrt(1 + t0 * t0));
                const real c = 1 / r_sqrt(1 + t * t), s = c * t;
                for (int64_t k = 0; k < n; k++) {
                    const real a = A[k * n + p], b = A[k * n + q];
                    A[k * n + p] = c * a - s * b, A[k * n + q] = s * a + c * b;
                }
                for (int64_t k = 0; k < n; k++) {
                    const real a = A[p * n + k], b = A[q * n + k];
                    A[p * n + k] = c * a - s * b, A[q * n + k] = s * a + c * b;
                }
                for (int64_t k = 0; k < n; k++) {
                    const real a = V[k * n + p], b = V[k * n + q];
                    V[k * n + p] = c * a - s * b, V[k * n + q] = s * a + c * b;
                }
            }
    }
    for (int64_t i = 0; i < n; i++) w[i] = A[i * n + i];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            if (w[j] > w[i]) {
                const real t = w[i];
                w[i] = w[j], w[j] = t;
                for (int64_t k = 0; k < n; k++) {
                    const real v = V[k * n + i];
                    V[k * n + i] = V[k * n + j], V[k * n + j] = v;
                }
            }
}

/* The symmetric square root. */
static inline real *dense_root(int64_t n, const real *A)
{
    real *w = dense_new(n), *V = dense_new(n * n), *B = dense_new(n * n);
    dense_eig(n, A, w, V);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) B[i * n + k] = V[i * n + k] * r_sqrt(r_sqrt(w[k]));
    return dense_mul(n, n, n, B, dense_transpose(n, n, B));
}

/* ---- Gaussians as matrices --------------------------------------------------------------------- */

static inline double F_at(const fab_gauss *g, int64_t d, int64_t k)
{
    const int64_t i = d * g->K + k;
    return g->type == FAB_F32 ? (double)((const float *)g->F)[i] : ((const double *)g->F)[i];
}

static inline void F_put(fab_gauss *g, int64_t d, int64_t k, double v)
{
    const int64_t i = d * g->K + k;
    if (g->type == FAB_F32)
        ((float *)g->F)[i] = (float)v;
    else
        ((double *)g->F)[i] = v;
}

static inline real *dense_F(const fab_gauss *g)
{
    real *F = dense_new(g->D * g->K + 1);
    for (int64_t d = 0; d < g->D; d++)
        for (int64_t k = 0; k < g->K; k++) F[d * g->K + k] = F_at(g, d, k);
    return F;
}

/* F F' + diag(psi), whatever the form calls it. */
static inline real *dense_matrix(const fab_gauss *g)
{
    const real *F = dense_F(g);
    real *A = dense_mul(g->D, g->K, g->D, F, dense_transpose(g->D, g->K, F));
    for (int64_t d = 0; d < g->D; d++) A[d * g->D + d] += g->psi[d];
    return A;
}

static inline real *dense_covariance(const fab_gauss *g)
{
    real *A = dense_matrix(g);
    return g->form == FAB_FORM_COVARIANCE ? A : dense_inverse(g->D, A);
}

static inline real *dense_precision(const fab_gauss *g)
{
    real *A = dense_matrix(g);
    return g->form == FAB_FORM_PRECISION ? A : dense_inverse(g->D, A);
}

/* The condition of M = I + F' psi^-1 F scaled to a unit diagonal; above 1e6 the solver takes the QR. */
static inline real dense_kappa(const fab_gauss *g)
{
    const int64_t K = g->K;
    if (K == 0) return 1;
    real *M = dense_identity(K), *S = dense_new(K * K), *w = dense_new(K), *V = dense_new(K * K);
    for (int64_t d = 0; d < g->D; d++)
        for (int64_t i = 0; i < K; i++)
            for (int64_t j = 0; j < K; j++)
                M[i * K + j] += (real)F_at(g, d, i) * F_at(g, d, j) / g->psi[d];
    for (int64_t i = 0; i < K; i++)
        for (int64_t j = 0; j < K; j++)
            S[i * K + j] = M[i * K + j] / r_sqrt(M[i * K + i]) / r_sqrt(M[j * K + j]);
    dense_eig(K, S, w, V);
    const real kappa = w[0] / w[K - 1];
    return kappa > 1e6 || kappa < 1 ? (real)1e6 : kappa;
}

/* ---- numbers to try ---------------------------------------------------------------------------- */

/* Number i of a plain generator, in (-1, 1); it is not the library's. */
static inline double noise(uint64_t seed, int64_t i)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u + 2385;
    for (int r = 0; r < 3; r++) x = (x ^ x >> 31) * 0x94d049bb133111ebu;
    return ((double)(x >> 11) + 0.5) * 0x1p-52 - 1;
}

/* mu, F of size `scale`, psi of size scale^2 between 0.2 and 2.2. */
static inline fab_gauss *some_gauss(fab_form form, fab_dtype type, int64_t D, int64_t K,
                                    uint64_t seed, double scale)
{
    fab_gauss *g;
    assert_int_equal(fab_gauss_create(&g, form, type, D, K), FAB_OK);
    const double unit = form == FAB_FORM_PRECISION ? 1 / scale : scale;
    for (int64_t d = 0; d < D; d++) {
        g->mu[d] = 2.385 * noise(seed, d) * scale;
        if (g->psi) g->psi[d] = (1.2 + noise(seed + 1, d)) * unit * unit;
        for (int64_t k = 0; k < K; k++) F_put(g, d, k, 1.7 * noise(seed + 2, d * K + k) * unit);
    }
    return g;
}

#define assert_near(got, want, tol) near_(got, want, tol, #got, __FILE__, __LINE__)

static inline void near_(real got, real want, real tol, const char *what, const char *file,
                         int line)
{
    if (r_abs(got - want) <= tol) return;
    print_error("%s = %.17g, expected %.17g within %.3g, off by %.3g\n", what, (double)got,
                (double)want, (double)tol, (double)(got - want));
    _fail(file, line);
}

#define assert_ok(call) ok_(call, #call, __FILE__, __LINE__)

static inline void ok_(fab_status s, const char *what, const char *file, int line)
{
    if (s == FAB_OK) return;
    print_error("%s: %s: %s\n", what, fab_strerror(s), fab_detail());
    _fail(file, line);
}

/* The call fails with this status and says so with these words. */
#define assert_refused(call, status, words) refused_(call, status, words, #call, __FILE__, __LINE__)

static inline void refused_(fab_status s, fab_status want, const char *words, const char *what,
                            const char *file, int line)
{
    if (s == want && strstr(fab_detail(), words)) return;
    print_error("%s: %s: \"%s\", expected %s: \"..%s..\"\n", what, fab_strerror(s), fab_detail(),
                fab_strerror(want), words);
    _fail(file, line);
}

#endif
