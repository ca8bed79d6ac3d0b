"""Methods and their settings, read from the library's tables."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from . import _core
from ._errors import refuse

TAKES = {1: "vectors", 2: "linear", 4: "gradient", 8: "examples", 16: "jacobian", 32: "weights", 64: "sparse", 128: "missing",
         256: "kernel", 1 << 20: "clusters"}
RISK = ("erm", "lasso", "elastic-net", "quantile")  # estimators of their own have them
WANTED = {"linear": {"linear"}, "networks": {"gradient", "examples", "jacobian"}, "vectors": {"vectors"}, "kernels": {"kernel"},
          "clusters": {"clusters"}}


@dataclass(frozen=True)
class Setting:
    """A line of the table of a method."""

    name: str
    type: str
    default: str
    low: float
    high: float
    choices: tuple[str, ...]
    help: str


class Settings(dict[str, Setting]):
    """The settings of a method by name; prints as a table."""

    def __repr__(self) -> str:
        lines = [("name", "type", "default", "help")]
        lines += [(s.name, "|".join(s.choices) if s.choices else s.type, s.default, s.help) for s in self.values()]
        wide = [max(len(line[i]) for line in lines) for i in range(3)]
        return "\n".join("  ".join([*(line[i].ljust(wide[i]) for i in range(3)), line[3]]) for line in lines)


@dataclass(frozen=True)
class Method:
    """A method: what it is called, what it takes, whether it streams, which likelihoods its linear models, its networks and its
    Gaussian processes may have, what it can be told."""

    name: str
    summary: str
    streams: bool
    takes: tuple[str, ...]
    likelihoods: tuple[str, ...]
    network_likelihoods: tuple[str, ...]
    settings: Settings = field(repr=False)
    asks: int = field(repr=False, default=0)
    process_likelihoods: tuple[str, ...] = ()


def _table(rows: list[tuple[Any, ...]]) -> Settings:
    return Settings((r[0], Setting(r[0], r[1], r[2], r[3], r[4], tuple(r[5]), r[6])) for r in rows)


def _words(bits: int) -> tuple[str, ...]:
    return tuple(word for bit, word in TAKES.items() if bits & bit)


@lru_cache(maxsize=None)
def _all() -> tuple[Method, ...]:
    def bits(name: str) -> int:
        return _core.takes(name, "linear")[0] | _core.takes(name, "networks")[0] | _core.takes(name, "vectors")[0]  # kernels: linear's

    def likelihoods(name: str, of: str) -> tuple[str, ...]:
        return tuple(_core.takes(name, of)[2]) if suits(name, of) else ()

    return tuple(Method(name, summary, bool(streams), _words(bits(name)), likelihoods(name, "linear"), likelihoods(name, "networks"),
                        _table(fields), asks, likelihoods(name, "kernels"))
                 for name, summary, streams, _, asks, fields, _ in _core.methods())


def methods() -> list[Method]:
    """All methods, as `fabayes methods` lists them.

    >>> [m.name for m in methods() if "vectors" in m.takes and not m.streams and "clusters" not in m.takes]
    ['ml', 'em', 'ppca', 'pca', 'swag']
    """
    return list(_all())


def method(name: str) -> Method:
    """One method by its name.

    >>> method("exact").settings["intercept_alpha"].default
    '0.0001'
    >>> method("kalman").likelihoods
    ('gaussian',)
    """
    for m in _all():
        if m.name == name:
            return m
    raise refuse(no("method", name, [m.name for m in _all()]))


def no(what: str, wrong: str, names: list[str]) -> str:
    """The sentence about a name that is not there, with the nearest that is."""
    near = _core.nearest(wrong, names)
    return f"there is no {what} '{wrong}'" + (f"; did you mean '{near}'?" if near else "")


@lru_cache(maxsize=None)
def table(name: str, of: str) -> Settings:
    """The settings that a method has for linear models, networks or vectors."""
    return _table(_core.fields(name, of))


def suits(name: str, of: str) -> bool:
    """Is it a method for linear models, networks, vectors (one Gaussian), clusters of them or Gaussian processes (kernels)?"""
    words = set(_words(_core.takes(name, of)[0]))
    return bool(WANTED[of] & words) and ("clusters" not in words or of == "clusters")


def streams(name: str, of: str) -> bool:
    """Does it take these piece by piece?"""
    return name in methods_of(of) and bool(_core.takes(name, of)[1])


@lru_cache(maxsize=None)
def methods_of(of: str) -> tuple[str, ...]:
    """The names of the methods for linear models, networks or vectors.  Of a penalty in the place of a prior: those of risk.py."""
    return tuple(m.name for m in _all() if suits(m.name, of) and not (of == "linear" and m.name in RISK))


@lru_cache(maxsize=None)
def union(of: str) -> Settings:
    """Every setting that some method of the kind has, in the order of the tables."""
    out = Settings()
    for name in methods_of(of):
        for setting in table(name, of).values():
            out.setdefault(setting.name, setting)
    return out


def text_of(value: Any) -> str:
    """A value as the library reads it; numbers come back to the same bits."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return repr(int(number))
    return repr(number)


def threads_of(n_jobs: int | None, nested: bool = False) -> int:
    """Threads for the library, 0: all cores.  Inside a worker, a process or a thread, None is one."""
    if n_jobs is not None:
        return 0 if n_jobs < 0 else max(1, int(n_jobs))
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        return int(limit)
    import multiprocessing

    return 1 if nested or multiprocessing.parent_process() is not None else 0


def check(name: str, of: str, given: dict[str, str]) -> None:
    """A setting that the method lacks is refused with the nearest name."""
    known = table(name, of)
    for key in given:
        if key not in known:
            near = _core.nearest(key, list(known))
            raise refuse(f"{name} has no setting '{key}'" + (f"; did you mean '{near}'?" if near else ""))
