"""What a model asks of a table's columns: text becomes categories, dates are refused, targets must be numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.data.table_files import TableFileError, column_names, read_pieces, read_table
from diffgbm.estimators.loaded import Model, members

ROWS_AT_ONCE = 100_000
"""Rows of a table that is read whole, piece by piece."""


def training_table(path: Path, targets: Sequence[str], drop: Sequence[str]) -> tuple[Any, Any]:
    """Read a table for training: the features, and the targets as a named series or, if several, a table."""
    names = column_names(path)
    require(path, names, [*targets, *drop])
    if len(set(targets)) < len(targets):
        raise TableFileError("--target: a column is given twice.")
    if both := set(targets) & set(drop):
        raise TableFileError(f"--drop: {sorted(both)[0]!r} is a target.")
    features = [name for name in names if name not in {*targets, *drop}]
    if not features:
        raise TableFileError(f"{path}: no columns are left to learn from.")
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
    """Prepare a feature for training."""
    arrow = need("pyarrow")
    types = arrow.types
    kind = column.type
    if is_text(kind):
        return column.cast(arrow.string()).dictionary_encode()
    if types.is_temporal(kind):
        raise TableFileError(
            f"{path}: column {name!r} holds dates or times. Turn it into numbers (days, month, weekday, ...) "
            f"or leave it out: --drop {name!r}."
        )
    return _numbers(path, name, column)


def is_text(kind: Any) -> bool:
    """Whether a column of this type holds text, plain or as a dictionary."""
    types = need("pyarrow").types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    is_view = getattr(types, "is_string_view", lambda kind: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind))


def _numbers(path: Path, name: str, column: Any) -> Any:
    """Cast a column of numbers, truth values or nothing at all to floats."""
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
    """Read a target column; say which row has none, if ``before`` rows came before these."""
    values: Array = _numbers(path, name, column).to_numpy(zero_copy_only=False).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise TableFileError(
            f"{path}: target {name!r} is missing or infinite in row {before + bad[0] + 1}. Drop such rows."
        )
    return values


def require(path: Path, present: Sequence[str], wanted: Iterable[str]) -> None:
    """Refuse a table that lacks columns."""
    missing = [name for name in wanted if name not in present]
    if missing:
        shown = ", ".join(map(repr, present[:20])) + (", ..." if len(present) > 20 else "")
        raise TableFileError(f"{path}: there is no column {', '.join(map(repr, missing))}; it has {shown}.")


def feature_names(model: Model) -> tuple[str, ...]:
    """Names of the model's columns."""
    features = members(model)[0].features
    if features.names is None:
        raise TableFileError("The model was fitted to an array: its columns have no names to find in a table.")
    return features.names


def pieces(
    model: Model, path: Path, rows: int, keep: Sequence[str] = (), targets: Sequence[str] = ()
) -> Iterator[tuple[Any, Any]]:
    """Yield pieces of a table: the model's columns as it knows them, and the other columns that were asked for.

    All columns that are needed are there, or there is no first piece.
    """
    names = feature_names(model)
    require(path, column_names(path), [*names, *targets, *keep])
    categories = dict(zip(names, members(model)[0].features.levels, strict=True))
    kinds = {
        # what is carried over stays as it is written
        **dict.fromkeys(keep, "text"),
        **dict.fromkeys(targets, "number"),
        **{name: "text" if _has_text(levels) else "number" for name, levels in categories.items()},
    }
    empty = True
    for piece in read_pieces(path, list(kinds), kinds, rows):
        if len(piece) == 0:
            continue
        empty = False
        X = {name: known_feature(path, name, piece.column(name), levels) for name, levels in categories.items()}
        yield need("pyarrow").table(X), piece
    if empty:
        raise TableFileError(f"{path}: there are no rows.")


def observed_table(model: Model, path: Path) -> tuple[Any, Array]:
    """Read a whole table that holds the targets: the model's columns as it knows them, and the targets (n, d)."""
    names = members(model)[0].response_names
    X: list[Any] = []
    y: list[Array] = []
    for part, piece in pieces(model, path, ROWS_AT_ONCE, targets=names):
        before = sum(len(values) for values in y)
        y.append(np.column_stack([target_values(path, name, piece.column(name), before) for name in names]))
        X.append(part)
    return need("pyarrow").concat_tables(X), np.concatenate(y)


def target_table(path: Path, names: Sequence[str]) -> Array:
    """Read the targets (n, d) of a table."""
    require(path, column_names(path), names)
    whole = read_table(path, list(names))
    return np.column_stack([target_values(path, name, whole.column(name)) for name in names])


def _has_text(levels: Any) -> bool:
    return levels is not None and any(isinstance(level, str) for level in levels)


def known_feature(path: Path, name: str, column: Any, levels: Any) -> Any:
    """Prepare a feature for a model that knows it."""
    arrow = need("pyarrow")
    if not _has_text(levels):
        return _numbers(path, name, column)
    if arrow.types.is_boolean(column.type):  # True, TRUE or true, as the model learned it from text
        spelling = {level.lower(): level for level in levels if isinstance(level, str)}
        return arrow.array([spelling.get(str(value).lower()) for value in column.to_pylist()], arrow.string())
    return column.cast(arrow.string())
