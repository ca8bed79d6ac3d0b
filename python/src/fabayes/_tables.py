"""Rows of scikit-learn's callers as the library takes them: matrices, sparse rows, frames with columns of words, tables of Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from . import _core
from ._errors import refuse

WORDS = ("object", "category", "categorical", "string", "str", "utf8", "enum")


def forward(a: Any) -> Any:
    """The array, or a copy of one whose strides go back or are no whole elements."""
    whole = all(s > 0 and s % a.itemsize == 0 for s, n in zip(a.strides, a.shape) if n > 1)
    return a if a.flags.aligned and whole else np.array(a, order="C")


def weights_of(sample_weight: Any, n: int) -> Any:
    """Numbers >= 0, or None.  A weight of 0 is a row that is not there."""
    if sample_weight is None:
        return None
    w = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.ndim != 1 or len(w) != n:
        raise refuse(f"sample_weight.shape == {w.shape}, expected {(n,)}!")
    if (w < 0).any():
        raise refuse(f"sample_weight: row {int(np.argmax(w < 0))} has {w[w < 0][0]:g}, negative weights are not taken")
    if not (w > 0).any():
        raise refuse("sample_weight: all weights are zero, and there are no rows")
    return None if (w == 1).all() else forward(w)


def offset_of(offset: Any, n: int) -> Any:
    """A number for each row, or None."""
    if offset is None:
        return None
    o = check_array(offset, ensure_2d=False, dtype=np.float64, input_name="offset")
    if o.shape != (n,):
        raise refuse(f"offset.shape == {o.shape}, expected {(n,)}")
    return forward(o)


def more_than_one(n: int) -> None:
    if n < 2:
        raise refuse(f"n_samples = {n}: {n} sample is too few, expected at least 2")


# ---- tables of Arrow ---------------------------------------------------------------------------------------------------------------


class Words:
    """A column of words: codes, -1 where one is missing, and the word of each."""

    dtype = np.dtype(object)

    def __init__(self, codes: Any, words: list[str]):
        self.codes, self.words = codes, words

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Words:
        return Words(self.codes[rows], self.words)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        a = np.array([*self.words, None], dtype=object)[self.codes]
        return a if dtype is None else a.astype(dtype)

    def coded(self) -> tuple[Any, list[str]]:
        """As _codes: the places of the words that are there among them, sorted."""
        there = np.unique(self.codes[self.codes >= 0])
        words = sorted((self.words[i], int(i)) for i in there)
        place = np.full(len(self.words) + 1, -1, dtype=np.int32)
        place[[i for _, i in words]] = np.arange(len(words), dtype=np.int32)
        return place[self.codes], [word for word, _ in words]


class ArrowTable:
    """What a table of Arrow holds, as a frame: numbers in one block, column after column, and words."""

    def __init__(self, X: Any):
        if hasattr(X, "__arrow_c_stream__"):
            n, block, single, columns = _core.arrow_stream(X.__arrow_c_stream__())
        else:
            n, block, single, columns = _core.arrow_array(*X.__arrow_c_array__())
        numbers = np.frombuffer(block, dtype=np.float32 if single else np.float64).reshape(-1, n)
        self.columns = np.array([name for name, *_ in columns], dtype=object)
        self.shape = (n, len(columns))
        self._numbers = numbers
        self._of = {name: numbers[place] if words is None else Words(np.frombuffer(codes or b"", dtype=np.int32), words)
                    for name, place, codes, words in columns}
        self.dtypes = ["category" if isinstance(c, Words) else numbers.dtype.name for c in self._of.values()]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, name: str) -> Any:
        return self._of[name]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Numbers as they stand, without a copy."""
        if len(self._numbers) < self.shape[1]:
            out = np.empty(self.shape, dtype=object)
            for i, column in enumerate(self._of.values()):
                out[:, i] = np.asarray(column, dtype=object)
            return out if dtype is None else out.astype(dtype)
        return self._numbers.T if dtype is None else self._numbers.T.astype(dtype, copy=False)

    def check_names(self, estimator: Any, reset: bool) -> None:
        """As scikit-learn does for frames that it knows."""
        names = getattr(estimator, "feature_names_in_", None)
        if reset:
            estimator.feature_names_in_, estimator.n_features_in_ = self.columns, self.shape[1]
        elif names is not None and list(names) != list(self.columns):
            raise refuse(f"The feature names should match those that were passed during fit: found {', '.join(self.columns)}, "
                         f"expected {', '.join(names)}")
        elif self.shape[1] != estimator.n_features_in_:
            raise refuse(f"X has {self.shape[1]} features, but {type(estimator).__name__} is expecting "
                         f"{estimator.n_features_in_} features as input")


