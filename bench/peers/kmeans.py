#!/usr/bin/python3
"""Peers of the K-means bench, in scikit-learn.

    kmeans.py lloyd ROWS.npy G        a step of Lloyd's algorithm from the first G rows
    kmeans.py seeds ROWS.npy G        kmeans_plusplus: 2 + log G candidates a seed
    kmeans.py minibatch ROWS.npy G    MiniBatchKMeans.fit, one pass

Prints the processor time of one, in seconds, the best of a few.  The caller sets the threads (OMP_NUM_THREADS, OPENBLAS_NUM_THREADS).
"""
import sys
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans, kmeans_plusplus

STEPS = 11


def seconds(work, times):
    best = np.inf
    for _ in range(times):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def lloyd(X, G):
    def fit(steps):
        KMeans(G, init=X[:G], n_init=1, max_iter=steps, tol=0, algorithm="lloyd").fit(X)

    return (seconds(lambda: fit(STEPS), 4) - seconds(lambda: fit(1), 4)) / (STEPS - 1)


def seeds(X, G):
    return seconds(lambda: kmeans_plusplus(X, G, random_state=0), 3)


def minibatch(X, G):
    return seconds(lambda: MiniBatchKMeans(G, n_init=1, max_iter=1, random_state=0).fit(X), 4)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    print({"lloyd": lloyd, "seeds": seeds, "minibatch": minibatch}[sys.argv[1]](np.load(sys.argv[2]), int(sys.argv[3])))
