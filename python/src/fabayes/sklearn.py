"""scikit-learn estimators: the library's fits of tables, in the manner that scikit-learn expects.

The parameters of an estimator are its own and then every setting of its methods, written into the signature from the library's
tables when this module is imported.  None is the default of the table.
"""

from __future__ import annotations

import inspect
import json
import os
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, DensityMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from . import _core, _settings
from ._errors import Error, NotSupported, NotThere, error, refuse
from ._gauss import Gauss, numbers
from ._scaling import Scaling
from ._tables import (ArrowTable, columns_of, forward, frame_of, free_name, is_frame, more_than_one, names_of, offset_of, table_of,
                      taken, weights_of, word_columns)
from .search import Proposer

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6

    def validate_data(estimator: Any, /, X: Any, *args: Any, reset: bool = True, skip_check_array: bool = False, **keys: Any) -> Any:
        if not skip_check_array:
            return estimator._validate_data(X, *args, reset=reset, **keys)
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
        return X


def validated(estimator: Any, X: Any, reset: bool, **keys: Any) -> Any:
    """A matrix or sparse rows; a table of Arrow as a matrix."""
    if isinstance(X, ArrowTable):
        X.check_names(estimator, reset)
        return check_array(np.asarray(X), dtype=FLOATS, estimator=estimator, input_name="X")
    return validate_data(estimator, X, reset=reset, dtype=FLOATS, **keys)


__all__ = ["FactorAnalysis", "BayesianLinearRegression", "BayesianLogisticRegression", "BayesianPoissonRegression",
           "BayesianMLPRegressor", "BayesianMLPClassifier", "GaussianProcessRegressor", "GaussianProcessClassifier", "StreamingGP",
           "StreamingGPClassifier", "BayesSearchCV"]

FLOATS = [np.float64, np.float32]
SHORT = 0.2  # seconds: an update that takes less is not taken back but finished
SAID_ELSEWHERE = ("K", "seed")  # n_components or rank; random_state


# ---- what the estimators share ----------------------------------------------------------------------------------------------------


def with_settings(of: str, own: dict[str, Any], first: str | None = None, other: tuple[str, ...] = ()) -> Any:
    """Give a class an __init__ whose signature has its own parameters and the settings of its methods, but for `other`, which its
    own say."""

    def decorate(cls: Any) -> Any:
        table = {name: s for name, s in _settings.union(of).items() if name not in SAID_ELSEWHERE + other}
        settings = [name for name in table if name not in own]
        values = {**own, **dict.fromkeys(settings)}
        keys = ", ".join(f"{name}={value!r}" for name, value in values.items() if name != first)
        head = f"{first}={own[first]!r}, *, " if first else "*, "
        body = "".join(f"\n    self.{name} = {name}" for name in values)
        space: dict[str, Any] = {}
        exec(f"def __init__(self, {head}{keys}):{body}", space)  # written out: scikit-learn reads the signature
        cls.__init__ = space["__init__"]
        cls.__init__.__qualname__ = f"{cls.__name__}.__init__"
        cls._of, cls._setting_names = of, settings + [n for n in own if n in table]
        lines = [f"    {name} : {'|'.join(s.choices) or s.type}, None is {s.default}\n        {s.help}" for name, s in table.items()]
        cls.__doc__ = inspect.cleandoc(cls.__doc__) + "\n\nSettings of the methods\n-----------------------\n" + "\n".join(lines)
        return cls

    return decorate


def threads_of(n_jobs: int | None) -> int:
    """Threads for the library, 0: all cores.  Inside a worker of joblib, a process or a thread, None is one."""
    return _settings.threads_of(n_jobs, (getattr(get_active_backend()[0], "nesting_level", 0) or 0) > 0)


class Fitted:
    """A handle of the library; its pickle is the bytes of the file."""

    def __init__(self, core: Any, kind: str):
        self.core, self.kind, self.kept = core, kind, {}
        self.pace: float | None = None  # seconds for a row of the stream
        self.early: list[Any] = []  # the rows of a stream that has too few for a file

    def keep(self, name: str, make: Any) -> Any:
        """What is computed once."""
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    def __reduce__(self) -> Any:
        return _unpack, (self.kind, self.core.pack())


class Bytes:
    """A fit that is done: the bytes of its file, and what was said of it."""

    def __init__(self, data: bytes, gauss: Any, report: dict[str, Any]):
        self.data, self.gauss, self.said = data, gauss, report

    def pack(self) -> bytes:
        return self.data

    def result(self) -> Any:
        return self.gauss

    def report(self) -> dict[str, Any]:
        return self.said


def _unpack(kind: str, data: bytes, n_jobs: int | None = None) -> Fitted:
    if kind == "regression":
        return Fitted(_core.regression_of("bytes", data, threads_of(n_jobs)), kind)
    parts, metadata, _ = _core.posterior_of(data)
    if kind == "factors" and _settings.streams(metadata["method"], "vectors"):
        return Fitted(_core.factors_of("bytes", data, threads_of(n_jobs)), kind)
    report = {"method": metadata.get("method"), "rows": int(metadata.get("n", 0)), "iterations": 0,
              "converged": int(metadata.get("converged", -1)), "loglik_mean": float("nan")}
    return Fitted(Bytes(data, parts[0][0], report), kind)


