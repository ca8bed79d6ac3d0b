"""The estimators: the numbers and files of the command line, streams, pickles, refusals, threads, signals."""

import copy
import csv
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_backend
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fabayes
from fabayes import (BayesianLinearRegression, BayesianLogisticRegression, BayesianMLPClassifier, BayesianMLPRegressor,
                     BayesianPoissonRegression, FactorAnalysis, Scaling)
from fabayes._tables import table_of
from fabayes.sklearn import threads_of

R = np.random.RandomState(0)
X = R.randn(60, 4)
Y = X @ [1.0, 2.0, 0.0, -1.0] + 3 + 0.3 * R.randn(60)
COUNTS = R.poisson(np.exp(0.5 * X[:, 0] + 1)).astype(float)
WORDS = np.where(Y > 4, "high", np.where(Y > 2, "mid", "low"))
PROGRAM = os.environ.get("FABAYES")
shell = pytest.mark.skipif(not PROGRAM, reason="FABAYES does not name the program")


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True).stdout


def write_csv(path, X, y=None):
    with open(path, "w") as file:
        file.write(",".join([f"x{i}" for i in range(X.shape[1])] + ([] if y is None else ["y"])) + "\n")
        for i, row in enumerate(X):
            cells = [repr(float(v)) for v in row]
            if y is not None:
                cells.append(y[i] if isinstance(y[i], str) else repr(float(y[i])))
            file.write(",".join(cells) + "\n")
    return path


SAME = [  # the file says whether the likelihood was named: an estimator names it
    (BayesianLinearRegression(), Y, ["--likelihood", "gaussian"]),
    (BayesianLinearRegression(method="lrvga", rank=2, random_state=7), Y, ["-m", "lrvga", "--K=2", "--seed=7"]),
    (BayesianLinearRegression(fit_intercept=False, standardise=False), Y,
     ["--likelihood", "gaussian", "--no-intercept", "--no-scale"]),
    (BayesianLogisticRegression(), (Y > 3) * 1.0, ["--likelihood", "bernoulli"]),
    (BayesianLogisticRegression(method="laplace", alpha=0.3), WORDS,
     ["--likelihood", "categorical", "-m", "laplace", "--alpha=0.3"]),
    (BayesianPoissonRegression(), COUNTS, ["--likelihood", "poisson"]),
    (BayesianMLPRegressor((5,), method="vifa", epochs=20, random_state=3), Y,
     ["--model", "mlp:5", "-m", "vifa", "--epochs=20", "--seed=3"]),
    (BayesianMLPClassifier((5,), epochs=20), WORDS, ["--model", "mlp:5", "--epochs=20"]),
]


@shell
@pytest.mark.parametrize("estimator, y, words", SAME)
def test_the_file_is_that_of_the_command_line(estimator, y, words, tmp_path):
    table, theirs, ours = write_csv(tmp_path / "t.csv", X, y), tmp_path / "theirs", tmp_path / "ours"
    run("fit", table, "-y", "y", *words, "-o", theirs, "--quiet")
    clone(estimator).fit(X, y).save(ours)
    assert ours.read_bytes() == theirs.read_bytes()


@shell
@pytest.mark.parametrize("estimator, y, words", [SAME[0], SAME[4], SAME[5], SAME[6]])
def test_what_is_fitted_here_is_used_there_and_back(estimator, y, words, tmp_path):
    new, q = write_csv(tmp_path / "new.csv", X[:9]), tmp_path / "q"
    here = clone(estimator).fit(X, y)
    here.save(q)
    run("predict", q, new, "-o", tmp_path / "p.csv", "--full", "--quiet")
    with open(tmp_path / "p.csv") as f:
        rows = list(csv.DictReader(f))
    theirs = np.array([[float(v) for k, v in row.items() if k != "class"] for row in rows])
    back = fabayes.load(q)
    assert type(back) is type(here)
    for one in (here, back):
        if hasattr(one, "classes_"):
            np.testing.assert_allclose(theirs, one.predict_proba(X[:9]), rtol=1e-5, atol=1e-6)
            assert set(one.classes_) == {"high", "mid", "low"}
        else:
            mean, sd = one.predict(X[:9], return_std=True)
            np.testing.assert_allclose(theirs[:, :2], np.column_stack([mean, sd]), rtol=1e-5)
            np.testing.assert_allclose(theirs[:, 2:4], one.predict_interval(X[:9]), rtol=1e-5)
    assert np.array_equal(back.sample_posterior(3, seed=2), here.sample_posterior(3, seed=2))


