"""Gaussian processes and searches: numbers against dense matrices, files of the command line, streams, refusals."""

import json
import math
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import fabayes
from fabayes import (BayesSearchCV, GaussianProcessClassifier, GaussianProcessRegressor, Proposer, StreamingGP, StreamingGPClassifier,
                     propose)

R = np.random.RandomState(0)
X = R.randn(60, 3) * [1, 5, 0.1] + [0, 100, 0]
Y = 10 + 3 * np.sin(2 * X[:, 0]) + 0.2 * X[:, 1] + 0.3 * R.randn(60)
COUNTS = R.poisson(np.exp(X[:, 0])).astype(float)
PROGRAM = os.environ.get("FABAYES")
shell = pytest.mark.skipif(not PROGRAM, reason="FABAYES does not name the program")


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True).stdout


def write_csv(path, X, y=None):
    with open(path, "w") as file:
        file.write(",".join([f"x{i}" for i in range(X.shape[1])] + ([] if y is None else ["y"])) + "\n")
        for i, row in enumerate(X):
            cells = [repr(float(v)) for v in row] + ([] if y is None else [y[i] if isinstance(y[i], str) else repr(float(y[i]))])
            file.write(",".join(cells) + "\n")
    return path


def dense(A, B, theta):
    """s2 exp(-q / 2), a length-scale for each column."""
    s2, lengths = np.exp(theta[0]), np.exp(theta[1:4])
    return s2 * np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) / lengths) ** 2 @ np.ones(3))


# ---- numbers ----------------------------------------------------------------------------------------------------------------------


def test_predictions_covariance_and_evidence_are_those_of_dense_matrices():
    weight = R.rand(60) + 0.5
    m = GaussianProcessRegressor("rbf:ard").fit(X, Y, sample_weight=weight)
    centre, scale = m.scaling_.mean, m.scaling_.scale
    a, b = m.scaling_.target_mean, m.scaling_.target_scale
    U, V, u, t = (X - centre) / scale, (R.randn(7, 3) * [1, 5, 0.1] + [0, 100, 0]), (Y - a) / b, m.theta_
    V, new = (V - centre) / scale, V
    K = dense(U, U, t) + np.diag(np.exp(-t[4]) / weight)
    cross = dense(V, U, t)
    mean = a + b * cross @ np.linalg.solve(K, u)
    covariance = b * b * (dense(V, V, t) - cross @ np.linalg.solve(K, cross.T) + np.exp(-t[4]) * np.eye(7))
    got, ours = m.predict(new, return_cov=True)
    np.testing.assert_allclose(got, mean, rtol=1e-9)
    np.testing.assert_allclose(ours, covariance, rtol=1e-7, atol=1e-9)
    assert np.array_equal(ours, ours.T)
    np.testing.assert_allclose(m.predict(new, return_std=True)[1], np.sqrt(np.diag(covariance)), rtol=1e-8)

    def lml(theta):
        C = dense(U, U, theta) + np.diag(np.exp(-theta[4]) / weight)
        return -0.5 * u @ np.linalg.solve(C, u) - 0.5 * np.linalg.slogdet(C)[1] - 30 * math.log(2 * math.pi)

    assert m.log_marginal_likelihood() == pytest.approx(lml(t), rel=1e-10)
    assert m.log_marginal_likelihood_value_ == pytest.approx(lml(t), rel=1e-10) and m.log_evidence_ == m.log_marginal_likelihood_value_
    for at in (t, t + [0.3, -0.2, 0.5, 0.1, -0.4]):
        value, slope = m.log_marginal_likelihood(at, eval_gradient=True)
        assert value == pytest.approx(lml(at), rel=1e-10)
        steps = 1e-5 * np.eye(5)
        np.testing.assert_allclose(slope, [(lml(at + h) - lml(at - h)) / 2e-5 for h in steps], rtol=1e-5, atol=1e-6)
    assert np.abs(m.log_marginal_likelihood(t, eval_gradient=True)[1]).max() < 0.02  # it is a maximum
    with pytest.raises(ValueError, match="theta: expected 5 numbers"):
        m.log_marginal_likelihood(t[:3])


