#!/usr/bin/python3
"""Peer of bench_erm: the path of the lasso by scikit-learn or celer.

    lasso.py scikit-learn|celer TABLE.npy RATIO TOL [RUNS]

The last column of the table is the target; columns have mean 0 and variance 1.  Prints the best processor seconds of a path of
100 lambdas, each to a duality gap of TOL of the squares of y.  The caller sets the threads of BLAS.
"""
import sys
import time
import warnings

import numpy as np


def main():
    warnings.filterwarnings("ignore")
    which, table, ratio, tol = sys.argv[1], np.load(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    runs = int(sys.argv[5]) if len(sys.argv) > 5 else 3
    X, y = np.asfortranarray(table[:, :-1]), table[:, -1].copy()
    if which == "celer":
        from celer import celer_path
        def path():
            celer_path(X, y, pb="lasso", eps=ratio, n_alphas=100, tol=tol)
        celer_path(X[:50, :20].copy(order="F"), y[:50].copy(), pb="lasso", eps=ratio, n_alphas=5, tol=tol)
    else:
        from sklearn.linear_model import lasso_path
        def path():
            lasso_path(X, y, eps=ratio, n_alphas=100, tol=tol, max_iter=100000)
    best = np.inf
    for _ in range(runs):
        begin = time.process_time()
        path()
        best = min(best, time.process_time() - begin)
    print(best)


if __name__ == "__main__":
    main()
