#!/usr/bin/python3
"""The peer of the bench of support vector machines: libsvm in scikit-learn.

    svm.py FILE.libsvm ROWS COLUMNS TIMES     C = 1, gamma = 1 / COLUMNS, tol = 0.001, a cache of 200 MB

Prints the least processor time of a fit in seconds, the dual objective, and b.
"""
import sys
import time

from sklearn.datasets import load_svmlight_file
from sklearn.svm import SVC

file, rows, columns, times = sys.argv[1], *map(int, sys.argv[2:])
X, y = load_svmlight_file(file, n_features=columns)
X, y = X[:rows], y[:rows]
best = float("inf")
for _ in range(times):
    begin = time.process_time()
    machine = SVC(C=1, gamma=1 / columns, tol=1e-3, cache_size=200).fit(X, y)
    best = min(best, time.process_time() - begin)
a = machine.dual_coef_.toarray()[0]
f = machine.decision_function(X[machine.support_]) - machine.intercept_[0]
print(best, abs(a).sum() - a @ f / 2, machine.intercept_[0])