def test_functions_have_the_mean_and_covariance_of_the_predictions():
    m = GaussianProcessRegressor("matern32", alpha=0.05).fit(X, Y)
    f = m.sample_y(X[:5], 4000, random_state=3)
    mean, covariance = m.predict(X[:5], return_cov=True)
    noise = 1 / m.beta_ if abs(m.beta_ * covariance[0, 0]) > 1 else 0.05 * m.scaling_.target_scale**2
    sd = np.sqrt(np.diag(covariance) - noise)
    assert f.shape == (5, 4000) and (np.abs(f.mean(1) - mean) < 5 * sd / math.sqrt(4000)).all()  # a false alarm in 3e5 seeds
    assert (np.abs(f.std(1) / sd - 1) < 5 / math.sqrt(8000)).all()
    assert np.array_equal(m.sample_y(X[:5], 2, random_state=3), f[:, :2]) and not np.array_equal(m.sample_y(X[:5], 2), f[:, :2])
    with pytest.raises(ValueError, match="at most one"):
        m.predict(X, return_std=True, return_cov=True)


def test_parameters_that_are_given_stay_and_the_kernel_that_was_learned_makes_the_same_process():
    m = GaussianProcessRegressor("2*rbf:l=0.7 + linear", alpha=0.04).fit(X, Y)
    given = {(p["kernel"], p["name"]): p for p in m.kernel_parameters_}
    assert given["rbf", "l"]["theta"] == 0.7 and given["rbf", "l"]["fixed"] and m.alpha_ == pytest.approx(0.04)
    assert given["", "noise"]["value"] == pytest.approx(0.04 * m.scaling_.target_scale**2)
    again = GaussianProcessRegressor(m.kernel_, alpha=m.alpha_).fit(X, Y)
    np.testing.assert_allclose(again.predict(X), m.predict(X), rtol=1e-10)
    assert all(p["fixed"] for p in again.kernel_parameters_) and again.kernel_ == m.kernel_
    # scikit-learn's numbers, in its units
    from sklearn.gaussian_process import GaussianProcessRegressor as Theirs
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    theirs = Theirs(ConstantKernel(1.5, "fixed") * RBF(0.8, "fixed"), alpha=0.1, normalize_y=True)
    Z = StandardScaler().fit_transform(X)
    theirs.fit(Z, Y)
    ours = GaussianProcessRegressor("1.5*rbf:l=0.8", alpha=0.1).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(Z), rtol=1e-9)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-9)
    sd = np.sqrt(theirs.predict(Z, return_std=True)[1] ** 2 + 0.1 * np.var(Y))
    np.testing.assert_allclose(ours.predict(X, return_std=True)[1], sd, rtol=1e-8)  # ours has the noise in it


def test_more_searches_are_those_that_are_asked_for():
    one, many = (GaussianProcessRegressor("rbf", n_restarts_optimizer=k).fit(X, Y)._handle().core.process()["starts"] for k in (0, 6))
    assert (one, many) == (1, 7)


def test_rows_can_be_appended_and_the_kernel_stays():
    m = GaussianProcessRegressor("rbf").fit(X[:40], Y[:40])
    before, late = m.theta_, clone(m).fit(X, Y)
    back = pickle.loads(pickle.dumps(m))
    m.update(X[40:], Y[40:])
    back.update(X[40:], Y[40:])
    assert np.array_equal(m.theta_, before) and np.array_equal(m.predict(X), back.predict(X))
    assert np.sqrt(np.mean((m.predict(X) - late.predict(X)) ** 2)) < 0.3
    assert not hasattr(m, "partial_fit")


def test_counts_and_classes_go_through_laplace():
    m = GaussianProcessRegressor("rbf", likelihood="poisson").fit(X, COUNTS)
    assert np.corrcoef(np.log(m.predict(X)), X[:, 0])[0, 1] > 0.9 and m.log_predictive(X, COUNTS).mean() > -2.5
    with pytest.raises(fabayes.NotSupported):
        m.log_marginal_likelihood()
    with pytest.raises(fabayes.NotSupported):
        m.predict(X, return_cov=True)
    assert not hasattr(m, "alpha_")
    words = np.where(Y > np.median(Y), "more", "less")
    c = GaussianProcessClassifier("rbf:ard").fit(X, words)
    assert c.score(X, words) > 0.9 and list(c.classes_) == ["less", "more"]
    np.testing.assert_allclose(c.predict_proba(X).sum(1), 1)


