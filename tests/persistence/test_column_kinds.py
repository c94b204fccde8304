"""Columns in model files: every kind is read again as it was, and anything else is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from diffgbm import load
from diffgbm._util.errors import DiffGBMWarning
from diffgbm.data.features import FeatureTable
from diffgbm.data.free_text import N_HASHES, FreeText
from diffgbm.data.level_statistics import LevelStatistics
from diffgbm.persistence.files import KINDS
from diffgbm.persistence.store import Reader, Writer
from diffgbm.persistence.tables import read_features, write_features
from tests.conftest import tiny

FRAME = pd.DataFrame(
    {
        "a": np.arange(90.0),
        "town": ["x", "y", "z"] * 30,
        "day": pd.date_range("2020-01-01", periods=90, tz="Europe/Zurich"),
        "text": [str(i) for i in range(90)],
        "amount": [f"{997 * i:,}" for i in range(90)],
        "span": pd.to_timedelta(np.arange(90), unit="h"),
        "tags": [[1]] * 90,
    }
)


def round_trip(table):
    """Return a table that was written and read, and what the manifest holds."""
    writer = Writer(KINDS)
    stored = json.loads(json.dumps(write_features(table, writer)))
    return read_features(stored, Reader(writer.entries, {}, ())), stored


def written():
    with pytest.warns(DiffGBMWarning, match="'tags' holds list values"):
        table = FeatureTable.learn(FRAME, None, "")[0]
    return table, round_trip(table)[1]


def read(stored):
    return read_features(stored, Reader({}, {}, ()))


def test_columns_round_trip():
    table, stored = written()
    assert read(stored) == table


def test_plain_tables_are_stored_as_before():
    table = FeatureTable.learn(FRAME[["a", "town"]], None, "")[0]
    assert set(round_trip(table)[1]) == {"n_features", "names", "levels"}


def test_a_loaded_model_reads_the_same_columns(tmp_path):
    y = np.sin(np.arange(90.0))
    with pytest.warns(DiffGBMWarning, match="not used"):
        model = tiny("flow").fit(FRAME, y)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert loaded.schema_ == model.schema_
    assert [column.kind for column in loaded.schema_] == [
        "number",
        "category",
        "date",
        "number",
        "number",
        "duration",
        "not used",
    ]
    np.testing.assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))


@pytest.mark.parametrize(
    ("column", "field", "values"),
    [
        (2, "parts", [["nothing"], ["year", "elapsed days"], ["year", "year"], None, "year"]),
        (2, "first", [None, "x", 2**70, 1e18]),
        (2, "last", [-(2**61)]),
        (2, "zone", [3, ["UTC"], "Zürich"]),
        (2, "is_text", [None, 1]),
        (2, "kind", ["nothing", None, 3]),
        (3, "source", ["nothing", None]),
        (3, "note", [3, None]),
        (6, "reason", [3, None]),
    ],
)
def test_wrong_columns_are_refused(column, field, values):
    stored = written()[1]
    for value in values:
        changed = json.loads(json.dumps(stored))
        changed["columns"][column][field] = value
        with pytest.raises((ValueError, TypeError, KeyError)):
            read(changed)
    del stored["columns"][column][field]
    with pytest.raises((ValueError, TypeError, KeyError)):
        read(stored)


STATISTICS = LevelStatistics(("a", "b"), np.arange(6.0).reshape(3, 2), ("location", "count"), 5, True)


def test_statistics_of_categories_round_trip():
    table = FeatureTable(("id",), (STATISTICS,))
    assert round_trip(table)[0] == table
    unused = FeatureTable(("id",), (LevelStatistics((), np.empty((1, 0)), (), 5, False),))
    assert round_trip(unused)[0] == unused


def test_free_text_round_trips():
    rng = np.random.default_rng(0)
    one = FreeText(*map(rng.standard_normal, ((N_HASHES,), (N_HASHES, 2), (2,))), ("prediction 0", "topic 0"), 7.5)
    table = FeatureTable(("note",), (one,))
    assert round_trip(table)[0] == table
    writer = Writer(KINDS)
    stored = write_features(table, writer)
    for field, value in (
        ("names", ["a"]),
        ("n_words", "x"),
        ("idf", "nowhere"),
        ("offset", stored["columns"][0]["idf"]),
    ):
        changed = {**stored, "columns": [{**stored["columns"][0], field: value}]}
        with pytest.raises((ValueError, TypeError, KeyError)):
            read_features(changed, Reader(writer.entries, {}, ()))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("names", ["location"]),
        ("names", ["a", "b", "c"]),
        ("n_levels", 1),
        ("n_levels", None),
        ("has_missing", None),
        ("table", "nowhere"),
        ("kind", "date"),
    ],
)
def test_wrong_statistics_are_refused(field, value):
    writer = Writer(KINDS)
    stored = write_features(FeatureTable(("id",), (STATISTICS,)), writer)
    stored["columns"][0][field] = value
    with pytest.raises((ValueError, TypeError, KeyError)):
        read_features(stored, Reader(writer.entries, {}, ()))


@pytest.mark.parametrize("columns", [[], [None], "abc", [3] * 6, {"a": 1}])
def test_wrong_lists_of_columns_are_refused(columns):
    with pytest.raises((ValueError, TypeError)):
        read({**written()[1], "columns": columns})


def test_separators_of_thousands_are_checked_and_may_be_absent():
    stored = written()[1]
    assert stored["columns"][4]["thousands"] == ","
    for value in ("x", 3, None):
        stored["columns"][4]["thousands"] = value
        with pytest.raises((ValueError, TypeError)):
            read(stored)
    # files of earlier versions have none
    del stored["columns"][4]["thousands"]
    assert read(stored).columns[4].thousands == ""
