"""online_em.py - seconds per row of online EM in NumPy: [T] Alg. 2, line by line, in place where NumPy can.

    online_em.py D K ROWS REPEATS      prints the best and the median over REPEATS blocks of ROWS rows
"""
# SPDX-License-Identifier: MIT
import sys
import time

import numpy as np


class OnlineEM:
    def __init__(self, D, K, rng, warmup=100):
        self.F = np.linalg.qr(rng.standard_normal((D, K)))[0]
        self.psi = np.ones(D)
        self.mean = np.zeros(D)
        self.A = np.zeros((D, K))
        self.B = np.zeros((K, K))
        self.d2 = np.zeros(D)
        self.eye = np.eye(K)
        self.t, self.warmup = 0, warmup

    def update(self, theta):
        self.t += 1
        g = 1 / self.t
        self.mean += g * (theta - self.mean)
        d = theta - self.mean
        C = (self.F * (1 / self.psi)[:, None]).T
        Sigma = np.linalg.inv(self.eye + C @ self.F)
        m = Sigma @ (C @ d)
        self.B += g * (np.outer(m, m) - self.B)
        H = Sigma + self.B
        self.A += g * (np.outer(d, m) - self.A)
        self.d2 += g * (d * d - self.d2)
        if self.t > self.warmup:
            self.F = self.A @ np.linalg.inv(H)
            self.psi = self.d2 + np.sum((self.F @ H) * self.F - 2 * self.F * self.A, axis=1)


def main():
    D, K, rows, repeats = (int(v) for v in sys.argv[1:])
    rng = np.random.default_rng(1)
    F, psi = rng.standard_normal((D, K)), rng.uniform(0.3, 1.3, D)
    X = rng.standard_normal((rows, K)) @ F.T + rng.standard_normal((rows, D)) * np.sqrt(psi)
    em = OnlineEM(D, K, rng)
    seconds = []
    while em.t <= em.warmup:  # without M-steps: not timed
        for x in X:
            em.update(x)
    for _ in range(repeats):
        start = time.perf_counter()
        for x in X:
            em.update(x)
        seconds.append((time.perf_counter() - start) / rows)
    print(min(seconds), sorted(seconds)[len(seconds) // 2])


main()