class Common:
    """Parameters to settings, validated arrays, files."""

    def _settings_given(self) -> dict[str, str]:
        """Those that are not None, as texts."""
        given = {name: getattr(self, name) for name in self._setting_names}
        return {name: _settings.text_of(value) for name, value in given.items() if value is not None}

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, (int, np.integer)):
            return None if self.random_state is None else int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _handle(self) -> Fitted:
        if "_fitted" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet; call 'fit' first.")
        return self._fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def _streams(self) -> bool:
        return _settings.streams(self.method, self._of)

    def _advance(self, rows: Any) -> None:
        """More rows for the handle; whatever stops this leaves it as it was."""
        f, n = self._fitted, self._count(rows)
        f.kept.clear()
        if f.pace is not None and n * f.pace < SHORT and not f.early:  # done before anybody waits: it is not stopped
            f.core.update(*rows, False)
            return
        try:
            before = f.core.pack() if f.kind == "regression" else f.core.keep()
            kept = True
            f.early.clear()
        except Error:  # too few rows for a file yet
            if not f.early:
                raise
            kept = False
        start, used = time.perf_counter(), time.process_time()
        try:
            f.core.update(*rows, True)
        except BaseException:
            if not kept:
                self._fitted = self._again(f.early)
            elif f.kind == "regression":
                self._fitted = _unpack(f.kind, before, self.n_jobs)
            else:
                f.core.back()
            raise
        f.kept.clear()
        f.pace = min(time.perf_counter() - start, time.process_time() - used) / max(n, 1)  # waiting for others is not work
        if not kept:
            f.early.append(_copies(rows))

    def _count(self, rows: Any) -> int:
        return len(rows[0]["y"]) if isinstance(rows[0], dict) else len(rows[0])

    def _again(self, early: list[Any]) -> Fitted:
        raise NotImplementedError

    def _as_before(self, before: dict[str, Any]) -> None:
        self.__dict__.clear()
        self.__dict__.update(before)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file that `fabayes` reads."""
        _core.write(os.fspath(path), self._handle().core.pack())


def _copies(rows: Any) -> Any:
    return tuple(None if a is None else a.copy() for a in rows)


def _has_stream(self: Any) -> bool:
    if self._streams():
        return True
    raise AttributeError(f"partial_fit needs a method that streams, and method is '{self.method}'")


# ---- factor analysis --------------------------------------------------------------------------------------------------------------


@with_settings("vectors", {"n_components": None, "method": "ml", "rotation": None, "n_jobs": None, "random_state": None}, "n_components")
class FactorAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, Common, BaseEstimator):
    """The Gaussian of the rows with low-rank-plus-diagonal covariance, as `fabayes fa` finds it.

    n_components : number of factors; None: by BIC
    method : "ml", "em", "ppca", "pca", or one that streams and has partial_fit: "online-ml", "recursive-em", ...
    rotation : of components_ and transform: "principal", "varimax", "promax", "oblimin"; None: as they come, the largest loading
        of each factor positive
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    random_state : the seed
    """

    def _begin(self, D: int) -> Any:
        names = list(_settings.methods_of("vectors"))
        if self.method not in names:
            raise refuse(_settings.no("method", str(self.method), names) + f"; for vectors there are {', '.join(names)}")
        given, seed = self._settings_given(), self._seed()
        _settings.check(self.method, self._of, given)
        if seed is not None and "seed" in _settings.table(self.method, self._of):
            given["seed"] = str(seed)
        rank = None if self.n_components is None else int(self.n_components)
        return _core.factors(D, self.method, given, rank, threads_of(self.n_jobs))

    def _rows(self, X: Any, reset: bool) -> Any:
        return forward(validated(self, taken(X), reset))

    def _weighted(self, X: Any, sample_weight: Any, reset: bool) -> Any:
        """Rows and weights, without the rows of weight 0."""
        X = self._rows(X, reset)
        weight = weights_of(sample_weight, len(X))
        if weight is not None and not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        return X, weight

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FactorAnalysis:
        """Fit all rows at once.  A weight w counts as w rows."""
        before = dict(self.__dict__)
        try:
            X, weight = self._weighted(X, sample_weight, True)
            more_than_one(len(X))
            core = self._begin(X.shape[1])
            core.update(X, weight, True)
            gauss = core.result()
            if not self._streams():  # it borrows the rows
                core = Bytes(core.pack(), gauss, core.report())
            self._fitted = Fitted(core, "factors")
        except BaseException:
            self._as_before(before)
            raise
        return self

    @available_if(_has_stream)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FactorAnalysis:
        """More rows of a stream; how rows are split over calls does not matter."""
        if "_fitted" in self.__dict__:
            self._advance(self._weighted(X, sample_weight, False))
            return self
        before = dict(self.__dict__)
        try:
            rows = self._weighted(X, sample_weight, True)
            self._fitted = self._again([rows])
            self._fitted.early = [_copies(rows)]
        except BaseException:
            self._as_before(before)
            raise
        return self

    def _again(self, early: list[Any]) -> Fitted:
        core = self._begin(early[0][0].shape[1])
        for rows in early:
            core.update(*rows, True)
        return Fitted(core, "factors")

    @property
    def gauss_(self) -> Gauss:
        f = self._handle()
        return f.keep("gauss", lambda: Gauss._of(f.core.result()))

    def _report(self) -> dict[str, Any]:
        f = self._handle()
        return f.keep("report", f.core.report)

    @property
    def components_(self) -> Any:
        g = self.gauss_
        if self.rotation is None:
            return (g.factor * self._signs()).T
        return numbers(g._core.loadings(self.rotation), g.D, g.rank).T

    def _signs(self) -> Any:
        """Of the factors as they come: the largest loading of each is positive."""
        F = self.gauss_.factor
        return np.where(F[np.argmax(np.abs(F), axis=0), np.arange(F.shape[1])] < 0, -1.0, 1.0)

    @property
    def noise_variance_(self) -> Any:
        return self.gauss_.diag

    @property
    def mean_(self) -> Any:
        return self.gauss_.mean

    @property
    def loglike_(self) -> float:
        """Mean log-likelihood per row, where the method knows it."""
        return self._report()["loglik_mean"]

    @property
    def n_iter_(self) -> int:
        return max(1, self._report()["iterations"])

    @property
    def converged_(self) -> bool:
        return self._report()["converged"] != 0

    @property
    def _n_features_out(self) -> int:
        return self.gauss_.rank

    def transform(self, X: Any) -> Any:
        """Factor scores: the mean of the factors given each row."""
        self._handle()
        X = self._rows(X, False)
        scores = numbers(self.gauss_._core.scores(X, self.rotation), len(X), self.gauss_.rank)
        return scores if self.rotation else scores * self._signs()

    def score_samples(self, X: Any) -> Any:
        """The log density of each row."""
        self._handle()
        return self.gauss_.log_prob(self._rows(X, False))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows."""
        return float(np.mean(self.score_samples(X)))

    def get_covariance(self) -> Any:
        return self.gauss_.covariance()

    def get_precision(self) -> Any:
        g = self.gauss_
        if g.D > 2000:
            raise error(6, f"a precision of {g.D} x {g.D} numbers is not formed, 2000 at most")
        return numbers(g._core.times_precision(np.eye(g.D)), g.D, g.D)

    def sample(self, n: int = 1, seed: int = 0) -> Any:
        """Rows drawn from the Gaussian."""
        return self.gauss_.sample(n, seed)


