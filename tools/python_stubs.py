#!/usr/bin/env python3
"""python_stubs.py write|check: python/src/fabayes/sklearn.pyi, the types of the estimators, from the package itself.

The parameters of an estimator come from the settings tables of the library, so that no type checker can read them in the source.
Run it where `import fabayes` finds the package: PYTHONPATH=build/python tools/python_stubs.py write
"""

import inspect
import sys
from pathlib import Path

from fabayes import _settings
from fabayes import sklearn as estimators

FILE = Path(__file__).resolve().parent.parent / "python" / "src" / "fabayes" / "sklearn.pyi"
TYPES = {"i64": "int", "f64": "float", "bool": "bool"}
OWN = {"n_components": "int | None", "method": "str", "rotation": "str | None", "n_jobs": "int | None", "random_state": "Any",
       "rank": "int | None", "fit_intercept": "bool", "standardise": "bool", "prior": "Gauss | str | os.PathLike[str] | None",
       "scaling": "Scaling | None",
       "hidden_layer_sizes": "int | Sequence[int] | None", "layers": "str | None", "noise": "str | None", "nu": "float | None",
       "n_draws": "int | None", "kernel": "str", "likelihood": "str", "features": "str", "orthogonal": "bool",
       "n_restarts_optimizer": "int | None", "scale_rows": "int | None"}
HEAD = '''"""Written by tools/python_stubs.py: the estimators, whose parameters come from the library's tables."""

import os
from collections.abc import Sequence
from typing import Any, Literal

from ._gauss import Gauss
from ._scaling import Scaling
from .search import Proposer

'''


def type_of(name, of):
    if name in OWN:
        return OWN[name]
    if name == "alpha" and of == "kernels":
        return "float | None"
    s = _settings.union(of)[name]
    kind = "Literal[" + ", ".join(f'"{c}"' for c in s.choices) + "]" if s.choices else TYPES[s.type]
    return f"{kind} | None"


def written(cls):
    """A signature that is written out has its types itself."""
    parts, keyword = ["self"], False
    for name, p in list(inspect.signature(cls.__init__).parameters.items())[1:]:
        if p.kind is p.KEYWORD_ONLY and not keyword:
            parts.append("*")
            keyword = True
        parts.append(f"{name}: {annotation(p.annotation, '')}" + ("" if p.default is p.empty else " = ..."))
    return "    def __init__(\n" + "".join(f"        {part},\n" for part in parts) + "    ) -> None: ..."


def init(cls):
    if not hasattr(cls, "_of"):
        return written(cls)
    parts, keyword = ["self"], False
    for name, p in list(inspect.signature(cls.__init__).parameters.items())[1:]:
        if p.kind is p.KEYWORD_ONLY and not keyword:
            parts.append("*")
            keyword = True
        parts.append(f"{name}: {type_of(name, cls._of)} = ...")
    return "    def __init__(\n" + "".join(f"        {part},\n" for part in parts) + "    ) -> None: ..."


def annotation(a, own):
    if a is inspect.Parameter.empty:
        return "Any"
    text = a if isinstance(a, str) else getattr(a, "__name__", str(a))
    return own if text in estimators.__all__ else text


def method(name, f, own):
    parts = []
    for i, p in enumerate(inspect.signature(f).parameters.values()):
        parts.append("self" if i == 0 else f"{p.name}: {annotation(p.annotation, own)}" + ("" if p.default is p.empty else " = ..."))
    returns = own if name in ("fit", "partial_fit") else annotation(inspect.signature(f).return_annotation, own)
    return f"    def {name}({', '.join(parts)}) -> {returns}: ..."


SEARCH = """    cv_results_: dict[str, Any]
    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    best_estimator_: Any
    proposer_: Proposer
    classes_: Any
    n_features_in_: int
    def fit(self, X: Any, y: Any = ..., **params: Any) -> BayesSearchCV: ...
    def predict(self, X: Any) -> Any: ...
    def predict_proba(self, X: Any) -> Any: ...
    def predict_log_proba(self, X: Any) -> Any: ...
    def decision_function(self, X: Any) -> Any: ...
    def transform(self, X: Any) -> Any: ...
    def score(self, X: Any, y: Any = ...) -> float: ...
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> BayesSearchCV: ..."""


def members(cls):
    """What the package defines, and what scikit-learn's base classes promise."""
    if not hasattr(cls, "_of"):
        return [SEARCH]
    seen = {}
    for base in cls.__mro__:
        if base.__module__ != estimators.__name__:
            continue
        for name, value in vars(base).items():
            if not name.startswith("_") and not (name == "partial_fit" and cls._of == "kernels"):
                seen.setdefault(name, value)
    lines = ["    n_features_in_: int", "    feature_names_in_: Any"]
    lines += ["    classes_: Any"] if hasattr(cls, "predict_proba") else []
    for name, value in sorted(seen.items()):
        if isinstance(value, property):
            lines.append(f"    @property\n    def {name}(self) -> {annotation(inspect.signature(value.fget).return_annotation, '')}: ...")
        elif callable(value) or hasattr(value, "fn"):
            lines.append(method(name, getattr(value, "fn", inspect.unwrap(value) if callable(value) else value), cls.__name__))
    lines += ["    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...",
              f"    def set_params(self, **params: Any) -> {cls.__name__}: ...",
              f"    def set_fit_request(self, **names: bool | str | None) -> {cls.__name__}: ..."]
    if "transform" in seen:
        lines += ["    def fit_transform(self, X: Any, y: Any = ..., **params: Any) -> Any: ...",
                  "    def get_feature_names_out(self, input_features: Any = ...) -> Any: ...",
                  f"    def set_output(self, *, transform: str | None = ...) -> {cls.__name__}: ..."]
    else:
        lines += [f"    def set_{verb}_request(self, **names: bool | str | None) -> {cls.__name__}: ..."
                  for verb in ("predict", "score")]
    return lines


def text():
    out = HEAD
    for name in estimators.__all__:
        cls = getattr(estimators, name)
        out += f"class {name}:\n" + init(cls) + "\n" + "\n".join(members(cls)) + "\n\n"
    out += "def regression_from_bytes(name: str, data: bytes) -> Any: ...\n"
    out += "def factors_from_bytes(name: str, data: bytes) -> FactorAnalysis: ...\n"
    return out


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        FILE.write_text(text())
    elif FILE.read_text() != text():
        sys.exit("python/src/fabayes/sklearn.pyi is not what the package says: tools/python_stubs.py write")
