"""Tables on disk: CSV, Excel, JSON lines, Parquet and Arrow/Feather, read in pieces, written whole or not at all.

Text files are read as text: ``column_readings`` says what the text of a column means.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diffgbm._util.atomic_files import check_folder, replacing
from diffgbm._util.optional import need
from diffgbm.data import text_files
from diffgbm.data.file_format import FileFormat, ReadingOptions, TableFileError
from diffgbm.data.json_lines import json_names, json_pieces
from diffgbm.data.text_files import is_gzipped
from diffgbm.data.workbooks import find_sheet, sheet_columns, sheet_names

__all__ = ["TableFileError", "column_names", "file_format", "read_pieces", "read_table", "write_table"]

_TEXT = {".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".jsonl": "json", ".ndjson": "json"}
KINDS = {
    **_TEXT,
    **{f"{ending}.gz": kind for ending, kind in _TEXT.items()},
    **{".json": "json", ".xlsx": "excel", ".xlsm": "excel"},
    **{".parquet": "parquet", ".feather": "feather", ".arrow": "feather"},
}
"""Kinds of files that are read, by the ending of their name."""
OUTPUT_KINDS = {
    **{".csv": "csv", ".csv.gz": "csv", ".tsv": "csv", ".tsv.gz": "csv"},
    **{".parquet": "parquet", ".feather": "feather", ".arrow": "feather"},
}
"""Kinds of files that are written."""
REMEDIES = {
    ".xls": "save it as .xlsx or CSV",
    ".ods": "save it as .xlsx or CSV",
    ".zip": "unpack it first",
    ".sav": "save the table as CSV or Parquet",
    ".dta": "save the table as CSV or Parquet",
    ".pkl": "save the table as CSV or Parquet",
}
"""What to do with files of other kinds."""
PAGE_BYTES = 1 << 16
"""Bytes of each column of a Parquet file that are read at a time."""


def kind_of(path: Path, kinds: dict[str, str] = KINDS) -> str:
    """Return the kind of a file by its name."""
    for ending in sorted(kinds, key=len, reverse=True):
        if path.name.lower().endswith(ending):
            return kinds[ending]
    remedy = REMEDIES.get(path.suffix.lower())
    raise TableFileError(f"{path}: the name must end in one of {', '.join(kinds)}{f'; {remedy}' if remedy else ''}.")


def file_format(path: Path, options: ReadingOptions = ReadingOptions()) -> FileFormat:  # noqa: B008  # a frozen value
    """Find the layout of a file by looking at it."""
    kind = _existing(path)
    try:
        if kind == "csv":
            return text_files.find_format(path, options)
        if kind == "excel":
            return find_sheet(path, options.sheet)
    except (OSError, EOFError, zlib.error) as error:
        raise _explained(path, error) from None
    return FileFormat(kind)


def column_names(path: Path, file: FileFormat | None = None) -> list[str]:
    """Return the names of a file's columns; refuse names that occur twice.

    A column without a name is called ``Unnamed: j`` by its position, as pandas calls it.
    """
    names = [name or f"Unnamed: {j}" for j, name in enumerate(_names(path, file or file_format(path)))]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TableFileError(f"{path}: there are two columns {twice[0]!r}. Rename one of them.")
    return names


def read_table(path: Path, columns: Sequence[str], file: FileFormat | None = None) -> Any:
    """Read columns of a table as one pyarrow table; those of a text file are text."""
    pyarrow = need("pyarrow")
    parts = list(read_pieces(path, columns, file))
    try:
        return pyarrow.concat_tables(parts if file is None or file.kind != "json" else _of_one_type(parts))
    except pyarrow.ArrowException as error:  # the files of a folder have other types, or other columns
        raise _explained(path, error) from None


def read_pieces(
    path: Path, columns: Sequence[str], file: FileFormat | None = None, rows: int | None = None
) -> Iterator[Any]:
    """Yield a table in pieces of at most ``rows`` rows, holding little more than a piece.

    Parameters
    ----------
    path : Path
        The file.
    columns : sequence of str
        Columns to read.
    file : FileFormat, optional
        Its layout; by default it is looked for.
    rows : int, optional
        Most rows of a piece.
    """
    pyarrow = need("pyarrow")
    found = file or file_format(path)
    try:
        for piece in _READERS[found.kind](path, list(columns), found, rows):
            step = rows or max(1, len(piece))
            for first in range(0, max(1, len(piece)), step):
                yield piece.slice(first, step)
    except (pyarrow.ArrowException, OSError, EOFError, zlib.error) as error:
        raise _explained(path, error) from None


def name_of_row(path: Path, file: FileFormat, row: int) -> str:
    """Say where a row is, counted from 0: on a line of a text file, or in a row of another table."""
    if file.kind == "csv":
        line = text_files.line_of_row(path, file, row)
        return "a line" if line is None else f"line {line}"
    return f"line {row + 1}" if file.kind == "json" else f"row {row + 1 + file.header * (file.kind == 'excel')}"


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
    return kind


def _parts(path: Path) -> list[Path]:
    """Return the files of a Parquet table in order: itself, or all in a folder that do not begin with a dot or _."""
    if not path.is_dir():
        return [path]
    found = [part for part in sorted(path.rglob("*.parquet")) if part.name[0] not in "._"]
    if not found:
        raise TableFileError(f"{path}: there is no .parquet file in this folder.")
    return found


def _names(path: Path, file: FileFormat) -> list[str]:
    pyarrow = need("pyarrow")
    try:
        if file.kind == "parquet":
            return list(need("pyarrow.parquet").read_schema(_parts(path)[0]).names)
        if file.kind == "feather":
            with pyarrow.memory_map(str(path)) as source, pyarrow.ipc.open_file(source) as stream:
                return list(stream.schema.names)
        if file.kind == "excel":
            return sheet_names(path, file)
        return json_names(path) if file.kind == "json" else text_files.header_of(path, file)
    except (pyarrow.ArrowException, OSError, EOFError, zlib.error) as error:
        raise _explained(path, error) from None


def schema_of(path: Path) -> Any:
    """Return the types of a Parquet table's columns."""
    if _existing(path) != "parquet":
        raise TableFileError(f"{path}: must be a Parquet file, or a folder of them.")
    try:
        return need("pyarrow.parquet").read_schema(_parts(path)[0])
    except (need("pyarrow").ArrowException, OSError) as error:
        raise _explained(path, error) from None


