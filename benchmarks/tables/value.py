"""A table as a value, independent of its output format."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Form = Callable[[float], str]
MISSING = "—"
"""Text of a missing result."""


@dataclass(frozen=True)
class Number:
    """A measured number with an optional standard error, and the paper's number."""

    value: float
    paper: float | None = None
    error: float | None = None
    paper_error: float | None = None


Entry = Number | str


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    header : str
        Its name.
    form : callable
        Number to text.
    best : {"max", "min"} or None
        Which end is marked.
    group : str
        Columns with the same group have one heading; in a table with marked rows, the best of a group is marked.
    align : {"l", "r"}
        Side.
    """

    header: str
    form: Form = str
    best: Literal["max", "min"] | None = None
    group: str = ""
    align: Literal["l", "r"] = "r"


@dataclass(frozen=True)
class Table:
    """Columns and rows with notes.

    Attributes
    ----------
    name : str
        Stem of files and labels.
    title : str
        Caption.
    columns : tuple of Column, length p
        From left to right.
    rows : tuple of tuples of Entry, length p each
        From top to bottom.
    notes : tuple of str
        Sentences below the table.
    mark : {"columns", "rows"}
        Whether the best is marked down each column, or along each row among the columns of a group.
    rules : tuple of int
        Rows with a line above them.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()
    mark: Literal["columns", "rows"] = "columns"
    rules: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if wrong := [i for i, row in enumerate(self.rows) if len(row) != len(self.columns)]:
            raise ValueError(f"{self.name}: rows {wrong} do not have {len(self.columns)} entries.")


@dataclass(frozen=True)
class Page:
    """Tables that belong together, in one file."""

    name: str
    title: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()


def fixed(digits: int) -> Form:
    """Write with so many decimals; what is a million or more in powers of ten."""
    return lambda value: f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.2e}"


def significant(digits: int) -> Form:
    """Write with so many significant digits, never in powers of ten below a million."""

    def form(value: float) -> str:
        if value == 0.0:
            return "0"
        if abs(value) >= 1e6:
            return f"{value:.{digits - 1}e}"
        return f"{value:.{max(digits - 1 - math.floor(math.log10(abs(value))), 0)}f}"

    return form


def best_cells(table: Table) -> frozenset[tuple[int, int]]:
    """Return the (row, column) indices of marked cells: the best of their group, with ties as printed.

    A number without a finite competitor is not marked.
    """
    if table.mark == "columns":
        fields = [[(i, j) for i in range(len(table.rows))] for j in range(len(table.columns))]
    else:
        groups = dict.fromkeys(column.group for column in table.columns)
        fields = [
            [(i, j) for j, column in enumerate(table.columns) if column.group == group]
            for i in range(len(table.rows))
            for group in groups
        ]
    return frozenset(cell for field in fields for cell in _best(table, field))


def _best(table: Table, cells: list[tuple[int, int]]) -> list[tuple[int, int]]:
    result: list[tuple[tuple[int, int], float, str]] = []
    for i, j in cells:
        entry, column = table.rows[i][j], table.columns[j]
        if column.best is not None and isinstance(entry, Number) and math.isfinite(entry.value):
            value = entry.value if column.best == "min" else -entry.value
            result.append(((i, j), value, column.form(entry.value)))
    if len(result) < 2:
        return []
    printed = min(result, key=lambda f: f[1])[2]
    return [cell for cell, _, text in result if text == printed]
