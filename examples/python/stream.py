"""stream.py - a million rows of factor analysis and of linear regression by partial_fit, in bounded memory.

    python3 examples/python/stream.py [ROWS]

SPDX-License-Identifier: MIT
"""

import sys

import numpy as np

from fabayes import BayesianLinearRegression, FactorAnalysis

ROWS, BLOCK, D = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, 10_000, 20


def blocks(seed=1):
    """Rows with two common factors, and a target."""
    rng = np.random.default_rng(seed)
    loadings, slope = rng.normal(size=(2, D)), rng.normal(size=D)
    for _ in range(ROWS // BLOCK):
        X = rng.normal(size=(BLOCK, 2)) @ loadings + 0.5 * rng.normal(size=(BLOCK, D))
        yield X, X @ slope + rng.normal(size=BLOCK), slope


factors = FactorAnalysis(2, method="online-ml")
regression = BayesianLinearRegression(method="kalman")
for X, y, slope in blocks():
    factors.partial_fit(X)
    regression.partial_fit(X, y)

print(f"noise variance   {factors.noise_variance_.mean():.3f}, and 0.25 made the rows")
print(f"slope 0          {regression.coef_[0]:.3f} +- {regression.coef_sd_[0]:.3f}, and {slope[0]:.3f} made the rows")
