"""fabayes: Gaussian posteriors whose covariance or precision is low rank plus diagonal, over the C library of that name.

    from fabayes import BayesianLinearRegression, FactorAnalysis, Gauss

`import fabayes` needs NumPy alone; the estimators load scikit-learn when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import Error, NotSupported, NumericalError
from ._gauss import Gauss
from ._scaling import Scaling
from ._settings import Method, Setting, method, methods
from .io import load
from .search import Proposer, propose

if TYPE_CHECKING:
    from .sklearn import (BayesianLinearRegression, BayesianLogisticRegression, BayesianMLPClassifier, BayesianMLPRegressor,
                          BayesianPoissonRegression, BayesSearchCV, FactorAnalysis, GaussianProcessClassifier,
                          GaussianProcessRegressor, StreamingGP, StreamingGPClassifier)

__version__: str = _core.version()

_ESTIMATORS = ("FactorAnalysis", "BayesianLinearRegression", "BayesianLogisticRegression", "BayesianPoissonRegression",
               "BayesianMLPRegressor", "BayesianMLPClassifier", "GaussianProcessRegressor", "GaussianProcessClassifier", "StreamingGP",
               "StreamingGPClassifier", "BayesSearchCV")

__all__ = ["Error", "Gauss", "Method", "NotSupported", "NumericalError", "Scaling", "Setting", "load", "method", "methods",
           "FactorAnalysis", "BayesianLinearRegression", "BayesianLogisticRegression", "BayesianPoissonRegression",
           "BayesianMLPRegressor", "BayesianMLPClassifier", "GaussianProcessRegressor", "GaussianProcessClassifier", "StreamingGP",
           "StreamingGPClassifier", "BayesSearchCV", "Proposer", "propose"]


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        from . import sklearn

        return getattr(sklearn, name)
    raise AttributeError(f"module 'fabayes' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ESTIMATORS])
