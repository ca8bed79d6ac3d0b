"""Displays in scikit-learn's manner: how well predictions are calibrated, and coefficients with their intervals.

    from fabayes.plots import CalibrationDisplay, CoefficientDisplay

    CalibrationDisplay.from_estimator(model, X_test, y_test)
    CoefficientDisplay.from_estimator(model, level=0.9)

The numbers are the library's, those of `fabayes report`; matplotlib draws them and is loaded when something is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import refuse
from ._gauss import Floats, numbers

LEVELS = np.linspace(0.05, 0.95, 19)


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


class CalibrationDisplay:
    """Of numbers and counts: which share of the rows is inside the central interval of each level, with what chance does to a share
    that is right in 9 of 10 tables.  Of classes: how often the likeliest class is right, by its probability, in bins.

    expected : levels, or mean probabilities of the bins that have rows
    observed : shares of rows
    chance : of numbers and counts: how far off a share may be; of classes None
    rows : of classes: rows in each bin; of numbers and counts None
    """

    def __init__(self, *, expected: Floats, observed: Floats, chance: Floats | None = None, rows: Floats | None = None,
                 estimator_name: str | None = None):
        self.expected, self.observed, self.chance, self.rows, self.estimator_name = expected, observed, chance, rows, estimator_name

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, offset: Any = None, levels: Any = LEVELS, name: str | None = None,
                       ax: Any = None, **kwargs: Any) -> CalibrationDisplay:
        """Predict rows whose y is known, and draw; `plot` takes the rest."""
        levels = np.array(levels, dtype=np.float64)
        out = estimator._calibration(X, y, offset, levels)
        title = type(estimator).__name__ if name is None else name
        if hasattr(estimator, "classes_"):
            bins = numbers(out, 15, 3)
            bins = bins[bins[:, 0] > 0]
            display = cls(expected=bins[:, 1], observed=bins[:, 2], rows=bins[:, 0], estimator_name=title)
        else:
            share, chance = numbers(out, 2, len(levels))
            display = cls(expected=levels, observed=share, chance=chance, estimator_name=title)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> CalibrationDisplay:
        """Draw on `ax`, or on axes of its own; more keywords are those of the line."""
        self.ax_ = _axes(ax)
        self.figure_ = self.ax_.figure
        self.ax_.plot([0, 1], [0, 1], color="0.6", linestyle=":", linewidth=1)
        if self.chance is not None:
            self.ax_.fill_between(self.expected, np.maximum(self.expected - self.chance, 0), np.minimum(self.expected + self.chance, 1),
                                  color="0.9", linewidth=0)
        (self.line_,) = self.ax_.plot(self.expected, self.observed, **{"marker": ".", "label": name or self.estimator_name, **kwargs})
        numbers_or_counts = self.chance is not None
        self.ax_.set(xlabel="level of the interval" if numbers_or_counts else "probability of the likeliest class",
                     ylabel="share of the rows inside" if numbers_or_counts else "share of the rows where it is right",
                     xlim=(0, 1), ylim=(0, 1))
        self.ax_.legend(loc="upper left")
        return self


class CoefficientDisplay:
    """Coefficients of a linear model with their central intervals, the strongest (the largest |mean| / sd) on top.

    names, mean, lower, upper : of each coefficient that is shown
    """

    def __init__(self, *, names: list[str], mean: Floats, lower: Floats, upper: Floats, level: float,
                 estimator_name: str | None = None):
        self.names, self.mean, self.lower, self.upper, self.level = names, mean, lower, upper, level
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, level: float = 0.9, most: int = 20, ax: Any = None,
                       **kwargs: Any) -> CoefficientDisplay:
        """Draw the `most` strongest coefficients of a fitted linear model; intercepts are not shown."""
        if not hasattr(estimator, "coef_names_"):
            raise refuse(f"{type(estimator).__name__} has no coefficients to show")
        names, mean, lower, upper = estimator._effects(level, most)
        return cls(names=names, mean=mean, lower=lower, upper=upper, level=level,
                   estimator_name=type(estimator).__name__).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> CoefficientDisplay:
        """Draw on `ax`, or on axes of its own; more keywords are those of the points."""
        self.ax_ = _axes(ax)
        self.figure_ = self.ax_.figure
        place = np.arange(len(self.names))[::-1]
        self.ax_.axvline(0, color="0.6", linewidth=1)
        off = np.array([self.mean - self.lower, self.upper - self.mean])
        self.errorbar_ = self.ax_.errorbar(self.mean, place, xerr=off, **{"fmt": "o", "capsize": 2, **kwargs})
        self.ax_.set_yticks(place, self.names)
        self.ax_.set(xlabel=f"coefficient, {100 * self.level:g} % interval")
        return self
