"""scikit-learn estimators: the library's fits of tables, in the manner that scikit-learn expects.

The parameters of an estimator are its own and then every setting of its methods, written into the signature from the library's
tables when this module is imported.  None is the default of the table.
"""

from __future__ import annotations

import inspect
import multiprocessing
import os
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, DensityMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from . import _core, _settings
from ._errors import error, refuse
from ._gauss import Gauss, numbers

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6

    def validate_data(estimator: Any, /, *args: Any, **keys: Any) -> Any:
        return estimator._validate_data(*args, **keys)


__all__ = ["FactorAnalysis", "BayesianLinearRegression", "BayesianLogisticRegression", "BayesianPoissonRegression",
           "BayesianMLPRegressor", "BayesianMLPClassifier"]

FLOATS = [np.float64, np.float32]
SAID_ELSEWHERE = ("K", "seed")  # n_components or rank; random_state


# ---- what the estimators share ----------------------------------------------------------------------------------------------------


def with_settings(of: str, own: dict[str, Any], first: str | None = None) -> Any:
    """Give a class an __init__ whose signature has its own parameters and the settings of its methods."""

    def decorate(cls: Any) -> Any:
        table = _settings.union(of)
        settings = [name for name in table if name not in SAID_ELSEWHERE and name not in own]
        values = {**own, **dict.fromkeys(settings)}
        keys = ", ".join(f"{name}={value!r}" for name, value in values.items() if name != first)
        head = f"{first}={own[first]!r}, *, " if first else "*, "
        body = "".join(f"\n    self.{name} = {name}" for name in values)
        space: dict[str, Any] = {}
        exec(f"def __init__(self, {head}{keys}):{body}", space)  # written out: scikit-learn reads the signature
        cls.__init__ = space["__init__"]
        cls.__init__.__qualname__ = f"{cls.__name__}.__init__"
        cls._of, cls._setting_names = of, settings + [n for n in own if n in table and n not in SAID_ELSEWHERE]
        lines = [f"    {name} : {'|'.join(s.choices) or s.type}, None is {s.default}\n        {s.help}"
                 for name, s in table.items() if name not in SAID_ELSEWHERE]
        cls.__doc__ = inspect.cleandoc(cls.__doc__) + "\n\nSettings of the methods\n-----------------------\n" + "\n".join(lines)
        return cls

    return decorate


def threads_of(n_jobs: int | None) -> int:
    """Threads for the library, 0: all cores."""
    if n_jobs is not None:
        return 0 if n_jobs < 0 else max(1, int(n_jobs))
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        return int(limit)
    return 1 if multiprocessing.parent_process() is not None else 0


class Fitted:
    """A handle of the library; its pickle is the bytes of the file."""

    def __init__(self, core: Any, kind: str):
        self.core, self.kind, self.kept = core, kind, {}

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


def _unpack(kind: str, data: bytes) -> Fitted:
    if kind == "regression":
        return Fitted(_core.regression_of("bytes", data, threads_of(None)), kind)
    parts, metadata, _ = _core.posterior_of(data)
    if kind == "factors" and _settings.method(metadata["method"]).streams:
        return Fitted(_core.factors_of("bytes", data, threads_of(None)), kind)
    report = {"method": metadata.get("method"), "rows": int(metadata.get("n", 0)), "iterations": 0,
              "converged": int(metadata.get("converged", -1)), "loglik_mean": float("nan")}
    return Fitted(Bytes(data, parts[0][0], report), kind)


