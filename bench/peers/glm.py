#!/usr/bin/python3
"""Peer of the bench of generalised linear models: scikit-learn's LogisticRegression and a dense Hessian inverse.

    glm.py X.npy y.npy ALPHA MODE.npy [RUNS]

Prints on one line: the best processor seconds of a fit (lbfgs at its default tolerance 1e-4, as many iterations as it
takes) plus the inverse of its Hessian; the seconds of the inverse alone; the largest difference of the
coefficients in MODE.npy from scikit-learn's own mode (newton-cholesky at tolerance 1e-10, since lbfgs ends on
a tolerance of the objective that cannot be set); the same for the fit that was timed.
The caller sets the threads of BLAS.
"""
import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression


def fit(X, y, alpha, solver, tol):
    model = LogisticRegression(C=1 / alpha, solver=solver, tol=tol, max_iter=100000)
    model.fit(X, y)
    return np.append(model.coef_[0], model.intercept_[0])


def inverse_hessian(X, theta, alpha):
    eta = X @ theta[:-1] + theta[-1]
    h = 1 / (2 + np.exp(eta) + np.exp(-eta))
    A = np.empty((len(theta), len(theta)))
    Z = X * h[:, None]
    A[:-1, :-1] = Z.T @ X
    A[-1, :-1] = A[:-1, -1] = Z.sum(0)
    A[-1, -1] = h.sum()
    A[np.arange(len(theta) - 1), np.arange(len(theta) - 1)] += alpha
    return np.linalg.inv(A)


def main():
    X, y, alpha, mode = np.load(sys.argv[1]), np.load(sys.argv[2]), float(sys.argv[3]), np.load(sys.argv[4])
    runs = int(sys.argv[5]) if len(sys.argv) > 5 else 5
    whole, second = np.inf, np.inf
    for _ in range(runs):
        begin = time.process_time()
        theta = fit(X, y, alpha, "lbfgs", 1e-4)
        middle = time.process_time()
        inverse_hessian(X, theta, alpha)
        end = time.process_time()
        if end - begin < whole:
            whole, second = end - begin, end - middle
    tight = fit(X, y, alpha, "newton-cholesky", 1e-10)
    print(whole, second, abs(mode - tight).max(), abs(theta - tight).max())


if __name__ == "__main__":
    main()
