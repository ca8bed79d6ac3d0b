#!/usr/bin/python3
"""Peers of the factor-analysis bench, in NumPy and scikit-learn.

    fa.py recursive D K VECTORS      [L] Alg. 1 with three inner loops, one vector at a time: seconds a vector
    fa.py sklearn FILE.npy K         FactorAnalysis (randomized): seconds, mean log-likelihood per row

Prints the numbers on one line.  The caller sets the threads of BLAS (OPENBLAS_NUM_THREADS).
"""
import sys
import time

import numpy as np


def recursive(D, K, vectors):
    rng = np.random.default_rng(0)
    W, psi = 0.1 * rng.standard_normal((D, K)), np.ones((D, 1))
    best = np.inf
    for t in range(1, vectors + 1):
        x = rng.standard_normal((D, 1))
        begin = time.perf_counter()
        a, b, W0, psi0 = t / (t + 1), 1 / (t + 1), W, psi
        diag = b * x * x + a * ((W0 * W0).sum(1, keepdims=True) + psi0)
        for _ in range(3):
            P = W / psi
            M = np.eye(K) + W.T @ P
            V = b * (x @ (x.T @ P)) + a * (W0 @ (W0.T @ P) + psi0 * P)
            Mi = np.linalg.inv(M)
            new = V @ np.linalg.inv(np.eye(K) + Mi @ (P.T @ V))
            psi = diag - ((new @ Mi) * V).sum(1, keepdims=True)
            W = new
        best = min(best, time.perf_counter() - begin)
    print(best)


def sklearn_fa(path, K):
    from sklearn.decomposition import FactorAnalysis
    X = np.load(path)
    model = FactorAnalysis(n_components=K, svd_method="randomized", random_state=0)
    begin = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - begin
    print(seconds, model.score(X))


if __name__ == "__main__":
    if sys.argv[1] == "recursive":
        recursive(*(int(v) for v in sys.argv[2:5]))
    else:
        sklearn_fa(sys.argv[2], int(sys.argv[3]))
