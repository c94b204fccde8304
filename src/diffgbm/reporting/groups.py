"""Coverage within groups of rows: by predicted interquartile range, by bins of a number, by categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffgbm._util.types import Array, Booleans
from diffgbm._util.types import Rows as Positions
from diffgbm.metrics.diagnostics import Proportion, proportion, tied_groups
from diffgbm.reporting.formatting import number
from diffgbm.reporting.rows import Rows

BINS = 5
"""Groups of a number."""
CATEGORIES = 7
"""Categories with a group each; the rarer ones share a group."""


@dataclass(frozen=True)
class Group:
    """A group of rows.

    Attributes
    ----------
    label : str
        Values of the group.
    covered : Proportion
        Coverage of the intervals of the model.
    constant : float
        Coverage of intervals of constant width.
    width : float
        Mean width of the intervals of the model.
    """

    label: str
    covered: Proportion
    constant: float
    width: float


@dataclass(frozen=True)
class Grouping:
    """Groups of rows by one quantity."""

    by: str
    groups: tuple[Group, ...]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of ``n`` rows.

    Attributes
    ----------
    inside, constant : ndarray of shape (n,)
        Whether the interval of the model, and that of constant width, holds the observation.
    width : ndarray of shape (n,)
        Width of the interval of the model.
    """

    inside: Booleans
    constant: Booleans
    width: Array

    def group(self, label: str, positions: Positions) -> Group:
        """Summarise some of the rows."""
        constant, width = self.constant[positions].mean(), self.width[positions].mean()
        return Group(label, proportion(self.inside[positions]), float(constant), float(width))


def by_iqr(intervals: Intervals, iqr: Array) -> Grouping:
    """Equal groups in the order of the predicted interquartile range (n,)."""
    # ranges that differ by rounding errors alone are equal
    unit = 1e-9 * float(iqr.max()) or 1.0
    groups = _number_groups(intervals, unit * np.rint(iqr / unit), np.arange(len(iqr)))
    return Grouping("predicted interquartile range", groups)


def by_feature(intervals: Intervals, rows: Rows, feature: int) -> Grouping:
    """Group by categories, or by bins of a number with about equally many rows; missing values are one more group."""
    values, levels = rows.matrix[:, feature], rows.features.levels[feature]
    known = np.flatnonzero(~np.isnan(values))
    distinct = np.unique(values[known])
    if levels is not None or len(distinct) <= BINS:
        groups = _value_groups(intervals, rows, feature, known)
    else:
        groups = _number_groups(intervals, values[known], known)
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        groups = (*groups, intervals.group(rows.text(int(missing[0]), feature), missing))
    return Grouping(rows.names[feature], groups)


def _number_groups(intervals: Intervals, values: Array, positions: Positions) -> tuple[Group, ...]:
    """Groups in the order of ``values``, those of the rows at ``positions``; equal values share a group."""
    return tuple(intervals.group(_range(values[group]), positions[group]) for group in tied_groups(values, BINS))


def _range(values: Array) -> str:
    low, high = number(float(values.min()), 3), number(float(values.max()), 3)
    return low if low == high else f"{low} to {high}"


def _value_groups(intervals: Intervals, rows: Rows, feature: int, known: Positions) -> tuple[Group, ...]:
    values = rows.matrix[known, feature]
    distinct, counts = np.unique(values, return_counts=True)
    common = np.argsort(-counts, kind="stable")
    # a single rare category keeps its name
    shown = common if len(distinct) <= CATEGORIES + 1 else common[:CATEGORIES]
    groups = []
    for k in np.sort(shown):
        group = known[values == distinct[k]]
        groups.append(intervals.group(rows.text(int(group[0]), feature), group))
    rest = known[~np.isin(values, distinct[shown])]
    if len(rest):
        groups.append(intervals.group(f"{len(distinct) - len(shown)} others", rest))
    return tuple(groups)
