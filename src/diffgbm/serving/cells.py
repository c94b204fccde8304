"""Values of JSON as cells of a column: each kind of column says which values it takes, and what to send instead."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffgbm.data.dates import Dates, are_iso_dates
from diffgbm.data.free_text import FreeText
from diffgbm.data.kinds import Category, Column, Dropped, Levels, Number
from diffgbm.data.level_statistics import LevelStatistics
from diffgbm.data.numbers import number_of_text
from diffgbm.data.typed_values import as_text
from diffgbm.serving.problems import shown

MOST_DAYS = 1e8
"""Longest duration, which microseconds still hold."""
_OFFSET = re.compile(r"(Z|[+-]\d{2}:?\d{2})\s*$")


PLAIN_NUMBER = ". Send a plain number, such as 1234.5: without thousands separators, decimal comma, currency or unit"
"""What to do about text that is a number for people; a file of the same table is read as the training file was."""


class CellError(ValueError):
    """A value that a column does not take; the message says what to send instead."""


@dataclass(frozen=True)
class CellReader:
    """How values of JSON become cells of one column.

    Attributes
    ----------
    read : callable
        Takes a value that is neither null nor NaN; raises a ``CellError``.
    expected : str
        What the column takes, in words: "a number".
    schema : dict
        The same as JSON Schema, without null.
    type : {"float64", "string", "duration", "object"}
        Type of the cells.
    """

    read: Callable[[Any], Any]
    expected: str
    schema: dict[str, Any]
    type: str

    def __call__(self, value: Any) -> Any:
        """Return a cell; ``None`` is missing."""
        if value is None or (isinstance(value, float) and value != value):
            return None
        try:
            return self.read(value)
        except CellError as error:
            raise CellError(f"must be {self.expected}, or null if it is missing; got {shown(value)}{error}") from None


def cell_reader(how: Column) -> CellReader:
    """Return how values of JSON are read for a column of a model."""
    if isinstance(how, Number):
        return _SPANS.get(how.source, NUMBER)
    if isinstance(how, Dates):
        return _date_reader(how)
    if isinstance(how, (Category, LevelStatistics)):
        return _category_reader(how.levels)
    if isinstance(how, FreeText):
        return TEXT
    assert isinstance(how, Dropped)
    return NOT_USED


def _number(value: Any) -> float:
    if isinstance(value, str):
        found = number_of_text(value)
        if found is None:
            # not guessed: "1,234" is 1234 in one country and 1.234 in another
            raise CellError(PLAIN_NUMBER if any(c.isdigit() for c in value) else "")
        return found
    if not isinstance(value, (int, float)):
        raise CellError("")
    try:
        return float(value)
    except OverflowError:  # beyond float64: infinite, as everywhere in the library
        return float("inf") if value > 0 else float("-inf")


def _text(value: Any) -> str:
    if isinstance(value, (list, dict)):
        raise CellError("")
    text = str(value) if isinstance(value, bool) else _written(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CellError(", which is not Unicode text") from None
    return text


def _written(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 512:
        raise CellError("")
    return str(as_text(value))


def _days(value: Any) -> dt.timedelta:
    days = _number(value) if not isinstance(value, (bool, str)) else np.nan
    if not abs(days) <= MOST_DAYS:
        raise CellError("")
    return dt.timedelta(days=days)


def _clock(value: Any) -> str:
    try:
        dt.time.fromisoformat(value.strip())
    except (AttributeError, ValueError):
        raise CellError("") from None
    return str(value)


NUMBER = CellReader(_number, "a number", {"type": "number"}, "float64")
TEXT = CellReader(_text, "text", {"type": "string"}, "string")
NOT_USED = CellReader(lambda value: None, "anything: it is not used", {}, "float64")
_SPANS = {
    "duration": CellReader(_days, "a number of days", {"type": "number"}, "duration"),
    "time": CellReader(_clock, "a time of day like 13:45", {"type": "string"}, "string"),
}


def _date_reader(how: Dates) -> CellReader:
    zone = "" if how.zone is None else "T12:00:00+00:00"
    hint = "a date like 2020-04-21" if how.zone is None else "a date with its time zone, like 2020-04-21T12:00:00+00:00"

    def read(value: Any) -> str:
        if not isinstance(value, str) or not are_iso_dates([value]):
            raise CellError("")
        if (_OFFSET.search(value.strip()[10:]) is None) != (how.zone is None):
            raise CellError(
                ": the training table had no time zones" if how.zone is None else ": it has no time zone (+00:00)"
            )
        return value

    schema = {"type": "string", "format": "date-time" if zone else "date"}
    return CellReader(read, f"{hint} (ISO 8601)", schema, "string")


def _category_reader(levels: Levels) -> CellReader:
    """Return the reader of categories: text, or numbers where all categories are numbers."""
    kinds = {isinstance(level, str) for level in levels}
    if kinds == {False}:
        listed = ", ".join(str(level) for level in levels[:5]) + (", ..." if len(levels) > 5 else "")
        return CellReader(_number, f"a number (the categories are {listed})", {"type": "number"}, "float64")
    if kinds != {True, False}:
        spelling = {str(level).lower(): str(level) for level in levels}

        def read_text(value: Any) -> str:
            text = _text(value)
            return spelling.get(text.lower(), text) if isinstance(value, bool) else text

        return CellReader(read_text, "text", {"type": "string"}, "string")
    known = set(levels)

    def read_any(value: Any) -> Any:
        if isinstance(value, (list, dict)):
            raise CellError("")
        return value if value in known else _text(value)

    return CellReader(read_any, "text or a number", {"type": ["string", "number"]}, "object")