@pytest.mark.parametrize("method", ["vfe", "fitc", "dtc"])
def test_inducing_inputs_at_all_rows_are_the_exact_process(method):
    if method not in [m.name for m in fabayes.methods()]:
        pytest.skip(f"the library has no {method}")
    exact = GaussianProcessRegressor("1.5*rbf:l=0.8", alpha=0.1).fit(X, Y)
    m = GaussianProcessRegressor("1.5*rbf:l=0.8", alpha=0.1, method=method, inducing=60).fit(X, Y)
    np.testing.assert_allclose(m.predict(X), exact.predict(X), rtol=1e-5)
    mean, covariance = m.predict(X, return_cov=True)
    np.testing.assert_allclose(covariance, exact.predict(X, return_cov=True)[1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), m.predict(X, return_std=True)[1], rtol=1e-6)
    assert m.method_ == method and m.alpha_ == pytest.approx(0.1)
    with pytest.raises(fabayes.NotSupported, match="method gp"):
        m.log_marginal_likelihood()
    back = pickle.loads(pickle.dumps(m))
    np.testing.assert_array_equal(back.predict(X, return_cov=True)[1], covariance)


# ---- streams ----------------------------------------------------------------------------------------------------------------------


def test_as_many_landmarks_as_rows_are_the_exact_process():
    exact = GaussianProcessRegressor("1.5*rbf:l=0.8", alpha=0.1).fit(X, Y)
    stream = StreamingGP("1.5*rbf:l=0.8", alpha=0.1, n_components=60).fit(X, Y)
    np.testing.assert_allclose(stream.predict(X), exact.predict(X), rtol=1e-6)
    np.testing.assert_allclose(stream.predict(X, return_std=True)[1], exact.predict(X, return_std=True)[1], rtol=1e-5)
    assert stream.alpha_ == pytest.approx(0.1) and stream.features_["kind"] == "nystrom"


@pytest.mark.parametrize("more", [{}, {"features": "rff", "n_components": 50, "random_state": 4}, {"method": "lrvga", "rank": 10}])
def test_a_stream_goes_on_from_its_pickle_and_does_not_depend_on_how_it_is_split(more, tmp_path):
    m = StreamingGP("rbf", n_components=more.pop("n_components", 20), scale_rows=40, **more)
    whole = clone(m).partial_fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:])
    half = pickle.loads(pickle.dumps(clone(m).partial_fit(X[:40], Y[:40])))
    half.partial_fit(X[40:50], Y[40:50]).partial_fit(X[50:], Y[50:])
    np.testing.assert_allclose(half.predict(X), whole.predict(X), rtol=1e-9)
    whole.save(tmp_path / "q")
    back = fabayes.load(tmp_path / "q")
    assert type(back) is StreamingGP and np.array_equal(back.predict(X), whole.predict(X))
    assert np.array_equal(clone(back).fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:]).predict(X), whole.predict(X)) or "method" in more
    assert not hasattr(StreamingGP(method="exact"), "partial_fit")


def test_a_stream_of_classes():
    words = np.where(Y > np.median(Y), "more", "less")
    m = StreamingGPClassifier("rbf", n_components=20).partial_fit(X[:30], words[:30]).partial_fit(X[30:], words[30:])
    assert m.score(X, words) > 0.7


# ---- files ------------------------------------------------------------------------------------------------------------------------

