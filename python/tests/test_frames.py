"""Frames of pandas and polars: columns of words, names, set_output, metadata routing."""

import os
import subprocess

import numpy as np
import pytest
import sklearn
import sklearn.preprocessing
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline

import fabayes
from fabayes import (BayesianLinearRegression, BayesianLogisticRegression, BayesianMLPRegressor, BayesianPoissonRegression,
                     FactorAnalysis)

pandas = pytest.importorskip("pandas")
R = np.random.RandomState(3)
N = 90
STREET = np.array(["hill", "bay", "Ödland", "main road"])[R.randint(0, 4, N)]
SIZE, AGE = R.randn(N), R.randint(0, 50, N)
PRICE = 2 * SIZE + 0.1 * AGE + np.where(STREET == "hill", 3.0, 0.0) + 0.2 * R.randn(N)
PROGRAM = os.environ.get("FABAYES")


def of_pandas(rows=slice(None)):
    return pandas.DataFrame({"size": SIZE, "street": STREET, "age": AGE}).iloc[rows]


def of_categories(rows=slice(None)):
    return of_pandas(rows).astype({"street": "category"})


def of_polars(rows=slice(None)):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"size": SIZE, "street": STREET, "age": AGE})[rows]


FRAMES = [of_pandas, of_categories, of_polars]


@pytest.mark.skipif(not PROGRAM, reason="FABAYES does not name the program")
@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_of_words_gives_the_file_of_the_command_line(frame, tmp_path):
    of_pandas().assign(y=PRICE).to_csv(tmp_path / "t.csv", index=False)
    words = [PROGRAM, "fit", tmp_path / "t.csv", "-y", "y", "--likelihood", "gaussian", "-o", tmp_path / "theirs", "--quiet"]
    subprocess.run(words, check=True)
    m = BayesianLinearRegression().fit(frame(), PRICE)
    m.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    back = fabayes.load(tmp_path / "theirs")
    assert np.array_equal(back.predict(frame()), m.predict(frame()))


@pytest.mark.parametrize("frame", FRAMES)
def test_words_are_levels(frame):
    m = BayesianLinearRegression().fit(frame(), PRICE)
    assert m.coef_names_ == ["size", "street=bay", "street=hill", "street=main road", "street=Ödland", "age"]
    assert m.coef_.shape == m.coef_sd_.shape == (6,) and m.n_features_in_ == 3
    assert list(m.feature_names_in_) == ["size", "street", "age"]
    assert np.abs(m.predict(frame()) - PRICE).std() < 0.3 and m.score(frame(), PRICE) > 0.95
    few = frame(slice(0, 5))
    np.testing.assert_allclose(m.predict(few), m.predict(frame())[:5], rtol=1e-12)
    assert m.sample_posterior(3).shape == (3, 7) and m.posterior_.D == 7
    with pytest.raises(ValueError, match="columns of words, as 'street'"):
        m.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="feature names"):
        m.predict(frame().rename(columns={"age": "years"}) if hasattr(few, "iloc") else frame().rename({"age": "years"}))


def test_a_word_that_the_fit_did_not_meet_is_refused_by_row_and_column():
    m = BayesianLinearRegression().fit(of_pandas(), PRICE)
    new = of_pandas(slice(0, 4)).astype({"street": object})
    new.iloc[2, 1] = "vale"
    with pytest.raises(ValueError, match=r"'street': row 2 \(from 0\) has 'vale'"):
        m.predict(new)
    new.iloc[2, 1] = None
    with pytest.raises(ValueError, match="row 2, column 'street': a missing value"):
        BayesianLinearRegression().fit(new, PRICE[:4])
    numbers = of_pandas().astype({"size": object})
    numbers.iloc[3, 0] = np.nan
    with pytest.raises(ValueError, match="row 3, column 'size': a missing value"):
        BayesianLinearRegression().fit(numbers, PRICE)
    numbers.iloc[3, 0] = np.inf
    with pytest.raises(ValueError, match="column 'size': row 3 has infinity"):
        BayesianLinearRegression().fit(numbers, PRICE)
    with pytest.raises(ValueError, match="inconsistent"):
        BayesianLinearRegression().fit(of_pandas(), PRICE[:-1])
    with pytest.raises(ValueError, match="1 sample"):
        BayesianLinearRegression().fit(of_pandas(slice(0, 1)), PRICE[:1])


