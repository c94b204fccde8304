"""Tables and recipes, stored as JSON. Names are checked against the tables of ``diffusion``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

from diffgbm._util.errors import known
from diffgbm.data.features import FeatureTable
from diffgbm.data.file_format import (
    COLUMN_KINDS,
    DECIMALS,
    THOUSANDS,
    ColumnReading,
    FileFormat,
    TableReading,
)
from diffgbm.data.power_scale import PowerScale
from diffgbm.data.response import ResponseTable
from diffgbm.diffusion.noise_levels import TimeSampling
from diffgbm.diffusion.paths import GaussianPath
from diffgbm.diffusion.recipe import Recipe
from diffgbm.diffusion.sampler import Equation, Sampler
from diffgbm.persistence.column_kinds import read_columns, write_columns
from diffgbm.persistence.store import Reader, Writer
from diffgbm.persistence.values import (
    Stored,
    count,
    list_of,
    mapping,
    names_of,
    number,
    numbers,
    of_type,
    one_of,
    plain,
)

MOST_STEPS = 10_000
"""Most integration steps that a file may ask for. The paper's samplers take 5 to 250."""


def write_features(features: FeatureTable, writer: Writer) -> dict[str, Any]:
    """Store a feature table."""
    for j, level in ((j, level) for j, levels in enumerate(features.levels) for level in levels or ()):
        if isinstance(level, tuple):  # JSON would make it a list
            raise TypeError(f"column {j} has the category {level!r}; a model file holds numbers and text.")
    table: dict[str, Any] = {"n_features": features.n_features, "names": features.names, "levels": features.levels}
    if columns := write_columns(features, writer):
        table["columns"] = columns
    if features.ignored:
        table["ignored"] = features.ignored
    return plain(table, "features")


def read_features(stored: Stored, reader: Reader) -> FeatureTable:
    """Read a feature table."""
    n = stored["n_features"]
    if type(n) is not int or n < 1:
        raise ValueError(f"n_features must be a positive integer; got {n!r}")
    levels = [
        None if column is None else _levels(column) for column in list_of(stored, "levels", (list, type(None)), n)
    ]
    ignored = tuple(list_of(stored, "ignored", str)) if "ignored" in stored else ()
    return FeatureTable(names_of(stored, n), read_columns(stored, reader, levels), ignored)


def _levels(column: list[Any]) -> tuple[Any, ...]:
    if not all(isinstance(level, (str, int, float)) for level in column) or len(set(column)) < len(column):
        raise ValueError("categories must be distinct numbers or text")
    return tuple(column)


def write_reading(reading: TableReading | None) -> dict[str, Any] | None:
    """Store how the training file was read."""
    return None if reading is None else plain(asdict(reading), "reading")


def read_reading(stored: Stored | None) -> TableReading | None:
    """Read how the training file was read."""
    if stored is None:
        return None
    file = mapping(stored, "file")
    text = {name: of_type(file, name, str) for name in ("kind", "encoding", "separator", "sheet")}
    unnamed: Any = one_of(file, "unnamed", ("", "first", "last"))
    columns = tuple(map(_column_reading, list_of(stored, "columns", dict)))
    if len({column.name for column in columns}) < len(columns):
        raise ValueError("the columns of a reading must have different names")
    dropped = [list_of({"pair": pair}, "pair", str, 2) for pair in list_of(stored, "dropped", list)]
    marks = tuple(list_of(file, "missing", str))
    layout = FileFormat(**text, header=count(file, "header"), unnamed=unnamed, missing=marks)
    return TableReading(layout, columns, tuple((name, reason) for name, reason in dropped))


def _column_reading(stored: Stored) -> ColumnReading:
    one_of(stored, "kind", COLUMN_KINDS)
    one_of(stored, "decimal", DECIMALS)
    one_of(stored, "thousands", THOUSANDS)
    text = ("name", "kind", "decimal", "thousands", "unit", "dates", "type", "note")
    values = {name: of_type(stored, name, str) for name in text}
    marks = tuple(list_of(stored, "missing", str))
    return ColumnReading(**values, zone=of_type(stored, "zone", bool), missing=marks)


def write_response(response: ResponseTable) -> dict[str, Any]:
    """Store a response table."""
    stored = asdict(response)
    if response.power is None:  # as in files of earlier versions
        del stored["power"]
    return plain(stored, "response")


def read_response(stored: Stored) -> ResponseTable:
    """Read a response table."""
    if not isinstance(stored["is_1d"], bool):
        raise TypeError("is_1d must be true or false")
    scale = numbers(stored, "scale")
    d = len(scale)
    if d < 1 or (scale < 0.0).any() or (stored["is_1d"] and d > 1):
        raise ValueError("the response table must hold one scale >= 0 for each response")
    power = _read_power(mapping(stored, "power")) if "power" in stored else None
    if power is not None and d > 1:
        raise ValueError("several responses have no power scale")
    return ResponseTable(names_of(stored, d), stored["is_1d"], numbers(stored, "location", d), scale, power)


def _read_power(stored: Stored) -> PowerScale:
    values = {name: number(stored, name) for name in ("power", "unit", "highest", "spread")}
    scale = PowerScale(**values)
    if not (0.0 <= scale.power <= 1.0 and scale.unit > 0.0 and scale.highest > 0.0 and scale.spread > 0.0):
        raise ValueError("a power scale needs a power between 0 and 1, and a unit, a maximum and a spread above 0")
    return scale


def check_steps(n_steps: int) -> None:
    """Refuse more than ``MOST_STEPS`` integration steps."""
    if n_steps > MOST_STEPS:
        raise ValueError(f"n_steps must be at most {MOST_STEPS:,}; got {n_steps!r}")


def write_recipe(recipe: Recipe) -> dict[str, Any]:
    """Store a recipe."""
    check_steps(recipe.sampler.n_steps)
    return plain(asdict(recipe), "recipe")


def read_recipe(stored: Stored) -> Recipe:
    """Read a recipe."""
    parts = {
        "path": GaussianPath(**mapping(stored, "path")),
        "times": TimeSampling(**mapping(stored, "times")),
        "sampler": Sampler(**mapping(stored, "sampler")),
    }
    for owner, names in (("times", ("mean", "std", "endpoint_fraction")), ("sampler", ("strength",))):
        for name in names:
            number(stored[owner], name)
    for name in ("min_snr_gamma", "sigma_data"):
        if not number(stored, name) > 0.0:
            raise ValueError(f"{name} must be > 0; got {stored[name]!r}")
    check_steps(stored["sampler"]["n_steps"])
    known("equation", stored["sampler"]["equation"], get_args(Equation))
    return Recipe(**{**stored, **parts})
