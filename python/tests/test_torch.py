"""PyTorch: steps of vifa over a module, iterates, predictions, states, networks of the library and their weights."""

import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fabayes
from fabayes import _core

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed; the steps themselves are tested by ask, drive")
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import fabayes.torch as ft
from torch.nn.functional import cross_entropy, gaussian_nll_loss

torch.set_num_threads(1)
QUICK = dict(batch=20, epochs=40, rate=0.02)


def curve(n, seed):
    r = np.random.RandomState(seed)
    x = r.uniform(-2, 2, (n, 1))
    return (torch.tensor(a, dtype=torch.float32) for a in (x, np.sin(2 * x) + 0.3 * r.randn(n, 1)))


def net(seed=0, hidden=12):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(1, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, 1))


def nll(out, y, variance=0.09):
    return gaussian_nll_loss(out, y, torch.full_like(out, variance), full=True)


def batches(x, y, size=20):
    return [(x[i:i + size], y[i:i + size]) for i in range(0, len(x), size)]


def drive(post, x, y, steps=None):
    done = 0
    while not post.done:
        for a, b in batches(x, y):
            post.step(lambda m: nll(m(a), b))
            done += 1
            if post.done or done == steps:
                return
    return


def same(g, h):
    return g.form == h.form and all(np.array_equal(getattr(g, a), getattr(h, a)) for a in ("mean", "factor", "diag"))


# ---- the numbers are the library's -------------------------------------------------------------------


class LossOfNet(torch.autograd.Function):
    """The library's own loss and gradient of one of its networks."""

    @staticmethod
    def forward(ctx, theta, core, x, y):
        loss, slope = core.loss(theta.detach().numpy(), x, y)
        ctx.slope = torch.from_numpy(np.frombuffer(slope).copy())
        return theta.new_tensor(loss)

    @staticmethod
    def backward(ctx, by):
        return by * ctx.slope, None, None, None


class OneVector(torch.nn.Module):
    def __init__(self, theta):
        super().__init__()
        self.theta = torch.nn.Parameter(torch.from_numpy(theta))


@pytest.mark.parametrize("rank", [0, 2])
def test_a_run_from_outside_ends_in_the_bits_of_the_run_inside(rank):
    r = np.random.RandomState(1)
    x, N = r.randn(53, 3), 53
    y = x[:, 0] * x[:, 1] + 0.1 * r.randn(53)
    core = _core.Net("mlp:4", 3, "gaussian", 1, 4.0, 1)
    settings = {"K": str(rank), "batch": "8", "epochs": "5", "seed": "7"}
    inside = _core.fit_of("vifa", settings, {"net": core}, 1)
    inside.update(x, y)
    rows = rows_of_each_step(core, settings, x, y)
    model = OneVector(np.frombuffer(core.start(7)).copy())
    post = ft.VIFA(model, N, rank=rank, batch=8, epochs=5, seed=7, n_jobs=1)
    for at in rows:
        post.step(lambda m: LossOfNet.apply(m.theta, core, x[at], y[at]))
    assert post.done and same(post.gauss, fabayes.Gauss._of(inside.gauss()))
    assert np.array_equal(model.theta.detach().numpy(), post.gauss.mean)


def rows_of_each_step(core, settings, x, y):
    """Which rows the library itself would take."""
    fit = _core.fit_of("vifa", settings, {"net": core, "rows": len(x)}, 1)
    theta, rows = np.zeros(core.shape[0]), []
    while (asked := fit.ask(theta)) is not None:
        at = np.frombuffer(asked[1], dtype=np.int64)
        loss, slope = core.loss(theta, x[at], y[at])
        fit.tell(loss, np.frombuffer(slope))
        rows.append(at)
    return rows[::2]  # of two draws


