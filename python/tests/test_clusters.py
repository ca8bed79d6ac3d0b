"""Clusters and mixtures beside scikit-learn's, their streams, pickles and refusals."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from scipy.special import digamma, gammaln, multigammaln
from sklearn.mixture import BayesianGaussianMixture as PeerBayesian
from sklearn.mixture import GaussianMixture as PeerMixture

import fabayes


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(600, n_features=5, centers=6, random_state=3)


@pytest.mark.parametrize("load, clusters", [(load_iris, 3), (load_wine, 3), (load_digits, 10)])
def test_the_best_of_twenty_is_not_above_the_peers_by_1e_4(load, clusters):
    X = load().data
    ours = fabayes.KMeans(clusters, n_init=20, tol=0, random_state=0).fit(X)
    peer = Peer(clusters, n_init=20, tol=0, random_state=0).fit(X)
    assert ours.inertia_ <= peer.inertia_ * (1 + 1e-4)
    assert -ours.score(X) == pytest.approx(ours.inertia_, rel=1e-12)


def test_from_given_centroids_it_is_the_peers(blobs):
    X = blobs[0]
    ours, peer = fabayes.KMeans(6, init=X[:6], tol=0).fit(X), Peer(6, init=X[:6], n_init=1, tol=0).fit(X)
    assert ours.inertia_ == pytest.approx(peer.inertia_, rel=1e-12)
    np.testing.assert_allclose(ours.cluster_centers_, peer.cluster_centers_, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(ours.labels_, peer.labels_)
    np.testing.assert_allclose(ours.transform(X), peer.transform(X), rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(X.astype(np.float32)), peer.predict(X))
    assert sum(weight for _, weight in ours.mixture_) == pytest.approx(1)


def test_weights_are_numbers_of_rows(blobs):
    X = blobs[0]
    weight = 1 + np.arange(len(X)) % 3
    ours = fabayes.KMeans(6, init=X[:6], tol=0).fit(X, sample_weight=weight)
    many = fabayes.KMeans(6, init=X[:6], tol=0).fit(np.repeat(X, weight, axis=0))
    assert ours.inertia_ == pytest.approx(many.inertia_, rel=1e-12)
    assert ours.score(X, sample_weight=weight) == pytest.approx(-ours.inertia_, rel=1e-12)


def test_fewer_distinct_rows_are_said_and_more_clusters_than_rows_refused():
    X = np.repeat(np.arange(6.0).reshape(3, 2), 5, axis=0)
    for estimator in fabayes.KMeans(5), fabayes.MiniBatchKMeans(5):
        with pytest.warns(ConvergenceWarning, match="3 distinct rows for 5 clusters"):
            assert estimator.fit(X).cluster_centers_.shape == (3, 2)
        with pytest.raises(ValueError, match="16|15 rows"):
            type(estimator)(16).fit(X)
    with pytest.raises(ValueError, match="did you mean 'random'"):
        fabayes.KMeans(2, init="randon").fit(X)
    with pytest.raises(ValueError, match="expected \\(2, 2\\)"):
        fabayes.KMeans(2, init=X[:3]).fit(X)


def test_a_stream_does_not_mind_how_it_is_split(blobs):
    X, y = blobs
    whole = fabayes.MiniBatchKMeans(6, batch_size=100).fit(X)
    pieces = fabayes.MiniBatchKMeans(6, batch_size=100)
    for i in range(0, len(X), 37):
        pieces.partial_fit(X[i : i + 37])
        pieces = pickle.loads(pickle.dumps(pieces))
    np.testing.assert_array_equal(whole.cluster_centers_, pieces.cluster_centers_)
    assert whole.inertia_ == pieces.inertia_
    assert adjusted_rand_score(y, whole.predict(X)) > 0.9
    assert pieces.n_steps_ == 6


def test_few_rows_wait_for_more(blobs):
    X = blobs[0]
    stream = fabayes.MiniBatchKMeans(6)
    stream.partial_fit(X[:3])
    with pytest.raises(AttributeError):
        stream.cluster_centers_  # noqa: B018
    stream = pickle.loads(pickle.dumps(stream))
    stream.partial_fit(X[3:50])
    np.testing.assert_array_equal(stream.cluster_centers_, fabayes.MiniBatchKMeans(6).fit(X[:50]).cluster_centers_)


def test_files_are_those_of_the_command_line(blobs, tmp_path):
    X = blobs[0]
    ours = fabayes.KMeans(6, random_state=0).fit(X)
    ours.save(tmp_path / "k.safetensors")
    parts, metadata, _ = fabayes._core.posterior(str(tmp_path / "k.safetensors"))
    assert metadata["method"] == "kmeans" and len(parts) == 6


@pytest.mark.parametrize("kind, loglik", [("full", -180.185), ("tied", -256.354), ("diag", -307.178), ("spherical", -384.314)])
def test_mixtures_of_iris_are_the_best_that_peers_find(kind, loglik):
    X = load_iris().data
    g = fabayes.GaussianMixture(3, covariance_type=kind, tol=1e-10, max_iter=5000, n_init=10, random_state=0).fit(X)
    assert g.score(X) * len(X) >= loglik - 1e-3
    peer = PeerMixture(3, covariance_type=kind, weights_init=g.weights_, means_init=g.means_, precisions_init=inverse(g, kind), max_iter=1, reg_covar=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X)  # a step from there stays there
    assert peer.score(X) == pytest.approx(g.score(X), abs=1e-6)
    np.testing.assert_allclose(g.predict_proba(X), peer.predict_proba(X), atol=1e-3)
    assert g.bic(X) == pytest.approx(peer.bic(X), abs=1e-2)
    assert g.aic(X) == pytest.approx(peer.aic(X), abs=1e-2)
    copy = pickle.loads(pickle.dumps(g))
    np.testing.assert_array_equal(copy.predict(X), g.predict(X))
    np.testing.assert_array_equal(copy.covariances_, g.covariances_)


def inverse(g, kind):
    return np.linalg.inv(g.covariances_) if kind in ("full", "tied") else 1 / g.covariances_


def test_factor_analysers_of_one_part_are_factor_analysis(blobs):
    X = blobs[0]
    one = fabayes.MixtureOfFactorAnalysers(1, rank=2, tol=1e-12, max_iter=20000).fit(X)
    fa = fabayes.FactorAnalysis(2).fit(X)
    assert fa.score(X) - 1e-3 < one.score(X) < fa.score(X) + 1e-9  # EM is slow where a variance goes to 0


def test_factor_analysers_of_a_stream_do_not_mind_how_it_is_split(blobs):
    X, y = blobs
    whole = fabayes.MixtureOfFactorAnalysers(6, method="online-mfa").fit(X)
    pieces = fabayes.MixtureOfFactorAnalysers(6, method="online-mfa")
    for i in range(0, len(X), 150):
        pieces = pickle.loads(pickle.dumps(pieces.partial_fit(X[i : i + 150])))
    np.testing.assert_array_equal(whole.means_, pieces.means_)
    assert adjusted_rand_score(y, whole.predict(X)) > 0.9
    with pytest.raises(AttributeError):
        fabayes.MixtureOfFactorAnalysers().partial_fit  # noqa: B018


class PeerFrom(PeerBayesian):
    """The peer from given responsibilities."""

    def _initialize_parameters(self, X, random_state, *more):
        self._initialize(X, self.begin)


def responsibilities(b, X):
    """q(z) of a fitted mixture, by definition."""
    D, v = X.shape[1], b.degrees_of_freedom_
    rho = digamma(b.weight_concentration_) - digamma(b.weight_concentration_.sum()) - D / 2 * (1 / b.mean_precision_ + np.log(2 * np.pi))
    rho = np.tile(rho, (len(X), 1))
    for k, (m, S) in enumerate(zip(b.means_, b.covariances_)):
        d = X - m
        log_det = digamma((v[k] - np.arange(D)) / 2).sum() + D * np.log(2) - np.linalg.slogdet(S * v[k])[1]
        rho[:, k] += (log_det - np.einsum("ni,ij,nj->n", d, np.linalg.inv(S), d)) / 2
    p = np.exp(rho - rho.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def constants(peer, X):
    """What the peer leaves out of its bound."""
    (n, D), G, v0, a0 = X.shape, peer.n_components, peer.degrees_of_freedom_prior_, peer.weight_concentration_prior_
    norm = v0 * D / 2 * np.log(2) - v0 / 2 * np.linalg.slogdet(peer.covariance_prior_)[1] + multigammaln(v0 / 2, D)
    return (-n * D / 2 * np.log(2 * np.pi) - G * norm + G * D * (D - 1) / 4 * np.log(np.pi) + G * D / 2 * np.log(peer.mean_precision_prior_)
            + gammaln(G * a0) - G * gammaln(a0))


@pytest.mark.parametrize("load, parts", [(load_iris, 1), (load_iris, 2), (load_wine, 2), (load_wine, 3)])
def test_variational_mixtures_are_the_peers(load, parts):
    X = load().data
    prior = {"weight_concentration_prior": 1.5, "mean_precision_prior": 0.7, "degrees_of_freedom_prior": X.shape[1] + 1.5}
    ours = fabayes.BayesianGaussianMixture(parts, tol=1e-13, max_iter=5000, covariance_scale_prior=1, random_state=0, **prior).fit(X)
    assert len(ours.weights_) == parts
    peer = PeerFrom(n_components=parts, weight_concentration_prior_type="dirichlet_distribution", reg_covar=0, max_iter=200, tol=0,
                    covariance_prior=np.atleast_2d(np.cov(X.T)) + 1e-6 * np.diag(X.var(axis=0)), **prior)
    peer.begin = responsibilities(ours, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X)
    np.testing.assert_allclose(ours.means_, peer.means_, rtol=1e-5)
    np.testing.assert_allclose(ours.weights_, peer.weights_, rtol=1e-5)
    np.testing.assert_allclose(ours.covariances_, peer.covariances_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.degrees_of_freedom_, peer.degrees_of_freedom_, rtol=1e-5)
    assert ours.lower_bound_ == pytest.approx(peer.lower_bound_ + constants(peer, X), rel=1e-9)


def test_variational_mixtures_drop_what_rows_do_not_need(blobs):
    X, y = blobs
    ours = fabayes.BayesianGaussianMixture(8, tol=1e-9, max_iter=5000, n_init=10, random_state=0).fit(X)
    assert 6 <= len(ours.weights_) <= 7 and ours.weights_.sum() == pytest.approx(1)
    assert adjusted_rand_score(y, ours.predict(X)) > 0.9
    copy = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(copy.covariances_, ours.covariances_)
    assert copy.lower_bound_ == ours.lower_bound_
    with pytest.raises(ValueError, match="is not a choice"):
        fabayes.BayesianGaussianMixture(2, covariance_type="fall").fit(X)
