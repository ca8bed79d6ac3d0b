"""scikit-learn estimators of support vector machines: SVC and SVR."""

# scikit-learn has no types, and its mixins are Any to mypy: signatures are checked where they are used (tests/typed.py).
# mypy: ignore-errors

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from . import _core, _settings
from ._errors import refuse
from ._gauss import numbers
from ._tables import forward, more_than_one, weights_of
from .sklearn import FLOATS, threads_of, validate_data

__all__ = ["SVC", "SVR"]


def _number(x: Any) -> str:
    return repr(float(x))


class Machine(BaseEstimator):
    """Rows, kernels by scikit-learn's names, and decisions."""

    def _gamma(self, X: Any) -> float:
        if isinstance(self.gamma, str):
            if self.gamma == "auto":
                return 1 / X.shape[1]
            if self.gamma != "scale":
                raise refuse(_settings.no("gamma", self.gamma, ["scale", "auto"]) + "; scale, auto or a number are there")
            spread = X.var(dtype=np.float64)
            return 1 / (X.shape[1] * spread) if spread > 0 else 1.0
        gamma = float(self.gamma)
        if not gamma > 0:
            raise refuse(f"gamma = {self.gamma}: expected a number above 0")
        return gamma

    def _text(self, X: Any) -> str:
        """The kernel as the library writes it."""
        if self.kernel == "linear":
            return "1*linear"
        if self.kernel == "rbf":
            return f"1*rbf:l={_number(np.sqrt(0.5 / self._gamma(X)))}"
        if self.kernel == "poly":
            gamma, m = self._gamma(X), int(self.degree)
            if m < 1 or m != self.degree:
                raise refuse(f"degree = {self.degree}: expected a whole number above 0")
            if self.coef0 < 0:
                raise refuse(f"coef0 = {self.coef0}: expected 0 or more, of a kernel that is positive definite")
            if self.coef0 == 0:
                return f"{_number(gamma**m)}*" + "*".join(["linear"] * m)
            return f"{_number(gamma**m)}*poly:m={m}:c={_number(self.coef0 / gamma)}"
        if self.kernel in ("sigmoid", "precomputed") or not isinstance(self.kernel, str):
            raise refuse(f"kernel = {self.kernel!r}: not offered; linear, poly, rbf, or a kernel's text, as 'matern32:l=2', are")
        return self.kernel

    def _settings(self, own: dict[str, Any]) -> dict[str, str]:
        given = {"C": self.C, "tol": self.tol, "cache": self.cache_size, **own}
        if self.max_iter != -1:
            given["max_iter"] = self.max_iter
        return {name: _settings.text_of(value) for name, value in given.items() if value is not None}

    def _learn(self, X: Any, y: Any, weight: Any, classes: int, own: dict[str, Any]) -> Any:
        more_than_one(len(X))
        kept = np.arange(len(X))
        if weight is not None and (weight == 0).any():  # a row that is not there
            kept = np.flatnonzero(weight > 0)
            X, y, weight = X[kept], y[kept], weight[kept]
        parts = _core.svm_fit(forward(X), np.ascontiguousarray(y, dtype=np.float64),
                              None if weight is None else np.ascontiguousarray(weight), self._text(X), classes,
                              self._settings(own), threads_of(self.n_jobs))
        row = numbers(parts["row"], len(parts["row"]) // 8, dtype=np.int64)
        self.support_ = kept[row]
        self.support_vectors_ = np.array(X[row], dtype=np.float64)
        machines = len(parts["b"]) // 8
        self.dual_coef_ = np.array(numbers(parts["a"], machines, len(row)))
        self.intercept_ = np.array(numbers(parts["b"], machines))
        self._kernel_text, self._machine_classes = parts["kernel"], classes
        self.n_iter_, self.dual_, self.gap_ = parts["iterations"], parts["dual"], parts["gap"]
        self.margin_errors_, self.rho_ = parts["margin_errors"], parts["rho"]
        self._slopes = parts["below"], parts["above"]
        if not parts["converged"]:
            warnings.warn(f"stopped after {self.n_iter_} steps, its conditions missed by {self.gap_:.3g}: more max_iter, a larger tol",
                          ConvergenceWarning, stacklevel=3)
        return self

    def _decide(self, X: Any) -> tuple[Any, Any, Any]:
        """Decisions (a column for each machine), classes and votes."""
        if "support_" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet; call 'fit' first.")
        X = forward(validate_data(self, X, reset=False, dtype=FLOATS))
        d, c, v = _core.svm_decide(self._kernel_text, self._machine_classes, self.support_vectors_, self.dual_coef_, self.intercept_,
                                   X, threads_of(self.n_jobs))
        classes = max(self._machine_classes, 1)
        return numbers(d, len(X), len(self.intercept_)), numbers(c, len(X), dtype=np.int64), numbers(v, len(X), classes)


def _wants_probability(self: Any) -> bool:
    return bool(self.probability)


class SVC(ClassifierMixin, Machine):
    """Support vector machines of classes, as `fabayes fit --model svm:KERNEL` makes them.

    C : cost of errors, times the weights of rows
    nu : instead of C, of two classes: at least this share of rows are support vectors, at most this share errors of the margin
    kernel : "rbf", "linear", "poly", or a kernel's text, as "matern32:l=2"
    degree, gamma, coef0 : of them, as scikit-learn has them
    probability : predict_proba, of two classes: from the decisions of five folds, never against the class
    tol : largest violation of the conditions of the optimum
    cache_size : megabytes of rows of the kernel that are kept
    class_weight : a dict, "balanced", or None
    max_iter : steps at most; -1: ten million
    decision_function_shape : "ovr": votes; "ovo": the decision of each pair of classes
    random_state : seed of the folds
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number

    Several classes are told apart one against one; of equal votes the sums of decisions choose.  dual_coef_ and intercept_ have a row for
    each pair of classes (0, 1), (0, 2), .., positive for the second; support_ rises.
    """

    def __init__(self, *, C: float = 1.0, nu: float | None = None, kernel: str = "rbf", degree: int = 3, gamma: Any = "scale",
                 coef0: float = 0.0, probability: bool = False, tol: float = 1e-3, cache_size: float = 200, class_weight: Any = None,
                 max_iter: int = -1, decision_function_shape: str = "ovr", random_state: Any = None, n_jobs: int | None = None):
        self.C = C
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit all rows at once.  A weight is what C is taken times; a row of weight 0 is not there."""
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise refuse(_settings.no("decision_function_shape", self.decision_function_shape, ["ovr", "ovo"]))
        X, y = validate_data(self, X, y, dtype=FLOATS)
        check_classification_targets(y)
        weight = weights_of(sample_weight, len(X))
        there = y if weight is None else y[weight > 0]
        self.classes_ = np.unique(there)
        if len(self.classes_) < 2:
            raise refuse(f"y has {len(self.classes_)} class: a machine tells two classes and more apart")
        place = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if self.class_weight is not None:
            of = compute_class_weight(self.class_weight, classes=self.classes_, y=there)[place]
            weight = of if weight is None else weight * of
        seed = self.random_state
        if seed is not None and not isinstance(seed, (int, np.integer)):
            seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))
        own = {"nu": self.nu, "probability": "true" if self.probability else None, "seed": None if seed is None else int(seed)}
        self._learn(X, place, weight, len(self.classes_), own)
        self.n_support_ = np.bincount(place[self.support_], minlength=len(self.classes_)).astype(np.int32)
        return self

    def decision_function(self, X: Any) -> Any:
        """Of two classes: above 0 is the second.  Of more: votes, or with "ovo" a column for each pair, above 0 the first."""
        d, _, votes = self._decide(X)
        if len(self.classes_) == 2:
            return np.array(d[:, 0])
        return np.array(votes) if self.decision_function_shape == "ovr" else -d

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        chosen = self._decide(X)[1]
        return self.classes_[chosen]

    @available_if(_wants_probability)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the two classes."""
        d = self._decide(X)[0][:, 0]
        with np.errstate(over="ignore"):
            p = 1 / (1 + np.exp(-np.where(d > 0, self._slopes[1], self._slopes[0]) * d))
        return np.stack([1 - p, p], axis=1)


class SVR(RegressorMixin, Machine):
    """Regression within epsilon, as `fabayes fit --model svm:KERNEL` makes it of numbers.

    kernel, degree, gamma, coef0, tol, C, cache_size, max_iter, n_jobs : as those of SVC
    epsilon : errors up to it cost nothing
    """

    def __init__(self, *, kernel: str = "rbf", degree: int = 3, gamma: Any = "scale", coef0: float = 0.0, tol: float = 1e-3,
                 C: float = 1.0, epsilon: float = 0.1, cache_size: float = 200, max_iter: int = -1, n_jobs: int | None = None):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
        """Fit all rows at once.  A weight is what C is taken times; a row of weight 0 is not there."""
        X, y = validate_data(self, X, y, dtype=FLOATS, y_numeric=True)
        y = column_or_1d(y).astype(np.float64)
        return self._learn(X, y, weights_of(sample_weight, len(X)), 0, {"epsilon": self.epsilon})

    def predict(self, X: Any) -> Any:
        """The number of each row."""
        return np.array(self._decide(X)[0][:, 0])
