"""Displays and ArviZ: the numbers that are drawn."""

import numpy as np
import pytest

from fabayes import BayesianLinearRegression, BayesianLogisticRegression, BayesianMLPRegressor, BayesianPoissonRegression

R = np.random.RandomState(0)
X = R.randn(200, 3)
Y = X @ [1.0, 0.0, -2.0] + 3 + 0.3 * R.randn(200)
COUNTS = R.poisson(np.exp(0.5 * X[:, 0] + 1))
WORDS = np.where(Y > 4, "high", np.where(Y > 2, "mid", "low"))


@pytest.fixture
def plots():
    pytest.importorskip("matplotlib").use("Agg")
    import fabayes.plots

    return fabayes.plots


def test_coverage_is_the_share_of_rows_inside_the_intervals(plots):
    for m, y in ((BayesianLinearRegression(), Y), (BayesianMLPRegressor((5,), epochs=20), Y)):
        d = plots.CalibrationDisplay.from_estimator(m.fit(X, y), X, y, levels=[0.5, 0.9])
        inside = [np.mean((m.predict_interval(X, a)[:, 0] <= y) & (y <= m.predict_interval(X, a)[:, 1])) for a in (0.5, 0.9)]
        np.testing.assert_allclose(d.observed, inside, atol=0.02)
        assert (d.chance > 0).all() and d.ax_.get_xlabel() == "level of the interval"
    d = plots.CalibrationDisplay.from_estimator(BayesianPoissonRegression().fit(X, COUNTS), X, COUNTS)
    assert len(d.observed) == 19 and (np.diff(d.observed) >= 0).all()


def test_reliability_counts_every_row(plots):
    m = BayesianLogisticRegression().fit(X, WORDS)
    d = plots.CalibrationDisplay.from_estimator(m, X, WORDS, name="softmax")
    assert d.rows.sum() == 200 and d.line_.get_label() == "softmax"
    np.testing.assert_allclose((d.rows * d.observed).sum() / 200, m.score(X, WORDS), rtol=1e-12)
    np.testing.assert_allclose((d.rows * d.expected).sum() / 200, m.predict_proba(X).max(axis=1).mean(), rtol=1e-9)


def test_coefficients_have_their_intervals_the_strongest_first(plots):
    m = BayesianLinearRegression().fit(X, Y)
    d = plots.CoefficientDisplay.from_estimator(m, level=0.9)
    assert d.names[0] == "x2" and set(d.names) == {"x0", "x1", "x2"}
    order = [int(name[1]) for name in d.names]
    np.testing.assert_allclose(d.mean, m.coef_[order], rtol=1e-10)
    np.testing.assert_allclose((d.upper - d.lower) / m.coef_sd_[order], 2 * 1.6448536, rtol=0.03)  # or Student's t
    two = BayesianLogisticRegression().fit(X, np.where(Y > 3, 9, 10))  # "10" comes before "9" in the library
    d = plots.CoefficientDisplay.from_estimator(two, most=1)
    assert d.names == ["x2"] and d.mean[0] == pytest.approx(two.coef_[0, 2]) and d.lower[0] < d.mean[0] < d.upper[0]
    d = plots.CoefficientDisplay.from_estimator(BayesianLogisticRegression().fit(X, WORDS), most=4)
    assert all(name.split(": ")[0] in ("high", "low", "mid") for name in d.names)
    with pytest.raises(ValueError, match="no coefficients"):
        plots.CoefficientDisplay.from_estimator(BayesianMLPRegressor((3,), epochs=2).fit(X, Y))


@pytest.mark.parametrize("m, y", [(BayesianLinearRegression(), Y), (BayesianPoissonRegression(), COUNTS),
                                  (BayesianLogisticRegression(), WORDS), (BayesianLogisticRegression(), Y > 3)])
def test_arviz_gets_draws_and_their_log_likelihood(m, y):
    pytest.importorskip("arviz")
    data = m.fit(X, y).to_arviz(X, y, n=400)
    posterior = data["posterior"]
    assert {"x0", "x1", "x2", "intercept"} == set(posterior.data_vars)
    draws = np.asarray(posterior["x0"])[0]
    off = draws.mean(0) - np.atleast_2d(m.coef_)[:, 0]
    assert (np.abs(off) < 5 * draws.std(0) / 20).all()  # five standard errors of 400 draws
    log_p = np.asarray(data["log_likelihood"]["y"])[0]
    assert log_p.shape == (400, 200)
    # the mean over the posterior of p(y) is what log_predictive integrates; the noise of 400 draws is small in the mean over rows
    mean = np.log(np.exp(log_p).mean(0)).mean()
    assert mean == pytest.approx(m.log_predictive(X, y).mean(), abs=0.03)
    assert np.asarray(data["posterior_predictive"]["y"]).shape == (1, 400, 200)
