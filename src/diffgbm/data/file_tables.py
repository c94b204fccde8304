"""Tables of models from files: what training reads, what it remembers of the file, and how later files are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.errors import warn
from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.data.column_readings import (
    EMPTY,
    Unread,
    are_truths,
    disagreement,
    find_readings,
    options_not_used,
    read_column,
    typed_reading,
)
from diffgbm.data.columns import feature_kind, feature_names, known_column, require, target_values, training_feature
from diffgbm.data.features import FeatureTable
from diffgbm.data.file_format import ColumnReading, FileFormat, ReadingOptions, TableFileError, TableReading
from diffgbm.data.number_text import FEW, has_leading_zeros
from diffgbm.data.row_numbers import row_numbers
from diffgbm.data.table_files import column_names, file_format, name_of_row, read_pieces, read_table
from diffgbm.data.typed_values import as_text

ROWS_AT_ONCE = 100_000
"""Rows of a block when a whole table is read block by block."""
FOUND = ReadingOptions()
"""Everything is found by looking at the file."""
TYPED = ("parquet", "feather")
"""Kinds of files whose columns have types: text stays as it is."""
MOST_SHOWN = 3
"""Most values that do not fit a column and are named."""


@dataclass(frozen=True)
class TrainingFile:
    """A file that is read for training.

    Attributes
    ----------
    X : pyarrow table
        The features.
    y : series or pyarrow table
        The target as a named series, several targets as a table.
    reading : TableReading
        How the file was read.
    without_target : int
        Rows that were left out because they have no target.
    given : dict
        The arguments ``groups`` and ``time`` of ``fit``: values of the columns that were named.
    """

    X: Any
    y: Any
    reading: TableReading
    without_target: int
    given: dict[str, list[Any]]


def training_table(
    path: Path,
    targets: Sequence[str],
    drop: Sequence[str],
    options: ReadingOptions = FOUND,
    groups: str | None = None,
    time: str | None = None,
    wanted: Sequence[str] = (),
) -> TrainingFile:
    """Read a file for training: features, targets and how they were found; rows without a target are left out.

    The column ``groups`` is no feature; ``time`` is one unless it is dropped. Those that are ``wanted`` are features
    although they seem to number the rows.
    """
    arrow = need("pyarrow")
    file = file_format(path, options)
    names = column_names(path, file)
    structure = {option: name for option, name in (("groups", groups), ("time", time)) if name is not None}
    _check_choices(path, names, targets, drop, wanted, structure)
    whole = read_table(path, [name for name in names if name not in drop or name in structure.values()], file)
    if len(whole) == 0:
        raise TableFileError(f"{path}: there are no rows.")
    dropped = _not_features(whole, {*targets, *drop, groups}, {*wanted, time}, file.kind == "json")
    features = [name for name in whole.column_names if name not in {*targets, *dropped, *drop, groups}]
    columns = {name: whole.column(name) for name in [*features, *targets, *structure.values()]}
    found = _find(columns, file, options, targets)
    for message in options_not_used(columns, file, options, list(found.values())):
        warn(f"{path}: {message}.")
    dropped |= {name: EMPTY for name in features if found[name].note == EMPTY}
    features = [name for name in features if name not in dropped]
    if not features:
        raise TableFileError(f"{path}: there are no feature columns left.")
    table = {name: _read(path, file, columns[name], how, targets, options.missing) for name, how in found.items()}
    rows = _have_all([table[name] for name in targets])
    values = {name: target_values(path, name, table[name].filter(rows)) for name in targets}
    without = len(whole) - len(values[targets[0]])
    report_missing(path, without, len(whole) - without)
    X = arrow.table({name: training_feature(path, name, table[name]) for name in features})
    used = tuple(found[name] for name in [*features, *targets])
    return TrainingFile(
        X.filter(rows) if without else X,
        _responses(values),
        TableReading(replace(file, missing=options.missing), used, tuple(dropped.items())),
        without,
        {option: table[name].filter(rows).to_pylist() for option, name in structure.items()},
    )


def _check_choices(
    path: Path,
    names: Sequence[str],
    targets: Sequence[str],
    drop: Sequence[str],
    wanted: Sequence[str],
    structure: Mapping[str, str],
) -> None:
    """Refuse columns that are not there, or are chosen for two purposes."""
    require(path, names, [*targets, *drop, *wanted, *structure.values()])
    for option, name in structure.items():
        if name in targets:
            raise TableFileError(f"--{option}: {name!r} is a target.")
    if len(set(targets)) < len(targets):
        raise TableFileError("--target: a column is given twice.")
    if both := set(targets) & set(drop):
        raise TableFileError(f"--drop: {sorted(both)[0]!r} is a target.")
    if both := set(wanted) & {*targets, *drop, structure.get("groups")}:
        raise TableFileError(f"--feature: {sorted(both)[0]!r} has another purpose, which is no feature.")


def _find(
    columns: Mapping[str, Any], file: FileFormat, options: ReadingOptions, targets: Sequence[str]
) -> dict[str, ColumnReading]:
    """Find how the columns of a training file are read: by their types if it has some."""
    if file.kind in TYPED:
        return {name: typed_reading(name, column.type) for name, column in columns.items()}
    found = find_readings(columns, file, options, dict.fromkeys(targets, "number"))
    return {reading.name: reading for reading in found}


def _responses(values: Mapping[str, Array]) -> Any:
    """Return one target as a named series, several as a table."""
    if len(values) > 1:
        return need("pyarrow").table(dict(values))
    [(name, only)] = values.items()
    return nw.new_series(name, only, nw.Float64(), backend="pyarrow")


def _not_features(table: Any, others: Set[str | None], wanted: Set[str | None], is_json: bool) -> dict[str, str]:
    """Return the columns that only number the rows, have neither name nor value, or are nested, with the reason.

    ``others`` are no features for other reasons; those that are ``wanted`` do not number the rows.
    """
    columns = {name: table.column(name) for name in table.column_names if name not in others}
    numbers = row_numbers({name: nw.from_native(_whole(column), series_only=True) for name, column in columns.items()})
    found = {}
    for name, column in columns.items():
        reason = f"{numbers[name]}; --feature keeps it" if name in numbers and name not in wanted else None
        if name.startswith("Unnamed: ") and all(value in (None, "") for value in column.unique().to_pylist()):
            reason = "it has neither a name nor a value"
        if is_json and _is_nested(column):
            reason = "it holds lists or objects"
        if reason is not None:
            found[name] = reason
    return found


def _whole(column: Any) -> Any:
    """Return text of whole numbers as integers, and other columns as they are."""
    arrow = need("pyarrow")
    try:
        return column.cast(arrow.int64()) if arrow.types.is_string(column.type) else column
    except arrow.ArrowInvalid:
        return column


def _is_nested(column: Any) -> bool:
    """Whether all values of a column of a JSON file are lists or objects, which are text here."""
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    if not arrow.types.is_string(column.type) or column.null_count == len(column):
        return False
    return bool(compute.all(compute.match_substring_regex(column, r"^(?:\[.*\]|\{.*\})$")).as_py())


def _read(
    path: Path,
    file: FileFormat,
    column: Any,
    reading: ColumnReading,
    targets: Sequence[str],
    missing: Sequence[str],
) -> Any:
    """Read a column of a whole file."""
    values, unread = read_column(column, reading, missing)
    if unread is not None:
        _report(path, file, unread, reading, len(column), 0, is_target=reading.name in targets)
    if reading.kind == "text" and has_leading_zeros(values):
        return values.dictionary_encode()  # codes: frames would read them as numbers
    return values


def _report(
    path: Path, file: FileFormat, unread: Unread, reading: ColumnReading, rows: int, before: int, is_target: bool
) -> None:
    """Refuse values that do not fit a column if it is a target or if they are many; warn otherwise."""
    pairs = list(zip(unread.rows, unread.values, strict=True))[:MOST_SHOWN]
    where = ", ".join(f"{name_of_row(path, file, before + row)} has {value[:40]!r}" for row, value in pairs)
    where += f", and {unread.count - len(pairs):,} more" if unread.count > len(pairs) else ""
    wanted = {
        "number": "numbers",
        "truth": "true or false",
        "date": f"dates ({reading.dates})",
        "time": "times of day",
    }[reading.kind]
    wanted += f" with the unit {reading.unit!r}" if reading.unit else ""
    if reading.decimal != ".":
        wanted += f" with the decimal mark {reading.decimal!r}"
    if is_target and 2 * unread.count > rows:
        raise TableFileError(
            f"{path}: column {reading.name!r} must hold {wanted}, and most values do not fit: {where}. Choose another "
            "target, or write its values in one form."
        )
    if is_target or unread.count > FEW * rows:
        raise TableFileError(
            f"{path}: column {reading.name!r} must hold {wanted}: {where}. Correct this"
            f", or if such a value means 'missing': --na {unread.values[0][:40]!r}."
        )
    warn(f"{path}: column {reading.name!r} holds {wanted}; read as missing: {where}.")


def _have_all(targets: Sequence[Any]) -> Any:
    """Return which rows have all targets."""
    compute = need("pyarrow.compute")
    present = [compute.invert(compute.is_null(column, nan_is_null=_is_float(column))) for column in targets]
    return reduce(compute.and_, present)


def _is_float(column: Any) -> bool:
    return bool(need("pyarrow").types.is_floating(column.type))


def table_blocks(
    features: FeatureTable,
    path: Path,
    rows: int,
    keep: Sequence[str] = (),
    targets: Sequence[str] = (),
    reading: TableReading | None = None,
    options: ReadingOptions = FOUND,
) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of a table: the features as the model reads them, and all other columns that were asked for.

    Missing columns raise before the first block, and so does a file that is written otherwise than that of training.

    Parameters
    ----------
    features : FeatureTable
        The columns that the model was fitted to.
    path : path
        The table.
    rows : int
        Rows of a block.
    keep : sequence of str
        Columns to read unchanged: those of a text file as text.
    targets : sequence of str
        Columns to read as numbers.
    reading : TableReading, optional
        How the training file was read.
    options : ReadingOptions
        What the user says about this file.
    """
    arrow = need("pyarrow")
    names = feature_names(features)
    options = _with_marks(options, reading)
    file = file_format(path, options)
    require(path, column_names(path, file), [*names, *targets, *keep])
    wanted = list(dict.fromkeys([*names, *targets, *keep]))
    kinds = {**dict.fromkeys(targets, "number"), **feature_kinds(features)}
    readings = _readings(path, file, kinds, reading, options)
    before = 0
    for piece in read_pieces(path, wanted, file, rows):
        if len(piece) == 0:
            continue
        found = {name: _later(path, file, piece.column(name), readings[name], before, options) for name in kinds}
        X = {name: known_column(path, name, found[name], how) for name, how in _pairs(features)}
        others = {name: _as_written(piece.column(name)) for name in keep}
        yield arrow.table(X), arrow.table({**others, **{name: found[name] for name in targets}})
        before += len(piece)
    if before == 0:
        raise TableFileError(f"{path}: there are no rows.")


