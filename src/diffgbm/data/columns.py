"""Columns of table files: features are read as those of frames are, targets must be numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.data.features import FeatureTable
from diffgbm.data.kinds import Category, Column, Number
from diffgbm.data.table_files import TableFileError, column_names, read_pieces, read_table

ROWS_AT_ONCE = 100_000
"""Rows of a block when a whole table is read block by block."""


def training_table(path: Path, targets: Sequence[str], drop: Sequence[str]) -> tuple[Any, Any]:
    """Read a table for training: the features, and the target as a named series (several targets as a table)."""
    names = column_names(path)
    require(path, names, [*targets, *drop])
    if len(set(targets)) < len(targets):
        raise TableFileError("--target: a column is given twice.")
    if both := set(targets) & set(drop):
        raise TableFileError(f"--drop: {sorted(both)[0]!r} is a target.")
    features = [name for name in names if name not in {*targets, *drop}]
    if not features:
        raise TableFileError(f"{path}: there are no feature columns left.")
    whole = read_table(path, [*features, *targets])
    if len(whole) == 0:
        raise TableFileError(f"{path}: there are no rows.")
    arrow = need("pyarrow")
    X = arrow.table({name: _feature(path, name, whole.column(name)) for name in features})
    values = {name: target_values(path, name, whole.column(name)) for name in targets}
    if len(targets) > 1:
        return X, arrow.table(values)
    return X, nw.new_series(targets[0], values[targets[0]], nw.Float64(), backend="pyarrow")


def _feature(path: Path, name: str, column: Any) -> Any:
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
        raise TableFileError(
            f"{path}: target {name!r} is missing or infinite in row {before + bad[0] + 1}. Drop such rows."
        )
    return values


def require(path: Path, present: Sequence[str], wanted: Iterable[str]) -> None:
    """Raise if a table lacks columns."""
    missing = [name for name in wanted if name not in present]
    if missing:
        shown = ", ".join(map(repr, present[:20])) + (", ..." if len(present) > 20 else "")
        raise TableFileError(f"{path}: there is no column {', '.join(map(repr, missing))}; it has {shown}.")


def feature_names(features: FeatureTable) -> tuple[str, ...]:
    """Return the names of a model's columns; raise if it was fitted to an array."""
    if features.names is None:
        raise TableFileError("The model was fitted to an array: its columns have no names to look up in a table.")
    return features.names


def table_blocks(
    features: FeatureTable, path: Path, rows: int, keep: Sequence[str] = (), targets: Sequence[str] = ()
) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of a table: the features as the model reads them, and all columns that were asked for.

    Missing columns raise before the first block.

    Parameters
    ----------
    features : FeatureTable
        The columns that the model was fitted to.
    path : path
        The table.
    rows : int
        Rows of a block.
    keep : sequence of str
        Columns to read unchanged.
    targets : sequence of str
        Columns to read as numbers.
    """
    names = feature_names(features)
    require(path, column_names(path), [*names, *targets, *keep])
    known = dict(zip(names, features.columns, strict=True))
    kinds = {
        # columns to keep are read as text, so that they stay as they are written
        **dict.fromkeys(keep, "text"),
        **dict.fromkeys(targets, "number"),
        **{name: "text" if _is_written_as_text(how) else "number" for name, how in known.items()},
    }
    empty = True
    for block in read_pieces(path, list(kinds), kinds, rows):
        if len(block) == 0:
            continue
        empty = False
        X = {name: known_column(path, name, block.column(name), how) for name, how in known.items()}
        yield need("pyarrow").table(X), block
    if empty:
        raise TableFileError(f"{path}: there are no rows.")


def observed_table(features: FeatureTable, targets: Sequence[str], path: Path) -> tuple[Any, Array]:
    """Read a whole table that holds the targets: the features as the model reads them, and the targets (n, d)."""
    X: list[Any] = []
    y: list[Array] = []
    for features_block, block in table_blocks(features, path, ROWS_AT_ONCE, targets=targets):
        before = sum(len(values) for values in y)
        y.append(np.column_stack([target_values(path, name, block.column(name), before) for name in targets]))
        X.append(features_block)
    return need("pyarrow").concat_tables(X), np.concatenate(y)


def target_table(path: Path, names: Sequence[str]) -> Array:
    """Read the targets (n, d) of a table."""
    require(path, column_names(path), names)
    whole = read_table(path, list(names))
    return np.column_stack([target_values(path, name, whole.column(name)) for name in names])


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
