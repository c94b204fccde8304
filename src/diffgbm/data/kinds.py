"""Kinds of columns: numbers, categories, and columns that are not used; what a column is, is decided by its values.

A kind has a ``width``, the number of its columns in the matrix; ``encode`` makes them. ``shown`` gives one number per
row and ``text`` formats it, for reports. ``detail`` says in a few words how the column was read.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar, Protocol

import narwhals as nw
import numpy as np

from diffgbm._util.errors import warn
from diffgbm._util.types import Array, Booleans
from diffgbm.data.dates import Dates, are_iso_dates, is_moment, is_period
from diffgbm.data.hints import spelling_hint
from diffgbm.data.numbers import (
    column_numbers,
    column_values,
    is_mark,
    is_missing,
    not_numbers,
    number_of_text,
    thousands_separator,
)

Levels = tuple[Hashable, ...]

_NARROW = (nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean)
"""Types whose every value is a float32."""
NO_VALUES = "no values"
_CODE = re.compile(r"\s*0\d")
"""A code like 00501, which is no number."""
_CLOCK = re.compile(r"\s*\d{2}:\d{2}(:\d{2}([.]\d{1,6})?)?\s*")
"""A time of the day."""
_NESTED = (nw.List, nw.Array, nw.Struct)


class Column(Protocol):
    """How one column of the user's table is read."""

    @property
    def kind(self) -> str:
        """A word for the kind."""
        ...

    @property
    def width(self) -> int:
        """Number of columns in the matrix."""
        ...

    @property
    def levels(self) -> Levels | None:
        """Categories, or ``None``."""
        ...

    @property
    def detail(self) -> str:
        """How the column was read, in a few words."""
        ...

    def encode(self, column: Any, name: str) -> Array:
        """Return the columns of the matrix (n, width)."""
        ...

    def shown(self, column: Any, name: str) -> Array:
        """Return one number for each row (n,)."""
        ...

    def text(self, value: float) -> str:
        """Format a number of ``shown``."""
        ...


@dataclass(frozen=True)
class Number:
    """A column of numbers: truth values are 0 and 1, durations are days, times are hours.

    Attributes
    ----------
    source : {"number", "duration", "time"}
        What the numbers were.
    is_text : bool
        Whether the numbers were written as text.
    note : str
        What else is to be said of it.
    thousands : str
        What separates the thousands of numbers written as text, or nothing.
    """

    source: str = "number"
    is_text: bool = False
    note: str = field(default="", compare=False)
    thousands: str = ""

    width: ClassVar[int] = 1
    levels: ClassVar[None] = None

    @property
    def kind(self) -> str:
        """A word for the kind."""
        return self.source

    @property
    def detail(self) -> str:
        """How the column was read, in a few words."""
        unit = {"number": "", "duration": "days", "time": "hours since midnight"}[self.source]
        grouped = f", thousands separator {self.thousands!r}" if self.thousands else ""
        return "; ".join(filter(None, (unit, f"written as text{grouped}" if self.is_text else "", self.note)))

    def encode(self, column: Any, name: str) -> Array:
        """Return the numbers (n, 1)."""
        return self.shown(column, name)[:, None]

    def shown(self, column: Any, name: str) -> Array:
        """Return the numbers (n,)."""
        if self.source != "number":
            return _spans(column, name, self.source)
        return column_numbers(column, name, thousands=self.thousands)

    def text(self, value: float) -> str:
        """Format a number."""
        return f"{value:.6g}"


@dataclass(frozen=True)
class Category:
    """A column of categories that the trees split by sets of codes.

    Attributes
    ----------
    levels : tuple
        Categories; their positions are their codes. Others are missing values.
    """

    levels: Levels

    kind: ClassVar[str] = "category"
    width: ClassVar[int] = 1

    @classmethod
    def learn(cls, column: Any, name: object) -> Category:
        """Learn the distinct values of a column, sorted where they can be."""
        try:
            found = sorted_levels({value for value in column_values(column) if not is_missing(value)})
            return cls(tuple(map(level_of, found)))
        except TypeError as error:
            raise TypeError(f"X column {name} cannot be categorical: its values must be hashable. ({error})") from None

    @property
    def detail(self) -> str:
        """How the column was read, in a few words."""
        if len(self.levels) < 2:
            return f"constant: {some_levels(self.levels)}" if self.levels else NO_VALUES
        return f"{len(self.levels):,} categories: {some_levels(self.levels)}"

    def encode(self, column: Any, name: str) -> Array:
        """Return the codes (n, 1)."""
        return self.shown(column, name)[:, None]

    def shown(self, column: Any, name: str) -> Array:
        """Return the codes (n,); categories that training did not have are NaN."""
        return level_codes(column, self.levels)

    def text(self, value: float) -> str:
        """Format a code."""
        return str(self.levels[int(value)])