def test_swag_is_that_of_the_vectors():
    r = np.random.RandomState(0)
    model = OneVector(np.zeros(9))
    swag, fit = ft.SWAG(model, rank=4, n_jobs=1), _core.fit_of("swag", {"K": "4"}, {"vectors": 9}, 1)
    fa, other = ft.OnlineFA(model, "recursive-em", rank=2, n_jobs=1), _core.fit_of("recursive-em", {"K": "2"}, {"vectors": 9}, 1)
    rows = r.randn(60, 9)
    for row in rows:
        with torch.no_grad():
            model.theta.copy_(torch.from_numpy(row))
        swag.collect()
        fa.collect()
    fit.update(rows)
    other.update(rows)
    assert same(swag.gauss, fabayes.Gauss._of(fit.gauss())) and swag.collected == 60
    assert same(fa.gauss, fabayes.Gauss._of(other.gauss()))
    np.testing.assert_allclose(swag.gauss.mean, rows.mean(0), rtol=1e-12)
    np.testing.assert_allclose(swag.gauss.diag, rows.var(0) / 2, rtol=1e-12)
    again = ft.SWAG(model, rank=4, n_jobs=1)
    again.load_state_dict(swag.state_dict())
    assert same(again.gauss, swag.gauss) and again.collected == 60
    with pytest.raises(ValueError, match="is of swag"):
        fa.load_state_dict(swag.state_dict())


# ---- what it is good for ------------------------------------------------------------------------------


def test_a_posterior_predicts_no_worse_than_the_mode():
    """Three sets of 30 rows, and a network that can follow each of them."""
    alpha, by_posterior, by_mode = 0.03, 0.0, 0.0
    for data in range(3):
        x, y = curve(30, 10 * data)
        far, there = curve(400, 10 * data + 1)
        model, point = net(data, 20), net(data, 20)
        post = ft.VIFA(model, 30, rank=3, alpha=alpha, batch=30, epochs=800, rate=0.02)
        losses = []
        while not post.done:
            losses.append(post.step(lambda m: nll(m(x), y)))
        adam = torch.optim.Adam(point.parameters(), 0.02)
        for _ in range(800):
            adam.zero_grad()
            (nll(point(x), y) + alpha / 60 * sum((p**2).sum() for p in point.parameters())).backward()
            adam.step()
        out = post.predict(far, draws=100)
        assert losses[-1] < losses[0] and out.shape == (100, 400, 1)
        log_p = torch.logsumexp(-0.5 * (out - there) ** 2 / 0.09 - 0.5 * np.log(2 * np.pi * 0.09), 0) - np.log(100)
        with torch.no_grad():
            by_posterior, by_mode = by_posterior - log_p.mean() / 3, by_mode + nll(point(far), there) / 3
    assert by_posterior <= by_mode  # 0.35 and 0.65
    mean, variance = post(far, draws=100)
    assert torch.allclose(mean, out.mean(0)) and torch.allclose(variance, out.var(0))
    assert post(torch.tensor([[0.0], [6.0]]))[1].diff(dim=0) > 0  # far from the rows it knows less


def test_a_draw_is_there_for_a_block_and_the_model_is_then_as_it_was():
    x, y = curve(60, 0)
    model = net()
    post = ft.VIFA(model, 60, rank=2, **QUICK)
    drive(post, x, y, 4)
    before = [p.clone() for p in model.parameters()]
    with post.sampled(seed=3) as m:
        assert m is model
        first = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
        out = model(x).detach()
    assert np.array_equal(first.numpy(), post.gauss.sample(1, 3, dtype=np.float32)[0])
    assert torch.equal(out, post.predict(x, draws=1, seed=3)[0])
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
    with pytest.raises(ZeroDivisionError), post.sampled():
        1 / 0
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
    post.set_mean()
    np.testing.assert_allclose(torch.nn.utils.parameters_to_vector(model.parameters()).detach().numpy(), post.gauss.mean, rtol=1e-6)


