"""Tables on disk: CSV (plain or gzipped), Parquet and Arrow/Feather, read in pieces, written whole or not at all."""

from __future__ import annotations

import codecs
import csv as plain_csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diffgbm._util.atomic_files import check_folder, replacing
from diffgbm._util.optional import need

KINDS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".feather": "feather", ".arrow": "feather"}
"""Kinds of files by the ending of their name."""

BLOCK_BYTES = 1 << 20
"""Bytes of a CSV file that are parsed at a time, and so the longest row. pyarrow reads up to 32 blocks ahead."""
PAGE_BYTES = 1 << 16
"""Bytes of each column of a Parquet file that are read at a time."""


class TableFileError(ValueError):
    """A table file that cannot be used; the message is one line that names the problem."""


def kind_of(path: Path) -> str:
    """Return "csv", "parquet" or "feather" by the file's name."""
    for ending, kind in KINDS.items():
        if path.name.lower().endswith(ending):
            return kind
    raise TableFileError(f"{path}: the name must end in one of {', '.join(KINDS)}.")


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns without reading its rows; refuse names that occur twice."""
    names: list[str] = _names(path)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TableFileError(f"{path}: there are two columns {twice[0]!r}.")
    return names


def read_table(path: Path, columns: Sequence[str], types: Mapping[str, str] | None = None) -> Any:
    """Read columns of a table as one pyarrow table, those of a CSV file as guessed from all its rows.

    Parameters
    ----------
    path : Path
        The file.
    columns : sequence of str
        Columns to read.
    types : mapping of str to {"number", "text"}, optional
        How columns of a CSV file are to be read; the others are guessed.
    """
    pyarrow = need("pyarrow")
    parts = list(read_pieces(path, columns, types))
    try:
        return pyarrow.concat_tables(parts)
    except pyarrow.ArrowException as error:  # the files of a folder have other types, or other columns
        raise _explained(path, error) from None


def read_pieces(
    path: Path, columns: Sequence[str], types: Mapping[str, str] | None = None, rows: int | None = None
) -> Iterator[Any]:
    """Yield a table in pieces of at most ``rows`` rows, holding little more than a piece; whole if it is ``None``."""
    pyarrow = need("pyarrow")
    reader = {"csv": _csv, "parquet": _parquet, "feather": _feather}[_existing(path)]
    try:
        for piece in reader(path, list(columns), types or {}, rows):
            step = rows or max(1, len(piece))
            for first in range(0, max(1, len(piece)), step):
                yield piece.slice(first, step)
    except (pyarrow.ArrowException, OSError, EOFError) as error:
        raise _explained(path, error) from None


def _existing(path: Path) -> str:
    """Return the kind of a file that is there and not empty; a folder holds Parquet files."""
    if path.is_dir():
        _parts(path)
        return "parquet"
    kind = kind_of(path)
    if not path.is_file():
        raise TableFileError(f"{path}: there is no such file.")
    if path.stat().st_size == 0:
        raise TableFileError(f"{path}: the file is empty.")
    if kind == "csv":
        _check_encoding(path)
    return kind


def _check_encoding(path: Path) -> None:
    """Refuse text in UTF-16 or UTF-32, which spreadsheets call Unicode: half of its bytes are null in most tables."""
    try:
        with _open_bytes(path) as file:
            start = file.read(1024)
    except (OSError, EOFError, zlib.error) as error:
        raise _explained(path, error) from None
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or 4 * start.count(0) > len(start):
        raise TableFileError(
            f"{path}: this is not text in UTF-8 but in UTF-16, or no text: save the table as UTF-8 (in a spreadsheet "
            "'CSV UTF-8', in pandas encoding='utf-8')."
        )


def _parts(path: Path) -> list[Path]:
    """Return the files of a Parquet table in order: itself, or all in a folder that do not begin with a dot or _."""
    if not path.is_dir():
        return [path]
    found = [part for part in sorted(path.rglob("*.parquet")) if part.name[0] not in "._"]
    if not found:
        raise TableFileError(f"{path}: there is no .parquet file in this folder.")
    return found


def _names(path: Path) -> list[str]:
    kind, pyarrow = _existing(path), need("pyarrow")
    try:
        if kind == "parquet":
            return list(need("pyarrow.parquet").read_schema(_parts(path)[0]).names)
        if kind == "feather":
            with pyarrow.memory_map(str(path)) as source, pyarrow.ipc.open_file(source) as file:
                return list(file.schema.names)
        # bad rows are reported when rows are read
        skip = need("pyarrow.csv").ParseOptions(invalid_row_handler=lambda row: "skip", newlines_in_values=True)
        with _open_csv(path, parse_options=skip) as stream:
            return list(stream.schema.names)
    except UnicodeDecodeError:
        raise TableFileError(f"{path}: line 1, the names of the columns, must hold text in UTF-8.") from None
    except (pyarrow.ArrowException, OSError, EOFError) as error:
        raise _explained(path, error) from None


def schema_of(path: Path) -> Any:
    """Return the types of a Parquet table's columns."""
    if _existing(path) != "parquet":
        raise TableFileError(f"{path}: must be a Parquet file, or a folder of them.")
    try:
        return need("pyarrow.parquet").read_schema(_parts(path)[0])
    except (need("pyarrow").ArrowException, OSError) as error:
        raise _explained(path, error) from None


def _open_csv(path: Path, **options: Any) -> Any:
    csv = need("pyarrow.csv")
    source = need("pyarrow").input_stream(str(path), compression="gzip" if _is_gzipped(path) else None)
    return csv.open_csv(source, csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES), **options)


