"""A data set in memory and as a file: its description, its numbers, its canonical text and checksum."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tempfile
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diffgbm._util.types import Array


class DataSetError(RuntimeError):
    """A data set is not available; the message says what to do."""


@dataclass(frozen=True)
class Table:
    """A data set in memory, in original units.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Features.
    y : ndarray of shape (n,) or (n, d)
        Response; several columns only for synthetic distributions.
    features : tuple of str
        Names of the columns of ``X``.
    target : str
        Name of ``y``.
    """

    X: Array
    y: Array
    features: tuple[str, ...]
    target: str


@dataclass(frozen=True)
class DataSet:
    """Description of a data set.

    Attributes
    ----------
    name : str
        The paper's name, and the stem of its file.
    source : str
        Where the original is.
    target : str
        Column that is predicted; all others are features.
    sha256 : str or None
        Checksum of the whole prepared content (see ``digest``); ``None`` if unknown.
    notes : str
        The paper's preparation, where there is any.
    drop : tuple of str
        Columns of a file that are neither features nor target.
    embedded : bool
        Comes with scikit-learn and needs no file.
    rows : int or None
        Number of rows; ``None`` is not checked.
    features : tuple of str
        Names of the features in order; empty is not checked.
    head : tuple of int and str, or None
        Number of first rows whose checksum is known where that of the whole is not, and that checksum.
    """

    name: str
    source: str
    target: str
    sha256: str | None = None
    notes: str = ""
    drop: tuple[str, ...] = ()
    embedded: bool = False
    rows: int | None = None
    features: tuple[str, ...] = ()
    head: tuple[int, str] | None = None

    @property
    def file(self) -> str:
        """Name of its file in a data directory."""
        return f"{self.name}.csv.gz"


def text(table: Table, rows: int | None = None) -> bytes:
    """Return the canonical text of a table, or of its first rows.

    One line of names and one line for each row, features first and the target last, separated by commas, numbers to
    ten significant digits (``%.10g``, zero without a sign), lines ended by a line feed. What ``zcat`` shows of a
    prepared file is this text.
    """
    values = np.column_stack([table.X[:rows], table.y[:rows]]) + 0.0  # -0 becomes 0
    out = io.BytesIO()
    out.write((",".join([*table.features, table.target]) + "\n").encode())
    np.savetxt(out, values, fmt="%.10g", delimiter=",", newline="\n")
    return out.getvalue()


def digest(table: Table, rows: int | None = None) -> str:
    """Return the SHA-256 checksum of the canonical text."""
    return hashlib.sha256(text(table, rows)).hexdigest()


def verify(table: Table, data_set: DataSet, where: str) -> None:
    """Raise if a table is not the registered one.

    Parameters
    ----------
    table : Table
        The table to check.
    data_set : DataSet
        Its registered description.
    where : str
        File or address, for the message.

    Raises
    ------
    DataSetError
        Shape, names or numbers differ.
    """
    shape = (data_set.rows or len(table.y), len(data_set.features) or table.X.shape[1])
    if table.X.shape != shape:
        raise DataSetError(f"{where} has {table.X.shape[0]} rows and {table.X.shape[1]} features, expected {shape}.")
    checks: list[tuple[int | None, str]] = [(None, data_set.sha256)] if data_set.sha256 else []
    checks += [data_set.head] if data_set.head else []
    for rows, expected in checks:
        result = digest(table, rows)
        if result != expected:
            part = "its content" if rows is None else f"the content of its first {rows} rows"
            raise DataSetError(
                f"{where}: {part} has the SHA-256 checksum {result}, expected {expected}: it is damaged or another "
                "version. Replace it."
            )


def read(path: Path, data_set: DataSet) -> Table:
    """Read a prepared file: gzipped text with a line of names; columns in any order."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            columns = [name.strip().strip('"') for name in lines.readline().split(",")]
            with warnings.catch_warnings():
                warnings.filterwarnings("error", "loadtxt: input contained no data", UserWarning)
                values = np.loadtxt(lines, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError, UserWarning, zlib.error) as error:
        raise DataSetError(
            f"{path} cannot be read: {error}. It is damaged or no gzipped CSV file. Replace it."
        ) from error
    if data_set.target not in columns:
        raise DataSetError(f"{path} has no column {data_set.target!r}, the target. It has {', '.join(columns)}.")
    features = tuple(name for name in columns if name != data_set.target and name not in data_set.drop)
    if len(set(columns)) < len(columns) or values.shape[1] != len(columns) or not features:
        raise DataSetError(
            f"{path} must have different columns, one more than the target, and {len(columns)} numbers in each row, as "
            f"it has names; it has {values.shape[1]}, and {', '.join(columns)}."
        )
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).all(axis=1)))
        raise DataSetError(f"{path}: a number in row {row + 1} is missing or infinite. It is damaged. Replace it.")
    picked = values[:, [columns.index(name) for name in features]]
    return Table(np.ascontiguousarray(picked), values[:, columns.index(data_set.target)], features, data_set.target)


def write(path: Path, table: Table) -> None:
    """Write a prepared file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(gzip.compress(text(table), mtime=0))
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
