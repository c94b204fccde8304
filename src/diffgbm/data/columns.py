"""Columns of table files: features are read as those of frames are, targets must be numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.data.dates import Dates
from diffgbm.data.features import FeatureTable
from diffgbm.data.file_format import TableFileError
from diffgbm.data.kinds import Category, Column, Number

NO_SEPARATOR = (".parquet", ".pq", ".xlsx", ".xls", ".jsonl", ".ndjson", ".json", ".feather", ".arrow")
"""Endings of files whose columns no sign separates."""


def training_feature(path: Path, name: str, column: Any) -> Any:
    """Convert a feature for training."""
    arrow = need("pyarrow")
    types = arrow.types
    kind = column.type
    if is_text(kind):
        return column if types.is_dictionary(kind) else column.cast(arrow.string())
    if types.is_temporal(kind) or types.is_nested(kind):
        return column
    return _numbers(path, name, column)


def is_text(kind: Any) -> bool:
    """Whether a column of this type holds text, plain or dictionary-encoded."""
    types = need("pyarrow").types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    is_view = getattr(types, "is_string_view", lambda kind: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind))


def _numbers(path: Path, name: str, column: Any) -> Any:
    """Cast a column of numbers, truth values or nulls to floats."""
    arrow = need("pyarrow")
    types, kind = arrow.types, column.type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if not any(
        test(kind) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    ):
        raise TableFileError(f"{path}: column {name!r} must hold numbers; it holds {column.type}.")
    column = column.cast(kind)
    return column.cast(arrow.uint8() if types.is_boolean(kind) else kind).cast(arrow.float64(), safe=False)


def target_values(path: Path, name: str, column: Any, before: int = 0) -> Array:
    """Read a target column (n,); an error names the first bad row, counted after ``before`` earlier rows."""
    values: Array = _numbers(path, name, column).to_numpy(zero_copy_only=False).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        more = f" and {len(bad) - 1:,} more" if len(bad) > 1 else ""
        raise TableFileError(
            f"{path}: target {name!r} is missing or infinite in row {before + bad[0] + 1}{more}. Drop such rows."
        )
    return values


def require(path: Path, present: Sequence[str], wanted: Iterable[str]) -> None:
    """Raise if a table lacks columns."""
    missing = [name for name in wanted if name not in present]
    if missing:
        shown = ", ".join(map(repr, present[:20])) + (", ..." if len(present) > 20 else "")
        lacks = f"{path}: there is no column {', '.join(map(repr, missing))}; it has {shown}."
        if any(name[:1].isdigit() for name in present):
            lacks += " Does the first line hold the names of the columns?"
        if len(present) == 1 and path.suffix.lower() not in NO_SEPARATOR:
            lacks += " If its columns are separated by another sign, name it: --sep."
        raise TableFileError(lacks)


def feature_names(features: FeatureTable) -> tuple[str, ...]:
    """Return the names of a model's columns; raise if it was fitted to an array."""
    if features.names is None:
        raise TableFileError("The model was fitted to an array: its columns have no names to look up in a table.")
    return features.names


def feature_kind(how: Column) -> str:
    """Return the kind of text that a feature of a model is read from."""
    if isinstance(how, Dates):
        return "date"
    if isinstance(how, Number):
        return "number" if how.source == "number" else "text"
    return "text" if not isinstance(how, Category) or _has_text(how.levels) else "number"


def _is_written_as_text(how: Column) -> bool:
    """Whether a column of a CSV file is read as text, to be understood by the column itself."""
    if isinstance(how, Number):
        return how.is_text or how.source != "number"
    return not isinstance(how, Category) or _has_text(how.levels)


def known_column(path: Path, name: str, column: Any, how: Column) -> Any:
    """Convert a feature to what the model's column reads."""
    if isinstance(how, (Number, Category)) and not (isinstance(how, Number) and _is_written_as_text(how)):
        return known_feature(path, name, column, how.levels)
    return column.cast(need("pyarrow").string()) if is_text(column.type) else column


def _has_text(levels: Any) -> bool:
    return levels is not None and any(isinstance(level, str) for level in levels)


def known_feature(path: Path, name: str, column: Any, levels: Any) -> Any:
    """Convert a feature to the type that the model was fitted to."""
    arrow = need("pyarrow")
    if not _has_text(levels):
        return _numbers(path, name, column)
    if arrow.types.is_boolean(column.type):  # the training table spelled it True, TRUE or true
        spelling = {level.lower(): level for level in levels if isinstance(level, str)}
        return arrow.array([spelling.get(str(value).lower()) for value in column.to_pylist()], arrow.string())
    return column.cast(arrow.string())
