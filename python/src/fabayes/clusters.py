"""scikit-learn estimators that find clusters: KMeans, GaussianMixture, BayesianGaussianMixture, and piece by piece MiniBatchKMeans and MixtureOfFactorAnalysers."""

# scikit-learn has no types, and its mixins are Any to mypy: signatures are checked where they are used (tests/typed.py).
# mypy: ignore-errors

from __future__ import annotations

import json
import os
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, DensityMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from . import _core, _settings
from ._errors import Error, refuse
from ._gauss import Gauss, numbers
from ._tables import forward, more_than_one, taken, weights_of
from .sklearn import threads_of, validated

__all__ = ["KMeans", "MiniBatchKMeans", "GaussianMixture", "BayesianGaussianMixture", "MixtureOfFactorAnalysers"]

STARTS = {"k-means++": "greedy", "random": "rows"}


def tensor(data: bytes, name: str) -> Any:
    """A tensor of doubles of a packed file."""
    start = 8 + int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8:start])[name]["data_offsets"]
    return np.frombuffer(data[start + begin : start + end], dtype="<f8").copy()


class Rows:
    """Rows, weights and seeds."""

    n_jobs: int | None
    random_state: Any

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, (int, np.integer)):
            return None if self.random_state is None else int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _rows(self, X: Any, reset: bool) -> Any:
        return forward(validated(self, taken(X), reset))

    def _weighted(self, X: Any, sample_weight: Any, reset: bool) -> Any:
        """Rows and weights."""
        X = self._rows(X, reset)
        return X, weights_of(sample_weight, len(X))

    def _create(self, method: str, about: dict[str, Any], given: dict[str, Any]) -> Any:
        seed = self._seed()
        if seed is not None:
            given["seed"] = seed
        texts = {name: _settings.text_of(value) for name, value in given.items() if value is not None}
        return _core.fit_of(method, texts, about, threads_of(self.n_jobs))


