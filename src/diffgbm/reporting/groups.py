"""Coverage within groups of rows: by predicted spread, by bins of a number, by categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array
from diffgbm.metrics.diagnostics import Proportion, equal_groups, proportion
from diffgbm.reporting.rows import Rows
from diffgbm.reporting.words import number

Positions = NDArray[np.intp]

BINS = 5
CATEGORIES = 7
"""Categories that are shown by themselves; the rarer ones are put together."""


@dataclass(frozen=True)
class Group:
    """A group of rows: coverage of its intervals, that of intervals of constant width, and the mean width."""

    label: str
    covered: Proportion
    constant: float
    width: float


@dataclass(frozen=True)
class Grouping:
    """Groups by one thing."""

    by: str
    groups: tuple[Group, ...]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Of ``n`` rows: whether intervals, and intervals of constant width, hold the observation; their widths."""

    inside: NDArray[np.bool_]
    constant: NDArray[np.bool_]
    width: Array

    def group(self, label: str, positions: Positions) -> Group:
        """Summarise some of the rows."""
        constant, width = self.constant[positions].mean(), self.width[positions].mean()
        return Group(label, proportion(self.inside[positions]), float(constant), float(width))


def by_spread(intervals: Intervals, iqr: Array) -> Grouping:
    """Equal groups in the order of the predicted interquartile range."""
    # spreads that differ by rounding alone are the same
    unit = 1e-9 * float(iqr.max()) or 1.0
    return Grouping("predicted spread", _number_groups(intervals, unit * np.rint(iqr / unit), np.arange(len(iqr))))


def by_feature(intervals: Intervals, rows: Rows, feature: int) -> Grouping:
    """Categories, or bins of a number with about equally many rows; rows without a value are a group of their own."""
    values, levels = rows.matrix[:, feature], rows.features.levels[feature]
    known = np.flatnonzero(~np.isnan(values))
    distinct = np.unique(values[known])
    if levels is not None or len(distinct) <= BINS:
        found = _value_groups(intervals, rows, feature, known)
    else:
        found = _number_groups(intervals, values[known], known)
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        found = (*found, intervals.group(rows.text(int(missing[0]), feature), missing))
    return Grouping(rows.names[feature], found)


def _number_groups(intervals: Intervals, values: Array, positions: Positions) -> tuple[Group, ...]:
    """Equal groups in the order of ``values``, those of ``positions``; equal values stay together."""
    cuts = np.unique([values[group].max() for group in equal_groups(values, BINS)])
    member = np.searchsorted(cuts, values)
    groups = [np.flatnonzero(member == g) for g in range(len(cuts))]
    return tuple(intervals.group(_range(values[group]), positions[group]) for group in groups if len(group))


def _range(values: Array) -> str:
    low, high = number(float(values.min()), 3), number(float(values.max()), 3)
    return low if low == high else f"{low} to {high}"


def _value_groups(intervals: Intervals, rows: Rows, feature: int, known: Positions) -> tuple[Group, ...]:
    values = rows.matrix[known, feature]
    distinct, counts = np.unique(values, return_counts=True)
    common = np.argsort(-counts, kind="stable")
    # one category more is no reason to hide its name
    shown = common if len(distinct) <= CATEGORIES + 1 else common[:CATEGORIES]
    found = []
    for k in np.sort(shown):
        group = known[values == distinct[k]]
        found.append(intervals.group(rows.text(int(group[0]), feature), group))
    rest = known[~np.isin(values, distinct[shown])]
    if len(rest):
        found.append(intervals.group(f"{len(distinct) - len(shown)} others", rest))
    return tuple(found)