SAME = [
    (GaussianProcessRegressor("rbf:ard"), Y, ["--likelihood", "gaussian", "--model", "gp:rbf:ard"]),
    (GaussianProcessRegressor("matern32", alpha=0.25, n_restarts_optimizer=2, search_rows=50, random_state=5), Y,
     ["--likelihood", "gaussian", "--model", "gp:matern32", "--beta=4", "--starts=3", "--search_rows=50", "--seed=5"]),
    (GaussianProcessRegressor("rbf", standardise=False), Y, ["--likelihood", "gaussian", "--model", "gp:rbf", "--no-scale"]),
    (GaussianProcessRegressor("rbf", likelihood="poisson"), COUNTS, ["--likelihood", "poisson", "--model", "gp:rbf"]),
    (GaussianProcessClassifier("rbf"), (Y > 30) * 1.0, ["--likelihood", "bernoulli", "--model", "gp:rbf"]),
    (GaussianProcessClassifier("rbf"), np.where(Y > np.quantile(Y, 0.7), "high", np.where(Y > np.quantile(Y, 0.3), "mid", "low")),
     ["--likelihood", "categorical", "--model", "gp:rbf"]),
    (StreamingGP("rbf", n_components=9), Y, ["--likelihood", "gaussian", "--model", "nystrom:rbf:9", "-m", "kalman"]),
    (StreamingGP("matern32", features="rff", n_components=12, orthogonal=True, random_state=7, method="lrvga", rank=3, scale_rows=50), Y,
     ["--likelihood", "gaussian", "--model", "rff:matern32:12:orthogonal:seed=7", "-m", "lrvga", "-k", 3, "--seed=7", "--scale-rows", 50]),
    (StreamingGPClassifier("rbf", n_components=9), (Y > 30) * 1.0,
     ["--likelihood", "bernoulli", "--model", "nystrom:rbf:9", "-m", "rvga"]),
]


@shell
@pytest.mark.parametrize("estimator, y, words", SAME)
def test_the_file_is_that_of_the_command_line_and_comes_back(estimator, y, words, tmp_path):
    table, theirs, ours = write_csv(tmp_path / "t.csv", X, y), tmp_path / "theirs", tmp_path / "ours"
    run("fit", table, "-y", "y", *words, "-o", theirs, "--quiet")
    here = clone(estimator).fit(X, y)
    here.save(ours)
    assert ours.read_bytes() == theirs.read_bytes()
    back = fabayes.load(theirs)
    assert type(back) is type(here)
    np.testing.assert_array_equal(back.predict(X), here.predict(X))
    assert {**back.get_params(), "kernel": estimator.kernel}["kernel"] == back.kernel
    again = clone(back).set_params(**({"standardise": False} if "--no-scale" in words else {})).fit(X, y)
    if "--starts=3" not in words and "--scale-rows" not in words:
        np.testing.assert_array_equal(again.predict(X), here.predict(X))


@shell
def test_functions_are_those_of_the_command_line(tmp_path):
    m = GaussianProcessRegressor("rbf").fit(X, Y)
    m.save(tmp_path / "q")
    run("sample", tmp_path / "q", write_csv(tmp_path / "new.csv", X[:9]), "-n", 3, "--seed", 2, "-o", tmp_path / "f.npy", "--quiet")
    assert np.array_equal(np.load(tmp_path / "f.npy"), m.sample_y(X[:9], 3, random_state=2).T)


def test_columns_of_words_become_columns_of_the_kernel():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": X[:, 0], "district": np.where(X[:, 1] > 100, "hill", "lake")})
    m = GaussianProcessRegressor("rbf:col=size + linear:col=district").fit(frame, Y)
    assert m.predict(frame.iloc[:3]).shape == (3,) and "col=" in m.kernel_
    with pytest.raises(ValueError, match="sea"):
        m.predict(frame.assign(district="sea"))


# ---- proposals --------------------------------------------------------------------------------------------------------------------


def bowl(point):
    return (math.log10(point["rate"]) + 2) ** 2 + (point["layers"] - 3) ** 2


RANGES = {"rate": (1e-4, 0.1, "log"), "layers": (1, 4)}


@shell
def test_proposals_are_those_of_the_command_line(tmp_path):
    p = Proposer(RANGES)
    for i in range(12):
        point = p.ask()
        p.tell(point, math.nan if i == 3 else bowl(point))
    rows = [",".join([repr(t["rate"]), str(t["layers"]), repr(y) if y == y else ""]) for t, y in p.trials]
    (tmp_path / "t.csv").write_text("rate,layers,loss\n" + "\n".join(rows) + "\n")
    said = run("propose", tmp_path / "t.csv", "-y", "loss", "--range", "rate=1e-4:0.1:log", "--range", "layers=1:4:int", "-n", 3,
               "--json", "--quiet")
    assert p.ask(3) == json.loads(said)["points"] == propose(p.trials, RANGES, n=3)
    assert p.report()["failed"] == 1 and p.report()["modelled"] and "matern52" in p.report()["kernel"]


