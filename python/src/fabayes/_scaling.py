"""Scaling: the units of a stream, where its first call is not to set them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._errors import refuse


def _numbers(values: ArrayLike, what: str, n: int | None = None) -> list[float]:
    a = np.asarray(values, dtype=np.float64)
    if a.ndim != 1 or len(a) < 1 or (n is not None and len(a) != n):
        raise refuse(f"{what}: expected {'numbers' if n is None else n} in a row, one for each feature")
    if not np.isfinite(a).all():
        raise refuse(f"{what}: number {int(np.argmin(np.isfinite(a)))} is not finite")
    return [float(v) for v in a]


class Scaling:
    """Units of a fit: features are (x - mean) / scale, a target that is a number (y - target_mean) / target_scale.

    mean, scale : of the features
    target_mean, target_scale : of a target that is a number
    names : of the features, in their order; None: whatever they are called
    classes : of the target; None: those of the first call

    A fitted regression has its own as `scaling_`, with the words of its columns.

    >>> units = Scaling([0.0, 20.0], [1.0, 5.0], target_mean=100.0, target_scale=30.0)
    >>> units.scale
    array([1., 5.])
    """

    def __init__(self, mean: ArrayLike, scale: ArrayLike, *, target_mean: float = 0.0, target_scale: float = 1.0,
                 names: Any = None, classes: Any = None):
        means = _numbers(mean, "mean")
        scales = _numbers(scale, "scale", len(means))
        if not min(scales) > 0 or not float(target_scale) > 0:
            raise refuse("scale, target_scale: expected more than 0")
        about = {"columns": [f"x{i}" for i in range(len(means))] if names is None else [str(name) for name in names],
                 "means": means, "scales": scales, "target": "y", "target_mean": _numbers([target_mean], "target_mean")[0],
                 "target_scale": _numbers([target_scale], "target_scale")[0]}
        if classes is not None:
            levels = np.unique(np.asarray(classes))
            words = levels.dtype.kind not in "biuf"
            about["levels"] = sorted(map(str, levels), key=str.encode) if words else levels.astype(np.float64).tolist()
        self._set(_core.scaling(json.dumps(about)), names is not None)

    def _set(self, text: str, named: bool) -> Scaling:
        self._text, self._named = text, named
        return self

    @classmethod
    def _of(cls, text: str) -> Scaling:
        return cls.__new__(cls)._set(text, True)

    def _for(self, names: list[str]) -> str:
        """For the library; without names of its own with those of the rows."""
        about = json.loads(self._text)
        if not self._named and len(names) == len(about["columns"]):
            about["columns"] = names
        return json.dumps(about)

    def _get(self, key: str) -> Any:
        return json.loads(self._text).get(key)

    @property
    def mean(self) -> NDArray[np.float64]:
        return np.array(self._get("means"), dtype=np.float64)

    @property
    def scale(self) -> NDArray[np.float64]:
        return np.array(self._get("scales"), dtype=np.float64)

    @property
    def target_mean(self) -> float:
        return float(self._get("target_mean"))

    @property
    def target_scale(self) -> float:
        return float(self._get("target_scale"))

    @property
    def names(self) -> list[str] | None:
        """Of the columns; one of words has a feature for each of them."""
        columns = self._get("columns") or self._get("from")
        return [c if isinstance(c, str) else c["name"] for c in columns] if self._named else None

    @property
    def classes(self) -> list[Any] | None:
        """Numbers or words; None: those of the first call."""
        levels: list[Any] | None = self._get("levels")
        return levels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scaling) and (self._text, self._named) == (other._text, other._named)

    def __hash__(self) -> int:
        return hash((self._text, self._named))

    def __repr__(self) -> str:
        a, b = self.target_mean, self.target_scale
        numbers = "" if a == 0 and b == 1 else f", target_mean={a:g}, target_scale={b:g}"
        return f"Scaling({np.array2string(self.mean, threshold=6)}, {np.array2string(self.scale, threshold=6)}{numbers})"
