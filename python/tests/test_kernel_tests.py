"""mmd_test and hsic_test: formulas in NumPy, what is found and what is not, refusals."""

import numpy as np
import pytest

import fabayes
from fabayes import hsic_test, mmd_test

R = np.random.RandomState(1)
X, Y = R.randn(80, 2), R.randn(60, 2) + [0.8, 0]


def gram(a, b, length):
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * length**2))


def test_mmd_is_its_formula():
    xx, yy, xy = gram(X, X, 0.7), gram(Y, Y, 0.7), gram(X, Y, 0.7)
    n, m = len(X), len(Y)
    wanted = (xx.sum() - n) / (n * (n - 1)) + (yy.sum() - m) / (m * (m - 1)) - 2 * xy.mean()
    t = mmd_test(X, Y, "rbf:l=0.7", raw=True, permutations=200)
    assert abs(t.statistic - wanted) < 1e-13
    assert abs(t.biased - (xx.mean() + yy.mean() - 2 * xy.mean())) < 1e-13
    assert t.pvalue == 1 / 201 and np.isnan(t.bandwidth) and np.isnan(t.pvalue_gamma)


def test_hsic_is_its_formula():
    z = X[:, :1] ** 2 + 0.3 * R.randn(80, 1)
    H = np.eye(80) - 1 / 80
    wanted = np.trace(gram(X, X, 0.9) @ H @ gram(z, z, 0.5) @ H) / 80**2
    t = hsic_test(X, z[:, 0], "rbf:l=0.9", "rbf:l=0.5", raw=True)
    assert abs(t.biased - wanted) < 1e-13
    assert t.pvalue < 0.01 and t.pvalue_gamma < 0.01


def test_units_do_not_matter_and_seeds_do():
    a, b = mmd_test(X, Y, random_state=3), mmd_test(X * [1000, 1e-3], Y * [1000, 1e-3], random_state=3)
    assert np.allclose(a, b, rtol=1e-9, equal_nan=True) and a.bandwidth > 0
    one, three = (mmd_test(X, X[:40] + 0.01, random_state=3, n_jobs=n) for n in (1, 3))
    assert one[:3] == three[:3] and one.pvalue > 0.1
    assert hsic_test(X[:, 0], X[:, 1]).pvalue > 0.01


@pytest.mark.parametrize("call, words", [
    (lambda: mmd_test(X, Y[:, :1]), "X has 2 columns and Y has 1"),
    (lambda: hsic_test(X, Y), "X has 80 rows and Y has 60"),
    (lambda: mmd_test(X, Y, "rbff"), "did you mean 'rbf'"),
    (lambda: mmd_test(X, Y[:1]), "at least 2"),
    (lambda: mmd_test(X, Y, permutations=0), "permutations = 0"),
    (lambda: mmd_test(np.ones((5, 1)), np.ones((5, 1))), "alike"),
    (lambda: mmd_test(X, np.where(Y > 1, np.nan, Y)), "row"),
])
def test_what_cannot_be_tested_is_refused_with_a_sentence(call, words):
    with pytest.raises(fabayes.Error, match=words):
        call()