def test_a_posterior_of_an_earlier_task_is_a_prior():
    x, y = curve(60, 0)
    left, right = x[:, 0] < 0, x[:, 0] >= 0
    model = net()
    first = ft.VIFA(model, int(left.sum()), rank=3, batch=20, epochs=200, rate=0.02)
    drive(first, x[left], y[left])
    alone, after = ft.VIFA(net(), int(right.sum()), rank=3, batch=20, epochs=200, rate=0.02), \
        ft.VIFA(model, int(right.sum()), rank=3, prior=first.gauss, batch=20, epochs=200, rate=0.02)
    drive(alone, x[right], y[right])
    drive(after, x[right], y[right])
    kept, lost = (((p(x[left])[0] - y[left]) ** 2).mean() for p in (after, alone))
    assert kept < 0.5 * lost  # it remembers the first task
    assert ((after(x[right])[0] - y[right]) ** 2).mean() < 0.3


def test_a_subset_of_the_parameters_moves_and_the_others_stay():
    x, y = curve(60, 0)
    for params in (["2.weight", "2.bias"], lambda name, p: name.startswith("2."), None):
        model = net()
        if params is None:
            model[0].requires_grad_(False)
        before = model[0].weight.clone()
        post = ft.VIFA(model, 60, rank=2, params=params, **QUICK)
        assert post.D == 13 and list(post.params) == ["2.weight", "2.bias"]
        drive(post, x, y)
        assert torch.equal(before, model[0].weight) and post.gauss.D == 13
        assert post(x)[1].max() > 0
    with pytest.raises(ValueError, match="did you mean '2.bias'"):
        ft.VIFA(net(), 60, params=["2.bais"])
    with pytest.raises(ValueError, match="'0.weight' does not require"):
        ft.VIFA(model, 60, params=["0.weight"])
    with pytest.raises(ValueError, match="no parameters"):
        ft.SWAG(net(), params=[])


# ---- states -------------------------------------------------------------------------------------------


def test_a_state_goes_on_to_the_same_bits():
    x, y = curve(60, 0)
    whole = ft.VIFA(net(), 60, rank=2, n_jobs=1, **QUICK)
    drive(whole, x, y)
    half = ft.VIFA(net(), 60, rank=2, n_jobs=1, **QUICK)
    drive(half, x, y, 51)
    half.gauss  # looking changes nothing
    file = io.BytesIO()
    torch.save(half.state_dict(), file)
    file.seek(0)
    state = torch.load(file)
    rest = ft.VIFA(net(), 1, rank=1)
    rest.load_state_dict(state)
    assert same(rest.gauss, half.gauss) and not rest.done
    drive(rest, x, y)
    drive(half, x, y)
    assert same(rest.gauss, whole.gauss) and same(half.gauss, whole.gauss)
    over = ft.VIFA(net(), 60)
    over.load_state_dict(whole.state_dict())
    assert over.done and same(over.gauss, whole.gauss)
    with pytest.raises(ValueError, match="other parameters: '0.weight'"):
        ft.VIFA(net(hidden=3), 60).load_state_dict(state)


def test_an_exception_of_the_closure_is_raised_as_it_is_and_the_step_not_made():
    x, y = curve(60, 0)

    class Own(Exception):
        pass

    post, plain = (ft.VIFA(net(), 60, rank=2, n_jobs=1, **QUICK) for _ in range(2))
    thrown = Own()
    calls = []

    def fails(m):
        calls.append(1)
        if len(calls) % 2 == 0:  # at the second draw of a step
            raise thrown
        return nll(m(x), y)

    for a, b in batches(x, y) * 40:
        before = [p.clone() for p in post.model.parameters()]
        with pytest.raises(Own) as e:
            post.step(fails)
        assert e.value is thrown and all(torch.equal(p, q) for p, q in zip(before, post.model.parameters()))
        post.step(lambda m: nll(m(a), b))
        plain.step(lambda m: nll(m(a), b))
    assert post.done and same(post.gauss, plain.gauss)
    with pytest.raises(ValueError, match="the run is over: its 40 epochs"):
        post.step(lambda m: nll(m(x), y))
    one = torch.nn.Linear(1, 1, bias=False)
    usual = ft.VIFA(one, 10, rank=0, batch=10, draws=1, n_jobs=1)  # its epochs are the table's
    while not usual.done:
        usual.step(lambda m: m.weight.sum() ** 2)
    with pytest.raises(ValueError, match="the run is over: epochs and batch"):
        usual.step(lambda m: m.weight.sum() ** 2)
    for wrong in (3.0, torch.zeros(()), torch.zeros(2, requires_grad=True)):
        with pytest.raises(ValueError, match="one number in a tensor"):
            ft.VIFA(net(), 60, **QUICK).step(lambda m: wrong)
    with pytest.raises(fabayes.NumericalError, match="the loss is nan"):
        ft.VIFA(net(), 60, **QUICK).step(lambda m: nll(m(x), y) * float("nan"))


