"""compare.py - methods for the same posterior, compared on one table: what they say of rows they have not seen, and how.

    python3 examples/python/compare.py [FOLDER]         # writes compare.svg there, where matplotlib is installed

SPDX-License-Identifier: MIT
"""

import sys
import time

import numpy as np

from fabayes import BayesianLogisticRegression

D, ROWS, TEST = 30, 2000, 1000
rng = np.random.default_rng(2)
slope = rng.normal(size=D) * (rng.random(D) < 0.3)
X = rng.normal(size=(ROWS + TEST, D)) @ np.linalg.cholesky(0.5 * np.eye(D) + 0.5)
y = (rng.random(ROWS + TEST) < 1 / (1 + np.exp(-X @ slope))).astype(int)

# all with the prior precision that vga finds, so that there is one posterior to come close to
alpha = BayesianLogisticRegression(method="vga").fit(X[:ROWS], y[:ROWS]).alpha_
reference = BayesianLogisticRegression(method="vga", alpha=alpha).fit(X[:ROWS], y[:ROWS])
fits = {}
print("method      log p(y)  accuracy  off by sd   seconds")
for method, settings in (("vga", {}), ("laplace", {}), ("rvga", {}), ("lrvga", {"rank": 5})):
    start = time.perf_counter()
    m = BayesianLogisticRegression(method=method, alpha=alpha, **settings).fit(X[:ROWS], y[:ROWS])
    seconds = time.perf_counter() - start
    fits[method] = m
    off = np.abs((m.coef_ - reference.coef_) / reference.coef_sd_).mean()
    print(f"{method:10s} {m.log_predictive(X[ROWS:], y[ROWS:]).mean():9.4f} {m.score(X[ROWS:], y[ROWS:]):9.3f} {off:10.3f} {seconds:9.3f}")

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from fabayes.plots import CalibrationDisplay, CoefficientDisplay
except ImportError:
    sys.exit("no plot: matplotlib is not installed")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for method, m in fits.items():
    CalibrationDisplay.from_estimator(m, X[ROWS:], y[ROWS:], name=method, ax=left)
CoefficientDisplay.from_estimator(reference, ax=right)
name = (sys.argv[1] if len(sys.argv) > 1 else ".") + "/compare.svg"
figure.savefig(name)
print("written", name)
