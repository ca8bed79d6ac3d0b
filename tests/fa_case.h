/* fa_case.h - what the tests of factor analysis share: known models and their draws, any method by name,
 * and the sample covariance and the likelihood by dense algebra.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_FA_CASE_H
#define FAB_TESTS_FA_CASE_H

#include "dense.h"
#include "fabayes/gauss.h"
#include "fit/method.h"
#include <string.h>

/* ---- models and their draws --------------------------------------------------------------------- */

/* The generator of [T] Alg. 4: mu ~ N(0, 1), F = diag(s) V with V orthonormal columns (the eigenvectors
 * of A A' are such, uniformly), s_i^2 ~ U(lo, hi), psi ~ U(0, max s^2).  Gives a Gaussian. */
static inline fab_gauss *fa_model(int64_t D, int64_t K, double lo, double hi, uint64_t seed)
{
    fab_gauss *g;
    double *V = doubles(D * K), *s2 = doubles(D), top = 0;
    assert_ok(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, D, K));
    fab_random_normal(seed, FAB_PURPOSE_DATA, 100, 0, D, FAB_F64, g->mu);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 101, 0, D * K, FAB_F64, V);
    fab_random_uniform(seed, FAB_PURPOSE_DATA, 102, 0, D, s2);
    fab_random_uniform(seed, FAB_PURPOSE_DATA, 103, 0, D, g->psi);
    for (int64_t k = 0; k < K; k++) /* Gram-Schmidt, twice is enough */
        for (int64_t round = 0; round < 2; round++) {
            double norm = 0;
            for (int64_t l = 0; l < k; l++) {
                double dot = 0;
                for (int64_t i = 0; i < D; i++) dot += V[i * K + k] * V[i * K + l];
                for (int64_t i = 0; i < D; i++) V[i * K + k] -= dot * V[i * K + l];
            }
            for (int64_t i = 0; i < D; i++) norm += V[i * K + k] * V[i * K + k];
            for (int64_t i = 0; i < D; i++) V[i * K + k] /= sqrt(norm);
        }
    for (int64_t i = 0; i < D; i++) top = fmax(top, s2[i] = lo + (hi - lo) * s2[i]);
    for (int64_t i = 0; i < D; i++) g->psi[i] *= top;
    for (int64_t i = 0; i < D * K; i++) ((double *)g->F)[i] = sqrt(s2[i / K]) * V[i];
    return g;
}

/* n draws of g, one per row, that live until the test ends. */
static inline double *fa_draws(const fab_gauss *g, int64_t n, uint64_t seed)
{
    fab_solver *s;
    double *x = doubles(n * g->D);
    assert_ok(fab_solver_create(&s, g, NULL));
    assert_ok(fab_solver_sample(s, seed, FAB_PURPOSE_DATA, 0, n, FAB_F64, x, g->D));
    fab_solver_free(s);
    return x;
}

/* n rows of some model of K factors whose variances differ by a factor of a few; mean a few units. */
static inline double *fa_rows(int64_t D, int64_t K, int64_t n, uint64_t seed)
{
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, K, seed, 1);
    double *x = fa_draws(g, n, seed);
    fab_gauss_free(g);
    return x;
}

static inline float *as_floats(const double *x, int64_t n)
{
    float *y = dense_bytes((size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
    return y;
}

static inline fab_rows rows_of(const double *x, int64_t first, int64_t n, int64_t D)
{
    return (fab_rows){x + first * D, FAB_F64, n, D};
}

/* ---- a method by name ---------------------------------------------------------------------------- */

typedef struct any_settings {
    int64_t field[32];
} any_settings;

/* Defaults for K, then "name=value name=value". */
static inline any_settings settings_of(const char *method, int64_t K, const char *text)
{
    any_settings s;
    char line[512], *save = NULL;
    const fab_fields *t = fab_method_find(method)->fields;
    /* factors, clusters, what a cluster costs */
    static const char *const size[] = {"K", "G", "lambda"};
    fab_settings_defaults(t, &s);
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "%lld", (long long)K);
        if (fab_settings_find(t, size[i])) assert_ok(fab_settings_parse(t, &s, size[i], line));
    }
    snprintf(line, sizeof line, "%s", text);
    for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        assert_ok(fab_settings_parse(t, &s, word, value));
    }
    return s;
}

