"""Lasso, ElasticNet and QuantileRegressor beside scikit-learn's, and quantiles beside a linear programme."""

import pickle

import numpy as np
import pytest
from sklearn import linear_model as peers
from sklearn.datasets import load_diabetes

import fabayes

DIABETES = load_diabetes()
X, Y = DIABETES.data / DIABETES.data.std(axis=0), DIABETES.target
W = np.random.RandomState(0).rand(len(Y)) + 0.5


@pytest.mark.parametrize("alpha", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("weight", [None, W])
def test_coefficients_are_those_of_scikit_learn_at_its_tightest(alpha, weight):
    tight = {"tol": 1e-15, "max_iter": 1000000}
    for own, other in ((fabayes.Lasso(alpha), peers.Lasso(alpha, **tight)),
                       (fabayes.Lasso(alpha, fit_intercept=False), peers.Lasso(alpha, fit_intercept=False, **tight)),
                       (fabayes.ElasticNet(alpha, l1_ratio=0.3), peers.ElasticNet(alpha, l1_ratio=0.3, **tight))):
        own.fit(X, Y, sample_weight=weight), other.fit(X, Y, sample_weight=weight)
        assert np.abs(own.coef_ - other.coef_).max() < 1e-9 and abs(own.intercept_ - other.intercept_) < 1e-9
        assert ((own.coef_ == 0) == (other.coef_ == 0)).all() and (own.coef_sd_[own.coef_ == 0] == 0).all()
        assert 0 <= own.dual_gap_ < 1e-9 and own.alpha_ == pytest.approx(alpha, rel=1e-12)


def test_the_path_is_that_of_scikit_learn_and_so_is_the_loss_left_out_about():
    own, other = fabayes.Lasso(None).fit(X, Y), peers.LassoCV(cv=5).fit(X, Y)
    assert np.allclose(own.alphas_, other.alphas_, rtol=1e-12) and own.alpha_ == own.alphas_[np.argmin(own.mean_loss_)]
    assert np.abs(own.mean_loss_ / other.mse_path_.mean(axis=1) - 1).max() < 0.05  # other folds
    again = pickle.loads(pickle.dumps(own))
    assert again.alpha_ == own.alpha_ and (again.predict(X) == own.predict(X)).all()


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.85])
@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.5])
def test_the_objective_of_a_quantile_is_that_of_a_linear_programme(quantile, alpha):
    from scipy.optimize import linprog

    n, D = X.shape
    cost = np.concatenate([np.full(2 * D, alpha), [0, 0], np.full(n, quantile / n), np.full(n, (1 - quantile) / n)])
    A = np.hstack([X, -X, np.ones((n, 1)), -np.ones((n, 1)), np.eye(n), -np.eye(n)])
    best = linprog(cost, A_eq=A, b_eq=Y, method="highs").fun
    m = fabayes.QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, Y)
    r = Y - m.predict(X)
    mine = np.maximum(quantile * r, (quantile - 1) * r).mean() + alpha * np.abs(m.coef_).sum()
    assert abs(mine - best) < 1e-9 * best and m.dual_gap_ < 1e-9 * best


def test_files_come_back_as_what_they_are(tmp_path):
    for m in (fabayes.Lasso(), fabayes.ElasticNet(0.1), fabayes.QuantileRegressor(quantile=0.8, alpha=0)):
        m.fit(X, Y).save(tmp_path / "m.st")
        back = fabayes.load(tmp_path / "m.st")
        assert type(back) is type(m) and (back.predict(X) == m.predict(X)).all()
        assert getattr(back, "quantile", 0.8) == 0.8


def test_parameters_that_mean_nothing_are_refused():
    for m, sentence in ((fabayes.Lasso(-1), "alpha = -1"), (fabayes.Lasso(0), "lambda = 0"), (fabayes.ElasticNet(l1_ratio=2), "l1_ratio = 2"),
                        (fabayes.QuantileRegressor(quantile=1), "quantile = 1"),
                        (fabayes.BayesianLinearRegression(method="lasso"), "is fitted by Lasso")):
        with pytest.raises((ValueError, NotImplementedError), match=sentence):
            m.fit(X, Y)
