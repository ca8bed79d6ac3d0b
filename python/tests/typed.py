"""What mypy --strict must understand: the package as a typed program uses it."""

import numpy as np
from numpy.typing import NDArray

import fabayes


def slopes(X: NDArray[np.float64], y: NDArray[np.float64]) -> list[float]:
    model = fabayes.BayesianLinearRegression(method="lrvga", rank=5, alpha=0.1, random_state=3).fit(X, y, offset=None)
    mean, sd = model.predict(X, return_std=True)
    assert len(mean) == len(sd) and model.log_evidence_ < 0
    g: fabayes.Gauss = model.posterior_
    return [float(v) for v in g.mean]


def names() -> list[str]:
    return [m.name for m in fabayes.methods() if m.streams]


def factors(X: NDArray[np.float64]) -> fabayes.FactorAnalysis:
    return fabayes.FactorAnalysis(3, method="online-ml").partial_fit(X).partial_fit(X, sample_weight=np.ones(len(X)))


def wrong() -> None:
    fabayes.BayesianLinearRegression(alpha="much")  # type: ignore[arg-type]
    fabayes.BayesianMLPRegressor((5,), epochs=3.5)  # type: ignore[arg-type]
    fabayes.FactorAnalysis(slope=1)  # type: ignore[call-arg]
