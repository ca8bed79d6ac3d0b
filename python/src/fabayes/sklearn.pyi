"""Written by tools/python_stubs.py: the estimators, whose parameters come from the library's tables."""

import os
from collections.abc import Sequence
from typing import Any, Literal

from ._gauss import Gauss
from ._scaling import Scaling

class FactorAnalysis:
    def __init__(
        self,
        n_components: int | None = ...,
        *,
        method: str = ...,
        rotation: str | None = ...,
        n_jobs: int | None = ...,
        random_state: Any = ...,
        svd: Literal["auto", "exact", "randomized"] | None = ...,
        starts: int | None = ...,
        tol: float | None = ...,
        max_iter: int | None = ...,
        psi_min: float | None = ...,
        forget: float | None = ...,
        block: int | None = ...,
        inner: int | None = ...,
        inner_rank: int | None = ...,
        expand: bool | None = ...,
        start: Literal["svd", "random"] | None = ...,
        warmup: int | None = ...,
        start_eps: float | None = ...,
        centre: Literal["exact", "none"] | None = ...,
        memory: float | None = ...,
        held: int | None = ...,
        power: float | None = ...,
        average_from: int | None = ...,
        rate: float | None = ...,
        standardise: bool = ...,
        columns: Literal["last", "recursive-em", "online-em", "stochastic-em", "online-sga"] | None = ...,
        scale: float | None = ...,
    ) -> None: ...
    n_features_in_: int
    feature_names_in_: Any
    @property
    def components_(self) -> Any: ...
    @property
    def converged_(self) -> bool: ...
    def fit(self, X: Any, y: Any = ..., sample_weight: Any = ...) -> FactorAnalysis: ...
    @property
    def gauss_(self) -> Gauss: ...
    def get_covariance(self) -> Any: ...
    def get_precision(self) -> Any: ...
    @property
    def loglike_(self) -> float: ...
    @property
    def mean_(self) -> Any: ...
    @property
    def n_iter_(self) -> int: ...
    @property
    def noise_variance_(self) -> Any: ...
    def partial_fit(self, X: Any, y: Any = ..., sample_weight: Any = ...) -> FactorAnalysis: ...
    def sample(self, n: int = ..., seed: int = ...) -> Any: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def score(self, X: Any, y: Any = ...) -> float: ...
    def score_samples(self, X: Any) -> Any: ...
    def transform(self, X: Any) -> Any: ...
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> FactorAnalysis: ...
    def set_fit_request(self, **names: bool | str | None) -> FactorAnalysis: ...
    def fit_transform(self, X: Any, y: Any = ..., **params: Any) -> Any: ...
    def get_feature_names_out(self, input_features: Any = ...) -> Any: ...
    def set_output(self, *, transform: str | None = ...) -> FactorAnalysis: ...

