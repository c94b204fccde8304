"""Values of spreadsheets and JSON, which have types cell by cell: a column of one type keeps it, any other is text."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from diffgbm._util.optional import need


def typed_column(values: Sequence[Any]) -> Any:
    """Return values (n,) as numbers, dates or text; text if they are of several kinds."""
    arrow = need("pyarrow")
    kinds = {_kind(value) for value in values} - {None}
    if not kinds:
        return arrow.chunked_array([arrow.nulls(len(values), arrow.string())])
    if kinds == {"number"}:
        numbers = [None if value is None else float(value) for value in values]
        return arrow.chunked_array([arrow.array(numbers, arrow.float64(), from_pandas=True)])
    if kinds == {"date"}:
        return arrow.chunked_array([arrow.array(list(map(_moment, values)), arrow.timestamp("us"))])
    return arrow.chunked_array([arrow.array(list(map(as_text, values)), arrow.string())])


def _kind(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return "number"
    return "date" if isinstance(value, dt.date) else "text"


def _moment(value: Any) -> dt.datetime | None:
    if value is None or isinstance(value, dt.datetime):
        return value
    return dt.datetime(value.year, value.month, value.day)


def as_text(value: Any) -> str | None:
    """Write a value as a text file would hold it; lists and objects as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat(" ") if isinstance(value, dt.datetime) else value.isoformat()
    if isinstance(value, (list, dict)):
        return json.dumps(value)
    return str(value)