def test_asking_and_telling_finds_the_bowl_and_goes_on_from_a_pickle():
    p = Proposer({"rate": "1e-4:0.1:log", "layers": "1:4:int"}, seed=4)
    for _ in range(20):
        point = p.ask()
        assert isinstance(point["layers"], int) and 1e-4 <= point["rate"] <= 0.1
        p.tell(point, bowl(point))
    back = pickle.loads(pickle.dumps(p))
    assert back.ask(2) == p.ask(2) and back.best == p.best and back.best_index == p.best_index
    assert p.best[0]["layers"] == 3 and abs(math.log10(p.best[0]["rate"]) + 2) < 0.1
    median, lower, upper, _ = p.look([p.best[0]])[0]
    assert lower <= median <= upper and abs(median - p.best[1]) < 0.05
    up = Proposer(RANGES, maximise=True, acquisition="ucb", beta=1.0)
    for _ in range(20):
        up.tell(point := up.ask(), -bowl(point))
    assert up.best[0]["layers"] == 3


def test_choices_are_whole_numbers_in_their_order():
    p = Proposer({"kind": ["a", None, 2.5], "x": (0.0, 1.0)}, starts=4)
    for _ in range(15):
        point = p.ask()
        p.tell(point, {"a": 1, None: 0, 2.5: 2}[point["kind"]] + (point["x"] - 0.3) ** 2)
    assert p.best[0]["kind"] is None and abs(p.best[0]["x"] - 0.3) < 0.1


@pytest.mark.parametrize("spec, sentence", [((3.0, 1.0), "is not a range"), ((0.0, 1.0, "log"), "is not a range"), ("0.1", "expected LO:HI"),
                                            ((1, 2, "loud"), "'loud' is no word"), ([], "a list of choices"), (7, "expected"),
                                            ((0.0, math.inf), "finite")])
def test_what_is_no_range_is_refused(spec, sentence):
    with pytest.raises(ValueError, match=sentence):
        Proposer({"x": spec})


def test_wrong_questions_are_answered_with_a_sentence():
    p = Proposer(RANGES)
    for call, sentence in ((lambda: p.tell({"rate": 0.1}, 1.0), "has no layers"), (lambda: p.tell({**p.ask(), "lairs": 2}, 1.0), "lairs"),
                           (lambda: p.tell({"rate": "a", "layers": 1}, 1.0), "expected a number"), (lambda: p.ask(0), "0 points"),
                           (lambda: p.best, "no trial"), (lambda: p.look([p.ask()]), "of no process"),
                           (lambda: Proposer({}), "there is none"), (lambda: Proposer(RANGES, acquisition="eii"), "did you mean 'ei'"),
                           (lambda: Proposer({"k": ["a", "b"]}).tell({"k": "c"}, 1), "expected one of 'a', 'b'")):
        with pytest.raises(ValueError, match=sentence):
            call()


# ---- searches ---------------------------------------------------------------------------------------------------------------------

LABELS = (Y > np.median(Y)).astype(int)


def test_a_search_finds_what_many_random_trials_find_and_fills_the_results():
    spaces = {"svc__C": (1e-3, 1e3, "log"), "svc__gamma": (1e-3, 1e2, "log"), "svc__kernel": ["linear", "rbf"]}
    model = make_pipeline(StandardScaler(), SVC())
    s = BayesSearchCV(model, spaces, n_iter=20, n_points=3, cv=3, random_state=1, return_train_score=True).fit(X, LABELS)
    assert len(s.cv_results_["params"]) == 20 and "mean_train_score" in s.cv_results_ and "param_svc__C" in s.cv_results_
    assert s.best_params_ == s.cv_results_["params"][s.best_index_] and s.best_score_ == s.cv_results_["mean_test_score"].max()
    assert [y for _, y in s.proposer_.trials] == list(s.cv_results_["mean_test_score"])
    assert s.predict(X).shape == (60,) and s.best_estimator_.get_params()["svc__C"] == s.best_params_["svc__C"]
    grid = {"svc__C": np.logspace(-3, 3, 30), "svc__gamma": np.logspace(-3, 2, 30), "svc__kernel": ["linear", "rbf"]}
    random = RandomizedSearchCV(model, grid, n_iter=20, cv=3, random_state=1).fit(X, LABELS)
    assert s.best_score_ >= random.best_score_ - 0.02
    again = clone(s).set_params(n_jobs=2).fit(X, LABELS)
    assert again.cv_results_["params"] == s.cv_results_["params"] and pickle.loads(pickle.dumps(s)).best_params_ == s.best_params_


