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


def process(X: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    model = fabayes.GaussianProcessRegressor("rbf:ard + linear", alpha=0.1, n_restarts_optimizer=3).fit(X, y)
    mean, covariance = model.predict(X, return_cov=True)
    streamed = fabayes.StreamingGP("rbf", n_components=20, method="lrvga", rank=5).partial_fit(X, y)
    search = fabayes.BayesSearchCV(model, {"alpha": (1e-3, 1.0, "log")}, n_iter=5).fit(X, y)
    points: list[dict[str, object]] = fabayes.propose([({"rate": 0.1}, 2.0)], {"rate": (0.01, 1.0)}, n=2, maximise=True)
    assert len(points) == 2 and len(model.kernel_) and streamed.features_["size"] and search.best_params_
    best: tuple[dict[str, object], float] = search.proposer_.best
    return best[1] + model.log_marginal_likelihood_value_ + float(mean[0]) + float(covariance[0, 0])


def clusters(X: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    means = fabayes.KMeans(3, n_init=2).fit(X)
    parts = fabayes.MixtureOfFactorAnalysers(3).partial_fit(X)
    bayesian = fabayes.BayesianGaussianMixture(3, covariance_type="diag").fit(X)
    test: fabayes.KernelTest = fabayes.mmd_test(X, y[:, None])
    merged = fabayes.merge(["a.safetensors", "b.safetensors"], rank=3)
    return float(means.inertia_) + float(parts.score(X)) + float(bayesian.score(X)) + test.pvalue + float(merged.merge_["kl"])


def wrong() -> None:
    fabayes.mmd_test(X=3, Y=4, permutations="many")  # type: ignore[arg-type]
    fabayes.GaussianProcessRegressor(kernel=3)  # type: ignore[arg-type]
    fabayes.GaussianProcessRegressor(starts=3)  # type: ignore[call-arg]
    fabayes.BayesianLinearRegression(alpha="much")  # type: ignore[arg-type]
    fabayes.BayesianMLPRegressor((5,), epochs=3.5)  # type: ignore[arg-type]
    fabayes.FactorAnalysis(slope=1)  # type: ignore[call-arg]
