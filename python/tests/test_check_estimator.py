"""scikit-learn's own checks of every estimator, at its defaults and with a method that streams."""

import warnings
from functools import partial

import pytest
from exceptions import EXCEPTIONS
from sklearn.utils.estimator_checks import check_estimator

import fabayes

ESTIMATORS = [
    fabayes.FactorAnalysis(),
    fabayes.FactorAnalysis(method="online-ml"),
    fabayes.BayesianLinearRegression(),
    fabayes.BayesianLinearRegression(method="kalman"),
    fabayes.BayesianLogisticRegression(),
    fabayes.BayesianPoissonRegression(),
    fabayes.BayesianPoissonRegression(method="rvga"),
    fabayes.BayesianMLPRegressor((5,), epochs=200),  # the default tries several networks for each of the fits
    fabayes.BayesianMLPClassifier((5,), epochs=200),
]


def name_of(check):
    if not isinstance(check, partial):
        return check.__name__
    keys = ", ".join(f"{key}={value}" for key, value in check.keywords.items())
    return check.func.__name__ + (f"({keys})" if keys else "")


CASES = [pytest.param(estimator, check, id=f"{type(estimator).__name__}-{estimator.method}-{name_of(check)}")
         for given in ESTIMATORS for estimator, check in check_estimator(given, generate_only=True)]


@pytest.mark.parametrize("estimator, check", CASES)
def test_the_check_passes_or_is_excused(estimator, check):
    reason = EXCEPTIONS.get((type(estimator).__name__, estimator.method, name_of(check)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if reason is None:
            check(estimator)
            return
        with pytest.raises(AssertionError):  # one that passes is no exception any more
            check(estimator)
