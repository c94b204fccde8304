"""Read frames, columns and array-likes as float64; missing values become NaN."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a frame of any library as narwhals' frame; ``None`` if ``X`` is no frame."""
    if type(X) is np.ndarray:  # the most frequent answer, without asking all libraries
        return None
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"The columns of a frame must have different names. {error}") from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise ValueError(f"The columns of a frame must have different names as text; got {_some(names)}.")
    return frame


def plain_array(values: Any, argument: str) -> NDArray[Any]:
    """Return an array-like as an array; masked values become NaN, complex numbers are refused."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64 if values.dtype.kind in "fiub" else object), np.nan)
    try:
        found = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must be an array or a frame, its rows of one length. ({error})") from None
    if found.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {argument} has dtype {found.dtype}.")
    return found


def column_values(column: Any) -> list[Any]:
    """Return the values of a series or an array (n,) as a list."""
    return column.to_list() if isinstance(column, nw.Series) else column.tolist()


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither true nor false
        return True


def column_numbers(column: Any, name: str, argument: str = "X", thousands: str = "") -> Array:
    """Read one numeric column as float64, missing values as NaN; ``thousands`` separates groups of digits in text."""
    if not isinstance(column, nw.Series):
        dtype: Any = column.dtype
        numeric = dtype.kind in "fiub"
    else:
        dtype = column.dtype
        numeric = dtype.is_numeric() or dtype == nw.Boolean
        if dtype == nw.Unknown and (native := column.to_numpy()).dtype.kind in "fiub":
            # sparse columns, and long doubles: numbers that only numpy has a name for
            with np.errstate(over="ignore"):
                return native.astype(np.float64)
    if numeric and isinstance(column, nw.Series):
        return _floats(column)
    if isinstance(column, nw.Series) and column.null_count() == len(column):
        return np.full(len(column), np.nan)
    text = argument == "X" and dtype == nw.String
    if not (numeric or dtype == nw.Object or text or getattr(dtype, "kind", "") in ("O", "U", "S")):
        raise TypeError(not_numbers(argument, name, dtype))
    try:
        values = [np.nan if is_missing(v) else v for v in column_values(column)]
        if argument == "X":
            values = [_number(v, thousands) if isinstance(v, str) else v for v in values]
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{not_numbers(argument, name, dtype)} ({error})") from None
    if found.ndim != 1:
        raise TypeError(f"{not_numbers(argument, name, dtype)} (its values are sequences)")
    return found


MARKS = ("", "?", "-", "--", ".", "na", "n/a", "#n/a", "nan", "null", "none", "missing")
"""Text that stands for a missing value among numbers written as text, in any case."""


THOUSANDS = (",", "'", "\u2019", " ", "\u00a0", "\u202f")
"""Separators of thousands in numbers with a decimal point."""
_GROUPED = {mark: re.compile(rf"\s*[+-]?[1-9]\d{{0,2}}(?:{mark}\d{{3}})+(?:\.\d*)?\s*") for mark in THOUSANDS}


def is_mark(value: Any) -> bool:
    """Whether a value is text that stands for a missing value."""
    return isinstance(value, str) and value.strip().lower() in MARKS


def number_of_text(text: str, thousands: str = "") -> float | None:
    """Return the number that a text is, NaN for a mark of a missing value, or ``None``."""
    if is_mark(text):
        return float("nan")
    if thousands and _GROUPED[thousands].fullmatch(text):
        text = text.strip().replace(thousands, "")
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def thousands_separator(texts: Sequence[str]) -> str:
    """Return what separates the thousands of numbers written as text; nothing if they are not all written so.

    ``1,234`` may be a number with a decimal comma. It has thousands if all numbers of four digits and more have: among
    decimal commas there would be one that three digits do not follow, or a long number without.
    """
    for mark in THOUSANDS:
        if any(map(_GROUPED[mark].fullmatch, texts)):
            return mark if all(_fits(text, mark) for text in texts) else ""
    return ""


def _fits(text: str, thousands: str) -> bool:
    """Whether a text is a number with the separator, a short one, or a mark of a missing value."""
    number = number_of_text(text, thousands)
    return number is not None and (not abs(number) >= 1000.0 or thousands in text.strip())


def _number(text: str, thousands: str = "") -> float:
    found = number_of_text(text, thousands)
    if found is None:
        raise ValueError(f"could not convert string to float: {text!r}")
    return found


def _floats(column: nw.Series[Any]) -> Array:
    """Read a column of a numeric type as float64; integers of more than 53 bits are rounded."""
    if isinstance(getattr(column.to_native(), "dtype", None), np.dtype):
        # what numpy holds has no other missing values than NaN; wide tables are read ten times faster
        return np.array(column.to_native(), dtype=np.float64)
    if column.implementation.is_pyarrow():
        # narwhals asks Arrow for a cast that refuses to round
        native = column.to_native()
        column = nw.from_native(native.cast("float64", safe=False), series_only=True)
    if column.implementation.is_pandas():
        # an Arrow column of an older pandas takes NaN for missing and keeps it as NA
        return np.asarray(column.to_native().to_numpy(dtype=np.float64, na_value=np.nan))
    with np.errstate(over="ignore"):
        return column.cast(nw.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


def not_numbers(argument: str, name: str, dtype: Any) -> str:
    """Return the message for a column of ``argument`` ("X" or "y") that holds no numbers."""
    if argument == "y":
        return f"y{f' column {name}' if name else ''} has dtype {dtype}; responses must be numbers."
    return (
        f"X column {name} has dtype {dtype} and holds values that are not numbers. Turn them into numbers, dates or "
        "text, make the column a category (pandas: X[c].astype('category'); polars: pl.col(c).cast(pl.Categorical); "
        "arrays: cat_idx=[...] in fit), or leave it out."
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
