"""Tables as JSON: one object on each line, or one list of objects."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from diffgbm.data.file_format import TableFileError
from diffgbm.data.text_files import find_encoding, open_bytes
from diffgbm.data.typed_values import typed_column

ROWS = 10_000
"""Rows that are read at a time."""


def records(path: Path, encoding: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file; an error names the line."""
    found = find_encoding(path, encoding)
    with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding=found) as file:
        try:
            first = file.read(1)
            while first.isspace():
                first = file.read(1)
            if first == "[":
                yield from _checked(path, enumerate(json.loads("[" + file.read()), 1))
                return
            yield from _checked(path, _parsed(path, first, file))
        except UnicodeDecodeError:
            raise TableFileError(f"{path}: is not text in {found.upper()}. Name its encoding: --encoding.") from None
        except json.JSONDecodeError as error:
            raise TableFileError(f"{path}: line {error.lineno} is not JSON: {error.msg}.") from None


def _parsed(path: Path, first: str, file: Any) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(file, 1):
        text = (first + line if number == 1 else line).strip()
        if not text:
            continue
        try:
            yield number, json.loads(text)
        except json.JSONDecodeError as error:
            raise TableFileError(
                f"{path}: line {number} is not JSON ({error.msg}). Each line must hold one object of a row."
            ) from None


def _checked(path: Path, found: Any) -> Iterator[dict[str, Any]]:
    for number, value in found:
        if not isinstance(value, dict):
            raise TableFileError(f"{path}: row {number} is not an object with the names of the columns.")
        yield value


def json_names(path: Path, encoding: str | None = None) -> list[str]:
    """Return the names of all objects, in the order in which they appear."""
    names: dict[str, None] = {}
    for record in records(path, encoding):
        names.update(dict.fromkeys(record))
    return [name.strip() for name in names]


def json_pieces(path: Path, columns: Sequence[str], encoding: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield columns of consecutive rows: numbers, or text where values are of several kinds."""
    rows: list[dict[str, Any]] = []
    for record in records(path, encoding):
        rows.append({name.strip(): value for name, value in record.items()})
        if len(rows) == ROWS:
            yield {name: typed_column([row.get(name) for row in rows]) for name in columns}
            rows = []
    if rows:
        yield {name: typed_column([row.get(name) for row in rows]) for name in columns}
