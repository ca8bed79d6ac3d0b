"""Files: what `fabayes` and the estimators save, read as what it is; and posteriors of shards that become one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from . import _core
from ._errors import refuse
from ._gauss import Gauss
from ._settings import threads_of


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator or the Gaussian of a file: a regression or a factor analysis, saved here or by the command line, comes back
    as a fitted estimator; a bare Gaussian as Gauss."""
    name = os.fspath(path)
    estimator = _estimator(name, lambda: _read(name), *_core.posterior(name))
    return Gauss.load(path) if estimator is None else estimator


def merge(parts: Iterable[Any], *, rank: int | None = None, alpha: float | None = None, n_jobs: int | None = None) -> Any:
    """Posteriors that were learned apart, each from its own rows, become one, as by `fabayes merge`.

    parts : fitted estimators, Gausses or paths of files, two or more, of one kind and the same columns
    rank : columns of the factor at most; None: as many as the part that has most
    alpha : prior precision of the coefficients afterwards; None: as given to the fits, or chosen again
    n_jobs : threads; None: all cores

    Gives what `load` gives of the merged file, an estimator or a Gauss, with `merge_`: way ("states", "moments", "rows", "product",
    "mixture"), parts, rows, kl (nats that the cut to `rank` columns lost), alpha, beta.
    """
    if isinstance(parts, (str, bytes, os.PathLike)):
        raise refuse(f"merge: {parts!r} is one part, expected a list of two or more")
    files = [_file(i, part) for i, part in enumerate(parts)]
    if rank is not None and rank < 1:
        raise refuse(f"merge: rank = {rank}, expected a number from 1 on")
    if alpha is not None and not 0 < alpha < float("inf"):
        raise refuse(f"merge: alpha = {alpha}, expected a positive number")
    data, report = _core.merge(files, rank or 0, alpha or 0.0, threads_of(n_jobs))
    gaussians, metadata, kind = _core.posterior_of(data)
    merged = _estimator("the merged posterior", lambda: data, gaussians, metadata, kind)
    if merged is None:
        if len(gaussians) != 1:
            raise refuse(f"merge: the result is a mixture of {len(gaussians)} Gaussians without an estimator; take `fabayes merge`")
        merged = Gauss._of(gaussians[0][0])
    merged.merge_ = report
    return merged


def _read(name: str) -> bytes:
    with open(name, "rb") as file:
        return file.read()


def _file(i: int, part: Any) -> tuple[str, bytes]:
    """The name of a part in sentences, and its file."""
    if isinstance(part, (str, os.PathLike)):
        name = os.fspath(part)
        _core.posterior(name)  # says why it cannot be read
        return name, _read(name)
    core = part._core if isinstance(part, Gauss) else part._handle().core if hasattr(part, "_handle") else None
    if core is None:
        raise refuse(f"merge: part {i + 1} is a {type(part).__name__}, expected a fitted estimator, a Gauss or a path")
    return f"part {i + 1}", core.pack()


def _estimator(name: str, data: Any, parts: Any, metadata: dict[str, str], kind: str) -> Any:
    """The fitted estimator of a file; None: it is of none."""
    if kind in ("linear", "network", "gp") and "scaling" in metadata:
        from . import sklearn

        return sklearn.regression_from_bytes(name, data())
    if kind == "vectors" and len(parts) == 1 and metadata.get("method") is not None:
        from . import sklearn

        return sklearn.factors_from_bytes(name, data())
    return None