@shell
@pytest.mark.parametrize("method", ["ml", "em", "online-ml", "recursive-em"])
def test_factors_have_the_bits_of_the_command_line(method, tmp_path):
    run("fa", write_csv(tmp_path / "t.csv", X), "-k", 2, "-m", method, "-o", tmp_path / "q", "--quiet")
    ours = FactorAnalysis(2, method=method).fit(X)
    for g in (fabayes.Gauss.load(tmp_path / "q"), fabayes.load(tmp_path / "q").gauss_):
        assert all(np.array_equal(getattr(g, a), getattr(ours.gauss_, a)) for a in ("mean", "factor", "diag"))
    ours.save(tmp_path / "ours")
    assert "recursive-em" in run("info", tmp_path / "ours") or method != "recursive-em"


def test_a_linear_regression_finds_what_made_the_rows():
    m = BayesianLinearRegression().fit(X, Y)
    assert (np.abs(m.coef_ - [1, 2, 0, -1]) < 4 * m.coef_sd_).all() and abs(m.intercept_ - 3) < 0.3
    assert m.method_ == "exact" and np.isfinite(m.log_evidence_) and 5 < m.beta_ < 20 and m.alpha_ > 0
    g = m.posterior_
    np.testing.assert_allclose(g.mean, [*m.coef_, m.intercept_], rtol=1e-10)
    np.testing.assert_allclose(np.sqrt(g.marginal_variance())[:4], m.coef_sd_, rtol=1e-8)
    mean, sd = m.predict(X, return_std=True)
    np.testing.assert_allclose(mean, X @ m.coef_ + m.intercept_, rtol=1e-10)
    wide, narrow = m.predict_interval(X, 0.9), m.predict_interval(X, 0.5)
    np.testing.assert_allclose((wide[:, 1] - wide[:, 0]) / sd, 2 * 1.6448536, rtol=1e-6)
    assert (narrow[:, 0] > wide[:, 0]).all() and (narrow[:, 1] < wide[:, 1]).all()
    np.testing.assert_allclose(m.sample_posterior(4000).mean(0), g.mean, atol=0.05)
    counts = BayesianPoissonRegression().fit(X, COUNTS)
    wide, narrow = counts.predict_interval(X, 0.99), counts.predict_interval(X, 0.5)
    assert (wide == np.floor(wide)).all() and (narrow[:, 0] >= wide[:, 0]).all() and (narrow[:, 1] < wide[:, 1]).any()


def test_offsets_and_weights_count():
    offset = R.randn(60)
    m = BayesianPoissonRegression().fit(X, COUNTS, offset=offset)
    eta = X @ m.coef_ + m.intercept_ + offset
    np.testing.assert_allclose(np.log(m.predict(X, offset=offset)), eta, atol=0.1)  # exp(eta + variance / 2)
    assert m.score(X, COUNTS, offset=offset) != m.score(X, COUNTS, offset=0 * offset)
    assert (m.predict_interval(X, offset=offset + 3) >= m.predict_interval(X, offset=offset)).all()
    with pytest.raises(ValueError, match="offset"):
        m.predict(X)
    assert not np.allclose(m.coef_, BayesianPoissonRegression().fit(X, COUNTS).coef_)
    twice = BayesianLinearRegression(alpha=1, beta=1).fit(np.vstack([X, X]), np.r_[Y, Y])
    np.testing.assert_allclose(BayesianLinearRegression(alpha=1, beta=1).fit(X, Y, np.full(60, 2.0)).coef_, twice.coef_, rtol=1e-9)
    w = np.r_[np.zeros(10), np.ones(50)]
    np.testing.assert_allclose(BayesianLinearRegression().fit(X, Y, w).coef_, BayesianLinearRegression().fit(X[10:], Y[10:]).coef_)


