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
from diffgbm.data.columns import is_text, known_feature, require, target_values
from diffgbm.data.features import EncodedTable, FeatureTable
from diffgbm.data.kinds import sorted_levels
from diffgbm.data.table_files import TableFileError, column_names, read_pieces, schema_of


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
        Features; by default all other columns. Text becomes categories.
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
    table = FeatureTable.plain(tuple(features), _levels(source, features, kinds))
    dtype = np.float32 if all(map(_is_narrow, (kinds[name] for name in features))) else np.float64
    responses: list[Array] = []
    with tempfile.TemporaryFile(dir=folder) as file:
        rows = 0
        for piece in _pieces(source, [*features, *targets]):
            known = zip(features, table.levels, strict=True)
            block = {name: known_feature(source, name, piece.column(name), levels) for name, levels in known}
            file.write(table.encode(need("pyarrow").table(block), "DiffGBM").astype(dtype).tobytes())
            responses.append(
                np.column_stack([target_values(source, name, piece.column(name), rows) for name in targets])
            )
            rows += len(piece)
        if rows == 0:
            raise TableFileError(f"{source}: there are no rows.")
        file.flush()
        # the map outlives the name of the file
        matrix: Any = np.memmap(file, dtype=dtype, mode="r", shape=(rows, len(features)))
    return EncodedTable(table, matrix), _named(targets, np.concatenate(responses))


def _pieces(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Yield pieces that hold some rows."""
    return (piece for piece in read_pieces(path, columns, rows=block_length(len(columns))) if len(piece))


def _levels(path: Path, features: Sequence[str], kinds: dict[str, Any]) -> tuple[Any, ...]:
    """Read the columns of text once, and return the categories of each feature or ``None``."""
    levels: dict[str, set[Any]] = {name: set() for name in features if is_text(kinds[name])}
    if levels:
        for piece in _pieces(path, list(levels)):
            for name, seen in levels.items():
                text = piece.column(name).cast(need("pyarrow").string())
                seen.update(value for value in text.unique().to_pylist() if value is not None)
    return tuple(sorted_levels(levels[name]) if name in levels else None for name in features)


def _is_narrow(kind: Any) -> bool:
    """Whether float32 holds every value of a column of this type."""
    types = need("pyarrow").types
    if is_text(kind):
        return True
    small = kind.bit_width <= 16 if types.is_integer(kind) else False
    return bool(small or types.is_float32(kind) or types.is_float16(kind) or types.is_boolean(kind))


def _named(targets: Sequence[str], values: Array) -> Any:
    if len(targets) == 1:
        return nw.new_series(targets[0], values[:, 0], nw.Float64(), backend="pyarrow")
    return need("pyarrow").table({name: values[:, j] for j, name in enumerate(targets)})
