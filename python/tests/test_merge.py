"""Posteriors of shards become one: the numbers of all rows, estimators and files alike, refusals."""

import numpy as np
import pytest

import fabayes
from fabayes import BayesianLinearRegression, BayesianLogisticRegression, BayesianMLPRegressor, FactorAnalysis, Gauss, merge

R = np.random.RandomState(5)
X = R.randn(120, 4) * [1, 5, 0.1, 2] + [0, 100, 0, -3]
Y = 10 + 3 * X[:, 0] + 0.2 * X[:, 1] + 0.3 * R.randn(120)
THIRDS = np.split(np.arange(120), 3)


def test_shards_of_exact_are_the_fit_of_all_rows():
    whole = BayesianLinearRegression(method="exact").fit(X, Y)
    merged = merge([BayesianLinearRegression(method="exact").fit(X[i], Y[i]) for i in THIRDS])
    assert isinstance(merged, BayesianLinearRegression)
    assert np.allclose(merged.coef_, whole.coef_, rtol=1e-8, atol=0)
    assert np.allclose(merged.predict(X, return_std=True), whole.predict(X, return_std=True), rtol=1e-8)
    assert merged.merge_["way"] == "rows" and merged.merge_["parts"] == 3 and merged.merge_["rows"] == 120


def test_estimators_and_their_files_are_the_same_parts(tmp_path):
    parts = [BayesianLogisticRegression(method="lrvga", rank=2, scaling=fabayes.Scaling(X.mean(0), X.std(0), classes=[False, True])).fit(
        X[i], Y[i] > np.median(Y)) for i in THIRDS]
    for n, part in enumerate(parts):
        part.save(tmp_path / f"{n}.safetensors")
    here = merge(parts, rank=2)
    there = merge([tmp_path / f"{n}.safetensors" for n in range(3)], rank=2)
    assert np.array_equal(here.predict_proba(X), there.predict_proba(X))
    assert here.merge_["way"] == "product" and here.merge_["kl"] == there.merge_["kl"] > 0


def test_states_of_a_stream_of_vectors_add_up():
    Z = R.randn(120, 2) @ R.randn(2, 8) + R.randn(120, 8)
    whole = FactorAnalysis(2, method="online-ml").fit(Z)
    merged = merge([FactorAnalysis(2, method="online-ml").fit(Z[i]) for i in THIRDS])
    assert isinstance(merged, FactorAnalysis) and merged.merge_["way"] == "states"
    assert np.isclose(merged.score(Z), whole.score(Z), rtol=0, atol=1e-9)  # both stand at the maximum of one likelihood
    merged.partial_fit(Z[:10])  # and it goes on


def test_gaussians_become_the_one_of_their_moments():
    a, b = (Gauss(mean, np.ones((3, 1)) * s, np.full(3, 0.5)) for mean, s in ((np.zeros(3), 1.0), (np.ones(3), 2.0)))
    with pytest.raises(fabayes.Error, match="rows"):  # nobody knows how many rows each is of
        merge([a, b])


def test_networks_become_a_mixture():
    parts = [BayesianMLPRegressor((3,), method="swag", rank=2, epochs=20, average=4,
                                  scaling=fabayes.Scaling(X.mean(0), X.std(0), target_mean=Y.mean(), target_scale=Y.std())).fit(X[i], Y[i])
             for i in THIRDS[:2]]
    merged = merge(parts)
    assert merged.merge_["way"] == "mixture" and len(merged.mixture_) == 2
    assert np.isfinite(merged.predict(X)).all()


@pytest.mark.parametrize("parts, words", [
    ("one.safetensors", "expected a list"),
    ([3, 4], "part 1 is a int"),
    (["nowhere.safetensors", "nowhere.safetensors"], "nowhere.safetensors"),
])
def test_what_is_no_part_is_refused_with_a_sentence(parts, words):
    with pytest.raises(fabayes.Error, match=words):
        merge(parts)


def test_parts_that_do_not_belong_together_are_refused_with_a_sentence():
    a = BayesianLinearRegression(method="exact").fit(X, Y)
    with pytest.raises(fabayes.Error, match="part 2"):
        merge([a, BayesianLinearRegression(method="exact").fit(X[:, :2], Y)])
    with pytest.raises(fabayes.Error):
        merge([a])
    with pytest.raises(fabayes.Error, match="alpha = -1"):
        merge([a, a], alpha=-1)