@dataclass(frozen=True)
class Dropped:
    """A column that is not used.

    Attributes
    ----------
    reason : str
        Why.
    remedy : str
        What to do if it should be used; training says so, a model file does not hold it.
    """

    reason: str
    remedy: str = field(default="Turn them into numbers or text.", compare=False)

    kind: ClassVar[str] = "not used"
    width: ClassVar[int] = 0
    levels: ClassVar[None] = None

    @property
    def detail(self) -> str:
        """Why it is not used."""
        return self.reason

    def encode(self, column: Any, name: str) -> Array:
        """Return no columns (n, 0)."""
        return np.empty((len(column), 0))

    def shown(self, column: Any, name: str) -> Array:
        """Return NaN (n,)."""
        return np.full(len(column), np.nan)

    def text(self, value: float) -> str:
        """Return the word for a value that is not used."""
        return "not used"


def recognised(column: Any, name: str, distinct: bool = False) -> Column:
    """Decide what a column is: by its type where that says it, by its values otherwise.

    ``distinct`` says that the column has every value once, so that no position is a row.
    """
    dtype = column.dtype
    if isinstance(column, nw.Series):
        if dtype in (nw.Categorical, nw.Enum):
            return Category.learn(column, name)
        if dtype.is_numeric() or dtype == nw.Boolean:
            return Number()
        if dtype in _NESTED:
            return Dropped(f"holds lists or records ({dtype})")
        if dtype in (nw.Duration, nw.Time):
            return Number("duration" if dtype == nw.Duration else "time")
        if column.null_count() == len(column):
            return Number(note=NO_VALUES)
        if dtype in (nw.Datetime, nw.Date):
            return Dates.learn(column, name)
        if dtype == nw.Unknown and is_period(column):
            return Dates.learn(column, name)
        if dtype == nw.Unknown and column.to_numpy().dtype.kind in "fiub":
            return Number()
    elif dtype.kind in "fiub":
        return Number()
    elif dtype.kind == "m":
        return Number("duration")
    elif dtype.kind == "M":
        return Number(note=NO_VALUES) if np.isnat(column).all() else Dates.learn(column, name)
    return _of_values(column, name, distinct)


def _of_values(column: Any, name: str, distinct: bool) -> Column:
    """Decide by the values of a column of objects or text."""
    every = column_values(column)
    values = [value for value in every if not is_missing(value)]
    if not values:
        return Number(note=NO_VALUES)
    if all(isinstance(v, (list, tuple, dict, set, frozenset, np.ndarray)) for v in values):
        return Dropped(f"holds {type(values[0]).__name__} values")
    if all(is_moment(v) for v in values):
        return Dates.learn(column, name)
    for source, kind in (("duration", (dt.timedelta, np.timedelta64)), ("time", dt.time)):
        if all(isinstance(v, kind) for v in values):
            return Number(source)
    if any(isinstance(v, str) for v in values):
        return _of_text(column, every, values, name, distinct)
    if not all(isinstance(v, (Real, Decimal, bytes)) for v in values):
        raise TypeError(_not_readable(column, name, values))
    return Number()


def _of_text(column: Any, every: Sequence[Any], values: Sequence[Any], name: str, distinct: bool) -> Column:
    """Decide what a column is in which some values are text."""
    found = set(values)
    text = sorted(v for v in found if isinstance(v, str))
    thousands = thousands_separator(text)
    parsed = {v: number_of_text(v, thousands) for v in text}
    if all(number is not None for number in parsed.values()) and not any(map(_CODE.match, text)):
        marks = sorted(v for v, number in parsed.items() if number != number)
        if len(marks) < len(found):
            note = f"{', '.join(map(repr, marks))} is missing" if marks else ""
            return Number(is_text=True, note=note, thousands=thousands)
    written = [v for v in text if not is_mark(v)]
    if are_iso_dates(written) and len(text) == len(found):
        return Dates.learn(column, name)
    if written and len(text) == len(found) and all(map(_is_clock, written)):
        return Number("time", is_text=True)
    if (hint := spelling_hint(name, every, parsed, any(map(_CODE.match, text)), distinct)) is not None:
        warn(hint)
    return Category.learn(column, name)


