"""Rows of a request as a table that the model reads: objects or lists of JSON, or CSV."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from diffgbm._util.errors import kept_warnings, warn
from diffgbm._util.optional import need
from diffgbm.data.features import EncodedTable, FeatureTable
from diffgbm.data.file_format import DECIMALS, ReadingOptions, TableReading
from diffgbm.data.file_tables import table_blocks
from diffgbm.serving.cells import CellError, CellReader, cell_reader
from diffgbm.serving.limits import Limits
from diffgbm.serving.problems import MOST_PROBLEMS, Problem, RequestError, shown

UNREADABLE = (ValueError, TypeError, ArithmeticError, LookupError, NotImplementedError, csv.Error)
"""Errors of a table that is not what a model reads."""
READING = ("sep", "decimal", "na", "encoding", "date_format")
"""Query parameters that say how CSV is written, as the options of the command line do."""
_OPTION = re.compile(r"--(sep|decimal|na|encoding|date-format)\b")


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of requests for one model.

    Attributes
    ----------
    features : FeatureTable
        The columns that the model was fitted to.
    owner : str
        Name of the estimator.
    reading : TableReading or None
        How the training file was read; CSV is read the same way.
    limits : Limits
        What is accepted in one request.
    """

    features: FeatureTable
    owner: str
    reading: TableReading | None = None
    limits: Limits = field(default_factory=Limits)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: positions if the model was fitted to an array."""
        return self.features.names or tuple(map(str, range(self.features.n_features)))

    @cached_property
    def readers(self) -> dict[str, CellReader]:
        """How the values of each column are read."""
        return {name: cell_reader(how) for name, how in zip(self.names, self.features.columns, strict=True)}

    @cached_property
    def unused(self) -> frozenset[str]:
        """Columns that the model does not use: a row need not have them."""
        return frozenset(name for name, how in zip(self.names, self.features.columns, strict=True) if not how.width)

    # JSON

    def table(self, rows: Any) -> Any:
        """Return rows of JSON as a table: a list of objects or of lists of values, or one object."""
        found = self._records([rows] if isinstance(rows, dict) else rows)
        problems: list[Problem] = []
        columns: dict[str, list[Any]] = {}
        for name, reader in self.readers.items():
            columns[name] = cells = []
            for i, record in enumerate(found):
                cell = _cell(reader, record.get(name), i, name)
                if isinstance(cell, Problem):
                    problems.append(cell)
                    if len(problems) > 5 * MOST_PROBLEMS:
                        raise RequestError(422, problems)
                else:
                    cells.append(cell)
        if problems:
            raise RequestError(422, sorted(problems, key=lambda problem: problem.row or 0))
        return self._joined(columns)

    def _records(self, rows: Any) -> list[Mapping[str, Any]]:
        """Check that rows have the columns of the model; return them as objects."""
        if not isinstance(rows, list):
            raise RequestError(422, f"rows must be a list of objects, one for each row; got {shown(rows)}.")
        if not rows:
            raise RequestError(422, "rows is empty: send at least one row.")
        self.limits.check_rows(len(rows))
        needed = [name for name in self.names if name not in self.unused]
        problems: list[Problem] = []
        found: list[Mapping[str, Any]] = []
        for i, row in enumerate(rows):
            if isinstance(row, list) and len(row) == len(self.names):
                row = dict(zip(self.names, row, strict=True))
            if not isinstance(row, dict):
                problems.append(Problem(self._no_row(i, row), i))
            else:
                problems += self._wrong_names(i, row, needed)
                found.append(row)
            if len(problems) > 5 * MOST_PROBLEMS:
                break
        if problems:
            raise RequestError(422, problems)
        return found

    def _no_row(self, i: int, row: Any) -> str:
        if isinstance(row, list):
            wanted = f"one for each of {self._some_names()}"
            return f"Row {i} has {len(row)} values; a list must have {len(self.names)}, {wanted}."
        return f"Row {i} must be an object like {self._example()}; got {shown(row)}."

    def _wrong_names(self, i: int, row: Mapping[str, Any], needed: Sequence[str]) -> list[Problem]:
        problems = [
            Problem(f"Row {i} has no column {name!r}. Send null if its value is missing.", i, name)
            for name in needed
            if name not in row
        ]
        if len(row) + len(problems) > len(needed):
            for name in row:
                if name not in self.readers:
                    near = get_close_matches(name[:100], self.names, n=1)
                    hint = f"Did you mean {near[0]!r}?" if near else f"The model reads {self._some_names()}."
                    problems.append(Problem(f"Row {i} has an unknown column {shown(name)}. {hint}", i, name[:100]))
        return problems

    def _some_names(self, most: int = 20) -> str:
        return ", ".join(map(repr, self.names[:most])) + (", ..." if len(self.names) > most else "")

    def _example(self) -> str:
        return json.dumps(dict.fromkeys(self.names[:2])).replace("null", "...")

    def _joined(self, columns: Mapping[str, list[Any]]) -> Any:
        """Return columns of cells as a frame, as an array if the model was fitted to one."""
        if self.features.names is None:
            return self._array(columns)
        if any(reader.type == "object" for reader in self.readers.values()):
            # categories of several types, which no column of a frame holds
            return EncodedTable(self.features, self.features.encode(self._array(columns), self.owner, warns=True))
        arrow = need("pyarrow")
        types = {"float64": arrow.float64(), "string": arrow.string(), "duration": arrow.duration("us")}
        return arrow.table({name: arrow.array(columns[name], types[how.type]) for name, how in self.readers.items()})

    def _array(self, columns: Mapping[str, list[Any]]) -> Any:
        n = len(next(iter(columns.values())))
        numbers = all(reader.type == "float64" for reader in self.readers.values())
        array = np.empty((n, len(columns)), dtype=np.float64 if numbers else object)
        for j, cells in enumerate(columns.values()):
            array[:, j] = cells
        return array

    # CSV

    def csv_table(self, body: bytes, options: Mapping[str, Sequence[str]]) -> Any:
        """Return CSV as a table, read as ``diffgbm predict`` reads a file: other columns are ignored."""
        chosen = _reading_options(options)
        features = replace(self.features, names=self.names)
        blocks: list[Any] = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            path.write_bytes(body)
            with kept_warnings() as messages:
                try:
                    for X, _ in table_blocks(
                        features, path, self.limits.rows + 1, reading=self.reading, options=chosen
                    ):
                        blocks.append(X)
                        self.limits.check_rows(sum(map(len, blocks)))
                except UNREADABLE as error:
                    raise RequestError(422, _without_path(str(error), path)) from None
        for message in messages:
            warn(_without_path(message, path))
        return need("pyarrow").concat_tables(blocks)


def _cell(reader: CellReader, value: Any, row: int, name: str) -> Any:
    """Read one value, or say what is wrong with it."""
    try:
        return reader(value)
    except CellError as error:
        return Problem(f"Row {row}: column {name!r} {error}.", row, name)


def _reading_options(query: Mapping[str, Sequence[str]]) -> ReadingOptions:
    """Read how CSV is written from query parameters."""
    last = {name: values[-1] for name, values in query.items() if values}
    if (decimal := last.get("decimal")) is not None and decimal not in DECIMALS:
        raise RequestError(422, f"decimal must be . or , (comma); got {shown(decimal)}.")
    if (date_format := last.get("date_format")) is not None and "%" not in date_format:
        raise RequestError(422, f"date_format must be a format such as %d/%m/%Y; got {shown(date_format)}.")
    missing = tuple(query.get("na", ()))
    return ReadingOptions(last.get("sep"), decimal, missing, last.get("encoding"), date_format)


def _without_path(message: str, path: Path) -> str:
    """Say it of the body of a request, whose options are query parameters."""
    text = message.removeprefix(f"{path}: ").replace(str(path), "the body")
    text = _OPTION.sub(lambda found: f"the query parameter {found[1].replace('-', '_')}", text)
    return text[:1].upper() + text[1:]