def test_the_command_line_reads_what_is_saved(tmp_path):
    program = os.environ.get("FABAYES")
    if not program:
        pytest.skip("FABAYES does not name the program")
    x, y = curve(60, 0)
    post = ft.VIFA(net(), 60, rank=2, **QUICK)
    drive(post, x, y, 5)
    post.save(tmp_path / "half")
    drive(post, x, y)
    post.save(tmp_path / "whole")
    for name in ("half", "whole"):
        said = subprocess.run([program, "info", tmp_path / name], capture_output=True, text=True, check=True).stdout
        assert "covariance, D = 37, K = 2" in said
    g = fabayes.load(tmp_path / "whole")
    assert same(g, post.gauss)
    assert json.loads(_core.posterior(str(tmp_path / "whole"))[1]["torch"]) == {"0.weight": [12, 1], "0.bias": [12], "2.weight": [1, 12],
                                                                                "2.bias": [1]}
    subprocess.run([program, "sample", tmp_path / "whole", "-n", "2", "--seed", "3", "-o", tmp_path / "d.npy"], check=True,
                   capture_output=True)
    assert np.array_equal(np.load(tmp_path / "d.npy"), g.sample(2, 3))
    said = subprocess.run([program, "compare", tmp_path / "half", tmp_path / "whole", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout)["kl_ab"] > 0


# ---- loops ---------------------------------------------------------------------------------------------


def blobs(n=90, seed=0):
    r = np.random.RandomState(seed)
    y = np.arange(n) % 3
    return torch.tensor(r.randn(n, 2) + 3 * np.eye(3)[y][:, :2], dtype=torch.float32), torch.tensor(y)


def test_fit_runs_a_loader_and_computes_batch_norm_for_the_mean():
    x, y = blobs()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=30)
    post = ft.VIFA(model, rank=2, rate=0.02).fit(loader, epochs=80)
    assert post.done and post.n_rows == 90
    inside = model[0](x).detach()
    torch.testing.assert_close(model[1].running_mean, inside.mean(0), rtol=1e-4, atol=1e-5)
    model.eval()
    with torch.no_grad():
        assert (model(x).argmax(1) == y).float().mean() > 0.8
    model.train()
    stale, own = post.predict(x, 20), post.predict(x, 20, update_bn=loader)
    assert model.training and not torch.equal(stale, own)
    torch.testing.assert_close(model[1].running_mean, inside.mean(0), rtol=1e-4, atol=1e-5)  # as it was
    with post.sampled(seed=2, update_bn=loader):
        torch.testing.assert_close(model[1].running_mean, model[0](x).detach().mean(0), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="give loss="):
        ft.VIFA(net(), rank=1, epochs=1).fit(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*curve(20, 0)), batch_size=10))


def test_functions_do_what_the_object_does():
    x, y = curve(60, 0)
    model = net()
    post = ft.VIFA(model, 60, rank=2, n_jobs=1, **QUICK)
    transform = ft.functional.vifa.build(
        lambda p, batch: (-nll(torch.tanh(batch[0] @ p["0.weight"].T + p["0.bias"]) @ p["2.weight"].T + p["2.bias"], batch[1]), "aux"),
        60, rank=2, n_jobs=1, **QUICK)
    old = transform.init(dict(net().named_parameters()))
    state = old
    for i, (a, b) in enumerate(batches(x, y) * 40):
        post.step(lambda m: nll(m(a), b))
        state, aux = transform.update(state, (a, b), inplace=i > 3)
        assert aux == "aux"
    assert state.done and not old.done and old.loss is None
    np.testing.assert_allclose(state.gauss.mean, post.gauss.mean, atol=2e-3)  # products in another order, in float32
    assert state.params["0.weight"].shape == (12, 1)


