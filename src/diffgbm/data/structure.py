"""How rows depend on each other: which of them stay together in every split, and in which order they came.

Rows of one customer resemble each other, and next month is not last month. A model that learns from some rows of a
customer and is scored on the others is scored on what it remembers, and one that learns from the future is scored on
what nobody knew. ``fit(X, y, groups=..., time=...)`` says so, and every split of the library obeys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Integers
from diffgbm.data.features import EncodedTable
from diffgbm.data.numbers import as_frame, column_values, is_missing

ISO = re.compile(r"\d{4}-\d{2}(-\d{2}([T ][\d:.]+)?)?$")
"""Text that is a date, with or without a time."""
MIN_GROUPS = 2
"""Groups, or different times, that a split needs."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Labels of rows that stay together, and the order of the rows in time.

    Attributes
    ----------
    labels : ndarray of shape (n,) or None
        The same number, from 0 without gaps, for rows that no split divides; ``None`` if each row is on its own.
    order : ndarray of shape (n,) or None
        Rank of each row's time, from 0 without gaps; ``None`` if the order of the rows means nothing.
    """

    labels: Integers | None = None
    order: Integers | None = None

    def part(self, rows: Any) -> Structure:
        """Return the structure of some rows, numbered from 0 without gaps.

        Rows that all have one label cannot be kept together, and rows of one time have no order.
        """
        return Structure(*(_several(_renumbered(numbers, rows)) for numbers in (self.labels, self.order)))

    @property
    def n_labels(self) -> int:
        """Number of different labels."""
        return 0 if self.labels is None or len(self.labels) == 0 else int(self.labels.max()) + 1

    def n_units(self, n_rows: int) -> int:
        """Return the number of things that ``n_rows`` rows are divided as: labels, or the rows themselves."""
        return n_rows if self.labels is None else self.n_labels


INDEPENDENT = Structure()
"""Rows that are independent draws."""


@dataclass(frozen=True, eq=False)
class GivenStructure:
    """What the arguments ``groups`` and ``time`` of ``fit`` say.

    Attributes
    ----------
    labels, order : ndarray of shape (n,) or None
        Codes of the groups, and ranks of the times.
    sorted : bool
        Whether the rows came in the order of ``time``.
    group_column : str or None
        The column of ``X`` that held the groups; it is no feature.
    time_column : str or None
        The column of ``X`` that held the times; it is one.
    """

    labels: Integers | None = None
    order: Integers | None = None
    sorted: bool = True
    group_column: str | None = None
    time_column: str | None = None

    @property
    def wanted(self) -> tuple[str, ...]:
        """Columns that are features although they may number the rows: that of the times."""
        return () if self.time_column is None else (self.time_column,)

    def part(self, rows: Any) -> GivenStructure:
        """Return what is said of some rows."""
        labels, order = (_renumbered(numbers, rows) for numbers in (self.labels, self.order))
        return GivenStructure(labels, order, self.sorted, self.group_column, self.time_column)


def _renumbered(numbers: Integers | None, rows: Any) -> Integers | None:
    """Number what some rows have from 0 without gaps."""
    return None if numbers is None else np.asarray(np.unique(numbers[rows], return_inverse=True)[1]).ravel()


def _several(numbers: Integers | None) -> Integers | None:
    return None if numbers is None or len(numbers) == 0 or numbers.max() == 0 else numbers


NOTHING_GIVEN = GivenStructure()
"""Neither groups nor time."""


def read_structure(X: Any, groups: Any, time: Any) -> tuple[Any, GivenStructure]:
    """Read the arguments ``groups`` and ``time`` of ``fit``; return ``X`` without a column of groups, and them.

    Parameters
    ----------
    X : array-like or frame of shape (n, p)
        The table.
    groups, time : array-like of shape (n,), str or None
        One value for each row, or the name of a column of ``X``. A column of groups is taken out of ``X``, one of times
        stays. Estimators that fit others to a part of the rows pass what they have read as ``groups``.
    """
    if isinstance(groups, GivenStructure):
        return (X if groups.group_column is None else _without(X, groups.group_column)), groups
    if groups is None and time is None:
        return X, NOTHING_GIVEN
    n_rows = _count(X)
    order = None if time is None else _ranks(_column(X, time, "time", n_rows))
    labels = None if groups is None else _codes(_column(X, groups, "groups", n_rows))
    group_column, time_column = (name if isinstance(name, str) else None for name in (groups, time))
    given = GivenStructure(labels, order, _is_sorted(order), group_column, time_column)
    return (X if group_column is None else _without(X, group_column)), given


def check_groups(labels: Integers | None, folds: int, argument: str) -> None:
    """Raise if there are fewer groups than an argument of the estimator asks folds for."""
    if labels is not None and (count := int(labels.max()) + 1) < folds:
        raise ValueError(
            f"groups must have at least as many groups as {argument}={folds}, since each is held out whole; got "
            f"{count} groups. Set {argument}={count} or less."
        )


def _count(X: Any) -> int:
    """Count the rows of a table of any kind."""
    if hasattr(X, "shape"):
        return int(X.shape[0])
    frame = as_frame(X)
    return len(X) if frame is None else len(frame)


def _is_sorted(order: Integers | None) -> bool:
    return order is None or bool(np.all(np.diff(order) >= 0))


def _column(X: Any, values: Any, argument: str, n_rows: int) -> Any:
    """Return one value for each row as a series or an array; ``values`` may name a column of ``X``."""
    if isinstance(values, str):
        return _named(X, values, argument)
    column = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(column, nw.Series):
        column = _array(values, argument)
    if len(column) != n_rows:
        raise ValueError(f"{argument} must have one value for each of the {n_rows} rows of X; it has {len(column)}.")
    return column


def _array(values: Any, argument: str) -> NDArray[Any]:
    frame = as_frame(values)
    if frame is not None and len(frame.columns) == 1:
        return np.array(frame.get_column(frame.columns[0]).to_list(), dtype=object)
    try:
        found = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must be one-dimensional. ({error})") from None
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise ValueError(
            f"{argument} must be one-dimensional, with one value for each row of X, or the name of a column of X; got "
            f"{'a frame' if frame is not None else f'shape {found.shape}'}."
        )
    return found


def _named(X: Any, name: str, argument: str) -> Any:
    """Return a column of a frame."""
    if isinstance(X, EncodedTable):
        raise ValueError(
            f"{argument}={name!r}: the columns of an encoded table are numbers already; pass the values of {name!r} "
            f"instead of its name, and leave the column out of the table if it is no feature."
        )
    frame = as_frame(X)
    if frame is None:
        raise ValueError(
            f"{argument}={name!r} names a column, but X is no frame with column names. Pass one value for each row."
        )
    by_name = {str(column): column for column in frame.columns}
    if name not in by_name:
        listed = ", ".join(map(repr, list(by_name)[:10])) + (", ..." if len(by_name) > 10 else "")
        raise ValueError(f"{argument}={name!r} is not a column of X; it has {listed}.")
    return frame.get_column(by_name[name])


def _without(X: Any, name: str) -> Any:
    frame = as_frame(X)
    assert frame is not None
    rest = [column for column in frame.columns if str(column) != name]
    if not rest:
        raise ValueError(f"groups={name!r} is the only column of X: there are no features left.")
    return frame.select(rest).to_native()


def present_values(column: Any, argument: str) -> list[Any]:
    """Return the values of a column; raise if any is missing."""
    values = column_values(column)
    missing = [i for i, value in enumerate(values) if is_missing(value)]
    if missing:
        raise ValueError(
            f"{argument} must have a value for each row; {len(missing)} are missing, the first in row {missing[0]}. "
            "Fill them in or drop these rows."
        )
    return values


def _codes(column: Any) -> Integers:
    """Number the groups from 0, in the order in which they appear."""
    code: dict[Any, int] = {}
    values = present_values(column, "groups")
    try:
        labels = np.fromiter((code.setdefault(value, len(code)) for value in values), np.int64, len(values))
    except TypeError as error:
        raise TypeError(f"groups must be numbers, text or other hashable values. ({error})") from None
    if 0 < len(code) < MIN_GROUPS:
        raise ValueError(
            f"groups must name at least {MIN_GROUPS} groups, since one is held out while the others are learned from; "
            f"all rows are in group {values[0]!r}. Leave groups out if all rows are of one thing."
        )
    return labels


def _ranks(column: Any) -> Integers:
    """Rank the times from 0; equal times have equal ranks."""
    values = present_values(column, "time")
    if any(isinstance(value, str) for value in values):
        values = parsed_dates(values)
    try:
        times = sorted(set(values))
    except TypeError as error:
        raise TypeError(f"time must hold numbers or dates, all of one kind. ({error})") from None
    check_times(times)
    rank = {value: i for i, value in enumerate(times)}
    return np.fromiter((rank[value] for value in values), np.int64, len(values))


def check_times(times: Sequence[Any]) -> None:
    """Raise if all rows are of one time; ``times`` are the different ones."""
    if 0 < len(times) < MIN_GROUPS:
        raise ValueError(
            f"time must have at least {MIN_GROUPS} different values; all rows are at {times[0]}. "
            "Leave time out if all rows are of one moment."
        )


def parsed_dates(values: list[Any]) -> list[Any]:
    """Read text as ISO dates; other text has no order that is sure to be that of time."""
    try:
        if not all(ISO.match(value) for value in values):
            raise ValueError
        found = np.array(values, dtype="datetime64[us]")
    except (TypeError, ValueError):
        raise ValueError(
            f"time must hold numbers or dates; got text such as {values[0]!r}. Convert it first, e.g. with "
            "pandas.to_datetime; text is read only as ISO dates (2026-01-31)."
        ) from None
    return list(found.tolist())