@pytest.mark.parametrize("estimator, y", [
    (BayesianLogisticRegression(), np.where(PRICE > 3, "dear", "cheap")), (BayesianPoissonRegression(), AGE),
    (BayesianMLPRegressor((4,), epochs=20), PRICE), (BayesianLinearRegression(method="kalman"), PRICE)])
def test_other_estimators_take_words_and_weights(estimator, y):
    w = np.where(STREET == "bay", 0.0, 2.0)
    frame = of_pandas()
    m = sklearn.base.clone(estimator).fit(frame, y, w)
    assert len(m.predict(frame[w > 0])) == (w > 0).sum()
    with pytest.raises(ValueError, match="'bay'"):  # a row of weight 0 is not there, and neither is its word
        m.predict(frame)


def test_a_stream_of_frames_goes_on():
    m = BayesianLinearRegression(method="kalman").partial_fit(of_pandas(slice(0, 50)), PRICE[:50])
    m.partial_fit(of_pandas(slice(50, N)), PRICE[50:])
    before = m.coef_.copy()
    new = of_pandas(slice(0, 4)).astype({"street": object})
    new.iloc[2, 1] = "vale"
    with pytest.raises(ValueError, match="vale"):
        m.partial_fit(new, PRICE[:4])
    assert np.array_equal(m.coef_, before)


def test_features_may_have_the_names_of_roles():
    X = pandas.DataFrame({"y": SIZE, "weight": AGE, "offset": R.randn(N), "target": R.randn(N)}).astype(float)
    m = BayesianPoissonRegression().fit(X, AGE, sample_weight=np.ones(N) * 1.5, offset=0.1 * SIZE)
    assert m.predict(X, offset=0.1 * SIZE).shape == (N,)
    words = X.assign(target=STREET)
    m = BayesianPoissonRegression(method="rvga").partial_fit(words, AGE, sample_weight=np.ones(N) * 1.5, offset=0.1 * SIZE)
    m.partial_fit(words, AGE, sample_weight=np.ones(N) * 1.5, offset=0.1 * SIZE)
    assert m.predict(words, offset=0.1 * SIZE).shape == (N,)


def test_factors_come_as_frames():
    X = pandas.DataFrame(R.randn(40, 4), columns=list("abcd"))
    out = FactorAnalysis(2).set_output(transform="pandas").fit(X).transform(X)
    assert list(out.columns) == ["factoranalysis0", "factoranalysis1"] and len(out) == 40


def test_metadata_is_routed():
    X = R.randn(N, 3)
    w, offset = R.rand(N) + 0.5, 0.1 * R.randn(N)
    if "enable_metadata_routing" not in sklearn.get_config():
        pytest.skip("scikit-learn before 1.3 has no routing")
    with sklearn.config_context(enable_metadata_routing=True):
        m = BayesianPoissonRegression().set_fit_request(sample_weight=True, offset=True).set_score_request(offset=True,
                                                                                                           sample_weight=False)
        m.set_predict_request(offset=True)
        scaler = sklearn.preprocessing.StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, m).fit(X, AGE, sample_weight=w, offset=offset)
        alone = BayesianPoissonRegression().fit(sklearn.preprocessing.StandardScaler().fit_transform(X), AGE, w, offset)
        np.testing.assert_allclose(pipe[-1].coef_, alone.coef_, rtol=1e-12)
        scores = cross_validate(m, X, AGE, params={"sample_weight": w, "offset": offset}, error_score="raise")
        assert np.isfinite(scores["test_score"]).all()