@pytest.mark.parametrize("estimator, y", [(BayesianLinearRegression(), Y), (BayesianPoissonRegression(), COUNTS),
                                          (BayesianLogisticRegression(), WORDS), (BayesianLogisticRegression(), Y > 3),
                                          (BayesianMLPRegressor((5,), epochs=10), Y), (BayesianMLPClassifier((5,), epochs=10), WORDS)])
def test_log_predictive_is_the_density_of_each_row(estimator, y):
    m = clone(estimator).fit(X, y)
    log_p = m.log_predictive(X, y)
    assert log_p.shape == (60,)
    if hasattr(m, "classes_"):
        np.testing.assert_allclose(log_p, m.predict_log_proba(X)[np.arange(60), np.searchsorted(m.classes_, y)], rtol=1e-12)
    elif isinstance(m, BayesianLinearRegression):
        mean, sd = m.predict(X, return_std=True)
        np.testing.assert_allclose(log_p, -0.5 * ((y - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi), rtol=1e-9)
    else:
        assert (log_p < 2).all() and np.isfinite(log_p).all()


def test_a_gauss_is_a_prior():
    flat = BayesianLinearRegression(method="laplace", alpha=1.0, standardise=False, beta=4.0).fit(X, Y)
    sure = fabayes.Gauss(np.r_[flat.coef_ + 1, flat.intercept_], np.zeros((5, 0)), np.full(5, 1e-12))
    m = clone(flat).set_params(method="rvga", alpha=None, prior=sure).fit(X, Y)
    np.testing.assert_allclose(m.coef_, flat.coef_ + 1, atol=1e-3)


def test_arrays_may_go_backwards_or_lie_inside_others():
    want = BayesianLinearRegression().fit(X, Y)
    inside = np.zeros(60, dtype=[("y", float), ("z", "i4")])
    inside["y"] = Y
    for x, y in ((X[::-1], Y[::-1]), (np.repeat(X, 2, axis=0)[::2], inside["y"]), (X[:, ::-1][:, ::-1], Y)):
        m = BayesianLinearRegression().fit(x, y, sample_weight=np.full(60, 1.5)[::-1])
        np.testing.assert_allclose(m.coef_, BayesianLinearRegression().fit(x.copy(), y.copy(), np.full(60, 1.5)).coef_, rtol=1e-12)
        np.testing.assert_allclose(m.predict(x[::-1]), m.predict(x)[::-1], rtol=1e-12)
    factors = FactorAnalysis(2).fit(X)
    assert np.array_equal(factors.transform(X[::-1]), factors.transform(X)[::-1])
    assert np.array_equal(factors.gauss_.log_prob(X[::-1]), factors.gauss_.log_prob(X)[::-1])
    assert np.isfinite(want.coef_).all()


def test_a_class_whose_weights_are_zero_is_not_there():
    w = np.where(WORDS == "low", 0.0, 1.0)
    m, without = BayesianLogisticRegression().fit(X, WORDS, w), BayesianLogisticRegression().fit(X[w > 0], WORDS[w > 0])
    assert list(m.classes_) == ["high", "mid"] and np.array_equal(m.coef_, without.coef_)


def test_factor_analysis_agrees_with_its_gaussian():
    m = FactorAnalysis(2, rotation="varimax").fit(X)
    S = m.get_covariance()
    np.testing.assert_allclose(S, m.components_.T @ m.components_ + np.diag(m.noise_variance_), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(m.get_precision() @ S, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(m.score(X), m.loglike_, rtol=1e-9)
    np.testing.assert_allclose(m.transform(X), (X - m.mean_) @ np.linalg.solve(S, m.components_.T), rtol=1e-8, atol=1e-10)
    assert list(m.get_feature_names_out()) == ["factoranalysis0", "factoranalysis1"] and m.sample(3).shape == (3, 4)
    assert FactorAnalysis().fit(X).gauss_.rank >= 1 and m.converged_ and m.n_iter_ >= 1


@pytest.mark.parametrize("method", ["online-ml", "recursive-em", "online-em"])
def test_pieces_of_a_stream_are_the_whole(method):
    whole = FactorAnalysis(2, method=method).fit(X)
    for cuts in ([7], list(range(1, 60)), [20, 40]):
        m = FactorAnalysis(2, method=method)
        for i, part in enumerate(np.split(X, cuts)):
            m.partial_fit(part)
            if i == 1 and cuts == [20, 40]:
                m = pickle.loads(pickle.dumps(m))  # in the middle of the stream
        assert np.array_equal(m.gauss_.factor, whole.gauss_.factor) and np.array_equal(m.mean_, whole.mean_)


@pytest.mark.parametrize("estimator, y", [(BayesianLinearRegression(method="kalman"), Y),
                                          (BayesianLogisticRegression(method="lrvga", rank=2), WORDS)])
def test_a_regression_goes_on_from_its_pickle(estimator, y):
    one, two = clone(estimator).partial_fit(X[:30], y[:30]), clone(estimator).partial_fit(X[:30], y[:30])
    two = pickle.loads(pickle.dumps(two))
    for first, last in ((30, 37), (37, 60)):
        one.partial_fit(X[first:last], y[first:last])
        two.partial_fit(X[first:last], y[first:last])
    assert np.array_equal(one.coef_, two.coef_) and np.array_equal(one.coef_sd_, two.coef_sd_)
    assert np.array_equal(one.predict(X), copy.deepcopy(two).predict(X))


def test_only_streams_have_partial_fit():
    assert not hasattr(BayesianLinearRegression(), "partial_fit") and not hasattr(FactorAnalysis(), "partial_fit")
    assert hasattr(BayesianLinearRegression(method="kalman"), "partial_fit")
    assert hasattr(BayesianMLPRegressor(method="lrvga"), "partial_fit") and hasattr(FactorAnalysis(method="swag"), "partial_fit")
    assert not hasattr(BayesianMLPRegressor(method="swag"), "partial_fit")


@pytest.mark.parametrize("names", [["high", "low", "mid"], [0, 1, 2], [9, 10, 100]])
def test_a_stream_may_begin_without_one_of_its_classes(names):
    y = np.array(names)[np.searchsorted(["high", "low", "mid"], WORDS)]
    m = BayesianLogisticRegression(method="rvga").partial_fit(X[y != names[1]], y[y != names[1]], classes=names)
    assert list(m.classes_) == names and m.predict_proba(X).shape == (60, 3)
    m.partial_fit(X, y)
    assert (m.predict(X) == y).mean() > 0.85 and m.predict(X).dtype == np.array(names).dtype
    order = fabayes._core.regression_of("bytes", m._fitted.core.pack(), 1).describe()["levels"]
    assert order == sorted(map(str, names))  # the library's, by their bytes
    back = pickle.loads(pickle.dumps(m))
    assert np.array_equal(back.predict(X), m.predict(X)) and np.array_equal(back.coef_, m.coef_)
    assert (np.argmax(X @ m.coef_.T + m.intercept_, axis=1) == np.searchsorted(names, m.predict(X))).mean() > 0.9
    with pytest.raises(ValueError, match="none of the 3"):
        m.partial_fit(X, np.full(60, "tall" if names[0] == "high" else -5))
    two = BayesianLogisticRegression().fit(X, np.where(WORDS == "low", names[1], names[2]))
    assert (np.sign(X @ two.coef_[0] + two.intercept_) == np.where(two.predict(X) == two.classes_[1], 1, -1)).all()


def test_networks_have_every_method_of_the_command_line():
    for method in ("laplace", "lrvga", "swag"):
        m = BayesianMLPRegressor((5,), method=method, **({} if method == "lrvga" else {"epochs": 20})).fit(X, Y)
        assert m.method_ == method and m.posterior_.D in m.sample_posterior(1).shape[1] - np.arange(2)  # the noise may be a parameter
    m = BayesianMLPRegressor((5,), method="lrvga").partial_fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:])
    assert m._report()["rows"] == 60
    ensemble = BayesianMLPRegressor((5,), epochs=10).fit(X, Y)
    assert len(ensemble.mixture_) > 1 and sum(w for _, w in ensemble.mixture_) == pytest.approx(1)
    with pytest.raises(fabayes.NotSupported, match="mixture_"):
        ensemble.posterior_


def test_settings_are_parameters_from_the_tables():
    m = BayesianLinearRegression(alpha=2.5, intercept_alpha=0.5)
    assert m.get_params()["alpha"] == 2.5 and "K" not in m.get_params() and clone(m).get_params() == m.get_params()
    assert "prior precision" in BayesianLinearRegression.__doc__
    with pytest.raises(TypeError, match="alhpa"):
        BayesianLinearRegression(alhpa=1)
    with pytest.raises(ValueError, match="exact has no setting nodes"):
        BayesianLinearRegression(nodes=3).fit(X, Y)
    with pytest.raises(ValueError, match="alpha"):
        BayesianLinearRegression(alpha=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match="did you mean 'exact'"):
        BayesianLinearRegression(method="exactt").fit(X, Y)
    with pytest.raises(ValueError, match="rank = 3: exact has no factors"):
        BayesianLinearRegression(rank=3).fit(X, Y)


def test_they_work_inside_scikit_learn():
    search = GridSearchCV(make_pipeline(StandardScaler(), BayesianLinearRegression()), {"bayesianlinearregression__alpha": [0.1, 10.0]})
    assert search.fit(X, Y).best_score_ > 0.9
    found = Parallel(n_jobs=2)(delayed(BayesianLinearRegression().fit)(X, Y) for _ in range(2))
    assert all(np.array_equal(m.coef_, BayesianLinearRegression().fit(X, Y).coef_) for m in found)
    assert (BayesianLogisticRegression().fit(X, WORDS).predict(X) == WORDS).mean() > 0.9


def test_sparse_rows_are_taken():
    S = sparse.random(80, 6, 0.4, "csr", random_state=1)
    y = np.asarray(S @ np.arange(6.0)).ravel() + 0.01 * R.randn(80)
    m = BayesianLinearRegression().fit(S, y)
    np.testing.assert_allclose(m.predict(S), m.predict(S.tocsc()), rtol=1e-12)
    assert m.score(S, y) > 0.99


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("method", ["exact", "laplace", "kalman"])
def test_sparse_rows_have_weights_and_offsets(container, method):
    S = container(sparse.random(80, 6, 0.4, "csr", random_state=1))
    y, w, offset = np.asarray(S @ np.arange(6.0)).ravel() + 0.01 * R.randn(80), np.arange(80) % 4, R.randn(80)
    make = BayesianLinearRegression(method=method, standardise=False, alpha=0.1, beta=4.0)
    there, dense = clone(make).fit(S, y, w, offset), clone(make).fit(S.toarray(), y, w, offset)
    np.testing.assert_allclose(there.coef_, dense.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(there.predict(S, offset=offset), dense.predict(S.toarray(), offset=offset), rtol=1e-4, atol=1e-5)
    again = clone(make).fit(S[np.repeat(np.arange(80), w)], np.repeat(y, w), offset=np.repeat(offset, w))
    np.testing.assert_allclose(there.coef_, again.coef_, rtol=1e-6, atol=1e-8)
    table = {**table_of(S.tocsr(), None), "y": y, "weight": w.astype(float), "offset": offset}  # rows of weight 0 among them
    core = fabayes._core.fit(table, there._plan(), 1)
    assert np.array_equal(np.frombuffer(core.coefficients()[0])[:6], there.coef_) and core.report()["rows"] == (w > 0).sum()
    with pytest.raises(ValueError, match="offset"):
        there.predict(S)
    with pytest.raises(ValueError, match="NaN"):
        clone(make).fit(S, y, np.where(w > 2, np.nan, 1))


BAD = [
    (X[:1], Y[:1], {}, "1 sample"),
    (np.where(X > 2, np.nan, X), Y, {}, "NaN"),
    (np.where(X > 2, np.inf, X), Y, {}, "infinity"),
    (X, np.full(60, 2.0), {}, "constant|same"),
    (X[:0], Y[:0], {}, "0 sample"),
    (X, Y, {"sample_weight": -np.ones(60)}, "row 0 has -1, negative"),
    (X, Y, {"sample_weight": np.zeros(60)}, "all weights are zero"),
    (X, Y, {"offset": np.full(60, np.nan)}, "NaN"),
    (X, Y[:-1], {}, "inconsistent"),
]


@pytest.mark.parametrize("x, y, more, sentence", BAD)
def test_bad_data_are_refused_and_the_estimator_stays(x, y, more, sentence):
    m = BayesianLinearRegression().fit(X, Y)
    before = m.coef_.copy()
    with pytest.raises(ValueError, match=sentence):
        m.fit(x, y, **more)
    assert np.array_equal(m.coef_, before)


def test_one_class_and_a_negative_count_are_refused():
    with pytest.raises(ValueError, match="1 class"):
        BayesianLogisticRegression().fit(X, np.ones(60))
    with pytest.raises(ValueError, match="row 0 has -1"):
        BayesianPoissonRegression().fit(X, np.r_[-1.0, COUNTS[1:]])
    with pytest.raises(ValueError, match="3 features"):
        BayesianLinearRegression().fit(X, Y).predict(X[:, :3])


def test_bits_do_not_depend_on_the_threads():
    for make in (lambda n: BayesianLogisticRegression(n_jobs=n).fit(X, WORDS), lambda n: FactorAnalysis(2, n_jobs=n).fit(X),
                 lambda n: BayesianMLPRegressor((5,), epochs=10, n_jobs=n).fit(X, Y)):
        assert make(1)._fitted.core.pack() == make(2)._fitted.core.pack()


def test_threads_of_the_program_fit_side_by_side():
    want, got = BayesianLinearRegression().fit(X, Y).coef_, [None] * 4

    def work(i):
        got[i] = BayesianLinearRegression().fit(X, Y).coef_

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(one, want) for one in got)


def test_a_forked_child_fits_as_its_parent():
    want = BayesianLogisticRegression().fit(X, WORDS).coef_
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(BayesianLogisticRegression().fit(X, WORDS).coef_, want) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_worker_of_joblib_has_one_thread(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads_of(None) == 0 and threads_of(3) == 3 and threads_of(-1) == 0
    for backend in ("threading", "loky"):
        assert Parallel(2, backend=backend)(delayed(threads_of)(None) for _ in range(3)) == [1, 1, 1]
        assert threads_of(None) == 0
    with parallel_backend("threading", n_jobs=2):
        assert threads_of(None) == 0
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert threads_of(None) == 5


class Frame:
    """As little as a frame can be."""

    def __init__(self, columns):
        self.values = {name: np.asarray(v) for name, v in columns.items()}
        self.columns, self.dtypes = list(columns), [v.dtype for v in self.values.values()]
        self.shape = (len(next(iter(self.values.values()))), len(columns))

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, name):
        return self.values[name]

    def __array__(self, dtype=None, copy=None):
        return np.column_stack(list(self.values.values())).astype(dtype)


def test_a_frame_may_have_columns_of_words():
    word = np.array(["oak", "elm"], dtype=object)[np.arange(60) % 2]
    frame, y = Frame({"a": X[:, 0], "tree": word, "b": X[:, 1].astype(np.float32)}), Y + 3 * (word == "elm")
    m = BayesianLinearRegression().fit(frame, y)
    assert m.coef_names_ == ["a", "tree=elm", "tree=oak", "b"] and m.coef_.shape == (4,)
    dense = np.column_stack([X[:, 0], word == "elm", word == "oak", X[:, 1].astype(np.float32)])
    np.testing.assert_allclose(m.predict(frame), BayesianLinearRegression().fit(dense, y).predict(dense), rtol=1e-9)
    with pytest.raises(ValueError, match=r"'tree': row 1 \(from 0\) has 'ash'"):
        m.predict(Frame({"a": [1.0, 2.0], "tree": np.array(["oak", "ash"], dtype=object), "b": [0.0, 1.0]}))
    with pytest.raises(ValueError, match="columns of words"):
        m.predict(X[:, :3])


def test_an_interrupt_stops_the_work_and_leaves_the_estimator():
    m = BayesianMLPRegressor((50, 50), method="map", epochs=3).fit(X, Y)
    before = m.predict(X)
    m.set_params(epochs=1000000)
    sent = []

    def interrupt():
        time.sleep(0.3)
        sent.append(time.time())
        os.kill(os.getpid(), signal.SIGINT)

    old = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is born with Ctrl-C ignored
    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            m.fit(np.tile(X, (20, 1)), np.tile(Y, 20))
    finally:
        signal.signal(signal.SIGINT, old)
    assert time.time() - sent[0] < 3  # 0.3 s on a machine that has nothing else to do
    assert np.array_equal(m.predict(X), before)


def example(name, *words):
    path = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python", name)
    if not os.path.exists(path):
        pytest.skip("the examples are not here")
    done = subprocess.run([sys.executable, path, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0 or "matplotlib is not installed" in done.stderr, done.stderr
    return done.stdout


def test_methods_are_compared_on_one_table(tmp_path):
    rows = [line.split() for line in example("compare.py", tmp_path).splitlines()[1:5]]
    assert [row[0] for row in rows] == ["vga", "laplace", "rvga", "lrvga"]
    assert max(float(row[1]) for row in rows) - min(float(row[1]) for row in rows) < 0.05
    assert all(float(row[3]) < 1 for row in rows)


def test_the_example_runs():
    said = example("stream.py", 50000)
    assert "0.25 made the rows" in said and float(said.split()[2].rstrip(",")) == pytest.approx(0.25, abs=0.01)


# ---- units that are given ---------------------------------------------------------------------------------------------------------


def units_of(X, y, **more):
    return Scaling(X.mean(axis=0), X.std(axis=0), target_mean=float(y.mean()), target_scale=float(y.std()), **more)


@pytest.mark.parametrize("method", ["kalman", "rvga", "lrvga"])
def test_a_stream_in_units_that_are_given_may_begin_anywhere(method):
    units, wide = units_of(X, Y), {"rank": 2} if method == "lrvga" else {}
    whole = BayesianLinearRegression(method=method, scaling=units, **wide).fit(X, Y)
    by_rows = np.argsort(Y)  # the first rows show neither means nor scales
    for cuts in ([1], [2, 9], [30]):
        m = clone(whole)
        for x, y in zip(np.split(X, cuts), np.split(Y, cuts)):
            m.partial_fit(x, y)
        assert np.array_equal(m.coef_, whole.coef_) and np.array_equal(m.coef_sd_, whole.coef_sd_)
    sorted_by_y = clone(whole).partial_fit(X[by_rows[:5]], Y[by_rows[:5]]).partial_fit(X[by_rows[5:]], Y[by_rows[5:]])
    assert sorted_by_y.score(X, Y) > 0.9 and np.array_equal(sorted_by_y.scaling_.mean, units.mean)
    again = pickle.loads(pickle.dumps(sorted_by_y))
    assert again.scaling == units and again.scaling_ == sorted_by_y.scaling_


def test_units_of_one_fit_are_those_of_another(tmp_path):
    first = BayesianLinearRegression(method="kalman").fit(X, Y)
    second = BayesianLinearRegression(method="kalman", scaling=first.scaling_).partial_fit(X[:1], Y[:1]).partial_fit(X[1:], Y[1:])
    assert np.array_equal(first.coef_, second.coef_) and first.scaling_ == second.scaling_
    second.save(tmp_path / "units.safetensors")
    assert fabayes.load(tmp_path / "units.safetensors").scaling_ == first.scaling_
    assert np.allclose(first.scaling_.scale, X.std(axis=0)) and first.scaling_.target_scale == pytest.approx(Y.std())


@pytest.mark.parametrize("names", [["high", "low", "mid"], [0, 1, 2], [9, 10, 100]])
def test_units_may_say_the_classes(names):
    y = np.array(names)[np.searchsorted(["high", "low", "mid"], WORDS)]
    one = y == names[1]  # the first call has one class alone
    bare, units = Scaling(X.mean(axis=0), X.std(axis=0)), Scaling(X.mean(axis=0), X.std(axis=0), classes=names[::-1])
    told = BayesianLogisticRegression(method="rvga", scaling=bare).partial_fit(X[one], y[one], classes=names).partial_fit(X[~one], y[~one])
    for scaling in (units, told.scaling_):
        m = BayesianLogisticRegression(method="rvga", scaling=scaling).partial_fit(X[one], y[one]).partial_fit(X[~one], y[~one])
        assert list(m.classes_) == names and m.scaling_.classes == scaling.classes
        if scaling is not units or names != [9, 10, 100]:  # classes that are told are in the order of their words: 10, 100, 9
            assert np.array_equal(m.predict_proba(X), told.predict_proba(X)) and np.array_equal(m.coef_, told.coef_)
    with pytest.raises(ValueError, match="classes = .* those of scaling"):
        clone(m).partial_fit(X, y, classes=names[:2])


def test_units_are_taken_by_counts_networks_and_sparse_rows():
    counts = np.random.RandomState(2).poisson(np.exp(X[:, 0]))
    plain = Scaling(X.mean(axis=0), X.std(axis=0))
    assert BayesianPoissonRegression(method="lrvga", scaling=plain).partial_fit(X[:1], counts[:1]).partial_fit(X, counts).score(X, counts) > 0.3
    net = BayesianMLPRegressor((5,), method="lrvga", scaling=units_of(X, Y)).partial_fit(X[:1], Y[:1]).partial_fit(X[1:], Y[1:])
    assert net._report()["rows"] == 60 and net.scaling_.target_mean == float(Y.mean())
    S = sparse.csr_matrix(np.where(X > 0, X, 0))
    m = BayesianLinearRegression(method="kalman", scaling=Scaling(np.zeros(4), np.full(4, 0.5))).partial_fit(S[:1], Y[:1])
    assert m.partial_fit(S[1:], Y[1:]).predict(S).shape == (60,) and m.scaling_.names == ["x1", "x2", "x3", "x4"]


def test_a_frame_of_words_begins_with_some_of_them():
    word = np.array(["oak", "elm", "ash"], dtype=object)[np.arange(60) % 3]
    frame = Frame({"a": X[:, 0], "tree": word})
    units = BayesianLinearRegression(method="kalman").fit(frame, Y).scaling_
    few = Frame({"a": X[:2, 0], "tree": word[:2]})
    m = BayesianLinearRegression(method="kalman", scaling=units).partial_fit(few, Y[:2]).partial_fit(frame, Y)
    assert m.coef_names_ == ["a", "tree=ash", "tree=elm", "tree=oak"] and units.names == ["a", "tree"]


def test_units_that_cannot_be_are_refused():
    for mean, scale, more, words in ([[1.0], [0.0], {}, "more than 0"], [[np.nan], [1.0], {}, "mean: number 0 is not finite"],
                                     [[1.0, 2.0], [1.0], {}, "scale: expected 2"], [[[1.0]], [1.0], {}, "in a row"],
                                     [[1.0], [1.0], {"names": []}, "no columns"], [[1.0], [1.0], {"classes": [1]}, "fewer than 2"],
                                     [[1.0], [1.0], {"target_scale": np.inf}, "target_scale"]):
        with pytest.raises(ValueError, match=words):
            Scaling(mean, scale, **more)
    units = units_of(X, Y)
    BayesianLinearRegression(scaling=units).fit(X, Y)  # of a whole table too
    for m, words in ((BayesianLinearRegression(method="kalman", scaling=3), "expected None or a Scaling"),
                     (BayesianLinearRegression(method="kalman", scaling=units, standardise=False), "standardised"),
                     (BayesianLinearRegression(method="kalman", scaling=units, fit_intercept=False), "without intercept"),
                     (BayesianLinearRegression(method="kalman", scaling=Scaling([0.0], [1.0])), "the scaling 1"),
                     (BayesianLinearRegression(method="kalman", scaling=units_of(X, Y, names="abcd")), "the scaling has 'a'")):
        with pytest.raises(ValueError, match=words):
            m.fit(X, Y)