class Centroids(Rows, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What they share: rows, seeds, and what centroids say of rows."""

    n_clusters: int
    init: Any

    def _few(self, X: Any) -> int:
        """Clusters that there can be: distinct rows, where they are fewer than n_clusters, which is said."""
        distinct = len(np.unique(X, axis=0))
        if distinct < self.n_clusters <= len(X):
            warnings.warn(f"{distinct} distinct rows for {self.n_clusters} clusters: as many clusters as distinct rows",
                          ConvergenceWarning, stacklevel=3)
            return distinct
        return self.n_clusters

    def _begin(self, method: str, D: int, given: dict[str, Any], clusters: int | None = None) -> Any:
        about: dict[str, Any] = {"vectors": D}
        if isinstance(self.init, str):
            if self.init not in STARTS:
                raise refuse(_settings.no("init", self.init, list(STARTS)) + f"; there are {', '.join(STARTS)}, or an array")
        else:
            centroids = np.ascontiguousarray(self.init, dtype=np.float64)
            if centroids.shape != (self.n_clusters, D):
                raise refuse(f"init: an array of shape {centroids.shape}, expected {(self.n_clusters, D)}")
            about["centroids"] = centroids
        return self._create(method, about, {"G": clusters or self.n_clusters, **given})

    def _keep(self, data: bytes) -> None:
        self._data = data
        parts = _core.posterior_of(data)[0]
        self.cluster_centers_ = np.array([Gauss._of(g).mean for g, _ in parts])

    def _fitted(self) -> None:
        if "cluster_centers_" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet; call 'fit' first.")

    def _nearest(self, X: Any, centroids: Any) -> tuple[Any, Any]:
        labels, squares = _core.nearest_mean(centroids, X, threads_of(self.n_jobs))
        return numbers(labels, len(X), dtype=np.int64).copy(), numbers(squares, len(X))

    @property
    def mixture_(self) -> list[tuple[Gauss, float]]:
        """The parts N(centroid, psi I) with their weights, the shares of the rows."""
        self._fitted()
        return [(Gauss._of(g), w) for g, w in _core.posterior_of(self._data)[0]]

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def predict(self, X: Any) -> Any:
        """The nearest centroid of each row, of equal ones the first."""
        self._fitted()
        return self._nearest(self._rows(X, False), self.cluster_centers_)[0]

    def transform(self, X: Any) -> Any:
        """The distance of each row to each centroid."""
        self._fitted()
        X = self._rows(X, False)
        squares = [self._nearest(X, self.cluster_centers_[k : k + 1])[1] for k in range(len(self.cluster_centers_))]
        return np.sqrt(np.stack(squares, axis=1))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of squared distances of the rows to the nearest centroids."""
        self._fitted()
        X, weight = self._weighted(X, sample_weight, False)
        squares = self._nearest(X, self.cluster_centers_)[1]
        return -float(squares.sum() if weight is None else weight @ squares)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file that `fabayes` reads."""
        self._fitted()
        _core.write(os.fspath(path), self._data)


class KMeans(Centroids):
    """Clusters around means, as the method `kmeans` finds them: labels are exact, whatever the type of the rows.

    n_clusters : number of clusters; where there are fewer distinct rows, as many as these, with a warning
    init : "k-means++", greedy as scikit-learn has it; "random", rows at random; or centroids, an array (n_clusters, n_features)
    n_init : starts, of which the best end is kept; "auto": 1, or 10 of rows at random
    max_iter : steps of a start
    tol : squared moves of the centroids that end it, relative to the mean variance of the columns; 0: when no row changes its cluster
    random_state : the seed
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    """

    def __init__(self, n_clusters: int = 8, *, init: Any = "k-means++", n_init: Any = "auto", max_iter: int = 300, tol: float = 1e-4,
                 random_state: Any = None, n_jobs: int | None = None):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Fit all rows at once.  A weight w counts as w rows."""
        X, weight = self._weighted(X, sample_weight, True)
        more_than_one(len(X))
        starts = self.n_init if self.n_init != "auto" else 10 if isinstance(self.init, str) and self.init == "random" else 1
        given = {"restarts": starts, "max_iter": self.max_iter, "tol": self.tol}
        if isinstance(self.init, str) and self.init in STARTS:
            given["start"] = STARTS[self.init]
        core = self._begin("kmeans", X.shape[1], given)
        core.update(X, None, weight)
        try:
            report = core.report()
        except Error:
            few = self._few(X if weight is None else X[weight > 0])
            if few == self.n_clusters or not isinstance(self.init, str):
                raise
            core = self._begin("kmeans", X.shape[1], given, few)
            core.update(X, None, weight)
            report = core.report()
        self._keep(core.pack(False, {}))
        self.labels_ = self._nearest(X, self.cluster_centers_)[0]
        self.inertia_, self.n_iter_ = report["cost"], report["iterations"]
        self.converged_, self.n_moved_ = bool(report["converged"]), report["moved"]
        return self


class MiniBatchKMeans(Centroids):
    """Clusters around means in one pass, piece by piece, as the method `minibatch-kmeans` finds them.

    n_clusters : number of clusters; where there are fewer distinct rows, as many as these, with a warning
    init : "k-means++": by kmeans on the first rows; or centroids, an array (n_clusters, n_features)
    batch_size : rows in a step
    n_init : starts on the first rows; None: 2
    reassignment_ratio : a centroid whose count is below this share of the mean count moves to a far row
    fade : rows count as (their number) ** fade; None: 2; 0: all alike
    random_state : the seed
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    """

    def __init__(self, n_clusters: int = 8, *, init: Any = "k-means++", batch_size: int = 1024, n_init: int | None = None,
                 reassignment_ratio: float = 0.01, fade: float | None = None, random_state: Any = None, n_jobs: int | None = None):
        self.n_clusters = n_clusters
        self.init = init
        self.batch_size = batch_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio
        self.fade = fade
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _stream(self, D: int, clusters: int | None = None) -> Any:
        if isinstance(self.init, str) and self.init != "k-means++":
            raise refuse(f"init: '{self.init}', expected 'k-means++' or an array")
        given = {"block": self.batch_size, "restarts": self.n_init, "starve": self.reassignment_ratio, "fade": self.fade}
        return self._begin("minibatch-kmeans", D, given, clusters)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """One pass over the rows.  A weight w counts as w rows."""
        X, weight = self._weighted(X, sample_weight, True)
        more_than_one(len(X))
        core = self._stream(X.shape[1])
        try:
            core.update(X, None, weight)
            self._result(core)
        except Error:
            few = self._few(X if weight is None else X[weight > 0])
            if few == self.n_clusters or not isinstance(self.init, str):
                raise
            core = self._stream(X.shape[1], few)
            core.update(X, None, weight)
            self._result(core)
        self.labels_ = self._nearest(X, self.cluster_centers_)[0]
        self._core = core
        self._early: Any = None
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """More rows; how they are split over calls does not matter.  Until there are n_clusters distinct rows there are no centroids."""
        first = "_core" not in self.__dict__
        X, weight = self._weighted(X, sample_weight, first)
        core = self._stream(X.shape[1]) if first else self._core
        core.update(X, None, weight)
        if first:
            self._early = []
        self._core = core
        if self._early is not None:
            self._early.append((X.copy(), None if weight is None else weight.copy()))
        try:
            self._result(core)
        except Error:  # too few rows yet
            if self._early is None:
                raise
            return self
        self.labels_ = self._nearest(X, self.cluster_centers_)[0]
        self._early = None
        return self

    def _result(self, core: Any) -> None:
        data = core.pack(False, {})
        self.inertia_, self.n_moved_ = core.report()["cost"], core.report()["moved"]
        self._keep(data)
        self.n_steps_ = -(-core.shape[2] // self.batch_size)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_core", None)  # its state is in _data, or the early rows make it again
        return state

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if "_data" in state:
            about = {"vectors": self.n_features_in_}
            self._core = _core.fit_from("the state", self._data, about, threads_of(self.n_jobs))
        elif state.get("_early"):
            self._core = self._stream(self.n_features_in_)
            for X, weight in self._early:
                self._core.update(X, None, weight)


class Mixture(Rows, DensityMixin, BaseEstimator):
    """What mixtures share: densities, weights of the parts for a row, draws."""

    n_components: int

    def _keep(self, core: Any) -> None:
        self._data = core.pack(False, {})
        report = core.report()
        self._parts = [Gauss._of(g) for g, _ in _core.posterior_of(self._data)[0]]
        self.weights_ = np.array([w for _, w in _core.posterior_of(self._data)[0]])
        self.means_ = np.array([g.mean for g in self._parts])
        self.converged_, self.n_iter_ = report["converged"] != 0, max(1, report["iterations"])
        self.lower_bound_ = report["loglik_mean"]

    def _fitted(self) -> None:
        if "means_" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet; call 'fit' first.")

    def _joint(self, X: Any) -> Any:
        self._fitted()
        X = self._rows(X, False)
        with np.errstate(divide="ignore"):
            return np.stack([np.log(w) + g.log_prob(X) for g, w in zip(self._parts, self.weights_)], axis=1)

    @property
    def mixture_(self) -> list[tuple[Gauss, float]]:
        """The parts with their weights."""
        self._fitted()
        return list(zip(self._parts, self.weights_))

    def score_samples(self, X: Any) -> Any:
        """The log density of each row."""
        joint = self._joint(X)
        top = joint.max(axis=1, keepdims=True)
        return (top + np.log(np.exp(joint - top).sum(axis=1, keepdims=True)))[:, 0]

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows."""
        return float(np.mean(self.score_samples(X)))

    def predict_proba(self, X: Any) -> Any:
        """The probability of each part given a row."""
        joint = self._joint(X)
        p = np.exp(joint - joint.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        """The most probable part of each row."""
        return self._joint(X).argmax(axis=1)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def bic(self, X: Any) -> float:
        return -2 * self.score(X) * len(X) + self._n_parameters() * float(np.log(len(X)))

    def aic(self, X: Any) -> float:
        return -2 * self.score(X) * len(X) + 2 * self._n_parameters()

    def _n_parameters(self) -> int:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit all rows at once.  A weight w counts as w rows."""
        X, weight = self._weighted(X, sample_weight, True)
        more_than_one(len(X))
        core = self._start(X.shape[1])
        core.update(X, None, weight)
        self._keep(core)
        self._core = core if self._streams() else None
        return self

    def _start(self, D: int) -> Any:
        raise NotImplementedError

    def _streams(self) -> bool:
        return False

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file that `fabayes` reads."""
        self._fitted()
        _core.write(os.fspath(path), self._data)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        for name in "_core", "_parts":
            state.pop(name, None)  # _data has both
        return state

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self._core = None
        if "_data" in state:
            self._parts = [Gauss._of(g) for g, _ in _core.posterior_of(self._data)[0]]
            if self._streams():
                self._core = _core.fit_from("the state", self._data, {"vectors": self.n_features_in_}, threads_of(self.n_jobs))


class GaussianMixture(Mixture):
    """A mixture of Gaussians by EM, as the method `gmm` finds it.

    n_components : number of parts
    covariance_type : "full", "tied", "diag" or "spherical"
    tol : stop when a step gains less, in nats per row
    max_iter : steps of EM
    n_init : short runs from starts of their own, of which the best goes on
    random_state : the seed
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    """

    def __init__(self, n_components: int = 1, *, covariance_type: str = "full", tol: float = 1e-3, max_iter: int = 100, n_init: int = 1,
                 random_state: Any = None, n_jobs: int | None = None):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _start(self, D: int) -> Any:
        return self._create("gmm", {"vectors": D}, {"G": self.n_components, "covariance": self.covariance_type, "tol": self.tol,
                                                    "max_iter": self.max_iter, "restarts": self.n_init})

    @property
    def covariances_(self) -> Any:
        self._fitted()
        if self.covariance_type == "full":
            return np.array([g.covariance() for g in self._parts])
        if self.covariance_type == "tied":
            return self._parts[0].covariance()
        diagonals = np.array([g.diag for g in self._parts])
        return diagonals if self.covariance_type == "diag" else diagonals[:, 0]

    def _n_parameters(self) -> int:
        G, D = self.means_.shape
        one = {"full": G * D * (D + 1) // 2, "tied": D * (D + 1) // 2, "diag": G * D, "spherical": G}[self.covariance_type]
        return one + G * D + G - 1


class BayesianGaussianMixture(Mixture):
    """A mixture of Gaussians by variational Bayes, as the method `vbgmm` finds it: components that the rows do not need are not in the result.

    n_components : number of parts at most
    covariance_type : "full" or "diag"
    tol : stop when a step gains less, in nats per row
    max_iter : steps of a start
    n_init : starts, of which the largest bound is kept
    weight_concentration_prior : of the Dirichlet prior of the weights, each part; None: 1 / n_components
    mean_precision_prior : rows that the prior mean, that of all rows, counts as; None: 1 or less, of largest bound
    degrees_of_freedom_prior : of the Wishart prior of a part; None: n_features, of "diag" 1
    covariance_scale_prior : the scale matrix of that prior, in covariances of all rows; None: that of largest bound
    random_state : the seed
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    """

    def __init__(self, n_components: int = 1, *, covariance_type: str = "full", tol: float = 1e-3, max_iter: int = 100, n_init: int = 1,
                 weight_concentration_prior: float | None = None, mean_precision_prior: float | None = None,
                 degrees_of_freedom_prior: float | None = None, covariance_scale_prior: float | None = None, random_state: Any = None,
                 n_jobs: int | None = None):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_scale_prior = covariance_scale_prior
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _start(self, D: int) -> Any:
        return self._create("vbgmm", {"vectors": D}, {
            "G": self.n_components, "covariance": self.covariance_type, "tol": self.tol, "max_iter": self.max_iter, "restarts": self.n_init,
            "concentration": self.weight_concentration_prior, "mean_precision": self.mean_precision_prior,
            "freedom": self.degrees_of_freedom_prior, "scatter": self.covariance_scale_prior})

    def _keep(self, core: Any) -> None:
        super()._keep(core)
        self.lower_bound_ = core.report()["log_evidence"]
        self.weight_concentration_ = tensor(self._data, "concentration")
        self.mean_precision_ = tensor(self._data, "mean_precision")
        self.degrees_of_freedom_ = tensor(self._data, "freedom")

    @property
    def covariances_(self) -> Any:
        """The inverses of the mean precisions."""
        self._fitted()
        return np.array([g.covariance() if self.covariance_type == "full" else g.diag for g in self._parts])

    def _n_parameters(self) -> int:
        G, D = self.means_.shape
        return G * (D + (D * (D + 1) // 2 if self.covariance_type == "full" else D)) + G - 1


class MixtureOfFactorAnalysers(Mixture):
    """A mixture of factor analysers, by EM (`mfa`) or in one pass over a stream (`online-mfa`, with partial_fit).

    n_components : number of parts
    rank : factors of a part
    method : "mfa", or "online-mfa"
    tol : of mfa: stop when a step gains less, in nats per row; None: the method's
    max_iter : of mfa: steps of EM; None: the method's
    n_init : starts, of which the best goes on; None: the method's
    random_state : the seed
    n_jobs : threads; None: all cores, one in a worker process; the same bits for any number
    """

    def __init__(self, n_components: int = 1, *, rank: int = 1, method: str = "mfa", tol: float | None = None, max_iter: int | None = None,
                 n_init: int | None = None, random_state: Any = None, n_jobs: int | None = None):
        self.n_components = n_components
        self.rank = rank
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _streams(self) -> bool:
        return self.method == "online-mfa"

    def _start(self, D: int) -> Any:
        if self.method not in ("mfa", "online-mfa"):
            raise refuse(_settings.no("method", str(self.method), ["mfa", "online-mfa"]) + "; there are mfa, online-mfa")
        return self._create(self.method, {"vectors": D}, {"G": self.n_components, "q": self.rank, "tol": self.tol,
                                                          "max_iter": self.max_iter, "restarts": self.n_init})

    @available_if(lambda self: self._streams())
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MixtureOfFactorAnalysers:
        """More rows of the stream, of which the first call needs enough for a start."""
        first = self.__dict__.get("_core") is None
        X, weight = self._weighted(X, sample_weight, first)
        core = self._start(X.shape[1]) if first else self._core
        core.update(X, None, weight)
        self._keep(core)
        self._core = core
        return self

    def _n_parameters(self) -> int:
        G, D = self.means_.shape
        q = self.rank
        return G * (2 * D + D * q - q * (q - 1) // 2) + G - 1