class Common:
    """Parameters to settings, validated arrays, files."""

    def _settings_given(self, method: str) -> dict[str, str]:
        given = {name: getattr(self, name) for name in self._setting_names}
        if self.random_state is not None:
            seed = self.random_state
            if not isinstance(seed, (int, np.integer)):
                seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
            if "seed" in _settings.table(method, self._of):
                given["seed"] = int(seed)
        return _settings.check(method, self._of, given)

    def _handle(self) -> Fitted:
        if "_fitted" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet; call 'fit' first.")
        return self._fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def _streams(self) -> bool:
        return any(m.streams for m in _settings.methods() if m.name == self.method and _settings.suits(m, self._of))

    def _as_before(self, before: dict[str, Any]) -> None:
        self.__dict__.clear()
        self.__dict__.update(before)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file that `fabayes` reads."""
        _core.write(os.fspath(path), self._handle().core.pack())


def _has_stream(self: Any) -> bool:
    if self._streams():
        return True
    raise AttributeError(f"partial_fit needs a method that streams, and method is '{self.method}'")


def _weights(sample_weight: Any, n: int) -> Any:
    """Numbers >= 0, or None.  A weight of 0 is a row that is not there."""
    if sample_weight is None:
        return None
    w = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.ndim != 1 or len(w) != n:
        raise ValueError(f"sample_weight.shape == {w.shape}, expected {(n,)}!")
    if (w < 0).any():
        raise refuse(f"sample_weight: row {int(np.argmax(w < 0))} has {w[w < 0][0]:g}, negative weights are not taken")
    if not (w > 0).any():
        raise refuse("sample_weight: all weights are 0, and there are no rows")
    return w


def _more_than_one(n: int) -> None:
    if n < 2:
        raise refuse(f"n_samples = {n}: {n} sample is too few, expected at least 2")


# ---- factor analysis --------------------------------------------------------------------------------------------------------------


@with_settings("vectors", {"n_components": None, "method": "ml", "rotation": None, "n_jobs": None, "random_state": None}, "n_components")
class FactorAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, Common, BaseEstimator):
    """The Gaussian of the rows with low-rank-plus-diagonal covariance, as `fabayes fa` finds it.

    n_components : number of factors; None: by BIC
    method : "ml", "em", "ppca", "pca", or one that streams and has partial_fit: "online-ml", "recursive-em", ...
    rotation : of components_ and transform: "principal", "varimax", "promax", "oblimin"; None: as they come
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    random_state : the seed
    """

    def _begin(self, D: int) -> Any:
        method = self.method
        if method not in _settings.methods_of("vectors"):
            raise refuse(f"there is no method '{method}' for vectors; it is one of {', '.join(_settings.methods_of('vectors'))}")
        rank = None if self.n_components is None else int(self.n_components)
        return _core.factors(D, method, self._settings_given(method), rank, threads_of(self.n_jobs))

    def _rows(self, X: Any, reset: bool) -> Any:
        X = validate_data(self, X, reset=reset, dtype=FLOATS)
        return X if X.flags.c_contiguous or X.flags.f_contiguous else np.ascontiguousarray(X)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FactorAnalysis:
        """Fit all rows at once."""
        before = dict(self.__dict__)
        try:
            X = self._rows(X, True)
            _more_than_one(len(X))
            weight = _weights(sample_weight, len(X))
            if weight is not None and not weight.all():
                X, weight = np.ascontiguousarray(X[weight > 0]), weight[weight > 0]
            core = self._begin(X.shape[1])
            core.update(X, weight)
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
        begun = "_fitted" in self.__dict__
        X = self._rows(X, not begun)
        weight = _weights(sample_weight, len(X))
        if weight is not None and not weight.all():
            X, weight = np.ascontiguousarray(X[weight > 0]), weight[weight > 0]
        core = self._fitted.core if begun else self._begin(X.shape[1])
        core.update(X, weight)
        self._fitted = Fitted(core, "factors")
        return self

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
            return g.factor.T
        return numbers(g._core.loadings(self.rotation), g.D, g.rank).T

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
        return numbers(self.gauss_._core.scores(X, self.rotation), len(X), self.gauss_.rank)

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

    def _likelihood(self, y: Any) -> str:
        raise NotImplementedError

    def _model(self) -> str:
        return "linear"

    def _check_y(self, y: Any) -> Any:
        y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None, input_name="y")
        return y.astype(np.float64)

    def _target(self, y: Any, first: bool) -> dict[str, Any]:
        return {"y": y}

    def _name(self) -> str | None:
        """The method for the library; None: what the command line chooses."""
        if self.method == "auto":
            return None
        if self.method not in _settings.methods_of(self._of):
            raise refuse(_settings._no("method", str(self.method), list(_settings.methods_of(self._of))))
        return self.method

    def _plan(self, y: Any) -> dict[str, Any]:
        method = self._name()
        known = method or self._default_method()
        settings = self._settings_given(known)
        if self.rank is not None and "K" not in _settings.table(known, self._of):
            raise refuse(f"rank = {self.rank}: {known} has no factors")
        if self.rank is not None:
            settings["K"] = _settings.text_of(self.rank)
        plan = {"model": self._model(), "likelihood": self._likelihood(y), "method": method, "settings": _pairs(settings)}
        for key, value in (("no_scale", not getattr(self, "standardise", True)),
                           ("no_intercept", not getattr(self, "fit_intercept", True))):
            plan[key] = int(value)
        prior = getattr(self, "prior", None)
        plan["prior"] = None if prior is None else os.fspath(prior)
        return plan

    def _default_method(self) -> str:
        """Whose settings are meant when the library is to choose the method."""
        raise NotImplementedError

    def _table(self, X: Any) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        if sparse.issparse(X):
            X = X.tocsr()
            if not X.has_sorted_indices:
                X = X.sorted_indices()
            return {"values": np.ascontiguousarray(X.data), "start": X.indptr.astype(np.int64), "index": X.indices.astype(np.int32),
                    "features": X.shape[1]}
        return {"n": len(X), "x": X, "names": None if names is None else [str(name) for name in names]}

    def _training(self, X: Any, y: Any, sample_weight: Any, offset: Any, first: bool) -> dict[str, Any]:
        weight = _weights(sample_weight, len(y))
        if offset is not None:
            offset = check_array(offset, ensure_2d=False, dtype=np.float64, input_name="offset")
        if weight is not None and (weight == weight[0]).all() and weight[0] == 1:
            weight = None
        if weight is not None and not weight.all():
            there = weight > 0
            X, y, weight = X[there], y[there], weight[there]
            offset = None if offset is None else offset[there]
        if sparse.issparse(X) and (weight is not None or offset is not None):
            raise error(6, "sparse rows have no weights and no offsets; give a dense matrix")
        table = {**self._table(X), **self._target(y, first)}
        if not sparse.issparse(X) and table["names"] and "y" in table["names"]:
            table["y_name"] = "target"
        if weight is not None:
            table["weight"] = weight
        if offset is not None:
            table["offset"] = offset
        return table

    def _validated(self, X: Any, y: Any, reset: bool) -> Any:
        X, y = validate_data(self, X, y, reset=reset, dtype=FLOATS, accept_sparse="csr",
                             multi_output=True, y_numeric=False)
        return X, self._check_y(y)

    def _first(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> None:
        X, y = self._validated(X, y, True)
        _more_than_one(X.shape[0])
        table = self._training(X, y, sample_weight, offset, True)
        core = _core.fit(table, self._plan(y), threads_of(self.n_jobs))
        self._fitted = Fitted(core, "regression")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """Fit all rows.  A weight w counts as w rows, offsets are added to the linear predictor."""
        before = dict(self.__dict__)
        try:
            self._first(X, y, sample_weight, offset)
        except BaseException:
            self._as_before(before)
            raise
        return self

    def _more(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = self._validated(X, y, False)
        table = self._training(X, y, sample_weight, None, False)
        self._fitted.core.update(table)
        self._fitted.kept.clear()

    @available_if(_has_stream)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """More rows of a stream.  Its units come from the first call: give it rows that show the scale."""
        if "_fitted" in self.__dict__:
            self._more(X, y, sample_weight)
            return self
        return self.fit(X, y, sample_weight)

    # ---- what it says

    def _about(self) -> dict[str, Any]:
        f = self._handle()
        return f.keep("about", f.core.describe)

    def _report(self) -> dict[str, Any]:
        f = self._handle()
        return f.keep("report", f.core.report)

    def _predictions(self, X: Any, level: float = 0.0) -> Any:
        f = self._handle()
        X = validate_data(self, X, reset=False, dtype=FLOATS, accept_sparse="csr")
        n, classes, p, logp, _ = f.core.predict(self._table(X), self._draws(), 0, False, False, level)
        return None if p is None else numbers(p, n, 4), None if logp is None else numbers(logp, n, classes)

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

    def sample_posterior(self, n: int, seed: int = 0) -> Any:
        """Draws of theta, one per row: the coefficients and the intercept in the user's units; of a network its weights."""
        f = self._handle()
        return numbers(f.core.sample(n, seed, 0), n, self._about()["size"])