# ---- regressions ------------------------------------------------------------------------------------------------------------------


class Regression(Common, BaseEstimator):
    """What all regressions share.  A subclass says its likelihood and what its target is."""

    _words: list[str] = []
    rank: Any = None  # of estimators that have no such parameter
    prior: Any = None
    scaling: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _likelihood(self) -> str:
        raise NotImplementedError

    def _model(self) -> str:
        return "linear"

    def _check_y(self, y: Any) -> Any:
        y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None, input_name="y")
        return forward(y.astype(np.float64))

    def _target(self, y: Any, first: bool) -> dict[str, Any]:
        return {"y": y}

    def _plan(self) -> dict[str, Any]:
        given, names = self._settings_given(), list(_settings.methods_of(self._of))
        if self.method != "auto":
            if self.method in _settings.RISK:
                raise error(6, f"{self.method} is fitted by Lasso, ElasticNet and QuantileRegressor, and of other losses by `fabayes fit`")
            if self.method not in names:
                raise refuse(_settings.no("method", str(self.method), names))
            _settings.check(self.method, self._of, given)
            if self.rank is not None and "K" not in _settings.table(self.method, self._of):
                raise refuse(f"rank = {self.rank}: {self.method} has no factors")
        plan = {"model": self._model(), "likelihood": self._likelihood(), "method": None if self.method == "auto" else self.method,
                "settings": [f"{name}={text}" for name, text in given.items()], "K": None if self.rank is None else int(self.rank),
                "seed": self._seed(), "no_scale": int(not getattr(self, "standardise", True)),
                "no_intercept": int(not getattr(self, "fit_intercept", True))}
        if isinstance(self.prior, Gauss):
            plan["prior_gauss"] = self.prior._core
        elif self.prior is not None:
            plan["prior"] = os.fspath(self.prior)
        return plan

    def _rows(self, X: Any, reset: bool) -> Any:
        """Validated: a matrix, sparse rows, or a frame that has columns of words."""
        X = taken(X)
        words = word_columns(X) if reset else self._words
        if not words:
            X = validated(self, X, reset, accept_sparse="csr")
        elif not is_frame(X):
            raise refuse(f"the fit has columns of words, as '{words[0]}'; give a frame with its columns")
        else:
            if isinstance(X, ArrowTable):
                X.check_names(self, reset)
            else:
                validate_data(self, X, reset=reset, skip_check_array=True)
            X = frame_of(X, words)
        if reset:
            self._words = words
        return X

    def _table(self, X: Any) -> dict[str, Any]:
        return table_of(X, getattr(self, "feature_names_in_", None))

    def _roles(self, table: dict[str, Any]) -> dict[str, str]:
        """What target, weight and offset are called, beside the features."""
        if "start" in table and "_fitted" not in self.__dict__:
            return {}
        if "_fitted" in self.__dict__:
            about = self._about()
            given = {"y_name": about["target"], "weight_name": about["weight"], "offset_name": about["offset"]}
            return {role: name for role, name in given.items() if name is not None}
        taken = names_of(table)
        return {"y_name": free_name("target", taken) if "y" in taken else "y", "weight_name": free_name("weight", taken),
                "offset_name": free_name("offset", taken)}

    def _offset_into(self, table: dict[str, Any], offset: Any, n: int) -> None:
        if offset is not None:
            table["offset"] = offset_of(offset, n)

    def _training(self, X: Any, y: Any, sample_weight: Any, offset: Any, first: bool) -> dict[str, Any]:
        if y is None:
            raise refuse(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._rows(X, first)
        y = self._check_y(y)
        check_consistent_length(X, y)
        weight, offset = weights_of(sample_weight, len(y)), offset_of(offset, len(y))
        if weight is not None and not weight.all():
            there = weight > 0
            X, y, weight = X[there], y[there], weight[there]
            offset = None if offset is None else offset[there]
            weight = None if (weight == 1).all() else weight
        if first and self.scaling is None:  # one row shows no scale
            more_than_one(len(y))
        table = {**self._table(X), **self._target(y, first)}
        table.update(self._roles(table))
        self._offset_into(table, offset, len(y))
        if weight is not None:
            table["weight"] = weight
        return table

    def _first(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> Any:
        before = dict(self.__dict__)
        try:
            self.__dict__.pop("_fitted", None)
            table = self._training(X, y, sample_weight, offset, True)
            plan = self._plan()
            if self.scaling is not None:
                if not isinstance(self.scaling, Scaling):
                    raise refuse(f"scaling = {self.scaling!r}: expected None or a Scaling")
                plan["scaling"] = self.scaling._for(columns_of(table))
            self._fitted = Fitted(_core.fit(table, plan, threads_of(self.n_jobs)), "regression")
        except BaseException:
            self._as_before(before)
            raise
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """Fit all rows.  A weight w counts as w rows, offsets are added to the linear predictor."""
        return self._first(X, y, sample_weight, offset)

    @available_if(_has_stream)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """More rows of a stream.  Its units come from the first call, which then needs rows that show the scale, or from scaling."""
        if "_fitted" not in self.__dict__:
            return self._first(X, y, sample_weight, offset)
        self._advance((self._training(X, y, sample_weight, offset, False),))
        return self

    # ---- what it says

    @property
    def scaling_(self) -> Scaling:
        """The units of the fit: a `scaling` for others."""
        f = self._handle()
        return f.keep("scaling", lambda: Scaling._of(f.core.scaling()))

    def _about(self) -> dict[str, Any]:
        f = self._handle()
        return f.keep("about", f.core.describe)

    def _report(self) -> dict[str, Any]:
        f = self._handle()
        return f.keep("report", f.core.report)

    def _new(self, X: Any, offset: Any, y: Any = None) -> dict[str, Any]:
        """Rows that are not learned, with their target or without."""
        X = self._rows(X, False)
        table = self._table(X)
        self._offset_into(table, offset, X.shape[0])
        if y is not None:
            y = self._check_y(y)
            check_consistent_length(X, y)
            table.update(self._target(y, False))
        table.update(self._roles(table))
        return table

    def _predictions(self, X: Any, offset: Any = None, level: float = 0.0, y: Any = None) -> Any:
        """Numbers (n x 4), log probabilities (n x classes) and, with y, log p(y); None where there are none."""
        f = self._handle()
        table = self._new(X, offset, y)
        n, classes, p, logp, density = f.core.predict(table, self._draws(), 0, False, False, level, y is not None)
        return (None if p is None else numbers(p, n, 4), None if logp is None else numbers(logp, n, classes),
                None if density is None else numbers(density, n))

    def _calibration(self, X: Any, y: Any, offset: Any, levels: Any) -> Any:
        return self._handle().core.calibration(self._new(X, offset, y), self._draws(), levels)

    def log_predictive(self, X: Any, y: Any, offset: Any = None) -> Any:
        """log p(y) of each row, integrated over the posterior."""
        return self._predictions(X, offset, y=y)[2]

    def _draws(self) -> int:
        return 0

    @property
    def alpha_(self) -> float:
        """Prior precision in force, in fitting units."""
        return self._report()["alpha"]

    @property
    def beta_(self) -> float:
        """Noise precision in force, in the units of y for a linear model."""
        return self._about()["beta"]

    @property
    def log_evidence_(self) -> float:
        return self._report()["log_evidence"]

    @property
    def method_(self) -> str:
        """The method that was run."""
        return self._about()["method"]

    @property
    def n_iter_(self) -> int:
        return max(1, self._report()["iterations"])


class Theta:
    """Parameters that are of interest themselves."""

    @property
    def mixture_(self) -> list[tuple[Gauss, float]]:
        """The Gaussians over theta and their weights, in fitting units: one, or those of several runs."""
        f = self._handle()
        return f.keep("mixture", lambda: [(Gauss._of(g), w) for g, w in _core.posterior_of(f.core.pack())[0]])

    def sample_posterior(self, n: int, seed: int = 0) -> Any:
        """Draws of theta, one per row: the coefficients and the intercept in the user's units; of a network its weights."""
        f = self._handle()
        return numbers(f.core.sample(n, seed, 0), n, self._about()["size"])


class Linear(Theta):
    """Coefficients of a linear model."""

    def _coefficients(self) -> Any:
        """classes x features and classes, means and standard deviations; a column that the fit left out has 0."""
        f = self._handle()
        return f.keep("coefficients", self._make_coefficients)

    def _if_there(self, ask: Any) -> Any:
        """Features of a kernel have neither coefficients nor a Gaussian of them."""
        try:
            return ask()
        except NotSupported as e:
            there = NotThere(str(e))
            there.code = e.code
            raise there from e

    def _make_coefficients(self) -> Any:
        rooms = self._if_there(self._handle().core.coefficients)
        about, flip = self._about(), self._flip()
        width, D = about["features"] + about["intercept"], self.n_features_in_
        place, columns = np.arange(about["features"]), about["features"]
        if not any(levels for _, levels in about["columns"]) and about["features"] < D:  # some were left out
            names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(D)])
            known = {str(name): i for i, name in enumerate(names)}
            place, columns = np.array([known[name] for name in about["names"]], dtype=int), D
        out = []
        for sign, room in zip((flip, 1.0), rooms):
            theta = sign * numbers(room, about["classes"], width)
            coef = np.zeros((about["classes"], columns))
            coef[:, place] = theta[:, : about["features"]]
            out.append((coef, theta[:, -1].copy() if about["intercept"] else np.zeros(about["classes"])))
        places = self._places()
        return out if about["classes"] == 1 else [(coef[places], intercept[places]) for coef, intercept in out]

    def _places(self) -> Any:
        """Where the classes stand in the library's order."""
        return [0]

    def _flip(self) -> float:
        """-1 where two classes have another order there."""
        return -1.0 if list(self._places()) == [1, 0] else 1.0

    @property
    def coef_names_(self) -> list[str]:
        """What each coefficient belongs to: a feature, or a word of a column, as "district=hill"."""
        about = self._about()
        if any(levels for _, levels in about["columns"]) or about["features"] == self.n_features_in_:
            return about["names"]
        return [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])]

    @property
    def coef_(self) -> Any:
        return self._coefficients()[0][0][0]

    @property
    def coef_sd_(self) -> Any:
        return self._coefficients()[1][0][0]

    @property
    def intercept_(self) -> Any:
        return float(self._coefficients()[0][1][0])

    def _effects(self, level: float, most: int) -> Any:
        """Names, means and interval ends of the strongest coefficients."""
        about, core = self._about(), self._handle().core
        e, first = core.effects(level)
        e, width = numbers(e, about["size"], 5) * [self._flip(), 1, self._flip(), self._flip(), 1], about["size"] // about["classes"]
        of_class = [""] if about["classes"] == 1 else [f"{c}: " for c in about["levels"]]
        names = [of_class[i // width] + about["names"][i % width] if i % width < len(about["names"]) else None
                 for i in range(about["size"])]
        shown = [i for i in numbers(first, about["size"], dtype=np.int64) if names[i] is not None][:most]
        return [names[i] for i in shown], e[shown, 0], e[shown, 2:4].min(axis=1), e[shown, 2:4].max(axis=1)

    def to_arviz(self, X: Any = None, y: Any = None, offset: Any = None, n: int = 1000, seed: int = 0) -> Any:
        """n draws as ArviZ's InferenceData: coefficients by name; with rows X and y also draws of y and the log likelihood."""
        from ._arviz import inference_data

        return inference_data(self, X, y, offset, n, seed)

    @property
    def posterior_(self) -> Gauss:
        """The Gaussian of coefficients and intercept in the user's units, up to 2000 coordinates."""
        f = self._handle()
        return f.keep("posterior", lambda: Gauss._of(self._if_there(f.core.gauss)))


class Number(RegressorMixin):
    """Predictions of a number."""

    def predict(self, X: Any, return_std: bool = False, offset: Any = None) -> Any:
        """The mean of y, and its standard deviation where that is asked for: noise and what is not known of the coefficients."""
        p = self._predictions(X, offset)[0]
        mean = p[:, 0].copy()
        return (mean, p[:, 1].copy()) if return_std else mean

    def predict_interval(self, X: Any, level: float = 0.9, offset: Any = None) -> Any:
        """Lower and upper end of the central interval that has y with this probability, n x 2."""
        if not 0 < level < 1:
            raise refuse(f"level = {level:g}, expected more than 0 and less than 1")
        return self._predictions(X, offset, level)[0][:, 2:4].copy()

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """R^2 of the means."""
        return float(r2_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))