static inline fab_fit *fa_open(const char *method, int64_t D, int64_t K, const char *text,
                               const fab_exec *x)
{
    fab_fit *e;
    const any_settings s = settings_of(method, K, text);
    assert_ok(fab_fit_create(&e, method, &s, fab_method_find(method)->fields->size,
                             &(fab_input){.vectors = D}, x));
    return e;
}

static inline void fa_feed(fab_fit *e, const fab_rows *rows)
{
    assert_ok(fab_fit_update(e, &(fab_examples){.x = *rows}));
}

static inline const fab_gauss *fa_result(fab_fit *e)
{
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(e, &q));
    assert_ok(fab_gauss_check(q));
    return q;
}

/* The Gaussian of these rows; *d, unless NULL, is what the method says about it.  Gives it. */
static inline fab_gauss *fa_fit(const char *method, int64_t K, const char *text, const fab_exec *x,
                                const fab_rows *rows, fab_report *d)
{
    fab_gauss *copy;
    fab_fit *e = fa_open(method, rows->ld, K, text, x);
    fa_feed(e, rows);
    const fab_gauss *q = fa_result(e);
    if (d) assert_ok(fab_fit_report(e, d));
    assert_ok(fab_gauss_copy(&copy, q, q->type));
    fab_fit_free(e);
    return copy;
}

static inline void assert_same_bits(const fab_gauss *a, const fab_gauss *b)
{
    const size_t size = a->type == FAB_F32 ? 4 : 8;
    assert_true(a->D == b->D && a->K == b->K && a->type == b->type);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * 8);
    assert_memory_equal(a->psi, b->psi, (size_t)a->D * 8);
    assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * size);
}

/* ---- dense ---------------------------------------------------------------------------------------- */

static inline double row_at(const fab_rows *x, int64_t j, int64_t i)
{
    const int64_t at = j * x->ld + i;
    return x->type == FAB_F32 ? (double)((const float *)x->p)[at] : ((const double *)x->p)[at];
}

/* Mean (D) and covariance (D x D) of the rows in two passes; w: weights of the rows, NULL for 1. */
static inline real *sample_covariance(const fab_rows *x, const real *w, real *mu)
{
    const int64_t D = x->ld;
    real *S = dense_new(D * D), *d = dense_new(D), total = 0;
    for (int64_t i = 0; i < D; i++) mu[i] = 0;
    for (int64_t j = 0; j < x->n; j++) total += w ? w[j] : 1;
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < D; i++) mu[i] += (w ? w[j] : 1) / total * row_at(x, j, i);
    for (int64_t j = 0; j < x->n; j++) {
        for (int64_t i = 0; i < D; i++) d[i] = row_at(x, j, i) - mu[i];
        for (int64_t i = 0; i < D; i++) {
            const real s = (w ? w[j] : 1) / total * d[i];
            for (int64_t l = 0; l < D; l++) S[i * D + l] += s * d[l];
        }
    }
    return S;
}

/* -(D log 2 pi + log det Sigma + tr(Sigma^-1 S)) / 2 */
static inline real dense_loglik(int64_t D, const real *Sigma, const real *S)
{
    return -(D * (real)1.8378770664093454836 + dense_logdet(D, Sigma) +
             dense_trace_mul(D, dense_inverse(D, Sigma), S)) /
           2;
}

/* max |A - B| / max |B| */
static inline double relative_gap(int64_t n, const real *A, const real *B)
{
    real top = 0, gap = 0;
    for (int64_t i = 0; i < n; i++) {
        top = r_max(top, r_abs(B[i]));
        gap = r_max(gap, r_abs(A[i] - B[i]));
        if (!(A[i] == A[i])) return INFINITY;
    }
    return (double)(gap / top);
}

#endif