class Linear:
    """Coefficients of a linear model."""

    def _coefficients(self) -> Any:
        """classes x features and classes, means and standard deviations; a column that the fit left out has 0."""
        f = self._handle()
        return f.keep("coefficients", self._make_coefficients)

    def _make_coefficients(self) -> Any:
        about = self._about()
        width = about["features"] + about["intercept"]
        names = getattr(self, "feature_names_in_", None)
        known = {str(name): i for i, name in enumerate(names if names is not None else
                                                       [f"x{i}" for i in range(self.n_features_in_)])}
        place = [known.get(name, i) for i, name in enumerate(about["names"])]
        if len(about["names"]) == self.n_features_in_:
            place = list(range(self.n_features_in_))
        out = []
        for room in self._handle().core.coefficients():
            theta = numbers(room, about["classes"], width)
            coef = np.zeros((about["classes"], max(self.n_features_in_, len(place))))
            coef[:, place] = theta[:, : about["features"]]
            out.append((coef, theta[:, -1].copy() if about["intercept"] else np.zeros(about["classes"])))
        return out

    @property
    def coef_(self) -> Any:
        return self._coefficients()[0][0][0]

    @property
    def coef_sd_(self) -> Any:
        return self._coefficients()[1][0][0]

    @property
    def intercept_(self) -> Any:
        return float(self._coefficients()[0][1][0])

    @property
    def posterior_(self) -> Gauss:
        """The Gaussian of coefficients and intercept in the user's units, up to 2000 coordinates."""
        f = self._handle()
        return f.keep("posterior", lambda: Gauss._of(f.core.gauss()))


