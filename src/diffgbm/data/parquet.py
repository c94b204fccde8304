"""Parquet tables larger than memory: encoded once, row by row, into a matrix on disk that estimators read in blocks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.data.blocks import block_length
from diffgbm.data.columns import is_text, known_column, require, target_values
from diffgbm.data.features import EncodedTable, FeatureTable, without_numbers
from diffgbm.data.kinds import Category, Column, Dropped, recognised
from diffgbm.data.row_numbers import row_numbers
from diffgbm.data.table_files import TableFileError, column_names, read_pieces, schema_of

NAME_THEM = (
    "What a model learns from the numbers of its rows fails on new ones. If a column was measured, name all: columns=."
)
"""What to do about columns that number the rows."""


def from_parquet(
    path: str | os.PathLike[str],
    target: str | Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> tuple[EncodedTable, Any]:
    """Read a Parquet table for training without holding it in memory.

    The features are encoded into a temporary file of floats, 4 bytes a number if its columns fit and 8 otherwise, which
    is deleted when nothing refers to it any more. A model fitted to it equals that of the same table in memory.

    Parameters
    ----------
    path : path
        A Parquet file, or a folder of them with the same columns, read in the order of their names.
    target : str or sequence of str
        Responses.
    columns : sequence of str, optional
        Features; by default all other columns that do not number the rows. They are read as those of frames are:
        ``schema_`` is the same. Parquet keeps a category of whole numbers as numbers; write its values as text if it
        must stay one.
    folder : path, optional
        Where the temporary file is written; the system's default folder may be in memory.

    Returns
    -------
    X : EncodedTable
        The features, for ``fit`` and ``predict_*``.
    y : Series or table
        The responses, in memory.

    Examples
    --------
    >>> X, y = from_parquet("sales/", target="price")  # doctest: +SKIP
    >>> DiffGBM.flow(n_repeats=2).fit(X, y)  # doctest: +SKIP
    """
    source = Path(path)
    targets = [target] if isinstance(target, str) else list(target)
    names = column_names(source)
    features = [name for name in names if name not in targets] if columns is None else list(columns)
    require(source, names, [*targets, *features])
    if not features:
        raise TableFileError(f"{source}: no columns are left to learn from.")
    kinds = {field.name: field.type for field in schema_of(source)}
    readings = _readings(source, features, kinds)
    if columns is None:
        readings = without_numbers(features, readings, _numbers_of_rows(source, features, kinds), NAME_THEM)
    table = FeatureTable.of_columns(tuple(features), readings)
    dtype = np.float32 if all(_is_narrow(kinds[f], how) for f, how in _pairs(table)) else np.float64
    responses: list[Array] = []
    with tempfile.TemporaryFile(dir=folder) as file:
        rows = 0
        for piece in _pieces(source, [*features, *targets]):
            block = {name: known_column(source, name, piece.column(name), how) for name, how in _pairs(table)}
            file.write(table.encode(need("pyarrow").table(block), "DiffGBM").astype(dtype).tobytes())
            responses.append(
                np.column_stack([target_values(source, name, piece.column(name), rows) for name in targets])
            )
            rows += len(piece)
        if rows == 0:
            raise TableFileError(f"{source}: there are no rows.")
        file.flush()
        # the map outlives the name of the file
        matrix: Any = np.memmap(file, dtype=dtype, mode="r", shape=(rows, table.width))
    return EncodedTable(table.with_notes(matrix), matrix), _named(targets, np.concatenate(responses))


def _pieces(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Yield pieces that hold some rows."""
    return (piece for piece in read_pieces(path, columns, rows=block_length(len(columns))) if len(piece))


def _pairs(table: FeatureTable) -> Iterator[tuple[str, Column]]:
    assert table.names is not None
    return zip(table.names, table.columns, strict=True)


def _readings(path: Path, features: Sequence[str], kinds: dict[str, Any]) -> tuple[Column, ...]:
    """Decide how each feature is read, as in a frame: by its type, or by its distinct values, which are read once."""
    arrow = need("pyarrow")
    by_values = [name for name in features if _is_read_by_values(kinds[name])]
    seen: dict[str, Any] = {name: arrow.array([], _plain(kinds[name])) for name in features}
    for piece in _pieces(path, by_values) if by_values else ():
        for name in by_values:
            column = piece.column(name).cast(seen[name].type)
            seen[name] = arrow.chunked_array([seen[name], column.unique()]).unique()
    out = []
    for name in features:
        column = nw.from_native(arrow.chunked_array([seen[name]]), series_only=True)
        is_category = arrow.types.is_dictionary(kinds[name])
        out.append(Category.learn(column, repr(name)) if is_category else recognised(column, repr(name), distinct=True))
    return tuple(out)


def _numbers_of_rows(path: Path, features: Sequence[str], kinds: dict[str, Any]) -> dict[str, str]:
    """Return the columns that number the rows, with the reason; most repeat in the first rows and are not read."""
    whole = [name for name in features if need("pyarrow").types.is_integer(kinds[name])]
    first = next(_pieces(path, whole), None) if whole else None
    names = [] if first is None else [name for name in whole if len(first.column(name).unique()) == len(first)]
    if not names:
        return {}
    table = need("pyarrow").concat_tables(list(_pieces(path, names)))
    columns = {name: nw.from_native(table.column(name), series_only=True) for name in names}
    return row_numbers(columns, others=len(features) - len(names))


def _plain(kind: Any) -> Any:
    """Return the type of a column's values."""
    arrow = need("pyarrow")
    kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
    return arrow.string() if is_text(kind) else kind


def _is_read_by_values(kind: Any) -> bool:
    """Whether the type of a column leaves open how it is read: its categories, its parts of a date."""
    types = need("pyarrow").types
    return bool(is_text(kind) or types.is_dictionary(kind) or types.is_date(kind) or types.is_timestamp(kind))


def _is_narrow(kind: Any, how: Column) -> bool:
    """Whether float32 holds every value of a column of this type."""
    types = need("pyarrow").types
    if isinstance(how, (Category, Dropped)):
        return True
    small = kind.bit_width <= 16 if types.is_integer(kind) else False
    return bool(small or types.is_float32(kind) or types.is_float16(kind) or types.is_boolean(kind))


def _named(targets: Sequence[str], values: Array) -> Any:
    if len(targets) == 1:
        return nw.new_series(targets[0], values[:, 0], nw.Float64(), backend="pyarrow")
    return need("pyarrow").table({name: values[:, j] for j, name in enumerate(targets)})
