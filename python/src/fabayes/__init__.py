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
from ._tests import KernelTest, hsic_test, mmd_test
from .io import load, merge
from .search import Proposer, propose

if TYPE_CHECKING:
    from .clusters import BayesianGaussianMixture, GaussianMixture, KMeans, MiniBatchKMeans, MixtureOfFactorAnalysers
    from .machines import SVC, SVR
    from .risk import ElasticNet, Lasso, QuantileRegressor
    from .sklearn import (BayesianLinearRegression, BayesianLogisticRegression, BayesianMLPClassifier, BayesianMLPRegressor,
                          BayesianPoissonRegression, BayesSearchCV, FactorAnalysis, GaussianProcessClassifier,
                          GaussianProcessRegressor, StreamingGP, StreamingGPClassifier)

__version__: str = _core.version()

_ESTIMATORS = ("FactorAnalysis", "BayesianLinearRegression", "BayesianLogisticRegression", "BayesianPoissonRegression",
               "BayesianMLPRegressor", "BayesianMLPClassifier", "GaussianProcessRegressor", "GaussianProcessClassifier", "StreamingGP",
               "StreamingGPClassifier", "BayesSearchCV")
_RISK = ("Lasso", "ElasticNet", "QuantileRegressor")
_CLUSTERS = ("KMeans", "MiniBatchKMeans", "GaussianMixture", "BayesianGaussianMixture", "MixtureOfFactorAnalysers")
_MACHINES = ("SVC", "SVR")

__all__ = ["Error", "Gauss", "Method", "NotSupported", "NumericalError", "Scaling", "Setting", "load", "merge", "method", "methods",
           "FactorAnalysis", "BayesianLinearRegression", "BayesianLogisticRegression", "BayesianPoissonRegression",
           "BayesianMLPRegressor", "BayesianMLPClassifier", "GaussianProcessRegressor", "GaussianProcessClassifier", "StreamingGP",
           "StreamingGPClassifier", "BayesSearchCV", "KMeans", "MiniBatchKMeans", "GaussianMixture", "BayesianGaussianMixture",
           "MixtureOfFactorAnalysers", "Lasso", "ElasticNet", "QuantileRegressor", "SVC", "SVR", "Proposer", "propose", "KernelTest",
           "hsic_test", "mmd_test"]


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        from . import sklearn

        return getattr(sklearn, name)
    if name in _RISK:
        from . import risk

        return getattr(risk, name)
    if name in _CLUSTERS:
        from . import clusters

        return getattr(clusters, name)
    if name in _MACHINES:
        from . import machines

        return getattr(machines, name)
    raise AttributeError(f"module 'fabayes' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ESTIMATORS, *_RISK, *_CLUSTERS, *_MACHINES])
