#!/usr/bin/python3
"""How long one pass takes beside batch ridge on as many features in NumPy, in one run: processor seconds, one thread, best of 5.

    studies/streaming-gp/speed.py

kin8nm, split 0, 1000 random features, the kernel given.  fabayes: the whole of `fabayes fit`, from the csv to the file, with the scores of
rows before they are learned.  NumPy: the features; then X'X, its Cholesky factor and the weights.  Needs a build (BUILD) and kin8nm
in FAB_DATA.
"""
# SPDX-License-Identifier: MIT
import os
import resource
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = os.environ.get("THREADS", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "common"))
import study  # noqa: E402
import numpy as np  # noqa: E402

LENGTHS = [4.5, 3.8, 1.57, 1.8, 1.67, 1.38, 1.28, 1.87]  # as the evidence of 1000 rows has them
M, TIMES = 1000, 5


def kin8nm():
    folder = os.path.join(study.DATA, "uci", "kin8nm")
    A = np.loadtxt(os.path.join(folder, "data.txt"))
    f = np.loadtxt(os.path.join(folder, "index_features.txt")).astype(int)
    t = int(np.loadtxt(os.path.join(folder, "index_target.txt")))
    part = np.loadtxt(os.path.join(folder, "index_train_0.txt")).astype(int)
    part = np.random.default_rng(0).permutation(part)
    return A[part][:, f], A[part, t]


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ridge(X, y):
    """Seconds of the features and of the ridge."""
    X, y = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    W = np.random.default_rng(0).normal(size=(8, M // 2)) / np.array(LENGTHS)[:, None]
    a = time.process_time()
    t = X @ W
    P = np.hstack([np.cos(t), np.sin(t)]) * np.sqrt(2 / M)
    b = time.process_time()
    G = P.T @ P
    G[np.diag_indices(M)] += 0.05
    np.linalg.cholesky(G)
    np.linalg.solve(G, P.T @ y)
    return b - a, time.process_time() - b


def main():
    X, y = kin8nm()
    peer = np.min([ridge(X, y) for _ in range(TIMES)], 0)
    print("NumPy: features %.2f s, ridge %.2f s" % tuple(peer))
    model = "rff:1*rbf:ard:l=%s:%d" % (",".join("%g" % v for v in LENGTHS), M)
    with tempfile.TemporaryDirectory() as folder:
        train, out = os.path.join(folder, "train.csv"), os.path.join(folder, "q.safetensors")
        np.savetxt(train, np.column_stack([X, y]), delimiter=",", header=",".join("abcdefgh") + ",y", comments="", fmt="%.17g")
        for options in ("-m kalman", "-m lrvga -k 20", "-m lrvga -k 100"):
            best = np.inf
            for _ in range(TIMES):
                start = children()
                study.fabayes("fit", train, "-y", "y", "--model", model, *options.split(), "-o", out, "--threads", 1)
                best = min(best, children() - start)
            print("%s: %.2f s, %.1f times features and ridge" % (options, best, best / sum(peer)))


if not os.path.exists(os.path.join(study.DATA, "uci", "kin8nm")):
    study.skip("kin8nm is not in FAB_DATA")
main()
