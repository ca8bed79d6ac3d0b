"""Support vector machines beside scikit-learn's, by the same names."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR, NuSVC

import fabayes

KERNELS = [{}, {"kernel": "linear"}, {"gamma": 0.03, "C": 20}, {"kernel": "poly"}, {"kernel": "poly", "coef0": 1.5, "degree": 2},
           {"gamma": "auto", "C": 0.3}]


def cancer():
    data = load_breast_cancer()
    return scale(data.data)[:250], data.target[:250]


def near(machine, largest=1.0):
    """By how much decisions of the peers may be off: they keep rows of the kernel, up to `largest`, in single precision.  (tests/test_svm.c
    proves ours to 1e-7.)"""
    return 2**-23 * largest * max(1, np.abs(machine.dual_coef_).sum())


def largest(machine):
    X = machine.support_vectors_
    return 1.0 if machine.kernel == "rbf" else np.abs(np.array([[row @ row for row in X]])).max() ** (1 if machine.kernel == "linear" else 3)


def coefficients(machine, n):
    """y_i a_i of all rows of two classes, or of numbers."""
    out = np.zeros(n)
    out[machine.support_] = machine.dual_coef_[0]
    return out


@pytest.mark.parametrize("keys", KERNELS)
def test_at_a_tight_tolerance_it_is_the_peers_machine(keys):
    X, y = cancer()
    ours, peer = fabayes.SVC(tol=1e-12, **keys).fit(X, y), SVC(tol=1e-12, **keys).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=0, atol=near(ours, largest(ours)))
    assert set(ours.support_) == set(peer.support_)
    np.testing.assert_array_equal(ours.n_support_, peer.n_support_)
    Q = peer.decision_function(X) - peer.intercept_
    dual = np.abs(coefficients(peer, len(X))).sum() - coefficients(peer, len(X)) @ Q / 2
    assert ours.dual_ == pytest.approx(dual, rel=1e-6)
    assert ours.gap_ <= 1e-12


@pytest.mark.parametrize("nu", [0.05, 0.21, 0.6])
def test_nu_is_the_peers_and_bounds_its_shares(nu):
    X, y = cancer()
    ours, peer = fabayes.SVC(nu=nu, tol=1e-12).fit(X, y), NuSVC(nu=nu, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=0, atol=near(ours, largest(ours)))
    assert ours.margin_errors_ <= nu * len(X) <= len(ours.support_)


@pytest.mark.parametrize("keys", [*KERNELS[:3], {"epsilon": 0.4}])
def test_numbers_are_the_peers(keys):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:200], scale(y)[:200]
    ours, peer = fabayes.SVR(tol=1e-10, **keys).fit(X, y), SVR(tol=1e-10, **keys).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=0, atol=near(ours, largest(ours)))
    assert set(ours.support_) == set(peer.support_)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_several_classes_are_the_peers(load):
    X, y = load(return_X_y=True)
    X = scale(X)
    names = np.array(["ash", "elm", "oak"])[y]
    ours, peer = fabayes.SVC(tol=1e-10).fit(X, names), SVC(tol=1e-10).fit(X, names)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=0, atol=near(ours, largest(ours)))
    np.testing.assert_array_equal(ours.predict(X), ours.classes_[ours.decision_function(X).argmax(axis=1)])
    for one in ours, peer:
        one.set_params(decision_function_shape="ovo")
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=0, atol=near(ours, largest(ours)))


def test_weights_are_what_C_is_taken_times():
    X, y = cancer()
    weight = (1 + np.arange(len(X)) % 3) / 2
    ours, peer = fabayes.SVC(tol=1e-10).fit(X, y, weight), SVC(tol=1e-10).fit(X, y, weight)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=0, atol=near(ours))
    ours, peer = (m(tol=1e-10, class_weight="balanced").fit(X, y) for m in (fabayes.SVC, SVC))
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=0, atol=near(ours))


def test_probabilities_never_contradict_the_class():
    X, y = cancer()
    machine = fabayes.SVC(probability=True, random_state=3).fit(X, y)
    p = machine.predict_proba(X)
    np.testing.assert_array_equal(machine.classes_[(p[:, 1] > 0.5).astype(int)], machine.predict(X))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert not hasattr(fabayes.SVC(), "predict_proba")


def test_pickles_decide_alike_on_any_number_of_threads():
    X, y = cancer()
    one, two = fabayes.SVC(n_jobs=1).fit(X, y), pickle.loads(pickle.dumps(fabayes.SVC(n_jobs=2).fit(X, y)))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_what_is_wrong_is_said():
    X, y = cancer()
    with pytest.raises(ValueError, match="at most 2 min"):
        fabayes.SVC(nu=0.99).fit(X[20:], y[20:])
    with pytest.raises(ValueError, match="1 class"):
        fabayes.SVC().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="nothing to explain"):
        fabayes.SVR().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="not offered"):
        fabayes.SVC(kernel="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="did you mean 'rbf'"):
        fabayes.SVC(kernel="rbg").fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        fabayes.SVC(probability=True).fit(*load_iris(return_X_y=True))
    with pytest.warns(ConvergenceWarning, match="stopped after 3 steps"):
        fabayes.SVC(max_iter=3).fit(X, y)
