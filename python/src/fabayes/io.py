"""Files: what `fabayes` and the estimators save, read as what it is."""

from __future__ import annotations

import os
from typing import Any

from . import _core
from ._gauss import Gauss


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator or the Gaussian of a file: a regression or a factor analysis, saved here or by the command line, comes back
    as a fitted estimator; a bare Gaussian as Gauss."""
    name = os.fspath(path)
    parts, metadata, kind = _core.posterior(name)
    if kind in ("linear", "network", "gp") and "scaling" in metadata:
        from . import sklearn

        with open(name, "rb") as file:
            return sklearn.regression_from_bytes(name, file.read())
    if kind == "vectors" and len(parts) == 1 and metadata.get("method") is not None:
        from . import sklearn

        with open(name, "rb") as file:
            return sklearn.factors_from_bytes(name, file.read())
    return Gauss.load(path)
