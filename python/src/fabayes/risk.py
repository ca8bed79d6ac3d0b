"""scikit-learn estimators of a regularised risk: Lasso, ElasticNet and QuantileRegressor, by the method `erm`."""

# scikit-learn has no types, and its mixins are Any to mypy: signatures are checked where they are used (tests/typed.py).
# mypy: ignore-errors

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

from . import _core
from ._errors import refuse
from .sklearn import Linear, Number, Regression

__all__ = ["Lasso", "ElasticNet", "QuantileRegressor"]


class Risk(Number, Linear, Regression):
    """What they share: the penalty of [N], lambda ((1 - a) |w|^2 + a |w|_1), from alpha and l1_ratio, on columns as they stand."""

    _of = "linear"
    _setting_names: list[str] = []
    method = "erm"
    standardise = False

    def _likelihood(self) -> str:
        return "gaussian"

    def _streams(self) -> bool:
        return False

    def _ratio(self) -> float:
        return 1.0

    def _given(self) -> dict[str, Any]:
        """Settings beside the penalty."""
        return {}

    def _share(self) -> float:
        """a"""
        ratio = self._ratio()
        if not 0 <= ratio <= 1:
            raise refuse(f"l1_ratio = {ratio:g}, expected a number from 0 to 1")
        return 2 * ratio / (1 + ratio)

    def _lambda_of(self, alpha: float) -> float:
        return alpha / (1 - self._share() / 2)

    def _plan(self) -> dict[str, Any]:
        given = {"l1": self._share(), **self._given()}
        if self.alpha is not None:
            if not (np.isfinite(self.alpha) and self.alpha >= 0):
                raise refuse(f"alpha = {self.alpha!r}, expected a number >= 0, or None: by rows left out")
            given["lambda"] = self._lambda_of(float(self.alpha))
        texts = [f"{name}={value if isinstance(value, str) else repr(value)}" for name, value in given.items()]
        return {"model": "linear", "likelihood": "gaussian", "method": self.method, "settings": texts, "K": None, "seed": self._seed(),
                "no_scale": 1, "no_intercept": int(not self.fit_intercept)}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit all rows.  A weight w counts as w rows."""
        self._first(X, y, sample_weight, None)
        report = self._report()
        self.dual_gap_ = report["gap"] / 2  # scikit-learn's objective is half of ours
        self._chosen = report["lambda"] * (1 - self._share() / 2)
        self._tried()
        if not report["converged"]:
            warnings.warn(f"{type(self).__name__}: stopped at a duality gap of {self.dual_gap_:.3g}", ConvergenceWarning, stacklevel=2)
        return self

    def _tried(self) -> None:
        """The path of alphas that were tried: alphas_ and, as means over the folds, mean_loss_ and loss_se_."""
        data = self._handle().core.pack()
        size = int.from_bytes(data[:8], "little")
        path = json.loads(data[8 : 8 + size]).get("path")
        if path is None:
            return
        first, last = path["data_offsets"]
        columns = np.frombuffer(data[8 + size + first : 8 + size + last], dtype="<f8").reshape(path["shape"]).T
        self.alphas_, self.mean_loss_, self.loss_se_ = columns[0] * (1 - self._share() / 2), columns[1].copy(), columns[2].copy()

    @property
    def alpha_(self) -> float:
        """The weight of the penalty in force."""
        self._handle()
        return self._chosen

    def predict(self, X: Any) -> Any:
        """f of each row."""
        return super().predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of f."""
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    @property
    def coef_sd_(self) -> Any:
        """Standard deviations of the coefficients that are not 0, conditional on which they are; 0 of the others."""
        return np.where(self.coef_ == 0, 0.0, super().coef_sd_)

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse row."""
        from scipy.sparse import csr_matrix

        return csr_matrix(self.coef_)


class Lasso(Risk):
    """The lasso: |y - X w - b|^2 / (2 n) + alpha |w|_1, to rounding.

    alpha : weight of the penalty; None: by rows left out, as LassoCV does it (alphas_ and mean_loss_ have what was tried)
    fit_intercept : b, which is not penalised
    random_state : the seed of the folds
    n_jobs : as that of the other estimators; one thread does the work

    coef_sd_ are standard deviations of the coefficients that are not 0, conditional on which they are; dual_gap_ is how far the
    objective is above the least, at most.
    """

    method = "lasso"

    def __init__(self, alpha: float | None = 1.0, *, fit_intercept: bool = True, random_state: Any = None, n_jobs: int | None = None):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.n_jobs = n_jobs


class ElasticNet(Risk):
    """The elastic net: |y - X w - b|^2 / (2 n) + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2), to rounding.

    l1_ratio : share of the penalty on |w|, 0 to 1
    Other parameters and attributes as those of Lasso.
    """

    method = "elastic-net"

    def __init__(self, alpha: float | None = 1.0, *, l1_ratio: float = 0.5, fit_intercept: bool = True, random_state: Any = None,
                 n_jobs: int | None = None):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _ratio(self) -> float:
        return float(self.l1_ratio)


class QuantileRegressor(Risk):
    """A quantile of y, linear in the features: the mean of max(q r, (q - 1) r), r = y - X w - b, + alpha |w|_1.

    quantile : q, between 0 and 1
    alpha : weight of the penalty; 0: none; None: by rows left out
    Other parameters as those of Lasso.
    """

    method = "quantile"

    def __init__(self, *, quantile: float = 0.5, alpha: float | None = 1.0, fit_intercept: bool = True, random_state: Any = None,
                 n_jobs: int | None = None):
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _given(self) -> dict[str, Any]:
        if not 0 < self.quantile < 1:
            raise refuse(f"quantile = {self.quantile!r}, expected more than 0 and less than 1")
        return {"tau": float(self.quantile), **({"lambda": "auto"} if self.alpha is None else {})}


def of_file(about: dict[str, Any], data: bytes) -> Risk:
    """The estimator of a file of `fabayes fit`.  Its penalty is in the units of that fit, and is not told as an alpha."""
    settings = json.loads(_core.posterior_of(data)[1]["settings"])
    kinds = {"lasso": Lasso, "quantile": QuantileRegressor}
    estimator = kinds.get(about["method"], ElasticNet)(alpha=None, fit_intercept=bool(about["intercept"]))
    if about["method"] == "quantile":
        estimator.quantile = settings["tau"]
    estimator._chosen = float("nan")
    return estimator