def _csv(path: Path, columns: list[str], types: Mapping[str, str], rows: int | None) -> Iterator[Any]:
    arrow, csv = need("pyarrow"), need("pyarrow.csv")
    bad: list[Any] = []

    def remember(row: Any) -> str:
        bad.append(row)
        return "error"

    wanted = {"number": arrow.float64(), "text": arrow.string()}
    options = {
        "parse_options": csv.ParseOptions(invalid_row_handler=remember, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            column_types={name: wanted[kind] for name, kind in types.items()},
            include_columns=columns,
            strings_can_be_null=True,
            # true and false are text, so that every spelling is read the same way each time
            true_values=[],
            false_values=[],
        ),
    }
    try:
        if rows is None:
            source = arrow.input_stream(str(path), compression="gzip" if _is_gzipped(path) else None)
            yield csv.read_csv(source, csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES), **options)
            return
        with _open_csv(path, **options) as stream:
            empty = True
            for batch in stream:
                empty = False
                yield arrow.Table.from_batches([batch])
            if empty:
                yield stream.schema.empty_table()
    except arrow.ArrowException as error:
        if bad:
            line = _line_of(path, bad[0].number)
            raise TableFileError(
                f"{path}: line {line} has {bad[0].actual_columns} values where {bad[0].expected_columns} are expected."
            ) from None
        raise _explained(path, error) from None


def _parquet(path: Path, columns: list[str], types: Mapping[str, str], rows: int | None) -> Iterator[Any]:
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    for part in _parts(path):
        # pages are read as they are needed: a group of rows may be as large as the file
        with parquet.ParquetFile(part, buffer_size=PAGE_BYTES, pre_buffer=False) as file:
            if rows is None or file.metadata.num_rows == 0:
                yield file.read(columns=columns)
                continue
            for batch in file.iter_batches(batch_size=rows, columns=columns):
                yield arrow.Table.from_batches([batch])


def _feather(path: Path, columns: list[str], types: Mapping[str, str], rows: int | None) -> Iterator[Any]:
    arrow = need("pyarrow")
    with arrow.memory_map(str(path)) as source, arrow.ipc.open_file(source) as file:
        for i in range(file.num_record_batches):
            yield arrow.Table.from_batches([file.get_batch(i)]).select(columns)
        if file.num_record_batches == 0:
            yield file.schema.empty_table().select(columns)


def _explained(path: Path, error: BaseException) -> TableFileError:
    """Explain a reader's error in one line, with line and column where they are known."""
    if isinstance(error, TableFileError):
        return error
    text = " ".join(str(error).split())
    found = re.search(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): (.*)", text)
    if not found and re.search(r"straddl|Empty CSV file or block", text) and (start := _long_row(path)):
        return TableFileError(
            f"{path}: the row in line {start} has more than {BLOCK_BYTES >> 20} MB, which is the most that is read "
            "at a time. Is a quotation mark left open? Otherwise save the table as Parquet."
        )
    if not found:
        return TableFileError(f"{path}: cannot be read: {text}")
    column, row, kind, reason = found.groups()
    line = "" if row is None else f"line {_line_of(path, int(row))}, "
    wanted = "a number" if kind in ("double", "int64") else "text in UTF-8"
    return TableFileError(f"{path}: {line}column {_names(path)[int(column)]!r} must hold {wanted}: {reason}.")


def _line_of(path: Path, row: int | None) -> int | str:
    """Find the line of the file on which the ``row``-th row that is not blank ends; the header is the first."""
    if row is None:
        return "(unknown)"
    with _open_bytes(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="") as file:
        reader = plain_csv.reader(file)
        count = 0
        try:
            for values in reader:
                count += bool(values)
                if count == row:
                    return reader.line_num
        except plain_csv.Error:
            pass
    return "(unknown)"


def _long_row(path: Path) -> int | None:
    """Find the first line of the first row that is longer than a block; inside quotation marks a row goes on."""
    with _open_bytes(path) as file:
        line, first, length, is_open = 1, 1, 0, False
        while text := file.readline(BLOCK_BYTES):
            length += len(text)
            if length > BLOCK_BYTES:
                return first
            is_open ^= text.count(b'"') % 2 == 1
            line += text.endswith(b"\n")
            if text.endswith(b"\n") and not is_open:
                first, length = line, 0
    return None


def _open_bytes(path: Path) -> Any:
    """Open a CSV file, unpacked."""
    return gzip.open(path, "rb") if _is_gzipped(path) else path.open("rb")


def _is_gzipped(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


class TableWriter:
    """Writes pieces of a table, all with the columns of the first, to a file."""

    def __init__(self, path: Path) -> None:
        self._path, self._kind = path, kind_of(path)
        self._writer: Any = None
        self._sink: Any = None

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
        self._sink = arrow.output_stream(str(self._path), compression="gzip" if _is_gzipped(self._path) else None)
        return need("pyarrow.csv").CSVWriter(self._sink, schema)

    def close(self) -> None:
        """Finish the file."""
        for part in (self._writer, self._sink):
            if part is not None:
                part.close()


@contextmanager
def write_table(path: Path) -> Iterator[TableWriter]:
    """Open ``path`` for writing pieces; it appears whole when the block ends well, and not at all otherwise."""
    check_output(path)
    with replacing(path) as temporary:
        writer = TableWriter(temporary)
        try:
            yield writer
        finally:
            writer.close()


def check_output(path: Path, *inputs: Path) -> None:
    """Refuse a file that could not be written, or that is one of the inputs, before any work is done for it."""
    kind_of(path)
    check_folder(path, *inputs)
