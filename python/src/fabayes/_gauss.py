"""Gauss: a Gaussian whose covariance or precision is low rank plus diagonal."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import Gauss as Core
from ._errors import refuse

Floats = NDArray[np.float64]


def array_of(x: Any) -> Any:
    """What NumPy does not know but can borrow by DLPack, as an array of it; anything else as it is."""
    known = not hasattr(x, "__dlpack__") or hasattr(x, "__array__") or hasattr(x, "__array_interface__")
    return x if known else np.from_dlpack(x)


def rows_of(x: ArrayLike, width: int | None = None) -> tuple[NDArray[Any], bool]:
    """A matrix of rows in float64 or float32, and whether it was one row alone."""
    a = np.asarray(array_of(x))
    if a.dtype != np.float32:
        a = np.asarray(a, dtype=np.float64)
    alone = a.ndim == 1
    if alone:
        a = a[None, :]
    if a.ndim != 2:
        raise refuse(f"rows: an array of {a.ndim} dimensions, expected one or two")
    if width is not None and a.shape[1] != width:
        raise refuse(f"rows of {a.shape[1]} numbers, and the Gaussian has D = {width}")
    if a.flags.aligned and (a.flags.c_contiguous or a.flags.f_contiguous):
        return a, alone
    return np.array(a, order="C"), alone


def numbers(room: bytearray, *shape: int, dtype: Any = np.float64) -> NDArray[Any]:
    """An array over the memory that the extension gave."""
    return np.frombuffer(room, dtype=dtype).reshape(shape)


def owned(a: ArrayLike, dtype: Any) -> NDArray[Any]:
    """C-contiguous, of this type; a copy of a view into memory that somebody could still write to."""
    known = array_of(a)
    out = np.ascontiguousarray(known if known is a else np.array(known), dtype=dtype)  # whose memory that is nobody can tell
    below: Any = out
    while isinstance(below, np.ndarray):
        if below is not out and below.flags.writeable:
            return out.copy()
        below = below.base
    return out if out.flags.aligned and (below is None or not out.flags.writeable) else out.copy()


class Gauss:
    """N(mean, S), S = factor factor' + diag(diag) in covariance form, or S^-1 so in precision form.

    mean and diag have D numbers, factor is D x K (K may be 0).  Arrays that are float64, C-contiguous (the factor may be
    float32) and own their memory are borrowed and become read-only; others, and views into writable memory, are copied.  A view
    that was taken of a borrowed array before can still write to it, and must not.

    >>> g = Gauss([0.0, 1.0], [[1.0], [2.0]], [0.5, 0.25])
    >>> g.covariance()
    array([[1.5 , 2.  ],
           [2.  , 4.25]])
    >>> round(g.log_prob([0.0, 1.0]), 6)
    -2.270376
    """

    _core: Core

    def __init__(self, mean: ArrayLike, factor: ArrayLike, diag: ArrayLike | None, form: str = "covariance"):
        mu = owned(mean, np.float64)
        F = owned(factor, np.float32 if getattr(factor, "dtype", None) == np.float32 else np.float64)
        psi = None if diag is None else owned(diag, np.float64)
        self._set(_core.Gauss(mu, F, psi, form), mu, F, psi)

    def _set(self, core: Core, mu: Floats, F: NDArray[Any], psi: Floats | None) -> None:
        for a in (mu, F, psi):
            if a is not None:
                a.flags.writeable = False
        self._core, self._mean, self._factor, self._diag = core, mu, F, psi

    @classmethod
    def _of(cls, core: Core) -> Gauss:
        self = cls.__new__(cls)
        D, K, kind, _ = core.shape
        mu, F, psi, _, _ = core.arrays()
        single = np.float32 if kind == "f32" else np.float64
        self._set(core, numbers(mu, D), numbers(F, D, K, dtype=single), None if psi is None else numbers(psi, D))
        return self

    @property
    def mean(self) -> Floats:
        return self._mean

    @property
    def factor(self) -> NDArray[Any]:
        return self._factor

    @property
    def diag(self) -> Floats | None:
        return self._diag

    @property
    def form(self) -> str:
        return self._core.form

    @property
    def D(self) -> int:
        return self._core.shape[0]

    @property
    def rank(self) -> int:
        return self._core.shape[1]

    def __repr__(self) -> str:
        return f"Gauss(D={self.D}, rank={self.rank}, form='{self.form}')"

    def _by_rows(self, verb: Any, x: ArrayLike) -> Any:
        rows, alone = rows_of(x, self.D)
        out = numbers(verb(rows), len(rows))
        return float(out[0]) if alone else out

    def log_prob(self, x: ArrayLike) -> Any:
        """The log density of each row of x; of one vector a number."""
        return self._by_rows(self._core.log_prob, x)

    def mahalanobis(self, x: ArrayLike) -> Any:
        """The squared Mahalanobis distance of each row of x from the mean."""
        return self._by_rows(self._core.mahalanobis, x)

    def entropy(self) -> float:
        """In nats."""
        return self._core.entropy()

    def sample(self, n: int = 1, seed: int = 0, first: int = 0, dtype: Any = np.float64) -> NDArray[Any]:
        """Draws number first .. first + n - 1 of a seed, one per row.  A draw has the same bits whichever call makes it."""
        single = np.dtype(dtype) == np.float32
        total = self._core.shape[3] or self.D
        return numbers(self._core.sample(n, seed, first, single), n, total, dtype=np.float32 if single else np.float64)

    def marginal_variance(self) -> Floats:
        """The D variances."""
        return numbers(self._core.variances(), self.D)

    def marginal(self, index: ArrayLike) -> Gauss:
        """The Gaussian of some coordinates, whose numbers rise."""
        return Gauss._of(self._core.marginal(np.ascontiguousarray(index, dtype=np.int64)))

    def covariance(self) -> Floats:
        """The D x D covariance, for D up to 2000."""
        return numbers(self._core.dense(), self.D, self.D)

    def kl_to(self, other: Gauss) -> float:
        """KL(self || other) in nats, any two forms."""
        return self._core.kl_to(other._core)

    def w2_to(self, other: Gauss) -> float:
        """The 2-Wasserstein distance, for D up to 2000."""
        return self._core.w2_to(other._core)

    def rank_cut(self, k: int, tol: float = 1e-8, max_iter: int = 1000) -> Gauss:
        """The Gaussian of rank k that is nearest by maximum likelihood."""
        return Gauss._of(self._core.cut(k, tol, max_iter))

    def to_torch(self, dtype: Any = None) -> Any:
        """torch.distributions.LowRankMultivariateNormal, in float32 unless dtype says otherwise; of the precision form there is none."""
        import torch

        from .torch import gauss_to_torch

        return gauss_to_torch(self, torch.float32 if dtype is None else dtype)

    @classmethod
    def from_torch(cls, dist: Any) -> Gauss:
        """From torch's LowRankMultivariateNormal, or a Normal of D numbers."""
        from .torch import gauss_from_torch

        return gauss_from_torch(dist)

    def save(self, path: str | os.PathLike[str]) -> None:
        """As a safetensors file, which the command line reads."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Gauss:
        """From a file of one Gaussian, of any fit."""
        parts, _, _ = _core.posterior(os.fspath(path))
        if len(parts) != 1:
            raise refuse(f"{os.fspath(path)}: has a mixture of {len(parts)} Gaussians, expected one")
        return cls._of(parts[0][0])

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self._core.pack(),)


def _from_bytes(data: bytes) -> Gauss:
    parts, _, _ = _core.posterior_of(data)
    return Gauss._of(parts[0][0])
