"""Two samples compared and two vectors tested for independence, by kernels; as `fabayes test`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._errors import refuse
from ._settings import threads_of


class KernelTest(NamedTuple):
    """statistic (unbiased, may be negative), pvalue (by random orders of the rows), biased statistic, pvalue_gamma (HSIC; else nan),
    permutations, bandwidth and bandwidth_y (median distances; nan where the kernel has its length-scales)."""

    statistic: float
    pvalue: float
    biased: float
    pvalue_gamma: float
    permutations: int
    bandwidth: float
    bandwidth_y: float


def _rows(values: Any, name: str) -> np.ndarray[Any, Any]:
    rows = np.asarray(values, dtype=float)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or not rows.shape[1]:
        raise refuse(f"{name}: an array of shape {rows.shape}, expected rows of numbers")
    return np.ascontiguousarray(rows)


def mmd_test(X: Any, Y: Any, kernel: str | None = None, *, raw: bool = False, permutations: int = 1000, random_state: int = 0,
             n_jobs: int | None = None) -> KernelTest:
    """Do the rows of X and of Y come from one distribution?  Maximum mean discrepancy.

    kernel : text ("rbf", "matern32:l=0.5", ..); None: rbf.  A length-scale that is left open is the median distance of the rows
    raw : columns as they stand; False: each over its standard deviation
    """
    x, y = _rows(X, "X"), _rows(Y, "Y")
    if x.shape[1] != y.shape[1]:
        raise refuse(f"mmd_test: X has {x.shape[1]} columns and Y has {y.shape[1]}")
    _check(permutations)
    return KernelTest(*_core.test_samples(x, y, kernel, raw, permutations, random_state, threads_of(n_jobs)))


def hsic_test(X: Any, Y: Any, kernel: str | None = None, kernel_y: str | None = None, *, raw: bool = False, permutations: int = 1000,
              random_state: int = 0, n_jobs: int | None = None) -> KernelTest:
    """Is X independent of Y, row by row?  Hilbert-Schmidt independence criterion; kernel_y is that of Y (None: as of X), the others
    as for mmd_test."""
    x, y = _rows(X, "X"), _rows(Y, "Y")
    if len(x) != len(y):
        raise refuse(f"hsic_test: X has {len(x)} rows and Y has {len(y)}")
    _check(permutations)
    return KernelTest(*_core.test_columns(np.hstack([x, y]), x.shape[1], kernel, kernel_y, raw, permutations, random_state,
                                          threads_of(n_jobs)))


def _check(permutations: int) -> None:
    if permutations < 1:
        raise refuse(f"permutations = {permutations}, expected a number from 1 on")