def test_settings_and_sizes_that_are_wrong_are_refused():
    for keys, words in (({"K": 3}, "say rank"), ({"runs": 2}, "one run"), ({"epoch": 3}, "did you mean 'epochs'"), ({"rank": -1}, "rank = -1"),
                        ({"n_rows": 0}, "n_rows = 0"), ({"batch": 0}, "batch = 0"), ({"dtype": "f16"}, "expected f64 or f32")):
        with pytest.raises(ValueError, match=words):
            ft.VIFA(net(), **{"n_rows": 60, **keys}).step(lambda m: nll(m(torch.zeros(2, 1)), torch.zeros(2, 1)))
    with pytest.raises(ValueError, match="n_rows is needed"):
        ft.VIFA(net()).step(lambda m: None)
    with pytest.raises(ValueError, match="takes no stream of vectors"):
        ft.OnlineFA(net(), "ml")
    with pytest.raises(ValueError, match="theta has 37"):
        ft.VIFA(net(), 60, prior=fabayes.Gauss(np.zeros(3), np.zeros((3, 1)), np.ones(3))).gauss
    single = ft.VIFA(net(), 60, dtype="f32", **QUICK)
    drive(single, *curve(60, 0), 3)
    assert single.gauss.factor.dtype == np.float32


def test_parameters_of_several_types_are_copied_there_and_back():
    """As those on another device are: one is float64, so the vector is, and the float32 ones get copies."""

    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.scale = net(), torch.nn.Parameter(torch.ones((), dtype=torch.float64))

        def forward(self, x):
            return (self.scale * self.inner(x).double()).float()

    x, y = curve(60, 0)
    model, seen = Mixed(), []
    post = ft.VIFA(model, 60, rank=2, **QUICK)
    before = [p.clone() for p in model.parameters()]

    def loss(m):
        seen.append([p.detach().clone() for p in m.parameters()])
        return nll(m(x), y)

    post.step(loss)
    assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(before, model.parameters()))
    assert all(not torch.equal(a, b) for a, b in zip(seen[0], before)) and all(not torch.equal(a, b) for a, b in zip(*seen))
    while not post.done:
        post.step(loss)
    for p, mean in zip(model.parameters(), np.split(post.gauss.mean, np.cumsum([p.numel() for p in model.parameters()])[:-1])):
        assert np.array_equal(p.detach().reshape(-1).numpy(), mean.astype(p.detach().numpy().dtype))
    assert post(x)[1].min() > 0


def test_a_forked_child_refuses_and_ends():
    x, y = curve(60, 0)
    post = ft.VIFA(net(), 60, rank=1, **QUICK)
    drive(post, x, y, 2)
    child = os.fork()
    if child == 0:
        try:
            post.step(lambda m: nll(m(x), y))
        except fabayes.NotSupported:
            del post
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    drive(post, x, y)


# ---- Gaussians and networks ---------------------------------------------------------------------------


