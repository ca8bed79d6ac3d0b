/* plain.h - plain dense algebra for the oracles of tests: row-major, small, in plain loops.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_PLAIN_H
#define FAB_TESTS_PLAIN_H

#include "fabayes/random.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* C (m x n) = A (m x k) B (k x n); ta, tb: A or B is stored transposed. */
static inline void plain_mm(int ta, int tb, int64_t m, int64_t n, int64_t k, const double *A,
                            const double *B, double *C)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += (ta ? A[l * m + i] : A[i * k + l]) * (tb ? B[j * k + l] : B[l * n + j]);
            C[i * n + j] = sum;
        }
}

/* X = A^-1 (n x n) by Gauss-Jordan with pivots. */
static inline void plain_inverse(int64_t n, const double *A, double *X)
{
    double *W = malloc((size_t)(n * n) * sizeof *W);
    memcpy(W, A, (size_t)(n * n) * sizeof *W);
    for (int64_t i = 0; i < n * n; i++) X[i] = i % (n + 1) == 0;
    for (int64_t p = 0; p < n; p++) {
        int64_t best = p;
        for (int64_t i = p; i < n; i++)
            if (fabs(W[i * n + p]) > fabs(W[best * n + p])) best = i;
        for (int64_t j = 0; j < n; j++) {
            const double w = W[p * n + j], x = X[p * n + j];
            W[p * n + j] = W[best * n + j], W[best * n + j] = w;
            X[p * n + j] = X[best * n + j], X[best * n + j] = x;
        }
        const double pivot = W[p * n + p];
        for (int64_t j = 0; j < n; j++) W[p * n + j] /= pivot, X[p * n + j] /= pivot;
        for (int64_t i = 0; i < n; i++) {
            const double f = W[i * n + p];
            for (int64_t j = 0; j < n && i != p; j++)
                W[i * n + j] -= f * W[p * n + j], X[i * n + j] -= f * X[p * n + j];
        }
    }
    free(W);
}

/* L (lower, zeros above) with L L' = A. */
static inline void plain_chol(int64_t n, const double *A, double *L)
{
    memset(L, 0, (size_t)(n * n) * sizeof *L);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double sum = A[i * n + j];
            for (int64_t k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
}

/* S (D x D) = F F' + diag(psi) */
static inline void plain_covariance(int64_t D, int64_t K, const double *F, const double *psi,
                                    double *S)
{
    plain_mm(0, 1, D, D, K, F, F, S);
    for (int64_t i = 0; i < D; i++) S[i * D + i] += psi[i];
}

/* The normals a stream starts from: column k is stream 1 + k of the seed. */
static inline void plain_normals(int64_t seed, int64_t D, int64_t K, double *F)
{
    double *v = malloc((size_t)D * sizeof *v);
    for (int64_t k = 0; k < K; k++) {
        fab_random_normal((uint64_t)seed, FAB_PURPOSE_START, 1 + (uint64_t)k, 0, D, FAB_F64, v);
        for (int64_t i = 0; i < D; i++) F[i * K + k] = v[i];
    }
    free(v);
}

/* Columns made orthonormal by Gram-Schmidt, twice. */
static inline void plain_orthonormal(int64_t D, int64_t K, double *Q)
{
    for (int64_t k = 0; k < K; k++)
        for (int round = 0; round < 2; round++) {
            double norm = 0;
            for (int64_t l = 0; l < k; l++) {
                double dot = 0;
                for (int64_t i = 0; i < D; i++) dot += Q[i * K + l] * Q[i * K + k];
                for (int64_t i = 0; i < D; i++) Q[i * K + k] -= dot * Q[i * K + l];
            }
            for (int64_t i = 0; i < D; i++) norm += Q[i * K + k] * Q[i * K + k];
            for (int64_t i = 0; i < D; i++) Q[i * K + k] /= sqrt(norm);
        }
}

/* The E-step without Woodbury: Sigma = I - F' S^-1 F, m = F' S^-1 d. */
static inline void plain_e_step(int64_t D, int64_t K, const double *F, const double *psi,
                                const double *d, double *Sigma, double *m)
{
    double *S = malloc((size_t)(D * D) * 8), *Si = malloc((size_t)(D * D) * 8),
           *P = malloc((size_t)(D * K) * 8);
    plain_covariance(D, K, F, psi, S);
    plain_inverse(D, S, Si);
    plain_mm(0, 0, D, K, D, Si, F, P); /* S^-1 F */
    plain_mm(1, 0, K, K, D, F, P, Sigma);
    for (int64_t i = 0; i < K * K; i++) Sigma[i] = (i % (K + 1) == 0) - Sigma[i];
    plain_mm(1, 0, K, 1, D, P, d, m);
    free(S);
    free(Si);
    free(P);
}

#endif
