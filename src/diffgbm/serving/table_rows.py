"""Rows of a table as values of JSON, from which the same predictions follow."""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from diffgbm._util.optional import need
from diffgbm.data.features import FeatureTable
from diffgbm.data.file_format import ReadingOptions, TableReading
from diffgbm.data.file_tables import FOUND, table_blocks
from diffgbm.data.table_files import column_names, file_format

MOST_ROWS = 10_000
"""Rows of a table that the explorer reads."""


@dataclass(frozen=True)
class RowTable:
    """Rows that may be loaded into the explorer.

    Attributes
    ----------
    X : pyarrow table
        The features, as the model reads them.
    observed : pyarrow table
        Responses that the file holds; no columns if it holds none.
    name : str
        Name of the file.
    """

    X: Any
    observed: Any
    name: str

    def __len__(self) -> int:
        return len(self.X)

    def row(self, i: int) -> dict[str, Any]:
        """Return the features of a row in JSON."""
        return {name: json_value(self.X.column(name)[i].as_py()) for name in self.X.column_names}

    def responses(self, i: int) -> dict[str, Any]:
        """Return the observed responses of a row."""
        return {name: json_value(self.observed.column(name)[i].as_py()) for name in self.observed.column_names}


def read_rows(
    path: Path,
    features: FeatureTable,
    targets: Sequence[str],
    reading: TableReading | None = None,
    options: ReadingOptions = FOUND,
) -> RowTable:
    """Read the first rows of a table file, as ``diffgbm predict`` does, and the responses if it has them."""
    names = features.names or tuple(map(str, range(features.n_features)))
    there = set(column_names(path, file_format(path, options)))
    known = [target for target in targets if target in there]
    blocks: list[tuple[Any, Any]] = []
    named = replace(features, names=names)
    for block in table_blocks(named, path, MOST_ROWS, targets=known, reading=reading, options=options):
        blocks.append(block)
        break  # a file may hold millions of rows
    X, observed = blocks[0]
    return RowTable(X, need("pyarrow").table({name: observed.column(name) for name in known}), path.name)


def json_value(value: Any) -> Any:
    """Return a value of a table in JSON: dates as ISO 8601 text, durations as days."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, (float, Decimal)):
        return _finite(float(value))
    if isinstance(value, dt.datetime):
        midnight = value.tzinfo is None and value.time() == dt.time()
        return value.date().isoformat() if midnight else value.isoformat()
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value / dt.timedelta(days=1)
    if hasattr(value, "item"):  # numpy's numbers
        return json_value(value.item())
    return str(value)


def _finite(value: float) -> float | None:
    """Return NaN as ``None``; trees decide for infinity as they do for the largest number."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else math.copysign(sys.float_info.max, value)
