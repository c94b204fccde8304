"""How a table file is read, as values: what the user asks for, the layout of the file, and the reading of its columns.

A model remembers a ``TableReading``, so that later files are read as the training file was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

COLUMN_KINDS = ("number", "text", "date", "time", "typed")
"""Kinds of columns. ``typed`` columns have a type in their file; ``time`` is a time of day, read as hours."""
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""Separators that are looked for, with their names."""
DECIMALS = (".", ",")
THOUSANDS = ("", ",", ".", " ", "'")
ISO, DAY_FIRST, MONTH_FIRST, COMPACT = "year-month-day", "day-month-year", "month-day-year", "yyyymmdd"
DATE_ORDERS = (ISO, DAY_FIRST, MONTH_FIRST, COMPACT)
"""Orders of the parts of dates that are looked for."""


class TableFileError(ValueError):
    """A table file that cannot be used; the message is one line that names the problem."""


@dataclass(frozen=True)
class ReadingOptions:
    """What the user says about a file; ``None`` and ``()`` are found by looking at it.

    Attributes
    ----------
    separator : str, optional
        Separator of columns.
    decimal : {".", ","}, optional
        Decimal mark of all numbers.
    missing : tuple of str
        Marks of missing values, besides the usual ones.
    encoding : str, optional
        Encoding of text.
    date_format : str, optional
        Format of dates, e.g. ``%d/%m/%Y``.
    sheet : str, optional
        Sheet of a workbook.
    """

    separator: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    encoding: str | None = None
    date_format: str | None = None
    sheet: str | None = None


@dataclass(frozen=True)
class FileFormat:
    """The layout of a file.

    Attributes
    ----------
    kind : {"csv", "parquet", "feather", "json", "excel"}
        Kind of file.
    encoding, separator : str
        Of text files.
    header : int
        Line that holds the names of the columns, from 1; lines before it are no part of the table.
    unnamed : {"", "first", "last"}
        Rows have one value more than the header: row names before the others, or nothing after the last separator.
    sheet : str
        Of workbooks.
    missing : tuple of str
        Marks of missing values that the user named.
    """

    kind: str
    encoding: str = "utf-8"
    separator: str = ","
    header: int = 1
    unnamed: Literal["", "first", "last"] = ""
    sheet: str = ""
    missing: tuple[str, ...] = ()

    def describe(self) -> str:
        """Say it in one line."""
        if self.kind == "excel":
            return f"Excel, sheet {self.sheet!r}"
        if self.kind != "csv":
            return {"json": "JSON lines", "parquet": "Parquet", "feather": "Arrow"}[self.kind]
        text = f"text in {self.encoding.upper()}, separated by {SEPARATORS.get(self.separator, repr(self.separator))}"
        return text + (f", names of the columns in line {self.header}" if self.header > 1 else "")


@dataclass(frozen=True)
class ColumnReading:
    """How the text of one column becomes values.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        One of ``COLUMN_KINDS``.
    decimal, thousands : str
        Decimal mark, and separator of thousands or nothing.
    unit : str
        What stands beside every number, e.g. ``€`` or ``%``.
    dates : str
        Order of the parts of a date (``DATE_ORDERS``), or a format with per cent signs.
    zone : bool
        Whether the dates have a time zone; they are read as UTC.
    missing : tuple of str
        Marks of missing values that occurred.
    type : str
        Type of a ``typed`` column, for a person.
    note : str
        What a reader should know: an ambiguity and how it was decided, values that cannot be read.
    """

    name: str
    kind: str
    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    dates: str = ""
    zone: bool = False
    missing: tuple[str, ...] = ()
    type: str = ""
    note: str = ""

    def describe(self) -> str:
        """Say it in a few words: ``number, thousands separator ','``."""
        parts = [{"time": "time of day, in hours", "typed": self.type}.get(self.kind, self.kind)]
        if self.kind == "number":
            parts += [f"decimal mark {self.decimal!r}"] if self.decimal != "." else []
            parts += [f"thousands separator {self.thousands!r}"] if self.thousands else []
            parts += [f"unit {self.unit!r}"] if self.unit else []
        if self.kind == "date":
            parts += [self.dates + (", with time zone" if self.zone else "")]
        marks = [mark for mark in self.missing if mark]
        parts += [f"missing: {' '.join(map(repr, marks[:5]))}"] if marks else []
        return ", ".join(parts)


@dataclass(frozen=True)
class TableReading:
    """How a file became a table.

    Attributes
    ----------
    file : FileFormat
        Layout of the file.
    columns : tuple of ColumnReading
        Columns that are read.
    dropped : tuple of (str, str)
        Columns that are not, with the reason.
    """

    file: FileFormat
    columns: tuple[ColumnReading, ...]
    dropped: tuple[tuple[str, str], ...] = ()

    def of(self, name: str) -> ColumnReading | None:
        """Return the reading of a column, if there is one."""
        return next((column for column in self.columns if column.name == name), None)

    def only(self, names: Sequence[str]) -> TableReading:
        """Keep the readings of some columns."""
        wanted = set(names)
        return replace(self, columns=tuple(column for column in self.columns if column.name in wanted))

    def lines(self, targets: Sequence[str] = (), most: int = 40) -> list[str]:
        """Return a short table for a person: one line for each column, and its notes."""
        roles = dict.fromkeys(targets, ", the target")
        shown = [
            (c.name, c.describe() + roles.get(c.name, "") + (f" ({c.note})" if c.note else "")) for c in self.columns
        ]
        shown += [(name, f"left out: {reason}") for name, reason in self.dropped]
        if len(shown) > most:  # what is remarkable comes first in a wide table
            plain = {"number", "text"}
            notable = [line for line in shown if line[1] not in plain][: most - 1]
            shown = [*notable, ("...", f"{len(shown) - len(notable)} more columns")]
        width = min(30, max((len(name) for name, _ in shown), default=0))
        return [f"{name:<{width}}  {text}" for name, text in shown]
