#!/usr/bin/python3
"""Peer of the bench of kernels: the bound of GPy's SparseGPRegression (Titsias), with its gradient by all parameters and inputs.

    sgp.py X.npy y.npy Z.npy NOISE LENGTH [RUNS]

Kernel 1 * rbf with one length for each column, all LENGTH, and noise of variance NOISE.  Prints on one line: the best processor
seconds of the bound with its gradient, and its value.  The caller sets the threads of BLAS.
"""
import sys
import time

import GPy
import numpy as np


def main():
    X, y, Z = (np.load(p) for p in sys.argv[1:4])
    noise, length = float(sys.argv[4]), float(sys.argv[5])
    runs = int(sys.argv[6]) if len(sys.argv) > 6 else 3
    kernel = GPy.kern.RBF(X.shape[1], variance=1.0, lengthscale=np.full(X.shape[1], length), ARD=True)
    model = GPy.models.SparseGPRegression(X, y[:, None], kernel=kernel, Z=Z)
    model.likelihood.variance = noise
    best = np.inf
    for _ in range(runs):
        start = time.process_time()
        model.parameters_changed()
        best = min(best, time.process_time() - start)
    print(best, repr(float(np.ravel(model.log_likelihood())[0])))


main()
