"""mixture.py - a step of EM for mixtures: processor seconds, the best of several.

    mixture.py COVARIANCE N D K      scikit-learn's E and M step (full, diag)
    mixture.py mfa N D K Q           the formulas of parts.c in NumPy, blocks of 1000 rows
"""
# SPDX-License-Identifier: MIT
import sys
import time

import numpy as np

rng = np.random.default_rng(1)
kind, N, D, K = sys.argv[1], *map(int, sys.argv[2:5])
TIMES = 5


def rows():
    centre = 3 * rng.standard_normal((K, D))
    return centre[rng.integers(K, size=N)] + rng.standard_normal((N, D))


def scikit():
    from sklearn.mixture import GaussianMixture
    X = rows()
    g = GaussianMixture(K, covariance_type=kind, init_params="random_from_data", random_state=0)
    g._initialize_parameters(X, np.random.RandomState(0))
    best = np.inf
    for _ in range(TIMES):
        start = time.process_time()
        _, r = g._e_step(X)
        g._m_step(X, r)
        best = min(best, time.process_time() - start)
    return best


def step(X, w, mu, F, psi):
    q, c = F.shape[2], X.mean(0)
    n, s, v = np.zeros(K), np.zeros((K, D)), np.zeros((K, D))
    V, parts = np.zeros((K, D, q)), []
    for g in range(K):
        P = F[g] / psi[g][:, None]
        M = np.eye(q) + F[g].T @ P
        L = np.linalg.cholesky(M)
        parts.append((np.linalg.solve(L, P.T).T, np.log(w[g]) - 0.5 * (np.log(2 * np.pi * psi[g]).sum() + 2 * np.log(np.diag(L)).sum()), L))
    for at in range(0, N, 1000):
        Y = X[at:at + 1000]
        A, l = [], np.empty((len(Y), K))
        for g in range(K):
            d = Y - mu[g]
            a = d @ parts[g][0]
            A.append(a)
            l[:, g] = parts[g][1] - 0.5 * ((d * d) @ (1 / psi[g]) - (a * a).sum(1))
        top = l.max(1, keepdims=True)
        r = np.exp(l - top)
        r /= r.sum(1, keepdims=True)
        for g in range(K):
            d, rg = Y - mu[g], r[:, g:g + 1]
            n[g] += rg.sum()
            s[g] += rg[:, 0] @ d
            v[g] += rg[:, 0] @ (d * d)
            V[g] += d.T @ (rg * A[g])
    for g in range(K):
        e = s[g] / n[g]
        SP = V[g] / n[g] - np.outer(e, e @ parts[g][0])
        C = np.eye(q) + parts[g][0].T @ SP
        R = np.linalg.inv(np.linalg.cholesky(C)).T
        F[g] = SP @ R
        mu[g] += e
        psi[g] = np.maximum(v[g] / n[g] - e * e - (F[g] ** 2).sum(1), 1e-6)
    return n / N, mu, F, psi


def numpy_mfa(q):
    X = rows()
    state = np.full(K, 1 / K), X[:K].copy(), 0.3 * rng.standard_normal((K, D, q)), np.full((K, D), 2.0)
    best = np.inf
    for _ in range(TIMES):
        start = time.process_time()
        state = step(X, *state)
        best = min(best, time.process_time() - start)
    return best


print(numpy_mfa(int(sys.argv[5])) if kind == "mfa" else scikit())