def _is_clock(text: str) -> bool:
    try:
        return bool(_CLOCK.fullmatch(text) and dt.time.fromisoformat(text.strip()))
    except ValueError:
        return False


def _not_readable(column: Any, name: str, values: Sequence[Any]) -> str:
    message = not_numbers("X", name, column.dtype)
    strange = next(value for value in values if not isinstance(value, (Real, Decimal, bytes)))
    try:
        float(strange)
    except (TypeError, ValueError) as error:
        return f"{message} ({error})"
    return message


def _spans(column: Any, name: str, source: str) -> Array:
    """Read durations as days, or times of the day as hours (n,)."""
    unit = 86400.0 if source == "duration" else 3600.0
    if isinstance(column, nw.Series) and column.dtype == nw.Duration:
        micros = column.dt.total_microseconds()
        missing = column.is_null().to_numpy().astype(bool)
        return np.where(missing, np.nan, micros.fill_null(0).to_numpy().astype(np.float64) / (1e6 * unit))
    if isinstance(column, np.ndarray) and column.dtype.kind == "m":
        span = column.astype("timedelta64[us]")
        return np.where(np.isnat(span), np.nan, span.astype(np.int64) / (1e6 * unit))
    values = column_values(column)
    return np.array([np.nan if is_missing(v) or is_mark(v) else _seconds(v, name, source) / unit for v in values])


def _seconds(value: Any, name: str, source: str) -> float:
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "s"))
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, dt.time):
        return 3600.0 * value.hour + 60.0 * value.minute + value.second + 1e-6 * value.microsecond
    if isinstance(value, str) and source == "time":
        try:
            return _seconds(dt.time.fromisoformat(value.strip()), name, source)
        except ValueError:
            pass
    raise TypeError(f"X column {name} held {source}s in training; now it holds {value!r}.")


def is_narrow(column: Any) -> bool:
    """Whether the type of a column guarantees that float32 holds every value exactly."""
    if isinstance(column, nw.Series):
        return column.dtype in _NARROW
    return column.dtype.kind in "fiub" and np.can_cast(column.dtype, np.float32)


def level_of(value: Any) -> Any:
    """Return a category as a number or text, which a model file holds: an interval of pandas is its text."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if not (hasattr(value, "closed") and hasattr(value, "left") and hasattr(value, "right")):
        return value
    low, high = (repr(float(end)) if isinstance(end, Real) else str(end) for end in (value.left, value.right))
    opening = "[" if value.closed in ("left", "both") else "("
    return f"{opening}{low}, {high}" + ("]" if value.closed in ("right", "both") else ")")


def sorted_levels(seen: set[Any]) -> Levels:
    """Return distinct values in order, of their names where they have none."""
    try:
        return tuple(sorted(seen))
    except TypeError:
        return tuple(sorted(seen, key=lambda value: (type(value).__name__, str(value))))


def some_levels(levels: Levels, most: int = 4) -> str:
    """Name the first few categories."""
    return ", ".join(map(str, levels[:most])) + (", ..." if len(levels) > most else "")


def level_codes(column: Any, levels: Levels) -> Array:
    """Return the code of each value (n,): the position of its category, NaN for others and for missing values."""
    code = {level: float(i) for i, level in enumerate(levels)}
    values = column_values(column)
    known = {value: code.get(level_of(value), np.nan) for value in set(values)}
    if any(isinstance(value, bool) for value in known) and any(isinstance(level, str) for level in levels):
        # a table without missing values may hold True where training had the text "True"
        spelled = {str(level).lower(): i for level, i in code.items()}
        known |= {v: spelled.get(str(v).lower(), np.nan) for v in known if isinstance(v, bool)}
    return np.fromiter((known[v] for v in values), dtype=np.float64, count=len(values))


def unseen_share(column: Any, levels: Levels) -> float:
    """Share of the rows whose category training did not have; missing values are not counted."""
    return float(unseen_rows(column, levels).sum()) / max(1, len(column))


def unseen_rows(column: Any, levels: Levels) -> Booleans:
    """Whether each row (n,) has a category that training did not have; missing values are not counted."""
    codes = level_codes(column, levels)
    pairs = zip(column_values(column), codes.tolist(), strict=True)
    return np.array([code != code and not is_missing(value) for value, code in pairs], dtype=bool)