def _with_marks(options: ReadingOptions, trained: TableReading | None) -> ReadingOptions:
    """Add the marks of missing values that the user named in training."""
    return options if trained is None else replace(options, missing=(*options.missing, *trained.file.missing))


def _pairs(features: FeatureTable) -> list[tuple[str, Any]]:
    return list(zip(feature_names(features), features.columns, strict=True))


def feature_kinds(features: FeatureTable) -> dict[str, str]:
    """Return the kind of text that each feature of a model is read from."""
    return {name: feature_kind(how) for name, how in _pairs(features)}


def _readings(
    path: Path, file: FileFormat, kinds: Mapping[str, str], trained: TableReading | None, options: ReadingOptions
) -> dict[str, ColumnReading]:
    """Return how the columns of a later file are read: as in training, else as its first block says."""
    if file.kind in TYPED:
        return {name: ColumnReading(name, "typed") for name in kinds}
    sample = next(read_pieces(path, list(kinds), file))
    columns = {name: sample.column(name) for name in kinds}
    here = {reading.name: reading for reading in find_readings(columns, file, options, kinds)}
    # a column that has a type in this file may be text in a later block
    here = {
        name: replace(reading, kind=kinds[name]) if reading.kind == "typed" else reading
        for name, reading in here.items()
    }
    for name in kinds:
        known = None if trained is None else trained.of(name)
        if known is None or known.kind == "typed":
            # numbers of a table of Python may have been truth values, which a text file spells
            if kinds[name] == "number" and are_truths(columns[name], options.missing):
                here[name] = replace(here[name], kind="truth")
            continue
        if (problem := disagreement(known, columns[name], file, options)) is not None:
            raise TableFileError(f"{path}: column {name!r} {problem}.")
        asked = (known.kind == "number" and options.decimal) or (known.kind == "date" and options.date_format)
        if not asked:
            here[name] = known
    return here


