"""What the commands write: tables of predictions, block by block, and one result for a person or a program."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diffgbm._util.errors import DiffGBMWarning
from diffgbm._util.optional import need
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm.data.file_format import ReadingOptions, TableReading
from diffgbm.data.file_tables import FOUND, table_blocks
from diffgbm.data.records import Records
from diffgbm.data.table_files import TableFileError, check_output, write_table
from diffgbm.estimators.base import DistributionalRegressor

NUMBERS_AT_ONCE = 4_000_000
"""Numbers that are held at a time (32 MB): points of distributions, or samples."""

STANDARD_OUTPUT = Path("-")
"""The name by which a table is written to standard output, as CSV."""


class StandardOutput:
    """Writes pieces of a table to standard output as CSV, all with the columns of the first."""

    def __init__(self) -> None:
        self._writer: Any = None

    def write(self, piece: Any) -> None:
        """Append a pyarrow table, and hand it on at once: a reader may wait for it."""
        if self._writer is None:
            self._writer = need("pyarrow.csv").CSVWriter(sys.stdout.buffer, piece.schema)
        self._writer.write_table(piece)
        sys.stdout.buffer.flush()


@contextmanager
def without(category: type[DiffGBMWarning]) -> Iterator[None]:
    """Hide warnings of a category inside the block: what a command says there in words of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield


@contextmanager
def table_output(path: Path) -> Iterator[Any]:
    """Open a file, which appears whole or not at all, or standard output for writing pieces of a table."""
    if path == STANDARD_OUTPUT:
        yield StandardOutput()
        return
    with write_table(path) as writer:
        yield writer


def check_table_output(path: Path, as_json: bool, *inputs: Path) -> None:
    """Refuse an output that cannot be written before any work is done for it."""
    if path != STANDARD_OUTPUT:
        check_output(path, *inputs)
    elif as_json:
        raise TableFileError(
            "--json prints to standard output, where the table goes: write the table to a file, -o FILE."
        )


def rows_at_once(model: DistributionalRegressor, numbers: int) -> int:
    """Return the rows of a block, if each row needs ``numbers`` for each response."""
    return max(1, NUMBERS_AT_ONCE // (numbers * len(model.response_names())))


def write_predictions(
    model: DistributionalRegressor,
    table: Path,
    output: Path,
    keep: Sequence[str],
    columns: Callable[[Any], dict[str, Array]],
    numbers: int,
    quiet: bool,
    as_json: bool,
    options: ReadingOptions = FOUND,
) -> None:
    """Write ``columns(X)`` of each block of a table to ``output``, and print the number of rows.

    Parameters
    ----------
    model : DistributionalRegressor
        The model whose columns are read.
    table, output : path
        Table to read and table to write; ``-`` is standard output.
    keep : sequence of str
        Columns of ``table`` that are copied.
    columns : callable
        Function of a block of features that returns columns (n,) or (n, d) by name.
    numbers : int
        Numbers that ``columns`` holds for each row and response.
    quiet, as_json : bool
        How the result is printed.
    options : ReadingOptions
        What the user says about ``table``.
    """
    features, rows = model.fitted_models()[0].features, 0
    at_once = rows_at_once(model, numbers)
    blocks = table_blocks(features, table, at_once, keep, reading=model.file_reading_, options=options)
    with table_output(output) as writer, progress_bar(None, "rows", not (quiet or as_json), "row") as bar:
        for X, block in blocks:
            kept = {name: block.column(name) for name in keep}
            predicted = with_response_names(columns(X), model)
            if both := kept.keys() & predicted.keys():
                raise TableFileError(f"--keep: the output already has a column {sorted(both)[0]!r}.")
            writer.write(need("pyarrow").table({**kept, **predicted}))
            rows += len(X)
            bar.update(len(X))
    if output != STANDARD_OUTPUT:
        print_result({"output": str(output), "rows": rows}, f"{output}: {rows:,} rows.", quiet, as_json)


def with_response_names(columns: dict[str, Array], model: DistributionalRegressor) -> dict[str, Array]:
    """Prefix each column with the name of the response if there are several."""
    if model.fitted_models()[0].response.is_1d:
        return columns
    names = model.response_names()
    return {f"{name}_{key}": values[:, j] for key, values in columns.items() for j, name in enumerate(names)}


def fit_summary(output: Path, target: Sequence[str], X: Any, started: float) -> str:
    """Describe a fit that began at ``started`` and wrote ``output``, in one line."""
    return (
        f"{output}: fitted {', '.join(target)} to {len(X):,} rows and {X.num_columns} columns "
        f"in {time.perf_counter() - started:.1f} s ({output.stat().st_size / 1e6:.2f} MB)."
    )


def repeats(records: Records) -> dict[str, Any] | None:
    """Describe how the rows of a training table repeat, as facts for a program; ``None`` if all are distinct."""
    if records.kind == "distinct":
        return None
    distinct, count = records.n_distinct, records.n_records
    return {"kind": records.kind, "distinct": distinct, "records": count, "explained": str(records)}


def print_reading(table: Path, reading: TableReading, targets: Sequence[str], quiet: bool) -> None:
    """Print how a file is read, before a model is fitted to it."""
    if not quiet:
        print("\n".join([f"{table}: {reading.file.describe()}", *(f"  {line}" for line in reading.lines(targets))]))


def hide_warnings(quiet: bool) -> None:
    """Hide the library's warnings if only errors are wanted."""
    if quiet:
        warnings.simplefilter("ignore", DiffGBMWarning)


def print_result(facts: dict[str, Any], text: str, quiet: bool, as_json: bool) -> None:
    """Print the result of a command: as JSON for a program, or as text for a person."""
    if as_json:
        print(json.dumps(facts))
    elif not quiet:
        print(text)