class BayesianLinearRegression:
    def __init__(
        self,
        *,
        method: str = ...,
        rank: int | None = ...,
        alpha: float | None = ...,
        fit_intercept: bool = ...,
        standardise: bool = ...,
        prior: Gauss | str | os.PathLike[str] | None = ...,
        scaling: Scaling | None = ...,
        n_jobs: int | None = ...,
        random_state: Any = ...,
        beta: float | None = ...,
        intercept_alpha: float | None = ...,
        tol: float | None = ...,
        max_iter: int | None = ...,
        inner: int | None = ...,
        rank_tol: float | None = ...,
        temperature: float | None = ...,
        nodes: int | None = ...,
        expectation: Literal["probit", "quadrature", "sampled"] | None = ...,
        draws: int | None = ...,
        scheme: Literal["implicit", "explicit", "extra-gradient", "mirror-prox"] | None = ...,
        warmup: int | None = ...,
        inner_rank: int | None = ...,
        block: int | None = ...,
        expand: bool | None = ...,
        cut: Literal["em", "eigen"] | None = ...,
        gain: Literal["previous", "paper"] | None = ...,
        start: Literal["exact", "random", "map", "model", "auto"] | None = ...,
        start_eps: float | None = ...,
        sweeps: int | None = ...,
        forget: float | None = ...,
        psi_min: float | None = ...,
    ) -> None: ...
    n_features_in_: int
    feature_names_in_: Any
    @property
    def alpha_(self) -> float: ...
    @property
    def beta_(self) -> float: ...
    @property
    def coef_(self) -> Any: ...
    @property
    def coef_names_(self) -> list[str]: ...
    @property
    def coef_sd_(self) -> Any: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> BayesianLinearRegression: ...
    @property
    def intercept_(self) -> Any: ...
    @property
    def log_evidence_(self) -> float: ...
    def log_predictive(self, X: Any, y: Any, offset: Any = ...) -> Any: ...
    @property
    def method_(self) -> str: ...
    @property
    def mixture_(self) -> list[tuple[Gauss, float]]: ...
    @property
    def n_iter_(self) -> int: ...
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> BayesianLinearRegression: ...
    @property
    def posterior_(self) -> Gauss: ...
    def predict(self, X: Any, return_std: bool = ..., offset: Any = ...) -> Any: ...
    def predict_interval(self, X: Any, level: float = ..., offset: Any = ...) -> Any: ...
    def sample_posterior(self, n: int, seed: int = ...) -> Any: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    @property
    def scaling_(self) -> Scaling: ...
    def score(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> float: ...
    def to_arviz(self, X: Any = ..., y: Any = ..., offset: Any = ..., n: int = ..., seed: int = ...) -> Any: ...
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> BayesianLinearRegression: ...
    def set_fit_request(self, **names: bool | str | None) -> BayesianLinearRegression: ...
    def set_predict_request(self, **names: bool | str | None) -> BayesianLinearRegression: ...
    def set_score_request(self, **names: bool | str | None) -> BayesianLinearRegression: ...

class BayesianLogisticRegression:
    def __init__(
        self,
        *,
        method: str = ...,
        rank: int | None = ...,
        alpha: float | None = ...,
        fit_intercept: bool = ...,
        standardise: bool = ...,
        prior: Gauss | str | os.PathLike[str] | None = ...,
        scaling: Scaling | None = ...,
        n_jobs: int | None = ...,
        random_state: Any = ...,
        beta: float | None = ...,
        intercept_alpha: float | None = ...,
        tol: float | None = ...,
        max_iter: int | None = ...,
        inner: int | None = ...,
        rank_tol: float | None = ...,
        temperature: float | None = ...,
        nodes: int | None = ...,
        expectation: Literal["probit", "quadrature", "sampled"] | None = ...,
        draws: int | None = ...,
        scheme: Literal["implicit", "explicit", "extra-gradient", "mirror-prox"] | None = ...,
        warmup: int | None = ...,
        inner_rank: int | None = ...,
        block: int | None = ...,
        expand: bool | None = ...,
        cut: Literal["em", "eigen"] | None = ...,
        gain: Literal["previous", "paper"] | None = ...,
        start: Literal["exact", "random", "map", "model", "auto"] | None = ...,
        start_eps: float | None = ...,
        sweeps: int | None = ...,
        forget: float | None = ...,
        psi_min: float | None = ...,
    ) -> None: ...
    n_features_in_: int
    feature_names_in_: Any
    classes_: Any
    @property
    def alpha_(self) -> float: ...
    @property
    def beta_(self) -> float: ...
    @property
    def coef_(self) -> Any: ...
    @property
    def coef_names_(self) -> list[str]: ...
    @property
    def coef_sd_(self) -> Any: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> BayesianLogisticRegression: ...
    @property
    def intercept_(self) -> Any: ...
    @property
    def log_evidence_(self) -> float: ...
    def log_predictive(self, X: Any, y: Any, offset: Any = ...) -> Any: ...
    @property
    def method_(self) -> str: ...
    @property
    def mixture_(self) -> list[tuple[Gauss, float]]: ...
    @property
    def n_iter_(self) -> int: ...
    def partial_fit(self, X: Any, y: Any, classes: Any = ..., sample_weight: Any = ..., offset: Any = ...) -> BayesianLogisticRegression: ...
    @property
    def posterior_(self) -> Gauss: ...
    def predict(self, X: Any, offset: Any = ...) -> Any: ...
    def predict_log_proba(self, X: Any, offset: Any = ...) -> Any: ...
    def predict_proba(self, X: Any, offset: Any = ...) -> Any: ...
    def sample_posterior(self, n: int, seed: int = ...) -> Any: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    @property
    def scaling_(self) -> Scaling: ...
    def score(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> float: ...
    def to_arviz(self, X: Any = ..., y: Any = ..., offset: Any = ..., n: int = ..., seed: int = ...) -> Any: ...
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> BayesianLogisticRegression: ...
    def set_fit_request(self, **names: bool | str | None) -> BayesianLogisticRegression: ...
    def set_predict_request(self, **names: bool | str | None) -> BayesianLogisticRegression: ...
    def set_score_request(self, **names: bool | str | None) -> BayesianLogisticRegression: ...

class BayesianPoissonRegression:
    def __init__(
        self,
        *,
        method: str = ...,
        rank: int | None = ...,
        alpha: float | None = ...,
        fit_intercept: bool = ...,
        standardise: bool = ...,
        prior: Gauss | str | os.PathLike[str] | None = ...,
        scaling: Scaling | None = ...,
        n_jobs: int | None = ...,
        random_state: Any = ...,
        beta: float | None = ...,
        intercept_alpha: float | None = ...,
        tol: float | None = ...,
        max_iter: int | None = ...,
        inner: int | None = ...,
        rank_tol: float | None = ...,
        temperature: float | None = ...,
        nodes: int | None = ...,
        expectation: Literal["probit", "quadrature", "sampled"] | None = ...,
        draws: int | None = ...,
        scheme: Literal["implicit", "explicit", "extra-gradient", "mirror-prox"] | None = ...,
        warmup: int | None = ...,
        inner_rank: int | None = ...,
        block: int | None = ...,
        expand: bool | None = ...,
        cut: Literal["em", "eigen"] | None = ...,
        gain: Literal["previous", "paper"] | None = ...,
        start: Literal["exact", "random", "map", "model", "auto"] | None = ...,
        start_eps: float | None = ...,
        sweeps: int | None = ...,
        forget: float | None = ...,
        psi_min: float | None = ...,
    ) -> None: ...
    n_features_in_: int
    feature_names_in_: Any
    @property
    def alpha_(self) -> float: ...
    @property
    def beta_(self) -> float: ...
    @property
    def coef_(self) -> Any: ...
    @property
    def coef_names_(self) -> list[str]: ...
    @property
    def coef_sd_(self) -> Any: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> BayesianPoissonRegression: ...
    @property
    def intercept_(self) -> Any: ...
    @property
    def log_evidence_(self) -> float: ...
    def log_predictive(self, X: Any, y: Any, offset: Any = ...) -> Any: ...
    @property
    def method_(self) -> str: ...
    @property
    def mixture_(self) -> list[tuple[Gauss, float]]: ...
    @property
    def n_iter_(self) -> int: ...
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> BayesianPoissonRegression: ...
    @property
    def posterior_(self) -> Gauss: ...
    def predict(self, X: Any, return_std: bool = ..., offset: Any = ...) -> Any: ...
    def predict_interval(self, X: Any, level: float = ..., offset: Any = ...) -> Any: ...
    def sample_posterior(self, n: int, seed: int = ...) -> Any: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    @property
    def scaling_(self) -> Scaling: ...
    def score(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> float: ...
    def to_arviz(self, X: Any = ..., y: Any = ..., offset: Any = ..., n: int = ..., seed: int = ...) -> Any: ...
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> BayesianPoissonRegression: ...
    def set_fit_request(self, **names: bool | str | None) -> BayesianPoissonRegression: ...
    def set_predict_request(self, **names: bool | str | None) -> BayesianPoissonRegression: ...
    def set_score_request(self, **names: bool | str | None) -> BayesianPoissonRegression: ...

class BayesianMLPRegressor:
    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] | None = ...,
        *,
        layers: str | None = ...,
        method: str = ...,
        rank: int | None = ...,
        alpha: float | None = ...,
        noise: str | None = ...,
        nu: float | None = ...,
        n_draws: int | None = ...,
        standardise: bool = ...,
        prior: Gauss | str | os.PathLike[str] | None = ...,
        scaling: Scaling | None = ...,
        n_jobs: int | None = ...,
        random_state: Any = ...,
        beta: float | None = ...,
        epochs: int | None = ...,
        batch: int | None = ...,
        rate: float | None = ...,
        runs: int | None = ...,
        optimiser: Literal["sgd", "nesterov", "adam", "adamw"] | None = ...,
        momentum: float | None = ...,
        second: float | None = ...,
        epsilon: float | None = ...,
        schedule: Literal["constant", "steps", "cosine", "one-cycle"] | None = ...,
        drop: float | None = ...,
        drop_every: float | None = ...,
        warmup: float | None = ...,
        clip: float | None = ...,
        held_out: float | None = ...,
        patience: int | None = ...,
        rounds: int | None = ...,
        again: int | None = ...,
        last_layer: bool | None = ...,
        inner: int | None = ...,
        rank_tol: float | None = ...,
        structure: Literal["auto", "full", "low-rank", "diagonal"] | None = ...,
        start: Literal["exact", "random", "map", "model", "auto"] | None = ...,
        posterior_alpha: float | None = ...,
        inner_rank: int | None = ...,
        block: int | None = ...,
        draws: int | None = ...,
        scheme: Literal["implicit", "explicit", "extra-gradient", "mirror-prox", "auto"] | None = ...,
        looks: int | None = ...,
        first: int | None = ...,
        forget: float | None = ...,
        psi_min: float | None = ...,
        tol: float | None = ...,
        max_iter: int | None = ...,
        pairs: bool | None = ...,
        shared: bool | None = ...,
        entropy: Literal["closed", "path"] | None = ...,
        rate_F: float | None = ...,
        rate_psi: float | None = ...,
        reach: float | None = ...,
        start_sd: float | None = ...,
        start_F: float | None = ...,
        map_part: float | None = ...,
        ramp_part: float | None = ...,
        free_after: float | None = ...,
        average: int | None = ...,
        swag_rate: float | None = ...,
        every: int | None = ...,
        window: bool | None = ...,
        columns: Literal["last", "recursive-em", "online-em", "stochastic-em", "online-sga"] | None = ...,
        scale: float | None = ...,
        rate_precision: float | None = ...,
        decay: float | None = ...,
    ) -> None: ...
    n_features_in_: int
    feature_names_in_: Any
    @property
    def alpha_(self) -> float: ...
    @property
    def beta_(self) -> float: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> BayesianMLPRegressor: ...
    @property
    def layers_(self) -> str: ...
    @property
    def log_evidence_(self) -> float: ...
    def log_predictive(self, X: Any, y: Any, offset: Any = ...) -> Any: ...
    @property
    def method_(self) -> str: ...
    @property
    def mixture_(self) -> list[tuple[Gauss, float]]: ...
    @property
    def n_iter_(self) -> int: ...
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> BayesianMLPRegressor: ...
    @property
    def posterior_(self) -> Gauss: ...
    def predict(self, X: Any, return_std: bool = ..., offset: Any = ...) -> Any: ...
    def predict_interval(self, X: Any, level: float = ..., offset: Any = ...) -> Any: ...
    def sample_posterior(self, n: int, seed: int = ...) -> Any: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    @property
    def scaling_(self) -> Scaling: ...
    def score(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> float: ...
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> BayesianMLPRegressor: ...
    def set_fit_request(self, **names: bool | str | None) -> BayesianMLPRegressor: ...
    def set_predict_request(self, **names: bool | str | None) -> BayesianMLPRegressor: ...
    def set_score_request(self, **names: bool | str | None) -> BayesianMLPRegressor: ...

class BayesianMLPClassifier:
    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] | None = ...,
        *,
        layers: str | None = ...,
        method: str = ...,
        rank: int | None = ...,
        alpha: float | None = ...,
        noise: str | None = ...,
        nu: float | None = ...,
        n_draws: int | None = ...,
        standardise: bool = ...,
        prior: Gauss | str | os.PathLike[str] | None = ...,
        scaling: Scaling | None = ...,
        n_jobs: int | None = ...,
        random_state: Any = ...,
        beta: float | None = ...,
        epochs: int | None = ...,
        batch: int | None = ...,
        rate: float | None = ...,
        runs: int | None = ...,
        optimiser: Literal["sgd", "nesterov", "adam", "adamw"] | None = ...,
        momentum: float | None = ...,
        second: float | None = ...,
        epsilon: float | None = ...,
        schedule: Literal["constant", "steps", "cosine", "one-cycle"] | None = ...,
        drop: float | None = ...,
        drop_every: float | None = ...,
        warmup: float | None = ...,
        clip: float | None = ...,
        held_out: float | None = ...,
        patience: int | None = ...,
        rounds: int | None = ...,
        again: int | None = ...,
        last_layer: bool | None = ...,
        inner: int | None = ...,
        rank_tol: float | None = ...,
        structure: Literal["auto", "full", "low-rank", "diagonal"] | None = ...,
        start: Literal["exact", "random", "map", "model", "auto"] | None = ...,
        posterior_alpha: float | None = ...,
        inner_rank: int | None = ...,
        block: int | None = ...,
        draws: int | None = ...,
        scheme: Literal["implicit", "explicit", "extra-gradient", "mirror-prox", "auto"] | None = ...,
        looks: int | None = ...,
        first: int | None = ...,
        forget: float | None = ...,
        psi_min: float | None = ...,
        tol: float | None = ...,
        max_iter: int | None = ...,
        pairs: bool | None = ...,
        shared: bool | None = ...,
        entropy: Literal["closed", "path"] | None = ...,
        rate_F: float | None = ...,
        rate_psi: float | None = ...,
        reach: float | None = ...,
        start_sd: float | None = ...,
        start_F: float | None = ...,
        map_part: float | None = ...,
        ramp_part: float | None = ...,
        free_after: float | None = ...,
        average: int | None = ...,
        swag_rate: float | None = ...,
        every: int | None = ...,
        window: bool | None = ...,
        columns: Literal["last", "recursive-em", "online-em", "stochastic-em", "online-sga"] | None = ...,
        scale: float | None = ...,
        rate_precision: float | None = ...,
        decay: float | None = ...,
    ) -> None: ...
    n_features_in_: int
    feature_names_in_: Any
    classes_: Any
    @property
    def alpha_(self) -> float: ...
    @property
    def beta_(self) -> float: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> BayesianMLPClassifier: ...
    @property
    def layers_(self) -> str: ...
    @property
    def log_evidence_(self) -> float: ...
    def log_predictive(self, X: Any, y: Any, offset: Any = ...) -> Any: ...
    @property
    def method_(self) -> str: ...
    @property
    def mixture_(self) -> list[tuple[Gauss, float]]: ...
    @property
    def n_iter_(self) -> int: ...
    def partial_fit(self, X: Any, y: Any, classes: Any = ..., sample_weight: Any = ..., offset: Any = ...) -> BayesianMLPClassifier: ...
    @property
    def posterior_(self) -> Gauss: ...
    def predict(self, X: Any, offset: Any = ...) -> Any: ...
    def predict_log_proba(self, X: Any, offset: Any = ...) -> Any: ...
    def predict_proba(self, X: Any, offset: Any = ...) -> Any: ...
    def sample_posterior(self, n: int, seed: int = ...) -> Any: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    @property
    def scaling_(self) -> Scaling: ...
    def score(self, X: Any, y: Any, sample_weight: Any = ..., offset: Any = ...) -> float: ...
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> BayesianMLPClassifier: ...
    def set_fit_request(self, **names: bool | str | None) -> BayesianMLPClassifier: ...
    def set_predict_request(self, **names: bool | str | None) -> BayesianMLPClassifier: ...
    def set_score_request(self, **names: bool | str | None) -> BayesianMLPClassifier: ...

def regression_from_bytes(name: str, data: bytes) -> Any: ...
def factors_from_bytes(name: str, data: bytes) -> FactorAnalysis: ...
