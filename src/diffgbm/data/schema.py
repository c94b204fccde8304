"""How a model read the columns of its table, as a value to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape

from diffgbm.data.features import FeatureTable

MOST_SHOWN = 100
"""Columns that a printed schema lists."""
WIDEST = 100
"""Characters of a detail in a printed schema."""


@dataclass(frozen=True)
class ColumnSchema:
    """How one column was read.

    Attributes
    ----------
    name : str
        Its name; the position of a column of an array.
    kind : str
        ``"number"``, ``"category"``, ``"encoded category"``, ``"date"``, ``"duration"``, ``"time"``, ``"text"`` or
        ``"not used"``.
    width : int
        Number of columns that the models get.
    detail : str
        Categories, period, parts, or why it is not used.
    """

    name: str
    kind: str
    width: int
    detail: str


@dataclass(frozen=True, repr=False)
class Schema:
    """How each column was read; prints as a table, ``schema["price"]`` is one column.

    Attributes
    ----------
    columns : tuple of ColumnSchema
        In the order of the training table.
    """

    columns: tuple[ColumnSchema, ...]

    @classmethod
    def of(cls, features: FeatureTable) -> Schema:
        """Describe a feature table."""
        names = features.names or tuple(map(str, range(features.n_features)))
        pairs = zip(names, features.columns, strict=True)
        return cls(tuple(ColumnSchema(name, how.kind, how.width, how.detail) for name, how in pairs))

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[ColumnSchema]:
        return iter(self.columns)

    def __getitem__(self, key: int | str) -> ColumnSchema:
        if isinstance(key, int):
            return self.columns[key]
        found = [column for column in self.columns if column.name == key]
        if not found:
            raise KeyError(key)
        return found[0]

    def records(self) -> list[dict[str, str | int]]:
        """Return the columns as dicts, e.g. for a data frame."""
        return [asdict(column) for column in self.columns]

    def __str__(self) -> str:
        rows = [("column", "kind", "detail"), *((c.name, c.kind, _short(c.detail)) for c in self.columns[:MOST_SHOWN])]
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        lines = [f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {detail}".rstrip() for name, kind, detail in rows]
        left = len(self.columns) - MOST_SHOWN
        return "\n".join([*lines, f"... and {left:,} more columns"] if left > 0 else lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = [(c.name, c.kind, _short(c.detail)) for c in self.columns[:MOST_SHOWN]]
        rows = ["<tr><th>column</th><th>kind</th><th>detail</th></tr>"]
        rows += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells]
        return f"<table>{''.join(rows)}</table>"


def _short(detail: str) -> str:
    return detail if len(detail) <= WIDEST else detail[: WIDEST - 3] + "..."
