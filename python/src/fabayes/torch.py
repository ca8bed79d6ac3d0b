"""PyTorch: posteriors over the parameters of a torch.nn.Module.

    post = VIFA(model, n_rows, rank=5, batch=32, epochs=20)
    for x, y in loader:
        post.step(lambda m: loss_fn(m(x), y))         # the average of -log p(y | x) over the batch
    mean, variance = post(x)                          # of the outputs
    with post.sampled(seed=3): model(x)               # the outputs of one draw

Torch computes losses and gradients; the library has the posterior and takes the steps, in float64 on the processor.  Each draw
of the parameters is copied to where they are, and each gradient back: once a draw.  VIFA(..., device="cuda") has the posterior on
the card beside the model, in float32: draws are lent to the model as they lie there, and gradients taken from there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.optim.swa_utils import update_bn as recompute_batch_norm

from . import _core, _settings
from ._errors import CODES, error, refuse
from ._gauss import Gauss, numbers
from ._settings import threads_of

__all__ = ["OnlineFA", "SWAG", "VIFA", "Network", "export_state_dict", "functional", "import_state_dict"]

Closure = Callable[[torch.nn.Module], torch.Tensor]
Params = Sequence[str] | Callable[[str, torch.nn.Parameter], bool] | None


# ---- parameters as one vector ------------------------------------------------------------------------


class Flat:
    """Tensors one after the other in one vector, float64 where one of them is, else float32; on the processor."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]):
        self.shapes = {name: tuple(t.shape) for name, t in tensors.items()}
        self.places = {name: (t.device, t.dtype) for name, t in tensors.items()}
        self.D = sum(t.numel() for t in tensors.values())
        self.dtype = torch.float64 if any(t.dtype == torch.float64 for t in tensors.values()) else torch.float32
        if self.D == 0:
            raise refuse("no parameters: none of the model requires a gradient, or none was chosen")

    def room(self, device: str | None = None, dtype: torch.dtype | None = None) -> torch.Tensor:
        return torch.zeros(self.D, dtype=dtype or self.dtype, device=device or "cpu")

    def parts(self, vector: torch.Tensor) -> dict[str, torch.Tensor]:
        """Views of the vector, each in its shape."""
        out, at = {}, 0
        for name, shape in self.shapes.items():
            n = int(np.prod(shape, dtype=np.int64))
            out[name] = vector[at:at + n].view(shape)
            at += n
        return out


def chosen(model: torch.nn.Module, params: Params) -> dict[str, torch.nn.Parameter]:
    """The parameters of those names, of which the predicate of name and parameter is true, or that require a gradient."""
    named = dict(model.named_parameters())
    if params is None:
        return {name: p for name, p in named.items() if p.requires_grad}
    if callable(params):
        return {name: p for name, p in named.items() if params(name, p)}
    for name in params:
        if name not in named:
            near = _core.nearest(name, list(named))
            raise refuse(f"the model has no parameter '{name}'" + (f"; did you mean '{near}'?" if near else ""))
    return {name: p for name, p in named.items() if name in set(params)}


def numpy_of(vector: torch.Tensor) -> np.ndarray[Any, Any]:
    return vector.detach().cpu().numpy()


# ---- what every posterior does -----------------------------------------------------------------------


