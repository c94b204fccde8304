"""Excel workbooks: one sheet, whose first row with several values holds the names of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diffgbm._util.optional import need
from diffgbm.data.file_format import FileFormat, TableFileError
from diffgbm.data.typed_values import typed_column


def find_sheet(path: Path, asked: str | None) -> FileFormat:
    """Choose the sheet: the one asked for, or the only one that holds a table."""
    book = _opened(path)
    try:
        sheets = list(book.sheetnames)
        if asked is not None:
            if asked not in sheets and asked.isdigit() and 1 <= int(asked) <= len(sheets):
                asked = sheets[int(asked) - 1]
            if asked not in sheets:
                raise TableFileError(
                    f"{path}: --sheet: there is no sheet {asked!r}; it has {', '.join(map(repr, sheets))}."
                )
            return FileFormat("excel", sheet=asked, header=_header_row(path, book[asked]))
        full = [name for name in sheets if _has_rows(book[name], 2)]
        full = full or [name for name in sheets if _has_rows(book[name], 1)]
        if len(full) > 1:
            raise TableFileError(
                f"{path}: several sheets hold tables: {', '.join(map(repr, full))}. Choose one: --sheet {full[0]!r}."
            )
        if not full:
            raise TableFileError(f"{path}: there are no rows.")
        return FileFormat("excel", sheet=full[0], header=_header_row(path, book[full[0]]))
    finally:
        book.close()


def sheet_names(path: Path, file: FileFormat) -> list[str]:
    """Return the names of the columns of a sheet."""
    return _rows(path, file)[0]


def sheet_columns(path: Path, file: FileFormat, columns: Sequence[str]) -> dict[str, Any]:
    """Read columns of a sheet; formulas have the values that Excel last computed."""
    names, rows = _rows(path, file)
    position = {name: j for j, name in enumerate(names)}
    return {name: typed_column([row[position[name]] for row in rows]) for name in columns}


def _rows(path: Path, file: FileFormat) -> tuple[list[str], list[tuple[Any, ...]]]:
    book = _opened(path)
    try:
        found = list(book[file.sheet].iter_rows(min_row=file.header, values_only=True))
    finally:
        book.close()
    width = max(j + 1 for j, value in enumerate(found[0]) if value is not None)
    width = max([width, *(j + 1 for row in found for j, value in enumerate(row) if value is not None)])
    names = ["" if value is None else str(value).strip() for value in (*found[0], *[None] * width)[:width]]
    rows = [(*row, *[None] * width)[:width] for row in found[1:]]
    return names, [row for row in rows if any(value is not None for value in row)]


def _opened(path: Path) -> Any:
    openpyxl = need("openpyxl")
    try:
        return openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # zipfile's, XML's and openpyxl's own
        raise TableFileError(f"{path}: this is no Excel workbook (.xlsx): {error}. Save it again, or as CSV.") from None


def _has_rows(sheet: Any, width: int) -> bool:
    """Whether at least two rows hold ``width`` values or more."""
    rows = (row for row in sheet.iter_rows(values_only=True) if sum(value is not None for value in row) >= width)
    return next(rows, None) is not None and next(rows, None) is not None


def _header_row(path: Path, sheet: Any) -> int:
    """Return the first row, from 1, with several values; titles above a table have one."""
    widths = [sum(value is not None for value in row) for row in sheet.iter_rows(max_row=50, values_only=True)]
    if not widths or max(widths) == 0:
        raise TableFileError(f"{path}: the sheet {sheet.title!r} is empty.")
    return 1 + next(i for i, width in enumerate(widths) if width >= min(2, max(widths)))
