"""lrvga.py - seconds per row of L-RVGA for linear regression in NumPy: [L] Alg. 1 and (24), one row at a time.

    lrvga.py D K INNER ROWS      prints the best and the median over ROWS rows, and the peak of memory in bytes
"""
# SPDX-License-Identifier: MIT
import resource
import sys
import time

import numpy as np


class LRVGA:
    def __init__(self, D, K, inner, rng, eps=1e-8):
        self.W = rng.standard_normal((D, K))
        self.W *= np.sqrt(eps * D / K) / np.linalg.norm(self.W, axis=0)
        self.psi = np.full(D, 1 - eps)
        self.mu = np.zeros(D)
        self.eye = np.eye(K)
        self.inner = inner

    def loop(self, W0, psi0, x, diag):
        P = self.W / self.psi[:, None]
        M = self.eye + self.W.T @ P
        V = W0 @ (W0.T @ P)  # the target times P
        V += psi0[:, None] * P
        V += np.outer(x, x @ P)
        self.W = V @ np.linalg.inv(self.eye + np.linalg.solve(M, P.T @ V))
        self.psi = diag - np.einsum("ij,ij->i", np.linalg.solve(M, self.W.T).T, V)

    def update(self, x, y):
        r = y - x @ self.mu
        W0, psi0 = self.W, self.psi
        diag = x * x + np.einsum("ij,ij->i", W0, W0) + psi0
        for _ in range(self.inner):
            self.loop(W0, psi0, x, diag)
        v = x / self.psi
        P = self.W / self.psi[:, None]
        M = self.eye + self.W.T @ P
        self.mu += r * (v - P @ np.linalg.solve(M, self.W.T @ v))


def main():
    D, K, inner, rows = (int(v) for v in sys.argv[1:])
    rng = np.random.default_rng(1)
    method = LRVGA(D, K, inner, rng)
    X, y = rng.standard_normal((4, D)) / np.sqrt(D), rng.standard_normal(4)
    seconds = []
    for t in range(rows + 1):
        start = time.perf_counter()
        method.update(X[t % 4], y[t % 4])
        seconds.append(time.perf_counter() - start)
    seconds = sorted(seconds[1:])
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(seconds[0], seconds[len(seconds) // 2], peak - 4 * 8 * D)  # without the rows


main()