def test_a_search_keeps_away_from_trials_that_fail_and_takes_one_of_several_scores():
    s = BayesSearchCV(DecisionTreeClassifier(random_state=0), {"min_samples_leaf": (-3, 20)}, n_iter=12, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning):
        s.fit(X, LABELS)
    failed = s.proposer_.report()["failed"]
    assert failed > 0 and len(s.cv_results_["params"]) == 12 - failed and s.best_params_["min_samples_leaf"] > 0
    assert s.best_score_ == s.cv_results_["mean_test_score"].max() == max(y for _, y in s.proposer_.trials if y == y)
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match="none of the 4 trials"):
        clone(s).set_params(search_spaces={"min_samples_leaf": (-30, 0)}, n_iter=4).fit(X, LABELS)
    two = BayesSearchCV(Ridge(), {"alpha": (1e-3, 1e3, "log")}, n_iter=6, cv=3, scoring=["r2", "neg_mean_squared_error"], refit="r2")
    two.fit(X, Y)
    assert [y for _, y in two.proposer_.trials] == list(two.cv_results_["mean_test_r2"])


def test_a_search_over_our_own_estimators():
    s = BayesSearchCV(GaussianProcessRegressor(n_restarts_optimizer=0), {"kernel": ["linear", "rbf", "rbf + linear"]}, n_iter=3, cv=2).fit(X, Y)
    assert sorted(p["kernel"] for p in s.cv_results_["params"]) == ["linear", "rbf", "rbf + linear"] and s.best_params_["kernel"] != "linear"


@pytest.mark.parametrize("more, sentence", [({"search_spaces": {"alpa": (0.1, 1.0)}}, "did you mean 'alpha'"), ({"n_iter": 0}, "n_iter = 0"),
                                            ({"n_points": 1.5}, "n_points = 1.5"), ({"search_spaces": None}, "expected a dict"),
                                            ({"scoring": ["r2", "max_error"], "refit": False}, "names the one")])
def test_a_search_that_is_wrong_is_refused(more, sentence):
    s = BayesSearchCV(Ridge(), {"alpha": (0.1, 1.0)}, n_iter=3, cv=2).set_params(**more)
    with pytest.raises(ValueError, match=sentence):
        s.fit(X, Y)


# ---- refusals ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator, sentence", [
    (GaussianProcessRegressor("rbff"), "did you mean 'rbf'|rbf"), (GaussianProcessRegressor(3), "kernel = 3: expected a text"),
    (GaussianProcessRegressor(alpha=0), "alpha = 0"), (GaussianProcessRegressor(alpha=np.ones(60)), "sample_weight"),
    (GaussianProcessRegressor(n_restarts_optimizer=-1), "n_restarts_optimizer = -1"), (GaussianProcessRegressor(method="vfee"), "no method"),
    (GaussianProcessRegressor(exact_limit=30), "exact_limit = 30"), (GaussianProcessRegressor("rbf", likelihood="poison"), "poison"),
    (StreamingGP(features="nystroem"), "expected 'nystrom' or 'rff'"), (StreamingGP(orthogonal=True), "orthogonal"),
    (StreamingGP("linear", features="rff", n_components=10), "stationary"), (StreamingGP(n_components=70), "70 landmarks"),
    (StreamingGP(n_components=10, rank=3), "kalman has no factors"), (StreamingGP(n_components=10, nodes=3), "no setting 'nodes'")])
def test_what_is_wrong_is_refused_with_a_sentence(estimator, sentence):
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(X, Y)
    assert not hasattr(estimator, "n_features_in_") or "_fitted" not in estimator.__dict__


@pytest.mark.skipif(not (Path(__file__).parents[2] / "examples").exists(), reason="the tree is not here")
@pytest.mark.parametrize("name", ["process.py", "search.py"])
def test_examples_run(name, tmp_path):
    import sys

    done = subprocess.run([sys.executable, Path(__file__).parents[2] / "examples" / "python" / name, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
