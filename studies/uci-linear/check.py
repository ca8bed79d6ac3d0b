#!/usr/bin/env python3
"""results.csv of this study against an independent fit in NumPy: check.py (needs NumPy, SciPy and FAB_DATA).

Evidence of alpha and beta from the eigenvalues of X'X, maximised by Nelder and Mead; then the predictive density.
"""
# SPDX-License-Identifier: MIT
import csv
import os
import sys

import numpy as np
from scipy.optimize import minimize

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("FAB_DATA", os.path.join(HERE, "..", "..", "..", "shared", "data"))


def minus_evidence(log_ab, s2, projections, rest, n):
    """-log p(y | alpha, beta), the flat intercept integrated out, up to a constant; y's parts along the
    eigenvectors of X'X (eigenvalues s2), `rest` the squares outside of them, n rows."""
    alpha, beta = np.exp(log_ab)
    A = alpha + beta * s2
    misfit = beta * (rest + np.sum(projections ** 2 * alpha / A))
    return 0.5 * (misfit - (n - 1) * np.log(beta) - np.sum(np.log(alpha / A)))


def fit(X, y):
    """alpha, beta, mean and covariance of the coefficients of centred rows."""
    u, s, vt = np.linalg.svd(X, full_matrices=False)
    p = u.T @ y
    arguments = (s * s, p, y @ y - p @ p, len(y))
    found = minimize(minus_evidence, [0.0, 0.0], arguments, "Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9})
    alpha, beta = np.exp(found.x)
    cov = vt.T @ np.diag(1 / (alpha + beta * s * s)) @ vt
    return beta, beta * cov @ X.T @ y, cov


def scores(rows, train, test, target):
    X, y = np.delete(rows, target, 1), rows[:, target]
    m, s, my, sy = X[train].mean(0), X[train].std(0), y[train].mean(), y[train].std()
    s[s == 0] = 1
    Z = (X - m) / s
    beta, mean, cov = fit(Z[train], (y[train] - my) / sy)
    error = y[test] - my - sy * (Z[test] @ mean)
    var = sy ** 2 * (1 / beta + 1 / (beta * len(train)) + np.einsum("ij,jk,ik->i", Z[test], cov, Z[test]))
    return np.sqrt(np.mean(error ** 2)), np.mean(0.5 * np.log(2 * np.pi * var) + 0.5 * error ** 2 / var)


def main():
    worst = np.zeros(2)
    for line in csv.DictReader(open(os.path.join(HERE, "results.csv"))):
        folder = os.path.join(DATA, "uci", line["set"])
        rows = np.loadtxt(os.path.join(folder, "data.txt"))
        part = [np.loadtxt(os.path.join(folder, "index_%s_%s.txt" % (name, line["split"])), int)
                for name in ("train", "test")]
        found = scores(rows, *part, int(open(os.path.join(folder, "index_target.txt")).read()))
        worst = np.maximum(worst, np.abs(np.array(found) / [float(line["rmse"]), float(line["nll"])] - 1))
    print("largest relative difference: RMSE %.1e, NLL %.1e" % tuple(worst))
    sys.exit(not np.all(worst < 1e-4))


main()