def test_a_gauss_goes_to_torch_and_back():
    r = np.random.RandomState(0)
    g = fabayes.Gauss(r.randn(6), r.randn(6, 2), 0.5 + r.rand(6))
    d = g.to_torch(torch.float64)
    x = r.randn(4, 6)
    np.testing.assert_allclose(d.log_prob(torch.from_numpy(x)).numpy(), g.log_prob(x), rtol=1e-11)
    assert same(fabayes.Gauss.from_torch(d), g)
    assert g.to_torch().loc.dtype == torch.float32
    plain = fabayes.Gauss(np.zeros(3), np.zeros((3, 0)), np.array([1.0, 4.0, 9.0]))
    np.testing.assert_allclose(plain.to_torch(torch.float64).variance.numpy(), [1, 4, 9])
    normal = torch.distributions.Normal(torch.zeros(3), torch.tensor([1.0, 2.0, 3.0]))
    assert same(fabayes.Gauss.from_torch(torch.distributions.Independent(normal, 1)), plain)
    with pytest.raises(ValueError, match="a diagonal less a low rank"):
        fabayes.Gauss(np.zeros(3), np.ones((3, 1)), np.ones(3), "precision").to_torch()
    with pytest.raises(ValueError, match="Gamma"):
        fabayes.Gauss.from_torch(torch.distributions.Gamma(torch.ones(3), torch.ones(3)))
    with pytest.raises(ValueError, match="a batch"):
        fabayes.Gauss.from_torch(torch.distributions.Normal(torch.zeros(2, 3), 1))


def test_weights_come_in_and_go_out_with_equal_outputs():
    torch.manual_seed(0)
    nn = torch.nn
    cases = [
        ("input:2x9x9,conv:3x3,relu,pool:2,conv:4x3:same,tanh,flatten,dense:7,sigmoid", (2, 9, 9),
         nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 3, padding=1), nn.Tanh(), nn.Flatten(),
                       nn.Linear(36, 7), nn.Sigmoid(), nn.Linear(7, 5))),
        ("dense:6,tanh", (3,), nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))),
        ("dense:6,relu", (3,), nn.Sequential(nn.Linear(3, 6, bias=False), nn.ReLU(), nn.Linear(6, 2)))]
    for layers, shape, model in cases:
        x = torch.randn(300, *shape)
        network = ft.import_state_dict(layers, model.state_dict())
        with torch.no_grad():
            np.testing.assert_allclose(network.predict(x), model(x).numpy(), atol=1e-6, rtol=1e-6)
        if "0.bias" in model.state_dict():
            back = ft.export_state_dict(network, model.state_dict())
            assert all(torch.equal(back[k], v) for k, v in model.state_dict().items())
    conv = cases[0][2].state_dict()
    for layers, words in (("input:2x9x9,conv:3x5,relu,pool:2,flatten,dense:7", r"\(3, 2, 5, 5\)"), ("dense:6", "needs weights"),
                          ("input:2x9x9,conv:3x3,relu,pool:2,conv:4x3:same,flatten", r"needs weights of the shape \(5, 36\)")):
        with pytest.raises(ValueError, match=words):
            ft.import_state_dict(layers, conv)
    with pytest.raises(ValueError, match="'1.weight' is no weight"):
        ft.import_state_dict("dense:3", nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).state_dict())


def test_the_mean_of_a_fitted_network_goes_to_torch(tmp_path):
    r = np.random.RandomState(0)
    X = r.randn(80, 3)
    y = np.tanh(X[:, 0]) + 0.1 * r.randn(80)
    est = fabayes.BayesianMLPRegressor((6,), method="sgd", epochs=30, standardise=False).fit(X, y)
    est.save(tmp_path / "net")
    model = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1))
    model.load_state_dict(ft.export_state_dict(tmp_path / "net", model.state_dict()))
    with torch.no_grad():
        np.testing.assert_allclose(model(torch.tensor(X, dtype=torch.float32))[:, 0].numpy(), est.predict(X), atol=1e-5)
    est.set_params(standardise=True).fit(X, y).save(tmp_path / "scaled")
    with pytest.raises(ValueError, match="were scaled"):
        ft.export_state_dict(tmp_path / "scaled")


def test_cross_entropy_of_a_softmax_regression_is_near_the_exact_mode():
    x, y = blobs(300)
    model = torch.nn.Linear(2, 3)
    post = ft.VIFA(model, 300, rank=3, batch=50, epochs=200, rate=0.02, alpha=1)
    while not post.done:
        for i in range(0, 300, 50):
            if not post.done:
                post.step(lambda m: cross_entropy(m(x[i:i + 50]), y[i:i + 50]))
    est = fabayes.BayesianLogisticRegression(method="laplace", alpha=1, standardise=False).fit(x.numpy(), y.numpy())
    p = post.predict(x, 100).softmax(-1).mean(0).numpy()
    assert np.abs(p - est.predict_proba(x.numpy())).mean() < 0.02