def _later(
    path: Path, file: FileFormat, column: Any, reading: ColumnReading, before: int, options: ReadingOptions
) -> Any:
    """Read a column of a block of a later file."""
    values, unread = read_column(column, reading, options.missing)
    if unread is not None:
        _report(path, file, unread, reading, len(column), before, is_target=False)
    if reading.kind == "text" and _is_float(values) and file.kind in ("excel", "json"):
        # codes of digits and letters: in this block all are digits
        arrow = need("pyarrow")
        return arrow.chunked_array([arrow.array([as_text(v) for v in values.to_pylist()], arrow.string())])
    return values


def _as_written(column: Any) -> Any:
    """Return a column as it is in its file; empty text is missing."""
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    if not arrow.types.is_string(column.type):
        return column
    return compute.if_else(compute.equal(column, ""), None, column)


def with_targets(path: Path, X: Any, block: Any, targets: Sequence[str], before: int) -> tuple[Any, Array, int]:
    """Return the rows of a block that have all targets: features, targets (n, d), and how many rows have none."""
    compute = need("pyarrow.compute")
    columns = [block.column(name) for name in targets]
    rows = _have_all(columns)
    missing = len(block) - (compute.sum(rows).as_py() or 0)
    if missing:
        X, columns = X.filter(rows), [column.filter(rows) for column in columns]
    pairs = zip(targets, columns, strict=True)
    return X, np.column_stack([target_values(path, name, column, before) for name, column in pairs]), missing


