"""Bayesian optimisation of any function: propose the next trials from those so far."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import refuse

Point = dict[str, Any]


class Range:
    """What a value may be: numbers between two, whole numbers, or one of several choices."""

    def __init__(self, name: str, lo: float, hi: float, log: bool = False, whole: bool = False, choices: tuple[Any, ...] | None = None):
        self.name, self.lo, self.hi, self.log, self.whole, self.choices = name, lo, hi, log, whole, choices

    def to_number(self, value: Any) -> float:
        if self.choices is None:
            if isinstance(value, numbers.Real):
                return float(value)
            raise refuse(f"{self.name} = {value!r}: expected a number")
        for i, choice in enumerate(self.choices):
            if value is choice or (type(value) is type(choice) and bool(np.all(value == choice))):
                return float(i)
        raise refuse(f"{self.name} = {value!r}: expected one of {', '.join(map(repr, self.choices))}")

    def to_value(self, number: float) -> Any:
        if self.choices is not None:
            return self.choices[int(number)]
        return int(number) if self.whole else float(number)


def _of_words(name: str, spec: Any, lo: Any, hi: Any, words: Iterable[str]) -> Range:
    said = list(words)
    for word in said:
        if word not in ("log", "int"):
            raise refuse(f"range of {name} = {spec!r}: '{word}' is no word of a range, \"log\" and \"int\" are")
    if not all(isinstance(v, numbers.Real) and not isinstance(v, bool) and math.isfinite(v) for v in (lo, hi)):
        raise refuse(f"range of {name} = {spec!r}: expected two finite numbers")
    whole = "int" in said or (isinstance(lo, numbers.Integral) and isinstance(hi, numbers.Integral))
    return Range(name, float(lo), float(hi), "log" in said, whole)


def range_of(name: str, spec: Any) -> Range:
    """(lo, hi), (lo, hi, "log"), the text of the command line, or a list of choices."""
    if isinstance(spec, Range):
        return spec
    if isinstance(spec, str):
        lo, _, rest = spec.partition(":")
        hi, *words = rest.split(":")
        try:
            return _of_words(name, spec, float(lo), float(hi), words)
        except ValueError as e:
            if hasattr(e, "code"):
                raise
            raise refuse(f"range of {name} = '{spec}': expected LO:HI, with :log and :int behind it") from None
    if isinstance(spec, tuple) and len(spec) >= 2 and not isinstance(spec[0], (str, bool)) and isinstance(spec[0], numbers.Real):
        return _of_words(name, spec, spec[0], spec[1], spec[2:])
    if isinstance(spec, (list, np.ndarray)) and len(spec) > 0:
        return Range(name, 0.0, float(len(spec) - 1), False, True, tuple(spec))
    raise refuse(f"range of {name} = {spec!r}: expected (lo, hi), (lo, hi, \"log\"), a text as \"1e-4:0.1:log\", or a list of choices")


class Proposer:
    """Bayesian optimisation by asking and telling: a Gaussian process of the trials so far says where the next is worth most.

    ranges : what is searched, by name: (0.5, 2.0) numbers; (1, 4) two ints: whole numbers; (1e-4, 0.1, "log") by the logarithm; the
        text of the command line, "1e-4:0.1:log"; or a list of choices, in an order in which neighbours are alike where they have one
    maximise : are large numbers good?
    acquisition : "ei", "pi", "ucb" or "thompson"
    xi : least improvement that counts for ei and pi, in sd of the numbers told
    beta : of ucb, sd above the mean; None: 2
    starts : trials at Sobol's points before a process speaks; None: 3 and one for each range
    seed : of the random numbers

    What is asked depends on these and on the trials told, in their order, and on nothing else.

    >>> p = Proposer({"x": (-2.0, 2.0)})
    >>> for _ in range(15):
    ...     point = p.ask()
    ...     p.tell(point, (point["x"] - 1) ** 2)
    >>> abs(p.best[0]["x"] - 1) < 0.01
    True
    """

    def __init__(self, ranges: Mapping[str, Any], *, maximise: bool = False, acquisition: str = "ei", xi: float = 0.0,
                 beta: float | None = None, starts: int | None = None, seed: int = 0):
        if not ranges:
            raise refuse("ranges: there is none; {\"rate\": (1e-4, 0.1, \"log\")} is one")
        self._ranges = [range_of(str(name), spec) for name, spec in ranges.items()]
        if beta is not None and not beta > 0:
            raise refuse(f"beta = {beta:g}, expected more than 0")
        if starts is not None and starts < 1:
            raise refuse(f"starts = {starts}, expected at least 1")
        self._plan = (bool(maximise), str(acquisition), float(xi), float(beta or 0), int(starts or 0), int(seed))
        self._trials: list[tuple[Point, float]] = []
        self._core = self._open()

    def _open(self) -> _core.Propose:
        return _core.Propose([(r.name, r.lo, r.hi, r.log, r.whole) for r in self._ranges], *self._plan)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_core"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._core = self._open()
        for point, value in self._trials:
            self._core.tell(self._numbers(point), value)

    def _numbers(self, point: Mapping[str, Any]) -> NDArray[np.float64]:
        names = [r.name for r in self._ranges]
        for name in names:
            if name not in point:
                raise refuse(f"the trial has no {name}; expected {', '.join(names)}")
        for name in point:
            if name not in names:
                raise refuse(f"the trial has {name}, which is no range; expected {', '.join(names)}")
        return np.array([r.to_number(point[r.name]) for r in self._ranges])

    def ask(self, n: int | None = None) -> Any:
        """The point of the next trial, a dict; or a list of n of them, to be tried side by side."""
        k = len(self._ranges)
        x = np.frombuffer(self._core.ask(1 if n is None else int(n)), dtype=np.float64).reshape(-1, k)
        points = [{r.name: r.to_value(v) for r, v in zip(self._ranges, row)} for row in x]
        return points[0] if n is None else points

    def tell(self, point: Mapping[str, Any], value: float) -> None:
        """A trial gave this number; None or one that is not finite: it failed, and its place is kept away from."""
        y = math.nan if value is None else float(value)
        self._core.tell(self._numbers(point), y)
        self._trials.append((dict(point), y))

    @property
    def trials(self) -> list[tuple[Point, float]]:
        """What was told, in its order."""
        return [(dict(point), value) for point, value in self._trials]

    @property
    def best_index(self) -> int | None:
        """The trial inside the ranges where the process of the last question expects the best number; None: there is none."""
        i = self._core.best()
        return None if i < 0 else i

    @property
    def best(self) -> tuple[Point, float]:
        """That trial: its point and the number it gave."""
        i = self.best_index
        if i is None:
            raise refuse("no trial inside the ranges has given a number yet")
        return self.trials[i]

    def look(self, points: Iterable[Mapping[str, Any]]) -> NDArray[np.float64]:
        """What the process of the last question knows at points: median, 5 % and 95 % quantile of the function, in units of what was
        told, and the acquisition; one row each."""
        x = np.array([self._numbers(point) for point in points]).reshape(-1, len(self._ranges))
        return np.frombuffer(self._core.look(x), dtype=np.float64).reshape(4, -1).T

    def report(self) -> dict[str, Any]:
        """Trials told, failed and outside of the ranges; whether the last answer came of a process, its kernel, noise and evidence."""
        return self._core.report()

    def __repr__(self) -> str:
        return f"Proposer({', '.join(r.name for r in self._ranges)}; {len(self._trials)} trials)"


def propose(trials: Iterable[tuple[Mapping[str, Any], float]], ranges: Mapping[str, Any], n: int = 1, **options: Any) -> list[Point]:
    """The next n trials of any function, from those so far: `fabayes propose`.

    trials : pairs of a point, a dict, and the number it gave; small is good unless maximise=True
    ranges, options : as those of Proposer

    >>> propose([], {"rate": (1e-4, 0.1, "log"), "layers": (1, 4)}, n=2) == Proposer({"rate": "1e-4:0.1:log", "layers": "1:4:int"}).ask(2)
    True
    """
    p = Proposer(ranges, **options)
    for point, value in trials:
        p.tell(point, value)
    points: list[Point] = p.ask(n)
    return points