class Number(RegressorMixin):
    """Predictions of a number."""

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of y, and its standard deviation where that is asked for: noise and what is not known of the coefficients."""
        p, _ = self._predictions(X)
        mean = p[:, 0].copy()
        return (mean, p[:, 1].copy()) if return_std else mean

    def predict_interval(self, X: Any, level: float = 0.9) -> Any:
        """Lower and upper end of the central interval that has y with this probability, n x 2."""
        if not 0 < level < 1:
            raise refuse(f"level = {level:g}, expected more than 0 and less than 1")
        return self._predictions(X, level)[0][:, 2:4].copy()


class Classes(ClassifierMixin):
    """A target of classes, numbers or words, and its probabilities."""

    def _check_y(self, y: Any) -> Any:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return y

    def _likelihood(self, y: Any) -> str:
        return "bernoulli" if len(np.unique(y)) == 2 else "categorical"

    def _target(self, y: Any, first: bool) -> dict[str, Any]:
        if first:
            self.classes_ = np.unique(y)
            if len(self.classes_) < 2:
                raise refuse(f"y has 1 class, {self.classes_[0]!r}; a classifier needs at least 2")
        strange = np.setdiff1d(y, self.classes_)
        if len(strange):
            raise refuse(f"y has the class {strange[0]!r}, which the first rows did not have")
        if self.classes_.dtype.kind in "biuf":
            return {"y": y.astype(np.float64)}
        return {"y": np.searchsorted(self.classes_, y).astype(np.int32), "y_words": [str(c) for c in self.classes_]}

    @available_if(_has_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """More rows of a stream.  The first call must show every class, and the scale."""
        if classes is not None and "_fitted" not in self.__dict__:
            absent = np.setdiff1d(classes, y)
            if len(absent):
                raise error(6, f"the first rows of a stream must have every class, and {absent[0]!r} is absent")
        return Regression.partial_fit.__get__(self)(X, y, sample_weight)

    def predict_log_proba(self, X: Any) -> Any:
        """log p of each class, integrated over the posterior."""
        return self._predictions(X)[1]

    def predict_proba(self, X: Any) -> Any:
        """p of each class, integrated over the posterior."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Any:
        """The likeliest class."""
        log_p = self.predict_log_proba(X)
        return self.classes_[np.argmax(log_p, axis=1)]


LINEAR = {"method": "auto", "rank": None, "alpha": None, "fit_intercept": True, "standardise": True, "prior": None, "n_jobs": None,
          "random_state": None}


@with_settings("linear", LINEAR)
class BayesianLinearRegression(Number, Linear, Regression):
    """Linear regression with uncertainty, as `fabayes fit` makes it: "auto" is the exact posterior with alpha and beta by the
    evidence, for very many features "lrvga".

    method : "auto", "exact", "ridge", "laplace", "spike-slab", ...; "kalman", "rvga" and "lrvga" stream and have partial_fit
    rank : factors of the posterior, of a method that has them
    alpha : prior precision of the coefficients, in fitting units; None: by the method's rule
    fit_intercept, standardise : without standardise the prior acts on the raw coefficients
    prior : a file of an earlier fit, whose posterior is the prior
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    random_state : the seed
    """

    def _likelihood(self, y: Any) -> str:
        return "gaussian"

    def _default_method(self) -> str:
        return "exact"


