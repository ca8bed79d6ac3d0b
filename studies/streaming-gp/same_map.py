#!/usr/bin/python3
"""The features of a file, learned from all rows at once by NumPy: what the one pass that made the file could have said.

    studies/streaming-gp/same_map.py FILE TRAIN.csv TEST.csv     FILE: of nystrom:rbf:ard:M, numbers, a target in the last column
"""
# SPDX-License-Identifier: MIT
import json
import struct
import sys

import numpy as np


def read(path):
    """The scaling of a file, with its map."""
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        return json.loads(json.loads(f.read(size))["__metadata__"]["scaling"])


def main():
    s = read(sys.argv[1])
    of, mean, unit = s["features"], s["target_mean"], s["target_scale"]
    theta = np.exp(np.array(of["theta"]))
    Z = np.array(of["landmarks"]).reshape(of["size"], -1) / theta[1:]

    def kernel(a, b):
        return theta[0] * np.exp(-0.5 * np.maximum((a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T, 0))

    L = np.linalg.cholesky(kernel(Z, Z) + 1e-12 * theta[0] * np.eye(len(Z)))

    def rows(path):
        A = np.loadtxt(path, delimiter=",", skiprows=1)
        x = (A[:, :-1] - s["means"]) / s["scales"] / theta[1:]
        phi = np.linalg.solve(L, kernel(Z, x)).T
        return phi, (A[:, -1] - mean) / unit, theta[0] - (phi * phi).sum(1)

    phi, y, left = rows(sys.argv[2])
    at, new, left_new = rows(sys.argv[3])
    w, U = np.linalg.eigh(phi.T @ phi)
    w = np.maximum(w, 0)
    g = U.T @ (phi.T @ y)

    def evidence(noise):
        d = w / noise + 1
        return -0.5 * (len(y) * np.log(noise) + np.log(d).sum() + y @ y / noise - (g * g / d).sum() / noise ** 2)

    grid = np.exp(np.linspace(np.log(0.002), np.log(1), 400))
    noise = grid[np.argmax([evidence(v) for v in grid])]
    d = w / noise + 1
    e = new - at @ (U @ (g / d / noise))
    v = ((at @ U) ** 2 / d).sum(1) + left_new + max(noise - left.mean(), noise / 10)
    ll = np.mean(-0.5 * np.log(2 * np.pi * v) - 0.5 * e * e / v) - np.log(unit)
    print("RMSE %.4f, LL %.4f, %.1f %% in the 90 %% intervals" % (unit * np.sqrt(np.mean(e * e)), ll, 100 * np.mean(abs(e) < 1.6449 * np.sqrt(v))))


if __name__ == "__main__":
    main()