# ---- the examples -----------------------------------------------------------------------------------------------------------------


def numbers_of(example):
    """What it prints: the numbers of each line, behind the words in front of them."""
    path = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python", example)
    if not os.path.exists(path):
        pytest.skip("the examples are not here")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return [[float(n) for n in re.findall(r"\d+\.\d+", line)] for line in done.stdout.splitlines()]


def test_a_conv_net_with_a_posterior_knows_what_it_has_not_seen():
    _, posterior, _, known, strange = numbers_of("torch_conv.py")
    assert posterior[0] > 0.9 and strange[0] > 2 * known[0] and strange[0] > strange[1]


def test_a_posterior_as_prior_keeps_the_earlier_task():
    lines = numbers_of("lora_prior.py")
    after, alone = lines[-2], lines[-1]
    assert after[0] > 0.8 and after[1] > alone[1]


# ---- a card ------------------------------------------------------------------------------------------


def card_or_skip(**more):
    """A posterior of a net on the card, or the reason why there is none."""
    if not torch.cuda.is_available():
        print("skipped: torch finds no card")
        pytest.skip("torch finds no card")
    model = net().cuda()
    post = ft.VIFA(model, 100, rank=3, device="cuda", optimiser="adam", **{**QUICK, **more})
    try:
        post._begin()
    except (RuntimeError, ValueError, NotImplementedError) as e:
        if "device cuda" not in str(e):
            raise
        print(f"skipped: {e}")
        pytest.skip(str(e))
    return post


def test_a_device_that_is_not_there_is_a_sentence():
    with pytest.raises(ValueError, match="there is no device 'tpu'"):
        ft.VIFA(net(), 100, device="tpu")._begin()
    if not torch.cuda.is_available():
        with pytest.raises(fabayes.NotSupported, match="device cuda"):
            ft.VIFA(net(), 100, device="cuda")._begin()


def test_a_run_on_a_card_is_that_of_the_processor():
    post = card_or_skip(dtype="f64")
    there = ft.VIFA(net(), 100, rank=3, optimiser="adam", **QUICK)
    x, y = curve(100, 1)
    drive(there, x, y)
    drive(post, x.cuda(), y.cuda())
    assert np.allclose(post.gauss.mean, there.gauss.mean, atol=2e-3)  # gradients of the nets are of float32
    assert np.allclose(np.log(post.gauss.diag), np.log(there.gauss.diag), atol=2e-2)


def test_draws_are_lent_to_a_model_on_the_card():
    post = card_or_skip()
    x, y = curve(100, 1)
    x, y = x.cuda(), y.cuda()
    places = []

    def closure(model):
        places.append(next(iter(post.params.values())).data_ptr())
        return nll(model(x), y)

    post.step(closure)
    assert set(places) == {post._run.theta.data_ptr()} and post._run.theta.is_cuda
    state = post.state_dict()
    again = ft.VIFA(net().cuda(), 100, rank=3, device="cuda", optimiser="adam", **QUICK)
    again.load_state_dict(state)
    for p in (post, again):
        drive(p, x, y)
    assert same(post.gauss, again.gauss)


def test_a_gradient_elsewhere_than_on_the_card_is_refused():
    post = card_or_skip()
    run = post._begin()
    run._ask()
    with pytest.raises(ValueError, match="expected 37 numbers on the card"):
        run.fit.tell(0.5, torch.zeros(3, device="cuda"))
    with pytest.raises(ValueError, match="not finite"):
        run.fit.tell(0.5, torch.full((37,), float("nan"), device="cuda"))
    run.fit.tell(0.5, torch.zeros(37, device="cuda"))
