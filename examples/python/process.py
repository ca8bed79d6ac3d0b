"""process.py - a Gaussian process: what it knows between few rows, and what it says it does not know.

    python3 examples/python/process.py [FOLDER]         # writes process.svg there, where matplotlib is installed

SPDX-License-Identifier: MIT
"""

import sys

import numpy as np

from fabayes import GaussianProcessRegressor, StreamingGP

rng = np.random.default_rng(3)
x = np.sort(np.concatenate([rng.uniform(-4, 0, 25), rng.uniform(2, 4, 15)]))  # nothing between 0 and 2
X, y = x[:, None], np.sin(2 * x) + 0.2 * x + 0.15 * rng.normal(size=40)
line = np.linspace(-6, 6, 241)[:, None]

# exact: kernel and noise where the evidence is highest
model = GaussianProcessRegressor("rbf + linear").fit(X, y)
mean, sd = model.predict(line, return_std=True)
functions = model.sample_y(line, 5, random_state=1)
print("kernel", model.kernel_)
for p in model.kernel_parameters_:
    print(f"  {p['name']:6s} {p['kernel']:16s} {p['value']:.4g}")
print(f"log evidence {model.log_marginal_likelihood_value_:.2f}; sd of a new y at -2: {sd[80]:.2f}, at 1: {sd[140]:.2f}, at 6: {sd[240]:.2f}")
assert sd[140] > 1.5 * sd[80] and abs(model.alpha_ * np.var(y) - 0.15**2) < 0.02

# the same in one pass: landmarks, and rows that come in blocks
rng = np.random.default_rng(4)
Z = rng.uniform(-4, 4, size=(7000, 2))
t = np.sin(2 * Z[:, 0]) * np.cos(Z[:, 1]) + 0.15 * rng.normal(size=7000)
stream = StreamingGP("rbf:ard", n_components=100)
for first in range(0, 6000, 2000):
    stream.partial_fit(Z[first : first + 2000], t[first : first + 2000])
low, high = stream.predict_interval(Z[6000:], level=0.9).T
inside = np.mean((t[6000:] > low) & (t[6000:] < high))
print(f"stream of 6000 rows, 100 landmarks: R^2 {stream.score(Z[6000:], t[6000:]):.4f}, 90 % intervals hold {100 * inside:.1f} %")
assert 0.86 < inside < 0.94

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit(print("no plot: matplotlib is not installed"))

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.fill_between(line[:, 0], *model.predict_interval(line).T, color="C0", alpha=0.2, label="90 % of new y")
axes.plot(line[:, 0], functions, color="C0", lw=0.6, alpha=0.6)
axes.plot(line[:, 0], mean, color="C0", label="mean")
axes.plot(x, y, "k.", label="rows")
axes.legend()
name = (sys.argv[1] if len(sys.argv) > 1 else ".") + "/process.svg"
figure.savefig(name)
print("written", name)
