"""python.py BUILD - the Python package against the C library beneath it, and against scikit-learn: ratios.

    PYTHONPATH=build/python python3 bench/python.py build [NAME ..]

The C side is the extension called with its arguments made beforehand: the C call and its buffers.  Results are compared
before anything is timed.  Times are the best of at least 7; those of streams and imports are processor time.

SPDX-License-Identifier: MIT
"""

import resource
import subprocess
import sys
import time

import numpy as np

import fabayes

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"


def best(call, least=7, seconds=1.0, own=False):
    """The shortest of many runs; own: processor time of this process."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        start = time.process_time() if own else time.perf_counter()
        call()
        times.append((time.process_time() if own else time.perf_counter()) - start)
    return min(times)


def turns(one, two, laps):
    """The least time of each, and the ratio of their medians, by turns: other work on the machine slows both alike."""
    all_ = [[best(call, 1, 0, own=True) for call in (one, two)] for _ in range(laps)]
    half = np.median(all_, axis=0)
    return (*np.min(all_, axis=0), half[0] / half[1])


def stream():
    """partial_fit at D = 1e6 over the same update of the extension's handle, which is the C call and the buffers."""
    D, n = 1_000_000, 5
    X = np.random.default_rng(0).normal(size=(n, D))
    one = fabayes.FactorAnalysis(3, method="online-em", n_jobs=1).partial_fit(X).partial_fit(X)
    two = fabayes.FactorAnalysis(3, method="online-em", n_jobs=1).partial_fit(X).partial_fit(X)._fitted.core
    package, core, half = turns(lambda: one.partial_fit(X), lambda: two.update(X, None, True), 25)
    print(f"stream   partial_fit of {n} rows at D = {D:.0e}: {package:.3f} s, {package / core:.3f} of the C call, by medians "
          f"{half:.3f} (goal 1.05)")
    long = np.tile(X, (8, 1))  # more than 0.2 s: the state is kept before it, for whoever presses Ctrl-C
    one.partial_fit(long)  # which makes room for it
    package, core, half = turns(lambda: one.partial_fit(long), lambda: two.update(long, None, True), 9)
    print(f"stream   of {len(long)} rows, with a state to go back to: {package:.3f} s, {package / core:.3f} of the C call, by medians "
          f"{half:.3f} (goal 1.05)")
    print(f"stream   that state: {1e3 * best(two.keep, 5, 0, own=True):.0f} ms")


def small():
    """A small call over the extension's."""
    g = fabayes.Gauss(np.zeros(10), np.ones((10, 2)), np.ones(10))
    x = np.ones((1, 10))
    package, core = best(lambda: g.log_prob(x)), best(lambda: g._core.log_prob(x))
    print(f"small    log_prob at D = 10: {1e6 * package:.2f} us, {1e6 * (package - core):.2f} us over the C call (goal 4)")


def imports():
    def once(code):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def run(code):
        return min(once(code) for _ in range(15))

    ours, numpy_alone = run("import fabayes"), run("import numpy")
    print(f"import   {1e3 * (ours - numpy_alone):.1f} ms beyond NumPy's {1e3 * numpy_alone:.0f} ms (goal 25)")


CHILD = """
import resource, sys
import numpy as np, fabayes, fabayes.sklearn
X = np.random.default_rng(0).normal(size=({n}, {D})).astype(np.float32)
y = X[:, 0].astype(np.float64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if {package}:
    fabayes.BayesianLinearRegression(method="exact", n_jobs=1).fit(X, y)
else:
    fabayes._core.fit({{"n": len(X), "x": X, "names": None, "y": y}}, {{"likelihood": "gaussian", "method": "exact"}}, 1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def memory():
    """The peak of a fit on a float32 table in C order, in processes of their own."""
    def peak(package):
        code = CHILD.format(n=200_000, D=100, package=package)
        return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    ours, core = peak(True), peak(False)
    print(f"memory   of a fit of 200000 x 100 in f32: {ours / 1024:.0f} MB, {ours / core:.3f} of the C call (goal 1.1)")


def peers():
    """scikit-learn's estimators on tables of the shapes of docs/bench.md, one thread each."""
    from sklearn.decomposition import FactorAnalysis
    from sklearn.linear_model import BayesianRidge, PoissonRegressor
    rng = np.random.default_rng(0)
    for n, D in ((2000, 10), (20000, 50)):  # the alphas of PoissonRegressor are its own
        X = rng.normal(size=(n, D))
        y, counts = X @ rng.normal(size=D) + rng.normal(size=n), rng.poisson(np.exp(0.2 * X[:, 0]))
        Z = X + rng.normal(size=(n, 3)) @ rng.normal(size=(3, D))
        for ours, theirs, data in (
                (fabayes.FactorAnalysis(3, n_jobs=1), FactorAnalysis(3, svd_method="lapack"), (Z,)),
                (fabayes.BayesianLinearRegression(n_jobs=1), BayesianRidge(), (X, y)),
                (fabayes.BayesianPoissonRegression(n_jobs=1), PoissonRegressor(), (X, counts))):
            a, b = ours.fit(*data), theirs.fit(*data)
            if len(data) == 1:
                assert a.score(Z) > b.score(Z) - 1e-3
            else:
                np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=0.2, atol=0.5)
            t, s = best(lambda: ours.fit(*data)), best(lambda: theirs.fit(*data))
            print(f"peers    {n:6d} x {D:3d}  {type(ours).__name__:26s} {1e3 * t:8.2f} ms, {t / s:6.3f} of {type(theirs).__name__}")


if __name__ == "__main__":
    for name in sys.argv[2:] or ("stream", "small", "imports", "memory", "peers"):
        globals()[name]()
