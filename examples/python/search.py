"""search.py - Bayesian optimisation: of a function by asking and telling, and of an estimator's parameters by cross-validation.

    python3 examples/python/search.py

SPDX-License-Identifier: MIT
"""

import math

import numpy as np
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from fabayes import BayesSearchCV, Proposer


# anything that gives a number: here a function whose least value is 0.397887
def branin(x, y):
    a, b = y - 5.1 * x**2 / (4 * math.pi**2) + 5 * x / math.pi - 6, 10 * (1 - 1 / (8 * math.pi)) * math.cos(x)
    return a * a + b + 10


p = Proposer({"x": (-5.0, 10.0), "y": (0.0, 15.0)}, seed=1)
for trial in range(25):
    point = p.ask()  # ask(4): four to be tried side by side
    p.tell(point, branin(**point))  # None: the trial failed
point, value = p.best
print(f"branin after 25 trials: {value:.5f} at x = {point['x']:.3f}, y = {point['y']:.3f}")
assert value < 0.45

# an estimator: 20 trials in threes, beside 20 at random
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4))
y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.normal(size=200)
model = make_pipeline(StandardScaler(), SVR())
spaces = {"svr__C": (1e-2, 1e3, "log"), "svr__gamma": (1e-4, 10.0, "log"), "svr__epsilon": (1e-3, 1.0, "log")}
search = BayesSearchCV(model, spaces, n_iter=20, n_points=3, cv=5, random_state=0).fit(X, y)
grid = {name: np.geomspace(low, high, 100) for name, (low, high, _) in spaces.items()}
random = RandomizedSearchCV(model, grid, n_iter=20, cv=5, random_state=0).fit(X, y)
print(f"R^2 of rows left out, 20 trials: {search.best_score_:.3f} by bayes, {random.best_score_:.3f} at random")
print("found", {name.partition("__")[2]: round(value, 4) for name, value in search.best_params_.items()})
