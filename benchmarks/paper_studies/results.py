"""The lines of a study as numbers by arm and measure: for every unit, for every data set, and over all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.paper_studies.measures import MEASURES
from diffgbm._util.types import Array

Place = tuple[str, int]
"""Data set and fold."""
COMPUTED_DATA = "computed"
"""Data set name in the lines of computed studies."""


@dataclass(frozen=True)
class Results:
    """Measurements of a study.

    Attributes
    ----------
    lines : mapping of (data set, fold) to a mapping of arm to numbers
        The units that are finished.
    """

    lines: Mapping[Place, Mapping[str, Mapping[str, Any]]]

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> Results:
        """Read lines; the last of a data set and fold counts."""
        return cls({(r["data_set"], r["fold"]): r["arms"] for r in records})

    @cached_property
    def data_sets(self) -> tuple[str, ...]:
        """Data sets that have lines, in their order."""
        return tuple(dict.fromkeys(place[0] for place in self.lines))

    @property
    def computed(self) -> bool:
        """Whether the lines are of a study without data, whose numbers have no sampling error."""
        return self.data_sets == (COMPUTED_DATA,)

    def at(self, place: Place, arm: str, measure: str) -> float:
        """Return a number of one unit; NaN where there is none.

        ``rel_crps`` is the CRPS over the best arm's of the same unit, ``raw_wins`` whether it is the best.
        """
        cells = self.lines[place]
        if arm not in cells:
            return math.nan
        if measure in ("rel_crps", "raw_wins"):
            best = min(cell["crps"] for cell in cells.values())
            crps = cells[arm]["crps"]
            return crps / best if measure == "rel_crps" else float(crps == best)
        known = MEASURES.get(measure)
        value = known.of(cells[arm]) if known and known.of else cells[arm].get(measure, math.nan)
        return float(value) if isinstance(value, (int, float)) else math.nan

    def by_data_set(self, arm: str, measure: str) -> dict[str, float]:
        """Return the mean over the folds of each data set.

        ``rel_crps`` and ``raw_wins`` compare these means, as the paper does.
        """
        if measure in ("rel_crps", "raw_wins"):
            return {name: self._beside_best(name, arm, measure) for name in self.data_sets}
        result = {
            name: [self.at(place, arm, measure) for place in self.lines if place[0] == name] for name in self.data_sets
        }
        return {name: mean_of(values) for name, values in result.items()}

    def _beside_best(self, data_set: str, arm: str, measure: str) -> float:
        places = [place for place in self.lines if place[0] == data_set]
        arms = [name for name in self.lines[places[0]] if all(name in self.lines[place] for place in places)]
        if arm not in arms:
            return math.nan
        means = {name: float(np.mean([self.lines[place][name]["crps"] for place in places])) for name in arms}
        best = min(means.values())
        return means[arm] / best if measure == "rel_crps" else float(means[arm] == best)

    def mean(self, arm: str, measure: str) -> float:
        """Return the mean over data sets of the means over folds; the number of data sets for ``raw_wins``."""
        values = list(self.by_data_set(arm, measure).values())
        if not values:
            return math.nan
        return float(np.nansum(values)) if measure == "raw_wins" else mean_of(values)

    def values(self, arm: str, measure: str) -> Array:
        """Return the numbers of all units that have one, (n,)."""
        result = [self.at(place, arm, measure) for place in self.lines]
        return np.array([value for value in result if not math.isnan(value)])

    def pairs(self, left: str, right: str, measure: str, over: str = "folds") -> tuple[Array, Array]:
        """Return the numbers of two arms at the units (``folds``) or ``data_sets`` that have both."""
        if over == "data_sets":
            a, b = self.by_data_set(left, measure), self.by_data_set(right, measure)
            result = [(a[name], b[name]) for name in self.data_sets]
        else:
            result = [(self.at(place, left, measure), self.at(place, right, measure)) for place in self.lines]
        kept = np.array([pair for pair in result if not any(map(math.isnan, pair))]).reshape(-1, 2)
        return kept[:, 0], kept[:, 1]

    def curve(self, arm: str, name: str) -> list[float]:
        """Return a list of the first unit that has it."""
        for cells in self.lines.values():
            if arm in cells and name in cells[arm]:
                return list(cells[arm][name])
        return []

    def mean_curve(self, arm: str, name: str) -> Array:
        """Return the mean of a list over the units, element by element."""
        result = [cells[arm][name] for cells in self.lines.values() if arm in cells and name in cells[arm]]
        return np.mean(result, axis=0) if result else np.empty(0)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of the numbers that are there; NaN if none is."""
    result = [value for value in values if not math.isnan(value)]
    return float(np.mean(result)) if result else math.nan


def best_of(arms: Sequence[str], value: Callable[[str], float], end: str) -> str | None:
    """Return the arm with the best finite value."""
    result = {arm: value(arm) for arm in arms}
    finite = {arm: number for arm, number in result.items() if math.isfinite(number)}
    if not finite:
        return None
    return (max if end == "max" else min)(finite, key=finite.__getitem__)
