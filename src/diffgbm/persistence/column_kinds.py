"""Columns of feature tables in a model file: how each was read, beyond plain numbers and categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from diffgbm.data.dates import PARTS, Dates
from diffgbm.data.features import FeatureTable
from diffgbm.data.free_text import N_HASHES, FreeText
from diffgbm.data.kinds import Category, Column, Dropped, Levels, Number
from diffgbm.data.level_statistics import LevelStatistics
from diffgbm.data.numbers import THOUSANDS
from diffgbm.persistence.store import Reader, Writer
from diffgbm.persistence.values import Stored, list_of, number, of_type, one_of

MOST_MOMENT = 1 << 62
"""Largest moment in microseconds."""


def write_columns(features: FeatureTable, writer: Writer) -> list[dict[str, Any] | None] | None:
    """Return what a file holds of each column; ``None`` for plain numbers and categories, and if all are plain."""
    columns = [None if _is_plain(column) else _written(column, writer) for column in features.columns]
    return columns if any(columns) else None


def read_columns(stored: Stored, reader: Reader, levels: list[Levels | None]) -> tuple[Column, ...]:
    """Read the columns of a feature table with these categories."""
    if stored.get("columns") is None:
        return tuple(Number() if found is None else Category(found) for found in levels)
    written = list_of(stored, "columns", (dict, type(None)), len(levels))
    return tuple(_read(one, reader, found) for one, found in zip(written, levels, strict=True))


def _is_plain(column: Column) -> bool:
    return isinstance(column, Category) or (isinstance(column, Number) and column == Number() and not column.note)


def _written(column: Column, writer: Writer) -> dict[str, Any]:
    if isinstance(column, LevelStatistics):
        facts = {"names": list(column.names), "n_levels": column.n_levels, "has_missing": column.has_missing}
        return {"kind": "encoded category", "table": writer.array(column.table), **facts}
    if isinstance(column, FreeText):
        arrays = {name: writer.array(getattr(column, name)) for name in ("idf", "directions", "offset")}
        return {"kind": "text", **arrays, "names": list(column.names), "n_words": column.n_words}
    name = next(name for name, kind in _KINDS.items() if isinstance(column, kind))
    return {"kind": name, **asdict(column)}  # type: ignore[call-overload]


def _read(stored: Stored | None, reader: Reader, levels: Levels | None) -> Column:
    if stored is None:
        return Number() if levels is None else Category(levels)
    if stored.get("kind") == "encoded category" and levels is not None:
        return _read_statistics(stored, reader, levels)
    if stored.get("kind") == "text" and levels is None:
        return _read_text(stored, reader)
    if levels is not None:
        raise ValueError("a column of categories is stored as something else")
    kind = one_of(stored, "kind", tuple(_KINDS))
    return _READERS[kind](stored)


def _read_statistics(stored: Stored, reader: Reader, levels: Levels) -> LevelStatistics:
    names = tuple(list_of(stored, "names", str))
    table = reader.array(stored, "table", "<f8", (len(levels) + 1, len(names)))
    n_levels = of_type(stored, "n_levels", int)
    if not np.isfinite(table).all() or not len(levels) <= n_levels:
        raise ValueError("statistics of categories must be finite, and of no more categories than training had")
    return LevelStatistics(levels, table, names, n_levels, of_type(stored, "has_missing", bool))


def _read_text(stored: Stored, reader: Reader) -> FreeText:
    names = tuple(list_of(stored, "names", str))
    shapes = {"idf": (N_HASHES,), "directions": (N_HASHES, len(names)), "offset": (len(names),)}
    arrays = {name: reader.array(stored, name, "<f8", shape) for name, shape in shapes.items()}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("what words say must be finite numbers")
    return FreeText(**arrays, names=names, n_words=number(stored, "n_words"))


def _read_number(stored: Stored) -> Number:
    source = one_of(stored, "source", ("number", "duration", "time"))
    # files of earlier versions have no separator
    thousands = one_of({"thousands": "", **stored}, "thousands", ("", *THOUSANDS))
    return Number(source, of_type(stored, "is_text", bool), of_type(stored, "note", str), thousands)


def _read_dates(stored: Stored) -> Dates:
    parts = tuple(list_of(stored, "parts", str))
    first, last = (of_type(stored, name, int) for name in ("first", "last"))
    if parts != tuple(part for part in PARTS if part in parts):
        raise ValueError(f"parts of a date must be some of {', '.join(PARTS)}, in this order")
    if not -MOST_MOMENT < first <= last < MOST_MOMENT:
        raise ValueError("the first date must not be after the last")
    zone = stored["zone"]
    if zone is not None and not (isinstance(zone, str) and zone.replace("/", "").replace("_", "").isascii()):
        raise ValueError("a time zone must be a name")
    return Dates(parts, first, last, zone, of_type(stored, "is_text", bool))


def _read_dropped(stored: Stored) -> Dropped:
    return Dropped(of_type(stored, "reason", str))


_KINDS: dict[str, type] = {"number": Number, "date": Dates, "not used": Dropped}
_READERS: dict[str, Callable[[Stored], Column]] = {
    "number": _read_number,
    "date": _read_dates,
    "not used": _read_dropped,
}
