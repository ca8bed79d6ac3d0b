#!/usr/bin/python3
"""What landmarks leave of the variance as noise that is known for each row: the features of a file, learned from all rows at once in NumPy.

    studies/streaming-gp/known_noise.py FILE TRAIN.csv TEST.csv     FILE: of nystrom:rbf:ard:M, numbers, a target in the last column

Noise of row i: t + a r_i, r = k - q, t of highest evidence on a grid.
"""
# SPDX-License-Identifier: MIT
import sys

import numpy as np

from same_map import read

SHARES = (0, 0.25, 0.5, 0.75, 1)
NOISES = np.arange(0.03, 0.125, 0.01)


def evidence(P, y, v):
    """Log evidence, the Cholesky factor of the precision, the mean."""
    w = 1 / v
    C = np.linalg.cholesky((P * w[:, None]).T @ P + np.eye(P.shape[1]))
    a = np.linalg.solve(C, P.T @ (w * y))
    lml = -0.5 * (np.log(v).sum() + 2 * np.log(np.diag(C)).sum() + (w * y * y).sum() - a @ a + len(y) * np.log(2 * np.pi))
    return lml, C, np.linalg.solve(C.T, a)


def score(C, m, P, y, noise, unit):
    v = (np.linalg.solve(C, P.T) ** 2).sum(0) + noise
    e = y - P @ m
    ll = np.mean(-0.5 * np.log(2 * np.pi * v * unit * unit) - 0.5 * e * e / v)
    return "%.4f | %.3f, %.1f %%" % (np.sqrt(np.mean(e * e)) * unit, ll, 100 * np.mean(np.abs(e) < 1.6449 * np.sqrt(v)))


def main():
    s = read(sys.argv[1])
    of, unit = s["features"], s["target_scale"]
    theta = np.exp(np.array(of["theta"]))
    Z = np.array(of["landmarks"]).reshape(of["size"], -1) / theta[1:]

    def kernel(a, b):
        return theta[0] * np.exp(-0.5 * np.maximum((a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T, 0))

    L = np.linalg.cholesky(kernel(Z, Z) + 1e-12 * theta[0] * np.eye(len(Z)))

    def rows(path):
        A = np.loadtxt(path, delimiter=",", skiprows=1)
        X = (A[:, :-1] - np.array(s["means"])) / np.array(s["scales"])
        P = np.linalg.solve(L, kernel(Z, X / theta[1:])).T
        return P, np.maximum(theta[0] - (P * P).sum(1), 0), (A[:, -1] - s["target_mean"]) / unit

    P, r, y = rows(sys.argv[2])
    Q, left, test = rows(sys.argv[3])
    for a in SHARES:
        t = max(NOISES, key=lambda t: evidence(P, y, t + a * r)[0])
        lml, C, m = evidence(P, y, t + a * r)
        whole = np.maximum(t - (1 - a) * r.mean(), 0.1 * t) + left
        print("| %g | %.1f | %.2f | %s | with all of r: %s |" % (a, lml, t, score(C, m, Q, test, t + a * left, unit), score(C, m, Q, test, whole, unit)))


main()
