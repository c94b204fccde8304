"""Tables on disk: CSV (plain or gzipped), Parquet and Arrow/Feather, read in pieces, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diffgbm.optional import need

KINDS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".feather": "feather", ".arrow": "feather"}
"""What a file name's ending says about its content."""


class TableFileError(ValueError):
    """A table file that cannot be used; the message is one line that says what to mend."""


def kind_of(path: Path) -> str:
    """Return "csv", "parquet" or "feather" by the file's name."""
    for ending, kind in KINDS.items():
        if path.name.lower().endswith(ending):
            return kind
    raise TableFileError(f"{path}: the name must end in one of {', '.join(KINDS)}.")


def read_table(path: Path, types: Mapping[str, str] | None = None, columns: Sequence[str] | None = None) -> Any:
    """Read a whole table as a pyarrow table.

    Parameters
    ----------
    path : Path
        The file.
    types : mapping of str to {"number", "text"}, optional
        How columns of a CSV file are to be read; the others are guessed.
    columns : sequence of str, optional
        Columns to read, all of them if not given.
    """
    pieces = list(read_pieces(path, types=types, columns=columns, rows=None))
    return need("pyarrow").concat_tables(pieces) if len(pieces) > 1 else pieces[0]


def read_pieces(
    path: Path,
    types: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    rows: int | None = 50_000,
) -> Iterator[Any]:
    """Yield a table in pieces of about ``rows`` rows, holding no more than a piece; whole if ``rows`` is ``None``."""
    if not path.is_file():
        raise TableFileError(f"{path}: there is no such file.")
    if path.stat().st_size == 0:
        raise TableFileError(f"{path}: the file is empty.")
    reader = {"csv": _csv, "parquet": _parquet, "feather": _feather}[kind_of(path)]
    pyarrow = need("pyarrow")
    try:
        yield from reader(path, types or {}, columns, rows)
    except (pyarrow.ArrowException, OSError, EOFError) as error:
        raise TableFileError(f"{path}: {_one_line(error)}") from None


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns without reading its rows."""
    return next(iter(read_pieces(path, rows=64))).column_names


def _csv(path: Path, types: Mapping[str, str], columns: Sequence[str] | None, rows: int | None) -> Iterator[Any]:
    arrow, csv = need("pyarrow"), need("pyarrow.csv")
    bad: list[Any] = []

    def remember(row: Any) -> str:
        bad.append(row)
        return "error"

    wanted = {"number": arrow.float64(), "text": arrow.string()}
    options = {
        "parse_options": csv.ParseOptions(invalid_row_handler=remember),
        "convert_options": csv.ConvertOptions(
            column_types={name: wanted[kind] for name, kind in types.items()},
            include_columns=None if columns is None else list(columns),
            strings_can_be_null=True,
        ),
    }
    try:
        if rows is None:
            yield csv.read_csv(path, csv.ReadOptions(use_threads=False), **options)
            return
        # a first block that is too small guesses types from too few rows
        with csv.open_csv(path, csv.ReadOptions(use_threads=False, block_size=1 << 23), **options) as stream:
            for batch in stream:
                yield from _split(arrow.Table.from_batches([batch]), rows)
    except (arrow.ArrowException, ValueError) as error:
        if bad:
            row = bad[0]
            line = "" if row.number is None else f" line {row.number}"
            raise TableFileError(
                f"{path}:{line} has {row.actual_columns} values where {row.expected_columns} are expected."
            ) from None
        raise TableFileError(f"{path}: {_one_line(error)}") from None


def _parquet(path: Path, types: Mapping[str, str], columns: Sequence[str] | None, rows: int | None) -> Iterator[Any]:
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    with parquet.ParquetFile(path) as file:
        if rows is None or file.metadata.num_rows == 0:
            yield file.read(columns=None if columns is None else list(columns))
            return
        for batch in file.iter_batches(batch_size=rows, columns=None if columns is None else list(columns)):
            yield arrow.Table.from_batches([batch])


def _feather(path: Path, types: Mapping[str, str], columns: Sequence[str] | None, rows: int | None) -> Iterator[Any]:
    arrow = need("pyarrow")
    with arrow.memory_map(str(path)) as source, arrow.ipc.open_file(source) as file:
        for i in range(file.num_record_batches):
            piece = arrow.Table.from_batches([file.get_batch(i)])
            piece = piece if columns is None else piece.select(list(columns))
            yield from _split(piece, rows)
        if file.num_record_batches == 0:
            yield file.schema.empty_table()


def _split(table: Any, rows: int | None) -> Iterator[Any]:
    if rows is None or len(table) <= rows:
        yield table
        return
    for first in range(0, len(table), rows):
        yield table.slice(first, rows)


class TableWriter:
    """Writes pieces of a table to a temporary file; ``write_table`` puts it in place when all is well."""

    def __init__(self, path: Path, kind: str) -> None:
        self._path, self._kind = path, kind
        self._writer: Any = None

    def write(self, piece: Any) -> None:
        """Append a pyarrow table."""
        if self._writer is None:
            self._writer = self._open(piece.schema)
        self._writer.write_table(piece)

    def _open(self, schema: Any) -> Any:
        if self._kind == "parquet":
            return need("pyarrow.parquet").ParquetWriter(self._path, schema)
        arrow = need("pyarrow")
        if self._kind == "feather":
            return arrow.ipc.new_file(str(self._path), schema)
        sink = arrow.output_stream(str(self._path), compression="gzip" if self._gzipped else None)
        return need("pyarrow.csv").CSVWriter(sink, schema)

    @property
    def _gzipped(self) -> bool:
        return self._path.name.endswith(".gz")

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def write_table(path: Path) -> Iterator[TableWriter]:
    """Open ``path`` for writing pieces; it appears whole when the block ends well, and not at all otherwise."""
    kind = kind_of(path)
    if not path.parent.is_dir():
        raise TableFileError(f"{path}: there is no folder {path.parent}.")
    ending = ".gz" if path.name.endswith(".gz") else ""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=ending)
    except OSError as error:
        raise TableFileError(f"{path}: cannot be written ({error.strerror}).") from None
    os.close(handle)
    writer = TableWriter(Path(name), kind)
    try:
        yield writer
        writer.close()
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