def _csv(path: Path, columns: list[str], file: FileFormat, rows: int | None) -> Iterator[Any]:
    arrow = need("pyarrow")
    names = column_names(path, file)
    wanted = [names.index(name) for name in columns]
    empty = True
    for line, block in text_files.row_blocks(path, file):
        empty = False
        yield arrow.table(text_files.parse_rows(path, file, line, block, len(names), wanted), names=columns)
    if empty:
        yield arrow.schema([(name, arrow.string()) for name in columns]).empty_table()


def _json(path: Path, columns: list[str], file: FileFormat, rows: int | None) -> Iterator[Any]:
    for piece in json_pieces(path, columns):
        yield need("pyarrow").table(piece)


def _of_one_type(parts: list[Any]) -> list[Any]:
    """Make a column text in all parts if it is in one."""
    arrow = need("pyarrow")
    kinds = {name: {part.schema.field(name).type for part in parts} for name in parts[0].column_names} if parts else {}
    mixed = [name for name, found in kinds.items() if len(found) > 1]
    return [
        arrow.table({name: part[name].cast(arrow.string()) if name in mixed else part[name] for name in kinds})
        for part in parts
    ]


def _excel(path: Path, columns: list[str], file: FileFormat, rows: int | None) -> Iterator[Any]:
    names = column_names(path, file)
    given = dict(zip(names, sheet_names(path, file), strict=True))
    found = sheet_columns(path, file, [given[name] for name in columns])
    yield need("pyarrow").table([found[given[name]] for name in columns], names=columns)


def _parquet(path: Path, columns: list[str], file: FileFormat, rows: int | None) -> Iterator[Any]:
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    for part in _parts(path):
        # pages are read as they are needed: a group of rows may be as large as the file
        with parquet.ParquetFile(part, buffer_size=PAGE_BYTES, pre_buffer=False) as source:
            if rows is None or source.metadata.num_rows == 0:
                yield source.read(columns=columns)
                continue
            for batch in source.iter_batches(batch_size=rows, columns=columns):
                yield arrow.Table.from_batches([batch])


def _feather(path: Path, columns: list[str], file: FileFormat, rows: int | None) -> Iterator[Any]:
    arrow = need("pyarrow")
    with arrow.memory_map(str(path)) as source, arrow.ipc.open_file(source) as stream:
        for i in range(stream.num_record_batches):
            yield arrow.Table.from_batches([stream.get_batch(i)]).select(columns)
        if stream.num_record_batches == 0:
            yield stream.schema.empty_table().select(columns)


_READERS = {"csv": _csv, "json": _json, "excel": _excel, "parquet": _parquet, "feather": _feather}


def _explained(path: Path, error: BaseException) -> TableFileError:
    """Explain a reader's error in one line."""
    if isinstance(error, TableFileError):
        return error
    return TableFileError(f"{path}: cannot be read: {' '.join(str(error).split())}")


class TableWriter:
    """Writes pieces of a table, all with the columns of the first, to a file."""

    def __init__(self, path: Path) -> None:
        self._path, self._kind = path, kind_of(path, OUTPUT_KINDS)
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
        self._sink = arrow.output_stream(str(self._path), compression="gzip" if is_gzipped(self._path) else None)
        csv = need("pyarrow.csv")
        tabs = ".tsv" in self._path.name.lower()
        return csv.CSVWriter(self._sink, schema, write_options=csv.WriteOptions(delimiter="\t" if tabs else ","))

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
    kind_of(path, OUTPUT_KINDS)
    check_folder(path, *inputs)