def taken(X: Any) -> Any:
    """X, or what it holds where it is a table of Arrow (pyarrow's Table, RecordBatch, RecordBatchReader, or another's with its
    protocol) and no frame."""
    if is_frame(X) or isinstance(X, np.ndarray) or not (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")):
        return X
    return ArrowTable(X)


# ---- frames -----------------------------------------------------------------------------------------------------------------------


def is_frame(X: Any) -> bool:
    """Of pandas, polars or whoever has columns and types."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "__array__")


def _may_be_words(dtype: Any) -> bool:
    return str(dtype).lower().partition("(")[0] in WORDS


def _is_words(values: Any, dtype: Any) -> bool:
    """A column of texts or of categories; one of Python's numbers is none."""
    if not _may_be_words(dtype):
        return False
    return str(dtype).lower() == "category" or any(isinstance(v, str) for v in np.asarray(values, dtype=object))


def word_columns(X: Any) -> list[str]:
    """The names of the columns of words of a frame."""
    if not is_frame(X):
        return []
    types = list(X.dtypes)
    if not any(_may_be_words(t) for t in types):
        return []
    return [str(name) for name, t in zip(X.columns, types) if _is_words(X[name], t)]


def _codes(values: Any) -> tuple[Any, list[str]]:
    """The place of each word among the sorted words, -1 where it is missing."""
    if isinstance(values, Words):
        return values.coded()
    there = np.array([v is not None and v == v and str(v) != "<NA>" for v in values], dtype=bool)
    words, place = np.unique(np.array([str(v) for v in values[there]], dtype=str), return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[there] = place.reshape(-1)
    return codes, [str(w) for w in words]


class Frame:
    """Columns by name, numbers or words, as a matrix is indexed: by rows."""

    def __init__(self, columns: list[tuple[str, Any]]):
        self.columns = columns
        self.shape = (len(columns[0][1]), len(columns))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Frame:
        return Frame([(name, values[rows]) for name, values in self.columns])

    def table(self) -> list[tuple[str, Any, Any]]:
        return [(name, *_codes(v)) if v.dtype == object else (name, v, None) for name, v in self.columns]


def frame_of(X: Any, words: list[str]) -> Frame:
    """A frame with these columns of words; the others are numbers."""
    out: list[tuple[str, Any]] = []
    for name in X.columns:
        values = X[name]
        if str(name) in words:
            out.append((str(name), values if isinstance(values, Words) else np.asarray(values, dtype=object)))
            continue
        try:
            a = np.asarray(values)
            a = a if a.dtype == np.float32 else np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as e:
            raise refuse(f"column '{name}': expected numbers, as in the rows of the fit: {e}") from None
        if a.ndim != 1:
            raise refuse(f"the column '{name}' comes more than once")
        infinite = np.isinf(a)
        if infinite.any():
            raise refuse(f"column '{name}': row {int(np.argmax(infinite))} has infinity")
        out.append((str(name), forward(a)))
    if not out:
        raise refuse("0 feature(s): the frame has no columns")
    return Frame(out)


# ---- for the library --------------------------------------------------------------------------------------------------------------


def _csr(X: Any) -> Any:
    return X.tocsr()


def table_of(X: Any, names: Any) -> dict[str, Any]:
    """Rows as the extension takes them."""
    if isinstance(X, Frame):
        return {"n": len(X), "columns": X.table()}
    if sparse.issparse(X):
        X = _csr(X)
        if not X.has_sorted_indices:
            X = X.sorted_indices()
        return {"values": np.ascontiguousarray(X.data), "start": np.ascontiguousarray(X.indptr, dtype=np.int64),
                "index": np.ascontiguousarray(X.indices, dtype=np.int32), "features": X.shape[1]}
    return {"n": len(X), "x": forward(X), "names": None if names is None else [str(name) for name in names]}


def names_of(table: dict[str, Any]) -> set[str]:
    """The names of its features, where it has any."""
    return {c[0] for c in table["columns"]} if "columns" in table else set(table.get("names") or ())


def columns_of(table: dict[str, Any]) -> list[str]:
    """What the library calls its columns, in their order."""
    if "columns" in table:
        return [c[0] for c in table["columns"]]
    if "start" in table:
        return [f"x{i + 1}" for i in range(table["features"])]
    return list(table["names"] or (f"x{i}" for i in range(table["x"].shape[1])))


def free_name(wanted: str, taken: set[str]) -> str:
    """A name that no feature has."""
    while wanted in taken:
        wanted = f"({wanted})"
    return wanted
