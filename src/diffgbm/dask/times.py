"""The argument ``time`` for a table in partitions: the one column that is gathered, since an order needs all times.

The client holds eight bytes for each row and time, eight more for its group, and the bits of each split.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timezone
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Integers
from diffgbm.dask.partitions import aligned, named_column, one_column, pieces
from diffgbm.data.structure import Structure, check_times, parsed_dates, present_values

Times = NDArray[Any]
"""Numbers, or dates as ``datetime64``."""


def time_parts(X: Any, times: Any, owner: str) -> list[Any] | None:
    """Return the partitions of the times; a column of ``X`` that holds them stays a feature."""
    if times is None:
        return None
    if isinstance(times, str):
        return pieces(X[named_column(X, times, "time")])
    return aligned(X, times, "time", owner)


def time_values(values: Any) -> Times:
    """Read the times of a partition (n,): numbers, dates, or text that is ISO dates; raise if one is missing."""
    column = one_column(values, "time")
    array = column.to_numpy() if isinstance(column, nw.Series) else column
    if array.dtype.kind in "iuf" and not np.isnan(array).any():
        return array
    if array.dtype.kind == "M" and not np.isnat(array).any():
        return array
    listed = present_values(column, "time")
    if any(isinstance(value, str) for value in listed):
        listed = parsed_dates(listed)
    if all(isinstance(value, date) for value in listed):
        return np.array([_universal(value) for value in listed], dtype="datetime64[us]")
    if all(isinstance(value, Real) for value in listed):
        return np.array(listed, dtype=np.float64)
    kinds = ", ".join(sorted({type(value).__name__ for value in listed}))
    raise TypeError(f"time must hold numbers or dates, all of one kind; got {kinds}.")


def _universal(value: date) -> datetime:
    """Return a date, or a date and time of any zone, as universal time without a zone."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value if value.tzinfo is None else value.astimezone(timezone.utc).replace(tzinfo=None)


def as_numbers(times: Times) -> Array:
    """Return times (n,) as numbers, dates in microseconds."""
    return (times.astype("datetime64[us]").view(np.int64) if times.dtype.kind == "M" else times).astype(np.float64)


def ranks(each: Sequence[Times]) -> Integers:
    """Rank the times of all partitions from 0; equal times have equal ranks."""
    if len({times.dtype.kind == "M" for times in each}) > 1:
        raise TypeError(
            "time must hold numbers or dates, all of one kind; it has numbers in one partition and dates in another."
        )
    different, order = np.unique(np.concatenate(each), return_inverse=True)
    check_times(list(different[:2]))
    return np.asarray(order, dtype=np.int64).ravel()


def structure_of(order: Integers, keys: Integers | None) -> Structure:
    """Return the structure of all rows, of ranks of their times (n,) and keys of their groups (n,).

    Groups are numbered as they appear, as those of a table in memory are.
    """
    if keys is None:
        return Structure(None, order)
    _, first, label = np.unique(keys, return_index=True, return_inverse=True)
    number = np.empty_like(first)
    number[np.argsort(first)] = np.arange(len(first))
    return Structure(number[label.ravel()], order).part(slice(None))
