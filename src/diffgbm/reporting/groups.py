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
    values = unit * np.rint(iqr / unit)
    groups = tuple(intervals.group(_range(values[group]), group) for group in tied_groups(values, BINS))
    return Grouping("predicted interquartile range", groups)


def by_feature(intervals: Intervals, rows: Rows, feature: int) -> Grouping:
    """Group by categories, or by bins of a number with about equally many rows; missing values are one more group."""
    every = np.arange(len(rows))
    groups = labelled_groups(rows, feature, every)
    return Grouping(rows.names[feature], tuple(intervals.group(label, group) for label, group in groups))


def labelled_groups(rows: Rows, feature: int, sources: Positions) -> list[tuple[str, Positions]]:
    """Group the values of one feature in the rows ``sources`` (m,): labels, and positions in ``sources``.

    Categories are groups, and so are bins of a number with about equally many values; missing values are one more.
    """
    values, levels = rows.matrix[sources, feature], rows.features.levels[feature]
    known, missing = np.flatnonzero(~np.isnan(values)), np.flatnonzero(np.isnan(values))
    if levels is not None or len(np.unique(values[known])) <= BINS:
        groups = _value_groups(rows, feature, sources, known)
    else:
        groups = [(_range(values[known[g]]), known[g]) for g in tied_groups(values[known], BINS)]
    if len(missing):
        groups.append((rows.text(int(sources[missing[0]]), feature), missing))
    return groups


def _range(values: Array) -> str:
    """Ends of values with three digits, or more where both would be the same text."""
    ends = float(values.min()), float(values.max())
    texts = [[number(end, digits) for end in ends] for digits in (3, 4, 5, 6)]
    low, high = next((pair for pair in texts if pair[0] != pair[1]), texts[0])
    return low if low == high else f"{low} to {high}"


def _value_groups(rows: Rows, feature: int, sources: Positions, known: Positions) -> list[tuple[str, Positions]]:
    """A group for each of the common values in ``sources[known]``, and one for all others."""
    values = rows.matrix[sources[known], feature]
    distinct, counts = np.unique(values, return_counts=True)
    common = np.argsort(-counts, kind="stable")
    # a single rare category keeps its name
    shown = common if len(distinct) <= CATEGORIES + 1 else common[:CATEGORIES]
    groups = []
    for k in np.sort(shown):
        group = known[values == distinct[k]]
        groups.append((rows.text(int(sources[group[0]]), feature), group))
    rest = known[~np.isin(values, distinct[shown])]
    if len(rest):
        groups.append((f"{len(distinct) - len(shown)} others", rest))
    return groups
