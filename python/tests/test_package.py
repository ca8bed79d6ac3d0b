"""The package itself: what it exports, its tables, Gauss, errors, how it installs."""

import doctest
import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import fabayes
import fabayes._gauss
import fabayes.sklearn

CORE = Path(fabayes._core.__file__)
PYTHON = Path(__file__).resolve().parent.parent
NAMES = ["BayesSearchCV", "BayesianGaussianMixture", "BayesianLinearRegression", "BayesianLogisticRegression",
         "BayesianMLPClassifier", "BayesianMLPRegressor", "BayesianPoissonRegression", "ElasticNet", "Error", "FactorAnalysis",
         "Gauss", "GaussianMixture", "GaussianProcessClassifier", "GaussianProcessRegressor", "KMeans", "KernelTest", "Lasso",
         "Method", "MiniBatchKMeans", "MixtureOfFactorAnalysers", "NotSupported", "NumericalError", "Proposer",
         "QuantileRegressor", "SVC", "SVR", "Scaling", "Setting", "StreamingGP", "StreamingGPClassifier", "hsic_test", "load",
         "merge", "method", "methods", "mmd_test", "propose"]


def gauss(form="covariance", D=7, K=2, seed=0):
    r = np.random.RandomState(seed)
    return fabayes.Gauss(r.randn(D), r.randn(D, K), 0.5 + r.rand(D), form)


def dense(g):
    S = g.factor @ g.factor.T + np.diag(g.diag)
    return S if g.form == "covariance" else np.linalg.inv(S)


def test_the_public_names_are_these():
    assert sorted(fabayes.__all__) == NAMES
    assert all(getattr(fabayes, name) is not None for name in NAMES)


def test_import_needs_no_scikit_learn():
    code = "import sys, fabayes; sys.exit('sklearn' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_extension_shows_one_symbol_and_is_of_the_limited_api():
    said = subprocess.run(["nm", "-D", "--defined-only", CORE], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in said.splitlines()] == ["PyInit__core"]
    assert CORE.name == "_core.abi3.so"


def test_doctests_say_what_happens():
    for module in (fabayes, fabayes._gauss, fabayes._scaling, fabayes._settings, fabayes.io, fabayes.sklearn):
        assert doctest.testmod(module).failed == 0