class Posterior:
    """A Gaussian over the chosen parameters of a model."""

    def __init__(self, model: torch.nn.Module, params: Params, n_jobs: int | None):
        self.model = model
        self.params = chosen(model, params)
        self._flat = Flat(self.params)
        self._draw_room = self._flat.room()
        self._threads = threads_of(n_jobs)
        self._known: Gauss | None = None

    # what the classes below bring
    def _make_gauss(self) -> Gauss:
        raise NotImplementedError

    def _pack(self) -> bytes | None:
        raise NotImplementedError

    def _unpack(self, data: bytes | None, state: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def _say(self) -> dict[str, Any]:
        return {}

    def _write(self, path: str, metadata: dict[str, str]) -> None:
        raise NotImplementedError

    @property
    def D(self) -> int:
        """The number of parameters."""
        return self._flat.D

    @property
    def gauss(self) -> Gauss:
        """The posterior so far; the parameters stand in it in the order of `params`, each in the order of its elements."""
        if self._known is None:
            self._known = self._make_gauss()
        return self._known

    # -- the model with other values

    @torch.no_grad()
    def _put(self, vector: torch.Tensor) -> None:
        for p, part in zip(self.params.values(), self._flat.parts(vector).values()):
            p.copy_(part)

    def _put_array(self, a: np.ndarray[Any, Any]) -> None:
        self._draw_room.copy_(torch.from_numpy(np.array(a, copy=True)))
        self._put(self._draw_room)

    @contextmanager
    def _kept(self, buffers: bool = False) -> Iterator[None]:
        """The parameters, and where asked for the buffers, are afterwards what they were."""
        old: list[tuple[torch.Tensor, torch.Tensor]] = [(p, p.detach().clone()) for p in self.params.values()]
        places = [(m, name, b) for m in self.model.modules() for name, b in m._buffers.items() if buffers and b is not None]
        old += [(b, b.clone()) for _, _, b in places]
        try:
            yield
        finally:
            for m, name, b in places:  # update_bn of some versions puts other tensors there
                m._buffers[name] = b
            with torch.no_grad():
                for t, was in old:
                    t.copy_(was)

    @contextmanager
    def _lent(self, vector: torch.Tensor) -> Iterator[Callable[[], None]]:
        """The parameters are the parts of the vector, without a copy where they are of its kind; what it yields renews the others."""
        parts = self._flat.parts(vector)
        pairs = [(p, parts[name]) for name, p in self.params.items()]
        direct = [(p, part, p.data) for p, part in pairs if p.device == part.device and p.dtype == part.dtype and type(p.data) is torch.Tensor]
        known = {id(p) for p, _, _ in direct}
        copied = [(p, part, p.detach().clone()) for p, part in pairs if id(p) not in known]

        def renew() -> None:
            with torch.no_grad():
                for p, part, _ in copied:
                    p.copy_(part)

        try:
            for p, part, _ in direct:
                p.data = part
            yield renew
        finally:
            for p, _, was in direct:
                p.data = was
            with torch.no_grad():
                for p, _, was in copied:
                    p.copy_(was)

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        modes = [(m, m.training) for m in self.model.modules()]
        self.model.eval()
        try:
            yield
        finally:
            for m, was in modes:
                m.training = was

    def _put_draw(self, seed: int, number: int, update_bn: Any) -> None:
        single = np.float32 if self._flat.dtype == torch.float32 else np.float64
        self._put_array(self.gauss.sample(1, seed, number, dtype=single)[0])
        if update_bn is not None:
            recompute_batch_norm(update_bn, self.model)

    @contextmanager
    def sampled(self, seed: int = 0, draw: int = 0, update_bn: Any = None) -> Iterator[torch.nn.Module]:
        """The model with the values of a draw: number `draw` of a seed.  update_bn: a loader, from which statistics of batch norm
        are computed for it."""
        with self._kept(update_bn is not None):
            self._put_draw(seed, draw, update_bn)
            yield self.model

    def set_mean(self, update_bn: Any = None) -> None:
        """Write the mean into the model.  update_bn: a loader, from which statistics of batch norm are computed for it."""
        self._put_array(self.gauss.mean)
        if update_bn is not None:
            recompute_batch_norm(update_bn, self.model)

    # -- predictions

    @torch.no_grad()
    def predict(self, x: Any, draws: int = 50, seed: int = 0, update_bn: Any = None) -> torch.Tensor:
        """The outputs of the model, in eval mode, under each of so many draws: draws x the shape of the outputs."""
        if draws < 1:
            raise refuse(f"draws = {draws}, expected at least 1")
        out = []
        with self._evaluating(), self._kept(update_bn is not None):
            for i in range(draws):
                self._put_draw(seed, i, update_bn)
                out.append(self.model(x))
        return torch.stack(out)

    def __call__(self, x: Any, draws: int = 50, seed: int = 0, update_bn: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and variance of the outputs over the draws.  Noise of a target is not in them."""
        out = self.predict(x, draws, seed, update_bn)
        return out.mean(0), out.var(0, unbiased=draws > 1)

    # -- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """As a file that `fabayes info`, `sample` and `compare` read; names and shapes stand in its metadata, key `torch`."""
        self._write(os.fspath(path), {"torch": json.dumps({name: list(s) for name, s in self._flat.shapes.items()})})

    def state_dict(self) -> dict[str, Any]:
        """What a run goes on from, for torch.save: its end has the same bits.  The values of the model are the model's own."""
        return {"shapes": dict(self._flat.shapes), "state": tensor_of(self._pack()), **self._say()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there; the model has the same parameters, as the settings have their part in the state."""
        shapes = {name: tuple(s) for name, s in state["shapes"].items()}
        if shapes != self._flat.shapes:
            wrong = next((n for n in [*shapes, *self._flat.shapes] if shapes.get(n) != self._flat.shapes.get(n)), None)
            raise refuse(f"the state is of other parameters: '{wrong}' has the shape {shapes.get(wrong or '')} there and "
                         f"{self._flat.shapes.get(wrong or '')} here" if wrong else "the state has the parameters in another order")
        self._unpack(bytes_of(state["state"]), state)
        self._known = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(D={self.D}, parameters={list(self.params)[:4]}{'..' if len(self.params) > 4 else ''})"


def tensor_of(data: bytes | None) -> torch.Tensor | None:
    return None if data is None else torch.from_numpy(np.frombuffer(data, dtype=np.uint8).copy())


def bytes_of(data: torch.Tensor | None) -> bytes | None:
    return None if data is None else numpy_of(data).tobytes()


# ---- steps that the library asks for -----------------------------------------------------------------


class OnCard:
    """What torch reads a vector on a card by."""

    def __init__(self, known: dict[str, Any]):
        self.__cuda_array_interface__ = known


class Run:
    """A fit of the library that asks at which theta it wants loss and gradient; with a device both lie there."""

    def __init__(self, flat: Flat, n_rows: int, rank: int, prior: Gauss | None, dtype: str, threads: int, start: np.ndarray[Any, Any],
                 settings: dict[str, str], data: bytes | None = None, device: str | None = None):
        if dtype not in ("f64", "f32"):
            raise refuse(f"dtype = '{dtype}', expected f64 or f32")
        self.about = {"D": flat.D, "rows": n_rows, "start": start, "single": int(dtype == "f32"),
                      "prior": None if prior is None else prior._core, "device": device}
        self.flat, self.threads, self.start, self.device = flat, threads, start, device
        if data is None:
            self.fit = _core.fit_of("vifa", {**settings, "K": str(rank)}, self.about, threads)
        else:
            self.fit = _core.fit_from("the state", data, self.about, threads)
        self.draws = int(self.fit.settings()["draws"])
        own = None if device is None else torch.float32 if dtype == "f32" else torch.float64
        self.theta, self.slope = flat.room(dtype=own) if device is None else torch.zeros(0), flat.room(device, own)
        self.asked = self.done = False

    def _ask(self) -> None:
        if not self.asked:
            self.done = self.fit.ask(self.theta.numpy() if self.device is None else None) is None
            self.asked = not self.done
            there = self.fit.there
            if there is not None and (self.theta.numel() == 0 or self.theta.data_ptr() != there["data"][0]):
                self.theta = torch.as_tensor(OnCard(there), device=self.slope.device)  # as it lies there

    def ready(self) -> torch.Tensor:
        """Where the draws will lie."""
        self._ask()
        return self.theta if self.theta.numel() else self.slope

    def step(self, evaluate: Callable[[torch.Tensor, dict[str, torch.Tensor]], float]) -> float:
        """A step of the run: evaluate(theta, parts of the gradient) gives the loss at each of its draws.  An exception leaves the
        state as it was."""
        total, parts = 0.0, self.flat.parts(self.slope)
        self._ask()
        if self.done:
            epochs = self.fit.settings()["epochs"]
            its = "" if epochs == "auto" else f" its {epochs} epochs are done;"
            raise refuse(f"the run is over:{its} epochs and batch say how many steps there are")
        try:
            for _ in range(self.draws):
                self._ask()
                loss = evaluate(self.theta, parts)
                self.fit.tell(loss, self.slope.numpy() if self.device is None else self.slope)
                self.asked = False
                total += loss
        except BaseException:
            self.rest()
            raise
        self._ask()  # the step itself
        return total / self.draws

    def rest(self) -> None:
        """Between two steps, where the state can be taken."""
        self.fit.withdraw()
        self.asked = False

    def pack(self) -> bytes:
        self.rest()
        return self.fit.pack(not self.done, {})

    def gauss(self) -> Gauss:
        return Gauss._of(self.fit.gauss() if self.done else _core.posterior_of(self.pack())[0][0][0])

    def write(self, path: str, metadata: dict[str, str]) -> None:
        self.rest()
        self.fit.save(path, not self.done, metadata)


def settings_of(rank: int, settings: dict[str, Any]) -> dict[str, str]:
    """Those of vifa as texts."""
    if "K" in settings:
        raise refuse("K: say rank")
    if settings.get("runs", 1) != 1:
        raise refuse("runs: one posterior is one run; make another of another seed")
    if rank < 0:
        raise refuse(f"rank = {rank}, expected 0 (a diagonal) or more")
    return texts_of("vifa", "networks", settings)


def texts_of(name: str, of: str, settings: dict[str, Any]) -> dict[str, str]:
    """Those that are given, as the library reads them; one that the method lacks is refused with the nearest name."""
    given = {key: _settings.text_of(value) for key, value in settings.items() if value is not None}
    _settings.check(name, of, given)
    return given


def put_gradients(loss: Any, of: Iterable[torch.Tensor], parts: Iterable[torch.Tensor]) -> float:
    """The gradients of the loss go where they belong."""
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
        raise refuse("the loss must be one number in a tensor that has a gradient: the average of -log p over the batch")
    slopes = torch.autograd.grad(loss.reshape(()), list(of), allow_unused=True)
    with torch.no_grad():
        for part, slope in zip(parts, slopes):
            part.zero_() if slope is None else part.copy_(slope)
    value = float(loss.detach())
    if not np.isfinite(value):
        raise error(CODES.index("NUMERIC"), f"the loss is {value}: the step is not made; a lower rate, or clip, may help")
    return value


class VIFA(Posterior):
    """Variational inference with a factor-analysis posterior: rank factors and a diagonal.

    model : any torch.nn.Module
    n_rows : rows of the training data; None: that of the loader of `fit`
    rank : number of factors, 0 a diagonal
    params : names, a predicate of name and parameter, or None: those that require a gradient.  The others stay as they are
    prior : a Gauss over the parameters, as an earlier posterior's `gauss`; None: N(0, 1 / alpha)
    dtype : "f64" or "f32", of the factors, and on a device of all; None: f64, on a device f32
    device : "cuda" or "cuda:N": where the posterior lies, None: in the memory of the processor.  It needs the plug-in of the library,
        optimiser adam or sgd and no prior of its own; one process works on one card
    n_jobs : threads of the library; None: all cores; the same bits for any number
    settings : those of `fabayes.method("vifa").settings`: batch and epochs (a run has epochs * ceil(n_rows / batch) steps), rate,
        alpha, draws, seed, ..

    Between steps the model has its own values; when the run is over (`done`) it has the mean.
    """

    def __init__(self, model: torch.nn.Module, n_rows: int | None = None, rank: int = 5, params: Params = None,
                 prior: Gauss | None = None, *, dtype: str | None = None, device: str | None = None, n_jobs: int | None = None,
                 **settings: Any):
        super().__init__(model, params, n_jobs)
        self.device = device
        dtype = dtype or ("f64" if device is None else "f32")
        for name, p in self.params.items():
            if not p.requires_grad:
                raise refuse(f"parameter '{name}' does not require a gradient")
        self.n_rows, self.rank, self.prior, self.dtype, self.settings = n_rows, rank, prior, dtype, dict(settings)
        settings_of(rank, settings)
        self._run: Run | None = None
        if n_rows is not None and n_rows < 1:
            raise refuse(f"n_rows = {n_rows}, expected at least 1")

    @property
    def done(self) -> bool:
        """Is the run over?"""
        return self._run is not None and self._run.done

    def _begin(self, data: bytes | None = None) -> Run:
        if self._run is None or data is not None:
            if self.n_rows is None:
                raise refuse("n_rows is needed: the rows of the training data")
            vector = torch.cat([p.detach().reshape(-1).to("cpu", torch.float64) for p in self.params.values()])
            self._run = Run(self._flat, self.n_rows, self.rank, self.prior, self.dtype, self._threads, numpy_of(vector),
                            settings_of(self.rank, self.settings), data, self.device)
        return self._run

    def step(self, closure: Closure) -> float:
        """A step on a batch: closure(model) gives the average of -log p over it, as a tensor.  It is called once for each draw
        (the setting draws), with the draw in the model.  Returns the average of these losses.

        An exception of the closure is raised as it is; the step has then not been made."""

        run = self._begin()
        with self._lent(run.ready()) as renew:

            def evaluate(theta: torch.Tensor, parts: dict[str, torch.Tensor]) -> float:
                renew()
                with torch.enable_grad():
                    return put_gradients(closure(self.model), self.params.values(), parts.values())

            loss = run.step(evaluate)
        self._known = None
        if run.done:
            self.set_mean()
        return loss

    def fit(self, loader: Any, epochs: int | None = None, loss: Callable[[Any, Any], torch.Tensor] | None = None) -> VIFA:
        """The whole run on the pairs (x, y) of a loader, and as often as it takes; then the model has the mean, and statistics of
        batch norm are computed for it.

        loss : of outputs and y, the average of -log p; None: cross entropy, of classes that are whole numbers."""
        if self._run is None:
            self.n_rows = len(loader.dataset) if self.n_rows is None else self.n_rows
            if epochs is not None:
                self.settings["epochs"] = epochs
            if getattr(loader, "batch_size", None):
                self.settings.setdefault("batch", loader.batch_size)
        elif epochs is not None:
            raise refuse("epochs: the run has begun, and its length is set")
        run = self._begin()
        place = next(iter(self.params.values())).device
        while not run.done:
            steps = 0
            for x, y in loader:
                self.step(lambda m: (loss or cross_entropy)(m(x.to(place)), y.to(place)))
                steps += 1
                if run.done:
                    break
            if steps == 0:
                raise refuse("the loader is empty")
        self.set_mean(loader if has_batch_norm(self.model) else None)
        return self

    def _make_gauss(self) -> Gauss:
        return self._begin().gauss()

    def _pack(self) -> bytes | None:
        return self._begin().pack()

    def _say(self) -> dict[str, Any]:
        return {"n_rows": self.n_rows, "rank": self.rank, "dtype": self.dtype, "done": self.done, "settings": dict(self.settings),
                "prior": tensor_of(None if self.prior is None else self.prior._core.pack())}

    def _unpack(self, data: bytes | None, state: Mapping[str, Any]) -> None:
        self.n_rows, self.rank, self.dtype = state["n_rows"], state["rank"], state["dtype"]
        self.settings = dict(state["settings"])
        prior = bytes_of(state["prior"])
        self.prior = None if prior is None else Gauss._of(_core.posterior_of(prior)[0][0][0])
        run = self._begin(data)
        if state["done"]:
            run._ask()

    def _write(self, path: str, metadata: dict[str, str]) -> None:
        self._begin().write(path, metadata)


def cross_entropy(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if y.is_floating_point():
        raise refuse("y has real numbers: give loss=, the average of -log p of outputs and y, with the noise it has")
    return torch.nn.functional.cross_entropy(outputs, y)


def has_batch_norm(model: torch.nn.Module) -> bool:
    return any(isinstance(m, torch.nn.modules.batchnorm._BatchNorm) for m in model.modules())


# ---- iterates of an optimiser ------------------------------------------------------------------------


class Iterates(Posterior):
    """A Gaussian of what an optimiser, anyone's, passes through."""

    def __init__(self, model: torch.nn.Module, name: str, rank: int, params: Params, n_jobs: int | None, settings: dict[str, Any]):
        super().__init__(model, params, n_jobs)
        if "K" in settings:
            raise refuse("K: say rank")
        if not _settings.streams(name, "vectors"):
            raise refuse(f"'{name}' takes no stream of vectors")
        self.method, self.rank = name, rank
        self._fit = _core.fit_of(name, {**texts_of(name, "vectors", settings), "K": str(rank)}, {"vectors": self.D}, self._threads)

    @property
    def collected(self) -> int:
        """How many values of the parameters it has seen."""
        return self._fit.shape[2]

    @torch.no_grad()
    def collect(self) -> None:
        """Take the values that the parameters have now."""
        for p, part in zip(self.params.values(), self._flat.parts(self._draw_room).values()):
            part.copy_(p)
        self._fit.update(self._draw_room.numpy()[None, :])
        self._known = None

    def _make_gauss(self) -> Gauss:
        return Gauss._of(self._fit.gauss())

    def _pack(self) -> bytes | None:
        return self._fit.pack(False, {}) if self.collected else None

    def _unpack(self, data: bytes | None, state: Mapping[str, Any]) -> None:
        if state["method"] != self.method:
            raise refuse(f"the state is of {state['method']}, and this is {self.method}")
        if data is None:
            if self.collected:
                raise refuse("the state has collected nothing: make another instead")
            return
        self._fit, self.rank = _core.fit_from("the state", data, {"vectors": self.D}, self._threads), state["rank"]

    def _say(self) -> dict[str, Any]:
        return {"method": self.method, "rank": self.rank}

    def _write(self, path: str, metadata: dict[str, str]) -> None:
        self._fit.save(path, False, metadata)


class SWAG(Iterates):
    """Mean, diagonal and the last `rank` deviations of the values that `collect()` has seen, once an epoch for example.

    params, n_jobs : as those of VIFA; settings : those of swag for vectors (seed, columns, scale, psi_min)
    """

    def __init__(self, model: torch.nn.Module, rank: int = 20, params: Params = None, *, n_jobs: int | None = None, **settings: Any):
        super().__init__(model, "swag", rank, params, n_jobs, settings)


class OnlineFA(Iterates):
    """Factor analysis, by a method that streams, of the values that `collect()` has seen.

    method : recursive-em, online-em, ..; rank : number of factors; params, n_jobs : as those of VIFA; settings : those of the method
    """

    def __init__(self, model: torch.nn.Module, method: str = "recursive-em", rank: int = 10, params: Params = None, *,
                 n_jobs: int | None = None, **settings: Any):
        super().__init__(model, method, rank, params, n_jobs, settings)


# ---- functions instead of objects --------------------------------------------------------------------


class Transform(NamedTuple):
    """init(params) -> state; update(state, batch, inplace=False) -> state, aux."""

    init: Callable[..., Any]
    update: Callable[..., Any]


@dataclass
class VIFAState:
    """A run of vifa: loss is that of the last step."""

    run: Run
    loss: float | None = None
    aux: Any = None

    @property
    def gauss(self) -> Gauss:
        return self.run.gauss()

    @property
    def params(self) -> dict[str, torch.Tensor]:
        """The mean."""
        return self.run.flat.parts(torch.from_numpy(np.array(self.gauss.mean)).to(self.run.flat.dtype))

    @property
    def done(self) -> bool:
        return self.run.done


def build(log_lik: Callable[[dict[str, torch.Tensor], Any], tuple[torch.Tensor, Any]], n_rows: int, rank: int = 5,
          prior: Gauss | None = None, *, dtype: str | None = None, device: str | None = None, n_jobs: int | None = None,
          **settings: Any) -> Transform:
    """vifa in the manner of the package posteriors: log_lik(params, batch) gives the average of log p over the batch, and what else
    it wants to say (aux).  The prior is not in it.  update returns a new state and leaves the old one, unless inplace=True, which
    copies nothing."""
    texts, kind = settings_of(rank, settings), dtype or ("f64" if device is None else "f32")

    def copy(run: Run) -> Run:
        new = Run(run.flat, n_rows, rank, prior, kind, run.threads, run.start, texts, run.pack(), device)
        if run.done:
            new._ask()
        return new

    def init(params: Mapping[str, torch.Tensor]) -> VIFAState:
        start = torch.cat([p.detach().reshape(-1).to("cpu", torch.float64) for p in params.values()])
        run = Run(Flat(params), n_rows, rank, prior, kind, threads_of(n_jobs), numpy_of(start), texts, None, device)
        return VIFAState(run)

    def update(state: VIFAState, batch: Any, inplace: bool = False) -> tuple[VIFAState, Any]:
        if not inplace:
            state = VIFAState(copy(state.run))
        flat, said = state.run.flat, []

        def evaluate(theta: torch.Tensor, parts: dict[str, torch.Tensor]) -> float:
            params = {name: part.to(*flat.places[name], copy=True).requires_grad_() for name, part in flat.parts(theta).items()}
            with torch.enable_grad():
                value, aux = log_lik(params, batch)
                said.append(aux)
                return put_gradients(-value, params.values(), parts.values())

        state.loss = state.run.step(evaluate)
        state.aux = said[-1]
        return state, state.aux

    return Transform(init, update)


functional = SimpleNamespace(vifa=SimpleNamespace(build=build))


# ---- networks of the library -------------------------------------------------------------------------


@dataclass
class Network:
    """A network of the library and values of its weights."""

    layers: str
    likelihood: str
    features: int
    classes: int
    theta: np.ndarray[Any, Any]

    def __post_init__(self) -> None:
        self._core = _core.Net(self.layers, self.features, self.likelihood, self.classes, 1.0, threads_of(None))

    def predict(self, x: Any) -> np.ndarray[Any, Any]:
        """The outputs of each row: rows x outputs, before softmax or whatever the likelihood makes of them."""
        rows = np.ascontiguousarray(np.asarray(x, dtype=np.float64).reshape(len(x), -1))
        return numbers(self._core.predict(self.theta, rows), len(rows), self._core.shape[2])


def import_state_dict(layers: str, state: Mapping[str, torch.Tensor], likelihood: str | None = None) -> Network:
    """The dense and convolutional weights of a torch model, in the order of its state_dict, as those of a network of the library.

    layers : in the grammar of `fabayes fit --model`, without the last one, which the likelihood adds: "input:1x28x28,conv:8x3,relu,
        flatten" of a Conv2d(1, 8, 3), ReLU, Flatten, Linear(5408, 10)
    likelihood : None: categorical, or of one output gaussian
    """
    weights = [t for t in state.values() if t.dim() >= 2]
    vectors = [name for name, t in state.items() if t.dim() == 1 and not name.endswith("bias")]
    if vectors:
        raise refuse(f"'{vectors[0]}' is no weight of a dense or convolutional layer: a network of the library has no such layer")
    if not weights:
        raise refuse("the state has no weights")
    outputs = int(weights[-1].shape[0])
    likelihood = likelihood or ("gaussian" if outputs == 1 else "categorical")
    first = layers.split(",")[0]
    features = int(np.prod([int(n) for n in first[6:].split("x")])) if first.startswith("input:") else int(weights[0].shape[1])
    net = _core.Net(layers, features, likelihood, outputs if likelihood == "categorical" else 1, 1.0, 1)
    theta = np.zeros(net.shape[0])
    names = iter(state)
    for layer in json.loads(net.json())["layers"]:
        if layer["parameters"] == 0:
            continue
        name = next(names, None)
        if name is None:
            raise refuse(f"layer {layer['layer']} has no weights in the state")
        w = numpy_of(state[name].to(torch.float64))
        shape = torch_shape(layer)
        if w.shape != shape:
            raise refuse(f"layer {layer['layer']} needs weights of the shape {shape}, and '{name}' has {w.shape}")
        bias = np.zeros(shape[0])
        if (other := name[:-len("weight")] + "bias") in state and name.endswith("weight"):
            bias = numpy_of(state[other].to(torch.float64))
            next(names)
        flat = w.T.reshape(-1) if len(shape) == 2 else w.reshape(-1)
        theta[layer["offset"]:layer["offset"] + layer["parameters"]] = np.concatenate([flat, bias])
    if (left := next(names, None)) is not None:
        raise refuse(f"the network has no place for '{left}'")
    return Network(layers, likelihood, features, outputs if likelihood == "categorical" else 1, theta)


def torch_shape(layer: Mapping[str, Any]) -> tuple[int, ...]:
    """Of the weights of a layer, as torch has them."""
    kind, args = layer["layer"].split(":")[:2]
    if kind == "dense":
        return int(args), int(layer["in"])
    filters, side = (int(n) for n in args.split("x"))
    return filters, int(layer["in"].split("x")[0]), side, side


def export_state_dict(source: Network | str | os.PathLike[str], like: Mapping[str, torch.Tensor] | None = None) -> dict[str, torch.Tensor]:
    """The weights of a Network, or the mean of a fitted network in a file, for load_state_dict of a torch model of these layers.

    like : the state_dict of that model, whose names are taken; None: 0.weight, 0.bias, 1.weight, ..
    A file says how its features and target were scaled; a fit that changed them is refused: its weights are in other units.
    """
    if isinstance(source, Network):
        layers, theta = json.loads(source._core.json())["layers"], source.theta
    else:
        parts, metadata, kind = _core.posterior(os.fspath(source))
        if kind != "network":
            raise refuse(f"{os.fspath(source)}: is not of a network")
        scaling = json.loads(metadata.get("scaling", "{}"))
        units = [*scaling.get("means", []), scaling.get("target_mean", 0)], [*scaling.get("scales", []), scaling.get("target_scale", 1)]
        if any(m != 0 for m in units[0]) or any(s != 1 for s in units[1]):
            raise refuse(f"{os.fspath(source)}: features or target were scaled; fit with --no-scale, or standardise=False")
        layers, (mean, _, _, whole, _) = json.loads(metadata["model"])["layers"], parts[0][0].arrays()
        theta = np.frombuffer(whole or mean)
    out: dict[str, torch.Tensor] = {}
    names = iter(like) if like is not None else None
    for i, layer in enumerate(w for w in layers if w["parameters"]):
        shape = torch_shape(layer)
        part = theta[layer["offset"]:layer["offset"] + layer["parameters"]]
        w = part[:-shape[0]].reshape(shape[::-1]).T if len(shape) == 2 else part[:-shape[0]].reshape(shape)
        weight, bias = (next(names), next(names)) if names else (f"{i}.weight", f"{i}.bias")
        out[weight] = torch.from_numpy(np.array(w)).to(like[weight].dtype if like else torch.float32)
        out[bias] = torch.from_numpy(np.array(part[-shape[0]:])).to(like[bias].dtype if like else torch.float32)
    return out


# ---- Gaussians ---------------------------------------------------------------------------------------


def gauss_to_torch(g: Gauss, dtype: torch.dtype) -> torch.distributions.LowRankMultivariateNormal:
    if g.form == "precision":
        raise refuse("a Gaussian in precision form has a covariance that is a diagonal less a low rank, which torch's class cannot hold; "
                     "sample(dtype=float32) draws from it")
    if g.diag is None:
        raise refuse("a point has no density")
    factor = g.factor if g.rank else np.zeros((g.D, 1))
    mean, F, psi = (torch.from_numpy(np.array(a, dtype=np.float64)).to(dtype) for a in (g.mean, factor, g.diag))
    return torch.distributions.LowRankMultivariateNormal(mean, F, psi)


def gauss_from_torch(dist: Any) -> Gauss:
    if isinstance(dist, torch.distributions.Independent):
        dist = dist.base_dist
    if isinstance(dist, torch.distributions.LowRankMultivariateNormal):
        mean, F, psi = dist.loc, dist._unbroadcasted_cov_factor, dist._unbroadcasted_cov_diag
    elif isinstance(dist, torch.distributions.Normal):
        mean, F, psi = dist.loc, dist.loc.new_zeros((*dist.loc.shape, 0)), dist.scale**2
    else:
        raise refuse(f"{type(dist).__name__}: expected LowRankMultivariateNormal or Normal")
    if mean.dim() != 1 or psi.dim() != 1 or F.dim() != 2:
        raise refuse(f"a batch of distributions of the shape {tuple(mean.shape)}: expected one")
    arrays = [numpy_of(t.to(torch.float64)).copy() for t in (mean, F, psi)]
    return Gauss(arrays[0], arrays[1], arrays[2])
