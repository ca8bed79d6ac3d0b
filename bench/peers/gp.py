#!/usr/bin/python3
"""Peer of the bench of kernels: the log evidence of scikit-learn's GaussianProcessRegressor, with its gradient.

    gp.py X.npy y.npy NOISE LENGTH [RUNS]

Kernel 1 * rbf with one length for each column, all LENGTH, and noise of variance NOISE.  Prints on one line: the best processor
seconds of log_marginal_likelihood with its gradient; its value; its gradient by the logarithms of the variance, the lengths and
the noise.  The caller sets the threads of BLAS.
"""
import sys
import time

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel


def main():
    X, y, noise, length = np.load(sys.argv[1]), np.load(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    runs = int(sys.argv[5]) if len(sys.argv) > 5 else 3
    kernel = ConstantKernel(1.0) * RBF(np.full(X.shape[1], length)) + WhiteKernel(noise)
    model = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(X, y)
    best = np.inf
    for _ in range(runs):
        start = time.process_time()
        value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True, clone_kernel=False)
        best = min(best, time.process_time() - start)
    print(best, repr(value), *map(repr, gradient.tolist()))


main()