def report_missing(path: Path, missing: int, rows: int) -> None:
    """Warn of rows that were left out because they have no target; raise if no row is left."""
    if missing and not rows:
        raise TableFileError(f"{path}: no row has a target.")
    if missing:
        shown = f"{missing:,} of {missing + rows:,} rows have no target and are left out"
        warn(f"{path}: {shown}.")


def observed_table(
    features: FeatureTable,
    targets: Sequence[str],
    path: Path,
    reading: TableReading | None = None,
    options: ReadingOptions = FOUND,
) -> tuple[Any, Array]:
    """Read a whole table that holds the targets: the features as the model reads them, and the targets (n, d)."""
    X: list[Any] = []
    y: list[Array] = []
    missing = 0
    for block in table_blocks(features, path, ROWS_AT_ONCE, targets=targets, reading=reading, options=options):
        before = missing + sum(map(len, y))
        found, values, without = with_targets(path, *block, targets, before)
        X.append(found)
        y.append(values)
        missing += without
    report_missing(path, missing, sum(map(len, y)))
    return need("pyarrow").concat_tables(X), np.concatenate(y)


def observed_labels(
    features: FeatureTable,
    targets: Sequence[str],
    path: Path,
    column: str,
    reading: TableReading | None = None,
    options: ReadingOptions = FOUND,
) -> list[str]:
    """Read a column as text in the rows of ``observed_table``: leading zeros stay, missing values are empty."""
    labels: list[Any] = []
    for _, block in table_blocks(features, path, ROWS_AT_ONCE, [column], targets, reading, options):
        labels += block.column(column).filter(_have_all([block.column(name) for name in targets])).to_pylist()
    return ["" if label is None else str(label) for label in labels]


def target_table(
    path: Path, names: Sequence[str], reading: TableReading | None = None, options: ReadingOptions = FOUND
) -> Array:
    """Read the targets (n, d) of the rows that have all of them."""
    options = _with_marks(options, reading)
    file = file_format(path, options)
    require(path, column_names(path, file), names)
    kinds = dict.fromkeys(names, "number")
    readings = _readings(path, file, kinds, reading, options)
    whole = read_table(path, list(names), file)
    found = {name: _later(path, file, whole.column(name), readings[name], 0, options) for name in names}
    block = need("pyarrow").table(found)
    return with_targets(path, block, block, names, 0)[1]