def _class_text(c: Any) -> str:
    """A class as the library writes it."""
    return f"{float(c):.15g}" if isinstance(c, (bool, int, float, np.generic)) and not isinstance(c, str) else str(c)


class Classes(ClassifierMixin):
    """A target of classes, numbers or words, and its probabilities."""

    def _check_y(self, y: Any) -> Any:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return y

    def _likelihood(self) -> str:
        return "bernoulli" if len(self.classes_) == 2 else "categorical"

    def _target(self, y: Any, first: bool) -> dict[str, Any]:
        if first:
            told, given = self.__dict__.pop("_told", None), getattr(self.scaling, "classes", None)
            known = None if given is None else _classes_of(given)
            self.classes_ = np.unique((y if known is None else known) if told is None else told)
            if known is not None and list(map(_class_text, known)) != list(map(_class_text, self.classes_)):
                raise refuse(f"classes = {list(self.classes_)}, and those of scaling are {given}")
            if len(self.classes_) < 2:
                raise refuse(f"y has 1 class, {self.classes_[0]!r}; a classifier needs at least 2")
        strange = np.setdiff1d(y, self.classes_)
        if len(strange):
            raise refuse(f"y has the class {strange[0]!r}, which is none of the {len(self.classes_)} that were given first")
        lacks = first and len(np.unique(y)) < len(self.classes_) and getattr(self.scaling, "classes", None) is None
        if self.classes_.dtype.kind in "biuf" and not lacks:
            return {"y": y.astype(np.float64)}
        return {"y": np.searchsorted(self.classes_, y).astype(np.int32), "y_words": [_class_text(c) for c in self.classes_]}

    def _places(self) -> Any:
        levels = [_class_text(level) for level in self._about()["levels"]]
        return [levels.index(_class_text(c)) for c in self.classes_]

    @available_if(_has_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, offset: Any = None) -> Any:
        """More rows of a stream.  Its classes are `classes`, else those of the first call; its units too, or they are `scaling`."""
        if "_fitted" in self.__dict__:
            self._advance((self._training(X, y, sample_weight, offset, False),))
            return self
        if classes is not None:
            self._told = np.asarray(classes)
        try:
            return self._first(X, y, sample_weight, offset)
        finally:
            self.__dict__.pop("_told", None)

    def predict_log_proba(self, X: Any, offset: Any = None) -> Any:
        """log p of each class, integrated over the posterior."""
        return self._predictions(X, offset)[1][:, self._places()]

    def predict_proba(self, X: Any, offset: Any = None) -> Any:
        """p of each class, integrated over the posterior."""
        return np.exp(self.predict_log_proba(X, offset))

    def predict(self, X: Any, offset: Any = None) -> Any:
        """The likeliest class."""
        log_p = self.predict_log_proba(X, offset)
        return self.classes_[np.argmax(log_p, axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """The share of rows whose likeliest class is theirs."""
        return float(accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight))


LINEAR = {"method": "auto", "rank": None, "alpha": None, "fit_intercept": True, "standardise": True, "prior": None, "scaling": None,
          "n_jobs": None, "random_state": None}


@with_settings("linear", LINEAR)
class BayesianLinearRegression(Number, Linear, Regression):
    """Linear regression with uncertainty, as `fabayes fit` makes it: "auto" is the exact posterior with alpha and beta by the
    evidence, for very many features "lrvga".

    method : "auto", "exact", "ridge", "laplace", "spike-slab", ...; "kalman", "rvga" and "lrvga" stream and have partial_fit
    rank : factors of the posterior, of a method that has them
    alpha : prior precision of the coefficients, in fitting units; None: by the method's rule
    fit_intercept, standardise : without standardise the prior acts on the raw coefficients
    prior : a file of an earlier fit, whose posterior is the prior; or a Gauss over theta in fitting units
    scaling : a Scaling, the units; None: those of the rows of fit or of the first partial_fit
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    random_state : the seed
    """

    def _likelihood(self) -> str:
        return "gaussian"



@with_settings("linear", LINEAR)
class BayesianPoissonRegression(Number, Linear, Regression):
    """Regression of counts with mean exp(eta), as `fabayes fit --likelihood poisson` makes it; any y >= 0 is taken.

    Parameters as those of BayesianLinearRegression.
    """

    def _likelihood(self) -> str:
        return "poisson"


    def _check_y(self, y: Any) -> Any:
        y = super()._check_y(y)
        if (y < 0).any():
            raise refuse(f"y: row {int(np.argmax(y < 0))} has {y[y < 0][0]:g}, counts are not negative")
        return y

    def _more_tags(self) -> dict[str, Any]:
        return {"requires_positive_y": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@with_settings("linear", LINEAR)
class BayesianLogisticRegression(Classes, Linear, Regression):
    """Logistic regression of two classes, softmax of more, with uncertainty, as `fabayes fit` makes it: "auto" is the variational
    Gaussian "vga", for larger tables "laplace", for very many features "lrvga".

    Parameters as those of BayesianLinearRegression.
    """


    @property
    def coef_(self) -> Any:
        return self._coefficients()[0][0]

    @property
    def coef_sd_(self) -> Any:
        return self._coefficients()[1][0]

    @property
    def intercept_(self) -> Any:
        return self._coefficients()[0][1]


NETWORK = {"hidden_layer_sizes": None, "layers": None, "method": "auto", "rank": None, "alpha": None, "noise": None, "nu": None,
           "n_draws": None, "standardise": True, "prior": None, "scaling": None, "n_jobs": None, "random_state": None}


class Network(Theta, Regression):
    """The layers of a network."""

    def _model(self) -> str:
        if self.layers is not None:
            return str(self.layers)
        if self.hidden_layer_sizes is None:
            return "mlp"
        return "mlp:" + ",".join(str(int(h)) for h in np.atleast_1d(self.hidden_layer_sizes))

    def _plan(self) -> dict[str, Any]:
        plan = super()._plan()
        plan["noise"], plan["nu"] = self.noise, self.nu
        return plan

    def _draws(self) -> int:
        return 0 if self.n_draws is None else int(self.n_draws)

    @property
    def posterior_(self) -> Gauss:
        """The Gaussian over the weights, in fitting units; a mixture of several is in mixture_."""
        parts = self.mixture_
        if len(parts) > 1:
            raise error(6, f"the posterior is a mixture of {len(parts)} Gaussians: take mixture_")
        return parts[0][0]

    @property
    def layers_(self) -> str:
        """The layers in the grammar of the command line, the output included."""
        return self._about()["layers"]


@with_settings("networks", NETWORK, "hidden_layer_sizes")
class BayesianMLPRegressor(Number, Network):
    """A network with uncertainty for a number, as `fabayes fit --model` makes it.

    hidden_layer_sizes : as (50, 50); None: the network that predicts rows left out best
    layers : instead, the grammar of the command line: "input:1x28x28,conv:8x3,relu,flatten,dense:32,relu"
    method : "auto" ("ensemble"), "vifa", "laplace", "swag", "map", ...; "lrvga" streams and has partial_fit
    noise, nu : "fixed", "learned" or "output"; degrees of freedom of Student's t; None: what the command line chooses
    n_draws : of theta for a prediction; None: 100, or none where the method needs none
    rank, alpha, standardise, prior, scaling, n_jobs, random_state : as those of BayesianLinearRegression
    """

    def _likelihood(self) -> str:
        return "gaussian"



@with_settings("networks", NETWORK, "hidden_layer_sizes")
class BayesianMLPClassifier(Classes, Network):
    """A network with uncertainty for classes, as `fabayes fit --model` makes it.

    Parameters as those of BayesianMLPRegressor; "auto" is "vifa" where the layers are given, else "ensemble".
    """



# ---- Gaussian processes -----------------------------------------------------------------------------------------------------------


class Kernel:
    """A kernel in front of everything, and the noise as scikit-learn calls it."""

    def _kernel(self) -> str:
        if not isinstance(self.kernel, str):
            raise refuse(f"kernel = {self.kernel!r}: expected a text as docs/kernels.md has it, \"rbf:ard\" or \"2*matern32 + linear\"")
        return self.kernel

    def _settings_given(self) -> dict[str, str]:
        given = super()._settings_given()
        alpha = getattr(self, "alpha", None)
        if alpha is None:
            return given
        if np.ndim(alpha) != 0:
            raise refuse("alpha: expected a number; a noise of its own for each row is alpha / sample_weight")
        if not 0 < alpha < np.inf:
            raise refuse(f"alpha = {alpha!r}: expected a variance above 0, or None: learned")
        if self.method == "kernel-ridge":
            return {**given, "lambda": _settings.text_of(float(alpha))}
        return {**given, "beta": _settings.text_of(1 / float(alpha))}

    @property
    def alpha_(self) -> float:
        """Variance of the noise in fitting units, of a number."""
        beta = self._report()["beta"]
        if self._likelihood() != "gaussian":
            raise AttributeError(f"a {self._likelihood()} target has no noise of its own")
        return 1 / beta


PROCESS = {"kernel": "rbf:ard", "alpha": None, "n_restarts_optimizer": None, "method": "auto", "standardise": True, "n_jobs": None,
           "random_state": None}
SEARCH = ("beta", "lambda", "starts")  # said by alpha, which is lambda to kernel-ridge, and n_restarts_optimizer


class Process(Kernel, Regression):
    """A Gaussian process of all rows."""

    def _model(self) -> str:
        return "gp:" + self._kernel()

    def _settings_given(self) -> dict[str, str]:
        given, more = super()._settings_given(), self.n_restarts_optimizer
        if more is None:
            return given
        if not isinstance(more, (int, np.integer)) or more < 0:
            raise refuse(f"n_restarts_optimizer = {more!r}: expected a whole number from 0 on, or None: by the number of parameters")
        return {**given, "starts": str(int(more) + 1)}

    def update(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """Append rows; the parameters of the kernel and the noise stay."""
        self._handle()
        self._advance((self._training(X, y, sample_weight, offset, False),))
        return self

    def _learned(self) -> dict[str, Any]:
        f = self._handle()
        return f.keep("process", f.core.process)

    @property
    def kernel_(self) -> str:
        """The kernel with every parameter as it was learned, in fitting units: a `kernel` for others."""
        return self._learned()["found"]

    @property
    def kernel_parameters_(self) -> list[dict[str, Any]]:
        """Each parameter, in the order of theta_: its name ("s2", "l", .., "noise"), kernel and column, its value in the user's units,
        theta (fitting units), relevance (1 / theta of a length-scale of its own), fixed and at_bound."""
        names = ("name", "kernel", "column", "theta", "value", "relevance", "fixed", "at_bound")
        out = [dict(zip(names, p)) for p in self._learned()["parameters"]]
        return [{**p, "fixed": bool(p["fixed"]), "at_bound": bool(p["at_bound"])} for p in out]

    @property
    def theta_(self) -> Any:
        """Logarithms of the parameters of the kernel and, of a number, of the precision of the noise: fitting units."""
        values = [(p["name"], p["theta"]) for p in self.kernel_parameters_]
        return np.array([-np.log(v) if name == "noise" else np.log(v) for name, v in values])

    @property
    def log_marginal_likelihood_value_(self) -> float:
        """log p(y) of all rows in fitting units; of classes and counts Laplace's."""
        return self._learned()["lml"]

    @property
    def jitter_(self) -> float:
        """What a factor needed on its diagonal; usually 0."""
        return self._learned()["jitter"]


@with_settings("kernels", {"kernel": PROCESS["kernel"], "likelihood": "gaussian", **PROCESS}, "kernel", SEARCH)
class GaussianProcessRegressor(Number, Process):
    """A Gaussian process of a number, as `fabayes fit --model gp:KERNEL` makes it.

    kernel : a text, as "rbf:ard", "2*matern32 + linear", "rbf*periodic:col=day:p=7" (docs/kernels.md); a parameter that it gives stays,
        the others are found where the evidence is largest
    likelihood : "gaussian", or "poisson": counts, by Laplace's method
    alpha : variance of the noise in fitting units (with standardise a share of the variance of y); None: by the evidence
    n_restarts_optimizer : searches after the first; None: 4 and one for each free parameter, 9 at most
    method : "auto", or one of those that take kernels
    standardise : centre and scale columns and y, and length-scales of `kernel` are in these units; False: neither
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    random_state : the seed
    """

    def _likelihood(self) -> str:
        return self.likelihood

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, offset: Any = None) -> Any:
        """The mean of y, and its standard deviation, or the covariance of the rows; noise is in both."""
        if return_std and return_cov:
            raise refuse("return_std and return_cov: at most one of them")
        if not return_cov:
            return super().predict(X, return_std, offset)
        f = self._handle()
        n, mean, covariance = f.core.joint(self._new(X, offset))
        return numbers(mean, n), numbers(covariance, n, n)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, offset: Any = None) -> Any:
        """Functions at the rows, drawn jointly: rows x n_samples, without noise; of counts the logarithm of their rate."""
        seed = random_state if isinstance(random_state, (int, np.integer)) else check_random_state(random_state).randint(2**31 - 1)
        rows, draws = self._handle().core.functions(self._new(X, offset), n_samples, int(seed), 0)
        return numbers(draws, n_samples, rows).T

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """log p(y) under theta, ordered as theta_ (None: what was learned), and its gradient where that is asked for."""
        core = self._handle().core
        at = None if theta is None else np.ascontiguousarray(theta, dtype=np.float64)
        value, slope = core.evidence(at, bool(eval_gradient))
        return (value, numbers(slope, len(slope) // 8)) if eval_gradient else value


@with_settings("kernels", PROCESS, "kernel", SEARCH)
class GaussianProcessClassifier(Classes, Process):
    """A Gaussian process behind classes, by Laplace's method, as `fabayes fit --model gp:KERNEL` makes it.

    kernel, n_restarts_optimizer, method, standardise, n_jobs, random_state : as those of GaussianProcessRegressor
    """


STREAMING = {"kernel": "rbf:ard", "features": "nystrom", "n_components": None, "orthogonal": False, "method": "kalman", "rank": None,
             "scale_rows": None, "standardise": True, "scaling": None, "n_jobs": None, "random_state": None}
PRIOR = ("alpha", "beta", "intercept_alpha")  # of weights it is 1: the process's


class Features(Kernel, Regression):
    """A linear model of features of a kernel."""

    def _training(self, X: Any, y: Any, sample_weight: Any, offset: Any, first: bool) -> dict[str, Any]:
        table = super()._training(X, y, sample_weight, offset, first)
        if first:
            self._first_rows = len(table["y"])
        return table

    def _model(self) -> str:
        if self.features not in ("nystrom", "rff"):
            raise refuse(f"features = {self.features!r}: expected 'nystrom' or 'rff'")
        m = self.n_components
        if m is None:
            m = min(500, self._first_rows) if self.features == "nystrom" else 500
        m = int(m) + int(m) % 2 if self.features == "rff" else int(m)
        text = f"{self.features}:{self._kernel()}:{m}"
        if self.features == "nystrom" and self.orthogonal:
            raise refuse("orthogonal: landmarks have no frequencies; it is for features='rff'")
        seed = self._seed() if self.features == "rff" else None
        return text + (":orthogonal" if self.orthogonal else "") + ("" if seed is None else f":seed={seed}")

    def _plan(self) -> dict[str, Any]:
        plan = super()._plan()
        if self.scale_rows is not None:
            plan["scale_rows"] = int(self.scale_rows)
        return plan

    @property
    def features_(self) -> dict[str, Any]:
        """The map: kind, kernel, theta (logarithms of its parameters), size, and landmarks or seed and orthogonal."""
        about: dict[str, Any] = json.loads(self._handle().core.scaling())["features"]
        return about


@with_settings("linear", {"kernel": "rbf:ard", "likelihood": "gaussian", "alpha": None, **STREAMING}, "kernel", PRIOR)
class StreamingGP(Number, Features):
    """A Gaussian process of a number by features of its kernel, in one pass: `fabayes fit --model nystrom:KERNEL:M -m kalman`.

    kernel : a text, as that of GaussianProcessRegressor; what it does not give, and landmarks, come from the first rows, and stay
    likelihood : "gaussian", or "poisson": counts, by method="rvga" or "lrvga"
    alpha : variance of the noise in fitting units; None: learned in the stream
    features : "nystrom": landmarks, rows of the first call; "rff": random cosines and sines, of stationary kernels
    n_components : of them; None: 500, and of landmarks no more than rows of the first call; rff come in pairs, an odd number is one more
    orthogonal : of rff: frequencies that are orthogonal
    method : "kalman" (all of the covariance), "lrvga" (rank), "rvga"; or of linear models any other, which has no partial_fit
    rank : of lrvga
    scale_rows : rows that units, kernel and landmarks come from; None: the first 1000, and two for each landmark
    standardise, scaling, n_jobs, random_state : as those of BayesianLinearRegression; the seed is that of rff too
    """

    def _likelihood(self) -> str:
        return self.likelihood


@with_settings("linear", {**STREAMING, "method": "rvga"}, "kernel", PRIOR)
class StreamingGPClassifier(Classes, Features):
    """The same of two or more classes: `fabayes fit --model nystrom:KERNEL:M -m rvga`.

    Parameters as those of StreamingGP; method "rvga" or "lrvga" streams.
    """


# ---- search -----------------------------------------------------------------------------------------------------------------------


class BayesSearchCV(BaseSearchCV):
    """Search for parameters of any estimator by cross-validation, each trial where a Gaussian process of those before promises most.

    estimator : of scikit-learn's manners
    search_spaces : ranges by the names of parameters: (0.1, 10.0), (1, 5) whole numbers, (1e-4, 0.1, "log"), "1e-4:0.1:log", or a list of
        choices (fabayes.Proposer)
    n_iter : trials
    n_points : trials side by side, which do not know of one another
    acquisition, xi, starts : as those of fabayes.Proposer
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score : as those of scikit-learn's RandomizedSearchCV;
        with several scores refit names the one that is searched
    random_state : the seed

    A trial whose fit fails (error_score is NaN) is kept away from; one of which no fit went well is in proposer_.trials alone.  After
    fit: best_params_, best_score_, best_index_, best_estimator_,
    cv_results_, .. as scikit-learn's searches have them, and proposer_, the process of the trials.
    """

    def __init__(self, estimator: Any, search_spaces: Any = None, *, n_iter: int = 30, n_points: int = 1, acquisition: str = "ei", xi: float = 0.0,
                 starts: int | None = None, scoring: Any = None, n_jobs: int | None = None, refit: Any = True, cv: Any = None,
                 verbose: int = 0, pre_dispatch: Any = "2*n_jobs", error_score: Any = np.nan, return_train_score: bool = False,
                 random_state: Any = None):
        super().__init__(estimator=estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose,
                         pre_dispatch=pre_dispatch, error_score=error_score, return_train_score=return_train_score)
        self.search_spaces, self.n_iter, self.n_points = search_spaces, n_iter, n_points
        self.acquisition, self.xi, self.starts, self.random_state = acquisition, xi, starts, random_state

    def _searched(self, results: dict[str, Any]) -> str:
        """The column of the score that is searched."""
        if "mean_test_score" in results:
            return "mean_test_score"
        name = f"mean_test_{self.refit}"
        if name not in results:
            raise refuse(f"refit = {self.refit!r}: with several scores it names the one that is searched")
        return name

    def _run_search(self, evaluate_candidates: Any) -> None:
        for name in ("n_iter", "n_points"):
            if not isinstance(getattr(self, name), (int, np.integer)) or getattr(self, name) < 1:
                raise refuse(f"{name} = {getattr(self, name)!r}, expected a whole number from 1 on")
        if not isinstance(self.search_spaces, Mapping):
            raise refuse(f"search_spaces = {self.search_spaces!r}: expected a dict of ranges by name")
        state = self.random_state
        seed = 0 if state is None else int(state) if isinstance(state, (int, np.integer)) else check_random_state(state).randint(2**31 - 1)
        known = self.estimator.get_params()
        for name in self.search_spaces:
            if name not in known:
                raise refuse(_settings.no("parameter", str(name), sorted(known)))
        self.proposer_ = Proposer(self.search_spaces, maximise=True, acquisition=self.acquisition, xi=self.xi, starts=self.starts, seed=seed)
        done = kept = 0
        while done < self.n_iter:
            points = self.proposer_.ask(min(self.n_points, self.n_iter - done))
            done += len(points)
            try:
                results = evaluate_candidates(points)
            except ValueError as e:  # scikit-learn gives up where no fit of these points went well
                if self.error_score == "raise" or "fits failed" not in str(e):
                    raise
                warnings.warn(str(e), FitFailedWarning)
                why = e
                scores = [np.nan] * len(points)
            else:
                scores = results[self._searched(results)][kept:]
                kept += len(points)
            for point, score in zip(points, scores):
                self.proposer_.tell(point, score)
        if kept == 0:
            raise refuse(f"none of the {done} trials could be fitted; the last: {why}")


# ---- from files -------------------------------------------------------------------------------------------------------------------


def _columns(estimator: Any, names: list[str]) -> None:
    estimator.n_features_in_ = len(names)
    if names != [f"x{i}" for i in range(len(names))]:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _classes_of(levels: list[Any]) -> Any:
    """Sorted; whole numbers as such, also where the file has them as words."""
    if isinstance(levels[0], str):
        try:
            numbers_there = [float(level) for level in levels]
        except ValueError:
            return np.array(levels)
        if [f"{n:.15g}" for n in numbers_there] != levels:
            return np.array(levels)
        levels = numbers_there
    values = np.sort(np.array(levels))
    return values.astype(np.int64) if (values == np.floor(values)).all() else values


def _noise_given(learned: dict[str, Any]) -> float | None:
    """The variance of a noise that was not searched."""
    return next((theta for name, _, _, theta, _, _, fixed, _ in learned["parameters"] if name == "noise" and fixed), None)


def regression_from_bytes(name: str, data: bytes) -> Any:
    """The estimator of a file of `fabayes fit`."""
    core = _core.regression_of(name, data, threads_of(None))
    about = core.describe()
    linear = {"gaussian": BayesianLinearRegression, "poisson": BayesianPoissonRegression, "bernoulli": BayesianLogisticRegression,
              "categorical": BayesianLogisticRegression}
    if about["likelihood"] not in linear:
        raise error(6, f"{name}: likelihood '{about['likelihood']}' has no estimator")
    is_classes, features = bool(about["levels"]), json.loads(core.scaling()).get("features")
    if about["process"]:
        learned = core.process()
        estimator = (GaussianProcessClassifier if is_classes else GaussianProcessRegressor)(learned["kernel"], method=about["method"])
        estimator.set_params(**({} if is_classes else {"likelihood": about["likelihood"], "alpha": _noise_given(learned)}))
    elif features:
        about_rff = {"orthogonal": bool(features["orthogonal"]), "random_state": features["seed"]} if features["kind"] == "rff" else {}
        estimator = (StreamingGPClassifier if is_classes else StreamingGP)(
            features["kernel"], features=features["kind"], n_components=features["size"], method=about["method"], **about_rff)
        estimator.set_params(**({} if is_classes else {"likelihood": about["likelihood"]}))
    elif about["method"] in _settings.RISK and not is_classes:
        from .risk import of_file

        estimator = of_file(about, data)
    elif about["layers"] is None:
        estimator = linear[about["likelihood"]](method=about["method"], fit_intercept=bool(about["intercept"]))
    else:
        network = BayesianMLPClassifier if is_classes else BayesianMLPRegressor
        hidden = about["layers"].rpartition(",")[0] or "linear"  # the output layer is not given, it follows from the target
        estimator = network(layers=hidden, method=about["method"])
    estimator._fitted = Fitted(core, "regression")
    _columns(estimator, [column for column, _ in about["columns"]])
    estimator._words = [column for column, levels in about["columns"] if levels]
    if is_classes:
        estimator.classes_ = _classes_of(about["levels"])
    return estimator


def factors_from_bytes(name: str, data: bytes) -> FactorAnalysis:
    """The estimator of a file of `fabayes fa`."""
    fitted = _unpack("factors", data)
    g = Gauss._of(fitted.core.result())
    estimator = FactorAnalysis(g.rank, method=fitted.core.report()["method"])
    estimator._fitted = fitted
    _columns(estimator, [f"x{i}" for i in range(g.D)])
    return estimator