@with_settings("linear", LINEAR)
class BayesianPoissonRegression(Number, Linear, Regression):
    """Regression of counts with mean exp(eta), as `fabayes fit --likelihood poisson` makes it; any y >= 0 is taken.

    Parameters as those of BayesianLinearRegression.
    """

    def _likelihood(self, y: Any) -> str:
        return "poisson"

    def _default_method(self) -> str:
        return "laplace"

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

    def _default_method(self) -> str:
        return "vga"

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
           "n_draws": None, "standardise": True, "prior": None, "n_jobs": None, "random_state": None}


class Network(Regression):
    """The layers of a network."""

    def _model(self) -> str:
        if self.layers is not None:
            return str(self.layers)
        if self.hidden_layer_sizes is None:
            return "mlp"
        return "mlp:" + ",".join(str(int(h)) for h in np.atleast_1d(self.hidden_layer_sizes))

    def _plan(self, y: Any) -> dict[str, Any]:
        plan = super()._plan(y)
        plan["noise"], plan["nu"] = self.noise, self.nu
        return plan

    def _draws(self) -> int:
        return 0 if self.n_draws is None else int(self.n_draws)

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
    rank, alpha, standardise, prior, n_jobs, random_state : as those of BayesianLinearRegression
    """

    def _likelihood(self, y: Any) -> str:
        return "gaussian"

    def _default_method(self) -> str:
        return "ensemble"


@with_settings("networks", NETWORK, "hidden_layer_sizes")
class BayesianMLPClassifier(Classes, Network):
    """A network with uncertainty for classes, as `fabayes fit --model` makes it.

    Parameters as those of BayesianMLPRegressor; "auto" is "vifa" where the layers are given, else "ensemble".
    """

    def _default_method(self) -> str:
        return "vifa" if self.layers is not None or self.hidden_layer_sizes is not None else "ensemble"


def _pairs(settings: dict[str, str]) -> list[str]:
    return [f"{name}={text}" for name, text in settings.items()]


# ---- from files -------------------------------------------------------------------------------------------------------------------


def _columns(estimator: Any, names: list[str]) -> None:
    estimator.n_features_in_ = len(names)
    if names != [f"x{i}" for i in range(len(names))]:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def regression_from_bytes(name: str, data: bytes) -> Any:
    """The estimator of a file of `fabayes fit`."""
    core = _core.regression_of(name, data, threads_of(None))
    about = core.describe()
    linear = {"gaussian": BayesianLinearRegression, "poisson": BayesianPoissonRegression, "bernoulli": BayesianLogisticRegression,
              "categorical": BayesianLogisticRegression}
    if about["likelihood"] not in linear:
        raise error(6, f"{name}: likelihood '{about['likelihood']}' has no estimator")
    is_classes = bool(about["levels"])
    if about["layers"] is None:
        estimator = linear[about["likelihood"]](method=about["method"], fit_intercept=bool(about["intercept"]))
    else:
        network = BayesianMLPClassifier if is_classes else BayesianMLPRegressor
        hidden = about["layers"].rpartition(",")[0] or "linear"  # the output layer is not given, it follows from the target
        estimator = network(layers=hidden, method=about["method"])
    estimator._fitted = Fitted(core, "regression")
    _columns(estimator, [column for column, _ in about["columns"]])
    if is_classes:
        levels = np.array(about["levels"])
        whole = levels.dtype.kind == "f" and (levels == np.floor(levels)).all()
        estimator.classes_ = levels.astype(np.int64) if whole else levels
    return estimator


def factors_from_bytes(name: str, data: bytes) -> FactorAnalysis:
    """The estimator of a file of `fabayes fa`."""
    fitted = _unpack("factors", data)
    g = Gauss._of(fitted.core.result())
    estimator = FactorAnalysis(g.rank, method=fitted.core.report()["method"])
    estimator._fitted = fitted
    _columns(estimator, [f"x{i}" for i in range(g.D)])
    return estimator