def test_stubs_are_those_of_the_tables():
    if not (PYTHON.parent / "tools" / "python_stubs.py").exists():
        pytest.skip("the tree is not here")
    done = subprocess.run([sys.executable, PYTHON.parent / "tools" / "python_stubs.py", "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_types_are_strict(tmp_path):
    program = shutil.which("mypy")
    if program is None or not (PYTHON / "pyproject.toml").exists():
        pytest.skip("there is no mypy, or no tree")
    done = subprocess.run([program, "--cache-dir", tmp_path, "src/fabayes", "tests/typed.py"], capture_output=True, text=True,
                          cwd=PYTHON, env={**os.environ, "MYPYPATH": "src"})
    assert done.returncode == 0, done.stdout


def test_methods_and_settings_are_those_of_the_command_line():
    program = os.environ.get("FABAYES")
    if not program:
        pytest.skip("FABAYES does not name the program")
    listed = subprocess.run([program, "methods"], capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[0] for line in listed if line and not line.startswith("`")}
    assert {m.name for m in fabayes.methods()} == names
    table = fabayes.method("vifa").settings
    shown = subprocess.run([program, "methods", "vifa"], capture_output=True, text=True, check=True).stdout
    assert len(table) > 10 and all(name in shown and s.help[:20] in shown for name, s in table.items())
    assert table["batch"].default == "32" and "epochs" in repr(table)
    assert fabayes.method("lrvga").streams and not fabayes.method("exact").streams


def test_files_of_kernels_are_read(tmp_path):
    program = os.environ.get("FABAYES")
    if not program:
        pytest.skip("FABAYES does not name the program")
    r = np.random.RandomState(0)
    X = r.randn(40, 2)
    rows = np.column_stack([X, np.sin(X[:, 0]) + 0.1 * r.randn(40)])
    np.savetxt(tmp_path / "d.csv", rows, delimiter=",", header="x0,x1,y", comments="")
    for model, name in (("gp:rbf", "g"), ("nystrom:rbf:9", "n")):
        subprocess.run([program, "fit", tmp_path / "d.csv", "-y", "y", "--model", model, "-o", tmp_path / name, "--quiet"], check=True)
    assert fabayes.Gauss.load(tmp_path / "g").D == 3
    for name, kind in (("g", fabayes.GaussianProcessRegressor), ("n", fabayes.StreamingGP)):
        back = fabayes.load(tmp_path / name)
        assert type(back) is kind and back.kernel == "rbf" and np.sqrt(np.mean((back.predict(X) - rows[:, 2]) ** 2)) < 0.3
    assert not hasattr(back, "coef_") and not hasattr(back, "posterior_")


def test_a_method_says_which_likelihoods_it_takes():
    assert fabayes.method("exact").likelihoods == ("gaussian",) and fabayes.method("exact").network_likelihoods == ()
    assert fabayes.method("vifa").likelihoods == () == fabayes.method("ml").likelihoods
    for m in fabayes.methods():
        assert bool(m.likelihoods) == ("linear" in m.takes) and bool(m.process_likelihoods) == ("kernel" in m.takes)
    X, y = np.random.RandomState(0).randn(30, 2), np.arange(30) % 3
    for m in fabayes.methods():
        if m.likelihoods and "poisson" not in m.likelihoods:
            with pytest.raises(fabayes.NotSupported):
                fabayes.BayesianPoissonRegression(method=m.name).fit(X, y)
        elif m.likelihoods:
            assert fabayes.BayesianPoissonRegression(method=m.name).fit(X, y).method_ == m.name


class OnlyDLPack:
    """An array of a package that NumPy does not know."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, *args, **keys):
        return self.a.__dlpack__(*args, **keys)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


def test_arrays_come_in_by_dlpack():
    g, x = gauss(), np.random.RandomState(2).randn(5, 7)
    arrays = [np.array(a) for a in (g.mean, g.factor, g.diag)]
    h = fabayes.Gauss(*(OnlyDLPack(a) for a in arrays))
    want = g.log_prob(x)
    assert np.array_equal(h.log_prob(OnlyDLPack(x)), want)
    for a in arrays:
        a[...] = 7  # whoever gave them may still write to them
    assert np.array_equal(h.log_prob(x), want)


def test_a_wrong_name_gets_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'vifa'"):
        fabayes.method("viffa")


@pytest.mark.parametrize("form", ["covariance", "precision"])
def test_gauss_is_that_of_dense_algebra(form):
    g, h = gauss(form), gauss("covariance", seed=1)
    S, x = dense(g), np.random.RandomState(2).randn(5, 7)
    d = x - g.mean
    m = np.einsum("ij,ij->i", d, np.linalg.solve(S, d.T).T)
    logdet = np.linalg.slogdet(S)[1]
    np.testing.assert_allclose(g.mahalanobis(x), m, rtol=1e-11)
    np.testing.assert_allclose(g.log_prob(x), -0.5 * (m + logdet + 7 * np.log(2 * np.pi)), rtol=1e-11)
    np.testing.assert_allclose(g.log_prob(np.asfortranarray(x)), g.log_prob(x), rtol=1e-14)
    np.testing.assert_allclose(g.log_prob(x[::2]), g.log_prob(x)[::2], rtol=1e-14)
    np.testing.assert_allclose(g.entropy(), 0.5 * (logdet + 7 * (1 + np.log(2 * np.pi))), rtol=1e-11)
    np.testing.assert_allclose(g.covariance(), S, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(g.marginal_variance(), np.diag(S), rtol=1e-10)
    np.testing.assert_allclose(g.marginal([1, 4]).covariance(), S[np.ix_([1, 4], [1, 4])], rtol=1e-9)
    T = dense(h)
    e = h.mean - g.mean
    kl = 0.5 * (np.trace(np.linalg.solve(T, S)) + e @ np.linalg.solve(T, e) - 7 + np.linalg.slogdet(T)[1] - logdet)
    np.testing.assert_allclose(g.kl_to(h), kl, rtol=1e-9)
    assert g.w2_to(g) < 1e-5 and g.w2_to(h) > 0.1
    assert g.rank_cut(1).rank == 1


def test_draws_have_their_numbers():
    g = gauss()
    whole = g.sample(10, seed=3)
    assert np.array_equal(whole[4:7], g.sample(3, seed=3, first=4))
    assert g.sample(2, dtype=np.float32).dtype == np.float32
    many = g.sample(20000, seed=1)  # a coordinate's mean is off by 5 standard errors once in 250,000 runs
    assert (np.abs(many.mean(0) - g.mean) < 5 * np.sqrt(np.diag(dense(g)) / 20000)).all()


def test_arrays_are_borrowed_and_read_only():
    mean, factor, diag = np.zeros(3), np.ones((3, 1)), np.ones(3)
    g = fabayes.Gauss(mean, factor, diag)
    assert g.mean is mean and not mean.flags.writeable and not factor.flags.writeable


def test_views_are_copied_where_somebody_could_still_write():
    whole = np.zeros((4, 3))
    g = fabayes.Gauss(whole[0], np.ones((3, 1)), whole[1] + 1)
    whole[0] = 7
    assert (g.mean == 0).all() and whole.flags.writeable
    flat = np.arange(6.0)
    g = fabayes.Gauss(np.zeros(3), flat.reshape(3, 2), np.ones(3))
    flat[:] = 9
    assert g.factor[2, 1] == 5


def test_sizes_that_nobody_has_and_arrays_that_are_not_there_are_refused():
    g, core = gauss(), gauss()._core
    for n in (2**61, 2**60, 2**62, 2**63 - 1):
        with pytest.raises(MemoryError, match="no memory for") as e:
            g.sample(n)
        assert e.value.code == "NO_MEMORY"
    m = fabayes.BayesianLinearRegression().fit(np.random.RandomState(0).randn(9, 2), np.arange(9.0))
    with pytest.raises(MemoryError, match="no memory for"):
        m.sample_posterior(2**60)
    for call in (lambda: core.marginal(None), lambda: core.scores(None, None), lambda: core.log_prob(None),
                 lambda: fabayes._core.Gauss(None, None, None, "covariance"), lambda: m._fitted.core.update({"start": None}, True),
                 lambda: fabayes._core.factors(3, "ml", {}, 1, 1).update(None, None, True)):
        with pytest.raises(ValueError, match="expected an array, found none"):
            call()
    for kind in (">f8", "c16", "i8"):
        with pytest.raises(ValueError, match="format"):
            core.log_prob(np.zeros((2, 7), dtype=kind))
    with pytest.raises(ValueError, match="go forward"):
        core.log_prob(np.zeros((2, 14))[:, ::-2])
    with pytest.raises(ValueError, match="go forward"):
        core.log_prob(np.zeros((2, 7), dtype=[("a", float), ("b", "i4")])["a"])
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="seed"):
            g.sample(1, seed=seed)
        with pytest.raises(ValueError, match="seed"):
            m.sample_posterior(1, seed=seed)


def test_sparse_rows_that_point_elsewhere_are_refused():
    def table(start, index=(0, 1, 0)):
        return {"values": np.ones(3), "start": np.array(start, dtype=np.int64), "index": np.array(index, dtype=np.int32),
                "features": 2, "y": np.arange(2.0)}

    for start in ([0, 2, 9], [1, 2, 3], [0, 3, 2], [0, -1, 3]):
        with pytest.raises(ValueError, match="start must rise"):
            fabayes._core.fit(table(start), {}, 1)
    with pytest.raises(ValueError):
        fabayes._core.fit(table([0, 2, 3], (0, 7, 0)), {}, 1)


def test_a_gauss_comes_back_from_file_and_pickle(tmp_path):
    for g in (gauss(), gauss("precision")):
        g.save(tmp_path / "g.safetensors")
        for h in (fabayes.Gauss.load(tmp_path / "g.safetensors"), fabayes.load(tmp_path / "g.safetensors"),
                  pickle.loads(pickle.dumps(g))):
            assert h.form == g.form
            assert all(np.array_equal(getattr(h, a), getattr(g, a)) for a in ("mean", "factor", "diag"))


def test_errors_have_their_kind_code_and_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"psi\[0\] = -1") as e:
        fabayes.Gauss([0.0], [[1.0]], [-1.0])
    assert e.value.code == "BAD_DATA" and isinstance(e.value, fabayes.Error)
    with pytest.raises(OSError, match="cannot be read") as e:
        fabayes.load(tmp_path / "none")
    assert e.value.code == "BAD_FILE"
    (tmp_path / "bad").write_bytes(b"\x07")
    with pytest.raises(OSError, match="bad"):
        fabayes.load(tmp_path / "bad")
    with pytest.raises(fabayes.NotSupported, match="2001") as e:
        fabayes.Gauss(np.zeros(2001), np.zeros((2001, 0)), np.ones(2001)).covariance()
    assert e.value.code == "UNSUPPORTED" and isinstance(e.value, NotImplementedError)
    with pytest.raises(fabayes.NotSupported):
        fabayes.Gauss([0.0], np.zeros((1, 0)), None, "point").log_prob([[0.0]])
    with pytest.raises(ValueError, match="D = 7"):
        gauss().log_prob(np.zeros((2, 6)))
    with pytest.raises(ValueError, match="form = 'round'"):
        gauss("round")


def test_mutated_files_are_refused_or_read(tmp_path):
    gauss().save(tmp_path / "g")
    data, r = bytearray((tmp_path / "g").read_bytes()), np.random.RandomState(0)
    for _ in range(300):
        bad = bytearray(data)
        for at in r.randint(0, len(bad), 3):
            bad[at] = r.randint(256)
        (tmp_path / "bad").write_bytes(bad[: r.randint(1, len(bad) + 1)])
        try:
            fabayes.load(tmp_path / "bad")
        except (OSError, ValueError) as e:
            assert e.code in ("BAD_FILE", "BAD_DATA", "BAD_ARGUMENT")


def test_two_threads_share_a_gauss():
    g, x = gauss(D=300, K=5), np.random.RandomState(0).randn(400, 300)
    want, got = g.log_prob(x), [None] * 4

    def work(i):
        for _ in range(5):
            got[i] = g.log_prob(x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(one, want) for one in got)


def test_no_memory_is_lost_in_many_calls():
    def grown():
        for _ in range(100):
            g = gauss(D=2000, K=2)
            g.log_prob(np.zeros((2, 2000)))
            g.sample(2)
            fabayes.methods()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    first = grown()
    assert grown() - first < 3e6  # a Gaussian lost in each of 100 would be 6 MB


def test_pip_installs_it_into_a_virtual_environment(tmp_path):
    build = os.environ.get("FABAYES_BUILD")
    if not build:
        pytest.skip("FABAYES_BUILD does not name the folder of the library")
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    source = tmp_path / "tree"  # pip leaves its work beside the sources
    source.mkdir()
    subprocess.run(["cp", "-r", PYTHON, PYTHON.parent / "include", PYTHON.parent / "CMakeLists.txt", source], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", tmp_path / "v"], check=True)
    done = subprocess.run([tmp_path / "v/bin/python", "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index",
                           source / PYTHON.name], capture_output=True, text=True, env=clean, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    code = "import fabayes; print(fabayes.__file__, fabayes.FactorAnalysis(1).fit([[1, 2.], [2, 1], [3, 5], [4, 4]]).gauss_.rank)"
    said = subprocess.run([tmp_path / "v/bin/python", "-c", code], capture_output=True, text=True, env=clean, cwd=tmp_path)
    assert str(tmp_path) in said.stdout and said.stdout.split()[-1] == "1", said.stderr
