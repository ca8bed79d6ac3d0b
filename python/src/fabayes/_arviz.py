"""Draws of a linear model as ArviZ takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, log_softmax

from ._errors import error


def _families(likelihood: str, eta: Any, y: Any, sd: float, rng: Any) -> tuple[Any, Any]:
    """Draws of y and log p(y) for each draw of the predictor: eta is draws x rows, of several classes draws x rows x classes."""
    if likelihood == "gaussian":
        return eta + sd * rng.standard_normal(eta.shape), -0.5 * ((y - eta) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
    if likelihood == "poisson":
        return rng.poisson(np.exp(eta)), y * eta - np.exp(eta) - gammaln(y + 1)
    log_p = log_softmax(np.stack([np.zeros_like(eta), eta], -1) if likelihood == "bernoulli" else eta, axis=-1)
    gumbel = rng.gumbel(size=log_p.shape)
    return np.argmax(log_p + gumbel, axis=-1), np.take_along_axis(log_p, y[None, :, None], -1)[..., 0]


def inference_data(estimator: Any, X: Any, y: Any, offset: Any, n: int, seed: int) -> Any:
    """An InferenceData of n draws: coefficients by name; with X and y also draws of y and the log likelihood."""
    import arviz

    about = estimator._about()
    theta = estimator.sample_posterior(n, seed).reshape(n, about["classes"], -1)
    names = [*about["names"], *(["intercept"] if about["intercept"] else [])]
    one = about["classes"] == 1
    groups: dict[str, Any] = {"posterior": {name: (theta[:, 0, d] if one else theta[:, :, d])[None] for d, name in enumerate(names)}}
    if X is not None:
        if estimator._words or len(about["names"]) != estimator.n_features_in_:
            raise error(6, "predictive draws need X as numbers, with every column in the fit; leave X and y away for the posterior")
        X = np.asarray(estimator._rows(X, False))
        eta = np.einsum("ndc,rc->nrd", theta[:, :, : X.shape[1]], X) + (theta[:, None, :, -1] if about["intercept"] else 0)
        eta = eta + (0 if offset is None else np.asarray(offset)[None, :, None])
        if hasattr(estimator, "classes_"):  # in the library's order
            y = np.argsort(estimator._places())[np.searchsorted(estimator.classes_, y)]
        y = np.asarray(y)
        drawn, log_p = _families(about["likelihood"], eta[..., 0] if one else eta, y, about["beta"] ** -0.5, np.random.default_rng(seed))
        groups |= {"posterior_predictive": {"y": drawn[None]}, "log_likelihood": {"y": log_p[None]}, "observed_data": {"y": y}}
    return arviz.from_dict(groups) if int(arviz.__version__.split(".")[0]) > 0 else arviz.from_dict(**groups)
